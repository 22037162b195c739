/* Blocks and expressions of lifted IR as LLVM IR.
 *
 * A body is not built at one place: loom_block_build(fn, block, known) builds those of its expressions that depend on
 * no other axes than the `known` ones, so that nest.c, which calls it after entering each loop, puts every expression
 * at the outermost loop it can be in. That is legal because blocks are strict and a nest is entered only when none of
 * its loops is empty. What stands in the blocks of IF, FOR and WHILE stays there, for it may be wrong to evaluate it
 * elsewhere. */
#include "gen.h"
#include <math.h>

/* ---- facts about expressions ---- */

static void find_owners(loom_gen *g) {
    const loom_lifted *l = g->l;
    g->owner = LOOM_NEW_ARRAY(g->arena, loom_lblock_id, (size_t)l->n_exprs + 1);
    for (uint32_t e = 0; e < l->n_exprs; e++) g->owner[e] = LOOM_NONE;
    for (loom_lblock_id b = 0; b < l->n_blocks; b++) {
        const loom_lblock *block = &l->blocks[b];
        for (loom_lexpr_id e = block->first; e < block->end; e++) {
            const loom_lblock *now = g->owner[e] == LOOM_NONE ? NULL : &l->blocks[g->owner[e]];
            if (!now || block->end - block->first < now->end - now->first) g->owner[e] = b;
        }
    }
}

static uint32_t inner_blocks(const loom_lexpr *e) {
    return e->kind == LOOM_LX_IF || e->kind == LOOM_LX_WHILE ? 2 : e->kind == LOOM_LX_FOR ? 1 : 0;
}

void loom_expr_prepare(loom_gen *g) {
    const loom_lifted *l = g->l;
    find_owners(g);
    g->mask = LOOM_NEW_ARRAY(g->arena, uint64_t, (size_t)l->n_exprs + 1);
    for (loom_lexpr_id id = 0; id < l->n_exprs; id++) {
        const loom_lexpr *e = &l->exprs[id];
        uint64_t mask = e->kind == LOOM_LX_AXIS ? (uint64_t)1 << e->aux : 0;
        for (uint32_t i = 0; i < e->n_args; i++) mask |= g->mask[loom_lifted_arg(l, e, i)];
        for (uint32_t b = 0; b < inner_blocks(e); b++) {
            const loom_lblock *block = &l->blocks[e->blocks[b]];
            for (loom_lexpr_id inner = block->first; inner < block->end; inner++) mask |= g->mask[inner];
            /* A block's result may be an expression from around it. */
            for (uint32_t i = 0; i < block->n_results; i++) mask |= g->mask[block->results[i]];
        }
        g->mask[id] = mask;
    }
}

/* ---- loads ---- */

/* The index of a load that can only be in range: the loop over the same axis. */
bool loom_load_is_own_axis(const loom_fn *fn, loom_lexpr_id index, loom_axis_id axis) {
    const loom_lifted *l = fn->g->l;
    const loom_lexpr *e = &l->exprs[index];
    if (e->kind == LOOM_LX_CONST && l->axes[axis].kind == LOOM_AXIS_CONST)
        return e->imm.i >= 0 && e->imm.i < l->axes[axis].extent;
    return e->kind == LOOM_LX_AXIS && fn->op != LOOM_NONE && l->ops[fn->op].axes[e->aux] == axis;
}

/* The load is at the point of the operation itself, as far as axis i. */
static bool is_own_list(const loom_fn *fn, const loom_lexpr *e, uint32_t i) {
    const loom_lifted *l = fn->g->l;
    const loom_lvalue *v = &l->values[e->aux];
    for (uint32_t k = 0; k <= i; k++) {
        const loom_lexpr *index = &l->exprs[loom_lifted_arg(l, e, k)];
        if (index->kind != LOOM_LX_AXIS || index->aux != k || fn->op == LOOM_NONE || k >= l->ops[fn->op].n_axes ||
            l->ops[fn->op].axes[k] != v->axes[k])
            return false;
    }
    return true;
}

