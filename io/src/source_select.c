/* Some fields of another stream. */
#include "common/buffer.h"
#include "io/source.h"
#include "source_impl.h"
#include <stdlib.h>
#include <string.h>

typedef struct chosen {
    loom_source *whole;
    uint32_t n;
    loom_source_field fields[];
} chosen;

static void release_whole(loom_value *value) {
    loom_value_unref(value->owner);
}

/* What is chosen of `whole`, whose reference goes to the result, or is given back. */
static loom_status *choose(const chosen *c, bool constant, loom_value *whole, loom_value **value) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->n; i++) n += c->fields[i].constant == constant;
    loom_value *made = NULL;
    loom_status *status = loom_value_create(n, &made);
    if (status) {
        loom_value_unref(whole);
        return status;
    }
    made->owner = whole;
    made->release = release_whole;
    n = 0;
    for (uint32_t i = 0; i < c->n && !status; i++) {
        const loom_source_field *f = &c->fields[i];
        if (f->constant != constant) continue;
        const loom_leaf *leaf = loom_value_find(whole, f->name);
        if (leaf && leaf->dtype == f->dtype && leaf->depth == f->depth + !constant) {
            made->leaves[n++] = *leaf;
        } else {
            status = loom_error(LOOM_E_INTERNAL, "the stream has no field '%s' of the type expected", f->name);
        }
    }
    if (status) {
        loom_value_unref(made);
        return status;
    }
    *value = made;
    return NULL;
}

static loom_status *chosen_read(loom_source *source, int64_t first, int64_t count, loom_value **elements) {
    const chosen *c = source->state;
    loom_value *whole;
    LOOM_TRY(loom_source_read(c->whole, first, count, &whole));
    return choose(c, false, whole, elements);
}

static loom_status *chosen_constants(loom_source *source, uint32_t segment, loom_value **constants) {
    const chosen *c = source->state;
    bool any = false;
    for (uint32_t i = 0; i < c->n; i++) any = any || c->fields[i].constant;
    *constants = NULL;
    if (!any) return NULL;
    loom_value *whole = NULL;
    LOOM_TRY(loom_source_constants(c->whole, segment, &whole));
    if (!whole) return loom_error(LOOM_E_INTERNAL, "the stream has no constant fields");
    return choose(c, true, whole, constants);
}

static void chosen_destroy(loom_source *source) {
    chosen *c = source->state;
    loom_source_destroy(c->whole);
    free(c);
}

loom_status *loom_source_select(loom_source *whole, const loom_source_field *fields, uint32_t n_fields,
                                loom_source **source) {
    static const loom_source_kind kind = {"select", chosen_read, chosen_constants, chosen_destroy};
    bool varies = false;
    for (uint32_t i = 0; i < n_fields; i++) varies = varies || !fields[i].constant;
    loom_source *made = NULL;
    loom_status *status = varies ? loom_source_make(&kind, whole->n_elements, whole->n_segments, &made)
                                 : loom_error(LOOM_E_USAGE, "a stream needs at least one field that is not constant");
    if (status) {
        loom_source_destroy(whole);
        return status;
    }
    memcpy(made->segment_first, whole->segment_first, (whole->n_segments + 1) * sizeof *made->segment_first);
    chosen *c = loom_xmalloc(sizeof *c + n_fields * sizeof *c->fields);
    *c = (chosen){.whole = whole, .n = n_fields};
    memcpy(c->fields, fields, n_fields * sizeof *fields);
    made->state = c;
    made->concurrent = whole->concurrent;
    *source = made;
    return NULL;
}
