/* Values of tests from their text. A leaf is read into lists of lengths, one a level, and its scalars in order; levels
 * whose lists agree become regular. */
#include "client/binding.h"
#include "common/buffer.h"
#include "compiler/ir/prim.h"
#include "test_text.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct lengths {
    int64_t *at;
    size_t count, capacity;
} lengths;

typedef struct leaf_reader {
    loom_arena *arena; /* scratch */
    loom_testing_text *t;
    const loom_type_leaf *type;
    uint64_t bytes; /* limit */
    lengths level[LOOM_MAX_DEPTH];
    loom_buffer data;
} leaf_reader;

/* "[][]f32", in the arena. */
static const char *type_text(loom_arena *arena, loom_dtype dtype, uint32_t depth) {
    char brackets[2 * LOOM_MAX_DEPTH + 1] = "";
    for (uint32_t k = 0; k < depth && k < LOOM_MAX_DEPTH; k++) memcpy(brackets + 2 * (size_t)k, "[]", 3);
    return loom_arena_printf(arena, "%s%s", brackets, loom_dtype_name(dtype));
}

static const char *wanted(const leaf_reader *r) {
    return type_text(r->arena, r->type->dtype, r->type->depth);
}

/* ---- scalars ---- */

/* The scalar type that a word ends with, cut off; LOOM_DTYPES: none. Of 0x1f32 the digits go on. */
static loom_dtype take_suffix(char *word) {
    size_t n = strlen(word);
    bool hexadecimal = strstr(word, "0x") && !strpbrk(word, "pP");
    for (int d = 0; d < LOOM_DTYPES; d++) {
        const char *name = loom_dtype_name((loom_dtype)d);
        size_t m = strlen(name);
        if (n <= m || strcmp(word + n - m, name) != 0) continue;
        if (hexadecimal && name[0] != 'i' && name[0] != 'u') continue;
        word[n - m] = '\0';
        return (loom_dtype)d;
    }
    return LOOM_DTYPES;
}

/* `f32.nan`, `-f64.inf`: the type in front, cut off. */
static loom_dtype take_prefix(char *word) {
    char *from = word + (*word == '-'), *dot = strchr(from, '.');
    for (int d = 0; dot && d < LOOM_DTYPES; d++) {
        const char *name = loom_dtype_name((loom_dtype)d);
        if (strlen(name) != (size_t)(dot - from) || strncmp(name, from, strlen(name)) != 0) continue;
        memmove(from, dot + 1, strlen(dot + 1) + 1);
        return (loom_dtype)d;
    }
    return LOOM_DTYPES;
}

/* Underscores go, and zeros in front, that C would take for octal; what is written in binary is turned. */
static void as_in_c(char *word) {
    char *to = word;
    for (const char *from = word; *from; from++) {
        if (*from != '_') *to++ = *from;
    }
    *to = '\0';
    char *digits = word + (*word == '-');
    if (digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B')) {
        char *end;
        unsigned long long value = strtoull(digits + 2, &end, 2);
        if (*end == '\0' && end > digits + 2) snprintf(digits, TEST_LONGEST_WORD, "%llu", value);
    }
    while (digits[0] == '0' && isdigit((unsigned char)digits[1])) memmove(digits, digits + 1, strlen(digits));
}

