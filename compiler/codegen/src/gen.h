/* Inside of code generation: one `loom_gen` per stage, one `loom_fn` per function under construction.
 *
 * Order of a compile (codegen.c): buffers and extents (lower.c, share.c), operations to actions and kernels (actions.c,
 * which calls nest.c, permute.c, strip.c for the code of kernels and those expr.c and scalar.c for bodies), then
 * optimisation and object (target.c). Errors of ours (an IR that the checker should have refused) end in loom_gen_fail,
 * which keeps the first message; building goes on harmlessly and loom_codegen returns it.
 */
#ifndef LOOM_CODEGEN_GEN_H
#define LOOM_CODEGEN_GEN_H

#include "common/buffer.h"
#include "compiler/codegen/codegen.h"
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

/* A scalar in generated code; `im` for complex types only. */
typedef struct loom_sv {
    LLVMValueRef re, im;
} loom_sv;

typedef struct loom_gen {
    loom_arena *arena;
    const loom_lifted *l;
    bool tested; /* loom_lifted_is_tested */
    loom_status *error;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetMachineRef machine;
    const char *triple, *cpu, *features;
    LLVMTypeRef i1, i8, i16, i32, i64, f32, f64, ptr, none;
    LLVMTypeRef frame_type, runtime_type, error_type;
    LLVMValueRef raise; /* void loom_raise(frame, site, element, a, b): cold, not inlined */
    LLVMValueRef find;  /* i64 loom_find(offsets, lists, at) */
    unsigned md_scope, md_noalias, md_invariant, md_align; /* kinds of metadata */
    LLVMValueRef empty_md, align64_md;
    bool count;          /* code counts its work, see count.c */
    bool *is_descriptor; /* per value: lengths of lists; NULL where nothing is counted */

    /* the plan under construction */
    LOOM_VEC(loom_plan_extent) extents;
    LOOM_VEC(loom_plan_buffer) buffers;
    LOOM_VEC(loom_plan_kernel) kernels;
    LOOM_VEC(loom_plan_fft) ffts;
    uint32_t *axis_extent;  /* per axis */
    uint32_t *value_buffer; /* per value: plan buffer, or LOOM_NONE (strip-local, or not needed) */
    loom_lblock_id *owner;  /* per expression: the innermost block it stands in */
    uint64_t *mask;         /* per expression: positions of the operation's axes that it depends on */
    loom_lop_id *parent;    /* per operation: LOOP or IF that it belongs to, or LOOM_NONE */
    bool *per_chunk;        /* per operation: runs once a chunk, not once a segment */
    bool *is_output;        /* per value */
    loom_lop_id *last_use;  /* per value made by an operation: last reader in the block of its producer, or LOOM_NONE */
    bool *in_axis;          /* per value: an axis stands on it */
    uint32_t *combine_kernel;          /* per block, LOOM_NONE: not made */
    LOOM_VEC(loom_lblock_id) combined; /* those that a kernel was made of */
    struct loom_fn_tables *unused;     /* tables that no function has now; fn.c */
} loom_gen;

void loom_gen_fail(loom_gen *g, const char *format, ...) LOOM_PRINTF(2, 3);

/* ---- target.c ---- */
LOOM_MUST_USE loom_status *loom_gen_open(loom_gen *g, const char *target);
LOOM_MUST_USE loom_status *loom_gen_emit(loom_gen *g, bool want_text, loom_code_result *result);
void loom_gen_close(loom_gen *g);
LLVMTypeRef loom_gen_type(const loom_gen *g,
                          loom_dtype dtype); /* of the value, or of a part of a complex one; bool is i1 */
LLVMTypeRef loom_gen_memory(const loom_gen *g, loom_dtype dtype); /* the same in memory; bool is i8 */
void loom_gen_attribute(const loom_gen *g, LLVMValueRef function, const char *name); /* enum attribute */
LLVMValueRef loom_gen_intrinsic(const loom_gen *g, const char *name, LLVMTypeRef type, LLVMTypeRef *function_type);

/* ---- functions: fn.c ---- */

