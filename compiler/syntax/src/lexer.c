/* The lexer, after Futhark's: an operator is a run of operator characters, `--` begins a comment, a number takes a type
 * suffix, and `0..<n` is a number and a range sign, not a number with a point. */
#include "common/limits.h"
#include "token.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_LEXICAL_ERRORS = 10
}; /* a binary file would give one each byte */

typedef struct lexer {
    syn_context *c;
    const char *text;
    uint32_t length, at;
    uint32_t file, line, line_start;
    unsigned errors;
    bool space;
    LOOM_VEC(syn_token) tokens;
    LOOM_VEC(syn_comment) comments;
} lexer;

static int peek(const lexer *l, uint32_t ahead) {
    return l->at + ahead < l->length ? (unsigned char)l->text[l->at + ahead] : 0;
}

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(int c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_word(int c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '\'';
}

static bool is_operator(int c) {
    return c && strchr("+-*/%=!><|&^.~", c) != NULL;
}

static loom_span span_of(const lexer *l, uint32_t from, uint32_t to) {
    return (loom_span){.file = l->file,
                       .line = l->line,
                       .column = from - l->line_start + 1,
                       .end_line = l->line,
                       .end_column = to - l->line_start + 1};
}

static void complain(lexer *l, loom_weft_error error, uint32_t from, uint32_t to, const char *hint, const char *what) {
    if (l->errors++ < MAX_LEXICAL_ERRORS) {
        loom_syn_report(l->c, error, span_of(l, from, to), hint, "%s", what);
    }
}

static syn_token *push(lexer *l, syn_token_kind kind, uint32_t from) {
    syn_token token = {.kind = kind,
                       .space_before = l->space,
                       .suffix = LOOM_DTYPES,
                       .offset = from,
                       .length = l->at - from,
                       .span = span_of(l, from, l->at)};
    LOOM_PUSH(l->c->arena, l->tokens, token);
    l->space = false;
    return &l->tokens.at[l->tokens.count - 1];
}

#define NUL_HINT "programs are ASCII text: is this file one?"

static void lex_comment(lexer *l) {
    uint32_t from = l->at;
    bool nul = false;
    for (; l->at < l->length && l->text[l->at] != '\n'; l->at++) nul = nul || l->text[l->at] == '\0';
    if (nul) complain(l, LOOM_W_NUL_BYTE, from, l->at, NUL_HINT, "a comment with a NUL byte in it");
    uint32_t to = l->at;
    while (to > from && (l->text[to - 1] == '\r' || l->text[to - 1] == ' ' || l->text[to - 1] == '\t')) to--;
    const syn_token *last = l->tokens.count ? &l->tokens.at[l->tokens.count - 1] : NULL;
    syn_comment comment = {.offset = from,
                           .length = to - from,
                           .line = l->line,
                           .next_token = (uint32_t)l->tokens.count,
                           .own_line = !last || last->span.line != l->line};
    LOOM_PUSH(l->c->arena, l->comments, comment);
    l->space = true;
}

static void lex_word(lexer *l) {
    uint32_t from = l->at;
    while (is_word(peek(l, 0))) l->at++;
    if (l->at - from == 1 && l->text[from] == '_') {
        push(l, T_UNDERSCORE, from);
        return;
    }
    if (l->at - from > LOOM_MAX_NAME) {
        complain(l, LOOM_W_NAME_LENGTH, from, l->at, "a name is shown in every message about it: choose a shorter one",
                 "a name of more than 255 bytes");
    }
    syn_name *name = loom_syn_intern(l->c, l->text + from, l->at - from);
    push(l, name->keyword ? (syn_token_kind)name->keyword : T_NAME, from)->name = name;
}

bool loom_syn_is_stand_in(const syn_name *name) {
    for (const char *c = name->text; *c; c++) {
        if (*c == '"' || (unsigned char)*c >= 0x80) return true;
    }
    return false;
}

/* For a word or string that Weft does not have, so that what is around it still parses. */
static void push_stand_in(lexer *l, uint32_t from) {
    push(l, T_NAME, from)->name = loom_syn_intern(l->c, l->text + from, l->at - from);
}

/* 'a, '^a, '~a; a character literal is refused. */
static void lex_quote(lexer *l) {
    uint32_t from = l->at++;
    if (peek(l, 0) == '^' || peek(l, 0) == '~') l->at++;
    uint32_t word = l->at;
    if ((is_letter(peek(l, 0)) && peek(l, 1) == '\'') || (peek(l, 0) == '\\' && peek(l, 2) == '\'')) {
        l->at += peek(l, 0) == '\\' ? 3 : 2;
        complain(l, LOOM_W_QUOTED, from, l->at, "write the character's number, such as 97u8",
                 "there are no character literals");
        push(l, T_INT, from);
        return;
    }
    while (is_letter(peek(l, 0)) || is_digit(peek(l, 0)) || peek(l, 0) == '_') l->at++;
    if (l->at == word) {
        complain(l, LOOM_W_QUOTE_ALONE, from, l->at, "a type parameter is written 'a", "a quote without a name");
        return;
    }
    syn_name *name = loom_syn_intern(l->c, l->text + word, l->at - word);
    push(l, T_TYPE_VAR, from)->name = name;
}

/* Digits of a base with `_` between them; false if the value does not fit 64 bits. */
static bool take_digits(lexer *l, unsigned base, uint64_t *value) {
    bool fits = true;
    for (;; l->at++) {
        int c = peek(l, 0);
        if (c == '_') continue;
        unsigned digit = is_digit(c) ? (unsigned)(c - '0') : is_hex(c) ? (unsigned)((c | 32) - 'a' + 10) : 99;
        if (digit >= base) break;
        if (*value > (UINT64_MAX - digit) / base) fits = false;
        *value = *value * base + digit;
    }
    return fits;
}

/* A type's name directly behind a number. */
static loom_dtype take_suffix(lexer *l) {
    uint32_t end = l->at;
    while (end < l->length && end - l->at < 5 && is_word((unsigned char)l->text[end])) end++;
    char word[8] = {0};
    memcpy(word, l->text + l->at, end - l->at);
    loom_dtype type;
    if (!loom_dtype_parse(word, &type) || type == LOOM_BOOL) return LOOM_DTYPES;
    l->at = end;
    return type;
}

static double decimal_value(lexer *l, uint32_t from, uint32_t to) {
    char *copy = LOOM_NEW_ARRAY(l->c->arena, char, (size_t)(to - from) + 1);
    size_t n = 0;
    for (uint32_t i = from; i < to; i++) {
        if (l->text[i] != '_') copy[n++] = l->text[i];
    }
    return strtod(copy, NULL);
}

/* Fraction and exponent, if there are any: `1.5`, `1e-3`, `0x1.8p3`. */
static bool take_fraction(lexer *l, bool hexadecimal) {
    bool real = false;
    bool (*const digit)(int) = hexadecimal ? is_hex : is_digit;
    if (peek(l, 0) == '.' && digit(peek(l, 1))) {
        real = true;
        l->at++;
        while (digit(peek(l, 0)) || peek(l, 0) == '_') l->at++;
    }
    int mark = peek(l, 0) | 32;
    uint32_t sign = peek(l, 1) == '+' || peek(l, 1) == '-' ? 1 : 0;
    if (mark == (hexadecimal ? 'p' : 'e') && is_digit(peek(l, 1 + sign))) {
        real = true;
        l->at += 1 + sign;
        while (is_digit(peek(l, 0))) l->at++;
    }
    return real;
}

static void lex_number(lexer *l) {
    uint32_t from = l->at;
    int mark = peek(l, 1) | 32;
    bool hexadecimal = peek(l, 0) == '0' && mark == 'x' && is_hex(peek(l, 2));
    bool binary = peek(l, 0) == '0' && mark == 'b' && (peek(l, 2) == '0' || peek(l, 2) == '1');
    bool based = peek(l, 0) == '0' && (mark == 'x' || mark == 'b' || mark == 'o') && !hexadecimal && !binary;
    /* A field number of a tuple, `t.0`, ends with its digits. */
    const syn_token *last = l->tokens.count ? &l->tokens.at[l->tokens.count - 1] : NULL;
    bool field = last && last->kind == T_DOT && !l->space;
    if (hexadecimal || binary) l->at += 2;
    uint64_t value = 0;
    bool fits = take_digits(l, hexadecimal ? 16 : binary ? 2 : 10, &value);
    bool real = !field && !binary && take_fraction(l, hexadecimal);
    uint32_t end = l->at;
    loom_dtype suffix = field ? LOOM_DTYPES : take_suffix(l);
    if (is_word(peek(l, 0))) {
        while (is_word(peek(l, 0))) l->at++;
        complain(l, LOOM_W_NUMBER_FORM, from, l->at,
                 based ? "hexadecimal numbers are written 0xff, binary ones 0b101"
                       : "suffixes are the scalar types, as in 1i64 or 0.5f32",
                 based ? "a number without digits of its base" : "a number with an unknown suffix");
    }
    syn_token *token = push(l, real || loom_dtype_is_float(suffix) ? T_FLOAT : T_INT, from);
    token->suffix = suffix;
    token->integer = value;
    token->real = real || !fits ? decimal_value(l, from, end) : (double)value;
    if (!fits && token->kind == T_INT) {
        complain(l, LOOM_W_INTEGER_BITS, from, end, "write it as a float, with a point or an exponent",
                 "an integer beyond 64 bits");
        token->integer = 0;
    }
    if (real && loom_dtype_is_integer(suffix)) {
        complain(l, LOOM_W_NUMBER_FORM, from, l->at, "`i32 1.5` converts; without a type at its end this is a float",
                 "a number with a fraction or an exponent, and an integer type");
    }
}

static void lex_operator(lexer *l) {
    uint32_t from = l->at;
    while (is_operator(peek(l, 0)) && !(peek(l, 0) == '-' && peek(l, 1) == '-')) l->at++;
    uint32_t n = l->at - from;
    const char *text = l->text + from;
    if (n == 1 && *text == '=') {
        push(l, T_EQUALS, from);
    } else if (n == 2 && memcmp(text, "->", 2) == 0) {
        push(l, T_ARROW, from);
    } else {
        push(l, T_OP, from)->name = loom_syn_intern(l->c, text, n);
    }
}

static void lex_dots(lexer *l) {
    uint32_t from = l->at;
    bool two = peek(l, 1) == '.';
    int third = two ? peek(l, 2) : 0;
    syn_token_kind kind = !two           ? T_DOT
                          : third == '.' ? T_DOTS_TO
                          : third == '<' ? T_DOTS_LESS
                          : third == '>' ? T_DOTS_MORE
                                         : T_DOTS;
    l->at += kind == T_DOT ? 1 : kind == T_DOTS ? 2 : 3;
    push(l, kind, from);
}

static void lex_string(lexer *l) {
    uint32_t from = l->at++;
    while (l->at < l->length && l->text[l->at] != '"' && l->text[l->at] != '\n') l->at++;
    if (peek(l, 0) == '"') l->at++;
    /* That of an `import` is told by what the parser says of the word. */
    const syn_token *last = l->tokens.count ? &l->tokens.at[l->tokens.count - 1] : NULL;
    if (!last || last->kind != T_NAME || strcmp(last->name->text, "import") != 0) {
        complain(l, LOOM_W_QUOTED, from, l->at, "an array of u8 holds text", "there are no string literals");
    }
    push_stand_in(l, from);
}

/* Bytes beyond ASCII, with the letters among them: a name in another alphabet, most likely. */
static void lex_beyond_ascii(lexer *l) {
    uint32_t from = l->at;
    while (peek(l, 0) >= 0x80 || is_word(peek(l, 0))) l->at++;
    complain(l, LOOM_W_CHARACTER, from, l->at, "names are made of ASCII letters; other alphabets may stand in comments",
             "a character that has no meaning here");
    push_stand_in(l, from);
}

static void lex_symbol(lexer *l) {
    static const struct {
        char c;
        syn_token_kind kind;
    } single[] = {{'(', T_LPAR},       {')', T_RPAR},   {'[', T_LBRACKET}, {']', T_RBRACKET},
                  {'{', T_LBRACE},     {'}', T_RBRACE}, {',', T_COMMA},    {'`', T_BACKTICK},
                  {'\\', T_BACKSLASH}, {'#', T_HASH},   {'?', T_QUESTION}};
    int c = peek(l, 0);
    uint32_t from = l->at;
    if (c == ':') {
        bool coerce = peek(l, 1) == '>';
        l->at += coerce ? 2 : 1;
        push(l, coerce ? T_COERCE : T_COLON, from);
        return;
    }
    l->at++;
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
        if (single[i].c == c) {
            push(l, single[i].kind, from);
            return;
        }
    }
    l->space = true;
    if (c == '\0') {
        complain(l, LOOM_W_NUL_BYTE, from, l->at, NUL_HINT, "a NUL byte");
        return;
    }
    complain(l, LOOM_W_CHARACTER, from, l->at,
             "programs are made of letters, digits, brackets, and + - * / % = ! > < & | ^ . ~",
             "a character that has no meaning here");
}

