/* Functions under construction: entry block, places of values, loads and stores with alias scopes, loops, errors.
 *
 * The entry block holds what does not change in a call: pointers of buffers and extents, loaded when first asked for.
 * Every load and store carries the scope of the memory it touches; when the function is closed each is told not to
 * alias the other scopes of the function, without which no loop over two buffers could be vectorised. */
#include "gen.h"
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAME_BUFFERS,
    FRAME_EXTENTS,
    FRAME_SCRATCH,
    FRAME_ERROR,
    FRAME_RUNTIME,
    FRAME_STOP = 7
};

void loom_gen_fail(loom_gen *g, const char *format, ...) {
    if (g->error) return;
    va_list arguments;
    va_start(arguments, format);
    g->error = loom_verror(LOOM_E_INTERNAL, format, arguments);
    va_end(arguments);
}

LLVMValueRef loom_fn_i64(const loom_fn *fn, int64_t value) {
    return LLVMConstInt(fn->g->i64, (unsigned long long)value, 1);
}

LLVMBasicBlockRef loom_fn_block(loom_fn *fn, const char *name) {
    return LLVMAppendBasicBlockInContext(fn->g->context, fn->function, name);
}

LLVMValueRef loom_fn_param(const loom_fn *fn, uint32_t i) {
    return LLVMGetParam(fn->function, i);
}

uint32_t loom_fn_new_scope(loom_fn *fn) {
    return fn->n_scopes++;
}

/* ---- tables ---- */

/* What is known of the stage's expressions, values and extents while a function is built. A function has to do with few
 * of them, so each puts its tables back as it found them, empty, for the next one: tables made anew for thousands of
 * kernels would take time and memory that grow with the square of the program. `params` is written before it is read.
 */
typedef struct loom_fn_tables {
    size_t n_extents; /* that there is room for */
    LLVMValueRef *extent;
    loom_place *place;
    loom_sv *memo;
    loom_sv **results;
    LLVMValueRef **safe;
    uint64_t *ranged;
    const loom_sv **params;
    LOOM_VEC(uint32_t) extents; /* entries that may not be empty */
    LOOM_VEC(loom_lvalue_id) places;
    LOOM_VEC(loom_lexpr_id) exprs;
    struct loom_fn_tables *next;
} loom_fn_tables;

static loom_fn_tables *new_tables(loom_gen *g) {
    loom_fn_tables *t = LOOM_NEW(g->arena, loom_fn_tables);
    size_t n = (size_t)g->l->n_exprs + 1;
    t->place = LOOM_NEW_ARRAY(g->arena, loom_place, (size_t)g->l->n_values + 1);
    t->memo = LOOM_NEW_ARRAY(g->arena, loom_sv, n);
    t->results = LOOM_NEW_ARRAY(g->arena, loom_sv *, n);
    t->safe = LOOM_NEW_ARRAY(g->arena, LLVMValueRef *, n);
    t->ranged = LOOM_NEW_ARRAY(g->arena, uint64_t, n);
    t->params = LOOM_NEW_ARRAY(g->arena, const loom_sv *, (size_t)g->l->n_blocks + 1);
    return t;
}

static void take_tables(loom_fn *fn) {
    loom_gen *g = fn->g;
    loom_fn_tables *t = g->unused ? g->unused : new_tables(g);
    g->unused = t->next;
    if (t->n_extents < g->extents.count + 1) {
        t->n_extents = 2 * (g->extents.count + 1);
        t->extent = LOOM_NEW_ARRAY(g->arena, LLVMValueRef, t->n_extents);
    }
    fn->tables = t;
    fn->extent = t->extent;
    fn->place = t->place;
    fn->memo = t->memo;
    fn->results = t->results;
    fn->safe = t->safe;
    fn->ranged = t->ranged;
    fn->params = t->params;
}

