/* Printing diagnostics, with the source line and a caret; keeping them beyond an arena. */
#include "context.h"
#include "token.h"
#include <string.h>

/* The line of a text, without its end. */
static const char *line_of(const loom_source_file *file, uint32_t line, size_t *length) {
    const char *end = file->text + file->length, *at = file->text + loom_syn_mark_length(file->text, file->length);
    for (uint32_t i = 1; i < line && at < end; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    *length = (size_t)((newline ? newline : end) - at);
    if (*length && at[*length - 1] == '\r') --*length;
    return at;
}

static bool is_continuation(char c) {
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* Bytes [from, to) of a line; what it is cut off at is told by dots. */
typedef struct window {
    size_t from, to;
} window;

/* A line that is too long for that is shown around `at`. */
static window window_around(const char *line, size_t length, size_t at) {
    enum {
        WIDEST = 160, /* bytes of a line that are shown */
        BEFORE = 60   /* of them before the place of the error */
    };
    window w = {0, length};
    if (length <= WIDEST) return w;
    if (at > BEFORE) w.from = at - BEFORE;
    if (w.from > length - WIDEST) w.from = length - WIDEST;
    w.to = w.from + WIDEST;
    while (w.from > 0 && is_continuation(line[w.from])) w.from--;
    while (w.to < length && is_continuation(line[w.to])) w.to++;
    return w;
}

static void print_source(const loom_source_file *file, loom_span span, FILE *to) {
    size_t length;
    const char *line = line_of(file, span.line, &length);
    size_t from = span.column ? span.column - 1 : 0;
    if (length == 0 || from > length) return;
    window w = window_around(line, length, from);
    const char *cut = w.from > 0 ? "..." : "";
    fprintf(to, "    %s", cut);
    for (size_t i = w.from; i < w.to; i++) fputc((unsigned char)line[i] < ' ' ? ' ' : line[i], to);
    fprintf(to, "%s\n    %*s", w.to < length ? "..." : "", (int)strlen(cut), "");
    for (size_t i = w.from; i < from; i++) {
        if (!is_continuation(line[i])) fputc(' ', to);
    }
    size_t end = span.end_line == span.line && span.end_column > span.column ? span.end_column - 1 : length;
    if (end > w.to) end = w.to;
    fputc('^', to);
    for (size_t i = from + 1; i < end; i++) {
        if (!is_continuation(line[i])) fputc('~', to);
    }
    fputc('\n', to);
}

void loom_diagnostics_print(const loom_diagnostics *d, const loom_source_file *files, size_t n_files, FILE *to) {
    for (size_t i = 0; i < d->count; i++) {
        const loom_diagnostic *entry = &d->at[i];
        const loom_source_file *file = entry->span.line && entry->span.file < n_files ? &files[entry->span.file] : NULL;
        if (file) {
            fprintf(to, "%s:%u:%u: ", file->name, entry->span.line, entry->span.column);
        } else if (entry->span.line) {
            fprintf(to, "prelude:%u:%u: ", entry->span.line, entry->span.column);
        }
        fprintf(to, "%s: %s [W%04u]\n", entry->warning ? "warning" : "error", entry->message,
                loom_weft_error_entry(entry->error)->number);
        if (file) print_source(file, entry->span, to);
        if (entry->hint) fprintf(to, "    hint: %s\n", entry->hint);
    }
    if (d->count >= LOOM_MAX_DIAGNOSTICS) fprintf(to, "(more errors are not shown)\n");
}

void loom_syn_keep_diagnostics(loom_diagnostics *to, const loom_diagnostics *from) {
    if (from->count == 0) return;
    if (!to->own) to->own = loom_arena_create(0);
    for (size_t i = 0; i < from->count; i++) {
        loom_diagnostic entry = from->at[i];
        entry.message = loom_arena_strdup(to->own, entry.message);
        if (entry.hint) entry.hint = loom_arena_strdup(to->own, entry.hint);
        if (to->count == to->capacity) {
            size_t capacity = to->capacity ? 2 * to->capacity : 8;
            to->at = loom_arena_grow(to->own, to->at, to->count, capacity, sizeof *to->at);
            to->capacity = capacity;
        }
        to->at[to->count++] = entry;
    }
    to->any_error = to->any_error || from->any_error;
}

void loom_diagnostics_free(loom_diagnostics *d) {
    loom_arena_destroy(d->own);
    *d = (loom_diagnostics){0};
}
