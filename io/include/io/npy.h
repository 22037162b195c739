/* NumPy's .npy files, format versions 1.0 to 3.0: one array of one scalar type.
 *
 * Types: those of common/dtype.h ('?', 'i1'...'u8', 'f4', 'f8', 'c8', 'c16'), little-endian, C order; a file in Fortran
 * order or big-endian is refused with a hint. Files come from outside: headers are parsed within the bytes that are
 * there, sizes are checked against the file's length before anything is read.
 * Threads: any; a mapped array is immutable.
 */
#ifndef LOOM_IO_NPY_H
#define LOOM_IO_NPY_H

#include "common/file.h"
#include "common/value.h"

/* Bytes of a header: 65 535 is all that version 1.0 can say, and a header of this program's depth limit is below 1 KiB.
 * Versions 2 and 3 could claim 4 GiB. Test: io/test/npy_test.c. */
#define LOOM_MAX_NPY_HEADER 65535u

typedef struct loom_npy_header {
    loom_dtype dtype;
    uint32_t depth;
    int64_t extents[LOOM_MAX_DEPTH];
    size_t offset;  /* of the data, in bytes */
    uint64_t bytes; /* of the data */
} loom_npy_header;

/* Parses the header at the start of a file of `length` bytes and checks that the data is all there. `name` is for
 * messages. */
LOOM_MUST_USE loom_status *loom_npy_parse(const char *name, const void *bytes, size_t length, loom_npy_header *header);

typedef struct loom_npy_map {
    loom_mapping mapping;
    loom_npy_header header;
    const void *data; /* inside the mapping; aligned to 16 bytes in files that NumPy wrote, otherwise perhaps not */
    bool aligned;     /* for its element type */
} loom_npy_map;

LOOM_MUST_USE loom_status *loom_npy_map_file(const char *path, loom_npy_map *map);
void loom_npy_unmap(loom_npy_map *map);

/* A whole file as a value of one leaf called `name`: zero-copy where the data is aligned and not bool (whose bytes are
 * copied and made 0 or 1). */
LOOM_MUST_USE loom_status *loom_npy_read(const char *path, const char *name, loom_value **value);

/* Writes version 1.0, never half (common/file.h). */
LOOM_MUST_USE loom_status *loom_npy_write(const char *path, loom_dtype dtype, uint32_t depth, const int64_t *extents,
                                          const void *data);
/* A leaf as one file; an irregular one is flattened where it is irregular, and the lengths of each such level,
 * outermost first, go to `path` with ".npy" replaced by ".lengths.npy" (".lengths1.npy" and on for further levels). */
char *loom_npy_lengths_path(const char *path, uint32_t level); /* the caller frees */
LOOM_MUST_USE loom_status *loom_npy_write_leaf(const char *path, const loom_leaf *leaf);
/* The same, put in place with the other files of `set`. */
LOOM_MUST_USE loom_status *loom_npy_hold_leaf(const char *path, const loom_leaf *leaf, loom_file_set *set);

#endif