static void give_tables_back(loom_fn *fn) {
    loom_fn_tables *t = fn->tables;
    for (size_t i = 0; i < t->extents.count; i++) t->extent[t->extents.at[i]] = NULL;
    for (size_t i = 0; i < t->places.count; i++) t->place[t->places.at[i]] = (loom_place){.base = NULL};
    for (size_t i = 0; i < t->exprs.count; i++) {
        loom_lexpr_id id = t->exprs.at[i];
        t->memo[id] = (loom_sv){NULL, NULL};
        t->results[id] = NULL;
        t->safe[id] = NULL;
        t->ranged[id] = 0;
    }
    t->extents.count = t->places.count = t->exprs.count = 0;
    t->next = fn->g->unused;
    fn->g->unused = t;
}

void loom_fn_note_expr(loom_fn *fn, loom_lexpr_id id) {
    LOOM_PUSH(fn->g->arena, fn->tables->exprs, id);
}

void loom_fn_note_place(loom_fn *fn, loom_lvalue_id value) {
    LOOM_PUSH(fn->g->arena, fn->tables->places, value);
}

void loom_fn_add_touched(const loom_fn *fn, bool *touched) {
    for (size_t i = 0; i < fn->touched.count; i++) touched[fn->touched.at[i]] = true;
}

/* ---- opening and closing ---- */

void loom_fn_open(loom_gen *g, loom_fn *fn, const char *symbol, const LLVMTypeRef *parameters, uint32_t n) {
    LLVMTypeRef types[8] = {g->ptr};
    memcpy(types + 1, parameters, n * sizeof *types);
    *fn = (loom_fn){.g = g, .op = LOOM_NONE};
    fn->function = LLVMAddFunction(g->module, symbol, LLVMFunctionType(g->none, types, n + 1, 0));
    take_tables(fn);
    fn->n_scopes = (uint32_t)g->buffers.count;
    LLVMBasicBlockRef entry = loom_fn_block(fn, "entry");
    fn->body = loom_fn_block(fn, "body");
    fn->exit = loom_fn_block(fn, "done");
    fn->entry = LLVMCreateBuilderInContext(g->context);
    fn->b = LLVMCreateBuilderInContext(g->context);
    LLVMPositionBuilderAtEnd(fn->entry, entry);
    LLVMPositionBuilderAtEnd(fn->b, fn->body);
    fn->frame = LLVMGetParam(fn->function, 0);
    loom_count_open(fn);
}

static LLVMMetadataRef scope_node(const loom_gen *g, LLVMMetadataRef domain, uint32_t scope) {
    char name[32];
    int length = snprintf(name, sizeof name, "m%u", scope);
    LLVMMetadataRef parts[2] = {LLVMMDStringInContext2(g->context, name, (size_t)length), domain};
    return LLVMMDNodeInContext2(g->context, parts, 2);
}

