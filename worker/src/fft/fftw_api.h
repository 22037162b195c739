/* FFTW's two precisions behind one table. Private to fft/. */
#ifndef LOOM_WORKER_FFTW_API_H
#define LOOM_WORKER_FFTW_API_H

#include "common/dtype.h"

typedef struct loom_fftw_api {
    size_t element; /* bytes of a complex number */
    /* `howmany` transforms of rank `rank`, one after the other in memory; estimated, without running any. in_place,
     * aligned: what later calls of execute will have. NULL if no plan can be made. */
    void *(*plan)(int rank, const int *extents, int howmany, bool in_place, bool aligned, int sign);
    void (*execute)(void *plan, const void *in, void *out);
    void (*destroy)(void *plan);
    bool (*aligned)(const void *data);
} loom_fftw_api;

const loom_fftw_api *loom_fftw(loom_dtype dtype); /* c64, c128 */

#endif
