/* Random programs, evaluated by strips and element by element: values, errors and counters must agree. */
#include "helper.h"
#include "loom_test.h"

static uint64_t state;
static uint64_t next(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* Nodes by type that may be used at this place. */
typedef struct pool {
    loom_node_id i[64], f[64], c[64], b[64];
    uint32_t ni, nf, nc, nb;
} pool;

#define PICK(p, kind) ((p)->kind[next((p)->n##kind)])
#define KEEP(p, kind, node_)                                                                                           \
    do {                                                                                                               \
        loom_node_id made_ = (node_);                                                                                  \
        if ((p)->n##kind < 64) (p)->kind[(p)->n##kind++] = made_;                                                      \
    } while (0)

static void add_integer(built *b, pool *p, loom_node_id table) {
    static const loom_prim two[] = {LOOM_PRIM_ADD,  LOOM_PRIM_SUB,      LOOM_PRIM_MUL, LOOM_PRIM_MIN, LOOM_PRIM_MAX,
                                    LOOM_PRIM_BXOR, LOOM_PRIM_FLOORDIV, LOOM_PRIM_REM, LOOM_PRIM_SHL, LOOM_PRIM_SHR};
    loom_node_id x = PICK(p, i), y = PICK(p, i);
    switch (next(5)) {
    case 0: KEEP(p, i, NODE(b, CONVERT, "i64", 0, PICK(p, f))); break;
    case 1: KEEP(p, i, NODE(b, INDEX, "i64", 0, table, x)); break;
    case 2: KEEP(p, i, NODE(b, CONVERT, "i64", 0, NODE(b, CONVERT, "i8", 0, x))); break;
    default: KEEP(p, i, prim(b, two[next(next(3) ? 6 : 10)], "i64", OPERANDS(x, y)));
    }
}

static void add_float(built *b, pool *p) {
    static const loom_prim two[] = {LOOM_PRIM_ADD, LOOM_PRIM_SUB, LOOM_PRIM_MUL,  LOOM_PRIM_DIV,
                                    LOOM_PRIM_MIN, LOOM_PRIM_MAX, LOOM_PRIM_HYPOT};
    static const loom_prim one[] = {LOOM_PRIM_SIN, LOOM_PRIM_EXP, LOOM_PRIM_SQRT, LOOM_PRIM_FLOOR, LOOM_PRIM_NEG};
    switch (next(4)) {
    case 0: KEEP(p, f, NODE(b, CONVERT, "f64", 0, PICK(p, i))); break;
    case 1: KEEP(p, f, prim(b, one[next(5)], "f64", OPERANDS(PICK(p, f)))); break;
    case 2: KEEP(p, f, PRIM(b, RE, "f64", PICK(p, c))); break;
    default: KEEP(p, f, prim(b, two[next(7)], "f64", OPERANDS(PICK(p, f), PICK(p, f))));
    }
}

static void add_other(built *b, pool *p) {
    static const loom_prim compare[] = {LOOM_PRIM_LT, LOOM_PRIM_EQ, LOOM_PRIM_GE};
    switch (next(4)) {
    case 0: KEEP(p, b, prim(b, compare[next(3)], "bool", OPERANDS(PICK(p, i), PICK(p, i)))); break;
    case 1: KEEP(p, b, prim(b, compare[next(3)], "bool", OPERANDS(PICK(p, f), PICK(p, f)))); break;
    case 2: KEEP(p, c, PRIM(b, COMPLEX, "c128", PICK(p, f), PICK(p, f))); break;
    default: KEEP(p, c, PRIM(b, MUL, "c128", PICK(p, c), PICK(p, c)));
    }
}

static void add_nodes(built *b, pool *p, loom_node_id table, uint64_t count, int depth);

/* if c then (i, f) else (i, f), each branch with nodes of its own. */
static void add_if(built *b, pool *p, loom_node_id table, int depth) {
    loom_body_id bodies[2];
    loom_node_id condition = PICK(p, b);
    for (int k = 0; k < 2; k++) {
        pool inner = *p;
        bodies[k] = loom_build_open(b->p, 0, NULL, AT(b->line));
        add_nodes(b, &inner, table, next(4), depth + 1);
        loom_node_id i = PICK(&inner, i), f = PICK(&inner, f);
        loom_build_close(b->p, bodies[k], NODE(b, TUPLE, "(i64, f64)", 0, i, f));
    }
    loom_node_id pair = NODE2(b, IF, "(i64, f64)", 0, bodies[0], bodies[1], condition);
    KEEP(p, i, NODE(b, PROJECT, "i64", 0, pair));
    KEEP(p, f, NODE(b, PROJECT, "f64", 1, pair));
}

static void add_nodes(built *b, pool *p, loom_node_id table, uint64_t count, int depth) {
    for (uint64_t k = 0; k < count; k++) {
        switch (next(5)) {
        case 0: add_integer(b, p, table); break;
        case 1: add_float(b, p); break;
        case 2:
            if (depth < 3) {
                add_if(b, p, table, depth);
                break;
            }
            add_integer(b, p, table);
            break;
        default: add_other(b, p);
        }
    }
}

/* map over records, with a table and scalars from outside */
static built random_map(void) {
    built b = start(3, (const char *[]){"[](i64, (f64, c128), []i64)", "[]i64", "f64"});
    loom_body_id body = BODY(&b, "(i64, (f64, c128), []i64)");
    loom_node_id e = arg(&b, body, 0), pair = NODE(&b, PROJECT, "(f64, c128)", 1, e);
    pool p = {0};
    KEEP(&p, i, NODE(&b, PROJECT, "i64", 0, e));
    KEEP(&p, i, i64(&b, (int64_t)next(7) - 2));
    KEEP(&p, f, NODE(&b, PROJECT, "f64", 0, pair));
    KEEP(&p, f, param(&b, 2));
    KEEP(&p, c, NODE(&b, PROJECT, "c128", 1, pair));
    KEEP(&p, b, PRIM(&b, LT, "bool", p.f[0], p.f[1]));
    loom_node_id table = next(2) ? param(&b, 1) : NODE(&b, PROJECT, "[]i64", 2, e);
    add_nodes(&b, &p, table, 3 + next(12), 0);
    loom_node_id i = PICK(&p, i), f = PICK(&p, f), c = PICK(&p, c);
    loom_build_close(b.p, body, NODE(&b, TUPLE, "(i64, f64, c128)", 0, i, f, c));
    finish(&b, NODE1(&b, MAP, "[](i64, f64, c128)", 0, body, param(&b, 0)));
    return b;
}

/* 300 records, so that there is more than one strip; of the third field rows of two lengths or of one. */
static loom_value *random_records(bool regular) {
    loom_value *v;
    const int64_t n = 300, rows[2] = {300, 3};
    LOOM_OK(loom_value_create(4, &v));
    LOOM_OK(loom_leaf_init(&v->leaves[0], "0", LOOM_I64, 1, &n, 1 << 20));
    LOOM_OK(loom_leaf_init(&v->leaves[1], "1.0", LOOM_F64, 1, &n, 1 << 20));
    LOOM_OK(loom_leaf_init(&v->leaves[2], "1.1", LOOM_C128, 1, &n, 1 << 20));
    LOOM_OK(loom_leaf_init(&v->leaves[3], "2", LOOM_I64, 2, rows, 1 << 20));
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)v->leaves[0].data)[i] = (int64_t)next(6);
        ((double *)v->leaves[1].data)[i] = (double)next(1000) / 100 - 5;
        ((double *)v->leaves[2].data)[2 * i] = (double)next(100) / 10;
        ((double *)v->leaves[2].data)[2 * i + 1] = (double)next(100) / 10;
    }
    loom_leaf *leaf = &v->leaves[3];
    for (int64_t i = 0; i < 3 * n; i++) ((int64_t *)leaf->data)[i] = (int64_t)next(5);
    if (regular) return v;
    leaf->extents[1] = LOOM_IRREGULAR;
    leaf->lengths[1] = malloc((size_t)n * sizeof(int64_t));
    leaf->n_lengths[1] = n;
    for (int64_t i = 0; i < n; i++) leaf->lengths[1][i] = i % 2 ? 4 : 2;
    return v;
}

