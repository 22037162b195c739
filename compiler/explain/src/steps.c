/* Steps of an entry by itself and lifted.
 *
 * An entry f of parameters (a, b) is lifted as  map_seq f xs ys  over streams of a and of b, which is what the system
 * does with a function given to map_seq: so the text is the same, and what is counted is what would run. */
#include "compiler/stage/stage.h"
#include "flat.h"
#include <inttypes.h>

const char *const loom_lift_names[LOOM_LIFTS] = {"unlifted", "regular", "irregular"};

/* ---- lifting an entry ---- */

static bool has_streams(const loom_program *p, const loom_body *b) {
    for (uint32_t i = 0; i < b->n_params; i++) {
        if (loom_type_has_seq(p, p->nodes[b->first + i].type)) return true;
    }
    return loom_type_has_seq(p, p->nodes[b->result].type);
}

/* `one` has a single function, without calls. */
static loom_program *map_over_streams(loom_arena *arena, const loom_program *one) {
    const loom_function *f = &one->functions[0];
    const loom_body *b = &one->bodies[f->body];
    loom_program *p = loom_program_create(arena);
    p->files = one->files;
    p->n_files = p->cap_files = one->n_files;
    loom_type_id *types = LOOM_NEW_ARRAY(arena, loom_type_id, (size_t)b->n_params + 1);
    loom_node_id *streams = LOOM_NEW_ARRAY(arena, loom_node_id, (size_t)b->n_params + 1);
    loom_node_id *map = LOOM_NEW_ARRAY(arena, loom_node_id, (size_t)one->n_nodes + 1);
    for (loom_node_id id = 0; id < one->n_nodes; id++) map[id] = LOOM_NONE;
    for (uint32_t i = 0; i < b->n_params; i++) {
        types[i] = loom_type_seq(p, loom_copy_type(p, one, one->nodes[b->first + i].type));
    }
    loom_span span = one->nodes[b->result].span;
    loom_body_id outer = loom_build_open(p, b->n_params, types, span);
    for (uint32_t i = 0; i < b->n_params; i++) streams[i] = loom_build_param(p, outer, i);
    loom_body_id inner = loom_copy_as_body(p, one, f->body, map);
    loom_type_id result = loom_type_seq(p, p->nodes[p->bodies[inner].result].type);
    loom_node_id all = loom_build_node(p, LOOM_OP_SEQ_MAP, 0, result, streams, b->n_params, &inner, 1, 0, span);
    loom_build_close(p, outer, all);
    loom_build_function(p, f->name, outer, true, f->param_names);
    return p;
}

static loom_status *lifted_program(loom_arena *arena, const loom_program *program, const char *name,
                                   const loom_program **lifted) {
    const loom_function *entry = loom_program_entry(program, name);
    if (!entry) return loom_error(LOOM_E_USAGE, "the program has no entry %s", name ? name : "main");
    const loom_body *b = &program->bodies[entry->body];
    *lifted = program;
    if (b->n_params == 0 || has_streams(program, b)) return NULL;
    loom_program *one;
    LOOM_TRY(loom_simplify_one(arena, program, (uint32_t)(entry - program->functions), &one));
    *lifted = map_over_streams(arena, one);
    return loom_program_check(*lifted);
}

/* ---- counting ---- */

typedef struct counting {
    loom_arena *arena;
    const loom_program *program;
    const char *entry;
    loom_lift lift;
    int64_t extent;
    loom_steps *steps;
} counting;

/* The least regular representation of any value of a function. */
static void worst_of(const loom_shapes *shapes, const loom_program *p, uint32_t f, loom_steps *to) {
    const loom_body *b = &p->bodies[p->functions[f].body];
    for (loom_node_id id = b->first; id < b->end; id++) {
        loom_shape_rep rep = loom_shapes_rep(shapes, id);
        if (rep > to->rep) to->rep = rep;
    }
}

/* Whether a test tells of all rows of the stage that may differ. */
static loom_status *tested_of(loom_arena *arena, const explain_stages *stages, uint32_t stage,
                              const loom_lifting_sizes *sizes, const loom_lifted *lifted, loom_steps *to) {
    loom_lifted *tested;
    const char *remark;
    LOOM_TRY(explain_tested(arena, stages, stage, sizes, lifted, &tested, &remark));
    to->tested = to->tested && lifted && loom_lifting_irregular(tested ? tested : lifted) == 0;
    return NULL;
}

static loom_status *count(void *context) {
    const counting *c = context;
    const loom_program *program = c->program;
    explain_stages stages = {.staged = NULL};
    loom_lifting_sizes sizes = {.extent = c->extent, .irregular = c->lift == LOOM_LIFT_IRREGULAR};
    if (c->lift != LOOM_LIFT_NOT) LOOM_TRY(lifted_program(c->arena, program, c->entry, &program));
    LOOM_TRY(explain_split(c->arena, program, program == c->program ? c->entry : NULL, &stages));
    LOOM_TRY(explain_versions(c->arena, &stages, &sizes));
    loom_steps made = {.tested = true};
    for (uint32_t s = 0; s < stages.graph->n_stages; s++) {
        loom_lifted *lifted;
        const char *remark;
        worst_of(explain_shapes(c->arena, &stages, s, &sizes), stages.staged, stages.graph->stages[s].function, &made);
        LOOM_TRY(explain_flat(c->arena, &stages, s, &sizes, &lifted, &remark));
        explain_steps steps = lifted ? explain_count(c->arena, lifted, NULL) : (explain_steps){0, 0};
        LOOM_TRY(tested_of(c->arena, &stages, s, &sizes, lifted, &made));
        made.steps += steps.all;
        made.avoided += steps.avoided;
        if (!made.remark) made.remark = remark;
    }
    *c->steps = made;
    return NULL;
}

loom_status *loom_steps_count(loom_arena *arena, const loom_program *program, const char *entry, loom_lift lift,
                              int64_t extent, loom_steps *steps) {
    counting c = {arena, program, entry, lift, extent, steps};
    return loom_arena_guarded(arena, count, &c, LOOM_COMPILE_EXHAUSTED);
}

loom_status *loom_steps_print(loom_arena *arena, const loom_program *program, const char *entry, int64_t extent,
                              FILE *to) {
    loom_steps steps[LOOM_LIFTS];
    for (int i = 0; i < LOOM_LIFTS; i++) {
        LOOM_TRY(loom_steps_count(arena, program, entry, (loom_lift)i, extent, &steps[i]));
    }
    fprintf(to, "arrays of %" PRId64 ", loop bodies once, the longer branch:\n", extent);
    for (int i = 0; i < LOOM_LIFTS; i++) {
        if (steps[i].remark) {
            fprintf(to, "%-10s interpreted: %s\n", loom_lift_names[i], steps[i].remark);
        } else {
            fprintf(to, "%-10s %" PRIu64 " step%s", loom_lift_names[i], steps[i].steps, steps[i].steps == 1 ? "" : "s");
            if (steps[i].avoided) fprintf(to, ", %" PRIu64 " of them once for all elements", steps[i].avoided);
            fputc('\n', to);
        }
    }
    return NULL;
}
