#include "common/buffer.h"
#include "predict.h"
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct predict_spool {
    int file;
    char *folder;
    loom_dtype dtype; /* of the visibilities: LOOM_C64 or LOOM_C128 */
    off_t read;
    predict_counts counts;
};

/* Some file systems have no files without a name: there it loses it at once. */
static int make_file(const char *folder) {
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) return file;
    char *name = loom_xprintf("%s/predict-XXXXXX", folder);
    file = mkostemp(name, O_CLOEXEC);
    if (file >= 0) unlink(name);
    free(name);
    return file;
}

loom_status *predict_spool_create(const char *beside, predict_spool **spool) {
    size_t n = strlen(beside);
    while (n > 1 && beside[n - 1] == '/') n--;
    while (n > 0 && beside[n - 1] != '/') n--;
    char *folder = n ? loom_xprintf("%.*s", (int)n, beside) : loom_xstrdup(".");
    int file = make_file(folder);
    if (file < 0) {
        int why = errno;
        loom_status *status = loom_error_errno(LOOM_E_CANTCREATE, why, "cannot make a file in %s", folder);
        free(folder);
        return status;
    }
    predict_spool *s = loom_xcalloc(1, sizeof *s);
    *s = (predict_spool){.file = file, .folder = folder};
    *spool = s;
    return NULL;
}

static loom_status *put_all(const predict_spool *s, const char *data, size_t bytes) {
    while (bytes > 0) {
        ssize_t n = write(s->file, data, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return loom_error_errno(LOOM_E_IO, errno, "cannot keep predictions in a file in %s", s->folder);
        data += n;
        bytes -= (size_t)n;
    }
    return NULL;
}

/* What a column cannot hold. */
static loom_status *check_range(const loom_leaf *vis) {
    int64_t n = 2 * vis->n_data;
    bool fits = true;
    if (vis->dtype == LOOM_C64) {
        const float *values = vis->data;
        for (int64_t i = 0; i < n; i++) fits = fits && isfinite(values[i]);
    } else {
        const double *values = vis->data;
        for (int64_t i = 0; i < n; i++) fits = fits && fabs(values[i]) <= (double)FLT_MAX;
    }
    return fits
               ? NULL
               : loom_status_note(loom_error(LOOM_E_DATA, "a predicted visibility is beyond single precision, which is "
                                                          "what columns have"),
                                  "hint: the fluxes of the model are too large");
}

loom_status *predict_spool_put(void *spool, loom_value *elements) {
    predict_spool *s = spool;
    const loom_leaf *vis = loom_value_find(elements, "vis"), *class = loom_value_find(elements, "class");
    bool good = vis && class && loom_dtype_is_complex(vis->dtype) && class->dtype == LOOM_I8 && vis->depth == 1 &&
                class->depth == 1 && vis->n_data == class->n_data;
    if (!good) return loom_error(LOOM_E_INTERNAL, "the predicting program does not give visibilities and classes");
    s->dtype = vis->dtype;
    LOOM_TRY(check_range(vis));
    LOOM_TRY(put_all(s, vis->data, (size_t)vis->n_data * loom_dtype_size(vis->dtype)));
    const int8_t *c = class->data;
    for (int64_t i = 0; i < class->n_data; i++) {
        s->counts.predicted += c[i] == 0;
        s->counts.out_of_grid += c[i] == 1;
        s->counts.nonfinite += c[i] == 2;
    }
    return NULL;
}

predict_counts predict_spool_counts(const predict_spool *s) {
    return s->counts;
}

static loom_status *take_all(predict_spool *s, char *to, size_t bytes) {
    while (bytes > 0) {
        ssize_t n = pread(s->file, to, bytes, s->read);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return loom_error_errno(LOOM_E_IO, errno, "cannot read predictions from a file in %s", s->folder);
        if (n == 0) return loom_error(LOOM_E_INTERNAL, "more predictions were asked for than were made");
        to += n;
        bytes -= (size_t)n;
        s->read += n;
    }
    return NULL;
}

loom_status *predict_spool_take(void *spool, int64_t n, double *re_im) {
    predict_spool *s = spool;
    LOOM_TRY(take_all(s, (char *)re_im, (size_t)n * loom_dtype_size(s->dtype)));
    if (s->dtype == LOOM_C128) return NULL;
    /* From the last one back, since each becomes larger. */
    for (int64_t i = 2 * n; i-- > 0;) {
        float single;
        memcpy(&single, (const char *)re_im + (size_t)i * sizeof single, sizeof single);
        re_im[i] = (double)single;
    }
    return NULL;
}

void predict_spool_free(predict_spool *s) {
    if (!s) return;
    close(s->file);
    free(s->folder);
    free(s);
}
