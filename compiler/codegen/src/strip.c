/* Kernel of a strip region: for each strip of elements all operations of the region, one after another, with what only
 * the region uses in the thread's scratch memory.
 *
 * Scratch is divided into slots. A value takes a free slot when it is made and gives it back after its last use; a
 * transform whose argument dies takes over its slot. Values of one slot follow each other in time and share an alias
 * scope. */
#include "compiler/schedule/reads.h"
#include "gen.h"
#include <string.h>

typedef struct slot {
    uint64_t bytes, offset;
    bool taken;
    uint32_t scope;
} slot;

typedef struct strip {
    loom_gen *g;
    const loom_region *region;
    LOOM_VEC(slot) slots;
    uint32_t *slot_of; /* per value */
    loom_lop_id *last; /* per value: last reader in the region */
} strip;

static uint64_t bytes_for(const strip *s, loom_lvalue_id id) {
    const loom_lvalue *v = &s->g->l->values[id];
    uint64_t bytes = loom_dtype_size(v->dtype) * (uint64_t)s->region->strip;
    for (uint32_t i = 1; i < v->n_axes; i++) {
        const loom_axis *axis = &s->g->l->axes[v->axes[i]];
        if (axis->kind != LOOM_AXIS_CONST)
            loom_gen_fail(s->g, "value %u cannot live in a strip: its size is not known", id);
        bytes *= (uint64_t)axis->extent;
    }
    return (bytes + 63) & ~(uint64_t)63;
}

/* The free slot that fits best: the smallest that is large enough, else the largest, which grows. */
static uint32_t take_slot(strip *s, uint64_t bytes) {
    uint32_t best = LOOM_NONE;
    for (uint32_t i = 0; i < s->slots.count; i++) {
        const slot *x = &s->slots.at[i], *b = best == LOOM_NONE ? NULL : &s->slots.at[best];
        if (x->taken) continue;
        bool fits = x->bytes >= bytes;
        if (!b || (fits ? b->bytes < bytes || x->bytes < b->bytes : b->bytes < bytes && x->bytes > b->bytes)) best = i;
    }
    if (best == LOOM_NONE) {
        slot fresh = {.bytes = 0};
        LOOM_PUSH(s->g->arena, s->slots, fresh);
        best = (uint32_t)s->slots.count - 1;
    }
    slot *x = &s->slots.at[best];
    x->taken = true;
    x->bytes = x->bytes < bytes ? bytes : x->bytes;
    return best;
}

typedef struct reader {
    strip *s;
    loom_lop_id op;
} reader;

static void note_last(void *context, loom_lvalue_id value) {
    reader *r = context;
    r->s->last[value] = r->op;
}

static void assign_slots(strip *s) {
    const loom_lifted *l = s->g->l;
    for (loom_lop_id id = s->region->first; id < s->region->end; id++)
        loom_lifted_reads(l, id, note_last, &(reader){s, id});
    for (loom_lop_id id = s->region->first; id < s->region->end; id++) {
        const loom_lop *op = &l->ops[id];
        for (uint32_t j = 0; j < op->n_results; j++) {
            loom_lvalue_id r = op->results[j];
            if (!l->values[r].strip) continue;
            loom_lvalue_id argument = op->kind == LOOM_LO_FFT ? op->args[0] : LOOM_NONE;
            bool in_place = argument != LOOM_NONE && l->values[argument].strip && s->last[argument] == id;
            s->slot_of[r] = in_place ? s->slot_of[argument] : take_slot(s, bytes_for(s, r));
        }
        for (loom_lvalue_id v = 0; v < l->n_values; v++) {
            if (!l->values[v].strip || s->slot_of[v] == LOOM_NONE || s->last[v] != id) continue;
            bool moved = op->kind == LOOM_LO_FFT && op->args[0] == v && l->values[op->results[0]].strip;
            if (!moved) s->slots.at[s->slot_of[v]].taken = false;
        }
        /* A result that nobody reads gives its slot back at once. */
        for (uint32_t j = 0; j < op->n_results; j++) {
            loom_lvalue_id r = op->results[j];
            if (l->values[r].strip && s->last[r] == LOOM_NONE) s->slots.at[s->slot_of[r]].taken = false;
        }
    }
    uint64_t at = 0;
    for (size_t i = 0; i < s->slots.count; i++) {
        s->slots.at[i].offset = at;
        at += s->slots.at[i].bytes;
    }
}

