/* Expressions: operators by precedence climbing, application, and everything that is not an atom. Levels as Futhark's,
 * lowest first: ranges, `f`, with, |>, <|, ||, &&, comparisons, & ^ |, shifts, + -, * / % // %%, **, application. */
#include "parse_exp.h"
#include <string.h>

/* ---- nodes ---- */

syn_exp *loom_syn_new_exp(syn_parser *p, syn_exp_kind kind, uint32_t first) {
    syn_exp *e = LOOM_NEW(p->c->arena, syn_exp);
    e->kind = kind;
    e->suffix = LOOM_DTYPES;
    e->span = p->tokens->at[first].span;
    return e;
}

static void under(syn_exp *e, const syn_exp *child) {
    if (child && child->depth >= e->depth) e->depth = child->depth + 1;
}

static void under_index(syn_exp *e) {
    for (uint32_t i = 0; i < e->n_index; i++) {
        under(e, e->index[i].at);
        under(e, e->index[i].to);
        under(e, e->index[i].step);
    }
}

syn_exp *loom_syn_finish(syn_parser *p, syn_exp *e, uint32_t first) {
    e->span = loom_syn_span_from(p, first);
    under(e, e->a);
    if (e->kind == E_LET || e->kind == E_LET_FUN) {
        if (e->b->depth > e->depth) e->depth = e->b->depth; /* a chain of lets is not deep */
    } else {
        under(e, e->b);
    }
    under(e, e->c);
    for (uint32_t i = 0; i < e->n_items; i++) under(e, e->items[i]);
    under_index(e);
    for (uint32_t i = 0; i < e->n_cases; i++) under(e, e->cases[i].body);
    if (e->function) under(e, e->function->body);
    if (e->loop) {
        under(e, e->loop->initial);
        under(e, e->loop->limit);
        under(e, e->loop->body);
    }
    if (e->depth > LOOM_SYN_MAX_HEIGHT) {
        loom_syn_fail(p, LOOM_W_HEIGHT, e->span, "name parts of it with `let`", "an expression of more than %d levels",
                      LOOM_SYN_MAX_HEIGHT);
    }
    return e;
}

static syn_exp *binary(syn_parser *p, const syn_token *op, syn_exp *a, syn_exp *b, uint32_t first) {
    syn_exp *e = loom_syn_new_exp(p, E_BINARY, first);
    e->name = op->name;
    e->name_span = op->span;
    e->a = a;
    e->b = b;
    return loom_syn_finish(p, e, first);
}

/* ---- operators ---- */

uint32_t loom_syn_binary_level(const syn_name *op) {
    static const struct {
        const char *prefix;
        uint32_t level;
    } levels[] = {{"|>", 1}, {"<|", 2}, {"||", 3},  {"&&", 4}, {"<<", 7}, {">>", 7}, {"<=", 5}, {">=", 5},
                  {"==", 5}, {"!=", 5}, {"**", 10}, {"<", 5},  {">", 5},  {"!", 5},  {"=", 5},  {"&", 6},
                  {"^", 6},  {"|", 6},  {"+", 8},   {"-", 8},  {"*", 9},  {"/", 9},  {"%", 9}};
    if (strcmp(op->text, "!") == 0 || strcmp(op->text, "~") == 0) return 0;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        if (strncmp(op->text, levels[i].prefix, strlen(levels[i].prefix)) == 0) return levels[i].level;
    }
    return 0;
}

static uint32_t level_here(const syn_parser *p) {
    const syn_token *t = loom_syn_now(p);
    return t->kind == T_OP ? loom_syn_binary_level(t->name) : 0;
}

/* `(a +)`: an operator before `)` ends the operand of a section. */
static bool section_ends_here(const syn_parser *p) {
    return loom_syn_ahead(p, 1)->kind == T_RPAR;
}

