#include "client/program.h"
#include "common/buffer.h"
#include "common/file.h"
#include <stdlib.h>
#include <string.h>

static loom_client_program *make(size_t n) {
    loom_client_program *p = loom_xcalloc(1, sizeof *p);
    p->arena = loom_arena_create(LOOM_CLIENT_COMPILE_BYTES);
    p->files = loom_xcalloc(n ? n : 1, sizeof *p->files);
    p->texts = loom_xcalloc(n ? n : 1, sizeof *p->texts);
    p->n_files = n;
    return p;
}

loom_status *loom_client_read(const char *const *paths, size_t n, loom_client_program **program) {
    loom_client_program *p = make(n);
    loom_status *status = NULL;
    for (size_t i = 0; i < n && !status; i++) {
        bool input = strcmp(paths[i], "-") == 0;
        size_t length;
        status = loom_file_read(input ? "/dev/stdin" : paths[i], LOOM_MAX_SOURCE_BYTES, &p->texts[i], &length);
        if (loom_status_code(status) == LOOM_E_LIMIT) {
            loom_status_note(status, "gridloom help W%04u tells more", loom_weft_error_entry(LOOM_W_TEXT_SIZE)->number);
        }
        if (!status && memchr(p->texts[i], 0, length)) {
            status = loom_error(LOOM_E_DATA, "%s is not a text file, so it is no Weft program [W%04u]", paths[i],
                                loom_weft_error_entry(LOOM_W_NUL_BYTE)->number);
        }
        if (!status) p->files[i] = (loom_source_file){input ? "standard input" : paths[i], p->texts[i], length};
    }
    if (status) {
        loom_client_program_free(p);
        return status;
    }
    *program = p;
    return NULL;
}

loom_status *loom_client_embedded(const char *name, const char *text, size_t length, loom_client_program **program) {
    loom_client_program *p = make(1);
    p->files[0] = (loom_source_file){name, text, length};
    *program = p;
    return NULL;
}

loom_status *loom_client_embedded_files(const loom_source_file *files, size_t n, loom_client_program **program) {
    loom_client_program *p = make(n);
    memcpy(p->files, files, n * sizeof *files);
    *program = p;
    return NULL;
}

loom_status *loom_client_compile(loom_client_program *program) {
    return loom_syntax_compile(program->arena, program->files, program->n_files, &program->diagnostics,
                               &program->program);
}

void loom_client_program_free(loom_client_program *program) {
    if (!program) return;
    for (size_t i = 0; i < program->n_files; i++) free(program->texts[i]);
    free(program->texts);
    free(program->files);
    loom_diagnostics_free(&program->diagnostics);
    loom_arena_destroy(program->arena);
    free(program);
}

static void list_entries(const loom_program *p, loom_buffer *names) {
    for (uint32_t i = 0; i < p->n_functions; i++) {
        if (!p->functions[i].entry) continue;
        loom_buffer_printf(names, "%s%s", names->length ? ", " : "", p->functions[i].name);
    }
}

loom_status *loom_client_entry(const loom_client_program *program, const char *name, uint32_t *function) {
    const loom_program *p = program->program;
    const loom_function *f = loom_program_entry(p, name);
    if (f) {
        *function = (uint32_t)(f - p->functions);
        return NULL;
    }
    loom_buffer names = {0};
    list_entries(p, &names);
    loom_status *status;
    if (!names.length) {
        status = loom_status_note(loom_error(LOOM_E_DATA, "the program has no entry"),
                                  "hint: write 'entry' in place of 'def' before the function to run");
    } else if (name) {
        status = loom_status_note(loom_error(LOOM_E_USAGE, "the program has no entry '%s'", name),
                                  "hint: its entries are %s", names.data);
    } else {
        status = loom_status_note(loom_error(LOOM_E_USAGE, "the program has several entries: %s", names.data),
                                  "hint: choose one with --entry");
    }
    loom_buffer_free(&names);
    return status;
}

static const loom_body *body_of(const loom_program *p, uint32_t function) {
    return &p->bodies[p->functions[function].body];
}

uint32_t loom_client_n_params(const loom_program *p, uint32_t function) {
    return body_of(p, function)->n_params;
}

const char *loom_client_param_name(const loom_program *p, uint32_t function, uint32_t i) {
    return p->functions[function].param_names[i];
}

loom_type_id loom_client_param_type(const loom_program *p, uint32_t function, uint32_t i) {
    return loom_node_at(p, body_of(p, function)->first + i)->type;
}

loom_type_id loom_client_result_type(const loom_program *p, uint32_t function) {
    return loom_node_at(p, body_of(p, function)->result)->type;
}

char *loom_client_signature(const loom_program *p, uint32_t function) {
    loom_buffer b = {0};
    loom_buffer_text(&b, p->functions[function].name);
    for (uint32_t i = 0; i < loom_client_n_params(p, function); i++) {
        loom_buffer_printf(&b, " (%s: %s)", loom_client_param_name(p, function, i),
                           loom_type_text(p, loom_client_param_type(p, function, i)));
    }
    loom_buffer_printf(&b, " : %s", loom_type_text(p, loom_client_result_type(p, function)));
    return loom_buffer_take(&b);
}
