/* A kernel that reaches for the process around it: linking must refuse it. */
#include <unistd.h>

int calls_getpid(void);
int calls_getpid(void) {
    return (int)getpid();
}
