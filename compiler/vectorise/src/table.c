/* Marks and roll-back, frames, lists of own nodes, refusals. */
#include "vec.h"

mark vec_mark_here(const vec *v) {
    const loom_lifted *l = v->l;
    return (mark){l->n_axes,
                  l->n_values,
                  l->n_exprs,
                  l->n_args,
                  l->n_blocks,
                  l->n_ops,
                  l->n_sites,
                  (uint32_t)v->shared.count,
                  (uint32_t)v->equal.count,
                  (uint32_t)v->segments.count,
                  (uint32_t)v->tests.count};
}

void vec_close_scope(vec *v, mark m) {
    while (v->shared.count > m.n_shared) {
        const shared *s = &v->shared.at[--v->shared.count];
        v->shared_heads[s->hash & 4095] = s->next;
    }
    v->equal.count = m.n_equal;
    v->segments.count = m.n_segments;
    v->tests.count = m.n_tests;
}

void vec_roll_back(vec *v, mark m) {
    loom_lifted *l = v->l;
    vec_close_scope(v, m);
    v->lost = false;
    l->n_axes = m.n_axes;
    l->n_values = m.n_values;
    l->n_exprs = m.n_exprs;
    l->n_args = m.n_args;
    l->n_blocks = m.n_blocks;
    l->n_ops = m.n_ops;
    l->n_sites = m.n_sites;
}

/* Bodies by where they begin. An inner body that begins where its outer one does is shorter. */
typedef struct starts {
    uint32_t *head, *next; /* by node, by body; body + 1 or 0 */
} starts;

static loom_node_id skip_inner(const loom_program *p, const starts *s, const loom_body *outer, loom_node_id at) {
    loom_node_id end = at;
    for (uint32_t b = s->head[at]; b; b = s->next[b - 1]) {
        const loom_body *inner = &p->bodies[b - 1];
        if (inner != outer && inner->end > end && inner->end < outer->end) end = inner->end;
    }
    return end;
}

static bool is_heavy(const vec *v, loom_op op) {
    switch (op) {
    case LOOM_OP_IF: return vec_forces(v, LOOM_FORCE_SPLIT);
    case LOOM_OP_LOOP_FOR:
    case LOOM_OP_LOOP_WHILE: return vec_forces(v, LOOM_FORCE_COMPACT);
    case LOOM_OP_MAP:
    case LOOM_OP_GENERATE:
    case LOOM_OP_FOLD:
    case LOOM_OP_FOLD1:
    case LOOM_OP_SCAN:
    case LOOM_OP_FILTER:
    case LOOM_OP_PERMUTE:
    case LOOM_OP_SCATTER:
    case LOOM_OP_FFT:
    case LOOM_OP_SORT:
    case LOOM_OP_CALL: return true;
    default: return false;
    }
}

bool vec_has_arrays(const vec *v, const loom_body *b) {
    return v->heavy[b->end] > v->heavy[b->first];
}

void vec_prepare_tables(vec *v) {
    const loom_program *p = v->p;
    starts s = {LOOM_NEW_ARRAY(v->scratch, uint32_t, (size_t)p->n_nodes + 1),
                LOOM_NEW_ARRAY(v->scratch, uint32_t, (size_t)p->n_bodies + 1)};
    for (uint32_t b = 0; b < p->n_bodies; b++) {
        if (p->bodies[b].first >= p->n_nodes) continue;
        s.next[b] = s.head[p->bodies[b].first];
        s.head[p->bodies[b].first] = b + 1;
    }
    v->own = LOOM_NEW_ARRAY(v->scratch, own_nodes, (size_t)p->n_bodies + 1);
    v->own_list = LOOM_NEW_ARRAY(v->scratch, loom_node_id, (size_t)p->n_nodes + 1);
    uint32_t n = 0;
    for (uint32_t b = 0; b < p->n_bodies; b++) {
        const loom_body *body = &p->bodies[b];
        v->own[b].first = n;
        for (loom_node_id i = body->first + body->n_params; i < body->end;) {
            loom_node_id after = skip_inner(p, &s, body, i);
            if (after > i) {
                i = after;
            } else {
                v->own_list[n++] = i++;
            }
        }
        v->own[b].count = n - v->own[b].first;
    }
    v->heavy = LOOM_NEW_ARRAY(v->scratch, uint32_t, (size_t)p->n_nodes + 1);
    for (uint32_t i = 0; i < p->n_nodes; i++) v->heavy[i + 1] = v->heavy[i] + is_heavy(v, (loom_op)p->nodes[i].op);
    v->leaf_counts = LOOM_NEW_ARRAY(v->scratch, uint32_t, (size_t)p->n_types + 1);
    for (uint32_t t = 0; t < p->n_types; t++) { /* parts of a type come before it */
        const loom_type *type = &p->types[t];
        uint32_t count = type->kind == LOOM_T_SCALAR ? 1 : 0;
        if (type->kind == LOOM_T_ARRAY || type->kind == LOOM_T_SEQ) count = v->leaf_counts[type->element];
        if (type->kind == LOOM_T_TUPLE) {
            for (uint32_t i = 0; i < type->n_fields; i++) count += v->leaf_counts[type->fields[i]];
        }
        v->leaf_counts[t] = count;
    }
    v->leaf_types = LOOM_NEW_ARRAY(v->scratch, const leaf_type *, (size_t)p->n_types + 1);
    v->shared_heads = LOOM_NEW_ARRAY(v->scratch, uint32_t, 4096);
    v->max_steps = 64 * (uint64_t)p->n_nodes + 100000;
}

