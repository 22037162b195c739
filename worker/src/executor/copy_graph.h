#ifndef LOOM_WORKER_COPY_GRAPH_H
#define LOOM_WORKER_COPY_GRAPH_H

#include "compiler/plan/graph.h"

/* All slots, and `stage` alone as stage 0. In `arena`. */
loom_graph *loom_copy_graph(loom_arena *arena, const loom_graph *graph, uint32_t stage);

#endif