static uint64_t scratch_bytes(const strip *s) {
    if (!s->slots.count) return 0;
    const slot *last = &s->slots.at[s->slots.count - 1];
    return last->offset + last->bytes;
}

static void place_values(strip *s, loom_fn *fn, LLVMValueRef origin) {
    loom_gen *g = s->g;
    LLVMValueRef scratch = NULL;
    for (size_t i = 0; i < s->slots.count; i++) s->slots.at[i].scope = loom_fn_new_scope(fn);
    for (loom_lvalue_id v = 0; v < g->l->n_values; v++) {
        if (!g->l->values[v].strip || s->slot_of[v] == LOOM_NONE) continue;
        if (!scratch) {
            LLVMValueRef address = LLVMBuildStructGEP2(fn->entry, g->frame_type, fn->frame, 2, "");
            scratch = LLVMBuildLoad2(fn->entry, g->ptr, address, "scratch");
            LLVMSetMetadata(scratch, g->md_align, g->align64_md);
        }
        const slot *x = &s->slots.at[s->slot_of[v]];
        LLVMValueRef offset = loom_fn_i64(fn, (int64_t)x->offset);
        LLVMValueRef base = LLVMBuildInBoundsGEP2(fn->entry, g->i8, scratch, &offset, 1, "");
        loom_fn_note_place(fn, v);
        fn->place[v] = (loom_place){.base = base, .chunk_origin = origin, .scope = x->scope};
    }
}

/* Address of the strip's first element of a value. */
static LLVMValueRef strip_address(loom_fn *fn, loom_lvalue_id value, LLVMValueRef origin) {
    const loom_lvalue *v = &fn->g->l->values[value];
    const loom_place *place = loom_fn_place(fn, value);
    if (place->chunk_origin) return place->base;
    LLVMValueRef offset = origin;
    for (uint32_t i = 1; i < v->n_axes; i++)
        offset = LLVMBuildNSWMul(fn->b, offset, loom_fn_extent(fn, v->axes[i]), "");
    offset = LLVMBuildNSWMul(fn->b, offset, loom_fn_i64(fn, (int64_t)loom_dtype_size(v->dtype)), "");
    return LLVMBuildInBoundsGEP2(fn->b, fn->g->i8, place->base, &offset, 1, "");
}

static void call_fft(loom_fn *fn, loom_lop_id id, LLVMValueRef from, LLVMValueRef to) {
    loom_gen *g = fn->g;
    const loom_lop *op = &g->l->ops[id];
    const loom_lvalue *v = &g->l->values[op->results[0]];
    LLVMValueRef batch = LLVMBuildNSWSub(fn->b, to, from, "");
    for (uint32_t i = 1; i + op->fft_rank < v->n_axes; i++)
        batch = LLVMBuildNSWMul(fn->b, batch, loom_fn_extent(fn, v->axes[i]), "");
    LLVMTypeRef types[] = {g->ptr, g->i32, g->ptr, g->ptr, g->i64};
    LLVMValueRef runtime =
        LLVMBuildLoad2(fn->b, g->ptr, LLVMBuildStructGEP2(fn->b, g->frame_type, fn->frame, 4, ""), "");
    LLVMValueRef callee =
        LLVMBuildLoad2(fn->b, g->ptr, LLVMBuildStructGEP2(fn->b, g->runtime_type, runtime, 1, ""), "");
    LLVMValueRef arguments[] = {fn->frame, LLVMConstInt(g->i32, loom_gen_fft(g, id), 0),
                                strip_address(fn, op->args[0], from), strip_address(fn, op->results[0], from), batch};
    LLVMBuildCall2(fn->b, LLVMFunctionType(g->none, types, 5, 0), callee, arguments, 5, "");
}

