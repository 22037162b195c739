/* Programs and values for tests of the interpreter: values are written as text, "[[1, 2], [3]]". */
#ifndef LOOM_INTERP_TEST_HELPER_H
#define LOOM_INTERP_TEST_HELPER_H

#include "compiler/interp/interp.h"
#include "compiler/ir/prim.h"

#define AT(line_) ((loom_span){0, (line_), 1, (line_), 2})

/* The program being built and its open function. */
typedef struct built {
    loom_arena *arena;
    loom_program *p;
    loom_body_id f;
    uint32_t line;
} built;

built start(uint32_t n_params, const char *const *types); /* types as text: "[][]f64", "(i64, f32)", "seq i64" */
#define START(...) start(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})
loom_type_id type_from(loom_program *p, const char *text);
loom_node_id param(const built *b, uint32_t i);

/* A node; its type as text. `bodies` ends with LOOM_NONE (or is NULL). */
loom_node_id node(built *b, loom_op op, const char *type, uint32_t aux, uint32_t n, const loom_node_id *operands,
                  const loom_body_id *bodies);
#define OPERANDS(...)                                                                                                  \
    sizeof((loom_node_id[]){__VA_ARGS__}) / sizeof(loom_node_id), (loom_node_id[]) {                                   \
        __VA_ARGS__                                                                                                    \
    }
#define NODE(b, op, type, aux, ...) node((b), LOOM_OP_##op, (type), (aux), OPERANDS(__VA_ARGS__), NULL)
#define NODE1(b, op, type, aux, body, ...)                                                                             \
    node((b), LOOM_OP_##op, (type), (aux), OPERANDS(__VA_ARGS__), (loom_body_id[]){(body), LOOM_NONE})
#define NODE2(b, op, type, aux, body1, body2, ...)                                                                     \
    node((b), LOOM_OP_##op, (type), (aux), OPERANDS(__VA_ARGS__), (loom_body_id[]){(body1), (body2), LOOM_NONE})
loom_node_id prim(built *b, loom_prim which, const char *type, uint32_t n, const loom_node_id *operands);
#define PRIM(b, which, type, ...) prim((b), LOOM_PRIM_##which, (type), OPERANDS(__VA_ARGS__))
loom_node_id i64(built *b, int64_t value);
loom_node_id f64(built *b, double value);
loom_body_id open_body(built *b, uint32_t n, const char *const *types);
#define BODY(b, ...)                                                                                                   \
    open_body((b), sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})
loom_node_id arg(const built *b, loom_body_id body, uint32_t i);
loom_body_id operator_body(built *b, loom_prim which, const char *type); /* (x, y) -> x `which` y */

/* Closes the function with this result and checks the program; `finish` once, then calls. */
void finish(built *b, loom_node_id result);

/* "f64 [[1, 2], [3]]" or several columns: "i64 [1, 2]; f64 [3, 4]". */
loom_value *value_from(const char *text);
/* Columns as text, joined by "; ". malloc'ed. */
char *value_text(const loom_value *value);

/* Runs the function on arguments written as text and compares with the expected text. */
void expect(const built *b, const char *expected, uint32_t n, const char *const *arguments);
#define EXPECT(b, expected, ...)                                                                                       \
    expect((b), (expected), sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})
void expect_error(const built *b, const char *part, uint32_t n, const char *const *arguments);
#define EXPECT_ERROR(b, part, ...)                                                                                     \
    expect_error((b), (part), sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})
void expect_with(const built *b, const char *expected, const loom_interp_options *options, uint32_t n,
                 const char *const *arguments, loom_interp_counters *counters);
void done(built *b);

#endif
