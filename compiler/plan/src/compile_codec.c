/* Codec of compile requests and replies: messages CompileRequest and CompileReply of plan.proto. Values and statuses
 * have structures of their own on the wire, because theirs are shared by reference or opaque. */
#include "common/value.h"
#include "compiler/ir/force.h"
#include "compiler/plan/compile.h"
#include "tables.h"
#include <stdlib.h>
#include <string.h>

typedef struct wire_lengths {
    uint32_t level, n;
    const int64_t *lengths;
} wire_lengths;

typedef struct wire_leaf {
    const char *name;
    loom_dtype dtype;
    uint32_t depth, n_lengths;
    const int64_t *extents;
    const wire_lengths *lengths;
    const void *data;
    size_t data_bytes;
} wire_leaf;

typedef struct wire_value {
    bool present;
    uint32_t n_leaves;
    const wire_leaf *leaves;
} wire_value;

typedef struct wire_request {
    loom_compile_request r;
    const wire_value *arguments;
} wire_request;

typedef struct wire_status {
    uint32_t code;
    const char *message, *file;
    loom_span span;
    uint32_t n_notes;
    const char *const *notes;
} wire_status;

typedef struct wire_reply {
    loom_compile_reply r;
    wire_status error;
} wire_reply;

static const loom_wire_field lengths_fields[] = {
    LOOM_WIRE_ENUM(1, wire_lengths, level, LOOM_MAX_DEPTH),
    LOOM_WIRE_N(2, I64S, wire_lengths, lengths, n),
};
static LOOM_WIRE_TABLE(lengths, wire_lengths);

static const loom_wire_field leaf_fields[] = {
    LOOM_WIRE(1, TEXT, wire_leaf, name),
    LOOM_WIRE_ENUM(2, wire_leaf, dtype, LOOM_DTYPES),
    LOOM_WIRE_N(3, I64S, wire_leaf, extents, depth),
    LOOM_WIRE_MS(4, wire_leaf, lengths, n_lengths, lengths),
    LOOM_WIRE_N(5, BYTES, wire_leaf, data, data_bytes),
};
static LOOM_WIRE_TABLE(leaf, wire_leaf);

static const loom_wire_field value_fields[] = {
    LOOM_WIRE(1, BOOL, wire_value, present),
    LOOM_WIRE_MS(2, wire_value, leaves, n_leaves, leaf),
};
static LOOM_WIRE_TABLE(value, wire_value);

static const loom_wire_field shape_fields[] = {
    LOOM_WIRE_N(1, I64S, loom_leaf_shape, extents, depth),
    LOOM_WIRE(2, BOOL, loom_leaf_shape, constant),
};
static LOOM_WIRE_TABLE(shape, loom_leaf_shape);

static const loom_wire_field request_fields[] = {
    LOOM_WIRE_ENUM(1, wire_request, r.what, LOOM_COMPILE_STAGE + 1),
    LOOM_WIRE_N(2, BYTES, wire_request, r.program, r.program_length),
    LOOM_WIRE(3, TEXT, wire_request, r.entry),
    LOOM_WIRE_MS(4, wire_request, arguments, r.n_arguments, value),
    LOOM_WIRE_N(5, BYTES, wire_request, r.graph, r.graph_length),
    LOOM_WIRE(6, U32, wire_request, r.stage),
    LOOM_WIRE_MS(7, wire_request, r.shapes, r.n_shapes, shape),
    LOOM_WIRE(8, TEXT, wire_request, r.target),
    LOOM_WIRE(9, TEXT, wire_request, r.cache),
    LOOM_WIRE(10, BOOL, wire_request, r.debug),
    LOOM_WIRE(11, U64, wire_request, r.memory),
    LOOM_WIRE(12, U64, wire_request, r.traversal),
    LOOM_WIRE(13, BOOL, wire_request, r.count_work),
    LOOM_WIRE_ENUM(14, wire_request, r.force, LOOM_FORCE_END),
};
static LOOM_WIRE_TABLE(request, wire_request);

static const loom_wire_field wire_status_table_fields[] = {
    LOOM_WIRE_ENUM(1, wire_status, code, LOOM_E_LAST),
    LOOM_WIRE(2, TEXT, wire_status, message),
    LOOM_WIRE(3, TEXT, wire_status, file),
    LOOM_WIRE_M(4, wire_status, span, loom_wire_span),
    LOOM_WIRE_N(5, TEXTS, wire_status, notes, n_notes),
};
static LOOM_WIRE_TABLE(wire_status_table, wire_status);

