/* Prefix operators, application, atoms and what may follow an atom without a space: `.field` and `[index]`. */
#include "parse_exp.h"
#include <string.h>

/* ---- index and slice ---- */

static syn_index parse_place(syn_parser *p) {
    uint32_t first = p->at;
    syn_index place = {0};
    const char *hint = "an index is `i`, a slice `from:to:step`";
    /* A colon ends the index here; so an ascription inside an index needs parentheses. */
    if (!loom_syn_is(p, T_COLON)) place.at = loom_syn_index_part(p);
    if (loom_syn_take(p, T_COLON)) {
        place.slice = true;
        if (!loom_syn_is(p, T_COLON) && !loom_syn_is(p, T_COMMA) && !loom_syn_is(p, T_RBRACKET)) {
            place.to = loom_syn_index_part(p);
        }
        if (loom_syn_take(p, T_COLON)) {
            if (loom_syn_is(p, T_COMMA) || loom_syn_is(p, T_RBRACKET))
                loom_syn_fail_here(p, LOOM_W_EXPECTED, "the step", hint);
            place.step = loom_syn_index_part(p);
        }
    }
    place.span = loom_syn_span_from(p, first);
    return place;
}

void loom_syn_parse_index(syn_parser *p, syn_exp *e) {
    uint32_t first = p->at;
    loom_syn_enter(p);
    loom_syn_mark(p, first, MARK_INDEX);
    loom_syn_expect(p, LOOM_W_EXPECTED, T_LBRACKET, "`[`", NULL);
    LOOM_VEC(syn_index) index = {0};
    do {
        syn_index place = parse_place(p);
        LOOM_PUSH(p->c->arena, index, place);
    } while (loom_syn_take(p, T_COMMA));
    loom_syn_expect(p, LOOM_W_CLOSING, T_RBRACKET, "`,` or `]` after an index",
                    "an index is `i`, a slice `from:to:step`");
    loom_syn_extent(p, first, X_BRACKET);
    e->index = index.at;
    e->n_index = (uint32_t)index.count;
    loom_syn_leave(p);
}

/* ---- parentheses: grouping, tuples, operators and sections ---- */

static syn_exp *operator_reference(syn_parser *p, uint32_t first) {
    const syn_token *op = loom_syn_next(p);
    syn_exp *e = loom_syn_new_exp(p, E_OPERATOR, first);
    e->name = op->name;
    e->name_span = op->span;
    loom_syn_expect(p, LOOM_W_CLOSING, T_RPAR, "`)`", NULL);
    return loom_syn_finish(p, e, first);
}

/* `(+ x)`. A minus is a sign there, as in Futhark. */
static syn_exp *right_section(syn_parser *p, uint32_t first) {
    const syn_token *op = loom_syn_next(p);
    syn_exp *e = loom_syn_new_exp(p, E_RIGHT, first);
    e->name = op->name;
    e->name_span = op->span;
    e->a = loom_syn_exp(p);
    loom_syn_expect(p, LOOM_W_CLOSING, T_RPAR, "`)` after the section", "(* x) is the function \\y -> y * x");
    return loom_syn_finish(p, e, first);
}

syn_name *loom_syn_qualifier(syn_parser *p) {
    if (!loom_syn_is(p, T_NAME) || loom_syn_ahead(p, 1)->kind != T_DOT) return NULL;
    syn_name *name = loom_syn_next(p)->name;
    loom_syn_next(p);
    return name;
}

static syn_exp *backtick_section(syn_parser *p, uint32_t first) {
    loom_syn_next(p);
    syn_exp *e = loom_syn_new_exp(p, E_RIGHT, first);
    e->qualifier = loom_syn_qualifier(p);
    e->name = loom_syn_expect(p, LOOM_W_EXPECTED, T_NAME, "a function's name", "as in (`f` x)")->name;
    e->flag = true;
    loom_syn_expect(p, LOOM_W_CLOSING, T_BACKTICK, "the closing backtick", NULL);
    e->a = loom_syn_exp(p);
    loom_syn_expect(p, LOOM_W_CLOSING, T_RPAR, "`)` after the section", NULL);
    return loom_syn_finish(p, e, first);
}

