#include "compiler/schedule/lifting.h"
#include "compiler/fuse/fuse.h"
#include "compiler/schedule/schedule.h"
#include <stdlib.h>

static loom_status *checked(const loom_lifted *l, bool check, const char *pass) {
    if (!check) return NULL;
    return loom_status_note(loom_lifted_check(l), "after the pass %s", pass);
}

/* ---- versions ---- */

/* Of each parameter of the stage's function: do all its rows have one length, as its shapes say? */
static const bool *regular_parameters(loom_arena *arena, const loom_vectorise_request *r) {
    const loom_graph_stage *stage = &r->graph->stages[r->stage];
    uint32_t params = r->program->bodies[r->program->functions[stage->function].body].n_params, at = 0;
    bool *regular = LOOM_NEW_ARRAY(arena, bool, (size_t)params + 1);
    for (uint32_t i = 0, slot = 0; i < params; i++) {
        bool first = stage->kind == LOOM_STAGE_TRAVERSAL && i == stage->n_inputs;
        bool input = i < stage->n_inputs;
        regular[i] = true;
        if (first || (!input && slot >= stage->n_streams)) continue;
        const loom_graph_slot *s = &r->graph->slots[input ? stage->inputs[i] : stage->streams[slot++]];
        for (uint32_t k = 0; k < s->n_leaves && at < r->n_shapes; k++, at++) {
            const loom_leaf_shape *shape = &r->shapes[at];
            /* The outermost level is one list; of a stream's leaf that is the chunk, which constant ones are without.
             */
            uint32_t levels = shape->depth - (shape->constant && shape->depth ? 1 : 0);
            for (uint32_t level = shape->constant ? 0 : 1; level < levels; level++) {
                regular[i] = regular[i] && shape->extents[level] >= 0;
            }
        }
    }
    return regular;
}

/* With versions: the program, or what is wrong with it: an error, or NULL with a remark. */
static loom_status *with_versions(loom_arena *arena, const loom_vectorise_request *request, const bool *regular,
                                  loom_program **chosen, loom_version_notes *notes, const char **remark) {
    uint32_t function = request->graph->stages[request->stage].function;
    LOOM_TRY(loom_versions_choose(arena, request->program, function, regular, true, chosen, notes));
    if (!notes->used) return NULL;
    loom_vectorise_request trial = *request;
    loom_lifted *lifted = NULL;
    trial.program = *chosen;
    LOOM_TRY(loom_vectorise(arena, &trial, &lifted, remark));
    if (!lifted && !*remark) *remark = "no reason given";
    return NULL;
}

loom_status *loom_lifting_versions(loom_arena *arena, const loom_vectorise_request *request, loom_program **chosen,
                                   loom_version_notes *notes) {
    const loom_graph_stage *stage = &request->graph->stages[request->stage];
    *chosen = (loom_program *)request->program;
    if (stage->kind == LOOM_STAGE_WHOLE) return NULL;
    const bool *regular = regular_parameters(arena, request);
    const char *remark = NULL;
    loom_status *status = with_versions(arena, request, regular, chosen, notes, &remark);
    if (loom_compile_steps_down(status, false)) {
        char *text = loom_status_text(status);
        remark = loom_arena_strdup(arena, text);
        free(text);
        loom_status_free(status);
        status = NULL;
    }
    if (status || !remark) return status;
    const char *text = loom_arena_printf(arena, "%s: without lifted versions, because with them: %s",
                                         stage->label ? stage->label : "a stage", remark);
    LOOM_PUSH(arena, *notes, text);
    notes->used = 0;
    return loom_versions_choose(arena, request->program, stage->function, regular, false, chosen, notes);
}

/* ---- passes ---- */

/* What is forced upon the vectoriser and not possible somewhere is left, one choice after the other. */
static loom_status *without_force(loom_arena *arena, const loom_vectorise_request *request, loom_lifted **l,
                                  const char **remark) {
    static const uint32_t choices[] = {LOOM_FORCE_IRREGULAR, LOOM_FORCE_SPLIT, LOOM_FORCE_COMPACT, LOOM_FORCE_SYMBOLIC};
    loom_vectorise_request less = *request;
    for (size_t i = 0; i < sizeof choices / sizeof choices[0] && !*l; i++) {
        if (!(less.force & choices[i])) continue;
        less.force &= ~choices[i];
        LOOM_TRY(loom_vectorise(arena, &less, l, remark));
    }
    return NULL;
}

/* The passes behind the vectoriser. */
static loom_status *transform(loom_lifted *l, loom_pass last, bool check) {
    if (last == LOOM_PASS_VECTORISE) return NULL;
    LOOM_TRY(loom_fuse(l));
    LOOM_TRY(checked(l, check, "fuse"));
    if (last == LOOM_PASS_FUSE) return NULL;
    LOOM_TRY(loom_schedule(l));
    return checked(l, check, "schedule");
}

static loom_status *vectorise(loom_arena *arena, const loom_vectorise_request *request, bool check,
                              loom_lifted **lifted, const char **remark) {
    loom_vectorise_request chosen = *request;
    loom_program *program;
    loom_version_notes notes = {0};
    LOOM_TRY(loom_lifting_versions(arena, request, &program, &notes));
    chosen.program = program;
    LOOM_TRY(loom_vectorise(arena, &chosen, lifted, remark));
    if (!*lifted && chosen.force) LOOM_TRY(without_force(arena, &chosen, lifted, remark));
    return *lifted ? checked(*lifted, check, "vectorise") : NULL;
}

static bool checks(bool asked) {
#ifdef LOOM_DEBUG_CHECKS
    asked = true;
#endif
    return asked;
}

loom_status *loom_lifting(loom_arena *arena, const loom_vectorise_request *request, loom_pass last, bool check,
                          loom_lifted **lifted, const char **remark) {
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
    return transform(l, last, check);
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

loom_status *loom_lifting_tested(loom_arena *arena, const loom_vectorise_request *request, loom_pass last, bool check,
                                 const loom_lifted *lifted, loom_lifted **tested, const char **remark) {
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
    LOOM_TRY(transform(l, last, check));
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
