/* Fourier transforms of a worker. The only folder that knows FFTW (GPL, dynamically linked).
 *
 * A loom_fft holds the plans of one shape: dtype, direction, extents. Small transforms are done whole by one thread, a
 * batch being split over the threads; large ones axis by axis, all threads on each axis. Which of the two is decided by
 * the shape alone, and ranges are of fixed size, so that a result does not depend on the number of threads.
 *
 * Forward: e^(-2 pi i jk/n), unscaled. Inverse: e^(+2 pi i jk/n), scaled by 1/N.
 *
 * Threads: loom_ffts_get and loom_fft_run from one thread at a time; loom_fft_strip from any. Planning is serialised
 * over the process (only execution is thread-safe in FFTW). Plans are made when first needed, and estimated: measuring
 * takes 20 to 200 milliseconds a plan, gains nothing for powers of two and small transforms and a third for long rows
 * of other lengths; and a measured plan, hence the last bits of a result, may differ from run to run.
 */
#ifndef LOOM_WORKER_FFT_H
#define LOOM_WORKER_FFT_H

#include "common/dtype.h"
#include "common/status.h"
#include "common/value.h"
#include "device/cpu/pool.h"

typedef struct loom_ffts loom_ffts; /* cache of shapes */
typedef struct loom_fft loom_fft;   /* belongs to the cache */

typedef struct loom_fft_shape {
    loom_dtype dtype; /* c64, c128 */
    bool inverse;
    uint32_t rank; /* 0: one element, its own transform */
    int64_t extents[LOOM_MAX_DEPTH];
} loom_fft_shape;

/* Uses the pool, which must live longer. cache: folder for what was found out about the fastest plans; NULL: none. */
loom_ffts *loom_ffts_create(loom_pool *pool, const char *cache);
void loom_ffts_destroy(loom_ffts *ffts); /* NULL is fine */

/* Plans of a shape, made if they are not there. LOOM_E_LIMIT for extents that no plan can have (see
 * LOOM_FFT_MAX_EXTENT). */
LOOM_MUST_USE loom_status *loom_ffts_get(loom_ffts *ffts, const loom_fft_shape *shape, loom_fft **fft);

/* `batch` transforms, one after the other in memory, from `in` to `out` (equal, or not overlapping), with all threads.
 * Stops early, with `out` half done, once *stop is true. */
LOOM_MUST_USE loom_status *loom_fft_run(loom_fft *fft, const void *in, void *out, int64_t batch,
                                        const atomic_bool *stop);
/* The same on the calling thread alone, from any thread: for kernels that transform inside a strip. */
void loom_fft_strip(loom_fft *fft, const void *in, void *out, int64_t batch);

/* So many transforms will be asked for in strips: if they are many, the plans are worth being measured. loom_fft_run
 * does this itself. */
void loom_fft_expect(loom_fft *fft, int64_t batch);
int64_t loom_fft_elements(const loom_fft *fft); /* of one transform */

/* FFTW takes extents and strides as int. */
#define LOOM_FFT_MAX_EXTENT ((int64_t)1 << 30)

#endif
