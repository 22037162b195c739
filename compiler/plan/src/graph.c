/* Checker and printer of graphs of stages. */
#include "compiler/plan/graph.h"
#include "common/value.h"

static const char *const stage_kinds[] = {"traversal", "array", "whole"};
static const char *const output_kinds[] = {"fold", "permute", "reduce", "collect", "stream", "value", "spill", "chain"};

static loom_status *check_slots(const loom_graph *g) {
    if (g->n_params > g->n_slots)
        return loom_error(LOOM_E_DATA, "graph: %u parameters but %u slots", g->n_params, g->n_slots);
    for (uint32_t s = 0; s < g->n_slots; s++) {
        const loom_graph_slot *slot = &g->slots[s];
        if (!slot->name) return loom_error(LOOM_E_DATA, "graph: slot %u has no name", s);
        for (uint32_t l = 0; l < slot->n_leaves; l++) {
            if (!slot->leaves[l].name || (unsigned)slot->leaves[l].dtype >= LOOM_DTYPES ||
                slot->leaves[l].depth > LOOM_MAX_DEPTH) {
                return loom_error(LOOM_E_DATA, "graph: leaf %u of slot %u (%s) is malformed", l, s, slot->name);
            }
        }
    }
    return NULL;
}

/* ---- loops ---- */

/* Loops are in order of their first stages, so those around one are on a stack of the open ones. */
uint32_t *loom_graph_loop_of_loops(const loom_graph *g, loom_arena *arena) {
    uint32_t *of = LOOM_NEW_ARRAY(arena, uint32_t, (size_t)g->n_loops + 1);
    uint32_t open = LOOM_NONE_LOOP;
    for (uint32_t l = 0; l < g->n_loops; l++) {
        while (open != LOOM_NONE_LOOP && g->loops[open].end <= g->loops[l].first) open = of[open];
        of[l] = open;
        open = l;
    }
    return of;
}

uint32_t *loom_graph_loop_of_stages(const loom_graph *g, loom_arena *arena) {
    uint32_t *parents = loom_graph_loop_of_loops(g, arena);
    uint32_t *of = LOOM_NEW_ARRAY(arena, uint32_t, (size_t)g->n_stages + 1);
    uint32_t open = LOOM_NONE_LOOP, next = 0;
    for (uint32_t s = 0; s < g->n_stages; s++) {
        while (open != LOOM_NONE_LOOP && g->loops[open].end <= s) open = parents[open];
        while (next < g->n_loops && g->loops[next].first <= s) open = next++;
        of[s] = open;
    }
    return of;
}

uint32_t *loom_graph_loop_of_slots(const loom_graph *g, loom_arena *arena) {
    uint32_t *stages = loom_graph_loop_of_stages(g, arena), *loops = loom_graph_loop_of_loops(g, arena);
    uint32_t *of = LOOM_NEW_ARRAY(arena, uint32_t, (size_t)g->n_slots + 1);
    for (uint32_t i = 0; i < g->n_slots; i++) of[i] = LOOM_NONE_LOOP;
    for (uint32_t s = 0; s < g->n_stages; s++) {
        for (uint32_t o = 0; o < g->stages[s].n_outputs; o++) of[g->stages[s].outputs[o].slot] = stages[s];
    }
    for (uint32_t l = 0; l < g->n_loops; l++) {
        for (uint32_t i = 0; i < g->loops[l].n_state; i++) {
            of[g->loops[l].current[i]] = l;
            of[g->loops[l].result[i]] = loops[l];
        }
    }
    return of;
}

/* ---- checks: slots are filled in order, and read where they are seen ---- */

typedef struct checker {
    const loom_graph *g;
    uint32_t next_slot;
    uint32_t *scope;                  /* by slot filled so far: the loop it belongs to */
    uint32_t *parents;                /* by loop */
    const loom_graph_stage **spiller; /* by slot: the stage whose spill it is, which is no value; NULL: a value */
} checker;

static bool within(const checker *c, uint32_t loop, uint32_t around) {
    while (loop != around && loop != LOOM_NONE_LOOP) loop = c->parents[loop];
    return loop == around;
}

