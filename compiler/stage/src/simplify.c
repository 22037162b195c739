/* Simplify: core to core.
 *
 * Rules (=> reads "becomes"):
 *   call f(a)                         => the body of f with a for its parameters
 *   prim p(constants), convert        => the constant (unless it would trap: then the node stays and traps if reached)
 *   select(true, a, b)                => a;  if true then A else B => A in place
 *   project i (tuple a)               => a_i;   unzip (zip a b) => tuple a b
 *   length (iota n | replicate n x | generate n f) => n where n cannot be negative, else length (iota n), which is an
 *     error where it is;  length (map f x ..) => length x;  length (claim x n ..) => n
 *   dim k (claim x .. n_k ..)         => n_k;   dim 0 x => length x;  dim (k+1) (replicate n x) => dim k x
 *   assert true v                     => v
 *   x ** 2 (integers, real floats)    => x * x: exact, and no call
 *   in a group: if c then .. fold_seq f ne ys .. else B
 *     => let x = fold_seq f ne ys in if c then .. x .. else B: of folds and permutes that cannot fail; consumers of a
 *     group share one traversal, which no condition may stand around
 *   two equal nodes without bodies in nested scopes => the outer one (not from within a closed body)
 * Worked example: `let g = 3 in replicate (g * 2) 0` ends as `replicate 6 0`.
 * Cost: linear in nodes after inlining, times the few rounds until nothing changes. A dead node that would have raised
 * an error is dropped, which WEFT.md allows ("may miss one in a value that nothing needs"). Integers are folded by the
 * interpreter's own rules, so both agree by construction.
 */
#include "simplify.h"
#include "compiler/interp/interp.h"
#include "compiler/ir/foreign.h"
#include "compiler/ir/prim.h"
#include "scope.h"
#include <string.h>

/* Integers of known arguments up to this size become constants: they choose branches and small extents. Larger ones (an
 * image's size) stay symbolic so that one compilation serves all of them (DESIGN 4.7). */
#define SPECIALISE_LARGEST 64
#define ROUNDS             4 /* each round can only expose what the one before folded; programs settle in two or three */

typedef struct entry {
    uint64_t hash;
    loom_node_id node;
    uint32_t next;
} entry;

typedef struct rewriter {
    loom_arena *arena;
    const loom_program *from;
    loom_program *to;
    const loom_scope *scope;
    loom_node_id *map; /* node of from -> node of to */
    bool *live;
    /* Available expressions: buckets of a chained hash, entries in order of creation so that a scope is undone by
     * popping. */
    uint32_t *buckets;
    uint32_t n_buckets;
    LOOM_VEC(entry) entries;
    size_t barrier; /* entries before it are outside of a closed body, which may not use them */
    bool changed;
    uint32_t depth;
    bool in_group;
    bool *hoisted; /* by node of from: stands before the condition that it was under */
} rewriter;

static void mark_live(rewriter *r) {
    const loom_program *p = r->from;
    r->live = LOOM_NEW_ARRAY(r->arena, bool, p->n_nodes + 1);
    for (uint32_t f = 0; f < p->n_functions; f++) r->live[p->bodies[p->functions[f].body].result] = true;
    for (uint32_t n = p->n_nodes; n-- > 0;) {
        if (!r->live[n]) continue;
        const loom_node *node = &p->nodes[n];
        for (uint32_t i = 0; i < node->n_operands; i++) r->live[loom_operand(p, node, i)] = true;
        for (uint32_t i = 0; i < node->n_bodies; i++) r->live[loom_node_body(p, node, i)->result] = true;
    }
}

/* ---- common subexpressions ---- */
static uint64_t mix(uint64_t h, uint64_t v) {
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    return h * 0xff51afd7ed558ccdu;
}

