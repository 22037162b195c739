/* Plans and execution of one shape.
 *
 * SMALL shapes have whole-transform plans for 1, 8 and 64 transforms in one go (as far as that stays in cache), each
 * for in-place or not and aligned or not, made on first use and published by an atomic pointer. LARGE shapes (rank >=
 * 2) are done in passes: the rows of the innermost axis, then for every other axis strips of adjacent columns, gathered
 * into a scratch of one thread so that the transform runs on contiguous memory, and put back. The scaling of the
 * inverse rides on the last pass.
 *
 * MEASURED plans. FFTW estimates which way of doing a transform is the fastest, or tries: of 6144 c64, 18 and 9.5
 * microseconds, of 6144 c128, 35 and 16. Trying takes half a second. So it is done where much is to be transformed at
 * once, and what was found out is kept in a file, which also makes the next run choose the same way and round alike.
 */
#include "fft/fft.h"
#include "common/buffer.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/log.h"
#include "fft/fftw_api.h"
#include "worker/executor.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Elements from which on a transform of rank >= 2 is split over the threads: half a MiB in single precision, where one
 * transform takes a millisecond and a pass over memory costs little beside it. */
#define LARGE_ELEMENTS ((int64_t)1 << 16)
/* Elements of a group of transforms executed in one call: what fits the first-level cache twice. */
#define GROUP_ELEMENTS 1024
/* Elements of a batch from which on plans are measured: with estimated ones 20 to 50 ms of one thread, and where there
 * is one such batch, there are mostly many. */
#define MEASURED_ELEMENTS ((int64_t)1 << 23)
/* Bytes of a file of measured plans; a shape takes some hundred. */
#define MOST_KNOWN ((uint64_t)16 << 20)
/* Elements per range of a parallel batch: about 100 microseconds of work. */
#define RANGE_ELEMENTS 32768
/* Bytes of each row of a strip of columns: two cache lines, so that every line fetched is used. */
#define STRIP_BYTES 128

enum {
    N_GROUPS = 3
};
static const int group_size[N_GROUPS] = {1, 8, 64};

/* Columns along one axis: `length` elements, `inner` apart, in strips `width` wide. */
typedef struct axis {
    int64_t length, inner, outer, width;
    loom_fft *fft; /* of one column, contiguous */
} axis;

/* Elements between columns in the scratch: apart from whole cache lines by an odd number of them, so that columns whose
 * length is a power of two do not fall into the same sets. */
static int64_t column_stride(int64_t length) {
    int64_t lines = (length + 7) / 8;
    return (lines | 1) * 8;
}

struct loom_fft {
    loom_ffts *owner;
    loom_fft_shape shape;
    const loom_fftw_api *api;
    int64_t elements; /* of one transform */
    int sign;
    void *_Atomic plans[2][N_GROUPS][2][2]; /* [measured][group][in place][aligned] */
    atomic_bool measured;                   /* much is to be transformed */
    pthread_mutex_t lock;                   /* of making plans */
    bool large;
    loom_fft *rows; /* large: the innermost axis */
    uint32_t n_axes;
    axis *axes;
    size_t scratch_bytes; /* largest strip */
    loom_fft *next;
};

struct loom_ffts {
    loom_pool *pool;
    char *cache;    /* folder, or NULL */
    bool learnt[2]; /* what its files know, by precision: single, double; under planning */
    pthread_mutex_t planning;
    loom_fft *first;
    char **scratch; /* per thread */
    size_t scratch_bytes;
};

loom_ffts *loom_ffts_create(loom_pool *pool, const char *cache) {
    loom_ffts *ffts = loom_xcalloc(1, sizeof *ffts);
    ffts->pool = pool;
    ffts->cache = cache ? loom_xstrdup(cache) : NULL;
    pthread_mutex_init(&ffts->planning, NULL);
    ffts->scratch = loom_xcalloc((size_t)loom_pool_threads(pool), sizeof *ffts->scratch);
    return ffts;
}

static void destroy_fft(loom_fft *fft) {
    for (int g = 0; g < N_GROUPS; g++) {
        for (int v = 0; v < 8; v++) {
            void *plan = atomic_load_explicit(&fft->plans[v / 4][g][v / 2 % 2][v % 2], memory_order_relaxed);
            if (plan) fft->api->destroy(plan);
        }
    }
    pthread_mutex_destroy(&fft->lock);
    free(fft->axes);
    free(fft);
}