static syn_exp *parse_level(syn_parser *p, uint32_t level) {
    uint32_t first = p->at;
    if (level > LOOM_SYN_LEVELS) return loom_syn_prefix(p);
    syn_exp *left = loom_syn_prefix(p);
    for (;;) {
        uint32_t here = level_here(p);
        if (here < level || here == 0 || section_ends_here(p)) return left;
        loom_syn_enter(p);
        const syn_token *op = loom_syn_next(p);
        /* All associate to the left but `<|`. */
        syn_exp *right = parse_level(p, here == 2 ? here : here + 1);
        left = binary(p, op, left, right, first);
        loom_syn_extent(p, first, X_BINARY);
        loom_syn_leave(p);
    }
}

/* Where a level's operand is parsed, operators that bind tighter are taken there; so climbing needs no function per
 * level. */
static syn_exp *parse_operators(syn_parser *p) {
    return parse_level(p, 1);
}

/* ---- with ---- */

static void parse_path(syn_parser *p, syn_exp *e) {
    LOOM_VEC(syn_name *) names = {0};
    do {
        LOOM_PUSH(p->c->arena, names,
                  loom_syn_expect(p, LOOM_W_EXPECTED, T_NAME, "a field's name", "as in `r with x = 1`")->name);
    } while (loom_syn_take(p, T_DOT));
    e->names = names.at;
    e->n_names = (uint32_t)names.count;
}

/* Where in a value an update is made: `[i]`, `x.y`, `[i].x[j]`. Each step but the first lies in `c` of the one before.
 */
static syn_exp *parse_steps(syn_parser *p, uint32_t first) {
    bool index = loom_syn_is(p, T_LBRACKET);
    syn_exp *step = loom_syn_new_exp(p, index ? E_UPDATE : E_UPDATE_FIELD, first);
    step->name_span = loom_syn_now(p)->span;
    if (index) {
        loom_syn_parse_index(p, step);
    } else {
        parse_path(p, step);
    }
    if (!loom_syn_is(p, T_LBRACKET) && !loom_syn_take(p, T_DOT)) return step;
    loom_syn_enter(p);
    uint32_t next = p->at;
    step->c = loom_syn_finish(p, parse_steps(p, next), next);
    loom_syn_leave(p);
    return step;
}

static syn_exp *parse_with(syn_parser *p) {
    uint32_t first = p->at;
    syn_exp *e = parse_operators(p);
    while (loom_syn_take(p, T_WITH)) {
        syn_exp *update = parse_steps(p, first);
        update->a = e;
        loom_syn_expect(p, LOOM_W_EQUALS, T_EQUALS, "`=` and the new value", "as in `xs with [i] = v`");
        update->b = parse_operators(p);
        e = loom_syn_finish(p, update, first);
        loom_syn_extent(p, first, X_OTHER);
    }
    return e;
}

/* ---- `f` and ranges ---- */

static syn_exp *parse_backticks(syn_parser *p) {
    uint32_t first = p->at;
    syn_exp *e = parse_with(p);
    while (loom_syn_is(p, T_BACKTICK)) {
        loom_syn_next(p);
        syn_name *qualifier = loom_syn_qualifier(p);
        const syn_token *name = loom_syn_expect(p, LOOM_W_EXPECTED, T_NAME, "a function's name", "as in x `f` y");
        loom_syn_expect(p, LOOM_W_CLOSING, T_BACKTICK, "the closing backtick", NULL);
        syn_exp *right = parse_with(p);
        e = binary(p, name, e, right, first);
        e->qualifier = qualifier;
        e->flag = true;
        loom_syn_extent(p, first, X_BINARY);
    }
    return e;
}

static bool is_range_end(const syn_parser *p) {
    return loom_syn_is(p, T_DOTS_TO) || loom_syn_is(p, T_DOTS_LESS) || loom_syn_is(p, T_DOTS_MORE);
}

