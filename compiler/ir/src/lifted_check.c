/* Checker of lifted IR: indices in range, types, scoping of expressions and values, axes of operations against those of
 * their values. Linear in the size of the IR. A failure is a defect of a pass, never of a program. */
#include "compiler/ir/lifted.h"
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

typedef struct checker {
    const loom_lifted *l;
    loom_arena *scratch;
    bool *visible; /* expressions that the present one may use */
    bool *defined; /* values that the present operation may use */
    loom_lop_id op;
    uint32_t n_axes; /* of the present operation */
    loom_status *error;
} checker;

LOOM_PRINTF(2, 3) static bool fail(checker *c, const char *format, ...) {
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!c->error) c->error = loom_error(LOOM_E_INTERNAL, "lifted IR, operation o%" PRIu32 ": %s", c->op, text);
    return false;
}

#define NEED(condition, ...)                                                                                           \
    do {                                                                                                               \
        if (!(condition)) return fail(c, __VA_ARGS__);                                                                 \
    } while (0)

static bool check_block(checker *c, loom_lblock_id id, const loom_lblock *around);
static bool check_value_axes(checker *c, loom_lvalue_id id, const loom_axis_id *axes, uint32_t n, uint32_t skip,
                             loom_dtype t);

/* ---- expressions ---- */

static loom_dtype arg_type(const checker *c, const loom_lexpr *e, uint32_t i) {
    return c->l->exprs[loom_lifted_arg(c->l, e, i)].dtype;
}

static bool check_load(checker *c, loom_lexpr_id id, const loom_lexpr *e) {
    NEED(e->aux < c->l->n_values, "e%" PRIu32 " loads a value that is not there", id);
    const loom_lvalue *v = &c->l->values[e->aux];
    NEED(c->defined[e->aux], "e%" PRIu32 " loads v%" PRIu32 " before it is made", id, e->aux);
    NEED(e->dtype == v->dtype, "e%" PRIu32 " loads v%" PRIu32 " as another type", id, e->aux);
    uint32_t extra = e->mode == LOOM_LOAD_DEFAULT ? 1 : 0;
    NEED(e->n_args == v->n_axes + extra, "e%" PRIu32 " has %" PRIu32 " indices for v%" PRIu32, id, e->n_args, e->aux);
    for (uint32_t i = 0; i < v->n_axes; i++)
        NEED(arg_type(c, e, i) == LOOM_I64, "e%" PRIu32 " has an index that is no i64", id);
    if (extra) NEED(arg_type(c, e, v->n_axes) == v->dtype, "e%" PRIu32 " has a default of another type", id);
    NEED(e->mode != LOOM_LOAD_CHECKED || e->site < c->l->n_sites, "e%" PRIu32 " is checked and has no site", id);
    return true;
}

static bool check_prim(checker *c, loom_lexpr_id id, const loom_lexpr *e) {
    loom_dtype types[3];
    NEED(e->prim < LOOM_PRIM_COUNT && e->n_args == (uint32_t)loom_prim_table[e->prim].arity,
         "e%" PRIu32 " has wrong operands", id);
    for (uint32_t i = 0; i < e->n_args; i++) types[i] = arg_type(c, e, i);
    NEED(loom_prim_result((loom_prim)e->prim, types) == e->dtype, "e%" PRIu32 ": %s does not give that type", id,
         loom_prim_table[e->prim].name);
    return true;
}

static bool check_results(checker *c, loom_lexpr_id id, loom_lblock_id block, uint32_t n, const loom_dtype *types) {
    const loom_lblock *b = &c->l->blocks[block];
    NEED(b->n_results == n, "e%" PRIu32 " has a block with %" PRIu32 " results", id, b->n_results);
    for (uint32_t i = 0; i < n; i++) {
        NEED(c->l->exprs[b->results[i]].dtype == types[i],
             "e%" PRIu32 " has a block whose result %" PRIu32 " has another type", id, i);
    }
    return true;
}

static bool check_params(checker *c, loom_lexpr_id id, loom_lblock_id block, uint32_t n, const loom_dtype *types) {
    const loom_lblock *b = &c->l->blocks[block];
    NEED(b->n_params == n, "e%" PRIu32 " has a block with %" PRIu32 " parameters", id, b->n_params);
    for (uint32_t i = 0; i < n; i++)
        NEED(b->params[i] == types[i], "e%" PRIu32 ": parameter %" PRIu32 " has another type", id, i);
    return true;
}

static bool has_blocks(const loom_lexpr *e) {
    return e->kind == LOOM_LX_IF || e->kind == LOOM_LX_FOR || e->kind == LOOM_LX_WHILE;
}

