/* Types, patterns, and the heads of functions. */
#include "parser.h"
#include <string.h>

/* ---- types ---- */

static syn_te *new_type(syn_parser *p, syn_te_kind kind) {
    syn_te *t = LOOM_NEW(p->c->arena, syn_te);
    t->kind = kind;
    t->span = loom_syn_now(p)->span;
    return t;
}

static syn_te *finish_type(syn_parser *p, syn_te *t, uint32_t first) {
    t->span = loom_syn_span_from(p, first);
    for (uint32_t i = 0; i < t->n_items; i++) {
        if (t->items[i]->depth >= t->depth) t->depth = t->items[i]->depth + 1;
    }
    if (t->depth > LOOM_SYN_MAX_NESTING) {
        loom_syn_fail(p, LOOM_W_NESTING, t->span, NULL, "a type nested more than %d levels deep", LOOM_SYN_MAX_NESTING);
    }
    return t;
}

static syn_te *type_with(syn_parser *p, syn_te *t, syn_te *item, uint32_t first) {
    t->items = LOOM_NEW_ARRAY(p->c->arena, syn_te *, 2);
    t->items[0] = item;
    t->n_items = 1;
    return finish_type(p, t, first);
}

/* Does a size mention one that nobody knows? */
static bool mentions_unknown(const syn_parser *p, const syn_exp *dim) {
    if (!dim) return false;
    if (dim->kind == E_BINARY) return mentions_unknown(p, dim->a) || mentions_unknown(p, dim->b);
    for (const syn_unknown_size *u = p->unknown; u && dim->kind == E_NAME; u = u->outer) {
        if (u->name == dim->name) return true;
    }
    return false;
}

/* `[d]`; NULL for `[]`, and for a size that nobody knows. */
static syn_exp *parse_dim(syn_parser *p) {
    loom_syn_expect(p, LOOM_W_EXPECTED, T_LBRACKET, "`[`", NULL);
    syn_exp *dim = loom_syn_is(p, T_RBRACKET) ? NULL : loom_syn_exp(p);
    loom_syn_expect(p, LOOM_W_CLOSING, T_RBRACKET, "`]` after the size",
                    "a size is a name, a number, or + - * of those");
    return mentions_unknown(p, dim) ? NULL : dim;
}

/* `?[k][m].t`: t, in which nothing is claimed of k and m. */
static syn_te *parse_unknown_sizes(syn_parser *p) {
    const syn_unknown_size *outer = p->unknown;
    loom_syn_next(p);
    do {
        loom_syn_expect(p, LOOM_W_EXPECTED, T_LBRACKET, "`[` and the name of a size", "as in `?[k].[k]f32`");
        syn_unknown_size *size = LOOM_NEW(p->c->arena, syn_unknown_size);
        size->name = loom_syn_expect(p, LOOM_W_EXPECTED, T_NAME, "a size's name", "as in `?[k].[k]f32`")->name;
        size->outer = p->unknown;
        p->unknown = size;
        loom_syn_expect(p, LOOM_W_CLOSING, T_RBRACKET, "`]`", NULL);
    } while (loom_syn_is(p, T_LBRACKET));
    loom_syn_expect(p, LOOM_W_EXPECTED, T_DOT, "`.` and a type", "as in `?[k].[k]f32`");
    syn_te *t = loom_syn_type_atom(p);
    p->unknown = outer;
    return t;
}

static syn_te *parse_array_type(syn_parser *p) {
    uint32_t first = p->at;
    syn_te *t = new_type(p, TE_ARRAY);
    t->dims = LOOM_NEW_ARRAY(p->c->arena, syn_exp *, 1);
    t->n_dims = 1;
    t->dims[0] = parse_dim(p);
    return type_with(p, t, loom_syn_type_atom(p), first);
}

