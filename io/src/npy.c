#include "io/npy.h"
#include "common/buffer.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

loom_status *loom_npy_map_file(const char *path, loom_npy_map *map) {
    loom_npy_map made = {0};
    LOOM_TRY(loom_file_map(path, &made.mapping));
    loom_status *status = loom_npy_parse(path, made.mapping.data, made.mapping.length, &made.header);
    if (status) {
        loom_file_unmap(&made.mapping);
        return status;
    }
    made.data = (const char *)made.mapping.data + made.header.offset;
    size_t alignment = loom_dtype_size(loom_dtype_real(made.header.dtype));
    made.aligned = (uintptr_t)made.data % alignment == 0;
    *map = made;
    return NULL;
}

void loom_npy_unmap(loom_npy_map *map) {
    loom_file_unmap(&map->mapping);
    map->data = NULL;
}

static void release_mapped(loom_value *value) {
    loom_npy_map *map = value->owner;
    loom_npy_unmap(map);
    free(map);
    free(value->leaves[0].name);
}

/* Copies and, for bool, makes any byte 0 or 1: NumPy lets others stand. */
static loom_status *copy_leaf(const loom_npy_map *map, const char *name, loom_value *value) {
    const loom_npy_header *h = &map->header;
    LOOM_TRY(loom_leaf_init(&value->leaves[0], name, h->dtype, h->depth, h->extents, UINT64_MAX));
    if (h->bytes) memcpy(value->leaves[0].data, map->data, h->bytes);
    unsigned char *b = value->leaves[0].data;
    for (uint64_t i = 0; h->dtype == LOOM_BOOL && i < h->bytes; i++) b[i] = b[i] != 0;
    return NULL;
}

static loom_status *map_leaf(loom_npy_map *map, const char *name, loom_value *value) {
    const loom_npy_header *h = &map->header;
    loom_npy_map *owner = malloc(sizeof *owner);
    char *copy = strdup(name);
    if (!owner || !copy) {
        free(owner);
        free(copy);
        return loom_error(LOOM_E_MEMORY, "out of memory");
    }
    *owner = *map;
    loom_leaf *leaf = &value->leaves[0];
    *leaf = (loom_leaf){.name = copy, .dtype = h->dtype, .depth = h->depth, .data = (void *)(uintptr_t)map->data};
    leaf->n_data = (int64_t)(h->bytes / loom_dtype_size(h->dtype));
    bool empty = false;
    for (uint32_t k = 0; k < h->depth; k++) {
        leaf->extents[k] = empty ? 0 : h->extents[k];
        empty = empty || h->extents[k] == 0;
    }
    value->owner = owner;
    value->release = release_mapped;
    return NULL;
}

loom_status *loom_npy_read(const char *path, const char *name, loom_value **value) {
    loom_npy_map map;
    loom_value *made;
    LOOM_TRY(loom_npy_map_file(path, &map));
    loom_status *status = loom_value_create(1, &made);
    if (status) {
        loom_npy_unmap(&map);
        return status;
    }
    bool copy = !map.aligned || map.header.dtype == LOOM_BOOL;
    status = copy ? copy_leaf(&map, name, made) : map_leaf(&map, name, made);
    if (copy || status) loom_npy_unmap(&map);
    if (status) {
        loom_value_unref(made);
        return loom_status_note(status, "while reading %s", path);
    }
    *value = made;
    return NULL;
}

/* ---- writing ---- */

static const char *const descr[LOOM_DTYPES] = {
    [LOOM_BOOL] = "|b1", [LOOM_I8] = "|i1",  [LOOM_I16] = "<i2",   [LOOM_I32] = "<i4", [LOOM_I64] = "<i8",
    [LOOM_U8] = "|u1",   [LOOM_U16] = "<u2", [LOOM_U32] = "<u4",   [LOOM_U64] = "<u8", [LOOM_F32] = "<f4",
    [LOOM_F64] = "<f8",  [LOOM_C64] = "<c8", [LOOM_C128] = "<c16",
};

