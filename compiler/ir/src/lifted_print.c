/* Text form of lifted IR, for people (`explain --stage lifted`) and tests; it is not read back.
 *
 *     v0: f32 [chunk] = column 0.0 xs
 *     o0: reduce i0 over [i0: chunk] -> v1: f32 []
 *       e0: i64 = axis i0
 *       e1: f32 = load v0[e0]
 *       -> e1
 *      start
 *       e2: f32 = const 0
 *       -> e2
 *      combine (p0: f32, p1: f32)
 *       ...
 */
#include "compiler/ir/lifted.h"
#include "print.h"
#include <inttypes.h>

typedef struct printer {
    const loom_lifted *l;
    FILE *to;
    loom_arena *scratch;
} printer;

static void indent(const printer *w, uint32_t depth) {
    for (uint32_t i = 0; i < depth; i++) fputs("  ", w->to);
}

static void print_axis(const printer *w, loom_axis_id id) {
    const loom_axis *a = &w->l->axes[id];
    switch (a->kind) {
    case LOOM_AXIS_CHUNK: fputs("chunk", w->to); break;
    case LOOM_AXIS_CONST: fprintf(w->to, "%" PRId64, a->extent); break;
    case LOOM_AXIS_INPUT: fprintf(w->to, "v%" PRIu32 ".%" PRIu32, a->value, a->level); break;
    case LOOM_AXIS_SCALAR: fprintf(w->to, "v%" PRIu32, a->value); break;
    case LOOM_AXIS_SEGMENTED: fprintf(w->to, "lengths v%" PRIu32, a->lengths); break;
    }
    if (a->tested) fputs(" tested", w->to);
}

static void print_axes(const printer *w, const loom_axis_id *axes, uint32_t n, bool named) {
    fputc('[', w->to);
    for (uint32_t i = 0; i < n; i++) {
        if (i) fputs(", ", w->to);
        if (named) fprintf(w->to, "i%" PRIu32 ": ", i);
        print_axis(w, axes[i]);
    }
    fputc(']', w->to);
}

static void print_value(const printer *w, loom_lvalue_id id) {
    const loom_lvalue *v = &w->l->values[id];
    fprintf(w->to, "v%" PRIu32 ": %s ", id, loom_dtype_name(v->dtype));
    print_axes(w, v->axes, v->n_axes, false);
    if (v->strip) fputs(" strip", w->to);
}

static void print_values(const printer *w, const loom_lvalue_id *ids, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (i) fputs(", ", w->to);
        print_value(w, ids[i]);
    }
}

static void print_ids(const printer *w, char letter, const uint32_t *ids, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) fprintf(w->to, "%s%c%" PRIu32, i ? ", " : "", letter, ids[i]);
}

static void print_block(const printer *w, loom_lblock_id id, uint32_t depth);

static void print_params(const printer *w, loom_lblock_id id) {
    const loom_lblock *b = &w->l->blocks[id];
    if (!b->n_params) return;
    fputs(" (", w->to);
    for (uint32_t i = 0; i < b->n_params; i++) {
        fprintf(w->to, "%sp%" PRIu32 ": %s", i ? ", " : "", i, loom_dtype_name(b->params[i]));
    }
    fputc(')', w->to);
}

static void print_inner(const printer *w, const char *title, loom_lblock_id id, uint32_t depth) {
    indent(w, depth);
    fputs(title, w->to);
    print_params(w, id);
    fputc('\n', w->to);
    print_block(w, id, depth + 1);
}

static void print_load(const printer *w, const loom_lexpr *e) {
    uint32_t n = w->l->values[e->aux].n_axes;
    fprintf(w->to, "load v%" PRIu32 "[", e->aux);
    print_ids(w, 'e', n ? &w->l->args[e->first_arg] : NULL, n);
    fputc(']', w->to);
    if (e->mode == LOOM_LOAD_CHECKED) fputs(" checked", w->to);
    if (e->mode == LOOM_LOAD_DEFAULT) fprintf(w->to, " default e%" PRIu32, loom_lifted_arg(w->l, e, n));
}