static loom_status *scalar(leaf_reader *r) {
    char word[TEST_LONGEST_WORD + 1];
    test_skip_blanks(r->t);
    loom_testing_text start = *r->t;
    loom_dtype dtype = r->type->dtype;
    LOOM_TRY(test_word(r->t, word));
    if (!*word) {
        return test_expected(&start, loom_arena_printf(r->arena, "a value of type %s", type_text(r->arena, dtype, 0)));
    }
    char shown[TEST_LONGEST_WORD + 1];
    memcpy(shown, word, sizeof shown);
    loom_dtype said = take_prefix(word);
    if (said == LOOM_DTYPES) said = take_suffix(word);
    if (said != LOOM_DTYPES && said != dtype) {
        return test_error(&start, "expected a value of type %s, found `%s`, of type %s", loom_dtype_name(dtype), shown,
                          loom_dtype_name(said));
    }
    as_in_c(word);
    loom_scalar value;
    loom_status *status = loom_client_scalar("value", word, dtype, &value);
    if (status) {
        loom_status_free(status);
        return test_error(&start, "expected a value of type %s, found `%s`", loom_dtype_name(dtype), shown);
    }
    char bytes[16];
    size_t size = loom_dtype_size(dtype);
    if (r->data.length + size > r->bytes)
        return test_error(&start, "more values than memory allows: there are %llu bytes left for this one",
                          (unsigned long long)r->bytes);
    loom_scalar_store(dtype, value, bytes);
    loom_buffer_append(&r->data, bytes, size);
    return NULL;
}

/* ---- arrays ---- */

/* `"text"`, an array of bytes. */
static loom_status *string(leaf_reader *r, int64_t *count) {
    loom_testing_text start = *r->t;
    test_next(r->t);
    for (*count = 0; test_now(r->t) != '"'; test_next(r->t), ++*count) {
        if (test_now(r->t) == '\\') test_next(r->t);
        if (test_now(r->t) < 0 || test_now(r->t) == '\n')
            return test_error(&start, "expected `\"` at the end of the text");
        char c = (char)test_now(r->t);
        loom_buffer_append(&r->data, &c, 1);
    }
    test_next(r->t);
    return NULL;
}

/* A value of a leaf below `level` levels; as deep as its type. */
static loom_status *element(leaf_reader *r, uint32_t level) {
    if (level == r->type->depth) return scalar(r);
    int64_t count = 0;
    test_skip_blanks(r->t);
    if (r->type->dtype == LOOM_U8 && level + 1 == r->type->depth && test_now(r->t) == '"') {
        LOOM_TRY(string(r, &count));
    } else {
        if (!test_take(r->t, '[')) {
            return test_expected(r->t, loom_arena_printf(r->arena, "`[` of a value of type %s", wanted(r)));
        }
        while (!test_take(r->t, ']')) {
            if (count && !test_take(r->t, ',')) return test_expected(r->t, "`,` or `]` after an element");
            LOOM_TRY(element(r, level + 1));
            count++;
        }
    }
    LOOM_PUSH(r->arena, r->level[level], count);
    return NULL;
}

/* `[2][0]i32`: extents and the type, which must be those of the leaf. */
static loom_status *sized_type(leaf_reader *r, int64_t *extents) {
    test_skip_blanks(r->t);
    loom_testing_text start = *r->t;
    char word[TEST_LONGEST_WORD + 1];
    uint32_t depth = 0;
    for (; test_take(r->t, '['); depth++) {
        loom_testing_text number = *r->t;
        LOOM_TRY(test_word(r->t, word));
        char *end;
        long long extent = strtoll(word, &end, 10);
        size_t n = strlen(word);
        if (n > 3 && strcmp(word + n - 3, "i64") == 0) end += 3; /* [10i64] */
        if (end != word + n || n == 0 || extent < 0) return test_expected(&number, "a length");
        if (depth < LOOM_MAX_DEPTH) extents[depth] = extent;
        if (!test_take(r->t, ']')) return test_expected(r->t, "`]` after a length");
    }
    LOOM_TRY(test_word(r->t, word));
    if (depth == r->type->depth && strcmp(word, loom_dtype_name(r->type->dtype)) == 0) return NULL;
    return test_error(&start, "expected a value of type %s, found one of %u level%s of `%s`", wanted(r), depth,
                      depth == 1 ? "" : "s", word);
}

