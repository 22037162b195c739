/* Parsing of .npy headers: a Python dict literal with the keys 'descr', 'fortran_order' and 'shape', in any order.
 * Everything is read through a cursor that cannot leave the header. */
#include "io/npy.h"
#include <inttypes.h>
#include <string.h>

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_space(cursor *c) {
    while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at) c->at++;
}

static bool take(cursor *c, char what) {
    skip_space(c);
    if (c->at >= c->end || *c->at != what) return false;
    c->at++;
    return true;
}

/* 'text' or "text", without escapes (NumPy writes none). */
static bool take_string(cursor *c, cursor *text) {
    skip_space(c);
    if (c->at >= c->end || (*c->at != '\'' && *c->at != '"')) return false;
    char quote = *c->at++;
    const char *close = memchr(c->at, quote, (size_t)(c->end - c->at));
    if (!close) return false;
    *text = (cursor){c->at, close};
    c->at = close + 1;
    return true;
}

static bool equals(cursor text, const char *word) {
    size_t n = strlen(word);
    return (size_t)(text.end - text.at) == n && memcmp(text.at, word, n) == 0;
}

static bool take_word(cursor *c, const char *word) {
    skip_space(c);
    size_t n = strlen(word);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return false;
    c->at += n;
    return true;
}

static bool take_number(cursor *c, int64_t *value) {
    skip_space(c);
    int64_t x = 0;
    const char *start = c->at;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        if (__builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, *c->at - '0', &x)) return false;
        c->at++;
    }
    if (c->at == start) return false;
    if (c->at < c->end && *c->at == 'L') c->at++; /* Python 2 */
    *value = x;
    return true;
}

static loom_status *bad_header(const char *name, const char *what) {
    return loom_error(LOOM_E_DATA, "%s: the .npy header is damaged (%s)", name, what);
}

static loom_status *take_descr(const char *name, cursor *c, loom_dtype *dtype) {
    static const struct {
        const char *code;
        loom_dtype dtype;
    } codes[] = {
        {"b1", LOOM_BOOL}, {"i1", LOOM_I8},  {"i2", LOOM_I16}, {"i4", LOOM_I32},   {"i8", LOOM_I64},
        {"u1", LOOM_U8},   {"u2", LOOM_U16}, {"u4", LOOM_U32}, {"u8", LOOM_U64},   {"f4", LOOM_F32},
        {"f8", LOOM_F64},  {"c8", LOOM_C64}, {"?", LOOM_BOOL}, {"c16", LOOM_C128},
    };
    cursor text;
    if (!take_string(c, &text)) {
        return loom_status_note(loom_error(LOOM_E_DATA, "%s: structured arrays are not understood", name),
                                "hint: save each field of the array in a file of its own");
    }
    cursor code = text;
    char order = '|';
    if (code.at < code.end && strchr("<>=|", *code.at) && *code.at) order = *code.at++;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (!equals(code, codes[i].code)) continue;
        if (order == '>' && loom_dtype_size(codes[i].dtype) > 1) {
            return loom_status_note(
                loom_error(LOOM_E_DATA, "%s: big-endian data ('%.*s')", name, (int)(text.end - text.at), text.at),
                "hint: save it with x.astype(x.dtype.newbyteorder('<'))");
        }
        *dtype = codes[i].dtype;
        return NULL;
    }
    int shown = text.end - text.at > 40 ? 40 : (int)(text.end - text.at);
    return loom_status_note(
        loom_error(LOOM_E_DATA, "%s: elements of type '%.*s' are not understood", name, shown, text.at),
        "hint: bool, integers of 8 to 64 bits, f4, f8, c8 and c16 are");
}

static loom_status *take_shape(const char *name, cursor *c, loom_npy_header *header) {
    if (!take(c, '(')) return bad_header(name, "no shape");
    header->depth = 0;
    while (!take(c, ')')) {
        int64_t extent;
        if (header->depth && !take(c, ',')) return bad_header(name, "the shape does not end");
        if (take(c, ')')) return NULL;
        if (!take_number(c, &extent)) return bad_header(name, "an extent is no number");
        if (header->depth == LOOM_MAX_DEPTH) {
            return loom_error(LOOM_E_LIMIT, "%s: more than %d axes", name, LOOM_MAX_DEPTH);
        }
        header->extents[header->depth++] = extent;
    }
    return NULL;
}

