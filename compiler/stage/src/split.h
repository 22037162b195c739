/* Cuts a program in normal form into stages. */
#ifndef LOOM_STAGE_SPLIT_H
#define LOOM_STAGE_SPLIT_H

#include "compiler/ir/core.h"
#include "compiler/plan/graph.h"

/* p: normal form, one function. On success *staged and *graph, or *staged = NULL with a remark. */
LOOM_MUST_USE loom_status *loom_split(loom_arena *arena, const loom_program *p, loom_program **staged,
                                      loom_graph **graph, const char **remark);
/* One stage that interprets the whole entry (function f of p). */
LOOM_MUST_USE loom_status *loom_split_whole(loom_arena *arena, const loom_program *p, uint32_t f, const char *remark,
                                            loom_program **staged, loom_graph **graph);

#endif
