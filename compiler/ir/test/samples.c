#include "samples.h"
#include <string.h>

loom_body_id sample_operator(loom_program *p, loom_prim prim, loom_type_id t) {
    loom_body_id b = loom_build_open(p, 2, (loom_type_id[]){t, t}, NOWHERE);
    loom_node_id x = loom_build_param(p, b, 0), y = loom_build_param(p, b, 1);
    loom_node_id sum = loom_build_node(p, LOOM_OP_PRIM, prim, t, (loom_node_id[]){x, y}, 2, NULL, 0, 0, NOWHERE);
    loom_build_close(p, b, sum);
    return b;
}

loom_program *sample_sum(loom_arena *arena) {
    loom_program *p = loom_program_create(arena);
    loom_type_id f32 = loom_type_scalar(p, LOOM_F32), xs = loom_type_array(p, f32);
    loom_body_id f = loom_build_open(p, 1, &xs, NOWHERE);
    loom_node_id zero = loom_build_const(p, LOOM_F32, (loom_scalar){.f = 0}, NOWHERE);
    loom_body_id op = sample_operator(p, LOOM_PRIM_ADD, f32);
    loom_node_id sum = NB(p, FOLD, f32, 0, op, zero, loom_build_param(p, f, 0));
    loom_build_close(p, f, sum);
    loom_build_function(p, "sum", f, true, (const char *[]){"xs"});
    return p;
}

/* def pick (c: bool) (x: i64) : i64 = if c then x else x + 1 -- the first branch is an empty body */
static uint32_t add_pick(loom_program *p) {
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64), boolean = loom_type_scalar(p, LOOM_BOOL);
    loom_span span = {0, 3, 5, 3, 20};
    loom_body_id f = loom_build_open(p, 2, (loom_type_id[]){boolean, i64}, span);
    loom_node_id c = loom_build_param(p, f, 0), x = loom_build_param(p, f, 1);
    loom_body_id yes = loom_build_open(p, 0, NULL, span);
    loom_build_close(p, yes, x);
    loom_body_id no = loom_build_open(p, 0, NULL, span);
    loom_node_id one = loom_build_i64(p, 1, span);
    loom_build_close(p, no, PRIM(p, ADD, i64, x, one));
    loom_node_id result = loom_build_node(p, LOOM_OP_IF, 0, i64, &c, 1, (loom_body_id[]){yes, no}, 2, 0, span);
    loom_build_close(p, f, result);
    return loom_build_function(p, "pick", f, false, NULL);
}

/* entry main (n: i64) (s: seq {u: i64, vis: c64}) : seq c64
 *   = group_seq n (\v -> [v.u]) s (\k ys -> fold_seq (+) 0 (map_seq (\v -> v.vis) ys)), k through a loop and pick */
static void add_groups(loom_program *p, uint32_t pick) {
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64), c64 = loom_type_scalar(p, LOOM_C64);
    loom_type_id boolean = loom_type_scalar(p, LOOM_BOOL);
    loom_type_id row = loom_type_tuple(p, 2, (loom_type_id[]){i64, c64}, (const char *[]){"u", "vis"});
    loom_type_id stream = loom_type_seq(p, row), keys_type = loom_type_array(p, i64), out = loom_type_seq(p, c64);
    loom_body_id f = loom_build_open(p, 2, (loom_type_id[]){i64, stream}, NOWHERE);
    loom_body_id keys = loom_build_open(p, 1, &row, NOWHERE);
    loom_node_id u = N(p, PROJECT, i64, 0, loom_build_param(p, keys, 0));
    loom_build_close(p, keys, N(p, ARRAY, keys_type, 0, u));
    loom_body_id group = loom_build_open(p, 2, (loom_type_id[]){i64, stream}, NOWHERE);
    loom_node_id k = loom_build_param(p, group, 0);
    loom_body_id turn = loom_build_open(p, 2, (loom_type_id[]){i64, i64}, NOWHERE);
    loom_node_id yes = loom_build_const(p, LOOM_BOOL, (loom_scalar){.b = true}, NOWHERE);
    loom_node_id call = N(p, CALL, i64, pick, yes, loom_build_param(p, turn, 1));
    loom_build_close(p, turn, call);
    loom_node_id looped = NB(p, LOOP_FOR, i64, 0, turn, k, k);
    loom_body_id vis = loom_build_open(p, 1, &row, NOWHERE);
    loom_build_close(p, vis, N(p, PROJECT, c64, 1, loom_build_param(p, vis, 0)));
    loom_node_id values = NB(p, SEQ_MAP, out, 0, vis, loom_build_param(p, group, 1));
    loom_node_id zero = loom_build_const(p, LOOM_C64, (loom_scalar){.c = {0, 0}}, NOWHERE);
    loom_node_id sum = NB(p, SEQ_FOLD, c64, 0, sample_operator(p, LOOM_PRIM_ADD, c64), zero, values);
    loom_node_id good = PRIM(p, GE, boolean, looped, k);
    loom_build_close(p, group, N(p, ASSERT, c64, 0, good, sum));
    loom_node_id result = loom_build_node(p, LOOM_OP_SEQ_GROUP, 0, out,
                                          (loom_node_id[]){loom_build_param(p, f, 0), loom_build_param(p, f, 1)}, 2,
                                          (loom_body_id[]){keys, group}, 2, 0, NOWHERE);
    loom_build_close(p, f, result);
    loom_build_function(p, "main", f, true, (const char *[]){"n", "s"});
}

loom_program *sample_mixed(loom_arena *arena) {
    loom_program *p = loom_program_create(arena);
    static const char text[] = "-- a text\nentry main = ...\n";
    p->files = LOOM_NEW_ARRAY(arena, loom_source_file, 2);
    p->files[0] = (loom_source_file){"a.weft", text, strlen(text)};
    p->files[1] = (loom_source_file){"b.weft", "", 0};
    p->n_files = p->cap_files = 2;
    add_groups(p, add_pick(p));
    return p;
}