static syn_te *parse_parenthesised_type(syn_parser *p) {
    uint32_t first = p->at;
    syn_te *t = new_type(p, TE_TUPLE);
    loom_syn_next(p);
    LOOM_VEC(syn_te *) items = {0};
    bool tuple = loom_syn_is(p, T_RPAR);
    while (!loom_syn_is(p, T_RPAR)) {
        LOOM_PUSH(p->c->arena, items, loom_syn_type(p));
        if (!loom_syn_take(p, T_COMMA)) break;
        tuple = true;
    }
    loom_syn_expect(p, LOOM_W_CLOSING, T_RPAR, "`)` after the type", NULL);
    loom_syn_extent(p, first, X_BRACKET);
    if (!tuple) return items.at[0];
    t->items = items.at;
    t->n_items = (uint32_t)items.count;
    return finish_type(p, t, first);
}

_Noreturn void loom_syn_field_twice(syn_parser *p, const syn_token *name, loom_span first) {
    const char *hint = loom_arena_printf(p->c->arena, "the first one is in line %u, column %u; leave one of them out",
                                         first.line, first.column);
    loom_syn_fail(p, LOOM_W_FIELD_TWICE, name->span, hint, "field `%s` is there twice", name->name->text);
}

static syn_te *parse_record_type(syn_parser *p) {
    uint32_t first = p->at;
    syn_te *t = new_type(p, TE_RECORD);
    loom_syn_next(p);
    LOOM_VEC(syn_te *) items = {0};
    LOOM_VEC(syn_name *) names = {0};
    LOOM_VEC(loom_span) spans = {0};
    while (!loom_syn_is(p, T_RBRACE)) {
        const syn_token *name = loom_syn_expect(p, LOOM_W_EXPECTED, T_NAME, "a field's name", "as in {x: f32, y: f32}");
        for (size_t i = 0; i < names.count; i++) {
            if (names.at[i] == name->name) loom_syn_field_twice(p, name, spans.at[i]);
        }
        if (names.count >= LOOM_MAX_TUPLE) loom_syn_too_many(p, p->tokens->at[first].span, "a record", "fields");
        loom_syn_mark(p, p->at, MARK_TIGHT);
        loom_syn_expect(p, LOOM_W_EXPECTED, T_COLON, "`:` and the field's type", "as in {x: f32, y: f32}");
        LOOM_PUSH(p->c->arena, names, name->name);
        LOOM_PUSH(p->c->arena, spans, name->span);
        LOOM_PUSH(p->c->arena, items, loom_syn_type(p));
        if (!loom_syn_take(p, T_COMMA)) break;
    }
    loom_syn_expect(p, LOOM_W_CLOSING, T_RBRACE, "`,` or `}` after a field", NULL);
    loom_syn_extent(p, first, X_BRACKET);
    t->items = items.at;
    t->names = names.at;
    t->n_items = (uint32_t)items.count;
    return finish_type(p, t, first);
}

bool loom_syn_starts_type_atom(const syn_parser *p) {
    return loom_syn_is(p, T_NAME) || loom_syn_is(p, T_LPAR) || loom_syn_is(p, T_LBRACE);
}

/* A name with the sizes and types given to it; `seq t`. */
static syn_te *parse_named_type(syn_parser *p) {
    uint32_t first = p->at;
    syn_te *t = new_type(p, TE_NAME);
    t->name = loom_syn_next(p)->name;
    if (strcmp(t->name->text, "seq") == 0) {
        t->kind = TE_SEQ;
        return type_with(p, t, loom_syn_type_atom(p), first);
    }
    if (t->name->dtype != LOOM_DTYPES) return finish_type(p, t, first);
    LOOM_VEC(syn_exp *) dims = {0};
    LOOM_VEC(syn_te *) items = {0};
    while (loom_syn_is(p, T_LBRACKET)) LOOM_PUSH(p->c->arena, dims, parse_dim(p));
    while (loom_syn_starts_type_atom(p) && loom_syn_now(p)->span.line == p->tokens->at[p->at - 1].span.line) {
        uint32_t at = p->at;
        if (!loom_syn_is(p, T_NAME)) {
            LOOM_PUSH(p->c->arena, items, loom_syn_type_atom(p));
        } else {
            syn_te *item = new_type(p, TE_NAME);
            item->name = loom_syn_next(p)->name;
            LOOM_PUSH(p->c->arena, items, finish_type(p, item, at));
        }
    }
    t->dims = dims.at;
    t->n_dims = (uint32_t)dims.count;
    t->items = items.at;
    t->n_items = (uint32_t)items.count;
    return finish_type(p, t, first);
}