/* Lists that differ in length are looked at one level after the other. An index that is out of range, or behind one
 * that is, becomes 0: list 0 is there always, if only as the one behind the last. */
static LLVMValueRef in_lists(loom_fn *fn, loom_lexpr_id id, LLVMValueRef *indices, LLVMValueRef *index,
                             LLVMValueRef *extent) {
    const loom_lexpr *e = &fn->g->l->exprs[id];
    const loom_lvalue *v = &fn->g->l->values[e->aux];
    LLVMValueRef all = NULL;
    for (uint32_t i = 0; i < v->n_axes; i++) {
        bool segmented = loom_gen_is_segmented(fn->g, v->axes[i]);
        LLVMValueRef n;
        if (segmented ? is_own_list(fn, e, i) : loom_load_is_own_axis(fn, loom_lifted_arg(fn->g->l, e, i), v->axes[i]))
            continue;
        if (segmented) {
            n = loom_fn_length(fn, v->axes[i], loom_fn_list(fn, i, v->axes, indices));
        } else {
            n = loom_fn_extent(fn, v->axes[i]);
        }
        LLVMValueRef inside = LLVMBuildICmp(fn->b, LLVMIntULT, indices[i], n, "");
        *index = all ? LLVMBuildSelect(fn->b, all, indices[i], *index, "") : indices[i];
        *extent = all ? LLVMBuildSelect(fn->b, all, n, *extent, "") : n;
        all = all ? LLVMBuildAnd(fn->b, all, inside, "") : inside;
        indices[i] = LLVMBuildSelect(fn->b, all, indices[i], loom_fn_i64(fn, 0), "");
    }
    return all;
}

/* i1: all indices in range that were not checked further out, or NULL where there are none; the first index that is
 * not, and its extent. */
static LLVMValueRef in_range(loom_fn *fn, loom_lexpr_id id, const LLVMValueRef *indices, LLVMValueRef *index,
                             LLVMValueRef *extent) {
    const loom_lexpr *e = &fn->g->l->exprs[id];
    const loom_lvalue *v = &fn->g->l->values[e->aux];
    LLVMValueRef all = NULL;
    for (uint32_t i = v->n_axes; i-- > 0;) {
        if (loom_load_is_own_axis(fn, loom_lifted_arg(fn->g->l, e, i), v->axes[i]) || (fn->safe[id] && fn->safe[id][i]))
            continue;
        if (fn->ranged[id] & (uint64_t)1 << i) continue;
        LLVMValueRef n = loom_fn_extent(fn, v->axes[i]);
        LLVMValueRef inside = LLVMBuildICmp(fn->b, LLVMIntULT, indices[i], n, "");
        *index = all ? LLVMBuildSelect(fn->b, inside, *index, indices[i], "") : indices[i];
        *extent = all ? LLVMBuildSelect(fn->b, inside, *extent, n, "") : n;
        all = all ? LLVMBuildAnd(fn->b, all, inside, "") : inside;
    }
    return all;
}

/* The checks of a load whose indices are known further out than the load itself are made there, and an index that fails
 * becomes 0: so that no test is left in the inner loop. */
static void check_early(loom_fn *fn, loom_lexpr_id id, uint64_t known) {
    const loom_gen *g = fn->g;
    const loom_lexpr *e = &g->l->exprs[id];
    const loom_lvalue *v = &g->l->values[e->aux];
    if (v->rep == LOOM_REP_IRREGULAR) return;
    for (uint32_t i = 0; i < v->n_axes; i++) {
        loom_lexpr_id index = loom_lifted_arg(g->l, e, i);
        if ((g->mask[index] & ~known) || !fn->memo[index].re || loom_load_is_own_axis(fn, index, v->axes[i])) continue;
        if (!fn->safe[id]) loom_fn_note_expr(fn, id);
        if (!fn->safe[id]) fn->safe[id] = LOOM_NEW_ARRAY(g->arena, LLVMValueRef, v->n_axes);
        if (fn->safe[id][i]) continue;
        LLVMValueRef n = loom_fn_extent(fn, v->axes[i]), at = fn->memo[index].re;
        LLVMValueRef outside = LLVMBuildICmp(fn->b, LLVMIntUGE, at, n, "");
        loom_fn_raise_if(fn, outside, e->site, at, n);
        fn->safe[id][i] = LLVMBuildSelect(fn->b, outside, loom_fn_i64(fn, 0), at, "");
    }
}

