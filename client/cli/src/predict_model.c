/* Models of the sky, and what the program takes of them. */
#include "common/buffer.h"
#include "predict.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

loom_status *predict_read_model(const predict_request *r, const loom_ms_info *info, predict_model *model) {
    predict_model made = {0};
    LOOM_TRY(loom_fits_is_image(r->model, &made.is_image));
    if (made.is_image) {
        LOOM_TRY(loom_fits_read_model(r->model, info->ra, info->dec, info->frame, &made.image));
    } else {
        LOOM_TRY(sky_read(r->model, info->ra, info->dec, &made.sky));
    }
    *model = made;
    return NULL;
}

void predict_model_free(predict_model *model) {
    loom_fits_model_free(&model->image);
    sky_free(&model->sky);
}

static loom_status *make_leaf(loom_dtype dtype, uint32_t depth, const int64_t *extents, loom_value **value) {
    loom_value *made = NULL;
    LOOM_TRY(loom_value_create(1, &made));
    loom_status *status = loom_leaf_init(&made->leaves[0], "", dtype, depth, extents, INT64_MAX);
    if (status) {
        loom_value_unref(made);
        return status;
    }
    *value = made;
    return NULL;
}

static loom_status *make_number(double x, loom_value **value) {
    LOOM_TRY(make_leaf(LOOM_F64, 0, NULL, value));
    memcpy((*value)->leaves[0].data, &x, sizeof x);
    return NULL;
}

static loom_status *make_pixels(const loom_fits_model *image, loom_dtype dtype, loom_value **value) {
    LOOM_TRY(make_leaf(dtype, 2, (int64_t[]){image->ny, image->nx}, value));
    void *to = (*value)->leaves[0].data;
    size_t n = (size_t)(*value)->leaves[0].n_data;
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(image->pixels[i]) > (double)FLT_MAX)) continue; /* blank ones may stay */
        return loom_error(LOOM_E_DATA, "a pixel of %g Jy is beyond single precision, which is what columns have",
                          image->pixels[i]);
    }
    if (dtype == LOOM_F64) {
        memcpy(to, image->pixels, n * sizeof(double));
    } else {
        for (size_t i = 0; i < n; i++) ((float *)to)[i] = (float)image->pixels[i];
    }
    return NULL;
}

static loom_status *image_arguments(const predict_request *r, predict_model *model, const char **entry,
                                    loom_value *arguments[PREDICT_ARGUMENTS]) {
    bool single = r->epsilon >= 1e-5;
    *entry = single ? "predict_f32" : "predict_f64";
    LOOM_TRY(make_number(model->image.scale, &arguments[0]));
    LOOM_TRY(make_number(r->epsilon, &arguments[1]));
    LOOM_TRY(make_pixels(&model->image, single ? LOOM_F32 : LOOM_F64, &arguments[2]));
    free(model->image.pixels);
    model->image.pixels = NULL;
    return NULL;
}

loom_status *predict_arguments(const predict_request *r, predict_model *model, const char **entry,
                               loom_value *arguments[PREDICT_ARGUMENTS]) {
    if (model->is_image) return image_arguments(r, model, entry, arguments);
    *entry = "predict_sources";
    int64_t n = (int64_t)model->sky.n;
    for (int k = 0; k < PREDICT_ARGUMENTS; k++) {
        LOOM_TRY(make_leaf(LOOM_F64, 1, &n, &arguments[k]));
        double *to = arguments[k]->leaves[0].data;
        for (int64_t i = 0; i < n; i++) {
            const sky_source *s = &model->sky.sources[i];
            to[i] = k == 0 ? s->l : k == 1 ? s->m : s->flux;
        }
    }
    return NULL;
}
