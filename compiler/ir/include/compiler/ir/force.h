/* Choices of the compiler that a test makes in its place: a program means the same whatever is chosen, and
 * tests/fuzz-weft holds that against the interpreter. Nothing is forced unless asked for. Where a choice is not
 * possible for a part of a program, that part takes what is possible.
 *
 * X(NAME, key, value, what): a bit of a set, in the order of the bits; of one key at most one value. Append only: the
 * bits travel (control.proto, plan.proto) and are part of the key of compiled code.
 */
#ifndef LOOM_IR_FORCE_H
#define LOOM_IR_FORCE_H

#include "common/status.h"
#include <stdbool.h>
#include <stdint.h>

#define LOOM_FORCES(X)                                                                                                 \
    X(FLAT, "schedule", "flat", "each operation runs over the whole chunk")                                            \
    X(STRIP, "schedule", "strip", "a few elements at a time go through all operations, whatever they cost")            \
    X(ROWS, "schedule", "rows", "no strips; a slice at a time goes through what hands on slices, however small")       \
    X(IRREGULAR, "representation", "irregular", "inner levels have lengths of their own, as if none were equal")       \
    X(SPLIT, "conditionals", "split", "each branch is made for the elements that take it, and put together")           \
    X(COMPACT, "loops", "compact", "elements that have ended are put aside after each turn")                           \
    X(COPY, "references", "copy", "rows of others are copied")                                                         \
    X(UNFUSED, "fusion", "none", "each operation stores its result")                                                   \
    X(SYMBOLIC, "sizes", "symbolic", "extents that are known do not become constants")

enum {
#define X(name, key, value, what) LOOM_FORCE_BIT_##name,
    LOOM_FORCES(X)
#undef X
    LOOM_FORCE_BITS
};
enum {
#define X(name, key, value, what) LOOM_FORCE_##name = 1 << LOOM_FORCE_BIT_##name,
    LOOM_FORCES(X)
#undef X
    LOOM_FORCE_END = 1 << LOOM_FORCE_BITS /* sets are below */
};

/* For help: all that may be forced. */
#define LOOM_FORCE_NAME(name, key, value, what) " " key "=" value
#define LOOM_FORCE_NAMES                        LOOM_FORCES(LOOM_FORCE_NAME)

/* "schedule=strip,loops=compact"; NULL and "" are the empty set. LOOM_E_USAGE. */
LOOM_MUST_USE loom_status *loom_force_parse(const char *text, uint32_t *force);
/* Of a set that came from outside: known bits, of each key at most one. LOOM_E_DATA. */
LOOM_MUST_USE loom_status *loom_force_check(uint64_t force);

#endif