static uint64_t hash_node(const loom_program *p, const loom_node *n) {
    uint64_t h = mix(mix(mix(n->op, n->prim), n->type), n->op == LOOM_OP_CONST ? 0 : n->aux);
    if (n->op == LOOM_OP_CONST) {
        h = mix(h, p->constants[n->aux].u);
        if (loom_dtype_is_complex(p->types[n->type].dtype)) {
            uint64_t im;
            memcpy(&im, &p->constants[n->aux].c[1], sizeof im);
            h = mix(h, im);
        }
    }
    for (uint32_t i = 0; i < n->n_operands; i++) h = mix(h, loom_operand(p, n, i));
    return h;
}

static bool same_node(const loom_program *p, const loom_node *a, const loom_node *b) {
    if (a->op != b->op || a->prim != b->prim || a->type != b->type || a->n_operands != b->n_operands || a->n_bodies ||
        b->n_bodies)
        return false;
    if (a->op == LOOM_OP_CONST) {
        size_t bytes = loom_dtype_is_complex(p->types[a->type].dtype) ? 16 : 8;
        return memcmp(&p->constants[a->aux], &p->constants[b->aux], bytes) == 0;
    }
    if (a->aux != b->aux) return false;
    for (uint32_t i = 0; i < a->n_operands; i++)
        if (loom_operand(p, a, i) != loom_operand(p, b, i)) return false;
    return true;
}

/* The last node of `to` if it is new, else the older equal one (the copy stays behind, dead). */
static loom_node_id share(rewriter *r, loom_node_id n) {
    const loom_node *node = &r->to->nodes[n];
    if (node->n_bodies || node->op == LOOM_OP_PARAM) return n;
    uint64_t h = hash_node(r->to, node);
    uint32_t bucket = (uint32_t)(h % r->n_buckets);
    for (uint32_t e = r->buckets[bucket]; e; e = r->entries.at[e - 1].next)
        if (e > r->barrier && r->entries.at[e - 1].hash == h &&
            same_node(r->to, &r->to->nodes[r->entries.at[e - 1].node], node))
            return r->entries.at[e - 1].node;
    entry fresh = {h, n, r->buckets[bucket]};
    LOOM_PUSH(r->arena, r->entries, fresh);
    r->buckets[bucket] = (uint32_t)r->entries.count;
    return n;
}

static void forget_to(rewriter *r, size_t count) {
    while (r->entries.count > count) {
        const entry *e = &r->entries.at[r->entries.count - 1];
        r->buckets[e->hash % r->n_buckets] = e->next;
        r->entries.count--;
    }
}

/* ---- small builders ---- */
static loom_node_id make(rewriter *r, loom_op op, uint32_t prim, loom_type_id type, const loom_node_id *operands,
                         uint32_t n, uint32_t aux, loom_span span) {
    return share(r, loom_build_node(r->to, op, prim, type, operands, n, NULL, 0, aux, span));
}

static bool is_const(const loom_program *p, loom_node_id n, loom_scalar *value) {
    if (p->nodes[n].op != LOOM_OP_CONST) return false;
    *value = p->constants[p->nodes[n].aux];
    return true;
}

static loom_node_id constant(rewriter *r, loom_dtype t, loom_scalar v, loom_span span) {
    return share(r, loom_build_const(r->to, t, v, span));
}

/* ---- rules ---- */
static bool fold_prim(rewriter *r, const loom_node *n, const loom_node_id *ops, loom_node_id *out) {
    loom_dtype types[3];
    loom_scalar values[3];
    bool all = n->n_operands <= 3;
    for (uint32_t i = 0; i < n->n_operands && all; i++) {
        types[i] = r->to->types[r->to->nodes[ops[i]].type].dtype;
        all = is_const(r->to, ops[i], &values[i]);
    }
    if (n->prim == LOOM_PRIM_SELECT) {
        loom_scalar c;
        if (!is_const(r->to, ops[0], &c)) return false;
        *out = ops[c.b ? 1 : 2];
        return true;
    }
    if (!all) return false;
    loom_scalar result = {0};
    loom_status *failed = loom_interp_prim(n->prim, types, values, &result);
    if (failed) {
        loom_status_free(failed);
        return false;
    }
    *out = constant(r, r->from->types[n->type].dtype, result, n->span);
    return true;
}

