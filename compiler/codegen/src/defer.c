/* Checks of an innermost loop, put off until the loop has ended. See gen.h. */
#include "gen.h"

/* Bodies with loops of their own are not vectorised, so there is nothing to win. */
static bool has_loops(const loom_gen *g, loom_lblock_id body, uint32_t position) {
    const loom_lblock *b = &g->l->blocks[body];
    for (loom_lexpr_id e = b->first; e < b->end; e++) {
        uint8_t kind = g->l->exprs[e].kind;
        if ((kind == LOOM_LX_FOR || kind == LOOM_LX_WHILE) && (g->mask[e] & (uint64_t)1 << position)) return true;
    }
    return false;
}

bool loom_defer_open(loom_fn *fn, loom_lblock_id body, uint32_t position) {
    if (fn->rare || fn->defer || has_loops(fn->g, body, position)) return false;
    fn->defer = LLVMBuildAlloca(fn->entry, fn->g->i32, "");
    fn->deferred = false;
    LLVMBuildStore(fn->b, LLVMConstInt(fn->g->i32, 0, 0), fn->defer);
    return true;
}

/* Whatever the second look said, the loop has used a value that is none: an error it is. */
static void raise_anyway(loom_fn *fn) {
    loom_gen *g = fn->g;
    LLVMBasicBlockRef raise = loom_fn_block(fn, "raise"), on = loom_fn_block(fn, "on");
    LLVMValueRef address = LLVMBuildStructGEP2(fn->b, g->frame_type, fn->frame, 3, "");
    LLVMValueRef error = LLVMBuildLoad2(fn->b, g->ptr, address, "");
    LLVMValueRef raised = LLVMBuildLoad2(fn->b, g->i32, LLVMBuildStructGEP2(fn->b, g->error_type, error, 2, ""), "");
    LLVMBuildCondBr(fn->b, LLVMBuildICmp(fn->b, LLVMIntEQ, raised, LLVMConstInt(g->i32, 0, 0), ""), raise, on);
    LLVMPositionBuilderAtEnd(fn->b, raise);
    loom_fn_raise(fn, fn->deferred_site, NULL, NULL);
    LLVMBuildBr(fn->b, on);
    LLVMPositionBuilderAtEnd(fn->b, on);
}

static void mark_unlikely(const loom_gen *g, LLVMValueRef branch) {
    LLVMMetadataRef parts[] = {LLVMMDStringInContext2(g->context, "branch_weights", 14),
                               LLVMValueAsMetadata(LLVMConstInt(g->i32, 1, 0)),
                               LLVMValueAsMetadata(LLVMConstInt(g->i32, 1 << 20, 0))};
    LLVMValueRef weights = LLVMMetadataAsValue(g->context, LLVMMDNodeInContext2(g->context, parts, 3));
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(g->context, "prof", 4), weights);
}

LLVMBasicBlockRef loom_defer_look(loom_fn *fn) {
    loom_gen *g = fn->g;
    LLVMValueRef flag = fn->defer;
    fn->defer = NULL;
    if (!fn->deferred) return NULL;
    LLVMBasicBlockRef again = loom_fn_block(fn, "again"), on = loom_fn_block(fn, "on");
    LLVMValueRef set =
        LLVMBuildICmp(fn->b, LLVMIntNE, LLVMBuildLoad2(fn->b, g->i32, flag, ""), LLVMConstInt(g->i32, 0, 0), "");
    mark_unlikely(g, LLVMBuildCondBr(fn->b, set, again, on));
    LLVMPositionBuilderAtEnd(fn->b, again);
    return on;
}

void loom_defer_end(loom_fn *fn, LLVMBasicBlockRef on) {
    raise_anyway(fn);
    LLVMBuildBr(fn->b, on);
    LLVMPositionBuilderAtEnd(fn->b, on);
}

void loom_defer_close(loom_fn *fn, loom_lblock_id body, uint64_t known, uint32_t position, LLVMValueRef lo,
                      LLVMValueRef hi) {
    LLVMBasicBlockRef on = loom_defer_look(fn);
    if (!on) return;
    loom_block_forget(fn, body, known);
    loom_loop loop;
    loom_loop_open(fn, &loop, lo, hi, NULL);
    fn->axis[position] = loop.index;
    LLVMValueRef element = fn->element;
    if (position == 0) fn->element = loop.index;
    loom_block_build(fn, body, known | (uint64_t)1 << position);
    fn->element = element;
    loom_loop_close(fn, &loop);
    loom_defer_end(fn, on);
}

void loom_operator_eval(loom_fn *fn, loom_lblock_id block, const loom_sv *params, bool reassociate, loom_sv *results) {
    LLVMValueRef defer = fn->defer;
    const bool *wanted = fn->wanted;
    fn->defer = NULL;
    fn->wanted = NULL;
    loom_block_eval(fn, block, params, reassociate, results);
    fn->defer = defer;
    fn->wanted = wanted;
}