static int by_scope(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The scopes that the function's memory has, in order. */
static uint32_t *scopes_of(loom_fn *fn, size_t *n) {
    uint32_t *scopes = LOOM_NEW_ARRAY(fn->g->arena, uint32_t, fn->tagged.count + 1);
    for (size_t i = 0; i < fn->tagged.count; i++) scopes[i] = fn->tagged.at[i].scope;
    qsort(scopes, fn->tagged.count, sizeof *scopes, by_scope);
    *n = 0;
    for (size_t i = 0; i < fn->tagged.count; i++) {
        if (!*n || scopes[*n - 1] != scopes[i]) scopes[(*n)++] = scopes[i];
    }
    return scopes;
}

/* Scopes of one function stand in a domain of its own, named after it, for inlining may bring two functions together.
 */
static void tag_memory(loom_fn *fn) {
    loom_gen *g = fn->g;
    size_t length;
    const char *symbol = LLVMGetValueName2(fn->function, &length);
    LLVMMetadataRef name = LLVMMDStringInContext2(g->context, symbol, length);
    LLVMMetadataRef domain = LLVMMDNodeInContext2(g->context, &name, 1);
    size_t n;
    uint32_t *scopes = scopes_of(fn, &n);
    LLVMMetadataRef *node = LOOM_NEW_ARRAY(g->arena, LLVMMetadataRef, n + 1);
    LLVMMetadataRef *others = LOOM_NEW_ARRAY(g->arena, LLVMMetadataRef, n + 1);
    LLVMValueRef *own_list = LOOM_NEW_ARRAY(g->arena, LLVMValueRef, n + 1);
    LLVMValueRef *other_list = LOOM_NEW_ARRAY(g->arena, LLVMValueRef, n + 1);
    for (size_t s = 0; s < n; s++) node[s] = scope_node(g, domain, scopes[s]);
    for (size_t s = 0; s < n; s++) {
        unsigned count = 0;
        for (size_t o = 0; o < n; o++) {
            if (o != s) others[count++] = node[o];
        }
        own_list[s] = LLVMMetadataAsValue(g->context, LLVMMDNodeInContext2(g->context, &node[s], 1));
        if (count) other_list[s] = LLVMMetadataAsValue(g->context, LLVMMDNodeInContext2(g->context, others, count));
    }
    for (size_t i = 0; i < fn->tagged.count; i++) {
        const loom_tagged *t = &fn->tagged.at[i];
        uint32_t *at = bsearch(&t->scope, scopes, n, sizeof *scopes, by_scope);
        size_t s = (size_t)(at - scopes);
        LLVMSetMetadata(t->instruction, g->md_scope, own_list[s]);
        if (other_list[s]) LLVMSetMetadata(t->instruction, g->md_noalias, other_list[s]);
    }
}

void loom_fn_close(loom_fn *fn) {
    LLVMBuildBr(fn->b, fn->exit);
    LLVMBuildBr(fn->entry, fn->body);
    LLVMPositionBuilderAtEnd(fn->b, fn->exit);
    loom_count_close(fn);
    LLVMBuildRetVoid(fn->b);
    tag_memory(fn);
    LLVMDisposeBuilder(fn->b);
    LLVMDisposeBuilder(fn->entry);
    give_tables_back(fn);
}

/* A member of the frame, or of an array in it; neither changes during a call. */
static LLVMValueRef load_member(loom_fn *fn, LLVMTypeRef type, LLVMValueRef address) {
    LLVMValueRef value = LLVMBuildLoad2(fn->entry, type, address, "");
    LLVMSetMetadata(value, fn->g->md_invariant, fn->g->empty_md);
    return value;
}

static LLVMValueRef frame_member(loom_fn *fn, unsigned member) {
    LLVMValueRef address = LLVMBuildStructGEP2(fn->entry, fn->g->frame_type, fn->frame, member, "");
    return load_member(fn, fn->g->ptr, address);
}

LLVMValueRef loom_fn_stop(loom_fn *fn) {
    return frame_member(fn, FRAME_STOP);
}

LLVMValueRef loom_fn_extent(loom_fn *fn, loom_axis_id axis) {
    loom_gen *g = fn->g;
    uint32_t e = g->axis_extent[axis];
    if (g->l->axes[axis].kind == LOOM_AXIS_CONST) return loom_fn_i64(fn, g->l->axes[axis].extent);
    if (!fn->extent[e]) {
        LLVMValueRef index = loom_fn_i64(fn, e);
        LLVMValueRef address = LLVMBuildInBoundsGEP2(fn->entry, g->i64, frame_member(fn, FRAME_EXTENTS), &index, 1, "");
        LOOM_PUSH(g->arena, fn->tables->extents, e);
        fn->extent[e] = load_member(fn, g->i64, address);
    }
    return fn->extent[e];
}

loom_place loom_fn_buffer(loom_fn *fn, uint32_t buffer) {
    loom_gen *g = fn->g;
    LLVMValueRef index = loom_fn_i64(fn, buffer);
    LLVMValueRef address = LLVMBuildInBoundsGEP2(fn->entry, g->ptr, frame_member(fn, FRAME_BUFFERS), &index, 1, "");
    LLVMValueRef base = load_member(fn, g->ptr, address);
    /* What the executor allocates is aligned; inputs and columns stand where their value or message has them. */
    if (g->buffers.at[buffer].storage == LOOM_STORE_TEMP) LLVMSetMetadata(base, g->md_align, g->align64_md);
    LOOM_PUSH(g->arena, fn->touched, buffer);
    return (loom_place){.base = base, .scope = buffer, .constant = g->buffers.at[buffer].storage <= LOOM_STORE_FIRST};
}

const loom_place *loom_fn_place(loom_fn *fn, loom_lvalue_id value) {
    loom_place *place = &fn->place[value];
    if (place->base) return place;
    uint32_t buffer = fn->g->value_buffer[value];
    if (buffer == LOOM_NONE) {
        loom_gen_fail(fn->g, "value %u has no memory where it is used", value);
        buffer = 0;
    }
    loom_fn_note_place(fn, value);
    *place = loom_fn_buffer(fn, buffer);
    return place;
}

static LLVMValueRef element_address(loom_fn *fn, loom_dtype dtype, LLVMValueRef base, LLVMValueRef offset,
                                    unsigned part) {
    LLVMTypeRef type = loom_gen_memory(fn->g, dtype);
    if (loom_dtype_is_complex(dtype)) {
        offset = LLVMBuildNSWMul(fn->b, offset, loom_fn_i64(fn, 2), "");
        if (part) offset = LLVMBuildNSWAdd(fn->b, offset, loom_fn_i64(fn, 1), "");
    }
    return LLVMBuildInBoundsGEP2(fn->b, type, base, &offset, 1, "");
}

static void tag(loom_fn *fn, LLVMValueRef instruction, uint32_t scope) {
    loom_tagged t = {instruction, scope};
    LOOM_PUSH(fn->g->arena, fn->tagged, t);
}

static LLVMValueRef load_part(loom_fn *fn, loom_dtype dtype, LLVMValueRef address, uint32_t scope, bool constant) {
    LLVMValueRef value = LLVMBuildLoad2(fn->b, loom_gen_memory(fn->g, dtype), address, "");
    tag(fn, value, scope);
    if (constant) LLVMSetMetadata(value, fn->g->md_invariant, fn->g->empty_md);
    return dtype == LOOM_BOOL ? LLVMBuildTrunc(fn->b, value, fn->g->i1, "") : value;
}

loom_sv loom_fn_load(loom_fn *fn, loom_dtype dtype, LLVMValueRef base, LLVMValueRef offset, uint32_t scope,
                     bool constant) {
    loom_sv value = {load_part(fn, dtype, element_address(fn, dtype, base, offset, 0), scope, constant), NULL};
    if (loom_dtype_is_complex(dtype))
        value.im = load_part(fn, dtype, element_address(fn, dtype, base, offset, 1), scope, constant);
    return value;
}

LLVMValueRef loom_fn_load_lanes(loom_fn *fn, loom_dtype dtype, const loom_place *place, LLVMValueRef offset,
                                uint32_t n) {
    bool complex = loom_dtype_is_complex(dtype);
    LLVMTypeRef type = LLVMVectorType(loom_gen_memory(fn->g, dtype), complex ? 2 * n : n);
    LLVMValueRef value = LLVMBuildLoad2(fn->b, type, element_address(fn, dtype, place->base, offset, 0), "");
    LLVMSetAlignment(value, (unsigned)(loom_dtype_size(dtype) / (complex ? 2 : 1)));
    tag(fn, value, place->scope);
    if (place->constant) LLVMSetMetadata(value, fn->g->md_invariant, fn->g->empty_md);
    return value;
}

void loom_fn_store(loom_fn *fn, loom_dtype dtype, LLVMValueRef base, LLVMValueRef offset, uint32_t scope,
                   loom_sv value) {
    LLVMValueRef part = dtype == LOOM_BOOL ? LLVMBuildZExt(fn->b, value.re, fn->g->i8, "") : value.re;
    tag(fn, LLVMBuildStore(fn->b, part, element_address(fn, dtype, base, offset, 0)), scope);
    if (!loom_dtype_is_complex(dtype)) return;
    tag(fn, LLVMBuildStore(fn->b, value.im, element_address(fn, dtype, base, offset, 1)), scope);
}

/* ---- lists that differ in length ---- */

LLVMValueRef loom_fn_first(loom_fn *fn, loom_axis_id axis, LLVMValueRef at) {
    const loom_place *place = loom_fn_place(fn, fn->g->l->axes[axis].offsets);
    return loom_fn_load(fn, LOOM_I64, place->base, at, place->scope, place->constant).re;
}

LLVMValueRef loom_fn_length(loom_fn *fn, loom_axis_id axis, LLVMValueRef list) {
    LLVMValueRef next = LLVMBuildNSWAdd(fn->b, list, loom_fn_i64(fn, 1), "");
    return LLVMBuildNSWSub(fn->b, loom_fn_first(fn, axis, next), loom_fn_first(fn, axis, list), "");
}

LLVMValueRef loom_fn_list(loom_fn *fn, uint32_t n, const loom_axis_id *axes, const LLVMValueRef *indices) {
    LLVMValueRef at = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (at && loom_gen_is_segmented(fn->g, axes[i])) {
            at = loom_fn_first(fn, axes[i], at);
        } else if (at) {
            at = LLVMBuildNSWMul(fn->b, at, loom_fn_extent(fn, axes[i]), "");
        }
        at = at ? LLVMBuildNSWAdd(fn->b, at, indices[i], "") : indices[i];
    }
    return at ? at : loom_fn_i64(fn, 0);
}

