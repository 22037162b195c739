/* Decoding: the scan, the library's unpacking in an arena with a budget, building with every number checked, the
 * checker, and a comparison with the canonical encoding. Hostile bytes end in an error at one of these. */
#include "check.h"
#include "compiler/ir/foreign.h"
#include "program.pb-c.h"
#include "wire.h"
#include <stdlib.h>
#include <string.h>

typedef struct cursor {
    const uint32_t *at;
    size_t left;
} cursor;

typedef struct decoder {
    const LoomWireProgram *m;
    loom_program *p;
    cursor parts, details, operands;
    size_t constants_used;
    uint32_t next_body; /* in the wire's table */
    uint32_t line;
} decoder;

static loom_status *short_column(const char *what) {
    return loom_error(LOOM_E_PROTOCOL, "serialised program: the column of %s is too short", what);
}

static bool take(cursor *c, uint32_t *value) {
    if (c->left == 0) return false;
    c->left--;
    *value = *c->at++;
    return true;
}

/* An empty column is a null pointer, to which not even nothing may be added. */
static void skip(cursor *c, size_t n) {
    if (n) c->at += n;
    c->left -= n;
}

static loom_status *string_at(const decoder *d, uint32_t index, const char **text, size_t *length) {
    if (index >= d->m->n_strings)
        return loom_error(LOOM_E_PROTOCOL, "serialised program: string %u does not exist", index);
    const ProtobufCBinaryData *s = &d->m->strings[index];
    if (!length && s->len && memchr(s->data, 0, s->len)) {
        return loom_error(LOOM_E_PROTOCOL, "serialised program: a name with a zero byte");
    }
    *text = s->len ? loom_arena_strndup(d->p->arena, (const char *)s->data, s->len) : "";
    if (length) *length = s->len;
    return NULL;
}

/* ---- types ---- */

static loom_status *decode_tuple(decoder *d, bool named, loom_type_id *id) {
    uint32_t n;
    if (!take(&d->parts, &n) || d->parts.left < (named ? 2 * (uint64_t)n : n)) return short_column("type parts");
    if (n > LOOM_MAX_TUPLE)
        return loom_error(LOOM_E_LIMIT, "a tuple type has %u fields, at most %d are allowed", n, LOOM_MAX_TUPLE);
    const loom_type_id *fields = d->parts.at;
    for (uint32_t i = 0; i < n; i++) {
        if (fields[i] >= d->p->n_types)
            return loom_error(LOOM_E_PROTOCOL, "serialised program: a type that refers onwards");
    }
    const char *names[LOOM_MAX_TUPLE];
    for (uint32_t i = 0; named && i < n; i++) LOOM_TRY(string_at(d, fields[n + i], &names[i], NULL));
    skip(&d->parts, named ? 2 * (size_t)n : n);
    *id = loom_type_tuple(d->p, n, fields, named ? names : NULL);
    return NULL;
}

static loom_status *decode_types(decoder *d) {
    for (size_t i = 0; i < d->m->n_type_kinds; i++) {
        uint32_t kind = d->m->type_kinds[i] & 3, detail = d->m->type_kinds[i] >> 2, element;
        loom_type_id id = LOOM_NONE;
        if (kind == LOOM_T_SCALAR && detail < LOOM_DTYPES) {
            id = loom_type_scalar(d->p, (loom_dtype)detail);
        } else if (kind == LOOM_T_TUPLE && detail <= 1) {
            LOOM_TRY(decode_tuple(d, detail == 1, &id));
        } else if (kind != LOOM_T_SCALAR && detail == 0 && take(&d->parts, &element) && element < d->p->n_types) {
            id = kind == LOOM_T_ARRAY ? loom_type_array(d->p, element) : loom_type_seq(d->p, element);
        }
        if (id != i) return loom_error(LOOM_E_PROTOCOL, "serialised program: type %zu is broken or a repetition", i);
    }
    return NULL;
}

/* ---- nodes ---- */

static loom_status *decode_constant(decoder *d, loom_type_id type, uint32_t *index) {
    const loom_type *t = &d->p->types[type];
    size_t words = t->kind == LOOM_T_SCALAR && loom_dtype_is_complex(t->dtype) ? 2 : 1;
    if (d->m->n_constants - d->constants_used < words) return short_column("constants");
    loom_scalar value = {.c = {0, 0}};
    memcpy(&value, &d->m->constants[d->constants_used], 8 * words);
    d->constants_used += words;
    loom_program *p = d->p;
    LOOM_IR_RESERVE(p, constants, n_constants, cap_constants, 1);
    *index = p->n_constants;
    p->constants[p->n_constants++] = value;
    return NULL;
}

