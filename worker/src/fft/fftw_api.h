/* FFTW's two precisions behind one table. Private to fft/. */
#ifndef LOOM_WORKER_FFTW_API_H
#define LOOM_WORKER_FFTW_API_H

#include "common/dtype.h"

typedef struct loom_fftw_api {
    size_t element; /* bytes of a complex number */
    /* `howmany` transforms of rank `rank`, one after the other in memory. in_place, aligned: what later calls of
     * execute will have. measured: the fastest of those that are tried, which takes up to LOOM_FFTW_SECONDS the first
     * time; else estimated, without running any. NULL if no plan can be made. */
    void *(*plan)(int rank, const int *extents, int howmany, bool in_place, bool aligned, int sign, bool measured);
    void (*execute)(void *plan, const void *in, void *out);
    void (*destroy)(void *plan);
    bool (*aligned)(const void *data);
    /* What is known of measured plans, in all precision's shapes, as text; malloc'ed, NULL for lack of memory. And
     * back: false if that is none. */
    char *(*known)(void);
    bool (*learn)(const char *text);
    const char *name; /* of the precision */
} loom_fftw_api;

/* Seen for lengths of some thousands: 0.1 to 1 s. */
#define LOOM_FFTW_SECONDS 2.0

const loom_fftw_api *loom_fftw(loom_dtype dtype); /* c64, c128 */
const char *loom_fftw_version(void);

#endif
