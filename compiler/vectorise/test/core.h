/* Short forms for building core programs in tests, and running them both ways.
 *
 * A stage under test: its function is vectorised (and fused, if asked), checked, run by loom_lifted_eval, and compared
 * with loom_interp_call on the same values. */
#ifndef LOOM_VECTORISE_TEST_CORE_H
#define LOOM_VECTORISE_TEST_CORE_H

#include "compiler/interp/interp.h"
#include "compiler/vectorise/eval.h"
#include "compiler/vectorise/vectorise.h"
#include "loom_test.h"

#define NOWHERE    ((loom_span){0})
#define COUNT(...) ((uint32_t)(sizeof((loom_node_id[]){__VA_ARGS__}) / sizeof(loom_node_id)))
#define N(p, op, type, aux, ...)                                                                                       \
    loom_build_node((p), LOOM_OP_##op, 0, (type), (loom_node_id[]){__VA_ARGS__}, COUNT(__VA_ARGS__), NULL, 0, (aux),   \
                    NOWHERE)
#define NB(p, op, type, aux, body, ...)                                                                                \
    loom_build_node((p), LOOM_OP_##op, 0, (type), (loom_node_id[]){__VA_ARGS__}, COUNT(__VA_ARGS__),                   \
                    (loom_body_id[]){body}, 1, (aux), NOWHERE)
#define NB2(p, op, type, aux, b1, b2, ...)                                                                             \
    loom_build_node((p), LOOM_OP_##op, 0, (type), (loom_node_id[]){__VA_ARGS__}, COUNT(__VA_ARGS__),                   \
                    (loom_body_id[]){b1, b2}, 2, (aux), NOWHERE)
#define PRIM(p, prim, ...) test_prim((p), LOOM_PRIM_##prim, (loom_node_id[]){__VA_ARGS__}, COUNT(__VA_ARGS__))
#define OPEN(p, ...)                                                                                                   \
    loom_build_open((p), (uint32_t)(sizeof((loom_type_id[]){__VA_ARGS__}) / sizeof(loom_type_id)),                     \
                    (loom_type_id[]){__VA_ARGS__}, NOWHERE)
#define P(p, body, i) loom_build_param((p), (body), (i))
#define I(p, value)   loom_build_i64((p), (value), NOWHERE)
#define F(p, value)   loom_build_const((p), LOOM_F64, (loom_scalar){.f = (value)}, NOWHERE)

loom_node_id test_prim(loom_program *p, loom_prim prim, const loom_node_id *args, uint32_t n);
loom_type_id test_type(const loom_program *p, loom_node_id node);
loom_type_id test_array(loom_program *p, loom_type_id element, uint32_t depth);
/* A body of one primitive of two parameters. */
loom_body_id test_operator(loom_program *p, loom_prim prim, loom_type_id t);
/* zip_with (zip_with ... prim) on arrays of `depth` levels. */
loom_body_id test_lifted_operator(loom_program *p, loom_prim prim, loom_type_id t, uint32_t depth);
loom_node_id test_tuple(loom_program *p, const loom_node_id *parts, uint32_t n);

/* ---- values ---- */
loom_value *value_f64(uint32_t depth, const int64_t *extents, const double *data); /* data NULL: some numbers */
loom_value *value_i64(uint32_t depth, const int64_t *extents, const int64_t *data);
loom_value *value_c128(uint32_t depth, const int64_t *extents, unsigned seed);
/* One value with the leaves of several (a record). */
loom_value *value_join(loom_value **parts, uint32_t n);

/* ---- stages ---- */
typedef struct test_stage {
    loom_arena *arena;
    loom_program *program;
    loom_graph *graph;
    loom_lifted *lifted; /* NULL if refused */
    const char *remark;
    bool fuse;
} test_stage;

/* Arguments of the function: n_inputs values, then (chunk) n_streams values; kinds[j] of each result. merges: function
 * indices or NULL. */
typedef struct test_call {
    uint32_t function, n_inputs, n_streams, n_outputs;
    loom_value **arguments;
    const loom_output_kind *kinds;
    const uint32_t *merges;
    int64_t first;
    bool known;           /* scalar inputs are known */
    const bool *constant; /* per stream: constant in the segment */
} test_call;

extern loom_status *(*test_fuse)(loom_lifted *lifted); /* set by tests of fusion */

/* Vectorises; prints the lifted IR if LOOM_SHOW is set. */
void test_vectorise(test_stage *s, const test_call *c);
/* Vectorises, runs both ways, compares floats to `tolerance`. */
void test_agree(test_stage *s, const test_call *c, double tolerance);
/* Both ways fail with a runtime error. */
void test_both_fail(test_stage *s, const test_call *c);
uint32_t test_count_ops(const loom_lifted *l, loom_lop_kind kind);
char *test_printed(const loom_lifted *l);

test_stage test_begin(void);
void test_end(test_stage *s);

#endif