LLVMValueRef loom_fn_lists(loom_fn *fn, uint32_t n, const loom_axis_id *axes) {
    LLVMValueRef count = NULL;
    for (uint32_t i = 0; i < n; i++) {
        LLVMValueRef extent = loom_fn_extent(fn, axes[i]);
        bool all = !count || loom_gen_is_segmented(fn->g, axes[i]);
        count = all ? extent : LLVMBuildNSWMul(fn->b, count, extent, "");
    }
    return count ? count : loom_fn_i64(fn, 1);
}

/* The least list whose successor begins behind the element. One function, as searches are rare beside what follows. */
static LLVMValueRef find_function(loom_gen *g) {
    if (g->find) return g->find;
    LLVMTypeRef types[] = {g->ptr, g->i64, g->i64}, type = LLVMFunctionType(g->i64, types, 3, 0);
    LLVMValueRef f = g->find = LLVMAddFunction(g->module, "loom_find", type), one = LLVMConstInt(g->i64, 1, 0);
    LLVMSetLinkage(f, LLVMInternalLinkage);
    loom_gen_attribute(g, f, "noinline");
    LLVMBuilderRef b = LLVMCreateBuilderInContext(g->context);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(g->context, f, "entry"),
                      head = LLVMAppendBasicBlockInContext(g->context, f, "head"),
                      step = LLVMAppendBasicBlockInContext(g->context, f, "step"),
                      end = LLVMAppendBasicBlockInContext(g->context, f, "end");
    LLVMPositionBuilderAtEnd(b, entry);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef lo = LLVMBuildPhi(b, g->i64, "lo"), hi = LLVMBuildPhi(b, g->i64, "hi");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, lo, hi, ""), step, end);
    LLVMPositionBuilderAtEnd(b, step);
    LLVMValueRef middle = LLVMBuildLShr(b, LLVMBuildAdd(b, lo, hi, ""), one, ""),
                 next = LLVMBuildAdd(b, middle, one, "");
    LLVMValueRef address = LLVMBuildInBoundsGEP2(b, g->i64, LLVMGetParam(f, 0), &next, 1, "");
    LLVMValueRef behind = LLVMBuildICmp(b, LLVMIntSGT, LLVMBuildLoad2(b, g->i64, address, ""), LLVMGetParam(f, 2), "");
    LLVMValueRef new_lo = LLVMBuildSelect(b, behind, lo, next, ""), new_hi = LLVMBuildSelect(b, behind, middle, hi, "");
    LLVMBuildBr(b, head);
    LLVMValueRef zero = LLVMConstInt(g->i64, 0, 0), lists = LLVMGetParam(f, 1);
    LLVMAddIncoming(lo, (LLVMValueRef[]){zero, new_lo}, (LLVMBasicBlockRef[]){entry, step}, 2);
    LLVMAddIncoming(hi, (LLVMValueRef[]){lists, new_hi}, (LLVMBasicBlockRef[]){entry, step}, 2);
    LLVMPositionBuilderAtEnd(b, end);
    LLVMBuildRet(b, lo);
    LLVMDisposeBuilder(b);
    return f;
}

