/* Regular expressions of tests. The system's regcomp recurses over brackets and writes repetitions out, so what it is
 * given is measured first: one pass that counts the characters which the expression stands for when written out. */
#include "test_text.h"
#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct loom_testing_regex {
    loom_span span;
    const char *text;
    bool any; /* "" */
    regex_t compiled;
    struct loom_testing_regex *next; /* of the file */
};

/* ---- what it costs ---- */

/* Past a bracket expression, from past its `[`. */
static const char *skip_set(const char *at) {
    if (*at == '^') at++;
    if (*at == ']') at++;
    while (*at && *at != ']') {
        char kind = at[0] == '[' ? at[1] : '\0';
        bool named = kind == ':' || kind == '.' || kind == '=';
        at += named ? 2 : 1;
        if (!named) continue;
        while (*at && !(at[0] == kind && at[1] == ']')) at++;
        if (*at) at += 2;
    }
    return *at ? at + 1 : at;
}

/* How often an interval `{m,n}` has what is before it written out; *at moves behind it. */
static uint64_t repeats(const char **at) {
    uint64_t most = 1, now = 0;
    bool open = false;
    const char *c = *at + 1;
    for (; *c && *c != '}'; c++) {
        if (*c == ',') now = 0;
        if (isdigit((unsigned char)*c) && now < 100000) now = 10 * now + (uint64_t)(*c - '0');
        if (now > most) most = now;
        open = *c == ',';
    }
    *at = *c ? c + 1 : c;
    return most + open;
}

/* Does the interval that ends here begin with 0 or with a comma? */
static bool may_be_none(const char *text, const char *end) {
    const char *at = end;
    while (at > text && *at != '{') at--;
    return strtoul(at + 1, NULL, 10) == 0;
}

/* What was read of a group, or of its last part. */
typedef struct piece {
    uint64_t size;    /* characters, written out */
    bool empty;       /* may be empty: of a group, its alternative so far */
    bool other_empty; /* of a group: an alternative before that */
} piece;

static piece followed_by(piece group, piece part) {
    group.size += part.size;
    group.empty = group.empty && part.empty;
    return group;
}

/* Past a character, a set or an anchor. */
static piece single(const char **at) {
    bool anchor = **at == '^' || **at == '$';
    if (**at == '[') {
        *at = skip_set(*at + 1);
    } else {
        if (**at == '\\' && (*at)[1]) {
            ++*at;
            anchor = strchr("bB<>`'", **at) != NULL;
        }
        ++*at;
    }
    return (piece){.size = 1, .empty = anchor};
}

/* NULL, or why it is refused. `before` is what the group had before its last part. */
static const char *too_much(const char *text) {
    piece stack[LOOM_TESTING_MAX_REGEX_DEPTH + 1] = {{.empty = true}}, *group = stack, before = *group;
    piece last = {.empty = true};
    for (const char *at = text; *at;) {
        bool repetition = strchr("{*+?", *at) != NULL;
        if (repetition) {
            if (last.empty && at > text) return "a repetition of what may be empty takes exponential time";
            bool none = *at != '+' && *at != '{';
            uint64_t times = *at == '+' ? 2 : 1; /* x+ is xx* */
            if (*at == '{')
                times = repeats(&at);
            else
                at++;
            last.size *= times;
            last.empty = none || (at[-1] == '}' && may_be_none(text, at));
        } else if (*at == '(') {
            if (group == stack + LOOM_TESTING_MAX_REGEX_DEPTH) return "brackets in each other are too deep";
            *++group = before = (piece){.empty = true};
            last = (piece){.empty = true};
            at++;
            continue;
        } else if (*at == '|') {
            group->other_empty = group->other_empty || group->empty;
            group->empty = true;
            before = *group;
            last = (piece){.empty = true};
            at++;
            continue;
        } else if (*at == ')' && group > stack) {
            last = (piece){.size = group->size + 1, .empty = group->empty || group->other_empty};
            before = *--group;
            at++;
        } else {
            if (*at == '\\' && at[1] >= '1' && at[1] <= '9') return "references back take exponential time";
            before = *group;
            last = single(&at);
        }
        *group = followed_by(before, last);
        if (group->size > LOOM_TESTING_MAX_REGEX) return "its repetitions, written out, are too long";
    }
    return NULL;
}

/* ---- compiling and matching ---- */

static loom_status *refused(const char *file, loom_span span, const char *why) {
    loom_status *status = loom_error_at(LOOM_E_DATA, file, span, "the regular expression: %s", why);
    return loom_status_note(status,
                            "hint: a POSIX extended one, of %d characters at most, repetitions written out, and %d "
                            "brackets in each other; `\\(` is the character",
                            LOOM_TESTING_MAX_REGEX, LOOM_TESTING_MAX_REGEX_DEPTH);
}

loom_status *test_regex(loom_arena *arena, const char *file, loom_span span, const char *text,
                        loom_testing_regex **list, const loom_testing_regex **made) {
    size_t length = strlen(text);
    span.end_column = span.column + (uint32_t)length;
    if (length > LOOM_TESTING_MAX_REGEX) return refused(file, span, "it is too long");
    const char *why = too_much(text);
    if (why) return refused(file, span, why);
    loom_testing_regex *r = LOOM_NEW(arena, loom_testing_regex);
    *r = (loom_testing_regex){.span = span, .text = text, .any = length == 0, .next = *list};
    int wrong = r->any ? 0 : regcomp(&r->compiled, text, REG_EXTENDED | REG_NOSUB);
    if (wrong) {
        char words[200];
        regerror(wrong, &r->compiled, words, sizeof words);
        return refused(file, span, words);
    }
    *list = r;
    *made = r;
    return NULL;
}

const char *loom_testing_regex_text(const loom_testing_regex *r) {
    return r->text;
}

loom_span loom_testing_regex_span(const loom_testing_regex *r) {
    return r->span;
}

bool loom_testing_fits(const loom_testing_regex *r, const char *text) {
    return r->any || regexec(&r->compiled, text, 0, NULL, 0) == 0;
}

void loom_testing_free(loom_testing_blocks *blocks) {
    for (loom_testing_regex *r = blocks->regexes; r; r = r->next) {
        if (!r->any) regfree(&r->compiled);
    }
    *blocks = (loom_testing_blocks){0};
}
