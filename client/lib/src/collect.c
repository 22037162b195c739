/* A stream as one value: what the interpreter takes for a `seq t`. */
#include "client/binding.h"
#include <stdlib.h>
#include <string.h>

/* A constant field once for each element. */
static loom_status *repeat_leaf(const loom_leaf *from, int64_t n, loom_leaf *to) {
    int64_t extents[LOOM_MAX_DEPTH] = {n};
    if (from->depth + 1 > LOOM_MAX_DEPTH || !loom_leaf_is_regular(from)) {
        return loom_error(LOOM_E_LIMIT, "constant field '%s' has too many array levels", from->name);
    }
    memcpy(extents + 1, from->extents, from->depth * sizeof *extents);
    LOOM_TRY(loom_leaf_init(to, from->name, from->dtype, from->depth + 1, extents, INT64_MAX));
    size_t bytes = (size_t)from->n_data * loom_dtype_size(from->dtype);
    for (int64_t i = 0; i < n && bytes; i++) memcpy((char *)to->data + (size_t)i * bytes, from->data, bytes);
    return NULL;
}

typedef struct owned {
    loom_value *elements;
    uint32_t n_repeated;
    loom_leaf *repeated;
} owned;

static void release_owned(loom_value *value) {
    owned *o = value->owner;
    loom_value_unref(o->elements);
    for (uint32_t i = 0; i < o->n_repeated; i++) {
        free(o->repeated[i].name);
        free(o->repeated[i].data);
    }
    free(o->repeated);
    free(o);
}

static loom_status *place(const char *name, const loom_value *elements, const loom_value *constants, int64_t n,
                          owned *o, loom_leaf *leaf) {
    const loom_leaf *found = loom_value_find(elements, name);
    if (!found) {
        const loom_leaf *constant = constants ? loom_value_find(constants, name) : NULL;
        if (!constant) return loom_error(LOOM_E_INTERNAL, "the stream has no column '%s'", name);
        LOOM_TRY(repeat_leaf(constant, n, &o->repeated[o->n_repeated]));
        found = &o->repeated[o->n_repeated++];
    }
    *leaf = *found;
    return NULL;
}

static loom_status *join(loom_source *source, uint32_t n_leaves, const loom_type_leaf *leaves, loom_value *elements,
                         const loom_value *constants, loom_value **value) {
    loom_value *made;
    LOOM_TRY(loom_value_create(n_leaves, &made));
    owned *o = calloc(1, sizeof *o);
    loom_leaf *room = calloc(n_leaves + 1, sizeof *room);
    if (!o || !room) {
        free(o);
        free(room);
        loom_value_unref(made);
        return loom_error(LOOM_E_MEMORY, "out of memory");
    }
    *o = (owned){.elements = loom_value_ref(elements), .repeated = room};
    made->owner = o;
    made->release = release_owned;
    for (uint32_t i = 0; i < n_leaves; i++) {
        loom_status *status = place(leaves[i].name, elements, constants, source->n_elements, o, &made->leaves[i]);
        if (status) {
            loom_value_unref(made);
            return status;
        }
    }
    *value = made;
    return NULL;
}

loom_status *loom_client_collect(const loom_program *p, loom_type_id stream, loom_source *source, loom_value **value) {
    if (source->n_segments != 1) {
        return loom_status_note(
            loom_error(LOOM_E_LIMIT, "a stream of %u segments cannot be evaluated as one array", source->n_segments),
            "hint: choose one spectral window of an observation with --spw, or run it on workers");
    }
    loom_value *elements = NULL, *constants = NULL;
    LOOM_TRY(loom_source_read(source, 0, source->n_elements, &elements));
    loom_status *status = loom_source_constants(source, 0, &constants);
    loom_arena *arena = loom_arena_create(0);
    loom_type_leaf *leaves;
    uint32_t n = loom_type_leaves(p, arena, p->types[stream].element, &leaves);
    if (!status) status = join(source, n, leaves, elements, constants, value);
    loom_arena_destroy(arena);
    loom_value_unref(constants);
    loom_value_unref(elements);
    return status;
}
