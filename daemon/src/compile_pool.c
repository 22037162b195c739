/* Invariants: a child is ready (no job), at work (one job) or ending (killed, waiting for its handles to close). A job
 * is waiting in the queue or with one child; one whose child was ended from outside goes back into the queue. A child's
 * memory goes when all its handles are closed; the pool's when the last child is gone after destroy. */
#include "compile_pool.h"
#include "common/buffer.h"
#include "common/log.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

const loom_compile_limits loom_compile_default_limits = {
    .seconds = 300, /* the largest programs compile in seconds; a hundred times that is a loop */
    .cpu_seconds = 300,
    .memory = (uint64_t)8 << 30, /* LLVM on a large region takes some hundred MB */
    .reply = (uint64_t)256 << 20,
};

typedef struct child {
    struct child *next;
    loom_compile_pool *pool;
    loom_compile_job *job;
    uv_process_t process;
    uv_pipe_t input, output;
    uv_timer_t timer;
    uv_write_t write;
    int open_handles;
    bool finishing, ending, spawned;
    loom_buffer reply;
    char head[8]; /* length of the request, little-endian */
} child;

struct loom_compile_job {
    loom_compile_job *next;
    loom_compile_pool *pool;
    child *child;
    char *request;
    size_t length;
    loom_compile_done done;
    void *user;
    int killed;          /* how often its child was ended from outside */
    uint64_t not_before; /* of the loop's clock, ms */
};

struct loom_compile_pool {
    uv_loop_t *loop;
    char *program;
    loom_compile_limits limits;
    int at_once, n_working;
    child *children;
    loom_compile_job *queue, **last;
    uv_timer_t kick; /* starts what waits, outside its submitter */
    bool closing, kick_closed;
};

static void kick(loom_compile_pool *pool);
static void on_kick(uv_timer_t *timer);
static void free_pool_if_done(loom_compile_pool *pool);

/* ---- children ---- */

static void on_handle_closed(uv_handle_t *handle) {
    child *c = handle->data;
    if (--c->open_handles > 0) return;
    loom_compile_pool *pool = c->pool;
    for (child **at = &pool->children; *at; at = &(*at)->next) {
        if (*at != c) continue;
        *at = c->next;
        break;
    }
    loom_buffer_free(&c->reply);
    free(c);
    free_pool_if_done(pool);
}

/* Takes a child down; what it was doing has been settled. */
static void end_child(child *c) {
    if (c->ending) return;
    c->ending = true;
    if (c->spawned) uv_process_kill(&c->process, SIGKILL);
    uv_close((uv_handle_t *)&c->process, on_handle_closed);
    if (!c->finishing) uv_close((uv_handle_t *)&c->input, on_handle_closed);
    uv_close((uv_handle_t *)&c->output, on_handle_closed);
    uv_close((uv_handle_t *)&c->timer, on_handle_closed);
}

/* It has answered: what it does at its end, as looking for leaks, is not cut short, within reason. */
#define FINISH_MS 1000

static void on_timeout(uv_timer_t *timer);

static void finish_child(child *c) {
    c->finishing = true;
    uv_close((uv_handle_t *)&c->input, on_handle_closed);
    uv_timer_start(&c->timer, on_timeout, FINISH_MS, 0);
}

static void settle(child *c, loom_status *error) {
    loom_compile_pool *pool = c->pool;
    loom_compile_job *job = c->job;
    c->job = NULL;
    if (!job) {
        loom_status_free(error);
        end_child(c);
        return;
    }
    pool->n_working--;
    if (error) {
        end_child(c);
        job->done(job->user, error, NULL, 0);
    } else {
        finish_child(c);
        job->done(job->user, NULL, c->reply.data + 8, c->reply.length - 8);
    }
    free(job->request);
    free(job);
    kick(pool);
}

static uint64_t announced(const child *c) {
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--) length = length << 8 | (unsigned char)c->reply.data[i];
    return length;
}

static void on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
    (void)handle;
    *buffer = uv_buf_init(loom_xmalloc(suggested), (unsigned)suggested);
}

static void take_bytes(child *c, const char *bytes, size_t n) {
    loom_buffer_append(&c->reply, bytes, n);
    if (c->ending || c->finishing || c->reply.length < 8) return;
    uint64_t length = announced(c);
    if (length > c->pool->limits.reply || c->reply.length - 8 > length) {
        settle(c, loom_error(LOOM_E_INTERNAL, "the compiler's answer is broken or too long"));
    } else if (c->reply.length - 8 == length) {
        settle(c, NULL);
    }
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer) {
    child *c = stream->data;
    if (n > 0) take_bytes(c, buffer->base, (size_t)n);
    free(buffer->base);
    if (n >= 0 || c->ending || c->finishing) return;
    /* The exit callback tells how it ended; a child that only closed its output is killed for it. */
    uv_read_stop(stream);
    if (c->spawned) uv_process_kill(&c->process, SIGKILL);
}

/* Ended from outside, as by somebody who needs the memory, and not by what it was compiling: worth another try. (One
 * that was killed because it closed its output looks the same.) */
#define KILLED_TRIES    3
#define KILLED_PAUSE_MS 500

