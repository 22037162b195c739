/* Checker of stage plans: what an executor relies on. After it every index is in range, actions are well nested,
 * buffers are allocated before they are used and freed once, and the arrays that an action of its kind needs are there.
 */
#include "common/value.h"
#include "compiler/plan/plan.h"
#include <stdlib.h>
#include <string.h>

typedef struct checker {
    const loom_plan *plan;
    bool *alive; /* per buffer: holds storage at this point */
} checker;

#define REFUSE(...) return loom_error(LOOM_E_DATA, "plan: " __VA_ARGS__)
#define NEED(condition, ...)                                                                                           \
    do {                                                                                                               \
        if (!(condition)) REFUSE(__VA_ARGS__);                                                                         \
    } while (0)

static bool is_allocated(loom_storage storage) {
    return storage == LOOM_STORE_TEMP || storage == LOOM_STORE_RESULT;
}

/* Values that come in are shared with others and are never written to. */
static bool is_writable(loom_storage storage) {
    return is_allocated(storage) || storage == LOOM_STORE_ACCUMULATOR;
}

static bool is_segmented(const loom_plan *p, uint32_t extent) {
    return p->extents[extent].kind == LOOM_EXTENT_SEGMENTED;
}

static bool is_size(const loom_plan *p, uint32_t buffer) {
    return buffer < p->n_buffers && p->buffers[buffer].n_extents == 0 && p->buffers[buffer].dtype == LOOM_I64;
}

static loom_status *check_extents(const loom_plan *p) {
    for (uint32_t e = 0; e < p->n_extents; e++) {
        const loom_plan_extent *extent = &p->extents[e];
        NEED((unsigned)extent->kind <= LOOM_EXTENT_SEGMENTED, "extent %u is of no known kind", e);
        if (extent->kind == LOOM_EXTENT_CONST) NEED(extent->value >= 0, "extent %u is negative", e);
        if (extent->kind == LOOM_EXTENT_INPUT) {
            NEED(extent->buffer < p->n_buffers && extent->level < LOOM_MAX_DEPTH, "extent %u refers to nothing", e);
            loom_storage storage = p->buffers[extent->buffer].storage;
            NEED(storage <= LOOM_STORE_CONSTANT, "extent %u is that of a buffer which is no input", e);
        }
        if (extent->kind == LOOM_EXTENT_SCALAR) {
            NEED(extent->buffer < p->n_buffers, "extent %u refers to nothing", e);
            NEED(is_size(p, extent->buffer), "extent %u is not a scalar of type i64", e);
        }
        if (extent->kind == LOOM_EXTENT_SEGMENTED) {
            NEED(is_size(p, extent->buffer) && p->buffers[extent->buffer].storage == LOOM_STORE_TEMP,
                 "extent %u has no total", e);
            NEED(extent->lengths < p->n_buffers && p->buffers[extent->lengths].dtype == LOOM_I64 &&
                     !p->buffers[extent->lengths].offsets,
                 "extent %u has no lengths", e);
        }
    }
    return NULL;
}

/* The lengths of level i stand over the levels before it; those of what comes in come in with it. */
static loom_status *check_segments(const loom_plan *p, uint32_t b) {
    const loom_plan_buffer *buffer = &p->buffers[b];
    for (uint32_t i = 0; i < buffer->n_extents; i++) {
        if (!is_segmented(p, buffer->extents[i])) continue;
        const loom_plan_buffer *lengths = &p->buffers[p->extents[buffer->extents[i]].lengths];
        NEED(i > 0 && lengths->n_extents == i &&
                 memcmp(lengths->extents, buffer->extents, i * sizeof *buffer->extents) == 0,
             "buffer %u has lengths over other levels than those before level %u", b, i);
        NEED(buffer->storage > LOOM_STORE_FIRST ||
                 (lengths->storage == buffer->storage && lengths->source == buffer->source && lengths->lengths_of == i),
             "buffer %u comes in without its lengths", b);
        NEED(buffer->storage != LOOM_STORE_ACCUMULATOR && buffer->storage != LOOM_STORE_CONSTANT,
             "buffer %u cannot be segmented", b);
    }
    bool comes = buffer->storage == LOOM_STORE_INPUT || buffer->storage == LOOM_STORE_COLUMN;
    NEED(!buffer->lengths_of || (comes && buffer->dtype == LOOM_I64 && buffer->lengths_of == buffer->n_extents),
         "buffer %u is malformed", b);
    NEED(!buffer->offsets || (buffer->storage == LOOM_STORE_TEMP && buffer->dtype == LOOM_I64 && buffer->n_extents > 0),
         "buffer %u is malformed", b);
    return NULL;
}