static loom_status *take_entry(const char *name, cursor *c, loom_npy_header *header, unsigned *seen, bool *fortran) {
    cursor key;
    if (!take_string(c, &key) || !take(c, ':')) return bad_header(name, "a key is missing");
    unsigned bit = equals(key, "descr") ? 1u : equals(key, "fortran_order") ? 2u : equals(key, "shape") ? 4u : 0u;
    if (!bit || (*seen & bit)) return bad_header(name, "an unexpected key");
    *seen |= bit;
    if (bit == 1) return take_descr(name, c, &header->dtype);
    if (bit == 4) return take_shape(name, c, header);
    *fortran = take_word(c, "True");
    return *fortran || take_word(c, "False") ? NULL : bad_header(name, "fortran_order is neither True nor False");
}

static loom_status *parse_dict(const char *name, cursor *c, loom_npy_header *header) {
    unsigned seen = 0;
    bool fortran = false;
    if (!take(c, '{')) return bad_header(name, "it does not start with '{'");
    while (!take(c, '}')) {
        if (seen && !take(c, ',')) return bad_header(name, "it does not end with '}'");
        if (take(c, '}')) break;
        LOOM_TRY(take_entry(name, c, header, &seen, &fortran));
    }
    if (seen != 7) return bad_header(name, "descr, fortran_order or shape is missing");
    /* With fewer than two axes both orders are the same. */
    if (fortran && header->depth > 1) {
        return loom_status_note(loom_error(LOOM_E_DATA, "%s: the array is in Fortran order", name),
                                "hint: save it with numpy.ascontiguousarray(x)");
    }
    return NULL;
}

/* Where the dict lies: magic, version, length in 2 or 4 bytes. */
static loom_status *find_dict(const char *name, const unsigned char *bytes, size_t length, cursor *dict) {
    if (length < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0) {
        return loom_error(LOOM_E_DATA, "%s is not a .npy file%s", name, length ? "" : " (it is empty)");
    }
    unsigned version = bytes[6];
    if (version < 1 || version > 3) {
        return loom_error(LOOM_E_DATA, "%s: .npy format version %u.%u is not understood (1.0 to 3.0 are)", name,
                          version, bytes[7]);
    }
    size_t start = version == 1 ? 10 : 12;
    if (length < start) return loom_error(LOOM_E_DATA, "%s is cut off in its header", name);
    uint32_t n = (uint32_t)bytes[8] | (uint32_t)bytes[9] << 8;
    if (version > 1) n |= (uint32_t)bytes[10] << 16 | (uint32_t)bytes[11] << 24;
    if (n > LOOM_MAX_NPY_HEADER) {
        return loom_error(LOOM_E_LIMIT, "%s: a header of %u bytes, the limit is %u", name, n, LOOM_MAX_NPY_HEADER);
    }
    if (length - start < n) return loom_error(LOOM_E_DATA, "%s is cut off in its header", name);
    *dict = (cursor){(const char *)bytes + start, (const char *)bytes + start + n};
    return NULL;
}

loom_status *loom_npy_parse(const char *name, const void *bytes, size_t length, loom_npy_header *header) {
    loom_npy_header made = {0};
    cursor dict;
    LOOM_TRY(find_dict(name, bytes, length, &dict));
    made.offset = (size_t)(dict.end - (const char *)bytes);
    LOOM_TRY(parse_dict(name, &dict, &made));
    loom_status *status = loom_bytes_of(made.dtype, made.depth, made.extents, &made.bytes);
    if (status) return loom_status_note(status, "in the header of %s", name);
    if (length - made.offset < made.bytes) {
        return loom_error(LOOM_E_DATA, "%s is cut off: its header promises %" PRIu64 " bytes of data, there are %zu",
                          name, made.bytes, length - made.offset);
    }
    *header = made;
    return NULL;
}
