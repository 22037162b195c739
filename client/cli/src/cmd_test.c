/* test: the cases that programs carry in comments (client/testing.h), interpreted and compiled.
 *
 * Every case is evaluated here, by the interpreter, and run on workers; both results are held against the expected one.
 * One session serves all files, opened with the first case that needs it. A failure is told where it is found and
 * counted; only what keeps the command from going on (a daemon that does not answer, a signal) ends it.
 */
#include "cli.h"
#include "client/testing.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/machine.h"
#include "compiler/interp/interp.h"
#include <errno.h>
#include <fts.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef struct tally {
    uint64_t passed, failed, skipped;
} tally;

typedef struct tester {
    cli_where where;
    bool interpreted, exact;
    loom_session *session; /* NULL: not needed yet */
    tally all;
    uint64_t files;
    uint64_t memory; /* for values of a test, bytes */
    double timeout;  /* of the interpreter, seconds a case */
} tester;

/* A file that is being tested. */
typedef struct test_file {
    tester *t;
    const char *path;
    loom_client_program *program;
    char *bytes; /* the program as it is sent; NULL: not needed yet */
    size_t length;
    tally count;
} test_file;

/* A case of an entry. */
typedef struct trial {
    test_file *f;
    const loom_testing_case *c;
    uint32_t function, n_params;
    loom_type_id *types; /* of the parameters */
    loom_value **arguments;
    loom_value *expected; /* NULL: nothing is said */
    bool failed;
    bool failed_as_expected; /* when interpreted */
    bool late;               /* the interpreter did not end in time */
} trial;

/* ---- what is told ---- */

static void fail_at(const char *path, loom_span span, const char *format, ...) LOOM_PRINTF(3, 4);
static void fail_at(const char *path, loom_span span, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%u:%u: ", path, span.line, span.column);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static const char *entry_name(const trial *t) {
    return t->f->program->program->functions[t->function].name;
}

static void trial_failed(trial *t, const char *how, const char *what) {
    const char *name = t->c->name ? t->c->name : "";
    fail_at(t->f->path, t->c->span, "entry %s%s%s%s, %s: %s", entry_name(t), *name ? " \"" : "", name,
            *name ? "\"" : "", how, what);
    t->failed = true;
}

static bool is_interrupted(const tester *t) {
    return t->session && loom_session_interrupted(t->session);
}

/* ---- expected errors ---- */

/* Of messages and hints: paths and text of programs are not what is expected. Futhark writes `Error: ` before a
 * message. */
static bool fits_status(const loom_testing_regex *regex, const loom_status *status) {
    char *message = loom_xprintf("Error: %s", loom_status_message(status));
    bool fits = loom_testing_fits(regex, loom_status_message(status)) || loom_testing_fits(regex, message);
    free(message);
    for (size_t i = 0; i < loom_status_notes(status) && !fits; i++) {
        fits = loom_testing_fits(regex, loom_status_note_at(status, i));
    }
    return fits;
}

static bool fits_diagnostic(const loom_testing_regex *regex, const loom_diagnostics *d, bool warning) {
    for (size_t i = 0; i < d->count; i++) {
        const loom_diagnostic *one = &d->at[i];
        if (one->warning != warning) continue;
        if (loom_testing_fits(regex, one->message) || (one->hint && loom_testing_fits(regex, one->hint))) return true;
    }
    return false;
}

/* ---- the interpreter's time ---- */

/* Its thread sets `stop` when the session is interrupted or the time is over. */
typedef struct watch {
    const loom_session *session; /* NULL: none is open, a signal ends the process */
    double until;
    atomic_bool stop;
    bool over;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} watch;

