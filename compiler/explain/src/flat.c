#include "flat.h"
#include "compiler/schedule/reads.h"
#include "compiler/stage/stage.h"

loom_status *explain_split(loom_arena *arena, const loom_program *program, const char *name, explain_stages *stages) {
    const loom_function *entry = loom_program_entry(program, name);
    if (!entry) return loom_error(LOOM_E_USAGE, "the program has no entry %s", name ? name : "main");
    loom_value **none = LOOM_NEW_ARRAY(arena, loom_value *, (size_t)program->bodies[entry->body].n_params + 1);
    loom_stage_request split = {.program = program, .entry = entry->name, .arguments = none, .specialise = true};
    return loom_stage_split(arena, &split, &stages->staged, &stages->graph);
}

loom_status *explain_versions(loom_arena *arena, explain_stages *stages, const loom_lifting_sizes *sizes) {
    for (uint32_t s = 0; s < stages->graph->n_stages; s++) {
        loom_vectorise_request request = loom_lifting_request(arena, stages->staged, stages->graph, s, sizes);
        loom_version_notes notes = {0};
        LOOM_TRY(loom_lifting_versions(arena, &request, &stages->staged, &notes));
        for (size_t i = 0; i < notes.count; i++) LOOM_PUSH(arena, stages->versions, notes.at[i]);
    }
    return NULL;
}

loom_status *explain_flat(loom_arena *arena, const explain_stages *stages, uint32_t stage,
                          const loom_lifting_sizes *sizes, loom_lifted **lifted, const char **remark) {
    *lifted = NULL;
    *remark = NULL;
    if (stages->graph->stages[stage].kind == LOOM_STAGE_WHOLE) {
        *remark = stages->graph->n_remarks ? stages->graph->remarks[0] : "the program could not be cut into stages";
        return NULL;
    }
    loom_vectorise_request request = loom_lifting_request(arena, stages->staged, stages->graph, stage, sizes);
    request.force = LOOM_FORCE_FLAT;
    LOOM_TRY(loom_lifting(arena, &request, LOOM_PASS_SCHEDULE, false, lifted, remark));
    if (!*lifted && !*remark) *remark = "no reason given";
    return NULL;
}

loom_status *explain_tested(loom_arena *arena, const explain_stages *stages, uint32_t stage,
                            const loom_lifting_sizes *sizes, const loom_lifted *lifted, loom_lifted **tested,
                            const char **remark) {
    *tested = NULL;
    *remark = NULL;
    if (!lifted) return NULL;
    loom_vectorise_request request = loom_lifting_request(arena, stages->staged, stages->graph, stage, sizes);
    request.force = LOOM_FORCE_FLAT;
    return loom_lifting_tested(arena, &request, LOOM_PASS_SCHEDULE, false, lifted, tested, remark);
}

static bool is_step(const loom_lop *op) {
    return op->kind != LOOM_LO_LOOP && op->kind != LOOM_LO_IF && !op->blank && op->n_axes > 0;
}

/* ---- what depends on the elements of the stream ---- */

typedef struct dependence {
    const loom_lifted *l;
    bool *value; /* by value */
    bool *op;    /* by operation */
    bool found;  /* of the operation at hand */
    bool changed;
} dependence;

static void note_value(void *context, loom_lvalue_id id) {
    dependence *d = context;
    d->found = d->found || d->value[id];
}

static void note_axes(dependence *d, uint32_t n, const loom_axis_id *axes) {
    for (uint32_t i = 0; i < n; i++) {
        loom_lvalue_id needs[3];
        uint32_t n_needs = loom_axis_needs(d->l, axes[i], needs);
        if (d->l->axes[axes[i]].kind == LOOM_AXIS_CHUNK) d->found = true;
        for (uint32_t k = 0; k < n_needs; k++) note_value(d, needs[k]);
    }
}

static void set_dependent(dependence *d, loom_lvalue_id id, bool depends) {
    if (id == LOOM_NONE || !depends || d->value[id]) return;
    d->value[id] = d->changed = true;
}

