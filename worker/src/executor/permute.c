/* PERMUTE: inspector and executor.
 *
 *   1. inspect   each unit's base (the corner of its patch in the target), in parallel
 *   2. key       the tile in which the patch begins; units whose patch is outside have none
 *   3. sort      units by key: counting sort, stable, in parallel over slabs of units
 *   4. execute   tile after tile; a unit's patch lies in its tile and the next one of each level
 *
 * A tile is at least as wide as a patch, so patches that begin in tiles of equal parity in every level never share a
 * cell: tiles are run in as many phases as there are parities (levels in which patches are wider than one cell and that
 * have more than one tile: at most two, the innermost; others only refine the order within a tile). Within a phase
 * tiles run at once on any thread; within a tile, units run in their own order. So every cell receives its
 * contributions in an order that depends on the units and the target alone: the same bits for any number of threads,
 * and no atomics, no copies.
 *
 * Example: a grid of 2400 x 2400 with patches of 15 x 15 gets tiles of 32 x 64, four phases, 703 tiles in each.
 * Cost: inspection, 4 (rank + 1) bytes and a few operations per unit, twice; then the kernel. (DESIGN 4.10)
 *
 * What is sorted, a unit with its base, is a record of 32-bit words, of 64-bit ones where a target is longer than those
 * count: sorting is writing to as many places as there are tiles, and a record should touch one line of memory.
 */
#include "executor/permute.h"
#include "common/buffer.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Units sorted in one go: the workspace takes 32 bytes or so of each; more units are done batch by batch. Each batch
 * passes over the target, so a batch's workspace may be half as large as the target, between 8 and 64 MB: what is
 * smaller stays in caches, and memory that is never asked for need not be cleared. Follows from the target alone, so
 * that the order of contributions does not depend on memory. */
#define LEAST_BATCH ((int64_t)1 << 18)
#define MOST_BATCH  ((int64_t)1 << 21)
#define UNIT_BYTES  64.0
/* Bytes of target that a tile with its halo should cover: half of a second-level cache of today. */
#define TILE_BYTES 131072.0
/* Tiles wanted in a phase, for balance between threads. */
#define MIN_TILES 256
/* Tiles at most: one counter each per slab. */
#define MAX_TILES ((int64_t)1 << 20)
/* Levels cut for parallelism: each doubles the number of phases. */
#define MAX_SPLIT 2
/* Units per call of a kernel, which wants 64-bit numbers: what these take stays in the nearest cache. */
#define CALL_UNITS 256
/* Slabs of the counting sort at most; their counters take slabs * tiles * 4 bytes. */
#define MAX_SLABS 64
#define NO_KEY    UINT32_MAX

typedef struct level {
    int64_t extent, lower; /* of the target; where a patch begins from its base */
    int64_t reach;         /* width of a patch */
    int64_t patch;         /* the same, the target's extent at most: what tiles must hold */
    int64_t width;         /* of a tile: 1 << shift */
    int shift;
    int64_t tiles;
    int64_t stride; /* in the key, of the next tile of this level */
    bool split;     /* tiles of unlike parity run in different phases */
} level;

typedef struct tiling {
    uint32_t rank;
    level levels[LOOM_MAX_DEPTH];
    int64_t keys;   /* tiles in all levels */
    int64_t refine; /* keys of one task: product over refining levels */
    int64_t tasks;
    int phases;
    int64_t batch; /* units sorted in one go */
} tiling;

typedef struct permute_job {
    loom_engine *engine;
    const loom_plan_action *action;
    loom_kernel_inspect inspect;
    loom_kernel_execute execute;
    tiling tiling;
    int64_t first, n; /* this batch of units */
    int64_t slab, n_slabs;
    bool narrow;         /* words of 32 bits */
    void *bases;         /* words [n][rank], by unit */
    uint32_t *keys;      /* [n] */
    uint32_t *counters;  /* [slab][key] */
    void *sorted;        /* words [n][1 + rank]: unit (from 0 in the batch) and base */
    int64_t *task_begin; /* [tasks + 1] */
    int64_t *order;      /* tasks of the phase that have units, the fullest first */
} permute_job;

