#include "common/option.h"
#include "common/buffer.h"
#include "common/file.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

loom_status *loom_parse_int(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end) return loom_error(LOOM_E_USAGE, "'%s' is not a whole number", text);
    if (errno == ERANGE) return loom_error(LOOM_E_USAGE, "'%s' does not fit into 64 bits", text);
    *value = n;
    return NULL;
}

loom_status *loom_parse_real(const char *text, double *value) {
    char *end;
    double x = strtod(text, &end);
    /* Underflow to a small number or 0 is what was meant; overflow, inf and nan are not. */
    if (end == text || *end || !isfinite(x)) return loom_error(LOOM_E_USAGE, "'%s' is not a number", text);
    *value = x;
    return NULL;
}

loom_status *loom_parse_bytes(const char *text, uint64_t *value) {
    static const struct {
        const char *name;
        double factor;
    } units[] = {
        {"", 1},         {"B", 1},      {"K", 0x1p10},   {"KiB", 0x1p10}, {"kB", 1e3},
        {"KB", 1e3},     {"M", 0x1p20}, {"MiB", 0x1p20}, {"MB", 1e6},     {"G", 0x1p30},
        {"GiB", 0x1p30}, {"GB", 1e9},   {"T", 0x1p40},   {"TiB", 0x1p40}, {"TB", 1e12},
    };
    char *end;
    double x = *text >= '0' && *text <= '9' ? strtod(text, &end) : -1;
    for (size_t i = 0; x >= 0 && i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].name) != 0) continue;
        /* Whole numbers of bytes keep all their digits. */
        char *whole_end;
        errno = 0;
        unsigned long long whole = strtoull(text, &whole_end, 10);
        if (whole_end == end && errno == 0 && units[i].factor == 1) {
            *value = whole;
            return NULL;
        }
        x *= units[i].factor;
        if (!(x < 0x1p64)) return loom_error(LOOM_E_USAGE, "'%s' does not fit into 64 bits", text);
        *value = (uint64_t)x;
        return NULL;
    }
    return loom_error(LOOM_E_USAGE, "'%s' is not a number of bytes (examples: 4096, 1536MiB, 2G)", text);
}

/* ---- parsing ---- */

static const loom_option *find_long(const loom_option *options, const char *name, size_t length) {
    for (const loom_option *o = options; o->name; o++) {
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0) return o;
    }
    return NULL;
}

static const loom_option *find_letter(const loom_option *options, char letter) {
    for (const loom_option *o = options; o->name; o++) {
        if (o->letter && o->letter == letter) return o;
    }
    return NULL;
}

/* Number of letters at the front that two names share: enough to find what a mistyped option was meant to be. */
static size_t common_prefix(const char *a, const char *b, size_t length) {
    size_t n = 0;
    while (n < length && a[n] && a[n] == b[n]) n++;
    return n;
}

static loom_status *unknown_option(const loom_option *options, const char *given) {
    loom_status *status = loom_error(LOOM_E_USAGE, "unknown option %s", given);
    const char *name = given + strspn(given, "-");
    size_t length = strcspn(name, "="), best_score = 1;
    const loom_option *best = NULL;
    for (const loom_option *o = options; o->name && given[1] == '-'; o++) {
        size_t score = common_prefix(o->name, name, length);
        if (score > best_score) {
            best = o;
            best_score = score;
        }
    }
    if (best) return loom_status_note(status, "hint: did you mean --%s?", best->name);
    return loom_status_note(status, "hint: --help lists the options");
}

static loom_status *check_range(const loom_option *o, double x, const char *text) {
    if (o->min == 0 && o->max == 0) return NULL;
    if (x >= o->min && x <= o->max) return NULL;
    bool whole = o->kind == LOOM_OPT_INT || o->kind == LOOM_OPT_BYTES;
    return loom_error(LOOM_E_USAGE, whole ? "%s is not between %.0f and %.0f" : "%s is not between %.15g and %.15g",
                      text, o->min, o->max);
}

/* Whether it is one of those words, which '|' separates. */
static bool is_among(const char *words, const char *text) {
    size_t length = strlen(text);
    for (const char *w = words; *w;) {
        size_t n = strcspn(w, "|");
        if (n == length && memcmp(w, text, n) == 0) return true;
        w += n + (w[n] == '|');
    }
    return false;
}

