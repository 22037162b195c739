#include "objects.h"
#include "common/buffer.h"
#include "common/log.h"
#include "proto/value_codec.h"
#include "proto/wire.h"
#include "spills.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A header outlives its message: packed and unpacked again, which is the one deep copy protobuf-c has. */
static loom_status *copy_header(loom_arena *arena, const Wire__Value *from, Wire__Value **to) {
    size_t size = wire__value__get_packed_size(from);
    uint8_t *bytes = loom_xmalloc(size + 1);
    wire__value__pack(from, bytes);
    ProtobufCMessage *message;
    loom_status *status =
        loom_wire_unpack(&wire__value__descriptor, arena, bytes, size, &loom_wire_header_limits, &message);
    free(bytes);
    if (!status) *to = (Wire__Value *)message;
    return status;
}

/* Without a path, and nobody's. */
static loom_status *create(const Wire__Object *wire, loom_held_object **object) {
    size_t columns;
    uint64_t bytes;
    LOOM_TRY(loom_wire_value_check(wire->value, &columns, &bytes));
    if (bytes > wire->bytes) return loom_error(LOOM_E_PROTOCOL, "an object smaller than the value in it");
    loom_arena *arena = loom_arena_create(0);
    Wire__Value *value;
    loom_status *status = copy_header(arena, wire->value, &value);
    if (status) {
        loom_arena_destroy(arena);
        return status;
    }
    loom_held_object *made = loom_xcalloc(1, sizeof *made);
    *made = (loom_held_object){.bytes = wire->bytes, .arena = arena, .value = value, .references = 1};
    *object = made;
    return NULL;
}

loom_status *loom_held_object_create(const Wire__Object *wire, loom_held_object **object) {
    if (wire->path[0] != '/') return loom_error(LOOM_E_PROTOCOL, "an object's path is not absolute");
    if (wire->has_resident) return loom_error(LOOM_E_PROTOCOL, "an object in a file and in memory");
    LOOM_TRY(create(wire, object));
    (*object)->path = loom_xstrdup(wire->path);
    return NULL;
}

/* Small values are always files: the daemon itself may have to look at them. */
loom_status *loom_held_object_resident(const Wire__Object *wire, struct loom_worker *worker,
                                       loom_held_object **object) {
    if (!wire->has_resident || !wire->resident || wire->path[0] || wire->bytes <= LOOM_SMALL_VALUE_BYTES) {
        return loom_error(LOOM_E_PROTOCOL, "a worker keeps a value that cannot stay with it");
    }
    LOOM_TRY(create(wire, object));
    (*object)->worker = worker;
    (*object)->resident = wire->resident;
    return NULL;
}

const char *loom_folder_of(const char *path, char *const *folders, size_t n_folders) {
    for (size_t i = 0; i < n_folders; i++) {
        size_t n = strlen(folders[i]);
        if (strncmp(path, folders[i], n) == 0 && path[n] == '/' && !strchr(path + n + 1, '/')) return folders[i];
    }
    return NULL;
}

loom_status *loom_held_object_adopt(const Wire__Object *wire, char *const *folders, size_t n_folders, uint64_t number,
                                    loom_held_object **object) {
    const char *folder = loom_folder_of(wire->path, folders, n_folders);
    if (!folder) return loom_error(LOOM_E_PROTOCOL, "a worker named an object outside its folder");
    loom_held_object *made;
    LOOM_TRY(loom_held_object_create(wire, &made));
    char *path = loom_xprintf("%.*s/%" PRIu64 ".obj", (int)(strrchr(folder, '/') - folder), folder, number);
    if (rename(made->path, path) < 0) {
        loom_status *status = loom_error_errno(LOOM_E_IO, errno, "cannot take over %s", made->path);
        free(path);
        loom_held_object_unref(made);
        return status;
    }
    free(made->path);
    made->path = path;
    made->owned = true;
    *object = made;
    return NULL;
}

loom_held_object *loom_held_object_ref(loom_held_object *object) {
    object->references++;
    return object;
}

void loom_held_object_unref(loom_held_object *object) {
    if (!object || --object->references > 0) return;
    if (object->owned && unlink(object->path) < 0 && errno != ENOENT) {
        loom_log(LOOM_LOG_WARN, "cannot remove %s: %s", object->path, strerror(errno));
    }
    free(object->path);
    loom_spill_destroy(object->spill);
    loom_arena_destroy(object->arena);
    free(object);
}

void loom_held_object_wire(const loom_held_object *object, Wire__Object *wire) {
    wire__object__init(wire);
    wire->path = object->path ? object->path : (char *)"";
    wire->has_resident = object->resident != 0;
    wire->resident = object->resident;
    wire->bytes = object->bytes;
    wire->value = object->value;
}

/* Read, not mapped: a client that cuts its file short must not end the daemon. */
loom_status *loom_held_object_small_value(const loom_held_object *object, loom_value **value) {
    *value = NULL;
    return object->bytes > LOOM_SMALL_VALUE_BYTES ? NULL
                                                  : loom_object_read(object->path, LOOM_SMALL_VALUE_BYTES, value);
}