static bool fold_convert(rewriter *r, const loom_node *n, loom_node_id operand, loom_node_id *out) {
    loom_dtype from = r->to->types[r->to->nodes[operand].type].dtype, to = r->from->types[n->type].dtype;
    if (from == to) {
        *out = operand;
        return true;
    }
    loom_scalar v, result = {0};
    if (!is_const(r->to, operand, &v)) return false;
    loom_status *failed = loom_interp_convert(from, v, to, &result);
    if (failed) {
        loom_status_free(failed);
        return false;
    }
    *out = constant(r, to, result, n->span);
    return true;
}

/* Whether an integer is 0 or more, whatever it is made of. Not asked deeper than this: operands may be shared, and what
 * is asked of each use would double with each step. */
#define DEEPEST_COUNT 6

static bool is_count_within(const loom_program *p, loom_node_id id, uint32_t depth) {
    const loom_node *n = &p->nodes[id];
    loom_scalar v;
    if (is_const(p, id, &v)) return v.i >= 0;
    if (n->op == LOOM_OP_LENGTH || n->op == LOOM_OP_DIM) return true;
    if (n->op != LOOM_OP_PRIM || n->n_operands != 2 || depth == 0) return false;
    loom_node_id a = loom_operand(p, n, 0), b = loom_operand(p, n, 1);
    depth--;
    switch ((loom_prim)n->prim) {
    case LOOM_PRIM_MAX: return is_count_within(p, a, depth) || is_count_within(p, b, depth);
    case LOOM_PRIM_MIN: return is_count_within(p, a, depth) && is_count_within(p, b, depth);
    case LOOM_PRIM_FLOORDIV: return is_count_within(p, a, depth) && is_const(p, b, &v) && v.i > 0;
    case LOOM_PRIM_FLOORMOD: return is_const(p, b, &v) && v.i > 0;
    default: return false;
    }
}

static bool is_count(const loom_program *p, loom_node_id id) {
    return is_count_within(p, id, DEEPEST_COUNT);
}

/* Of an array that was made with n elements, wherever that was. There n is looked at; the array itself nobody may need.
 * Arrays made with as many are then seen to be as long. */
static loom_node_id length_of_made(rewriter *r, loom_node_id n, loom_span span) {
    if (is_count(r->to, n)) return n;
    loom_type_id i64 = loom_type_scalar(r->to, LOOM_I64);
    loom_node_id made = make(r, LOOM_OP_IOTA, 0, loom_type_array(r->to, i64), &n, 1, 0, span);
    return make(r, LOOM_OP_LENGTH, 0, i64, &made, 1, 0, span);
}

