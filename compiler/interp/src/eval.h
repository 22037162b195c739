/* The evaluation of one call: what is shared by the files of the interpreter. */
#ifndef LOOM_INTERP_EVAL_H
#define LOOM_INTERP_EVAL_H

#include "compiler/interp/interp.h"
#include "compiler/ir/prim.h"
#include "compiler/ir/trap.h"
#include "value.h"

/* A kernel applies one primitive to n operands of a type; results and operands are plain arrays of scalars. */
typedef void kernel(size_t n, void *out, const void *a, const void *b, const void *c);

/* What is worked out about a body before anything runs. */
typedef struct body_code {
    const loom_node_id *nodes; /* of the body itself, without parameters and nested bodies, in order */
    uint32_t n_nodes;
    const loom_node_id *objects; /* those and parameters whose values are objects: released at the end */
    uint32_t n_objects;
    bool result_is_last; /* the result is a node of a body around it that is not used again */
    uint16_t single;     /* the primitive, if the body is one primitive of its two parameters; else LOOM_PRIM_COUNT */
    bool single_swaps;   /* ... of the second and the first */
    const struct strip_code *strip; /* scalars all through: strip.c runs it on many elements at once; else NULL */
} body_code;

#define MAX_PATH 64

typedef struct evaluation {
    const loom_program *program;
    const loom_interp_options *options;
    loom_arena *arena;   /* what is worked out beforehand */
    loom_arena *scratch; /* of a plan that is being made; NULL outside */
    heap heap;
    slot *env;                   /* by node; functions do not recurse, so each node has one value at a time */
    const type_info **types;     /* by type; NULL until asked for */
    struct named_leaves *leaves; /* by type: what its columns are called; NULL until asked for */
    body_code *bodies;           /* by body */
    bool *last;                  /* by operand entry: the last use of a value of an object type */
    bool *any_last;              /* by node: one of its operands is */
    uint64_t work;               /* scalar evaluations */
    uint64_t turns;              /* of loops, and elements that bodies ran on */
    uint64_t work_limit;
    uint64_t steps;
    loom_window_counts windows; /* of all groups that go on for ever */
    uint64_t random;            /* state of the generator for splits; 0: none */
    int64_t path[MAX_PATH];     /* indices of elements that an error came from, innermost first */
    uint32_t n_path;
    bool path_in_stream; /* the outermost of them counts elements of a stream */
    char *strip_memory;  /* lanes of a strip: bodies run by strips hold no others, so one is enough */
    size_t strip_bytes;
    struct fft_plan *plans;
} evaluation;

/* ---- shared helpers ---- */

const type_info *type_of_id(evaluation *ev, loom_type_id id);
static inline const type_info *type_of(evaluation *ev, loom_node_id id) {
    loom_type_id type = ev->program->nodes[id].type;
    return ev->types[type] ? ev->types[type] : type_of_id(ev, type);
}
static inline const type_info *operand_type(evaluation *ev, const loom_node *n, uint32_t i) {
    return type_of(ev, loom_operand(ev->program, n, i));
}
static inline slot operand(const evaluation *ev, const loom_node *n, uint32_t i) { /* borrowed */
    return ev->env[loom_operand(ev->program, n, i)];
}
static inline int64_t operand_i64(const evaluation *ev, const loom_node *n, uint32_t i) {
    return operand(ev, n, i).i64;
}
/* The operand with a reference of its own: moved out of its node where this is its last use. */
slot take_operand(evaluation *ev, const loom_node *n, uint32_t i);

/* An error when work, turns and scalars moved together pass the limit. Looked at once a node and once a turn. */
LOOM_MUST_USE loom_status *check_effort(const evaluation *ev, const loom_node *n);
LOOM_MUST_USE static inline loom_status *count_turn(evaluation *ev, const loom_node *n, uint64_t turns) {
    ev->turns += turns;
    return ev->work_limit ? check_effort(ev, n) : NULL;
}

/* An error of a running program at a node. */
LOOM_MUST_USE loom_status *fail(const evaluation *ev, const loom_node *n, loom_trap_code error, const char *format, ...)
    LOOM_PRINTF(4, 5);
/* One of the errors that compiled code reports too, in the same words. */
LOOM_MUST_USE loom_status *fail_trap(const evaluation *ev, const loom_node *n, loom_trap trap, uint32_t detail,
                                     int64_t a, int64_t b);
/* Puts a place on an error that has none (memory, sizes). NULL stays NULL. */
loom_status *place_error(const evaluation *ev, const loom_node *n, loom_status *status);
/* The element that an error came from. NULL stays NULL. */
loom_status *at_element(evaluation *ev, int64_t i, loom_status *status);

void evaluation_prepare(evaluation *ev);

/* Evaluates a body whose parameters are set (env holds a reference each). */
LOOM_MUST_USE loom_status *eval_body(evaluation *ev, loom_body_id body, slot *result);
static inline void set_param(evaluation *ev, loom_body_id body, uint32_t i, slot value) {
    ev->env[ev->program->bodies[body].first + i] = value;
}
static inline loom_body_id body_of(const evaluation *ev, const loom_node *n, uint32_t i) {
    return ev->program->body_refs[n->first_body + i];
}
/* Applies a body of two parameters to values whose references it takes. */
LOOM_MUST_USE loom_status *apply2(evaluation *ev, loom_body_id body, slot a, slot b, slot *result);
LOOM_MUST_USE loom_status *apply1(evaluation *ev, loom_body_id body, slot a, slot *result);

