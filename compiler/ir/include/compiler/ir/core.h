/* Typed core: what `syntax` elaborates a Weft text into, what travels as "the program", what `interp` evaluates and the
 * rest of the compiler transforms.
 *
 * SHAPE. A-normal form in one flat table of nodes. A node's operands are nodes with smaller indices. A *body* (the
 * function given to an operation, the branches of an if, a loop's test and step, a top-level function) is a contiguous
 * range of the table, [first, end), that begins with its parameters (LOOM_OP_PARAM nodes) and stands before the node
 * that uses it. Bodies nest. A node may use nodes of its own body and of the bodies around it; only function bodies are
 * closed. Each body except a function's is used by exactly one node. So cycles cannot be said and depth is checked by a
 * scan. After specialisation there are no function values: each function argument has become a body.
 *
 * TYPES are structural and interned: scalar, tuple (with field names for records; an unnamed tuple has names NULL),
 * array of an element type, sequence of an element type. Sizes are not in types: a claim is a node (LOOM_OP_CLAIM).
 * Arrays of tuples are one kind of array; a tuple of arrays another; ZIP and UNZIP convert.
 *
 * OWNERSHIP: everything lives in the program's arena. THREADS: immutable once built and checked.
 */
#ifndef LOOM_COMPILER_IR_CORE_H
#define LOOM_COMPILER_IR_CORE_H

#include "common/arena.h"
#include "common/dtype.h"
#include "common/status.h"

typedef uint32_t loom_node_id; /* index into loom_program.nodes */
typedef uint32_t loom_body_id;
typedef uint32_t loom_type_id;
#define LOOM_NONE UINT32_MAX

/* ---- types ---- */
typedef enum loom_type_kind {
    LOOM_T_SCALAR,
    LOOM_T_TUPLE,
    LOOM_T_ARRAY,
    LOOM_T_SEQ
} loom_type_kind;

typedef struct loom_type {
    loom_type_kind kind;
    loom_dtype dtype;           /* SCALAR */
    loom_type_id element;       /* ARRAY, SEQ */
    uint32_t n_fields;          /* TUPLE (0 is the unit type) */
    const loom_type_id *fields; /* TUPLE */
    const char *const *names;   /* TUPLE: NULL, or one name each */
} loom_type;

/* ---- operations ----
 * X(NAME, text, operands, bodies, steps, note): operands/bodies: a count, or -1 for "any number" (see note); steps: 1
 * for an operation on whole arrays (a barrier when each operation runs over the whole chunk), 0 for what moves nothing.
 * `ne`, `op` etc. as in WEFT.md. An elementwise operator body of 2 parameters is (accumulated, next). */