/* One operation over one strip as a function of its own: together they would make a function that takes the register
 * allocator time out of proportion. A call a strip costs nothing. */
static LLVMValueRef operation_function(strip *s, const char *symbol, loom_lop_id id, bool *touched) {
    loom_gen *g = s->g;
    loom_fn fn;
    LLVMTypeRef parameters[] = {g->i64, g->i64};
    loom_fn_open(g, &fn, loom_arena_printf(g->arena, "%s_%u", symbol, id - s->region->first), parameters, 2);
    LLVMSetLinkage(fn.function, LLVMInternalLinkage);
    loom_gen_attribute(g, fn.function, "noinline");
    LLVMValueRef from = loom_fn_param(&fn, 1);
    place_values(s, &fn, from);
    loom_nest(&fn, id, &(loom_bounds){.position = 0, .from = from, .to = loom_fn_param(&fn, 2)});
    loom_fn_close(&fn);
    loom_fn_add_touched(&fn, touched);
    return fn.function;
}

static void run_strip(strip *s, loom_fn *fn, LLVMValueRef *functions, LLVMValueRef from, LLVMValueRef to) {
    loom_gen *g = s->g;
    for (loom_lop_id id = s->region->first; id < s->region->end; id++) {
        LLVMValueRef function = functions[id - s->region->first], arguments[] = {fn->frame, from, to};
        if (!function) {
            call_fft(fn, id, from, to);
        } else {
            LLVMBuildCall2(fn->b, LLVMGlobalGetValueType(function), function, arguments, 3, "");
        }
        if (g->l->ops[id].kind == LOOM_LO_CHECK) loom_fn_end_if_raised(fn);
    }
}

uint32_t loom_gen_strip(loom_gen *g, const loom_region *region, bool *touched) {
    strip s = {.g = g,
               .region = region,
               .slot_of = LOOM_NEW_ARRAY(g->arena, uint32_t, (size_t)g->l->n_values + 1),
               .last = LOOM_NEW_ARRAY(g->arena, loom_lop_id, (size_t)g->l->n_values + 1)};
    memset(s.slot_of, 0xff, g->l->n_values * sizeof *s.slot_of);
    memset(s.last, 0xff, g->l->n_values * sizeof *s.last);
    assign_slots(&s);
    uint32_t kernel = loom_gen_kernel(g, "strip");
    g->kernels.at[kernel].scratch = scratch_bytes(&s);
    const char *symbol = g->kernels.at[kernel].symbol;
    LLVMValueRef *functions = LOOM_NEW_ARRAY(g->arena, LLVMValueRef, (size_t)(region->end - region->first) + 1);
    for (loom_lop_id id = region->first; id < region->end; id++) {
        if (g->l->ops[id].kind != LOOM_LO_FFT)
            functions[id - region->first] = operation_function(&s, symbol, id, touched);
    }
    loom_fn fn;
    LLVMTypeRef parameters[] = {g->i64, g->i64};
    loom_fn_open(g, &fn, symbol, parameters, 2);
    loom_loop loop;
    LLVMValueRef length = loom_fn_i64(&fn, region->strip), to = loom_fn_param(&fn, 2);
    loom_loop_open(&fn, &loop, loom_fn_param(&fn, 1), to, length);
    LLVMValueRef end = LLVMBuildNSWAdd(fn.b, loop.index, length, "");
    end = LLVMBuildSelect(fn.b, LLVMBuildICmp(fn.b, LLVMIntSLT, end, to, ""), end, to, "");
    place_values(&s, &fn, loop.index);
    run_strip(&s, &fn, functions, loop.index, end);
    loom_loop_close(&fn, &loop);
    loom_fn_close(&fn);
    loom_fn_add_touched(&fn, touched);
    return kernel;
}