static bool check_control(checker *c, loom_lexpr_id id, const loom_lexpr *e, const loom_lblock *around) {
    uint32_t n_blocks = e->kind == LOOM_LX_FOR ? 1 : 2;
    for (uint32_t k = 0; k < n_blocks; k++) {
        NEED(e->blocks[k] < c->l->n_blocks, "e%" PRIu32 " has no block", id);
        const loom_lblock *b = &c->l->blocks[e->blocks[k]];
        NEED(b->first >= around->first && b->end <= id, "e%" PRIu32 " has a block that lies elsewhere", id);
    }
    uint32_t n = loom_lifted_results(c->l, e), skip = e->kind == LOOM_LX_WHILE ? 0 : 1;
    loom_dtype *types = LOOM_NEW_ARRAY(c->scratch, loom_dtype, (size_t)n + 2);
    types[0] = LOOM_I64;
    for (uint32_t i = 0; i < n; i++) {
        types[i + 1] =
            e->kind == LOOM_LX_IF ? c->l->exprs[c->l->blocks[e->blocks[0]].results[i]].dtype : arg_type(c, e, i + skip);
    }
    NEED(n == 0 || e->dtype == types[1], "e%" PRIu32 " has another type than its first result", id);
    for (uint32_t k = 0; k < n_blocks; k++) {
        bool test = e->kind == LOOM_LX_WHILE && k == 0;
        loom_dtype b = LOOM_BOOL;
        if (e->kind == LOOM_LX_IF && !check_params(c, id, e->blocks[k], 0, NULL)) return false;
        if (e->kind == LOOM_LX_FOR && !check_params(c, id, e->blocks[k], n + 1, types)) return false;
        if (e->kind == LOOM_LX_WHILE && !check_params(c, id, e->blocks[k], n, types + 1)) return false;
        if (!check_block(c, e->blocks[k], around)) return false;
        if (!check_results(c, id, e->blocks[k], test ? 1 : n, test ? &b : types + 1)) return false;
    }
    if (e->kind == LOOM_LX_IF)
        NEED(e->n_args == 1 && arg_type(c, e, 0) == LOOM_BOOL, "e%" PRIu32 " has no condition", id);
    if (e->kind == LOOM_LX_FOR) NEED(e->mode <= LOOM_FOR_FOLD, "e%" PRIu32 " is no loop that there is", id);
    if (e->kind == LOOM_LX_FOR) NEED(e->n_args >= 1 && arg_type(c, e, 0) == LOOM_I64, "e%" PRIu32 " has no count", id);
    return true;
}

static bool check_expr(checker *c, loom_lexpr_id id, const loom_lblock *b) {
    const loom_lexpr *e = &c->l->exprs[id];
    NEED(e->dtype < LOOM_DTYPES, "e%" PRIu32 " has no type", id);
    NEED(e->n_args <= c->l->n_args && e->first_arg <= c->l->n_args - e->n_args,
         "e%" PRIu32 " has arguments beyond the table", id);
    for (uint32_t i = 0; i < e->n_args; i++) {
        loom_lexpr_id arg = loom_lifted_arg(c->l, e, i);
        NEED(arg < id && c->visible[arg], "e%" PRIu32 " uses e%" PRIu32 ", which is not in scope", id, arg);
    }
    switch ((loom_lexpr_kind)e->kind) {
    case LOOM_LX_CONST: return true;
    case LOOM_LX_AXIS:
        NEED(e->aux < c->n_axes && e->dtype == LOOM_I64, "e%" PRIu32 " names axis %" PRIu32, id, e->aux);
        return true;
    case LOOM_LX_PARAM:
        NEED(e->aux < b->n_params && e->dtype == b->params[e->aux], "e%" PRIu32 " names parameter %" PRIu32, id,
             e->aux);
        return true;
    case LOOM_LX_EXTENT:
        NEED(e->aux < c->l->n_axes && e->dtype == LOOM_I64, "e%" PRIu32 " names no axis", id);
        NEED(c->l->axes[e->aux].kind != LOOM_AXIS_SEGMENTED, "e%" PRIu32 " is an extent that differs", id);
        return true;
    case LOOM_LX_LOAD: return check_load(c, id, e);
    case LOOM_LX_PRIM: return check_prim(c, id, e);
    case LOOM_LX_CONVERT: NEED(e->n_args == 1, "e%" PRIu32 " converts nothing", id); return true;
    case LOOM_LX_IF:
    case LOOM_LX_FOR:
    case LOOM_LX_WHILE: return check_control(c, id, e, b);
    case LOOM_LX_RESULT: {
        NEED(e->n_args == 1, "e%" PRIu32 " is a result of nothing", id);
        const loom_lexpr *of = &c->l->exprs[loom_lifted_arg(c->l, e, 0)];
        NEED(has_blocks(of) && e->aux < loom_lifted_results(c->l, of), "e%" PRIu32 " is a result that is not there",
             id);
        return true;
    }
    case LOOM_LX_CHECK:
        NEED(e->n_args >= 2 && e->n_args <= 4 && arg_type(c, e, 0) == LOOM_BOOL && arg_type(c, e, 1) == e->dtype,
             "e%" PRIu32 " checks nothing", id);
        NEED(e->site < c->l->n_sites, "e%" PRIu32 " has no site", id);
        return true;
    }
    return fail(c, "e%" PRIu32 " is of no kind", id);
}

