/* Objects: values in files. Folders are private to one user; a reader still checks everything it relies on. */
#include "common/buffer.h"
#include "common/file.h"
#include "common/limits.h"
#include "proto/value_codec.h"
#include "proto/wire.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* What is written: `parts` one after another, which are like `shape`; one, or regular ones. */
typedef struct content {
    const loom_value *shape;
    loom_value *const *parts;
    size_t n_parts;
} content;

static loom_status *put_content(object_writer *w, const content *c) {
    LOOM_TRY(put_header(w, c->shape));
    for (uint32_t i = 0; i < c->shape->n_leaves; i++) {
        const loom_leaf *leaf = &c->shape->leaves[i];
        for (uint32_t k = 0; k < leaf->depth; k++) {
            if (leaf->extents[k] != LOOM_IRREGULAR) continue;
            LOOM_TRY(put_padded(w, leaf->lengths[k], (uint64_t)leaf->n_lengths[k] * sizeof(int64_t)));
        }
        for (size_t p = 0; p < c->n_parts; p++) {
            const loom_leaf *part = &c->parts[p]->leaves[i];
            LOOM_TRY(put(w, part->data, (uint64_t)part->n_data * loom_dtype_size(part->dtype)));
        }
        LOOM_TRY(put_padded(w, NULL, 0));
    }
    return NULL;
}

static bool has_room(const char *folder, uint64_t bytes) {
    struct statvfs fs;
    if (statvfs(folder, &fs)) return false;
    uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
    return room > ROOM_LEFT && room - ROOM_LEFT >= bytes;
}