/* i1: the value has an element 0 in the levels whose checks were made further out; NULL where that is known. Does not
 * change in the function, so that tests of it leave every loop. */
static LLVMValueRef not_empty(loom_fn *fn, loom_lexpr_id id) {
    const loom_lvalue *v = &fn->g->l->values[fn->g->l->exprs[id].aux];
    LLVMValueRef all = NULL;
    for (uint32_t i = 0; fn->safe[id] && i < v->n_axes; i++) {
        const loom_axis *axis = &fn->g->l->axes[v->axes[i]];
        if (!fn->safe[id][i] || (axis->kind == LOOM_AXIS_CONST && axis->extent > 0)) continue;
        LLVMValueRef some =
            LLVMBuildICmp(fn->entry, LLVMIntSGT, loom_fn_extent(fn, v->axes[i]), loom_fn_i64(fn, 0), "");
        all = all ? LLVMBuildAnd(fn->entry, all, some, "") : some;
    }
    return all;
}

static loom_sv load_at(loom_fn *fn, const loom_lexpr *e, const LLVMValueRef *indices) {
    const loom_place *place = loom_fn_place(fn, e->aux);
    LLVMValueRef offset = loom_fn_offset(fn, e->aux, indices);
    return loom_fn_load(fn, fn->g->l->values[e->aux].dtype, place->base, offset, place->scope, place->constant);
}

static LLVMValueRef join(loom_fn *fn, LLVMValueRef a, LLVMBasicBlockRef from_a, LLVMValueRef b,
                         LLVMBasicBlockRef from_b) {
    LLVMValueRef phi = LLVMBuildPhi(fn->b, LLVMTypeOf(a), "");
    LLVMAddIncoming(phi, &a, &from_a, 1);
    LLVMAddIncoming(phi, &b, &from_b, 1);
    return phi;
}

static loom_sv join_scalars(loom_fn *fn, loom_sv a, LLVMBasicBlockRef from_a, loom_sv b, LLVMBasicBlockRef from_b) {
    loom_sv r = {join(fn, a.re, from_a, b.re, from_b), NULL};
    if (a.im) r.im = join(fn, a.im, from_a, b.im, from_b);
    return r;
}

static loom_sv build_load(loom_fn *fn, loom_lexpr_id id) {
    const loom_lifted *l = fn->g->l;
    const loom_lexpr *e = &l->exprs[id];
    const loom_lvalue *v = &l->values[e->aux];
    LLVMValueRef indices[LOOM_LIFTED_MAX_AXES], index, extent, ok = NULL;
    for (uint32_t i = 0; i < v->n_axes; i++) {
        bool early = fn->safe[id] && fn->safe[id][i];
        indices[i] = early ? fn->safe[id][i] : fn->memo[loom_lifted_arg(l, e, i)].re;
    }
    if (e->mode != LOOM_LOAD_PROVEN && v->rep == LOOM_REP_IRREGULAR) {
        ok = in_lists(fn, id, indices, &index, &extent);
    } else if (e->mode != LOOM_LOAD_PROVEN) {
        ok = in_range(fn, id, indices, &index, &extent);
    }
    if (ok && e->mode == LOOM_LOAD_CHECKED) loom_fn_raise_if(fn, LLVMBuildNot(fn->b, ok, ""), e->site, index, extent);
    LLVMValueRef some = not_empty(fn, id);
    if (some) ok = ok ? LLVMBuildAnd(fn->b, ok, some, "") : some;
    if (!ok) return load_at(fn, e, indices);
    static const loom_scalar zero;
    loom_sv otherwise =
        e->mode == LOOM_LOAD_DEFAULT ? fn->memo[loom_lifted_arg(l, e, v->n_axes)] : loom_sv_const(fn, v->dtype, zero);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(fn->b), inside = loom_fn_block(fn, "inside"),
                      on = loom_fn_block(fn, "on");
    LLVMBuildCondBr(fn->b, ok, inside, on);
    LLVMPositionBuilderAtEnd(fn->b, inside);
    loom_sv loaded = load_at(fn, e, indices);
    LLVMBuildBr(fn->b, on);
    LLVMPositionBuilderAtEnd(fn->b, on);
    return join_scalars(fn, loaded, inside, otherwise, before);
}

