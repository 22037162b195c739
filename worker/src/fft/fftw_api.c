#include "fft/fftw_api.h"
#include <fftw3.h>
#include <pthread.h>

/* Planning is not thread-safe in FFTW, in either precision: one lock for both. Destroying counts as planning. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static size_t elements_of(int rank, const int *extents) {
    size_t n = 1;
    for (int d = 0; d < rank; d++) n *= (size_t)extents[d];
    return n;
}

#define DEFINE_API(prefix, precision, real)                                                                            \
    static void *plan_##precision(int rank, const int *extents, int howmany, bool in_place, bool aligned, int sign,    \
                                  bool measured) {                                                                     \
        size_t n = elements_of(rank, extents);                                                                         \
        prefix##_complex *in = prefix##_alloc_complex(n * (size_t)howmany);                                            \
        prefix##_complex *out = in_place ? in : prefix##_alloc_complex(n * (size_t)howmany);                           \
        int dist = howmany > 1 ? (int)n : 0;                                                                           \
        void *plan = NULL;                                                                                             \
        if (in && out) {                                                                                               \
            unsigned flags = (measured ? FFTW_MEASURE : FFTW_ESTIMATE) | (aligned ? 0 : FFTW_UNALIGNED);               \
            pthread_mutex_lock(&planner);                                                                              \
            prefix##_set_timelimit(measured ? LOOM_FFTW_SECONDS : FFTW_NO_TIMELIMIT);                                  \
            plan = prefix##_plan_many_dft(rank, extents, howmany, in, NULL, 1, dist, out, NULL, 1, dist, sign, flags); \
            pthread_mutex_unlock(&planner);                                                                            \
        }                                                                                                              \
        prefix##_free(in);                                                                                             \
        if (!in_place) prefix##_free(out);                                                                             \
        return plan;                                                                                                   \
    }                                                                                                                  \
    static void execute_##precision(void *plan, const void *in, void *out) {                                           \
        /* Complex out-of-place transforms leave their input alone; FFTW's type does not say so. */                    \
        prefix##_execute_dft(plan, (prefix##_complex *)(uintptr_t)in, out);                                            \
    }                                                                                                                  \
    static void destroy_##precision(void *plan) {                                                                      \
        pthread_mutex_lock(&planner);                                                                                  \
        prefix##_destroy_plan(plan);                                                                                   \
        pthread_mutex_unlock(&planner);                                                                                \
    }                                                                                                                  \
    static bool aligned_##precision(const void *data) {                                                                \
        return prefix##_alignment_of((real *)(uintptr_t)data) == 0;                                                    \
    }                                                                                                                  \
    static char *known_##precision(void) {                                                                             \
        pthread_mutex_lock(&planner);                                                                                  \
        char *text = prefix##_export_wisdom_to_string();                                                               \
        pthread_mutex_unlock(&planner);                                                                                \
        return text;                                                                                                   \
    }                                                                                                                  \
    static bool learn_##precision(const char *text) {                                                                  \
        pthread_mutex_lock(&planner);                                                                                  \
        bool learnt = prefix##_import_wisdom_from_string(text);                                                        \
        pthread_mutex_unlock(&planner);                                                                                \
        return learnt;                                                                                                 \
    }                                                                                                                  \
    static const loom_fftw_api api_##precision = {sizeof(prefix##_complex), plan_##precision,    execute_##precision,  \
                                                  destroy_##precision,      aligned_##precision, known_##precision,    \
                                                  learn_##precision,        #precision};

DEFINE_API(fftw, double, double)
DEFINE_API(fftwf, single, float)

const char *loom_fftw_version(void) {
    return fftw_version;
}

const loom_fftw_api *loom_fftw(loom_dtype dtype) {
    return dtype == LOOM_C64 ? &api_single : &api_double;
}
