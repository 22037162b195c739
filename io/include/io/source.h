/* Sources: what serves a stream's blocks, in client and worker alike.
 *
 * A source yields elements of one stream parameter: [first, first + n) as a loom_value whose leaves (named as the
 * element type's leaves) have the chunk as outermost level. A stream is a list of segments; a segment has constant
 * inner extents for its regular leaves and constant fields, which are not repeated per element but given once by
 * loom_source_constants. A block never crosses a segment. Blocks number the stream and are fixed for the life of a job:
 * the same number is always the same elements (rewindable sources).
 * Threads: one thread at a time per source, unless a source says otherwise (npy: any).
 */
#ifndef LOOM_IO_SOURCE_H
#define LOOM_IO_SOURCE_H

#include "common/value.h"

typedef struct loom_source loom_source;

typedef struct loom_block_info {
    int64_t first, count;
    uint32_t segment;
} loom_block_info;

/* What a source is made of: behind one struct of functions, so that kinds can be added. */
typedef struct loom_source_kind {
    const char *name; /* "npy", "ms", "served", "value" */
    loom_status *(*read)(loom_source *source, int64_t first, int64_t count, loom_value **elements);
    loom_status *(*constants)(loom_source *source, uint32_t segment, loom_value **constants);
    void (*destroy)(loom_source *source);
} loom_source_kind;

struct loom_source {
    const loom_source_kind *kind;
    int64_t n_elements;
    uint32_t n_segments;
    int64_t *segment_first; /* n_segments + 1 positions */
    bool concurrent;        /* read may be called from several threads */
    bool worker_can_open;   /* `description` suffices for a worker on the same file system */
    char *description;      /* one line of text that loom_source_open understands, NULL if it must be served */
    void *state;
};

LOOM_MUST_USE loom_status *loom_source_read(loom_source *source, int64_t first, int64_t count, loom_value **elements);
LOOM_MUST_USE loom_status *loom_source_constants(loom_source *source, uint32_t segment,
                                                 loom_value **constants); /* may give NULL: none */
void loom_source_destroy(loom_source *source);
/* Opens what `description` says (workers). */
LOOM_MUST_USE loom_status *loom_source_open(const char *description, loom_source **source);

/* Cuts [0, n) of streams of equal length into blocks of at most `length` elements that cross no segment of any stream.
 * malloc'ed. Unequal lengths: error that names both. */
LOOM_MUST_USE loom_status *loom_source_blocks(loom_source *const *sources, uint32_t n_sources, int64_t length,
                                              loom_block_info **blocks, int64_t *n_blocks);

/* A stream from .npy files: one file a leaf (`names[i]` its leaf name, "" for a plain element), over the first axis;
 * with `lengths` (or NULL) the file of lengths of an irregular first inner level. constant: file holds a constant
 * field. Mapped, not read; dtype must be that of the leaf; C order, little-endian. `depth` counts the array levels of
 * the leaf inside one element (0 for a scalar field): a column's file has depth + 1 axes, a constant's depth, and the
 * file of values that has lengths depth, with the first two levels run together. A file that changes after it was
 * opened is an error when a worker opens it by description. */
typedef struct loom_npy_column {
    const char *name, *values, *lengths;
    bool constant;
    loom_dtype dtype;
    uint32_t depth;
} loom_npy_column;
LOOM_MUST_USE loom_status *loom_source_npy(const loom_npy_column *columns, uint32_t n_columns, loom_source **source);
/* A stream from a value in memory (elements of the outermost level). */
LOOM_MUST_USE loom_status *loom_source_value(loom_value *value, loom_source **source);
/* Bytes of an element, data and lengths, by a few of each segment that has some: those of the segment where they are
 * largest. 0 for a stream without elements. */
LOOM_MUST_USE loom_status *loom_source_element_bytes(loom_source *source, double *bytes);
/* Elements [first, first + count) of another source, which must outlive it. */
LOOM_MUST_USE loom_status *loom_source_part(loom_source *whole, int64_t first, int64_t count, loom_source **source);

/* A field of a stream's elements. `depth` counts the array levels inside one element. */
typedef struct loom_source_field {
    const char *name;
    loom_dtype dtype;
    uint32_t depth;
    bool constant; /* of a segment */
} loom_source_field;
/* Some fields of another stream, which it takes over, also where it fails: blocks and constants of it hold these
 * alone. The stream must have them; one at least is not constant. `fields` may go afterwards, the names may not. */
LOOM_MUST_USE loom_status *loom_source_select(loom_source *whole, const loom_source_field *fields, uint32_t n_fields,
                                              loom_source **source);

#endif
