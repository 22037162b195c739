/* See wire.h. Encoding writes fields in ascending order and leaves out zeros, so equal structures have equal bytes.
 * Decoding looks at each message twice: once to count the elements of its arrays, once to fill them. */
#include "wire.h"
#include <assert.h>
#include <string.h>

enum {
    VARINT = 0,
    FIXED64 = 1,
    DELIMITED = 2,
    LONGEST_VARINT = 10,
    MAX_FIELDS = 32
};

/* ---- encoding ---- */

static void put_varint(loom_buffer *to, uint64_t value) {
    uint8_t bytes[LONGEST_VARINT];
    size_t n = 0;
    do {
        bytes[n] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
        n++;
    } while (value);
    loom_buffer_append(to, bytes, n);
}

static void put_tag(loom_buffer *to, uint32_t id, unsigned wire_type) {
    put_varint(to, (uint64_t)id << 3 | wire_type);
}

static void put_delimited(loom_buffer *to, uint32_t id, const void *bytes, size_t length) {
    put_tag(to, id, DELIMITED);
    put_varint(to, length);
    loom_buffer_append(to, bytes, length);
}

static uint64_t zigzag(int64_t value) {
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static int64_t unzigzag(uint64_t value) {
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static void put_fixed64(uint64_t bits, char bytes[8]) {
    for (int i = 0; i < 8; i++) bytes[i] = (char)(bits >> (8 * i));
}

static uint64_t get_fixed64(const unsigned char *bytes) {
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) bits |= (uint64_t)bytes[i] << (8 * i);
    return bits;
}

static const char zeros[16]; /* a scalar that is not written */

static void scalar_bytes(loom_scalar value, char bytes[16]) {
    uint64_t words[2];
    memcpy(words, &value, sizeof words);
    put_fixed64(words[0], bytes);
    put_fixed64(words[1], bytes + 8);
}

static loom_scalar scalar_from(const unsigned char *bytes) {
    uint64_t words[2] = {get_fixed64(bytes), get_fixed64(bytes + 8)};
    loom_scalar value;
    memcpy(&value, words, sizeof value);
    return value;
}

static uint32_t count_at(const loom_wire_field *field, const char *base) {
    uint32_t count;
    memcpy(&count, base + field->count, sizeof count);
    return count;
}

static void put_array(const loom_wire_field *field, const char *base, loom_buffer *to) {
    const void *array = *(const void *const *)(const void *)(base + field->offset);
    uint32_t n = array ? count_at(field, base) : 0;
    loom_buffer packed = {0};
    for (uint32_t i = 0; i < n; i++) {
        char bytes[16];
        switch (field->kind) {
        case LOOM_WIRE_U32S: put_varint(&packed, ((const uint32_t *)array)[i]); break;
        case LOOM_WIRE_I64S: put_varint(&packed, zigzag(((const int64_t *)array)[i])); break;
        case LOOM_WIRE_SCALARS:
            scalar_bytes(((const loom_scalar *)array)[i], bytes);
            loom_buffer_append(&packed, bytes, sizeof bytes);
            break;
        case LOOM_WIRE_TEXTS: {
            const char *text = ((const char *const *)array)[i];
            put_delimited(to, field->id, text ? text : "", text ? strlen(text) : 0);
            break;
        }
        default:
            packed.length = 0;
            loom_wire_encode(field->table, (const char *)array + i * field->table->size, &packed);
            put_delimited(to, field->id, packed.data ? packed.data : "", packed.length);
            packed.length = 0;
        }
    }
    if (packed.length) put_delimited(to, field->id, packed.data, packed.length);
    loom_buffer_free(&packed);
}

static void put_number(uint32_t id, uint64_t value, loom_buffer *to) {
    if (!value) return;
    put_tag(to, id, VARINT);
    put_varint(to, value);
}

static void put_field(const loom_wire_field *field, const char *base, loom_buffer *to) {
    const char *at = base + field->offset;
    const void *aligned = at;
    char bytes[16];
    switch (field->kind) {
    case LOOM_WIRE_U32: put_number(field->id, *(const uint32_t *)aligned, to); break;
    case LOOM_WIRE_U8: put_number(field->id, *(const uint8_t *)aligned, to); break;
    case LOOM_WIRE_BOOL: put_number(field->id, *(const bool *)aligned, to); break;
    case LOOM_WIRE_U64: put_number(field->id, *(const uint64_t *)aligned, to); break;
    case LOOM_WIRE_I64: put_number(field->id, zigzag(*(const int64_t *)aligned), to); break;
    case LOOM_WIRE_DOUBLE: {
        uint64_t bits;
        memcpy(&bits, at, sizeof bits);
        if (!bits) break;
        put_tag(to, field->id, FIXED64);
        put_fixed64(bits, bytes);
        loom_buffer_append(to, bytes, 8);
        break;
    }
    case LOOM_WIRE_SCALAR: {
        scalar_bytes(*(const loom_scalar *)aligned, bytes);
        if (memcmp(bytes, zeros, 16) != 0) put_delimited(to, field->id, bytes, 16);
        break;
    }
    case LOOM_WIRE_TEXT: {
        const char *text = *(const char *const *)aligned;
        if (text) put_delimited(to, field->id, text, strlen(text));
        break;
    }
    case LOOM_WIRE_BYTES: {
        const void *data = *(const void *const *)aligned;
        size_t length;
        memcpy(&length, base + field->count, sizeof length);
        if (data) put_delimited(to, field->id, data, length);
        break;
    }
    case LOOM_WIRE_MESSAGE: {
        loom_buffer inner = {0};
        loom_wire_encode(field->table, at, &inner);
        if (inner.length) put_delimited(to, field->id, inner.data, inner.length);
        loom_buffer_free(&inner);
        break;
    }
    default: put_array(field, base, to);
    }
}

void loom_wire_encode(const loom_wire_table *table, const void *from, loom_buffer *to) {
    for (uint32_t f = 0; f < table->n_fields; f++) put_field(&table->fields[f], from, to);
}

/* ---- decoding ---- */

typedef struct reader {
    const unsigned char *at, *end;
} reader;

typedef struct record { /* one field as it stands on the wire */
    uint32_t id;
    unsigned wire_type;
    uint64_t number; /* VARINT, FIXED64 */
    reader inner;    /* DELIMITED */
} record;

static bool get_varint(reader *r, uint64_t *value) {
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 70 && r->at < r->end; shift += 7) {
        uint8_t byte = *r->at++;
        if (shift == 63 && byte > 1) return false;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            return shift == 0 || byte != 0;
        }
    }
    return false;
}

