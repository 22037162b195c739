/* What all parts of the front end share: the arena of one compile call, interned names, and the list of diagnostics.
 *
 * Names are interned: equal names are one pointer, and a name's record says at once whether it is a keyword, a scalar
 * type, an operation of the language or a declaration of the text. Everything lives in the arena of the call.
 * Threads: one call, one context, one thread.
 */
#ifndef LOOM_SYNTAX_CONTEXT_H
#define LOOM_SYNTAX_CONTEXT_H

#include "compiler/syntax/syntax.h"

struct syn_decl;

typedef struct syn_name {
    const char *text;
    uint32_t length, hash;
    int keyword;            /* syn_token_kind of a keyword, or 0 */
    bool bound;             /* has been the name of a local value */
    int builtin;            /* index into the table of operations, or -1 */
    loom_dtype dtype;       /* scalar type of that name, or LOOM_DTYPES */
    struct syn_decl *value; /* latest top-level def or entry of that name */
    struct syn_decl *type;  /* latest top-level type of that name */
    struct syn_name *next;  /* in its hash chain */
    uint32_t stamp, place;  /* scratch of whoever compares sets of names */
} syn_name;

typedef struct syn_context {
    loom_arena *arena;
    loom_diagnostics *diagnostics;
    syn_name **chains;
    uint32_t n_chains, n_names;
    uint32_t stamp;                /* last one given out */
    bool nameless_error;           /* a declaration did not parse whose name is not known */
    const loom_source_file *files; /* the user's, for messages that name one; may be NULL */
    uint32_t n_user_files;         /* files with a smaller index are the user's, the others prelude */
} syn_context;

/* The context's tables; keywords and scalar types are known afterwards. */
void loom_syn_context_init(syn_context *context, loom_arena *arena, loom_diagnostics *diagnostics);
syn_name *loom_syn_intern(syn_context *context, const char *text, size_t length);
static inline loom_span loom_syn_no_span(void) {
    return (loom_span){0};
}
loom_span loom_syn_join(loom_span from, loom_span to);

/* Adds a diagnostic unless the same one (place and message) is there or the list is full. `hint` may be NULL. */
void loom_syn_report(syn_context *context, loom_weft_error error, loom_span span, const char *hint, const char *format,
                     ...) LOOM_PRINTF(5, 6);
void loom_syn_vreport(syn_context *context, loom_weft_error error, loom_span span, const char *hint, const char *format,
                      va_list arguments);

/* Makes bytes of one line of a text fit to be shown: as loom_make_printable, and a tab is a blank. */
void loom_syn_printable(char *text, size_t length);
/* Formats a message; where it is too long it ends in dots. */
#define LOOM_SYN_MAX_MESSAGE 1024
void loom_syn_message(char text[LOOM_SYN_MAX_MESSAGE], const char *format, va_list arguments);

/* Copies diagnostics into the arena that `to` owns. */
void loom_syn_keep_diagnostics(loom_diagnostics *to, const loom_diagnostics *from);

/* Limits; what a hostile text could otherwise do stands beside each. */
#define LOOM_SYN_MAX_TEXT    (16u << 20) /* bytes of one file: offsets are 32 bits, and no program is that long */
#define LOOM_SYN_MAX_NESTING 200         /* nesting of brackets and keywords: the parser recurses over it */
#define LOOM_SYN_MAX_HEIGHT  1000 /* of a syntax tree (a chain of operators is one step each): the checker recurses */

#endif