/* Own expressions of the block are visible while it is checked. */
static bool check_block(checker *c, loom_lblock_id id, const loom_lblock *around) {
    NEED(id < c->l->n_blocks, "a block that is not there");
    const loom_lblock *b = &c->l->blocks[id];
    NEED(b->first <= b->end && b->end <= c->l->n_exprs, "block %" PRIu32 " lies beyond the table", id);
    NEED(!around || (b->first >= around->first && b->end <= around->end), "block %" PRIu32 " is not nested", id);
    loom_lexpr_id *own = LOOM_NEW_ARRAY(c->scratch, loom_lexpr_id, (size_t)(b->end - b->first) + 1);
    uint32_t n = 0;
    for (loom_lexpr_id i = b->end; i > b->first;) {
        const loom_lexpr *e = &c->l->exprs[--i];
        own[n++] = i;
        if (!has_blocks(e)) continue;
        NEED(e->blocks[0] < c->l->n_blocks && c->l->blocks[e->blocks[0]].first <= i &&
                 c->l->blocks[e->blocks[0]].first >= b->first,
             "e%" PRIu32 " has a block that lies elsewhere", i);
        i = c->l->blocks[e->blocks[0]].first;
    }
    for (uint32_t k = n; k > 0; k--) {
        if (!check_expr(c, own[k - 1], b)) return false;
        c->visible[own[k - 1]] = true;
    }
    for (uint32_t i = 0; i < b->n_results; i++) {
        NEED(b->results[i] < c->l->n_exprs && c->visible[b->results[i]],
             "block %" PRIu32 " gives e%" PRIu32 ", not in scope", id, b->results[i]);
    }
    for (uint32_t k = 0; k < n; k++) c->visible[own[k]] = false;
    return true;
}

/* ---- operations ---- */

static bool check_used(checker *c, loom_lvalue_id v, const char *as) {
    NEED(v < c->l->n_values && c->defined[v], "%s v%" PRIu32 " is not made before", as, v);
    return true;
}

static bool check_axis(checker *c, loom_axis_id id) {
    NEED(id < c->l->n_axes, "axis %" PRIu32 " is not there", id);
    const loom_axis *a = &c->l->axes[id];
    if (a->kind == LOOM_AXIS_SCALAR) {
        if (!check_used(c, a->value, "extent")) return false;
        const loom_lvalue *v = &c->l->values[a->value];
        NEED(v->n_axes == 0 && v->dtype == LOOM_I64, "extent v%" PRIu32 " is no i64 without axes", a->value);
    }
    if (a->kind == LOOM_AXIS_SEGMENTED) {
        return check_used(c, a->lengths, "lengths") && check_used(c, a->offsets, "offsets") &&
               check_used(c, a->total, "total");
    }
    if (a->kind == LOOM_AXIS_INPUT) {
        NEED(a->value < c->l->n_values && c->l->values[a->value].source < LOOM_LV_FIRST, "an extent of no input");
    }
    return true;
}

/* The axes before a segmented one are those of its lengths. */
static bool check_segments(checker *c, const loom_axis_id *axes, uint32_t n) {
    const loom_lifted *l = c->l;
    for (uint32_t i = 0; i < n; i++) {
        const loom_axis *a = &l->axes[axes[i]];
        if (a->kind != LOOM_AXIS_SEGMENTED) continue;
        NEED(a->lengths < l->n_values && a->offsets < l->n_values && a->total < l->n_values,
             "segments that are not there");
        const loom_lvalue *v = &l->values[a->lengths], *o = &l->values[a->offsets], *t = &l->values[a->total];
        NEED(i > 0 && v->n_axes == i && memcmp(v->axes, axes, i * sizeof *axes) == 0,
             "axis %" PRIu32 " has lengths over other axes than those before it", axes[i]);
        NEED(v->dtype == LOOM_I64 && o->dtype == LOOM_I64 && t->dtype == LOOM_I64 && t->n_axes == 0,
             "axis %" PRIu32 " has lengths of another type", axes[i]);
        NEED(o->source == LOOM_LV_OP && o->op == t->op && o->op < l->n_ops && l->ops[o->op].kind == LOOM_LO_OFFSETS &&
                 l->ops[o->op].n_args == 1 && l->ops[o->op].args[0] == a->lengths && l->ops[o->op].n_results == 2 &&
                 l->ops[o->op].results[0] == a->offsets,
             "axis %" PRIu32 " has offsets of other lengths", axes[i]);
    }
    return true;
}

