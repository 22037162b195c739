/* An account as text. */
#include "losses.h"
#include <inttypes.h>
#include <string.h>

/* Three digits are enough to see what is large: 12, 3.4k, 1.2M. */
static const char *number(double x, char text[16]) {
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t unit = 0;
    while (x >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        x /= 1000;
        unit++;
    }
    snprintf(text, 16, unit && x < 99.5 ? "%.1f%s" : "%.0f%s", x, units[unit]);
    return text;
}

static void print_place(const loom_account *a, loom_span span, FILE *to) {
    if (!span.line) {
        fputs("-", to);
    } else if (a->program->n_files > 1 && span.file < a->program->n_files) {
        fprintf(to, "%s:%" PRIu32 ":%" PRIu32, a->program->files[span.file].name, span.line, span.column);
    } else {
        fprintf(to, "%" PRIu32 ":%" PRIu32, span.line, span.column);
    }
}

/* Characters of the longest text of a column, for its width; very long shapes do not push the others away. */
#define WIDEST 40

static int width_of(const loom_account_stage *s, bool shapes) {
    size_t width = 5;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        const loom_account_node *n = &s->nodes[i];
        size_t length = shapes ? strlen(n->shape) : 2 * (size_t)n->indent + strlen(n->what) + 9;
        if (length > width && length <= WIDEST) width = length;
    }
    return (int)width;
}

static void print_node(const loom_account *a, const loom_account_node *n, int names, int shapes, FILE *to) {
    char bytes[16], flops[16], steps[24] = "";
    int left = fprintf(to, "%*s%%%" PRIu32 " %s", (int)(2 * n->indent), "", n->node, n->what);
    if (n->steps) snprintf(steps, sizeof steps, "%" PRIu64, n->steps);
    fprintf(to, "%*s  %-*s  %-9s  %-9s  %5" PRIu32 "  %5s  %6s  %6s  ", left < names ? names - left : 0, "", shapes,
            n->shape, explain_regularities[n->regularity], *n->kept ? n->kept : "-", n->level, steps,
            number(n->bytes, bytes), n->flops > 0 ? number(n->flops, flops) : "");
    print_place(a, a->program->nodes[n->node].span, to);
    if (n->differs) fprintf(to, "  %s differ", strcmp(n->what, "if") == 0 ? "branches" : "turns");
    fputc('\n', to);
}

static void print_losses(const loom_account *a, const loom_account_stage *s, FILE *to) {
    loom_arena *arena = loom_arena_create(0);
    explain_loss *losses;
    uint32_t n = explain_losses(arena, a, s, &losses);
    if (n) fputs("  not regular, because of\n", to);
    for (uint32_t i = 0; i < n; i++) {
        const loom_shape_reason *r = &losses[i].reason;
        fputs("    ", to);
        print_place(a, a->program->nodes[r->node].span, to);
        fprintf(to, ": [%s] %%%" PRIu32 "%s%s: %s", r->rule, r->node, *losses[i].input ? " " : "", losses[i].input,
                r->text);
        if (losses[i].values) fprintf(to, " (%" PRIu32 " value%s)", losses[i].values, losses[i].values == 1 ? "" : "s");
        if (losses[i].tested) fputs("; tested at run time", to);
        fputc('\n', to);
    }
    loom_arena_destroy(arena);
}

static void print_stage(const loom_account *a, uint32_t index, FILE *to) {
    const loom_account_stage *s = &a->stages[index];
    char bytes[16], flops[16];
    fprintf(to, "stage %" PRIu32 ": %s\n", index, s->label);
    if (s->remark) {
        fprintf(to, "  interpreted: %s\n", s->remark);
    } else {
        fprintf(to, "  %" PRIu64 " step%s; %s: %s bytes kept, %s flops\n", s->steps, s->steps == 1 ? "" : "s",
                s->per_element ? "for each element" : "in all", number(s->bytes, bytes), number(s->flops, flops));
    }
    if (s->tested) {
        fprintf(to,
                "  rows are tested at run time; where they have one length, %" PRIu32 " step%s over rows that differ\n",
                s->untested, s->untested == 1 ? "" : "s");
    }
    if (s->not_tested) fprintf(to, "  %s\n", s->not_tested);
    int names = width_of(s, false), shapes = width_of(s, true);
    fprintf(to, "%-*s  %-*s  %-9s  %-9s  %5s  %5s  %6s  %6s  %s\n", names, "node", shapes, "shape", "value", "kept",
            "level", "steps", "bytes", "flops", "line");
    for (uint32_t i = 0; i < s->n_nodes; i++) print_node(a, &s->nodes[i], names, shapes, to);
    print_losses(a, s, to);
}

void loom_account_print(const loom_account *a, FILE *to) {
    fprintf(to, "entry %s, arrays of %" PRId64 ", %s\n", a->entry, a->sizes.extent,
            a->sizes.irregular ? "rows of inputs differ in length" : "rows of inputs have one length");
    for (uint32_t s = 0; s < a->n_stages; s++) print_stage(a, s, to);
    for (uint32_t i = 0; i < a->n_remarks; i++) fprintf(to, "remark: %s\n", a->remarks[i]);
}
