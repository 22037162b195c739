/* Prints syntax trees, one node a line, indented by depth: `explain --stage ast`, and what the formatter's tests
 * compare. */
#include "ast.h"
#include <inttypes.h>

typedef struct printer {
    FILE *to;
    bool places;
} printer;

static void print_exp(const printer *w, const syn_exp *e, unsigned depth);
static void print_type(const printer *w, const syn_te *t, unsigned depth);

static void indent(const printer *w, unsigned depth) {
    for (unsigned i = 0; i < depth; i++) fputs("  ", w->to);
}

static void end_line(const printer *w, loom_span span) {
    if (w->places) fprintf(w->to, "    -- %" PRIu32 ":%" PRIu32, span.line, span.column);
    fputc('\n', w->to);
}

static void print_dim(const printer *w, const syn_exp *dim, unsigned depth) {
    indent(w, depth);
    fputs(dim ? "size\n" : "no size\n", w->to);
    if (dim) print_exp(w, dim, depth + 1);
}

static void print_type(const printer *w, const syn_te *t, unsigned depth) {
    static const char *const names[] = {"type", "tuple type", "record type", "array type", "seq type", "function type"};
    indent(w, depth);
    fprintf(w->to, "%s%s%s", names[t->kind], t->name ? " " : "", t->name ? t->name->text : "");
    end_line(w, t->span);
    for (uint32_t i = 0; i < t->n_dims; i++) print_dim(w, t->dims[i], depth + 1);
    for (uint32_t i = 0; i < t->n_items; i++) {
        if (t->names) {
            indent(w, depth + 1);
            fprintf(w->to, "%s:\n", t->names[i]->text);
        }
        print_type(w, t->items[i], depth + 1);
    }
}

static void print_pattern(const printer *w, const syn_pat *pat, unsigned depth) {
    static const char *const names[] = {"name", "_", "tuple pattern", "record pattern", "typed pattern", "literal"};
    indent(w, depth);
    fprintf(w->to, "%s%s%s", names[pat->kind], pat->name ? " " : "", pat->name ? pat->name->text : "");
    end_line(w, pat->span);
    for (uint32_t i = 0; i < pat->n_items; i++) {
        if (pat->names) {
            indent(w, depth + 1);
            fprintf(w->to, "%s =\n", pat->names[i]->text);
        }
        print_pattern(w, pat->items[i], depth + 1);
    }
    if (pat->type) print_type(w, pat->type, depth + 1);
    if (pat->literal) print_exp(w, pat->literal, depth + 1);
}

static void print_function(const printer *w, const syn_function *f, unsigned depth) {
    for (uint32_t i = 0; i < f->n_sizes; i++) {
        indent(w, depth);
        fprintf(w->to, "size [%s]\n", f->sizes[i]->text);
    }
    for (uint32_t i = 0; i < f->n_type_params; i++) {
        indent(w, depth);
        fprintf(w->to, "type parameter '%s\n", f->type_params[i]->text);
    }
    for (uint32_t i = 0; i < f->n_params; i++) print_pattern(w, f->params[i], depth);
    if (f->result) print_type(w, f->result, depth);
    if (f->body) print_exp(w, f->body, depth);
}

static const char *exp_name(const syn_exp *e) {
    switch (e->kind) {
    case E_INT: return "integer";
    case E_FLOAT: return "float";
    case E_BOOL: return e->flag ? "true" : "false";
    case E_NAME: return "name";
    case E_APPLY: return "apply";
    case E_BINARY: return e->flag ? "infix" : "binary";
    case E_NEGATE: return "negate";
    case E_NOT: return "not";
    case E_OPERATOR: return "operator";
    case E_LEFT: return "left section";
    case E_RIGHT: return "right section";
    case E_FIELDS: return "field section";
    case E_INDEXER: return "index section";
    case E_LAMBDA: return "lambda";
    case E_LET: return "let";
    case E_LET_FUN: return "let function";
    case E_IF: return "if";
    case E_LOOP: return "loop";
    case E_TUPLE: return "tuple";
    case E_RECORD: return "record";
    case E_ARRAY: return "array";
    case E_RANGE: return e->range == T_DOTS_TO ? "range to" : e->range == T_DOTS_LESS ? "range below" : "range above";
    case E_INDEX: return "index";
    case E_FIELD: return "field";
    case E_UPDATE: return "update";
    case E_UPDATE_FIELD: return "update field";
    case E_TYPED: return e->flag ? "coerce" : "typed";
    case E_MATCH: return "match";
    case E_BOUNDARY: return "boundary";
    }
    return "?";
}

