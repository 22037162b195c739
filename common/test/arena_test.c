#include "common/arena.h"
#include "loom_test.h"

LOOM_TEST(arena, gives_zeroed_aligned_memory) {
    loom_arena *arena = loom_arena_create(0);
    for (size_t n = 0; n < 3000; n += 7) {
        unsigned char *at = loom_arena_alloc(arena, n);
        LOOM_CHECK_EQ_INT((uintptr_t)at % 16, 0);
        for (size_t i = 0; i < n; i++) LOOM_CHECK_EQ_INT(at[i], 0);
        memset(at, 0xff, n);
    }
    loom_arena_destroy(arena);
    loom_arena_destroy(NULL);
}

/* Every piece is filled with its number and read again at the end: overlaps would show. */
LOOM_TEST(arena, pieces_do_not_overlap) {
    enum {
        PIECES = 400
    };
    loom_arena *arena = loom_arena_create(0);
    unsigned char *at[PIECES];
    size_t size[PIECES];
    for (int i = 0; i < PIECES; i++) {
        size[i] = i % 50 == 49 ? (size_t)5 << 20 : (size_t)(i * 37 % 6000 + 1);
        at[i] = loom_arena_alloc(arena, size[i]);
        memset(at[i], i % 251, size[i]);
    }
    for (int i = 0; i < PIECES; i++) {
        LOOM_CHECK_EQ_INT(at[i][0], i % 251);
        LOOM_CHECK_EQ_INT(at[i][size[i] / 2], i % 251);
        LOOM_CHECK_EQ_INT(at[i][size[i] - 1], i % 251);
    }
    loom_arena_destroy(arena);
}

LOOM_TEST(arena, counts_what_it_gave) {
    loom_arena *arena = loom_arena_create(0);
    LOOM_CHECK_EQ_INT(loom_arena_used(arena), 0);
    loom_arena_alloc(arena, 1);
    LOOM_CHECK_EQ_INT(loom_arena_used(arena), 16);
    loom_arena_alloc(arena, 17);
    LOOM_CHECK_EQ_INT(loom_arena_used(arena), 48);
    loom_arena_alloc(arena, (size_t)8 << 20);
    LOOM_CHECK_EQ_INT(loom_arena_used(arena), 48 + (8 << 20));
    loom_arena_destroy(arena);
}

LOOM_TEST(arena, text) {
    loom_arena *arena = loom_arena_create(0);
    LOOM_CHECK_STR(loom_arena_strdup(arena, "grid"), "grid");
    LOOM_CHECK_STR(loom_arena_strndup(arena, "gridloom", 4), "grid");
    LOOM_CHECK_STR(loom_arena_printf(arena, "%d of %s", 3, "four"), "3 of four");
    loom_arena_destroy(arena);
}

LOOM_TEST(arena, vector_grows) {
    loom_arena *arena = loom_arena_create(0);
    LOOM_VEC(int) v = {0};
    for (int i = 0; i < 1000; i++) LOOM_PUSH(arena, v, i * i);
    LOOM_CHECK_EQ_INT(v.count, 1000);
    for (int i = 0; i < 1000; i++) LOOM_CHECK_EQ_INT(v.at[i], i * i);
    loom_arena_destroy(arena);
}

/* Whether allocating comes back through the guard. */
static bool exhausts(loom_arena *arena, size_t count, size_t size) {
    jmp_buf guard;
    if (setjmp(guard)) {
        loom_arena_set_guard(arena, NULL);
        return true;
    }
    loom_arena_set_guard(arena, &guard);
    loom_arena_array(arena, count, size);
    loom_arena_set_guard(arena, NULL);
    return false;
}

LOOM_TEST(arena, budget_ends_at_the_guard) {
    loom_arena *arena = loom_arena_create(1000);
    LOOM_CHECK(!exhausts(arena, 1, 496));
    LOOM_CHECK(exhausts(arena, 1, 497));
    LOOM_CHECK_EQ_INT(loom_arena_used(arena), 496);
    LOOM_CHECK(!exhausts(arena, 1, 496));
    LOOM_CHECK(exhausts(arena, 1, 16));
    loom_arena_destroy(arena);
}

LOOM_TEST(arena, absurd_sizes_end_at_the_guard) {
    loom_arena *arena = loom_arena_create(0);
    LOOM_CHECK(exhausts(arena, SIZE_MAX, 2));
    LOOM_CHECK(exhausts(arena, 1, SIZE_MAX));
    LOOM_CHECK(exhausts(arena, 1, SIZE_MAX - 16));
#if !LOOM_TEST_SANITIZED /* which take such a request for a defect */
    LOOM_CHECK(exhausts(arena, (size_t)1 << 62, 1));
#endif
    LOOM_CHECK(!exhausts(arena, 1, 16));
    loom_arena_destroy(arena);
}

LOOM_TEST(arena, set_guard_returns_the_previous) {
    loom_arena *arena = loom_arena_create(0);
    jmp_buf a, b;
    LOOM_CHECK(loom_arena_set_guard(arena, &a) == NULL);
    LOOM_CHECK(loom_arena_set_guard(arena, &b) == &a);
    LOOM_CHECK(loom_arena_set_guard(arena, NULL) == &b);
    loom_arena_destroy(arena);
}