static bool is_filled(const checker *c, uint32_t slot, uint32_t loop) {
    return slot < c->next_slot && !c->g->slots[slot].stream && within(c, loop, c->scope[slot]);
}

/* A value is in slot `slot` for what stands in the body of `loop`. */
static bool is_seen(const checker *c, uint32_t slot, uint32_t loop) {
    return is_filled(c, slot, loop) && !c->spiller[slot];
}

static bool fill(checker *c, uint32_t slot, uint32_t loop) {
    if (slot != c->next_slot || slot >= c->g->n_slots) return false;
    c->scope[c->next_slot++] = loop;
    return true;
}

static bool same_leaves(const loom_graph_slot *a, const loom_graph_slot *b) {
    if (a->n_leaves != b->n_leaves) return false;
    for (uint32_t i = 0; i < a->n_leaves; i++) {
        if (a->leaves[i].dtype != b->leaves[i].dtype || a->leaves[i].depth != b->leaves[i].depth) return false;
    }
    return true;
}

static loom_status *bad_loop(uint32_t l, const char *what) {
    return loom_error(LOOM_E_DATA, "graph: loop %u %s", l, what);
}

static loom_status *check_loop_shape(const checker *c, uint32_t l) {
    const loom_graph *g = c->g;
    const loom_graph_loop *loop = &g->loops[l];
    if (loop->first >= loop->end || loop->end > g->n_stages) return bad_loop(l, "has no stages of its own");
    if (!loop->n_state) return bad_loop(l, "has no state");
    if (!loop->init || !loop->current || !loop->next || !loop->result) return bad_loop(l, "lacks slots");
    if (l && (g->loops[l - 1].first > loop->first ||
              (g->loops[l - 1].first == loop->first && g->loops[l - 1].end < loop->end)))
        return bad_loop(l, "is not in order");
    uint32_t depth = 0;
    for (uint32_t m = c->parents[l]; m != LOOM_NONE_LOOP; m = c->parents[m]) depth++;
    if (depth >= LOOM_MAX_LOOP_NESTING) return bad_loop(l, "is nested too deep");
    if (depth && loop->end > g->loops[c->parents[l]].end) return bad_loop(l, "crosses another");
    return NULL;
}

static loom_status *begin_loop(checker *c, uint32_t l) {
    const loom_graph_loop *loop = &c->g->loops[l];
    for (uint32_t i = 0; i < loop->n_state; i++) {
        if (!is_seen(c, loop->init[i], c->parents[l])) return bad_loop(l, "begins with a slot without value");
    }
    for (uint32_t i = 0; i < loop->n_state; i++) {
        if (!fill(c, loop->current[i], l)) return bad_loop(l, "keeps its state in another slot than the next");
        if (!same_leaves(&c->g->slots[loop->init[i]], &c->g->slots[loop->current[i]]))
            return bad_loop(l, "begins with a state of another type");
    }
    const loom_graph_slot *go = &c->g->slots[loop->current[0]];
    if (go->n_leaves != 1 || go->leaves[0].dtype != LOOM_BOOL || go->leaves[0].depth)
        return bad_loop(l, "has a condition that is no bool");
    return NULL;
}

static loom_status *end_loop(checker *c, uint32_t l) {
    const loom_graph_loop *loop = &c->g->loops[l];
    for (uint32_t i = 0; i < loop->n_state; i++) {
        if (!is_seen(c, loop->next[i], l)) return bad_loop(l, "goes on with a slot without value");
        if (!same_leaves(&c->g->slots[loop->next[i]], &c->g->slots[loop->current[i]]))
            return bad_loop(l, "goes on with a state of another type");
    }
    for (uint32_t i = 0; i < loop->n_state; i++) {
        if (!fill(c, loop->result[i], c->parents[l]))
            return bad_loop(l, "leaves its state in another slot than the next");
        if (!same_leaves(&c->g->slots[loop->result[i]], &c->g->slots[loop->current[i]]))
            return bad_loop(l, "ends with a state of another type");
    }
    return NULL;
}

