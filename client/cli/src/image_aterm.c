/* Kernels of --aterm: read and checked here, used by client/programs/aterm.weft. */
#include "common/buffer.h"
#include "image.h"
#include "io/npy.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static loom_status *bad_kernels(const image_request *r, const char *why) {
    return loom_status_note(
        loom_error(LOOM_E_DATA, "--aterm %s: %s", r->aterm, why),
        "hint: complex64 or complex128 of four axes: intervals of time, stations, v, u; docs/imaging.md "
        "tells how to make them");
}

static loom_status *check_shape(const image_request *r, const loom_leaf *k) {
    if (k->depth != 4) {
        loom_buffer why = {0};
        loom_buffer_printf(&why, "an array of %" PRIu32 " ax%s", k->depth, k->depth == 1 ? "is" : "es");
        loom_status *status = bad_kernels(r, why.data);
        loom_buffer_free(&why);
        return status;
    }
    if (k->n_data == 0) return bad_kernels(r, "an array without elements");
    const int64_t side[2] = {k->extents[2], k->extents[3]}, pixels[2] = {r->ny, r->nx};
    for (int i = 0; i < 2; i++) {
        if (side[i] == 1 || side[i] <= pixels[i] / 4) continue;
        return loom_status_note(loom_error(LOOM_E_DATA,
                                           "--aterm %s: kernels of %" PRId64 " x %" PRId64
                                           " cells are too large for an image of %" PRId64 " x %" PRId64 " pixels",
                                           r->aterm, side[0], side[1], r->ny, r->nx),
                                "hint: a side is 1, or at most a quarter of the image's (v and m, u and l)");
    }
    return NULL;
}

/* As complex128, and finite. */
static loom_status *take_numbers(const image_request *r, const loom_leaf *from, loom_leaf *to) {
    if (!loom_dtype_is_complex(from->dtype)) {
        loom_buffer why = {0};
        loom_buffer_printf(&why, "numbers of type %s", loom_dtype_name(from->dtype));
        loom_status *status = bad_kernels(r, why.data);
        loom_buffer_free(&why);
        return status;
    }
    LOOM_TRY(loom_leaf_init(to, "", LOOM_C128, 4, from->extents, INT64_MAX));
    double *numbers = to->data;
    for (int64_t i = 0; i < 2 * from->n_data; i++) {
        numbers[i] = from->dtype == LOOM_C64 ? (double)((const float *)from->data)[i] : ((const double *)from->data)[i];
        if (isfinite(numbers[i])) continue;
        const int64_t *n = from->extents, at = i / 2;
        return loom_error(LOOM_E_DATA,
                          "--aterm %s: element [%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "] is not finite",
                          r->aterm, at / n[3] / n[2] / n[1], at / n[3] / n[2] % n[1], at / n[3] % n[2], at % n[3]);
    }
    return NULL;
}

loom_status *image_read_aterm(const image_request *r, loom_value **kernels) {
    loom_value *file, *made = NULL;
    LOOM_TRY(loom_npy_read(r->aterm, "", &file));
    loom_status *status = check_shape(r, &file->leaves[0]);
    if (!status) status = loom_value_create(1, &made);
    if (!status) status = take_numbers(r, &file->leaves[0], &made->leaves[0]);
    loom_value_unref(file);
    if (status) {
        loom_value_unref(made);
        return status;
    }
    *kernels = made;
    return NULL;
}

loom_status *image_check_aterm(const image_request *r, const loom_value *kernels, const loom_ms_info *info) {
    const int64_t *n = kernels->leaves[0].extents;
    if (n[1] != info->n_antennas) {
        return loom_status_note(
            loom_error(LOOM_E_DATA, "--aterm %s: kernels of %" PRId64 " stations, but %s has %" PRId64, r->aterm, n[1],
                       info->path, info->n_antennas),
            "hint: the second axis has a kernel for each antenna number from %" PRId64 " to %" PRId64 ", used or not",
            info->antenna_first, info->antenna_first + info->n_antennas - 1);
    }
    if (n[0] > 1 && info->time_from == 0 && info->time_to == 0) {
        return loom_error(LOOM_E_DATA,
                          "--aterm %s: kernels of %" PRId64 " intervals of time, but the rows of %s have no times",
                          r->aterm, n[0], info->path);
    }
    return NULL;
}
