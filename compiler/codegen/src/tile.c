/* Loops of a COMPUTE over two axes that are read across: in tiles.
 *
 * Rule. Where a load runs along the last axis but one ("rows" of the result) where its array is contiguous, and along
 * the last ("columns") elsewhere, each point in the order of the axes touches another line of memory, and another page.
 * So the two loops go tile by tile, and whole lines are used while they are near. Within a tile the order is that of
 * the axes; but where the point has conditions that hold for a whole column (that an index is inside, say), these are
 * decided once for a few rows, with a loop over these for each outcome, and what depends on the column alone is found
 * before that loop, also in the branch that is taken. Which order it is shows in no result, as points do not depend on
 * each other; of errors the first in the order of the axes is told, by going through all of it again (defer.c).
 *
 * Example: result[x, i] = if inside[i] then a[at[i], x] else 0 becomes
 *     for X in [from, to) by 64: for I in [0, n) by 16: for S in [X, X + 64) by 8: for i in [I, I + 16):
 *         if inside[i] then { t = at[i]; for x in [S, S + 8): result[x, i] = a[t, x] }
 *         else for x in [S, S + 8): result[x, i] = 0
 *
 * Cost: a loop for each outcome, and one for errors. See gen.h. */
#include "compiler/ir/prim.h"
#include "nest.h"

enum {
    LINE = 64,      /* bytes of a line of memory */
    STRETCH = 512,  /* bytes of a row of what is read that a tile takes: the processor sees that it goes on */
    MOST_ROWS = 64, /* of a tile: all that it touches stays in the nearest cache */
    COLUMNS = 16,   /* of a tile at least, and two lines of what is read: inner loops in whole vectors */
    MOST_WORK = 8,  /* primitives (loom_prim_info.work) of the row alone that may be repeated for each column */
    FEW = 4,        /* rows or columns that are no more than this need no tiles */
};

typedef struct tile {
    nest *N;
    uint32_t row, column; /* positions */
    uint64_t known;       /* of the loops around */
    int64_t element;      /* bytes of what is read across */
} tile;

static uint64_t bit(uint32_t position) {
    return (uint64_t)1 << position;
}

/* Whether the load runs along `row` where the array is contiguous, and along `column` elsewhere. */
static bool runs_across(const loom_gen *g, const loom_lexpr *e, uint64_t row, uint64_t column) {
    if (e->kind != LOOM_LX_LOAD) return false;
    uint32_t n = g->l->values[e->aux].n_axes;
    if (n < 2) return false;
    uint64_t last = g->mask[loom_lifted_arg(g->l, e, n - 1)], others = 0;
    for (uint32_t i = 0; i + 1 < n; i++) others |= g->mask[loom_lifted_arg(g->l, e, i)];
    return (last & row) && !(last & column) && (others & column);
}

/* Bytes of an element of what the body reads across, of several the least; 0: nothing, or it has loops of its own. */
static int64_t read_across(const nest *N) {
    const loom_gen *g = N->fn->g;
    const loom_lblock *body = &g->l->blocks[N->body];
    uint64_t row = bit(N->op->n_axes - 2), column = bit(N->op->n_axes - 1);
    int64_t least = 0;
    for (loom_lexpr_id e = body->first; e < body->end; e++) {
        const loom_lexpr *x = &g->l->exprs[e];
        if (x->kind == LOOM_LX_FOR || x->kind == LOOM_LX_WHILE) return 0;
        if (!runs_across(g, x, row, column)) continue;
        int64_t size = (int64_t)loom_dtype_size(g->l->values[x->aux].dtype);
        if (!least || size < least) least = size;
    }
    return least;
}

static bool is_few(const nest *N, uint32_t position) {
    const loom_axis *axis = &N->fn->g->l->axes[N->op->axes[position]];
    return axis->kind == LOOM_AXIS_CONST && axis->extent <= FEW;
}

bool loom_tile_fits(const nest *N) {
    uint32_t n = N->op->n_axes;
    return n >= 2 && !N->fn->rare && !loom_lifted_any_segmented(N->fn->g->l, n, N->op->axes) && !is_few(N, n - 2) &&
           !is_few(N, n - 1) && read_across(N) > 0;
}

/* What depends on the row alone is worth keeping from column to column. */
static bool rows_are_work(const tile *t) {
    const loom_gen *g = t->N->fn->g;
    const loom_lblock *body = &g->l->blocks[t->N->body];
    int work = 0;
    for (loom_lexpr_id e = body->first; e < body->end; e++) {
        bool alone = g->owner[e] == t->N->body && (g->mask[e] & bit(t->row)) && !(g->mask[e] & bit(t->column));
        if (alone && g->l->exprs[e].kind == LOOM_LX_PRIM) work += loom_prim_table[g->l->exprs[e].prim].work;
        if (alone && g->l->exprs[e].kind == LOOM_LX_IF) return true;
    }
    return work > MOST_WORK;
}