static const loom_wire_field reply_fields[] = {
    LOOM_WIRE_M(1, wire_reply, error, wire_status_table),
    LOOM_WIRE_N(2, BYTES, wire_reply, r.program, r.program_length),
    LOOM_WIRE_N(3, BYTES, wire_reply, r.graph, r.graph_length),
    LOOM_WIRE(4, BOOL, wire_reply, r.interpret),
    LOOM_WIRE_N(5, BYTES, wire_reply, r.plan, r.plan_length),
    LOOM_WIRE_N(6, BYTES, wire_reply, r.object, r.object_length),
    LOOM_WIRE(7, BOOL, wire_reply, r.cached),
    LOOM_WIRE(8, DOUBLE, wire_reply, r.seconds),
    LOOM_WIRE_N(9, TEXTS, wire_reply, r.remarks, r.n_remarks),
};
static LOOM_WIRE_TABLE(reply, wire_reply);

/* ---- values ---- */

static void leaf_to_wire(loom_arena *arena, const loom_leaf *from, wire_leaf *to) {
    wire_lengths *levels = LOOM_NEW_ARRAY(arena, wire_lengths, from->depth + 1);
    uint32_t n = 0;
    for (uint32_t k = 0; k < from->depth; k++) {
        if (from->extents[k] != LOOM_IRREGULAR) continue;
        levels[n++] = (wire_lengths){.level = k, .n = (uint32_t)from->n_lengths[k], .lengths = from->lengths[k]};
    }
    *to = (wire_leaf){.name = from->name,
                      .dtype = from->dtype,
                      .depth = from->depth,
                      .n_lengths = n,
                      .extents = from->extents,
                      .lengths = levels,
                      .data = from->data ? from->data : "",
                      .data_bytes = (size_t)from->n_data * loom_dtype_size(from->dtype)};
}

static wire_value value_to_wire(loom_arena *arena, const loom_value *from) {
    if (!from) return (wire_value){.present = false};
    wire_leaf *leaves = LOOM_NEW_ARRAY(arena, wire_leaf, from->n_leaves + 1);
    for (uint32_t l = 0; l < from->n_leaves; l++) leaf_to_wire(arena, &from->leaves[l], &leaves[l]);
    return (wire_value){.present = true, .n_leaves = from->n_leaves, .leaves = leaves};
}

static void owned_by_arena(loom_value *v) {
    (void)v; /* the request's arena holds every part */
}

static loom_status *leaf_from_wire(loom_arena *arena, const wire_leaf *from, loom_leaf *to) {
    if (!from->name || from->depth > LOOM_MAX_DEPTH || from->data_bytes % loom_dtype_size(from->dtype) != 0) {
        return loom_error(LOOM_E_DATA, "message Value: a leaf is malformed");
    }
    to->name = loom_arena_strdup(arena, from->name);
    to->dtype = from->dtype;
    to->depth = from->depth;
    for (uint32_t k = 0; k < from->depth; k++) to->extents[k] = from->extents[k];
    for (uint32_t i = 0; i < from->n_lengths; i++) {
        const wire_lengths *level = &from->lengths[i];
        if (level->level >= from->depth) return loom_error(LOOM_E_DATA, "message Value: lengths of no level");
        int64_t *copy = LOOM_NEW_ARRAY(arena, int64_t, (size_t)level->n + 1);
        if (level->n) memcpy(copy, level->lengths, level->n * sizeof *copy);
        to->lengths[level->level] = copy;
        to->n_lengths[level->level] = level->n;
    }
    to->data = loom_arena_alloc(arena, from->data_bytes + 1);
    memcpy(to->data, from->data, from->data_bytes);
    to->n_data = (int64_t)(from->data_bytes / loom_dtype_size(from->dtype));
    return NULL;
}

static loom_status *value_from_wire(loom_arena *arena, const wire_value *from, loom_value **out) {
    *out = NULL;
    if (!from->present) return NULL;
    loom_value *to = LOOM_NEW(arena, loom_value);
    to->n_leaves = from->n_leaves;
    to->leaves = LOOM_NEW_ARRAY(arena, loom_leaf, (size_t)from->n_leaves + 1);
    to->release = owned_by_arena;
    to->references = 2; /* the arena's own, which is never given back */
    for (uint32_t l = 0; l < from->n_leaves; l++) LOOM_TRY(leaf_from_wire(arena, &from->leaves[l], &to->leaves[l]));
    LOOM_TRY(loom_value_check(to));
    *out = to;
    return NULL;
}