#define LOOM_CORE_OPS(X)                                                                                               \
    X(PARAM, "param", 0, 0, 0, "parameter of the body that it begins; aux = its position")                             \
    X(CONST, "const", 0, 0, 0, "scalar constant; aux = index into constants")                                          \
    X(PRIM, "prim", -1, 0, 0, "scalar primitive `prim` on scalars (see prim.h)")                                       \
    X(CONVERT, "convert", 1, 0, 0, "scalar to the node's scalar type: WEFT `T x`")                                     \
    X(TUPLE, "tuple", -1, 0, 0, "tuple of the operands")                                                               \
    X(PROJECT, "project", 1, 0, 0, "field aux of a tuple")                                                             \
    X(CALL, "call", -1, 0, 0, "call of function aux with the operands; functions have smaller indices than callers")   \
    X(LIFTED, "lifted", -1, 2, 0,                                                                                      \
      "arguments; body (arguments), and a version of it that the user wrote for arrays of arguments; see below")       \
    X(IF, "if", 1, 2, 0, "condition; then-body, else-body, no parameters")                                             \
    X(LOOP_FOR, "for", 2, 1, 0, "count n (i64), initial state; body (i, state) -> state")                              \
    X(LOOP_WHILE, "while", 1, 2, 0, "initial state; test body (state) -> bool, step body (state) -> state")            \
    X(ASSERT, "assert", 2, 0, 0, "condition, value: the value, or an error; aux: loom_assertion, what is said")        \
    X(CLAIM, "claim", -1, 0, 0,                                                                                        \
      "array, then one i64 per claimed level; aux = bit mask of claimed levels (bit 0 outermost)")                     \
    X(DIM, "dim", 1, 0, 0, "i64: extent of level aux of an array, by first rows; 0 where there is no row")             \
    X(ARRAY, "array", -1, 0, 1, "array literal; at least one operand (an empty one is REPLICATE 0)")                   \
    X(INDEX, "index", -1, 0, 0, "array, then 1..depth i64 indices")                                                    \
    X(SLICE, "slice", -1, 0, 1, "array, from, to, step: outermost level; aux bits 0,1,2: from, to, step present")      \
    X(UPDATE, "update", -1, 0, 1, "array, value, then i64 indices: functional update")                                 \
    X(LENGTH, "length", 1, 0, 0, "i64: extent of the outermost level")                                                 \
    X(MAP, "map", -1, 1, 1, "arrays of equal length; body of as many parameters")                                      \
    X(GENERATE, "generate", -1, 1, 1, "1..3 extents (i64); body of as many i64 parameters; result nested that deep")   \
    X(IOTA, "iota", 1, 0, 1, "[0, 1, ..., n-1] of the result's integer element type")                                  \
    X(REPLICATE, "replicate", 2, 0, 1, "n, value")                                                                     \
    X(ZIP, "zip", -1, 0, 0, "arrays of equal length -> array of tuples")                                               \
    X(UNZIP, "unzip", 1, 0, 0, "array of tuples -> tuple of arrays")                                                   \
    X(FOLD, "fold", 2, 1, 1, "ne, array; op body (a, x)")                                                              \
    X(FOLD1, "fold1", 1, 1, 1, "non-empty array; op body")                                                             \
    X(SCAN, "scan", 2, 1, 1, "ne, array; op; aux: loom_scan_kind")                                                     \
    X(FILTER, "filter", 1, 1, 1, "array; predicate")                                                                   \
    X(PERMUTE, "permute", 3, 1, 1, "dest, indices, values; op; aux = r, number of dest levels indexed")                \
    X(SCATTER, "scatter", 3, 0, 1, "dest, indices, values; last in source order wins; aux = r")                        \
    X(GATHER, "gather", 2, 0, 1, "array, indices (array of i64, nested at will)")                                      \
    X(BACKPERMUTE, "backpermute", 2, 1, 1,                                                                             \
      "dest, array; body: index of dest (aux = r i64 parameters) -> i64 or tuple of i64")                              \
    X(TRANSPOSE, "transpose", 1, 0, 1, "two outer levels; rows must agree in length")                                  \
    X(FLATTEN, "flatten", 1, 0, 1, "two outer levels into one")                                                        \
    X(UNFLATTEN, "unflatten", 3, 0, 1, "n, m, array")                                                                  \
    X(CONCAT, "concat", -1, 0, 1, "two or more arrays end to end (++)")                                                \
    X(REVERSE, "reverse", 1, 0, 1, "")                                                                                 \
    X(ROTATE, "rotate", 2, 0, 1, "r, array: element i of the result is element (i + r) mod n, as Futhark")             \
    X(FFT, "fft", 1, 0, 1, "all levels of the argument; complex; aux 0 forward (unscaled), 1 inverse (1/N)")           \
    X(SORT, "sort", 1, 0, 1,                                                                                           \
      "keys: array of real scalars, truth values or tuples of those -> []i64, places in ascending order, stable")      \
    X(SEQ_ROWS, "rows", 1, 0, 0, "array -> sequence of its elements")                                                  \
    X(SEQ_MAP, "map_seq", -1, 1, 1, "sequences; body of as many parameters (zip_with_seq)")                            \
    X(SEQ_FILTER, "filter_seq", 1, 1, 1, "sequence; predicate")                                                        \
    X(SEQ_ENUMERATE, "enumerate_seq", 1, 0, 1, "sequence -> sequence of (i64, element)")                               \
    X(SEQ_SCAN, "scan_seq", 2, 1, 1, "ne, sequence; op")                                                               \
    X(SEQ_FOLD, "fold_seq", 2, 1, 1, "ne, sequence; op")                                                               \
    X(SEQ_PERMUTE, "permute_seq", 3, 1, 1, "dest, sequence of indices, sequence of values; op; aux = r")               \
    X(SEQ_REDUCE, "reduce_seq", 2, 2, 1, "zero, sequence; step body (acc, chunk array), merge body (a, b)")            \
    X(SEQ_CHAIN, "chain_seq", 2, 1, 1, "initial state, sequence; step body (state, element) -> state, in order")       \
    X(SEQ_FROM, "from_seq", 1, 0, 0, "sequence -> array")                                                              \
    X(SEQ_GROUP, "group_seq", 2, 2, 1,                                                                                 \
      "n, sequence; keys body (element) -> []i64, group body (k: i64, ys: seq) -> b; -> seq b; aux: loom_group_lag")   \
    X(SEQ_GROUP_MAP, "group_map_seq", 3, 3, 1,                                                                         \
      "n, ne, sequence; keys body, op body, group body (k: i64, ys: seq) -> seq b as long as ys; -> seq b")            \
    X(SEQ_SPILL, "spill", 2, 0, 1, "saves: f64, sequence of []i64 -> array of these; see below")                       \
    X(SEQ_SPILLED, "spilled", 3, 0, 1, "sequence, what spill gave, batch: i64 -> sequence; see below")

