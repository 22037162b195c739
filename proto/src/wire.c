#include "proto/wire.h"
#include "common/limits.h"
#include "control.pb-c.h"
#include <assert.h>
#include <string.h>

const loom_wire_limits loom_wire_header_limits = {
    .bytes = LOOM_MAX_HEADER_BYTES,
    .fields = 256 * 1024,
    .depth = 8,
    .budget = 32u << 20,
};

/* Fields of one message that may stand once are remembered in a bit set. */
#define MAX_TRACKED 128u

enum {
    WIRE_VARINT = 0,
    WIRE_64 = 1,
    WIRE_LENGTH = 2,
    WIRE_32 = 5
};

typedef struct level {
    const ProtobufCMessageDescriptor *type;
    const uint8_t *end;
    uint64_t seen[MAX_TRACKED / 64];
} level;

typedef struct scanner {
    const uint8_t *at;
    size_t fields; /* left */
    size_t depth;  /* levels in use - 1 */
    const loom_wire_limits *limits;
    level levels[LOOM_WIRE_MAX_DEPTH + 1];
} scanner;

static loom_status *broken(const scanner *s, const char *what) {
    return loom_error(LOOM_E_PROTOCOL, "broken message %s: %s", s->levels[s->depth].type->short_name, what);
}

static loom_status *varint(scanner *s, const uint8_t *end, uint64_t *value) {
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (s->at == end) return broken(s, "ends inside a number");
        uint8_t byte = *s->at++;
        if (shift == 63 && byte > 1) return broken(s, "a number has more than 64 bits");
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *value = v;
            return NULL;
        }
    }
    return broken(s, "a number has more than 10 bytes");
}

static loom_status *count_field(scanner *s) {
    if (s->fields == 0) {
        return loom_error(LOOM_E_LIMIT, "message %s has more than %zu fields", s->levels[0].type->short_name,
                          s->limits->fields);
    }
    s->fields--;
    return NULL;
}

static unsigned wire_type(ProtobufCType type) {
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT: return WIRE_32;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return WIRE_64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return WIRE_LENGTH;
    default: return WIRE_VARINT;
    }
}

/* One scalar, bounded by `end`. */
static loom_status *scalar(scanner *s, const ProtobufCFieldDescriptor *field, const uint8_t *end) {
    LOOM_TRY(count_field(s));
    unsigned wire = wire_type(field->type);
    if (wire != WIRE_VARINT) {
        ptrdiff_t size = wire == WIRE_32 ? 4 : 8;
        if (end - s->at < size) return broken(s, "ends inside a number");
        s->at += size;
        return NULL;
    }
    uint64_t value;
    LOOM_TRY(varint(s, end, &value));
    if (field->type == PROTOBUF_C_TYPE_BOOL && value > 1) return broken(s, "a truth value is neither 0 nor 1");
    if (field->type == PROTOBUF_C_TYPE_UINT32 && value > UINT32_MAX) return broken(s, "a number has more than 32 bits");
    if (field->type == PROTOBUF_C_TYPE_ENUM &&
        (value > INT32_MAX || !protobuf_c_enum_descriptor_get_value(field->descriptor, (int)value))) {
        return broken(s, "unknown value of an enumeration");
    }
    return NULL;
}

/* Refuses a second value of a field, or a second member of a oneof. */
static loom_status *once(scanner *s, const ProtobufCFieldDescriptor *field) {
    level *l = &s->levels[s->depth];
    size_t index = (size_t)(field - l->type->fields);
    assert(index < MAX_TRACKED);
    if (l->seen[index / 64] >> index % 64 & 1) return broken(s, "a field stands twice");
    l->seen[index / 64] |= (uint64_t)1 << index % 64;
    if (!(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)) return NULL;
    for (unsigned i = 0; i < l->type->n_fields; i++) {
        const ProtobufCFieldDescriptor *other = &l->type->fields[i];
        if (i != index && (other->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) &&
            other->quantifier_offset == field->quantifier_offset && l->seen[i / 64] >> i % 64 & 1) {
            return broken(s, "two members of a choice");
        }
    }
    return NULL;
}

static loom_status *enter(scanner *s, const ProtobufCMessageDescriptor *type, const uint8_t *end) {
    if (s->depth + 1 > s->limits->depth || s->depth + 1 > LOOM_WIRE_MAX_DEPTH) {
        return loom_error(LOOM_E_LIMIT, "message %s is nested deeper than %zu levels", s->levels[0].type->short_name,
                          s->limits->depth);
    }
    s->levels[++s->depth] = (level){.type = type, .end = end};
    return NULL;
}

/* A field with a length: string, bytes, submessage, packed scalars. */
static loom_status *lengthy(scanner *s, const ProtobufCFieldDescriptor *field) {
    const uint8_t *parent_end = s->levels[s->depth].end;
    uint64_t length;
    LOOM_TRY(varint(s, parent_end, &length));
    if (length > (uint64_t)(parent_end - s->at)) return broken(s, "a field is longer than what holds it");
    const uint8_t *end = s->at + length;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) return enter(s, field->descriptor, end);
    if (field->type == PROTOBUF_C_TYPE_STRING && length && memchr(s->at, 0, length)) {
        return broken(s, "a text has a NUL in it");
    }
    if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES) {
        s->at = end;
        return NULL;
    }
    while (s->at < end) LOOM_TRY(scalar(s, field, end));
    return NULL;
}

