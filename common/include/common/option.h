/* One table per command drives parsing, --help, the man page and, for daemons, the configuration file.
 *
 * A command is an array of loom_option ended by an entry with name NULL. Long options only as --name VALUE or
 * --name=VALUE, single letters as -o VALUE; "--" ends options; what remains is positional. Each command has --help,
 * --man and --version besides.
 */
#ifndef LOOM_COMMON_OPTION_H
#define LOOM_COMMON_OPTION_H

#include "common/status.h"
#include <stdbool.h>
#include <stdio.h>

typedef enum loom_option_kind {
    LOOM_OPT_FLAG,  /* bool *    */
    LOOM_OPT_INT,   /* int64_t * with [min, max] */
    LOOM_OPT_REAL,  /* double *  with [min, max] */
    LOOM_OPT_TEXT,  /* const char ** */
    LOOM_OPT_BYTES, /* uint64_t * : 1536MiB, 2G, 4096 */
    LOOM_OPT_WORD,  /* const char ** : one of the words in `argument`, "auto|always|never" */
    LOOM_OPT_LIST,  /* loom_option_list * : may be given many times, order kept; caller frees `at` */
} loom_option_kind;

typedef struct loom_option_list {
    const char **at;
    size_t count;
} loom_option_list;

typedef struct loom_option {
    const char *name; /* without dashes */
    char letter;      /* or 0 */
    loom_option_kind kind;
    void *to;
    const char *argument; /* its name in help: "FILE" */
    const char *help;     /* one sentence; says the default */
    double min, max;      /* for INT, REAL, BYTES; both 0: no limits */
} loom_option;

typedef struct loom_command_text {
    const char *program;     /* "gridloom image" */
    const char *synopsis;    /* "DATA -o OUT.fits [options]" */
    const char *description; /* paragraphs, separated by blank lines */
    const char *examples;    /* or NULL */
} loom_command_text;

/* "0.1.0" */
const char *loom_version(void);

/* argv[0] is skipped. Positional arguments are returned in *rest (argv itself, reordered). --help prints to stdout
 * and sets *done; so do --man, the manual page, and --version. Errors are LOOM_E_USAGE and name the option, what was
 * expected, what was found. */
LOOM_MUST_USE loom_status *loom_options_parse(const loom_command_text *text, loom_option *options, int argc,
                                              char **argv, const char ***rest, int *n_rest, bool *done);
void loom_options_help(const loom_command_text *text, const loom_option *options, FILE *to);
void loom_options_man(const loom_command_text *text, const loom_option *options, FILE *to); /* troff -man */
void loom_exits_man(FILE *to); /* the section on exit codes, which other pages refer to */
LOOM_MUST_USE loom_status *loom_parse_int(const char *text, int64_t *value);
LOOM_MUST_USE loom_status *loom_parse_real(const char *text, double *value);
LOOM_MUST_USE loom_status *loom_parse_bytes(const char *text, uint64_t *value);

#endif
