#include "helper.h"
#include "common/buffer.h"
#include "loom_test.h"
#include <ctype.h>

/* ---- types from text ---- */

static void blanks(const char **t) {
    while (**t == ' ' || **t == ',') ++*t;
}

static loom_type_id read_type(loom_program *p, const char **t) {
    blanks(t);
    if (strncmp(*t, "[]", 2) == 0) {
        *t += 2;
        return loom_type_array(p, read_type(p, t));
    }
    if (strncmp(*t, "seq ", 4) == 0) {
        *t += 4;
        return loom_type_seq(p, read_type(p, t));
    }
    if (**t == '(' || **t == '{') {
        loom_type_id fields[16];
        char names[16][32];
        const char *pointers[16];
        uint32_t n = 0;
        bool named = *(*t)++ == '{';
        for (blanks(t); **t != ')' && **t != '}'; blanks(t), n++) {
            for (uint32_t k = 0; named && (**t != ':' || (++*t, false)); k++, ++*t)
                names[n][k] = **t, names[n][k + 1] = 0;
            pointers[n] = names[n];
            fields[n] = read_type(p, t);
        }
        ++*t;
        return loom_type_tuple(p, n, fields, named ? pointers : NULL);
    }
    char name[8] = {0};
    for (size_t i = 0; isalnum((unsigned char)**t) && i < 7; i++) name[i] = *(*t)++;
    loom_dtype dtype = LOOM_DTYPES;
    LOOM_CHECK(loom_dtype_parse(name, &dtype));
    return loom_type_scalar(p, dtype);
}

loom_type_id type_from(loom_program *p, const char *text) {
    return read_type(p, &text);
}

/* ---- building ---- */

built start(uint32_t n_params, const char *const *types) {
    built b = {.arena = loom_arena_create(0), .line = 1};
    b.p = loom_program_create(b.arena);
    b.p->files = LOOM_NEW(b.arena, loom_source_file);
    b.p->files[0] = (loom_source_file){"test.weft", "", 0};
    b.p->n_files = b.p->cap_files = 1;
    b.f = open_body(&b, n_params, types);
    return b;
}

loom_body_id open_body(built *b, uint32_t n, const char *const *types) {
    loom_type_id ids[16];
    for (uint32_t i = 0; i < n; i++) ids[i] = type_from(b->p, types[i]);
    return loom_build_open(b->p, n, ids, AT(b->line));
}

loom_node_id arg(const built *b, loom_body_id body, uint32_t i) {
    return loom_build_param(b->p, body, i);
}
loom_node_id param(const built *b, uint32_t i) {
    return arg(b, b->f, i);
}

loom_node_id node(built *b, loom_op op, const char *type, uint32_t aux, uint32_t n, const loom_node_id *operands,
                  const loom_body_id *bodies) {
    uint32_t n_bodies = 0;
    while (bodies && bodies[n_bodies] != LOOM_NONE) n_bodies++;
    return loom_build_node(b->p, op, 0, type_from(b->p, type), operands, n, bodies, n_bodies, aux, AT(++b->line));
}

loom_node_id prim(built *b, loom_prim which, const char *type, uint32_t n, const loom_node_id *operands) {
    return loom_build_node(b->p, LOOM_OP_PRIM, which, type_from(b->p, type), operands, n, NULL, 0, 0, AT(++b->line));
}

loom_node_id i64(built *b, int64_t value) {
    return loom_build_i64(b->p, value, AT(b->line));
}
loom_node_id f64(built *b, double value) {
    return loom_build_const(b->p, LOOM_F64, (loom_scalar){.f = value}, AT(b->line));
}

loom_body_id operator_body(built *b, loom_prim which, const char *type) {
    loom_body_id body = BODY(b, type, type);
    loom_build_close(b->p, body, prim(b, which, type, OPERANDS(arg(b, body, 0), arg(b, body, 1))));
    return body;
}

