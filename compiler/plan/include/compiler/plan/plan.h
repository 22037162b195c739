/* Stage plan: a compiled stage for one target: buffers, actions, kernels in an object file. What `codegen` makes and
 * the worker executes. A leaf of the compiler: data structure, codec, printer, checker.
 *
 * EXTENTS. Every size that is not a constant stands in the plan's table of extents; the executor fills
 * `frame.extents[e]` before the first kernel (INPUT, CHUNK) or when the scalar has been computed (SCALAR: after the
 * action that writes that buffer; an ALLOC that needs it comes later). Kernels read sizes from there. BUFFERS are
 * row-major, contiguous, aligned to 64 bytes, one per scalar leaf; size = product of its extents, from the last
 * segmented one on. ACTIONS run in order. A traversal plan's actions run once a chunk; those before `chunk_begin` once
 * a stage instance and segment (what depends on neither the chunk nor its elements: "avoided"); buffers made there live
 * on.
 */
#ifndef LOOM_COMPILER_PLAN_PLAN_H
#define LOOM_COMPILER_PLAN_PLAN_H

#include "common/arena.h"
#include "common/dtype.h"
#include "common/status.h"
#include "common/value.h"
#include "compiler/plan/graph.h"

typedef enum loom_extent_kind {
    LOOM_EXTENT_CONST,     /* value */
    LOOM_EXTENT_CHUNK,     /* elements in this chunk */
    LOOM_EXTENT_INPUT,     /* extents[level] of the value bound to buffer `buffer` */
    LOOM_EXTENT_SCALAR,    /* the i64 in zero-rank buffer `buffer`; negative counts as an error of the program */
    LOOM_EXTENT_SEGMENTED, /* differs from list to list: `lengths`, a buffer over exactly the extents before it, has one
                              for each, zero-rank buffer `buffer` their sum, which is what the table holds */
} loom_extent_kind;
typedef struct loom_plan_extent {
    loom_extent_kind kind;
    int64_t value;
    uint32_t buffer, level;
    uint32_t lengths;
} loom_plan_extent;

typedef enum loom_storage {
    LOOM_STORE_INPUT,       /* leaf `leaf` of input slot number `source` of the stage */
    LOOM_STORE_COLUMN,      /* leaf `leaf` of stream number `source`: first extent is the chunk */
    LOOM_STORE_CONSTANT,    /* constant field of the segment: leaf `leaf` of stream `source`, without the chunk axis */
    LOOM_STORE_FIRST,       /* zero-rank i64: stream position of the chunk's first element */
    LOOM_STORE_TEMP,        /* ALLOC and FREE actions */
    LOOM_STORE_ACCUMULATOR, /* belongs to an output of kind PERMUTE or FOLD; filled with the neutral element at the
                               start */
    LOOM_STORE_RESULT,      /* allocated by ALLOC, taken over by an output */
} loom_storage;

typedef struct loom_plan_buffer {
    const char *name;
    loom_dtype dtype;
    loom_storage storage;
    uint32_t source, leaf;
    uint32_t n_extents;
    const uint32_t *extents; /* into loom_plan.extents */
    uint32_t lengths_of;     /* INPUT, COLUMN: not the data but the lengths of this level of the leaf; 0: the data */
    bool offsets;            /* LOOM_OFFSETS_MORE elements behind the others */
} loom_plan_buffer;
/* The total stands behind the offsets, and once more: so that the list behind the last one is there, and empty. */
#define LOOM_OFFSETS_MORE 2

/* ---- the kernel interface: structures shared with generated code, layout fixed ---- */
typedef struct loom_kernel_error {
    int64_t element;
    uint32_t site;
    uint32_t raised;
    int64_t a, b;
} loom_kernel_error;
/* Work done, where code was made to count it (docs/architecture.md, "Work and space"): evaluations, weighted as in the
 * table of primitives; scalars stored; entries of descriptors made. */
typedef enum loom_counted {
    LOOM_COUNTED_EVALUATIONS,
    LOOM_COUNTED_MOVED,
    LOOM_COUNTED_DESCRIPTORS,
    LOOM_COUNTED
} loom_counted;
typedef struct loom_kernel_work {
    uint64_t done[LOOM_COUNTED];
} loom_kernel_work;
struct loom_kernel_frame;
typedef struct loom_kernel_runtime {
    /* Raises error `site` for stream element (or outermost index) `element`, with two numbers for the message; the
     * least element is kept. Returns; the kernel goes on with a harmless value. */
    void (*raise)(const struct loom_kernel_frame *frame, uint32_t site, int64_t element, int64_t a, int64_t b);
    /* `batch` transforms number `fft` (loom_plan.ffts) from `in` to `out` (may be equal) inside a strip kernel. */
    void (*fft)(const struct loom_kernel_frame *frame, uint32_t fft, const void *in, void *out, int64_t batch);
} loom_kernel_runtime;
typedef struct loom_kernel_frame {
    void *const *buffers;
    const int64_t *extents;
    void *scratch;            /* of this thread, kernel.scratch bytes, 64-byte aligned */
    loom_kernel_error *error; /* of this thread */
    const loom_kernel_runtime *runtime;
    void *executor;         /* opaque to kernels */
    loom_kernel_work *work; /* of this thread; code that counts adds to it at the end of a call */
    /* Not 0: what the call computes is not wanted any more, and a loop that may have no end leaves. Other threads
     * write. */
    const volatile unsigned char *stop;
} loom_kernel_frame;