/* ---- control ---- */

static loom_sv *new_results(loom_fn *fn, loom_lexpr_id id, uint32_t n) {
    fn->results[id] = LOOM_NEW_ARRAY(fn->g->arena, loom_sv, (size_t)n + 1);
    return fn->results[id];
}

static void build_if(loom_fn *fn, loom_lexpr_id id) {
    const loom_lifted *l = fn->g->l;
    const loom_lexpr *e = &l->exprs[id];
    uint32_t n = l->blocks[e->blocks[0]].n_results;
    loom_sv *results = new_results(fn, id, n), *other = LOOM_NEW_ARRAY(fn->g->arena, loom_sv, (size_t)n + 1);
    for (uint32_t i = 0; i < fn->n_choices; i++) {
        if (fn->choices[i].condition != loom_lifted_arg(l, e, 0)) continue;
        loom_lblock_id branch = e->blocks[fn->choices[i].holds ? 0 : 1];
        if (!fn->chosen || !fn->chosen[id]) loom_block_reset(fn, branch, NULL);
        loom_block_build(fn, branch, ~(uint64_t)0);
        for (uint32_t j = 0; j < n; j++) results[j] = loom_block_result(fn, branch, j);
        return;
    }
    LLVMBasicBlockRef yes = loom_fn_block(fn, "then"), no = loom_fn_block(fn, "else"), on = loom_fn_block(fn, "on");
    LLVMBuildCondBr(fn->b, fn->memo[loom_lifted_arg(l, e, 0)].re, yes, no);
    LLVMPositionBuilderAtEnd(fn->b, yes);
    loom_block_eval(fn, e->blocks[0], NULL, false, results);
    LLVMBasicBlockRef yes_end = LLVMGetInsertBlock(fn->b);
    LLVMBuildBr(fn->b, on);
    LLVMPositionBuilderAtEnd(fn->b, no);
    loom_block_eval(fn, e->blocks[1], NULL, false, other);
    LLVMBasicBlockRef no_end = LLVMGetInsertBlock(fn->b);
    LLVMBuildBr(fn->b, on);
    LLVMPositionBuilderAtEnd(fn->b, on);
    for (uint32_t i = 0; i < n; i++) results[i] = join_scalars(fn, results[i], yes_end, other[i], no_end);
}

/* The loop itself; results are the states when it has ended. */
static void build_turns(loom_fn *fn, loom_lexpr_id id, loom_sv *results) {
    if (loom_sums_build(fn, id, results)) return;
    const loom_lifted *l = fn->g->l;
    const loom_lexpr *e = &l->exprs[id];
    uint32_t n = e->n_args - 1;
    loom_sv *params = LOOM_NEW_ARRAY(fn->g->arena, loom_sv, (size_t)n + 1),
            *next = LOOM_NEW_ARRAY(fn->g->arena, loom_sv, (size_t)n + 1);
    loom_loop loop;
    loom_loop_open(fn, &loop, loom_fn_i64(fn, 0), fn->memo[loom_lifted_arg(l, e, 0)].re, NULL);
    params[0] = (loom_sv){loop.index, NULL};
    for (uint32_t i = 0; i < n; i++) {
        loom_lexpr_id initial = loom_lifted_arg(l, e, i + 1);
        results[i] = params[i + 1] = loom_loop_carry(fn, &loop, l->exprs[initial].dtype, fn->memo[initial]);
    }
    loom_count_turns(fn, e, 1);
    loom_block_eval(fn, e->blocks[0], params, false, next);
    for (uint32_t i = 0; i < n; i++) loom_loop_next(fn, &loop, results[i], next[i]);
    loom_loop_close(fn, &loop);
}

