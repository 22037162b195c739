/* What the checker refuses, one broken program each. */
#include "loom_test.h"
#include "samples.h"

static void refused(const loom_program *p, const char *part) {
    loom_status *status = loom_program_check(p);
    LOOM_CHECK(status != NULL);
    if (!strstr(loom_status_message(status), part)) fprintf(stderr, "said: %s\n", loom_status_message(status));
    LOOM_CHECK(strstr(loom_status_message(status), part) != NULL);
    loom_status_free(status);
}

LOOM_TEST(ir_check, accepts_the_samples) {
    loom_arena *arena = loom_arena_create(0);
    LOOM_OK(loom_program_check(sample_sum(arena)));
    LOOM_OK(loom_program_check(sample_mixed(arena)));
    LOOM_OK(loom_program_check(loom_program_create(arena)));
    loom_arena_destroy(arena);
}

/* Every field of every node, body and reference set to other values: the checker may accept, but never crash. */
LOOM_TEST(ir_check, survives_any_single_change) {
    loom_arena *arena = loom_arena_create(0);
    static const uint32_t values[] = {0, 1, 2, 3, 7, 12, 1000, LOOM_NONE};
    for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
        loom_program *p = sample_mixed(arena);
        for (uint32_t i = 0; i < p->n_nodes; i++) {
            loom_node *n = &p->nodes[i], saved = *n;
            uint32_t *fields[] = {&n->type, &n->first_operand, &n->n_operands, &n->first_body, &n->n_bodies, &n->aux};
            for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
                *fields[k] = values[v];
                loom_status_free(loom_program_check(p));
                *n = saved;
            }
            n->op = (uint16_t)values[v];
            loom_status_free(loom_program_check(p));
            *n = saved;
        }
        for (uint32_t i = 0; i < p->n_bodies; i++) {
            loom_body *b = &p->bodies[i], saved = *b;
            uint32_t *fields[] = {&b->first, &b->end, &b->n_params, &b->result};
            for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
                *fields[k] = values[v];
                loom_status_free(loom_program_check(p));
                *b = saved;
            }
        }
        LOOM_OK(loom_program_check(p));
    }
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_check, types_of_operands) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = sample_sum(arena);
    p->nodes[5].type = p->nodes[0].type;
    refused(p, "(fold): its type is []f32, expected f32");
    p = sample_sum(arena);
    p->nodes[4].prim = LOOM_PRIM_BAND;
    refused(p, "(&): does not apply to f32 and f32");
    p = sample_sum(arena);
    p->constants[0].f = 0.1;
    refused(p, "its value is not one of type f32");
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_check, scopes) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = sample_sum(arena);
    p->operands[p->nodes[5].first_operand] = 4; /* a node of the operator's body */
    refused(p, "operand 0 is not in scope");
    p = sample_sum(arena);
    p->operands[p->nodes[4].first_operand] = 5;
    refused(p, "does not stand before");
    p = sample_sum(arena);
    p->bodies[0].result = 4;
    refused(p, "without a result of its own");
    p = sample_mixed(arena);
    p->functions[0].body = p->functions[1].body;
    refused(p, "belongs to another function");
    loom_arena_destroy(arena);
}

static loom_program *nested_loops(loom_arena *arena, int depth) {
    loom_program *p = loom_program_create(arena);
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64);
    loom_body_id bodies[400];
    bodies[0] = loom_build_open(p, 1, &i64, NOWHERE);
    for (int i = 1; i < depth; i++) bodies[i] = loom_build_open(p, 2, (loom_type_id[]){i64, i64}, NOWHERE);
    loom_node_id inner = loom_build_param(p, bodies[depth - 1], 0);
    for (int i = depth - 1; i > 0; i--) {
        loom_build_close(p, bodies[i], inner);
        loom_node_id n = loom_build_param(p, bodies[i - 1], 0);
        inner = NB(p, LOOP_FOR, i64, 0, bodies[i], n, n);
    }
    loom_build_close(p, bodies[0], inner);
    loom_build_function(p, "main", bodies[0], true, NULL);
    return p;
}

LOOM_TEST(ir_check, nesting_limit) {
    loom_arena *arena = loom_arena_create(0);
    LOOM_OK(loom_program_check(nested_loops(arena, LOOM_MAX_BODY_NESTING)));
    refused(nested_loops(arena, LOOM_MAX_BODY_NESTING + 1), "nested more than 256 deep");
    loom_arena_destroy(arena);
}

