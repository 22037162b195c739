/* Writing to what is no file: pipes, terminals, devices. */
#ifndef LOOM_COMMON_SPECIAL_H
#define LOOM_COMMON_SPECIAL_H

#include <stdbool.h>
#include <stdio.h>

/* A stream onto a pipe or device, which may make its writer wait for as long as nobody reads. A signal that asks the
 * command to end (common/signals.h) ends the wait also while signals are held: it is taken, and errno is ECANCELED.
 * NULL: errno. */
FILE *loom_special_open(const char *path, bool is_pipe);

#endif