/* Extent of level `level` of array x, if a node of `to` already says it. */
static loom_node_id extent_of(rewriter *r, loom_node_id x, uint32_t level, loom_span span) {
    loom_program *p = r->to;
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64);
    for (;;) {
        const loom_node *n = &p->nodes[x];
        switch (n->op) {
        case LOOM_OP_CLAIM: {
            if (level < 32 && (n->aux >> level & 1)) {
                uint32_t at = 1 + (uint32_t)__builtin_popcount(n->aux & ((1u << level) - 1));
                return loom_operand(p, n, at);
            }
            x = loom_operand(p, n, 0);
            continue;
        }
        case LOOM_OP_IOTA: return length_of_made(r, loom_operand(p, n, 0), n->span);
        case LOOM_OP_REPLICATE:
            if (level == 0) return length_of_made(r, loom_operand(p, n, 0), n->span);
            level--;
            x = loom_operand(p, n, 1);
            if (p->types[p->nodes[x].type].kind != LOOM_T_ARRAY) return LOOM_NONE;
            continue;
        case LOOM_OP_GENERATE:
            if (level < n->n_operands) return length_of_made(r, loom_operand(p, n, level), n->span);
            break;
        case LOOM_OP_MAP:
            if (level == 0) {
                x = loom_operand(p, n, 0);
                continue;
            }
            break;
        case LOOM_OP_SORT: x = loom_operand(p, n, 0); continue; /* the result has one level */
        case LOOM_OP_ARRAY:
            if (level == 0) return constant(r, LOOM_I64, (loom_scalar){.i = n->n_operands}, span);
            break;
        case LOOM_OP_FFT:
        case LOOM_OP_REVERSE: x = loom_operand(p, n, 0); continue;
        case LOOM_OP_UPDATE:
            if (level == 0) {
                x = loom_operand(p, n, 0);
                continue;
            }
            break;
        case LOOM_OP_ZIP:
            if (level == 0) {
                x = loom_operand(p, n, 0);
                continue;
            }
            break;
        default: break;
        }
        uint32_t aux = level;
        loom_op op = level == 0 ? LOOM_OP_LENGTH : LOOM_OP_DIM;
        return make(r, op, 0, i64, &x, 1, level == 0 ? 0 : aux, span);
    }
}

static bool identity_integer(rewriter *r, const loom_node *n, const loom_node_id *ops, loom_node_id *out) {
    loom_scalar v;
    if (n->n_operands != 2 || !loom_dtype_is_integer(r->from->types[n->type].dtype)) return false;
    for (int side = 0; side < 2; side++) {
        if (!is_const(r->to, ops[side], &v)) continue;
        bool zero = v.i == 0, one = v.i == 1;
        if ((n->prim == LOOM_PRIM_ADD && zero) || (n->prim == LOOM_PRIM_MUL && one) ||
            (side == 1 && ((n->prim == LOOM_PRIM_SUB && zero) || (n->prim == LOOM_PRIM_FLOORDIV && one)))) {
            *out = ops[1 - side];
            return true;
        }
    }
    return false;
}

static bool rule(rewriter *r, const loom_node *n, const loom_node_id *ops, loom_node_id *out) {
    loom_program *p = r->to;
    switch (n->op) {
    case LOOM_OP_PRIM: return fold_prim(r, n, ops, out) || identity_integer(r, n, ops, out);
    case LOOM_OP_CONVERT: return fold_convert(r, n, ops[0], out);
    case LOOM_OP_PROJECT: {
        const loom_node *t = &p->nodes[ops[0]];
        if (t->op != LOOM_OP_TUPLE) return false;
        *out = loom_operand(p, t, n->aux);
        return true;
    }
    case LOOM_OP_UNZIP: {
        const loom_node zip = p->nodes[ops[0]];
        if (zip.op != LOOM_OP_ZIP) return false;
        loom_node_id *parts = LOOM_NEW_ARRAY(r->arena, loom_node_id, zip.n_operands);
        memcpy(parts, p->operands + zip.first_operand, zip.n_operands * sizeof *parts);
        *out = make(r, LOOM_OP_TUPLE, 0, loom_copy_type(p, r->from, n->type), parts, zip.n_operands, 0, n->span);
        return true;
    }
    case LOOM_OP_LENGTH: *out = extent_of(r, ops[0], 0, n->span); return *out != LOOM_NONE;
    case LOOM_OP_DIM: *out = extent_of(r, ops[0], n->aux, n->span); return *out != LOOM_NONE;
    case LOOM_OP_ASSERT: {
        loom_scalar c;
        if (!is_const(p, ops[0], &c) || !c.b) return false;
        *out = ops[1];
        return true;
    }
    default: return false;
    }
}

static loom_node_id emit_inline(rewriter *r, loom_body_id body, const loom_node_id *arguments);
static loom_node_id emit_node(rewriter *r, loom_node_id id);

/* ---- consumers under a condition, in a group ---- */

