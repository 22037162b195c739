/* A copy of the part of a graph that a run needs, so that the run does not depend on the life of its caller's graph. */
#include "executor/copy_graph.h"

static const char *text(loom_arena *arena, const char *t) {
    return t ? loom_arena_strdup(arena, t) : NULL;
}

static void copy_slots(loom_arena *arena, const loom_graph *from, loom_graph *to) {
    loom_graph_slot *slots = LOOM_NEW_ARRAY(arena, loom_graph_slot, from->n_slots);
    for (uint32_t s = 0; s < from->n_slots; s++) {
        slots[s] = from->slots[s];
        slots[s].name = text(arena, from->slots[s].name);
        loom_graph_leaf *leaves = LOOM_NEW_ARRAY(arena, loom_graph_leaf, slots[s].n_leaves);
        for (uint32_t i = 0; i < slots[s].n_leaves; i++) {
            leaves[i] = from->slots[s].leaves[i];
            leaves[i].name = loom_arena_strdup(arena, leaves[i].name ? leaves[i].name : "");
        }
        slots[s].leaves = leaves;
    }
    to->n_slots = from->n_slots;
    to->slots = slots;
}

static const uint32_t *numbers(loom_arena *arena, const uint32_t *from, uint32_t n) {
    uint32_t *copy = LOOM_NEW_ARRAY(arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) copy[i] = from[i];
    return copy;
}

loom_graph *loom_copy_graph(loom_arena *arena, const loom_graph *graph, uint32_t stage) {
    loom_graph *copy = LOOM_NEW(arena, loom_graph);
    copy->n_params = graph->n_params;
    copy->result = graph->result;
    copy->result_is_stream = graph->result_is_stream;
    copy_slots(arena, graph, copy);
    const loom_graph_stage *from = &graph->stages[stage];
    loom_graph_stage *to = LOOM_NEW(arena, loom_graph_stage);
    *to = *from;
    to->label = text(arena, from->label);
    to->inputs = numbers(arena, from->inputs, from->n_inputs);
    to->streams = numbers(arena, from->streams, from->n_streams);
    loom_graph_output *outputs = LOOM_NEW_ARRAY(arena, loom_graph_output, from->n_outputs);
    for (uint32_t j = 0; j < from->n_outputs; j++) outputs[j] = from->outputs[j];
    to->outputs = outputs;
    to->varying = numbers(arena, from->varying, from->n_varying);
    loom_graph_carried *carried = LOOM_NEW_ARRAY(arena, loom_graph_carried, from->n_carried);
    for (uint32_t i = 0; i < from->n_carried; i++) carried[i] = from->carried[i];
    to->carried = carried;
    copy->n_stages = 1;
    copy->stages = to;
    return copy;
}
