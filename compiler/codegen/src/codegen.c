/* Entry of code generation; the order of its steps. */
#include "gen.h"

static const char *file_name(const loom_lifted *l, uint32_t file) {
    return l->program && file < l->program->n_files ? l->program->files[file].name : "?";
}

static void plan_sites(loom_gen *g, loom_plan *plan) {
    const loom_lifted *l = g->l;
    loom_plan_site *sites = LOOM_NEW_ARRAY(g->arena, loom_plan_site, (size_t)l->n_sites + 1);
    for (uint32_t s = 0; s < l->n_sites; s++) {
        const loom_lsite *from = &l->sites[s];
        sites[s] = (loom_plan_site){.file = file_name(l, from->span.file),
                                    .span = from->span,
                                    .format = from->format ? from->format : "error",
                                    .hint = from->hint};
    }
    plan->n_sites = l->n_sites;
    plan->sites = sites;
}

loom_status *loom_codegen(loom_arena *arena, const loom_lifted *lifted, const char *target, bool count, bool want_text,
                          loom_code_result *result) {
    loom_gen *g = LOOM_NEW(arena, loom_gen);
    loom_plan *plan = LOOM_NEW(arena, loom_plan);
    g->arena = arena;
    g->l = lifted;
    g->count = count;
    plan->kind = (loom_stage_kind)lifted->stage_kind;
    plan->target = loom_arena_strdup(arena, target);
    loom_code_result made = {.plan = plan};
    loom_status *status = loom_gen_open(g, target);
    if (!status) {
        loom_expr_prepare(g);
        if (count) loom_count_prepare(g);
        loom_gen_lower(g);
        loom_gen_plan(g, plan);
        plan_sites(g, plan);
        status = g->error;
        if (!status) status = loom_plan_check(plan);
        if (!status) status = loom_gen_emit(g, want_text, &made);
    } else {
        loom_status_free(g->error);
    }
    loom_gen_close(g);
    if (status) return status;
    *result = made;
    return NULL;
}