static bool is_scalar_slot(const checker *c, uint32_t slot, uint32_t loop, loom_dtype dtype) {
    if (!is_seen(c, slot, loop)) return false;
    const loom_graph_slot *g = &c->g->slots[slot];
    return g->n_leaves == 1 && g->leaves[0].dtype == dtype && g->leaves[0].depth == 0;
}

static bool has_stream(const loom_graph_stage *stage, uint32_t slot) {
    for (uint32_t i = 0; i < stage->n_streams; i++) {
        if (stage->streams[i] == slot) return true;
    }
    return false;
}

static bool is_list_of_batches(const loom_graph *g, uint32_t slot) {
    if (slot >= g->n_slots || g->slots[slot].n_leaves != 1) return false;
    return g->slots[slot].leaves[0].dtype == LOOM_I64 && g->slots[slot].leaves[0].depth == 2;
}

static loom_status *check_spills(const checker *c, uint32_t s, uint32_t loop) {
    const loom_graph_stage *stage = &c->g->stages[s];
    bool spills = stage->n_outputs == 1 && stage->outputs[0].kind == LOOM_OUT_SPILL;
    if (spills && !is_list_of_batches(c->g, stage->outputs[0].slot))
        return loom_error(LOOM_E_DATA, "graph: stage %u spills by what is no list of batches", s);
    if (spills && !is_scalar_slot(c, stage->saves, loop, LOOM_F64))
        return loom_error(LOOM_E_DATA, "graph: stage %u spills without saying what that saves", s);
    if (!spills && stage->saves)
        return loom_error(LOOM_E_DATA, "graph: stage %u saves traversals and does not spill", s);
    if (!stage->spilled && !stage->batch) return NULL;
    const loom_graph_stage *from = stage->spilled < c->g->n_slots ? c->spiller[stage->spilled] : NULL;
    if (!from || stage->kind != LOOM_STAGE_TRAVERSAL || !is_filled(c, stage->spilled, loop) ||
        !is_scalar_slot(c, stage->batch, loop, LOOM_I64))
        return loom_error(LOOM_E_DATA, "graph: stage %u reads a batch of what was not spilled", s);
    for (uint32_t i = 0; i < stage->n_streams; i++) {
        if (!has_stream(from, stage->streams[i]))
            return loom_error(LOOM_E_DATA, "graph: stage %u reads a stream that was not spilled", s);
    }
    return NULL;
}

/* Each output of kind CHAIN is carried, and to one input of its type. */
static loom_status *check_carried(const checker *c, uint32_t s) {
    const loom_graph_stage *stage = &c->g->stages[s];
    uint32_t chains = 0;
    for (uint32_t o = 0; o < stage->n_outputs; o++) chains += stage->outputs[o].kind == LOOM_OUT_CHAIN;
    if (chains != stage->n_carried)
        return loom_error(LOOM_E_DATA, "graph: stage %u makes %u states and carries %u", s, chains, stage->n_carried);
    if (chains && (stage->kind != LOOM_STAGE_TRAVERSAL || stage->spilled))
        return loom_error(LOOM_E_DATA, "graph: stage %u carries states and is no traversal of whole streams", s);
    for (uint32_t i = 0; i < stage->n_carried; i++) {
        loom_graph_carried a = stage->carried[i];
        bool there = a.input < stage->n_inputs && a.output < stage->n_outputs &&
                     stage->outputs[a.output].kind == LOOM_OUT_CHAIN && stage->outputs[a.output].slot < c->g->n_slots;
        if (!there || !same_leaves(&c->g->slots[stage->inputs[a.input]], &c->g->slots[stage->outputs[a.output].slot]))
            return loom_error(LOOM_E_DATA, "graph: stage %u carries a state to no input of its type", s);
        for (uint32_t k = 0; k < i; k++) {
            if (stage->carried[k].input == a.input || stage->carried[k].output == a.output)
                return loom_error(LOOM_E_DATA, "graph: stage %u carries a state twice", s);
        }
    }
    return NULL;
}

