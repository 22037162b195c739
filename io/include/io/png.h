/* PNG pictures of images: north up, east left, as FITS viewers show them. Values from `low` to `high` go through asinh,
 * so that faint and bright sources are both seen; NaN is transparent. Never half written. Threads: any. */
#ifndef LOOM_IO_PNG_H
#define LOOM_IO_PNG_H

#include "common/dtype.h"
#include "common/file.h"

typedef enum loom_png_colours {
    LOOM_PNG_GREY,
    LOOM_PNG_INFERNO /* perceptually even, dark to bright */
} loom_png_colours;

typedef struct loom_png_picture {
    loom_dtype dtype; /* LOOM_F32 or LOOM_F64 */
    int64_t nx, ny;
    const void *pixels; /* [ny][nx], the first row at the bottom */
    double low, high;   /* both 0: from percentiles */
    loom_png_colours colours;
} loom_png_picture;

/* A picture side beyond which libpng and most viewers give up. */
#define LOOM_MAX_PNG_SIDE 65535

LOOM_MUST_USE loom_status *loom_png_write(const char *path, const loom_png_picture *picture);
/* The same, put in place with the other files of `set`. */
LOOM_MUST_USE loom_status *loom_png_hold(const char *path, const loom_png_picture *picture, loom_file_set *set);

#endif
