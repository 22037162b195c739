/* Blocks of tests in comments: what is tested how. Values are read later, when the types are known. */
#include "test_text.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- characters ---- */

/* Where the text of a comment line begins, or 0 where the line is none. */
static size_t comment_text(const loom_testing_text *t, size_t at) {
    while (at < t->length && (t->text[at] == ' ' || t->text[at] == '\t')) at++;
    return at + 1 < t->length && t->text[at] == '-' && t->text[at + 1] == '-' ? at + 2 : 0;
}

int test_now(const loom_testing_text *t) {
    return t->at < t->length ? (unsigned char)t->text[t->at] : -1;
}

void test_next(loom_testing_text *t) {
    if (t->at >= t->length) return;
    if (t->text[t->at] != '\n') {
        t->at++;
        t->column++;
        return;
    }
    size_t line = t->at + 1, next = comment_text(t, line);
    if (!next) {
        t->length = t->at; /* the block ends before this line's end */
        return;
    }
    t->at = next;
    t->line++;
    t->column = (uint32_t)(next - line) + 1;
}

void test_skip_blanks(loom_testing_text *t) {
    while (test_now(t) >= 0 && isspace(test_now(t))) test_next(t);
}

bool test_take(loom_testing_text *t, char c) {
    test_skip_blanks(t);
    if (test_now(t) != (unsigned char)c) return false;
    test_next(t);
    return true;
}

static bool in_word(int c) {
    return c >= 0 && (isalnum(c) || c == '_' || c == '.' || c == '+' || c == '-');
}

loom_status *test_word(loom_testing_text *t, char word[TEST_LONGEST_WORD + 1]) {
    test_skip_blanks(t);
    loom_testing_text start = *t;
    size_t n = 0;
    for (; in_word(test_now(t)); test_next(t)) {
        if (n == TEST_LONGEST_WORD) return test_error(&start, "a word of more than %d characters", TEST_LONGEST_WORD);
        word[n++] = (char)test_now(t);
    }
    word[n] = '\0';
    return NULL;
}

/* ---- errors ---- */

loom_span test_place(const loom_testing_text *t) {
    return (loom_span){.line = t->line, .column = t->column, .end_line = t->line, .end_column = t->column + 1};
}

