/* Files: whole reads, mappings, and writes that are never half done (temporary name in the same folder, fsync, rename).
 */
#ifndef LOOM_COMMON_FILE_H
#define LOOM_COMMON_FILE_H

#include "common/status.h"
#include <stdbool.h>
#include <stdio.h>

/* Reads at most `limit` bytes; larger files are an error. Caller frees. A NUL is added beyond the length. A pipe is
 * read to its end; that one has no writer yet is told in the log, after a second. */
LOOM_MUST_USE loom_status *loom_file_read(const char *path, uint64_t limit, char **data, size_t *length);
typedef struct loom_mapping {
    void *data;
    size_t length;
} loom_mapping;
/* A pipe or device is refused, and not waited for: it could be read once only. What is not there is no error here. */
LOOM_MUST_USE loom_status *loom_file_check_stored(const char *path);
/* Read-only, MAP_SHARED. As loom_file_check_stored. */
LOOM_MUST_USE loom_status *loom_file_map(const char *path, loom_mapping *mapping);
void loom_file_unmap(loom_mapping *mapping);
/* Writes path.tmp-PID-N, syncs if `sync`, renames. On failure the temporary file is gone and `path` is as it was. A
 * link stays one: what it points to is replaced. A device or pipe is written directly. */
LOOM_MUST_USE loom_status *loom_file_write(const char *path, const void *data, size_t length, bool sync);

typedef struct loom_writer loom_writer; /* the same in pieces */
LOOM_MUST_USE loom_status *loom_writer_open(const char *path, loom_writer **writer);
LOOM_MUST_USE loom_status *loom_writer_put(loom_writer *writer, const void *data, size_t length);
/* For libraries that write by name; they may also remove and make the file anew. */
const char *loom_writer_temporary(const loom_writer *writer);
LOOM_MUST_USE loom_status *loom_writer_commit(loom_writer *writer, bool sync); /* frees the writer, also on failure */
void loom_writer_abort(loom_writer *writer);                                   /* frees the writer; NULL is fine */

/* Several files that are put in place together: all of them or none. Each is written in full under its temporary name
 * and held; commit renames, and takes back what it has renamed where one name fails. Devices and pipes are written when
 * they are held. One thread at a time. */
typedef struct loom_file_set loom_file_set;
loom_file_set *loom_file_set_create(void);
/* In place of loom_writer_commit; frees the writer, also on failure. Without a set (NULL) it commits. */
LOOM_MUST_USE loom_status *loom_writer_hold(loom_writer *writer, bool sync, loom_file_set *set);
LOOM_MUST_USE loom_status *loom_file_set_put(loom_file_set *set, const char *path, const void *data, size_t length);
LOOM_MUST_USE loom_status *loom_file_set_commit(loom_file_set *set);
void loom_file_set_destroy(loom_file_set *set); /* removes what was not put in place; NULL is fine */

/* Writes out what was printed to `stream`; LOOM_E_IO if any of it, now or earlier, did not arrive. */
LOOM_MUST_USE loom_status *loom_stream_flush(FILE *stream, const char *name);

/* Why a library could not write on the file system of `path` (NULL: it did not write): errno as it left it, where that
 * is a limit of the system's; else what can be seen, a disk without room or a limit of a file's size. 0: not known.
 * Libraries report a short write with whatever errno was left from before, or with one of their own assertions. */
int loom_write_cause(const char *path, int errnum);

LOOM_MUST_USE loom_status *loom_make_directories(const char *path, unsigned mode);
void loom_remove_tree(const char *path);    /* best effort, does not follow links */
uint64_t loom_tree_bytes(const char *path); /* of its files; links are not followed */

/* LOOM_E_IO where the file system of `folder` has no room for `bytes` bytes of `path`. Where that cannot be told the
 * write itself will tell. */
LOOM_MUST_USE loom_status *loom_file_check_room(const char *folder, const char *path, uint64_t bytes);
char *loom_file_folder(const char *path); /* that it is in; the caller's */

#endif
