#include "device/cpu/machine.h"
#include "device/cpu/memory.h"
#include "loom_test.h"

LOOM_TEST(memory, blocks_are_aligned_and_counted) {
    loom_memory *memory = loom_memory_create(64 << 20);
    static const uint64_t sizes[] = {0, 1, 63, 64, 65, 4096, 1 << 20, (2 << 20) - 1, 2 << 20, (5 << 20) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        loom_block block;
        LOOM_OK(loom_memory_take(memory, sizes[i], "a test", &block));
        LOOM_CHECK_EQ_INT((uintptr_t)block.data % 64, 0);
        LOOM_CHECK(block.bytes >= sizes[i]);
        LOOM_CHECK_EQ_INT(loom_memory_used(memory), block.bytes);
        for (uint64_t k = 0; block.fresh && k < sizes[i]; k++) LOOM_CHECK_EQ_INT(((char *)block.data)[k], 0);
        memset(block.data, 1, sizes[i]);
        loom_memory_give(memory, &block);
        LOOM_CHECK(block.data == NULL);
        LOOM_CHECK_EQ_INT(loom_memory_used(memory), 0);
    }
    loom_memory_unref(memory);
}

LOOM_TEST(memory, a_block_is_fresh_once) {
    loom_memory *memory = loom_memory_create(64 << 20);
    loom_block a, b;
    LOOM_OK(loom_memory_take(memory, 5 << 20, "a test", &a));
    LOOM_CHECK(a.fresh);
    void *data = a.data;
    memset(a.data, 7, 5 << 20);
    loom_memory_give(memory, &a);
    LOOM_OK(loom_memory_take(memory, 9 << 19, "a test", &b));
    LOOM_CHECK(b.data == data);
    LOOM_CHECK(!b.fresh);
    loom_memory_give(memory, &b);
    loom_memory_unref(memory);
}

LOOM_TEST(memory, refuses_what_exceeds_the_budget_and_says_how_much) {
    loom_memory *memory = loom_memory_create(10 << 20);
    loom_block a, b = {0};
    LOOM_OK(loom_memory_take(memory, 6 << 20, "the first", &a));
    loom_status *status = loom_memory_take(memory, 6 << 20, "the grid", &b);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_MEMORY);
    LOOM_CHECK_STR(loom_status_message(status),
                   "the grid needs 6.0 MiB; 6.0 MiB of the 10.0 MiB that this worker may use are taken");
    loom_status_free(status);
    LOOM_CHECK(b.data == NULL);
    /* Kept blocks make way. */
    loom_memory_give(memory, &a);
    LOOM_OK(loom_memory_take(memory, 9 << 20, "the grid", &b));
    loom_memory_give(memory, &b);
    LOOM_FAILS(loom_memory_take(memory, UINT64_MAX, "everything", &b), LOOM_E_LIMIT);
    loom_memory_unref(memory);
}

typedef struct lender {
    loom_memory *memory;
    uint64_t lent, asked;
} lender;

/* Gives back four MiB at a time, as what is kept comes in pieces. */
static void give_back(void *context, uint64_t bytes) {
    lender *l = context;
    l->asked += bytes;
    for (uint64_t piece = 4 << 20; bytes && l->lent; bytes -= bytes < piece ? bytes : piece) {
        l->lent -= piece;
        loom_memory_return(l->memory, piece);
    }
}

LOOM_TEST(memory, what_is_lent_makes_way) {
    loom_memory *memory = loom_memory_create(20 << 20);
    LOOM_CHECK(!loom_memory_lend(memory, 1));
    lender l = {.memory = memory};
    loom_memory_set_reclaim(memory, give_back, &l);
    for (int i = 0; i < 4; i++) {
        LOOM_CHECK(loom_memory_lend(memory, 4 << 20));
        l.lent += 4 << 20;
    }
    LOOM_CHECK(!loom_memory_lend(memory, 5 << 20));
    LOOM_CHECK_EQ_INT(loom_memory_used(memory), 0);
    loom_block a, b;
    LOOM_OK(loom_memory_take(memory, 4 << 20, "what fits beside it", &a));
    LOOM_CHECK_EQ_INT(l.asked, 0);
    LOOM_OK(loom_memory_take(memory, 6 << 20, "what does not", &b));
    LOOM_CHECK_EQ_INT(l.asked, 6 << 20);
    LOOM_CHECK_EQ_INT(l.lent, 8 << 20);
    LOOM_CHECK(!loom_memory_lend(memory, 4 << 20));
    /* What would not fit without it either is refused, and said to be so. */
    loom_block c;
    LOOM_FAILS(loom_memory_take(memory, 12 << 20, "too much", &c), LOOM_E_MEMORY);
    loom_memory_give(memory, &a);
    loom_memory_give(memory, &b);
    loom_memory_unref(memory);
}

LOOM_TEST(machine, has_processors_and_memory) {
    loom_machine *machine;
    LOOM_OK(loom_machine_create(&machine));
    LOOM_CHECK(machine->n_cpus >= 1);
    LOOM_CHECK(machine->usable >= 1 && machine->usable <= machine->n_cpus);
    loom_machine_destroy(machine);
    LOOM_CHECK(loom_machine_memory() > 1 << 20);
}
