/* The passes of one stage, shared by compiling and explaining. Private to the driver. */
#ifndef LOOM_DRIVER_PASSES_H
#define LOOM_DRIVER_PASSES_H

#include "compiler/codegen/codegen.h"
#include "compiler/driver/driver.h"
#include "compiler/schedule/lifting.h"

/* Runs the passes up to `last`. *lifted is NULL and *remark set where the stage is not compiled. `check`: checkers
 * after each pass; `count`: code that counts its work. code: for LOOM_PASS_CODEGEN; its text is asked for if
 * `want_text`. */
LOOM_MUST_USE loom_status *loom_driver_passes(loom_arena *arena, const loom_vectorise_request *request,
                                              const char *target, loom_pass last, bool check, bool count,
                                              bool want_text, loom_lifted **lifted, const char **remark,
                                              loom_code_result *code);
/* The same for rows that a test finds to be of one length; `lifted` is what the former made. *tested is NULL where that
 * is not worth code of its own; *remark then says why, or is NULL. */
LOOM_MUST_USE loom_status *loom_driver_tested(loom_arena *arena, const loom_vectorise_request *request,
                                              const char *target, loom_pass last, bool check, bool count,
                                              bool want_text, const loom_lifted *lifted, loom_lifted **tested,
                                              const char **remark, loom_code_result *code);
/* Version of LLVM that is loaded; malloc'ed. */
char *loom_driver_llvm(void);
/* "triple;cpu;features" of this machine; malloc'ed. */
char *loom_driver_host(void);

#endif
