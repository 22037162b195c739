/* What is said of evaluations of small programs. */
#include "compiler/analysis/claims.h"
#include "compiler/syntax/syntax.h"
#include "loom_test.h"

static loom_value *rows(int64_t n, int64_t m) {
    loom_value *v;
    LOOM_OK(loom_value_create(1, &v));
    LOOM_OK(loom_leaf_init(&v->leaves[0], "", LOOM_F64, 2, (const int64_t[]){n, m}, 1 << 20));
    for (int64_t i = 0; i < n * m; i++) ((double *)v->leaves[0].data)[i] = (double)(i * 7 % 11);
    return v;
}

/* Nodes called irregular that were regular; no claim is broken. */
static uint32_t evaluate(const char *text, uint32_t *irregular) {
    loom_arena *arena = loom_arena_create(0);
    loom_source_file file = {"test.weft", text, strlen(text)};
    loom_diagnostics d = {0};
    loom_program *p;
    LOOM_OK(loom_syntax_compile(arena, &file, 1, &d, &p));
    const loom_function *entry = loom_program_entry(p, NULL);
    loom_value *a = rows(5, 4), *result;
    loom_claims claims;
    LOOM_OK(loom_claims_check(arena, p, (uint32_t)(entry - p->functions), &a, &result, &claims));
    LOOM_CHECK_EQ_INT(claims.n_broken, 0);
    LOOM_CHECK(claims.values > 5);
    uint32_t regular = 0;
    for (uint32_t i = 0; i < claims.n_irregular; i++) regular += claims.were_regular[i];
    *irregular = claims.n_irregular;
    loom_value_unref(result);
    loom_value_unref(a);
    loom_arena_destroy(arena);
    return regular;
}

LOOM_TEST(claims, what_differs_and_what_does_not) {
    uint32_t irregular;
    LOOM_CHECK_EQ_INT(evaluate("entry main (a: [][]f64) : [][]f64 = map (\\r -> filter (> 5.0) r) a", &irregular), 0);
    LOOM_CHECK_EQ_INT(irregular, 1);
    LOOM_CHECK_EQ_INT(evaluate("entry main (a: [][]f64) : [][]f64 = map (\\r -> filter (>= 0.0) r) a", &irregular), 1);
    LOOM_CHECK_EQ_INT(irregular, 1);
    evaluate("entry main [n][m] (a: [n][m]f64) : [][]f64 = map (\\r -> map (* 2.0) r) a", &irregular);
    LOOM_CHECK_EQ_INT(irregular, 0);
}

/* Turns of loops, branches and operators are contexts of their own. */
LOOM_TEST(claims, contexts) {
    uint32_t irregular;
    evaluate("entry main (a: [][]f64) : []f64 = map (\\r -> loop x = 0.0 for i < length r do x + r[i] * 2.0) a",
             &irregular);
    evaluate("entry main (a: [][]f64) : []f64 = map (\\r -> if r[0] > 3.0 then sum r else r[1]) a", &irregular);
    evaluate("entry main (a: [][]f64) : []f64 = map (\\r -> fold (\\x y -> x * 0.5 + y) 0.0 r) a", &irregular);
    evaluate("entry main (a: [][]f64) : [][]i64 = map (\\r -> loop x = iota 1 for i < 3 do x ++ x) a", &irregular);
    evaluate("entry main (a: [][]f64) : [][]i64 = map (\\r -> iota (loop m = 1 while f64 m < r[0] do 2 * m)) a",
             &irregular);
    evaluate("entry main (a: [][]f64) : []f64 = chain_seq [] (\\z r -> map (* 0.5) (z ++ filter (> 5.0) r)) (rows a)",
             &irregular);
}
