/* An account as a page of HTML. Whatever comes from the program, its names and its files is escaped. */
#include "flat.h"
#include "losses.h"
#include <inttypes.h>
#include <string.h>

static const char head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";
static const char style[] =
    "<style>\nbody { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222; }\n"
    "h1 { font-size: 1.4em; } h2 { font-size: 1.15em; margin-top: 2em; }\n"
    "table { border-collapse: collapse; font-size: 13px; }\n"
    "th, td { padding: 1px 9px; text-align: left; border-bottom: 1px solid #e4e4e4; }\n"
    "td.n { text-align: right; } td.w { font-family: monospace; white-space: pre; }\n"
    "div.text { overflow-x: auto; border: 1px solid #ddd; padding: .5em 0; }\n"
    "div.text a, div.text span { display: block; font: 13px/1.5 monospace; white-space: pre; padding: 0 .8em; }\n"
    "i { color: #999; font-style: normal; user-select: none; }\n"
    ".avoided { background: #eef3fb; } .regular { background: #eaf6ea; } .irregular { background: #fbe5e1; }\n"
    "p.why { margin: 0 0 0 4em; font-size: 13px; color: #a33; }\n"
    "li { margin: .2em 0; }\n</style>\n";

/* ---- text ---- */

static void put_bytes(const char *text, size_t n, FILE *to) {
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        switch (c) {
        case '&': fputs("&amp;", to); break;
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '"': fputs("&quot;", to); break;
        case '\'': fputs("&#39;", to); break;
        default:
            /* Control characters have no place in a page. */
            if (c >= ' ' || c == '\t') fputc(c, to);
            break;
        }
    }
}

static void put(const char *text, FILE *to) {
    put_bytes(text, strlen(text), to);
}

static void put_place(const loom_account *a, loom_span span, FILE *to) {
    if (!span.line || span.file >= a->program->n_files) return;
    fprintf(to, "<a href=\"#f%" PRIu32 "l%" PRIu32 "\">", span.file, span.line);
    if (a->program->n_files > 1) {
        put(a->program->files[span.file].name, to);
        fputc(':', to);
    }
    fprintf(to, "%" PRIu32 ":%" PRIu32 "</a>", span.line, span.column);
}

/* ---- the program with its lines marked ---- */

/* What is said of a line. */
typedef struct line_mark {
    uint8_t worst; /* 0: nothing of it is left; else 1 + loom_shape_rep */
    uint32_t loss; /* 1 + the first of the losses there */
} line_mark;

typedef struct marks {
    loom_arena *arena;
    const loom_account *a;
    uint32_t file;
    size_t n_lines;
    line_mark *lines; /* from 1 */
    LOOM_VEC(explain_loss) losses;
    LOOM_VEC(uint32_t) next; /* of each loss: 1 + the next one on its line */
} marks;

static size_t count_lines(const loom_source_file *f) {
    size_t n = 1;
    for (size_t i = 0; i < f->length; i++) n += f->text[i] == '\n';
    return n;
}

static line_mark *line_at(const marks *m, loom_node_id id) {
    loom_span span = m->a->program->nodes[id].span;
    bool here = span.file == m->file && span.line > 0 && span.line <= m->n_lines;
    return here ? &m->lines[span.line] : NULL;
}

static void mark_loss(marks *m, const explain_loss *loss) {
    line_mark *line = line_at(m, loss->reason.node);
    if (!line) return;
    for (uint32_t i = line->loss; i; i = m->next.at[i - 1]) {
        if (strcmp(m->losses.at[i - 1].reason.rule, loss->reason.rule) == 0) return;
    }
    LOOM_PUSH(m->arena, m->losses, *loss);
    LOOM_PUSH(m->arena, m->next, line->loss);
    line->loss = (uint32_t)m->losses.count;
}