void finish(built *b, loom_node_id result) {
    loom_build_close(b->p, b->f, result);
    loom_build_function(b->p, "main", b->f, true, NULL);
    LOOM_OK(loom_program_check(b->p));
}

void done(built *b) {
    loom_arena_destroy(b->arena);
}

/* ---- values from text ---- */

typedef struct parsed {
    loom_leaf *leaf;
    LOOM_VEC(int64_t) lengths[LOOM_MAX_DEPTH];
    LOOM_VEC(char) data;
    loom_arena *arena;
} parsed;

static double real_from(const char **t) {
    char *end;
    double x = strtod(*t, &end);
    *t = end;
    return x;
}

static void push_scalar(parsed *v, const char **t) {
    char raw[16];
    loom_scalar s = {.c = {0, 0}};
    loom_dtype type = v->leaf->dtype;
    if (type == LOOM_BOOL) {
        s.b = strncmp(*t, "true", 4) == 0;
        while (isalpha((unsigned char)**t)) ++*t;
    } else if (loom_dtype_is_complex(type)) {
        s.c[0] = real_from(t);
        s.c[1] = **t == '+' || **t == '-' ? real_from(t) : 0;
        if (**t == 'i') ++*t;
    } else if (loom_dtype_is_float(type)) {
        s.f = real_from(t);
    } else {
        char *end;
        s.i = strtoll(*t, &end, 10);
        *t = end;
    }
    loom_scalar_store(type, s, raw);
    for (size_t i = 0; i < loom_dtype_size(type); i++) LOOM_PUSH(v->arena, v->data, raw[i]);
    v->leaf->n_data++;
}

static void read_list(parsed *v, const char **t, uint32_t level) {
    int64_t length = 0;
    if (**t != '[') {
        push_scalar(v, t);
        return;
    }
    ++*t;
    if (v->leaf->depth < level + 1) v->leaf->depth = level + 1;
    for (blanks(t); **t != ']'; blanks(t)) {
        read_list(v, t, level + 1);
        length++;
    }
    ++*t;
    LOOM_PUSH(v->arena, v->lengths[level], length);
}

/* An empty array has as many levels as brackets are written: "i64 [[]]" is a list of one empty list. */
static void read_leaf(loom_leaf *leaf, const char **t) {
    char name[8] = {0};
    parsed v = {.leaf = leaf, .arena = loom_arena_create(0)};
    for (size_t i = 0; isalnum((unsigned char)**t) && i < 7; i++) name[i] = *(*t)++;
    LOOM_CHECK(loom_dtype_parse(name, &leaf->dtype));
    int extra = **t == '^' ? atoi((*t += 2) - 1) : 0; /* "i64^2 []": two levels that cannot be seen */
    blanks(t);
    read_list(&v, t, 0);
    if (extra) leaf->depth = (uint32_t)extra;
    bool any = true;
    for (uint32_t k = 0; k < leaf->depth; k++) {
        int64_t n = (int64_t)v.lengths[k].count;
        leaf->extents[k] = n && any ? v.lengths[k].at[0] : 0;
        for (int64_t i = 1; i < n; i++) {
            if (v.lengths[k].at[i] != leaf->extents[k]) leaf->extents[k] = LOOM_IRREGULAR;
        }
        any = any && leaf->extents[k] != 0;
        leaf->n_lengths[k] = n;
        if (leaf->extents[k] != LOOM_IRREGULAR) continue;
        leaf->lengths[k] = malloc((size_t)n * sizeof(int64_t));
        memcpy(leaf->lengths[k], v.lengths[k].at, (size_t)n * sizeof(int64_t));
    }
    leaf->data = malloc(v.data.count + 1);
    if (v.data.count) memcpy(leaf->data, v.data.at, v.data.count);
    leaf->name = strdup("");
    loom_arena_destroy(v.arena);
}