/* Where a value's elements are, in the function under construction. */
typedef struct loom_place {
    LLVMValueRef base;         /* NULL: not looked up yet */
    LLVMValueRef chunk_origin; /* subtracted from the index along the first axis; NULL: nothing */
    uint32_t scope;            /* alias scope: distinct scopes do not overlap */
    bool constant;             /* never written while kernels run */
} loom_place;

typedef struct loom_tagged {
    LLVMValueRef instruction;
    uint32_t scope;
} loom_tagged;

/* A condition, and how it turns out. */
typedef struct loom_choice {
    loom_lexpr_id condition;
    bool holds;
} loom_choice;

/* Each doubles the code of a loop. */
#define LOOM_FN_CHOICES 2

typedef struct loom_fn {
    loom_gen *g;
    LLVMValueRef function;
    LLVMBuilderRef b;     /* where code goes */
    LLVMBuilderRef entry; /* end of the entry block: loads of pointers and extents */
    LLVMValueRef frame;
    LLVMBasicBlockRef body, exit;
    LLVMValueRef *extent; /* per plan extent, NULL until loaded */
    loom_place *place;    /* per lifted value */
    LLVMValueRef element; /* what an error names; NULL: 0 */
    LLVMValueRef flat;    /* the number of the point among all of the operation, where no index matters; or NULL */
    /* the operation whose body is being built */
    LLVMValueRef axis[LOOM_LIFTED_MAX_AXES];
    struct loom_fn_tables *tables; /* what the following pointers are of */
    loom_sv *memo;                 /* per expression */
    loom_sv **results;             /* per expression with several results */
    LLVMValueRef **safe;           /* per checked load: indices that were checked further out, made harmless; or NULL */
    uint64_t *ranged;       /* per checked load: indices (bits) that are in range in all turns of the loop; ranged.c */
    const loom_sv **params; /* per block */
    const bool *wanted;     /* per expression: build only these; NULL: all */
    LOOM_VEC(uint32_t) touched; /* plan buffers */
    LOOM_VEC(loom_tagged) tagged;
    uint32_t n_scopes;
    /* Conditions whose outcome is known where code is being built (nest.c). */
    loom_choice choices[LOOM_FN_CHOICES];
    uint32_t n_choices;
    bool *chosen; /* per expression: an IF whose branch is built in part, further out; NULL: none */
    bool rare;    /* runs once, not in a loop: small code rather than fast code */
    /* While an innermost loop is built: checks set this flag instead of raising, see loom_defer_open. */
    LLVMValueRef defer;
    bool deferred;
    loom_lsite_id deferred_site;
    loom_lop_id op;                     /* LOOM_NONE in combine kernels */
    LLVMValueRef counted[LOOM_COUNTED]; /* what the call has done so far; NULL where nothing is counted */
} loom_fn;

/* Opens `void symbol(frame, parameters...)`; the code of the body goes to fn->b. */
void loom_fn_open(loom_gen *g, loom_fn *fn, const char *symbol, const LLVMTypeRef *parameters, uint32_t n);
void loom_fn_close(loom_fn *fn);
/* To be called before an entry of the tables that has this number is written, so that the next function finds it empty:
 * of `memo`, `results`, `safe` or `ranged`; of `place`. */
void loom_fn_note_expr(loom_fn *fn, loom_lexpr_id id);
void loom_fn_note_place(loom_fn *fn, loom_lvalue_id value);
void loom_fn_add_touched(const loom_fn *fn, bool *touched);
LLVMValueRef loom_fn_param(const loom_fn *fn, uint32_t i); /* 0: the frame */
LLVMValueRef loom_fn_is_right(loom_fn *fn);                /* whether no error was raised by this thread */
LLVMValueRef loom_fn_stop(loom_fn *fn); /* address of the byte that says that nobody wants the result */
LLVMValueRef loom_fn_extent(loom_fn *fn, loom_axis_id axis); /* of a segmented one: the total */
bool loom_gen_is_segmented(const loom_gen *g, loom_axis_id axis);
/* The number of a point, row-major, among all points of the axes; how many there are; the length of a segmented axis in
 * list number `list` of those before it. The list behind the last one is empty. */
