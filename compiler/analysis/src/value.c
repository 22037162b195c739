/* Descriptors and abstract values. */
#include "shapes.h"

desc_id shapes_desc(loom_shapes *s, desc_kind kind, int64_t a, int64_t b, int64_t c) {
    uint64_t h = ((uint64_t)kind * 31 + (uint64_t)a) * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)b * 131 + (uint64_t)c;
    h = (h ^ h >> 29) & 1023;
    for (uint32_t i = s->desc_heads[h]; i; i = s->desc_next[i - 1]) {
        const desc *d = &s->descs[i - 1];
        if (d->kind == kind && d->a == a && d->b == b && d->c == c) return i - 1;
    }
    if (s->n_descs == s->cap_descs) {
        uint32_t more = s->cap_descs ? 2 * s->cap_descs : 256;
        s->descs = loom_arena_grow(s->arena, s->descs, s->n_descs, more, sizeof *s->descs);
        s->desc_next = loom_arena_grow(s->arena, s->desc_next, s->n_descs, more, sizeof *s->desc_next);
        s->cap_descs = more;
    }
    s->descs[s->n_descs] = (desc){kind, a, b, c};
    s->desc_next[s->n_descs] = s->desc_heads[h];
    s->desc_heads[h] = s->n_descs + 1;
    return s->n_descs++;
}

desc_id shapes_label(loom_shapes *s) {
    return shapes_desc(s, DESC_LABEL, s->labels++, 0, 0);
}

bool shapes_is_label(const loom_shapes *s, desc_id d) {
    return s->descs[d].kind == DESC_LABEL;
}

/* Levels beyond the 63rd share a bit: they are then taken to depend on each other, which is sound. */
uint64_t shapes_level(uint32_t depth) {
    return UINT64_C(1) << (depth < 63 ? depth : 63);
}

uint32_t shapes_count(loom_shapes *s, loom_type_id id) {
    const loom_type *t = &s->p->types[id];
    uint32_t n = 0;
    if (t->kind == LOOM_T_SCALAR) return 1;
    if (t->kind != LOOM_T_TUPLE) return shapes_count(s, t->element);
    for (uint32_t i = 0; i < t->n_fields; i++) n += shapes_count(s, t->fields[i]);
    return n;
}

/* Leaves below one array level share its label. */
static void fill(loom_shapes *s, loom_type_id id, dim *dims, uint32_t depth, aleaf **at) {
    const loom_type *t = &s->p->types[id];
    if (t->kind == LOOM_T_SCALAR) {
        aleaf *x = (*at)++;
        dim *own = LOOM_NEW_ARRAY(s->arena, dim, (size_t)depth + 1);
        memcpy(own, dims, depth * sizeof *own);
        *x = (aleaf){.dtype = t->dtype, .depth = depth, .dims = own};
        if (!depth) x->value = shapes_label(s);
    } else if (t->kind == LOOM_T_TUPLE) {
        for (uint32_t i = 0; i < t->n_fields; i++) fill(s, t->fields[i], dims, depth, at);
    } else {
        dims[depth] = (dim){.desc = shapes_label(s), .own = (1u << depth) - 1};
        fill(s, t->element, dims, depth + 1, at);
    }
}

aval shapes_make(loom_shapes *s, loom_type_id type, aleaf **at) {
    uint32_t n = shapes_count(s, type);
    dim dims[LOOM_MAX_TYPE_NESTING + 1];
    aleaf *leaves = LOOM_NEW_ARRAY(s->arena, aleaf, (size_t)n + 1), *next = leaves;
    fill(s, type, dims, 0, &next);
    *at = leaves;
    return (aval){n, leaves};
}

aval shapes_unknown(loom_shapes *s, loom_type_id type, uint64_t levels) {
    aleaf *at;
    aval x = shapes_make(s, type, &at);
    for (uint32_t i = 0; i < x.n; i++) {
        dim *d = shapes_dims(s, &at[i]);
        at[i].elements = levels;
        for (uint32_t k = 0; k < at[i].depth; k++) d[k].levels = levels;
    }
    return x;
}