loom_status *test_error(const loom_testing_text *t, const char *format, ...) {
    char message[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return loom_error_at(LOOM_E_DATA, t->file, test_place(t), "%s", message);
}

loom_status *test_expected(const loom_testing_text *t, const char *what) {
    int c = test_now(t);
    if (c < 0) return test_error(t, "expected %s, found the end of the test", what);
    if (!isprint(c)) return test_error(t, "expected %s, found a character that has no meaning here", what);
    char word[40] = {(char)c};
    for (size_t n = 0; n + 1 < sizeof word && t->at + n < t->length && in_word((unsigned char)t->text[t->at + n]); n++)
        word[n] = t->text[t->at + n];
    return test_error(t, "expected %s, found `%s`", what, word);
}

/* ---- parts of a block ---- */

typedef struct block_parser {
    loom_arena *arena;
    loom_testing_text t;
    loom_testing_block *block;
    loom_testing_regex **regexes;
    LOOM_VEC(loom_testing_entry) entries;
    LOOM_VEC(const loom_testing_regex *) warnings;
    LOOM_VEC(loom_testing_claim) claims;
    LOOM_VEC(loom_testing_case) cases;
    /* of the case to come */
    const char *name, *skipped;
    bool random, compiled;
} block_parser;

/* From inside braces to past the closing one. Strings may have braces in them. */
static loom_status *skip_braces(loom_testing_text *t) {
    loom_testing_text start = *t;
    bool string = false;
    for (uint32_t open = 1; open; test_next(t)) {
        int c = test_now(t);
        if (c < 0) return test_error(&start, "expected `}` at the end of what begins here");
        if (string && c == '\\') test_next(t);
        if (c == '"') string = !string;
        if (!string && c == '{') open++;
        if (!string && c == '}') open--;
    }
    return NULL;
}

static loom_status *skip_in_braces(loom_testing_text *t) {
    if (!test_take(t, '{')) return test_expected(t, "`{`");
    return skip_braces(t);
}

static const char *rest_of_line(block_parser *b) {
    while (test_now(&b->t) == ' ' || test_now(&b->t) == '\t') test_next(&b->t);
    size_t from = b->t.at;
    while (test_now(&b->t) >= 0 && test_now(&b->t) != '\n') test_next(&b->t);
    size_t to = b->t.at;
    while (to > from && isspace((unsigned char)b->t.text[to - 1])) to--;
    return loom_arena_strndup(b->arena, b->t.text + from, to - from);
}

static loom_status *entry_name(block_parser *b, const char *text, size_t n, loom_span span) {
    loom_testing_entry entry = {.name = loom_arena_strndup(b->arena, text, n), .span = span};
    entry.span.end_column = span.column + (uint32_t)n;
    for (size_t i = 0; i < b->entries.count; i++) {
        if (strcmp(b->entries.at[i].name, entry.name) == 0) {
            return loom_error_at(LOOM_E_DATA, b->t.file, entry.span, "the entry `%s` is there twice", entry.name);
        }
    }
    LOOM_PUSH(b->arena, b->entries, entry);
    return NULL;
}

static loom_status *entries(block_parser *b, const loom_testing_text *start) {
    if (b->entries.count || b->cases.count) {
        loom_status *again = test_error(start, "`entry:` stands once, before the first input");
        return loom_status_note(again, "hint: begin a new block with `-- ==` for other entries");
    }
    loom_span span = test_place(&b->t);
    size_t from = b->t.at;
    while (test_now(&b->t) >= 0 && test_now(&b->t) != '\n') test_next(&b->t);
    const char *line = b->t.text + from;
    size_t length = b->t.at - from;
    for (size_t at = 0, n; at < length; at += n) {
        for (n = 0; at + n < length && isspace((unsigned char)line[at + n]);) n++;
        at += n;
        if (at + 1 < length && line[at] == '-' && line[at + 1] == '-') break; /* a remark */
        for (n = 0; at + n < length && !isspace((unsigned char)line[at + n]);) n++;
        loom_span place = span;
        place.column += (uint32_t)at;
        if (n) LOOM_TRY(entry_name(b, line + at, n, place));
    }
    return b->entries.count ? NULL : test_expected(&b->t, "names of entries after `entry:`");
}

static loom_status *quoted(block_parser *b) {
    loom_testing_text start = b->t;
    test_next(&b->t);
    size_t from = b->t.at;
    while (test_now(&b->t) >= 0 && test_now(&b->t) != '"' && test_now(&b->t) != '\n') test_next(&b->t);
    if (test_now(&b->t) != '"') return test_error(&start, "expected `\"` at the end of the name");
    b->name = loom_arena_strndup(b->arena, b->t.text + from, b->t.at - from);
    test_next(&b->t);
    return NULL;
}

/* What stands between braces, for later; or the name of a file, which no program of ours brings along. */
static loom_status *values(block_parser *b, loom_testing_text *values, const char **skipped) {
    if (test_take(&b->t, '@')) {
        test_skip_blanks(&b->t);
        while (test_now(&b->t) >= 0 && !isspace(test_now(&b->t))) test_next(&b->t);
        if (!*skipped) *skipped = "its values are in a file";
        return NULL;
    }
    if (!test_take(&b->t, '{')) return test_expected(&b->t, "`{` and values");
    *values = b->t;
    return skip_braces(&b->t);
}

static loom_status *input(block_parser *b, loom_span span) {
    loom_testing_case c = {
        .span = span, .name = b->name, .random = b->random, .compiled = b->compiled, .skipped = b->skipped};
    LOOM_TRY(values(b, &c.input, &c.skipped));
    LOOM_PUSH(b->arena, b->cases, c);
    b->name = b->skipped = NULL;
    b->random = b->compiled = false;
    return NULL;
}

/* The case that an outcome belongs to. */
static loom_testing_case *last_case(block_parser *b) {
    loom_testing_case *c = b->cases.count ? &b->cases.at[b->cases.count - 1] : NULL;
    return c && c->outcome == LOOM_TESTING_RUNS ? c : NULL;
}

static loom_status *outcome(block_parser *b, loom_testing_outcome outcome, const loom_testing_text *start) {
    loom_testing_case *c = last_case(b);
    if (!c) return test_error(start, "an output without an input of its own");
    c->outcome = outcome;
    return outcome == LOOM_TESTING_VALUES ? values(b, &c->output, &c->skipped) : NULL;
}

static loom_status *automatic(block_parser *b, const loom_testing_text *start) {
    char word[TEST_LONGEST_WORD + 1];
    test_skip_blanks(&b->t);
    loom_testing_text second = b->t;
    LOOM_TRY(test_word(&b->t, word));
    return strcmp(word, "output") == 0 ? outcome(b, LOOM_TESTING_AUTO, start)
                                       : test_expected(&second, "`output` after `auto`");
}

static loom_status *regex(block_parser *b, const loom_testing_regex **made) {
    while (test_now(&b->t) == ' ' || test_now(&b->t) == '\t') test_next(&b->t);
    loom_span span = test_place(&b->t);
    return test_regex(b->arena, b->t.file, span, rest_of_line(b), b->regexes, made);
}

/* Of the case before it; of the whole program where there is none. */
static loom_status *error(block_parser *b, const loom_testing_text *start) {
    const loom_testing_regex *fits;
    LOOM_TRY(regex(b, &fits));
    loom_testing_case *c = last_case(b);
    if (c) {
        c->outcome = LOOM_TESTING_ERROR;
        c->error = fits;
        return NULL;
    }
    if (b->cases.count || b->block->error) return test_error(start, "an error without an input of its own");
    b->block->error = fits;
    return NULL;
}

static loom_status *warning(block_parser *b) {
    const loom_testing_regex *fits;
    LOOM_TRY(regex(b, &fits));
    LOOM_PUSH(b->arena, b->warnings, fits);
    return NULL;
}

/* ---- what is expected of the compiler ---- */

/* Digits up to `most`, which is less than 10^18. */
static loom_status *count(block_parser *b, const char *what, uint64_t most, uint64_t *to) {
    test_skip_blanks(&b->t);
    loom_testing_text start = b->t;
    if (test_now(&b->t) < 0 || !isdigit(test_now(&b->t))) return test_expected(&start, what);
    for (*to = 0; test_now(&b->t) >= 0 && isdigit(test_now(&b->t)); test_next(&b->t)) {
        *to = 10 * *to + (uint64_t)(test_now(&b->t) - '0');
        if (*to > most) return test_error(&start, "expected %s of at most %llu", what, (unsigned long long)most);
    }
    return NULL;
}

static loom_status *steps(block_parser *b, loom_span span) {
    loom_testing_claim c = {.span = span, .verdict = LOOM_TESTING_STEPS, .lift = LOOM_LIFTS, .size = LOOM_TESTING_SIZE};
    char word[TEST_LONGEST_WORD + 1];
    test_skip_blanks(&b->t);
    loom_testing_text start = b->t;
    LOOM_TRY(test_word(&b->t, word));
    for (int i = 0; i < LOOM_LIFTS; i++) {
        if (strcmp(word, loom_lift_names[i]) == 0) c.lift = (loom_lift)i;
    }
    if (c.lift == LOOM_LIFTS) return test_expected(&start, "`unlifted`, `regular` or `irregular` after `steps:`");
    c.at_most = test_take(&b->t, '<');
    if (c.at_most && !test_take(&b->t, '=')) return test_expected(&b->t, "`<=`");
    LOOM_TRY(count(b, "a number of steps", 1000000000, &c.steps));
    test_skip_blanks(&b->t);
    loom_testing_text after = b->t;
    LOOM_TRY(test_word(&b->t, word));
    if (strcmp(word, "at") == 0) {
        uint64_t size;
        LOOM_TRY(count(b, "a size", 1000000000, &size));
        c.size = (int64_t)size;
    } else {
        b->t = after;
    }
    LOOM_PUSH(b->arena, b->claims, c);
    return NULL;
}

static loom_status *representation(block_parser *b, loom_span span) {
    static const struct {
        const char *word;
        loom_testing_verdict verdict;
    } verdicts[] = {{"regular", LOOM_TESTING_REGULAR},
                    {"irregular", LOOM_TESTING_IRREGULAR},
                    {"tested", LOOM_TESTING_TESTED},
                    {"compiled", LOOM_TESTING_COMPILED},
                    {"interpreted", LOOM_TESTING_INTERPRETED}};
    char word[TEST_LONGEST_WORD + 1];
    test_skip_blanks(&b->t);
    loom_testing_text start = b->t;
    LOOM_TRY(test_word(&b->t, word));
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++) {
        if (strcmp(word, verdicts[i].word) != 0) continue;
        loom_testing_claim c = {.span = span, .verdict = verdicts[i].verdict, .size = LOOM_TESTING_SIZE};
        LOOM_PUSH(b->arena, b->claims, c);
        return NULL;
    }
    return test_expected(&start,
                         "`regular`, `irregular`, `tested`, `compiled` or `interpreted` after `representation:`");
}

