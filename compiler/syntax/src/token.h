/* Tokens and the lexer. A text becomes one array of tokens, ended by T_END, and one array of comments (which only the
 * formatter reads). A token knows whether white space stands before it, because `xs[i]` and `xs [i]`, and `r.f` and
 * `r .f`, differ. */
#ifndef LOOM_SYNTAX_TOKEN_H
#define LOOM_SYNTAX_TOKEN_H

#include "context.h"
#include <string.h>

typedef enum syn_token_kind {
    T_END,
    T_NAME,
    T_TYPE_VAR, /* 'a */
    T_INT,
    T_FLOAT,
    T_OP, /* any operator symbol; its name is the symbol's text */
    /* punctuation */
    T_LPAR,
    T_RPAR,
    T_LBRACKET,
    T_RBRACKET,
    T_LBRACE,
    T_RBRACE,
    T_COMMA,
    T_COLON,
    T_COERCE,
    T_DOT,
    T_ARROW,
    T_EQUALS,
    T_BACKSLASH,
    T_BACKTICK,
    T_HASH,
    T_UNDERSCORE,
    T_QUESTION,
    T_DOTS,      /* ..  */
    T_DOTS_TO,   /* ... */
    T_DOTS_LESS, /* ..< */
    T_DOTS_MORE, /* ..> */
    /* keywords */
    T_DEF,
    T_ENTRY,
    T_LET,
    T_IN,
    T_TYPE,
    T_IF,
    T_THEN,
    T_ELSE,
    T_LOOP,
    T_FOR,
    T_WHILE,
    T_DO,
    T_WITH,
    T_MATCH,
    T_CASE,
    T_TRUE,
    T_FALSE,
    T_LIFTED,
    T_FOREIGN,
} syn_token_kind;

typedef struct syn_token {
    syn_token_kind kind;
    bool space_before;
    loom_dtype suffix; /* of a number, or LOOM_DTYPES */
    uint32_t offset, length;
    loom_span span;
    syn_name *name; /* T_NAME, T_TYPE_VAR (without the quote), T_OP, keywords */
    uint64_t integer;
    double real;
} syn_token;

typedef struct syn_comment {
    uint32_t offset, length;
    uint32_t line;
    uint32_t next_token; /* the token that follows */
    bool own_line;
} syn_comment;

typedef struct syn_tokens {
    const char *text;
    syn_token *at; /* the last one is T_END */
    uint32_t count;
    syn_comment *comments;
    uint32_t n_comments;
} syn_tokens;

/* Reads a whole file. What cannot be read is reported and skipped; at most a handful of such reports a file. */
/* Bytes of the byte order mark that editors of some systems put before a text: 3 or 0. */
static inline size_t loom_syn_mark_length(const char *text, size_t length) {
    return length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}
syn_tokens loom_syn_lex(syn_context *context, uint32_t file, const char *text, size_t length);
/* A token as a message names it: "`foo`", "a number", "the end of the text". In the arena. */
/* Is this what stands for a string, or a word in another alphabet, that was complained about? */
bool loom_syn_is_stand_in(const syn_name *name);
const char *loom_syn_token_text(syn_context *context, const syn_tokens *tokens, const syn_token *token);

#endif