static loom_status *one_field(scanner *s) {
    level *l = &s->levels[s->depth];
    LOOM_TRY(count_field(s));
    uint64_t tag;
    LOOM_TRY(varint(s, l->end, &tag));
    const ProtobufCFieldDescriptor *field =
        tag >> 3 <= UINT32_MAX ? protobuf_c_message_descriptor_get_field(l->type, (unsigned)(tag >> 3)) : NULL;
    if (!field) {
        return loom_error(LOOM_E_PROTOCOL, "message %s has a field that this version does not know (number %llu)",
                          l->type->short_name, (unsigned long long)(tag >> 3));
    }
    if (field->label != PROTOBUF_C_LABEL_REPEATED) LOOM_TRY(once(s, field));
    unsigned wire = (unsigned)(tag & 7), expected = wire_type(field->type);
    bool packed = field->label == PROTOBUF_C_LABEL_REPEATED && expected != WIRE_LENGTH && wire == WIRE_LENGTH;
    if (wire != expected && !packed) return broken(s, "a field is of another type than the schema says");
    return wire == WIRE_LENGTH ? lengthy(s, field) : scalar(s, field, l->end);
}

loom_status *loom_wire_scan(const ProtobufCMessageDescriptor *type, const void *bytes, size_t length,
                            const loom_wire_limits *limits) {
    if (length > limits->bytes) {
        return loom_error(LOOM_E_LIMIT, "message %s has %zu bytes, the limit is %zu", type->short_name, length,
                          limits->bytes);
    }
    if (length == 0) return NULL;
    scanner s = {.at = bytes, .fields = limits->fields, .limits = limits};
    s.levels[0] = (level){.type = type, .end = s.at + length};
    for (;;) {
        while (s.at == s.levels[s.depth].end) {
            if (s.depth == 0) return NULL;
            s.depth--;
        }
        LOOM_TRY(one_field(&s));
    }
}

/* Memory of one unpacking: from the arena, within the message's own budget. */
typedef struct purse {
    loom_arena *arena;
    size_t left;
    jmp_buf *empty;
} purse;

static void *purse_alloc(void *context, size_t size) {
    purse *p = context;
    if (size > p->left) longjmp(*p->empty, 1);
    p->left -= size;
    return loom_arena_alloc(p->arena, size ? size : 1);
}

static void purse_free(void *context, void *pointer) {
    (void)context;
    (void)pointer;
}

loom_status *loom_wire_unpack(const ProtobufCMessageDescriptor *type, loom_arena *arena, const void *bytes,
                              size_t length, const loom_wire_limits *limits, ProtobufCMessage **message) {
    LOOM_TRY(loom_wire_scan(type, bytes, length, limits));
    jmp_buf guard;
    purse p = {arena, limits->budget, &guard};
    jmp_buf *outer = loom_arena_set_guard(arena, &guard);
    if (setjmp(guard)) {
        loom_arena_set_guard(arena, outer);
        return loom_error(LOOM_E_LIMIT, "message %s takes more memory than it may", type->short_name);
    }
    ProtobufCAllocator allocator = {purse_alloc, purse_free, &p};
    ProtobufCMessage *made = protobuf_c_message_unpack(type, &allocator, length, bytes);
    loom_arena_set_guard(arena, outer);
    if (!made) return loom_error(LOOM_E_PROTOCOL, "broken message %s: a required field is missing", type->short_name);
    *message = made;
    return NULL;
}

/* ---- statuses ---- */

/* A status is told in full up to what leaves room in a header for everything else. */
#define MAX_STATUS_TEXT ((size_t)16 << 10)
#define MAX_NOTES       16

static char *bounded(loom_arena *arena, const char *text) {
    if (strlen(text) <= MAX_STATUS_TEXT) return (char *)text;
    return loom_arena_printf(arena, "%.*s ...", (int)MAX_STATUS_TEXT, text);
}

Wire__Status *loom_wire_status(loom_arena *arena, const loom_status *status) {
    if (!status) return NULL;
    Wire__Status *wire = LOOM_NEW(arena, Wire__Status);
    wire__status__init(wire);
    wire->code = (uint32_t)loom_status_code(status);
    wire->message = bounded(arena, loom_status_message(status));
    const char *file = loom_status_file(status);
    if (file) {
        wire->file = (char *)file;
        loom_span span = loom_status_span(status);
        wire->span = LOOM_NEW(arena, Wire__Span);
        wire__span__init(wire->span);
        wire->span->file = span.file;
        wire->span->line = span.line;
        wire->span->column = span.column;
        wire->span->end_line = span.end_line;
        wire->span->end_column = span.end_column;
    }
    wire->n_notes = loom_status_notes(status) < MAX_NOTES ? loom_status_notes(status) : MAX_NOTES;
    wire->notes = LOOM_NEW_ARRAY(arena, char *, wire->n_notes);
    for (size_t i = 0; i < wire->n_notes; i++) wire->notes[i] = bounded(arena, loom_status_note_at(status, i));
    return wire;
}

loom_status *loom_wire_status_restore(const Wire__Status *wire) {
    if (!wire) return NULL;
    loom_code code = wire->code > LOOM_OK && wire->code < LOOM_E_LAST ? (loom_code)wire->code : LOOM_E_INTERNAL;
    loom_status *status;
    if (wire->file && wire->span) {
        loom_span span = {wire->span->file, wire->span->line, wire->span->column, wire->span->end_line,
                          wire->span->end_column};
        status = loom_error_at(code, wire->file, span, "%s", wire->message);
    } else {
        status = loom_error(code, "%s", wire->message);
    }
    for (size_t i = 0; i < wire->n_notes; i++) loom_status_note(status, "%s", wire->notes[i]);
    return status;
}
