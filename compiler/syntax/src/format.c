/* `gridloom fmt`: canonical spacing, indentation and blank lines. Where lines break is left to the author.
 *
 * Works on tokens, so nothing that was written can be lost, and on the extents that the parser noted. A line is
 * indented after the innermost construct that began on an earlier line: declaration            2 let, application, loop
 * two more than its first token operators              under the first operand then, else             under the `if`
 *     case                   under the `match`
 *     brackets               under their first content; where the line ends with the bracket, two more than that line
 *     body of a function     under its first token; where the line ends with `->`, two more than the application it is
 *                            an argument of
 * A closing bracket that begins a line stands under the opening one, or under the line that the opening one ends.
 * The result is read again and must give the same tokens, so a mistake here is an error and never a changed program.
 * Cost: n log n in the number of tokens.
 */
#include "ast.h"
#include "common/buffer.h"
#include <stdlib.h>
#include <string.h>

enum {
    INDENT = 2,
    WIDEST_INDENT = 100, /* under the content of a bracket far to the right, lines would be all blanks */
};

typedef struct formatter {
    const syn_tokens *tokens;
    syn_layout layout;
    loom_buffer out;
    size_t line_start;       /* offset in out */
    uint32_t *column;        /* by token written: where it stands in its line, from 0 */
    uint32_t *line_indent;   /* by token written: the indentation of its line */
    const syn_extent **open; /* extents around the token to come, innermost last */
    uint32_t n_open;
    size_t next_extent;
    uint32_t line; /* source line of what was written last; 0 at the start */
    bool backtick; /* inside `f` */
    bool *index;   /* by bracket depth: is it an index */
    uint32_t n_index;
} formatter;

/* ---- indentation ---- */