LLVMValueRef loom_fn_list(loom_fn *fn, uint32_t n, const loom_axis_id *axes, const LLVMValueRef *indices);
LLVMValueRef loom_fn_lists(loom_fn *fn, uint32_t n, const loom_axis_id *axes);
LLVMValueRef loom_fn_length(loom_fn *fn, loom_axis_id axis, LLVMValueRef list);
/* The number of a list's first element among those of all lists; and the list, of `lists`, that has element `at`. */
LLVMValueRef loom_fn_first(loom_fn *fn, loom_axis_id axis, LLVMValueRef list);
LLVMValueRef loom_fn_find_list(loom_fn *fn, loom_axis_id axis, LLVMValueRef lists, LLVMValueRef at);
loom_place loom_fn_buffer(loom_fn *fn, uint32_t buffer);
const loom_place *loom_fn_place(loom_fn *fn, loom_lvalue_id value);
LLVMValueRef loom_fn_i64(const loom_fn *fn, int64_t value);
LLVMBasicBlockRef loom_fn_block(loom_fn *fn, const char *name);
/* Loads and stores element `offset` (i64, in elements) behind a base pointer. */
loom_sv loom_fn_load(loom_fn *fn, loom_dtype dtype, LLVMValueRef base, LLVMValueRef offset, uint32_t scope,
                     bool constant);
/* `n` of them as a vector; complex ones as real and imaginary part in turn. */
LLVMValueRef loom_fn_load_lanes(loom_fn *fn, loom_dtype dtype, const loom_place *place, LLVMValueRef offset,
                                uint32_t n);
void loom_fn_store(loom_fn *fn, loom_dtype dtype, LLVMValueRef base, LLVMValueRef offset, uint32_t scope,
                   loom_sv value);
/* Asks early for `bytes` bytes at `offset` bytes behind a base pointer, whether or not there is anything. */
void loom_fn_prefetch(loom_fn *fn, LLVMValueRef base, LLVMValueRef offset, int64_t bytes);
/* Row-major offset of indices[0..n) in a value. */
LLVMValueRef loom_fn_offset(loom_fn *fn, loom_lvalue_id value, const LLVMValueRef *indices);
void loom_fn_raise(loom_fn *fn, loom_lsite_id site, LLVMValueRef a, LLVMValueRef b);
/* Raises where `bad` (i1) holds. */
void loom_fn_raise_if(loom_fn *fn, LLVMValueRef bad, loom_lsite_id site, LLVMValueRef a, LLVMValueRef b);
/* After a CHECK what follows may rely on it: the kernel ends there if anything was raised in this thread. */
void loom_fn_end_if_raised(loom_fn *fn);
uint32_t loom_fn_new_scope(loom_fn *fn);

/* A counted loop from lo to hi (i64) with loop-carried scalars. */
typedef struct loom_loop {
    LLVMBasicBlockRef header, exit;
    LLVMValueRef index, hi, step;
    bool elementwise; /* innermost, each turn another element: worth whole vectors however few the turns */
} loom_loop;
void loom_loop_open(loom_fn *fn, loom_loop *loop, LLVMValueRef lo, LLVMValueRef hi, LLVMValueRef step);
void loom_loop_close(loom_fn *fn, loom_loop *loop);
/* Loop-carried scalar: phi at the head of the loop; the value for the next turn is given just before the loop is
 * closed. */
loom_sv loom_loop_carry(loom_fn *fn, const loom_loop *loop, loom_dtype dtype, loom_sv initial);
void loom_loop_next(loom_fn *fn, const loom_loop *loop, loom_sv phi, loom_sv next);

/* ---- scalar.c ---- */
loom_sv loom_sv_const(const loom_fn *fn, loom_dtype dtype, loom_scalar value);
loom_sv loom_sv_prim(loom_fn *fn, loom_prim prim, loom_dtype operand, loom_dtype result, const loom_sv *args,
                     loom_lsite_id site);
loom_sv loom_sv_convert(loom_fn *fn, loom_dtype from, loom_dtype to, loom_sv value);
loom_sv loom_sv_select(loom_fn *fn, LLVMValueRef condition, loom_sv a, loom_sv b);