static bool is_traversal(loom_op op) {
    return op == LOOM_OP_SEQ_MAP || op == LOOM_OP_SEQ_FOLD || op == LOOM_OP_SEQ_PERMUTE;
}

/* Each element goes to one place: of several, indices and values may differ in number. */
static bool is_one_place(const loom_program *p, const loom_node *permute) {
    const loom_type *places = &p->types[p->nodes[loom_operand(p, permute, 1)].type];
    return p->types[places->element].kind != LOOM_T_ARRAY;
}

/* Node n of the branch may stand before the condition: nothing in it can fail, and all that it is made of does too. */
static bool may_hoist(const rewriter *r, const loom_body *branch, loom_node_id n, const bool *before) {
    const loom_program *p = r->from;
    const loom_node *node = &p->nodes[n];
    if (!is_traversal((loom_op)node->op) && !loom_scope_is_harmless(p, node)) return false;
    if (node->op == LOOM_OP_SEQ_PERMUTE && !is_one_place(p, node)) return false;
    loom_node_id *uses;
    uint32_t n_uses = loom_scope_uses(p, r->arena, n, &uses);
    for (uint32_t i = 0; i < n_uses; i++)
        if (uses[i] >= branch->first && !before[uses[i] - branch->first]) return false;
    for (uint32_t i = 0; i < node->n_bodies; i++) {
        const loom_body *b = loom_node_body(p, node, i);
        for (loom_node_id m = b->first; m < b->end; m++)
            if (!loom_scope_is_harmless(p, &p->nodes[m])) return false;
    }
    return true;
}

/* Of the branch, those consumers and what they are made of. */
static void find_hoisted(const rewriter *r, loom_body_id body, bool *wanted) {
    const loom_program *p = r->from;
    const loom_body *b = &p->bodies[body];
    bool *before = LOOM_NEW_ARRAY(r->arena, bool, (size_t)(b->end - b->first) + 1);
    for (loom_node_id n = loom_scope_first(r->scope, body); n != LOOM_NONE; n = loom_scope_next(r->scope, body, n)) {
        before[n - b->first] = may_hoist(r, b, n, before);
        bool consumer = is_traversal((loom_op)p->nodes[n].op) && p->nodes[n].op != LOOM_OP_SEQ_MAP;
        wanted[n] = consumer && r->live[n] && before[n - b->first];
    }
    for (loom_node_id n = b->end; n-- > b->first;) {
        loom_node_id *uses;
        uint32_t n_uses = wanted[n] ? loom_scope_uses(p, r->arena, n, &uses) : 0;
        for (uint32_t i = 0; i < n_uses; i++)
            if (uses[i] >= b->first) wanted[uses[i]] = true;
    }
}

static void hoist_consumers(rewriter *r, loom_body_id body) {
    const loom_body b = r->from->bodies[body];
    find_hoisted(r, body, r->hoisted);
    for (loom_node_id n = b.first; n < b.end; n++) {
        if (!r->hoisted[n]) continue;
        r->map[n] = emit_node(r, n);
        r->changed = true;
    }
}

/* A body that is emitted again, where its function is called again, begins anew. */
static void forget_hoisted(rewriter *r, loom_body_id body) {
    const loom_body *b = &r->from->bodies[body];
    memset(r->hoisted + b->first, 0, (b->end - b->first) * sizeof *r->hoisted);
}

static loom_body_id emit_body(rewriter *r, loom_body_id body) {
    const loom_body b = r->from->bodies[body];
    loom_type_id *types = LOOM_NEW_ARRAY(r->arena, loom_type_id, b.n_params + 1);
    for (uint32_t i = 0; i < b.n_params; i++)
        types[i] = loom_copy_type(r->to, r->from, r->from->nodes[b.first + i].type);
    loom_span span = b.first < r->from->n_nodes ? r->from->nodes[b.first].span : (loom_span){0};
    loom_body_id copy = loom_build_open(r->to, b.n_params, types, span);
    loom_node_id *params = LOOM_NEW_ARRAY(r->arena, loom_node_id, b.n_params + 1);
    for (uint32_t i = 0; i < b.n_params; i++) params[i] = loom_build_param(r->to, copy, i);
    size_t mark = r->entries.count;
    loom_node_id result = emit_inline(r, body, params);
    forget_to(r, mark);
    loom_build_close(r->to, copy, result);
    return copy;
}

