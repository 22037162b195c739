/* The front end's entry points: prelude and files are read as one text, entries become the program, defs that no entry
 * reaches are checked as far as that can be done without knowing their arguments. */
#include "common/buffer.h"
#include "compiler/prelude/prelude.h"
#include "elab.h"
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

typedef struct compilation {
    syn_context context;
    syn_decls decls;
    loom_arena *arena;
    const loom_source_file *files;
    size_t n_files;
    loom_program *program;
    jmp_buf memory, limit; /* where exhaustion of the arena, and of a limit, land */
} compilation;

static void parse_file(compilation *k, uint32_t index, const loom_source_file *file, bool prelude) {
    syn_tokens *tokens = LOOM_NEW(k->arena, syn_tokens);
    *tokens = loom_syn_lex(&k->context, index, file->text, file->length);
    loom_syn_parse(&k->context, tokens, prelude, &k->decls, NULL);
}

static void add_file(loom_program *p, const loom_source_file *file) {
    loom_source_file copy = {.name = loom_arena_strdup(p->arena, file->name),
                             .text = loom_arena_strndup(p->arena, file->text, file->length),
                             .length = file->length};
    p->files[p->n_files++] = copy;
}

/* Spans of the user's files have the indices the caller gave them; the prelude's come after, and are in no node of the
 * program, because prelude functions are expanded where they are called. */
static void read_all(compilation *k) {
    loom_syn_context_init(&k->context, k->arena, k->context.diagnostics);
    loom_syn_builtins_init(&k->context);
    k->context.n_user_files = (uint32_t)k->n_files;
    k->context.files = k->files;
    k->program = loom_program_create(k->arena);
    k->program->cap_files = (uint32_t)k->n_files;
    k->program->files = LOOM_NEW_ARRAY(k->arena, loom_source_file, k->n_files + 1);
    for (uint32_t i = 0; i < loom_prelude_count; i++) {
        parse_file(k, (uint32_t)k->n_files + i, &loom_prelude_files[i], true);
    }
    for (uint32_t i = 0; i < k->n_files; i++) parse_file(k, i, &k->files[i], false);
    for (uint32_t i = 0; i < k->n_files; i++) add_file(k->program, &k->files[i]);
}

/* ---- checking ---- */

static syn_elab *new_elab(compilation *k, loom_program *program) {
    syn_elab *e = LOOM_NEW(k->arena, syn_elab);
    e->c = &k->context;
    e->arena = k->arena;
    e->program = program;
    e->decls = &k->decls;
    e->give_up = &k->limit;
    e->i64_name = loom_syn_intern(&k->context, "i64", 3);
    loom_syn_types_init(e);
    return e;
}

/* Record types take their order of fields from the first one in the text: declared types before all others. */
static void resolve_type_decl(syn_elab *e, const syn_decl *d) {
    syn_env *env = NULL;
    for (uint32_t i = 0; i < d->function->n_type_params; i++) {
        env = loom_syn_bind_type(e, env, d->function->type_params[i], loom_syn_ty_var(e, 0));
    }
    e->limit_decl = d->index;
    (void)loom_syn_resolve(e, d->type, env);
}

/* Of functions that no entry reaches. */
static void check_lifts(compilation *k, syn_elab *e) {
    for (size_t i = 0; i < k->decls.count; i++) {
        syn_decl *d = k->decls.at[i];
        for (uint32_t kind = 0; kind < SYN_LIFTS; kind++) {
            if (d->lifts[kind] && !d->lifts[kind]->checked) loom_syn_check_lift(e, d);
        }
    }
}

static void elaborate(compilation *k) {
    syn_elab *e = new_elab(k, k->program);
    for (size_t i = 0; i < k->decls.count; i++) {
        if (k->decls.at[i]->kind == D_TYPE && !k->decls.at[i]->broken) resolve_type_decl(e, k->decls.at[i]);
    }
    loom_syn_bind_lifts(e);
    for (size_t i = 0; i < k->decls.count; i++) {
        if (k->decls.at[i]->kind == D_ENTRY && !k->decls.at[i]->broken) loom_syn_elab_entry(e, k->decls.at[i]);
    }
    /* What the others are made into is thrown away. */
    syn_elab *unused = new_elab(k, loom_program_create(k->arena));
    memcpy(unused->shapes, e->shapes, sizeof e->shapes);
    check_lifts(k, unused);
    for (size_t i = k->decls.count; i-- > 0;) {
        syn_decl *d = k->decls.at[i];
        if (d->kind == D_DEF && !d->prelude && !d->used && !d->broken) loom_syn_check_unused(unused, d);
    }
}