static void lex_one(lexer *l) {
    int c = peek(l, 0);
    if (c == '\n') {
        l->at++;
        l->line++;
        l->line_start = l->at;
        l->space = true;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        l->at++;
        l->space = true;
    } else if (c == '-' && peek(l, 1) == '-') {
        lex_comment(l);
    } else if (is_letter(c) || c == '_') {
        lex_word(l);
    } else if (is_digit(c)) {
        lex_number(l);
    } else if (c == '\'') {
        lex_quote(l);
    } else if (c == '.') {
        lex_dots(l);
    } else if (c == '"') {
        lex_string(l);
    } else if (is_operator(c)) {
        lex_operator(l);
    } else if (c >= 0x80) {
        lex_beyond_ascii(l);
    } else {
        lex_symbol(l);
    }
}

syn_tokens loom_syn_lex(syn_context *c, uint32_t file, const char *text, size_t length) {
    lexer l = {.c = c, .text = text, .file = file, .line = 1, .space = true};
    if (length > LOOM_SYN_MAX_TEXT) {
        loom_syn_report(c, LOOM_W_TEXT_SIZE, (loom_span){.file = file, .line = 1, .column = 1},
                        "data are arguments and streams", "the file has %zu bytes; at most %u are read", length,
                        LOOM_SYN_MAX_TEXT);
        length = 0;
    }
    l.length = (uint32_t)length;
    /* Columns are counted from behind a byte order mark; it says nothing of a text in UTF-8. */
    l.at = l.line_start = (uint32_t)loom_syn_mark_length(text, length);
    while (l.at < l.length) lex_one(&l);
    push(&l, T_END, l.at);
    return (syn_tokens){.text = text,
                        .at = l.tokens.at,
                        .count = (uint32_t)l.tokens.count,
                        .comments = l.comments.at,
                        .n_comments = (uint32_t)l.comments.count};
}

const char *loom_syn_token_text(syn_context *c, const syn_tokens *tokens, const syn_token *token) {
    if (token->kind == T_END) return "the end of the text";
    uint32_t n = token->length > 40 ? 40 : token->length;
    return loom_arena_printf(c->arena, "`%.*s%s`", (int)n, tokens->text + token->offset,
                             n < token->length ? "..." : "");
}