static void look_at_op(dependence *d, loom_lop_id id) {
    const loom_lop *op = &d->l->ops[id];
    bool control = op->kind == LOOM_LO_LOOP || op->kind == LOOM_LO_IF;
    d->found = d->op[id];
    if (!control) loom_lifted_reads(d->l, id, note_value, d);
    note_axes(d, op->n_axes, op->axes);
    /* All that a loop or a branch makes depends on how often it turns, and on which is taken; on what else there is,
     * each of its results by itself. */
    for (uint32_t i = 0; control && i < op->n_args; i++) note_value(d, op->args[i]);
    if (op->kind == LOOM_LO_LOOP && op->test != LOOM_NONE) note_value(d, op->test);
    for (uint32_t s = 0; s < op->n_states; s++) {
        bool either = d->found || d->value[op->initial[s]] || d->value[op->next[s]];
        set_dependent(d, op->state[s], either);
        set_dependent(d, op->results[s], either || d->value[op->state[s]]);
    }
    for (uint32_t j = 0; op->kind == LOOM_LO_IF && j < op->n_results; j++) {
        set_dependent(d, op->results[j], d->value[op->then_results[j]] || d->value[op->else_results[j]]);
    }
    d->op[id] = d->found;
    for (uint32_t j = 0; j < op->n_results; j++) set_dependent(d, op->results[j], d->found);
}

/* By operation. Until nothing changes: states of loops depend on what turns make of them. */
static const bool *depends_on_stream(loom_arena *arena, const loom_lifted *l) {
    dependence d = {.l = l,
                    .value = LOOM_NEW_ARRAY(arena, bool, (size_t)l->n_values + 1),
                    .op = LOOM_NEW_ARRAY(arena, bool, (size_t)l->n_ops + 1)};
    for (loom_lvalue_id v = 0; v < l->n_values; v++) {
        const loom_lvalue *value = &l->values[v];
        d.value[v] = value->source == LOOM_LV_COLUMN || value->source == LOOM_LV_FIRST || value->carried;
    }
    do {
        d.changed = false;
        for (loom_lop_id i = 0; i < l->n_ops; i++) look_at_op(&d, i);
    } while (d.changed);
    return d.op;
}

/* ---- counting ---- */

static void add_steps(explain_steps *to, explain_steps more) {
    to->all += more.all;
    to->avoided += more.avoided;
}

/* Operations inside of others stand before them. */
explain_steps explain_count(loom_arena *arena, const loom_lifted *l, uint64_t *of_node) {
    loom_lop_id *parent = loom_lifted_parents(l, arena);
    explain_steps *then = LOOM_NEW_ARRAY(arena, explain_steps, (size_t)l->n_ops + 1);
    explain_steps *otherwise = LOOM_NEW_ARRAY(arena, explain_steps, (size_t)l->n_ops + 1), all = {0, 0};
    const bool *depends = l->stage_kind == LOOM_STAGE_TRAVERSAL ? depends_on_stream(arena, l) : NULL;
    for (loom_lop_id i = 0; i < l->n_ops; i++) {
        const loom_lop *op = &l->ops[i];
        explain_steps steps = {is_step(op), is_step(op) && depends && !depends[i]};
        add_steps(&steps, then[i].all > otherwise[i].all ? then[i] : otherwise[i]);
        if (of_node && is_step(op) && op->node != LOOM_NONE) of_node[op->node]++;
        loom_lop_id up = parent[i];
        if (up == LOOM_NONE) {
            add_steps(&all, steps);
            continue;
        }
        bool is_else = l->ops[up].kind == LOOM_LO_IF && i >= l->ops[up].else_first && i < l->ops[up].else_end;
        add_steps(&(is_else ? otherwise : then)[up], steps);
    }
    return all;
}

loom_shapes *explain_shapes(loom_arena *arena, const explain_stages *stages, uint32_t stage,
                            const loom_lifting_sizes *sizes) {
    uint32_t f = stages->graph->stages[stage].function;
    return sizes->irregular ? loom_shapes_analyse(arena, stages->staged, f)
                            : loom_shapes_analyse_regular(arena, stages->staged, f);
}