static bool check_offsets(checker *c, const loom_lop *o) {
    NEED(o->n_args == 1 && o->n_results == 2 && o->n_axes >= 1, "offsets of another form");
    return check_used(c, o->args[0], "lengths") &&
           check_value_axes(c, o->args[0], o->axes, o->n_axes, LOOM_NONE, LOOM_I64) &&
           check_value_axes(c, o->results[0], o->axes, o->n_axes, LOOM_NONE, LOOM_I64) &&
           check_value_axes(c, o->results[1], NULL, 0, LOOM_NONE, LOOM_I64);
}

static bool check_value_axes(checker *c, loom_lvalue_id id, const loom_axis_id *axes, uint32_t n, uint32_t skip,
                             loom_dtype t) {
    NEED(id < c->l->n_values, "result v%" PRIu32 " is not there", id);
    const loom_lvalue *v = &c->l->values[id];
    uint32_t at = 0;
    NEED(v->dtype == t, "v%" PRIu32 " has another type than its expression", id);
    for (uint32_t i = 0; i < n; i++) {
        if (i == skip) continue;
        NEED(at < v->n_axes && v->axes[at] == axes[i], "v%" PRIu32 " has other axes than its operation", id);
        at++;
    }
    NEED(at == v->n_axes, "v%" PRIu32 " has more axes than its operation", id);
    return true;
}

static loom_dtype result_type(const checker *c, loom_lblock_id block, uint32_t i) {
    const loom_lblock *b = &c->l->blocks[block];
    return c->l->exprs[b->results[i]].dtype;
}

static bool check_combine(checker *c, loom_lblock_id id, uint32_t n, loom_lblock_id body, uint32_t skip) {
    uint32_t axes = c->n_axes;
    c->n_axes = 0;
    bool ok = check_block(c, id, NULL);
    c->n_axes = axes;
    if (!ok) return false;
    const loom_lblock *b = &c->l->blocks[id];
    NEED(b->n_params == 2 * n && b->n_results == n, "an operator with %" PRIu32 " parameters for %" PRIu32 " states",
         b->n_params, n);
    for (uint32_t i = 0; i < n; i++) {
        loom_dtype t = result_type(c, body, skip + i);
        NEED(b->params[i] == t && b->params[n + i] == t && result_type(c, id, i) == t,
             "an operator of another type than state %" PRIu32, i);
    }
    for (loom_lexpr_id i = b->first; i < b->end; i++) {
        const loom_lexpr *e = &c->l->exprs[i];
        bool open = e->kind == LOOM_LX_LOAD || e->kind == LOOM_LX_AXIS ||
                    (e->kind == LOOM_LX_EXTENT && c->l->axes[e->aux].kind != LOOM_AXIS_CONST);
        NEED(!open, "an operator that is not closed (e%" PRIu32 ")", i);
    }
    return true;
}

static bool check_reduction(checker *c, const loom_lop *o) {
    bool total = o->kind == LOOM_LO_SCAN && o->scan == LOOM_SCAN_TOTAL;
    uint32_t n = o->n_results / (total ? 2 : 1);
    NEED(o->reduce < o->n_axes, "a reduced axis that is not there");
    NEED(!loom_lifted_any_segmented(c->l, o->n_axes - o->reduce - 1, o->axes + o->reduce + 1),
         "a reduced axis before a segmented one");
    if (!check_block(c, o->body, NULL) || !check_block(c, o->ne, NULL)) return false;
    NEED(c->l->blocks[o->body].n_results == n && c->l->blocks[o->ne].n_results == n,
         "states and results differ in number");
    const loom_lblock *ne = &c->l->blocks[o->ne];
    for (loom_lexpr_id i = ne->first; i < ne->end; i++) {
        const loom_lexpr *e = &c->l->exprs[i];
        NEED(e->kind != LOOM_LX_AXIS || e->aux != o->reduce, "a neutral element that depends on the reduced axis");
    }
    for (uint32_t i = 0; i < o->n_results; i++) {
        bool whole = o->kind == LOOM_LO_SCAN && i < n;
        loom_dtype t = result_type(c, o->body, i % n);
        NEED(result_type(c, o->ne, i % n) == t, "a neutral element of another type");
        if (!check_value_axes(c, o->results[i], o->axes, o->n_axes, whole ? LOOM_NONE : o->reduce, t)) return false;
    }
    return check_combine(c, o->combine, n, o->body, 0);
}

