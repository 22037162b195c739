/* Engine: executes the actions of one compiled plan on this process's threads. Private to the worker.
 *
 * The engine owns the linked object, the plan's extents and its buffers. It knows nothing of blocks and outputs: run.c
 * binds inputs, streams and accumulators, has a chunk executed and takes results out.
 *
 * ERRORS OF THE PROGRAM. A kernel that raises goes on with a harmless value. The engine goes on too, so that the least
 * element over all kernels of a chunk is named, but only as far as nothing can come of wrong values: it stops at the
 * end of a turn of a loop, before the executing half of a permute, and at the end of the chunk.
 *
 * Threads: one call at a time; kernels run on the executor's pool.
 */
#ifndef LOOM_WORKER_ENGINE_H
#define LOOM_WORKER_ENGINE_H

#include "compiler/plan/plan.h"
#include "device/cpu/memory.h"
#include "device/cpu/pool.h"
#include "executor/object.h"
#include "fft/fft.h"
#include "worker/executor.h"

struct loom_executor {
    loom_pool *pool;
    loom_memory *memory;
    loom_ffts *ffts;
    atomic_bool cancelled; /* kernels read its one byte */
};

/* What one thread hands to kernels. Padded so that errors and scratch pointers of two threads share no cache line. */
typedef struct loom_thread {
    _Alignas(128) loom_kernel_frame frame;
    loom_kernel_error error;
    loom_kernel_work work; /* since it was last taken */
    loom_block scratch;
} loom_thread;

/* Time spent per label, and what is known about an action's speed. */
typedef struct loom_action_state {
    uint32_t time;       /* into loom_engine.times */
    double ns_per_index; /* 0: not yet known */
} loom_action_state;

typedef struct loom_engine {
    loom_executor *executor;
    const loom_plan *plan;
    loom_object *object;
    void **kernels;  /* by plan kernel */
    loom_fft **ffts; /* by plan fft; NULL where an extent is 0 or not known yet */
    bool ffts_stale;
    int64_t *extents;
    uint32_t n_scalar_extents, *scalar_extents;
    uint32_t n_bound, *bound; /* buffers of what comes in, in the order in which they are bound */
    void **data;              /* by buffer: what kernels see; NULL where there is none now */
    loom_block *blocks;       /* by buffer: storage owned by the engine; data may be borrowed instead */
    uint64_t *filled;         /* by buffer: bytes that were appended */
    bool *of_chunk;           /* by buffer: storage was allocated by an action of the chunk, and ends with it */
    int64_t *lists;           /* by buffer of lengths that come in: how many there are */
    double *per_element;      /* by segmented extent: its total for each element of a chunk, -1: not known */
    int n_threads;
    loom_thread *threads;
    int64_t *first; /* LOOM_STORE_FIRST; aligned as all buffers are */
    int64_t raised_element;
    bool in_chunk;     /* set by the caller around the actions of a chunk */
    bool rows_apart;   /* the last ROWS went action by action */
    bool accumulating; /* a permute of this chunk has begun to change an accumulator */
    loom_action_state *actions;
    loom_run_time *times;
    size_t n_times;
} loom_engine;

/* The plan must have passed loom_plan_check and live as long as the engine. */
LOOM_MUST_USE loom_status *loom_engine_create(loom_executor *executor, const loom_plan *plan, const void *object,
                                              size_t length, loom_engine **engine);
void loom_engine_destroy(loom_engine *engine); /* NULL is fine */

/* Binds elements [from, from + count) of the leaf's outermost level (count < 0: the whole leaf, no chunk axis) to a
 * buffer. The data is borrowed where it is aligned to 64 bytes, copied otherwise. Sets INPUT extents that refer to the
 * buffer. */
LOOM_MUST_USE loom_status *loom_engine_bind(loom_engine *engine, uint32_t buffer, const loom_leaf *leaf, int64_t from,
                                            int64_t count);
/* A chunk's column whose leaf is constant: repeated `count` times. */
LOOM_MUST_USE loom_status *loom_engine_bind_repeated(loom_engine *engine, uint32_t buffer, const loom_leaf *leaf,
                                                     int64_t count);
bool loom_engine_is_aligned(const void *data);
void loom_engine_set_chunk(loom_engine *engine, int64_t count);

/* Runs actions [from, to). An error that a kernel raised is the result; engine->raised_element is then its element,
 * else -1. The caller ends the chunk in any case. */
LOOM_MUST_USE loom_status *loom_engine_run(loom_engine *engine, uint32_t from, uint32_t to);
/* Frees what actions of the chunk allocated and nobody took, and copies of columns. */
void loom_engine_end_chunk(loom_engine *engine);

/* What is to be expected of a segmented extent, for the choice of the chunk's length. */
void loom_engine_expect(loom_engine *engine, uint32_t lengths, double per_element);

