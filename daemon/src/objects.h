/* Objects the daemon knows: files with a count of who needs them. A file that is ours is removed with its last
 * reference; a client's argument is not. Some are no files but stay in the memory of the worker that made them, which
 * alone can read them (residents.c).
 *
 * A worker writes into a folder of its own. What the daemon accepts it moves out of there, so a file has one owner at
 * any time: the worker's folder, which goes with the worker, or a held object.
 * Threads: the loop's.
 */
#ifndef LOOM_DAEMON_OBJECTS_H
#define LOOM_DAEMON_OBJECTS_H

#include "common/arena.h"
#include "common/value.h"
#include "control.pb-c.h"
#include <stdbool.h>

struct loom_worker;
struct loom_spill;

typedef struct loom_held_object {
    char *path;                 /* NULL: it is no file */
    struct loom_worker *worker; /* that has it in memory instead, under the number `resident` */
    uint64_t resident;
    struct loom_spill *spill; /* it is no value: what a stage has spilled (spills.h) */
    uint64_t bytes;
    loom_arena *arena;
    Wire__Value *value; /* header: shapes of the leaves */
    bool owned;
    int references;
} loom_held_object;

/* A client's argument. Copies what the message says after checking it. One reference. */
LOOM_MUST_USE loom_status *loom_held_object_create(const Wire__Object *wire, loom_held_object **object);
/* An object that a worker has written, which is in one of its folders itself: moved to the folder around that one, as
 * <number>.obj, and owned. One reference. On an error the file is where it was. */
LOOM_MUST_USE loom_status *loom_held_object_adopt(const Wire__Object *wire, char *const *folders, size_t n_folders,
                                                  uint64_t number, loom_held_object **object);
/* A value that `worker` keeps in its memory. One reference. */
LOOM_MUST_USE loom_status *loom_held_object_resident(const Wire__Object *wire, struct loom_worker *worker,
                                                     loom_held_object **object);
/* The folder among `folders` that the file is in itself, not in one below it; NULL: in none. */
const char *loom_folder_of(const char *path, char *const *folders, size_t n_folders);
loom_held_object *loom_held_object_ref(loom_held_object *object);
void loom_held_object_unref(loom_held_object *object); /* NULL is fine */
/* As a message part that points into the object. */
void loom_held_object_wire(const loom_held_object *object, Wire__Object *wire);
/* The value itself if it is small enough for the daemon to look at, else NULL. An error where the file is not what the
 * message said. */
LOOM_MUST_USE loom_status *loom_held_object_small_value(const loom_held_object *object, loom_value **value);

/* What the daemon itself opens of an argument: scalars and small records. Bulk data never passes through its loop. */
#define LOOM_SMALL_VALUE_BYTES ((uint64_t)64 << 10)

#endif