/* `(.x.y)` and `(.[i])`. */
static syn_exp *projection_section(syn_parser *p, uint32_t first) {
    loom_syn_next(p);
    if (loom_syn_is(p, T_LBRACKET)) {
        syn_exp *e = loom_syn_new_exp(p, E_INDEXER, first);
        loom_syn_parse_index(p, e);
        loom_syn_expect(p, LOOM_W_CLOSING, T_RPAR, "`)` after the section", "(.[i]) is the function \\xs -> xs[i]");
        return loom_syn_finish(p, e, first);
    }
    syn_exp *e = loom_syn_new_exp(p, E_FIELDS, first);
    LOOM_VEC(syn_name *) names = {0};
    do {
        LOOM_PUSH(p->c->arena, names, loom_syn_parse_field_name(p));
    } while (loom_syn_take(p, T_DOT));
    e->names = names.at;
    e->n_names = (uint32_t)names.count;
    loom_syn_expect(p, LOOM_W_CLOSING, T_RPAR, "`)` after the section", "(.x) is the function \\r -> r.x");
    return loom_syn_finish(p, e, first);
}

static syn_exp *left_section(syn_parser *p, syn_exp *operand, uint32_t first) {
    const syn_token *op = loom_syn_next(p);
    syn_exp *e = loom_syn_new_exp(p, E_LEFT, first);
    e->name = op->name;
    e->name_span = op->span;
    e->a = operand;
    loom_syn_expect(p, LOOM_W_CLOSING, T_RPAR, "`)` after the section", NULL);
    return loom_syn_finish(p, e, first);
}

static bool is_section_minus(const syn_parser *p) {
    return loom_syn_is_op(p, "-") || loom_syn_is_op(p, "!") || loom_syn_is_op(p, "~");
}

static syn_exp *tuple_or_group(syn_parser *p, uint32_t first) {
    LOOM_VEC(syn_exp *) items = {0};
    bool tuple = loom_syn_is(p, T_RPAR);
    while (!loom_syn_is(p, T_RPAR)) {
        LOOM_PUSH(p->c->arena, items, loom_syn_exp(p));
        if (items.count == 1 && loom_syn_is(p, T_OP)) return left_section(p, items.at[0], first);
        if (items.count > LOOM_MAX_TUPLE) loom_syn_too_many(p, p->tokens->at[first].span, "a tuple", "components");
        if (!loom_syn_take(p, T_COMMA)) break;
        tuple = true;
    }
    loom_syn_expect(p, LOOM_W_CLOSING, T_RPAR, "`)`", NULL);
    if (!tuple) return items.at[0];
    syn_exp *e = loom_syn_new_exp(p, E_TUPLE, first);
    e->items = items.at;
    e->n_items = (uint32_t)items.count;
    return loom_syn_finish(p, e, first);
}

/* (f32.+) */
static syn_exp *qualified_operator(syn_parser *p, uint32_t first) {
    syn_name *qualifier = loom_syn_next(p)->name;
    loom_syn_next(p);
    syn_exp *e = operator_reference(p, first);
    e->qualifier = qualifier;
    return e;
}

static syn_exp *parse_parenthesised(syn_parser *p) {
    uint32_t first = p->at;
    loom_syn_next(p);
    syn_exp *e = NULL;
    const syn_token *one = loom_syn_ahead(p, 1), *two = loom_syn_ahead(p, 2);
    if (loom_syn_is(p, T_OP) && one->kind == T_RPAR) {
        e = operator_reference(p, first);
    } else if (loom_syn_is(p, T_NAME) && one->kind == T_DOT && two->kind == T_OP &&
               loom_syn_ahead(p, 3)->kind == T_RPAR) {
        e = qualified_operator(p, first);
    } else if (loom_syn_is(p, T_OP) && !is_section_minus(p)) {
        e = right_section(p, first);
    } else if (loom_syn_is(p, T_BACKTICK)) {
        e = backtick_section(p, first);
    } else if (loom_syn_is(p, T_DOT)) {
        e = projection_section(p, first);
    } else {
        e = tuple_or_group(p, first);
    }
    loom_syn_extent(p, first, X_BRACKET);
    return e;
}

/* ---- records, arrays, literals ---- */

static syn_exp *parse_record(syn_parser *p) {
    uint32_t first = p->at;
    syn_exp *e = loom_syn_new_exp(p, E_RECORD, first);
    loom_syn_next(p);
    LOOM_VEC(syn_name *) names = {0};
    LOOM_VEC(syn_exp *) items = {0};
    LOOM_VEC(loom_span) spans = {0};
    while (!loom_syn_is(p, T_RBRACE)) {
        uint32_t at = p->at;
        const syn_token *name =
            loom_syn_expect(p, LOOM_W_EXPECTED, T_NAME, "a field's name", "a record is written {x = 1, y = 2}");
        for (size_t i = 0; i < names.count; i++) {
            if (names.at[i] == name->name) loom_syn_field_twice(p, name, spans.at[i]);
        }
        if (names.count >= LOOM_MAX_TUPLE) loom_syn_too_many(p, p->tokens->at[first].span, "a record", "fields");
        syn_exp *value = NULL;
        if (loom_syn_take(p, T_EQUALS)) {
            value = loom_syn_exp(p);
        } else {
            value = loom_syn_new_exp(p, E_NAME, at);
            value->name = name->name;
        }
        LOOM_PUSH(p->c->arena, names, name->name);
        LOOM_PUSH(p->c->arena, spans, name->span);
        LOOM_PUSH(p->c->arena, items, value);
        if (!loom_syn_take(p, T_COMMA)) break;
    }
    loom_syn_expect(p, LOOM_W_CLOSING, T_RBRACE, "`,` or `}` after a field", "a record is written {x = 1, y = 2}");
    loom_syn_extent(p, first, X_BRACKET);
    e->names = names.at;
    e->n_names = (uint32_t)names.count;
    e->items = items.at;
    e->n_items = (uint32_t)items.count;
    return loom_syn_finish(p, e, first);
}