static loom_status *check_tables(const loom_plan *p) {
    NEED(p->target, "no target");
    NEED((unsigned)p->kind <= LOOM_STAGE_ARRAY, "of a stage that is not compiled");
    NEED(p->chunk_begin <= p->n_actions, "chunk begins at action %u of %u", p->chunk_begin, p->n_actions);
    LOOM_TRY(check_extents(p));
    for (uint32_t b = 0; b < p->n_buffers; b++) {
        const loom_plan_buffer *buffer = &p->buffers[b];
        NEED(buffer->name, "buffer %u has no name", b);
        NEED((unsigned)buffer->storage <= LOOM_STORE_RESULT, "buffer %u is of no known storage", b);
        NEED((unsigned)buffer->dtype < LOOM_DTYPES && buffer->n_extents <= LOOM_MAX_DEPTH, "buffer %u is malformed", b);
        for (uint32_t i = 0; i < buffer->n_extents; i++)
            NEED(buffer->extents[i] < p->n_extents, "buffer %u has no extent %u", b, i);
    }
    for (uint32_t b = 0; b < p->n_buffers; b++) LOOM_TRY(check_segments(p, b));
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        NEED(p->kernels[k].symbol && *p->kernels[k].symbol, "kernel %u has no symbol", k);
        NEED(!p->kernels[k].scratch_kind ||
                 (p->kernels[k].scratch_extent < p->n_extents && !is_segmented(p, p->kernels[k].scratch_extent)),
             "kernel %u has no scratch extent", k);
    }
    for (uint32_t f = 0; f < p->n_ffts; f++) {
        const loom_plan_fft *fft = &p->ffts[f];
        NEED(loom_dtype_is_complex(fft->dtype) && fft->rank >= 1 && fft->rank <= LOOM_MAX_DEPTH, "fft %u is malformed",
             f);
        for (uint32_t i = 0; i < fft->rank; i++)
            NEED(fft->extents[i] < p->n_extents && (fft->rank == 1 || !is_segmented(p, fft->extents[i])),
                 "fft %u has no extent %u", f, i);
    }
    for (uint32_t s = 0; s < p->n_sites; s++) NEED(p->sites[s].file && p->sites[s].format, "site %u is malformed", s);
    return NULL;
}

static loom_status *check_buffer(const checker *c, uint32_t a, uint32_t buffer) {
    NEED(buffer < c->plan->n_buffers, "action %u: no buffer %u", a, buffer);
    NEED(c->alive[buffer], "action %u: buffer %u (%s) holds nothing", a, buffer, c->plan->buffers[buffer].name);
    return NULL;
}

static loom_status *check_target(const checker *c, uint32_t a, uint32_t buffer) {
    LOOM_TRY(check_buffer(c, a, buffer));
    NEED(is_writable(c->plan->buffers[buffer].storage), "action %u: writes to buffer %u (%s), which comes from outside",
         a, buffer, c->plan->buffers[buffer].name);
    return NULL;
}

static loom_status *check_kernel(const loom_plan *p, uint32_t a, uint32_t kernel) {
    NEED(kernel < p->n_kernels, "action %u: no kernel %u", a, kernel);
    return NULL;
}

static bool same_extents(const loom_plan *p, uint32_t a, uint32_t b) {
    const loom_plan_buffer *x = &p->buffers[a], *y = &p->buffers[b];
    return x->n_extents == y->n_extents &&
           (x->n_extents == 0 || memcmp(x->extents, y->extents, x->n_extents * sizeof *x->extents) == 0);
}