/* `structure gpu { Map 1 }`: of Futhark's own compiler. */
static loom_status *structure(block_parser *b) {
    char word[TEST_LONGEST_WORD + 1];
    LOOM_TRY(test_word(&b->t, word));
    return skip_in_braces(&b->t);
}

static loom_status *item(block_parser *b) {
    char word[TEST_LONGEST_WORD + 1];
    loom_testing_text start = b->t;
    if (test_now(&b->t) == '"') return quoted(b);
    LOOM_TRY(test_word(&b->t, word));
    if (!*word) return test_expected(&start, "`input`, `output`, `entry:` or `error:`");
    bool colon = test_now(&b->t) == ':';
    if (colon) test_next(&b->t);
    if (strcmp(word, "entry") == 0 && colon) return entries(b, &start);
    if (strcmp(word, "error") == 0 && colon) return error(b, &start);
    if (strcmp(word, "warning") == 0 && colon) return warning(b);
    if (strcmp(word, "steps") == 0 && colon) return steps(b, test_place(&start));
    if (strcmp(word, "representation") == 0 && colon) return representation(b, test_place(&start));
    if (colon) return test_expected(&start, "`entry:`, `error:`, `warning:`, `steps:` or `representation:`");
    if (strcmp(word, "tags") == 0) return skip_in_braces(&b->t);
    if (strcmp(word, "structure") == 0) return structure(b);
    if (strcmp(word, "input") == 0) return input(b, test_place(&start));
    if (strcmp(word, "output") == 0) return outcome(b, LOOM_TESTING_VALUES, &start);
    if (strcmp(word, "auto") == 0) return automatic(b, &start);
    if (strcmp(word, "random") == 0) b->random = true;
    if (strcmp(word, "compiled") == 0) b->compiled = true;
    if (strcmp(word, "script") == 0) b->skipped = "its input is made by a script";
    if (strcmp(word, "notest") == 0) b->skipped = "it says so";
    /* Other words are of the tools that measure. They stand before an input. */
    test_skip_blanks(&b->t);
    return test_now(&b->t) < 0 ? test_expected(&start, "`input`, `output`, `entry:` or `error:`") : NULL;
}

