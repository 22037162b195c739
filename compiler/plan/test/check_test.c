/* What the checker of plans refuses. */
#include "loom_test.h"
#include "sample_plan.h"

/* Changes one thing of the sample plan and expects refusal. */
#define REFUSED(change)                                                                                                \
    do {                                                                                                               \
        loom_arena *arena = loom_arena_create(0);                                                                      \
        loom_plan *p = sample_plan(arena);                                                                             \
        loom_plan_action *actions = loom_arena_grow(arena, p->actions, p->n_actions, p->n_actions, sizeof *actions);   \
        loom_plan_buffer *buffers = loom_arena_grow(arena, p->buffers, p->n_buffers, p->n_buffers, sizeof *buffers);   \
        loom_plan_output *outputs = loom_arena_grow(arena, p->outputs, p->n_outputs, p->n_outputs, sizeof *outputs);   \
        p->actions = actions;                                                                                          \
        p->buffers = buffers;                                                                                          \
        p->outputs = outputs;                                                                                          \
        LOOM_OK(loom_plan_check(p));                                                                                   \
        change;                                                                                                        \
        LOOM_FAILS(loom_plan_check(p), LOOM_E_DATA);                                                                   \
        loom_arena_destroy(arena);                                                                                     \
    } while (0)

LOOM_TEST(plan_check, indices) {
    REFUSED(actions[0].buffer = 4);
    REFUSED(actions[1].kernel = 5);
    REFUSED(actions[1].extent = 3);
    REFUSED(actions[4].fft = 1);
    REFUSED(p->chunk_begin = 8);
    REFUSED(outputs[0].combine = 17);
}

LOOM_TEST(plan_check, life_of_buffers) {
    REFUSED(actions[2].buffer = 1);  /* allocated twice, and buffer 3 never */
    REFUSED(actions[6].buffer = 1);  /* an output is freed */
    REFUSED(actions[0].buffer = 0);  /* columns are not allocated */
    REFUSED(actions[4].buffer2 = 2); /* fft between unlike buffers */
    REFUSED(outputs[1].buffers = outputs[0].buffers);
}

LOOM_TEST(plan_check, nesting) {
    REFUSED(actions[1].n_inner = 1);
    REFUSED(
        (actions[3] = (loom_plan_action){.kind = LOOM_ACT_LOOP, .extent = 1, .buffer = LOOM_NO_EXTENT, .n_inner = 4}));
    REFUSED((actions[3] = (loom_plan_action){.kind = LOOM_ACT_BREAK, .buffer = 1}));
}