/* LIFTED is a call of a function that has a version of its own for arrays: the value is what the first body makes of
 * the arguments. The second takes each argument with one more level, and gives the array of results, one for each row.
 * Both are closed, like functions: where a map evaluates the node for all its elements, the second may stand in place
 * of that (vectorise/versions.h). aux: loom_version_kind, which arguments it is for. */
typedef enum loom_version_kind {
    LOOM_VERSION_REGULAR,   /* all rows of each argument have the same extents */
    LOOM_VERSION_IRREGULAR, /* any rows */
    LOOM_VERSION_FLAT,      /* the compiler's own: the elements of two maps at once; all rows have the same extents */
    LOOM_VERSIONS
} loom_version_kind;

/* SPILL and SPILLED are the compiler's own (stage/normalise.h): no program that is submitted has them. SPILL says which
 * batches each element of a stream is for, and a coordinator may write the stream's elements out by batch, as `saves`
 * traversals of the stream are worth it. SPILLED is the sequence without elements that are not for the batch: all of
 * them, some or none, as the coordinator finds best; what reads it must not care. Its elements have no positions. */
#define LOOM_FIRST_INTERNAL_OP LOOM_OP_SEQ_SPILL

/* SEQ_GROUP with `forever` for n: operand 0 is a 0 that nobody reads, aux is the source's lag and 1; of n groups aux is
 * 0. A group is closed by an element with a key that is greater by more than the lag. */
#define LOOM_MAX_LAG ((int64_t)UINT32_MAX - 1)
/* Groups that the keys of one element may be beyond all that were seen: those between come out too, empty, and a key
 * that was damaged should end a run with an error rather than with 2^40 empty groups. */
#define LOOM_MAX_KEY_STEP ((int64_t)1 << 20)

typedef enum loom_op {
#define X(name, text, operands, bodies, steps, note) LOOM_OP_##name,
    LOOM_CORE_OPS(X)
#undef X
    LOOM_OPS
} loom_op;

typedef enum loom_scan_kind {
    LOOM_SCAN_INCLUSIVE,
    LOOM_SCAN_EXCLUSIVE,
    LOOM_SCAN_RIGHT,
    LOOM_SCAN_TOTAL
} loom_scan_kind;

/* Row of the table of operations; more columns are added here, once. Work is counted by the interpreter: evaluations of
 * primitives weighted by loom_prim_info.work, and scalars moved. */
typedef struct loom_op_info {
    const char *name;
    int n_operands, n_bodies;
    int steps;
    const char *note;
} loom_op_info;
extern const loom_op_info loom_op_table[LOOM_OPS];

typedef struct loom_node {
    uint16_t op;   /* loom_op */
    uint16_t prim; /* loom_prim, for PRIM */
    loom_type_id type;
    uint32_t first_operand, n_operands; /* into loom_program.operands */
    uint32_t first_body, n_bodies;      /* into loom_program.body_refs */
    uint32_t aux;
    loom_span span;
} loom_node;

