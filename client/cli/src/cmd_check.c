/* check, fmt and explain: what can be said about a program without running it. */
#include "cli.h"
#include "common/buffer.h"
#include "common/file.h"
#include "entry_run.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- check ---- */

loom_status *cli_check(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom check", "PROG.weft... [options]",
        "Looks for errors in a Weft program (several files are one text) and prints them all, with their places and "
        "hints. Where there are none its entries are listed.",
        "  gridloom check examples/dotp.weft"};
    bool quiet = false, done;
    loom_option options[] = {
        {"quiet", 'q', LOOM_OPT_FLAG, &quiet, NULL, "Say nothing where there are no errors.", 0, 0}, {0}};
    const char **rest;
    int n;
    LOOM_TRY(cli_options(call, &text, options, &rest, &n, &done));
    if (done) return NULL;
    loom_client_program *program;
    LOOM_TRY(cli_load(rest, n, &program));
    for (uint32_t f = 0; f < program->program->n_functions && !quiet; f++) {
        if (!program->program->functions[f].entry) continue;
        char *signature = loom_client_signature(program->program, f);
        printf("entry %s\n", signature);
        free(signature);
    }
    loom_client_program_free(program);
    return NULL;
}

/* ---- fmt ---- */

static loom_status *format_file(loom_client_program *p, size_t i, const char *path, bool in_place, bool test) {
    char *text;
    loom_status *status = loom_syntax_format(&p->files[i], &p->diagnostics, &text);
    if (status) {
        loom_diagnostics_print(&p->diagnostics, &p->files[i], 1, stderr); /* their spans know this file alone */
        loom_diagnostics_free(&p->diagnostics);
        return status;
    }
    size_t length = strlen(text);
    bool same = length == p->files[i].length && memcmp(text, p->files[i].text, length) == 0;
    if (test) {
        if (!same) status = loom_error(LOOM_E_DATA, "%s is not laid out as gridloom fmt does", path);
    } else if (!in_place) {
        fwrite(text, 1, length, stdout);
    } else if (!same) {
        cli_hold_signals(true);
        status = loom_file_write(path, text, length, false);
        cli_hold_signals(false);
    }
    free(text);
    return status;
}

/* One wrong file does not keep the others from being looked at: the first error is the command's, the others are told.
 */
static loom_status *both(loom_status *first, loom_status *second) {
    if (!first) return second;
    if (second) loom_status_note(first, "also: %s", loom_status_message(second));
    loom_status_free(second);
    return first;
}

loom_status *cli_fmt(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom fmt", "PROG.weft... [options]",
        "Lays out Weft programs in the one canonical way, comments kept, and prints them. The meaning never changes.",
        "  gridloom fmt --in-place *.weft"};
    bool in_place = false, test = false, done;
    loom_option options[] = {
        {"in-place", 'i', LOOM_OPT_FLAG, &in_place, NULL, "Write the files in place of printing them.", 0, 0},
        {"check", 0, LOOM_OPT_FLAG, &test, NULL, "Write nothing; fail if a file is laid out otherwise.", 0, 0},
        {0}};
    const char **rest;
    int n;
    LOOM_TRY(cli_options(call, &text, options, &rest, &n, &done));
    if (done) return NULL;
    if (n < 1) return loom_error(LOOM_E_USAGE, "no program given: expected PROG.weft");
    loom_client_program *program;
    LOOM_TRY(loom_client_read(rest, (size_t)n, &program));
    loom_status *status = NULL;
    for (int i = 0; i < n; i++) status = both(status, format_file(program, (size_t)i, rest[i], in_place, test));
    loom_client_program_free(program);
    return status;
}

/* ---- explain ---- */

/* The compiler proper is a program of its own, beside this one: this one has no LLVM in it. */
static char *compiler_path(void) {
    const char *folder = getenv("GRIDLOOM_BIN");
    if (folder && *folder) return loom_xprintf("%s/gridloom-compile", folder);
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return loom_xstrdup("gridloom-compile");
    self[n] = '\0';
    char *slash = strrchr(self, '/');
    return loom_xprintf("%.*s/gridloom-compile", slash ? (int)(slash - self) : 0, self);
}

/* The entry to explain where none was named; an error lists them. What is wrong with the program the compiler tells. */
static loom_status *only_entry(const char **paths, int n, char **entry) {
    loom_client_program *p;
    LOOM_TRY(loom_client_read(paths, (size_t)n, &p));
    loom_status *wrong = loom_client_compile(p), *status = NULL;
    uint32_t f;
    if (!wrong) status = loom_client_entry(p, NULL, &f);
    if (!wrong && !status) *entry = loom_xstrdup(p->program->functions[f].name);
    loom_status_free(wrong);
    loom_client_program_free(p);
    return status;
}

static bool reads_input(const char **paths, int n) {
    for (int i = 0; i < n; i++) {
        if (strcmp(paths[i], "-") == 0) return true;
    }
    return false;
}

typedef struct explanation {
    const char *stage, *entry, *html, *force;
    int64_t size; /* 0: the compiler's default */
    bool steps, irregular;
} explanation;

