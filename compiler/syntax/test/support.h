/* What the tests of the front end share: compile a text, with its diagnostics as one string. */
#ifndef LOOM_SYNTAX_TEST_SUPPORT_H
#define LOOM_SYNTAX_TEST_SUPPORT_H

#include "compiler/syntax/syntax.h"
#include "loom_test.h"

typedef struct compiled {
    loom_arena *arena;
    loom_source_file file;
    loom_diagnostics diagnostics;
    loom_program *program; /* NULL if it did not compile */
    loom_code code;
    char *errors; /* as printed */
    size_t errors_size;
} compiled;

static inline compiled compile_bytes(const char *text, size_t length) {
    compiled c = {.arena = loom_arena_create((size_t)4 << 30), .file = {"test.weft", text, length}};
    loom_status *status = loom_syntax_compile(c.arena, &c.file, 1, &c.diagnostics, &c.program);
    c.code = loom_status_code(status);
    FILE *to = open_memstream(&c.errors, &c.errors_size);
    loom_diagnostics_print(&c.diagnostics, &c.file, 1, to);
    if (status) loom_status_print(status, to);
    fclose(to);
    loom_status_free(status);
    return c;
}

static inline compiled compile_text(const char *text) {
    return compile_bytes(text, strlen(text));
}

static inline void compiled_free(compiled *c) {
    free(c->errors);
    loom_arena_destroy(c->arena);
}

/* Must compile. */
static inline compiled compile_good(const char *text) {
    compiled c = compile_text(text);
    if (!c.program) loom_test_fail(__FILE__, __LINE__, "%.300s\ndoes not compile:\n%.600s", text, c.errors);
    return c;
}

/* The printed program; freed by the caller. */
static inline char *core_text(const compiled *c) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    loom_program_print(c->program, to);
    fclose(to);
    return text;
}

/* Does the core of this text contain the part? */
static inline void check_core(const char *text, const char *part) {
    compiled c = compile_good(text);
    char *core = core_text(&c);
    if (!strstr(core, part))
        loom_test_fail(__FILE__, __LINE__, "no \"%s\" in the core of\n%.300s\n%.3000s", part, text, core);
    free(core);
    compiled_free(&c);
}

static inline void check_no_core(const char *text, const char *part) {
    compiled c = compile_good(text);
    char *core = core_text(&c);
    if (strstr(core, part))
        loom_test_fail(__FILE__, __LINE__, "\"%s\" in the core of\n%.300s\n%.3000s", part, text, core);
    free(core);
    compiled_free(&c);
}

/* Result type of the entry `main`. */
static inline void check_type(const char *text, const char *type) {
    compiled c = compile_good(text);
    const loom_function *f = loom_program_entry(c.program, "main");
    LOOM_CHECK(f);
    const loom_body *body = &c.program->bodies[f->body];
    const char *found = loom_type_text(c.program, c.program->nodes[body->result].type);
    if (strcmp(found, type) != 0)
        loom_test_fail(__FILE__, __LINE__, "%.300s\nhas type %.300s, not %s", text, found, type);
    compiled_free(&c);
}

/* Must fail with this code and say this. */
static inline void check_error(const char *text, loom_code code, const char *part) {
    compiled c = compile_text(text);
    if (c.program) loom_test_fail(__FILE__, __LINE__, "compiles: %.300s", text);
    if (!strstr(c.errors, part))
        loom_test_fail(__FILE__, __LINE__, "%.300s\ngives\n%.600sand not \"%s\"", text, c.errors, part);
    LOOM_CHECK_STR(loom_code_name(c.code), loom_code_name(code));
    compiled_free(&c);
}

#endif