/* ---- tiles ---- */

/* Which levels are cut for parallelism: those where one cell is a patch need no phases; of the others the innermost
 * two. */
static void choose_split(tiling *t) {
    int wide = 0;
    for (uint32_t d = t->rank; d-- > 0;) {
        level *l = &t->levels[d];
        l->split = l->patch == 1 || wide < MAX_SPLIT;
        if (l->patch > 1 && l->split) wide++;
    }
}

static void count_tiles(tiling *t) {
    t->keys = t->refine = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        level *l = &t->levels[d];
        l->tiles = l->extent > 0 ? (l->extent - 1) / l->width + 1 : 1;
        if (__builtin_mul_overflow(t->keys, l->tiles, &t->keys)) t->keys = INT64_MAX;
        if (!l->split) t->refine *= l->tiles;
    }
    t->tasks = t->keys / t->refine;
}

/* The key of a tile: its task, and inside that the refining levels; both with the last level fastest. */
static void number_tiles(tiling *t) {
    int64_t task = t->refine, within = 1;
    for (uint32_t d = t->rank; d-- > 0;) {
        level *l = &t->levels[d];
        int64_t *next = l->split ? &task : &within;
        l->stride = *next;
        *next *= l->tiles;
    }
}

static double tile_bytes(const tiling *t, double cell) {
    for (uint32_t d = 0; d < t->rank; d++) {
        const level *l = &t->levels[d];
        int64_t covered = l->width + l->patch - 1;
        cell *= (double)(covered < l->extent ? covered : l->extent);
    }
    return cell;
}

/* The level whose halo weighs most is widened first; among equals the innermost, where memory is contiguous. */
static level *level_to_widen(tiling *t) {
    level *best = NULL;
    double most = 0;
    for (uint32_t d = t->rank; d-- > 0;) {
        level *l = &t->levels[d];
        if (l->tiles <= 1) continue;
        double halo = (double)(l->width + l->patch - 1) / (double)l->width;
        if (!best || halo > most) {
            best = l;
            most = halo;
        }
    }
    return best;
}

static int64_t power_of_two(int64_t least) {
    int64_t p = 1;
    while (p < least) p *= 2;
    return p;
}

static void choose_tiles(tiling *t, double cell) {
    choose_split(t);
    for (uint32_t d = 0; d < t->rank; d++) t->levels[d].width = power_of_two(t->levels[d].patch);
    count_tiles(t);
    for (;;) {
        level *l = level_to_widen(t);
        if (!l) break;
        bool must = t->keys > MAX_TILES;
        l->width *= 2;
        bool fits = tile_bytes(t, cell) <= TILE_BYTES;
        int64_t tasks = t->tasks;
        count_tiles(t);
        if (must || (fits && tasks / 2 >= MIN_TILES)) continue;
        l->width /= 2;
        count_tiles(t);
        break;
    }
    number_tiles(t);
    t->phases = 1;
    for (uint32_t d = 0; d < t->rank; d++) {
        t->levels[d].shift = __builtin_ctzll((uint64_t)t->levels[d].width);
        if (t->levels[d].split && t->levels[d].patch > 1 && t->levels[d].tiles > 1) t->phases *= 2;
    }
}

