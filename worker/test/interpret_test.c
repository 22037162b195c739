/* Stages that are not compiled: chunk, merge and finish by the interpreter; whole programs. */
#include "compiler/ir/core.h"
#include "compiler/ir/prim.h"
#include "support.h"
#include <pthread.h>
#include <unistd.h>

static const loom_span nowhere;

static loom_node_id prim2(loom_program *p, loom_prim prim, loom_type_id type, loom_node_id a, loom_node_id b) {
    return loom_build_node(p, LOOM_OP_PRIM, prim, type, (loom_node_id[]){a, b}, 2, NULL, 0, 0, nowhere);
}

/* \a b -> a + b */
static loom_body_id add_body(loom_program *p, loom_type_id f64) {
    loom_body_id b = loom_build_open(p, 2, (loom_type_id[]){f64, f64}, nowhere);
    loom_build_close(p, b, prim2(p, LOOM_PRIM_ADD, f64, loom_build_param(p, b, 0), loom_build_param(p, b, 1)));
    return b;
}

static loom_node_id sum_of(loom_program *p, loom_type_id f64, loom_node_id xs, loom_op op) {
    loom_body_id add = add_body(p, f64);
    loom_node_id zero = loom_build_const(p, LOOM_F64, (loom_scalar){.f = 0}, nowhere);
    return loom_build_node(p, op, 0, f64, (loom_node_id[]){zero, xs}, 2, &add, 1, 0, nowhere);
}

/* chunk(scale, first, xs) = (sum xs.0, map (\(x, c) -> x * c) xs) where c is the second, constant, field;
 * merge(scale, a, b) = a + b; finish(scale, acc) = scale * acc. */
static loom_program *traversal_program(loom_arena *arena) {
    loom_program *p = loom_program_create(arena);
    loom_type_id f64 = loom_type_scalar(p, LOOM_F64), i64 = loom_type_scalar(p, LOOM_I64);
    loom_type_id pair = loom_type_tuple(p, 2, (loom_type_id[]){f64, f64}, (const char *const[]){"x", "c"});
    loom_type_id pairs = loom_type_array(p, pair), f64s = loom_type_array(p, f64);
    loom_type_id unzipped = loom_type_tuple(p, 2, (loom_type_id[]){f64s, f64s}, (const char *const[]){"x", "c"});
    loom_body_id chunk = loom_build_open(p, 3, (loom_type_id[]){f64, i64, pairs}, nowhere);
    loom_node_id xs = loom_build_param(p, chunk, 2);
    loom_node_id columns = loom_build_node(p, LOOM_OP_UNZIP, 0, unzipped, &xs, 1, NULL, 0, 0, nowhere);
    loom_node_id x = loom_build_node(p, LOOM_OP_PROJECT, 0, f64s, &columns, 1, NULL, 0, 0, nowhere);
    loom_node_id sum = sum_of(p, f64, x, LOOM_OP_FOLD);
    loom_body_id scale = loom_build_open(p, 1, &pair, nowhere);
    loom_node_id element = loom_build_param(p, scale, 0), parts[2];
    for (uint32_t i = 0; i < 2; i++) {
        parts[i] = loom_build_node(p, LOOM_OP_PROJECT, 0, f64, &element, 1, NULL, 0, i, nowhere);
    }
    loom_build_close(p, scale, prim2(p, LOOM_PRIM_MUL, f64, parts[0], parts[1]));
    loom_node_id scaled = loom_build_node(p, LOOM_OP_MAP, 0, f64s, &xs, 1, &scale, 1, 0, nowhere);
    loom_type_id both = loom_type_tuple(p, 2, (loom_type_id[]){f64, f64s}, NULL);
    loom_node_id result =
        loom_build_node(p, LOOM_OP_TUPLE, 0, both, (loom_node_id[]){sum, scaled}, 2, NULL, 0, 0, nowhere);
    loom_build_close(p, chunk, result);
    loom_build_function(p, "chunk", chunk, false, (const char *const[]){"scale", "first", "xs"});
    loom_body_id merge = loom_build_open(p, 3, (loom_type_id[]){f64, f64, f64}, nowhere);
    loom_build_close(p, merge,
                     prim2(p, LOOM_PRIM_ADD, f64, loom_build_param(p, merge, 1), loom_build_param(p, merge, 2)));
    loom_build_function(p, "merge", merge, false, (const char *const[]){"scale", "a", "b"});
    return p;
}