/* Conditions of the point that hold for all rows or for none. */
static uint32_t find_choices(const tile *t, loom_lexpr_id *choices) {
    const loom_gen *g = t->N->fn->g;
    const loom_lblock *body = &g->l->blocks[t->N->body];
    uint32_t n = 0;
    for (loom_lexpr_id e = body->first; e < body->end && n < LOOM_FN_CHOICES; e++) {
        const loom_lexpr *x = &g->l->exprs[e];
        if (x->kind != LOOM_LX_IF || g->owner[e] != t->N->body || !(g->mask[e] & bit(t->row))) continue;
        loom_lexpr_id condition = loom_lifted_arg(g->l, x, 0);
        bool known = g->owner[condition] == t->N->body && !(g->mask[condition] & bit(t->row));
        for (uint32_t i = 0; i < n; i++) known = known && choices[i] != condition;
        if (known) choices[n++] = condition;
    }
    return n;
}

/* ---- the order within a tile ---- */

/* A loop over blocks of `size` of an axis, which becomes the block in `in`. */
static void open_blocks(nest *in, loom_loop *loop, uint32_t position, int64_t size) {
    loom_fn *fn = in->fn;
    LLVMValueRef end = loom_nest_upper(in, position);
    loom_loop_open(fn, loop, loom_nest_lower(in, position), end, loom_fn_i64(fn, size));
    LLVMValueRef to = LLVMBuildNSWAdd(fn->b, loop->index, loom_fn_i64(fn, size), "");
    to = LLVMBuildSelect(fn->b, LLVMBuildICmp(fn->b, LLVMIntSLT, to, end, ""), to, end, "");
    uint32_t i = 0;
    while (i < in->n_cuts && in->cuts[i].position != position) i++;
    if (i == in->n_cuts) in->n_cuts++;
    in->cuts[i] = (loom_cut){position, loop->index, to};
}

static int64_t rows_of(const tile *t) {
    int64_t n = STRETCH / t->element;
    return n < MOST_ROWS ? n : MOST_ROWS;
}

static int64_t columns_of(const tile *t) {
    int64_t n = 2 * LINE / t->element;
    return n > COLUMNS ? n : COLUMNS;
}

static void in_order(tile *t) {
    nest in = *t->N;
    loom_loop rows, columns;
    open_blocks(&in, &rows, t->row, rows_of(t));
    open_blocks(&in, &columns, t->column, columns_of(t));
    loom_block_forget(in.fn, in.body, t->known);
    in.n = 2;
    in.order[0] = t->row;
    in.order[1] = t->column;
    loom_nest_loops(&in, 0, 2, t->known, loom_nest_point);
    loom_loop_close(in.fn, &columns);
    loom_loop_close(in.fn, &rows);
}

/* What the branches that are taken have that does not depend on the row. */
static void build_branches(nest *in, uint64_t known) {
    loom_fn *fn = in->fn;
    const loom_lifted *l = fn->g->l;
    const loom_lblock *body = &l->blocks[in->body];
    for (loom_lexpr_id e = body->first; e < body->end; e++) {
        const loom_lexpr *x = &l->exprs[e];
        fn->chosen[e] = false;
        if (x->kind != LOOM_LX_IF || fn->g->owner[e] != in->body || !(fn->g->mask[e] & ~known)) continue;
        for (uint32_t i = 0; i < fn->n_choices; i++) {
            if (fn->choices[i].condition != loom_lifted_arg(l, x, 0)) continue;
            loom_lblock_id branch = x->blocks[fn->choices[i].holds ? 0 : 1];
            loom_block_reset(fn, branch, NULL);
            loom_block_build(fn, branch, known);
            fn->chosen[e] = true;
        }
    }
}

/* ---- the next line ---- */

/* An index at another row, where it follows from the row by arithmetic that cannot go wrong and from what is built;
 * NULL: it does not. */
static LLVMValueRef at_row(loom_fn *fn, loom_lexpr_id id, uint64_t row, LLVMValueRef value) {
    const loom_lifted *l = fn->g->l;
    const loom_lexpr *e = &l->exprs[id];
    if (!(fn->g->mask[id] & row)) return fn->memo[id].re;
    if (e->kind == LOOM_LX_AXIS) return value;
    if (e->kind != LOOM_LX_PRIM || e->site != LOOM_NONE || e->n_args > 3 || loom_dtype_is_complex(e->dtype))
        return NULL;
    loom_sv args[3] = {{NULL, NULL}};
    for (uint32_t i = 0; i < e->n_args; i++) {
        args[i].re = at_row(fn, loom_lifted_arg(l, e, i), row, value);
        if (!args[i].re) return NULL;
    }
    loom_dtype operand = l->exprs[loom_lifted_arg(l, e, 0)].dtype;
    return loom_sv_prim(fn, (loom_prim)e->prim, operand, e->dtype, args, LOOM_NONE).re;
}

