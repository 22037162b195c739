/* From a stage to its scheduled lifted IR: the passes that need no LLVM, for the compiler and for those who explain
 * what it does. Threads: a call uses only its arena. */
#ifndef LOOM_COMPILER_SCHEDULE_LIFTING_H
#define LOOM_COMPILER_SCHEDULE_LIFTING_H

#include "compiler/vectorise/vectorise.h"
#include "compiler/vectorise/versions.h"

typedef enum loom_pass {
    LOOM_PASS_VECTORISE,
    LOOM_PASS_FUSE,
    LOOM_PASS_SCHEDULE,
    LOOM_PASS_CODEGEN
} loom_pass;

/* Expressions of a stage. What LLVM does with one function grows faster than the function: this many take half a
 * minute, and the largest programs of ours have some thousands. */
#define LOOM_PASSES_MAX_EXPRS 100000u

/* Runs the passes up to `last`, or all of these. *lifted is NULL and *remark set where the stage is not vectorised.
 * `check`: checkers after each pass. */
LOOM_MUST_USE loom_status *loom_lifting(loom_arena *arena, const loom_vectorise_request *request, loom_pass last,
                                        bool check, loom_lifted **lifted, const char **remark);

/* What loom_lifting does first: the staged program with the calls of lifted functions in the request's stage decided,
 * as its shapes say. Where the versions cannot be vectorised and their functions' bodies perhaps can, these are taken.
 */
LOOM_MUST_USE loom_status *loom_lifting_versions(loom_arena *arena, const loom_vectorise_request *request,
                                                 loom_program **chosen, loom_version_notes *notes);

/* Expressions of a stage up to which code is made twice where rows may turn out to be of one length. */
#define LOOM_TESTED_MAX_EXPRS 8000u

/* The same passes over the same stage for rows that a test finds to be of one length, where that leaves at most half of
 * the operations over rows that differ: else it is not worth code of its own. `lifted` is what loom_lifting made.
 * *tested: NULL where it does not, or where the stage is too large, which *remark then says. */
LOOM_MUST_USE loom_status *loom_lifting_tested(loom_arena *arena, const loom_vectorise_request *request, loom_pass last,
                                               bool check, const loom_lifted *lifted, loom_lifted **tested,
                                               const char **remark);

/* Operations over rows that differ in length. */
uint32_t loom_lifting_irregular(const loom_lifted *lifted);

/* What is assumed where no data is at hand. */
typedef struct loom_lifting_sizes {
    int64_t extent; /* of levels that types leave open */
    bool irregular; /* rows of inputs differ in length */
} loom_lifting_sizes;
/* The request for stage number `stage` of a staged program with such inputs, none of whose values is known. */
loom_vectorise_request loom_lifting_request(loom_arena *arena, const loom_program *staged, const loom_graph *graph,
                                            uint32_t stage, const loom_lifting_sizes *sizes);

#endif