static loom_status *make_sized(leaf_reader *r, const loom_testing_text *start, const int64_t *extents,
                               loom_leaf *leaf) {
    loom_status *status = loom_leaf_init(leaf, r->type->name, r->type->dtype, r->type->depth, extents, r->bytes);
    if (!status) return NULL;
    loom_status *placed = test_error(start, "%s", loom_status_message(status));
    loom_status_free(status);
    return placed;
}

/* `empty([0]i32)`, from past the word. */
static loom_status *empty(leaf_reader *r, const loom_testing_text *start, loom_leaf *leaf) {
    int64_t extents[LOOM_MAX_DEPTH] = {0};
    bool none = false;
    if (!test_take(r->t, '(')) return test_expected(r->t, "`(` and the type of an array without elements");
    LOOM_TRY(sized_type(r, extents));
    for (uint32_t k = 0; k < r->type->depth; k++) none = none || extents[k] == 0;
    if (!none) return test_error(start, "an array whose lengths are none of them 0 is not empty");
    if (!test_take(r->t, ')')) return test_expected(r->t, "`)`");
    return make_sized(r, start, extents, leaf);
}

/* ---- leaves ---- */

/* Were all lists of a level equally long? Their length, or LOOM_IRREGULAR. */
static int64_t common_length(const lengths *l) {
    for (size_t i = 1; i < l->count; i++) {
        if (l->at[i] != l->at[0]) return LOOM_IRREGULAR;
    }
    return l->count ? l->at[0] : 0;
}

static void to_leaf(leaf_reader *r, loom_leaf *leaf) {
    const loom_type_leaf *type = r->type;
    leaf->name = loom_xstrdup(type->name);
    leaf->dtype = type->dtype;
    leaf->depth = type->depth;
    for (uint32_t k = 0; k < type->depth; k++) {
        const lengths *l = &r->level[k];
        leaf->n_lengths[k] = (int64_t)l->count;
        leaf->extents[k] = common_length(l);
        if (leaf->extents[k] != LOOM_IRREGULAR) continue;
        leaf->lengths[k] = loom_xmalloc(l->count * sizeof *l->at);
        memcpy(leaf->lengths[k], l->at, l->count * sizeof *l->at);
    }
    leaf->n_data = (int64_t)(r->data.length / loom_dtype_size(type->dtype));
    leaf->data = loom_buffer_take(&r->data);
    if (!leaf->data) leaf->data = loom_xcalloc(1, 16); /* no scalars */
}

static bool takes_word(loom_testing_text *t, const char *expected) {
    char word[TEST_LONGEST_WORD + 1];
    loom_testing_text ahead = *t;
    loom_status *status = test_word(&ahead, word);
    bool same = !status && strcmp(word, expected) == 0;
    loom_status_free(status);
    if (same) *t = ahead;
    return same;
}

static loom_status *read_leaf(leaf_reader *r, loom_leaf *leaf) {
    test_skip_blanks(r->t);
    loom_testing_text start = *r->t;
    if (r->type->depth && takes_word(r->t, "empty")) return empty(r, &start, leaf);
    LOOM_TRY(element(r, 0));
    to_leaf(r, leaf);
    return NULL;
}

/* ---- random ---- */

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
    uint64_t x = (*state += 0x9E3779B97F4A7C15u);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static loom_scalar random_scalar(loom_dtype dtype, uint64_t *state) {
    uint64_t bits = next_random(state);
    loom_scalar s = {.c = {0, 0}};
    unsigned unused = 64 - 8 * (unsigned)loom_dtype_size(dtype);
    if (dtype == LOOM_BOOL) {
        s.b = bits & 1;
    } else if (loom_dtype_is_unsigned(dtype)) {
        s.u = bits >> unused;
    } else if (loom_dtype_is_integer(dtype)) {
        s.i = (int64_t)bits >> unused;
    } else if (loom_dtype_is_complex(dtype)) {
        s.c[0] = (double)(bits >> 40) * 0x1p-24;
        s.c[1] = (double)(next_random(state) >> 40) * 0x1p-24;
    } else {
        s.f = dtype == LOOM_F32 ? (double)(bits >> 40) * 0x1p-24 : (double)(bits >> 11) * 0x1p-53;
    }
    return s;
}