static loom_status *create(loom_executor *executor, loom_program *p, const loom_graph *graph, loom_value *const *inputs,
                           loom_value *const *constants, uint32_t n_constants, loom_run **run) {
    char *bytes;
    size_t length;
    LOOM_OK(loom_program_encode(p, &bytes, &length));
    loom_run_description d = {.program = bytes,
                              .program_length = length,
                              .graph = graph,
                              .interpret = true,
                              .inputs = inputs,
                              .n_constants = n_constants,
                              .constants = constants};
    loom_status *status = loom_run_create(executor, &d, run);
    free(bytes);
    return status;
}

LOOM_TEST(interpret, traversal_with_a_constant_field) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = traversal_program(arena);
    loom_graph_leaf scalar = {"", LOOM_F64, 0}, array = {"", LOOM_F64, 1};
    loom_graph_leaf fields[] = {{"x", LOOM_F64, 1}, {"c", LOOM_F64, 1}};
    loom_graph_slot slots[] = {{"scale", false, 1, &scalar},
                               {"xs", true, 2, fields},
                               {"sum", false, 1, &scalar},
                               {"scaled", false, 1, &array}};
    loom_graph_output outputs[] = {{LOOM_OUT_FOLD, LOOM_ORDER_ANY, 2, 1},
                                   {LOOM_OUT_COLLECT, LOOM_ORDER_ADJACENT, 3, LOOM_NONE_FUNCTION}};
    loom_graph_stage stage = {.kind = LOOM_STAGE_TRAVERSAL,
                              .n_inputs = 1,
                              .inputs = (uint32_t[]){0},
                              .n_streams = 1,
                              .streams = (uint32_t[]){1},
                              .n_outputs = 2,
                              .outputs = outputs,
                              .label = "test"};
    loom_graph graph = {.n_params = 2, .n_slots = 4, .slots = slots, .n_stages = 1, .stages = &stage, .result = 2};
    loom_executor *executor = executor_of(2, 64 << 20);
    double scale = 10, c = 3, x[] = {1, 2, 3, 4};
    loom_value *input = value_of("", LOOM_F64, 0, NULL, &scale), *constants = value_of("c", LOOM_F64, 0, NULL, &c);
    loom_run *run;
    LOOM_OK(create(executor, p, &graph, &input, &constants, 1, &run));
    for (int block = 2; block >= 1; block--) {
        loom_value *column = column_of("x", LOOM_F64, 2, x + 2 * (block - 1));
        LOOM_OK(loom_run_fold(run, &column, block, 1, 2 * block));
        loom_value_unref(column);
    }
    loom_delta *delta;
    LOOM_OK(loom_run_take_delta(run, &delta));
    LOOM_CHECK_EQ_INT(delta->n_parts, 1);
    LOOM_CHECK_EQ_INT(delta->parts[0].first_block, 1);
    LOOM_CHECK_EQ_INT(delta->parts[0].n_blocks, 2);
    LOOM_CHECK_NEAR(*(double *)delta->parts[0].outputs[0]->leaves[0].data, 10, 0);
    const loom_leaf *scaled = &delta->parts[0].outputs[1]->leaves[0];
    LOOM_CHECK_EQ_INT(scaled->extents[0], 4);
    for (int i = 0; i < 4; i++) LOOM_CHECK_NEAR(((double *)scaled->data)[i], 3 * x[i], 0);
    loom_value *empty, *merged;
    LOOM_OK(loom_run_empty(run, 0, &empty));
    LOOM_CHECK_NEAR(*(double *)empty->leaves[0].data, 0, 0);
    LOOM_OK(loom_run_merge(run, 0, empty, delta->parts[0].outputs[0], &merged));
    LOOM_CHECK_NEAR(*(double *)merged->leaves[0].data, 10, 0);
    loom_value_unref(merged);
    loom_value_unref(empty);
    LOOM_OK(loom_run_empty(run, 1, &empty));
    LOOM_CHECK_EQ_INT(empty->leaves[0].extents[0], 0);
    loom_value_unref(empty);
    loom_delta_destroy(delta);
    loom_value_unref(input);
    loom_value_unref(constants);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    loom_arena_destroy(arena);
}