static void print_expr_head(const printer *w, const loom_lexpr *e) {
    const uint32_t *args = e->n_args ? &w->l->args[e->first_arg] : NULL;
    switch ((loom_lexpr_kind)e->kind) {
    case LOOM_LX_CONST:
        fputs("const ", w->to);
        loom_print_scalar(w->to, e->dtype, e->imm);
        return;
    case LOOM_LX_AXIS: fprintf(w->to, "axis i%" PRIu32, e->aux); return;
    case LOOM_LX_PARAM: fprintf(w->to, "param p%" PRIu32, e->aux); return;
    case LOOM_LX_EXTENT:
        fputs("extent ", w->to);
        print_axis(w, e->aux);
        return;
    case LOOM_LX_LOAD: print_load(w, e); return;
    case LOOM_LX_PRIM: fprintf(w->to, "%s ", loom_prim_table[e->prim].name); break;
    case LOOM_LX_CONVERT: fputs("convert ", w->to); break;
    case LOOM_LX_IF: fputs("if ", w->to); break;
    case LOOM_LX_FOR: fputs(e->mode == LOOM_FOR_FOLD ? "fold " : "for ", w->to); break;
    case LOOM_LX_WHILE: fputs("while ", w->to); break;
    case LOOM_LX_RESULT: fprintf(w->to, "result %" PRIu32 " of ", e->aux); break;
    case LOOM_LX_CHECK: fputs("check ", w->to); break;
    }
    print_ids(w, 'e', args, e->n_args);
}

static void print_expr(const printer *w, loom_lexpr_id id, uint32_t depth) {
    const loom_lexpr *e = &w->l->exprs[id];
    indent(w, depth);
    fprintf(w->to, "e%" PRIu32 ": %s = ", id, loom_dtype_name(e->dtype));
    print_expr_head(w, e);
    if (e->site != LOOM_NONE) fprintf(w->to, " site %" PRIu32, e->site);
    fputc('\n', w->to);
    switch (e->kind) {
    case LOOM_LX_IF:
        print_inner(w, "then", e->blocks[0], depth + 1);
        print_inner(w, "else", e->blocks[1], depth + 1);
        break;
    case LOOM_LX_FOR: print_inner(w, "do", e->blocks[0], depth + 1); break;
    case LOOM_LX_WHILE:
        print_inner(w, "test", e->blocks[0], depth + 1);
        print_inner(w, "do", e->blocks[1], depth + 1);
        break;
    default: break;
    }
}

/* Expressions of inner blocks lie in the block's range too; those are skipped here and printed under their user: a scan
 * from the end meets each user before its blocks. */
static void print_block(const printer *w, loom_lblock_id id, uint32_t depth) {
    const loom_lblock *b = &w->l->blocks[id];
    loom_lexpr_id *own = LOOM_NEW_ARRAY(w->scratch, loom_lexpr_id, (size_t)(b->end - b->first) + 1);
    uint32_t n = 0;
    for (loom_lexpr_id i = b->end; i > b->first;) {
        const loom_lexpr *e = &w->l->exprs[--i];
        own[n++] = i;
        if (e->kind == LOOM_LX_IF || e->kind == LOOM_LX_FOR || e->kind == LOOM_LX_WHILE) {
            i = w->l->blocks[e->blocks[0]].first;
        }
    }
    while (n--) print_expr(w, own[n], depth);
    indent(w, depth);
    fputs("-> ", w->to);
    print_ids(w, 'e', b->results, b->n_results);
    fputc('\n', w->to);
}

static void print_ops(printer *w, loom_lop_id first, loom_lop_id end, uint32_t depth);