/* ---- expr.c ---- */
/* Fills g->owner and g->mask. */
void loom_expr_prepare(loom_gen *g);
/* One expression, whose arguments are built. */
void loom_expr_build(loom_fn *fn, loom_lexpr_id id);
/* Whether the index of a load can only be in range: the loop over the same axis, or a constant. */
bool loom_load_is_own_axis(const loom_fn *fn, loom_lexpr_id index, loom_axis_id axis);
/* Forgets what earlier evaluations of a block made. */
void loom_block_reset(loom_fn *fn, loom_lblock_id block, const loom_sv *params);
/* Builds, of the expressions of a block itself, those whose axes all lie in `known`, and were not built before. */
void loom_block_build(loom_fn *fn, loom_lblock_id block, uint64_t known);
/* Forgets what depends on other axes than the `known` ones, so that it can be built once more for another loop. */
void loom_block_forget(loom_fn *fn, loom_lblock_id block, uint64_t known);
/* Marks what the results [from, to) of a block need, and with `effects` its checks. */
bool *loom_block_needs(const loom_gen *g, loom_lblock_id block, uint32_t from, uint32_t to, bool effects);
loom_sv loom_block_result(loom_fn *fn, loom_lblock_id block, uint32_t i);
/* All of a block, with parameters. `reassociate`: the operator of a reduction, whose own + or * may be reordered. */
void loom_block_eval(loom_fn *fn, loom_lblock_id block, const loom_sv *params, bool reassociate, loom_sv *results);
/* In a loop that reduces from `start`: results that are the minimum or maximum of a state and its new value, both
 * floats, in a form that is vectorised. */
void loom_operator_extremes(loom_fn *fn, loom_lblock_id block, const loom_sv *start, const loom_sv *params,
                            loom_sv *results);
LLVMValueRef loom_float_extreme_step(loom_fn *fn, bool least, LLVMValueRef acc, LLVMValueRef x);

/* ---- sums.c ---- */

/* A FOR expression that is a sum of few numbers, in vectors and without a loop; false, without any code: it is another
 * one, or has loads that may be out of range. */
bool loom_sums_build(loom_fn *fn, loom_lexpr_id id, loom_sv *result);

/* ---- ranged.c ---- */

/* Before the loop of a FOR expression: a branch on whether the checks of its loads hold in all turns. Returns the block
 * for the case that they do and goes on in the other one; NULL, without a branch, where there are no such loads. */
LLVMBasicBlockRef loom_ranged_open(loom_fn *fn, loom_lexpr_id id);
/* Whether all such loads were looked at for a loop around this one. */
bool loom_ranged_is_known(loom_fn *fn, loom_lexpr_id id);
/* From here on, until close, these checks are not made. */
void loom_ranged_mark(loom_fn *fn, loom_lexpr_id id);
void loom_ranged_close(loom_fn *fn, loom_lexpr_id id);
/* There: asks early for what the loop will read in the next turn of a loop around it. */
void loom_ranged_prefetch(loom_fn *fn, loom_lexpr_id id);

/* ---- defer.c ---- */
/* Checks in an innermost loop would keep it from being vectorised. Between these two calls they only set a flag; if it
 * is set when the loop has ended, a second loop over the same range evaluates the body once more, without storing
 * anything, and raises. `known`: positions fixed around the loop; `position`: the loop's own. */
bool loom_defer_open(loom_fn *fn, loom_lblock_id body, uint32_t position);
void loom_defer_close(loom_fn *fn, loom_lblock_id body, uint64_t known, uint32_t position, LLVMValueRef lo,
                      LLVMValueRef hi);
/* The same for several loops as one: no more is deferred, and code goes to where the flag is set; there the caller
 * makes the loops that raise. Returns where it goes on, for the second call; NULL, without a branch: nothing was
 * deferred. */
LLVMBasicBlockRef loom_defer_look(loom_fn *fn);
void loom_defer_end(loom_fn *fn, LLVMBasicBlockRef on);
/* Operators are evaluated with their checks in place. */
void loom_operator_eval(loom_fn *fn, loom_lblock_id block, const loom_sv *params, bool reassociate, loom_sv *results);