/* RANGE    writes its result buffers for outermost indices [from, to); ranges are disjoint and may run at once. */
typedef void (*loom_kernel_range)(const loom_kernel_frame *frame, int64_t from, int64_t to);
/* REDUCE   reduces indices [from, to) of the reduced axis into partial[0..k): starts from the neutral element. Of
 * lists: into their own results, but for the list that `from` lies inside of, whose part goes into partial. */
typedef void (*loom_kernel_reduce)(const loom_kernel_frame *frame, int64_t from, int64_t to, void *const *partial);
/* COMBINE  into[j][i] = op(into[.][i], from[.][i]) for i in [begin, end): the earlier on the left. No buffers of frame.
 */
typedef void (*loom_kernel_combine)(const loom_kernel_frame *frame, void *const *into, void *const *from, int64_t begin,
                                    int64_t end);
/* INSPECT  for units [from, to): base[(u - from) * rank + d], or LOOM_DROPPED in base[(u - from) * rank] if none of the
 * unit's patch can be inside. Units number the unit index space row-major. */
#define LOOM_DROPPED INT64_MIN
typedef void (*loom_kernel_inspect)(const loom_kernel_frame *frame, int64_t from, int64_t to, int64_t *base);
/* EXECUTE  for i < n: computes the patch of unit units[i] and combines it into the accumulators at bases + i * rank;
 * drops what lies outside the target. Called for units that do not clash with units of other threads. */
typedef void (*loom_kernel_execute)(const loom_kernel_frame *frame, const int64_t *units, int64_t n,
                                    const int64_t *bases);

typedef struct loom_plan_kernel {
    const char *symbol;
    uint32_t scratch_kind; /* 0: `scratch` bytes; else scratch + extents[scratch_extent] * scratch_per */
    uint64_t scratch, scratch_per;
    uint32_t scratch_extent;
} loom_plan_kernel;

typedef struct loom_plan_fft {
    loom_dtype dtype; /* c64, c128 */
    bool inverse;     /* scaled by 1/N by the runtime */
    uint32_t rank;
    const uint32_t *extents; /* into loom_plan.extents */
} loom_plan_fft;

typedef enum loom_action_kind {
    LOOM_ACT_ALLOC,   /* buffer */
    LOOM_ACT_FREE,    /* buffer */
    LOOM_ACT_KERNEL,  /* kernel (RANGE) over [0, extents[extent]); extent LOOM_NO_EXTENT: one call with (0, 1). A
                         segmented extent: elements of all lists in order */
    LOOM_ACT_REDUCE,  /* kernel (REDUCE), kernel2 (COMBINE) over [0, extents[extent]) into buffers[]; pieces of fixed
                         size, in order. A segmented extent: elements of all lists; buffer: where these begin. buffers[]
                         hold the neutral element of each list */
    LOOM_ACT_FFT,     /* fft from buffer to buffer2 (may be equal); batch = product of the leading extents of buffer. Of
                         rank 1 with a segmented extent: each list by itself */
    LOOM_ACT_PERMUTE, /* kernel (INSPECT), kernel2 (EXECUTE); see permute */
    LOOM_ACT_COPY,    /* buffer to buffer2, same extents */
    LOOM_ACT_FILL,    /* buffer with scalar `value` */
    LOOM_ACT_LOOP,    /* the next n_inner actions, again and again: extents[extent] times, or until BREAK; buffer (i64)
                         counts from 0 */
    LOOM_ACT_BREAK,   /* leave the innermost loop unless bool buffer is true; then buffers[] are freed. These are freed
                         behind it too, where the turn goes on */
    LOOM_ACT_IF,      /* bool buffer: the next n_inner actions if true, else the n_else after them */
    LOOM_ACT_SWAP,    /* storage of buffer and buffer2; extents that stand on such buffers are read again */
    LOOM_ACT_ROWS,    /* the next n_inner actions, KERNELs and FFTs of rank 1: their outermost indices a few at a time,
                         through all of them; see rows */
    LOOM_ACT_OFFSETS, /* lengths in buffer to their exclusive sums in buffer2; the total to zero-rank buffers[0] */
    LOOM_ACT_APPEND,  /* the elements of buffer behind those that buffer2 has got since it was allocated; its storage
                         grows. At the end of the loop it has as many as its extents say */
    LOOM_ACT_SORT,    /* for each list along the last extent: the places of its elements in ascending order of the keys
                         in buffers[], to buffer; see sort */
} loom_action_kind;
#define LOOM_NO_EXTENT UINT32_MAX

