/* Arena: memory that is freed at once. One arena per compile request, a scratch arena per pass; nothing in an IR is
 * freed by hand.
 *
 * Threads: an arena belongs to one thread at a time. Memory is zeroed and aligned to 16 bytes.
 * Limit: an arena has a budget in bytes. Allocation never returns NULL: when the budget or the machine's memory is out
 * control returns to the guard set by LOOM_ARENA_GUARD (longjmp), or, where none is set, the process ends with a
 * message. Functions that enter with an arena from outside (decode, check, compile) set a guard and return
 * LOOM_E_LIMIT.
 */
#ifndef LOOM_COMMON_ARENA_H
#define LOOM_COMMON_ARENA_H

#include "common/status.h"
#include <setjmp.h>
#include <stdbool.h>

typedef struct loom_arena loom_arena;

loom_arena *loom_arena_create(
    size_t budget);                         /* 0: no budget. Aborts with a message if even the header cannot be had. */
void loom_arena_destroy(loom_arena *arena); /* NULL is fine */
void *loom_arena_alloc(loom_arena *arena, size_t bytes);
/* count * size with overflow check. */
void *loom_arena_array(loom_arena *arena, size_t count, size_t size);
/* Grows an array: copies old_count elements into a new block of new_count. */
void *loom_arena_grow(loom_arena *arena, const void *old, size_t old_count, size_t new_count, size_t size);
char *loom_arena_strdup(loom_arena *arena, const char *text);
char *loom_arena_strndup(loom_arena *arena, const char *text, size_t length);
char *loom_arena_printf(loom_arena *arena, const char *format, ...) LOOM_PRINTF(2, 3);
size_t loom_arena_used(const loom_arena *arena);

/* Where exhaustion lands. Returns the previous guard, to be put back. */
jmp_buf *loom_arena_set_guard(loom_arena *arena, jmp_buf *guard);
/* What f gives; where the arena is exhausted in it, LOOM_E_LIMIT with this message. */
LOOM_MUST_USE loom_status *loom_arena_guarded(loom_arena *arena, loom_status *(*f)(void *context), void *context,
                                              const char *message);

#define LOOM_NEW(arena, type)              ((type *)loom_arena_alloc((arena), sizeof(type)))
#define LOOM_NEW_ARRAY(arena, type, count) ((type *)loom_arena_array((arena), (count), sizeof(type)))

/* Growing vector in an arena: `LOOM_VEC(int) v = {0}; LOOM_PUSH(arena, v, 3);` */
#define LOOM_VEC(type)                                                                                                 \
    struct {                                                                                                           \
        type *at;                                                                                                      \
        size_t count, capacity;                                                                                        \
    }
#define LOOM_PUSH(arena, vec, value)                                                                                   \
    do {                                                                                                               \
        if ((vec).count == (vec).capacity) {                                                                           \
            size_t loom_cap_ = (vec).capacity ? 2 * (vec).capacity : 8;                                                \
            (vec).at = loom_arena_grow((arena), (vec).at, (vec).count, loom_cap_, sizeof *(vec).at);                   \
            (vec).capacity = loom_cap_;                                                                                \
        }                                                                                                              \
        (vec).at[(vec).count++] = (value);                                                                             \
    } while (0)

#endif
