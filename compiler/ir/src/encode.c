/* Canonical encoding: types, strings, constants and bodies are renumbered in the order in which nodes use them, so what
 * a program was built from leaves no trace. */
#include "program.pb-c.h"
#include "wire.h"
#include <stdlib.h>
#include <string.h>

typedef LOOM_VEC(uint32_t) u32_vec;

typedef struct encoder {
    const loom_program *p;
    loom_arena *arena;
    loom_type_id *type_of; /* by type: its number on the wire + 1, 0 where not yet used */
    uint32_t n_types;
    LOOM_VEC(ProtobufCBinaryData) strings;
    uint32_t *string_slots; /* hash table: index + 1 */
    uint32_t n_string_slots;
    u32_vec type_kinds, type_parts, node_ops, node_types, details, operands, bodies, functions, files;
    LOOM_VEC(uint64_t) constants;
    LOOM_VEC(int32_t) spans;
} encoder;

static uint32_t hash_text(const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash ^ (hash >> 15);
}

static void rehash_strings(encoder *e) {
    e->n_string_slots = e->n_string_slots ? 2 * e->n_string_slots : 64;
    e->string_slots = LOOM_NEW_ARRAY(e->arena, uint32_t, e->n_string_slots);
    for (size_t i = 0; i < e->strings.count; i++) {
        uint32_t at = hash_text((char *)e->strings.at[i].data, e->strings.at[i].len) & (e->n_string_slots - 1);
        while (e->string_slots[at]) at = (at + 1) & (e->n_string_slots - 1);
        e->string_slots[at] = (uint32_t)i + 1;
    }
}

static uint32_t put_string(encoder *e, const char *text, size_t length) {
    if (2 * (e->strings.count + 1) > e->n_string_slots) rehash_strings(e);
    uint32_t at = hash_text(text, length) & (e->n_string_slots - 1);
    for (; e->string_slots[at]; at = (at + 1) & (e->n_string_slots - 1)) {
        const ProtobufCBinaryData *s = &e->strings.at[e->string_slots[at] - 1];
        if (s->len == length && (length == 0 || memcmp(s->data, text, length) == 0)) return e->string_slots[at] - 1;
    }
    ProtobufCBinaryData entry = {length, (uint8_t *)loom_arena_strndup(e->arena, text, length)};
    LOOM_PUSH(e->arena, e->strings, entry);
    e->string_slots[at] = (uint32_t)e->strings.count;
    return (uint32_t)e->strings.count - 1;
}

static uint32_t put_name(encoder *e, const char *name) {
    return put_string(e, name, strlen(name));
}

/* Nesting of types is limited by the checker, so recursion is. */
static uint32_t put_type(encoder *e, loom_type_id id) {
    if (e->type_of[id]) return e->type_of[id] - 1;
    const loom_type *t = &e->p->types[id];
    uint32_t kind = (uint32_t)t->kind;
    switch (t->kind) {
    case LOOM_T_SCALAR: LOOM_PUSH(e->arena, e->type_kinds, kind + 4 * (uint32_t)t->dtype); break;
    case LOOM_T_ARRAY:
    case LOOM_T_SEQ: {
        uint32_t element = put_type(e, t->element);
        LOOM_PUSH(e->arena, e->type_kinds, kind);
        LOOM_PUSH(e->arena, e->type_parts, element);
        break;
    }
    case LOOM_T_TUPLE:
        for (uint32_t i = 0; i < t->n_fields; i++) put_type(e, t->fields[i]);
        LOOM_PUSH(e->arena, e->type_kinds, kind + (t->names ? 4 : 0));
        LOOM_PUSH(e->arena, e->type_parts, t->n_fields);
        for (uint32_t i = 0; i < t->n_fields; i++) LOOM_PUSH(e->arena, e->type_parts, e->type_of[t->fields[i]] - 1);
        for (uint32_t i = 0; t->names && i < t->n_fields; i++)
            LOOM_PUSH(e->arena, e->type_parts, put_name(e, t->names[i]));
        break;
    }
    e->type_of[id] = ++e->n_types;
    return e->type_of[id] - 1;
}

static void put_constant(encoder *e, loom_dtype t, loom_scalar s) {
    uint64_t bits[2] = {0, 0};
    if (t == LOOM_BOOL) {
        bits[0] = s.b;
    } else {
        memcpy(bits, &s, loom_dtype_is_complex(t) ? 16 : 8);
    }
    LOOM_PUSH(e->arena, e->constants, bits[0]);
    if (loom_dtype_is_complex(t)) LOOM_PUSH(e->arena, e->constants, bits[1]);
}