static loom_node_id emit_node(rewriter *r, loom_node_id id) {
    const loom_node *n = &r->from->nodes[id];
    loom_node_id *ops = LOOM_NEW_ARRAY(r->arena, loom_node_id, n->n_operands + 1);
    for (uint32_t i = 0; i < n->n_operands; i++) ops[i] = r->map[loom_operand(r->from, n, i)];
    if (n->op == LOOM_OP_CONST) return constant(r, r->from->types[n->type].dtype, r->from->constants[n->aux], n->span);
    if (n->op == LOOM_OP_CALL) {
        const loom_function *callee = &r->from->functions[n->aux];
        r->changed = true;
        if (!callee->foreign) return emit_inline(r, callee->body, ops);
        const loom_foreign_info *own = &loom_foreign_table[callee->foreign];
        return make(r, own->op, 0, loom_copy_type(r->to, r->from, n->type), ops, n->n_operands, own->aux, n->span);
    }
    loom_scalar c;
    if (n->op == LOOM_OP_IF && is_const(r->to, ops[0], &c)) {
        r->changed = true;
        return emit_inline(r, r->from->body_refs[n->first_body + (c.b ? 0 : 1)], NULL);
    }
    loom_node_id out;
    if (rule(r, n, ops, &out)) {
        r->changed = true;
        return out;
    }
    loom_body_id *bodies = LOOM_NEW_ARRAY(r->arena, loom_body_id, n->n_bodies + 1);
    size_t barrier = r->barrier;
    if (n->op == LOOM_OP_LIFTED) r->barrier = r->entries.count;
    bool hoists = n->op == LOOM_OP_IF && r->in_group, around = r->in_group;
    for (uint32_t i = 0; hoists && i < n->n_bodies; i++) hoist_consumers(r, r->from->body_refs[n->first_body + i]);
    for (uint32_t i = 0; i < n->n_bodies; i++) {
        r->in_group = around || (n->op == LOOM_OP_SEQ_GROUP && i == 1);
        bodies[i] = emit_body(r, r->from->body_refs[n->first_body + i]);
        if (hoists) forget_hoisted(r, r->from->body_refs[n->first_body + i]);
    }
    r->in_group = around;
    r->barrier = barrier;
    out = loom_build_node(r->to, (loom_op)n->op, n->prim, loom_copy_type(r->to, r->from, n->type), ops, n->n_operands,
                          bodies, n->n_bodies, n->aux, n->span);
    return share(r, out);
}

/* Emits the live nodes of a body into the innermost open one. `map` entries of a callee are overwritten at each
 * inlining, which is right because a function never (even indirectly) calls itself. */
static loom_node_id emit_inline(rewriter *r, loom_body_id body, const loom_node_id *arguments) {
    const loom_body b = r->from->bodies[body];
    for (uint32_t i = 0; i < b.n_params; i++) r->map[b.first + i] = arguments[i];
    for (loom_node_id n = loom_scope_first(r->scope, body); n != LOOM_NONE; n = loom_scope_next(r->scope, body, n))
        if (r->live[n] && !r->hoisted[n]) r->map[n] = emit_node(r, n);
    return r->map[b.result];
}

/* ---- known arguments ---- */
static bool worth_a_constant(loom_dtype t, loom_scalar v) {
    if (t == LOOM_BOOL) return true;
    if (loom_dtype_is_signed(t)) return v.i >= -SPECIALISE_LARGEST && v.i <= SPECIALISE_LARGEST;
    return loom_dtype_is_unsigned(t) && v.u <= SPECIALISE_LARGEST;
}