static syn_exp *parse_range(syn_parser *p) {
    uint32_t first = p->at;
    syn_exp *from = parse_backticks(p);
    if (!loom_syn_is(p, T_DOTS) && !is_range_end(p)) return from;
    syn_exp *e = loom_syn_new_exp(p, E_RANGE, first);
    e->a = from;
    if (loom_syn_take(p, T_DOTS)) {
        e->b = parse_backticks(p);
        if (!is_range_end(p)) {
            loom_syn_fail_here(p, LOOM_W_RANGE_FORM, "`..<`, `...` or `..>` and the end of the range",
                               "`a..<b` is without b, `a...b` with it; `a..s..<b` has s as its second element");
        }
    }
    e->range = loom_syn_next(p)->kind;
    e->c = parse_backticks(p);
    return loom_syn_finish(p, e, first);
}

static syn_exp *parse_typed(syn_parser *p) {
    uint32_t first = p->at;
    syn_exp *e = parse_range(p);
    while (loom_syn_is(p, T_COLON) || loom_syn_is(p, T_COERCE)) {
        syn_exp *typed = loom_syn_new_exp(p, E_TYPED, first);
        typed->flag = loom_syn_next(p)->kind == T_COERCE;
        typed->a = e;
        typed->type = loom_syn_type_atom(p);
        e = loom_syn_finish(p, typed, first);
    }
    return e;
}

syn_exp *loom_syn_index_part(syn_parser *p) {
    loom_syn_enter(p);
    syn_exp *e = parse_range(p);
    loom_syn_leave(p);
    return e;
}

syn_exp *loom_syn_exp(syn_parser *p) {
    loom_syn_enter(p);
    syn_exp *e = parse_typed(p);
    loom_syn_leave(p);
    return e;
}

/* ---- let ---- */

/* `let f x = ...` against `let (x, y) = ...` and `let xs[i] = ...`. */
static bool is_let_function(const syn_parser *p) {
    if (!loom_syn_is(p, T_NAME)) return false;
    const syn_token *t = loom_syn_ahead(p, 1);
    return t->kind == T_NAME || t->kind == T_UNDERSCORE || t->kind == T_LPAR || t->kind == T_LBRACE ||
           t->kind == T_TYPE_VAR || (t->kind == T_LBRACKET && t->space_before);
}

static syn_exp *let_function(syn_parser *p, uint32_t first) {
    syn_exp *e = loom_syn_new_exp(p, E_LET_FUN, first);
    const syn_token *name = loom_syn_next(p);
    e->name = name->name;
    e->function = LOOM_NEW(p->c->arena, syn_function);
    e->function->name = name->name;
    e->function->span = name->span;
    loom_syn_function_head(p, e->function);
    loom_syn_expect(p, LOOM_W_EQUALS, T_EQUALS, "`=` and the function's body", NULL);
    e->function->body = loom_syn_exp(p);
    return e;
}

/* `let xs[i] = v` is `let xs = xs with [i] = v`, `let r.x = v` is `let r = r with x = v`. */
static syn_exp *let_update(syn_parser *p, uint32_t first) {
    syn_exp *e = loom_syn_new_exp(p, E_LET, first);
    uint32_t at = p->at;
    e->pat = loom_syn_pattern_atom(p);
    (void)loom_syn_take(p, T_DOT);
    syn_exp *update = parse_steps(p, at);
    update->a = loom_syn_new_exp(p, E_NAME, at);
    update->a->name = e->pat->name;
    loom_syn_expect(p, LOOM_W_EQUALS, T_EQUALS, "`=` and the new value", NULL);
    update->b = loom_syn_exp(p);
    e->a = loom_syn_finish(p, update, at);
    return e;
}

static syn_exp *let_pattern(syn_parser *p, uint32_t first) {
    syn_exp *e = loom_syn_new_exp(p, E_LET, first);
    e->function = LOOM_NEW(p->c->arena, syn_function);
    while (loom_syn_is(p, T_LBRACKET)) {
        loom_syn_next(p);
        const syn_token *name =
            loom_syn_expect(p, LOOM_W_EXPECTED, T_NAME, "a size's name", "as in `let [n] (xs: [n]f32) = ...`");
        loom_syn_expect(p, LOOM_W_CLOSING, T_RBRACKET, "`]`", NULL);
        syn_function *f = e->function;
        f->sizes = loom_arena_grow(p->c->arena, f->sizes, f->n_sizes, f->n_sizes + 1, sizeof *f->sizes);
        f->size_spans = loom_arena_grow(p->c->arena, f->size_spans, f->n_sizes, f->n_sizes + 1, sizeof *f->size_spans);
        f->sizes[f->n_sizes] = name->name;
        f->size_spans[f->n_sizes++] = name->span;
    }
    e->pat = loom_syn_pattern(p);
    loom_syn_bind_once(p, &e->pat, 1);
    loom_syn_expect(p, LOOM_W_EQUALS, T_EQUALS, "`=` and a value", "as in `let x = 1`");
    e->a = loom_syn_exp(p);
    if (e->function->n_sizes == 0) e->function = NULL;
    return e;
}