typedef struct loom_body {
    loom_node_id first, end; /* range of nodes; the first n_params are PARAM */
    uint32_t n_params;
    loom_node_id result; /* a node in scope at the body's end: of the body itself or of one around it */
} loom_body;

typedef struct loom_function {
    const char *name;
    loom_body_id body;
    bool entry;
    const char *const *param_names; /* for --arg and --stream */
    uint32_t foreign;               /* loom_foreign: the system has a version of its own */
} loom_function;

typedef struct loom_source_file {
    const char *name;
    const char *text;
    size_t length;
} loom_source_file;

typedef struct loom_program {
    loom_arena *arena;
    loom_type *types;
    uint32_t n_types, cap_types;
    loom_node *nodes;
    uint32_t n_nodes, cap_nodes;
    loom_node_id *operands;
    uint32_t n_operands, cap_operands;
    loom_body *bodies;
    uint32_t n_bodies, cap_bodies;
    loom_body_id *body_refs;
    uint32_t n_body_refs, cap_body_refs;
    loom_scalar *constants;
    uint32_t n_constants, cap_constants; /* typed by the CONST node */
    loom_function *functions;
    uint32_t n_functions, cap_functions;
    loom_source_file *files;
    uint32_t n_files, cap_files;
} loom_program;

loom_program *loom_program_create(loom_arena *arena);

/* A copy with the same numbers, to which more may be built. Texts are shared. */
loom_program *loom_program_clone(loom_arena *arena, const loom_program *from);

/* Types (interned: equal types have equal ids). */
loom_type_id loom_type_scalar(loom_program *p, loom_dtype dtype);
loom_type_id loom_type_array(loom_program *p, loom_type_id element);
loom_type_id loom_type_seq(loom_program *p, loom_type_id element);
loom_type_id loom_type_tuple(loom_program *p, uint32_t n, const loom_type_id *fields, const char *const *names);
bool loom_type_has_seq(const loom_program *p, loom_type_id type);
/* Arrays and sequences above its deepest scalar; at most LOOM_MAX_DEPTH in a checked program. */
uint32_t loom_type_levels(const loom_program *p, loom_type_id type);
/* Text as a user would write it. In the program's arena. */
const char *loom_type_text(const loom_program *p, loom_type_id type);
/* Scalar leaves of a type in order, with dotted names and array depth (number of [] levels above). SEQ counts as a
 * level. */
typedef struct loom_type_leaf {
    const char *name;
    loom_dtype dtype;
    uint32_t depth;
} loom_type_leaf;
uint32_t loom_type_leaves(const loom_program *p, loom_arena *arena, loom_type_id type, loom_type_leaf **leaves);

/* Building: bodies are opened and closed like brackets; nodes go into the innermost open body.
 *     loom_body_id b = loom_build_open(p, n, param_types, span); ... x = loom_build_param(p, b, 0) ...
 *     loom_build_close(p, b, result);
 *     loom_build_node(p, op, prim, type, operands, n, bodies, n, aux, span)            -- after the bodies it uses
 */
loom_body_id loom_build_open(loom_program *p, uint32_t n_params, const loom_type_id *types, loom_span span);
loom_node_id loom_build_param(const loom_program *p, loom_body_id body, uint32_t position);
void loom_build_close(loom_program *p, loom_body_id body, loom_node_id result);
loom_node_id loom_build_node(loom_program *p, loom_op op, uint32_t prim, loom_type_id type,
                             const loom_node_id *operands, uint32_t n_operands, const loom_body_id *bodies,
                             uint32_t n_bodies, uint32_t aux, loom_span span);
loom_node_id loom_build_const(loom_program *p, loom_dtype dtype, loom_scalar value, loom_span span);
loom_node_id loom_build_i64(loom_program *p, int64_t value, loom_span span);
uint32_t loom_build_function(loom_program *p, const char *name, loom_body_id body, bool entry,
                             const char *const *param_names);