static void make_header(loom_buffer *b, loom_dtype dtype, uint32_t depth, const int64_t *extents) {
    loom_buffer_append(b, "\x93NUMPY\x01\x00\x00\x00", 10);
    loom_buffer_printf(b, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr[dtype]);
    for (uint32_t k = 0; k < depth; k++) loom_buffer_printf(b, "%s%" PRId64, k ? ", " : "", extents[k]);
    loom_buffer_text(b, depth == 1 ? ",), }" : "), }");
    /* Data starts at a multiple of 64 bytes; the header ends with a newline. */
    while (b->length % 64 != 63) loom_buffer_text(b, " ");
    loom_buffer_text(b, "\n");
    size_t n = b->length - 10;
    b->data[8] = (char)(n & 0xff);
    b->data[9] = (char)(n >> 8);
}

static loom_status *hold_array(const char *path, loom_dtype dtype, uint32_t depth, const int64_t *extents,
                               const void *data, loom_file_set *set) {
    uint64_t bytes;
    LOOM_TRY(loom_bytes_of(dtype, depth, extents, &bytes));
    loom_writer *writer;
    LOOM_TRY(loom_writer_open(path, &writer));
    loom_buffer header = {0};
    make_header(&header, dtype, depth, extents);
    loom_status *status = loom_writer_put(writer, header.data, header.length);
    loom_buffer_free(&header);
    if (!status) status = loom_writer_put(writer, data, bytes);
    if (status) {
        loom_writer_abort(writer);
        return status;
    }
    return loom_writer_hold(writer, false, set);
}

loom_status *loom_npy_write(const char *path, loom_dtype dtype, uint32_t depth, const int64_t *extents,
                            const void *data) {
    return hold_array(path, dtype, depth, extents, data, NULL);
}

char *loom_npy_lengths_path(const char *path, uint32_t n) {
    size_t stem = strlen(path);
    if (stem > 4 && strcmp(path + stem - 4, ".npy") == 0) stem -= 4;
    char number[16] = "";
    if (n) snprintf(number, sizeof number, "%" PRIu32, n);
    return loom_xprintf("%.*s.lengths%s.npy", (int)stem, path, number);
}

/* Levels that the values' file keeps as axes: from the last irregular level inwards, everything outside it joined. */
static uint32_t flat_shape(const loom_leaf *leaf, int64_t *extents) {
    uint32_t last = 0, depth = 1;
    for (uint32_t k = 0; k < leaf->depth; k++) {
        if (leaf->extents[k] == LOOM_IRREGULAR) last = k;
    }
    int64_t inner = 1;
    for (uint32_t k = last + 1; k < leaf->depth; k++) {
        extents[depth++] = leaf->extents[k];
        inner *= leaf->extents[k];
    }
    extents[0] = inner ? leaf->n_data / inner : 0;
    return depth;
}

static loom_status *hold_lengths(const char *path, const loom_leaf *leaf, uint32_t level, uint32_t nth,
                                 loom_file_set *set) {
    char *file = loom_npy_lengths_path(path, nth);
    loom_status *status = hold_array(file, LOOM_I64, 1, &leaf->n_lengths[level], leaf->lengths[level], set);
    free(file);
    return status;
}

loom_status *loom_npy_hold_leaf(const char *path, const loom_leaf *leaf, loom_file_set *set) {
    if (loom_leaf_is_regular(leaf)) return hold_array(path, leaf->dtype, leaf->depth, leaf->extents, leaf->data, set);
    int64_t extents[LOOM_MAX_DEPTH + 1];
    uint32_t depth = flat_shape(leaf, extents), nth = 0;
    for (uint32_t k = 0; k < leaf->depth; k++) {
        if (leaf->extents[k] == LOOM_IRREGULAR) LOOM_TRY(hold_lengths(path, leaf, k, nth++, set));
    }
    return hold_array(path, leaf->dtype, depth, extents, leaf->data, set);
}

loom_status *loom_npy_write_leaf(const char *path, const loom_leaf *leaf) {
    loom_file_set *set = loom_file_set_create();
    loom_status *status = loom_npy_hold_leaf(path, leaf, set);
    if (!status) status = loom_file_set_commit(set);
    loom_file_set_destroy(set);
    return status;
}