static void print_index(const printer *w, const syn_index *place, unsigned depth) {
    indent(w, depth);
    fputs(place->slice ? "slice\n" : "at\n", w->to);
    const syn_exp *parts[] = {place->at, place->to, place->step};
    for (size_t i = 0; i < 3; i++) {
        if (parts[i]) {
            print_exp(w, parts[i], depth + 1);
        } else if (place->slice) {
            indent(w, depth + 1);
            fputs("-\n", w->to);
        }
    }
}

static void print_loop(const printer *w, const syn_loop *loop, unsigned depth) {
    static const char *const kinds[] = {"while", "for <", "for in"};
    print_pattern(w, loop->state, depth);
    if (loop->initial) print_exp(w, loop->initial, depth);
    indent(w, depth);
    fprintf(w->to, "%s\n", kinds[loop->kind]);
    if (loop->variable) print_pattern(w, loop->variable, depth);
    print_exp(w, loop->limit, depth);
    print_exp(w, loop->body, depth);
}

static void print_head(const printer *w, const syn_exp *e, unsigned depth) {
    indent(w, depth);
    fputs(exp_name(e), w->to);
    if (e->qualifier) fprintf(w->to, " %s.", e->qualifier->text);
    if (e->name && e->kind != E_BOOL) fprintf(w->to, " %s", e->name->text);
    for (uint32_t i = 0; i < e->n_names; i++) fprintf(w->to, " .%s", e->names[i]->text);
    if (e->kind == E_INT) fprintf(w->to, " %s%" PRIu64, e->flag ? "-" : "", e->integer);
    if (e->kind == E_FLOAT) fprintf(w->to, " %s%.17g", e->flag ? "-" : "", e->real);
    if (e->suffix != LOOM_DTYPES) fputs(loom_dtype_name(e->suffix), w->to);
    end_line(w, e->span);
}

static void print_exp(const printer *w, const syn_exp *e, unsigned depth) {
    for (; e; e = e->b) {
        print_head(w, e, depth);
        if (e->pat) print_pattern(w, e->pat, depth + 1);
        if (e->function) print_function(w, e->function, depth + 1);
        if (e->loop) print_loop(w, e->loop, depth + 1);
        if (e->a) print_exp(w, e->a, depth + 1);
        bool chain = e->kind == E_LET || e->kind == E_LET_FUN;
        if (e->b && !chain) print_exp(w, e->b, depth + 1);
        if (e->c) print_exp(w, e->c, depth + 1);
        for (uint32_t i = 0; i < e->n_items; i++) print_exp(w, e->items[i], depth + 1);
        for (uint32_t i = 0; i < e->n_index; i++) print_index(w, &e->index[i], depth + 1);
        if (e->type) print_type(w, e->type, depth + 1);
        for (uint32_t i = 0; i < e->n_cases; i++) {
            print_pattern(w, e->cases[i].pat, depth + 1);
            print_exp(w, e->cases[i].body, depth + 2);
        }
        if (!chain) return; /* the body of a let follows at the same depth */
    }
}

void loom_syn_print_decls(const syn_decls *decls, FILE *to, bool with_places) {
    static const char *const kinds[] = {"def", "entry", "type"};
    printer w = {.to = to, .places = with_places};
    for (size_t i = 0; i < decls->count; i++) {
        const syn_decl *d = decls->at[i];
        fprintf(to, "%s%s %s", d->foreign ? "foreign " : "", kinds[d->kind], d->name->text);
        end_line(&w, d->span);
        print_function(&w, d->function, 1);
        if (d->type) print_type(&w, d->type, 1);
    }
    for (size_t i = 0; i < decls->lifts.count; i++) {
        const syn_lift *lift = decls->lifts.at[i];
        fprintf(to, "lifted %s %s = %s", loom_syn_lift_names[lift->kind], lift->name->text, lift->version_name->text);
        end_line(&w, lift->name_span);
    }
}
