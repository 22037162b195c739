/* Texts that would cost too much, and texts that must not. Every limit of context.h and elab.h has its test here. */
#include "common/buffer.h"
#include "support.h"

typedef struct text {
    loom_buffer b;
} text;

static void repeat(text *t, const char *part, unsigned n) {
    for (unsigned i = 0; i < n; i++) loom_buffer_text(&t->b, part);
}

static void check_limit(text *t, loom_code code, const char *part) {
    check_error(t->b.data, code, part);
    loom_buffer_free(&t->b);
}

static void check_fits(text *t) {
    compiled c = compile_good(t->b.data);
    compiled_free(&c);
    loom_buffer_free(&t->b);
}

LOOM_TEST(syntax_limits, nesting) {
    text t = {0};
    repeat(&t, "entry main = ", 1);
    repeat(&t, "(", 10000);
    check_limit(&t, LOOM_E_SYNTAX, "nested more than 200 levels");
    repeat(&t, "entry main = ", 1);
    repeat(&t, "-", 10000); /* a comment */
    check_limit(&t, LOOM_E_SYNTAX, "expected an expression");
    repeat(&t, "entry main (x: ", 1);
    repeat(&t, "[]", 10000);
    check_limit(&t, LOOM_E_SYNTAX, "nested more than 200 levels");
    repeat(&t, "entry main = ", 1);
    repeat(&t, "\\x -> ", 10000);
    check_limit(&t, LOOM_E_SYNTAX, "nested more than 200 levels");
}

LOOM_TEST(syntax_limits, height) {
    text t = {0};
    repeat(&t, "entry main = 1", 1);
    repeat(&t, " + 1", 900);
    check_fits(&t);
    repeat(&t, "entry main = 1", 1);
    repeat(&t, " + 1", 5000);
    check_limit(&t, LOOM_E_SYNTAX, "more than 1000 levels");
}

/* A chain of lets is not deep. */
LOOM_TEST(syntax_limits, long_chains_of_lets) {
    text t = {0};
    repeat(&t, "entry main (x: i64) = ", 1);
    repeat(&t, "let x = x + 1 in ", 20000);
    repeat(&t, "x", 1);
    check_fits(&t);
}

LOOM_TEST(syntax_limits, expansion_that_doubles) {
    text t = {0};
    repeat(&t, "def f0 g x = g (g x)\n", 1);
    for (int i = 1; i < 60; i++) loom_buffer_printf(&t.b, "def f%d g x = f%d (f%d g) x\n", i, i - 1, i - 1);
    repeat(&t, "entry main (x: i64) = f59 (+ 1) x", 1);
    check_limit(&t, LOOM_E_LIMIT, "more than");
}

/* Tall expressions whose deepest parts expand to tall expressions. */
LOOM_TEST(syntax_limits, recursion) {
    text t = {0};
    repeat(&t, "def f0 g x = x\n", 1);
    for (int i = 1; i < 10; i++) {
        loom_buffer_printf(&t.b, "def f%d g x = f%d g x", i, i - 1);
        repeat(&t, " + g 1", 300);
        repeat(&t, "\n", 1);
    }
    repeat(&t, "entry main (x: i64) = f9 id x", 1);
    check_limit(&t, LOOM_E_LIMIT, "expressions nested more than 1500 levels");
}

LOOM_TEST(syntax_limits, depth_of_expansion) {
    text t = {0};
    repeat(&t, "def f0 g x = g x\n", 1);
    for (int i = 1; i < 300; i++) loom_buffer_printf(&t.b, "def f%d g x = f%d g x\n", i, i - 1);
    repeat(&t, "entry main (x: i64) = f299 (+ 1) x", 1);
    check_limit(&t, LOOM_E_LIMIT, "defs used inside each other more than 100 levels");
}

LOOM_TEST(syntax_limits, types_that_double) {
    text t = {0};
    repeat(&t, "entry main (x: i64) = let x = (x, x) ", 1);
    repeat(&t, "let x = (x, x) ", 50);
    repeat(&t, "in 1", 1);
    check_limit(&t, LOOM_E_LIMIT, "a type of more than 4096 scalars");
    repeat(&t, "type t0 = f32\n", 1);
    for (int i = 1; i < 60; i++) loom_buffer_printf(&t.b, "type t%d = (t%d, t%d)\n", i, i - 1, i - 1);
    repeat(&t, "entry main (x: t59) = 1", 1);
    check_limit(&t, LOOM_E_LIMIT, "more than");
}

/* Bound from the outside in, so that no step sees more than one level. */
LOOM_TEST(syntax_limits, types_that_grow_deep) {
    text t = {0};
    repeat(&t, "def f", 1);
    for (int i = 0; i < 1000; i++) loom_buffer_printf(&t.b, " a%d", i);
    repeat(&t, " =", 1);
    for (int i = 1; i < 1000; i++) loom_buffer_printf(&t.b, " let b = [a%d, [a%d]]", i - 1, i);
    repeat(&t, " in (a0, [a0], transpose a0)", 1);
    check_limit(&t, LOOM_E_LIMIT, "a type nested more than 64 levels");
}

LOOM_TEST(syntax_limits, tuples_of_functions_in_each_other) {
    text t = {0};
    repeat(&t, "entry main (x: f64) = let y = (sin, 1) ", 1);
    repeat(&t, "let y = (y, 1) ", 30000);
    repeat(&t, "in x", 1);
    check_fits(&t);
}