/* Extents of the indexed levels, patches, and bytes of all leaves per indexed cell. */
static loom_status *set_up_tiling(const loom_engine *engine, const loom_plan_action *action, tiling *t) {
    if (action->rank > LOOM_MAX_DEPTH) return loom_error(LOOM_E_LIMIT, "a permute over %u levels", action->rank);
    double cell = 0;
    *t = (tiling){.rank = action->rank};
    for (uint32_t i = 0; i < action->n_buffers; i++) {
        const loom_plan_buffer *b = &engine->plan->buffers[action->buffers[i]];
        if (b->n_extents < action->rank)
            return loom_error(LOOM_E_INTERNAL, "plan permutes onto '%s' by too many levels", b->name);
        double leaf = (double)loom_dtype_size(b->dtype);
        for (uint32_t d = action->rank; d < b->n_extents; d++) leaf *= (double)engine->extents[b->extents[d]];
        cell += leaf;
        for (uint32_t d = 0; d < action->rank && i == 0; d++) t->levels[d].extent = engine->extents[b->extents[d]];
    }
    for (uint32_t d = 0; d < action->rank; d++) {
        level *l = &t->levels[d];
        l->lower = action->lower[d];
        l->reach = action->upper[d] - action->lower[d];
        if (l->reach < 1) return loom_error(LOOM_E_INTERNAL, "plan permutes patches of width %" PRId64, l->reach);
        l->patch = l->reach > l->extent && l->extent > 0 ? l->extent : l->reach;
    }
    choose_tiles(t, cell);
    double target = cell;
    for (uint32_t d = 0; d < t->rank; d++) target *= (double)t->levels[d].extent;
    t->batch = target < UNIT_BYTES * (double)MOST_BATCH ? (int64_t)(target / UNIT_BYTES) : MOST_BATCH;
    if (t->batch < LEAST_BATCH) t->batch = LEAST_BATCH;
    return NULL;
}

/* ---- inspect and key ---- */

/* Of a base that is kept: the patch touches the target. */
static bool words_suffice(const tiling *t) {
    for (uint32_t d = 0; d < t->rank; d++) {
        const level *l = &t->levels[d];
        int64_t least = -l->lower - l->reach, most;
        if (__builtin_sub_overflow(l->extent, l->lower, &most) || most > INT32_MAX || least < INT32_MIN) return false;
    }
    return true;
}

static inline void put_word(void *words, int64_t i, int64_t value, bool narrow) {
    if (narrow) {
        ((int32_t *)words)[i] = (int32_t)value;
    } else {
        ((int64_t *)words)[i] = value;
    }
}

static inline int64_t get_word(const void *words, int64_t i, bool narrow) {
    return narrow ? ((const int32_t *)words)[i] : ((const int64_t *)words)[i];
}

/* Keys and records of n units, the first one number `at` of the batch. A patch that begins before the target is counted
 * to the first tile: it then still ends within the tile after. Inlined with a constant rank and width of words, and
 * without branches, since which of the units are dropped follows no pattern. */
static inline void enter_units(const permute_job *p, int64_t at, int64_t n, const int64_t *bases, uint32_t rank,
                               bool narrow) {
    uint64_t offset[LOOM_MAX_DEPTH], before[LOOM_MAX_DEPTH], span[LOOM_MAX_DEPTH], stride[LOOM_MAX_DEPTH];
    int shift[LOOM_MAX_DEPTH];
    for (uint32_t d = 0; d < rank; d++) {
        const level *l = &p->tiling.levels[d];
        before[d] = (uint64_t)l->reach - 1;
        offset[d] = (uint64_t)l->lower + before[d];
        span[d] = (uint64_t)l->extent + before[d];
        stride[d] = (uint64_t)l->stride;
        shift[d] = l->shift;
    }
    for (int64_t u = 0; u < n; u++) {
        const int64_t *base = bases + u * rank;
        uint64_t key = 0;
        bool touches = base[0] != LOOM_DROPPED;
        for (uint32_t d = 0; d < rank; d++) {
            /* From the first place where a patch touches the target; what is before that, or wraps, is large. */
            uint64_t place = (uint64_t)base[d] + offset[d];
            touches &= place < span[d];
            key += ((place > before[d] ? place - before[d] : 0) >> shift[d]) * stride[d];
            put_word(p->bases, (at + u) * rank + d, base[d], narrow);
        }
        p->keys[at + u] = touches ? (uint32_t)key : NO_KEY;
    }
}