LLVMValueRef loom_fn_find_list(loom_fn *fn, loom_axis_id axis, LLVMValueRef lists, LLVMValueRef at) {
    loom_gen *g = fn->g;
    LLVMTypeRef types[] = {g->ptr, g->i64, g->i64};
    LLVMValueRef args[] = {loom_fn_place(fn, g->l->axes[axis].offsets)->base, lists, at};
    return LLVMBuildCall2(fn->b, LLVMFunctionType(g->i64, types, 3, 0), find_function(g), args, 3, "");
}

bool loom_gen_is_segmented(const loom_gen *g, loom_axis_id axis) {
    return g->l->axes[axis].kind == LOOM_AXIS_SEGMENTED;
}

LLVMValueRef loom_fn_offset(loom_fn *fn, loom_lvalue_id value, const LLVMValueRef *indices) {
    const loom_lvalue *v = &fn->g->l->values[value];
    LLVMValueRef origin = loom_fn_place(fn, value)->chunk_origin, offset = NULL;
    if (v->rep == LOOM_REP_IRREGULAR && fn->flat) return fn->flat;
    if (v->rep == LOOM_REP_IRREGULAR) return loom_fn_list(fn, v->n_axes, v->axes, indices);
    for (uint32_t i = 0; i < v->n_axes; i++) {
        LLVMValueRef index = i == 0 && origin ? LLVMBuildNSWSub(fn->b, indices[0], origin, "") : indices[i];
        if (offset) {
            LLVMValueRef scaled = LLVMBuildNSWMul(fn->b, offset, loom_fn_extent(fn, v->axes[i]), "");
            offset = LLVMBuildNSWAdd(fn->b, scaled, index, "");
        } else {
            offset = index;
        }
    }
    return offset ? offset : loom_fn_i64(fn, 0);
}