static bool check_permute(checker *c, const loom_lop *o) {
    if (!check_block(c, o->body, NULL)) return false;
    uint32_t all = c->l->blocks[o->body].n_results;
    NEED(o->rank >= 1 && all > o->rank, "a permute without indices or values");
    NEED(o->n_target_axes == o->n_context + o->rank, "a permute of rank %" PRIu32 " onto %" PRIu32 " axes", o->rank,
         o->n_target_axes);
    for (uint32_t i = 0; i < o->n_context; i++)
        NEED(o->axes[i] == o->target_axes[i], "context axes that differ from the target's");
    for (uint32_t i = 0; i < o->rank; i++) NEED(result_type(c, o->body, i) == LOOM_I64, "an index that is no i64");
    for (uint32_t i = 0; i < o->n_target_axes; i++) {
        if (!check_axis(c, o->target_axes[i])) return false;
    }
    if (!check_segments(c, o->target_axes, o->n_target_axes)) return false;
    /* Places that are put in order have none: the first axis behind a context may be segmented. */
    NEED(o->n_apart <= o->n_axes && !(o->n_apart && o->n_context), "a permute apart along %" PRIu32 " axes",
         o->n_apart);
    bool rows = (o->distinct || o->n_apart) && !o->n_context && o->output == LOOM_NONE;
    uint32_t dense = rows ? o->n_target_axes : o->n_context + (o->n_context ? 1 : 0);
    NEED(!loom_lifted_any_segmented(c->l, o->n_target_axes - dense, o->target_axes + dense), "a permute onto segments");
    NEED(o->n_context || rows || !loom_lifted_any_segmented(c->l, o->n_axes, o->axes), "a permute of segments");
    if (o->output != LOOM_NONE) {
        NEED(o->output < c->l->n_outputs && o->n_results == 0, "a permute into an output that is not there");
        NEED(c->l->outputs[o->output].n_leaves == all - o->rank, "a permute into an output with other leaves");
    }
    for (uint32_t i = 0; i < o->n_results; i++) {
        loom_dtype t = result_type(c, o->body, o->rank + i);
        if (!check_used(c, o->dest[i], "target")) return false;
        if (!check_value_axes(c, o->dest[i], o->target_axes, o->n_target_axes, LOOM_NONE, t)) return false;
        if (!check_value_axes(c, o->results[i], o->target_axes, o->n_target_axes, LOOM_NONE, t)) return false;
    }
    return check_combine(c, o->combine, all - o->rank, o->body, o->rank);
}

static bool check_fft(checker *c, const loom_lop *o) {
    NEED(o->n_args == 1 && o->n_results == 1 && o->args[0] != o->results[0], "an fft of another form");
    if (!check_used(c, o->args[0], "argument")) return false;
    loom_dtype t = c->l->values[o->args[0]].dtype;
    NEED(loom_dtype_is_complex(t) && o->fft_rank >= 1 && o->fft_rank <= o->n_axes, "an fft of rank %" PRIu32,
         o->fft_rank);
    NEED(o->fft_rank == 1 || !loom_lifted_any_segmented(c->l, o->fft_rank, o->axes + o->n_axes - o->fft_rank),
         "an fft along several axes, of segments");
    return check_value_axes(c, o->args[0], o->axes, o->n_axes, LOOM_NONE, t) &&
           check_value_axes(c, o->results[0], o->axes, o->n_axes, LOOM_NONE, t);
}

static bool check_sort(checker *c, const loom_lop *o) {
    NEED(o->n_args >= 1 && o->n_results == 1 && o->n_axes >= 1, "a sort of another form");
    NEED(c->l->axes[o->axes[o->n_axes - 1]].kind != LOOM_AXIS_CHUNK, "a sort along the chunk");
    for (uint32_t i = 0; i < o->n_args; i++) {
        if (!check_used(c, o->args[i], "key")) return false;
        loom_dtype t = c->l->values[o->args[i]].dtype;
        NEED(!loom_dtype_is_complex(t) && o->args[i] != o->results[0], "a sort by what has no order");
        if (!check_value_axes(c, o->args[i], o->axes, o->n_axes, LOOM_NONE, t)) return false;
    }
    return check_value_axes(c, o->results[0], o->axes, o->n_axes, LOOM_NONE, LOOM_I64);
}

