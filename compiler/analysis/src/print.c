/* Text of shapes. */
#include "common/buffer.h"
#include "compiler/ir/prim.h"
#include "shapes.h"
#include <stdlib.h>

static void print_desc(const loom_shapes *s, desc_id id, loom_buffer *to) {
    const desc *d = &s->descs[id];
    switch (d->kind) {
    case DESC_CONST: loom_buffer_printf(to, "%" PRId64, d->a); return;
    case DESC_NODE: loom_buffer_printf(to, "%%%" PRId64, d->a); return;
    case DESC_INPUT: loom_buffer_printf(to, "%%%" PRId64, d->a); return;
    case DESC_LABEL: loom_buffer_printf(to, "?%" PRId64, d->a); return;
    case DESC_TOKEN: loom_buffer_printf(to, "%%%" PRId64, d->a); return;
    case DESC_AT: break;
    }
    print_desc(s, (desc_id)d->a, to);
    if (s->descs[d->b].kind != DESC_TOKEN || d->c == 0) {
        loom_buffer_text(to, "@");
        print_desc(s, (desc_id)d->b, to);
    }
}

static void print_leaf(const loom_shapes *s, const aleaf *x, loom_buffer *to) {
    for (uint32_t k = 0; k < x->depth; k++) {
        loom_buffer_text(to, "[");
        print_desc(s, x->dims[k].desc, to);
        loom_buffer_text(to, x->dims[k].own ? "*]" : "]");
    }
    loom_buffer_text(to, loom_dtype_name(x->dtype));
}

static const char *value_text(const loom_shapes *s, const aval *x) {
    loom_buffer text = {0};
    if (x->n != 1) loom_buffer_text(&text, "(");
    for (uint32_t i = 0; i < x->n; i++) {
        if (i) loom_buffer_text(&text, ", ");
        print_leaf(s, &x->at[i], &text);
    }
    if (x->n != 1) loom_buffer_text(&text, ")");
    const char *copy = loom_arena_strdup(s->arena, text.data);
    loom_buffer_free(&text);
    return copy;
}

const char *loom_shapes_text(const loom_shapes *s, loom_node_id node) {
    return value_text(s, &s->of_node[node]);
}

static void print_node(const loom_shapes *s, loom_node_id id, FILE *to) {
    static const char *const reps[] = {"avoided", "regular", "irregular"};
    const loom_node *n = &s->p->nodes[id];
    for (uint32_t i = 0; i <= s->depth_of[id]; i++) fputs("  ", to);
    const char *op = n->op == LOOM_OP_PRIM ? loom_prim_table[n->prim].name : loom_op_table[n->op].name;
    fprintf(to, "%%%" PRIu32 ": %s  %s  %s", id, op, loom_shapes_text(s, id), reps[loom_shapes_rep(s, id)]);
    if (n->op == LOOM_OP_LOOP_FOR || n->op == LOOM_OP_LOOP_WHILE) {
        fputs(s->differs[id] ? ", turns differ" : ", uniform", to);
    }
    if (n->op == LOOM_OP_IF) fputs(s->differs[id] ? ", branches differ" : ", uniform", to);
    if (n->span.line) fprintf(to, "    -- %" PRIu32 ":%" PRIu32, n->span.line, n->span.column);
    fputc('\n', to);
}

void loom_shapes_print(const loom_shapes *s, FILE *to) {
    const loom_function *f = &s->p->functions[s->function];
    const loom_body *b = &s->p->bodies[f->body];
    fprintf(to, "%s %s -> %s\n", f->entry ? "entry" : "def", f->name, loom_shapes_text(s, b->result));
    for (loom_node_id id = b->first; id < b->end; id++) print_node(s, id, to);
}