/* States of loops may change their size: an extent that a kernel computes may stand for another one. */
static bool may_agree(const loom_plan *p, uint32_t a, uint32_t b) {
    return a == b || (p->extents[a].kind == LOOM_EXTENT_SCALAR && p->extents[b].kind == LOOM_EXTENT_SCALAR);
}

static bool may_hold(const loom_plan *p, uint32_t a, uint32_t b, uint32_t from) {
    const loom_plan_buffer *x = &p->buffers[a], *y = &p->buffers[b];
    if (x->dtype != y->dtype || x->offsets != y->offsets || x->n_extents != y->n_extents) return false;
    for (uint32_t i = from; i < x->n_extents; i++) {
        if (!may_agree(p, x->extents[i], y->extents[i])) return false;
    }
    return true;
}

static bool alike(const loom_plan *p, uint32_t a, uint32_t b) {
    return p->buffers[a].dtype == p->buffers[b].dtype && p->buffers[a].offsets == p->buffers[b].offsets &&
           same_extents(p, a, b);
}

/* Offsets of the lists that the last extent of buffer `of` has. */
static bool are_offsets_of(const loom_plan *p, uint32_t offsets, uint32_t of) {
    const loom_plan_buffer *x = &p->buffers[offsets], *y = &p->buffers[of];
    return x->offsets && x->n_extents + 1 == y->n_extents &&
           (x->n_extents == 0 || memcmp(x->extents, y->extents, x->n_extents * sizeof *x->extents) == 0);
}

static loom_status *check_fft(const checker *c, uint32_t a, const loom_plan_action *action) {
    const loom_plan *p = c->plan;
    NEED(action->fft < p->n_ffts, "action %u: no fft %u", a, action->fft);
    LOOM_TRY(check_buffer(c, a, action->buffer));
    LOOM_TRY(check_target(c, a, action->buffer2));
    const loom_plan_fft *fft = &p->ffts[action->fft];
    const loom_plan_buffer *from = &p->buffers[action->buffer];
    NEED(alike(p, action->buffer, action->buffer2), "action %u: fft between unlike buffers", a);
    NEED(from->dtype == fft->dtype && from->n_extents >= fft->rank, "action %u: fft of another type", a);
    for (uint32_t i = 0; i < fft->rank; i++) {
        NEED(from->extents[from->n_extents - fft->rank + i] == fft->extents[i], "action %u: fft of another size", a);
    }
    bool rows = is_segmented(p, fft->extents[0]);
    NEED(action->n_buffers == (rows ? 1 : 0), "action %u: an fft of rows without their offsets", a);
    if (!rows) return NULL;
    LOOM_TRY(check_buffer(c, a, action->buffers[0]));
    NEED(are_offsets_of(p, action->buffers[0], action->buffer), "action %u: an fft of rows without their offsets", a);
    return NULL;
}

static loom_status *check_permute(const checker *c, uint32_t a, const loom_plan_action *action) {
    const loom_plan *p = c->plan;
    LOOM_TRY(check_kernel(p, a, action->kernel));
    LOOM_TRY(check_kernel(p, a, action->kernel2));
    NEED(action->n_buffers >= 1 && action->rank >= 1 && action->rank <= LOOM_MAX_DEPTH && action->lower &&
             action->upper,
         "action %u: permute is malformed", a);
    for (uint32_t i = 0; i < action->n_units; i++)
        NEED(action->unit_extents[i] < p->n_extents && !is_segmented(p, action->unit_extents[i]),
             "action %u: no extent", a);
    for (uint32_t d = 0; d < action->rank; d++)
        NEED(action->lower[d] <= action->upper[d], "action %u: patch of negative size", a);
    for (uint32_t i = 0; i < action->n_buffers; i++) {
        LOOM_TRY(check_target(c, a, action->buffers[i]));
        const loom_plan_buffer *target = &p->buffers[action->buffers[i]];
        NEED(target->n_extents >= action->rank, "action %u: target %u has too few levels", a, i);
        for (uint32_t k = 0; k < target->n_extents; k++)
            NEED(!is_segmented(p, target->extents[k]), "action %u: target %u is segmented", a, i);
        NEED(same_extents(p, action->buffers[0], action->buffers[i]), "action %u: targets differ in size", a);
    }
    return NULL;
}