#define LINE_BYTES 64

static void prefetch_line(loom_fn *fn, LLVMValueRef base, LLVMValueRef offset, int64_t more) {
    LLVMTypeRef type;
    LLVMValueRef function = loom_gen_intrinsic(fn->g, "llvm.prefetch", fn->g->ptr, &type);
    LLVMValueRef at = LLVMBuildAdd(fn->b, offset, loom_fn_i64(fn, more), "");
    LLVMValueRef to_read = LLVMConstInt(fn->g->i32, 0, 0), often = LLVMConstInt(fn->g->i32, 3, 0),
                 data = LLVMConstInt(fn->g->i32, 1, 0);
    LLVMValueRef args[] = {LLVMBuildGEP2(fn->b, fn->g->i8, base, &at, 1, ""), to_read, often, data};
    LLVMBuildCall2(fn->b, type, function, args, 4, "");
}

/* They may begin anywhere in a line, so the last byte may lie in one more. */
void loom_fn_prefetch(loom_fn *fn, LLVMValueRef base, LLVMValueRef offset, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += LINE_BYTES) prefetch_line(fn, base, offset, at);
    if (bytes % LINE_BYTES != 1) prefetch_line(fn, base, offset, bytes - 1);
}

/* ---- errors ---- */

/* One cold function that calls the runtime, so that the hot ones stay small. */
static LLVMValueRef raise_function(loom_gen *g) {
    if (g->raise) return g->raise;
    LLVMTypeRef types[] = {g->ptr, g->i32, g->i64, g->i64, g->i64};
    LLVMTypeRef type = LLVMFunctionType(g->none, types, 5, 0);
    LLVMValueRef f = g->raise = LLVMAddFunction(g->module, "loom_raise", type);
    LLVMSetLinkage(f, LLVMInternalLinkage);
    loom_gen_attribute(g, f, "noinline");
    loom_gen_attribute(g, f, "cold");
    LLVMBuilderRef b = LLVMCreateBuilderInContext(g->context);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(g->context, f, "entry"));
    LLVMValueRef frame = LLVMGetParam(f, 0);
    LLVMValueRef runtime =
        LLVMBuildLoad2(b, g->ptr, LLVMBuildStructGEP2(b, g->frame_type, frame, FRAME_RUNTIME, ""), "");
    LLVMValueRef callee = LLVMBuildLoad2(b, g->ptr, LLVMBuildStructGEP2(b, g->runtime_type, runtime, 0, ""), "");
    LLVMValueRef arguments[5];
    LLVMGetParams(f, arguments);
    LLVMBuildCall2(b, type, callee, arguments, 5, "");
    LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
    return f;
}

