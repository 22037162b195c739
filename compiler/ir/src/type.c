/* Interned types: equal types have equal ids, so that comparing types is comparing numbers. */
#include "program_impl.h"
#include <assert.h>
#include <string.h>

static uint32_t add_saturated(uint32_t a, uint32_t b) {
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static bool same_names(const char *const *a, const char *const *b, uint32_t n) {
    if (!a || !b) return a == b;
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(a[i], b[i]) != 0) return false;
    }
    return true;
}

static bool same_type(const loom_type *a, const loom_type *b) {
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case LOOM_T_SCALAR: return a->dtype == b->dtype;
    case LOOM_T_ARRAY:
    case LOOM_T_SEQ: return a->element == b->element;
    case LOOM_T_TUPLE: break;
    }
    if (a->n_fields != b->n_fields) return false;
    if (a->n_fields && memcmp(a->fields, b->fields, a->n_fields * sizeof *a->fields) != 0) return false;
    return same_names(a->names, b->names, a->n_fields);
}

static uint32_t mix(uint32_t hash, uint32_t value) {
    return (hash ^ value) * 0x9E3779B1u ^ (hash >> 15);
}

static uint32_t hash_type(const loom_type *t) {
    uint32_t hash = mix(0x1234567u, (uint32_t)t->kind);
    hash = mix(hash, t->kind == LOOM_T_SCALAR  ? (uint32_t)t->dtype
                     : t->kind == LOOM_T_TUPLE ? t->n_fields
                                               : t->element);
    for (uint32_t i = 0; t->kind == LOOM_T_TUPLE && i < t->n_fields; i++) {
        hash = mix(hash, t->fields[i]);
        for (const char *c = t->names ? t->names[i] : ""; *c; c++) hash = mix(hash, (unsigned char)*c);
    }
    return hash ^ (hash >> 16);
}

static loom_type_facts facts_of(const loom_program *p, const loom_type *t) {
    loom_type_facts f = {
        .nesting = 1, .parts = 1, .leaves = t->kind == LOOM_T_SCALAR, .has_seq = t->kind == LOOM_T_SEQ};
    uint32_t n = t->kind == LOOM_T_TUPLE ? t->n_fields : t->kind == LOOM_T_SCALAR ? 0 : 1;
    const loom_type_id *inner = t->kind == LOOM_T_TUPLE ? t->fields : &t->element;
    for (uint32_t i = 0; i < n; i++) {
        const loom_type_facts *g = loom_type_facts_of(p, inner[i]);
        if (g->nesting >= f.nesting) f.nesting = add_saturated(g->nesting, 1);
        if (g->levels > f.levels) f.levels = g->levels;
        f.parts = add_saturated(f.parts, g->parts);
        f.leaves = add_saturated(f.leaves, g->leaves);
        f.has_seq = f.has_seq || g->has_seq;
    }
    if (t->kind == LOOM_T_ARRAY || t->kind == LOOM_T_SEQ) f.levels = add_saturated(f.levels, 1);
    return f;
}

static void rehash(loom_program_impl *impl) {
    loom_program *p = &impl->program;
    uint32_t n = impl->n_slots ? 2 * impl->n_slots : 64;
    impl->slots = LOOM_NEW_ARRAY(p->arena, uint32_t, n);
    impl->n_slots = n;
    for (uint32_t id = 0; id < p->n_types; id++) {
        uint32_t at = hash_type(&p->types[id]) & (n - 1);
        while (impl->slots[at]) at = (at + 1) & (n - 1);
        impl->slots[at] = id + 1;
    }
}

static loom_type copy_fields(loom_program *p, loom_type t) {
    if (t.kind != LOOM_T_TUPLE || t.n_fields == 0) return t;
    loom_type_id *fields = LOOM_NEW_ARRAY(p->arena, loom_type_id, t.n_fields);
    memcpy(fields, t.fields, t.n_fields * sizeof *fields);
    t.fields = fields;
    if (!t.names) return t;
    const char **names = LOOM_NEW_ARRAY(p->arena, const char *, t.n_fields);
    for (uint32_t i = 0; i < t.n_fields; i++) names[i] = loom_arena_strdup(p->arena, t.names[i]);
    t.names = names;
    return t;
}

static loom_type_id intern(loom_program *p, loom_type t) {
    loom_program_impl *impl = (loom_program_impl *)(void *)p;
    if (2 * (p->n_types + 1) > impl->n_slots) rehash(impl);
    uint32_t at = hash_type(&t) & (impl->n_slots - 1);
    for (; impl->slots[at]; at = (at + 1) & (impl->n_slots - 1)) {
        if (same_type(&p->types[impl->slots[at] - 1], &t)) return impl->slots[at] - 1;
    }
    LOOM_IR_RESERVE(p, types, n_types, cap_types, 1);
    if (impl->cap_facts < p->cap_types) {
        impl->facts = loom_arena_grow(p->arena, impl->facts, p->n_types, p->cap_types, sizeof *impl->facts);
        impl->cap_facts = p->cap_types;
    }
    impl->facts[p->n_types] = facts_of(p, &t);
    p->types[p->n_types] = copy_fields(p, t);
    impl->slots[at] = ++p->n_types;
    return p->n_types - 1;
}