aleaf *shapes_copy(loom_shapes *s, const aval *x, aval *to) {
    aleaf *at = LOOM_NEW_ARRAY(s->arena, aleaf, (size_t)x->n + 1);
    if (x->n) memcpy(at, x->at, x->n * sizeof *at);
    *to = (aval){x->n, at};
    return at;
}

dim *shapes_dims(loom_shapes *s, aleaf *x) {
    dim *d = LOOM_NEW_ARRAY(s->arena, dim, (size_t)x->depth + 1);
    if (x->depth) memcpy(d, x->dims, x->depth * sizeof *d);
    x->dims = d;
    return d;
}

aval shapes_bind(loom_shapes *s, const aval *x, desc_id token, uint64_t level) {
    aval y;
    aleaf *at = shapes_copy(s, x, &y);
    for (uint32_t i = 0; i < y.n; i++) {
        if (!at[i].depth) continue;
        dim *d = shapes_dims(s, &at[i]);
        for (uint32_t k = 1; k < at[i].depth; k++) {
            if (d[k].own & 1) {
                d[k].desc = shapes_desc(s, DESC_AT, d[k].desc, token, 0);
                d[k].levels |= level;
            }
            d[k].own >>= 1;
        }
        at[i].elements |= level;
        at[i].dims++;
        at[i].depth--;
        if (!at[i].depth) at[i].value = shapes_label(s);
    }
    return y;
}

aval shapes_unbind(loom_shapes *s, const aval *x, desc_id token, uint64_t level, dim outer) {
    aval y;
    aleaf *at = shapes_copy(s, x, &y);
    for (uint32_t i = 0; i < y.n; i++) {
        dim *d = LOOM_NEW_ARRAY(s->arena, dim, (size_t)at[i].depth + 2);
        d[0] = outer;
        for (uint32_t k = 0; k < at[i].depth; k++) {
            dim inner = at[i].dims[k];
            inner.own <<= 1;
            if (inner.levels & level) {
                const desc *e = &s->descs[inner.desc];
                bool element = e->kind == DESC_AT && (desc_id)e->b == token;
                inner.desc = element ? (desc_id)e->a : shapes_desc(s, DESC_AT, inner.desc, token, 1);
                inner.levels &= ~level;
                inner.own |= 1;
            }
            d[k + 1] = inner;
        }
        at[i].elements &= ~level;
        at[i].dims = d;
        at[i].depth++;
    }
    return y;
}

aval shapes_join(loom_shapes *s, const aval *a, const aval *b, uint64_t chooser) {
    aval y;
    aleaf *at = shapes_copy(s, a, &y);
    for (uint32_t i = 0; i < y.n; i++) {
        const aleaf *o = &b->at[i];
        at[i].elements |= o->elements | chooser;
        if (!at[i].depth) {
            if (at[i].value != o->value) at[i].value = shapes_label(s);
            continue;
        }
        dim *d = shapes_dims(s, &at[i]);
        for (uint32_t k = 0; k < at[i].depth; k++) {
            bool same = d[k].desc == o->dims[k].desc;
            d[k].levels |= o->dims[k].levels | (same ? 0 : chooser);
            d[k].own |= o->dims[k].own;
            if (!same) d[k].desc = shapes_label(s);
        }
    }
    return y;
}

/* Labels made anew count as the same if what they may depend on is: a fixed point has been reached. */
bool shapes_same(const aval *a, const aval *b) {
    for (uint32_t i = 0; i < a->n; i++) {
        const aleaf *x = &a->at[i], *y = &b->at[i];
        if (x->elements != y->elements) return false;
        for (uint32_t k = 0; k < x->depth; k++) {
            if (x->dims[k].levels != y->dims[k].levels || x->dims[k].own != y->dims[k].own) return false;
        }
    }
    return true;
}

uint64_t shapes_all(const aval *x) {
    uint64_t all = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        all |= x->at[i].elements;
        for (uint32_t k = 0; k < x->at[i].depth; k++) all |= x->at[i].dims[k].levels;
    }
    return all;
}
