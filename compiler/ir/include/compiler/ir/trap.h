/* What is said of an error in a running program: one text for the interpreter and for compiled code, so that `eval` and
 * `run` report alike.
 *
 * A text may name two numbers that are known when the error happens, written as {a} and {b}: compiled code raises no
 * more than those. What belongs to the place in the program (the operator, the level of a claim and the line that
 * claims it) is written into the text beforehand. The span of the node goes beside it. Threads: functions only.
 * Ownership: texts live in the arena, or for ever.
 */
#ifndef LOOM_COMPILER_IR_TRAP_H
#define LOOM_COMPILER_IR_TRAP_H

#include "compiler/ir/core.h"

typedef enum loom_trap {
    LOOM_TRAP_INDEX,       /* a: the index, b: the length */
    LOOM_TRAP_CLAIM,       /* a: the length found, b: the one claimed */
    LOOM_TRAP_PRIM,        /* division: none; shift: a */
    LOOM_TRAP_ASSERT,      /* none, or a: see loom_assertion */
    LOOM_TRAP_LENGTHS,     /* a and b: lengths that differ */
    LOOM_TRAP_SLICE_ORDER, /* a: from, b: to */
    LOOM_TRAP_SLICE_END,   /* a: the end that is outside, b: the length */
    LOOM_TRAP_SLICE_STEP,  /* none: a step of 0 */
    LOOM_TRAP_UNFLATTEN,   /* a: rows times their length, b: the number of elements */
    LOOM_TRAP_COUNT,       /* a: a negative number of elements */
    LOOM_TRAP_TOO_MANY,    /* a and b: numbers whose product or sum is more than an array can have elements */
    LOOM_TRAP_EMPTY,       /* none: fold1 of an empty array */
} loom_trap;

/* What users look an error up by: W and four digits in brackets at the end of its text. The thousands of
 * compiler/syntax/error_table.h, which explains them. */
typedef enum loom_trap_code {
    LOOM_TRAP_CODE_INDEX = 1001,
    LOOM_TRAP_CODE_SLICE,
    LOOM_TRAP_CODE_CLAIM,
    LOOM_TRAP_CODE_DIVISION,
    LOOM_TRAP_CODE_SHIFT,
    LOOM_TRAP_CODE_ASSERTION,
    LOOM_TRAP_CODE_RANGE,
    LOOM_TRAP_CODE_UPDATE,
    LOOM_TRAP_CODE_LENGTHS,
    LOOM_TRAP_CODE_STREAMS,
    LOOM_TRAP_CODE_PLACES,
    LOOM_TRAP_CODE_COUNT,
    LOOM_TRAP_CODE_UNFLATTEN,
    LOOM_TRAP_CODE_EMPTY,
    LOOM_TRAP_CODE_GROUPS,
    LOOM_TRAP_CODE_GROUPS_FIT,
    LOOM_TRAP_CODE_ROWS_DIFFER,
    LOOM_TRAP_CODE_LAW,
    LOOM_TRAP_CODE_GROUP_MEMBERS,
} loom_trap_code;

/* Who asserts, aux of an ASSERT node: what is said where it does not hold. */
typedef enum loom_assertion {
    LOOM_ASSERT_PROGRAM,    /* the program's own `assert` */
    LOOM_ASSERT_RANGE,      /* a range ends after its start */
    LOOM_ASSERT_RANGE_STEP, /* its second element lies beyond its first */
    LOOM_ASSERT_UPDATE,     /* a slice that is replaced is inside its array, and of the new values' length */
    LOOM_ASSERT_GROUPS,     /* group_seq: how many there are; a: the value, a number of groups */
    LOOM_ASSERT_GROUPS_MAP, /* group_map_seq: the same */
    LOOM_ASSERT_GROUPS_FIT, /* results of group_seq that are kept fit into memory; a: the same */
    LOOM_ASSERTIONS
} loom_assertion;
/* aux of LOOM_ASSERT_GROUPS_FIT has the bytes of one result above those of the assertion. */
#define LOOM_ASSERTION(aux)     ((aux) & 0xFFu)
#define LOOM_ASSERT_BYTES_SHIFT 8
/* Whether what is said names the value. */
static inline bool loom_assertion_counts(uint32_t aux) {
    return LOOM_ASSERTION(aux) >= LOOM_ASSERT_GROUPS;
}

typedef struct loom_trap_text {
    loom_trap_code code;
    const char *format, *hint; /* format: ends with the code; hint: may be NULL */
} loom_trap_text;

/* `detail`: CLAIM: number of the claim among those of the node; SLICE_*: 1 where the step is negative; else 0. */
loom_trap_text loom_trap_describe(loom_arena *arena, const loom_program *p, const loom_node *n, loom_trap trap,
                                  uint32_t detail);
/* Of streams that are visited together and are not equally long; who knows lengths beforehand says it in these words
 * too. */
#define LOOM_TRAP_STREAMS_FORMAT                                                                                       \
    "streams that are traversed together have unequal lengths: {a} and {b} elements [W1010]"
/* Whether a message ends with a code. */
bool loom_trap_has_code(const char *message, loom_trap_code code);
/* The text with its numbers. Caller frees. */
char *loom_trap_message(const char *format, int64_t a, int64_t b);
/* The error, placed, with its hint. */
LOOM_NEW_STATUS loom_status *loom_trap_error(const char *file, loom_span span, const char *format, const char *hint,
                                             int64_t a, int64_t b);

#endif