loom_type_id loom_type_scalar(loom_program *p, loom_dtype dtype) {
    assert(dtype < LOOM_DTYPES);
    return intern(p, (loom_type){.kind = LOOM_T_SCALAR, .dtype = dtype});
}

loom_type_id loom_type_array(loom_program *p, loom_type_id element) {
    assert(element < p->n_types);
    return intern(p, (loom_type){.kind = LOOM_T_ARRAY, .element = element});
}

loom_type_id loom_type_seq(loom_program *p, loom_type_id element) {
    assert(element < p->n_types);
    return intern(p, (loom_type){.kind = LOOM_T_SEQ, .element = element});
}

loom_type_id loom_type_tuple(loom_program *p, uint32_t n, const loom_type_id *fields, const char *const *names) {
    for (uint32_t i = 0; i < n; i++) assert(fields[i] < p->n_types);
    return intern(p, (loom_type){.kind = LOOM_T_TUPLE, .n_fields = n, .fields = fields, .names = n ? names : NULL});
}

bool loom_type_has_seq(const loom_program *p, loom_type_id type) {
    return loom_type_facts_of(p, type)->has_seq;
}

uint32_t loom_type_levels(const loom_program *p, loom_type_id type) {
    return loom_type_facts_of(p, type)->levels;
}

/* Types from outside may be trees of 2^64 parts; nobody reads more than this. Test: ir_type/long_text. */
#define LOOM_MAX_TYPE_TEXT 4000

/* On the stack, and copied to the arena at the end: an arena that is out of memory leaves by longjmp. */
typedef struct type_text {
    size_t length;
    char at[LOOM_MAX_TYPE_TEXT + 8];
} type_text;

static void put(type_text *out, const char *text) {
    size_t n = strlen(text), room = LOOM_MAX_TYPE_TEXT - out->length;
    memcpy(out->at + out->length, text, n < room ? n : room);
    out->length += n < room ? n : room;
}

static void write_type(const loom_program *p, type_text *out, loom_type_id id, uint32_t nesting) {
    if (out->length == LOOM_MAX_TYPE_TEXT) return;
    const loom_type *t = &p->types[id];
    if (nesting > LOOM_MAX_TYPE_NESTING) {
        put(out, "...");
    } else if (t->kind == LOOM_T_SCALAR) {
        put(out, loom_dtype_name(t->dtype));
    } else if (t->kind == LOOM_T_ARRAY) {
        put(out, "[]");
        write_type(p, out, t->element, nesting + 1);
    } else if (t->kind == LOOM_T_SEQ) {
        bool plain = p->types[t->element].kind == LOOM_T_SCALAR || p->types[t->element].kind == LOOM_T_TUPLE;
        put(out, plain ? "seq " : "seq (");
        write_type(p, out, t->element, nesting + 1);
        if (!plain) put(out, ")");
    } else {
        put(out, t->names ? "{" : "(");
        for (uint32_t i = 0; i < t->n_fields && out->length < LOOM_MAX_TYPE_TEXT; i++) {
            if (i) put(out, ", ");
            if (t->names) put(out, t->names[i]);
            if (t->names) put(out, ": ");
            write_type(p, out, t->fields[i], nesting + 1);
        }
        if (t->n_fields == 1 && !t->names) put(out, ",");
        put(out, t->names ? "}" : ")");
    }
}

const char *loom_type_text(const loom_program *p, loom_type_id type) {
    type_text text = {.length = 0};
    write_type(p, &text, type, 0);
    if (text.length == LOOM_MAX_TYPE_TEXT) {
        memcpy(text.at + text.length, "...", 3);
        text.length += 3;
    }
    return loom_arena_strndup(p->arena, text.at, text.length);
}

typedef struct leaf_walk {
    const loom_program *p;
    loom_arena *arena;
    loom_type_leaf *at;
    uint32_t count;
} leaf_walk;

static void walk_leaves(leaf_walk *w, loom_type_id id, const char *name, uint32_t depth) {
    const loom_type *t = &w->p->types[id];
    switch (t->kind) {
    case LOOM_T_SCALAR: w->at[w->count++] = (loom_type_leaf){name, t->dtype, depth}; return;
    case LOOM_T_ARRAY:
    case LOOM_T_SEQ: walk_leaves(w, t->element, name, depth + 1); return;
    case LOOM_T_TUPLE: break;
    }
    for (uint32_t i = 0; i < t->n_fields; i++) {
        const char *dot = *name ? "." : "";
        const char *inner = t->names ? loom_arena_printf(w->arena, "%s%s%s", name, dot, t->names[i])
                                     : loom_arena_printf(w->arena, "%s%s%u", name, dot, i);
        walk_leaves(w, t->fields[i], inner, depth);
    }
}

uint32_t loom_type_leaves(const loom_program *p, loom_arena *arena, loom_type_id type, loom_type_leaf **leaves) {
    const loom_type_facts *facts = loom_type_facts_of(p, type);
    assert(facts->leaves <= LOOM_MAX_LEAVES && facts->nesting <= LOOM_MAX_TYPE_NESTING);
    leaf_walk w = {p, arena, LOOM_NEW_ARRAY(arena, loom_type_leaf, facts->leaves), 0};
    walk_leaves(&w, type, "", 0);
    *leaves = w.at;
    return w.count;
}
