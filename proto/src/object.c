/* Objects: values in files. Folders are private to one user; a reader still checks everything it relies on. */
#include "common/buffer.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/limits.h"
#include "proto/value_codec.h"
#include "proto/wire.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MAGIC     "LOOMOBJ1"
#define PREFIX    16u
#define ALIGNMENT 64u
/* Room left in a folder of spooled objects, so that what shares it (a tmpfs of the whole machine) can go on. */
#define ROOM_LEFT ((uint64_t)64 << 20)

static const char padding[ALIGNMENT];

static uint64_t padded(uint64_t n) {
    return (n + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

/* ---- writing ---- */

typedef struct object_writer {
    loom_writer *file; /* NULL: only hashes */
    loom_hasher *hasher;
    uint64_t length;
} object_writer;

static loom_status *put(object_writer *w, const void *data, uint64_t length) {
    if (!length) return NULL;
    if (w->hasher) loom_hasher_add(w->hasher, data, length);
    w->length += length;
    return w->file ? loom_writer_put(w->file, data, length) : NULL;
}

static loom_status *put_padded(object_writer *w, const void *data, uint64_t length) {
    LOOM_TRY(put(w, data, length));
    return put(w, padding, padded(w->length) - w->length);
}

static loom_status *put_value(object_writer *w, const loom_value *value) {
    loom_arena *arena = loom_arena_create(0);
    Wire__Value *wire = loom_wire_value(arena, value);
    uint64_t size = wire__value__get_packed_size(wire);
    uint8_t *header = loom_xmalloc(size + 1);
    wire__value__pack(wire, header);
    loom_arena_destroy(arena);
    loom_status *status = put(w, MAGIC, 8);
    if (!status) status = put(w, &size, sizeof size);
    if (!status) status = put_padded(w, header, size);
    free(header);
    for (uint32_t i = 0; i < value->n_leaves && !status; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        for (uint32_t k = 0; k < leaf->depth && !status; k++) {
            if (leaf->extents[k] != LOOM_IRREGULAR) continue;
            status = put_padded(w, leaf->lengths[k], (uint64_t)leaf->n_lengths[k] * sizeof(int64_t));
        }
        if (!status) status = put_padded(w, leaf->data, (uint64_t)leaf->n_data * loom_dtype_size(leaf->dtype));
    }
    return status;
}

static bool has_room(const char *folder, uint64_t bytes) {
    struct statvfs fs;
    if (statvfs(folder, &fs)) return false;
    uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
    return room > ROOM_LEFT && room - ROOM_LEFT >= bytes;
}

/* First pass: the name. Hashing runs at memory speed, and the name must stand before the file can be opened under it.
 */
static loom_hash hash_of(const loom_value *value) {
    object_writer w = {.hasher = loom_hasher_create()};
    loom_status_free(put_value(&w, value)); /* without a file nothing can fail */
    return loom_hasher_end(w.hasher);
}

static loom_status *write_into(const char *path, const loom_value *value, bool sync, uint64_t *bytes) {
    object_writer w = {0};
    LOOM_TRY(loom_writer_open(path, &w.file));
    loom_status *status = put_value(&w, value);
    if (status) {
        loom_writer_abort(w.file);
        return status;
    }
    LOOM_TRY(loom_writer_commit(w.file, sync));
    *bytes = w.length;
    return NULL;
}

loom_status *loom_object_write(const char *const *folders, size_t n_folders, const loom_value *value, bool sync,
                               loom_object *object) {
    if (value->n_leaves > LOOM_MAX_VALUE_LEAVES) {
        return loom_error(LOOM_E_LIMIT, "a value has %u columns, the limit is %u", value->n_leaves,
                          LOOM_MAX_VALUE_LEAVES);
    }
    if (n_folders == 0) return loom_error(LOOM_E_INTERNAL, "no folder for objects");
    static atomic_uint counter;
    unsigned number = atomic_fetch_add(&counter, 1);
    char name[33];
    loom_hash_text(hash_of(value), name);
    uint64_t need = loom_value_wire_bytes(value) + (1u << 16);
    for (size_t i = 0; i < n_folders; i++) {
        bool last = i + 1 == n_folders;
        if (!has_room(folders[i], need) && !last) continue;
        char *path = loom_xprintf("%s/%s.%d-%u.obj", folders[i], name, (int)getpid(), number);
        uint64_t bytes;
        loom_status *status = write_into(path, value, sync, &bytes);
        if (!status) {
            *object = (loom_object){path, bytes};
            return NULL;
        }
        free(path);
        if (last) return status;
        loom_status_free(status); /* what is wrong with this folder the last one may not have */
    }
    return loom_error(LOOM_E_INTERNAL, "no folder for objects");
}

/* ---- mapping ---- */

static void release_mapping(void *owner) {
    loom_file_unmap(owner);
    free(owner);
}

static loom_status *broken(const char *path, const char *what) {
    return loom_error(LOOM_E_DATA, "%s: broken object: %s", path, what);
}

/* Finds the header and the columns in the mapped bytes. */
static loom_status *parse(const char *path, const loom_mapping *m, loom_arena *arena, Wire__Value **wire,
                          loom_column **columns, size_t *n_columns) {
    if (m->length < PREFIX || memcmp(m->data, MAGIC, 8)) return broken(path, "it does not begin as one");
    uint64_t size;
    memcpy(&size, (const char *)m->data + 8, sizeof size);
    if (size > LOOM_MAX_HEADER_BYTES || size > m->length - PREFIX) return broken(path, "its header is too long");
    ProtobufCMessage *message;
    loom_status *status = loom_wire_unpack(&wire__value__descriptor, arena, (const char *)m->data + PREFIX, size,
                                           &loom_wire_header_limits, &message);
    if (status) return loom_status_note(status, "in object %s", path);
    *wire = (Wire__Value *)message;
    uint64_t bytes;
    LOOM_TRY(loom_wire_value_check(*wire, n_columns, &bytes));
    *columns = LOOM_NEW_ARRAY(arena, loom_column, *n_columns + 1);
    uint64_t at = padded(PREFIX + size);
    for (size_t i = 0; i < *n_columns; i++) {
        uint64_t length = (*wire)->column_bytes[i];
        if (length && (at > m->length || length > m->length - at)) return broken(path, "it is cut short");
        (*columns)[i] = (loom_column){(const char *)m->data + at, length};
        at = padded(at + length);
    }
    return NULL;
}

loom_status *loom_object_map(const char *path, loom_value **value) {
    loom_mapping *m = loom_xcalloc(1, sizeof *m);
    loom_status *status = loom_file_map(path, m);
    if (status) {
        free(m);
        return status;
    }
    loom_arena *arena = loom_arena_create((size_t)64 << 20);
    Wire__Value *wire;
    loom_column *columns;
    size_t n_columns;
    status = parse(path, m, arena, &wire, &columns, &n_columns);
    if (status) {
        release_mapping(m);
    } else {
        status = loom_value_over(wire, columns, n_columns, release_mapping, m, value);
    }
    loom_arena_destroy(arena);
    return status;
}

loom_status *loom_object_verify(const char *path) {
    loom_mapping m;
    LOOM_TRY(loom_file_map(path, &m));
    char name[33];
    loom_hash_text(loom_hash_bytes(m.data, m.length), name);
    loom_file_unmap(&m);
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    if (strncmp(base, name, 32) != 0) return broken(path, "its content is not what its name says");
    return NULL;
}
