/* Status: the one way in which Gridloom reports that something went wrong.
 *
 * A function that can fail returns `loom_status *`: NULL is success, anything else is an error that the caller owns
 * and either passes up (LOOM_TRY), adds to (loom_status_note) or ends (loom_status_free after logging or printing it).
 * A function returns an error or logs it, never both. Output parameters are untouched on failure.
 *
 * Threads: a status belongs to one thread at a time. Ownership: the receiver frees. Allocation of a status itself never
 * fails visibly: when memory is out a static "out of memory" status is returned, which loom_status_free accepts.
 */
#ifndef LOOM_COMMON_STATUS_H
#define LOOM_COMMON_STATUS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Codes are part of the interface (documented, stable). The exit code of a command follows from the code by
 * loom_code_exit (sysexits.h). */
typedef enum loom_code {
    LOOM_OK = 0,
    LOOM_E_USAGE,       /* wrong command line                                       EX_USAGE 64      */
    LOOM_E_SYNTAX,      /* Weft text that does not parse                            EX_DATAERR 65    */
    LOOM_E_TYPE,        /* Weft text that does not type-check                       EX_DATAERR 65    */
    LOOM_E_DATA,        /* input data of the wrong form (not an MS, truncated .npy) EX_DATAERR 65    */
    LOOM_E_RUNTIME,     /* error of a running program: index, claim, division, assert EX_DATAERR 65  */
    LOOM_E_NOINPUT,     /* an input that does not exist or cannot be read           EX_NOINPUT 66    */
    LOOM_E_UNAVAILABLE, /* a daemon or worker that does not answer                  EX_UNAVAILABLE 69*/
    LOOM_E_INTERNAL,    /* a defect of ours                                         EX_SOFTWARE 70   */
    LOOM_E_OS,          /* the operating system refused (fork, socket)              EX_OSERR 71      */
    LOOM_E_CANTCREATE,  /* an output that cannot be made                            EX_CANTCREAT 73  */
    LOOM_E_IO,          /* reading or writing failed on the way (disk full)         EX_IOERR 74      */
    LOOM_E_TEMPFAIL,    /* try again later                                          EX_TEMPFAIL 75   */
    LOOM_E_PROTOCOL,    /* a message that breaks the protocol                       EX_PROTOCOL 76   */
    LOOM_E_DENIED,      /* not permitted                                            EX_NOPERM 77     */
    LOOM_E_CONFIG,      /* a configuration that makes no sense                      EX_CONFIG 78     */
    LOOM_E_LIMIT,       /* a named limit was exceeded                               EX_DATAERR 65    */
    LOOM_E_MEMORY,      /* memory is out, or would be                               EX_OSERR 71      */
    LOOM_E_CANCELLED,   /* cancelled by a user or a signal                          130              */
    LOOM_E_FAILED,      /* tests that a command ran did not pass                    1                */
    LOOM_E_LAST
} loom_code;

/* A stretch of a source text. Lines and columns count from 1 (columns in bytes); line 0 means "no place". */
typedef struct loom_span {
    uint32_t file; /* index into the file table of the program; meaningless without one */
    uint32_t line, column;
    uint32_t end_line, end_column; /* exclusive */
} loom_span;

typedef struct loom_status loom_status;

#define LOOM_MUST_USE __attribute__((warn_unused_result))
/* Of constructors of errors: they never return NULL. */
#define LOOM_NEW_STATUS   __attribute__((warn_unused_result, returns_nonnull))
#define LOOM_PRINTF(f, a) __attribute__((format(printf, f, a)))

LOOM_NEW_STATUS loom_status *loom_error(loom_code code, const char *format, ...) LOOM_PRINTF(2, 3);
LOOM_NEW_STATUS loom_status *loom_verror(loom_code code, const char *format, va_list arguments);
/* Adds ": <strerror(errnum)>" to the message, so that a bare errno never shows, and a hint where there is one. Where
 * the system's limits are reached (open files, memory) the code says that, whatever `code` is. */
LOOM_NEW_STATUS loom_status *loom_error_errno(loom_code code, int errnum, const char *format, ...) LOOM_PRINTF(3, 4);
/* What a user can do about it; NULL: no hint. For libraries that turn errno into words of their own. */
const char *loom_errno_hint(int errnum);
/* With a place in a source text. `file` is the name as the user knows it; copied. */
LOOM_NEW_STATUS loom_status *loom_error_at(loom_code code, const char *file, loom_span span, const char *format, ...)
    LOOM_PRINTF(4, 5);

/* Adds a note ("hint: ...", "while reading X") and returns the same status. NULL stays NULL. */
loom_status *loom_status_note(loom_status *status, const char *format, ...) LOOM_PRINTF(2, 3);

loom_code loom_status_code(const loom_status *status);      /* LOOM_OK for NULL */
const char *loom_status_message(const loom_status *status); /* "" for NULL; lives as long as the status */
const char *loom_status_file(const loom_status *status);    /* NULL where there is none */
loom_span loom_status_span(const loom_status *status);
size_t loom_status_notes(const loom_status *status);
const char *loom_status_note_at(const loom_status *status, size_t index);
void loom_status_free(loom_status *status); /* NULL is fine */
/* With its notes, without its place in a program. NULL of NULL. */
LOOM_MUST_USE loom_status *loom_status_copy(const loom_status *status);

/* "error: file:line:column: message" and the notes, one a line, as users see it. */
void loom_status_print(const loom_status *status, FILE *to);
/* One line for a log: message and notes joined by "; ". Caller frees. */
char *loom_status_text(const loom_status *status);

const char *loom_code_name(loom_code code); /* "syntax", "type", ... stable */
int loom_code_exit(loom_code code);         /* sysexits */
/* What the exit codes but 0 mean to users, from the least on: the index-th one; NULL when there are no more. */
const char *loom_exit_meaning(size_t index, int *exit);

#define LOOM_TRY(expression)                                                                                           \
    do {                                                                                                               \
        loom_status *loom_try_status_ = (expression);                                                                  \
        if (loom_try_status_) return loom_try_status_;                                                                 \
    } while (0)

#endif
