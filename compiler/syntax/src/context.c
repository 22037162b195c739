/* Interned names and the list of diagnostics. */
#include "context.h"
#include "common/buffer.h"
#include "token.h"
#include <stdarg.h>
#include <string.h>

static const struct keyword {
    const char *text;
    syn_token_kind kind;
} keywords[] = {
    {"def", T_DEF},     {"entry", T_ENTRY}, {"let", T_LET},       {"in", T_IN},           {"type", T_TYPE},
    {"if", T_IF},       {"then", T_THEN},   {"else", T_ELSE},     {"loop", T_LOOP},       {"for", T_FOR},
    {"while", T_WHILE}, {"do", T_DO},       {"with", T_WITH},     {"match", T_MATCH},     {"case", T_CASE},
    {"true", T_TRUE},   {"false", T_FALSE}, {"lifted", T_LIFTED}, {"foreign", T_FOREIGN},
};

static uint32_t hash_text(const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

static void rehash(syn_context *c) {
    uint32_t n = 2 * c->n_chains;
    syn_name **chains = LOOM_NEW_ARRAY(c->arena, syn_name *, n);
    for (uint32_t i = 0; i < c->n_chains; i++) {
        for (syn_name *name = c->chains[i]; name;) {
            syn_name *next = name->next;
            name->next = chains[name->hash & (n - 1)];
            chains[name->hash & (n - 1)] = name;
            name = next;
        }
    }
    c->chains = chains;
    c->n_chains = n;
}

syn_name *loom_syn_intern(syn_context *c, const char *text, size_t length) {
    uint32_t hash = hash_text(text, length);
    for (syn_name *name = c->chains[hash & (c->n_chains - 1)]; name; name = name->next) {
        if (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0) return name;
    }
    if (++c->n_names > c->n_chains) rehash(c);
    syn_name *name = LOOM_NEW(c->arena, syn_name);
    name->text = loom_arena_strndup(c->arena, text, length);
    name->length = (uint32_t)length;
    name->hash = hash;
    name->builtin = -1;
    if (!loom_dtype_parse(name->text, &name->dtype)) name->dtype = LOOM_DTYPES;
    name->next = c->chains[hash & (c->n_chains - 1)];
    c->chains[hash & (c->n_chains - 1)] = name;
    return name;
}

void loom_syn_context_init(syn_context *c, loom_arena *arena, loom_diagnostics *diagnostics) {
    *c = (syn_context){.arena = arena, .diagnostics = diagnostics, .n_chains = 256};
    c->chains = LOOM_NEW_ARRAY(arena, syn_name *, c->n_chains);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        loom_syn_intern(c, keywords[i].text, strlen(keywords[i].text))->keyword = (int)keywords[i].kind;
    }
}

loom_span loom_syn_join(loom_span from, loom_span to) {
    if (from.line == 0) return to;
    if (to.line == 0 || to.file != from.file) return from;
    if (to.end_line > from.end_line || (to.end_line == from.end_line && to.end_column > from.end_column)) {
        from.end_line = to.end_line;
        from.end_column = to.end_column;
    }
    return from;
}

static bool same_place(loom_span a, loom_span b) {
    return a.file == b.file && a.line == b.line && a.column == b.column;
}

void loom_syn_printable(char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\t') text[i] = ' ';
        if (text[i] == '\n') text[i] = '?';
    }
    loom_make_printable(text, length);
}

void loom_syn_message(char text[LOOM_SYN_MAX_MESSAGE], const char *format, va_list arguments) {
    int n = vsnprintf(text, LOOM_SYN_MAX_MESSAGE, format, arguments);
    if (n >= LOOM_SYN_MAX_MESSAGE) memcpy(text + LOOM_SYN_MAX_MESSAGE - 4, "...", 4);
    loom_syn_printable(text, strlen(text));
}

void loom_syn_vreport(syn_context *c, loom_weft_error error, loom_span span, const char *hint, const char *format,
                      va_list arguments) {
    bool warning = loom_weft_error_entry(error)->code == LOOM_OK;
    loom_diagnostics *d = c->diagnostics;
    if (!warning) d->any_error = true;
    if (d->count >= LOOM_MAX_DIAGNOSTICS) return;
    char text[LOOM_SYN_MAX_MESSAGE];
    loom_syn_message(text, format, arguments);
    for (size_t i = 0; i < d->count; i++) {
        if (same_place(d->at[i].span, span) && strcmp(d->at[i].message, text) == 0) return;
    }
    loom_diagnostic entry = {.error = error,
                             .warning = warning,
                             .span = span,
                             .message = loom_arena_strdup(c->arena, text),
                             .hint = hint ? loom_arena_strdup(c->arena, hint) : NULL};
    if (d->count == d->capacity) {
        size_t capacity = d->capacity ? 2 * d->capacity : 8;
        d->at = loom_arena_grow(c->arena, d->at, d->count, capacity, sizeof *d->at);
        d->capacity = capacity;
    }
    d->at[d->count++] = entry;
}

void loom_syn_report(syn_context *c, loom_weft_error error, loom_span span, const char *hint, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    loom_syn_vreport(c, error, span, hint, format, arguments);
    va_end(arguments);
}