void loom_ffts_destroy(loom_ffts *ffts) {
    if (!ffts) return;
    while (ffts->first) {
        loom_fft *fft = ffts->first;
        ffts->first = fft->next;
        destroy_fft(fft);
    }
    for (int t = 0; t < loom_pool_threads(ffts->pool); t++) free(ffts->scratch[t]);
    free(ffts->scratch);
    free(ffts->cache);
    pthread_mutex_destroy(&ffts->planning);
    free(ffts);
}

/* ---- plans ---- */

/* A file for each processor and version: what is fastest on one is not on another. */
static char *cache_file(const loom_ffts *ffts, const loom_fftw_api *api) {
    const char *target = loom_worker_target();
    char text[33];
    loom_hash_text(loom_hash_bytes(target, strlen(target)), text);
    return loom_xprintf("%s/%s-%s-%s.wisdom", ffts->cache, loom_fftw_version(), api->name, text);
}

/* A file that is not there, or not what it should be, costs the time of trying. */
static void learn(loom_ffts *ffts, const loom_fftw_api *api, bool *learnt) {
    if (*learnt || !ffts->cache) return;
    *learnt = true;
    char *path = cache_file(ffts, api), *text = NULL;
    size_t length;
    loom_status *status = access(path, R_OK) == 0 ? loom_file_read(path, MOST_KNOWN, &text, &length) : NULL;
    if (!status && text && !api->learn(text)) status = loom_error(LOOM_E_DATA, "%s holds no plans of transforms", path);
    if (status) loom_log_status(LOOM_LOG_DEBUG, status);
    free(text);
    free(path);
}

static void keep(const loom_ffts *ffts, const loom_fftw_api *api) {
    char *text = ffts->cache ? api->known() : NULL;
    if (!text) return;
    char *path = cache_file(ffts, api);
    loom_status *status = loom_file_write(path, text, strlen(text), false);
    if (status) loom_log_status(LOOM_LOG_DEBUG, status);
    free(path);
    free(text);
}

static void *make_plan(loom_fft *fft, bool measured, int group, bool in_place, bool aligned) {
    int extents[LOOM_MAX_DEPTH];
    for (uint32_t d = 0; d < fft->shape.rank; d++) extents[d] = (int)fft->shape.extents[d];
    int rank = (int)fft->shape.rank;
    if (!measured) return fft->api->plan(rank, extents, group_size[group], in_place, aligned, fft->sign, false);
    pthread_mutex_lock(&fft->owner->planning);
    learn(fft->owner, fft->api, &fft->owner->learnt[fft->shape.dtype == LOOM_C128]);
    void *plan = fft->api->plan(rank, extents, group_size[group], in_place, aligned, fft->sign, true);
    keep(fft->owner, fft->api);
    pthread_mutex_unlock(&fft->owner->planning);
    return plan;
}

/* A plan that cannot be made for lack of memory ends the process, as small allocations do elsewhere: kernels that
 * transform inside a strip have no way to report it. */
static void *get_plan(loom_fft *fft, int group, bool in_place, bool aligned) {
    bool measured = atomic_load_explicit(&fft->measured, memory_order_relaxed);
    void *_Atomic *slot = &fft->plans[measured][group][in_place][aligned];
    void *plan = atomic_load_explicit(slot, memory_order_acquire);
    if (plan) return plan;
    pthread_mutex_lock(&fft->lock);
    plan = atomic_load_explicit(slot, memory_order_relaxed);
    if (!plan) {
        plan = make_plan(fft, measured, group, in_place, aligned);
        if (!plan) {
            fprintf(stderr, "gridloom: no memory to plan a Fourier transform\n");
            abort();
        }
        atomic_store_explicit(slot, plan, memory_order_release);
    }
    pthread_mutex_unlock(&fft->lock);
    return plan;
}

static bool same_shape(const loom_fft_shape *a, const loom_fft_shape *b) {
    return a->dtype == b->dtype && a->inverse == b->inverse && a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->extents, b->extents, a->rank * sizeof *a->extents) == 0);
}

static loom_status *plan_row(loom_ffts *ffts, const loom_fft *fft, uint32_t d, loom_fft **row) {
    loom_fft_shape shape = {.dtype = fft->shape.dtype, .inverse = fft->shape.inverse, .rank = 1};
    shape.extents[0] = fft->shape.extents[d];
    return loom_ffts_get(ffts, &shape, row);
}