static bool same_form(checker *c, loom_lvalue_id a, loom_lvalue_id b) {
    const loom_lvalue *v = &c->l->values[b];
    return check_value_axes(c, a, v->axes, v->n_axes, LOOM_NONE, v->dtype);
}

static bool check_ops(checker *c, loom_lop_id first, loom_lop_id end);

static void forget(checker *c, loom_lop_id first, loom_lop_id end) {
    for (loom_lop_id i = first; i < end; i++) {
        for (uint32_t k = 0; k < c->l->ops[i].n_results; k++) c->defined[c->l->ops[i].results[k]] = false;
    }
}

/* Axes of a state's initial, next or last value: as the state's, with `values` in place of states. */
static bool same_axis(const checker *c, const loom_lop *o, loom_axis_id state, loom_axis_id id,
                      const loom_lvalue_id *values, uint32_t before) {
    const loom_axis *a = &c->l->axes[state], *b = &c->l->axes[id];
    if (state == id) return true;
    if (a->kind != LOOM_AXIS_SCALAR || b->kind != LOOM_AXIS_SCALAR) return false;
    for (uint32_t i = 0; i < before; i++) {
        if (o->state[i] == a->value) return values[i] == b->value;
    }
    return false;
}

static bool check_state(checker *c, const loom_lop *o, uint32_t i, const loom_lvalue_id *values) {
    NEED(values[i] < c->l->n_values && o->state[i] < c->l->n_values, "a state that is not there");
    const loom_lvalue *s = &c->l->values[o->state[i]], *v = &c->l->values[values[i]];
    NEED(v->dtype == s->dtype && v->n_axes == s->n_axes, "v%" PRIu32 " has another form than its state", values[i]);
    for (uint32_t k = 0; k < s->n_axes; k++) {
        NEED(same_axis(c, o, s->axes[k], v->axes[k], values, i), "v%" PRIu32 " has other axes than its state",
             values[i]);
    }
    return true;
}

/* What comes together turn by turn has the form of what a turn gives, but for the outermost axis. */
static bool check_collected(checker *c, const loom_lop *o) {
    for (uint32_t i = 0; i < o->n_collected; i++) {
        if (!check_used(c, o->collected[i], "collected")) return false;
        const loom_lvalue *v = &c->l->values[o->collected[i]], *r = &c->l->values[o->results[o->n_states + i]];
        NEED(v->dtype == r->dtype && v->n_axes == r->n_axes && v->n_axes >= 1 &&
                 memcmp(v->axes + 1, r->axes + 1, (v->n_axes - 1) * sizeof *v->axes) == 0 &&
                 !loom_lifted_any_segmented(c->l, v->n_axes, v->axes),
             "v%" PRIu32 " is collected in another form", o->collected[i]);
    }
    return true;
}

static bool check_loop(checker *c, loom_lop_id id, const loom_lop *o) {
    NEED(o->inner_first <= o->inner_end && o->inner_end == id, "a loop whose operations do not stand before it");
    NEED(o->n_results == o->n_states + o->n_collected && o->n_args <= 1 && (o->n_args == 1 || o->test != LOOM_NONE),
         "a loop of another form");
    if (o->n_args && !check_used(c, o->args[0], "count")) return false;
    for (uint32_t i = 0; i < o->n_states; i++) {
        if (!check_used(c, o->initial[i], "initial state")) return false;
        NEED(o->state[i] < c->l->n_values && c->l->values[o->state[i]].source == LOOM_LV_STATE, "a state that is none");
        if (!check_state(c, o, i, o->initial) || !check_state(c, o, i, o->results)) return false;
        c->defined[o->state[i]] = true;
    }
    if (o->counter != LOOM_NONE) c->defined[o->counter] = true;
    if (!check_ops(c, o->inner_first, o->inner_end)) return false;
    c->op = id;
    if (o->test != LOOM_NONE && !check_used(c, o->test, "test")) return false;
    for (uint32_t i = 0; i < o->n_states; i++) {
        if (!check_used(c, o->next[i], "next state") || !check_state(c, o, i, o->next)) return false;
    }
    if (!check_collected(c, o)) return false;
    for (uint32_t i = 0; i < o->n_states; i++) c->defined[o->state[i]] = false;
    if (o->counter != LOOM_NONE) c->defined[o->counter] = false;
    forget(c, o->inner_first, o->inner_end);
    return true;
}