/* ---- states that go from chunk to chunk ---- */

/* chunk(state, first, xs) = state + sum (map (\x -> 12 / x) xs) */
static loom_program *chained_program(loom_arena *arena) {
    loom_program *p = loom_program_create(arena);
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64), i64s = loom_type_array(p, i64);
    loom_body_id chunk = loom_build_open(p, 3, (loom_type_id[]){i64, i64, i64s}, nowhere);
    loom_node_id xs = loom_build_param(p, chunk, 2);
    loom_body_id each = loom_build_open(p, 1, &i64, nowhere);
    loom_build_close(p, each,
                     prim2(p, LOOM_PRIM_FLOORDIV, i64, loom_build_i64(p, 12, nowhere), loom_build_param(p, each, 0)));
    loom_node_id parts = loom_build_node(p, LOOM_OP_MAP, 0, i64s, &xs, 1, &each, 1, 0, nowhere);
    loom_node_id operands[2] = {loom_build_param(p, chunk, 0), parts};
    loom_body_id add = add_body(p, i64);
    loom_node_id sum = loom_build_node(p, LOOM_OP_FOLD, 0, i64, operands, 2, &add, 1, 0, nowhere);
    loom_type_id one = loom_type_tuple(p, 1, &i64, NULL);
    loom_build_close(p, chunk, loom_build_node(p, LOOM_OP_TUPLE, 0, one, &sum, 1, NULL, 0, 0, nowhere));
    loom_build_function(p, "chunk", chunk, false, (const char *const[]){"state", "first", "xs"});
    return p;
}

static loom_status *fold_two(loom_run *run, int64_t block, int64_t x, int64_t y) {
    loom_value *column = column_of("", LOOM_I64, 2, (int64_t[]){x, y});
    loom_status *status = loom_run_fold(run, &column, block, 1, 2 * block);
    loom_value_unref(column);
    return status;
}

static int64_t state_in(const loom_delta *delta) {
    LOOM_CHECK_EQ_INT(delta->n_parts, 1);
    return *(int64_t *)delta->parts[0].outputs[0]->leaves[0].data;
}