static loom_status *check_stage(checker *c, uint32_t s, uint32_t loop) {
    const loom_graph *g = c->g;
    const loom_graph_stage *stage = &g->stages[s];
    for (uint32_t i = 0; i < stage->n_inputs; i++) {
        uint32_t slot = stage->inputs[i];
        if (!is_seen(c, slot, loop)) {
            return loom_error(LOOM_E_DATA, "graph: input %u of stage %u is slot %u, which has no value there", i, s,
                              slot);
        }
    }
    for (uint32_t i = 0; i < stage->n_varying; i++) {
        if (stage->varying[i] >= stage->n_inputs)
            return loom_error(LOOM_E_DATA, "graph: stage %u has no input %u", s, stage->varying[i]);
    }
    for (uint32_t i = 0; i < stage->n_streams; i++) {
        uint32_t slot = stage->streams[i];
        if (slot >= g->n_params || !g->slots[slot].stream) {
            return loom_error(LOOM_E_DATA, "graph: stage %u traverses slot %u, which is no stream", s, slot);
        }
    }
    if ((stage->kind == LOOM_STAGE_TRAVERSAL) != (stage->n_streams > 0) && stage->kind != LOOM_STAGE_WHOLE) {
        return loom_error(LOOM_E_DATA, "graph: stage %u is a %s over %u streams", s, stage_kinds[stage->kind],
                          stage->n_streams);
    }
    LOOM_TRY(check_spills(c, s, loop));
    LOOM_TRY(check_carried(c, s));
    for (uint32_t o = 0; o < stage->n_outputs; o++) {
        const loom_graph_output *out = &stage->outputs[o];
        if (!fill(c, out->slot, loop)) {
            return loom_error(LOOM_E_DATA, "graph: output %u of stage %u goes to slot %u, not %u", o, s, out->slot,
                              c->next_slot);
        }
        if (out->kind == LOOM_OUT_SPILL && stage->n_outputs != 1)
            return loom_error(LOOM_E_DATA, "graph: stage %u spills beside other outputs", s);
        if (out->kind == LOOM_OUT_SPILL) c->spiller[out->slot] = stage;
        if ((out->kind == LOOM_OUT_VALUE) != (stage->kind != LOOM_STAGE_TRAVERSAL)) {
            return loom_error(LOOM_E_DATA, "graph: output %u of stage %u is of kind %s", o, s, output_kinds[out->kind]);
        }
        if (out->kind == LOOM_OUT_STREAM && loop != LOOM_NONE_LOOP)
            return loom_error(LOOM_E_DATA, "graph: stage %u streams out of a loop", s);
    }
    return NULL;
}

static loom_status *check_stages(checker *c, const uint32_t *loop_of) {
    const loom_graph *g = c->g;
    uint32_t next = 0;
    for (uint32_t s = 0; s < g->n_stages; s++) {
        for (; next < g->n_loops && g->loops[next].first == s; next++) LOOM_TRY(begin_loop(c, next));
        LOOM_TRY(check_stage(c, s, loop_of[s]));
        for (uint32_t l = loop_of[s]; l != LOOM_NONE_LOOP && g->loops[l].end == s + 1; l = c->parents[l])
            LOOM_TRY(end_loop(c, l));
    }
    if (c->next_slot != g->n_slots)
        return loom_error(LOOM_E_DATA, "graph: %u slots, but stages fill %u", g->n_slots, c->next_slot);
    bool seen = g->result < g->n_slots && c->scope[g->result] == LOOM_NONE_LOOP && !c->spiller[g->result];
    if (!seen) return loom_error(LOOM_E_DATA, "graph: the result is slot %u of %u", g->result, g->n_slots);
    return NULL;
}

loom_status *loom_graph_check(const loom_graph *g) {
    LOOM_TRY(check_slots(g));
    loom_arena *scratch = loom_arena_create(0);
    checker c = {.g = g, .next_slot = g->n_params, .parents = loom_graph_loop_of_loops(g, scratch)};
    loom_status *status = NULL;
    for (uint32_t l = 0; l < g->n_loops && !status; l++) status = check_loop_shape(&c, l);
    if (!status) {
        c.scope = LOOM_NEW_ARRAY(scratch, uint32_t, (size_t)g->n_slots + 1);
        for (uint32_t i = 0; i < g->n_slots; i++) c.scope[i] = LOOM_NONE_LOOP;
        c.spiller = LOOM_NEW_ARRAY(scratch, const loom_graph_stage *, (size_t)g->n_slots + 1);
        status = check_stages(&c, loom_graph_loop_of_stages(g, scratch));
    }
    loom_arena_destroy(scratch);
    return status;
}