/* A parameter rebuilt from its known leaves: small integers as constants, the rest projected from the parameter. */
static loom_node_id known_node(rewriter *r, loom_node_id param, loom_type_id type, const loom_value *value,
                               uint32_t *leaf, loom_span span) {
    const loom_type t = r->to->types[type];
    if (t.kind == LOOM_T_TUPLE) {
        loom_node_id *fields = LOOM_NEW_ARRAY(r->arena, loom_node_id, t.n_fields + 1);
        for (uint32_t i = 0; i < t.n_fields; i++) {
            loom_node_id field = make(r, LOOM_OP_PROJECT, 0, t.fields[i], &param, 1, i, span);
            fields[i] = known_node(r, field, t.fields[i], value, leaf, span);
        }
        return make(r, LOOM_OP_TUPLE, 0, type, fields, t.n_fields, 0, span);
    }
    if (t.kind != LOOM_T_SCALAR) {
        loom_type_leaf *leaves;
        *leaf += loom_type_leaves(r->to, r->arena, type, &leaves);
        return param;
    }
    const loom_leaf *l = &value->leaves[(*leaf)++];
    if (l->depth || l->dtype != t.dtype || l->n_data < 1) return param;
    loom_scalar v = loom_scalar_load(l->dtype, l->data);
    return worth_a_constant(t.dtype, v) ? constant(r, t.dtype, v, span) : param;
}

static loom_program *one_round(loom_arena *arena, const loom_program *from, uint32_t f, loom_value *const *arguments,
                               bool *changed) {
    loom_program *to = loom_program_create(arena);
    to->files = from->files;
    to->n_files = from->n_files;
    rewriter r = {.arena = arena, .from = from, .to = to, .scope = loom_scope_create(arena, from)};
    r.map = LOOM_NEW_ARRAY(arena, loom_node_id, from->n_nodes + 1);
    r.hoisted = LOOM_NEW_ARRAY(arena, bool, from->n_nodes + 1);
    r.n_buckets = from->n_nodes * 2 + 64;
    r.buckets = LOOM_NEW_ARRAY(arena, uint32_t, r.n_buckets);
    mark_live(&r);
    const loom_function *fn = &from->functions[f];
    const loom_body b = from->bodies[fn->body];
    loom_type_id *types = LOOM_NEW_ARRAY(arena, loom_type_id, b.n_params + 1);
    for (uint32_t i = 0; i < b.n_params; i++) types[i] = loom_copy_type(to, from, from->nodes[b.first + i].type);
    loom_body_id body = loom_build_open(to, b.n_params, types, (loom_span){0});
    loom_node_id *params = LOOM_NEW_ARRAY(arena, loom_node_id, b.n_params + 1);
    for (uint32_t i = 0; i < b.n_params; i++) {
        params[i] = loom_build_param(to, body, i);
        to->nodes[params[i]].span = from->nodes[b.first + i].span;
        uint32_t leaf = 0;
        if (arguments && arguments[i])
            params[i] = known_node(&r, params[i], types[i], arguments[i], &leaf, from->nodes[b.first + i].span);
    }
    loom_node_id result = emit_inline(&r, fn->body, params);
    loom_build_close(to, body, result);
    loom_build_function(to, fn->name, body, fn->entry, fn->param_names);
    *changed = r.changed;
    return to;
}

loom_status *loom_simplify_function(loom_arena *arena, const loom_program *from, uint32_t f,
                                    loom_value *const *arguments, loom_program **to) {
    bool changed = true;
    const loom_program *p = from;
    uint32_t index = f, before = UINT32_MAX;
    for (int round = 0; round < ROUNDS && (changed || p->n_nodes < before); round++) {
        before = p->n_nodes;
        p = one_round(arena, p, index, round == 0 ? arguments : NULL, &changed);
        index = 0;
    }
    *to = (loom_program *)p;
    return loom_program_check(*to);
}