/* Where an innermost loop has checked loads at an index that is its counter, or the counter plus what does not change
 * in it, there are two: one without these checks, taken where first and last turn are in range, and the loop as it
 * is, which finds out what is wrong. */
static void build_for(loom_fn *fn, loom_lexpr_id id) {
    uint32_t n = fn->g->l->exprs[id].n_args - 1;
    loom_sv *results = new_results(fn, id, n);
    LLVMBasicBlockRef in_range = loom_ranged_open(fn, id);
    if (!in_range) {
        if (loom_ranged_is_known(fn, id)) loom_ranged_prefetch(fn, id);
        build_turns(fn, id, results);
        return;
    }
    loom_sv *other = LOOM_NEW_ARRAY(fn->g->arena, loom_sv, (size_t)n + 1);
    LLVMBasicBlockRef on = loom_fn_block(fn, "on");
    build_turns(fn, id, other);
    LLVMBasicBlockRef other_end = LLVMGetInsertBlock(fn->b);
    LLVMBuildBr(fn->b, on);
    LLVMPositionBuilderAtEnd(fn->b, in_range);
    loom_ranged_mark(fn, id);
    loom_ranged_prefetch(fn, id);
    build_turns(fn, id, results);
    loom_ranged_close(fn, id);
    LLVMBasicBlockRef results_end = LLVMGetInsertBlock(fn->b);
    LLVMBuildBr(fn->b, on);
    LLVMPositionBuilderAtEnd(fn->b, on);
    for (uint32_t i = 0; i < n; i++) results[i] = join_scalars(fn, results[i], results_end, other[i], other_end);
}

static LLVMValueRef state_phi(loom_fn *fn, LLVMValueRef initial, LLVMBasicBlockRef before) {
    LLVMValueRef phi = LLVMBuildPhi(fn->b, LLVMTypeOf(initial), "");
    LLVMAddIncoming(phi, &initial, &before, 1);
    return phi;
}

/* Turns of a loop between two looks at whether anybody still wants its result: some tens of microseconds. */
#define TURNS_BETWEEN_LOOKS 0x8000

/* A loop whose turns nobody has counted may have no end: it leaves when it is told to, or when an error was raised, in
 * which case what the turns go on with is anything. */
static void leave_if_stopped(loom_fn *fn, LLVMValueRef turn, LLVMBasicBlockRef end) {
    loom_gen *g = fn->g;
    LLVMBasicBlockRef look = loom_fn_block(fn, "look"), on = loom_fn_block(fn, "on");
    LLVMValueRef mask = LLVMConstInt(g->i32, TURNS_BETWEEN_LOOKS - 1, 0);
    LLVMValueRef due = LLVMBuildICmp(fn->b, LLVMIntEQ, LLVMBuildAnd(fn->b, turn, mask, ""), mask, "");
    LLVMBuildCondBr(fn->b, due, look, on);
    LLVMPositionBuilderAtEnd(fn->b, look);
    LLVMValueRef stop = LLVMBuildLoad2(fn->b, g->i8, loom_fn_stop(fn), "");
    LLVMSetVolatile(stop, 1);
    LLVMValueRef wanted = LLVMBuildICmp(fn->b, LLVMIntEQ, stop, LLVMConstInt(g->i8, 0, 0), "");
    LLVMBuildCondBr(fn->b, LLVMBuildAnd(fn->b, wanted, loom_fn_is_right(fn), ""), on, end);
    LLVMPositionBuilderAtEnd(fn->b, on);
}