static void inspect_body(void *context, int thread, int64_t from, int64_t to) {
    const permute_job *p = context;
    uint32_t rank = p->tiling.rank;
    int64_t bases[CALL_UNITS * LOOM_MAX_DEPTH];
    for (int64_t n; from < to; from += n) {
        n = to - from < CALL_UNITS ? to - from : CALL_UNITS;
        p->inspect(&p->engine->threads[thread].frame, p->first + from, p->first + from + n, bases);
        switch (p->narrow ? rank : 0) {
        case 1: enter_units(p, from, n, bases, 1, true); break;
        case 2: enter_units(p, from, n, bases, 2, true); break;
        case 3: enter_units(p, from, n, bases, 3, true); break;
        default: enter_units(p, from, n, bases, rank, p->narrow); break;
        }
    }
}

/* ---- sort ---- */

static void count_body(void *context, int thread, int64_t from, int64_t to) {
    (void)thread;
    const permute_job *p = context;
    for (int64_t s = from; s < to; s++) {
        uint32_t *counters = p->counters + s * p->tiling.keys;
        int64_t end = (s + 1) * p->slab < p->n ? (s + 1) * p->slab : p->n;
        memset(counters, 0, (size_t)p->tiling.keys * sizeof *counters);
        for (int64_t u = s * p->slab; u < end; u++) {
            if (p->keys[u] != NO_KEY) counters[p->keys[u]]++;
        }
    }
}

/* Counters become the places where each slab puts its first unit of each key. */
static void number_places(permute_job *p) {
    uint32_t place = 0;
    for (int64_t key = 0; key < p->tiling.keys; key++) {
        if (key % p->tiling.refine == 0) p->task_begin[key / p->tiling.refine] = place;
        for (int64_t s = 0; s < p->n_slabs; s++) {
            uint32_t *counter = &p->counters[s * p->tiling.keys + key], count = *counter;
            *counter = place;
            place += count;
        }
    }
    p->task_begin[p->tiling.tasks] = place;
}

static inline void place_slab(const permute_job *p, int64_t s, uint32_t rank, bool narrow) {
    uint32_t *places = p->counters + s * p->tiling.keys;
    int64_t end = (s + 1) * p->slab < p->n ? (s + 1) * p->slab : p->n;
    for (int64_t u = s * p->slab; u < end; u++) {
        if (p->keys[u] == NO_KEY) continue;
        int64_t at = (int64_t)places[p->keys[u]]++ * (rank + 1);
        put_word(p->sorted, at, u, narrow);
        for (uint32_t d = 0; d < rank; d++)
            put_word(p->sorted, at + 1 + d, get_word(p->bases, u * rank + d, narrow), narrow);
    }
}

static void place_body(void *context, int thread, int64_t from, int64_t to) {
    (void)thread;
    const permute_job *p = context;
    for (int64_t s = from; s < to; s++) {
        switch (p->narrow ? p->tiling.rank : 0) {
        case 1: place_slab(p, s, 1, true); break;
        case 2: place_slab(p, s, 2, true); break;
        case 3: place_slab(p, s, 3, true); break;
        default: place_slab(p, s, p->tiling.rank, p->narrow); break;
        }
    }
}

/* ---- execute ---- */

/* Records from `at` on, as a kernel wants them. */
static inline void read_records(const permute_job *p, int64_t at, int64_t n, int64_t *units, int64_t *bases,
                                uint32_t rank, bool narrow) {
    for (int64_t i = 0; i < n; i++) {
        int64_t record = (at + i) * (rank + 1);
        units[i] = p->first + get_word(p->sorted, record, narrow);
        for (uint32_t d = 0; d < rank; d++) bases[i * rank + d] = get_word(p->sorted, record + 1 + d, narrow);
    }
}

static void execute_units(const permute_job *p, int thread, int64_t at, int64_t n) {
    int64_t units[CALL_UNITS], bases[CALL_UNITS * LOOM_MAX_DEPTH];
    switch (p->narrow ? p->tiling.rank : 0) {
    case 1: read_records(p, at, n, units, bases, 1, true); break;
    case 2: read_records(p, at, n, units, bases, 2, true); break;
    case 3: read_records(p, at, n, units, bases, 3, true); break;
    default: read_records(p, at, n, units, bases, p->tiling.rank, p->narrow); break;
    }
    p->execute(&p->engine->threads[thread].frame, units, n, bases);
}