static loom_status *plan_axis(loom_ffts *ffts, loom_fft *fft, uint32_t d) {
    axis *a = &fft->axes[fft->n_axes++];
    *a = (axis){.length = fft->shape.extents[d], .inner = 1, .outer = 1};
    for (uint32_t k = 0; k < d; k++) a->outer *= fft->shape.extents[k];
    for (uint32_t k = d + 1; k < fft->shape.rank; k++) a->inner *= fft->shape.extents[k];
    int64_t width = STRIP_BYTES / (int64_t)fft->api->element;
    a->width = a->inner < width ? a->inner : width;
    size_t bytes = 2 * (size_t)(column_stride(a->length) * a->width) * fft->api->element; /* before and after */
    if (bytes > fft->scratch_bytes) fft->scratch_bytes = bytes;
    return plan_row(ffts, fft, d, &a->fft);
}

static loom_status *plan_large(loom_ffts *ffts, loom_fft *fft) {
    fft->axes = loom_xcalloc(fft->shape.rank, sizeof *fft->axes);
    LOOM_TRY(plan_row(ffts, fft, fft->shape.rank - 1, &fft->rows));
    for (uint32_t d = fft->shape.rank - 1; d-- > 0;) LOOM_TRY(plan_axis(ffts, fft, d));
    return NULL;
}

static loom_status *check_shape(const loom_fft_shape *shape, int64_t *elements) {
    if (!loom_dtype_is_complex(shape->dtype)) return loom_error(LOOM_E_INTERNAL, "a transform of real numbers");
    if (shape->rank > LOOM_MAX_DEPTH) return loom_error(LOOM_E_LIMIT, "a transform of %u axes", shape->rank);
    *elements = 1;
    for (uint32_t d = 0; d < shape->rank; d++) {
        if (shape->extents[d] < 1 || shape->extents[d] > LOOM_FFT_MAX_EXTENT ||
            __builtin_mul_overflow(*elements, shape->extents[d], elements)) {
            return loom_error(LOOM_E_LIMIT, "a Fourier transform of length %lld; lengths from 1 to %lld are possible",
                              (long long)shape->extents[d], (long long)LOOM_FFT_MAX_EXTENT);
        }
    }
    return NULL;
}

/* Axes of length 1 change nothing, and a shape without them is the same shape more often. */
static loom_fft_shape without_ones(const loom_fft_shape *shape) {
    loom_fft_shape s = {.dtype = shape->dtype, .inverse = shape->inverse};
    for (uint32_t d = 0; d < shape->rank; d++) {
        if (shape->extents[d] != 1) s.extents[s.rank++] = shape->extents[d];
    }
    return s;
}

loom_status *loom_ffts_get(loom_ffts *ffts, const loom_fft_shape *given, loom_fft **fft) {
    int64_t elements;
    LOOM_TRY(check_shape(given, &elements));
    loom_fft_shape shape = without_ones(given);
    for (loom_fft *f = ffts->first; f; f = f->next) {
        if (same_shape(&f->shape, &shape)) {
            *fft = f;
            return NULL;
        }
    }
    loom_fft *made = loom_xcalloc(1, sizeof *made);
    made->owner = ffts;
    made->shape = shape;
    made->api = loom_fftw(shape.dtype);
    made->elements = elements;
    made->sign = shape.inverse ? 1 : -1;
    made->large = shape.rank >= 2 && elements >= LARGE_ELEMENTS;
    pthread_mutex_init(&made->lock, NULL);
    loom_status *status = made->large ? plan_large(ffts, made) : NULL;
    if (status) {
        destroy_fft(made);
        return status;
    }
    made->next = ffts->first;
    ffts->first = made;
    *fft = made;
    return NULL;
}

void loom_fft_expect(loom_fft *fft, int64_t batch) {
    if (batch >= MEASURED_ELEMENTS / fft->elements + 1)
        atomic_store_explicit(&fft->measured, true, memory_order_relaxed);
}

int64_t loom_fft_elements(const loom_fft *fft) {
    return fft->elements;
}

/* ---- execution on one thread ---- */

static void scale(loom_dtype dtype, void *data, int64_t elements, double factor) {
    if (dtype == LOOM_C64) {
        float *x = data, f = (float)factor;
        for (int64_t i = 0; i < 2 * elements; i++) x[i] *= f;
    } else {
        double *x = data;
        for (int64_t i = 0; i < 2 * elements; i++) x[i] *= factor;
    }
}

