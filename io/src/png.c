#include "io/png.h"
#include "common/buffer.h"
#include "common/file.h"
#include <inttypes.h>
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* Values looked at for percentiles: enough that the 0.1 % points are sure, few enough to sort at once. */
#define SAMPLES 100000

static double pixel(const loom_png_picture *p, int64_t i) {
    return p->dtype == LOOM_F32 ? (double)((const float *)p->pixels)[i] : ((const double *)p->pixels)[i];
}

/* ---- scale ---- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* From the 0.5th percentile to the largest value: sources are few, and each should show. */
static void choose_range(const loom_png_picture *p, double *low, double *high) {
    int64_t n = p->nx * p->ny, step = n / SAMPLES + 1;
    double *values = loom_xmalloc((size_t)(n / step + 1) * sizeof *values), top = -INFINITY;
    size_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = pixel(p, i);
        if (!isfinite(x)) continue;
        top = fmax(top, x);
        if (i % step == 0) values[count++] = x;
    }
    qsort(values, count, sizeof *values, by_value);
    *low = count ? values[count / 200] : 0;
    *high = isfinite(top) ? top : 1;
    if (*high <= *low) *high = *low + 1;
    free(values);
}

/* 0 to 1; linear near 0, logarithmic above a fifth of the range. */
static double stretch(double x, double low, double high) {
    double t = (x - low) / (high - low), softness = 0.2;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return asinh(t / softness) / asinh(1 / softness);
}

/* Inferno by a few of its points; between them linear. */
static void colour(loom_png_colours map, double t, png_byte rgb[3]) {
    static const double points[][3] = {{0, 0, 4},     {31, 12, 72},   {85, 15, 109},  {136, 34, 106}, {186, 54, 85},
                                       {227, 89, 51}, {249, 140, 10}, {249, 201, 50}, {252, 255, 164}};
    enum {
        LAST = sizeof points / sizeof *points - 1
    };
    int i = (int)(t * LAST);
    if (i >= LAST) i = LAST - 1;
    double f = t * LAST - i;
    for (int k = 0; k < 3; k++) {
        double c = map == LOOM_PNG_GREY ? 255 * t : points[i][k] + f * (points[i + 1][k] - points[i][k]);
        rgb[k] = (png_byte)(c + 0.5);
    }
}

/* ---- libpng: errors come by longjmp, so everything that needs an end lives in one struct ---- */

typedef struct output {
    loom_writer *writer;
    loom_status *status;
    char message[200];
} output;

static void on_write(png_structp png, png_bytep data, png_size_t length) {
    output *o = png_get_io_ptr(png);
    if (!o->status) o->status = loom_writer_put(o->writer, data, length);
    if (o->status) png_error(png, "write failed");
}

static void on_flush(png_structp png) {
    (void)png;
}

static void on_error(png_structp png, png_const_charp message) {
    output *o = png_get_error_ptr(png);
    snprintf(o->message, sizeof o->message, "%s", message);
    longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void put_rows(png_structp png, const loom_png_picture *p, double low, double high, png_bytep row) {
    for (int64_t y = p->ny - 1; y >= 0; y--) {
        for (int64_t x = 0; x < p->nx; x++) {
            double value = pixel(p, y * p->nx + x);
            bool blank = isnan(value);
            colour(p->colours, blank ? 0 : stretch(value, low, high), row + 4 * x);
            row[4 * x + 3] = blank ? 0 : 255;
        }
        png_write_row(png, row);
    }
}

static loom_status *encode(const loom_png_picture *p, output *o) {
    double low = p->low, high = p->high;
    if (low == 0 && high == 0) choose_range(p, &low, &high);
    png_bytep row = malloc((size_t)p->nx * 4);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, o, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (row && info && setjmp(png_jmpbuf(png)) == 0) {
        png_set_write_fn(png, o, on_write, on_flush);
        png_set_IHDR(png, info, (png_uint_32)p->nx, (png_uint_32)p->ny, 8, PNG_COLOR_TYPE_RGBA, PNG_INTERLACE_NONE,
                     PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
        png_write_info(png, info);
        put_rows(png, p, low, high, row);
        png_write_end(png, info);
    } else if (!o->status) {
        o->status = info && row ? loom_error(LOOM_E_INTERNAL, "libpng: %s", o->message)
                                : loom_error(LOOM_E_MEMORY, "no memory for a picture");
    }
    if (png) png_destroy_write_struct(&png, &info);
    free(row);
    return o->status;
}

loom_status *loom_png_hold(const char *path, const loom_png_picture *picture, loom_file_set *set) {
    if (picture->nx < 1 || picture->ny < 1 || picture->nx > LOOM_MAX_PNG_SIDE || picture->ny > LOOM_MAX_PNG_SIDE) {
        return loom_error(LOOM_E_LIMIT, "a PNG of %" PRId64 " x %" PRId64 " pixels; sides may be 1 to %d", picture->nx,
                          picture->ny, LOOM_MAX_PNG_SIDE);
    }
    output o = {0};
    LOOM_TRY(loom_writer_open(path, &o.writer));
    loom_status *status = encode(picture, &o);
    if (status) {
        loom_writer_abort(o.writer);
        return status;
    }
    return loom_writer_hold(o.writer, false, set);
}

loom_status *loom_png_write(const char *path, const loom_png_picture *picture) {
    return loom_png_hold(path, picture, NULL);
}
