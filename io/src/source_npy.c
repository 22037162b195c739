/* A stream from .npy files: mapped, so that a block is a set of pointers into the page cache.
 *
 * The state is shared by the source and every value that points into its mappings, and goes with the last of them.
 * Description, for workers on the same file system (one line, fields separated by tabs, "%XX" for odd bytes):
 *     npy1 <n> then for each column: name dtype depth constant values size mtime lengths size mtime
 * where `lengths` is "-" if there is none. Size and mtime (nanoseconds) say whether the file is still the same.
 */
#include "common/buffer.h"
#include "io/npy.h"
#include "source_impl.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Where an irregular column starts is remembered every so many elements: 8 bytes in 8 KiB of lengths, and at most so
 * many lengths to add up for a block. */
#define STRIDE 1024

typedef struct column {
    char *name, *values_path, *lengths_path;
    bool constant;
    loom_dtype dtype;
    uint32_t depth;
    loom_npy_map values, lengths;
    int64_t *starts; /* start of element i * STRIDE in the values */
} column;

typedef struct state {
    atomic_uint references;
    uint32_t n_columns;
    column *columns;
} state;

static void drop_state(state *s) {
    if (!s || atomic_fetch_sub(&s->references, 1) > 1) return;
    for (uint32_t i = 0; i < s->n_columns; i++) {
        column *c = &s->columns[i];
        loom_npy_unmap(&c->values);
        loom_npy_unmap(&c->lengths);
        free(c->starts);
        free(c->name);
        free(c->values_path);
        free(c->lengths_path);
    }
    free(s->columns);
    free(s);
}

/* ---- opening ---- */

/* How messages name a column: a stream of scalars has one without a name. */
static const char *title(const column *c, char text[64]) {
    if (!c->name[0]) return "the stream";
    snprintf(text, 64, "'%.60s'", c->name);
    return text;
}

static loom_status *check_shape(const column *c) {
    char text[64];
    const loom_npy_header *h = &c->values.header;
    if (h->dtype != c->dtype) {
        return loom_status_note(loom_error(LOOM_E_DATA, "%s holds %s, but %s is %s", c->values_path,
                                           loom_dtype_name(h->dtype), title(c, text), loom_dtype_name(c->dtype)),
                                "hint: convert the file, or declare the parameter with this type");
    }
    uint32_t axes = c->depth + (c->constant || c->lengths_path ? 0 : 1);
    if (h->depth != axes) {
        return loom_error(LOOM_E_DATA, "%s has %" PRIu32 " axes, %s needs %" PRIu32 "%s", c->values_path, h->depth,
                          title(c, text), axes, c->constant ? "" : " (the first one is the stream)");
    }
    return NULL;
}

/* Adds up all lengths once; afterwards every start is known to lie inside the values. */
static loom_status *open_lengths(column *c) {
    char text[64];
    if (c->constant || c->depth == 0) {
        return loom_error(LOOM_E_USAGE, "%s takes no lengths: its elements are %s", title(c, text),
                          c->constant ? "constant" : "scalars");
    }
    LOOM_TRY(loom_npy_map_file(c->lengths_path, &c->lengths));
    const loom_npy_header *h = &c->lengths.header;
    if (h->dtype != LOOM_I64 || h->depth != 1 || !c->lengths.aligned) {
        return loom_error(LOOM_E_DATA, "%s: lengths must be one axis of i64, this is %s with %" PRIu32 " axes",
                          c->lengths_path, loom_dtype_name(h->dtype), h->depth);
    }
    const int64_t *lengths = c->lengths.data;
    int64_t n = h->extents[0], sum = 0;
    c->starts = calloc((size_t)(n / STRIDE) + 1, sizeof *c->starts);
    if (!c->starts) return loom_error(LOOM_E_MEMORY, "no memory for the starts of %s", c->lengths_path);
    for (int64_t i = 0; i < n; i++) {
        if (i % STRIDE == 0) c->starts[i / STRIDE] = sum;
        if (lengths[i] < 0 || __builtin_add_overflow(sum, lengths[i], &sum)) {
            return loom_error(LOOM_E_DATA, "%s: length %" PRId64 " of element %" PRId64 " makes no sense",
                              c->lengths_path, lengths[i], i);
        }
    }
    if (sum != c->values.header.extents[0]) {
        return loom_error(LOOM_E_DATA, "%s adds up to %" PRId64 ", but %s has %" PRId64 " rows", c->lengths_path, sum,
                          c->values_path, c->values.header.extents[0]);
    }
    return NULL;
}