/* ---- count.c ---- */
void loom_count_prepare(loom_gen *g);
void loom_count_open(loom_fn *fn);
void loom_count_close(loom_fn *fn);
/* Where code goes: `n` more have been done. Nothing, where nothing is counted. */
void loom_count(loom_fn *fn, loom_counted what, uint64_t n);
/* A scalar of a value is stored. */
void loom_count_store(loom_fn *fn, loom_lvalue_id value);
/* The expression is evaluated `n` times, without those in its blocks. */
void loom_count_expr(loom_fn *fn, const loom_lexpr *e, uint64_t n);
/* The FOR expression turns `n` times. */
void loom_count_turns(loom_fn *fn, const loom_lexpr *e, uint64_t n);

/* ---- nest.c, strip.c ---- */
typedef struct loom_bounds {
    uint32_t position; /* of the axis that the caller divides, or LOOM_NONE */
    LLVMValueRef from, to;
    const loom_place *partial; /* REDUCE into partial results: one place per result, else NULL */
    /* REDUCE of elements of rows: one place per result for what belongs to the row that the range begins in, if that
     * has begun before it; and its neutral elements alone, which rows without elements keep. */
    const loom_place *head;
    bool neutral;
} loom_bounds;
/* Loops over an operation's index space: COMPUTE, REDUCE, SCAN, CHECK, PERMUTE with context. */
void loom_nest(loom_fn *fn, loom_lop_id op, const loom_bounds *bounds);
/* Position of the axis along which a RANGE kernel of the operation is divided; LOOM_NONE: not divided. */
uint32_t loom_nest_divided(const loom_gen *g, loom_lop_id op);
/* COMBINE kernel of a closed operator block, made once for all that are alike. Returns the kernel's number. */
uint32_t loom_gen_combine(loom_gen *g, loom_lblock_id combine);
/* Kernel of a strip region. */
uint32_t loom_gen_strip(loom_gen *g, const loom_region *region, bool *touched);
/* Estimated nanoseconds for one point of the axis at `position`, LOOM_NONE: for the whole operation. */
double loom_gen_cost(const loom_gen *g, loom_lop_id op, uint32_t position);

/* ---- permute.c ---- */
typedef struct loom_patch {
    uint32_t n_units;       /* leading axes that number units */
    uint32_t rank;          /* indexed levels of the target; those behind are element levels */
    int64_t *lower, *upper; /* per indexed level */
    uint32_t *level;        /* per axis position behind the units: the target level it moves along, or LOOM_NONE */
    int *sign;              /* per axis position behind the units: +1, -1; 0 where there is no level */
} loom_patch;
void loom_permute_analyse(const loom_gen *g, loom_lop_id op, loom_patch *patch);
uint32_t loom_gen_inspect(loom_gen *g, loom_lop_id op, const loom_patch *patch, bool *touched);
uint32_t loom_gen_execute(loom_gen *g, loom_lop_id op, const loom_patch *patch, const uint32_t *targets, bool *touched);

/* ---- lower.c ---- */
/* Buffers and extents of all values; which of them share memory. */
void loom_gen_lower(loom_gen *g);
uint32_t loom_gen_fft(loom_gen *g, loom_lop_id op);
uint32_t loom_gen_buffer(loom_gen *g, loom_plan_buffer buffer, uint32_t n_axes, const loom_axis_id *axes);
uint32_t loom_gen_extent(loom_gen *g, loom_plan_extent extent);
uint32_t loom_gen_kernel(loom_gen *g, const char *prefix);
const char *loom_gen_label(const loom_gen *g, loom_lop_id op);
/* The operation itself or the LOOP or IF around it that stands in the block of `parent`. */
loom_lop_id loom_gen_ancestor(const loom_gen *g, loom_lop_id op, loom_lop_id parent);
/* How often the operation reads the value. */
uint32_t loom_gen_reads_of(const loom_gen *g, loom_lop_id op, loom_lvalue_id value);

/* ---- share.c ---- */
/* Gives next values of states, and what they start with, the states' memory where it can be. */
void loom_gen_share_states(loom_gen *g);

/* ---- actions.c ---- */
void loom_gen_plan(loom_gen *g, loom_plan *plan);

#endif
