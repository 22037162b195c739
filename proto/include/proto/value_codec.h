/* Values on the wire and in files.
 *
 * A value is a small header (Wire__Value: names, types, extents, bytes of each column) and its columns, raw: for each
 * leaf the lengths of its irregular levels, outermost first, then its data. Columns are used where they arrive; only
 * one that is not aligned to its elements is copied.
 *
 * An object is a value in a file, immutable: 8 bytes "LOOMOBJ1", 8 bytes length of the header, the header, then the
 * columns, each starting at a multiple of 64 bytes. Written in pieces under a temporary name and renamed; mapped, not
 * read. Objects are trusted no more than messages: mapping checks header and sizes against each other and the file.
 *
 * Threads: any. Ownership: as common/value.h; a mapped value holds its mapping.
 */
#ifndef LOOM_PROTO_VALUE_CODEC_H
#define LOOM_PROTO_VALUE_CODEC_H

#include "common/arena.h"
#include "common/value.h"
#include "control.pb-c.h"
#include <zmq.h>

/* Columns' leaves of one value: what the compiler allows of a type. */
#define LOOM_MAX_VALUE_LEAVES 4096u

/* The header of a value, in `arena`; points to the value's names. */
Wire__Value *loom_wire_value(loom_arena *arena, const loom_value *value);
/* Number of columns that a header announces. Checks the header: known types, depth, counts, sizes;
 * LOOM_MAX_VALUE_LEAVES. */
LOOM_MUST_USE loom_status *loom_wire_value_check(const Wire__Value *wire, size_t *n_columns, uint64_t *bytes);

/* One column in memory. */
typedef struct loom_column {
    const void *data;
    uint64_t length;
} loom_column;

/* A value over columns that stand in memory. `release(owner)` is called once when nothing needs them any more: at the
 * value's end, or before this returns an error. */
LOOM_MUST_USE loom_status *loom_value_over(const Wire__Value *wire, const loom_column *columns, size_t n_columns,
                                           void (*release)(void *owner), void *owner, loom_value **value);
/* The same over message frames, which are moved out of `frames` on success. */
LOOM_MUST_USE loom_status *loom_value_over_frames(const Wire__Value *wire, zmq_msg_t *frames, size_t n_frames,
                                                  loom_value **value);

typedef struct loom_object {
    char *path; /* malloc'ed */
    uint64_t bytes;
} loom_object;

/* Writes a value into the first of `folders` that has room, as <folder>/<process>-<number>.obj. Not synced: objects end
 * with their job. Into a folder that is memory (tmpfs) and not the last, a value is written only where what is there
 * then takes `most_in_memory` bytes at most: it counts as memory of the processes that map it. */
LOOM_MUST_USE loom_status *loom_object_write(const char *const *folders, size_t n_folders, uint64_t most_in_memory,
                                             const loom_value *value, loom_object *object);
/* The same of values one after another (common/value.h: loom_value_concat). Where all levels are regular they are
 * written as they stand, without a copy in memory. *shape: what was written, without its data, for loom_wire_value
 * alone. */
LOOM_MUST_USE loom_status *loom_object_join(const char *const *folders, size_t n_folders, uint64_t most_in_memory,
                                            loom_value *const *parts, size_t n_parts, loom_object *object,
                                            loom_value **shape);
/* Where whoever owns the file cuts it short while the value is used, the process gets SIGBUS. */
LOOM_MUST_USE loom_status *loom_object_map(const char *path, loom_value **value);
/* The value in memory of its own, for a process that must not rely on what others do to the file; of at most `limit`
 * bytes in all. */
LOOM_MUST_USE loom_status *loom_object_read(const char *path, uint64_t limit, loom_value **value);

/* Bytes of data and lengths of a value. */
uint64_t loom_value_wire_bytes(const loom_value *value);

#endif