static char *absolute(const char *path) {
    char *full = realpath(path, NULL);
    return full ? full : loom_xstrdup(path);
}

static loom_status *open_column(const loom_npy_column *from, column *c) {
    *c = (column){.name = loom_xstrdup(from->name),
                  .values_path = from->values ? absolute(from->values) : NULL,
                  .lengths_path = from->lengths ? absolute(from->lengths) : NULL,
                  .constant = from->constant,
                  .dtype = from->dtype,
                  .depth = from->depth};
    char text[64];
    if (!from->values) return loom_error(LOOM_E_USAGE, "%s has no file", title(c, text));
    if (from->depth >= LOOM_MAX_DEPTH) {
        return loom_error(LOOM_E_LIMIT, "%s has %" PRIu32 " array levels, the limit is %d", title(c, text), from->depth,
                          LOOM_MAX_DEPTH - 1);
    }
    LOOM_TRY(loom_npy_map_file(from->values, &c->values));
    LOOM_TRY(check_shape(c));
    return c->lengths_path ? open_lengths(c) : NULL;
}

static int64_t elements_of(const column *c) {
    return c->lengths_path ? c->lengths.header.extents[0] : c->values.header.extents[0];
}

/* All columns of a stream are equally long; *n is their length. */
static loom_status *count_elements(const state *s, int64_t *n) {
    const column *first = NULL;
    for (uint32_t i = 0; i < s->n_columns; i++) {
        const column *c = &s->columns[i];
        if (c->constant) continue;
        if (first && elements_of(first) != elements_of(c)) {
            return loom_error(LOOM_E_DATA, "%s has %" PRId64 " elements, %s has %" PRId64, first->values_path,
                              elements_of(first), c->values_path, elements_of(c));
        }
        first = first ? first : c;
    }
    if (!first) return loom_error(LOOM_E_USAGE, "a stream needs at least one column that is not constant");
    *n = elements_of(first);
    return NULL;
}

static loom_status *open_state(const loom_npy_column *columns, uint32_t n_columns, state **opened, int64_t *n) {
    state *s = calloc(1, sizeof *s);
    column *room = calloc(n_columns ? n_columns : 1, sizeof *room);
    if (!s || !room) {
        free(s);
        free(room);
        return loom_error(LOOM_E_MEMORY, "out of memory");
    }
    s->columns = room;
    atomic_init(&s->references, 1);
    loom_status *status = NULL;
    for (uint32_t i = 0; i < n_columns && !status; i++) {
        s->n_columns = i + 1;
        status = open_column(&columns[i], &room[i]);
    }
    if (!status) status = count_elements(s, n);
    if (status) {
        drop_state(s);
        return status;
    }
    *opened = s;
    return NULL;
}

/* ---- reading ---- */

/* What a value holds of the state: its leaves are the columns that are (not) constant, in order. */
typedef struct lent {
    state *state;
    bool constants;
} lent;

static bool is_copied(const column *c) {
    return !c->values.aligned || c->dtype == LOOM_BOOL;
}

static void release_columns(loom_value *value) {
    lent *l = value->owner;
    loom_leaf *leaf = value->leaves;
    for (uint32_t i = 0; i < l->state->n_columns; i++) {
        const column *c = &l->state->columns[i];
        if (c->constant != l->constants) continue;
        if (is_copied(c)) free(leaf->data);
        free(leaf->name);
        leaf++;
    }
    drop_state(l->state);
    free(l);
}

/* Points leaf->data at `count` rows from `row` on, or at a copy where the file is not aligned or holds bools. */
static loom_status *point(const column *c, int64_t row, int64_t count, uint32_t first_axis, loom_leaf *leaf) {
    int64_t per_row = 1;
    for (uint32_t k = first_axis; k < c->values.header.depth; k++) per_row *= c->values.header.extents[k];
    size_t size = loom_dtype_size(c->dtype);
    leaf->n_data = count * per_row;
    const char *from = (const char *)c->values.data + (size_t)(row * per_row) * size;
    if (!is_copied(c)) {
        leaf->data = (void *)(uintptr_t)from;
        return NULL;
    }
    leaf->data = malloc((size_t)leaf->n_data * size + 1);
    if (!leaf->data) return loom_error(LOOM_E_MEMORY, "no memory for a block of %s", c->values_path);
    if (leaf->n_data) memcpy(leaf->data, from, (size_t)leaf->n_data * size);
    unsigned char *b = leaf->data;
    for (int64_t i = 0; c->dtype == LOOM_BOOL && i < leaf->n_data; i++) b[i] = b[i] != 0;
    return NULL;
}

