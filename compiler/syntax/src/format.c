/* `gridloom fmt`: canonical spacing, indentation and blank lines. Where lines break is left to the author.
 *
 * Works on tokens, so nothing that was written can be lost, and on the extents that the parser noted: a line is indented
 * by two spaces for every earlier line on which something begins that is still open at the line's first token:
 *
 *     def f xs =                                   -- the def begins here
 *       let ys = map (\x ->                        -- one: def; here begin let, application, bracket, lambda
 *           x + 1) xs                              -- two: def, let (all four begin on one line)
 *       in ys
 *
 * A closing bracket that begins a line stands under the line that opened it. The result is read again and must give the
 * same tokens; so a mistake here is an error and never a changed program. Cost: n log n in the number of tokens.
 */
#include "ast.h"
#include "common/buffer.h"
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2 };

typedef struct open_extent {
    uint32_t end, first;
    bool bracket;
    uint32_t level; /* number of different lines on which the extents up to this one begin */
} open_extent;

typedef struct formatter {
    const syn_tokens *tokens;
    syn_layout layout;
    loom_buffer out;
    uint32_t *level; /* by token: its indentation if it begins a line */
    uint32_t line;   /* source line of what was written last; 0 at the start */
    bool backtick;   /* inside `f` */
    bool *index;     /* by bracket depth: is it an index */
    uint32_t n_index;
} formatter;

/* ---- indentation ---- */

static int outer_first(const void *x, const void *y) {
    const syn_extent *a = x, *b = y;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    if (a->end != b->end) return a->end > b->end ? -1 : 1;
    return (int)a->bracket - (int)b->bracket;
}

static uint32_t line_at(const formatter *f, uint32_t token) {
    return f->tokens->at[token].span.line;
}

static uint32_t level_of(const formatter *f, const open_extent *stack, uint32_t n, uint32_t token) {
    if (n == 0) return 0;
    const open_extent *top = &stack[n - 1];
    syn_token_kind kind = f->tokens->at[token].kind;
    bool closing = kind == T_RPAR || kind == T_RBRACKET || kind == T_RBRACE;
    for (uint32_t i = n; closing && i-- > 0;) {
        if (stack[i].bracket && stack[i].end == token + 1) return stack[i].level - 1;
    }
    return top->level;
}

static void find_levels(formatter *f, loom_arena *arena) {
    const uint32_t n = f->tokens->count;
    f->level = LOOM_NEW_ARRAY(arena, uint32_t, n);
    open_extent *stack = LOOM_NEW_ARRAY(arena, open_extent, f->layout.count + 1);
    uint32_t depth = 0;
    if (f->layout.count) qsort(f->layout.at, f->layout.count, sizeof *f->layout.at, outer_first);
    size_t next = 0;
    for (uint32_t t = 0; t < n; t++) {
        while (depth && stack[depth - 1].end <= t) depth--;
        bool first_on_line = t == 0 || line_at(f, t) != line_at(f, t - 1);
        if (first_on_line) f->level[t] = level_of(f, stack, depth, t);
        for (; next < f->layout.count && f->layout.at[next].first == t; next++) {
            const syn_extent *e = &f->layout.at[next];
            const open_extent *under = depth ? &stack[depth - 1] : NULL;
            bool same_line = under && line_at(f, under->first) == line_at(f, t);
            uint32_t level = !under ? 1 : under->level + (same_line ? 0 : 1);
            stack[depth++] = (open_extent){.end = e->end, .first = t, .bracket = e->bracket, .level = level};
        }
    }
}

/* ---- spaces ---- */

static bool is_dots(syn_token_kind kind) {
    return kind == T_DOTS || kind == T_DOTS_TO || kind == T_DOTS_LESS || kind == T_DOTS_MORE;
}

static bool in_index(const formatter *f) {
    return f->n_index && f->index[f->n_index - 1];
}

/* Is there a space between tokens t-1 and t of one line? */
static bool spaced(const formatter *f, uint32_t t) {
    const syn_token *a = &f->tokens->at[t - 1], *b = &f->tokens->at[t];
    uint8_t a_marks = f->layout.marks[t - 1], b_marks = f->layout.marks[t];
    switch (b->kind) {
    case T_COMMA:
    case T_RPAR:
    case T_RBRACKET:
    case T_RBRACE: return false;
    default: break;
    }
    if (a->kind == T_COMMA) return true;
    if (a->kind == T_OP && b->kind == T_OP) return true; /* or they would become one */
    if (a->kind == T_LPAR || a->kind == T_LBRACKET || a->kind == T_LBRACE || a->kind == T_DOT) return false;
    if (a_marks & MARK_PREFIX) return false;
    if (a->kind == T_BACKSLASH || a->kind == T_HASH) return false;
    if (b->kind == T_LBRACKET || b->kind == T_DOT) return b->space_before; /* xs[i] and f [x], r.x: it matters */
    if (a->kind == T_RBRACKET && b->kind != T_OP) return b->space_before || b->kind == T_EQUALS || b->kind == T_ARROW;
    if (is_dots(a->kind) || is_dots(b->kind)) return false;
    if (a->kind == T_BACKTICK || b->kind == T_BACKTICK) return !f->backtick;
    if (a->kind == T_COLON || b->kind == T_COLON) {
        if (in_index(f)) return false;
        return b->kind == T_COLON ? !(b_marks & MARK_TIGHT) : true;
    }
    return true;
}