/* A type with its lengths, or a scalar as it is: `random input { 10i64 [10]f32 }`. */
static loom_status *random_leaf(leaf_reader *r, uint64_t *state, loom_leaf *leaf) {
    test_skip_blanks(r->t);
    loom_testing_text start = *r->t;
    int c = test_now(r->t);
    bool given = r->type->depth == 0 && c >= 0 && (isdigit(c) || c == '-');
    if (given) return read_leaf(r, leaf);
    test_take(r->t, '*');
    int64_t extents[LOOM_MAX_DEPTH] = {0};
    LOOM_TRY(sized_type(r, extents));
    LOOM_TRY(make_sized(r, &start, extents, leaf));
    size_t size = loom_dtype_size(leaf->dtype);
    for (int64_t i = 0; i < leaf->n_data; i++) {
        loom_scalar_store(leaf->dtype, random_scalar(leaf->dtype, state), (char *)leaf->data + (size_t)i * size);
    }
    return NULL;
}

/* ---- all of them ---- */

typedef struct source {
    bool random;
    uint64_t state;
} source;

static loom_status *read_value(loom_arena *arena, loom_testing_text *t, const loom_program *p, loom_type_id type,
                               uint64_t *bytes, source *s, loom_value **made) {
    loom_type_leaf *leaves;
    uint32_t n = loom_type_leaves(p, arena, type, &leaves);
    loom_value *value;
    LOOM_TRY(loom_value_create(n, &value));
    loom_status *status = NULL;
    for (uint32_t i = 0; i < n && !status; i++) {
        leaf_reader r = {.arena = arena, .t = t, .type = &leaves[i], .bytes = *bytes};
        if (leaves[i].depth > LOOM_MAX_DEPTH) {
            status = test_error(t, "a value of more than %d levels", LOOM_MAX_DEPTH);
        } else {
            status = s->random ? random_leaf(&r, &s->state, &value->leaves[i]) : read_leaf(&r, &value->leaves[i]);
        }
        loom_buffer_free(&r.data);
        uint64_t used = status ? 0 : (uint64_t)value->leaves[i].n_data * loom_dtype_size(leaves[i].dtype);
        *bytes -= used < *bytes ? used : *bytes;
    }
    if (!status) status = loom_value_check(value);
    if (status) {
        loom_value_unref(value);
        return status;
    }
    *made = value;
    return NULL;
}

static loom_status *read_values(loom_testing_text text, const loom_program *p, uint32_t n, const loom_type_id *types,
                                const char *const *names, uint64_t bytes, source *s, loom_value **values) {
    loom_arena *arena = loom_arena_create(0);
    loom_status *status = NULL;
    uint32_t done = 0;
    while (done < n && !status) {
        status = read_value(arena, &text, p, types[done], &bytes, s, &values[done]);
        if (status && names) loom_status_note(status, "in the value of parameter `%s`", names[done]);
        done += !status;
    }
    if (!status && !test_take(&text, '}')) status = test_expected(&text, "`}` after the last value");
    for (uint32_t i = 0; status && i < done; i++) {
        loom_value_unref(values[i]);
        values[i] = NULL;
    }
    loom_arena_destroy(arena);
    return status;
}

loom_status *loom_testing_read(loom_testing_text text, const loom_program *p, uint32_t n, const loom_type_id *types,
                               const char *const *names, uint64_t bytes, loom_value **values) {
    source s = {0};
    return read_values(text, p, n, types, names, bytes, &s, values);
}

loom_status *loom_testing_random(loom_testing_text text, const loom_program *p, uint32_t n, const loom_type_id *types,
                                 const char *const *names, uint64_t bytes, uint64_t seed, loom_value **values) {
    source s = {.random = true, .state = seed};
    return read_values(text, p, n, types, names, bytes, &s, values);
}
