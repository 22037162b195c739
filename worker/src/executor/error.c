/* Errors that kernels raise: recorded per thread, the least element wins, turned into a status with place and text. */
#include "compiler/ir/trap.h"
#include "executor/engine.h"
#include <inttypes.h>

static bool less(const loom_kernel_error *a, const loom_kernel_error *b) {
    if (a->element != b->element) return a->element < b->element;
    return a->site < b->site;
}

static void raise_error(const loom_kernel_frame *frame, uint32_t site, int64_t element, int64_t a, int64_t b) {
    loom_kernel_error error = {.element = element, .site = site, .raised = 1, .a = a, .b = b};
    if (!frame->error->raised || less(&error, frame->error)) *frame->error = error;
}

/* Stands for a site where a kernel's transform has no plan; the error's `a` is its number. Of no element, and so before
 * all errors that may follow from what it left unwritten. */
#define FFT_SITE UINT32_MAX

static bool has_elements(const loom_engine *engine, uint32_t fft) {
    const loom_plan_fft *f = &engine->plan->ffts[fft];
    for (uint32_t d = 0; d < f->rank; d++) {
        if (engine->extents[f->extents[d]] == 0) return false;
    }
    return true;
}

static void strip_fft(const loom_kernel_frame *frame, uint32_t fft, const void *in, void *out, int64_t batch) {
    const loom_engine *engine = frame->executor;
    if (engine->ffts[fft]) {
        loom_fft_strip(engine->ffts[fft], in, out, batch);
        loom_count_fft(frame->work, engine->ffts[fft], batch);
    } else if (batch > 0 && has_elements(engine, fft)) {
        raise_error(frame, FFT_SITE, -1, fft, 0);
    }
}

/* Why there is no plan: asked again here, where there is one thread. */
static loom_status *fft_failure(loom_engine *engine, uint32_t fft) {
    const loom_plan_fft *f = &engine->plan->ffts[fft];
    for (uint32_t d = 0; d < f->rank; d++) {
        int64_t extent;
        LOOM_TRY(loom_engine_extent(engine, f->extents[d], &extent));
    }
    loom_fft_shape shape;
    loom_fft *made;
    if (loom_engine_fft_shape(engine, fft, &shape)) LOOM_TRY(loom_ffts_get(engine->executor->ffts, &shape, &made));
    return loom_error(LOOM_E_INTERNAL, "a kernel asks for transform %" PRIu32 " before its length is known", fft);
}

const loom_kernel_runtime loom_engine_runtime = {.raise = raise_error, .fft = strip_fft};

bool loom_engine_has_raised(const loom_engine *engine) {
    for (int t = 0; t < engine->n_threads; t++) {
        if (engine->threads[t].error.raised) return true;
    }
    return false;
}

loom_status *loom_engine_raised(loom_engine *engine) {
    loom_kernel_error least = {0};
    for (int t = 0; t < engine->n_threads; t++) {
        loom_kernel_error *e = &engine->threads[t].error;
        if (e->raised && (!least.raised || less(e, &least))) least = *e;
        *e = (loom_kernel_error){0};
    }
    if (!least.raised) return NULL;
    engine->raised_element = least.element;
    if (least.site == FFT_SITE) return fft_failure(engine, (uint32_t)least.a);
    if (least.site >= engine->plan->n_sites) {
        return loom_error(LOOM_E_RUNTIME, "an error at element %" PRId64 " (place %" PRIu32 ")", least.element,
                          least.site);
    }
    const loom_plan_site *site = &engine->plan->sites[least.site];
    return loom_trap_error(site->file, site->span, site->format, site->hint, least.a, least.b);
}
