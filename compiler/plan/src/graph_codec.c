/* Codec of graphs of stages: message Graph of plan.proto. */
#include "compiler/plan/graph.h"
#include "tables.h"

static const loom_wire_field leaf_fields[] = {
    LOOM_WIRE(1, TEXT, loom_graph_leaf, name),
    LOOM_WIRE_ENUM(2, loom_graph_leaf, dtype, LOOM_DTYPES),
    LOOM_WIRE(3, U32, loom_graph_leaf, depth),
};
static LOOM_WIRE_TABLE(leaf, loom_graph_leaf);

static const loom_wire_field slot_fields[] = {
    LOOM_WIRE(1, TEXT, loom_graph_slot, name),
    LOOM_WIRE(2, BOOL, loom_graph_slot, stream),
    LOOM_WIRE_MS(3, loom_graph_slot, leaves, n_leaves, leaf),
};
static LOOM_WIRE_TABLE(slot, loom_graph_slot);

static const loom_wire_field output_fields[] = {
    LOOM_WIRE_ENUM(1, loom_graph_output, kind, LOOM_OUT_CHAIN + 1),
    LOOM_WIRE_ENUM(2, loom_graph_output, order, LOOM_ORDER_ADJACENT + 1),
    LOOM_WIRE(3, U32, loom_graph_output, slot),
    LOOM_WIRE(4, U32, loom_graph_output, merge),
};
static LOOM_WIRE_TABLE(output, loom_graph_output);

static const loom_wire_field carried_fields[] = {
    LOOM_WIRE(1, U32, loom_graph_carried, input),
    LOOM_WIRE(2, U32, loom_graph_carried, output),
};
static LOOM_WIRE_TABLE(carried, loom_graph_carried);

static const loom_wire_field stage_fields[] = {
    LOOM_WIRE_ENUM(1, loom_graph_stage, kind, LOOM_STAGE_WHOLE + 1),
    LOOM_WIRE(2, U32, loom_graph_stage, function),
    LOOM_WIRE_N(3, U32S, loom_graph_stage, inputs, n_inputs),
    LOOM_WIRE_N(4, U32S, loom_graph_stage, streams, n_streams),
    LOOM_WIRE_MS(5, loom_graph_stage, outputs, n_outputs, output),
    LOOM_WIRE(7, TEXT, loom_graph_stage, label),
    LOOM_WIRE_N(8, U32S, loom_graph_stage, varying, n_varying),
    LOOM_WIRE(9, U32, loom_graph_stage, saves),
    LOOM_WIRE(10, U32, loom_graph_stage, spilled),
    LOOM_WIRE(11, U32, loom_graph_stage, batch),
    LOOM_WIRE_MS(12, loom_graph_stage, carried, n_carried, carried),
};
static LOOM_WIRE_TABLE(stage, loom_graph_stage);

static const loom_wire_field loop_fields[] = {
    LOOM_WIRE(1, U32, loom_graph_loop, first),
    LOOM_WIRE(2, U32, loom_graph_loop, end),
    LOOM_WIRE_N(3, U32S, loom_graph_loop, init, n_state),
    LOOM_WIRE_N(4, U32S, loom_graph_loop, current, n_state),
    LOOM_WIRE_N(5, U32S, loom_graph_loop, next, n_state),
    LOOM_WIRE_N(6, U32S, loom_graph_loop, result, n_state),
    LOOM_WIRE(7, TEXT, loom_graph_loop, label),
};
static LOOM_WIRE_TABLE(loop, loom_graph_loop);

static const loom_wire_field graph_fields[] = {
    LOOM_WIRE(1, U32, loom_graph, n_params),
    LOOM_WIRE_MS(2, loom_graph, slots, n_slots, slot),
    LOOM_WIRE_MS(3, loom_graph, stages, n_stages, stage),
    LOOM_WIRE(4, U32, loom_graph, result),
    LOOM_WIRE(5, BOOL, loom_graph, result_is_stream),
    LOOM_WIRE_N(6, TEXTS, loom_graph, remarks, n_remarks),
    LOOM_WIRE_MS(7, loom_graph, loops, n_loops, loop),
};
static LOOM_WIRE_TABLE(graph, loom_graph);

loom_status *loom_graph_encode(const loom_graph *g, char **bytes, size_t *length) {
    LOOM_TRY(loom_graph_check(g));
    loom_buffer buffer = {0};
    loom_wire_encode(&graph, g, &buffer);
    *length = buffer.length;
    *bytes = loom_buffer_take(&buffer);
    return NULL;
}

loom_status *loom_graph_decode(loom_arena *arena, const void *bytes, size_t length, loom_graph **out) {
    if (length > LOOM_MAX_GRAPH_BYTES) {
        return loom_error(LOOM_E_LIMIT, "a graph of %zu bytes: at most %zu are read", length, LOOM_MAX_GRAPH_BYTES);
    }
    loom_graph *g = LOOM_NEW(arena, loom_graph);
    LOOM_TRY(loom_wire_decode(&graph, arena, bytes, length, g));
    LOOM_TRY(loom_graph_check(g));
    *out = g;
    return NULL;
}
