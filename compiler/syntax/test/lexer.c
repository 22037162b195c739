/* Tokens: numbers, ranges, adjacency, comments. */
#include "loom_test.h"
#include "token.h"

typedef struct fixture {
    loom_arena *arena;
    loom_diagnostics diagnostics;
    syn_context context;
    syn_tokens tokens;
} fixture;

static void lex(fixture *f, const char *text) {
    *f = (fixture){.arena = loom_arena_create(0)};
    loom_syn_context_init(&f->context, f->arena, &f->diagnostics);
    f->tokens = loom_syn_lex(&f->context, 0, text, strlen(text));
}

static void check_kinds(const char *text, size_t n, const syn_token_kind *kinds) {
    fixture f;
    lex(&f, text);
    LOOM_CHECK_EQ_INT(f.tokens.count, n + 1);
    for (size_t i = 0; i < n; i++) LOOM_CHECK_EQ_INT(f.tokens.at[i].kind, kinds[i]);
    LOOM_CHECK_EQ_INT(f.tokens.at[n].kind, T_END);
    LOOM_CHECK(!f.diagnostics.any_error);
    loom_arena_destroy(f.arena);
}

#define KINDS(text, ...)                                                                                               \
    check_kinds(text, sizeof((syn_token_kind[]){__VA_ARGS__}) / sizeof(syn_token_kind), (syn_token_kind[]){__VA_ARGS__})

LOOM_TEST(syntax_lexer, ranges_are_not_fractions) {
    KINDS("0..<n", T_INT, T_DOTS_LESS, T_NAME);
    KINDS("0...10", T_INT, T_DOTS_TO, T_INT);
    KINDS("1..3..>n", T_INT, T_DOTS, T_INT, T_DOTS_MORE, T_NAME);
    KINDS("1.5", T_FLOAT);
}

LOOM_TEST(syntax_lexer, fields_of_tuples) {
    KINDS("t.0.1", T_NAME, T_DOT, T_INT, T_DOT, T_INT);
    KINDS("v.x", T_NAME, T_DOT, T_NAME);
}

LOOM_TEST(syntax_lexer, numbers) {
    fixture f;
    lex(&f, "0xff 0b101 1_000 2i8 1f32 1e3 0.5f64 0x1.8p1");
    LOOM_CHECK_EQ_INT(f.tokens.at[0].integer, 255);
    LOOM_CHECK_EQ_INT(f.tokens.at[1].integer, 5);
    LOOM_CHECK_EQ_INT(f.tokens.at[2].integer, 1000);
    LOOM_CHECK_EQ_INT(f.tokens.at[3].suffix, LOOM_I8);
    LOOM_CHECK_EQ_INT(f.tokens.at[4].kind, T_FLOAT);
    LOOM_CHECK_NEAR(f.tokens.at[5].real, 1000.0, 0);
    LOOM_CHECK_NEAR(f.tokens.at[6].real, 0.5, 0);
    LOOM_CHECK_NEAR(f.tokens.at[7].real, 3.0, 0);
    LOOM_CHECK(!f.diagnostics.any_error);
    loom_arena_destroy(f.arena);
}

LOOM_TEST(syntax_lexer, comments_and_places) {
    fixture f;
    lex(&f, "-- head\ndef f = 1 -- tail\n");
    LOOM_CHECK_EQ_INT(f.tokens.n_comments, 2);
    LOOM_CHECK(f.tokens.comments[0].own_line);
    LOOM_CHECK(!f.tokens.comments[1].own_line);
    LOOM_CHECK_EQ_INT(f.tokens.at[0].span.line, 2);
    LOOM_CHECK_EQ_INT(f.tokens.at[1].span.column, 5);
    loom_arena_destroy(f.arena);
}

LOOM_TEST(syntax_lexer, refuses_what_is_not_weft) {
    static const char *const texts[] = {"\"text\"", "'a'", "1q", "99999999999999999999999", "\x01", "$", "1i"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fixture f;
        lex(&f, texts[i]);
        LOOM_CHECK(f.diagnostics.any_error);
        loom_arena_destroy(f.arena);
    }
}
