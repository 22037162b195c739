/* Inside the parser: recursive descent, one function per construct, operators by precedence climbing.
 *
 * Errors: the first error in a declaration is reported and the parser jumps (longjmp, everything is in the arena) to
 * the loop over declarations, which skips to the next line that begins one. So every declaration gives at most one
 * syntax error, and none of the follow-ups that confuse.
 */
#ifndef LOOM_SYNTAX_PARSER_H
#define LOOM_SYNTAX_PARSER_H

#include "ast.h"
#include <setjmp.h>

/* A size that `?[k].` before a type names: nobody knows it, so it claims nothing. */
typedef struct syn_unknown_size {
    const syn_name *name;
    const struct syn_unknown_size *outer;
} syn_unknown_size;

typedef struct syn_parser {
    syn_context *c;
    const syn_tokens *tokens;
    uint32_t at;                /* token to come */
    uint32_t nesting;           /* of functions below, against LOOM_SYN_MAX_NESTING */
    uint32_t chained_if;        /* the `if` of an `else if`, which is no deeper than the first */
    uint32_t decl_from;         /* first token of the present declaration */
    const syn_token *declaring; /* name of the present declaration, once it was read */
    syn_decl_kind declaring_kind;
    bool declared;                   /* it is in the list */
    const syn_unknown_size *unknown; /* of the type that is being read, innermost first */
    bool refutable;                  /* the pattern to come may have literals in it: that of a `case` */
    jmp_buf recover;
    syn_decls *decls;
    syn_layout *layout;
    bool prelude;
} syn_parser;

static inline const syn_token *loom_syn_now(const syn_parser *p) {
    return &p->tokens->at[p->at];
}
static inline bool loom_syn_is(const syn_parser *p, syn_token_kind kind) {
    return loom_syn_now(p)->kind == kind;
}
static inline const syn_token *loom_syn_ahead(const syn_parser *p, uint32_t n) {
    uint32_t at = p->at + n < p->tokens->count ? p->at + n : p->tokens->count - 1;
    return &p->tokens->at[at];
}
bool loom_syn_at_end(const syn_parser *p); /* of the declaration */
bool loom_syn_is_op(const syn_parser *p, const char *text);
const syn_token *loom_syn_next(syn_parser *p); /* takes it */
bool loom_syn_take(syn_parser *p, syn_token_kind kind);
/* Takes a token of this kind or reports "expected <what> <context>, found ...". */
const syn_token *loom_syn_expect(syn_parser *p, loom_weft_error error, syn_token_kind kind, const char *what,
                                 const char *hint);
_Noreturn void loom_syn_fail(syn_parser *p, loom_weft_error error, loom_span span, const char *hint, const char *format,
                             ...) LOOM_PRINTF(5, 6);
/* More than LOOM_MAX_TUPLE parts of something. */
_Noreturn void loom_syn_too_many(syn_parser *p, loom_span span, const char *what, const char *parts);
_Noreturn void loom_syn_fail_here(syn_parser *p, loom_weft_error error, const char *expected, const char *hint);
void loom_syn_enter(syn_parser *p); /* one level deeper, or the nesting error */
void loom_syn_leave(syn_parser *p);
loom_span loom_syn_span_from(const syn_parser *p, uint32_t first_token);
void loom_syn_extent(syn_parser *p, uint32_t first_token, syn_extent_kind kind);
void loom_syn_mark(syn_parser *p, uint32_t token, syn_mark mark);
/* `#[...]`, any number of them, are skipped. */
void loom_syn_skip_attributes(syn_parser *p);

syn_exp *loom_syn_exp(syn_parser *p);
syn_te *loom_syn_type(syn_parser *p);
syn_te *loom_syn_type_atom(syn_parser *p); /* without an arrow */
bool loom_syn_starts_type_atom(const syn_parser *p);
syn_pat *loom_syn_pattern(syn_parser *p); /* with `: type` */
syn_pat *loom_syn_pattern_atom(syn_parser *p);
const syn_token *loom_syn_take_operator(
    syn_parser *p); /* `(+)`: the operator; NULL, and nothing taken, if it is not there */
bool loom_syn_starts_pattern(const syn_parser *p);
/* Reports names that patterns bind together and that are there twice. */
void loom_syn_bind_once(syn_parser *p, syn_pat *const *patterns, uint32_t n);
_Noreturn void loom_syn_field_twice(syn_parser *p, const syn_token *name, loom_span first);
/* [n] 'a params : type -- what stands between a function's name and its body. */
void loom_syn_function_head(syn_parser *p, syn_function *f);

/* A number, with a minus before it or not, or a truth value; NULL, and nothing taken, where none is. */
syn_exp *loom_syn_take_literal(syn_parser *p);

syn_exp *loom_syn_new_exp(syn_parser *p, syn_exp_kind kind, uint32_t first_token);
/* Sets span and depth once the children are there. */
syn_exp *loom_syn_finish(syn_parser *p, syn_exp *e, uint32_t first_token);
uint32_t loom_syn_binary_level(const syn_name *op); /* 1 (lowest) to 10, or 0 if it is no infix operator */

#define LOOM_SYN_LEVELS 10

#endif