static bool ended_from_outside(int signal) {
    return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

static void enqueue(loom_compile_pool *pool, loom_compile_job *job) {
    job->next = NULL;
    *pool->last = job;
    pool->last = &job->next;
    kick(pool);
}

static bool try_again(child *c) {
    loom_compile_job *job = c->job;
    if (!job || c->pool->closing || ++job->killed >= KILLED_TRIES) return false;
    job->not_before = uv_now(c->pool->loop) + KILLED_PAUSE_MS * (uint64_t)job->killed;
    job->child = NULL;
    c->job = NULL;
    c->pool->n_working--;
    end_child(c);
    enqueue(c->pool, job);
    return true;
}

static loom_status *ended_by(int signal) {
    bool outside = ended_from_outside(signal);
    loom_status *error =
        loom_error(outside ? LOOM_E_OS : LOOM_E_INTERNAL, "the compiler process was ended by signal %d (%s)%s", signal,
                   strsignal(signal), outside ? ", each time that it was started" : "");
    if (signal != SIGKILL) return error;
    return loom_status_note(error,
                            "hint: mostly that is the system, out of memory, or a batch job's limit of it; workers "
                            "that take less leave more (--memory)");
}

/* The loop may tell of an exit before it has read what was written ahead of it: with the exit of another child it looks
 * at all of them. */
static void read_rest(child *c) {
    uv_os_fd_t file;
    char bytes[4096];
    ssize_t n;
    if (uv_fileno((uv_handle_t *)&c->output, &file)) return;
    while (!c->ending && !c->finishing && ((n = read(file, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR))) {
        if (n > 0) take_bytes(c, bytes, (size_t)n);
    }
}

static void on_child_exit(uv_process_t *process, int64_t status, int signal) {
    child *c = process->data;
    c->spawned = false;
    if (c->ending) return;
    if (c->job) read_rest(c);
    if (c->ending) return;
    if (c->finishing) {
        end_child(c);
        return;
    }
    if (ended_from_outside(signal) && try_again(c)) return;
    loom_status *error;
    if (signal == SIGXCPU) {
        error = loom_error(LOOM_E_LIMIT, "compiling took more than %llu seconds of processor time",
                           (unsigned long long)c->pool->limits.cpu_seconds);
    } else if (signal) {
        error = ended_by(signal);
    } else {
        error = loom_error(LOOM_E_INTERNAL, "the compiler process ended with status %lld and without an answer",
                           (long long)status);
    }
    settle(c, error);
}

static void on_timeout(uv_timer_t *timer) {
    child *c = timer->data;
    if (c->finishing) {
        end_child(c);
        return;
    }
    settle(c, loom_error(LOOM_E_LIMIT, "compiling took more than %.0f seconds", c->pool->limits.seconds));
}

static loom_status *limit(int pid, int what, uint64_t value) {
    /* At its soft limit of processor time a process gets SIGXCPU, at the hard one, a second later, SIGKILL. */
    struct rlimit r = {.rlim_cur = value, .rlim_max = what == RLIMIT_CPU ? value + 1 : value}, now;
    /* What may not be raised is lower already. */
    if (prlimit(pid, what, NULL, &now) == 0 && now.rlim_max < value) r = (struct rlimit){now.rlim_max, now.rlim_max};
    if (prlimit(pid, what, &r, NULL) == 0) return NULL;
    return loom_error_errno(LOOM_E_OS, errno, "cannot limit the compiler process");
}

/* The child reads its request before anything else, so limits set now hold for all of its work. */
static loom_status *set_limits(child *c) {
    const loom_compile_limits *l = &c->pool->limits;
    int pid = uv_process_get_pid(&c->process);
    LOOM_TRY(limit(pid, RLIMIT_CORE, 0));
    LOOM_TRY(limit(pid, RLIMIT_CPU, l->cpu_seconds));
#if !defined(__has_feature) || !(__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
    if (l->memory) LOOM_TRY(limit(pid, RLIMIT_AS, l->memory)); /* sanitizers reserve terabytes */
#endif
    return NULL;
}

static child *spawn(loom_compile_pool *pool, loom_status **error) {
    child *c = loom_xcalloc(1, sizeof *c);
    c->pool = pool;
    c->process.data = c->input.data = c->output.data = c->timer.data = c->write.data = c;
    uv_pipe_init(pool->loop, &c->input, 0);
    uv_pipe_init(pool->loop, &c->output, 0);
    uv_timer_init(pool->loop, &c->timer);
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&c->input},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->output},
        {.flags = UV_INHERIT_FD, .data.fd = 2},
    };
    char *arguments[] = {pool->program, NULL};
    uv_process_options_t options = {
        .file = pool->program, .args = arguments, .stdio = stdio, .stdio_count = 3, .exit_cb = on_child_exit};
    int rc = uv_spawn(pool->loop, &c->process, &options);
    c->open_handles = 4;
    c->next = pool->children;
    pool->children = c;
    if (rc < 0) {
        *error = loom_error(LOOM_E_OS, "cannot start %s: %s", pool->program, uv_strerror(rc));
        end_child(c);
        return NULL;
    }
    c->spawned = true;
    if ((*error = set_limits(c))) {
        end_child(c);
        return NULL;
    }
    uv_read_start((uv_stream_t *)&c->output, on_allocate, on_read);
    return c;
}

