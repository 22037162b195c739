#include "loom_test.h"
#include "samples.h"

static char *printed(const loom_program *p) {
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    loom_program_print(p, to);
    fclose(to);
    return text;
}

LOOM_TEST(ir_type, interned_and_written) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = loom_program_create(arena);
    loom_type_id f32 = loom_type_scalar(p, LOOM_F32), i64 = loom_type_scalar(p, LOOM_I64);
    loom_type_id pair = loom_type_tuple(p, 2, (loom_type_id[]){f32, i64}, NULL);
    loom_type_id record = loom_type_tuple(p, 2, (loom_type_id[]){f32, i64}, (const char *[]){"x", "n"});
    LOOM_CHECK(pair != record);
    LOOM_CHECK_EQ_INT(loom_type_tuple(p, 2, (loom_type_id[]){f32, i64}, (const char *[]){"x", "n"}), record);
    LOOM_CHECK_EQ_INT(loom_type_tuple(p, 2, (loom_type_id[]){f32, i64}, NULL), pair);
    loom_type_id rows = loom_type_array(p, loom_type_array(p, record));
    LOOM_CHECK_STR(loom_type_text(p, rows), "[][]{x: f32, n: i64}");
    LOOM_CHECK_STR(loom_type_text(p, pair), "(f32, i64)");
    LOOM_CHECK_STR(loom_type_text(p, loom_type_seq(p, rows)), "seq ([][]{x: f32, n: i64})");
    LOOM_CHECK_STR(loom_type_text(p, loom_type_seq(p, f32)), "seq f32");
    LOOM_CHECK_STR(loom_type_text(p, loom_type_tuple(p, 0, NULL, NULL)), "()");
    LOOM_CHECK_STR(loom_type_text(p, loom_type_tuple(p, 1, &f32, NULL)), "(f32,)");
    LOOM_CHECK(loom_type_has_seq(p, loom_type_seq(p, f32)) && !loom_type_has_seq(p, rows));
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_type, many_types_stay_interned) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = loom_program_create(arena);
    loom_type_id chain[300];
    loom_type_id f64 = loom_type_scalar(p, LOOM_F64);
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        chain[i] = loom_type_tuple(p, 1, &f64, (const char *[]){name});
    }
    for (int i = 0; i < 300; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", i);
        LOOM_CHECK_EQ_INT(loom_type_tuple(p, 1, &f64, (const char *[]){name}), chain[i]);
    }
    LOOM_CHECK_EQ_INT(p->n_types, 301);
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_type, leaves_have_dotted_names_and_depths) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = loom_program_create(arena);
    loom_type_id f32 = loom_type_scalar(p, LOOM_F32), c64 = loom_type_scalar(p, LOOM_C64);
    loom_type_id pair = loom_type_tuple(p, 2, (loom_type_id[]){f32, loom_type_array(p, c64)}, NULL);
    loom_type_id record =
        loom_type_tuple(p, 2, (loom_type_id[]){loom_type_array(p, pair), f32}, (const char *[]){"a", "b"});
    loom_type_leaf *leaves;
    LOOM_CHECK_EQ_INT(loom_type_leaves(p, arena, loom_type_seq(p, record), &leaves), 3);
    LOOM_CHECK_STR(leaves[0].name, "a.0");
    LOOM_CHECK_EQ_INT(leaves[0].depth, 2);
    LOOM_CHECK_STR(leaves[1].name, "a.1");
    LOOM_CHECK_EQ_INT(leaves[1].depth, 3);
    LOOM_CHECK_EQ_INT(leaves[1].dtype, LOOM_C64);
    LOOM_CHECK_STR(leaves[2].name, "b");
    LOOM_CHECK_EQ_INT(leaves[2].depth, 1);
    LOOM_CHECK_EQ_INT(loom_type_leaves(p, arena, f32, &leaves), 1);
    LOOM_CHECK_STR(leaves[0].name, "");
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_type, long_text) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = loom_program_create(arena);
    loom_type_id t = loom_type_scalar(p, LOOM_F32);
    for (int i = 0; i < 63; i++) t = loom_type_tuple(p, 2, (loom_type_id[]){t, t}, NULL);
    LOOM_CHECK_EQ_INT(strlen(loom_type_text(p, t)), 4003);
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_print, sum) {
    loom_arena *arena = loom_arena_create(0);
    char *text = printed(sample_sum(arena));
    LOOM_CHECK_STR(text, "entry sum (%0 xs: []f32) -> f32\n"
                         "  %1: f32 = const 0\n"
                         "  b1 (%2: f32, %3: f32)\n"
                         "    %4: f32 = + %2 %3\n"
                         "    -> %4\n"
                         "  %5: f32 = fold %1 %0 b1\n"
                         "  -> %5\n\n");
    free(text);
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_print, empty_branch_and_calls) {
    loom_arena *arena = loom_arena_create(0);
    char *text = printed(sample_mixed(arena));
    LOOM_CHECK(strstr(text, "def pick (%0 a0: bool, %1 a1: i64) -> i64\n"
                            "  b1 ()\n"
                            "    -> %1\n"
                            "  b2 ()\n"
                            "    %2: i64 = const 1    -- 3:5\n"
                            "    %3: i64 = + %1 %2\n"
                            "    -> %3\n"
                            "  %4: i64 = if %0 b1 b2    -- 3:5\n"));
    LOOM_CHECK(strstr(text, "= call pick %"));
    free(text);
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_program, entry_by_name_or_alone) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = sample_sum(arena);
    LOOM_CHECK(loom_program_entry(p, NULL) == &p->functions[0]);
    LOOM_CHECK(loom_program_entry(p, "sum") == &p->functions[0]);
    LOOM_CHECK(loom_program_entry(p, "product") == NULL);
    loom_program *q = sample_mixed(arena);
    LOOM_CHECK_STR(loom_program_entry(q, NULL)->name, "main");
    LOOM_CHECK(loom_program_entry(q, "pick") == NULL);
    loom_arena_destroy(arena);
}

