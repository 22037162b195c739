/* Compile children: exec'd, kept ready, each used for one request. The compiler may crash, loop or eat memory; here
 * that is an error message. Requests beyond the number of children at work wait. Threads: the loop's.
 */
#ifndef LOOM_DAEMON_COMPILE_POOL_H
#define LOOM_DAEMON_COMPILE_POOL_H

#include "common/status.h"
#include <uv.h>

typedef struct loom_compile_pool loom_compile_pool;
typedef struct loom_compile_job loom_compile_job;

typedef struct loom_compile_limits {
    double seconds; /* of wall clock */
    uint64_t cpu_seconds;
    uint64_t memory; /* bytes of address space; 0: none */
    uint64_t reply;  /* bytes of a reply */
} loom_compile_limits;
extern const loom_compile_limits loom_compile_default_limits;

/* Called once, unless cancelled: an error (owned by the callee) or the bytes of a reply (valid during the call). */
typedef void (*loom_compile_done)(void *user, loom_status *error, const void *reply, size_t length);

loom_compile_pool *loom_compile_pool_create(uv_loop_t *loop, const char *program, const loom_compile_limits *limits,
                                            int at_once);
/* Takes `request` (malloc'ed). */
loom_compile_job *loom_compile_pool_submit(loom_compile_pool *pool, char *request, size_t length,
                                           loom_compile_done done, void *user);
void loom_compile_pool_cancel(loom_compile_job *job); /* NULL is fine; kills the child */
/* Kills all children; memory goes when the loop has run the close callbacks. No callback runs any more. */
void loom_compile_pool_destroy(loom_compile_pool *pool);

#endif