static loom_status *set_value(const loom_option *o, const char *text) {
    int64_t i;
    double x;
    uint64_t bytes;
    switch (o->kind) {
    case LOOM_OPT_FLAG: *(bool *)o->to = true; return NULL;
    case LOOM_OPT_TEXT: *(const char **)o->to = text; return NULL;
    case LOOM_OPT_WORD:
        if (!is_among(o->argument, text)) return loom_error(LOOM_E_USAGE, "'%s' is none of %s", text, o->argument);
        *(const char **)o->to = text;
        return NULL;
    case LOOM_OPT_INT:
        LOOM_TRY(loom_parse_int(text, &i));
        LOOM_TRY(check_range(o, (double)i, text));
        *(int64_t *)o->to = i;
        return NULL;
    case LOOM_OPT_REAL:
        LOOM_TRY(loom_parse_real(text, &x));
        LOOM_TRY(check_range(o, x, text));
        *(double *)o->to = x;
        return NULL;
    case LOOM_OPT_BYTES:
        LOOM_TRY(loom_parse_bytes(text, &bytes));
        LOOM_TRY(check_range(o, (double)bytes, text));
        *(uint64_t *)o->to = bytes;
        return NULL;
    case LOOM_OPT_LIST: {
        loom_option_list *list = o->to;
        list->at = loom_xrealloc(list->at, (list->count + 1) * sizeof *list->at);
        list->at[list->count++] = text;
        return NULL;
    }
    }
    return loom_error(LOOM_E_INTERNAL, "option --%s has no kind", o->name);
}

/* Takes one option at argv[*i] and its value, which may be the next argument. */
static loom_status *take_option(const loom_option *options, int argc, char **argv, int *i) {
    const char *given = argv[*i], *value = NULL;
    const loom_option *o;
    if (given[1] == '-') {
        size_t length = strcspn(given + 2, "=");
        if (given[2 + length] == '=') value = given + 2 + length + 1;
        o = find_long(options, given + 2, length);
    } else {
        o = given[2] == '\0' ? find_letter(options, given[1]) : NULL;
    }
    if (!o) return unknown_option(options, given);
    if (o->kind == LOOM_OPT_FLAG && value) {
        return loom_error(LOOM_E_USAGE, "--%s takes no value, but got '%s'", o->name, value);
    }
    if (o->kind != LOOM_OPT_FLAG && !value) {
        if (*i + 1 >= argc) {
            return loom_error(LOOM_E_USAGE, "--%s needs a value: --%s %s", o->name, o->name,
                              o->argument ? o->argument : "VALUE");
        }
        value = argv[++*i];
    }
    loom_status *status = set_value(o, value);
    return status ? loom_status_note(status, "in option --%s %s", o->name, o->argument ? o->argument : "VALUE") : NULL;
}

const char *loom_version(void) {
    return GRIDLOOM_VERSION;
}

/* What every command can be asked. */
static bool tell(const loom_command_text *text, const loom_option *options, const char *what) {
    if (strcmp(what, "--help") == 0) {
        loom_options_help(text, options, stdout);
    } else if (strcmp(what, "--man") == 0) {
        loom_options_man(text, options, stdout);
    } else if (strcmp(what, "--version") == 0) {
        printf("%.*s %s\n", (int)strcspn(text->program, " "), text->program, loom_version());
    } else {
        return false;
    }
    return true;
}

loom_status *loom_options_parse(const loom_command_text *text, loom_option *options, int argc, char **argv,
                                const char ***rest, int *n_rest, bool *done) {
    int kept = 0; /* positional arguments move to the front of argv, behind argv[0] */
    bool ended = false;
    for (int i = 1; i < argc; i++) {
        if (ended || argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[1 + kept++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            ended = true;
        } else if (tell(text, options, argv[i])) {
            *done = true;
            return loom_stream_flush(stdout, "standard output");
        } else {
            LOOM_TRY(take_option(options, argc, argv, &i));
        }
    }
    *rest = (const char **)(argv + (argc > 0 ? 1 : 0));
    *n_rest = kept;
    *done = false;
    return NULL;
}

/* ---- help and manual page ---- */

enum {
    HELP_WIDTH = 100,
    HELP_COLUMN = 28
};

static void wrap(FILE *to, const char *text, int column, int at) {
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (at > column && at + 1 + word > HELP_WIDTH) {
            fprintf(to, "\n%*s", column, "");
            at = column;
        } else if (at > column) {
            fputc(' ', to);
            at++;
        }
        fprintf(to, "%.*s", word, text);
        at += word;
        text += word + (text[word] == ' ');
    }
    fputc('\n', to);
}