static marks mark_lines(loom_arena *arena, const loom_account *a, uint32_t file) {
    marks m = {.arena = arena, .a = a, .file = file, .n_lines = count_lines(&a->program->files[file])};
    m.lines = LOOM_NEW_ARRAY(arena, line_mark, m.n_lines + 1);
    for (uint32_t s = 0; s < a->n_stages; s++) {
        explain_loss *losses;
        uint32_t n = explain_losses(arena, a, &a->stages[s], &losses);
        for (uint32_t i = 0; i < n; i++) mark_loss(&m, &losses[i]);
        for (uint32_t i = 0; i < a->stages[s].n_nodes; i++) {
            const loom_account_node *node = &a->stages[s].nodes[i];
            line_mark *line = line_at(&m, node->node);
            uint8_t rep = (uint8_t)(1 + node->regularity);
            if (line && rep > line->worst) line->worst = rep;
        }
    }
    return m;
}

static void put_line(const marks *m, size_t number, const char *text, size_t length, FILE *to) {
    const line_mark *line = &m->lines[number];
    fprintf(to, "<span id=\"f%" PRIu32 "l%zu\" class=\"%s\"><i>%5zu  </i>", m->file, number,
            line->worst ? explain_regularities[line->worst - 1] : "", number);
    put_bytes(text, length, to);
    fputs("</span>", to);
    for (uint32_t i = line->loss; i; i = m->next.at[i - 1]) {
        fprintf(to, "<p class=\"why\">[%s] %s</p>", m->losses.at[i - 1].reason.rule, m->losses.at[i - 1].reason.text);
    }
    fputc('\n', to);
}

static void put_file(loom_arena *arena, const loom_account *a, uint32_t file, FILE *to) {
    const loom_source_file *f = &a->program->files[file];
    marks m = mark_lines(arena, a, file);
    fputs("<h2>", to);
    put(f->name, to);
    fputs("</h2>\n<div class=\"text\">\n", to);
    const char *at = f->text, *end = f->text + f->length;
    for (size_t number = 1; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        put_line(&m, number, at, length, to);
        at += length + (stop ? 1 : 0);
    }
    fputs("</div>\n", to);
}

/* ---- tables ---- */

static void put_node(const loom_account *a, const loom_account_node *n, FILE *to) {
    fprintf(to, "<tr class=\"%s\"><td class=\"w\">%*s%%%" PRIu32 " ", explain_regularities[n->regularity],
            (int)(2 * n->indent), "", n->node);
    put(n->what, to);
    fputs("</td><td class=\"w\">", to);
    put(n->shape, to);
    fprintf(to, "</td><td>%s</td><td>%s</td><td class=\"n\">%" PRIu32 "</td><td class=\"n\">",
            explain_regularities[n->regularity], n->kept, n->level);
    if (n->steps) fprintf(to, "%" PRIu64, n->steps);
    fprintf(to, "</td><td class=\"n\">%.6g</td><td class=\"n\">%.6g</td><td>", n->bytes, n->flops);
    put_place(a, a->program->nodes[n->node].span, to);
    fputs("</td><td>", to);
    if (n->irregular) fprintf(to, "[%s] %%%" PRIu32 " ", n->reason.rule, n->reason.node);
    if (n->differs) fprintf(to, "[%s] %s", n->chooser.rule, n->chooser.text);
    fputs("</td></tr>\n", to);
}

static void put_losses(loom_arena *arena, const loom_account *a, const loom_account_stage *s, FILE *to) {
    explain_loss *losses;
    uint32_t n = explain_losses(arena, a, s, &losses);
    if (!n) return;
    fputs("<p>Not regular, because of</p>\n<ul>\n", to);
    for (uint32_t i = 0; i < n; i++) {
        const loom_shape_reason *r = &losses[i].reason;
        fputs("<li>", to);
        put_place(a, a->program->nodes[r->node].span, to);
        fprintf(to, " [%s] %%%" PRIu32 " ", r->rule, r->node);
        put(losses[i].input, to);
        fprintf(to, ": %s", r->text);
        if (losses[i].values) fprintf(to, " (%" PRIu32 " value%s)", losses[i].values, losses[i].values == 1 ? "" : "s");
        if (losses[i].tested) fputs("; tested at run time", to);
        fputs("</li>\n", to);
    }
    fputs("</ul>\n", to);
}

