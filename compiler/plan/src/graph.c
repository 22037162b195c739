/* Checker and printer of graphs of stages. */
#include "compiler/plan/graph.h"
#include "common/value.h"

static const char *const stage_kinds[] = {"traversal", "array", "whole"};
static const char *const output_kinds[] = {"fold", "permute", "reduce", "collect", "stream", "value"};

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

static loom_status *check_stage(const loom_graph *g, uint32_t s, uint32_t *next_slot) {
    const loom_graph_stage *stage = &g->stages[s];
    for (uint32_t i = 0; i < stage->n_inputs; i++) {
        uint32_t slot = stage->inputs[i];
        if (slot >= *next_slot || g->slots[slot].stream) {
            return loom_error(LOOM_E_DATA, "graph: input %u of stage %u is slot %u, which has no value there", i, s,
                              slot);
        }
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
    for (uint32_t o = 0; o < stage->n_outputs; o++, ++*next_slot) {
        const loom_graph_output *out = &stage->outputs[o];
        if (out->slot != *next_slot || out->slot >= g->n_slots) {
            return loom_error(LOOM_E_DATA, "graph: output %u of stage %u goes to slot %u, not %u", o, s, out->slot,
                              *next_slot);
        }
        if ((out->kind == LOOM_OUT_VALUE) != (stage->kind != LOOM_STAGE_TRAVERSAL)) {
            return loom_error(LOOM_E_DATA, "graph: output %u of stage %u is of kind %s", o, s, output_kinds[out->kind]);
        }
    }
    return NULL;
}

loom_status *loom_graph_check(const loom_graph *g) {
    LOOM_TRY(check_slots(g));
    uint32_t next_slot = g->n_params;
    for (uint32_t s = 0; s < g->n_stages; s++) LOOM_TRY(check_stage(g, s, &next_slot));
    if (next_slot != g->n_slots)
        return loom_error(LOOM_E_DATA, "graph: %u slots, but stages fill %u", g->n_slots, next_slot);
    if (g->result >= g->n_slots)
        return loom_error(LOOM_E_DATA, "graph: the result is slot %u of %u", g->result, g->n_slots);
    return NULL;
}

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
        fprintf(to, "  input  s%u %s\n", stage->inputs[i], g->slots[stage->inputs[i]].name);
    }
    for (uint32_t o = 0; o < stage->n_outputs; o++) {
        const loom_graph_output *out = &stage->outputs[o];
        fprintf(to, "  output s%u %s%s", out->slot, output_kinds[out->kind],
                out->order == LOOM_ORDER_ADJACENT ? " adjacent" : "");
        print_function("merge", out->merge, to);
        print_function("finish", out->finish, to);
        fputc('\n', to);
    }
    if (stage->needs_order) fprintf(to, "  needs the order of the stream\n");
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
    fprintf(to, "result s%u%s\n", g->result, g->result_is_stream ? " (stream)" : "");
    for (uint32_t r = 0; r < g->n_remarks; r++) fprintf(to, "remark: %s\n", g->remarks[r]);
}