static syn_exp *parse_array(syn_parser *p) {
    uint32_t first = p->at;
    syn_exp *e = loom_syn_new_exp(p, E_ARRAY, first);
    loom_syn_next(p);
    LOOM_VEC(syn_exp *) items = {0};
    while (!loom_syn_is(p, T_RBRACKET)) {
        LOOM_PUSH(p->c->arena, items, loom_syn_exp(p));
        if (!loom_syn_take(p, T_COMMA)) break;
    }
    loom_syn_expect(p, LOOM_W_CLOSING, T_RBRACKET, "`,` or `]` after an element", NULL);
    loom_syn_extent(p, first, X_BRACKET);
    e->items = items.at;
    e->n_items = (uint32_t)items.count;
    return loom_syn_finish(p, e, first);
}

static syn_exp *parse_number(syn_parser *p, uint32_t first, bool negative) {
    const syn_token *t = loom_syn_next(p);
    syn_exp *e = loom_syn_new_exp(p, t->kind == T_INT ? E_INT : E_FLOAT, first);
    e->suffix = t->suffix;
    e->integer = t->integer;
    e->real = t->real;
    e->flag = negative;
    return loom_syn_finish(p, e, first);
}

static syn_exp *parse_simple(syn_parser *p) {
    uint32_t first = p->at;
    const syn_token *t = loom_syn_next(p);
    syn_exp *e = loom_syn_new_exp(p, t->kind == T_NAME ? E_NAME : E_BOOL, first);
    e->name = t->name;
    e->flag = t->kind == T_TRUE;
    return e;
}

syn_exp *loom_syn_take_literal(syn_parser *p) {
    uint32_t first = p->at;
    if (loom_syn_is(p, T_TRUE) || loom_syn_is(p, T_FALSE)) return parse_simple(p);
    bool negative = loom_syn_is_op(p, "-");
    syn_token_kind number = loom_syn_ahead(p, negative ? 1 : 0)->kind;
    if (number != T_INT && number != T_FLOAT) return NULL;
    if (negative) {
        loom_syn_mark(p, first, MARK_PREFIX);
        loom_syn_next(p);
    }
    return parse_number(p, first, negative);
}

/* `#clamp` */
static syn_exp *parse_boundary(syn_parser *p) {
    uint32_t first = p->at;
    syn_exp *e = loom_syn_new_exp(p, E_BOUNDARY, first);
    loom_syn_next(p);
    e->name = loom_syn_expect(p, LOOM_W_EXPECTED, T_NAME, "a boundary's name", "as in `stencil #clamp f xs`")->name;
    return loom_syn_finish(p, e, first);
}

static bool starts_atom(const syn_parser *p) {
    switch (loom_syn_now(p)->kind) {
    case T_NAME:
    case T_INT:
    case T_FLOAT:
    case T_TRUE:
    case T_FALSE:
    case T_LPAR:
    case T_LBRACKET:
    case T_LBRACE: return true;
    case T_HASH: return loom_syn_ahead(p, 1)->kind == T_NAME;
    default: return false;
    }
}

static syn_exp *parse_plain_atom(syn_parser *p) {
    switch (loom_syn_now(p)->kind) {
    case T_INT:
    case T_FLOAT: return parse_number(p, p->at, false);
    case T_NAME:
    case T_TRUE:
    case T_FALSE: return parse_simple(p);
    case T_LPAR: return parse_parenthesised(p);
    case T_LBRACKET: return parse_array(p);
    case T_LBRACE: return parse_record(p);
    case T_UNDERSCORE:
        loom_syn_fail(p, LOOM_W_UNDERSCORE, loom_syn_now(p)->span, "give it a name where it is bound",
                      "`_` stands for what is not named, so it has no value");
    case T_HASH: return parse_boundary(p);
    default:
        loom_syn_fail_here(p, LOOM_W_EXPRESSION, "an expression",
                           loom_syn_at_end(p)      ? "a value belongs here, such as `1`, `x + 1` or `f x`"
                           : loom_syn_is(p, T_FOR) ? "a `for` belongs to a loop: loop s = 0 for x in xs do s + x"
                                                   : NULL);
    }
}

