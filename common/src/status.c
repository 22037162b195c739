#include "common/status.h"
#include "common/buffer.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct loom_status {
    loom_code code;
    char *message;
    char *file;
    loom_span span;
    char **notes;
    size_t n_notes;
};

/* What is returned where not even a status can be allocated. Never freed, never written. */
static char memory_message[] = "out of memory";
static struct loom_status out_of_memory = {.code = LOOM_E_MEMORY, .message = memory_message};

static const struct {
    const char *name;
    int exit;
} codes[LOOM_E_LAST] = {
    [LOOM_OK] = {"ok", 0},
    [LOOM_E_USAGE] = {"usage", 64},
    [LOOM_E_SYNTAX] = {"syntax", 65},
    [LOOM_E_TYPE] = {"type", 65},
    [LOOM_E_DATA] = {"data", 65},
    [LOOM_E_RUNTIME] = {"runtime", 65},
    [LOOM_E_NOINPUT] = {"noinput", 66},
    [LOOM_E_UNAVAILABLE] = {"unavailable", 69},
    [LOOM_E_INTERNAL] = {"internal", 70},
    [LOOM_E_OS] = {"os", 71},
    [LOOM_E_CANTCREATE] = {"cantcreate", 73},
    [LOOM_E_IO] = {"io", 74},
    [LOOM_E_TEMPFAIL] = {"tempfail", 75},
    [LOOM_E_PROTOCOL] = {"protocol", 76},
    [LOOM_E_DENIED] = {"denied", 77},
    [LOOM_E_CONFIG] = {"config", 78},
    [LOOM_E_LIMIT] = {"limit", 65},
    [LOOM_E_MEMORY] = {"memory", 71},
    [LOOM_E_CANCELLED] = {"cancelled", 130},
    [LOOM_E_FAILED] = {"failed", 1},
};

static const struct {
    int exit;
    const char *meaning;
} exits[] = {
    {1, "a test did not pass"},
    {64, "the command line makes no sense"},
    {65, "the input is there but wrong: not an observation, truncated, all flagged, a Weft error, a claim that fails"},
    {66, "an input is not there or cannot be read"},
    {69, "a daemon does not answer"},
    {70, "a defect of ours"},
    {71, "the system refuses: memory, processes, open files"},
    {73, "an output cannot be made"},
    {74, "reading or writing failed on the way, as on a full disk"},
    {75, "not now: the same may work later"},
    {76, "a daemon or worker of another version, or none of ours, answered"},
    {77, "not permitted: a tcp:// endpoint without --insecure"},
    {78, "a configuration that makes no sense, as an endpoint's path that is too long"},
    {130, "interrupted, or cancelled"},
};

static loom_status *make(loom_code code, char *message, const char *file, loom_span span) {
    loom_status *status = calloc(1, sizeof *status);
    char *name = file ? strdup(file) : NULL;
    if (!status || !message || (file && !name)) {
        free(status);
        free(message);
        free(name);
        return &out_of_memory;
    }
    *status = (loom_status){.code = code, .message = message, .file = name, .span = span};
    return status;
}

/* NULL where memory is out. */
static char *format_text(const char *format, va_list arguments) {
    char *text = NULL;
    return vasprintf(&text, format, arguments) < 0 ? NULL : loom_printable(text);
}

loom_status *loom_verror(loom_code code, const char *format, va_list arguments) {
    return make(code, format_text(format, arguments), NULL, (loom_span){0});
}

loom_status *loom_error(loom_code code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    loom_status *status = loom_verror(code, format, arguments);
    va_end(arguments);
    return status;
}

/* Limits of the system are its refusal, whatever was being done. */
static loom_code code_of(loom_code code, int errnum) {
    if (errnum == EMFILE || errnum == ENFILE) return LOOM_E_OS;
    return errnum == ENOMEM ? LOOM_E_MEMORY : code;
}

