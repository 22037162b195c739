/* Objects: values in files. Folders are private to one user; a reader still checks everything it relies on. */
#include "common/buffer.h"
#include "common/file.h"
#include "common/limits.h"
#include "proto/value_codec.h"
#include "proto/wire.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PREFIX    16u
#define ALIGNMENT 64u
/* Room left in a folder of spooled objects, so that what shares it (a tmpfs of the whole machine) can go on. */
#define ROOM_LEFT ((uint64_t)64 << 20)

static const char magic[8] = {'L', 'O', 'O', 'M', 'O', 'B', 'J', '1'};
static const char padding[ALIGNMENT];

static uint64_t padded(uint64_t n) {
    return (n + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

/* ---- writing ---- */

typedef struct object_writer {
    const char *path; /* for messages */
    int file;
    uint64_t length;
} object_writer;

static loom_status *put(object_writer *w, const void *data, uint64_t length) {
    if (!length) return NULL;
    w->length += length;
    for (uint64_t at = 0; at < length;) {
        ssize_t n = write(w->file, (const char *)data + at, length - at);
        if (n < 0 && errno != EINTR) return loom_error_errno(LOOM_E_IO, errno, "writing %s", w->path);
        if (n > 0) at += (uint64_t)n;
    }
    return NULL;
}

static loom_status *put_padded(object_writer *w, const void *data, uint64_t length) {
    LOOM_TRY(put(w, data, length));
    return put(w, padding, padded(w->length) - w->length);
}

static loom_status *put_header(object_writer *w, const loom_value *value) {
    loom_arena *arena = loom_arena_create(0);
    Wire__Value *wire = loom_wire_value(arena, value);
    uint64_t size = wire__value__get_packed_size(wire);
    uint8_t *header = loom_xcalloc(1, padded(PREFIX + size));
    memcpy(header, magic, sizeof magic);
    memcpy(header + sizeof magic, &size, sizeof size);
    wire__value__pack(wire, header + PREFIX);
    loom_arena_destroy(arena);
    loom_status *status = put(w, header, padded(PREFIX + size));
    free(header);
    return status;
}

static loom_status *put_value(object_writer *w, const loom_value *value) {
    LOOM_TRY(put_header(w, value));
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        const loom_leaf *leaf = &value->leaves[i];
        for (uint32_t k = 0; k < leaf->depth; k++) {
            if (leaf->extents[k] != LOOM_IRREGULAR) continue;
            LOOM_TRY(put_padded(w, leaf->lengths[k], (uint64_t)leaf->n_lengths[k] * sizeof(int64_t)));
        }
        LOOM_TRY(put_padded(w, leaf->data, (uint64_t)leaf->n_data * loom_dtype_size(leaf->dtype)));
    }
    return NULL;
}

static bool has_room(const char *folder, uint64_t bytes) {
    struct statvfs fs;
    if (statvfs(folder, &fs)) return false;
    uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
    return room > ROOM_LEFT && room - ROOM_LEFT >= bytes;
}

static loom_status *write_into(const char *folder, const loom_value *value, loom_object *object) {
    static atomic_uint counter;
    unsigned number = atomic_fetch_add(&counter, 1);
    char *path = loom_xprintf("%s/%d-%u.obj", folder, (int)getpid(), number);
    char *temporary = loom_xprintf("%s/%d-%u.tmp", folder, (int)getpid(), number);
    object_writer w = {.path = temporary};
    loom_status *status = NULL;
    w.file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (w.file < 0) {
        status = loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot write %s", temporary);
    } else {
        status = put_value(&w, value);
        close(w.file);
        if (!status && rename(temporary, path) < 0) {
            status = loom_error_errno(LOOM_E_IO, errno, "renaming %s", temporary);
        }
        if (status) unlink(temporary);
    }
    free(temporary);
    if (status) {
        free(path);
        return status;
    }
    *object = (loom_object){path, w.length};
    return NULL;
}

static bool is_memory(const char *folder) {
    struct statfs fs;
    return statfs(folder, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

loom_status *loom_object_write(const char *const *folders, size_t n_folders, uint64_t most_in_memory,
                               const loom_value *value, loom_object *object) {
    if (value->n_leaves > LOOM_MAX_VALUE_LEAVES) {
        return loom_error(LOOM_E_LIMIT, "a value has %u columns, the limit is %u", value->n_leaves,
                          LOOM_MAX_VALUE_LEAVES);
    }
    uint64_t need = loom_value_wire_bytes(value) + (1u << 16);
    for (size_t i = 0; i + 1 < n_folders; i++) {
        if (!has_room(folders[i], need) || (need > most_in_memory && is_memory(folders[i]))) continue;
        loom_status *status = write_into(folders[i], value, object);
        if (!status) return NULL;
        loom_status_free(status); /* what is wrong with this folder the next one may not have */
    }
    if (n_folders == 0) return loom_error(LOOM_E_INTERNAL, "no folder for objects");
    return write_into(folders[n_folders - 1], value, object);
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
    if (m->length < PREFIX || memcmp(m->data, magic, sizeof magic) != 0)
        return broken(path, "it does not begin as one");
    uint64_t size;
    memcpy(&size, (const char *)m->data + sizeof magic, sizeof size);
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