static LLVMValueRef as_i64(loom_fn *fn, LLVMValueRef value) {
    if (!value) return loom_fn_i64(fn, 0);
    return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMIntegerTypeKind
               ? LLVMBuildSExtOrBitCast(fn->b, value, fn->g->i64, "")
               : loom_fn_i64(fn, 0);
}

/* What an error names: the index along the outermost axis, where that numbers elements. */
static LLVMValueRef raised_element(const loom_fn *fn) {
    const loom_lifted *l = fn->g->l;
    const loom_lop *op = fn->op != LOOM_NONE ? &l->ops[fn->op] : NULL;
    if (op && op->n_axes && l->axes[op->axes[0]].part) return loom_fn_i64(fn, -1);
    return fn->element ? fn->element : loom_fn_i64(fn, 0);
}

void loom_fn_raise(loom_fn *fn, loom_lsite_id site, LLVMValueRef a, LLVMValueRef b) {
    loom_gen *g = fn->g;
    LLVMTypeRef types[] = {g->ptr, g->i32, g->i64, g->i64, g->i64};
    LLVMValueRef arguments[] = {fn->frame, LLVMConstInt(g->i32, site, 0), raised_element(fn), as_i64(fn, a),
                                as_i64(fn, b)};
    LLVMBuildCall2(fn->b, LLVMFunctionType(g->none, types, 5, 0), raise_function(g), arguments, 5, "");
}

void loom_fn_raise_if(loom_fn *fn, LLVMValueRef bad, loom_lsite_id site, LLVMValueRef a, LLVMValueRef b) {
    if (site == LOOM_NONE) return;
    if (fn->defer) {
        LLVMValueRef flag = LLVMBuildLoad2(fn->b, fn->g->i32, fn->defer, "");
        LLVMBuildStore(fn->b, LLVMBuildOr(fn->b, flag, LLVMBuildZExt(fn->b, bad, fn->g->i32, ""), ""), fn->defer);
        if (!fn->deferred) fn->deferred_site = site;
        fn->deferred = true;
        return;
    }
    LLVMBasicBlockRef raise = loom_fn_block(fn, "raise"), on = loom_fn_block(fn, "on");
    LLVMBuildCondBr(fn->b, bad, raise, on);
    LLVMPositionBuilderAtEnd(fn->b, raise);
    loom_fn_raise(fn, site, a, b);
    LLVMBuildBr(fn->b, on);
    LLVMPositionBuilderAtEnd(fn->b, on);
}

LLVMValueRef loom_fn_is_right(loom_fn *fn) {
    loom_gen *g = fn->g;
    LLVMValueRef address = LLVMBuildStructGEP2(fn->b, g->frame_type, fn->frame, FRAME_ERROR, "");
    LLVMValueRef error = LLVMBuildLoad2(fn->b, g->ptr, address, "");
    LLVMValueRef raised = LLVMBuildLoad2(fn->b, g->i32, LLVMBuildStructGEP2(fn->b, g->error_type, error, 2, ""), "");
    return LLVMBuildICmp(fn->b, LLVMIntEQ, raised, LLVMConstInt(g->i32, 0, 0), "");
}

/* After a CHECK what follows may rely on it, so a kernel ends there if it was raised. */
void loom_fn_end_if_raised(loom_fn *fn) {
    LLVMBasicBlockRef on = loom_fn_block(fn, "checked");
    LLVMBuildCondBr(fn->b, loom_fn_is_right(fn), on, fn->exit);
    LLVMPositionBuilderAtEnd(fn->b, on);
}

/* ---- loops ---- */

void loom_loop_open(loom_fn *fn, loom_loop *loop, LLVMValueRef lo, LLVMValueRef hi, LLVMValueRef step) {
    LLVMBasicBlockRef before = LLVMGetInsertBlock(fn->b), body = loom_fn_block(fn, "turn");
    loop->header = loom_fn_block(fn, "loop");
    loop->exit = loom_fn_block(fn, "end");
    loop->hi = hi;
    loop->step = step;
    loop->elementwise = false;
    LLVMBuildBr(fn->b, loop->header);
    LLVMPositionBuilderAtEnd(fn->b, loop->header);
    loop->index = LLVMBuildPhi(fn->b, fn->g->i64, "i");
    LLVMAddIncoming(loop->index, &lo, &before, 1);
    LLVMBuildCondBr(fn->b, LLVMBuildICmp(fn->b, LLVMIntSLT, loop->index, hi, ""), body, loop->exit);
    LLVMPositionBuilderAtEnd(fn->b, body);
}

