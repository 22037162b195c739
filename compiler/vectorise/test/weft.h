/* Weft programs run stage by stage, once by the interpreter and once as lifted IR. */
#ifndef LOOM_VECTORISE_TEST_WEFT_H
#define LOOM_VECTORISE_TEST_WEFT_H

#include "common/buffer.h"
#include "compiler/vectorise/eval.h"
#include "compiler/vectorise/vectorise.h"
#include "loom_test.h"

extern loom_status *(*weft_fuse)(loom_lifted *lifted); /* set by tests of fusion */

typedef enum weft_expect {
    WEFT_SAME,    /* vectorised; the same results */
    WEFT_FAILS,   /* vectorised; both fail at run time */
    WEFT_REFUSED, /* a remark, which contains `text` */
    WEFT_ANY,     /* what may be: refused, or the interpreter fails (and nothing is broken), or the same results */
} weft_expect;

typedef enum weft_tested {
    WEFT_MAYBE_TESTED,
    WEFT_TESTED,         /* each stage has code for rows of one length, which they are */
    WEFT_TESTED_IN_VAIN, /* and which they are not */
    WEFT_NOT_TESTED,     /* no stage has such code */
} weft_tested;

/* One argument: text of extents and numbers, as "f64 3x2" (filled with numbers that differ), "i64 = 5", "i64 4 = 1 2 3
 * 4"; "f64 3x[2 0 5]": rows of these lengths. A record or tuple is several, joined by ';'. '!' before a type: constant
 * in the segment (streams only). */
typedef struct weft_case {
    const char *name, *text;
    const char *arguments[8];
    weft_expect expect;
    const char *contains; /* WEFT_REFUSED: the remark; else the printed IR (of the last stage), or NULL */
    double tolerance;
    bool known; /* scalar arguments are known when compiling */
    weft_tested tested;
} weft_case;

typedef enum weft_outcome {
    WEFT_WAS_SAME,
    WEFT_WAS_REFUSED,
    WEFT_HAD_FAILED
} weft_outcome;
weft_outcome weft_run(const weft_case *c);

/* Tests of a file's suite, WEFT_SUITE: compiled like interpreted; both fail; refused with `why` in the remark. */
#define WEFT_TEST(suite, id, ...)                                                                                      \
    LOOM_TEST(suite, id) {                                                                                             \
        weft_run(&(weft_case){.name = #id, __VA_ARGS__});                                                              \
    }
#define SAME(id, text_, ...)  WEFT_TEST(WEFT_SUITE, id, .text = text_, .arguments = {__VA_ARGS__}, .tolerance = 1e-9)
#define FAILS(id, text_, ...) WEFT_TEST(WEFT_SUITE, id, .text = text_, .arguments = {__VA_ARGS__}, .expect = WEFT_FAILS)
#define REFUSED(id, why, text_, ...)                                                                                   \
    WEFT_TEST(WEFT_SUITE, id, .text = text_, .arguments = {__VA_ARGS__}, .expect = WEFT_REFUSED, .contains = why)

/* The lifted IR of the last stage (fused, if weft_fuse is set), after all stages have been compared. Lives in *arena.
 */
loom_lifted *weft_lifted(const weft_case *c, loom_arena **arena);
/* Operations of this kind. */
uint32_t weft_count(const loom_lifted *l, loom_lop_kind kind);

#endif