static void *watch_run(void *argument) {
    watch *w = argument;
    pthread_mutex_lock(&w->lock);
    while (!w->over) {
        struct timespec moment;
        clock_gettime(CLOCK_REALTIME, &moment);
        moment.tv_nsec += 20000000;
        moment.tv_sec += moment.tv_nsec / 1000000000;
        moment.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&w->changed, &w->lock, &moment);
        if (loom_seconds() > w->until || (w->session && loom_session_interrupted(w->session))) {
            atomic_store(&w->stop, true);
        }
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static loom_status *watch_start(watch *w, const tester *t) {
    *w = (watch){.session = t->session, .until = loom_seconds() + t->timeout};
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    int wrong = pthread_create(&w->thread, NULL, watch_run, w);
    return wrong ? loom_error_errno(LOOM_E_OS, wrong, "cannot start a thread") : NULL;
}

static void watch_end(watch *w) {
    pthread_mutex_lock(&w->lock);
    w->over = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
}

/* ---- one way of running ---- */

/* What a run gave, held against what the case says. Takes the error. Compiled code need not meet an error of what
 * nothing needs: where the interpreter met the one that is expected, a value is as good. */
static void judge(trial *t, const char *how, loom_status *status, const loom_value *result) {
    char *text = status ? loom_status_text(status) : NULL, *why = NULL;
    const char *regex = t->c->outcome == LOOM_TESTING_ERROR ? loom_testing_regex_text(t->c->error) : NULL;
    if (regex && status) {
        if (!fits_status(t->c->error, status))
            why = loom_xprintf("expected an error with `%s`, found: %s", regex, text);
    } else if (regex && !t->failed_as_expected) {
        why = loom_xprintf("expected an error with `%s`, found a value", regex);
    } else if (status) {
        why = loom_xprintf("fails: %s", text);
    } else if (t->expected) {
        why = loom_testing_difference(t->expected, result, t->f->t->exact ? 0 : LOOM_TESTING_TOLERANCE);
    }
    if (why) trial_failed(t, how, why);
    free(why);
    free(text);
    loom_status_free(status);
}

static loom_status *call_interpreter(trial *t, loom_value **result) {
    watch w;
    LOOM_TRY(watch_start(&w, t->f->t));
    loom_interp_options options = {
        .memory_limit = loom_machine_worker_memory(1), .cancel = &w.stop, .random_split_seed = LOOM_INTERP_SPLITS};
    loom_status *status = loom_interp_call(t->f->program->program, t->function, t->arguments, &options, result, NULL);
    watch_end(&w);
    if (loom_status_code(status) != LOOM_E_CANCELLED || is_interrupted(t->f->t)) return status;
    loom_status_free(status);
    t->late = true;
    return loom_error(LOOM_E_LIMIT, "took more than %g s", t->f->t->timeout);
}

/* With `auto output` the interpreter's result is what is expected of compiled code. */
static loom_status *interpret(trial *t) {
    loom_value *result = NULL;
    loom_status *status = call_interpreter(t, &result);
    if (is_interrupted(t->f->t)) {
        loom_status_free(status);
        loom_value_unref(result);
        return loom_error(LOOM_E_CANCELLED, "interrupted");
    }
    bool failed = status != NULL;
    judge(t, "interpreted", status, result);
    t->failed_as_expected = failed && !t->failed;
    if (t->c->outcome == LOOM_TESTING_AUTO && result) {
        t->expected = result;
    } else {
        loom_value_unref(result);
    }
    return NULL;
}

static loom_status *need_session(test_file *f) {
    if (!f->t->session) LOOM_TRY(cli_open_session(&f->t->where, &f->t->session));
    return f->bytes ? NULL : loom_program_encode(f->program->program, &f->bytes, &f->length);
}

/* Errors of the program are its own; others end the command. */
static bool is_of_program(const loom_status *status) {
    switch (loom_status_code(status)) {
    case LOOM_E_UNAVAILABLE:
    case LOOM_E_CANCELLED:
    case LOOM_E_DENIED:
    case LOOM_E_CONFIG:
    case LOOM_E_PROTOCOL: return false;
    default: return true;
    }
}

static loom_status *run_job(trial *t, loom_value *const *arguments, loom_source *const *sources) {
    test_file *f = t->f;
    loom_job_description job = {.program = f->bytes,
                                .program_length = f->length,
                                .entry = entry_name(t),
                                .n_params = t->n_params,
                                .arguments = arguments,
                                .sources = sources};
    loom_job_result *result = NULL;
    loom_status *status = loom_session_run(f->t->session, &job, &result);
    if (status && !is_of_program(status)) return status;
    judge(t, "compiled", status, status ? NULL : result->value);
    loom_job_result_free(result);
    return NULL;
}

/* Streams are served from memory. */
static loom_status *run_on_workers(trial *t) {
    const loom_program *p = t->f->program->program;
    loom_value **arguments = loom_xcalloc(t->n_params + 1, sizeof *arguments);
    loom_source **sources = loom_xcalloc(t->n_params + 1, sizeof *sources);
    loom_status *status = need_session(t->f);
    for (uint32_t i = 0; i < t->n_params && !status; i++) {
        if (p->types[t->types[i]].kind == LOOM_T_SEQ) {
            status = loom_source_value(t->arguments[i], &sources[i]);
        } else {
            arguments[i] = t->arguments[i];
        }
    }
    if (loom_status_code(status) == LOOM_E_DATA) { /* of the case's own input */
        judge(t, "compiled", status, NULL);
        status = NULL;
    } else if (!status) {
        status = run_job(t, arguments, sources);
    }
    for (uint32_t i = 0; i < t->n_params; i++) {
        if (sources[i]) loom_source_destroy(sources[i]);
    }
    free(arguments);
    free(sources);
    return status;
}

/* ---- one case ---- */

static loom_status *read_case(trial *t) {
    const loom_program *p = t->f->program->program;
    uint64_t seed = (uint64_t)t->c->span.line << 32 | t->c->span.column;
    uint64_t memory = t->f->t->memory;
    const char **names = LOOM_NEW_ARRAY(t->f->program->arena, const char *, t->n_params + 1);
    for (uint32_t i = 0; i < t->n_params; i++) names[i] = loom_client_param_name(p, t->function, i);
    if (t->c->random) {
        LOOM_TRY(loom_testing_random(t->c->input, p, t->n_params, t->types, names, memory, seed, t->arguments));
    } else {
        LOOM_TRY(loom_testing_read(t->c->input, p, t->n_params, t->types, names, memory, t->arguments));
    }
    if (t->c->outcome != LOOM_TESTING_VALUES) return NULL;
    loom_type_id result = loom_client_result_type(p, t->function);
    return loom_testing_read(t->c->output, p, 1, &result, NULL, memory, &t->expected);
}

static void free_trial(trial *t) {
    for (uint32_t i = 0; i < t->n_params; i++) loom_value_unref(t->arguments[i]);
    loom_value_unref(t->expected);
    free(t->arguments);
    free(t->types);
}

/* A test that cannot be read has failed. */
static void tell(test_file *f, loom_status *status) {
    loom_status_print(status, stderr);
    loom_status_free(status);
    f->count.failed++;
}

static loom_status *run_case(test_file *f, const loom_testing_case *c, uint32_t function) {
    const loom_program *p = f->program->program;
    bool by_interpreter = !c->compiled || c->outcome == LOOM_TESTING_AUTO;
    if (c->skipped || (f->t->interpreted && !by_interpreter)) {
        f->count.skipped++;
        return NULL;
    }
    trial t = {.f = f, .c = c, .function = function, .n_params = loom_client_n_params(p, function)};
    t.types = loom_xcalloc(t.n_params + 1, sizeof *t.types);
    t.arguments = loom_xcalloc(t.n_params + 1, sizeof(loom_value *));
    for (uint32_t i = 0; i < t.n_params; i++) t.types[i] = loom_client_param_type(p, function, i);
    loom_status *unreadable = read_case(&t), *status = NULL;
    if (unreadable) {
        tell(f, unreadable);
    } else {
        if (by_interpreter) status = interpret(&t);
        if (!status && !f->t->interpreted && !t.late) status = run_on_workers(&t);
        if (!status) t.failed ? f->count.failed++ : f->count.passed++;
    }
    free_trial(&t);
    if (!status && is_interrupted(f->t)) status = loom_error(LOOM_E_CANCELLED, "interrupted");
    return status;
}

/* ---- what is expected of the compiler ---- */

static bool claim_holds(const loom_testing_claim *c, const loom_steps *found) {
    bool compiled = !found->remark;
    switch (c->verdict) {
    case LOOM_TESTING_STEPS: return compiled && (c->at_most ? found->steps <= c->steps : found->steps == c->steps);
    case LOOM_TESTING_REGULAR: return found->rep != LOOM_SHAPE_IRREGULAR;
    case LOOM_TESTING_IRREGULAR: return found->rep == LOOM_SHAPE_IRREGULAR;
    case LOOM_TESTING_TESTED: return compiled && found->rep == LOOM_SHAPE_IRREGULAR && found->tested;
    case LOOM_TESTING_COMPILED: return compiled;
    case LOOM_TESTING_INTERPRETED: return !compiled;
    }
    return false;
}

static char *claim_text(const loom_testing_claim *c) {
    static const char *const verdicts[] = {
        "", "regular values", "irregular values", "values that are tested", "it compiled", "it interpreted"};
    if (c->verdict != LOOM_TESTING_STEPS) return loom_xprintf("expected %s", verdicts[c->verdict]);
    return loom_xprintf("%s: expected %s%llu step%s", loom_lift_names[c->lift], c->at_most ? "at most " : "",
                        (unsigned long long)c->steps, c->steps == 1 ? "" : "s");
}

static char *found_text(const loom_testing_claim *c, const loom_steps *found) {
    bool irregular = found->rep == LOOM_SHAPE_IRREGULAR;
    switch (c->verdict) {
    case LOOM_TESTING_REGULAR:
    case LOOM_TESTING_IRREGULAR: return loom_xstrdup(irregular ? "irregular ones" : "all regular");
    case LOOM_TESTING_TESTED: return loom_xstrdup(irregular ? "irregular ones, not all of them tested" : "all regular");
    default: break;
    }
    if (found->remark) return loom_xprintf("interpreted: %s", found->remark);
    if (c->verdict == LOOM_TESTING_STEPS) return loom_xprintf("%llu", (unsigned long long)found->steps);
    return loom_xstrdup("compiled");
}

static void judge_claim(test_file *f, const loom_testing_claim *c, const char *entry) {
    loom_arena *arena = loom_arena_create((size_t)f->t->memory);
    loom_steps found;
    loom_lift lift = c->verdict == LOOM_TESTING_STEPS ? c->lift : LOOM_LIFT_REGULAR;
    loom_status *status = loom_steps_count(arena, f->program->program, entry, lift, c->size, &found);
    bool holds = !status && claim_holds(c, &found);
    holds ? f->count.passed++ : f->count.failed++;
    if (!holds) {
        char *expected = claim_text(c), *what = status ? loom_status_text(status) : found_text(c, &found);
        fail_at(f->path, c->span, "entry %s, %s, found %s", entry, expected, what);
        free(expected);
        free(what);
    }
    loom_status_free(status);
    loom_arena_destroy(arena);
}

/* ---- one entry ---- */

static loom_status *run_entry(test_file *f, const loom_testing_block *b, const loom_testing_entry *entry) {
    uint32_t function;
    loom_status *unknown = loom_client_entry(f->program, entry->name, &function), *status = NULL;
    if (unknown) {
        char *text = loom_status_text(unknown);
        tell(f, loom_error_at(LOOM_E_DATA, f->path, entry->span, "%s", text));
        free(text);
        loom_status_free(unknown);
        return NULL;
    }
    const char *name = f->program->program->functions[function].name;
    for (uint32_t i = 0; i < b->n_claims; i++) judge_claim(f, &b->claims[i], name);
    for (uint32_t i = 0; i < b->n_cases && !status; i++) status = run_case(f, &b->cases[i], function);
    return status;
}

/* ---- one file ---- */

static bool must_not_compile(const loom_testing_blocks *blocks, const loom_testing_block **which) {
    for (uint32_t i = 0; i < blocks->count; i++) {
        if (!blocks->at[i].error) continue;
        *which = &blocks->at[i];
        return true;
    }
    return false;
}

static void judge_errors(test_file *f, const loom_testing_block *b, const loom_status *status) {
    if (!status) {
        fail_at(f->path, b->span, "expected an error with `%s`, but the program compiles",
                loom_testing_regex_text(b->error));
        f->count.failed++;
        return;
    }
    if (fits_diagnostic(b->error, &f->program->diagnostics, false)) {
        f->count.passed++;
        return;
    }
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (to) {
        loom_diagnostics_print(&f->program->diagnostics, f->program->files, f->program->n_files, to);
        fclose(to);
    }
    fail_at(f->path, b->span, "expected an error with `%s`, found:\n%s", loom_testing_regex_text(b->error),
            text ? text : "");
    f->count.failed++;
    free(text);
}

static void judge_warning(test_file *f, const loom_testing_regex *regex) {
    if (fits_diagnostic(regex, &f->program->diagnostics, true)) {
        f->count.passed++;
        return;
    }
    fail_at(f->path, loom_testing_regex_span(regex), "expected a warning with `%s`, found none",
            loom_testing_regex_text(regex));
    f->count.failed++;
}

static loom_status *run_blocks(test_file *f, const loom_testing_blocks *blocks) {
    const loom_testing_block *wrong = NULL;
    bool must_fail = must_not_compile(blocks, &wrong);
    loom_status *status = must_fail ? loom_client_compile(f->program) : cli_compile(f->program);
    if (must_fail) {
        judge_errors(f, wrong, status);
        loom_status_free(status);
        return NULL;
    }
    if (status) {
        tell(f, status);
        return NULL;
    }
    for (uint32_t i = 0; i < blocks->count && !status; i++) {
        const loom_testing_block *b = &blocks->at[i];
        for (uint32_t k = 0; k < b->n_warnings; k++) judge_warning(f, b->warnings[k]);
        for (uint32_t k = 0; k < b->n_entries && !status; k++) status = run_entry(f, b, &b->entries[k]);
    }
    return status;
}

static void print_tally(const char *what, const tally *n) {
    printf("%s: %llu passed", what, (unsigned long long)n->passed);
    if (n->failed) printf(", %llu failed", (unsigned long long)n->failed);
    if (n->skipped) printf(", %llu skipped", (unsigned long long)n->skipped);
    putchar('\n');
    fflush(stdout); /* in step with what goes to standard error */
}

static loom_status *read_and_run(test_file *f) {
    loom_status *status = loom_client_read(&f->path, 1, &f->program);
    if (status) {
        tell(f, status);
        return NULL;
    }
    loom_testing_blocks blocks;
    const loom_source_file *text = &f->program->files[0];
    status = loom_testing_parse(f->program->arena, f->path, text->text, text->length, &blocks);
    if (status) {
        tell(f, status);
        return NULL;
    }
    status = run_blocks(f, &blocks);
    loom_testing_free(&blocks);
    return status;
}

static loom_status *run_file(tester *t, const char *path) {
    test_file f = {.t = t, .path = path};
    loom_status *status = read_and_run(&f);
    if (!status) print_tally(path, &f.count);
    t->files++;
    t->all.passed += f.count.passed;
    t->all.failed += f.count.failed;
    t->all.skipped += f.count.skipped;
    loom_client_program_free(f.program);
    free(f.bytes);
    return status;
}

/* ---- folders ---- */

static int by_name(const FTSENT **a, const FTSENT **b) {
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_program(const FTSENT *entry) {
    const char *dot = entry->fts_info == FTS_F ? strrchr(entry->fts_name, '.') : NULL;
    return dot && (strcmp(dot, ".weft") == 0 || strcmp(dot, ".fut") == 0);
}

/* Links are not followed, so a folder is seen once. */
static loom_status *run_folder(tester *t, const char *path) {
    char *own = loom_xstrdup(path), *paths[2] = {own, NULL};
    uint64_t before = t->files;
    FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    loom_status *status = walk ? NULL : loom_error_errno(LOOM_E_NOINPUT, errno, "cannot read %s", path);
    for (FTSENT *entry; !status && (entry = fts_read(walk));) {
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR) {
            status = loom_error_errno(LOOM_E_NOINPUT, entry->fts_errno, "cannot read %s", entry->fts_path);
        } else if (is_program(entry)) {
            status = run_file(t, entry->fts_path);
        }
    }
    if (walk) fts_close(walk);
    if (!status && t->files == before) {
        status = loom_status_note(loom_error(LOOM_E_NOINPUT, "no programs in %s", path),
                                  "hint: programs have names that end with .weft or .fut");
    }
    free(own);
    return status;
}

static loom_status *run_all(tester *t, const char **paths, int n) {
    if (n < 1) return loom_error(LOOM_E_USAGE, "nothing to test: expected a program or a folder of programs");
    for (int i = 0; i < n; i++) {
        struct stat s;
        if (stat(paths[i], &s) != 0) return loom_error_errno(LOOM_E_NOINPUT, errno, "cannot read %s", paths[i]);
        LOOM_TRY(S_ISDIR(s.st_mode) ? run_folder(t, paths[i]) : run_file(t, paths[i]));
    }
    char *what = loom_xprintf("%llu file%s", (unsigned long long)t->files, t->files == 1 ? "" : "s");
    print_tally(what, &t->all);
    free(what);
    if (!t->all.failed) return NULL;
    return loom_error(LOOM_E_FAILED, "%llu test%s did not pass", (unsigned long long)t->all.failed,
                      t->all.failed == 1 ? "" : "s");
}

loom_status *cli_test(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom test", "PROG.weft|FOLDER... [options]",
        "Runs the tests that programs carry in comments, in the form of Futhark's: after a line `-- ==`, `entry: "
        "NAMES`, "
        "and for each case `input { VALUES }` or `random input { TYPES }` with `output { VALUES }`, `auto output` or "
        "`error: REGEX`. Each case is interpreted here and run compiled, on workers; both must give what is expected, "
        "floats within 0.002 of the largest magnitude. Of folders, all programs in them (.weft and .fut). A program "
        "without tests must compile. One line a file is printed, and a sum; what failed goes to standard error.",
        "  gridloom test examples\n  gridloom test --interpreted prog.weft"};
    tester t = {.memory = loom_machine_worker_memory(1), .timeout = 300};
    loom_option options[] = {
        {"interpreted", 0, LOOM_OPT_FLAG, &t.interpreted, NULL, "Interpret only; start no workers.", 0, 0},
        {"exact", 0, LOOM_OPT_FLAG, &t.exact, NULL, "Floats must be equal to the last bit; -0 is not 0.", 0, 0},
        {"timeout", 0, LOOM_OPT_REAL, &t.timeout, "SECONDS",
         "A case that is interpreted for longer has failed, and is not run compiled; default 300.", 0.001, 1e9},
        CLI_SESSION_OPTIONS(t.where),
        {0}};
    const char **rest;
    int n;
    bool done;
    LOOM_TRY(cli_options(call, &text, options, &rest, &n, &done));
    if (done) return NULL;
    loom_status *status = run_all(&t, rest, n);
    loom_session_close(t.session);
    return status;
}
