/* Every value is known by its node and its context: the bodies around, which turns of loops and which branches these
 * are in. Elements of one map are in one context. For each the hashes of the first value are kept; one that differs
 * later breaks the claim that it does not. */
#include "compiler/analysis/claims.h"
#include "common/buffer.h"
#include "common/hash.h"
#include "compiler/analysis/shapes.h"
#include "compiler/interp/interp.h"
#include <stdlib.h>
#include <string.h>

/* ---- what was seen ---- */

typedef struct sight {
    loom_node_id node;
    uint64_t context, value, shape, turns;
    bool used;
} sight;

/* A level of a value, under the levels around it. */
typedef struct level_seen {
    uint64_t descriptors, extents;
    loom_node_id node;
} level_seen;

typedef struct frame {
    loom_body_id body;
    uint64_t context;
    size_t first_level; /* of those seen in it */
} frame;

typedef struct watch {
    loom_arena *arena;
    const loom_program *p;
    const loom_shapes *shapes;
    loom_node_id *owner; /* by body: the node it belongs to; LOOM_NONE: a function's */
    uint32_t *number;    /* by body: the how-manieth of its node */
    uint64_t *turns;     /* by body: entered since its node began */
    LOOM_VEC(frame) frames;
    LOOM_VEC(level_seen) levels;
    sight *sights; /* open addressing, less than half full */
    size_t n_sights, size;
    bool *met;     /* by node: in a context twice */
    bool *ragged;  /* by node: extents differed in a context */
    uint8_t *told; /* by node: claims that are in `broken`, one bit each */
    LOOM_VEC(loom_claim_broken) broken;
    uint64_t values;
} watch;

enum {
    AVOIDED,
    REGULAR,
    ROWS,
    CONSTANT,
    EQUAL,
    UNIFORM
};
static const char *const claim_names[] = {"avoided", "regular", "rows", "constant", "equal", "uniform"};

static void broken(watch *w, loom_node_id node, int claim, loom_node_id other) {
    if (w->told[node] & 1u << claim) return;
    w->told[node] |= (uint8_t)(1u << claim);
    loom_claim_broken b = {node, claim_names[claim], other};
    LOOM_PUSH(w->arena, w->broken, b);
}

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t pair[2] = {a, b};
    return loom_hash_bytes(pair, sizeof pair).low;
}

static void grow(watch *w) {
    size_t old = w->size;
    sight *before = w->sights;
    w->size = old ? 2 * old : 1024;
    w->sights = loom_xcalloc(w->size, sizeof *w->sights);
    for (size_t i = 0; i < old; i++) {
        if (!before[i].used) continue;
        size_t at = mix(before[i].node, before[i].context) & (w->size - 1);
        while (w->sights[at].used) at = (at + 1) & (w->size - 1);
        w->sights[at] = before[i];
    }
    free(before);
}

/* That of the node in the context; *fresh: it has not been seen there. */
static sight *find(watch *w, loom_node_id node, uint64_t context, bool *fresh) {
    if (2 * (w->n_sights + 1) > w->size) grow(w);
    size_t at = mix(node, context) & (w->size - 1);
    for (; w->sights[at].used; at = (at + 1) & (w->size - 1)) {
        if (w->sights[at].node == node && w->sights[at].context == context) {
            *fresh = false;
            return &w->sights[at];
        }
    }
    *fresh = true;
    w->n_sights++;
    w->sights[at] = (sight){.node = node, .context = context, .used = true};
    return &w->sights[at];
}

/* ---- values ---- */

/* Lengths of the lists of one level, as a hash; *alike: they are one number, *one. */
static uint64_t hash_level(const loom_leaf *leaf, uint32_t k, int64_t lists, bool *alike, int64_t *one) {
    loom_hasher *h = loom_hasher_create();
    *alike = true;
    *one = -1;
    for (int64_t i = 0; i < lists; i++) {
        int64_t n = loom_leaf_length(leaf, k, i);
        if (i && n != *one) *alike = false;
        *one = n;
        loom_hasher_add(h, &n, sizeof n);
    }
    return loom_hasher_end(h).low;
}