syn_te *loom_syn_type_atom(syn_parser *p) {
    loom_syn_enter(p);
    while (loom_syn_is_op(p, "*")) {
        loom_syn_mark(p, p->at, MARK_PREFIX);
        loom_syn_next(p);
    }
    syn_te *t = NULL;
    switch (loom_syn_now(p)->kind) {
    case T_NAME: t = parse_named_type(p); break;
    case T_LPAR: t = parse_parenthesised_type(p); break;
    case T_LBRACE: t = parse_record_type(p); break;
    case T_LBRACKET: t = parse_array_type(p); break;
    case T_QUESTION: t = parse_unknown_sizes(p); break;
    default:
        loom_syn_fail_here(p, LOOM_W_TYPE, "a type",
                           loom_syn_is(p, T_HASH)
                               ? "there are no sum types: a tuple of what tells the case and of the values"
                               : "such as f32, [n]f32, (f32, i64), {x: f32} or seq f32");
    }
    loom_syn_leave(p);
    return t;
}

/* `(x: t)` as the left side of an arrow: the name is dropped. */
static void skip_parameter_name(syn_parser *p, bool *named) {
    *named = loom_syn_is(p, T_LPAR) &&
             (loom_syn_ahead(p, 1)->kind == T_NAME || loom_syn_ahead(p, 1)->kind == T_UNDERSCORE) &&
             loom_syn_ahead(p, 2)->kind == T_COLON;
    if (*named) {
        loom_syn_next(p);
        loom_syn_next(p);
        loom_syn_mark(p, p->at, MARK_TIGHT);
        loom_syn_next(p);
    }
}

syn_te *loom_syn_type(syn_parser *p) {
    loom_syn_enter(p);
    uint32_t first = p->at;
    bool named = false;
    skip_parameter_name(p, &named);
    syn_te *t = named ? loom_syn_type(p) : loom_syn_type_atom(p);
    if (named) loom_syn_expect(p, LOOM_W_CLOSING, T_RPAR, "`)` after the parameter's type", NULL);
    if (loom_syn_take(p, T_ARROW)) {
        syn_te *f = new_type(p, TE_FUN);
        f->items = LOOM_NEW_ARRAY(p->c->arena, syn_te *, 2);
        f->items[0] = t;
        f->items[1] = loom_syn_type(p);
        f->n_items = 2;
        t = finish_type(p, f, first);
    }
    loom_syn_leave(p);
    return t;
}

/* ---- patterns ---- */

static syn_pat *new_pattern(syn_parser *p, syn_pat_kind kind) {
    syn_pat *pat = LOOM_NEW(p->c->arena, syn_pat);
    pat->kind = kind;
    pat->span = loom_syn_now(p)->span;
    return pat;
}

bool loom_syn_starts_pattern(const syn_parser *p) {
    return loom_syn_is(p, T_NAME) || loom_syn_is(p, T_UNDERSCORE) || loom_syn_is(p, T_LPAR) || loom_syn_is(p, T_LBRACE);
}

static syn_pat *parse_tuple_pattern(syn_parser *p) {
    uint32_t first = p->at;
    syn_pat *pat = new_pattern(p, P_TUPLE);
    loom_syn_next(p);
    LOOM_VEC(syn_pat *) items = {0};
    bool tuple = loom_syn_is(p, T_RPAR);
    while (!loom_syn_is(p, T_RPAR)) {
        LOOM_PUSH(p->c->arena, items, loom_syn_pattern(p));
        if (!loom_syn_take(p, T_COMMA)) break;
        tuple = true;
    }
    loom_syn_expect(p, LOOM_W_CLOSING, T_RPAR, "`)` after the pattern", NULL);
    loom_syn_extent(p, first, X_BRACKET);
    if (!tuple) return items.at[0];
    pat->items = items.at;
    pat->n_items = (uint32_t)items.count;
    pat->span = loom_syn_span_from(p, first);
    return pat;
}