/* Without the scaling. */
static void strip_unscaled(loom_fft *fft, const char *in, char *out, int64_t batch) {
    size_t bytes = (size_t)fft->elements * fft->api->element;
    bool in_place = in == out;
    bool aligned = fft->api->aligned(in) && fft->api->aligned(out) && (batch == 1 || fft->api->aligned(in + bytes));
    int group = N_GROUPS - 1;
    while (batch > 0) {
        while (group > 0 && (group_size[group] > batch || fft->elements * group_size[group] > GROUP_ELEMENTS)) group--;
        void *plan = get_plan(fft, group, in_place, aligned);
        int64_t n = group_size[group];
        for (; batch >= n; batch -= n) {
            fft->api->execute(plan, in, out);
            in += (size_t)n * bytes;
            out += (size_t)n * bytes;
        }
    }
}

void loom_fft_strip(loom_fft *fft, const void *in, void *out, int64_t batch) {
    size_t bytes = (size_t)fft->elements * fft->api->element;
    if (fft->elements == 1) {
        if (in != out && batch > 0) memcpy(out, in, (size_t)batch * bytes);
        return;
    }
    if (!fft->shape.inverse) {
        strip_unscaled(fft, in, out, batch);
        return;
    }
    /* In pieces that are still in cache when they are scaled. */
    int64_t piece = RANGE_ELEMENTS / 4 / fft->elements;
    if (piece < 1) piece = 1;
    for (int64_t t = 0; t < batch; t += piece) {
        int64_t n = batch - t < piece ? batch - t : piece;
        char *to = (char *)out + (size_t)t * bytes;
        strip_unscaled(fft, (const char *)in + (size_t)t * bytes, to, n);
        scale(fft->shape.dtype, to, n * fft->elements, 1.0 / (double)fft->elements);
    }
}

/* ---- execution on all threads ---- */

typedef struct pass {
    loom_fft *fft;
    const char *in;
    char *out;
    const axis *axis;
    double factor; /* 1: no scaling */
} pass;

static void batch_body(void *context, int thread, int64_t from, int64_t to) {
    (void)thread;
    const pass *p = context;
    size_t bytes = (size_t)p->fft->elements * p->fft->api->element;
    loom_fft_strip(p->fft, p->in + (size_t)from * bytes, p->out + (size_t)from * bytes, to - from);
}

static void rows_body(void *context, int thread, int64_t from, int64_t to) {
    (void)thread;
    const pass *p = context;
    loom_fft *rows = p->fft->rows;
    size_t bytes = (size_t)rows->elements * rows->api->element;
    strip_unscaled(rows, p->in + (size_t)from * bytes, p->out + (size_t)from * bytes, to - from);
    if (p->factor != 1) {
        scale(rows->shape.dtype, p->out + (size_t)from * bytes, (to - from) * rows->elements, p->factor);
    }
}

typedef struct pair {
    uint64_t re, im;
} pair; /* a c128 as bits */

/* Rows ahead that are fetched while rows are transposed: memory answers within about as many. */
#define ROWS_AHEAD 24

/* A strip of rows into columns of the scratch, and back; in squares of 8 rows, so that whole cache lines are written.
 * The strip's rows are far apart, which no hardware prefetcher follows. */