static loom_status *check_reduce(const checker *c, uint32_t a, const loom_plan_action *action) {
    LOOM_TRY(check_kernel(c->plan, a, action->kernel));
    LOOM_TRY(check_kernel(c->plan, a, action->kernel2));
    NEED(action->extent < c->plan->n_extents, "action %u: no extent %u", a, action->extent);
    NEED(action->n_buffers >= 1, "action %u: reduces into nothing", a);
    for (uint32_t i = 0; i < action->n_buffers; i++) LOOM_TRY(check_target(c, a, action->buffers[i]));
    if (!is_segmented(c->plan, action->extent)) return NULL;
    const loom_plan *p = c->plan;
    LOOM_TRY(check_buffer(c, a, action->buffer));
    NEED(p->buffers[action->buffer].offsets && same_extents(p, action->buffer, p->extents[action->extent].lengths),
         "action %u: reduces rows without their offsets", a);
    for (uint32_t i = 0; i < action->n_buffers; i++) {
        NEED(!p->buffers[action->buffers[i]].offsets && same_extents(p, action->buffers[i], action->buffer),
             "action %u: reduces rows into buffer %u, which has not one element for each", a, action->buffers[i]);
    }
    return NULL;
}

static loom_status *check_scalar_buffer(const checker *c, uint32_t a, uint32_t buffer, loom_dtype dtype) {
    LOOM_TRY(check_buffer(c, a, buffer));
    NEED(c->plan->buffers[buffer].n_extents == 0 && c->plan->buffers[buffer].dtype == dtype,
         "action %u: buffer %u is no scalar %s", a, buffer, loom_dtype_name(dtype));
    return NULL;
}

static loom_status *check_offsets(const checker *c, uint32_t a, const loom_plan_action *action) {
    const loom_plan *p = c->plan;
    LOOM_TRY(check_buffer(c, a, action->buffer));
    LOOM_TRY(check_target(c, a, action->buffer2));
    NEED(action->n_buffers == 1, "action %u: offsets without a total", a);
    LOOM_TRY(check_target(c, a, action->buffers[0]));
    LOOM_TRY(check_scalar_buffer(c, a, action->buffers[0], LOOM_I64));
    const loom_plan_buffer *from = &p->buffers[action->buffer], *to = &p->buffers[action->buffer2];
    NEED(from->dtype == LOOM_I64 && !from->offsets && to->offsets && same_extents(p, action->buffer, action->buffer2),
         "action %u: offsets of another form than their lengths", a);
    return NULL;
}

static loom_status *check_sort(const checker *c, uint32_t a, const loom_plan_action *action) {
    const loom_plan *p = c->plan;
    LOOM_TRY(check_target(c, a, action->buffer));
    const loom_plan_buffer *to = &p->buffers[action->buffer];
    NEED(action->n_buffers >= 1 && to->dtype == LOOM_I64 && !to->offsets && to->n_extents >= 1,
         "action %u: sort is malformed", a);
    for (uint32_t i = 0; i < action->n_buffers; i++) {
        uint32_t key = action->buffers[i];
        LOOM_TRY(check_buffer(c, a, key));
        NEED(key != action->buffer && !p->buffers[key].offsets && !loom_dtype_is_complex(p->buffers[key].dtype) &&
                 same_extents(p, key, action->buffer),
             "action %u: buffer %u is no key of a sort", a, key);
    }
    if (!is_segmented(p, to->extents[to->n_extents - 1])) return NULL;
    LOOM_TRY(check_buffer(c, a, action->buffer2));
    NEED(are_offsets_of(p, action->buffer2, action->buffer), "action %u: a sort of rows without their offsets", a);
    return NULL;
}

static loom_status *check_range(checker *c, uint32_t begin, uint32_t end, uint32_t depth, bool in_loop);