static syn_pat *parse_record_pattern(syn_parser *p) {
    uint32_t first = p->at;
    syn_pat *pat = new_pattern(p, P_RECORD);
    loom_syn_next(p);
    LOOM_VEC(syn_pat *) items = {0};
    LOOM_VEC(syn_name *) names = {0};
    LOOM_VEC(loom_span) spans = {0};
    while (!loom_syn_is(p, T_RBRACE)) {
        syn_pat *field = new_pattern(p, P_NAME);
        const syn_token *name =
            loom_syn_expect(p, LOOM_W_EXPECTED, T_NAME, "a field's name", "as in {x, y} or {x = a, y = b}");
        field->name = name->name;
        for (size_t i = 0; i < names.count; i++) {
            if (names.at[i] == name->name) loom_syn_field_twice(p, name, spans.at[i]);
        }
        if (names.count >= LOOM_MAX_TUPLE) loom_syn_too_many(p, p->tokens->at[first].span, "a record", "fields");
        LOOM_PUSH(p->c->arena, names, name->name);
        LOOM_PUSH(p->c->arena, spans, name->span);
        if (loom_syn_take(p, T_EQUALS)) field = loom_syn_pattern(p);
        LOOM_PUSH(p->c->arena, items, field);
        if (!loom_syn_take(p, T_COMMA)) break;
    }
    loom_syn_expect(p, LOOM_W_CLOSING, T_RBRACE, "`,` or `}` after a field", NULL);
    loom_syn_extent(p, first, X_BRACKET);
    pat->items = items.at;
    pat->names = names.at;
    pat->n_items = (uint32_t)items.count;
    pat->span = loom_syn_span_from(p, first);
    return pat;
}

static syn_pat *parse_literal_pattern(syn_parser *p) {
    uint32_t first = p->at;
    syn_pat *pat = new_pattern(p, P_LITERAL);
    pat->literal = loom_syn_take_literal(p);
    if (!pat->literal) {
        loom_syn_fail_here(p, LOOM_W_PATTERN, "a name or a pattern",
                           p->refutable ? "such as 1, true, x, _, (0, y), {x = 1}"
                                        : "such as x, _, (x, y), {x, y} or (x: f32)");
    }
    pat->span = loom_syn_span_from(p, first);
    if (!p->refutable) {
        loom_syn_fail(p, LOOM_W_PATTERN_LITERAL, pat->span, "compare with `if`, or write a `case` for it in a `match`",
                      "a literal is a pattern in a `case` only: others fit every value");
    }
    return pat;
}

const syn_token *loom_syn_take_operator(syn_parser *p) {
    if (!loom_syn_is(p, T_LPAR) || loom_syn_ahead(p, 1)->kind != T_OP || loom_syn_ahead(p, 2)->kind != T_RPAR)
        return NULL;
    loom_syn_next(p);
    const syn_token *op = loom_syn_next(p);
    loom_syn_next(p);
    return op;
}

/* `(<=)`: a parameter that is used as an operator. NULL where there is none. */
static syn_pat *operator_pattern(syn_parser *p) {
    syn_pat *pat = new_pattern(p, P_NAME);
    uint32_t first = p->at;
    const syn_token *op = loom_syn_take_operator(p);
    if (!op) return NULL;
    pat->name = op->name;
    pat->span = loom_syn_span_from(p, first);
    return pat;
}

syn_pat *loom_syn_pattern_atom(syn_parser *p) {
    loom_syn_enter(p);
    loom_syn_skip_attributes(p);
    syn_pat *pat = NULL;
    switch (loom_syn_now(p)->kind) {
    case T_NAME:
        pat = new_pattern(p, P_NAME);
        pat->name = loom_syn_next(p)->name;
        break;
    case T_UNDERSCORE:
        pat = new_pattern(p, P_WILD);
        loom_syn_next(p);
        break;
    case T_LPAR:
        pat = operator_pattern(p);
        if (!pat) pat = parse_tuple_pattern(p);
        break;
    case T_LBRACE: pat = parse_record_pattern(p); break;
    default: pat = parse_literal_pattern(p); break;
    }
    for (uint32_t i = 0; i < pat->n_items; i++) {
        if (pat->items[i]->depth >= pat->depth) pat->depth = pat->items[i]->depth + 1;
    }
    loom_syn_leave(p);
    return pat;
}