static int outer_first(const void *x, const void *y) {
    const syn_extent *a = x, *b = y;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    if (a->end != b->end) return a->end > b->end ? -1 : 1;
    return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static uint32_t line_at(const formatter *f, uint32_t token) {
    return f->tokens->at[token].span.line;
}

/* Does the line go on after this token? */
static bool line_goes_on(const formatter *f, uint32_t token) {
    return line_at(f, token) == line_at(f, token + 1);
}

static uint32_t in_bracket(const formatter *f, const syn_extent *e) {
    return line_goes_on(f, e->first) ? f->column[e->first] + 1 : f->line_indent[e->first] + INDENT;
}

/* For the body of a function that begins on a new line: past brackets and functions, what they are arguments of. */
static uint32_t in_hanging_lambda(const formatter *f, const syn_extent *lambda, uint32_t below) {
    while (below > 0) {
        const syn_extent *e = f->open[--below];
        if (e->kind == X_BRACKET || e->kind == X_LAMBDA) {
            if (line_at(f, e->first) != line_at(f, lambda->first)) break;
            continue;
        }
        if (e->kind == X_DECL || line_at(f, e->first) != line_at(f, lambda->first)) break;
        return f->column[e->first] + INDENT;
    }
    return f->line_indent[lambda->first] + INDENT;
}

static uint32_t in_extent(const formatter *f, uint32_t place, uint32_t token) {
    const syn_extent *e = f->open[place];
    syn_token_kind kind = f->tokens->at[token].kind;
    switch (e->kind) {
    case X_DECL: return INDENT;
    case X_BRACKET: return in_bracket(f, e);
    case X_BINARY: return f->column[e->first];
    case X_IF: return f->column[e->first] + (kind == T_THEN || kind == T_ELSE ? 0 : INDENT);
    case X_MATCH: return f->column[e->first] + (kind == T_CASE ? 0 : INDENT);
    case X_LAMBDA:
        if (e->body >= token || line_at(f, e->body) != line_at(f, e->body - 1)) return in_hanging_lambda(f, e, place);
        return f->column[e->body];
    default: return f->column[e->first] + INDENT;
    }
}

static bool is_closing(syn_token_kind kind) {
    return kind == T_RPAR || kind == T_RBRACKET || kind == T_RBRACE;
}

static uint32_t free_indent(const formatter *f, uint32_t token) {
    for (uint32_t i = f->n_open; is_closing(f->tokens->at[token].kind) && i-- > 0;) {
        const syn_extent *e = f->open[i];
        if (e->kind != X_BRACKET || e->end != token + 1) continue;
        return line_goes_on(f, e->first) ? f->column[e->first] : f->line_indent[e->first];
    }
    return f->n_open ? in_extent(f, f->n_open - 1, token) : 0;
}

static uint32_t indent_of(const formatter *f, uint32_t token) {
    uint32_t indent = free_indent(f, token);
    return indent > WIDEST_INDENT ? WIDEST_INDENT : indent;
}

/* Extents that end before this token leave, those that begin with it come (after it was indented). */
static void leave_extents(formatter *f, uint32_t token) {
    while (f->n_open && f->open[f->n_open - 1]->end <= token) f->n_open--;
}

static void enter_extents(formatter *f, uint32_t token) {
    for (; f->next_extent < f->layout.count && f->layout.at[f->next_extent].first == token; f->next_extent++) {
        f->open[f->n_open++] = &f->layout.at[f->next_extent];
    }
}

/* ---- spaces ---- */

static bool is_dots(syn_token_kind kind) {
    return kind == T_DOTS || kind == T_DOTS_TO || kind == T_DOTS_LESS || kind == T_DOTS_MORE;
}

static bool in_index(const formatter *f) {
    return f->n_index && f->index[f->n_index - 1];
}

/* `xs[i]` and `f [x]`, `r.x` and `f (.x)`: after what ends a value, a space before a bracket or a point has a meaning.
 */
static bool space_matters(const syn_tokens *tokens, uint32_t t) {
    syn_token_kind kind = tokens->at[t].kind;
    if (t == 0 || (kind != T_LBRACKET && kind != T_DOT)) return false;
    switch (tokens->at[t - 1].kind) {
    case T_NAME:
    case T_INT:
    case T_FLOAT:
    case T_RPAR:
    case T_RBRACKET:
    case T_RBRACE:
    case T_TRUE:
    case T_FALSE: return true;
    default: return false;
    }
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
    if (space_matters(f->tokens, t)) return b->space_before;
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
static void new_line(formatter *f, uint32_t source_line, uint32_t indent) {
    if (f->line) loom_buffer_text(&f->out, source_line > f->line + 1 ? "\n\n" : "\n");
    f->line_start = f->out.length;
    for (uint32_t i = 0; i < indent; i++) loom_buffer_text(&f->out, " ");
    f->line = source_line;
}

static void write_comment(formatter *f, const syn_comment *c) {
    if (c->own_line) {
        new_line(f, c->line, f->tokens->at[c->next_token].kind == T_END ? 0 : indent_of(f, c->next_token));
    } else {
        loom_buffer_text(&f->out, "  ");
    }
    loom_buffer_append(&f->out, f->tokens->text + c->offset, c->length);
}

static void write_token(formatter *f, uint32_t t) {
    const syn_token *token = &f->tokens->at[t];
    bool first = t == 0 || line_at(f, t) != line_at(f, t - 1);
    uint32_t indent = first ? indent_of(f, t) : f->line_indent[t - 1];
    if (first) {
        new_line(f, token->span.line, indent);
    } else if (spaced(f, t)) {
        loom_buffer_text(&f->out, " ");
    }
    f->line_indent[t] = indent;
    f->column[t] = (uint32_t)(f->out.length - f->line_start);
    loom_buffer_append(&f->out, f->tokens->text + token->offset, token->length);
    track_brackets(f, t);
}

static void write_all(formatter *f) {
    uint32_t comment = 0;
    for (uint32_t t = 0; t < f->tokens->count; t++) {
        leave_extents(f, t);
        for (; comment < f->tokens->n_comments && f->tokens->comments[comment].next_token == t; comment++) {
            write_comment(f, &f->tokens->comments[comment]);
        }
        if (f->tokens->at[t].kind == T_END) break;
        write_token(f, t);
        enter_extents(f, t);
    }
    if (f->out.length) loom_buffer_text(&f->out, "\n");
}

static void prepare(formatter *f, loom_arena *arena) {
    size_t n = (size_t)f->tokens->count + 1;
    f->index = LOOM_NEW_ARRAY(arena, bool, n);
    f->column = LOOM_NEW_ARRAY(arena, uint32_t, n);
    f->line_indent = LOOM_NEW_ARRAY(arena, uint32_t, n);
    f->open = LOOM_NEW_ARRAY(arena, const syn_extent *, f->layout.count + 1);
    if (f->layout.count) qsort(f->layout.at, f->layout.count, sizeof *f->layout.at, outer_first);
}

/* ---- the check ---- */

static bool same_token(const syn_tokens *a, const syn_tokens *b, uint32_t t) {
    const syn_token *x = &a->at[t], *y = &b->at[t];
    if (x->kind != y->kind || x->length != y->length) return false;
    if (memcmp(a->text + x->offset, b->text + y->offset, x->length) != 0) return false;
    return !space_matters(a, t) || x->space_before == y->space_before;
}

static loom_status *check_same(syn_context *c, const syn_tokens *a, const loom_buffer *out) {
    syn_tokens b = loom_syn_lex(c, 0, out->data ? out->data : "", out->length);
    bool same = a->count == b.count && a->n_comments == b.n_comments;
    for (uint32_t i = 0; same && i < a->count; i++) same = same_token(a, &b, i);
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
    prepare(&f, c->arena);
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
