#include "entry_run.h"
#include "common/buffer.h"
#include "compiler/ir/trap.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void cli_entry_free(cli_entry_run *r) {
    loom_client_outputs_free(r->out);
    loom_client_binding_free(r->binding);
    loom_client_program_free(r->program);
    free(r->given.arguments.at);
    free(r->given.streams.at);
    free(r->given.constants.at);
    free(r->given.observations.at);
    free(r->outputs.at);
}

/* What is said of observations where there are none would be left out without a word. */
static loom_status *check_selection(cli_entry_run *r) {
    cli_selection none = CLI_SELECTION;
    const cli_selection *s = &r->selection;
    bool said = s->rows.column || s->rows.field != none.rows.field || s->rows.spw != none.rows.spw ||
                strcmp(s->channels, none.channels) != 0 || s->time || s->scan != none.scan;
    if (said && r->given.observations.count == 0) {
        return loom_error(LOOM_E_USAGE, "--column, --field, --spw, --channels, --time and --scan choose from what "
                                        "--observation names, and there is none");
    }
    r->given.selection = &r->selection.rows;
    return cli_selection_parse(&r->selection);
}

static loom_status *set_lag(cli_entry_run *r) {
    if (loom_program_set_lag(r->program->program, r->lag) || r->lag == 0) return NULL;
    return loom_error(LOOM_E_USAGE, "--lag %" PRId64 ": the program has no `group_seq forever`", r->lag);
}

/* -o -: alone, and of a sequence. */
static loom_status *find_frames_out(cli_entry_run *r) {
    const loom_program *p = r->program->program;
    for (size_t i = 0; i < r->outputs.count; i++) r->frames_out = r->frames_out || strcmp(r->outputs.at[i], "-") == 0;
    if (!r->frames_out) return NULL;
    loom_type_id type = loom_client_result_type(p, r->function);
    if (r->outputs.count > 1) return loom_error(LOOM_E_USAGE, "-o -: no other output goes with it");
    if (p->types[type].kind == LOOM_T_SEQ) return NULL;
    return loom_status_note(
        loom_error(LOOM_E_USAGE, "-o -: raw frames are for sequences, and the result is %s", loom_type_text(p, type)),
        "hint: -o FILE.npy");
}

/* Standard input is one thing only, and for commands that read it once. */
static loom_status *check_input(const cli_entry_run *r, const char **paths, int n) {
    if (r->binding->endless == LOOM_CLIENT_NOT_ENDLESS) return NULL;
    const char *name = loom_client_param_name(r->program->program, r->function, r->binding->endless);
    for (int i = 0; i < n; i++) {
        if (strcmp(paths[i], "-") == 0)
            return loom_error(LOOM_E_USAGE, "--stream %s=-: standard input is the program's text already", name);
    }
    if (r->takes_frames) return NULL;
    return loom_status_note(
        loom_error(LOOM_E_USAGE, "--stream %s=-: this command reads its streams more than once", name),
        "hint: save it to a .npy file");
}

void cli_entry_remarks(const cli_entry_run *r, const loom_job_result *result) {
    if (!r->remarks) {
        cli_warn_of_program(&r->where, result, "--remarks");
        return;
    }
    for (size_t i = 0; i < result->n_remarks; i++) fprintf(stderr, "remark: %s\n", result->remarks[i]);
}

loom_status *cli_entry_prepare(cli_entry_run *r, const char **paths, int n) {
    LOOM_TRY(check_selection(r));
    LOOM_TRY(loom_force_parse(r->force, &r->forced));
    LOOM_TRY(cli_load(paths, n, &r->program));
    LOOM_TRY(loom_client_entry(r->program, r->entry, &r->function));
    LOOM_TRY(set_lag(r));
    LOOM_TRY(find_frames_out(r));
    const loom_option_list none = {0}, *files_out = r->frames_out ? &none : &r->outputs;
    LOOM_TRY(loom_client_outputs_create(r->program->program, r->function, files_out, &r->out));
    LOOM_TRY(loom_client_bind(r->program->program, r->function, &r->given, &r->binding));
    LOOM_TRY(check_input(r, paths, n));
    loom_paths *files = r->binding->files;
    for (int i = 0; i < n; i++) loom_paths_read(files, paths[i]);
    loom_client_outputs_list(r->out, files);
    loom_paths_write(files, r->where.stats);
    loom_paths_write(files, r->claims);
    loom_paths_write(files, r->work);
    return cli_check_paths(files);
}

/* The node that visits streams together, where there is only one. */
static const loom_node *only_zip(const loom_program *p) {
    const loom_node *found = NULL;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        if (p->nodes[i].op != LOOM_OP_SEQ_MAP || p->nodes[i].n_operands < 2) continue;
        if (found) return NULL;
        found = &p->nodes[i];
    }
    return found;
}

/* The daemon compares lengths before anything runs, and does not know where the program asks for it. */
static loom_status *with_place(const loom_program *p, loom_status *status) {
    const loom_node *n = loom_status_span(status).line == 0 ? only_zip(p) : NULL;
    if (!n || n->span.line == 0 || n->span.file >= p->n_files) return status;
    loom_status *placed = loom_error_at(loom_status_code(status), p->files[n->span.file].name, n->span, "%s",
                                        loom_status_message(status));
    for (size_t i = 0; i < loom_status_notes(status); i++)
        loom_status_note(placed, "%s", loom_status_note_at(status, i));
    loom_status_free(status);
    return placed;
}

loom_status *cli_entry_with_lengths(const cli_entry_run *r, loom_status *status) {
    if (!status || (loom_status_code(status) != LOOM_E_DATA && loom_status_code(status) != LOOM_E_RUNTIME))
        return status;
    loom_buffer text = {0};
    int64_t first = -1;
    bool differ = false;
    for (uint32_t i = 0; i < r->binding->n_params; i++) {
        const loom_source *s = r->binding->sources[i];
        if (!s) continue;
        loom_buffer_printf(&text, "%s%s has %" PRId64, text.length ? ", " : "",
                           loom_client_param_name(r->program->program, r->function, i), s->n_elements);
        differ = differ || (first >= 0 && first != s->n_elements);
        first = s->n_elements;
    }
    if (differ && loom_trap_has_code(loom_status_message(status), LOOM_TRAP_CODE_STREAMS))
        status = with_place(r->program->program, status);
    if (differ) loom_status_note(status, "elements of the streams: %s", text.data);
    loom_buffer_free(&text);
    return status;
}

loom_status *cli_entry_submit(const cli_entry_run *r, loom_session *session, loom_job_result **result) {
    char *bytes;
    size_t length;
    LOOM_TRY(loom_program_encode(r->program->program, &bytes, &length));
    cli_progress progress = cli_progress_start(r->where.quiet, "elements");
    if (!r->where.quiet) progress.daemon = r->where.connect;
    loom_job_description job = {.program = bytes,
                                .program_length = length,
                                .entry = r->program->program->functions[r->function].name,
                                .n_params = r->binding->n_params,
                                .arguments = r->binding->arguments,
                                .sources = r->binding->sources,
                                .block = r->block,
                                .force = r->forced,
                                .debug = r->forced != 0,
                                .timeout = r->timeout,
                                .count_work = r->work,
                                .progress = cli_progress_update,
                                .context = &progress};
    loom_status *status = loom_session_run(session, &job, result);
    cli_progress_end(&progress);
    free(bytes);
    return cli_entry_with_lengths(r, status);
}
