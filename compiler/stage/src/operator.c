/* Operators are recognised structurally: result = prim(a, b) with a, b the parameters (or the same projection or
 * element of both). That covers (+), max, zip_with (+), \(a, b) (c, d) -> (a + c, max b d) and nests of them. */
#include "operator.h"
#include "compiler/ir/prim.h"
#include <string.h>

/* Two values that must be matched by corresponding places of the operator's parameters. */
typedef struct pair {
    loom_node_id a, b;
} pair;

/* Is node x the value that pair p's `a` (or `b`) stands for? */
static bool is_leaf(loom_node_id x, loom_node_id y, pair p) {
    return (x == p.a && y == p.b) || (x == p.b && y == p.a);
}

/* x, y (operands) are a corresponding pair if they are p itself or projections of a corresponding pair. */
static bool corresponds(const loom_program *p, loom_node_id x, loom_node_id y, const pair *pairs, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (is_leaf(x, y, pairs[i])) return true;
    const loom_node *a = &p->nodes[x], *b = &p->nodes[y];
    return a->op == LOOM_OP_PROJECT && b->op == LOOM_OP_PROJECT && a->aux == b->aux &&
           corresponds(p, loom_operand(p, a, 0), loom_operand(p, b, 0), pairs, n);
}

/* Projection path of x below the pair: used to require that result field i is made from field i. */
static bool same_path(const loom_program *p, loom_node_id x, const uint32_t *path, size_t depth, const pair *pairs,
                      size_t n_pairs) {
    while (depth > 0) {
        const loom_node *node = &p->nodes[x];
        if (node->op != LOOM_OP_PROJECT || node->aux != path[depth - 1]) return false;
        x = loom_operand(p, node, 0);
        depth--;
    }
    const pair *last = &pairs[n_pairs - 1];
    return x == last->a || x == last->b;
}

typedef struct search {
    const loom_scope *scope;
    pair pairs[LOOM_MAX_TYPE_NESTING + 1]; /* nested maps: at most the depth of a type */
    size_t n_pairs;
    uint32_t path[LOOM_MAX_TYPE_NESTING + 1];
    size_t depth;
    /* What to do at each scalar leaf, in order; false stops. */
    bool (*leaf)(struct search *s, uint16_t prim, loom_type_id type);
    void *context;
} search;

static bool visit(search *s, loom_node_id result) {
    const loom_program *p = s->scope->program;
    const loom_node *n = &p->nodes[result];
    if (n->op == LOOM_OP_TUPLE) {
        if (s->depth >= LOOM_MAX_TYPE_NESTING) return false;
        for (uint32_t i = 0; i < n->n_operands; i++) {
            s->path[s->depth++] = i;
            bool ok = visit(s, loom_operand(p, n, i));
            s->depth--;
            if (!ok) return false;
        }
        return true;
    }
    if (n->op == LOOM_OP_PRIM && n->n_operands == 2) {
        loom_node_id x = loom_operand(p, n, 0), y = loom_operand(p, n, 1);
        loom_scalar neutral;
        return loom_prim_neutral((loom_prim)n->prim, p->types[n->type].dtype, &neutral) &&
               same_path(p, x, s->path, s->depth, s->pairs, s->n_pairs) &&
               same_path(p, y, s->path, s->depth, s->pairs, s->n_pairs) &&
               corresponds(p, x, y, &s->pairs[s->n_pairs - 1], 1) && s->leaf(s, n->prim, n->type);
    }
    if (n->op == LOOM_OP_MAP && n->n_operands == 2) {
        loom_node_id x = loom_operand(p, n, 0), y = loom_operand(p, n, 1);
        if (s->n_pairs > LOOM_MAX_TYPE_NESTING - 1 || !corresponds(p, x, y, &s->pairs[s->n_pairs - 1], 1) ||
            !same_path(p, x, s->path, s->depth, s->pairs, s->n_pairs))
            return false;
        const loom_body *b = loom_node_body(p, n, 0);
        size_t depth = s->depth;
        s->depth = 0; /* paths restart below the element */
        s->pairs[s->n_pairs++] = (pair){b->first, b->first + 1};
        bool ok = visit(s, b->result);
        s->n_pairs--;
        s->depth = depth;
        return ok;
    }
    return false;
}

static bool search_operator(const loom_scope *scope, loom_body_id op, bool (*leaf)(search *, uint16_t, loom_type_id),
                            void *context) {
    const loom_body *b = &scope->program->bodies[op];
    search s = {.scope = scope, .leaf = leaf, .context = context};
    s.pairs[s.n_pairs++] = (pair){b->first, b->first + 1};
    return visit(&s, b->result);
}

static bool accept(search *s, uint16_t prim, loom_type_id type) {
    (void)s, (void)prim, (void)type;
    return true;
}

bool loom_operator_builtin(const loom_scope *s, loom_body_id op) {
    return search_operator(s, op, accept, NULL);
}

typedef struct prims {
    loom_program *to;
    LOOM_VEC(loom_scalar) neutral;
    size_t at;
} prims;

