/* Evaluating blocks of expressions. */
#include "eval.h"

void leval_raise_site(eval *v, loom_lsite_id site, int64_t a, int64_t b) {
    if (v->error || v->idle) return;
    if (site >= v->l->n_sites) {
        v->error = loom_error(LOOM_E_RUNTIME, "an error without a place");
        return;
    }
    const loom_lsite *s = &v->l->sites[site];
    loom_buffer text = {0};
    for (const char *c = s->format; *c; c++) {
        if (strncmp(c, "{a}", 3) == 0 || strncmp(c, "{b}", 3) == 0) {
            loom_buffer_printf(&text, "%" PRId64, c[1] == 'a' ? a : b);
            c += 2;
        } else {
            loom_buffer_append(&text, c, 1);
        }
    }
    const loom_program *p = v->l->program;
    const char *file = p && s->span.file < p->n_files ? p->files[s->span.file].name : NULL;
    v->error = file ? loom_error_at(LOOM_E_RUNTIME, file, s->span, "%s", text.data)
                    : loom_error(LOOM_E_RUNTIME, "%s", text.data);
    loom_buffer_free(&text);
}

static const block_list *list_of(eval *v, loom_lblock_id id) {
    block_list *list = &v->blocks[id];
    if (list->own) return list;
    const loom_lblock *b = &v->l->blocks[id];
    uint32_t n = 0, room = b->end - b->first;
    loom_lexpr_id *reversed = LOOM_NEW_ARRAY(v->arena, loom_lexpr_id, (size_t)room + 1);
    for (loom_lexpr_id i = b->end; i > b->first;) {
        const loom_lexpr *e = &v->l->exprs[--i];
        reversed[n++] = i;
        if (e->kind == LOOM_LX_IF || e->kind == LOOM_LX_FOR || e->kind == LOOM_LX_WHILE)
            i = v->l->blocks[e->blocks[0]].first;
    }
    list->own = LOOM_NEW_ARRAY(v->arena, loom_lexpr_id, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) list->own[i] = reversed[n - 1 - i];
    list->n = n;
    return list;
}

static loom_scalar arg(const eval *v, const loom_lexpr *e, uint32_t i) {
    return v->exprs[loom_lifted_arg(v->l, e, i)][0];
}

static loom_dtype arg_type(const eval *v, const loom_lexpr *e, uint32_t i) {
    return v->l->exprs[loom_lifted_arg(v->l, e, i)].dtype;
}

static loom_scalar load(eval *v, const loom_lexpr *e) {
    const loom_lvalue *value = &v->l->values[e->aux];
    const buffer *b = &v->values[e->aux];
    int64_t index[LOOM_LIFTED_MAX_AXES];
    for (uint32_t i = 0; i < value->n_axes; i++) index[i] = arg(v, e, i).i;
    bool inside = true;
    int64_t at = leval_offset_of(v, b, index, value->n_axes, &inside);
    if (!b->at && !v->defect) v->defect = loom_error(LOOM_E_INTERNAL, "value v%u is read before it is made", e->aux);
    if (inside && b->at) return b->at[at];
    if (e->mode == LOOM_LOAD_DEFAULT) return arg(v, e, value->n_axes);
    bool here = !v->idle || e->site == LOOM_NONE;
    if (e->mode == LOOM_LOAD_PROVEN && here && !v->defect && !v->error) {
        v->defect = loom_error(LOOM_E_INTERNAL, "a proven load of v%u is out of range", e->aux);
    }
    for (uint32_t i = 0; i < value->n_axes && e->mode == LOOM_LOAD_CHECKED; i++) {
        if (index[i] < 0 || index[i] >= b->extents[i]) leval_raise_site(v, e->site, index[i], b->extents[i]);
    }
    return (loom_scalar){.c = {0, 0}};
}

static loom_scalar primitive(eval *v, const loom_lexpr *e) {
    loom_dtype types[3];
    loom_scalar args[3], result = {.c = {0, 0}};
    for (uint32_t i = 0; i < e->n_args; i++) {
        types[i] = arg_type(v, e, i);
        args[i] = arg(v, e, i);
    }
    loom_status *s = loom_interp_prim(e->prim, types, args, &result);
    if (s) {
        loom_status_free(s);
        leval_raise_site(v, e->site, args[1].i, 0);
        return (loom_scalar){.c = {0, 0}};
    }
    return result;
}