static loom_status *parse_block(block_parser *b) {
    for (test_skip_blanks(&b->t); test_now(&b->t) >= 0; test_skip_blanks(&b->t)) LOOM_TRY(item(b));
    if (b->entries.count == 0) LOOM_PUSH(b->arena, b->entries, ((loom_testing_entry){"main", b->block->span}));
    if (b->block->error && b->cases.count) {
        return loom_error_at(LOOM_E_DATA, b->t.file, b->cases.at[0].span,
                             "a program that must not compile has no input");
    }
    b->block->entries = b->entries.at;
    b->block->n_entries = (uint32_t)b->entries.count;
    if (b->block->error && b->warnings.count) {
        return loom_error_at(LOOM_E_DATA, b->t.file, loom_testing_regex_span(b->warnings.at[0]),
                             "a program that must not compile has no warnings that count");
    }
    if (b->block->error && b->claims.count) {
        return loom_error_at(LOOM_E_DATA, b->t.file, b->claims.at[0].span,
                             "a program that must not compile has no steps and no representation");
    }
    b->block->claims = b->claims.at;
    b->block->n_claims = (uint32_t)b->claims.count;
    b->block->warnings = b->warnings.at;
    b->block->n_warnings = (uint32_t)b->warnings.count;
    b->block->cases = b->cases.at;
    b->block->n_cases = (uint32_t)b->cases.count;
    return NULL;
}

