/* Inside fusion: one round rewrites every operation once, from the old tables of expressions into new ones.
 *
 * EMISSION (emit.c) shares equal expressions of a scope, folds constants and decides comparisons that can be proven.
 * PROOFS (prove.c) are about i64 expressions as linear forms over axes, extents and opaque expressions; facts are
 * linear forms known not to be negative, from the conditions around. COPYING (copy.c) goes through a block in order and
 * emits what is needed of it; a load may become the body of what makes the value. */
#ifndef LOOM_FUSE_REWRITE_H
#define LOOM_FUSE_REWRITE_H

#include "compiler/fuse/fuse.h"
#include "compiler/interp/interp.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum {
    MAX_BODY = 512,  /* expressions of an operation that grows by fusion: keeps copying and code generation linear */
    MAX_FORM = 12,   /* terms of a linear form */
    MAX_FACTS = 64,  /* facts in force at once */
    MAX_ROUNDS = 8,  /* of fusion; two or three suffice, the rest is for long diamonds */
    SPECULATE = 64,  /* work of a branch that may run where it is not taken, so that both become one select */
    VIEW = 4,        /* work of one load */
    TRIVIAL = 12,    /* work not worth a place in memory, whatever happens to it: a product of two loads */
    CHEAP = 20,      /* work that may be done at each of several uses, over the same points */
    REFERENCE = 128, /* work of finding an element of a row that is referred to: bounded, as a copy of rows is not */
    SHORT_ROW = 8,   /* elements of a row that is copied like a scalar: hardly more than its index */
};

/* ---- linear forms ---- */
typedef enum term_kind {
    TERM_AXIS,
    TERM_EXTENT,
    TERM_EXPR
} term_kind;
typedef struct term {
    uint8_t kind;
    uint32_t id; /* position of an axis; axis; expression */
    int64_t factor;
} term;
typedef struct form {
    int64_t constant;
    uint32_t n;
    term terms[MAX_FORM];
} form;

typedef struct cell {
    loom_lexpr_id expr;
    uint32_t next; /* + 1 */
    uint64_t hash;
    uint32_t params; /* serial number of the block whose parameters it may name */
} cell;

typedef struct inlined {
    loom_lop_id op;
    uint32_t n;
    loom_lexpr_id index[LOOM_LIFTED_MAX_AXES];
    loom_lexpr_id *map;   /* of the producer's body, by expression */
    loom_lexpr_id **many; /* results of control expressions */
    bool conditional;
} inlined;

typedef struct rewrite {
    loom_lifted old; /* the tables as they were; ops and values by old number */
    loom_lifted *l;
    loom_arena *scratch;
    /* facts about old operations */
    const uint32_t *points; /* per old op: places at which its results are loaded, over all operations */
    const bool *held;       /* per value: needed in memory whatever fusion does */

    const loom_lop_id *scope_of;        /* per old op: 2 * the LOOP or IF around + side, or LOOM_NONE */
    const bool *pinned;                 /* per value: may not be another one (outputs, next states) */
    loom_lvalue_id *alias;              /* per value: the equal one that stands for it, or itself */
    uint64_t *op_hash;                  /* per new op */
    uint32_t *next_equal, *heads_equal; /* chains of new ops by hash */
    uint64_t *work;                     /* per value: of its expression in its producer */
    bool *refers;                       /* per value: it only refers to rows of others (fuse_refers) */
    loom_lop_id *maker;                 /* per value: new COMPUTE operation that makes it, or LOOM_NONE */
    const loom_lop_id *loop_of_old;     /* per old op: innermost LOOP around, or LOOM_NONE */
    loom_lop_id *loop_of_new;           /* per new op: the same, by old number */
    uint32_t *old_number;               /* per new op */
    /* the operation being made */
    const loom_lop *op;
    loom_lop_id op_id;     /* old */
    uint32_t skipped_axis; /* position that the present block cannot name, or LOOM_NONE */
    uint32_t loops;        /* FOR and WHILE around */
    uint32_t body_size;
    LOOM_VEC(cell) cells;
    uint32_t heads[1024];
    LOOM_VEC(inlined) inlined;
    uint32_t params, serial;
    form facts[MAX_FACTS];
    uint32_t n_facts;
    struct {
        loom_lexpr_id expr;
        bool holds;
    } conditions[MAX_FACTS]; /* around, as they are */
    uint32_t n_conditions;
    loom_lsite_id condition_site;
    bool changed;
} rewrite;