static loom_status *count_errors(const loom_diagnostics *d) {
    size_t errors = 0;
    loom_code code = LOOM_OK;
    for (size_t i = 0; i < d->count; i++) {
        if (d->at[i].warning) continue;
        if (errors++ == 0) code = loom_weft_error_entry(d->at[i].error)->code;
    }
    if (errors == 0) return NULL;
    return loom_error(code, "%zu error%s in the program", errors, errors == 1 ? "" : "s");
}

static int by_place(const void *x, const void *y) {
    const loom_span a = ((const loom_diagnostic *)x)->span, b = ((const loom_diagnostic *)y)->span;
    if (a.file != b.file) return a.file < b.file ? -1 : 1;
    if (a.line != b.line) return a.line < b.line ? -1 : 1;
    return a.column < b.column ? -1 : a.column > b.column;
}

/* Insertion: there are at most a hundred, and qsort is not stable. */
static void sort_diagnostics(loom_diagnostics *d) {
    for (size_t i = 1; i < d->count; i++) {
        loom_diagnostic entry = d->at[i];
        size_t k = i;
        for (; k > 0 && by_place(&d->at[k - 1], &entry) > 0; k--) d->at[k] = d->at[k - 1];
        d->at[k] = entry;
    }
}

/* The core's own limits are the text's fault, and are told at its place; all else that is wrong with it is ours. */
static loom_status *check_core(compilation *k) {
    loom_status *status = loom_program_check(k->program);
    if (loom_status_code(status) != LOOM_E_LIMIT) {
        return loom_status_note(status, "the front end made this program");
    }
    /* Without the node's number: the text knows of none. */
    const char *message = loom_status_message(status), *node = strstr(message, "): ");
    loom_syn_report(&k->context, LOOM_W_CORE, loom_status_span(status), NULL, "%s",
                    strncmp(message, "core %", 6) == 0 && node ? node + 3 : message);
    loom_status_free(status);
    return count_errors(k->context.diagnostics);
}

static void run(compilation *k) {
    if (setjmp(k->limit)) return; /* the limit has been reported */
    read_all(k);
    if (!k->context.nameless_error) elaborate(k);
}

static loom_status *compile(compilation *k, loom_program **program) {
    jmp_buf *outer = loom_arena_set_guard(k->arena, &k->memory);
    if (setjmp(k->memory)) {
        loom_arena_set_guard(k->arena, outer);
        return loom_error(LOOM_E_LIMIT, "the text expands to more than the memory for compiling holds [W%04u]",
                          loom_weft_error_entry(LOOM_W_MEMORY)->number);
    }
    run(k);
    loom_status *status = NULL;
    if (k->context.diagnostics->any_error) {
        sort_diagnostics(k->context.diagnostics);
        status = count_errors(k->context.diagnostics);
    } else {
        status = check_core(k);
        if (!status) *program = k->program;
    }
    loom_arena_set_guard(k->arena, outer);
    return status;
}

loom_status *loom_syntax_compile(loom_arena *arena, const loom_source_file *files, size_t n_files,
                                 loom_diagnostics *diagnostics, loom_program **program) {
    compilation *k = loom_xcalloc(1, sizeof *k);
    k->arena = arena;
    k->files = files;
    k->n_files = n_files;
    k->context.diagnostics = diagnostics;
    loom_status *status = compile(k, program);
    free(k);
    return status;
}

/* ---- trees ---- */

loom_status *loom_syntax_print_ast(const loom_source_file *file, loom_diagnostics *diagnostics, FILE *to) {
    loom_arena *arena = loom_arena_create(0);
    syn_context context;
    loom_diagnostics found = {0};
    loom_syn_context_init(&context, arena, &found);
    context.n_user_files = 1;
    syn_tokens tokens = loom_syn_lex(&context, 0, file->text, file->length);
    syn_decls decls = {0};
    loom_syn_parse(&context, &tokens, false, &decls, NULL);
    loom_status *status = count_errors(&found);
    if (!status) loom_syn_print_decls(&decls, to, true);
    loom_syn_keep_diagnostics(diagnostics, &found);
    loom_arena_destroy(arena);
    return status;
}
