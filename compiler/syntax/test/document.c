/* docs/language.md: every ```weft block compiles, and both sides of every `EXPRESSION --> VALUE` are equal. */
#include "common/buffer.h"
#include "common/file.h"
#include "compiler/interp/interp.h"
#include "elab.h"
#include "support.h"

#define DOCUMENT "docs/language.md"

static loom_value *value_of(const compiled *c, const char *entry) {
    const loom_function *f = loom_program_entry(c->program, entry);
    loom_interp_options options = {0};
    loom_value *result = NULL;
    loom_status *status =
        loom_interp_call(c->program, (uint32_t)(f - c->program->functions), NULL, &options, &result, NULL);
    if (status) loom_test_fail(DOCUMENT, 1, "%.300s\nfails: %s", c->file.text, loom_status_text(status));
    return result;
}

static bool same_lengths(const loom_leaf *a, const loom_leaf *b) {
    for (uint32_t k = 0; k < a->depth; k++) {
        if (a->extents[k] != b->extents[k]) return false;
        if (a->extents[k] != LOOM_IRREGULAR) continue;
        if (a->n_lengths[k] != b->n_lengths[k]) return false;
        if (memcmp(a->lengths[k], b->lengths[k], (size_t)a->n_lengths[k] * sizeof *a->lengths[k]) != 0) return false;
    }
    return true;
}

static bool same_value(const loom_value *a, const loom_value *b) {
    if (a->n_leaves != b->n_leaves) return false;
    for (uint32_t i = 0; i < a->n_leaves; i++) {
        const loom_leaf *x = &a->leaves[i], *y = &b->leaves[i];
        if (x->dtype != y->dtype || x->depth != y->depth || x->n_data != y->n_data || !same_lengths(x, y)) return false;
        for (int64_t k = 0; k < x->n_data; k++) {
            size_t size = loom_dtype_size(x->dtype);
            loom_scalar s = loom_scalar_load(x->dtype, (const char *)x->data + (size_t)k * size);
            loom_scalar t = loom_scalar_load(x->dtype, (const char *)y->data + (size_t)k * size);
            if (loom_dtype_is_complex(x->dtype) ? s.c[0] != t.c[0] || s.c[1] != t.c[1]
                : loom_dtype_is_float(x->dtype) ? s.f != t.f
                : x->dtype == LOOM_BOOL         ? s.b != t.b
                                                : s.u != t.u) {
                return false;
            }
        }
    }
    return true;
}

/* Both sides become branches of one `if`, so that they have one type. */
static void check_equation(const char *line, size_t length, const char *arrow) {
    char *text = loom_xprintf(
        "def either c = if c then (%.*s) else (%.*s)\nentry left = either true\nentry right = either false\n",
        (int)(arrow - line), line, (int)(line + length - arrow - 3), arrow + 3);
    compiled c = compile_good(text);
    loom_value *left = value_of(&c, "left"), *right = value_of(&c, "right");
    if (!same_value(left, right)) loom_test_fail(DOCUMENT, 1, "not equal: %.*s", (int)length, line);
    loom_value_unref(left);
    loom_value_unref(right);
    compiled_free(&c);
    free(text);
}

static unsigned check_block(const char *block, size_t length) {
    unsigned equations = 0;
    for (const char *line = block, *end = block + length; line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        size_t n = (size_t)((next ? next : end) - line);
        const char *arrow = memmem(line, n, "-->", 3);
        if (arrow) {
            check_equation(line, n, arrow);
            equations++;
        }
        line = next ? next + 1 : end;
    }
    if (equations) return equations;
    char *text = loom_xprintf("%.*s", (int)length, block);
    compiled c = compile_good(text);
    compiled_free(&c);
    free(text);
    return 1;
}

LOOM_TEST(syntax_document, says_what_is_true) {
    char *text;
    size_t length;
    LOOM_OK(loom_file_read(DOCUMENT, 1 << 22, &text, &length));
    unsigned checked = 0;
    for (const char *at = text; (at = strstr(at, "```weft\n"));) {
        at += strlen("```weft\n");
        const char *end = strstr(at, "```\n");
        LOOM_CHECK(end);
        checked += check_block(at, (size_t)(end - at));
        at = end;
    }
    LOOM_CHECK(checked > 100);
    free(text);
}

/* Every operation of the language has its place in the document. */
LOOM_TEST(syntax_document, names_every_operation) {
    static const char *const undocumented[] = {
        "map1",       "map4",         "map5",         "zip2",        "zip4",         "zip5",
        "unzip2",     "unzip3",       "unzip4",       "unzip5",      "tabulate_3d",  "scatter_2d",
        "scatter_3d", "convert_like", "assert_range", "assert_step", "assert_update"}; /* of the prelude */
    char *text;
    size_t length;
    LOOM_OK(loom_file_read(DOCUMENT, 1 << 22, &text, &length));
    for (int i = 0; loom_syn_builtin(i); i++) {
        const char *name = loom_syn_builtin(i)->name;
        bool alias = false;
        for (size_t k = 0; k < sizeof undocumented / sizeof *undocumented; k++)
            alias = alias || strcmp(name, undocumented[k]) == 0;
        if (!alias && !strstr(text, name)) loom_test_fail(DOCUMENT, 1, "says nothing of `%s`", name);
    }
    free(text);
}