static void build_while(loom_fn *fn, loom_lexpr_id id) {
    const loom_lifted *l = fn->g->l;
    const loom_lexpr *e = &l->exprs[id];
    uint32_t n = e->n_args;
    loom_sv *state = new_results(fn, id, n), *next = LOOM_NEW_ARRAY(fn->g->arena, loom_sv, (size_t)n + 1), test;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(fn->b), head = loom_fn_block(fn, "while");
    LLVMBasicBlockRef step = loom_fn_block(fn, "step"), end = loom_fn_block(fn, "end");
    LLVMBuildBr(fn->b, head);
    LLVMPositionBuilderAtEnd(fn->b, head);
    for (uint32_t i = 0; i < n; i++) {
        loom_sv initial = fn->memo[loom_lifted_arg(l, e, i)];
        state[i].re = state_phi(fn, initial.re, before);
        if (initial.im) state[i].im = state_phi(fn, initial.im, before);
    }
    LLVMValueRef turn = state_phi(fn, LLVMConstInt(fn->g->i32, 0, 0), before);
    loom_block_eval(fn, e->blocks[0], state, false, &test);
    LLVMBuildCondBr(fn->b, test.re, step, end);
    LLVMPositionBuilderAtEnd(fn->b, step);
    loom_block_eval(fn, e->blocks[1], state, false, next);
    leave_if_stopped(fn, turn, end);
    for (uint32_t i = 0; i < n; i++) loom_loop_next(fn, NULL, state[i], next[i]);
    LLVMValueRef more = LLVMBuildAdd(fn->b, turn, LLVMConstInt(fn->g->i32, 1, 0), "");
    LLVMBasicBlockRef back = LLVMGetInsertBlock(fn->b);
    LLVMAddIncoming(turn, &more, &back, 1);
    LLVMBuildBr(fn->b, head);
    LLVMPositionBuilderAtEnd(fn->b, end);
}

/* ---- expressions ---- */

static loom_sv build_check(loom_fn *fn, const loom_lexpr *e) {
    const loom_lifted *l = fn->g->l;
    LLVMValueRef number[2] = {NULL, NULL};
    for (uint32_t i = 2; i < e->n_args && i < 4; i++) number[i - 2] = fn->memo[loom_lifted_arg(l, e, i)].re;
    LLVMValueRef bad = LLVMBuildNot(fn->b, fn->memo[loom_lifted_arg(l, e, 0)].re, "");
    loom_fn_raise_if(fn, bad, e->site, number[0], number[1]);
    return fn->memo[loom_lifted_arg(l, e, 1)];
}

static loom_sv build_prim(loom_fn *fn, const loom_lexpr *e) {
    const loom_lifted *l = fn->g->l;
    loom_sv args[3];
    for (uint32_t i = 0; i < e->n_args && i < 3; i++) args[i] = fn->memo[loom_lifted_arg(l, e, i)];
    loom_dtype operand = l->exprs[loom_lifted_arg(l, e, 0)].dtype;
    return loom_sv_prim(fn, (loom_prim)e->prim, operand, e->dtype, args, e->site);
}

void loom_expr_build(loom_fn *fn, loom_lexpr_id id) {
    loom_gen *g = fn->g;
    const loom_lifted *l = g->l;
    const loom_lexpr *e = &l->exprs[id];
    loom_sv *to = &fn->memo[id];
    loom_fn_note_expr(fn, id);
    loom_count_expr(fn, e, 1);
    switch ((loom_lexpr_kind)e->kind) {
    case LOOM_LX_CONST: *to = loom_sv_const(fn, e->dtype, e->imm); break;
    case LOOM_LX_AXIS: *to = (loom_sv){fn->axis[e->aux], NULL}; break;
    case LOOM_LX_PARAM: *to = fn->params[g->owner[id]][e->aux]; break;
    case LOOM_LX_EXTENT: *to = (loom_sv){loom_fn_extent(fn, e->aux), NULL}; break;
    case LOOM_LX_LOAD: *to = build_load(fn, id); break;
    case LOOM_LX_PRIM: *to = build_prim(fn, e); break;
    case LOOM_LX_CONVERT: {
        loom_lexpr_id from = loom_lifted_arg(l, e, 0);
        *to = loom_sv_convert(fn, l->exprs[from].dtype, e->dtype, fn->memo[from]);
        break;
    }
    case LOOM_LX_IF: build_if(fn, id); break;
    case LOOM_LX_FOR: build_for(fn, id); break;
    case LOOM_LX_WHILE: build_while(fn, id); break;
    case LOOM_LX_RESULT: *to = fn->results[loom_lifted_arg(l, e, 0)][e->aux]; break;
    case LOOM_LX_CHECK: *to = build_check(fn, e); break;
    }
    if (inner_blocks(e))
        *to = loom_lifted_results(l, e) ? fn->results[id][0] : (loom_sv){LLVMConstInt(g->i1, 1, 0), NULL};
}