syn_name *loom_syn_parse_field_name(syn_parser *p) {
    const syn_token *t = loom_syn_now(p);
    if (t->kind != T_NAME && t->kind != T_INT) loom_syn_fail_here(p, LOOM_W_EXPECTED, "a field", "as in r.x or t.0");
    loom_syn_next(p);
    return t->kind == T_NAME ? t->name : loom_syn_intern(p->c, p->tokens->text + t->offset, t->length);
}

static syn_exp *parse_atom(syn_parser *p) {
    uint32_t first = p->at;
    loom_syn_enter(p);
    syn_exp *e = parse_plain_atom(p);
    for (;;) {
        const syn_token *t = loom_syn_now(p);
        if (t->space_before) break;
        if (t->kind == T_DOT) {
            loom_syn_next(p);
            syn_exp *field = loom_syn_new_exp(p, E_FIELD, first);
            field->a = e;
            field->name_span = loom_syn_now(p)->span;
            field->name = loom_syn_parse_field_name(p);
            e = loom_syn_finish(p, field, first);
        } else if (t->kind == T_LBRACKET) {
            syn_exp *index = loom_syn_new_exp(p, E_INDEX, first);
            index->a = e;
            index->name_span = t->span;
            loom_syn_parse_index(p, index);
            e = loom_syn_finish(p, index, first);
        } else {
            break;
        }
    }
    loom_syn_leave(p);
    return e;
}

/* ---- application and prefix operators ---- */

static syn_exp *parse_application(syn_parser *p) {
    uint32_t first = p->at;
    syn_exp *f = parse_atom(p);
    if (!starts_atom(p) && !loom_syn_is(p, T_BACKSLASH)) return f;
    syn_exp *e = loom_syn_new_exp(p, E_APPLY, first);
    e->a = f;
    LOOM_VEC(syn_exp *) items = {0};
    while (starts_atom(p)) LOOM_PUSH(p->c->arena, items, parse_atom(p));
    /* `map \x -> ...`: the last argument needs no parentheses, since a function goes as far as it can. */
    if (loom_syn_is(p, T_BACKSLASH)) LOOM_PUSH(p->c->arena, items, loom_syn_parse_lambda(p));
    e->items = items.at;
    e->n_items = (uint32_t)items.count;
    loom_syn_extent(p, first, X_APPLY);
    return loom_syn_finish(p, e, first);
}

/* A minus right before a number makes a negative literal, so that -128i8 is in range. */
static syn_exp *parse_minus(syn_parser *p) {
    uint32_t first = p->at;
    loom_syn_mark(p, first, MARK_PREFIX);
    loom_syn_next(p);
    const syn_token *t = loom_syn_now(p), *after = loom_syn_ahead(p, 1);
    bool literal = (t->kind == T_INT || t->kind == T_FLOAT) && (after->space_before || after->kind != T_DOT);
    if (literal && after->kind != T_LBRACKET) return parse_number(p, first, true);
    syn_exp *e = loom_syn_new_exp(p, E_NEGATE, first);
    e->a = loom_syn_prefix(p);
    return loom_syn_finish(p, e, first);
}

static syn_exp *parse_not(syn_parser *p) {
    uint32_t first = p->at;
    loom_syn_mark(p, first, MARK_PREFIX);
    loom_syn_next(p);
    syn_exp *e = loom_syn_new_exp(p, E_NOT, first);
    e->a = loom_syn_prefix(p);
    return loom_syn_finish(p, e, first);
}

static syn_exp *prefix_of(syn_parser *p) {
    loom_syn_skip_attributes(p);
    if (loom_syn_is_op(p, "-")) return parse_minus(p);
    if (loom_syn_is_op(p, "!") || loom_syn_is_op(p, "~")) return parse_not(p);
    switch (loom_syn_now(p)->kind) {
    case T_LET: return loom_syn_parse_let(p);
    case T_IF: return loom_syn_parse_if(p);
    case T_LOOP: return loom_syn_parse_loop(p);
    case T_BACKSLASH: return loom_syn_parse_lambda(p);
    case T_MATCH: return loom_syn_parse_match(p);
    default: return parse_application(p);
    }
}

syn_exp *loom_syn_prefix(syn_parser *p) {
    loom_syn_enter(p);
    syn_exp *e = prefix_of(p);
    loom_syn_leave(p);
    return e;
}