const char *loom_errno_hint(int errnum) {
    switch (errnum) {
    case EMFILE: return "hint: ulimit -n is how many files a process may have open; 1024 are plenty";
    case ENFILE: return "hint: the whole system has as many files open as it can";
    case ENOMEM: return "hint: ulimit -v limits the memory of a process, and --memory what its workers take of it";
    case EFBIG: return "hint: ulimit -f limits how large a file may be";
    case ENOSPC:
    case EDQUOT: return "hint: the file system is full, or this user's share of it";
    default: return NULL;
    }
}

loom_status *loom_error_errno(loom_code code, int errnum, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    char room[256];
    char *whole = NULL;
    if (text && asprintf(&whole, "%s: %s", text, strerror_r(errnum, room, sizeof room)) < 0) whole = NULL;
    free(text);
    loom_status *status = make(code_of(code, errnum), whole, NULL, (loom_span){0});
    const char *hint = loom_errno_hint(errnum);
    return hint ? loom_status_note(status, "%s", hint) : status;
}

loom_status *loom_error_at(loom_code code, const char *file, loom_span span, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    return make(code, text, file, span);
}

loom_status *loom_status_note(loom_status *status, const char *format, ...) {
    if (!status || status == &out_of_memory) return status;
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    char **notes = text ? realloc(status->notes, (status->n_notes + 1) * sizeof *notes) : NULL;
    /* A note that finds no memory is dropped: the error itself matters more. */
    if (!notes) {
        free(text);
        return status;
    }
    status->notes = notes;
    status->notes[status->n_notes++] = text;
    return status;
}

loom_code loom_status_code(const loom_status *status) {
    return status ? status->code : LOOM_OK;
}

const char *loom_status_message(const loom_status *status) {
    return status ? status->message : "";
}

const char *loom_status_file(const loom_status *status) {
    return status ? status->file : NULL;
}

loom_span loom_status_span(const loom_status *status) {
    return status ? status->span : (loom_span){0};
}

size_t loom_status_notes(const loom_status *status) {
    return status ? status->n_notes : 0;
}

const char *loom_status_note_at(const loom_status *status, size_t index) {
    return index < loom_status_notes(status) ? status->notes[index] : NULL;
}

void loom_status_free(loom_status *status) {
    if (!status || status == &out_of_memory) return;
    for (size_t i = 0; i < status->n_notes; i++) free(status->notes[i]);
    free(status->notes);
    free(status->file);
    free(status->message);
    free(status);
}

/* "file:line:column: message", without what is not known. */
static void print_head(const loom_status *status, FILE *to) {
    if (status->file) {
        fprintf(to, "%s:", status->file);
        if (status->span.line) fprintf(to, "%u:%u:", status->span.line, status->span.column);
        fputc(' ', to);
    }
    fputs(status->message, to);
}

void loom_status_print(const loom_status *status, FILE *to) {
    if (!status) return;
    fputs("error: ", to);
    print_head(status, to);
    fputc('\n', to);
    for (size_t i = 0; i < status->n_notes; i++) fprintf(to, "  %s\n", status->notes[i]);
}

char *loom_status_text(const loom_status *status) {
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (!to) return NULL;
    if (status) {
        print_head(status, to);
        for (size_t i = 0; i < status->n_notes; i++) fprintf(to, "; %s", status->notes[i]);
    }
    fclose(to);
    return text;
}

static bool known(loom_code code) {
    return (unsigned)code < LOOM_E_LAST;
}

const char *loom_code_name(loom_code code) {
    return known(code) ? codes[code].name : "unknown";
}

int loom_code_exit(loom_code code) {
    return known(code) ? codes[code].exit : 70;
}

const char *loom_exit_meaning(size_t index, int *exit) {
    if (index >= sizeof exits / sizeof *exits) return NULL;
    *exit = exits[index].exit;
    return exits[index].meaning;
}

loom_status *loom_status_copy(const loom_status *from) {
    if (!from) return NULL;
    loom_status *copy = loom_error(loom_status_code(from), "%s", loom_status_message(from));
    for (size_t i = 0; i < loom_status_notes(from); i++) loom_status_note(copy, "%s", loom_status_note_at(from, i));
    return copy;
}