static loom_node_id *fresh_map(loom_arena *arena, const loom_program *p) {
    loom_node_id *map = LOOM_NEW_ARRAY(arena, loom_node_id, p->n_nodes);
    memset(map, 0xff, p->n_nodes * sizeof *map);
    return map;
}

LOOM_TEST(ir_copy, a_program_copied_body_by_body_is_the_same) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = sample_mixed(arena), *q = loom_program_create(arena);
    loom_type_scalar(q, LOOM_U8); /* so that type ids differ */
    loom_node_id *map = fresh_map(arena, p);
    for (uint32_t f = 0; f < p->n_functions; f++) {
        loom_body_id body = loom_copy_as_body(q, p, p->functions[f].body, map);
        loom_build_function(q, p->functions[f].name, body, p->functions[f].entry, p->functions[f].param_names);
    }
    LOOM_OK(loom_program_check(q));
    char *a = printed(p), *b = printed(q);
    LOOM_CHECK_EQ_INT(p->n_nodes, q->n_nodes);
    LOOM_CHECK_EQ_INT(strlen(a), strlen(b));
    free(a);
    free(b);
    loom_arena_destroy(arena);
}

/* What is built behind a copy changes nothing of the program that it is one of. */
LOOM_TEST(ir_copy, clone) {
    loom_arena *arena = loom_arena_create(0), *other = loom_arena_create(0);
    loom_program *p = sample_mixed(arena), *q = loom_program_clone(other, p);
    char *a = printed(p), *b = printed(q);
    LOOM_OK(loom_program_check(q));
    LOOM_CHECK_STR(a, b);
    uint32_t nodes = p->n_nodes, types = p->n_types;
    loom_type_id i64 = loom_type_scalar(q, LOOM_I64), deep = i64;
    for (int k = 0; k < 5; k++) deep = loom_type_array(q, deep);
    loom_body_id f = loom_build_open(q, 2, (loom_type_id[]){deep, i64}, NOWHERE);
    loom_build_close(q, f, loom_build_i64(q, 7, NOWHERE));
    loom_build_function(q, "more", f, true, NULL);
    LOOM_OK(loom_program_check(q));
    free(b);
    b = printed(p);
    LOOM_CHECK_STR(a, b);
    LOOM_CHECK(p->n_nodes == nodes && p->n_types == types && q->n_nodes == nodes + 3);
    free(a);
    free(b);
    loom_arena_destroy(other);
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_copy, inlining_within_a_program) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = sample_mixed(arena);
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64), boolean = loom_type_scalar(p, LOOM_BOOL);
    loom_node_id *map = LOOM_NEW_ARRAY(arena, loom_node_id, p->n_nodes + 100);
    memset(map, 0xff, p->n_nodes * sizeof *map);
    loom_body_id f = loom_build_open(p, 2, (loom_type_id[]){boolean, i64}, NOWHERE);
    loom_node_id arguments[2] = {loom_build_param(p, f, 0), loom_build_param(p, f, 1)};
    loom_node_id once = loom_copy_body(p, p, p->functions[0].body, arguments, map);
    memset(map, 0xff, p->n_nodes * sizeof *map);
    arguments[1] = once;
    loom_node_id twice = loom_copy_body(p, p, p->functions[0].body, arguments, map);
    loom_build_close(p, f, twice);
    loom_build_function(p, "twice", f, true, NULL);
    LOOM_OK(loom_program_check(p));
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_copy, one_node_with_its_body) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = sample_sum(arena), *q = loom_program_create(arena);
    loom_node_id *map = fresh_map(arena, p);
    loom_type_id xs = loom_copy_type(q, p, p->nodes[0].type);
    loom_body_id f = loom_build_open(q, 1, &xs, NOWHERE);
    map[0] = loom_build_param(q, f, 0);
    loom_copy_node(q, p, 1, map);
    loom_build_close(q, f, loom_copy_node(q, p, 5, map));
    loom_build_function(q, "sum", f, true, (const char *[]){"xs"});
    LOOM_OK(loom_program_check(q));
    char *a = printed(p), *b = printed(q);
    LOOM_CHECK_STR(a, b);
    free(a);
    free(b);
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_prim, results) {
#define RESULT(prim, ...) loom_prim_result(LOOM_PRIM_##prim, (const loom_dtype[3]){__VA_ARGS__})
    LOOM_CHECK_EQ_INT(RESULT(ADD, LOOM_I32, LOOM_I32), LOOM_I32);
    LOOM_CHECK_EQ_INT(RESULT(ADD, LOOM_I32, LOOM_I64), LOOM_DTYPES);
    LOOM_CHECK_EQ_INT(RESULT(ADD, LOOM_BOOL, LOOM_BOOL), LOOM_DTYPES);
    LOOM_CHECK_EQ_INT(RESULT(DIV, LOOM_I32, LOOM_I32), LOOM_DTYPES);
    LOOM_CHECK_EQ_INT(RESULT(DIV, LOOM_C64, LOOM_C64), LOOM_C64);
    LOOM_CHECK_EQ_INT(RESULT(FLOORDIV, LOOM_U8, LOOM_U8), LOOM_U8);
    LOOM_CHECK_EQ_INT(RESULT(FLOORDIV, LOOM_F32, LOOM_F32), LOOM_DTYPES);
    LOOM_CHECK_EQ_INT(RESULT(MAX, LOOM_C64, LOOM_C64), LOOM_DTYPES);
    LOOM_CHECK_EQ_INT(RESULT(LT, LOOM_BOOL, LOOM_BOOL), LOOM_BOOL);
    LOOM_CHECK_EQ_INT(RESULT(LT, LOOM_C64, LOOM_C64), LOOM_DTYPES);
    LOOM_CHECK_EQ_INT(RESULT(EQ, LOOM_C64, LOOM_C64), LOOM_BOOL);
    LOOM_CHECK_EQ_INT(RESULT(RE, LOOM_C128), LOOM_F64);
    LOOM_CHECK_EQ_INT(RESULT(COMPLEX, LOOM_F32, LOOM_F32), LOOM_C64);
    LOOM_CHECK_EQ_INT(RESULT(SCALE, LOOM_F64, LOOM_C128), LOOM_C128);
    LOOM_CHECK_EQ_INT(RESULT(SCALE, LOOM_F32, LOOM_C128), LOOM_DTYPES);
    LOOM_CHECK_EQ_INT(RESULT(CIS, LOOM_F32), LOOM_C64);
    LOOM_CHECK_EQ_INT(RESULT(POPC, LOOM_U64), LOOM_I32);
    LOOM_CHECK_EQ_INT(RESULT(SELECT, LOOM_BOOL, LOOM_C64, LOOM_C64), LOOM_C64);
    LOOM_CHECK_EQ_INT(RESULT(SELECT, LOOM_BOOL, LOOM_BOOL, LOOM_BOOL), LOOM_BOOL);
    LOOM_CHECK_EQ_INT(RESULT(SELECT, LOOM_I32, LOOM_I32, LOOM_I32), LOOM_DTYPES);
    LOOM_CHECK_EQ_INT(RESULT(CONJ, LOOM_F32), LOOM_DTYPES);
    LOOM_CHECK_EQ_INT(RESULT(ABS, LOOM_C64), LOOM_DTYPES);
#undef RESULT
}