/* Lists that have no rows have inner extents 0. */
static void settle_extents(loom_leaf *leaf) {
    bool empty = false;
    for (uint32_t k = 0; k < leaf->depth; k++) {
        if (empty && leaf->extents[k] != LOOM_IRREGULAR) leaf->extents[k] = 0;
        empty = empty || leaf->extents[k] == 0;
    }
}

static loom_status *read_regular(const column *c, int64_t first, int64_t count, loom_leaf *leaf) {
    const loom_npy_header *h = &c->values.header;
    leaf->depth = h->depth;
    leaf->extents[0] = count;
    for (uint32_t k = 1; k < h->depth; k++) leaf->extents[k] = h->extents[k];
    settle_extents(leaf);
    return point(c, first, count, 1, leaf);
}

static loom_status *read_irregular(const column *c, int64_t first, int64_t count, loom_leaf *leaf) {
    const loom_npy_header *h = &c->values.header;
    const int64_t *lengths = c->lengths.data;
    int64_t start = count ? c->starts[first / STRIDE] : 0, rows = 0;
    for (int64_t i = count ? first - first % STRIDE : first; i < first; i++) start += lengths[i];
    for (int64_t i = first; i < first + count; i++) rows += lengths[i];
    leaf->depth = c->depth + 1;
    leaf->extents[0] = count;
    leaf->extents[1] = LOOM_IRREGULAR;
    leaf->lengths[1] = (int64_t *)(uintptr_t)(lengths + first);
    leaf->n_lengths[1] = count;
    for (uint32_t k = 1; k < h->depth; k++) leaf->extents[k + 1] = h->extents[k];
    settle_extents(leaf);
    return point(c, start, rows, 1, leaf);
}

/* One leaf for each column that is (not) constant. */
static loom_status *make_value(state *s, bool constants, int64_t first, int64_t count, loom_value **value) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_columns; i++) n += s->columns[i].constant == constants;
    if (constants && n == 0) {
        *value = NULL;
        return NULL;
    }
    loom_value *made;
    LOOM_TRY(loom_value_create(n, &made));
    lent *owner = loom_xmalloc(sizeof *owner);
    *owner = (lent){s, constants};
    made->release = release_columns;
    made->owner = owner;
    atomic_fetch_add(&s->references, 1);
    loom_leaf *leaf = made->leaves;
    for (uint32_t i = 0; i < s->n_columns; i++) {
        const column *c = &s->columns[i];
        if (c->constant != constants) continue;
        leaf->name = loom_xstrdup(c->name);
        leaf->dtype = c->dtype;
        loom_status *status;
        if (constants) {
            leaf->depth = c->depth;
            memcpy(leaf->extents, c->values.header.extents, sizeof leaf->extents);
            settle_extents(leaf);
            status = point(c, 0, 1, 0, leaf);
        } else {
            status = c->lengths_path ? read_irregular(c, first, count, leaf) : read_regular(c, first, count, leaf);
        }
        if (status) {
            loom_value_unref(made);
            return status;
        }
        leaf++;
    }
    *value = made;
    return NULL;
}

static loom_status *npy_read(loom_source *source, int64_t first, int64_t count, loom_value **elements) {
    return make_value(source->state, false, first, count, elements);
}

static loom_status *npy_constants(loom_source *source, uint32_t segment, loom_value **constants) {
    (void)segment;
    return make_value(source->state, true, 0, 0, constants);
}

static void npy_destroy(loom_source *source) {
    drop_state(source->state);
}

/* ---- description ---- */

static void put_text(loom_buffer *b, const char *text) {
    loom_buffer_text(b, "\t");
    for (; *text; text++) {
        bool odd = (unsigned char)*text < ' ' || *text == '%' || *text == '\x7f';
        loom_buffer_printf(b, odd ? "%%%02X" : "%c", (unsigned char)*text);
    }
}

static loom_status *put_file(loom_buffer *b, const char *path) {
    struct stat info;
    if (!path) {
        loom_buffer_text(b, "\t-\t0\t0");
        return NULL;
    }
    if (stat(path, &info) < 0) return loom_error_errno(LOOM_E_NOINPUT, errno, "cannot read %s", path);
    put_text(b, path);
    loom_buffer_printf(b, "\t%lld\t%lld", (long long)info.st_size,
                       (long long)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec);
    return NULL;
}