static loom_status *check_inner(checker *c, uint32_t a, uint32_t end, uint32_t depth, bool in_loop) {
    const loom_plan_action *action = &c->plan->actions[a];
    NEED(action->n_inner <= end - a - 1, "action %u: inner actions reach beyond their block", a);
    uint32_t then_end = a + 1 + action->n_inner;
    if (action->kind == LOOM_ACT_LOOP) {
        NEED(action->n_else == 0, "action %u: a loop without end", a);
        return check_range(c, a + 1, then_end, depth + 1, true);
    }
    NEED(action->n_else <= end - then_end, "action %u: inner actions reach beyond their block", a);
    LOOM_TRY(check_range(c, a + 1, then_end, depth + 1, in_loop));
    return check_range(c, then_end, then_end + action->n_else, depth + 1, in_loop);
}

/* Its buffers are there while its actions run. */
static loom_status *check_rows(checker *c, uint32_t a, uint32_t end, uint32_t depth) {
    const loom_plan *p = c->plan;
    const loom_plan_action *action = &p->actions[a];
    NEED(action->n_inner >= 1 && action->n_inner <= end - a - 1 && action->n_else == 0, "action %u: rows of nothing",
         a);
    NEED(action->n_units == (uint64_t)action->n_inner + action->n_buffers, "action %u: rows of no extent", a);
    for (uint32_t i = 0; i < action->n_units; i++)
        NEED(action->unit_extents[i] < p->n_extents && !is_segmented(p, action->unit_extents[i]),
             "action %u: no extent", a);
    for (uint32_t i = 0; i < action->n_inner; i++) {
        const loom_plan_action *inner = &p->actions[a + 1 + i];
        bool fft = inner->kind == LOOM_ACT_FFT && inner->fft < p->n_ffts && p->ffts[inner->fft].rank == 1 &&
                   !inner->n_buffers && inner->buffer < p->n_buffers && p->buffers[inner->buffer].n_extents >= 2;
        NEED(fft || (inner->kind == LOOM_ACT_KERNEL && inner->extent < p->n_extents),
             "action %u: rows of an action that has none", a);
    }
    for (uint32_t i = 0; i < action->n_buffers; i++) {
        uint32_t b = action->buffers[i];
        NEED(b < p->n_buffers, "action %u: no buffer %u", a, b);
        NEED(p->buffers[b].storage == LOOM_STORE_TEMP && p->buffers[b].n_extents >= 1 && !c->alive[b],
             "action %u: buffer %u (%s) is not one for rows", a, b, p->buffers[b].name);
        c->alive[b] = true;
    }
    loom_status *status = check_range(c, a + 1, a + 1 + action->n_inner, depth + 1, false);
    for (uint32_t i = 0; i < action->n_buffers; i++) c->alive[action->buffers[i]] = false;
    return status;
}