/* A chain of lets is read in a loop and built from its end. */
syn_exp *loom_syn_parse_let(syn_parser *p) {
    LOOM_VEC(syn_exp *) lets = {0};
    LOOM_VEC(uint32_t) firsts = {0};
    while (loom_syn_is(p, T_LET)) {
        uint32_t first = p->at;
        loom_syn_next(p);
        loom_syn_skip_attributes(p);
        const syn_token *after = loom_syn_ahead(p, 1);
        bool update =
            loom_syn_is(p, T_NAME) && (after->kind == T_DOT || (after->kind == T_LBRACKET && !after->space_before));
        syn_exp *e = update               ? let_update(p, first)
                     : is_let_function(p) ? let_function(p, first)
                                          : let_pattern(p, first);
        loom_syn_extent(p, first, X_LET);
        LOOM_PUSH(p->c->arena, lets, e);
        LOOM_PUSH(p->c->arena, firsts, first);
        if (loom_syn_take(p, T_IN))
            loom_syn_skip_attributes(p);
        else if (!loom_syn_is(p, T_LET))
            loom_syn_fail_here(p, LOOM_W_LET_FORM, "`in` after the let",
                               loom_arena_printf(p->c->arena,
                                                 "the `let` of line %u needs `in` and an expression that uses it",
                                                 p->tokens->at[first].span.line));
    }
    if (loom_syn_at_end(p)) {
        loom_syn_fail_here(p, LOOM_W_LET_FORM, "an expression",
                           "after `in` comes the value, made with what the `let` names");
    }
    syn_exp *body = loom_syn_exp(p);
    for (size_t i = lets.count; i-- > 0;) {
        lets.at[i]->b = body;
        body = loom_syn_finish(p, lets.at[i], firsts.at[i]);
    }
    return body;
}

/* ---- if, loop, match, lambda ---- */

syn_exp *loom_syn_parse_if(syn_parser *p) {
    uint32_t first = p->at;
    bool chained = first == p->chained_if;
    syn_exp *e = loom_syn_new_exp(p, E_IF, first);
    loom_syn_next(p);
    e->a = loom_syn_exp(p);
    bool assigns = loom_syn_is(p, T_EQUALS);
    loom_syn_expect(p, LOOM_W_IF_FORM, T_THEN, "`then`",
                    assigns ? "equality is written `==`" : "if condition then value else value");
    e->b = loom_syn_exp(p);
    loom_syn_expect(p, LOOM_W_IF_FORM, T_ELSE, "`else`", "an `if` is a value, so both branches are needed");
    p->chained_if = p->at;
    e->c = loom_syn_exp(p);
    if (!chained) loom_syn_extent(p, first, X_IF);
    return loom_syn_finish(p, e, first);
}

static void parse_loop_head(syn_parser *p, syn_loop *loop) {
    const char *hint = "loop x = start while condition do step, or: for i < n do, for x in xs do";
    if (loom_syn_take(p, T_WHILE)) {
        loop->kind = LOOP_WHILE;
        loop->limit = loom_syn_exp(p);
        return;
    }
    loom_syn_expect(p, LOOM_W_LOOP_FORM, T_FOR, "`while` or `for`", hint);
    loop->variable = loom_syn_pattern(p);
    loom_syn_bind_once(p, &loop->variable, 1);
    if (loom_syn_take(p, T_IN)) {
        loop->kind = LOOP_IN;
    } else if (loom_syn_is_op(p, "<")) {
        loop->kind = LOOP_FOR;
        loom_syn_next(p);
    } else {
        loom_syn_fail_here(p, LOOM_W_LOOP_FORM, "`<` or `in`", hint);
    }
    loop->limit = loom_syn_exp(p);
}

