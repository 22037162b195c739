/* Code that counts its work, so that it can be held against the interpreter's.
 *
 * Rule. What is counted is what runs: each evaluation of a primitive or a conversion where its code stands, in the loop
 * and in the branch that it was put into, as much as the table of primitives says; each scalar stored in an array of
 * the program; and apart from these, each length of a list. A function adds up in variables of its own, which become
 * registers, and adds these to the thread's counters when it ends. Where the number of turns of a loop is known before
 * it runs, LLVM makes one multiplication of the additions in it. Addresses and bounds of loops are not counted, but
 * index arithmetic that a pass has written as expressions is.
 *
 * Example: for i in [from, to): y[i] = exp(x[i]) counts 20 (to - from) evaluations and to - from scalars moved. */
#include "gen.h"

enum {
    FRAME_WORK = 6 /* loom_kernel_frame.work */
};

void loom_count_prepare(loom_gen *g) {
    const loom_lifted *l = g->l;
    g->is_descriptor = LOOM_NEW_ARRAY(g->arena, bool, (size_t)l->n_values + 1);
    for (loom_axis_id a = 0; a < l->n_axes; a++) {
        if (l->axes[a].kind == LOOM_AXIS_SEGMENTED) g->is_descriptor[l->axes[a].lengths] = true;
    }
}

void loom_count_open(loom_fn *fn) {
    loom_gen *g = fn->g;
    for (uint32_t c = 0; g->count && c < LOOM_COUNTED; c++) {
        fn->counted[c] = LLVMBuildAlloca(fn->entry, g->i64, "");
        LLVMBuildStore(fn->entry, loom_fn_i64(fn, 0), fn->counted[c]);
    }
}

void loom_count_close(loom_fn *fn) {
    loom_gen *g = fn->g;
    if (!g->count) return;
    LLVMValueRef address = LLVMBuildStructGEP2(fn->b, g->frame_type, fn->frame, FRAME_WORK, "");
    LLVMValueRef work = LLVMBuildLoad2(fn->b, g->ptr, address, "");
    for (uint32_t c = 0; c < LOOM_COUNTED; c++) {
        LLVMValueRef number = loom_fn_i64(fn, c), to = LLVMBuildInBoundsGEP2(fn->b, g->i64, work, &number, 1, "");
        LLVMValueRef more = LLVMBuildLoad2(fn->b, g->i64, fn->counted[c], "");
        LLVMBuildStore(fn->b, LLVMBuildAdd(fn->b, LLVMBuildLoad2(fn->b, g->i64, to, ""), more, ""), to);
    }
}

void loom_count(loom_fn *fn, loom_counted what, uint64_t n) {
    if (!fn->g->count || n == 0) return;
    LLVMValueRef before = LLVMBuildLoad2(fn->b, fn->g->i64, fn->counted[what], "");
    LLVMBuildStore(fn->b, LLVMBuildAdd(fn->b, before, loom_fn_i64(fn, (int64_t)n), ""), fn->counted[what]);
}

void loom_count_store(loom_fn *fn, loom_lvalue_id value) {
    bool descriptor = fn->g->is_descriptor && fn->g->is_descriptor[value];
    loom_count(fn, descriptor ? LOOM_COUNTED_DESCRIPTORS : LOOM_COUNTED_MOVED, 1);
}

void loom_count_expr(loom_fn *fn, const loom_lexpr *e, uint64_t n) {
    uint64_t work = e->kind == LOOM_LX_PRIM ? loom_prim_counted((loom_prim)e->prim) : e->kind == LOOM_LX_CONVERT;
    loom_count(fn, LOOM_COUNTED_EVALUATIONS, n * work);
}

/* As the interpreter counts it: the counter is tested and goes on. What is a fold in the program has none. */
void loom_count_turns(loom_fn *fn, const loom_lexpr *e, uint64_t n) {
    if (e->mode == LOOM_FOR_LOOP) loom_count(fn, LOOM_COUNTED_EVALUATIONS, 2 * n);
}