static loom_status *check_action(checker *c, uint32_t a, uint32_t end, uint32_t depth, bool in_loop) {
    const loom_plan *p = c->plan;
    const loom_plan_action *action = &p->actions[a];
    switch (action->kind) {
    case LOOM_ACT_ALLOC:
    case LOOM_ACT_FREE:
        NEED(action->buffer < p->n_buffers, "action %u: no buffer %u", a, action->buffer);
        NEED(is_allocated(p->buffers[action->buffer].storage), "action %u: buffer %u is not one to allocate", a,
             action->buffer);
        NEED(c->alive[action->buffer] == (action->kind == LOOM_ACT_FREE), "action %u: buffer %u (%s) is %s", a,
             action->buffer, p->buffers[action->buffer].name,
             action->kind == LOOM_ACT_FREE ? "freed but not alive" : "allocated twice");
        c->alive[action->buffer] = action->kind == LOOM_ACT_ALLOC;
        return NULL;
    case LOOM_ACT_KERNEL:
        NEED(action->extent == LOOM_NO_EXTENT || action->extent < p->n_extents, "action %u: no extent %u", a,
             action->extent);
        return check_kernel(p, a, action->kernel);
    case LOOM_ACT_REDUCE: return check_reduce(c, a, action);
    case LOOM_ACT_FFT: return check_fft(c, a, action);
    case LOOM_ACT_PERMUTE: return check_permute(c, a, action);
    case LOOM_ACT_COPY:
    case LOOM_ACT_SWAP:
        LOOM_TRY(check_buffer(c, a, action->buffer));
        LOOM_TRY(check_target(c, a, action->buffer2));
        NEED(may_hold(p, action->buffer, action->buffer2, 0), "action %u: buffers %u and %u are not alike", a,
             action->buffer, action->buffer2);
        NEED(action->kind == LOOM_ACT_COPY || (is_allocated(p->buffers[action->buffer].storage) &&
                                               is_allocated(p->buffers[action->buffer2].storage)),
             "action %u: swaps what is not allocated", a);
        return NULL;
    case LOOM_ACT_APPEND:
        LOOM_TRY(check_buffer(c, a, action->buffer));
        LOOM_TRY(check_target(c, a, action->buffer2));
        NEED(is_allocated(p->buffers[action->buffer2].storage) && p->buffers[action->buffer].n_extents >= 1 &&
                 may_hold(p, action->buffer, action->buffer2, 1),
             "action %u: buffer %u cannot be appended to buffer %u", a, action->buffer, action->buffer2);
        return NULL;
    case LOOM_ACT_FILL: return check_target(c, a, action->buffer);
    case LOOM_ACT_LOOP:
        NEED(action->extent == LOOM_NO_EXTENT || (action->extent < p->n_extents && !is_segmented(p, action->extent)),
             "action %u: no extent %u", a, action->extent);
        if (action->buffer != LOOM_NO_EXTENT) LOOM_TRY(check_scalar_buffer(c, a, action->buffer, LOOM_I64));
        return check_inner(c, a, end, depth, in_loop);
    case LOOM_ACT_BREAK:
        NEED(in_loop, "action %u: break outside of a loop", a);
        for (uint32_t i = 0; i < action->n_buffers; i++) {
            LOOM_TRY(check_buffer(c, a, action->buffers[i]));
            NEED(is_allocated(p->buffers[action->buffers[i]].storage), "action %u: buffer %u is not one to free", a,
                 action->buffers[i]);
        }
        return check_scalar_buffer(c, a, action->buffer, LOOM_BOOL);
    case LOOM_ACT_IF:
        LOOM_TRY(check_scalar_buffer(c, a, action->buffer, LOOM_BOOL));
        return check_inner(c, a, end, depth, in_loop);
    case LOOM_ACT_ROWS: return check_rows(c, a, end, depth);
    case LOOM_ACT_OFFSETS: return check_offsets(c, a, action);
    case LOOM_ACT_SORT: return check_sort(c, a, action);
    }
    REFUSE("action %u is of no known kind", a);
}

static loom_status *check_touched(const loom_plan *p, uint32_t a) {
    const loom_plan_action *action = &p->actions[a];
    for (uint32_t i = 0; i < action->n_touched; i++)
        NEED(action->touched[i] < p->n_buffers, "action %u: no buffer %u", a, action->touched[i]);
    return NULL;
}

/* What an inner block allocates it frees, so that a turn or a branch leaves no trace but its results. */
static loom_status *check_range(checker *c, uint32_t begin, uint32_t end, uint32_t depth, bool in_loop) {
    NEED(depth <= LOOM_PLAN_MAX_NESTING, "actions nest deeper than %d", LOOM_PLAN_MAX_NESTING);
    const loom_plan *p = c->plan;
    bool *before = NULL;
    if (depth && p->n_buffers) {
        before = malloc(p->n_buffers);
        if (!before) return loom_error(LOOM_E_MEMORY, "no memory to check a plan of %u buffers", p->n_buffers);
        memcpy(before, c->alive, p->n_buffers);
    }
    loom_status *status = NULL;
    for (uint32_t a = begin; a < end && !status;) {
        const loom_plan_action *action = &p->actions[a];
        bool nests = action->kind == LOOM_ACT_LOOP || action->kind == LOOM_ACT_IF || action->kind == LOOM_ACT_ROWS;
        if (!nests && (action->n_inner || action->n_else)) {
            status = loom_error(LOOM_E_DATA, "plan: action %u has inner actions but is no loop, branch or rows", a);
        } else if (a < p->chunk_begin && depth == 0 && nests &&
                   p->chunk_begin - a - 1 < (uint64_t)action->n_inner + action->n_else) {
            status = loom_error(LOOM_E_DATA, "plan: the chunk begins inside action %u", a);
        } else {
            status = check_touched(p, a);
            if (!status) status = check_action(c, a, end, depth, in_loop);
        }
        a += 1 + (nests ? action->n_inner + action->n_else : 0);
    }
    if (!status && before && memcmp(before, c->alive, p->n_buffers) != 0) {
        status = loom_error(LOOM_E_DATA, "plan: the block of actions at %u does not free what it allocates", begin);
    }
    free(before);
    return status;
}