/* Paragraphs, separated by blank lines, each wrapped. */
static void put_paragraphs(FILE *to, const char *text) {
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t n = end ? (size_t)(end - text) : strlen(text);
        char *paragraph = loom_xprintf("%.*s", (int)n, text);
        fputc('\n', to);
        wrap(to, paragraph, 0, 0);
        free(paragraph);
        text += n + (end ? 2 : 0);
    }
}

void loom_options_help(const loom_command_text *text, const loom_option *options, FILE *to) {
    fprintf(to, "usage: %s %s\n", text->program, text->synopsis);
    put_paragraphs(to, text->description);
    if (options->name) fprintf(to, "\noptions:\n");
    for (const loom_option *o = options; o->name; o++) {
        char letter[8] = "    ";
        if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
        int n = fprintf(to, "  %s--%s%s%s", letter, o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        if (n + 1 >= HELP_COLUMN) {
            fputc('\n', to);
            n = 0;
        }
        fprintf(to, "%*s", HELP_COLUMN - n, "");
        wrap(to, o->help, HELP_COLUMN, HELP_COLUMN);
    }
    if (text->examples) fprintf(to, "\nexamples:\n%s\n", text->examples);
}

/* troff: a backslash is an escape, a dot or quote at the start of a line a request, a hyphen must be marked. */
static void put_troff(FILE *to, const char *text) {
    bool start = true;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\'')) fputs("\\&", to);
        if (*text == '\\') {
            fputs("\\e", to);
        } else if (*text == '-') {
            fputs("\\-", to);
        } else {
            fputc(*text, to);
        }
        start = *text == '\n';
    }
}

/* One line for indices: the beginning of the first sentence, up to a colon or bracket. */
static char *summary_of(const char *description) {
    size_t n = 0;
    while (description[n] && description[n] != '\n') {
        bool stops = strchr(".:;", description[n]) && (description[n + 1] == ' ' || description[n + 1] == '\n');
        if (stops || strncmp(description + n, " (", 2) == 0) break;
        n++;
    }
    if (n && description[n - 1] == '.' && !description[n]) n--;
    return loom_xprintf("%.*s", (int)n, description);
}

void loom_options_man(const loom_command_text *text, const loom_option *options, FILE *to) {
    char *name = loom_xstrdup(text->program);
    for (char *c = name; *c; c++) {
        if (*c == ' ') *c = '-';
    }
    char *summary = summary_of(text->description);
    fprintf(to, ".TH \"%s\" 1\n.SH NAME\n%s \\- ", name, name);
    put_troff(to, summary);
    fputs("\n.SH SYNOPSIS\n.B ", to);
    free(summary);
    put_troff(to, text->program);
    fputc('\n', to);
    put_troff(to, text->synopsis);
    fputs("\n.SH DESCRIPTION\n", to);
    put_troff(to, text->description);
    fputs("\n.SH OPTIONS\n", to);
    for (const loom_option *o = options; o->name; o++) {
        fputs(".TP\n", to);
        if (o->letter) fprintf(to, "\\fB\\-%c\\fR, ", o->letter);
        fputs("\\fB\\-\\-", to);
        put_troff(to, o->name);
        fputs("\\fR", to);
        if (o->argument) fprintf(to, " \\fI%s\\fR", o->argument);
        fputc('\n', to);
        put_troff(to, o->help);
        fputc('\n', to);
    }
    fputs(".SH EXIT STATUS\n0, or what gridloom(1) lists.\n", to);
    if (text->examples) {
        fputs(".SH EXAMPLES\n.nf\n", to);
        put_troff(to, text->examples);
        fputs("\n.fi\n", to);
    }
    free(name);
}

void loom_exits_man(FILE *to) {
    int code;
    const char *meaning;
    fputs(".SH EXIT STATUS\n.TP\n0\nall was done\n", to);
    for (size_t i = 0; (meaning = loom_exit_meaning(i, &code)); i++) {
        fprintf(to, ".TP\n%d\n", code);
        put_troff(to, meaning);
        fputc('\n', to);
    }
}