/* emit.c */
loom_lexpr_id fuse_emit(rewrite *r, loom_lexpr e, const loom_lexpr_id *args, uint32_t n);
loom_lexpr_id fuse_emit_const(rewrite *r, loom_dtype t, loom_scalar s);
loom_lexpr_id fuse_emit_int(rewrite *r, int64_t i);
loom_lexpr_id fuse_emit_prim(rewrite *r, loom_prim prim, loom_dtype t, const loom_lexpr_id *args, loom_lsite_id site,
                             loom_span span);
loom_lexpr_id fuse_emit_prim2(rewrite *r, loom_prim prim, loom_lexpr_id a, loom_lexpr_id b);
loom_lexpr_id fuse_emit_extent(rewrite *r, loom_axis_id axis); /* not of a segmented one */
/* The extent of axis i of the value, where the axes before it have the given indices; of a segmented one it is 0 where
 * these are out of range. */
loom_lexpr_id fuse_emit_extent_at(rewrite *r, loom_lvalue_id value, uint32_t i, const loom_lexpr_id *index);
loom_lexpr fuse_blank_expr(loom_lexpr_kind kind, loom_dtype t);
bool fuse_const_of(const rewrite *r, loom_lexpr_id e, loom_scalar *s);
typedef struct scope {
    size_t n_cells, n_inlined;
    uint32_t n_facts, n_conditions, params;
    loom_lexpr_id first;
} scope;
scope fuse_open_scope(rewrite *r, bool params);
void fuse_close_scope(rewrite *r, scope s);
void fuse_undo_scope(rewrite *r, scope s, uint32_t n_args, uint32_t n_blocks); /* also takes back what was emitted */

/* numbered.c */
/* The element whose number the index is, where the value is that of a permute which numbers elements; else LOOM_NONE.
 */
loom_lexpr_id fuse_own_number(const rewrite *r, loom_lvalue_id value, loom_lexpr_id index);

/* prove.c */
bool fuse_linear(const rewrite *r, loom_lexpr_id e, int64_t factor, form *f);
bool fuse_at_least(const rewrite *r, const form *f, int64_t least); /* proven: f >= least */
void fuse_assume(rewrite *r, loom_lexpr_id condition, bool holds);
/* 1 proven true, 0 proven false, -1 not known. */
int fuse_decide(const rewrite *r, loom_prim prim, loom_lexpr_id a, loom_lexpr_id b);
bool fuse_load_in_range(const rewrite *r, loom_lvalue_id value, const loom_lexpr_id *index);

/* copy.c */
/* A block of the old tables as a block of its own, with the wanted results (NULL: all). */
void fuse_copy_body(rewrite *r, loom_lblock_id block, const bool *wanted, loom_lblock_id *made);
uint64_t fuse_work_of(const loom_lexpr *e); /* in halves of a floating-point addition */
/* Per expression of the new block, whether the result or an effect needs it. */
const bool *fuse_needed(const rewrite *r, loom_lblock_id block, uint32_t result);
uint64_t fuse_result_work(const rewrite *r, loom_lblock_id block, uint32_t result);

/* rules.c */
/* Whether a result of the COMPUTE may be larger than all that its elements are taken from: rows chosen by an index,
 * slices, repeated rows. Nothing bounds the size of such a copy but what the indices ask for. */
bool fuse_refers(const rewrite *r, const loom_lop *o, uint32_t result);
bool fuse_may_inline(const rewrite *r, loom_lvalue_id value, loom_lop_id maker, const loom_lexpr_id *index);

/* uses.c */
typedef struct uses {
    uint32_t *points;
    bool *held, *value, *op; /* op: alive */
} uses;
uses fuse_find_uses(const loom_lifted *l, loom_arena *arena);
loom_lop_id *fuse_find_loops(const loom_lifted *l, loom_arena *arena);

/* share.c: equal operations become one */
loom_lop_id *fuse_find_scopes(const loom_lifted *l, loom_arena *arena);
/* An operation already made that computes the same as this one and may be used in scope `scope`, or LOOM_NONE. */
loom_lop_id fuse_find_equal(const rewrite *r, const loom_lop *o, loom_lop_id scope, uint64_t hash);
uint64_t fuse_hash_op(const rewrite *r, const loom_lop *o);

/* merge.c: operations over the same points become one; true if some did */
bool fuse_merge_operations(loom_lifted *l);

/* unroll.c: reductions along short constant axes become expressions */
void fuse_unroll(loom_lifted *l);

#endif
