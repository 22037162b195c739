/* LIFTED: a function with a version for arrays; the checker and the wire form. */
#include "loom_test.h"
#include "samples.h"

typedef struct parts {
    loom_type_id one, many; /* f64, []f64 */
    loom_body_id body, version;
    loom_node_id x;
} parts;

/* entry main (x: f64) = lifted x (\x -> -x) (\xs -> reverse xs), which tests then spoil. */
static parts begin(loom_program *p, loom_body_id *main) {
    parts s = {.one = loom_type_scalar(p, LOOM_F64)};
    s.many = loom_type_array(p, s.one);
    *main = loom_build_open(p, 1, &s.one, NOWHERE);
    s.x = loom_build_param(p, *main, 0);
    s.body = loom_build_open(p, 1, &s.one, NOWHERE);
    loom_build_close(p, s.body, PRIM(p, NEG, s.one, loom_build_param(p, s.body, 0)));
    s.version = loom_build_open(p, 1, &s.many, NOWHERE);
    loom_build_close(p, s.version, N(p, REVERSE, s.many, 0, loom_build_param(p, s.version, 0)));
    return s;
}

static loom_program *end(loom_program *p, loom_body_id main, const parts *s, uint32_t aux) {
    loom_body_id bodies[2] = {s->body, s->version};
    loom_build_close(p, main, loom_build_node(p, LOOM_OP_LIFTED, 0, s->one, &s->x, 1, bodies, 2, aux, NOWHERE));
    loom_build_function(p, "main", main, true, (const char *[]){"x"});
    return p;
}

static loom_program *sample(loom_arena *arena, uint32_t aux) {
    loom_program *p = loom_program_create(arena);
    loom_body_id main;
    parts s = begin(p, &main);
    return end(p, main, &s, aux);
}

static void refused(const loom_program *p, const char *part) {
    loom_status *status = loom_program_check(p);
    LOOM_CHECK_HAS(loom_status_message(status), part);
    loom_status_free(status);
}

LOOM_TEST(ir_versions, types) {
    loom_arena *arena = loom_arena_create(0);
    for (uint32_t aux = 0; aux < LOOM_VERSIONS; aux++) LOOM_OK(loom_program_check(sample(arena, aux)));
    refused(sample(arena, LOOM_VERSIONS), "version 3 does not exist");
    loom_program *p = loom_program_create(arena);
    loom_body_id main;
    parts s = begin(p, &main);
    loom_body_id body = s.body;
    s.body = s.version; /* takes an array, as the version does */
    s.version = body;
    refused(end(p, main, &s, 0), "a parameter of its body is []f64, expected f64");
    loom_arena_destroy(arena);
}

/* An operand from around, and a result. */
LOOM_TEST(ir_versions, closed) {
    for (int i = 0; i < 2; i++) {
        loom_arena *arena = loom_arena_create(0);
        loom_program *p = loom_program_create(arena);
        parts s = {.one = loom_type_scalar(p, LOOM_F64)};
        s.many = loom_type_array(p, s.one);
        loom_body_id main = loom_build_open(p, 1, &s.one, NOWHERE);
        s.x = loom_build_param(p, main, 0);
        s.body = loom_build_open(p, 1, &s.one, NOWHERE);
        loom_build_close(p, s.body, i ? s.x : PRIM(p, ADD, s.one, s.x, loom_build_param(p, s.body, 0)));
        s.version = loom_build_open(p, 1, &s.many, NOWHERE);
        loom_build_close(p, s.version, loom_build_param(p, s.version, 0));
        refused(end(p, main, &s, 0),
                i ? "the result of its body 0 is from outside" : "from outside of a lifted function");
        loom_arena_destroy(arena);
    }
}

LOOM_TEST(ir_versions, travels) {
    loom_arena *arena = loom_arena_create(0);
    char *bytes;
    size_t length;
    loom_program *back;
    LOOM_OK(loom_program_encode(sample(arena, LOOM_VERSION_IRREGULAR), &bytes, &length));
    LOOM_OK(loom_program_decode(arena, bytes, length, &back));
    const loom_node *n = &back->nodes[back->bodies[back->functions[0].body].result];
    LOOM_CHECK_EQ_INT(n->op, LOOM_OP_LIFTED);
    LOOM_CHECK_EQ_INT(n->aux, LOOM_VERSION_IRREGULAR);
    LOOM_CHECK_EQ_INT(loom_node_body(back, n, 1)->n_params, 1);
    free(bytes);
    loom_arena_destroy(arena);
}