static bool get_record(reader *r, record *out) {
    uint64_t tag, length;
    if (!get_varint(r, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX) return false;
    out->id = (uint32_t)(tag >> 3);
    out->wire_type = (unsigned)(tag & 7);
    switch (out->wire_type) {
    case VARINT: return get_varint(r, &out->number);
    case FIXED64:
        if (r->end - r->at < 8) return false;
        out->number = get_fixed64(r->at);
        r->at += 8;
        return true;
    case DELIMITED:
        if (!get_varint(r, &length) || length > (uint64_t)(r->end - r->at)) return false;
        out->inner = (reader){r->at, r->at + length};
        r->at += length;
        return true;
    default: return false;
    }
}

static unsigned wire_type_of(loom_wire_kind kind) {
    switch (kind) {
    case LOOM_WIRE_U32:
    case LOOM_WIRE_U8:
    case LOOM_WIRE_BOOL:
    case LOOM_WIRE_U64:
    case LOOM_WIRE_I64: return VARINT;
    case LOOM_WIRE_DOUBLE: return FIXED64;
    default: return DELIMITED;
    }
}

static bool is_array(loom_wire_kind kind) {
    return kind >= LOOM_WIRE_U32S;
}

static loom_status *refuse(const loom_wire_table *table, uint32_t id, const char *what) {
    return loom_error(LOOM_E_DATA, "message %s, field %u: %s", table->name, id, what);
}

/* Elements that one record adds to its array; false if they cannot be told apart. */
static bool count_elements(const loom_wire_field *field, reader inner, uint64_t *count) {
    switch (field->kind) {
    case LOOM_WIRE_SCALARS: *count = (uint64_t)(inner.end - inner.at) / 16; return (inner.end - inner.at) % 16 == 0;
    case LOOM_WIRE_U32S:
    case LOOM_WIRE_I64S:
        *count = 0;
        for (uint64_t value; inner.at < inner.end; (*count)++) {
            if (!get_varint(&inner, &value)) return false;
        }
        return true;
    default: *count = 1; return true;
    }
}

static loom_status *decode_message(const loom_wire_table *table, loom_arena *arena, reader r, char *base);

static size_t element_size(const loom_wire_field *field) {
    switch (field->kind) {
    case LOOM_WIRE_U32S: return sizeof(uint32_t);
    case LOOM_WIRE_I64S: return sizeof(int64_t);
    case LOOM_WIRE_SCALARS: return sizeof(loom_scalar);
    case LOOM_WIRE_TEXTS: return sizeof(char *);
    default: return field->table->size;
    }
}

/* First look: which fields there are, in order, known, of the right wire type; how many elements. */
static loom_status *scan_message(const loom_wire_table *table, reader r, uint64_t counts[MAX_FIELDS]) {
    uint32_t f = 0;
    bool seen = false; /* field f */
    while (r.at < r.end) {
        record rec;
        if (!get_record(&r, &rec)) return refuse(table, seen ? table->fields[f].id : 0, "cut short or malformed");
        while (f < table->n_fields && table->fields[f].id < rec.id) {
            f++;
            seen = false;
        }
        if (f == table->n_fields || table->fields[f].id != rec.id)
            return refuse(table, rec.id, "unknown, or out of order");
        const loom_wire_field *field = &table->fields[f];
        if (rec.wire_type != wire_type_of(field->kind)) return refuse(table, rec.id, "has another wire type");
        if (seen && field->kind != LOOM_WIRE_TEXTS && field->kind != LOOM_WIRE_MESSAGES)
            return refuse(table, rec.id, "is repeated");
        seen = true;
        uint64_t more = 0;
        if (is_array(field->kind) && (!count_elements(field, rec.inner, &more) || counts[f] + more > UINT32_MAX)) {
            return refuse(table, rec.id, "is not a packed array");
        }
        if (is_array(field->kind) && !more) return refuse(table, rec.id, "is given but empty");
        counts[f] += more;
    }
    return NULL;
}

static loom_status *allocate_arrays(const loom_wire_table *table, loom_arena *arena, const uint64_t counts[MAX_FIELDS],
                                    char *base) {
    for (uint32_t f = 0; f < table->n_fields; f++) {
        const loom_wire_field *field = &table->fields[f];
        if (!is_array(field->kind) || !counts[f]) continue;
        uint32_t count = (uint32_t)counts[f], before = count_at(field, base);
        if (before && before != count) return refuse(table, field->id, "differs in length from the array it goes with");
        memcpy(base + field->count, &count, sizeof count);
        *(void **)(void *)(base + field->offset) = loom_arena_array(arena, count, element_size(field));
    }
    return NULL;
}

static loom_status *fill_array(const loom_wire_table *table, const loom_wire_field *field, loom_arena *arena,
                               reader inner, char *base, uint64_t *next) {
    void *array = *(void **)(void *)(base + field->offset);
    uint64_t value = 0;
    switch (field->kind) {
    case LOOM_WIRE_U32S:
        for (; inner.at < inner.end; (*next)++) {
            if (!get_varint(&inner, &value) || value > UINT32_MAX)
                return refuse(table, field->id, "has more than 32 bits");
            ((uint32_t *)array)[*next] = (uint32_t)value;
        }
        return NULL;
    case LOOM_WIRE_I64S:
        for (; inner.at < inner.end && get_varint(&inner, &value); (*next)++)
            ((int64_t *)array)[*next] = unzigzag(value);
        return NULL;
    case LOOM_WIRE_SCALARS:
        for (; inner.at < inner.end; inner.at += 16) ((loom_scalar *)array)[(*next)++] = scalar_from(inner.at);
        return NULL;
    case LOOM_WIRE_TEXTS:
        if (memchr(inner.at, 0, (size_t)(inner.end - inner.at))) return refuse(table, field->id, "has a NUL inside");
        ((char **)array)[(*next)++] = loom_arena_strndup(arena, (const char *)inner.at, (size_t)(inner.end - inner.at));
        return NULL;
    default: return decode_message(field->table, arena, inner, (char *)array + (*next)++ * field->table->size);
    }
}

static loom_status *fill_number(const loom_wire_table *table, const loom_wire_field *field, uint64_t number, void *to) {
    if (!number) return refuse(table, field->id, "is given as zero");
    switch (field->kind) {
    case LOOM_WIRE_U32:
        if (number > UINT32_MAX || (field->most && number >= field->most))
            return refuse(table, field->id, "is out of range");
        *(uint32_t *)to = (uint32_t)number;
        return NULL;
    case LOOM_WIRE_U8:
        if (number > UINT8_MAX) return refuse(table, field->id, "is out of range");
        *(uint8_t *)to = (uint8_t)number;
        return NULL;
    case LOOM_WIRE_BOOL:
        if (number > 1) return refuse(table, field->id, "is not a bool");
        *(bool *)to = true;
        return NULL;
    case LOOM_WIRE_I64: *(int64_t *)to = unzigzag(number); return NULL;
    default: memcpy(to, &number, sizeof number); return NULL; /* U64, DOUBLE */
    }
}

static loom_status *fill_delimited(const loom_wire_table *table, const loom_wire_field *field, loom_arena *arena,
                                   reader inner, char *base) {
    void *to = base + field->offset;
    size_t length = (size_t)(inner.end - inner.at);
    switch (field->kind) {
    case LOOM_WIRE_SCALAR:
        if (length != 16) return refuse(table, field->id, "is not a scalar of 16 bytes");
        if (!memcmp(inner.at, zeros, 16)) return refuse(table, field->id, "is given as zero");
        *(loom_scalar *)to = scalar_from(inner.at);
        return NULL;
    case LOOM_WIRE_TEXT:
        if (length && memchr(inner.at, 0, length)) return refuse(table, field->id, "has a NUL inside");
        *(char **)to = loom_arena_strndup(arena, (const char *)inner.at, length);
        return NULL;
    case LOOM_WIRE_BYTES:
        *(void **)to = loom_arena_alloc(arena, length + 1);
        memcpy(*(void **)to, inner.at, length);
        memcpy(base + field->count, &length, sizeof length);
        return NULL;
    default:
        if (!length) return refuse(table, field->id, "is given but empty");
        return decode_message(field->table, arena, inner, to);
    }
}

static loom_status *decode_message(const loom_wire_table *table, loom_arena *arena, reader r, char *base) {
    uint64_t counts[MAX_FIELDS] = {0}, next[MAX_FIELDS] = {0};
    assert(table->n_fields <= MAX_FIELDS);
    LOOM_TRY(scan_message(table, r, counts));
    LOOM_TRY(allocate_arrays(table, arena, counts, base));
    uint32_t f = 0;
    while (r.at < r.end) {
        record rec;
        if (!get_record(&r, &rec)) return refuse(table, 0, "malformed");
        while (table->fields[f].id != rec.id) f++;
        const loom_wire_field *field = &table->fields[f];
        if (is_array(field->kind)) {
            LOOM_TRY(fill_array(table, field, arena, rec.inner, base, &next[f]));
        } else if (rec.wire_type == DELIMITED) {
            LOOM_TRY(fill_delimited(table, field, arena, rec.inner, base));
        } else {
            LOOM_TRY(fill_number(table, field, rec.number, base + field->offset));
        }
    }
    return NULL;
}

loom_status *loom_wire_decode(const loom_wire_table *table, loom_arena *arena, const void *bytes, size_t length,
                              void *to) {
    jmp_buf guard;
    jmp_buf *outer = loom_arena_set_guard(arena, &guard);
    loom_status *status;
    if (setjmp(guard)) {
        status =
            loom_error(LOOM_E_LIMIT, "message %s of %zu bytes needs more memory than it may have", table->name, length);
    } else {
        status = decode_message(table, arena, (reader){bytes, (const unsigned char *)bytes + length}, to);
    }
    loom_arena_set_guard(arena, outer);
    return status;
}
