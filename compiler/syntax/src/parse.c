/* The parser's floor: tokens, errors, declarations. */
#include "compiler/ir/foreign.h"
#include "parser.h"
#include <stdarg.h>
#include <string.h>

bool loom_syn_is_op(const syn_parser *p, const char *text) {
    const syn_token *t = loom_syn_now(p);
    return t->kind == T_OP && strcmp(t->name->text, text) == 0;
}

const syn_token *loom_syn_next(syn_parser *p) {
    const syn_token *t = loom_syn_now(p);
    if (t->kind != T_END) p->at++;
    return t;
}

bool loom_syn_take(syn_parser *p, syn_token_kind kind) {
    if (!loom_syn_is(p, kind)) return false;
    loom_syn_next(p);
    return true;
}

void loom_syn_fail(syn_parser *p, loom_weft_error error, loom_span span, const char *hint, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    loom_syn_vreport(p->c, error, span, hint, format, arguments);
    va_end(arguments);
    longjmp(p->recover, 1);
}

void loom_syn_too_many(syn_parser *p, loom_span span, const char *what, const char *parts) {
    loom_syn_fail(p, LOOM_W_TUPLE_SIZE, span, "what is more of the same is an array", "%s of more than %d %s", what,
                  LOOM_MAX_TUPLE, parts);
}

