/* Between the two halves of the expression parser. */
#ifndef LOOM_SYNTAX_PARSE_EXP_H
#define LOOM_SYNTAX_PARSE_EXP_H

#include "parser.h"

/* A prefix operator, an application or an atom, or let/if/loop/lambda as the last operand of an operator. */
syn_exp *loom_syn_prefix(syn_parser *p);
syn_exp *loom_syn_parse_let(syn_parser *p);
syn_exp *loom_syn_parse_if(syn_parser *p);
syn_exp *loom_syn_parse_loop(syn_parser *p);
syn_exp *loom_syn_parse_lambda(syn_parser *p);
syn_exp *loom_syn_parse_match(syn_parser *p);
syn_name *loom_syn_parse_field_name(syn_parser *p); /* a name, or the number of a tuple's component */
syn_name *loom_syn_qualifier(syn_parser *p);        /* `i32.` before a name in backticks, or NULL */
syn_exp *loom_syn_index_part(syn_parser *p);        /* an expression that ends before a colon */
/* `[i, a:b:s]` into e->index. */
void loom_syn_parse_index(syn_parser *p, syn_exp *e);

#endif