/* Equal descriptors under equal ones: equal extents, in this run of a body and those around it. */
static void compare_level(watch *w, loom_node_id node, uint64_t descriptors, uint64_t extents) {
    for (size_t i = 0; i < w->levels.count; i++) {
        const level_seen *l = &w->levels.at[i];
        if (l->descriptors != descriptors) continue;
        if (l->extents != extents) broken(w, node, EQUAL, l->node);
        return;
    }
    level_seen l = {descriptors, extents, node};
    LOOM_PUSH(w->arena, w->levels, l);
}

static uint64_t look_at_leaf(watch *w, loom_node_id node, uint32_t i, const loom_leaf *leaf) {
    uint64_t shape = i, descriptors = 1;
    int64_t lists = 1;
    bool known = true;
    for (uint32_t k = 0; k < leaf->depth; k++) {
        loom_shape_level claim = loom_shapes_level(w->shapes, node, i, k);
        bool alike;
        int64_t one;
        uint64_t extents = hash_level(leaf, k, lists, &alike, &one);
        if (!claim.rows_differ && !alike) broken(w, node, ROWS, LOOM_NONE);
        if (claim.constant >= 0 && lists && alike && one != claim.constant) broken(w, node, CONSTANT, LOOM_NONE);
        known = known && claim.descriptor != LOOM_NO_DESCRIPTOR;
        descriptors = mix(descriptors, claim.descriptor);
        if (known) compare_level(w, node, descriptors, extents);
        shape = mix(shape, extents);
        lists = loom_leaf_count_within(leaf, k, lists);
    }
    return shape;
}

static uint64_t hash_data(const loom_value *value, uint64_t shape) {
    loom_hasher *h = loom_hasher_create();
    loom_hasher_add(h, &shape, sizeof shape);
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        loom_hasher_add(h, leaf->data, (size_t)leaf->n_data * loom_dtype_size(leaf->dtype));
    }
    return loom_hasher_end(h).low;
}

/* Turns of a loop, or which branch; what the node's bodies were entered for begins anew. */
static uint64_t take_turns(watch *w, const loom_node *n) {
    uint64_t turns = 0;
    for (uint32_t i = 0; i < n->n_bodies; i++) {
        loom_body_id body = w->p->body_refs[n->first_body + i];
        turns = mix(turns, w->turns[body]);
        w->turns[body] = 0;
    }
    return turns;
}

/* Whether body i of a node runs on elements next to each other. Others run in turns: of loops, and operators of folds,
 * which combine what they have made. */
static bool is_map(const loom_node *n, uint32_t i) {
    switch (n->op) {
    case LOOM_OP_MAP:
    case LOOM_OP_GENERATE:
    case LOOM_OP_FILTER:
    case LOOM_OP_BACKPERMUTE:
    case LOOM_OP_SEQ_MAP:
    case LOOM_OP_SEQ_FILTER:
    case LOOM_OP_SEQ_GROUP: return true;
    case LOOM_OP_SEQ_GROUP_MAP: return i != 1;
    case LOOM_OP_LIFTED: return true; /* once for each element of the map around */
    default: return false;
    }
}

static bool has_turns(const loom_node *n) {
    return n->op == LOOM_OP_LOOP_FOR || n->op == LOOM_OP_LOOP_WHILE || n->op == LOOM_OP_IF;
}

static void on_value(void *user, loom_node_id node, const loom_value *value) {
    watch *w = user;
    const loom_node *n = &w->p->nodes[node];
    uint64_t shape = 0, turns = take_turns(w, n);
    w->values++;
    for (uint32_t i = 0; i < value->n_leaves; i++) shape = mix(shape, look_at_leaf(w, node, i, &value->leaves[i]));
    uint64_t content = hash_data(value, shape);
    bool fresh;
    sight *s = find(w, node, w->frames.at[w->frames.count - 1].context, &fresh);
    if (fresh) {
        s->value = content;
        s->shape = shape;
        s->turns = turns;
        return;
    }
    w->met[node] = true;
    w->ragged[node] = w->ragged[node] || shape != s->shape;
    loom_shape_rep rep = loom_shapes_rep(w->shapes, node);
    if (rep == LOOM_SHAPE_AVOIDED && content != s->value) broken(w, node, AVOIDED, LOOM_NONE);
    if (rep == LOOM_SHAPE_REGULAR && shape != s->shape) broken(w, node, REGULAR, LOOM_NONE);
    if (has_turns(n) && loom_shapes_uniform(w->shapes, node) && turns != s->turns) broken(w, node, UNIFORM, LOOM_NONE);
}

