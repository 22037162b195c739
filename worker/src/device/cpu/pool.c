/* Invariants.
 *
 * `job` is the loop that threads may join; it is set and cleared by the caller under `lock`.
 *
 * A pool thread joins under `lock` (active + 1), takes ranges by adding to job.next, and leaves under `lock` (active
 * less one). The caller clears `job` under `lock` and then waits for active == 0, so no thread touches a loop that has
 * returned, and a thread that wakes late finds no job and sleeps again.
 *
 * `generation` counts loops; a thread joins each generation at most once.
 */
#include "device/cpu/pool.h"
#include "common/buffer.h"
#include "common/limits.h"
#include "device/cpu/machine.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Turns that a thread looks for a new loop before it sleeps: about 20 microseconds, more than passes between two
 * actions of a plan and far less than a time slice. */
#define SPIN_TURNS 2000

typedef struct job {
    int64_t n, grain;
    const atomic_bool *stop;
    loom_pool_body body;
    void *context;
    _Atomic int64_t next;
} job;

typedef struct member {
    loom_pool *pool;
    int number;
    int cpu; /* -1: not pinned */
    pthread_t thread;
} member;

struct loom_pool {
    int threads;
    member *members; /* 1 .. threads - 1 */
    int started;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    job *job;
    atomic_int active; /* changed under `lock` */
    bool closing;
    atomic_uint generation;
};

static void pause_turn(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void run_ranges(job *j, int thread) {
    for (;;) {
        if (j->stop && atomic_load_explicit(j->stop, memory_order_relaxed)) return;
        int64_t from = atomic_fetch_add_explicit(&j->next, j->grain, memory_order_relaxed);
        if (from >= j->n) return;
        int64_t to = j->n - from < j->grain ? j->n : from + j->grain;
        j->body(j->context, thread, from, to);
    }
}

static void pin(int cpu) {
    size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
    cpu_set_t *set = CPU_ALLOC(cpu + 1);
    if (!set) return;
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(cpu, bytes, set);
    /* A processor may have gone away meanwhile; an unpinned thread is slower, not wrong. */
    (void)pthread_setaffinity_np(pthread_self(), bytes, set);
    CPU_FREE(set);
}

/* Waits for a generation other than `seen`; under `lock` on return. */
static void await_work(loom_pool *pool, unsigned seen) {
    for (int turn = 0; turn < SPIN_TURNS; turn++) {
        if (atomic_load_explicit(&pool->generation, memory_order_acquire) != seen) break;
        pause_turn();
    }
    pthread_mutex_lock(&pool->lock);
    while (!pool->closing && atomic_load_explicit(&pool->generation, memory_order_relaxed) == seen) {
        pthread_cond_wait(&pool->work, &pool->lock);
    }
}

static void *member_main(void *argument) {
    member *me = argument;
    loom_pool *pool = me->pool;
    if (me->cpu >= 0) pin(me->cpu);
    unsigned seen = 0;
    for (;;) {
        await_work(pool, seen);
        if (pool->closing) break;
        seen = atomic_load_explicit(&pool->generation, memory_order_relaxed);
        job *j = pool->job;
        if (j) atomic_fetch_add_explicit(&pool->active, 1, memory_order_relaxed);
        pthread_mutex_unlock(&pool->lock);
        if (!j) continue;
        run_ranges(j, me->number);
        pthread_mutex_lock(&pool->lock);
        if (atomic_fetch_sub_explicit(&pool->active, 1, memory_order_release) == 1) pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static loom_status *start_members(loom_pool *pool, const loom_machine *machine) {
    bool pinned = pool->threads == machine->usable && machine->usable == machine->n_cpus;
    for (int i = 1; i < pool->threads; i++) {
        member *m = &pool->members[i];
        *m = (member){.pool = pool, .number = i, .cpu = pinned ? machine->cpus[i % machine->n_cpus] : -1};
        int errnum = pthread_create(&m->thread, NULL, member_main, m);
        if (errnum) return loom_error_errno(LOOM_E_OS, errnum, "cannot start thread %d of %d", i + 1, pool->threads);
        pool->started = i;
    }
    return NULL;
}

loom_status *loom_pool_create(int threads, loom_pool **pool) {
    if (threads < 0 || threads > LOOM_MAX_THREADS) {
        return loom_error(LOOM_E_CONFIG, "%d threads: between 1 and %d are possible (0: all processors)", threads,
                          LOOM_MAX_THREADS);
    }
    loom_machine *machine;
    LOOM_TRY(loom_machine_create(&machine));
    loom_pool *made = loom_xcalloc(1, sizeof *made);
    made->threads = threads ? threads : machine->usable > 0 ? machine->usable : 1;
    made->members = loom_xcalloc((size_t)made->threads, sizeof *made->members);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->work, NULL);
    pthread_cond_init(&made->done, NULL);
    loom_status *status = start_members(made, machine);
    loom_machine_destroy(machine);
    if (status) {
        loom_pool_destroy(made);
        return status;
    }
    *pool = made;
    return NULL;
}

void loom_pool_destroy(loom_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 1; i <= pool->started; i++) pthread_join(pool->members[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool->members);
    free(pool);
}

int loom_pool_threads(const loom_pool *pool) {
    return pool->threads;
}

static void await_done(loom_pool *pool) {
    for (int turn = 0; turn < SPIN_TURNS; turn++) {
        if (atomic_load_explicit(&pool->active, memory_order_acquire) == 0) return;
        pause_turn();
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load_explicit(&pool->active, memory_order_acquire) > 0) pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void loom_pool_for(loom_pool *pool, int64_t n, int64_t grain, const atomic_bool *stop, loom_pool_body body,
                   void *context) {
    if (n <= 0) return;
    if (grain < 1) grain = 1;
    job j = {.n = n, .grain = grain, .stop = stop, .body = body, .context = context};
    if (pool->threads == 1 || n <= grain) {
        run_ranges(&j, 0);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->job = &j;
    atomic_fetch_add_explicit(&pool->generation, 1, memory_order_release);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    run_ranges(&j, 0);
    pthread_mutex_lock(&pool->lock);
    pool->job = NULL;
    pthread_mutex_unlock(&pool->lock);
    await_done(pool);
}