static void fill_leaf_types(vec *v, loom_type_id t, uint32_t depth, leaf_type **to) {
    const loom_type *type = &v->p->types[t];
    if (type->kind == LOOM_T_SCALAR) *(*to)++ = (leaf_type){type->dtype, depth};
    if (type->kind == LOOM_T_ARRAY || type->kind == LOOM_T_SEQ) fill_leaf_types(v, type->element, depth + 1, to);
    if (type->kind == LOOM_T_TUPLE) {
        for (uint32_t i = 0; i < type->n_fields; i++) fill_leaf_types(v, type->fields[i], depth, to);
    }
}

const leaf_type *vec_leaf_types(vec *v, loom_type_id type) {
    if (!v->leaf_types[type]) {
        leaf_type *made = LOOM_NEW_ARRAY(v->scratch, leaf_type, (size_t)v->leaf_counts[type] + 1), *at = made;
        fill_leaf_types(v, type, 0, &at);
        v->leaf_types[type] = made;
    }
    return v->leaf_types[type];
}

uint32_t vec_leaf_count(const vec *v, loom_type_id type) {
    return v->leaf_counts[type];
}

frame *vec_new_frame(vec *v, const loom_body *b, frame *up) {
    frame *f = LOOM_NEW(v->scratch, frame);
    *f = (frame){.first = b->first,
                 .end = b->end,
                 .vals = LOOM_NEW_ARRAY(v->scratch, val, (size_t)(b->end - b->first) + 1),
                 .up = up};
    return f;
}

static val *slot_of_nodes(frame *f, loom_node_id node) {
    uint32_t from = 0, to = f->n_nodes;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (f->nodes[middle] < node) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from < f->n_nodes && f->nodes[from] == node ? &f->vals[from] : NULL;
}

val *vec_slot(frame *f, loom_node_id node) {
    val *x = NULL;
    for (; f && !x; f = f->up) {
        if (f->nodes) {
            x = slot_of_nodes(f, node);
        } else if (node >= f->first && node < f->end) {
            x = &f->vals[node - f->first];
        }
    }
    assert(x && "a node in scope has a value");
    return x;
}

val vec_leaves_of(vec *v, uint32_t n, leaf **at) {
    *at = LOOM_NEW_ARRAY(v->scratch, leaf, (size_t)n + 1);
    return (val){n, *at};
}

const char *vec_copy_text(vec *v, const char *format, ...) {
    va_list arguments;
    char text[512];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return loom_arena_strdup(v->arena, text);
}

loom_trap_text vec_trap(vec *v, const loom_node *n, loom_trap trap, uint32_t detail) {
    return loom_trap_describe(v->arena, v->p, n, trap, detail);
}

loom_lsite_id vec_site(vec *v, const loom_node *n, loom_trap trap, uint32_t detail) {
    loom_trap_text text = vec_trap(v, n, trap, detail);
    return loom_lifted_site(v->l, n->span, text.format, text.hint);
}

bool vec_refuse(vec *v, const loom_node *n, const char *format, ...) {
    va_list arguments;
    char text[400];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n && n->span.line && n->span.file < v->p->n_files) {
        v->remark = vec_copy_text(v, "%s:%" PRIu32 ": %s", v->p->files[n->span.file].name, n->span.line, text);
    } else {
        v->remark = vec_copy_text(v, "%s", text);
    }
    return false;
}

bool vec_operand(vec *v, frame *f, const loom_node *n, uint32_t i, val *out) {
    val x = *vec_slot(f, loom_operand(v->p, n, i));
    for (uint32_t k = 0; k < x.n; k++) {
        if (x.at[k].kind == LEAF_BAD) return vec_refuse(v, n, "%s", x.at[k].why);
    }
    *out = x;
    return true;
}

bool vec_operands(vec *v, frame *f, const loom_node *n, val **out) {
    val *all = LOOM_NEW_ARRAY(v->scratch, val, (size_t)n->n_operands + 1);
    for (uint32_t i = 0; i < n->n_operands; i++) {
        if (!vec_operand(v, f, n, i, &all[i])) return false;
    }
    *out = all;
    return true;
}

/* Loops, conditionals and guarded operations are translated more than once; nested ones multiply. This bounds the
 * whole. */
bool vec_count_step(vec *v, const loom_node *n) {
    if (++v->steps <= v->max_steps) return true;
    return vec_refuse(v, n, "the nesting of loops and conditionals is too deep to be analysed");
}

loom_scalar vec_zero_scalar(void) {
    return (loom_scalar){.c = {0, 0}};
}
