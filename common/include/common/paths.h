/* What a command reads and what it is going to write: nothing is written over what is read, and nothing twice.
 *
 * Files are the same by device and inode, whatever they are called: links, "./x", mounts. One that is not there yet is
 * told by the real path of its folder. An output that lies anywhere inside a folder that is read (a MeasurementSet) is
 * refused too. Devices and pipes are read and written by anybody. One thread at a time; paths are copied. */
#ifndef LOOM_COMMON_PATHS_H
#define LOOM_COMMON_PATHS_H

#include "common/status.h"
#include <stdbool.h>

typedef struct loom_paths loom_paths;

loom_paths *loom_paths_create(void);
void loom_paths_free(loom_paths *paths); /* NULL is fine */
/* A file or folder; NULL: none. */
void loom_paths_read(loom_paths *paths, const char *path);
void loom_paths_write(loom_paths *paths, const char *path);
/* Before anything is written: LOOM_E_USAGE names the output and what it would destroy. */
LOOM_MUST_USE loom_status *loom_paths_check(const loom_paths *paths);
/* Whether an output is the file, pipe or socket that `fd` is open on, as /dev/stdout is. */
bool loom_paths_has_open(const loom_paths *paths, int fd);

#endif