void loom_block_reset(loom_fn *fn, loom_lblock_id block, const loom_sv *params) {
    const loom_lblock *b = &fn->g->l->blocks[block];
    fn->params[block] = params;
    for (loom_lexpr_id e = b->first; e < b->end; e++) {
        fn->memo[e] = (loom_sv){NULL, NULL};
        fn->safe[e] = NULL;
    }
}

void loom_block_build(loom_fn *fn, loom_lblock_id block, uint64_t known) {
    const loom_gen *g = fn->g;
    const loom_lblock *b = &g->l->blocks[block];
    for (loom_lexpr_id e = b->first; e < b->end; e++) {
        if (g->owner[e] != block || fn->memo[e].re || (fn->wanted && !fn->wanted[e])) continue;
        const loom_lexpr *x = &g->l->exprs[e];
        if (!(g->mask[e] & ~known)) {
            loom_expr_build(fn, e);
        } else if (x->kind == LOOM_LX_LOAD && x->mode == LOOM_LOAD_CHECKED) {
            check_early(fn, e, known);
        }
    }
}

static void forget_early_checks(loom_fn *fn, loom_lexpr_id id, uint64_t known) {
    const loom_lifted *l = fn->g->l;
    const loom_lexpr *e = &l->exprs[id];
    if (!fn->safe[id]) return;
    LLVMValueRef *kept = LOOM_NEW_ARRAY(fn->g->arena, LLVMValueRef, l->values[e->aux].n_axes);
    for (uint32_t i = 0; i < l->values[e->aux].n_axes; i++) {
        if (!(fn->g->mask[loom_lifted_arg(l, e, i)] & ~known)) kept[i] = fn->safe[id][i];
    }
    fn->safe[id] = kept;
}

void loom_block_forget(loom_fn *fn, loom_lblock_id block, uint64_t known) {
    const loom_lblock *b = &fn->g->l->blocks[block];
    for (loom_lexpr_id e = b->first; e < b->end; e++) {
        if (!(fn->g->mask[e] & ~known)) continue;
        fn->memo[e] = (loom_sv){NULL, NULL};
        forget_early_checks(fn, e, known);
    }
}

static bool has_check(const loom_gen *g, loom_lexpr_id id) {
    const loom_lexpr *e = &g->l->exprs[id];
    if (e->kind == LOOM_LX_CHECK) return true;
    for (uint32_t b = 0; b < inner_blocks(e); b++) {
        const loom_lblock *block = &g->l->blocks[e->blocks[b]];
        for (loom_lexpr_id inner = block->first; inner < block->end; inner++) {
            if (g->l->exprs[inner].kind == LOOM_LX_CHECK) return true;
        }
    }
    return false;
}

bool *loom_block_needs(const loom_gen *g, loom_lblock_id block, uint32_t from, uint32_t to, bool effects) {
    const loom_lblock *b = &g->l->blocks[block];
    bool *need = LOOM_NEW_ARRAY(g->arena, bool, (size_t)g->l->n_exprs + 1);
    for (uint32_t i = from; i < to; i++) need[b->results[i]] = true;
    for (loom_lexpr_id e = b->end; e-- > b->first;) {
        const loom_lexpr *x = &g->l->exprs[e];
        /* Inner expressions are built with the one that owns their block, so all of them are needed. */
        if (g->owner[e] != block || (effects && has_check(g, e))) need[e] = true;
        if (!need[e]) continue;
        for (uint32_t i = 0; i < x->n_args; i++) need[loom_lifted_arg(g->l, x, i)] = true;
        for (uint32_t k = 0; k < inner_blocks(x); k++) {
            const loom_lblock *inner = &g->l->blocks[x->blocks[k]];
            for (uint32_t i = 0; i < inner->n_results; i++) need[inner->results[i]] = true;
        }
    }
    return need;
}