static void print_op_head(const printer *w, const loom_lop *o) {
    static const char *const names[] = {"compute", "reduce", "scan",  "permute", "fft",
                                        "loop",    "if",     "check", "offsets", "sort"};
    static const char *const scans[] = {"inclusive", "exclusive", "right", "total"};
    fputs(names[o->kind], w->to);
    if (o->kind == LOOM_LO_SCAN) fprintf(w->to, " %s", scans[o->scan]);
    if (o->kind == LOOM_LO_REDUCE || o->kind == LOOM_LO_SCAN) fprintf(w->to, " i%" PRIu32, o->reduce);
    if (o->kind == LOOM_LO_FFT) fprintf(w->to, "%s rank %" PRIu32, o->inverse ? " inverse" : "", o->fft_rank);
    if (o->n_args) {
        fputc(' ', w->to);
        print_ids(w, 'v', o->args, o->n_args);
    }
    if (o->kind != LOOM_LO_LOOP && o->kind != LOOM_LO_IF) {
        fputs(" over ", w->to);
        print_axes(w, o->axes, o->n_axes, true);
    }
    if (o->n_results) {
        fputs(" -> ", w->to);
        print_values(w, o->results, o->n_results);
    }
    if (o->blank) fputs(" blank", w->to);
    if (o->dense) fputs(" dense", w->to);
    if (o->sliced) {
        fprintf(w->to, " slice v%" PRIu32 " of ", o->into);
        print_ids(w, 'v', o->dest, o->n_results);
    }
}

static void print_permute(const printer *w, const loom_lop *o, uint32_t depth) {
    indent(w, depth);
    if (o->output != LOOM_NONE) {
        fprintf(w->to, "into output %" PRIu32, o->output);
    } else {
        fputs("onto ", w->to);
        print_ids(w, 'v', o->dest, o->n_results);
    }
    if (o->distinct) fputs(" distinct", w->to);
    if (o->covers) fputs(" covers", w->to);
    if (o->n_apart) fprintf(w->to, " apart %" PRIu32, o->n_apart);
    fprintf(w->to, " rank %" PRIu32 " context %" PRIu32 " target ", o->rank, o->n_context);
    print_axes(w, o->target_axes, o->n_target_axes, false);
    if (o->builtin != LOOM_PRIM_COUNT) fprintf(w->to, " by %s", loom_prim_table[o->builtin].name);
    fputc('\n', w->to);
}

static void print_loop(printer *w, const loom_lop *o, uint32_t depth) {
    for (uint32_t i = 0; i < o->n_states; i++) {
        indent(w, depth);
        fputs("state ", w->to);
        print_value(w, o->state[i]);
        fprintf(w->to, " from v%" PRIu32 " next v%" PRIu32 "\n", o->initial[i], o->next[i]);
    }
    if (o->n_collected) {
        indent(w, depth);
        fputs("collects ", w->to);
        print_ids(w, 'v', o->collected, o->n_collected);
        fputc('\n', w->to);
    }
    if (o->counter != LOOM_NONE) {
        indent(w, depth);
        fprintf(w->to, "counter v%" PRIu32 "\n", o->counter);
    }
    if (o->test != LOOM_NONE) {
        indent(w, depth);
        fprintf(w->to, "while v%" PRIu32 "\n", o->test);
    }
    print_ops(w, o->inner_first, o->inner_end, depth);
}

static void print_branches(printer *w, const loom_lop *o, uint32_t depth) {
    indent(w, depth);
    fputs("then ", w->to);
    print_ids(w, 'v', o->then_results, o->n_results);
    fputc('\n', w->to);
    print_ops(w, o->inner_first, o->inner_end, depth + 1);
    indent(w, depth);
    fputs("else ", w->to);
    print_ids(w, 'v', o->else_results, o->n_results);
    fputc('\n', w->to);
    print_ops(w, o->else_first, o->else_end, depth + 1);
}

