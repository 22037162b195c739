/* Work on whole buffers that needs no plan: fill, copy, combine. Split over the threads where that pays. */
#include "executor/engine.h"
#include <string.h>

/* Bytes per range: a few tens of microseconds of memory traffic. A single range wakes no other thread. */
#define RANGE_BYTES ((int64_t)1 << 20)

typedef struct fill_job {
    loom_dtype dtype;
    size_t size;
    unsigned char element[16];
    char *to;
} fill_job;

static void fill_body(void *context, int thread, int64_t from, int64_t to) {
    (void)thread;
    const fill_job *f = context;
    char *at = f->to + (size_t)from * f->size;
    size_t bytes = (size_t)(to - from) * f->size;
    if (bytes == 0) return;
    /* Doubling what is there already: any element size, at the speed of memcpy. */
    memcpy(at, f->element, f->size);
    size_t block = bytes < 32768 ? bytes : 32768 / f->size * f->size, done = f->size;
    while (done < block) {
        size_t more = done < block - done ? done : block - done;
        memcpy(at + done, at, more);
        done += more;
    }
    for (; done < bytes; done += block) memcpy(at + done, at, bytes - done < block ? bytes - done : block);
}

static void zero_body(void *context, int thread, int64_t from, int64_t to) {
    (void)thread;
    const fill_job *f = context;
    memset(f->to + (size_t)from * f->size, f->element[0], (size_t)(to - from) * f->size);
}

void loom_engine_fill(loom_executor *executor, loom_dtype dtype, loom_scalar value, void *data, int64_t elements) {
    fill_job f = {.dtype = dtype, .size = loom_dtype_size(dtype), .to = data};
    loom_scalar_store(dtype, value, f.element);
    bool uniform = true;
    for (size_t i = 1; i < f.size; i++) uniform = uniform && f.element[i] == f.element[0];
    loom_pool_for(executor->pool, elements, RANGE_BYTES / (int64_t)f.size, NULL, uniform ? zero_body : fill_body, &f);
}

typedef struct copy_job {
    const char *from;
    char *to;
} copy_job;

static void copy_body(void *context, int thread, int64_t from, int64_t to) {
    (void)thread;
    const copy_job *c = context;
    memcpy(c->to + from, c->from + from, (size_t)(to - from));
}

void loom_engine_copy(loom_executor *executor, const void *from, void *to, uint64_t bytes) {
    copy_job c = {.from = from, .to = to};
    loom_pool_for(executor->pool, (int64_t)bytes, RANGE_BYTES, NULL, copy_body, &c);
}

typedef struct combine_job {
    loom_engine *engine;
    loom_kernel_combine combine;
    void *const *into, *const *from;
} combine_job;

static void combine_body(void *context, int thread, int64_t from, int64_t to) {
    const combine_job *c = context;
    c->combine(&c->engine->threads[thread].frame, c->into, c->from, from, to);
}

void loom_engine_combine(loom_engine *engine, uint32_t kernel, void *const *into, void *const *from, int64_t elements) {
    combine_job c = {.engine = engine, .into = into, .from = from};
    c.combine = (loom_kernel_combine)(uintptr_t)engine->kernels[kernel];
    loom_pool_for(engine->executor->pool, elements, RANGE_BYTES / 16, NULL, combine_body, &c);
}