static loom_status *decode_operands(decoder *d, loom_node_id id, loom_node *node) {
    loom_program *p = d->p;
    int fixed = loom_op_table[node->op].n_operands;
    uint32_t n = (uint32_t)fixed;
    if ((fixed < 0 && !take(&d->operands, &n)) || d->operands.left < n) return short_column("operands");
    node->first_operand = p->n_operands;
    node->n_operands = n;
    LOOM_IR_RESERVE(p, operands, n_operands, cap_operands, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t distance = d->operands.at[i];
        if (distance == 0 || distance > id)
            return loom_error(LOOM_E_PROTOCOL, "serialised program: node %u refers onwards", id);
        p->operands[p->n_operands++] = id - distance;
    }
    skip(&d->operands, n);
    return NULL;
}

/* Body `index` of the wire, which ends `back` nodes before `user`. Numbers wrap; the checker sees to ranges. */
static loom_status *decode_body(decoder *d, loom_node_id user) {
    if (d->next_body >= d->m->n_bodies / 4) return short_column("bodies");
    const uint32_t *b = &d->m->bodies[4 * (size_t)d->next_body++];
    loom_program *p = d->p;
    uint32_t end = user - b[2];
    if (b[2] > user || b[1] > end || b[3] == 0 || b[3] > end) {
        return loom_error(LOOM_E_PROTOCOL, "serialised program: body %u lies outside the table", d->next_body - 1);
    }
    LOOM_IR_RESERVE(p, bodies, n_bodies, cap_bodies, 1);
    p->bodies[p->n_bodies++] = (loom_body){.first = end - b[1], .end = end, .n_params = b[0], .result = end - b[3]};
    return NULL;
}

static loom_span decode_span(decoder *d, loom_node_id id) {
    const int32_t *s = &d->m->spans[5 * (size_t)id];
    d->line += (uint32_t)s[1];
    return (loom_span){(uint32_t)s[0], d->line, (uint32_t)s[2], d->line + (uint32_t)s[3], (uint32_t)s[4]};
}

static loom_status *decode_node(decoder *d, loom_node_id id) {
    loom_program *p = d->p;
    uint32_t op = d->m->node_ops[id], detail = 0;
    if (op >= LOOM_FIRST_INTERNAL_OP)
        return loom_error(LOOM_E_PROTOCOL, "serialised program: operation %u does not exist", op);
    loom_node node = {.op = (uint16_t)op, .type = d->m->node_types[id], .span = decode_span(d, id)};
    if (node.type >= p->n_types)
        return loom_error(LOOM_E_PROTOCOL, "serialised program: type %u does not exist", node.type);
    if (loom_wire_has_detail(op) && !take(&d->details, &detail)) return short_column("details");
    if (op == LOOM_OP_PRIM) {
        if (detail >= LOOM_PRIM_COUNT)
            return loom_error(LOOM_E_PROTOCOL, "serialised program: primitive %u does not exist", detail);
        node.prim = (uint16_t)detail;
    } else {
        node.aux = detail;
    }
    if (op == LOOM_OP_CONST) LOOM_TRY(decode_constant(d, node.type, &node.aux));
    LOOM_TRY(decode_operands(d, id, &node));
    node.first_body = p->n_body_refs;
    node.n_bodies = (uint32_t)loom_op_table[op].n_bodies;
    LOOM_IR_RESERVE(p, body_refs, n_body_refs, cap_body_refs, node.n_bodies);
    for (uint32_t i = 0; i < node.n_bodies; i++) {
        p->body_refs[p->n_body_refs++] = p->n_bodies;
        LOOM_TRY(decode_body(d, id));
    }
    LOOM_IR_RESERVE(p, nodes, n_nodes, cap_nodes, 1);
    p->nodes[p->n_nodes++] = node;
    return NULL;
}

/* Parameters are numbered by the body that they begin, which stands further on in the wire. */
static loom_status *number_params(loom_program *p) {
    for (uint32_t b = 0; b < p->n_bodies; b++) {
        const loom_body *body = &p->bodies[b];
        if (body->n_params > body->end - body->first)
            return loom_error(LOOM_E_PROTOCOL, "serialised program: body %u is too short", b);
        for (uint32_t i = 0; i < body->n_params; i++) {
            loom_node *n = &p->nodes[body->first + i];
            if (n->op == LOOM_OP_PARAM) n->aux = i;
        }
    }
    return NULL;
}

/* ---- functions and files ---- */