/* ---- requests ---- */

loom_status *loom_compile_request_encode(const loom_compile_request *r, char **bytes, size_t *length) {
    loom_arena *arena = loom_arena_create(0);
    wire_request w = {.r = *r};
    wire_value *arguments = LOOM_NEW_ARRAY(arena, wire_value, (size_t)r->n_arguments + 1);
    for (uint32_t i = 0; i < r->n_arguments; i++) arguments[i] = value_to_wire(arena, r->arguments[i]);
    w.arguments = arguments;
    loom_buffer buffer = {0};
    loom_wire_encode(&request, &w, &buffer);
    loom_arena_destroy(arena);
    *length = buffer.length;
    *bytes = loom_buffer_take(&buffer);
    return NULL;
}

static loom_status *too_long(const char *what, size_t length) {
    return loom_error(LOOM_E_LIMIT, "a compile %s of %zu bytes: at most %zu are read", what, length,
                      LOOM_MAX_COMPILE_BYTES);
}

loom_status *loom_compile_request_decode(loom_arena *arena, const void *bytes, size_t length,
                                         loom_compile_request **out) {
    if (length > LOOM_MAX_COMPILE_BYTES) return too_long("request", length);
    wire_request *w = LOOM_NEW(arena, wire_request);
    LOOM_TRY(loom_wire_decode(&request, arena, bytes, length, w));
    loom_value **arguments = LOOM_NEW_ARRAY(arena, loom_value *, (size_t)w->r.n_arguments + 1);
    for (uint32_t i = 0; i < w->r.n_arguments; i++) LOOM_TRY(value_from_wire(arena, &w->arguments[i], &arguments[i]));
    w->r.arguments = arguments;
    for (uint32_t i = 0; i < w->r.n_shapes; i++) {
        if (w->r.shapes[i].depth > LOOM_MAX_DEPTH)
            return loom_error(LOOM_E_DATA, "message LeafShape: %u levels", w->r.shapes[i].depth);
    }
    LOOM_TRY(loom_force_check(w->r.force));
    *out = &w->r;
    return NULL;
}

/* ---- replies ---- */

static wire_status status_to_wire(loom_arena *arena, const loom_status *status) {
    uint32_t n = (uint32_t)loom_status_notes(status);
    const char **notes = LOOM_NEW_ARRAY(arena, const char *, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) notes[i] = loom_status_note_at(status, i);
    return (wire_status){.code = (uint32_t)loom_status_code(status),
                         .message = loom_status_message(status),
                         .file = loom_status_file(status),
                         .span = loom_status_span(status),
                         .n_notes = n,
                         .notes = notes};
}

static loom_status *status_from_wire(const wire_status *w) {
    if (!w->code) return NULL;
    const char *message = w->message ? w->message : "";
    loom_status *status = w->file ? loom_error_at((loom_code)w->code, w->file, w->span, "%s", message)
                                  : loom_error((loom_code)w->code, "%s", message);
    for (uint32_t i = 0; i < w->n_notes; i++) status = loom_status_note(status, "%s", w->notes[i]);
    return status;
}

loom_status *loom_compile_reply_encode(const loom_compile_reply *r, char **bytes, size_t *length) {
    loom_arena *arena = loom_arena_create(0);
    wire_reply w = {.r = *r};
    if (r->error) w.error = status_to_wire(arena, r->error);
    loom_buffer buffer = {0};
    loom_wire_encode(&reply, &w, &buffer);
    loom_arena_destroy(arena);
    *length = buffer.length;
    *bytes = loom_buffer_take(&buffer);
    return NULL;
}

loom_status *loom_compile_reply_decode(loom_arena *arena, const void *bytes, size_t length, loom_compile_reply **out) {
    if (length > LOOM_MAX_COMPILE_BYTES) return too_long("reply", length);
    wire_reply *w = LOOM_NEW(arena, wire_reply);
    LOOM_TRY(loom_wire_decode(&reply, arena, bytes, length, w));
    w->r.error = status_from_wire(&w->error);
    *out = &w->r;
    return NULL;
}