static bool collect(search *s, uint16_t prim, loom_type_id type) {
    prims *c = s->context;
    loom_scalar neutral = {0};
    if (!loom_prim_neutral((loom_prim)prim, s->scope->program->types[type].dtype, &neutral)) return false;
    LOOM_PUSH(c->to->arena, c->neutral, neutral);
    return true;
}

/* Value of type `type` filled with the neutral elements of its leaves; array extents from `like` at `level`. */
static loom_node_id fill(prims *c, loom_type_id type, loom_node_id like, uint32_t level, loom_span span) {
    loom_program *p = c->to;
    const loom_type t = p->types[type];
    if (t.kind == LOOM_T_SCALAR) return loom_build_const(p, t.dtype, c->neutral.at[c->at++], span);
    if (t.kind == LOOM_T_TUPLE) {
        loom_node_id *fields = LOOM_NEW_ARRAY(p->arena, loom_node_id, t.n_fields + 1);
        for (uint32_t i = 0; i < t.n_fields; i++) {
            /* Extents inside a tuple are those of the field itself; at level 0 the field can be projected, below an
             * array only levels above it are known, which suffices: elements that are tuples hold scalars there. */
            loom_node_id field = like;
            if (level == 0) field = loom_build_node(p, LOOM_OP_PROJECT, 0, t.fields[i], &like, 1, NULL, 0, i, span);
            fields[i] = fill(c, t.fields[i], field, level, span);
        }
        return loom_build_node(p, LOOM_OP_TUPLE, 0, type, fields, t.n_fields, NULL, 0, 0, span);
    }
    loom_type_id i64 = loom_type_scalar(p, LOOM_I64);
    loom_op op = level == 0 ? LOOM_OP_LENGTH : LOOM_OP_DIM;
    loom_node_id n = loom_build_node(p, op, 0, i64, &like, 1, NULL, 0, level, span);
    loom_node_id operands[2] = {n, fill(c, t.element, like, level + 1, span)};
    return loom_build_node(p, LOOM_OP_REPLICATE, 0, type, operands, 2, NULL, 0, 0, span);
}

/* Tuples below an array level must hold scalars only: `fill` cannot name extents inside them. */
static bool fillable(const loom_program *p, loom_type_id type, bool below_array_tuple) {
    const loom_type *t = &p->types[type];
    if (t->kind == LOOM_T_SCALAR) return true;
    if (t->kind == LOOM_T_ARRAY) return !below_array_tuple && fillable(p, t->element, false);
    if (t->kind != LOOM_T_TUPLE) return false;
    for (uint32_t i = 0; i < t->n_fields; i++)
        if (!fillable(p, t->fields[i], true)) return false;
    return true;
}

loom_node_id loom_operator_neutral(loom_program *to, const loom_scope *s, loom_body_id op, loom_node_id like) {
    prims c = {.to = to};
    loom_type_id type = to->nodes[like].type, element = type;
    while (to->types[element].kind == LOOM_T_ARRAY) element = to->types[element].element;
    if (to->types[element].kind == LOOM_T_TUPLE && !fillable(to, element, element != type)) return LOOM_NONE;
    if (!search_operator(s, op, collect, &c)) return LOOM_NONE;
    return fill(&c, type, like, 0, to->nodes[like].span);
}

static bool constant_leaf(const loom_program *p, loom_node_id x, loom_scalar *value) {
    if (p->nodes[x].op != LOOM_OP_CONST) return false;
    *value = p->constants[p->nodes[x].aux];
    return true;
}

static bool matches(const loom_program *p, loom_node_id x, const loom_scalar *neutral, size_t count, size_t *at) {
    const loom_node *n = &p->nodes[x];
    switch (n->op) {
    case LOOM_OP_REPLICATE: return matches(p, loom_operand(p, n, 1), neutral, count, at);
    case LOOM_OP_GENERATE: return matches(p, loom_node_body(p, n, 0)->result, neutral, count, at);
    case LOOM_OP_TUPLE:
        for (uint32_t i = 0; i < n->n_operands; i++)
            if (!matches(p, loom_operand(p, n, i), neutral, count, at)) return false;
        return true;
    default: {
        loom_scalar v;
        if (*at >= count || !constant_leaf(p, x, &v)) return false;
        loom_dtype t = p->types[n->type].dtype;
        size_t bytes = loom_dtype_is_complex(t) ? 16 : t == LOOM_BOOL ? 1 : 8;
        return memcmp(&v, &neutral[(*at)++], bytes) == 0;
    }
    }
}

bool loom_operator_is_neutral_fill(const loom_scope *s, loom_body_id op, loom_node_id x) {
    loom_arena *scratch = loom_arena_create(0);
    loom_program *p = loom_program_create(scratch);
    prims c = {.to = p};
    size_t at = 0;
    bool yes = search_operator(s, op, collect, &c) && matches(s->program, x, c.neutral.at, c.neutral.count, &at) &&
               at == c.neutral.count;
    loom_arena_destroy(scratch);
    return yes;
}