LOOM_TEST(syntax_limits, closures_in_each_other) {
    text t = {0};
    repeat(&t, "entry main (x: f64) = let f0 x = x", 1);
    for (int i = 1; i < 3000; i++) loom_buffer_printf(&t.b, " let f%d x = f%d x", i, i - 1);
    repeat(&t, " in f2999 x", 1);
    check_limit(&t, LOOM_E_LIMIT, "expressions nested more than 1500 levels");
}

LOOM_TEST(syntax_limits, infinite_types) {
    check_error("entry main = loop x = [] for i < 3 do [x]", LOOM_E_TYPE, "loop body, against the loop's start value");
}

LOOM_TEST(syntax_limits, bodies) {
    text t = {0};
    repeat(&t, "def m f xs = map f xs\nentry main (xs: []i64) = ", 1);
    repeat(&t, "map (\\x -> ", 60);
    repeat(&t, "x", 1);
    repeat(&t, ") [xs]", 60);
    compiled c = compile_text(t.b.data); /* whatever it gives, it gives it soon */
    compiled_free(&c);
    loom_buffer_free(&t.b);
}

/* Cases nest by the logarithm of their number, and each is compared with few of the others. */
LOOM_TEST(syntax_limits, cases) {
    text t = {0};
    repeat(&t, "entry main (x: i32) : i32 = match x", 1);
    for (int i = 0; i < 3000; i++) loom_buffer_printf(&t.b, " case %d -> %d", i, i + 1);
    repeat(&t, " case _ -> 0", 1);
    check_fits(&t);
    /* 256 literals are all that a u8 has. */
    repeat(&t, "entry main (x: u8) : i32 = match x", 1);
    for (int i = 0; i < 256; i++) loom_buffer_printf(&t.b, " case %d -> %d", i, i + 1);
    check_fits(&t);
    repeat(&t, "entry main (x: i8) : i32 = match x", 1);
    for (int i = -127; i < 128; i++) loom_buffer_printf(&t.b, " case %d -> %d", i, i + 1);
    check_limit(&t, LOOM_E_TYPE, "fits `-128`, found none");
}

/* One sort where one place is compared. */
LOOM_TEST(syntax_limits, many_cases) {
    text t = {0};
    repeat(&t, "entry main (x: i32) : i32 = match x", 1);
    for (int i = 0; i < 20000; i++) loom_buffer_printf(&t.b, " case %d -> %d", i * 7919 % 20011, i + 1);
    repeat(&t, " case _ -> 0", 1);
    check_fits(&t);
    repeat(&t, "entry main (x: i32) : i32 = match {a = x, b = true}", 1);
    for (int i = 0; i < 3000; i++) loom_buffer_printf(&t.b, " case {a = %d, b = true} -> %d", i, i + 1);
    repeat(&t, " case _ -> 0", 1);
    check_fits(&t);
}

/* Eleven pigeons in ten holes: that the cases cover everything has no short proof. */
LOOM_TEST(syntax_limits, cases_that_cover_by_counting) {
    enum {
        HOLES = 10,
        CELLS = (HOLES + 1) * HOLES
    };
    text t = {0};
    repeat(&t, "entry main (x: (bool", 1);
    repeat(&t, ", bool", CELLS - 1);
    repeat(&t, ")) : i32 = match x", 1);
    for (int pigeon = 0; pigeon <= HOLES; pigeon++) { /* is nowhere */
        for (int i = 0; i < CELLS; i++)
            loom_buffer_printf(&t.b, "%s%s", i ? ", " : " case (", i / HOLES == pigeon ? "false" : "_");
        repeat(&t, ") -> 1", 1);
    }
    for (int hole = 0; hole < HOLES; hole++) { /* has two */
        for (int a = 0; a <= HOLES; a++) {
            for (int b = 0; b < a; b++) {
                for (int i = 0; i < CELLS; i++) {
                    bool taken = i % HOLES == hole && (i / HOLES == a || i / HOLES == b);
                    loom_buffer_printf(&t.b, "%s%s", i ? ", " : " case (", taken ? "true" : "_");
                }
                repeat(&t, ") -> 2", 1);
            }
        }
    }
    compiled c = compile_text(t.b.data);
    LOOM_CHECK_EQ_INT(c.diagnostics.at[0].span.column, 26 + 6 * CELLS);
    compiled_free(&c);
    check_limit(&t, LOOM_E_LIMIT, "checking took more than 4000000 steps: whether the cases of this `match` cover");
}

LOOM_TEST(syntax_limits, instances) {
    text t = {0};
    repeat(&t, "def f x = x + 1\n", 1);
    repeat(&t, "def all x = ", 1);
    for (int i = 0; i < 50; i++) loom_buffer_printf(&t.b, "let a%d = f (i%d x) ", i, i % 2 ? 64 : 32);
    repeat(&t, "in a0\nentry main (x: f32) = all x", 1);
    check_fits(&t);
}

LOOM_TEST(syntax_limits, size_of_the_text) {
    size_t n = ((size_t)16 << 20) + 1;
    char *blanks = malloc(n + 1);
    LOOM_CHECK(blanks);
    memset(blanks, ' ', n);
    blanks[n] = '\0';
    check_error(blanks, LOOM_E_LIMIT, "at most 16777216 are read");
    free(blanks);
}

LOOM_TEST(syntax_limits, memory_of_the_arena) {
    loom_arena *arena = loom_arena_create(1 << 16);
    const char *source = "entry main (x: f32) = x";
    loom_source_file file = {"test.weft", source, strlen(source)};
    loom_diagnostics d = {0};
    loom_program *program = NULL;
    LOOM_FAILS(loom_syntax_compile(arena, &file, 1, &d, &program), LOOM_E_LIMIT);
    LOOM_CHECK(program == NULL);
    loom_arena_destroy(arena);
}