/* main calls f254 calls ... calls f0: depth through calls counts. */
LOOM_TEST(ir_check, nesting_through_calls) {
    loom_arena *arena = loom_arena_create(0);
    for (uint32_t n = LOOM_MAX_BODY_NESTING; n <= LOOM_MAX_BODY_NESTING + 1; n++) {
        loom_program *p = loom_program_create(arena);
        loom_type_id i64 = loom_type_scalar(p, LOOM_I64);
        for (uint32_t f = 0; f < n; f++) {
            loom_body_id b = loom_build_open(p, 1, &i64, NOWHERE);
            loom_node_id x = loom_build_param(p, b, 0);
            loom_build_close(p, b, f ? N(p, CALL, i64, f - 1, x) : x);
            loom_build_function(p, "f", b, f == n - 1, NULL);
        }
        if (n == LOOM_MAX_BODY_NESTING) LOOM_OK(loom_program_check(p));
        if (n > LOOM_MAX_BODY_NESTING) refused(p, "deep through calls");
    }
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_check, calls_go_back) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = loom_program_create(arena);
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64);
    loom_body_id b = loom_build_open(p, 1, &i64, NOWHERE);
    loom_build_close(p, b, N(p, CALL, i64, 0, loom_build_param(p, b, 0)));
    loom_build_function(p, "f", b, true, NULL);
    refused(p, "does not stand before");
    loom_arena_destroy(arena);
}

static loom_program *of_type(loom_arena *arena, loom_type_id (*make)(loom_program *p, loom_type_id scalar)) {
    loom_program *p = loom_program_create(arena);
    loom_type_id t = make(p, loom_type_scalar(p, LOOM_F64));
    loom_body_id b = loom_build_open(p, 1, &t, NOWHERE);
    loom_build_close(p, b, loom_build_param(p, b, 0));
    loom_build_function(p, "id", b, true, NULL);
    return p;
}

static loom_type_id deep(loom_program *p, loom_type_id t) {
    for (int i = 0; i < LOOM_MAX_TYPE_NESTING; i++) t = loom_type_tuple(p, 1, &t, NULL);
    return t;
}
static loom_type_id wide(loom_program *p, loom_type_id t) {
    for (int i = 0; i < 13; i++) t = loom_type_tuple(p, 2, (loom_type_id[]){t, t}, NULL);
    return t;
}
static loom_type_id levels(loom_program *p, loom_type_id t) {
    for (int i = 0; i < 17; i++) t = loom_type_array(p, t);
    return t;
}
static loom_type_id levels16(loom_program *p, loom_type_id t) {
    for (int i = 0; i < 16; i++) t = loom_type_array(p, t);
    return t;
}
static loom_type_id seq_in_array(loom_program *p, loom_type_id t) {
    return loom_type_array(p, loom_type_seq(p, t));
}
static loom_type_id seq_in_tuple(loom_program *p, loom_type_id t) {
    loom_type_id s = loom_type_seq(p, t);
    return loom_type_tuple(p, 1, &s, NULL);
}
static loom_type_id seq_of_seq(loom_program *p, loom_type_id t) {
    return loom_type_seq(p, loom_type_seq(p, t));
}

LOOM_TEST(ir_check, limits_of_types) {
    loom_arena *arena = loom_arena_create(0);
    refused(of_type(arena, deep), "nested 65 deep");
    refused(of_type(arena, wide), "8192 scalar leaves");
    refused(of_type(arena, levels), "17 array levels");
    LOOM_OK(loom_program_check(of_type(arena, levels16)));
    refused(of_type(arena, seq_in_array), "a sequence stands inside");
    refused(of_type(arena, seq_in_tuple), "a sequence stands inside");
    refused(of_type(arena, seq_of_seq), "a sequence stands inside");
    loom_arena_destroy(arena);
}