syn_pat *loom_syn_pattern(syn_parser *p) {
    uint32_t first = p->at;
    syn_pat *inner = loom_syn_pattern_atom(p);
    if (!loom_syn_is(p, T_COLON)) return inner;
    loom_syn_mark(p, p->at, MARK_TIGHT);
    loom_syn_next(p);
    syn_pat *pat = new_pattern(p, P_TYPED);
    pat->items = LOOM_NEW_ARRAY(p->c->arena, syn_pat *, 1);
    pat->items[0] = inner;
    pat->n_items = 1;
    pat->depth = inner->depth + 1;
    pat->type = loom_syn_type(p);
    pat->span = loom_syn_span_from(p, first);
    return pat;
}

/* ---- names that patterns bind ---- */

typedef LOOM_VEC(loom_span) span_list;

static void bind_name(syn_parser *p, syn_name *name, loom_span span, uint32_t stamp, span_list *places) {
    if (name->stamp == stamp) {
        loom_span first = places->at[name->place];
        const char *hint = loom_arena_printf(p->c->arena, "the first one is in line %u, column %u; `_` is no name",
                                             first.line, first.column);
        loom_syn_report(p->c, LOOM_W_BOUND_TWICE, span, hint, "`%s` is there twice", name->text);
        return;
    }
    name->stamp = stamp;
    name->place = (uint32_t)places->count;
    LOOM_PUSH(p->c->arena, *places, span);
}

static void bind_names(syn_parser *p, const syn_pat *pat, uint32_t stamp, span_list *places) {
    if (pat->kind == P_NAME) bind_name(p, pat->name, pat->span, stamp, places);
    for (uint32_t i = 0; i < pat->n_items; i++) bind_names(p, pat->items[i], stamp, places);
}

void loom_syn_bind_once(syn_parser *p, syn_pat *const *patterns, uint32_t n) {
    span_list places = {0};
    uint32_t stamp = ++p->c->stamp;
    for (uint32_t i = 0; i < n; i++) bind_names(p, patterns[i], stamp, &places);
}

/* ---- heads ---- */

static void size_parameter(syn_parser *p, syn_function *f) {
    loom_syn_next(p);
    const syn_token *name =
        loom_syn_expect(p, LOOM_W_EXPECTED, T_NAME, "a size's name", "size parameters are written [n]");
    loom_syn_expect(p, LOOM_W_CLOSING, T_RBRACKET, "`]`", "size parameters are written [n]");
    f->sizes = loom_arena_grow(p->c->arena, f->sizes, f->n_sizes, f->n_sizes + 1, sizeof *f->sizes);
    f->size_spans = loom_arena_grow(p->c->arena, f->size_spans, f->n_sizes, f->n_sizes + 1, sizeof *f->size_spans);
    f->sizes[f->n_sizes] = name->name;
    f->size_spans[f->n_sizes++] = name->span;
}

void loom_syn_function_head(syn_parser *p, syn_function *f) {
    LOOM_VEC(syn_name *) types = {0};
    LOOM_VEC(syn_pat *) params = {0};
    for (;;) {
        if (loom_syn_is(p, T_LBRACKET)) {
            if (f->n_sizes >= LOOM_MAX_TUPLE)
                loom_syn_too_many(p, loom_syn_now(p)->span, "a function", "size parameters");
            size_parameter(p, f);
        } else if (loom_syn_is(p, T_TYPE_VAR)) {
            LOOM_PUSH(p->c->arena, types, loom_syn_next(p)->name);
        } else if (loom_syn_starts_pattern(p)) {
            LOOM_PUSH(p->c->arena, params, loom_syn_pattern_atom(p));
        } else {
            break;
        }
    }
    f->type_params = types.at;
    f->n_type_params = (uint32_t)types.count;
    f->params = params.at;
    f->n_params = (uint32_t)params.count;
    loom_syn_bind_once(p, f->params, f->n_params);
    if (loom_syn_take(p, T_COLON)) f->result = loom_syn_type(p);
}