LOOM_TEST(interpret, a_state_goes_from_block_to_block) {
    loom_arena *arena = loom_arena_create(0);
    loom_graph_leaf scalar = {"", LOOM_I64, 0}, array = {"", LOOM_I64, 1};
    loom_graph_slot slots[] = {{"start", false, 1, &scalar}, {"xs", true, 1, &array}, {"last", false, 1, &scalar}};
    loom_graph_output output = {LOOM_OUT_CHAIN, LOOM_ORDER_ADJACENT, 2, LOOM_NONE_FUNCTION};
    loom_graph_carried carried = {0, 0};
    loom_graph_stage stage = {.kind = LOOM_STAGE_TRAVERSAL,
                              .n_inputs = 1,
                              .inputs = (uint32_t[]){0},
                              .n_streams = 1,
                              .streams = (uint32_t[]){1},
                              .n_outputs = 1,
                              .outputs = &output,
                              .n_carried = 1,
                              .carried = &carried};
    loom_graph graph = {.n_params = 2, .n_slots = 3, .slots = slots, .n_stages = 1, .stages = &stage, .result = 2};
    loom_executor *executor = executor_of(1, 64 << 20);
    int64_t start = 1000, other = 5;
    double wrong = 5;
    loom_value *input = value_of("", LOOM_I64, 0, NULL, &start), *state = value_of("", LOOM_I64, 0, NULL, &other);
    loom_value *mistyped = value_of("", LOOM_F64, 0, NULL, &wrong);
    loom_run *run;
    loom_delta *delta;
    LOOM_OK(create(executor, chained_program(arena), &graph, &input, NULL, 0, &run));
    LOOM_OK(fold_two(run, 0, 1, 2));                     /* 1018 */
    LOOM_FAILS(fold_two(run, 2, 1, 1), LOOM_E_INTERNAL); /* not the next one */
    LOOM_FAILS(fold_two(run, 1, 3, 0), LOOM_E_RUNTIME);  /* what it began with stays */
    LOOM_OK(fold_two(run, 1, 3, 4));                     /* 1025 */
    LOOM_OK(loom_run_take_delta(run, &delta));
    LOOM_CHECK_EQ_INT(state_in(delta), 1025);
    LOOM_CHECK_EQ_INT(delta->parts[0].n_blocks, 2);
    loom_delta_destroy(delta);
    LOOM_OK(loom_run_move_inputs(run, &input)); /* the state is its own by now */
    LOOM_OK(fold_two(run, 2, 6, 6));            /* 1029: goes on after a delta */
    LOOM_OK(loom_run_take_delta(run, &delta));
    LOOM_CHECK_EQ_INT(state_in(delta), 1029);
    loom_delta_destroy(delta);
    loom_run_drop(run);
    LOOM_FAILS(fold_two(run, 3, 1, 1), LOOM_E_INTERNAL);
    LOOM_FAILS(loom_run_begin(run, 7, &mistyped), LOOM_E_PROTOCOL);
    LOOM_OK(loom_run_begin(run, 7, &state));
    LOOM_OK(fold_two(run, 7, 12, 12));
    LOOM_OK(loom_run_take_delta(run, &delta));
    LOOM_CHECK_EQ_INT(state_in(delta), 7);
    loom_delta_destroy(delta);
    LOOM_OK(loom_run_begin(run, 0, NULL)); /* as at first */
    LOOM_OK(fold_two(run, 0, 12, 12));
    LOOM_OK(loom_run_take_delta(run, &delta));
    LOOM_CHECK_EQ_INT(state_in(delta), 1002);
    loom_delta_destroy(delta);
    loom_run_destroy(run);
    LOOM_CHECK_EQ_INT(input->references, 1);
    LOOM_CHECK_EQ_INT(state->references, 1);
    loom_value_unref(input), loom_value_unref(state), loom_value_unref(mistyped);
    loom_executor_destroy(executor);
    loom_arena_destroy(arena);
}

/* ---- a whole program that pulls its stream ---- */

static loom_status *three_blocks(void *context, int64_t block, loom_value **streams, bool *end) {
    const double *x = context;
    *end = block == 3;
    if (!*end) streams[0] = column_of("", LOOM_F64, 2, x + 2 * block);
    return NULL;
}

static loom_status *no_blocks(void *context, int64_t block, loom_value **streams, bool *end) {
    (void)context, (void)block, (void)streams;
    *end = true;
    return NULL;
}

LOOM_TEST(interpret, whole_program) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = loom_program_create(arena);
    loom_type_id f64 = loom_type_scalar(p, LOOM_F64), seq = loom_type_seq(p, f64);
    loom_body_id main_body = loom_build_open(p, 2, (loom_type_id[]){seq, f64}, nowhere);
    loom_node_id sum = sum_of(p, f64, loom_build_param(p, main_body, 0), LOOM_OP_SEQ_FOLD);
    loom_build_close(p, main_body, prim2(p, LOOM_PRIM_MUL, f64, sum, loom_build_param(p, main_body, 1)));
    loom_build_function(p, "main", main_body, true, (const char *const[]){"xs", "scale"});
    loom_graph_leaf scalar = {"", LOOM_F64, 0}, array = {"", LOOM_F64, 1};
    loom_graph_slot slots[] = {{"xs", true, 1, &array}, {"scale", false, 1, &scalar}, {"result", false, 1, &scalar}};
    loom_graph_output output = {LOOM_OUT_VALUE, LOOM_ORDER_ANY, 2, LOOM_NONE_FUNCTION};
    loom_graph_stage stage = {.kind = LOOM_STAGE_WHOLE,
                              .n_inputs = 1,
                              .inputs = (uint32_t[]){1},
                              .n_streams = 1,
                              .streams = (uint32_t[]){0},
                              .n_outputs = 1,
                              .outputs = &output,
                              .label = "whole"};
    loom_graph graph = {.n_params = 2, .n_slots = 3, .slots = slots, .n_stages = 1, .stages = &stage, .result = 2};
    loom_executor *executor = executor_of(1, 64 << 20);
    double scale = 2, x[] = {1, 2, 3, 4, 5, 6};
    loom_value *input = value_of("", LOOM_F64, 0, NULL, &scale), *result;
    loom_run *run;
    LOOM_OK(create(executor, p, &graph, &input, NULL, 0, &run));
    LOOM_OK(loom_run_array(run, three_blocks, x, &result));
    LOOM_CHECK_NEAR(*(double *)result->leaves[0].data, 42, 0);
    loom_value_unref(result);
    LOOM_OK(loom_run_array(run, no_blocks, NULL, &result));
    LOOM_CHECK_NEAR(*(double *)result->leaves[0].data, 0, 0);
    loom_value_unref(result);
    loom_value_unref(input);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    loom_arena_destroy(arena);
}