static bool is_memory(const char *folder) {
    struct statfs fs;
    return statfs(folder, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

/* Bytes of what is in a folder. */
static uint64_t held_by(const char *folder) {
    uint64_t bytes = 0;
    int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return 0;
    DIR *entries = fdopendir(directory);
    if (!entries) {
        close(directory);
        return 0;
    }
    for (struct dirent *entry; (entry = readdir(entries));) {
        struct stat info;
        if (fstatat(directory, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode))
            bytes += (uint64_t)info.st_size;
    }
    closedir(entries);
    return bytes;
}

/* Values of less than this part of what may be in memory are not worth looking what is there. */
#define NEGLIGIBLE_SHARE 4096

static bool may_stay_in_memory(const char *folder, uint64_t bytes, uint64_t most) {
    if (bytes <= most / NEGLIGIBLE_SHARE) return true;
    return bytes <= most && held_by(folder) <= most - bytes;
}

/* Room on a disk is taken in one go, so that a full disk is found before anything is written. A tmpfs would clear it
 * first. Filesystems that cannot do this grow the file as it is written. */
static loom_status *reserve(const object_writer *w, const char *folder, const content *c) {
    uint64_t bytes = loom_value_wire_bytes(c->shape);
    if (bytes == 0 || bytes > INT64_MAX || is_memory(folder)) return NULL;
    while (fallocate(w->file, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) < 0) {
        if (errno == EINTR) continue;
        if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) return NULL;
        return loom_error_errno(LOOM_E_IO, errno, "writing %s", w->path);
    }
    return NULL;
}

static loom_status *write_into(const char *folder, const content *c, loom_object *object) {
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
        status = reserve(&w, folder, c);
        if (!status) status = put_content(&w, c);
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

static loom_status *write_content(const char *const *folders, size_t n_folders, uint64_t most_in_memory,
                                  const content *c, loom_object *object) {
    if (c->shape->n_leaves > LOOM_MAX_VALUE_LEAVES) {
        return loom_error(LOOM_E_LIMIT, "a value has %u columns, the limit is %u", c->shape->n_leaves,
                          LOOM_MAX_VALUE_LEAVES);
    }
    uint64_t need = loom_value_wire_bytes(c->shape) + (1u << 16);
    for (size_t i = 0; i + 1 < n_folders; i++) {
        if (!has_room(folders[i], need)) continue;
        if (is_memory(folders[i]) && !may_stay_in_memory(folders[i], need, most_in_memory)) continue;
        loom_status *status = write_into(folders[i], c, object);
        if (!status) return NULL;
        loom_status_free(status); /* what is wrong with this folder the next one may not have */
    }
    if (n_folders == 0) return loom_error(LOOM_E_INTERNAL, "no folder for objects");
    return write_into(folders[n_folders - 1], c, object);
}

loom_status *loom_object_write(const char *const *folders, size_t n_folders, uint64_t most_in_memory,
                               const loom_value *value, loom_object *object) {
    loom_value *part = (loom_value *)(uintptr_t)value; /* only read */
    return write_content(folders, n_folders, most_in_memory, &(content){value, &part, 1}, object);
}

/* ---- joining ---- */

/* Adds a part's leaf to what is written; false where it does not simply follow it. A part without elements says nothing
 * about inner extents. */
static bool follows(loom_leaf *joined, const loom_leaf *part) {
    if (joined->depth == 0 || part->depth != joined->depth || part->dtype != joined->dtype ||
        strcmp(part->name, joined->name) != 0 || !loom_leaf_is_regular(part)) {
        return false;
    }
    if (part->extents[0] == 0) return true;
    int64_t before = joined->extents[0];
    for (uint32_t k = 1; k < joined->depth; k++) {
        if (before == 0) joined->extents[k] = part->extents[k];
        if (joined->extents[k] != part->extents[k]) return false;
    }
    return !__builtin_add_overflow(before, part->extents[0], &joined->extents[0]) &&
           !__builtin_add_overflow(joined->n_data, part->n_data, &joined->n_data);
}

/* *shape stays NULL where parts have to be joined in memory. */
static loom_status *shape_of(loom_value *const *parts, size_t n, loom_value **shape) {
    loom_value *made;
    LOOM_TRY(loom_value_create(parts[0]->n_leaves, &made));
    bool simple = true;
    for (uint32_t i = 0; i < made->n_leaves && simple; i++) {
        const loom_leaf *like = &parts[0]->leaves[i];
        made->leaves[i] = (loom_leaf){.name = loom_xstrdup(like->name), .dtype = like->dtype, .depth = like->depth};
        for (size_t p = 0; p < n && simple; p++) {
            simple = parts[p]->n_leaves == made->n_leaves && follows(&made->leaves[i], &parts[p]->leaves[i]);
        }
    }
    if (!simple) loom_value_unref(made);
    *shape = simple ? made : NULL;
    return NULL;
}

loom_status *loom_object_join(const char *const *folders, size_t n_folders, uint64_t most_in_memory,
                              loom_value *const *parts, size_t n_parts, loom_object *object, loom_value **shape) {
    if (n_parts == 0) return loom_error(LOOM_E_INTERNAL, "joining no values");
    loom_value *made;
    LOOM_TRY(shape_of(parts, n_parts, &made));
    content c = {made, parts, n_parts};
    if (!made) {
        LOOM_TRY(loom_value_concat(parts, n_parts, &made));
        c = (content){made, &made, 1};
    }
    loom_status *status = write_content(folders, n_folders, most_in_memory, &c, object);
    if (status) {
        loom_value_unref(made);
        return status;
    }
    *shape = made;
    return NULL;
}

/* ---- mapping ---- */

static void release_mapping(void *owner) {
    loom_file_unmap(owner);
    free(owner);
}

static loom_status *broken(const char *path, const char *what) {
    return loom_error(LOOM_E_DATA, "%s: broken object: %s", path, what);
}

/* Finds the header and the columns in the bytes. */
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

/* The value in the bytes of m, which is malloc'ed and given up to release(m). */
static loom_status *value_in(const char *path, loom_mapping *m, void (*release)(void *), loom_value **value) {
    loom_arena *arena = loom_arena_create((size_t)64 << 20);
    Wire__Value *wire;
    loom_column *columns;
    size_t n_columns;
    loom_status *status = parse(path, m, arena, &wire, &columns, &n_columns);
    if (status) {
        release(m);
    } else {
        status = loom_value_over(wire, columns, n_columns, release, m, value);
    }
    loom_arena_destroy(arena);
    return status;
}

loom_status *loom_object_map(const char *path, loom_value **value) {
    loom_mapping *m = loom_xcalloc(1, sizeof *m);
    loom_status *status = loom_file_map(path, m);
    if (status) {
        free(m);
        return status;
    }
    return value_in(path, m, release_mapping, value);
}

/* ---- reading ---- */

static void release_copy(void *owner) {
    free(((loom_mapping *)owner)->data);
    free(owner);
}

static loom_status *read_file(const char *path, int file, uint64_t limit, loom_mapping *m) {
    struct stat info;
    if (fstat(file, &info) < 0) return loom_error_errno(LOOM_E_NOINPUT, errno, "cannot read %s", path);
    if (!S_ISREG(info.st_mode) || (uint64_t)info.st_size > limit) return broken(path, "it is no small file");
    size_t size = (size_t)info.st_size;
    m->data = aligned_alloc(ALIGNMENT, padded(size + 1));
    if (!m->data) return loom_error(LOOM_E_MEMORY, "no memory for %s", path);
    while (m->length < size) {
        ssize_t n = pread(file, (char *)m->data + m->length, size - m->length, (off_t)m->length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return loom_error_errno(LOOM_E_IO, errno, "reading %s", path);
        if (n == 0) break; /* cut short meanwhile: what is missing is found below */
        m->length += (size_t)n;
    }
    return NULL;
}

loom_status *loom_object_read(const char *path, uint64_t limit, loom_value **value) {
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return loom_error_errno(LOOM_E_NOINPUT, errno, "cannot read %s", path);
    loom_mapping *m = loom_xcalloc(1, sizeof *m);
    loom_status *status = read_file(path, file, limit, m);
    close(file);
    if (status) {
        release_copy(m);
        return status;
    }
    return value_in(path, m, release_copy, value);
}