syn_exp *loom_syn_parse_loop(syn_parser *p) {
    uint32_t first = p->at;
    syn_exp *e = loom_syn_new_exp(p, E_LOOP, first);
    e->loop = LOOM_NEW(p->c->arena, syn_loop);
    loom_syn_next(p);
    e->loop->state = loom_syn_pattern(p);
    loom_syn_bind_once(p, &e->loop->state, 1);
    if (loom_syn_take(p, T_EQUALS)) e->loop->initial = loom_syn_exp(p);
    parse_loop_head(p, e->loop);
    loom_syn_expect(p, LOOM_W_LOOP_FORM, T_DO, "`do` and the loop's body", "loop x = start for i < n do step");
    e->loop->body = loom_syn_exp(p);
    loom_syn_extent(p, first, X_OTHER);
    return loom_syn_finish(p, e, first);
}

static syn_case parse_case(syn_parser *p) {
    uint32_t first = p->at;
    const char *hint = "as in `case 0 -> x`, `case (1, y) -> y`, `case _ -> 0`";
    syn_case c = {0};
    loom_syn_expect(p, LOOM_W_MATCH_FORM, T_CASE, "`case`", hint);
    p->refutable = true;
    c.pat = loom_syn_pattern(p);
    p->refutable = false;
    loom_syn_bind_once(p, &c.pat, 1);
    loom_syn_expect(p, LOOM_W_MATCH_FORM, T_ARROW, "`->` after the pattern", hint);
    c.span = loom_syn_span_from(p, first);
    c.body = loom_syn_exp(p);
    return c;
}

/* A `match` inside a case without parentheses takes the cases that follow, as in Futhark. */
syn_exp *loom_syn_parse_match(syn_parser *p) {
    uint32_t first = p->at;
    syn_exp *e = loom_syn_new_exp(p, E_MATCH, first);
    loom_syn_next(p);
    e->a = loom_syn_exp(p);
    LOOM_VEC(syn_case) cases = {0};
    do {
        syn_case c = parse_case(p);
        LOOM_PUSH(p->c->arena, cases, c);
    } while (loom_syn_is(p, T_CASE));
    e->cases = cases.at;
    e->n_cases = (uint32_t)cases.count;
    loom_syn_extent(p, first, X_MATCH);
    return loom_syn_finish(p, e, first);
}

syn_exp *loom_syn_parse_lambda(syn_parser *p) {
    uint32_t first = p->at;
    syn_exp *e = loom_syn_new_exp(p, E_LAMBDA, first);
    loom_syn_next(p);
    e->function = LOOM_NEW(p->c->arena, syn_function);
    LOOM_VEC(syn_pat *) params = {0};
    while (loom_syn_starts_pattern(p)) LOOM_PUSH(p->c->arena, params, loom_syn_pattern_atom(p));
    if (params.count == 0)
        loom_syn_fail_here(p, LOOM_W_LAMBDA_FORM, "a parameter", "a function is written \\x -> x + 1");
    e->function->params = params.at;
    e->function->n_params = (uint32_t)params.count;
    loom_syn_bind_once(p, e->function->params, e->function->n_params);
    if (loom_syn_take(p, T_COLON)) e->function->result = loom_syn_type_atom(p);
    loom_syn_expect(p, LOOM_W_LAMBDA_FORM, T_ARROW, "`->`", "a function is written \\x -> x + 1");
    e->function->span = loom_syn_span_from(p, first);
    uint32_t body = p->at;
    e->function->body = loom_syn_exp(p);
    loom_syn_extent(p, first, X_LAMBDA);
    if (p->layout) p->layout->at[p->layout->count - 1].body = body;
    return loom_syn_finish(p, e, first);
}