/* Reading. */
static inline const loom_node *loom_node_at(const loom_program *p, loom_node_id n) {
    return &p->nodes[n];
}
static inline loom_node_id loom_operand(const loom_program *p, const loom_node *n, uint32_t i) {
    return p->operands[n->first_operand + i];
}
static inline const loom_body *loom_node_body(const loom_program *p, const loom_node *n, uint32_t i) {
    return &p->bodies[p->body_refs[n->first_body + i]];
}
/* Whether a SEQ_GROUP goes on as long as its sequence does, and how long its groups stay open. */
static inline bool loom_group_is_forever(const loom_node *n) {
    return n->op == LOOM_OP_SEQ_GROUP && n->aux != 0;
}
static inline int64_t loom_group_lag(const loom_node *n) {
    return (int64_t)n->aux - 1;
}
/* Sets the lag, 0 to LOOM_MAX_LAG, of all groups that go on for ever; whether there are any. */
bool loom_program_set_lag(loom_program *p, int64_t lag);
/* Whether the operation gives a result whatever it is given; its bodies are asked node by node. Of a checked program.
 */
bool loom_node_cannot_fail(const loom_program *p, const loom_node *n);
const loom_function *loom_program_entry(const loom_program *p,
                                        const char *name); /* NULL name: `main`, or the only entry */

/* By node: the innermost body around it. For a checked program; linear; in `arena`. */
loom_body_id *loom_program_owners(const loom_program *p, loom_arena *arena);

/* Copies a body's nodes into the innermost open body of `to`, replacing its parameters by `arguments`; free nodes are
 * mapped by `map` (indexed by node of `from`, LOOM_NONE where not yet mapped; must map every free node used). `map` is
 * extended by the copied nodes. Returns the node that stands for the body's result. The work-horse of inlining, stage
 * splitting and specialisation. */
loom_node_id loom_copy_body(loom_program *to, const loom_program *from, loom_body_id body,
                            const loom_node_id *arguments, loom_node_id *map);
/* Copies one node with its bodies (operands through `map`). */
loom_node_id loom_copy_node(loom_program *to, const loom_program *from, loom_node_id node, loom_node_id *map);
/* Copies a whole body as a body (with fresh parameters of the same types); returns the new body. */
loom_body_id loom_copy_as_body(loom_program *to, const loom_program *from, loom_body_id body, loom_node_id *map);
loom_type_id loom_copy_type(loom_program *to, const loom_program *from, loom_type_id type);

/* Printer (`explain --stage core`, tests) and checker: types of every node against its operands and bodies, scoping,
 * ranges, limits. Everything later relies on what the checker guarantees. */
void loom_program_print(const loom_program *p, FILE *to);
LOOM_MUST_USE loom_status *loom_program_check(const loom_program *p);

/* The serialised form (proto/program.proto). Decoding scans the wire first (loom_program_scan), then builds and checks;
 * hostile bytes give an error. Encoding is canonical: equal programs have equal bytes. */
LOOM_MUST_USE loom_status *loom_program_encode(const loom_program *p, char **bytes, size_t *length); /* malloc'ed */
LOOM_MUST_USE loom_status *loom_program_decode(loom_arena *arena, const void *bytes, size_t length, loom_program **p);
/* Counts, depth and sizes within limits, from the wire alone: no recursion, no allocation. For the daemon. */
LOOM_MUST_USE loom_status *loom_program_scan(const void *bytes, size_t length);

/* Limits; reasons beside the values. */
#define LOOM_MAX_NODES         (1u << 22) /* a million-node program is legal; 4 M nodes are 200 MB in core */
#define LOOM_MAX_PROGRAM_BYTES (1u << 28) /* wire size; 64 bytes a node at LOOM_MAX_NODES */
#define LOOM_MAX_BODY_NESTING  256        /* passes recurse over bodies; 256 levels stay within a 1 MiB stack */
#define LOOM_MAX_TUPLE         1024       /* fields; each becomes a column */
#define LOOM_MAX_LEAVES        4096 /* scalar leaves of one type; each becomes a column. A chain of pairs doubles them */
#define LOOM_MAX_TYPE_NESTING  64   /* types nest on the C stack in printers and leaves */

#endif
