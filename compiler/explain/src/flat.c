#include "flat.h"
#include "compiler/schedule/reads.h"
#include "compiler/stage/stage.h"

loom_status *explain_guarded(loom_arena *arena, loom_status *(*f)(void *context), void *context) {
    jmp_buf guard;
    jmp_buf *outer = loom_arena_set_guard(arena, &guard);
    loom_status *status;
    if (setjmp(guard)) {
        status = loom_error(LOOM_E_LIMIT, "the program needs more memory to compile than the compiler may use");
    } else {
        status = f(context);
    }
    loom_arena_set_guard(arena, outer);
    return status;
}

loom_status *explain_split(loom_arena *arena, const loom_program *program, const char *name, explain_stages *stages) {
    const loom_function *entry = loom_program_entry(program, name);
    if (!entry) return loom_error(LOOM_E_USAGE, "the program has no entry %s", name ? name : "main");
    loom_value **none = LOOM_NEW_ARRAY(arena, loom_value *, (size_t)program->bodies[entry->body].n_params + 1);
    loom_stage_request split = {.program = program, .entry = entry->name, .arguments = none, .specialise = true};
    return loom_stage_split(arena, &split, &stages->staged, &stages->graph);
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
    LOOM_TRY(loom_lifting(arena, &request, LOOM_PASS_SCHEDULE, LOOM_SCHEDULE_FLAT, false, lifted, remark));
    if (!*lifted && !*remark) *remark = "no reason given";
    return NULL;
}

static bool is_step(const loom_lop *op) {
    return op->kind != LOOM_LO_LOOP && op->kind != LOOM_LO_IF && !op->blank && op->n_axes > 0;
}

static explain_steps own_steps(const loom_lifted *l, const loom_lop *op) {
    if (!is_step(op)) return (explain_steps){0, 0};
    bool over_stream = l->stage_kind != LOOM_STAGE_TRAVERSAL || l->axes[op->axes[0]].kind == LOOM_AXIS_CHUNK;
    return (explain_steps){1, over_stream ? 0 : 1};
}

static void add_steps(explain_steps *to, explain_steps more) {
    to->all += more.all;
    to->avoided += more.avoided;
}

/* Operations inside of others stand before them. */
explain_steps explain_count(loom_arena *arena, const loom_lifted *l, uint64_t *of_node) {
    loom_lop_id *parent = loom_lifted_parents(l, arena);
    explain_steps *then = LOOM_NEW_ARRAY(arena, explain_steps, (size_t)l->n_ops + 1);
    explain_steps *otherwise = LOOM_NEW_ARRAY(arena, explain_steps, (size_t)l->n_ops + 1), all = {0, 0};
    for (loom_lop_id i = 0; i < l->n_ops; i++) {
        const loom_lop *op = &l->ops[i];
        explain_steps steps = own_steps(l, op);
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