/* ---- bodies ---- */

static void on_enter(void *user, loom_body_id body) {
    watch *w = user;
    uint64_t context = mix(w->frames.count ? w->frames.at[w->frames.count - 1].context : 0, body);
    loom_node_id owner = w->owner[body];
    uint64_t turn = w->turns[body]++;
    if (owner != LOOM_NONE && !is_map(&w->p->nodes[owner], w->number[body])) context = mix(context, turn);
    frame f = {body, context, w->levels.count};
    LOOM_PUSH(w->arena, w->frames, f);
}

static void on_leave(void *user, loom_body_id body) {
    watch *w = user;
    (void)body;
    w->levels.count = w->frames.at[--w->frames.count].first_level;
}

static watch open_watch(loom_arena *arena, const loom_program *p, uint32_t f) {
    watch w = {.arena = arena, .p = p, .shapes = loom_shapes_analyse(arena, p, f)};
    w.owner = LOOM_NEW_ARRAY(arena, loom_node_id, p->n_bodies);
    w.number = LOOM_NEW_ARRAY(arena, uint32_t, p->n_bodies);
    w.turns = LOOM_NEW_ARRAY(arena, uint64_t, p->n_bodies);
    w.met = LOOM_NEW_ARRAY(arena, bool, (size_t)p->n_nodes + 1);
    w.ragged = LOOM_NEW_ARRAY(arena, bool, (size_t)p->n_nodes + 1);
    w.told = LOOM_NEW_ARRAY(arena, uint8_t, (size_t)p->n_nodes + 1);
    for (uint32_t b = 0; b < p->n_bodies; b++) w.owner[b] = LOOM_NONE;
    for (loom_node_id id = 0; id < p->n_nodes; id++) {
        const loom_node *n = &p->nodes[id];
        for (uint32_t i = 0; i < n->n_bodies; i++) {
            w.owner[p->body_refs[n->first_body + i]] = id;
            w.number[p->body_refs[n->first_body + i]] = i;
        }
    }
    return w;
}

static void close_watch(watch *w, loom_claims *claims) {
    LOOM_VEC(loom_node_id) irregular = {0}, met = {0};
    LOOM_VEC(bool) regular = {0};
    for (loom_node_id id = 0; id < w->p->n_nodes; id++) {
        if (!w->met[id]) continue;
        LOOM_PUSH(w->arena, met, id);
        if (loom_shapes_rep(w->shapes, id) != LOOM_SHAPE_IRREGULAR) continue;
        LOOM_PUSH(w->arena, irregular, id);
        LOOM_PUSH(w->arena, regular, !w->ragged[id]);
    }
    *claims = (loom_claims){.values = w->values,
                            .n_broken = (uint32_t)w->broken.count,
                            .broken = w->broken.at,
                            .n_met = (uint32_t)met.count,
                            .met = met.at,
                            .n_irregular = (uint32_t)irregular.count,
                            .irregular = irregular.at,
                            .were_regular = regular.at};
    free(w->sights);
}

loom_status *loom_claims_check(loom_arena *arena, const loom_program *program, uint32_t f, loom_value *const *arguments,
                               loom_value **result, loom_claims *claims) {
    watch w = open_watch(arena, program, f);
    loom_interp_observer observer = {.user = &w, .enter = on_enter, .value = on_value, .leave = on_leave};
    loom_interp_options options = {.one_by_one = true, .observer = &observer};
    loom_status *status = loom_interp_call(program, f, arguments, &options, result, NULL);
    close_watch(&w, claims);
    return status;
}