static char *outcome(const built *b, loom_value *const *arguments, bool one_by_one, loom_interp_counters *counters) {
    loom_interp_options options = {.one_by_one = one_by_one};
    loom_value *result = NULL;
    loom_status *status = loom_interp_call(b->p, 0, arguments, &options, &result, counters);
    char *text = status ? loom_status_text(status) : value_text(result);
    loom_status_free(status);
    loom_value_unref(result);
    return text;
}

LOOM_TEST(interp_random, strips_and_single_elements_agree) {
    int failed = 0, programs = LOOM_TEST_SANITIZED ? 200 : 1000;
    for (int k = 1; k <= programs; k++) {
        state = (uint64_t)k * 0x9E3779B97F4A7C15u;
        built b = random_map();
        loom_value *arguments[3] = {random_records(k % 2), value_from("i64 [3, 1, 4, 1, 5, 2, 0, 3]"),
                                    value_from("f64 0.5")};
        loom_interp_counters quick, plain;
        char *a = outcome(&b, arguments, false, &quick), *c = outcome(&b, arguments, true, &plain);
        LOOM_CHECK_STR(a, c);
        bool error = strchr(a, '%') || a[0] != '[';
        failed += error;
        LOOM_CHECK(error || (quick.scalar_evaluations == plain.scalar_evaluations && quick.steps == plain.steps &&
                             quick.elements_moved == plain.elements_moved));
        free(a);
        free(c);
        for (int i = 0; i < 3; i++) loom_value_unref(arguments[i]);
        done(&b);
    }
    LOOM_CHECK(failed > programs / 20 && failed < programs * 3 / 4);
}