/* ---- operations, by file; each leaves a value with a reference of its own ---- */

LOOM_MUST_USE loom_status *eval_array_op(evaluation *ev, loom_node_id id, slot *result); /* arrays.c: no bodies */
LOOM_MUST_USE loom_status *eval_shape_op(evaluation *ev, loom_node_id id, slot *result); /* shapes.c: rearranging */
LOOM_MUST_USE loom_status *eval_mapping_op(evaluation *ev, loom_node_id id,
                                           slot *result); /* mapping.c: bodies on elements */
LOOM_MUST_USE loom_status *eval_permute_op(evaluation *ev, loom_node_id id, slot *result);  /* permute.c */
LOOM_MUST_USE loom_status *eval_sequence_op(evaluation *ev, loom_node_id id, slot *result); /* sequence.c */
LOOM_MUST_USE loom_status *eval_fft(evaluation *ev, loom_node_id id, slot *result);         /* fft.c */
LOOM_MUST_USE loom_status *eval_sort(evaluation *ev, loom_node_id id, slot *result);        /* sort.c */

/* ---- writing into arrays (arrays.c) ---- */

/* The array with one reference, so that its columns may be exchanged; takes a reference, gives one. */
LOOM_MUST_USE loom_status *array_writable(evaluation *ev, const type_info *element, array *a, array **made);
/* Writes an element of a writable array of type `target`, in place where it can; the path is inside. */
LOOM_MUST_USE loom_status *array_update(evaluation *ev, const type_info *target, array *a, const int64_t *path,
                                        uint32_t levels, slot value);
/* A column of the same contents that may be written in place; takes a reference, gives one. */
LOOM_MUST_USE loom_status *column_writable(evaluation *ev, column *c, column **made);
/* Is the index path inside the column? Else where it leaves it (level, length there). */
bool path_inside(const column *c, const int64_t *path, uint32_t levels, uint32_t *level, int64_t *length);

/* ---- whole arrays (shapes.c, mapping.c, permute.c); what is made is a new reference, arguments are borrowed ---- */

/* The outermost level split into `rank` levels of these extents. */
LOOM_MUST_USE loom_status *column_nest(evaluation *ev, column *c, uint32_t rank, const int64_t *extents, column **made);
LOOM_MUST_USE loom_status *array_nest(evaluation *ev, const type_info *element, array *flat, uint32_t rank,
                                      const int64_t *extents, array **made);
LOOM_MUST_USE loom_status *array_reverse(evaluation *ev, const type_info *element, const array *a, array **made);
/* The elements at these positions (i64, all inside). */
LOOM_MUST_USE loom_status *array_pick(evaluation *ev, const type_info *element, const array *a, const column *positions,
                                      array **made);
/* A body of `rank` indices on all `total` index tuples below the extents, in row-major order, as one level. */
LOOM_MUST_USE loom_status *generate_flat(evaluation *ev, loom_body_id body, uint32_t rank, const int64_t *extents,
                                         int64_t total, array **made);
/* Folds elements [from, to), floats in stretches; takes the reference to `start`. */
LOOM_MUST_USE loom_status *fold_range(evaluation *ev, loom_body_id op, const type_info *element, const array *a,
                                      int64_t from, int64_t to, slot start, slot *result);

/* ---- strips (strip.c) ---- */

/* Elements that a strip takes at once: the scalars of a body of 100 nodes stay in the second-level cache. */
#define STRIP_LENGTH 256

typedef struct strip_input {
    column *const *leaves;  /* elements of an array of the parameter's type; NULL: an index, which is */
    int64_t repeat, modulo; /* (position / repeat) % modulo */
} strip_input;

/* Runs a body marked `strip` on elements [*from, length) of its inputs, strip by strip, and adds the results to `sink`.
 * *from is then the first element not done: one of its strip would fail, or does not fit this path; run those one by
 * one. */
LOOM_MUST_USE loom_status *strip_all(evaluation *ev, loom_body_id body, const strip_input *inputs, int64_t length,
                                     array_builder *sink, int64_t *from);
/* The body as a list of instructions on strips, in the evaluation's arena; NULL where it is not scalar all through. */
const struct strip_code *strip_prepare(evaluation *ev, loom_body_id body);

/* ---- primitives (kernels.c) ---- */

kernel *prim_kernel(uint16_t prim, loom_dtype type); /* type of the last operand; NULL where there is none */
kernel *convert_kernel(loom_dtype from, loom_dtype to);
/* First position at which the primitive fails, or -1; *what says why. */
int64_t prim_failure(uint16_t prim, loom_dtype type, size_t n, const void *b, const char **what);

/* ---- borders (border.c) ---- */

LOOM_MUST_USE loom_status *value_in(evaluation *ev, loom_type_id type, const char *name, const loom_value *value,
                                    slot *made);
LOOM_MUST_USE loom_status *value_out(evaluation *ev, loom_type_id type, slot s, loom_value **made);

#endif