/* A number of turns that is known, small, and no whole number of vectors: better one vector with lanes to spare than
 * shorter ones, a rest done one by one, or as many copies of the turn. */
static bool is_ragged(const loom_loop *loop) {
    if (!loop->elementwise || !LLVMIsAConstantInt(loop->hi)) return false;
    LLVMValueRef lo = LLVMGetIncomingValue(loop->index, 0);
    if (!LLVMIsAConstantInt(lo)) return false;
    int64_t turns = (int64_t)LLVMConstIntGetSExtValue(loop->hi) - (int64_t)LLVMConstIntGetSExtValue(lo);
    return turns > 2 && turns < 16 && turns != 4 && turns != 8;
}

/* Metadata of a loop begin with themselves (LLVM's language reference, llvm.loop). */
static void fold_tail(const loom_fn *fn, LLVMValueRef latch) {
    LLVMContextRef c = fn->g->context;
    static const char masked[] = "llvm.loop.vectorize.predicate.enable", whole[] = "llvm.loop.unroll.disable",
                      kind[] = "llvm.loop";
    LLVMMetadataRef mask[] = {LLVMMDStringInContext2(c, masked, sizeof masked - 1),
                              LLVMValueAsMetadata(LLVMConstInt(fn->g->i1, 1, 0))};
    LLVMMetadataRef unroll = LLVMMDStringInContext2(c, whole, sizeof whole - 1);
    LLVMMetadataRef self = LLVMTemporaryMDNode(c, NULL, 0);
    LLVMMetadataRef parts[] = {self, LLVMMDNodeInContext2(c, mask, 2), LLVMMDNodeInContext2(c, &unroll, 1)};
    LLVMMetadataRef node = LLVMMDNodeInContext2(c, parts, 3);
    LLVMMetadataReplaceAllUsesWith(self, node);
    LLVMSetMetadata(latch, LLVMGetMDKindIDInContext(c, kind, sizeof kind - 1), LLVMMetadataAsValue(c, node));
}

void loom_loop_close(loom_fn *fn, loom_loop *loop) {
    LLVMValueRef next = LLVMBuildNSWAdd(fn->b, loop->index, loop->step ? loop->step : loom_fn_i64(fn, 1), "");
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(fn->b);
    LLVMAddIncoming(loop->index, &next, &latch, 1);
    LLVMValueRef back = LLVMBuildBr(fn->b, loop->header);
    if (is_ragged(loop)) fold_tail(fn, back);
    LLVMPositionBuilderAtEnd(fn->b, loop->exit);
}

static LLVMValueRef carry_part(loom_fn *fn, const loom_loop *loop, LLVMValueRef initial) {
    LLVMBuilderRef b = LLVMCreateBuilderInContext(fn->g->context);
    LLVMBasicBlockRef before;
    before = LLVMGetIncomingBlock(loop->index, 0);
    LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(loop->header));
    LLVMValueRef phi = LLVMBuildPhi(b, LLVMTypeOf(initial), "");
    LLVMAddIncoming(phi, &initial, &before, 1);
    LLVMDisposeBuilder(b);
    return phi;
}

loom_sv loom_loop_carry(loom_fn *fn, const loom_loop *loop, loom_dtype dtype, loom_sv initial) {
    loom_sv phi = {carry_part(fn, loop, initial.re), NULL};
    if (loom_dtype_is_complex(dtype)) phi.im = carry_part(fn, loop, initial.im);
    return phi;
}

void loom_loop_next(loom_fn *fn, const loom_loop *loop, loom_sv phi, loom_sv next) {
    (void)loop;
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(fn->b);
    LLVMAddIncoming(phi.re, &next.re, &latch, 1);
    if (phi.im) LLVMAddIncoming(phi.im, &next.im, &latch, 1);
}