/* Bytes and extents of a buffer as things stand. */
LOOM_MUST_USE loom_status *loom_engine_size(const loom_engine *engine, uint32_t buffer, uint64_t *bytes);
int64_t loom_engine_elements(const loom_engine *engine, uint32_t buffer);
/* Most bytes that actions [from, to) have out at a time with a chunk of `count` elements, as far as extents are known.
 */
uint64_t loom_engine_peak(const loom_engine *engine, uint32_t from, uint32_t to, int64_t count);

/* into = op(into, from) over all elements of `n` leaves of `elements` each; large ones by all threads. */
void loom_engine_combine(loom_engine *engine, uint32_t kernel, void *const *into, void *const *from, int64_t elements);
/* Fills with a scalar, by all threads where that pays. */
void loom_engine_fill(loom_executor *executor, loom_dtype dtype, loom_scalar value, void *data, int64_t elements);
void loom_engine_copy(loom_executor *executor, const void *from, void *to, uint64_t bytes);

/* ---- between the engine's files ---- */

/* The least error raised since the last call, as a status, or NULL; forgets it. Sets raised_element. */
LOOM_MUST_USE loom_status *loom_engine_raised(loom_engine *engine);
bool loom_engine_has_raised(const loom_engine *engine);
/* Every thread gets `bytes` of scratch for this kernel. */
LOOM_MUST_USE loom_status *loom_engine_scratch(loom_engine *engine, uint32_t kernel);
uint64_t loom_engine_scratch_bytes(const loom_engine *engine, uint32_t kernel);
/* work.c: counts for the thread that runs actions; the sum over threads, added to *to, which is then forgotten; of
 * transforms, by whatever thread; of an action that is done. */
void loom_engine_count(loom_engine *engine, loom_counted what, uint64_t n);
void loom_engine_take_work(loom_engine *engine, loom_kernel_work *to);
void loom_count_fft(loom_kernel_work *work, const loom_fft *fft, int64_t batch);
void loom_engine_count_action(loom_engine *engine, const loom_plan_action *action);
/* The shape of the plan's transform `f` as extents stand; false if it has no elements, or is not known yet. */
bool loom_engine_fft_shape(const loom_engine *engine, uint32_t f, loom_fft_shape *shape);
LOOM_MUST_USE loom_status *loom_engine_cancelled(const loom_engine *engine);
/* extents[extent], or an error of the program if it is negative; 1 for LOOM_NO_EXTENT. */
LOOM_MUST_USE loom_status *loom_engine_extent(loom_engine *engine, uint32_t extent, int64_t *value);

/* segments.c: offsets of lengths; and lengths that come in with a leaf. */
LOOM_MUST_USE loom_status *loom_engine_offsets(loom_engine *engine, const loom_plan_action *action);
/* The lists of a leaf, or of its elements [from, from + count), by level; `below`: scalars. count < 0: all. */
typedef struct loom_lists {
    int64_t begin[LOOM_MAX_DEPTH + 1], count[LOOM_MAX_DEPTH + 1];
} loom_lists;
LOOM_MUST_USE loom_status *loom_leaf_lists(const loom_leaf *leaf, int64_t from, int64_t count, loom_lists *lists);
/* The lengths of lists [0, count) of level k from `begin` on, to `to`. */
void loom_leaf_lengths(const loom_leaf *leaf, uint32_t k, int64_t begin, int64_t count, int64_t *to);
/* Rows of the leaf are as long as the buffer's lengths say, `copies` times over. `first`: the level of the leaf that is
 * the buffer's first. */
LOOM_MUST_USE loom_status *loom_engine_match_rows(const loom_engine *engine, uint32_t buffer, const loom_leaf *leaf,
                                                  const loom_lists *lists, uint32_t first, int64_t copies);

LOOM_MUST_USE loom_status *loom_engine_reduce(loom_engine *engine, const loom_plan_action *action);
uint64_t loom_engine_reduce_bytes(const loom_engine *engine, const loom_plan_action *action);
/* rows.c: the actions inside of a ROWS action. *done: false where their rows are not as many, or an error was raised:
 * then they are to be run one after the other, with whole buffers. *raised: that error, which is forgotten here and may
 * not be the first one in the order of the program. */
LOOM_MUST_USE loom_status *loom_engine_rows(loom_engine *engine, const loom_plan_action *action, bool *done,
                                            loom_status **raised);
uint64_t loom_engine_rows_bytes(const loom_engine *engine, const loom_plan_action *action);
LOOM_MUST_USE loom_status *loom_engine_permute(loom_engine *engine, const loom_plan_action *action);
uint64_t loom_engine_permute_bytes(const loom_engine *engine, const loom_plan_action *action);
LOOM_MUST_USE loom_status *loom_engine_sort(loom_engine *engine, const loom_plan_action *action);
uint64_t loom_engine_sort_bytes(const loom_engine *engine, const loom_plan_action *action);

extern const loom_kernel_runtime loom_engine_runtime;

#endif