/* What is loaded across: at the rows behind these few, the next line of the same row of its array. */
static void prefetch_load(nest *in, loom_lexpr_id id, LLVMValueRef next) {
    loom_fn *fn = in->fn;
    const loom_lexpr *e = &fn->g->l->exprs[id];
    const loom_lvalue *v = &fn->g->l->values[e->aux];
    uint64_t row = bit(in->order[1]);
    LLVMValueRef indices[LOOM_LIFTED_MAX_AXES];
    for (uint32_t i = 0; i < v->n_axes; i++) {
        indices[i] = at_row(fn, loom_lifted_arg(fn->g->l, e, i), row, next);
        if (!indices[i]) return;
    }
    int64_t size = (int64_t)loom_dtype_size(v->dtype);
    LLVMValueRef at = LLVMBuildNSWMul(fn->b, loom_fn_offset(fn, e->aux, indices), loom_fn_i64(fn, size), "");
    loom_fn_prefetch(fn, loom_fn_place(fn, e->aux)->base, at, 1);
}

/* Of the body and of the branches that are taken. Hardware sees no stream in a line here and a line there. */
static void prefetch_across(nest *in) {
    loom_fn *fn = in->fn;
    const loom_lifted *l = fn->g->l;
    uint64_t row = bit(in->order[1]), column = bit(in->order[0]);
    LLVMValueRef next = loom_nest_upper(in, in->order[1]);
    for (loom_lexpr_id id = l->blocks[in->body].first; id < l->blocks[in->body].end; id++) {
        if (!runs_across(fn->g, &l->exprs[id], row, column)) continue;
        bool taken = fn->g->owner[id] == in->body;
        for (loom_lexpr_id e = l->blocks[in->body].first; e < l->blocks[in->body].end && !taken; e++) {
            if (!fn->chosen[e]) continue;
            for (uint32_t i = 0; i < fn->n_choices; i++) {
                bool same = fn->choices[i].condition == loom_lifted_arg(l, &l->exprs[e], 0);
                taken = taken || (same && fn->g->owner[id] == l->exprs[e].blocks[fn->choices[i].holds ? 0 : 1]);
            }
        }
        if (taken) prefetch_load(in, id, next);
    }
}

/* The loop over a few rows, once for each way in which the conditions can turn out. */
static void rows_by_choice(nest *in, uint64_t known, const loom_lexpr_id *choices, uint32_t left) {
    loom_fn *fn = in->fn;
    if (!left) {
        loom_block_forget(fn, in->body, known);
        build_branches(in, known);
        prefetch_across(in);
        loom_nest_loops(in, 1, 2, known, loom_nest_point);
        return;
    }
    LLVMBasicBlockRef side[2] = {loom_fn_block(fn, "unchosen"), loom_fn_block(fn, "chosen")},
                      on = loom_fn_block(fn, "on");
    LLVMBuildCondBr(fn->b, fn->memo[choices[0]].re, side[1], side[0]);
    loom_choice *choice = &fn->choices[fn->n_choices++];
    choice->condition = choices[0];
    for (int yes = 0; yes < 2; yes++) {
        LLVMPositionBuilderAtEnd(fn->b, side[yes]);
        choice->holds = yes;
        rows_by_choice(in, known, choices + 1, left - 1);
        LLVMBuildBr(fn->b, on);
    }
    fn->n_choices--;
    LLVMPositionBuilderAtEnd(fn->b, on);
}

static void choose_and_compute(nest *in, uint64_t known) {
    tile t = {.N = in, .row = in->order[1], .column = in->order[0]};
    loom_lexpr_id choices[LOOM_FN_CHOICES];
    rows_by_choice(in, known, choices, find_choices(&t, choices));
}

static void by_choice(tile *t) {
    nest in = *t->N;
    loom_fn *fn = in.fn;
    loom_loop rows, columns, few;
    open_blocks(&in, &rows, t->row, rows_of(t));
    open_blocks(&in, &columns, t->column, columns_of(t));
    open_blocks(&in, &few, t->row, LINE / t->element);
    in.n = 2;
    in.order[0] = t->column;
    in.order[1] = t->row;
    fn->chosen = LOOM_NEW_ARRAY(fn->g->arena, bool, (size_t)fn->g->l->n_exprs + 1);
    loom_nest_loops(&in, 0, 1, t->known, choose_and_compute);
    fn->chosen = NULL;
    loom_loop_close(fn, &few);
    loom_loop_close(fn, &columns);
    loom_loop_close(fn, &rows);
}

static void no_more(nest *N, uint64_t known) {
    (void)N;
    (void)known;
}

void loom_tile(nest *N, uint64_t known) {
    loom_fn *fn = N->fn;
    tile t = {N, N->op->n_axes - 2, N->op->n_axes - 1, known, read_across(N)};
    loom_lexpr_id choices[LOOM_FN_CHOICES];
    bool deferred = loom_defer_open(fn, N->body, t.column);
    if (find_choices(&t, choices) && !rows_are_work(&t)) {
        by_choice(&t);
    } else {
        in_order(&t);
    }
    LLVMBasicBlockRef on = deferred ? loom_defer_look(fn) : NULL;
    if (!on) return;
    loom_block_forget(fn, N->body, known);
    loom_nest_loops(N, N->op->n_axes - 2, N->op->n_axes, known, no_more);
    loom_defer_end(fn, on);
}