static void execute_body(void *context, int thread, int64_t from, int64_t to) {
    const permute_job *p = context;
    const atomic_bool *stop = &p->engine->executor->cancelled;
    for (int64_t i = from; i < to; i++) {
        int64_t at = p->task_begin[p->order[i]], end = p->task_begin[p->order[i] + 1];
        while (at < end && !atomic_load_explicit(stop, memory_order_relaxed)) {
            int64_t n = end - at < CALL_UNITS ? end - at : CALL_UNITS;
            execute_units(p, thread, at, n);
            at += n;
        }
    }
}

/* Number of the phase of a task: one bit of parity per level that has phases. */
static int phase_of(const tiling *t, int64_t task) {
    int phase = 0;
    for (uint32_t d = t->rank; d-- > 0;) {
        const level *l = &t->levels[d];
        if (!l->split) continue;
        if (l->patch > 1 && l->tiles > 1) phase = phase * 2 + (int)(task % l->tiles % 2);
        task /= l->tiles;
    }
    return phase;
}

typedef struct task_size {
    int64_t task, units;
} task_size;

static int fullest_first(const void *a, const void *b) {
    const task_size *x = a, *y = b;
    if (x->units != y->units) return x->units > y->units ? -1 : 1;
    return x->task < y->task ? -1 : x->task > y->task;
}

static void execute_phases(permute_job *p) {
    const tiling *t = &p->tiling;
    task_size *sizes = loom_xcalloc((size_t)t->tasks, sizeof *sizes);
    for (int phase = 0; phase < t->phases; phase++) {
        size_t n = 0;
        for (int64_t task = 0; task < t->tasks; task++) {
            int64_t units = p->task_begin[task + 1] - p->task_begin[task];
            if (units > 0 && phase_of(t, task) == phase) sizes[n++] = (task_size){task, units};
        }
        qsort(sizes, n, sizeof *sizes, fullest_first);
        for (size_t i = 0; i < n; i++) p->order[i] = sizes[i].task;
        loom_pool_for(p->engine->executor->pool, (int64_t)n, 1, &p->engine->executor->cancelled, execute_body, p);
    }
    free(sizes);
}

/* ---- the action ---- */

static int64_t units_of(const loom_engine *engine, const loom_plan_action *action) {
    int64_t n = 1;
    for (uint32_t i = 0; i < action->n_units; i++) {
        int64_t extent = engine->extents[action->unit_extents[i]];
        if (extent < 0 || __builtin_mul_overflow(n, extent, &n)) return -1;
    }
    return n;
}

static bool accumulates(const loom_engine *engine, const loom_plan_action *action) {
    for (uint32_t i = 0; i < action->n_buffers; i++) {
        if (engine->plan->buffers[action->buffers[i]].storage == LOOM_STORE_ACCUMULATOR) return true;
    }
    return false;
}

/* Where in one block each array of the workspace begins. */
typedef struct layout {
    uint64_t bases, keys, counters, sorted, task_begin, order, total;
} layout;

static uint64_t claim(layout *l, uint64_t bytes) {
    uint64_t at = l->total;
    l->total += (bytes + 63) / 64 * 64;
    return at;
}

static layout lay_out(const tiling *t, int64_t units, int64_t slabs) {
    layout l = {0};
    uint64_t n = (uint64_t)units, rank = t->rank, word = words_suffice(t) ? 4 : 8;
    l.bases = claim(&l, n * rank * word);
    l.keys = claim(&l, n * 4);
    l.counters = claim(&l, (uint64_t)slabs * (uint64_t)t->keys * 4);
    l.sorted = claim(&l, n * (rank + 1) * word);
    l.task_begin = claim(&l, ((uint64_t)t->tasks + 1) * 8);
    l.order = claim(&l, (uint64_t)t->tasks * 8);
    return l;
}

/* Slabs have no influence on the order. Their counters should not outweigh the units. */
static int64_t slabs_for(const loom_engine *engine, const tiling *t, int64_t units) {
    int64_t slabs = engine->n_threads < MAX_SLABS ? engine->n_threads : MAX_SLABS;
    int64_t worth = 1 + units / t->keys;
    return slabs < worth ? slabs : worth;
}