/* chain_seq state step s, with a step from (state, element) to `result`. */
static loom_program *chained(loom_arena *arena, loom_dtype element, loom_dtype result) {
    loom_program *p = loom_program_create(arena);
    loom_type_id state = loom_type_scalar(p, LOOM_I64), x = loom_type_scalar(p, LOOM_F32);
    loom_type_id seq = loom_type_seq(p, x), made = loom_type_scalar(p, result);
    loom_body_id f = loom_build_open(p, 2, (loom_type_id[]){state, seq}, NOWHERE);
    loom_body_id step = loom_build_open(p, 2, (loom_type_id[]){state, loom_type_scalar(p, element)}, NOWHERE);
    loom_build_close(p, step, loom_build_const(p, result, (loom_scalar){.i = 0}, NOWHERE));
    loom_build_close(p, f, NB(p, SEQ_CHAIN, made, 0, step, loom_build_param(p, f, 0), loom_build_param(p, f, 1)));
    loom_build_function(p, "main", f, true, (const char *[]){"n", "s"});
    return p;
}

LOOM_TEST(ir_check, chains) {
    loom_arena *arena = loom_arena_create(0);
    LOOM_OK(loom_program_check(chained(arena, LOOM_F32, LOOM_I64)));
    refused(chained(arena, LOOM_I64, LOOM_I64), "chain_seq");
    refused(chained(arena, LOOM_F32, LOOM_F32), "chain_seq");
    loom_arena_destroy(arena);
}

/* map (\x -> fold_seq (+) 0 (rows xs)) xs */
LOOM_TEST(ir_check, no_traversal_inside_map) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = loom_program_create(arena);
    loom_type_id f64 = loom_type_scalar(p, LOOM_F64), xs_type = loom_type_array(p, f64), seq = loom_type_seq(p, f64);
    loom_body_id f = loom_build_open(p, 1, &xs_type, NOWHERE);
    loom_node_id xs = loom_build_param(p, f, 0);
    loom_body_id g = loom_build_open(p, 1, &f64, NOWHERE);
    loom_node_id rows = N(p, SEQ_ROWS, seq, 0, xs);
    loom_node_id sum = NB(p, SEQ_FOLD, f64, 0, sample_operator(p, LOOM_PRIM_ADD, f64), loom_build_param(p, g, 0), rows);
    loom_build_close(p, g, sum);
    loom_build_close(p, f, NB(p, MAP, xs_type, 0, g, xs));
    loom_build_function(p, "main", f, true, NULL);
    refused(p, "traverses a sequence");
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_check, width_of_tuples_and_number_of_nodes) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = loom_program_create(arena);
    loom_type_id fields[LOOM_MAX_TUPLE + 1];
    for (int i = 0; i <= LOOM_MAX_TUPLE; i++) fields[i] = loom_type_scalar(p, LOOM_F32);
    loom_type_tuple(p, LOOM_MAX_TUPLE, fields, NULL);
    LOOM_OK(loom_program_check(p));
    loom_type_tuple(p, LOOM_MAX_TUPLE + 1, fields, NULL);
    refused(p, "1025 fields, at most 1024");
    p = sample_sum(arena);
    p->n_nodes = LOOM_MAX_NODES + 1;
    refused(p, "nodes");
    loom_arena_destroy(arena);
}

/* What has no order is not sorted, and places are i64. */
LOOM_TEST(ir_check, keys_of_a_sort) {
    loom_arena *arena = loom_arena_create(0);
    static const loom_dtype keys[] = {LOOM_F32, LOOM_BOOL, LOOM_C64};
    for (int i = 0; i < 4; i++) {
        loom_program *p = loom_program_create(arena);
        loom_type_id i64 = loom_type_scalar(p, LOOM_I64), key = i < 3 ? loom_type_scalar(p, keys[i]) : i64;
        loom_type_id pair = loom_type_tuple(p, 2, (loom_type_id[]){i64, i < 3 ? key : loom_type_array(p, i64)}, NULL);
        loom_type_id array = loom_type_array(p, pair), places = loom_type_array(p, i64);
        loom_body_id b = loom_build_open(p, 1, &array, NOWHERE);
        loom_build_close(p, b, N(p, SORT, places, 0, loom_build_param(p, b, 0)));
        loom_build_function(p, "main", b, true, NULL);
        if (i < 2) {
            LOOM_OK(loom_program_check(p));
            p->nodes[1].type = array;
            refused(p, "expected []i64");
        } else {
            refused(p, i == 2 ? "its keys are (i64, c64)" : "its keys are (i64, []i64)");
        }
    }
    loom_arena_destroy(arena);
}
