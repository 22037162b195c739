#include "compiler/schedule/lifting.h"
#include "compiler/fuse/fuse.h"
#include "compiler/schedule/schedule.h"

static loom_status *checked(const loom_lifted *l, bool check, const char *pass) {
    if (!check) return NULL;
    return loom_status_note(loom_lifted_check(l), "after the pass %s", pass);
}

/* The passes behind the vectoriser. */
static loom_status *transform(loom_lifted *l, loom_pass last, int schedule, bool check) {
    if (last == LOOM_PASS_VECTORISE) return NULL;
    LOOM_TRY(loom_fuse(l));
    LOOM_TRY(checked(l, check, "fuse"));
    if (last == LOOM_PASS_FUSE) return NULL;
    LOOM_TRY(loom_schedule(l, schedule));
    return checked(l, check, "schedule");
}

static loom_status *vectorise(loom_arena *arena, const loom_vectorise_request *request, bool check,
                              loom_lifted **lifted, const char **remark) {
    LOOM_TRY(loom_vectorise(arena, request, lifted, remark));
    return *lifted ? checked(*lifted, check, "vectorise") : NULL;
}

static bool checks(bool asked) {
#ifdef LOOM_DEBUG_CHECKS
    asked = true;
#endif
    return asked;
}

loom_status *loom_lifting(loom_arena *arena, const loom_vectorise_request *request, loom_pass last, int schedule,
                          bool check, loom_lifted **lifted, const char **remark) {
    check = checks(check);
    loom_lifted *l = NULL;
    LOOM_TRY(vectorise(arena, request, check, &l, remark));
    *lifted = l;
    if (!l || last == LOOM_PASS_VECTORISE) return NULL;
    if (l->n_exprs > LOOM_PASSES_MAX_EXPRS) {
        *lifted = NULL;
        *remark = loom_arena_printf(arena, "%u operations on scalars, and more than %u take long to compile",
                                    l->n_exprs, LOOM_PASSES_MAX_EXPRS);
        return NULL;
    }
    return transform(l, last, schedule, check);
}

/* ---- rows that may turn out to be of one length ---- */

uint32_t loom_lifting_irregular(const loom_lifted *l) {
    uint32_t n = 0;
    for (loom_lop_id i = 0; i < l->n_ops; i++) {
        const loom_lop *op = &l->ops[i];
        n += loom_lifted_any_segmented(l, op->n_axes, op->axes);
    }
    return n;
}

loom_status *loom_lifting_tested(loom_arena *arena, const loom_vectorise_request *request, loom_pass last, int schedule,
                                 bool check, const loom_lifted *lifted, loom_lifted **tested, const char **remark) {
    *tested = NULL;
    *remark = NULL;
    uint32_t irregular = loom_lifting_irregular(lifted);
    if (!irregular) return NULL;
    if (lifted->n_exprs > LOOM_TESTED_MAX_EXPRS) {
        *remark = loom_arena_printf(
            arena, "rows are not tested: %u operations on scalars, and for more than %u code is made once",
            lifted->n_exprs, LOOM_TESTED_MAX_EXPRS);
        return NULL;
    }
    loom_vectorise_request with = *request;
    with.tested = true;
    check = checks(check);
    const char *refused = NULL;
    loom_lifted *l = NULL;
    LOOM_TRY(vectorise(arena, &with, check, &l, &refused));
    if (!l || !loom_lifted_is_tested(l)) return NULL;
    LOOM_TRY(transform(l, last, schedule, check));
    if (loom_lifting_irregular(l) <= irregular / 2) *tested = l;
    return NULL;
}

/* ---- stages without data ---- */

static uint32_t assume_slot(loom_arena *arena, const loom_graph_slot *s, const loom_lifting_sizes *sizes,
                            loom_leaf_shape *to) {
    for (uint32_t i = 0; i < s->n_leaves; i++) {
        int64_t *extents = LOOM_NEW_ARRAY(arena, int64_t, (size_t)s->leaves[i].depth + 1);
        for (uint32_t k = 0; k < s->leaves[i].depth; k++) {
            extents[k] = k && sizes->irregular ? LOOM_IRREGULAR : sizes->extent;
        }
        if (s->stream) extents[0] = -2;
        to[i] = (loom_leaf_shape){.depth = s->leaves[i].depth, .extents = extents};
    }
    return s->n_leaves;
}

loom_vectorise_request loom_lifting_request(loom_arena *arena, const loom_program *staged, const loom_graph *graph,
                                            uint32_t index, const loom_lifting_sizes *sizes) {
    const loom_graph_stage *stage = &graph->stages[index];
    uint32_t n = 0;
    for (uint32_t i = 0; i < stage->n_inputs; i++) n += graph->slots[stage->inputs[i]].n_leaves;
    for (uint32_t i = 0; i < stage->n_streams; i++) n += graph->slots[stage->streams[i]].n_leaves;
    loom_leaf_shape *shapes = LOOM_NEW_ARRAY(arena, loom_leaf_shape, (size_t)n + 1);
    n = 0;
    for (uint32_t i = 0; i < stage->n_inputs; i++)
        n += assume_slot(arena, &graph->slots[stage->inputs[i]], sizes, shapes + n);
    for (uint32_t i = 0; i < stage->n_streams; i++)
        n += assume_slot(arena, &graph->slots[stage->streams[i]], sizes, shapes + n);
    return (loom_vectorise_request){.program = staged,
                                    .graph = graph,
                                    .stage = index,
                                    .shapes = shapes,
                                    .n_shapes = n,
                                    .known = LOOM_NEW_ARRAY(arena, loom_value *, (size_t)stage->n_inputs + 1)};
}