static loom_status *explain_in_compiler(const explanation *x, const char *entry, const char **paths, int n) {
    char *compiler = compiler_path(), *size = loom_xprintf("%" PRId64, x->size);
    const char **argv = loom_xcalloc((size_t)n + 16, sizeof *argv);
    int count = 0;
    argv[count++] = compiler;
    argv[count++] = "--explain";
    argv[count++] = x->stage;
    if (entry) {
        argv[count++] = "--entry";
        argv[count++] = entry;
    }
    if (x->size) {
        argv[count++] = "--size";
        argv[count++] = size;
    }
    if (x->irregular) argv[count++] = "--irregular";
    if (x->force) {
        argv[count++] = "--force";
        argv[count++] = x->force;
    }
    if (x->html) {
        argv[count++] = "--output";
        argv[count++] = x->html;
    }
    argv[count++] = "--";
    for (int i = 0; i < n; i++) argv[count++] = paths[i];
    fflush(stdout);
    /* The compiler's output and exit code are this command's. */
    execv(compiler, (char *const *)(uintptr_t)argv);
    loom_status *status = loom_error_errno(LOOM_E_CONFIG, errno, "cannot start %s", compiler);
    free(argv);
    free(size);
    free(compiler);
    return loom_status_note(status, "hint: gridloom-compile belongs beside gridloom, or in $GRIDLOOM_BIN");
}

static loom_status *explain_ast(const char **paths, int n) {
    loom_client_program *p;
    LOOM_TRY(loom_client_read(paths, (size_t)n, &p));
    loom_status *status = NULL;
    for (int i = 0; i < n && !status; i++) {
        status = loom_syntax_print_ast(&p->files[i], &p->diagnostics, stdout);
        if (status) loom_diagnostics_print(&p->diagnostics, &p->files[i], 1, stderr);
    }
    loom_client_program_free(p);
    return status;
}

static loom_status *explain_core(const char **paths, int n) {
    loom_client_program *program;
    LOOM_TRY(cli_load(paths, n, &program));
    loom_program_print(program->program, stdout);
    loom_client_program_free(program);
    return NULL;
}

/* --steps and --html are names of stages too. */
static loom_status *choose_stage(explanation *x) {
    const char *by_option = x->html ? "html" : x->steps ? "steps" : NULL;
    if (x->html && x->steps) {
        return loom_status_note(loom_error(LOOM_E_USAGE, "--html and --steps at once"),
                                "hint: the page tells the steps too");
    }
    if (by_option && x->stage) {
        return loom_error(LOOM_E_USAGE, "--%s and --stage %s at once: expected one of them", by_option, x->stage);
    }
    if (by_option) x->stage = by_option;
    if (!x->stage) x->stage = "nodes";
    return NULL;
}

static loom_status *check_html(const explanation *x, const char **paths, int n) {
    if (!x->html) return NULL;
    LOOM_TRY(cli_check_files(paths, (size_t)n, &x->html, 1));
    return loom_client_check_writable(x->html, 0);
}

loom_status *cli_explain(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom explain", "PROG.weft... [options]",
        "Tells what the compiler knows of a program: for each value its shape, whether it is avoided (the same for all "
        "elements), regular or irregular, how it is kept, how many maps are around it, steps, bytes and flops; and "
        "where regularity is lost, by which rule, and whether that is tested at run time: rows of a chunk that have "
        "one "
        "length then take code of their own, which --stage shows behind the other.\n\n--stage shows what the compiler "
        "makes of it: ast (the text as "
        "understood), core (typed, every call specialised), simplified, stages (traversals of the streams and the "
        "array steps between them), shapes, lifted (regions over whole chunks, with the representation of each value), "
        "fused, schedule, llvm, plan. Remarks tell what was not vectorised, and why.",
        "  gridloom explain examples/awgrid.weft\n  gridloom explain fft.weft --steps --size 1024\n"
        "  gridloom explain examples/awgrid.weft --stage lifted"};
    explanation x = {.stage = NULL};
    bool done;
    loom_option options[] = {
        {"stage", 0, LOOM_OPT_TEXT, &x.stage, "S", "The stage to show; default nodes.", 0, 0},
        {"entry", 0, LOOM_OPT_TEXT, &x.entry, "NAME", "The entry; default main, or the only one.", 0, 0},
        {"steps", 0, LOOM_OPT_FLAG, &x.steps, NULL,
         "Count the operations that the flat schedule runs one after another: of the entry by itself, mapped over a "
         "stream of its arguments, and the same where rows differ in length.",
         0, 0},
        {"html", 0, LOOM_OPT_TEXT, &x.html, "FILE", "Write all of it there as a page.", 0, 0},
        {"size", 0, LOOM_OPT_INT, &x.size, "N", "Extents that the program leaves open; default 100.", 1, 1e9},
        {"irregular", 0, LOOM_OPT_FLAG, &x.irregular, NULL,
         "Rows of inputs differ in length; otherwise they have one length.", 0, 0},
        CLI_FORCE_OPTION(x.force),
        {0}};
    const char **rest;
    int n;
    LOOM_TRY(cli_options(call, &text, options, &rest, &n, &done));
    if (done) return NULL;
    if (n < 1) return loom_error(LOOM_E_USAGE, "no program given: expected PROG.weft");
    uint32_t forced;
    LOOM_TRY(loom_force_parse(x.force, &forced));
    LOOM_TRY(choose_stage(&x));
    LOOM_TRY(check_html(&x, rest, n));
    if (strcmp(x.stage, "ast") == 0) return explain_ast(rest, n);
    if (strcmp(x.stage, "core") == 0) return explain_core(rest, n);
    char *only = NULL;
    if (!x.entry && !reads_input(rest, n)) LOOM_TRY(only_entry(rest, n, &only));
    loom_status *status = explain_in_compiler(&x, x.entry ? x.entry : only, rest, n);
    free(only);
    return status;
}