static child *ready_child(loom_compile_pool *pool) {
    for (child *c = pool->children; c; c = c->next) {
        if (!c->job && !c->ending && !c->finishing) return c;
    }
    return NULL;
}

/* ---- jobs ---- */

static void on_written(uv_write_t *write, int status) {
    (void)write;
    (void)status; /* a child that does not read ends, and its exit is what is told */
}

static void give(child *c, loom_compile_job *job) {
    c->job = job;
    job->child = c;
    c->pool->n_working++;
    for (int i = 0; i < 8; i++) c->head[i] = (char)(job->length >> 8 * i);
    uv_buf_t buffers[2] = {uv_buf_init(c->head, 8), uv_buf_init(job->request, (unsigned)job->length)};
    uv_write(&c->write, (uv_stream_t *)&c->input, buffers, 2, on_written);
    uv_timer_start(&c->timer, on_timeout, (uint64_t)(c->pool->limits.seconds * 1000), 0);
}

static void dequeue(loom_compile_pool *pool, loom_compile_job *job) {
    for (loom_compile_job **at = &pool->queue; *at; at = &(*at)->next) {
        if (*at != job) continue;
        *at = job->next;
        if (!*at) pool->last = at;
        return;
    }
}

/* The first that need not pause; where all do, the kick comes when the first of them is over. */
static loom_compile_job *first_due(loom_compile_pool *pool) {
    uint64_t now = uv_now(pool->loop), soonest = UINT64_MAX;
    for (loom_compile_job *job = pool->queue; job; job = job->next) {
        if (job->not_before <= now) return job;
        if (job->not_before < soonest) soonest = job->not_before;
    }
    if (pool->queue) uv_timer_start(&pool->kick, on_kick, soonest - now, 0);
    return NULL;
}

static void start_next(loom_compile_pool *pool) {
    loom_compile_job *job;
    while (!pool->closing && pool->n_working < pool->at_once && (job = first_due(pool))) {
        loom_status *error = NULL;
        child *c = ready_child(pool);
        if (!c) c = spawn(pool, &error);
        dequeue(pool, job);
        if (c) {
            give(c, job);
        } else {
            job->done(job->user, error, NULL, 0);
            free(job->request);
            free(job);
        }
    }
    if (!pool->closing && !ready_child(pool)) {
        loom_status *error = NULL;
        spawn(pool, &error); /* one kept ready; where that fails the next job says so */
        loom_status_free(error);
    }
}

static void on_kick(uv_timer_t *timer) {
    start_next(timer->data);
}

static void kick(loom_compile_pool *pool) {
    if (!pool->closing) uv_timer_start(&pool->kick, on_kick, 0, 0);
}

loom_compile_pool *loom_compile_pool_create(uv_loop_t *loop, const char *program, const loom_compile_limits *limits,
                                            int at_once) {
    loom_compile_pool *pool = loom_xcalloc(1, sizeof *pool);
    *pool = (loom_compile_pool){.loop = loop, .program = loom_xstrdup(program), .limits = *limits, .at_once = at_once};
    pool->last = &pool->queue;
    uv_timer_init(loop, &pool->kick);
    pool->kick.data = pool;
    kick(pool);
    return pool;
}

loom_compile_job *loom_compile_pool_submit(loom_compile_pool *pool, char *request, size_t length,
                                           loom_compile_done done, void *user) {
    loom_compile_job *job = loom_xcalloc(1, sizeof *job);
    *job = (loom_compile_job){.pool = pool, .request = request, .length = length, .done = done, .user = user};
    enqueue(pool, job);
    return job;
}

void loom_compile_pool_cancel(loom_compile_job *job) {
    if (!job) return;
    loom_compile_pool *pool = job->pool;
    if (job->child) {
        child *c = job->child;
        c->job = NULL;
        pool->n_working--;
        /* The request may still be in the pipe's hands: it goes with the child's handles. */
        end_child(c);
    } else {
        dequeue(pool, job);
    }
    free(job->request);
    free(job);
    kick(pool);
}

static void free_pool_if_done(loom_compile_pool *pool) {
    if (!pool->kick_closed || pool->children) return;
    free(pool->program);
    free(pool);
}

static void on_kick_closed(uv_handle_t *handle) {
    loom_compile_pool *pool = handle->data;
    pool->kick_closed = true;
    free_pool_if_done(pool);
}

void loom_compile_pool_destroy(loom_compile_pool *pool) {
    if (!pool) return;
    pool->closing = true;
    while (pool->queue) {
        loom_compile_job *job = pool->queue;
        pool->queue = job->next;
        free(job->request);
        free(job);
    }
    for (child *c = pool->children; c; c = c->next) {
        if (c->job) {
            free(c->job->request);
            free(c->job);
            c->job = NULL;
        }
        if (!c->finishing) end_child(c);
    }
    uv_close((uv_handle_t *)&pool->kick, on_kick_closed);
}
