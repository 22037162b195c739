/* A look at the bytes of a serialised program before a library sees them: only the fields of program.proto, each once
 * and in order, integers in their shortest form and 32 bits wide, counts within limits and in agreement. No recursion,
 * no allocation; linear. What passes costs a decoder at most a few times its own size in memory. */
#include "wire.h"

typedef struct field_rule {
    const char *name;
    uint32_t wire_type; /* 0 varint, 2 bytes */
    enum {
        TEXT,
        VARINTS,
        FIXED64S,
        NUMBER
    } content;
    uint64_t most; /* elements; for TEXT occurrences */
} field_rule;

#define N LOOM_MAX_NODES
static const field_rule rules[] = {
    [1] = {"version", 0, NUMBER, 1},
    [2] = {"strings", 2, TEXT, LOOM_MAX_WIRE_STRINGS},
    [3] = {"type_kinds", 2, VARINTS, LOOM_MAX_WIRE_TYPES},
    [4] = {"type_parts", 2, VARINTS, N},
    [5] = {"node_ops", 2, VARINTS, N},
    [6] = {"node_types", 2, VARINTS, N},
    [7] = {"node_details", 2, VARINTS, N},
    [8] = {"node_operands", 2, VARINTS, 8ull * N}, /* arrays of literals have one operand an element */
    [9] = {"constants", 2, FIXED64S, 2ull * N},
    [10] = {"spans", 2, VARINTS, 5ull * N},
    [11] = {"bodies", 2, VARINTS, 4ull * N},
    [12] = {"functions", 2, VARINTS, 2ull * N},
    [13] = {"files", 2, VARINTS, 2ull * LOOM_MAX_WIRE_FILES},
};
#undef N
#define FIELDS (sizeof rules / sizeof rules[0])

/* One varint of at most 32 bits in its shortest form; false if there is none at `at`. */
static bool read_varint(const unsigned char **at, const unsigned char *end, uint32_t *value) {
    uint32_t v = 0;
    for (unsigned shift = 0; *at < end; shift += 7) {
        unsigned char byte = *(*at)++;
        if (shift == 28 && byte > 0x0f) return false;
        v |= (uint32_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = v;
            return byte != 0 || shift == 0;
        }
    }
    return false;
}

static loom_status *broken(const field_rule *rule, const char *what) {
    return loom_error(LOOM_E_PROTOCOL, "serialised program: field %s %s", rule->name, what);
}

static loom_status *scan_content(const field_rule *rule, const unsigned char *at, const unsigned char *end,
                                 uint64_t *count) {
    switch (rule->content) {
    case TEXT: *count += 1; break;
    case FIXED64S:
        if ((end - at) % 8) return broken(rule, "is not a whole number of 64-bit words");
        *count += (uint64_t)(end - at) / 8;
        break;
    case VARINTS:
        for (uint32_t ignored; at < end; *count += 1) {
            if (!read_varint(&at, end, &ignored))
                return broken(rule, "has an integer that is cut off, too wide or padded");
        }
        break;
    case NUMBER: break;
    }
    if (*count <= rule->most) return NULL;
    return loom_error(LOOM_E_LIMIT, "serialised program: field %s has more than %llu elements", rule->name,
                      (unsigned long long)rule->most);
}

static loom_status *scan_field(const unsigned char **at, const unsigned char *end, uint32_t *last, uint64_t *counts) {
    uint32_t tag, value;
    if (!read_varint(at, end, &tag))
        return loom_error(LOOM_E_PROTOCOL, "serialised program: a field's number is broken");
    uint32_t field = tag >> 3;
    if (field == 0 || field >= FIELDS || (tag & 7) != rules[field].wire_type) {
        return loom_error(LOOM_E_PROTOCOL, "serialised program: field %u of type %u is not one of version %d", field,
                          tag & 7, LOOM_WIRE_VERSION);
    }
    const field_rule *rule = &rules[field];
    if (field < *last || (field == *last && rule->content != TEXT)) return broken(rule, "is repeated or out of order");
    *last = field;
    if (!read_varint(at, end, &value)) return broken(rule, "has a broken length or value");
    if (rule->content == NUMBER) {
        counts[field] = 1;
        if (value == LOOM_WIRE_VERSION) return NULL;
        return loom_error(LOOM_E_PROTOCOL, "serialised program of version %u, this is version %d", value,
                          LOOM_WIRE_VERSION);
    }
    if (value > (size_t)(end - *at)) return broken(rule, "reaches beyond the end");
    *at += value;
    return scan_content(rule, *at - value, *at, &counts[field]);
}

loom_status *loom_program_scan(const void *bytes, size_t length) {
    if (length > LOOM_MAX_PROGRAM_BYTES) {
        return loom_error(LOOM_E_LIMIT, "a serialised program of %zu bytes, at most %u are allowed", length,
                          LOOM_MAX_PROGRAM_BYTES);
    }
    uint64_t counts[FIELDS] = {0};
    uint32_t last = 0;
    const unsigned char *at = bytes, *end = at + length;
    while (at < end) LOOM_TRY(scan_field(&at, end, &last, counts));
    if (counts[1] == 0) return loom_error(LOOM_E_PROTOCOL, "serialised program: no version");
    if (counts[6] != counts[5] || counts[10] != 5 * counts[5] || counts[11] % 4 || counts[13] % 2) {
        return loom_error(LOOM_E_PROTOCOL, "serialised program: its columns disagree in length");
    }
    return NULL;
}