loom_sv loom_block_result(loom_fn *fn, loom_lblock_id block, uint32_t i) {
    return fn->memo[fn->g->l->blocks[block].results[i]];
}

/* a + x with a the state of result i and x its new value: written either way round. */
static bool joins_param(const loom_lifted *l, const loom_lblock *b, uint32_t i) {
    const loom_lexpr *e = &l->exprs[b->results[i]];
    if (e->kind != LOOM_LX_PRIM || e->n_args != 2) return false;
    const loom_lexpr *x = &l->exprs[loom_lifted_arg(l, e, 0)], *y = &l->exprs[loom_lifted_arg(l, e, 1)];
    uint32_t least = x->aux < y->aux ? x->aux : y->aux;
    return x->kind == LOOM_LX_PARAM && y->kind == LOOM_LX_PARAM && least == i &&
           x->aux + y->aux == 2 * i + b->n_results;
}

/* a + x and a * x of a reduction may be reordered: the language says that operators are associative. Only the
 * accumulation itself: what else the operator computes (a compensated sum, say) stays as written. */
static void allow_reassociation(loom_fn *fn, const loom_lblock *b) {
    const loom_lifted *l = fn->g->l;
    for (uint32_t i = 0; i < b->n_results; i++) {
        const loom_lexpr *e = &l->exprs[b->results[i]];
        bool plain = e->kind == LOOM_LX_PRIM &&
                     (e->prim == LOOM_PRIM_ADD || (e->prim == LOOM_PRIM_MUL && loom_dtype_is_float(e->dtype)));
        if (!plain || (!loom_dtype_is_float(e->dtype) && !loom_dtype_is_complex(e->dtype))) continue;
        if (!joins_param(l, b, i)) continue;
        loom_sv v = fn->memo[b->results[i]];
        if (LLVMCanValueUseFastMathFlags(v.re)) LLVMSetFastMathFlags(v.re, LLVMFastMathAllowReassoc);
        if (v.im && LLVMCanValueUseFastMathFlags(v.im)) LLVMSetFastMathFlags(v.im, LLVMFastMathAllowReassoc);
    }
}

void loom_operator_extremes(loom_fn *fn, loom_lblock_id block, const loom_sv *start, const loom_sv *params,
                            loom_sv *results) {
    const loom_lifted *l = fn->g->l;
    const loom_lblock *b = &l->blocks[block];
    for (uint32_t i = 0; i < b->n_results; i++) {
        const loom_lexpr *e = &l->exprs[b->results[i]];
        if (!loom_dtype_is_float(e->dtype) || !joins_param(l, b, i)) continue;
        LLVMBool rounded;
        bool number = LLVMIsAConstantFP(start[i].re) && !isnan(LLVMConstRealGetDouble(start[i].re, &rounded));
        bool least = e->prim == LOOM_PRIM_MIN;
        if (e->prim != LOOM_PRIM_MAX && !(least && number)) continue;
        results[i].re = loom_float_extreme_step(fn, least, params[i].re, params[b->n_results + i].re);
    }
}

void loom_block_eval(loom_fn *fn, loom_lblock_id block, const loom_sv *params, bool reassociate, loom_sv *results) {
    const loom_lblock *b = &fn->g->l->blocks[block];
    loom_block_reset(fn, block, params);
    loom_block_build(fn, block, ~(uint64_t)0);
    if (reassociate) allow_reassociation(fn, b);
    for (uint32_t i = 0; i < b->n_results; i++) results[i] = fn->memo[b->results[i]];
}