LOOM_TEST(interpret, refuses_a_program_that_is_none) {
    loom_graph_stage stage = {.kind = LOOM_STAGE_ARRAY, .label = "test"};
    loom_graph graph = {.n_stages = 1, .stages = &stage};
    loom_executor *executor = executor_of(1, 64 << 20);
    loom_run *run;
    loom_run_description d = {.program = "nonsense", .program_length = 8, .graph = &graph, .interpret = true};
    loom_status *status = loom_run_create(executor, &d, &run);
    LOOM_CHECK(status != NULL);
    loom_status_free(status);
    d.program = NULL;
    LOOM_FAILS(loom_run_create(executor, &d, &run), LOOM_E_INTERNAL);
    loom_executor_destroy(executor);
}

/* ---- cancelling ---- */

static void *cancel_again_and_again(void *executor) {
    for (int i = 0; i < 200; i++) {
        usleep(2000);
        loom_executor_cancel(executor);
    }
    return NULL;
}

/* main() = loop x = 1.0 while true do x */
LOOM_TEST(interpret, cancel_ends_an_endless_loop) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = loom_program_create(arena);
    loom_type_id f64 = loom_type_scalar(p, LOOM_F64);
    loom_body_id main_body = loom_build_open(p, 0, NULL, nowhere), bodies[2];
    loom_node_id one = loom_build_const(p, LOOM_F64, (loom_scalar){.f = 1}, nowhere);
    bodies[0] = loom_build_open(p, 1, &f64, nowhere);
    loom_build_close(p, bodies[0], loom_build_const(p, LOOM_BOOL, (loom_scalar){.b = true}, nowhere));
    bodies[1] = loom_build_open(p, 1, &f64, nowhere);
    loom_build_close(p, bodies[1], loom_build_param(p, bodies[1], 0));
    loom_build_close(p, main_body, loom_build_node(p, LOOM_OP_LOOP_WHILE, 0, f64, &one, 1, bodies, 2, 0, nowhere));
    loom_build_function(p, "main", main_body, true, NULL);
    loom_graph_leaf scalar = {"", LOOM_F64, 0};
    loom_graph_slot slot = {"result", false, 1, &scalar};
    loom_graph_output output = {LOOM_OUT_VALUE, LOOM_ORDER_ANY, 0, LOOM_NONE_FUNCTION};
    loom_graph_stage stage = {.kind = LOOM_STAGE_ARRAY, .n_outputs = 1, .outputs = &output, .label = "endless"};
    loom_graph graph = {.n_slots = 1, .slots = &slot, .n_stages = 1, .stages = &stage};
    loom_executor *executor = executor_of(1, 64 << 20);
    loom_run *run;
    LOOM_OK(create(executor, p, &graph, NULL, NULL, 0, &run));
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_again_and_again, executor);
    loom_value *result;
    LOOM_FAILS(loom_run_array(run, NULL, NULL, &result), LOOM_E_CANCELLED);
    pthread_join(thread, NULL);
    loom_run_destroy(run);
    loom_executor_destroy(executor);
    loom_arena_destroy(arena);
}