static bool check_branch(checker *c, loom_lop_id id, const loom_lop *o, loom_lop_id first, loom_lop_id end,
                         const loom_lvalue_id *results) {
    if (!check_ops(c, first, end)) return false;
    c->op = id;
    for (uint32_t i = 0; i < o->n_results; i++) {
        if (!check_used(c, results[i], "result of a branch") || !same_form(c, o->results[i], results[i])) return false;
    }
    forget(c, first, end);
    return true;
}

static bool check_if(checker *c, loom_lop_id id, const loom_lop *o) {
    NEED(o->inner_first <= o->inner_end && o->inner_end == o->else_first && o->else_first <= o->else_end &&
             o->else_end == id,
         "an if whose operations do not stand before it");
    NEED(o->n_args == 1, "an if without a condition");
    if (!check_used(c, o->args[0], "condition")) return false;
    return check_branch(c, id, o, o->inner_first, o->inner_end, o->then_results) &&
           check_branch(c, id, o, o->else_first, o->else_end, o->else_results);
}

/* Results are states but for a slice. */
static bool check_sliced(checker *c, const loom_lop *o) {
    NEED(o->inner && o->n_axes >= 1 && o->dest, "a slice outside of a loop");
    if (!check_used(c, o->into, "slice")) return false;
    if (!check_value_axes(c, o->into, NULL, 0, LOOM_NONE, LOOM_I64)) return false;
    for (uint32_t i = 0; i < o->n_results; i++) {
        if (!check_used(c, o->dest[i], "target") || !same_form(c, o->results[i], o->dest[i])) return false;
        const loom_lvalue *v = &c->l->values[o->results[i]];
        NEED(c->l->values[o->dest[i]].source == LOOM_LV_STATE && v->n_axes == o->n_axes + 1 &&
                 v->dtype == result_type(c, o->body, i) &&
                 memcmp(v->axes + 1, o->axes, o->n_axes * sizeof *o->axes) == 0,
             "a slice of another form");
    }
    return true;
}

/* Results start states of a loop of which each turn sets a slice. */
static bool check_blank(checker *c, const loom_lop *o) {
    for (uint32_t i = 0; i < o->n_results; i++) {
        bool found = false;
        for (loom_lop_id l = c->op + 1; l < c->l->n_ops && !found; l++) {
            const loom_lop *loop = &c->l->ops[l];
            for (uint32_t s = 0; loop->kind == LOOM_LO_LOOP && s < loop->n_states && !found; s++) {
                bool starts = loop->initial[s] == o->results[i] && loop->test == LOOM_NONE;
                if (!starts || loop->next[s] >= c->l->n_values) continue;
                const loom_lvalue *next = &c->l->values[loop->next[s]];
                if (next->source != LOOM_LV_OP || next->op >= c->l->n_ops) continue;
                const loom_lop *slice = &c->l->ops[next->op];
                for (uint32_t k = 0; slice->sliced && slice->into == loop->counter && k < slice->n_results; k++) {
                    found = found || (slice->results[k] == loop->next[s] && slice->dest[k] == loop->state[s]);
                }
            }
        }
        NEED(found, "a blank value that no loop sets");
    }
    return true;
}

static bool check_dense(checker *c, const loom_lop *o, const loom_lvalue *v, loom_dtype t) {
    NEED(o->n_axes, "an operation without axes under others");
    NEED(v->dtype == t, "a result of another type than its expression");
    for (uint32_t i = 0; i < v->n_axes; i++) {
        if (!check_axis(c, v->axes[i])) return false;
    }
    return true;
}