typedef struct loom_plan_action {
    loom_action_kind kind;
    uint32_t kernel, kernel2, fft, extent;
    uint32_t buffer, buffer2;
    uint32_t n_buffers;
    const uint32_t *buffers; /* REDUCE: results; PERMUTE: target leaves; ROWS: buffers that are there inside alone;
                                OFFSETS: the total; SORT: the keys' scalars, the first counts most; FFT: where the
                                lists of a segmented extent begin, else none; BREAK: what is freed */
    uint32_t n_inner, n_else;
    loom_scalar value;
    /* PERMUTE: units = product of unit_extents; target levels 0..rank-1 are indexed; a unit's patch covers
     * [base_d + lower_d, base_d + upper_d) in level d. */
    uint32_t n_units;
    const uint32_t *unit_extents;
    uint32_t rank;
    const int64_t *lower, *upper;
    /* ROWS: unit_extents has the outermost extent of each inner action, then of each of `buffers`. Where these are
     * equal any thread may take rows [x, y) through all inner actions, and `buffers` need hold these rows only; else
     * the actions follow one another, with whole buffers. */
    /* SORT: stable, by the order of common/order.h. buffer2: where the lists of a last extent begin that is segmented,
     * else LOOM_NO_EXTENT. */
    /* COMBINE of the operator, for merging; cost per unit in nanoseconds as estimated (0: unknown) */
    double cost;
    const char *label; /* for profiles: "fft (awgrid.weft:12)" */
    /* For profiles: buffers that it reads or writes, but for those of ROWS that are there inside alone. LOOP and IF
     * have none: their inner actions do. */
    uint32_t n_touched;
    const uint32_t *touched;
} loom_plan_action;

typedef struct loom_plan_output {
    loom_output_kind kind;
    loom_merge_order order;
    uint32_t n_leaves;
    const char *const *names;   /* leaf names */
    const uint32_t *buffers;    /* FOLD, REDUCE: the chunk's partial (TEMP or RESULT); PERMUTE: ACCUMULATOR; COLLECT,
                                   STREAM: RESULT with the chunk axis first, or what a filter has left of it;
                                   VALUE: RESULT or INPUT */
    const loom_scalar *neutral; /* FOLD, PERMUTE: per leaf */
    uint32_t combine; /* kernel (COMBINE) over the elements of one leaf (all leaves of an output have the same extents);
                         else LOOM_NO_KERNEL */
} loom_plan_output;
#define LOOM_NO_KERNEL UINT32_MAX

/* LOOP and IF inside each other: those of a program outside of element functions, of which people write a handful.
 * Checker and executor recurse over them. */
#define LOOM_PLAN_MAX_NESTING 64

/* A place in the program that may raise an error. format has at most two %lld-like places written as {a} and {b}. */
typedef struct loom_plan_site {
    const char *file;
    loom_span span;
    const char *format;
    const char *hint;
} loom_plan_site;

typedef struct loom_plan {
    loom_stage_kind kind;
    const char *target; /* triple, cpu, features: compared with the worker's own */
    uint32_t n_extents;
    const loom_plan_extent *extents;
    uint32_t n_buffers;
    const loom_plan_buffer *buffers;
    uint32_t n_kernels;
    const loom_plan_kernel *kernels;
    uint32_t n_ffts;
    const loom_plan_fft *ffts;
    uint32_t n_actions;
    const loom_plan_action *actions;
    uint32_t chunk_begin; /* actions before it run once a stage instance and segment */
    uint32_t n_outputs;
    const loom_plan_output *outputs;
    uint32_t n_sites;
    const loom_plan_site *sites;
    double bytes_per_element; /* buffers alive per stream element, for the choice of the chunk's length */
    double cost_per_element;  /* nanoseconds, estimated */
    /* The plan of the same stage for rows of one length, encoded, and its object; NULL where there is none. It has
     * none itself. Where it fails before anything is in an accumulator, also because rows are not of one length after
     * all, this one is run in its place. */
    const void *tested;
    size_t tested_length;
    const void *tested_object;
    size_t tested_object_length;
} loom_plan;

LOOM_MUST_USE loom_status *loom_plan_check(
    const loom_plan *plan); /* every index in range, actions well nested: before execution */
LOOM_MUST_USE loom_status *loom_plan_encode(const loom_plan *plan, char **bytes, size_t *length);
LOOM_MUST_USE loom_status *loom_plan_decode(loom_arena *arena, const void *bytes, size_t length, loom_plan **plan);
void loom_plan_print(const loom_plan *plan, FILE *to);

/* A plan is a few kilobytes; a program of the largest size gives some megabytes of actions and sites. */
#define LOOM_MAX_PLAN_BYTES ((size_t)64 << 20)

#endif
