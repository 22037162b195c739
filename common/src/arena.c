/* An arena is a chain of blocks, the newest first; each is at least twice as large as the one before, up to a limit, so
 * that a small scratch arena costs one page and a large one few calls. Blocks come zeroed from calloc, which for large
 * ones is free: memory that is not used is not touched. */
#include "common/arena.h"
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = 16,
    FIRST_BLOCK = 4096,
    LARGEST_BLOCK = 4 << 20, /* beyond this, doubling wastes more than the calls cost */
};

typedef struct block {
    struct block *next;
    size_t used, size; /* of what follows the header */
} block;

_Static_assert(sizeof(block) % 8 == 0, "the header keeps payloads aligned");

struct loom_arena {
    block *head;
    size_t budget; /* SIZE_MAX: none */
    size_t used;   /* bytes handed out, rounded to ALIGNMENT */
    size_t next_size;
    jmp_buf *guard;
};

/* Payload begins at the first aligned place behind the header. */
static char *payload(block *b) {
    return (char *)b + ((sizeof *b + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
}

static _Noreturn void exhausted(loom_arena *arena, size_t bytes) {
    if (arena->guard) longjmp(*arena->guard, 1);
    fprintf(stderr, "out of memory: an arena with %zu bytes in use cannot give %zu more\n", arena->used, bytes);
    abort();
}

loom_arena *loom_arena_create(size_t budget) {
    loom_arena *arena = calloc(1, sizeof *arena);
    if (!arena) {
        fprintf(stderr, "out of memory: no room for an arena\n");
        abort();
    }
    arena->budget = budget ? budget : SIZE_MAX;
    arena->next_size = FIRST_BLOCK;
    return arena;
}

void loom_arena_destroy(loom_arena *arena) {
    if (!arena) return;
    for (block *b = arena->head; b;) {
        block *next = b->next;
        free(b);
        b = next;
    }
    free(arena);
}

static void add_block(loom_arena *arena, size_t bytes) {
    size_t size = arena->next_size;
    if (size < bytes) size = bytes;
    block *b = size <= SIZE_MAX - sizeof *b - ALIGNMENT ? calloc(1, sizeof *b + ALIGNMENT + size) : NULL;
    if (!b) exhausted(arena, bytes);
    b->size = size;
    /* A block for one large array goes behind the head, whose free room stays in use. */
    if (bytes > LARGEST_BLOCK && arena->head) {
        b->next = arena->head->next;
        arena->head->next = b;
        b->used = bytes;
        return;
    }
    b->next = arena->head;
    arena->head = b;
    if (arena->next_size < LARGEST_BLOCK) arena->next_size *= 2;
}

void *loom_arena_alloc(loom_arena *arena, size_t bytes) {
    if (bytes > SIZE_MAX - ALIGNMENT) exhausted(arena, bytes);
    /* An empty request still gets an address of its own. */
    size_t rounded = ((bytes ? bytes : 1) + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (rounded > arena->budget - arena->used) exhausted(arena, bytes);
    block *b = arena->head;
    if (!b || b->size - b->used < rounded) {
        add_block(arena, rounded);
        if (arena->head == b) { /* put behind the head, in full use */
            arena->used += rounded;
            return payload(b->next);
        }
        b = arena->head;
    }
    void *at = payload(b) + b->used;
    b->used += rounded;
    arena->used += rounded;
    return at;
}

void *loom_arena_array(loom_arena *arena, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) exhausted(arena, SIZE_MAX);
    return loom_arena_alloc(arena, bytes);
}

void *loom_arena_grow(loom_arena *arena, const void *old, size_t old_count, size_t new_count, size_t size) {
    void *grown = loom_arena_array(arena, new_count, size);
    if (old_count > new_count) old_count = new_count;
    if (old_count) memcpy(grown, old, old_count * size);
    return grown;
}

char *loom_arena_strndup(loom_arena *arena, const char *text, size_t length) {
    if (length == SIZE_MAX) exhausted(arena, length);
    char *copy = loom_arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *loom_arena_strdup(loom_arena *arena, const char *text) {
    return loom_arena_strndup(arena, text, strlen(text));
}

char *loom_arena_printf(loom_arena *arena, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = NULL;
    if (length >= 0) {
        /* The guard may jump over the va_end below; on our platforms it does nothing. */
        text = loom_arena_alloc(arena, (size_t)length + 1);
        vsnprintf(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    if (!text) exhausted(arena, 0);
    return text;
}

size_t loom_arena_used(const loom_arena *arena) {
    return arena->used;
}

jmp_buf *loom_arena_set_guard(loom_arena *arena, jmp_buf *guard) {
    jmp_buf *previous = arena->guard;
    arena->guard = guard;
    return previous;
}

loom_status *loom_arena_guarded(loom_arena *arena, loom_status *(*f)(void *context), void *context,
                                const char *message) {
    jmp_buf guard;
    jmp_buf *outer = loom_arena_set_guard(arena, &guard);
    loom_status *status = setjmp(guard) ? loom_error(LOOM_E_LIMIT, "%s", message) : f(context);
    loom_arena_set_guard(arena, outer);
    return status;
}