static loom_status *describe(const state *s, char **description) {
    loom_buffer b = {0};
    loom_buffer_printf(&b, LOOM_NPY_DESCRIPTION "%" PRIu32, s->n_columns);
    loom_status *status = NULL;
    for (uint32_t i = 0; i < s->n_columns && !status; i++) {
        const column *c = &s->columns[i];
        put_text(&b, c->name);
        loom_buffer_printf(&b, "\t%s\t%" PRIu32 "\t%d", loom_dtype_name(c->dtype), c->depth, c->constant);
        status = put_file(&b, c->values_path);
        if (!status) status = put_file(&b, c->lengths_path);
    }
    if (status) {
        loom_buffer_free(&b);
        return status;
    }
    *description = loom_buffer_take(&b);
    return NULL;
}

static loom_status *make_source(state *s, int64_t n, loom_source **source) {
    static const loom_source_kind kind = {"npy", npy_read, npy_constants, npy_destroy};
    char *description;
    LOOM_TRY(describe(s, &description));
    loom_source *made;
    loom_status *status = loom_source_make(&kind, n, 1, &made);
    if (status) {
        free(description);
        return status;
    }
    made->state = s;
    made->concurrent = true;
    made->worker_can_open = true;
    made->description = description;
    *source = made;
    return NULL;
}

loom_status *loom_source_npy(const loom_npy_column *columns, uint32_t n_columns, loom_source **source) {
    state *s;
    int64_t n;
    LOOM_TRY(open_state(columns, n_columns, &s, &n));
    loom_status *status = make_source(s, n, source);
    if (status) drop_state(s);
    return status;
}

/* ---- from a description ---- */

/* Takes the next field, decoding it in place. */
static char *take_field(char **at) {
    char *field = *at, *to = *at;
    if (!field) return NULL;
    char *end = strchr(field, '\t');
    *at = end ? end + 1 : NULL;
    if (end) *end = '\0';
    for (char *c = field; *c; c++) {
        unsigned code;
        if (*c == '%' && sscanf(c + 1, "%2x", &code) == 1 && c[1] && c[2]) {
            *to++ = (char)code;
            c += 2;
        } else {
            *to++ = *c;
        }
    }
    *to = '\0';
    return field;
}

static loom_status *same_file(const char *path, const char *size, const char *mtime) {
    struct stat info;
    if (stat(path, &info) < 0) return loom_error_errno(LOOM_E_NOINPUT, errno, "cannot read %s", path);
    int64_t stamp = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    if (strtoll(size, NULL, 10) != info.st_size || strtoll(mtime, NULL, 10) != stamp) {
        return loom_status_note(loom_error(LOOM_E_DATA, "%s has changed since the job was submitted", path),
                                "hint: submit the job again");
    }
    return NULL;
}

static loom_status *take_column(char **at, loom_npy_column *c) {
    char *fields[10];
    for (int i = 0; i < 10; i++) {
        fields[i] = take_field(at);
        if (!fields[i]) return loom_error(LOOM_E_PROTOCOL, "a description of .npy columns is cut off");
    }
    c->name = fields[0];
    if (!loom_dtype_parse(fields[1], &c->dtype)) {
        return loom_error(LOOM_E_PROTOCOL, "a description of .npy columns names the type '%.20s'", fields[1]);
    }
    c->depth = (uint32_t)strtoul(fields[2], NULL, 10);
    c->constant = strcmp(fields[3], "1") == 0;
    c->values = fields[4];
    c->lengths = strcmp(fields[7], "-") == 0 ? NULL : fields[7];
    LOOM_TRY(same_file(c->values, fields[5], fields[6]));
    return c->lengths ? same_file(c->lengths, fields[8], fields[9]) : NULL;
}

loom_status *loom_source_npy_open(const char *description, loom_source **source) {
    char *text = loom_xstrdup(description), *at = text;
    take_field(&at);
    char *count = take_field(&at);
    unsigned long n = count ? strtoul(count, NULL, 10) : 0;
    loom_npy_column *columns = n && n <= strlen(description) ? calloc(n, sizeof *columns) : NULL;
    loom_status *status = columns ? NULL : loom_error(LOOM_E_PROTOCOL, "a description of .npy columns has no columns");
    for (unsigned long i = 0; i < n && !status; i++) status = take_column(&at, &columns[i]);
    if (!status) status = loom_source_npy(columns, (uint32_t)n, source);
    free(columns);
    free(text);
    return status;
}