static loom_status *decode_functions(decoder *d) {
    cursor c = {d->m->functions, d->m->n_functions};
    loom_program *p = d->p;
    while (c.left) {
        uint32_t name, kind, index;
        loom_function f = {.body = p->n_bodies};
        if (!take(&c, &name) || !take(&c, &kind) || kind / 2 >= LOOM_FOREIGNS) return short_column("functions");
        LOOM_TRY(string_at(d, name, &f.name, NULL));
        f.entry = kind % 2 == 1;
        f.foreign = kind / 2;
        LOOM_TRY(decode_body(d, p->n_nodes));
        uint32_t n = p->bodies[f.body].n_params;
        if (c.left < n) return short_column("functions");
        const char **names = LOOM_NEW_ARRAY(p->arena, const char *, n ? n : 1);
        for (uint32_t i = 0; i < n; i++) {
            if (!take(&c, &index)) return short_column("functions");
            LOOM_TRY(string_at(d, index, &names[i], NULL));
        }
        f.param_names = names;
        LOOM_IR_RESERVE(p, functions, n_functions, cap_functions, 1);
        p->functions[p->n_functions++] = f;
    }
    return NULL;
}

static loom_status *decode_files(decoder *d) {
    loom_program *p = d->p;
    p->n_files = p->cap_files = (uint32_t)(d->m->n_files / 2);
    p->files = LOOM_NEW_ARRAY(p->arena, loom_source_file, p->n_files ? p->n_files : 1);
    for (uint32_t i = 0; i < p->n_files; i++) {
        LOOM_TRY(string_at(d, d->m->files[2 * i], &p->files[i].name, NULL));
        LOOM_TRY(string_at(d, d->m->files[2 * i + 1], &p->files[i].text, &p->files[i].length));
    }
    return NULL;
}

static loom_status *build(const LoomWireProgram *m, loom_program *p) {
    decoder d = {.m = m, .p = p};
    d.parts = (cursor){m->type_parts, m->n_type_parts};
    d.details = (cursor){m->node_details, m->n_node_details};
    d.operands = (cursor){m->node_operands, m->n_node_operands};
    LOOM_TRY(decode_types(&d));
    LOOM_TRY(loom_check_types_table(p));
    for (loom_node_id id = 0; id < m->n_node_ops; id++) LOOM_TRY(decode_node(&d, id));
    LOOM_TRY(decode_functions(&d));
    LOOM_TRY(decode_files(&d));
    LOOM_TRY(number_params(p));
    if (d.parts.left || d.details.left || d.operands.left || d.constants_used != m->n_constants ||
        d.next_body != m->n_bodies / 4) {
        return loom_error(LOOM_E_PROTOCOL, "serialised program: a column is longer than what uses it");
    }
    return loom_program_check(p);
}

static loom_status *compare(const loom_program *p, const void *bytes, size_t length) {
    char *again;
    size_t n;
    LOOM_TRY(loom_program_wire_encode(p, &again, &n));
    bool same = n == length && memcmp(again, bytes, n) == 0;
    free(again);
    return same ? NULL : loom_error(LOOM_E_PROTOCOL, "serialised program: not in canonical form");
}

/* ---- memory ---- */

static void *arena_alloc(void *arena, size_t size) {
    return loom_arena_alloc(arena, size ? size : 1);
}
static void arena_free(void *arena, void *pointer) {
    (void)arena;
    (void)pointer;
}

static loom_status *unpack(loom_arena *scratch, loom_arena *arena, const void *bytes, size_t length, loom_program **p) {
    ProtobufCAllocator allocator = {arena_alloc, arena_free, scratch};
    LoomWireProgram *m = loom_wire_program__unpack(&allocator, length, bytes);
    if (!m) return loom_error(LOOM_E_PROTOCOL, "serialised program: the bytes are not one");
    loom_program *made = loom_program_create(arena);
    LOOM_TRY(build(m, made));
    LOOM_TRY(compare(made, bytes, length));
    *p = made;
    return NULL;
}

/* The guards of both arenas land here, so that running out is an error of this call alone. */
static loom_status *guarded(loom_arena *scratch, loom_arena *arena, const void *bytes, size_t length,
                            loom_program **p) {
    jmp_buf guard;
    jmp_buf *outer = loom_arena_set_guard(arena, &guard);
    loom_arena_set_guard(scratch, &guard);
    loom_status *status;
    if (setjmp(guard) == 0) {
        status = unpack(scratch, arena, bytes, length, p);
    } else {
        status =
            loom_error(LOOM_E_LIMIT, "a serialised program of %zu bytes needs more memory than its budget", length);
    }
    loom_arena_set_guard(arena, outer);
    return status;
}

loom_status *loom_program_decode(loom_arena *arena, const void *bytes, size_t length, loom_program **p) {
    LOOM_TRY(loom_program_scan(bytes, length));
    /* A byte on the wire is at most one 32-bit number in a column (4 bytes) or part of a string's header (48). */
    loom_arena *scratch = loom_arena_create(64 * length + 65536);
    loom_status *status = guarded(scratch, arena, bytes, length, p);
    loom_arena_destroy(scratch);
    return status;
}