/* ---- printer ---- */

static void print_function(const char *what, uint32_t function, FILE *to) {
    if (function != LOOM_NONE_FUNCTION) fprintf(to, " %s=f%u", what, function);
}

static void print_stage(const loom_graph *g, uint32_t s, FILE *to) {
    const loom_graph_stage *stage = &g->stages[s];
    fprintf(to, "stage %u: %s f%u", s, stage_kinds[stage->kind], stage->function);
    if (stage->label) fprintf(to, "  -- %s", stage->label);
    fputc('\n', to);
    for (uint32_t i = 0; i < stage->n_streams; i++) {
        fprintf(to, "  over   s%u %s\n", stage->streams[i], g->slots[stage->streams[i]].name);
    }
    for (uint32_t i = 0; i < stage->n_inputs; i++) {
        bool varies = false;
        for (uint32_t k = 0; k < stage->n_varying; k++) varies = varies || stage->varying[k] == i;
        fprintf(to, "  input  s%u %s%s\n", stage->inputs[i], g->slots[stage->inputs[i]].name,
                varies ? " (varies)" : "");
    }
    if (stage->saves) fprintf(to, "  saves  s%u %s\n", stage->saves, g->slots[stage->saves].name);
    if (stage->spilled)
        fprintf(to, "  spill  s%u, batch s%u %s\n", stage->spilled, stage->batch, g->slots[stage->batch].name);
    for (uint32_t i = 0; i < stage->n_carried; i++) {
        fprintf(to, "  carry  output %u to input %u\n", stage->carried[i].output, stage->carried[i].input);
    }
    for (uint32_t o = 0; o < stage->n_outputs; o++) {
        const loom_graph_output *out = &stage->outputs[o];
        fprintf(to, "  output s%u %s%s", out->slot, output_kinds[out->kind],
                out->order == LOOM_ORDER_ADJACENT ? " adjacent" : "");
        print_function("merge", out->merge, to);
        fputc('\n', to);
    }
}

static void print_state(const char *what, const uint32_t *slots, uint32_t n, FILE *to) {
    fprintf(to, "  %s", what);
    for (uint32_t i = 0; i < n; i++) fprintf(to, " s%u", slots[i]);
    fputc('\n', to);
}

static void print_loop(const loom_graph *g, uint32_t l, FILE *to) {
    const loom_graph_loop *loop = &g->loops[l];
    fprintf(to, "loop %u: stages %u to %u%s%s\n", l, loop->first, loop->end - 1, loop->label ? "  -- " : "",
            loop->label ? loop->label : "");
    print_state("begins with", loop->init, loop->n_state, to);
    print_state("state      ", loop->current, loop->n_state, to);
    print_state("goes on    ", loop->next, loop->n_state, to);
    print_state("result     ", loop->result, loop->n_state, to);
}

void loom_graph_print(const loom_graph *g, FILE *to) {
    for (uint32_t s = 0; s < g->n_slots; s++) {
        const loom_graph_slot *slot = &g->slots[s];
        fprintf(to, "slot s%u %s%s:", s, slot->name, slot->stream ? " (stream)" : "");
        for (uint32_t l = 0; l < slot->n_leaves; l++) {
            fprintf(to, "%s %s", l ? "," : "", *slot->leaves[l].name ? slot->leaves[l].name : ".");
            for (uint32_t d = 0; d < slot->leaves[l].depth; d++) fputs("[]", to);
            fputs(loom_dtype_name(slot->leaves[l].dtype), to);
        }
        fputc('\n', to);
    }
    for (uint32_t s = 0; s < g->n_stages; s++) print_stage(g, s, to);
    for (uint32_t l = 0; l < g->n_loops; l++) print_loop(g, l, to);
    fprintf(to, "result s%u%s\n", g->result, g->result_is_stream ? " (stream)" : "");
    for (uint32_t r = 0; r < g->n_remarks; r++) fprintf(to, "remark: %s\n", g->remarks[r]);
}