/* Differences wrap, so that any span of 32-bit numbers comes back as it was. */
static void put_span(encoder *e, const loom_span *s, uint32_t line_before) {
    const uint32_t numbers[5] = {s->file, s->line - line_before, s->column, s->end_line - s->line, s->end_column};
    for (int i = 0; i < 5; i++) LOOM_PUSH(e->arena, e->spans, (int32_t)numbers[i]);
}

static void put_body(encoder *e, const loom_body *b, loom_node_id user) {
    const uint32_t numbers[4] = {b->n_params, b->end - b->first, user - b->end, b->end - b->result};
    for (int i = 0; i < 4; i++) LOOM_PUSH(e->arena, e->bodies, numbers[i]);
}

static void put_node(encoder *e, loom_node_id id) {
    const loom_program *p = e->p;
    const loom_node *n = &p->nodes[id];
    LOOM_PUSH(e->arena, e->node_ops, n->op);
    LOOM_PUSH(e->arena, e->node_types, put_type(e, n->type));
    if (loom_wire_has_detail(n->op)) LOOM_PUSH(e->arena, e->details, n->op == LOOM_OP_PRIM ? n->prim : n->aux);
    if (loom_op_table[n->op].n_operands < 0) LOOM_PUSH(e->arena, e->operands, n->n_operands);
    for (uint32_t i = 0; i < n->n_operands; i++) LOOM_PUSH(e->arena, e->operands, id - loom_operand(p, n, i));
    if (n->op == LOOM_OP_CONST) put_constant(e, p->types[n->type].dtype, p->constants[n->aux]);
    put_span(e, &n->span, id ? p->nodes[id - 1].span.line : 0);
    for (uint32_t i = 0; i < n->n_bodies; i++) put_body(e, loom_node_body(p, n, i), id);
}

static void put_function(encoder *e, const loom_function *f) {
    const loom_body *b = &e->p->bodies[f->body];
    put_body(e, b, e->p->n_nodes);
    LOOM_PUSH(e->arena, e->functions, put_name(e, f->name));
    LOOM_PUSH(e->arena, e->functions, (f->entry ? 1 : 0) + 2 * f->foreign);
    for (uint32_t i = 0; i < b->n_params; i++) LOOM_PUSH(e->arena, e->functions, put_name(e, f->param_names[i]));
}

static loom_status *pack(const encoder *e, char **bytes, size_t *length) {
    LoomWireProgram m = LOOM_WIRE_PROGRAM__INIT;
    m.version = LOOM_WIRE_VERSION;
    m.n_strings = e->strings.count;
    m.strings = e->strings.at;
#define COLUMN(field, vec)                                                                                             \
    m.n_##field = e->vec.count;                                                                                        \
    m.field = e->vec.at
    COLUMN(type_kinds, type_kinds);
    COLUMN(type_parts, type_parts);
    COLUMN(node_ops, node_ops);
    COLUMN(node_types, node_types);
    COLUMN(node_details, details);
    COLUMN(node_operands, operands);
    COLUMN(constants, constants);
    COLUMN(spans, spans);
    COLUMN(bodies, bodies);
    COLUMN(functions, functions);
    COLUMN(files, files);
#undef COLUMN
    size_t n = loom_wire_program__get_packed_size(&m);
    if (n > LOOM_MAX_PROGRAM_BYTES) {
        return loom_error(LOOM_E_LIMIT, "the serialised program has %zu bytes, at most %u are allowed", n,
                          LOOM_MAX_PROGRAM_BYTES);
    }
    char *packed = malloc(n ? n : 1);
    if (!packed) return loom_error(LOOM_E_MEMORY, "no memory for a serialised program of %zu bytes", n);
    *length = loom_wire_program__pack(&m, (uint8_t *)packed);
    *bytes = packed;
    return NULL;
}

loom_status *loom_program_wire_encode(const loom_program *p, char **bytes, size_t *length) {
    loom_arena *arena = loom_arena_create(0);
    encoder e = {.p = p, .arena = arena};
    e.type_of = LOOM_NEW_ARRAY(arena, loom_type_id, (size_t)p->n_types + 1);
    for (loom_node_id id = 0; id < p->n_nodes; id++) put_node(&e, id);
    for (uint32_t f = 0; f < p->n_functions; f++) put_function(&e, &p->functions[f]);
    for (uint32_t i = 0; i < p->n_files; i++) {
        LOOM_PUSH(arena, e.files, put_name(&e, p->files[i].name));
        LOOM_PUSH(arena, e.files, put_string(&e, p->files[i].text, p->files[i].length));
    }
    loom_status *status = pack(&e, bytes, length);
    loom_arena_destroy(arena);
    return status;
}

loom_status *loom_program_encode(const loom_program *p, char **bytes, size_t *length) {
    LOOM_TRY(loom_program_check(p));
    return loom_program_wire_encode(p, bytes, length);
}
