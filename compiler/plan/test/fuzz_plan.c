/* Serialised plans and graphs of stages, as a worker takes them from outside: decode, check, print and encode again.
 * What decodes must encode to the same bytes; what the checker lets through must print. The first byte chooses. */
#include "compiler/plan/plan.h"
#include <stdlib.h>
#include <string.h>

static FILE *nowhere(void) {
    static FILE *to;
    if (!to) to = fopen("/dev/null", "w");
    return to;
}

static loom_status *one_plan(loom_arena *arena, const uint8_t *data, size_t size, char **bytes, size_t *length) {
    loom_plan *plan;
    LOOM_TRY(loom_plan_decode(arena, data, size, &plan));
    loom_status *status = loom_plan_check(plan);
    if (!status) loom_plan_print(plan, nowhere());
    loom_status_free(status);
    return loom_plan_encode(plan, bytes, length);
}

static loom_status *one_graph(loom_arena *arena, const uint8_t *data, size_t size, char **bytes, size_t *length) {
    loom_graph *graph;
    LOOM_TRY(loom_graph_decode(arena, data, size, &graph));
    loom_graph_print(graph, nowhere());
    return loom_graph_encode(graph, bytes, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    char *bytes = NULL;
    size_t length = 0;
    loom_arena *arena = loom_arena_create(64u << 20);
    loom_status *status = data[0] & 1 ? one_graph(arena, data + 1, size - 1, &bytes, &length)
                                      : one_plan(arena, data + 1, size - 1, &bytes, &length);
    if (!status && (length != size - 1 || memcmp(bytes, data + 1, length) != 0)) abort();
    free(bytes);
    loom_status_free(status);
    loom_arena_destroy(arena);
    return 0;
}