/* Rows go out with their lengths; partial results are merged element by element and have none. */
static loom_status *check_rows_out(const checker *c, uint32_t o, uint32_t b) {
    const loom_plan *p = c->plan;
    loom_output_kind kind = p->outputs[o].kind;
    for (uint32_t i = 0; i < p->buffers[b].n_extents; i++) {
        if (!is_segmented(p, p->buffers[b].extents[i])) continue;
        NEED(kind != LOOM_OUT_PERMUTE && kind != LOOM_OUT_FOLD && kind != LOOM_OUT_REDUCE, "output %u merges segments",
             o);
        uint32_t lengths = p->extents[p->buffers[b].extents[i]].lengths;
        NEED(c->alive[lengths], "output %u: lengths %u are gone at the end", o, lengths);
    }
    return NULL;
}

static loom_status *check_output(const checker *c, uint32_t o) {
    const loom_plan *p = c->plan;
    const loom_plan_output *out = &p->outputs[o];
    NEED(out->n_leaves == 0 || (out->names && out->buffers), "output %u is malformed", o);
    NEED(out->combine == LOOM_NO_KERNEL || out->combine < p->n_kernels, "output %u: no kernel %u", o, out->combine);
    for (uint32_t l = 0; l < out->n_leaves; l++) {
        uint32_t b = out->buffers[l];
        NEED(out->names[l], "output %u: leaf %u has no name", o, l);
        NEED(b < p->n_buffers && c->alive[b], "output %u: buffer %u holds nothing at the end", o, b);
        LOOM_TRY(check_rows_out(c, o, b));
        loom_storage storage = p->buffers[b].storage;
        switch (out->kind) {
        case LOOM_OUT_PERMUTE:
            NEED(storage == LOOM_STORE_ACCUMULATOR && out->neutral && out->combine != LOOM_NO_KERNEL,
                 "output %u is no accumulator", o);
            break;
        case LOOM_OUT_COLLECT:
        case LOOM_OUT_STREAM:
        case LOOM_OUT_SPILL:
            NEED(storage == LOOM_STORE_RESULT && p->buffers[b].n_extents >= 1 &&
                     (p->extents[p->buffers[b].extents[0]].kind == LOOM_EXTENT_CHUNK ||
                      p->extents[p->buffers[b].extents[0]].kind == LOOM_EXTENT_SCALAR),
                 "output %u is not an array over the chunk", o);
            break;
        case LOOM_OUT_CHAIN: NEED(storage == LOOM_STORE_RESULT, "output %u is not a state of its own", o); break;
        case LOOM_OUT_FOLD:
        case LOOM_OUT_REDUCE: NEED(is_allocated(storage), "output %u is not a partial result of its own", o); break;
        case LOOM_OUT_VALUE:
            NEED(storage == LOOM_STORE_RESULT || storage == LOOM_STORE_INPUT, "output %u is not a result", o);
            break;
        default: REFUSE("output %u is of no known kind", o);
        }
    }
    return NULL;
}

loom_status *loom_plan_check(const loom_plan *p) {
    LOOM_TRY(check_tables(p));
    NEED(!p->tested_object_length || p->tested_length, "code for rows of one length without a plan");
    checker c = {.plan = p, .alive = malloc((size_t)p->n_buffers + 1)};
    if (!c.alive) return loom_error(LOOM_E_MEMORY, "no memory to check a plan of %u buffers", p->n_buffers);
    for (uint32_t b = 0; b < p->n_buffers; b++) c.alive[b] = !is_allocated(p->buffers[b].storage);
    loom_status *status = check_range(&c, 0, p->n_actions, 0, false);
    for (uint32_t o = 0; o < p->n_outputs && !status; o++) status = check_output(&c, o);
    free(c.alive);
    return status;
}