static void print_op(printer *w, loom_lop_id id, uint32_t depth) {
    const loom_lop *o = &w->l->ops[id];
    indent(w, depth);
    fprintf(w->to, "o%" PRIu32 ": ", id);
    print_op_head(w, o);
    if (o->span.line) fprintf(w->to, "    -- %" PRIu32 ":%" PRIu32, o->span.line, o->span.column);
    fputc('\n', w->to);
    if (o->kind == LOOM_LO_PERMUTE) print_permute(w, o, depth + 1);
    if (o->kind == LOOM_LO_LOOP) print_loop(w, o, depth + 1);
    if (o->kind == LOOM_LO_IF) print_branches(w, o, depth + 1);
    if (o->body != LOOM_NONE) print_block(w, o->body, depth + 1);
    if (o->ne != LOOM_NONE) print_inner(w, "start", o->ne, depth + 1);
    if (o->combine != LOOM_NONE) print_inner(w, "combine", o->combine, depth + 1);
}

static void print_ops(printer *w, loom_lop_id first, loom_lop_id end, uint32_t depth) {
    loom_lop_id *own = LOOM_NEW_ARRAY(w->scratch, loom_lop_id, (size_t)(end - first) + 1);
    uint32_t n = 0;
    for (loom_lop_id i = end; i > first;) {
        const loom_lop *o = &w->l->ops[--i];
        own[n++] = i;
        if (o->kind == LOOM_LO_LOOP || o->kind == LOOM_LO_IF) i = o->inner_first;
    }
    while (n--) print_op(w, own[n], depth);
}

static void print_sources(const printer *w) {
    static const char *const names[] = {"input", "column", "constant", "first"};
    for (uint32_t i = 0; i < w->l->n_values; i++) {
        const loom_lvalue *v = &w->l->values[i];
        if (v->source >= LOOM_LV_OP) continue;
        print_value(w, i);
        fprintf(w->to, " = %s", names[v->source]);
        if (v->source != LOOM_LV_FIRST) fprintf(w->to, " %" PRIu32 ".%" PRIu32, v->index, v->leaf);
        if (v->name && *v->name) fprintf(w->to, " %s", v->name);
        if (v->lengths_of) fprintf(w->to, ", lengths of level %" PRIu32, v->lengths_of);
        fputc('\n', w->to);
    }
}

static void print_outputs(const printer *w) {
    static const char *const kinds[] = {"fold", "permute", "reduce", "collect", "stream", "value"};
    for (uint32_t i = 0; i < w->l->n_outputs; i++) {
        const loom_loutput *o = &w->l->outputs[i];
        fprintf(w->to, "output %" PRIu32 ": %s", i, kinds[o->kind]);
        if (o->kind == 1) {
            fputc(' ', w->to);
            print_axes(w, o->axes, o->n_axes, false);
        } else {
            fputc(' ', w->to);
            print_ids(w, 'v', o->values, o->n_leaves);
        }
        fputc('\n', w->to);
        if (o->combine != LOOM_NONE) print_inner(w, "merge", o->combine, 1);
    }
}

static void print_regions(const printer *w) {
    for (uint32_t i = 0; i < w->l->n_regions; i++) {
        const loom_region *r = &w->l->regions[i];
        fprintf(w->to, "region o%" PRIu32 "..o%" PRIu32 " %s", r->first, r->end,
                r->schedule == LOOM_SCHEDULE_STRIP ? "strip" : "flat");
        if (r->schedule == LOOM_SCHEDULE_STRIP) fprintf(w->to, " of %" PRId64, r->strip);
        fputs(r->per_chunk ? "\n" : " (once)\n", w->to);
    }
}

void loom_lifted_print(const loom_lifted *l, FILE *to) {
    printer w = {.l = l, .to = to, .scratch = loom_arena_create(0)};
    print_sources(&w);
    print_ops(&w, 0, l->n_ops, 0);
    print_outputs(&w);
    print_regions(&w);
    loom_arena_destroy(w.scratch);
}