static void take_results(eval *v, loom_lblock_id block, loom_scalar *to) {
    for (uint32_t i = 0; i < v->l->blocks[block].n_results; i++) to[i] = leval_block_result(v, block, i);
}

static void run_for(eval *v, const loom_lexpr *e, loom_scalar *state) {
    uint32_t n = e->n_args - 1;
    if (v->idle) return;
    loom_scalar *params = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)n + 1);
    int64_t count = arg(v, e, 0).i;
    for (uint32_t i = 0; i < n; i++) params[i + 1] = arg(v, e, i + 1);
    for (int64_t k = 0; k < count && !v->defect; k++) {
        params[0].i = k;
        leval_run_block(v, e->blocks[0], params);
        take_results(v, e->blocks[0], params + 1);
    }
    if (n) memcpy(state, params + 1, n * sizeof *state);
}

static void run_while(eval *v, const loom_lexpr *e, loom_scalar *state) {
    uint32_t n = e->n_args;
    if (v->idle) return;
    loom_scalar *params = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) params[i] = arg(v, e, i);
    for (;;) {
        leval_run_block(v, e->blocks[0], params);
        if (v->defect || v->error || !leval_block_result(v, e->blocks[0], 0).b) break;
        leval_run_block(v, e->blocks[1], params);
        take_results(v, e->blocks[1], params);
    }
    if (n) memcpy(state, params, n * sizeof *state);
}

/* A pass may move what stands in the block that is not taken, but for what has a site: its loads are in range. */
static void run_idle(eval *v, loom_lblock_id id) {
    v->idle++;
    leval_run_block(v, id, NULL);
    v->idle--;
}

static void run_expr(eval *v, loom_lexpr_id id, const loom_scalar *params) {
    const loom_lexpr *e = &v->l->exprs[id];
    uint32_t n = loom_lifted_results(v->l, e), side;
    loom_scalar *out = v->exprs[id];
    if (!out) out = v->exprs[id] = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)n + 1);
    switch ((loom_lexpr_kind)e->kind) {
    case LOOM_LX_CONST: out[0] = e->imm; break;
    case LOOM_LX_AXIS: out[0].i = v->point[e->aux]; break;
    case LOOM_LX_PARAM: out[0] = params[e->aux]; break;
    case LOOM_LX_EXTENT: out[0].i = leval_axis_extent(v, e->aux); break;
    case LOOM_LX_LOAD: out[0] = load(v, e); break;
    case LOOM_LX_PRIM: out[0] = primitive(v, e); break;
    case LOOM_LX_CONVERT:
        loom_status_free(loom_interp_convert(arg_type(v, e, 0), arg(v, e, 0), e->dtype, &out[0]));
        break;
    case LOOM_LX_IF:
        side = arg(v, e, 0).b ? 0 : 1;
        run_idle(v, e->blocks[1 - side]);
        leval_run_block(v, e->blocks[side], NULL);
        take_results(v, e->blocks[side], out);
        break;
    case LOOM_LX_FOR: run_for(v, e, out); break;
    case LOOM_LX_WHILE: run_while(v, e, out); break;
    case LOOM_LX_RESULT: out[0] = v->exprs[loom_lifted_arg(v->l, e, 0)][e->aux]; break;
    case LOOM_LX_CHECK:
        if (!arg(v, e, 0).b)
            leval_raise_site(v, e->site, e->n_args > 2 ? arg(v, e, 2).i : 0, e->n_args > 3 ? arg(v, e, 3).i : 0);
        out[0] = arg(v, e, 1);
        break;
    }
}

void leval_run_block(eval *v, loom_lblock_id id, const loom_scalar *params) {
    const block_list *list = list_of(v, id);
    for (uint32_t i = 0; i < list->n && !v->defect; i++) run_expr(v, list->own[i], params);
}

loom_scalar leval_block_result(const eval *v, loom_lblock_id id, uint32_t i) {
    loom_lexpr_id e = v->l->blocks[id].results[i];
    return v->exprs[e] ? v->exprs[e][0] : (loom_scalar){.c = {0, 0}};
}
