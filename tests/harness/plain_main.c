/* The plain runner: every test in one process, in the order of registration.
 *
 * usage: NAME_plain [PART]...   runs the tests whose "suite/name" contains one of the parts; --list names them.
 * Exit status 1 if a test failed, or if none matched: a test program without tests cannot pass.
 */
#include "loom_test.h"
#include <pthread.h>
#include <setjmp.h>

static loom_test_case *first, **last = &first;
static jmp_buf back;
static pthread_t runner;

enum {
    FAILED = 1,
    SKIPPED = 2
};

void loom_test_register(loom_test_case *test) {
    *last = test;
    last = &test->next;
}

static _Noreturn void end_test(int how) {
    if (!pthread_equal(pthread_self(), runner)) {
        fprintf(stderr, "a check failed outside the test's thread\n");
        abort();
    }
    longjmp(back, how);
}

void loom_test_end_failed(void) {
    end_test(FAILED);
}

void loom_test_end_skipped(void) {
    end_test(SKIPPED);
}

static bool wanted(const loom_test_case *test, int argc, char **argv) {
    char full[512];
    snprintf(full, sizeof full, "%s/%s", test->suite, test->name);
    for (int i = 1; i < argc; i++) {
        if (strstr(full, argv[i])) return true;
    }
    return argc < 2;
}

static int run_one(const loom_test_case *test) {
    int how = setjmp(back);
    if (how == 0) test->run();
    static const char *const said[] = {"passed", "FAILED", "skipped"};
    printf("%s/%s %s\n", test->suite, test->name, said[how]);
    fflush(stdout);
    return how;
}

int main(int argc, char **argv) {
    runner = pthread_self();
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (const loom_test_case *t = first; t; t = t->next) printf("%s/%s\n", t->suite, t->name);
        return 0;
    }
    int count[3] = {0, 0, 0};
    for (const loom_test_case *t = first; t; t = t->next) {
        if (wanted(t, argc, argv)) count[run_one(t)]++;
    }
    printf("%d passed, %d failed, %d skipped\n", count[0], count[FAILED], count[SKIPPED]);
    return count[FAILED] || count[0] + count[SKIPPED] == 0;
}