static bool is_word_token(const syn_parser *p, const syn_token *t) {
    char c = t->length ? p->tokens->text[t->offset] : ' ';
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_module_word(const syn_token *t) {
    static const char *const words[] = {"import", "module", "open", "local", "include"};
    for (size_t i = 0; t->kind == T_NAME && i < sizeof words / sizeof *words; i++) {
        if (strcmp(t->name->text, words[i]) == 0) return true;
    }
    return false;
}

static bool begins_declaration(const syn_token *t) {
    switch (t->kind) {
    case T_DEF:
    case T_ENTRY:
    case T_TYPE:
    case T_LIFTED:
    case T_FOREIGN: return true;
    case T_LET: return t->span.column == 1;
    case T_HASH: return t->span.column == 1 && t[1].kind == T_LBRACKET; /* the last token is T_END */
    case T_NAME: return t->span.column == 1 && is_module_word(t);
    default: return false;
    }
}

bool loom_syn_at_end(const syn_parser *p) {
    const syn_token *t = loom_syn_now(p);
    return t->kind == T_END || begins_declaration(t);
}

/* The innermost bracket of this declaration that is still open here; NULL: none. */
static const syn_token *open_bracket(const syn_parser *p) {
    uint32_t closed = 0;
    for (uint32_t i = p->at; i-- > p->decl_from;) {
        const syn_token *t = &p->tokens->at[i];
        if (t->kind == T_RPAR || t->kind == T_RBRACKET || t->kind == T_RBRACE) closed++;
        if (t->kind != T_LPAR && t->kind != T_LBRACKET && t->kind != T_LBRACE) continue;
        if (closed == 0) return t;
        closed--;
    }
    return NULL;
}

/* What the present token tells about the mistake, where the place in the grammar tells nothing. */
static const char *token_hint(syn_parser *p, loom_weft_error error) {
    const syn_token *t = loom_syn_now(p), *open = open_bracket(p);
    if (error == LOOM_W_CLOSING && open) {
        return loom_arena_printf(p->c->arena, "%s is opened in line %u, column %u",
                                 loom_syn_token_text(p->c, p->tokens, open), open->span.line, open->span.column);
    }
    if (error != LOOM_W_DECLARATION_END) return NULL;
    if (t->kind == T_COMMA) return "a tuple stands in parentheses: (x, y)";
    bool closes = t->kind == T_RPAR || t->kind == T_RBRACKET || t->kind == T_RBRACE;
    return closes ? "no bracket is open here" : NULL;
}

void loom_syn_fail_here(syn_parser *p, loom_weft_error error, const char *expected, const char *hint) {
    const syn_token *t = loom_syn_now(p);
    bool keyword = t->kind != T_NAME && t->kind != T_UNDERSCORE && is_word_token(p, t);
    if (keyword && (error == LOOM_W_PATTERN || error == LOOM_W_EXPECTED)) {
        hint = loom_arena_printf(p->c->arena, "%s is a word of the language: choose another name",
                                 loom_syn_token_text(p->c, p->tokens, t));
    }
    if (!hint) hint = token_hint(p, error);
    /* What is missing at the end of a declaration is missing there, not where the next one begins. */
    if (p->at > p->decl_from && loom_syn_at_end(p)) {
        loom_span end = p->tokens->at[p->at - 1].span;
        end.column = end.end_column;
        end.end_column++;
        loom_syn_fail(p, error, end, hint, "expected %s, found the end of the declaration", expected);
    }
    loom_syn_fail(p, error, t->span, hint, "expected %s, found %s", expected, loom_syn_token_text(p->c, p->tokens, t));
}

const syn_token *loom_syn_expect(syn_parser *p, loom_weft_error error, syn_token_kind kind, const char *what,
                                 const char *hint) {
    if (!loom_syn_is(p, kind)) loom_syn_fail_here(p, error, what, hint);
    return loom_syn_next(p);
}

void loom_syn_enter(syn_parser *p) {
    if (++p->nesting > LOOM_SYN_MAX_NESTING) {
        loom_syn_fail(p, LOOM_W_NESTING, loom_syn_now(p)->span, "name parts of it with `let`",
                      "nested more than %d levels deep", LOOM_SYN_MAX_NESTING);
    }
}

void loom_syn_leave(syn_parser *p) {
    p->nesting--;
}

loom_span loom_syn_span_from(const syn_parser *p, uint32_t first) {
    const syn_token *from = &p->tokens->at[first];
    return p->at > first ? loom_syn_join(from->span, p->tokens->at[p->at - 1].span) : from->span;
}

void loom_syn_extent(syn_parser *p, uint32_t first, syn_extent_kind kind) {
    if (!p->layout) return;
    syn_extent extent = {.kind = kind, .first = first, .end = p->at};
    LOOM_PUSH(p->c->arena, *p->layout, extent);
}

void loom_syn_mark(syn_parser *p, uint32_t token, syn_mark mark) {
    if (p->layout) p->layout->marks[token] |= (uint8_t)mark;
}

void loom_syn_skip_attributes(syn_parser *p) {
    while (loom_syn_is(p, T_HASH) && loom_syn_ahead(p, 1)->kind == T_LBRACKET) {
        loom_syn_next(p);
        loom_syn_next(p);
        for (uint32_t open = 1; open;) {
            const syn_token *t = loom_syn_now(p);
            if (t->kind == T_END) loom_syn_fail_here(p, LOOM_W_CLOSING, "`]` at the end of the attribute", NULL);
            if (t->kind == T_LBRACKET) open++;
            if (t->kind == T_RBRACKET) open--;
            loom_syn_next(p);
        }
    }
}

/* ---- declarations ---- */

static _Noreturn void not_available(syn_parser *p, const syn_token *t) {
    loom_syn_fail(p, LOOM_W_UNAVAILABLE, t->span, "leave it out: `map f` is vectorised from what f says",
                  "`%s` is not available in this version", t->name->text);
}

/* Skips at least one token, up to the next beginning of a declaration. */
static void skip_to_declaration(syn_parser *p, uint32_t from) {
    if (p->at == from) loom_syn_next(p);
    while (!loom_syn_is(p, T_END) && !begins_declaration(loom_syn_now(p))) loom_syn_next(p);
}

static void add_decl(syn_parser *p, syn_decl *d) {
    syn_decl **slot = d->kind == D_TYPE ? &d->name->type : &d->name->value;
    if (d->kind == D_TYPE && d->name->dtype != LOOM_DTYPES) {
        loom_syn_report(p->c, LOOM_W_SCALAR_TYPE_NAME, d->span, "choose another name",
                        "`%s` is a scalar type and cannot be defined", d->name->text);
    }
    if (*slot && (*slot)->prelude == p->prelude) {
        loom_span first = (*slot)->span;
        bool elsewhere = p->c->files && first.file != d->span.file && first.file < p->c->n_user_files;
        const char *hint = loom_arena_printf(p->c->arena, "the first one is in line %u%s%s", first.line,
                                             elsewhere ? " of " : "", elsewhere ? p->c->files[first.file].name : "");
        loom_syn_report(p->c, LOOM_W_DEFINED_TWICE, d->span, hint, "`%s` is defined twice", d->name->text);
    }
    d->shadowed = *slot;
    d->index = (uint32_t)p->decls->count;
    d->prelude = p->prelude;
    *slot = d;
    p->declared = true;
    LOOM_PUSH(p->c->arena, *p->decls, d);
}

/* A name, or an operator in parentheses. */
static const syn_token *declared_name(syn_parser *p) {
    const syn_token *op = loom_syn_take_operator(p);
    return op ? op : loom_syn_expect(p, LOOM_W_EXPECTED, T_NAME, "a name", "as in `def name (x: f32) = x`");
}

static syn_decl *parse_function(syn_parser *p, syn_decl_kind kind) {
    loom_syn_next(p);
    syn_decl *d = LOOM_NEW(p->c->arena, syn_decl);
    const syn_token *name = declared_name(p);
    p->declaring = name;
    p->declaring_kind = kind;
    d->kind = kind == D_DEF && strcmp(name->name->text, "main") == 0 ? D_ENTRY : kind;
    d->name = name->name;
    d->span = name->span;
    d->function = LOOM_NEW(p->c->arena, syn_function);
    d->function->name = name->name;
    d->function->span = name->span;
    loom_syn_function_head(p, d->function);
    loom_syn_expect(p, LOOM_W_EQUALS, T_EQUALS, "`=` before the body",
                    "parameters are names, or patterns in parentheses: (x: f32)");
    d->function->body = loom_syn_exp(p);
    add_decl(p, d);
    return d;
}

static const char *known_to_the_system(syn_parser *p) {
    const char *names = "";
    for (uint32_t i = LOOM_FOREIGN_NONE + 1; i < LOOM_FOREIGNS; i++) {
        names = loom_arena_printf(p->c->arena, "%s%s`%s`", names, *names ? ", " : "", loom_foreign_table[i].name);
    }
    return names;
}

/* All types are written, so that every call has them: what is called is one function, not one for each type. */
static bool is_annotated(const syn_function *f) {
    bool all = f->result && f->n_type_params == 0;
    for (uint32_t i = 0; i < f->n_params; i++) all = all && f->params[i]->kind == P_TYPED;
    return all;
}

static void parse_foreign(syn_parser *p) {
    loom_syn_next(p);
    if (!loom_syn_is(p, T_DEF)) {
        loom_syn_fail_here(p, LOOM_W_DECLARATION, "`def` after `foreign`",
                           "as in `foreign def dft (xs: [n]c64) : [n]c64`");
    }
    syn_decl *d = parse_function(p, D_DEF);
    loom_foreign known = loom_foreign_find(d->name->text);
    if (known == LOOM_FOREIGN_NONE) {
        const char *hint =
            loom_arena_printf(p->c->arena, "without `foreign` it is a def; known are: %s", known_to_the_system(p));
        loom_syn_report(p->c, LOOM_W_FOREIGN_NAME, d->span, hint, "the system has no function `%s`", d->name->text);
    } else if (!is_annotated(d->function)) {
        const char *hint = loom_arena_printf(p->c->arena, "`%s` is %s", d->name->text, loom_foreign_table[known].types);
        loom_syn_report(p->c, LOOM_W_FOREIGN_TYPE, d->span, hint,
                        "the parameters and the result of the foreign function `%s` need types", d->name->text);
    } else {
        d->foreign = known;
    }
}

static void parse_type_decl(syn_parser *p) {
    loom_syn_next(p);
    if (p->at < p->tokens->count && (loom_syn_is_op(p, "^") || loom_syn_is_op(p, "~"))) loom_syn_next(p);
    const syn_token *name =
        loom_syn_expect(p, LOOM_W_EXPECTED, T_NAME, "the type's name", "as in `type point = {x: f32, y: f32}`");
    syn_decl *d = LOOM_NEW(p->c->arena, syn_decl);
    p->declaring = name;
    p->declaring_kind = D_TYPE;
    d->kind = D_TYPE;
    d->name = name->name;
    d->span = name->span;
    d->function = LOOM_NEW(p->c->arena, syn_function);
    d->function->name = name->name;
    loom_syn_function_head(p, d->function);
    if (d->function->n_params) {
        loom_syn_fail(p, LOOM_W_TYPE_PARAMETER, d->function->params[0]->span, "sizes are written [n], types 'a",
                      "a type's parameters are sizes and types");
    }
    loom_syn_expect(p, LOOM_W_EQUALS, T_EQUALS, "`=` before the type", NULL);
    d->type = loom_syn_type(p);
    add_decl(p, d);
}

/* A declaration cannot begin with a name; modules are a thing of Futhark that people will try. */
static _Noreturn void refuse_name(syn_parser *p, const syn_token *t) {
    if (is_module_word(t)) {
        p->declared = true;
        loom_syn_fail(p, LOOM_W_MODULES, t->span, "give several files to one command: they are read as one text",
                      "Weft has no modules and no `%s`", t->name->text);
    }
    loom_syn_fail_here(p, LOOM_W_DECLARATION, "`def`, `entry` or `type`", "a declaration begins with one of these");
}

static void parse_decl(syn_parser *p) {
    loom_syn_skip_attributes(p);
    const syn_token *t = loom_syn_now(p);
    switch (t->kind) {
    case T_DEF:
    case T_LET: parse_function(p, D_DEF); break;
    case T_ENTRY: parse_function(p, D_ENTRY); break;
    case T_TYPE: parse_type_decl(p); break;
    case T_LIFTED: p->declared = true; not_available(p, t);
    case T_FOREIGN: parse_foreign(p); break;
    case T_NAME: refuse_name(p, t);
    default:
        loom_syn_fail_here(p, LOOM_W_DECLARATION, "`def`, `entry` or `type`", "a declaration begins with one of these");
    }
    if (!loom_syn_is(p, T_END) && !begins_declaration(loom_syn_now(p)) && !loom_syn_is(p, T_LET)) {
        loom_syn_fail_here(p, LOOM_W_DECLARATION_END, "the end of the declaration", NULL);
    }
}

/* What did not parse keeps its name, so that its uses give no errors of their own. */
static void add_broken(syn_parser *p) {
    if (p->declared) return;
    if (!p->declaring) {
        p->c->nameless_error = true;
        return;
    }
    syn_decl *d = LOOM_NEW(p->c->arena, syn_decl);
    d->kind = p->declaring_kind;
    d->name = p->declaring->name;
    d->span = p->declaring->span;
    d->broken = true;
    d->function = LOOM_NEW(p->c->arena, syn_function);
    add_decl(p, d);
}

void loom_syn_parse(syn_context *c, const syn_tokens *tokens, bool prelude, syn_decls *decls, syn_layout *layout) {
    /* In the arena and not on the stack: what changes between setjmp and longjmp must live in memory. */
    syn_parser *p = LOOM_NEW(c->arena, syn_parser);
    *p = (syn_parser){.c = c, .tokens = tokens, .decls = decls, .layout = layout, .prelude = prelude};
    if (layout) layout->marks = LOOM_NEW_ARRAY(c->arena, uint8_t, tokens->count);
    while (!loom_syn_is(p, T_END)) {
        p->decl_from = p->at;
        p->nesting = 0;
        p->refutable = false;
        p->unknown = NULL;
        p->declaring = NULL;
        p->declared = false;
        if (setjmp(p->recover) == 0) {
            parse_decl(p);
            loom_syn_extent(p, p->decl_from, X_DECL);
        } else {
            add_broken(p);
            skip_to_declaration(p, p->decl_from);
        }
    }
}