/* ---- finding blocks ---- */

/* What must not compile has no entries that could be tested. */
static loom_status *check_alone(const char *name, const loom_testing_block *blocks, size_t n) {
    for (size_t i = 0; i < n && n > 1; i++) {
        if (!blocks[i].error) continue;
        loom_status *other =
            loom_error_at(LOOM_E_DATA, name, blocks[i ? 0 : 1].span,
                          "a block of tests in a program that must not compile (line %u)", blocks[i].span.line);
        return loom_status_note(other, "hint: put what must not compile into a file of its own");
    }
    return NULL;
}

/* Is the rest of the line `==` and nothing else? */
static bool is_mark(const char *text, size_t from, size_t end) {
    while (from < end && isspace((unsigned char)text[from])) from++;
    while (end > from && isspace((unsigned char)text[end - 1])) end--;
    return end - from == 2 && text[from] == '=' && text[from + 1] == '=';
}

static loom_status *parse_all(loom_arena *arena, const char *name, const char *text, size_t length,
                              loom_testing_blocks *blocks) {
    LOOM_VEC(loom_testing_block) found = {0};
    uint32_t line = 1;
    for (size_t at = 0; at < length; line++) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t end = newline ? (size_t)(newline - text) : length;
        loom_testing_text t = {.file = name, .text = text, .length = length, .at = end, .line = line};
        size_t inside = comment_text(&t, at);
        t.column = (uint32_t)(end - at) + 1;
        if (inside && inside <= end && is_mark(text, inside, end)) {
            loom_testing_block block = {.span = {.line = line, .column = 1, .end_line = line, .end_column = t.column}};
            block_parser b = {.arena = arena, .t = t, .block = &block, .regexes = &blocks->regexes};
            LOOM_TRY(parse_block(&b));
            LOOM_PUSH(arena, found, block);
            end = b.t.at;
            line = b.t.line;
        }
        at = end + 1;
    }
    LOOM_TRY(check_alone(name, found.at, found.count));
    blocks->at = found.at;
    blocks->count = (uint32_t)found.count;
    return NULL;
}

loom_status *loom_testing_parse(loom_arena *arena, const char *name, const char *text, size_t length,
                                loom_testing_blocks *blocks) {
    loom_testing_blocks made = {0};
    loom_status *status = parse_all(arena, name, text, length, &made);
    if (status) {
        loom_testing_free(&made);
    } else {
        *blocks = made;
    }
    return status;
}