uint64_t loom_engine_permute_bytes(const loom_engine *engine, const loom_plan_action *action) {
    tiling t;
    loom_status *status = set_up_tiling(engine, action, &t);
    int64_t units = units_of(engine, action);
    if (status || units <= 0) {
        loom_status_free(status);
        return 0;
    }
    if (loom_engine_permute_is_small(engine, action, units)) {
        return loom_engine_permute_small_bytes((loom_engine *)(uintptr_t)engine, action, units);
    }
    if (units > t.batch) units = t.batch;
    return loom_memory_rounded(lay_out(&t, units, slabs_for(engine, &t, units)).total);
}

static void point_into(permute_job *p, const layout *l, char *block) {
    p->bases = block + l->bases;
    p->keys = (uint32_t *)(block + l->keys);
    p->counters = (uint32_t *)(block + l->counters);
    p->sorted = block + l->sorted;
    p->task_begin = (int64_t *)(block + l->task_begin);
    p->order = (int64_t *)(block + l->order);
}

static loom_status *run_batch(permute_job *p, bool accumulating) {
    loom_engine *engine = p->engine;
    loom_pool *pool = engine->executor->pool;
    const atomic_bool *stop = &engine->executor->cancelled;
    p->slab = (p->n + p->n_slabs - 1) / p->n_slabs;
    loom_pool_for(pool, p->n, 2048, stop, inspect_body, p);
    LOOM_TRY(loom_engine_cancelled(engine));
    loom_pool_for(pool, p->n_slabs, 1, NULL, count_body, p);
    number_places(p);
    loom_pool_for(pool, p->n_slabs, 1, NULL, place_body, p);
    /* Nothing that follows from wrong values may reach an accumulator. */
    LOOM_TRY(loom_engine_raised(engine));
    if (accumulating) engine->accumulating = true;
    execute_phases(p);
    /* Records that were put in order. */
    loom_engine_count(engine, LOOM_COUNTED_MOVED, (uint64_t)p->task_begin[p->tiling.tasks] * (p->tiling.rank + 1));
    return loom_engine_cancelled(engine);
}

loom_status *loom_engine_permute(loom_engine *engine, const loom_plan_action *action) {
    LOOM_TRY(loom_engine_scratch(engine, action->kernel));
    LOOM_TRY(loom_engine_scratch(engine, action->kernel2));
    int64_t units = units_of(engine, action);
    if (units < 0) {
        LOOM_TRY(loom_engine_raised(engine));
        return loom_error(LOOM_E_LIMIT, "a permute of a negative or too large number of values");
    }
    permute_job p = {.engine = engine, .action = action};
    LOOM_TRY(set_up_tiling(engine, action, &p.tiling));
    if (p.tiling.rank == 0) return loom_error(LOOM_E_INTERNAL, "plan permutes onto no level");
    if (units == 0) return NULL;
    if (loom_engine_permute_is_small(engine, action, units)) return loom_engine_permute_small(engine, action, units);
    p.inspect = (loom_kernel_inspect)(uintptr_t)engine->kernels[action->kernel];
    p.execute = (loom_kernel_execute)(uintptr_t)engine->kernels[action->kernel2];
    int64_t batch = units < p.tiling.batch ? units : p.tiling.batch;
    p.n_slabs = slabs_for(engine, &p.tiling, batch);
    layout l = lay_out(&p.tiling, batch, p.n_slabs);
    loom_block block;
    LOOM_TRY(loom_memory_take(engine->executor->memory, l.total, "sorting a permute's places", &block));
    point_into(&p, &l, block.data);
    p.narrow = words_suffice(&p.tiling);
    loom_status *status = NULL;
    bool accumulating = accumulates(engine, action);
    for (p.first = 0; !status && p.first < units; p.first += p.n) {
        p.n = units - p.first < batch ? units - p.first : batch;
        status = run_batch(&p, accumulating);
    }
    loom_memory_give(engine->executor->memory, &block);
    return status;
}