static void put_stage(loom_arena *arena, const loom_account *a, uint32_t index, FILE *to) {
    const loom_account_stage *s = &a->stages[index];
    fprintf(to, "<h2>Stage %" PRIu32 ": ", index);
    put(s->label, to);
    fputs("</h2>\n<p>", to);
    if (s->remark) {
        fputs("Interpreted: ", to);
        put(s->remark, to);
    } else {
        fprintf(to, "%" PRIu64 " step%s; %s: %.6g bytes kept, %.6g flops.", s->steps, s->steps == 1 ? "" : "s",
                s->per_element ? "for each element of the stream" : "in all", s->bytes, s->flops);
    }
    fputs("</p>\n", to);
    put_losses(arena, a, s, to);
    fputs("<table><tr><th>node</th><th>shape</th><th>value</th><th>kept</th><th>level</th><th>steps</th><th>bytes</th>"
          "<th>flops</th><th>line</th><th>why</th></tr>\n",
          to);
    for (uint32_t i = 0; i < s->n_nodes; i++) put_node(a, &s->nodes[i], to);
    fputs("</table>\n", to);
}

static void put_steps(const loom_steps *steps, int64_t extent, FILE *to) {
    fprintf(to,
            "<h2>Steps</h2>\n<p>Of the flat schedule, arrays of %" PRId64
            "; loop bodies once, of conditionals the longer branch.</p>\n<table>\n",
            extent);
    for (int i = 0; i < LOOM_LIFTS; i++) {
        fprintf(to, "<tr><td>%s</td><td>", loom_lift_names[i]);
        if (steps[i].remark) {
            fputs("interpreted: ", to);
            put(steps[i].remark, to);
        } else {
            fprintf(to, "%" PRIu64, steps[i].steps);
            if (steps[i].avoided) fprintf(to, ", %" PRIu64 " of them once for all elements", steps[i].avoided);
        }
        fputs("</td></tr>\n", to);
    }
    fputs("</table>\n", to);
}

static void put_page(loom_arena *arena, const loom_account *a, const loom_steps *steps, FILE *to) {
    fputs(head, to);
    fputs("<title>", to);
    put(a->entry, to);
    fputs(", explained</title>\n", to);
    fputs(style, to);
    fputs("</head><body>\n<h1>entry ", to);
    put(a->entry, to);
    fprintf(to,
            "</h1>\n<p>Extents that are not known are taken as %" PRId64
            "; rows of inputs %s. <b class=\"avoided\">Avoided</b>: one value for all elements. <b "
            "class=\"regular\">Regular</b>: one extent for all. <b class=\"irregular\">Irregular</b>: extents "
            "differ.</p>\n",
            a->sizes.extent, a->sizes.irregular ? "differ in length" : "have one length");
    for (uint32_t i = 0; i < a->n_remarks; i++) {
        fputs("<p>Remark: ", to);
        put(a->remarks[i], to);
        fputs("</p>\n", to);
    }
    for (uint32_t f = 0; f < a->program->n_files; f++) put_file(arena, a, f, to);
    put_steps(steps, a->sizes.extent, to);
    for (uint32_t s = 0; s < a->n_stages; s++) put_stage(arena, a, s, to);
    fputs("</body></html>\n", to);
}

loom_status *loom_account_page(loom_arena *arena, const loom_program *program, const char *entry,
                               const loom_lifting_sizes *sizes, FILE *to) {
    loom_account *account;
    loom_steps steps[LOOM_LIFTS];
    LOOM_TRY(loom_account_make(arena, program, entry, sizes, &account));
    for (int i = 0; i < LOOM_LIFTS; i++) {
        LOOM_TRY(loom_steps_count(arena, program, entry, (loom_lift)i, sizes->extent, &steps[i]));
    }
    put_page(arena, account, steps, to);
    return NULL;
}
