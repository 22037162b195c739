/* Serialised programs that pass decoder and checker are run, on small arguments and within limits: the evaluation may
 * fail, but not crash, whatever a well-typed program does; and strips and single elements must agree on the outcome. */
#include "compiler/interp/interp.h"
#include <stdlib.h>
#include <string.h>

/* Leaf of a parameter: lists of two elements at each level, scalars 0, 1, 2, ... */
static loom_status *fill(loom_leaf *leaf, const loom_type_leaf *type) {
    int64_t extents[LOOM_MAX_DEPTH];
    for (uint32_t k = 0; k < type->depth; k++) extents[k] = k < 8 ? 2 : 1;
    loom_status *status = loom_leaf_init(leaf, type->name, type->dtype, type->depth, extents, 1 << 20);
    size_t size = loom_dtype_size(type->dtype);
    for (int64_t i = 0; !status && i < leaf->n_data; i++) {
        loom_scalar s = {.c = {0, 0}};
        if (type->dtype == LOOM_BOOL) {
            s.b = i & 1;
        } else if (loom_dtype_is_integer(type->dtype)) {
            s.i = i % 5;
        } else if (loom_dtype_is_complex(type->dtype)) {
            s.c[0] = s.c[1] = (double)i;
        } else {
            s.f = (double)i;
        }
        loom_scalar_store(type->dtype, s, (char *)leaf->data + (size_t)i * size);
    }
    return status;
}

static loom_status *argument(const loom_program *p, loom_arena *arena, loom_type_id type, loom_value **made) {
    loom_type_leaf *leaves;
    uint32_t n = loom_type_leaves(p, arena, type, &leaves);
    loom_value *v;
    LOOM_TRY(loom_value_create(n, &v));
    loom_status *status = NULL;
    for (uint32_t i = 0; i < n && !status; i++) status = fill(&v->leaves[i], &leaves[i]);
    *made = v;
    return status;
}

static loom_code run(const loom_program *p, uint32_t f, loom_value *const *arguments, bool one_by_one) {
    loom_interp_options options = {.memory_limit = 16 << 20, .work_limit = 20000, .one_by_one = one_by_one};
    loom_value *result = NULL;
    loom_status *status = loom_interp_call(p, f, arguments, &options, &result, NULL);
    loom_code code = loom_status_code(status);
    if (!status) {
        status = loom_value_check(result);
        if (status) abort();
    }
    loom_status_free(status);
    loom_value_unref(result);
    return code;
}

static void run_function(const loom_program *p, loom_arena *arena, uint32_t f) {
    const loom_body *b = &p->bodies[p->functions[f].body];
    loom_value *arguments[8] = {NULL};
    loom_status *status = NULL;
    if (b->n_params > 8) return;
    for (uint32_t i = 0; i < b->n_params && !status; i++)
        status = argument(p, arena, p->nodes[b->first + i].type, &arguments[i]);
    if (!status) {
        loom_code quick = run(p, f, arguments, false), plain = run(p, f, arguments, true);
        bool limited =
            quick == LOOM_E_LIMIT || plain == LOOM_E_LIMIT || quick == LOOM_E_MEMORY || plain == LOOM_E_MEMORY;
        if (quick != plain && !limited) abort();
    }
    loom_status_free(status);
    for (uint32_t i = 0; i < b->n_params; i++) loom_value_unref(arguments[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    loom_arena *arena = loom_arena_create(64u << 20);
    loom_program *p = NULL;
    loom_status *status = loom_program_decode(arena, data, size, &p);
    for (uint32_t f = 0; !status && f < p->n_functions && f < 4; f++) run_function(p, arena, f);
    loom_status_free(status);
    loom_arena_destroy(arena);
    return 0;
}