LOOM_TEST(ir_prim, neutral_elements) {
    loom_scalar s;
    LOOM_CHECK(loom_prim_neutral(LOOM_PRIM_ADD, LOOM_C64, &s) && s.c[0] == 0 && s.c[1] == 0);
    LOOM_CHECK(loom_prim_neutral(LOOM_PRIM_MUL, LOOM_F32, &s) && s.f == 1);
    LOOM_CHECK(loom_prim_neutral(LOOM_PRIM_MIN, LOOM_I8, &s) && s.i == 127);
    LOOM_CHECK(loom_prim_neutral(LOOM_PRIM_MAX, LOOM_I64, &s) && s.i == INT64_MIN);
    LOOM_CHECK(loom_prim_neutral(LOOM_PRIM_MIN, LOOM_U64, &s) && s.u == UINT64_MAX);
    LOOM_CHECK(loom_prim_neutral(LOOM_PRIM_MAX, LOOM_F64, &s) && s.f == -(double)INFINITY);
    LOOM_CHECK(loom_prim_neutral(LOOM_PRIM_BAND, LOOM_I16, &s) && s.i == -1);
    LOOM_CHECK(loom_prim_neutral(LOOM_PRIM_BAND, LOOM_U16, &s) && s.u == 65535);
    LOOM_CHECK(loom_prim_neutral(LOOM_PRIM_AND, LOOM_BOOL, &s) && s.b);
    LOOM_CHECK(!loom_prim_neutral(LOOM_PRIM_SUB, LOOM_F32, &s));
    LOOM_CHECK(!loom_prim_neutral(LOOM_PRIM_ADD, LOOM_BOOL, &s));
}