static bool check_op(checker *c, loom_lop_id id) {
    const loom_lop *o = &c->l->ops[id];
    c->op = id;
    c->n_axes = o->n_axes;
    NEED(o->n_axes <= LOOM_LIFTED_MAX_AXES, "%" PRIu32 " axes", o->n_axes);
    for (uint32_t i = 0; i < o->n_axes; i++) {
        if (!check_axis(c, o->axes[i])) return false;
    }
    if (!check_segments(c, o->axes, o->n_axes)) return false;
    for (uint32_t i = 0; i < o->n_results; i++) {
        NEED(o->results[i] < c->l->n_values, "result v%" PRIu32 " is not there", o->results[i]);
        const loom_lvalue *v = &c->l->values[o->results[i]];
        if (!check_segments(c, v->axes, v->n_axes)) return false;
    }
    bool ok = true;
    switch (o->kind) {
    case LOOM_LO_COMPUTE:
        ok = check_block(c, o->body, NULL);
        if (ok) NEED(c->l->blocks[o->body].n_results == o->n_results, "results that the body does not give");
        if (ok && o->blank) ok = check_blank(c, o);
        if (ok && o->sliced) {
            ok = check_sliced(c, o);
            break;
        }
        for (uint32_t i = 0; ok && i < o->n_results; i++) {
            const loom_lvalue *v = &c->l->values[o->results[i]];
            loom_dtype t = result_type(c, o->body, i);
            ok = o->dense ? check_dense(c, o, v, t)
                          : check_value_axes(c, o->results[i], o->axes, o->n_axes, LOOM_NONE, t);
        }
        break;
    case LOOM_LO_REDUCE:
    case LOOM_LO_SCAN: ok = check_reduction(c, o); break;
    case LOOM_LO_PERMUTE: ok = check_permute(c, o); break;
    case LOOM_LO_FFT: ok = check_fft(c, o); break;
    case LOOM_LO_OFFSETS: ok = check_offsets(c, o); break;
    case LOOM_LO_SORT: ok = check_sort(c, o); break;
    case LOOM_LO_LOOP: ok = check_loop(c, id, o); break;
    case LOOM_LO_IF: ok = check_if(c, id, o); break;
    case LOOM_LO_CHECK:
        ok = check_block(c, o->body, NULL);
        if (ok)
            NEED(c->l->blocks[o->body].n_results >= 1 && result_type(c, o->body, 0) == LOOM_BOOL &&
                     o->site < c->l->n_sites,
                 "a check of nothing");
        break;
    }
    c->op = id;
    for (uint32_t i = 0; ok && i < o->n_results; i++) {
        NEED(c->l->values[o->results[i]].source == LOOM_LV_OP && c->l->values[o->results[i]].op == id,
             "v%" PRIu32 " names another producer", o->results[i]);
        NEED(!c->defined[o->results[i]], "v%" PRIu32 " is made twice", o->results[i]);
        c->defined[o->results[i]] = true;
    }
    return ok;
}

static bool check_ops(checker *c, loom_lop_id first, loom_lop_id end) {
    loom_lop_id *own = LOOM_NEW_ARRAY(c->scratch, loom_lop_id, (size_t)(end - first) + 1);
    uint32_t n = 0;
    for (loom_lop_id i = end; i > first;) {
        const loom_lop *o = &c->l->ops[--i];
        c->op = i;
        own[n++] = i;
        if (o->kind != LOOM_LO_LOOP && o->kind != LOOM_LO_IF) continue;
        NEED(o->inner_first >= first && o->inner_first <= i, "inner operations that lie elsewhere");
        i = o->inner_first;
    }
    while (n--) {
        if (!check_op(c, own[n])) return false;
    }
    return true;
}

static bool check_outputs(checker *c) {
    for (uint32_t j = 0; j < c->l->n_outputs; j++) {
        const loom_loutput *o = &c->l->outputs[j];
        bool permute = o->kind == 1;
        for (uint32_t i = 0; i < o->n_leaves; i++) {
            NEED(permute == (o->values[i] == LOOM_NONE), "output %" PRIu32 " has values or none", j);
            if (!permute && !check_used(c, o->values[i], "output")) return false;
        }
        if (permute) NEED(o->neutral && o->combine != LOOM_NONE, "output %" PRIu32 " has no operator", j);
        if (o->combine == LOOM_NONE) continue;
        c->n_axes = 0;
        if (!check_block(c, o->combine, NULL)) return false;
        NEED(c->l->blocks[o->combine].n_results == o->n_leaves, "output %" PRIu32 " merges other leaves", j);
    }
    return true;
}

loom_status *loom_lifted_check(const loom_lifted *l) {
    checker c = {.l = l, .scratch = loom_arena_create(0), .op = LOOM_NONE};
    c.visible = LOOM_NEW_ARRAY(c.scratch, bool, (size_t)l->n_exprs + 1);
    c.defined = LOOM_NEW_ARRAY(c.scratch, bool, (size_t)l->n_values + 1);
    bool ok = true;
    for (uint32_t i = 0; ok && i < l->n_values; i++) {
        const loom_lvalue *v = &l->values[i];
        c.defined[i] = v->source <= LOOM_LV_FIRST;
        for (uint32_t k = 0; ok && k < v->n_axes; k++) {
            if (v->axes[k] >= l->n_axes) ok = fail(&c, "v%" PRIu32 " has an axis that is not there", i);
        }
        ok = ok && (v->source >= LOOM_LV_OP || check_segments(&c, v->axes, v->n_axes));
    }
    ok = ok && check_ops(&c, 0, l->n_ops) && check_outputs(&c);
    loom_status *s = c.error;
    loom_arena_destroy(c.scratch);
    return ok ? NULL : s;
}