loom_value *value_from(const char *text) {
    uint32_t n = 1;
    for (const char *t = text; *t; t++) n += *t == ';';
    loom_value *value;
    LOOM_OK(loom_value_create(n, &value));
    for (uint32_t i = 0; i < n; i++) {
        while (*text == ' ' || *text == ';') text++;
        read_leaf(&value->leaves[i], &text);
    }
    LOOM_OK(loom_value_check(value));
    return value;
}

/* ---- values to text ---- */

typedef struct shown {
    const loom_leaf *leaf;
    int64_t list[LOOM_MAX_DEPTH], scalar;
} shown;

static void show_scalar(loom_buffer *out, const loom_leaf *leaf, int64_t i) {
    loom_scalar s = loom_scalar_load(leaf->dtype, (char *)leaf->data + (size_t)i * loom_dtype_size(leaf->dtype));
    if (leaf->dtype == LOOM_BOOL) {
        loom_buffer_text(out, s.b ? "true" : "false");
    } else if (loom_dtype_is_signed(leaf->dtype)) {
        loom_buffer_printf(out, "%" PRId64, s.i);
    } else if (loom_dtype_is_unsigned(leaf->dtype)) {
        loom_buffer_printf(out, "%" PRIu64, s.u);
    } else if (loom_dtype_is_complex(leaf->dtype)) {
        loom_buffer_printf(out, "%.10g%+.10gi", s.c[0] + 0.0, s.c[1] + 0.0);
    } else {
        loom_buffer_printf(out, "%.10g", s.f);
    }
}

static void show_list(loom_buffer *out, shown *v, uint32_t level) {
    if (level == v->leaf->depth) {
        show_scalar(out, v->leaf, v->scalar++);
        return;
    }
    int64_t list = v->list[level]++;
    int64_t length = v->leaf->lengths[level] ? v->leaf->lengths[level][list] : v->leaf->extents[level];
    loom_buffer_text(out, "[");
    for (int64_t i = 0; i < length; i++) {
        if (i) loom_buffer_text(out, ", ");
        show_list(out, v, level + 1);
    }
    loom_buffer_text(out, "]");
}

char *value_text(const loom_value *value) {
    loom_buffer out = {0};
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        shown v = {.leaf = &value->leaves[i]};
        if (i) loom_buffer_text(&out, "; ");
        show_list(&out, &v, 0);
    }
    loom_buffer_text(&out, "");
    return loom_buffer_take(&out);
}

/* ---- running ---- */

static loom_status *call(const built *b, const loom_interp_options *options, uint32_t n, const char *const *texts,
                         loom_value **result, loom_interp_counters *counters) {
    loom_value *arguments[16];
    for (uint32_t i = 0; i < n; i++) arguments[i] = value_from(texts[i]);
    loom_status *status = loom_interp_call(b->p, b->p->n_functions - 1, arguments, options, result, counters);
    for (uint32_t i = 0; i < n; i++) loom_value_unref(arguments[i]);
    return status;
}

void expect_with(const built *b, const char *expected, const loom_interp_options *options, uint32_t n,
                 const char *const *arguments, loom_interp_counters *counters) {
    loom_value *result = NULL;
    LOOM_OK(call(b, options, n, arguments, &result, counters));
    LOOM_OK(loom_value_check(result));
    char *text = value_text(result);
    LOOM_CHECK_STR(text, expected);
    free(text);
    loom_value_unref(result);
}

void expect(const built *b, const char *expected, uint32_t n, const char *const *arguments) {
    expect_with(b, expected, NULL, n, arguments, NULL);
}

void expect_error(const built *b, const char *part, uint32_t n, const char *const *arguments) {
    loom_value *result = NULL;
    loom_status *status = call(b, NULL, n, arguments, &result, NULL);
    LOOM_CHECK(status != NULL && result == NULL);
    char *text = loom_status_text(status);
    LOOM_CHECK_HAS(text, part);
    LOOM_CHECK(loom_status_code(status) == LOOM_E_DATA || loom_status_span(status).line > 0);
    free(text);
    loom_status_free(status);
}