#define DEFINE_TRANSPOSE(type)                                                                                         \
    static void gather_##type(const type *from, int64_t row_stride, type *to, int64_t column_stride_, int64_t rows,    \
                              int64_t columns) {                                                                       \
        for (int64_t r = 0; r < rows; r += 8) {                                                                        \
            int64_t end = rows - r < 8 ? rows : r + 8;                                                                 \
            for (int64_t k = r + ROWS_AHEAD; k < end + ROWS_AHEAD && k < rows; k++) {                                  \
                __builtin_prefetch(from + k * row_stride, 0);                                                          \
                __builtin_prefetch(from + k * row_stride + columns - 1, 0);                                            \
            }                                                                                                          \
            for (int64_t c = 0; c < columns; c++) {                                                                    \
                for (int64_t k = r; k < end; k++) to[c * column_stride_ + k] = from[k * row_stride + c];               \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void scatter_##type(const type *from, int64_t column_stride_, type *to, int64_t row_stride, int64_t rows,   \
                               int64_t columns) {                                                                      \
        for (int64_t r = 0; r < rows; r += 8) {                                                                        \
            int64_t end = rows - r < 8 ? rows : r + 8;                                                                 \
            for (int64_t k = r + ROWS_AHEAD; k < end + ROWS_AHEAD && k < rows; k++) {                                  \
                __builtin_prefetch(to + k * row_stride, 1);                                                            \
                __builtin_prefetch(to + k * row_stride + columns - 1, 1);                                              \
            }                                                                                                          \
            for (int64_t k = r; k < end; k++) {                                                                        \
                for (int64_t c = 0; c < columns; c++) to[k * row_stride + c] = from[c * column_stride_ + k];           \
            }                                                                                                          \
        }                                                                                                              \
    }
DEFINE_TRANSPOSE(uint64_t)
DEFINE_TRANSPOSE(pair)

/* Strip number `s` of the axis: strips of one outer index one after the other. */
static void strip_of_columns(const pass *p, char *scratch, int64_t s) {
    const axis *a = p->axis;
    loom_dtype dtype = p->fft->shape.dtype;
    size_t element = p->fft->api->element;
    int64_t strips = (a->inner + a->width - 1) / a->width, stride = column_stride(a->length);
    int64_t first = s % strips * a->width;
    int64_t width = a->inner - first < a->width ? a->inner - first : a->width;
    char *base = p->out + (size_t)(s / strips * a->length * a->inner + first) * element;
    if (dtype == LOOM_C64) {
        gather_uint64_t((const uint64_t *)base, a->inner, (uint64_t *)scratch, stride, a->length, width);
    } else {
        gather_pair((const pair *)base, a->inner, (pair *)scratch, stride, a->length, width);
    }
    /* Out of place, into a second strip: FFTW's in-place plans copy each column once more. */
    char *done = scratch + (size_t)(stride * a->width) * element;
    for (int64_t c = 0; c < width; c++) {
        char *column = done + (size_t)(c * stride) * element;
        strip_unscaled(a->fft, scratch + (size_t)(c * stride) * element, column, 1);
        if (p->factor != 1) scale(dtype, column, a->length, p->factor);
    }
    if (dtype == LOOM_C64) {
        scatter_uint64_t((const uint64_t *)done, stride, (uint64_t *)base, a->inner, a->length, width);
    } else {
        scatter_pair((const pair *)done, stride, (pair *)base, a->inner, a->length, width);
    }
}

static void columns_body(void *context, int thread, int64_t from, int64_t to) {
    const pass *p = context;
    for (int64_t s = from; s < to; s++) strip_of_columns(p, p->fft->owner->scratch[thread], s);
}

static loom_status *grow_scratch(loom_ffts *ffts, size_t bytes) {
    if (bytes <= ffts->scratch_bytes) return NULL;
    size_t rounded = (bytes + 63) / 64 * 64;
    for (int t = 0; t < loom_pool_threads(ffts->pool); t++) {
        free(ffts->scratch[t]);
        ffts->scratch[t] = aligned_alloc(64, rounded);
        ffts->scratch_bytes = 0;
        if (!ffts->scratch[t])
            return loom_error(LOOM_E_MEMORY, "no memory for a Fourier transform: %zu bytes", rounded);
    }
    ffts->scratch_bytes = rounded;
    return NULL;
}

static loom_status *run_large(loom_fft *fft, const void *in, void *out, int64_t batch, const atomic_bool *stop) {
    loom_pool *pool = fft->owner->pool;
    LOOM_TRY(grow_scratch(fft->owner, fft->scratch_bytes));
    loom_fft_expect(fft->rows, batch * (fft->elements / fft->rows->elements));
    for (uint32_t d = 0; d < fft->n_axes; d++)
        loom_fft_expect(fft->axes[d].fft, batch * (fft->elements / fft->axes[d].length));
    double factor = fft->shape.inverse ? 1.0 / (double)fft->elements : 1.0;
    pass p = {.fft = fft, .in = in, .out = out, .factor = fft->n_axes ? 1.0 : factor};
    int64_t grain = RANGE_ELEMENTS / fft->rows->elements;
    loom_pool_for(pool, batch * (fft->elements / fft->rows->elements), grain, stop, rows_body, &p);
    for (uint32_t d = 0; d < fft->n_axes; d++) {
        p.axis = &fft->axes[d];
        p.factor = d + 1 == fft->n_axes ? factor : 1.0;
        int64_t strips = (p.axis->inner + p.axis->width - 1) / p.axis->width;
        grain = RANGE_ELEMENTS / (p.axis->length * p.axis->width);
        loom_pool_for(pool, batch * p.axis->outer * strips, grain, stop, columns_body, &p);
    }
    return NULL;
}

loom_status *loom_fft_run(loom_fft *fft, const void *in, void *out, int64_t batch, const atomic_bool *stop) {
    if (batch <= 0) return NULL;
    if (fft->large) return run_large(fft, in, out, batch, stop);
    loom_fft_expect(fft, batch);
    pass p = {.fft = fft, .in = in, .out = out};
    int64_t grain = RANGE_ELEMENTS / fft->elements;
    loom_pool_for(fft->owner->pool, batch, grain, stop, batch_body, &p);
    return NULL;
}