static void track_brackets(formatter *f, uint32_t t) {
    switch (f->tokens->at[t].kind) {
    case T_LPAR:
    case T_LBRACKET:
    case T_LBRACE: f->index[f->n_index++] = f->layout.marks[t] & MARK_INDEX; break;
    case T_RPAR:
    case T_RBRACKET:
    case T_RBRACE: f->n_index -= f->n_index > 0; break;
    case T_BACKTICK: f->backtick = !f->backtick; break;
    default: break;
    }
}

/* ---- writing ---- */

/* A new line at this indentation; one blank line where there were any. */
static void new_line(formatter *f, uint32_t source_line, uint32_t level) {
    if (f->line) loom_buffer_text(&f->out, source_line > f->line + 1 ? "\n\n" : "\n");
    for (uint32_t i = 0; i < level * INDENT; i++) loom_buffer_text(&f->out, " ");
    f->line = source_line;
}

static void write_comment(formatter *f, const syn_comment *c) {
    if (c->own_line) {
        new_line(f, c->line, f->level[c->next_token]);
    } else {
        loom_buffer_text(&f->out, "  ");
    }
    loom_buffer_append(&f->out, f->tokens->text + c->offset, c->length);
}

static void write_token(formatter *f, uint32_t t) {
    const syn_token *token = &f->tokens->at[t];
    if (t == 0 || line_at(f, t) != line_at(f, t - 1)) {
        new_line(f, token->span.line, f->level[t]);
    } else if (spaced(f, t)) {
        loom_buffer_text(&f->out, " ");
    }
    loom_buffer_append(&f->out, f->tokens->text + token->offset, token->length);
    track_brackets(f, t);
}

static void write_all(formatter *f) {
    uint32_t comment = 0;
    for (uint32_t t = 0; t < f->tokens->count; t++) {
        for (; comment < f->tokens->n_comments && f->tokens->comments[comment].next_token == t; comment++) {
            write_comment(f, &f->tokens->comments[comment]);
        }
        if (f->tokens->at[t].kind != T_END) write_token(f, t);
    }
    if (f->out.length) loom_buffer_text(&f->out, "\n");
}

/* ---- the check ---- */

static bool same_token(const syn_tokens *a, const syn_token *x, const syn_tokens *b, const syn_token *y) {
    if (x->kind != y->kind || x->length != y->length) return false;
    if (memcmp(a->text + x->offset, b->text + y->offset, x->length) != 0) return false;
    bool matters = x->kind == T_LBRACKET || x->kind == T_DOT;
    return !matters || x->space_before == y->space_before || x->span.column == 1;
}

static loom_status *check_same(syn_context *c, const syn_tokens *a, const loom_buffer *out) {
    syn_tokens b = loom_syn_lex(c, 0, out->data ? out->data : "", out->length);
    bool same = a->count == b.count && a->n_comments == b.n_comments;
    for (uint32_t i = 0; same && i < a->count; i++) same = same_token(a, &a->at[i], &b, &b.at[i]);
    return same ? NULL : loom_error(LOOM_E_INTERNAL, "formatting would change the program");
}

static loom_status *format(syn_context *c, const loom_source_file *file, char **text) {
    syn_tokens tokens = loom_syn_lex(c, 0, file->text, file->length);
    formatter f = {.tokens = &tokens};
    syn_decls decls = {0};
    loom_syn_parse(c, &tokens, false, &decls, &f.layout);
    if (c->diagnostics->any_error) {
        return loom_error(LOOM_E_SYNTAX, "%s does not parse, so it is not formatted", file->name);
    }
    f.index = LOOM_NEW_ARRAY(c->arena, bool, (size_t)tokens.count + 1);
    find_levels(&f, c->arena);
    write_all(&f);
    loom_status *status = check_same(c, &tokens, &f.out);
    if (status) {
        loom_buffer_free(&f.out);
        return status;
    }
    char *made = loom_buffer_take(&f.out);
    *text = made ? made : loom_xstrdup("");
    return NULL;
}

loom_status *loom_syntax_format(const loom_source_file *file, loom_diagnostics *diagnostics, char **text) {
    loom_arena *arena = loom_arena_create(0);
    loom_diagnostics found = {0};
    syn_context context;
    loom_syn_context_init(&context, arena, &found);
    context.n_user_files = 1;
    loom_status *status = format(&context, file, text);
    loom_syn_keep_diagnostics(diagnostics, &found);
    loom_arena_destroy(arena);
    return status;
}
