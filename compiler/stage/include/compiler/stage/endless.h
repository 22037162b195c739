/* A program over an endless sequence, as programs over stretches of it.
 *
 * An endless sequence is never whole, so only what needs a stretch of it at a time can be made of it: its elements one
 * by one (map_seq, zip_with_seq, filter_seq, enumerate_seq), and windows, `group_seq forever`, once, the results of
 * which are elements again. All else that reads it, a consumer without windows above all, is refused here, before
 * anything runs. Other parameters, other sequences among them, are whole for every stretch.
 *
 * With s the endless parameter, elements of type a:
 *
 *   entry main p.. (s: seq a) : seq b = [ after ] group_seq forever keys ([ before ] s) body
 *   => prepare p.. (s: seq a) (at: []i64) : seq (t, []i64)   the elements before the group, and their keys;
 *                                                            at[0]: how many elements of s came before the stretch
 *      finish  p.. (s: seq (t, i64)) (at: []i64) : seq b     groups at[0], at[0] + 1, ..., at[1] of them, in order, of
 *                                                            elements with the least group that was open to each
 *   without windows only prepare, whose result is seq b.
 *
 * Who calls them keeps elements as long as their groups are open (compiler/ir/windows.h) and needs to know nothing of
 * the program. `at` is an array, since known scalars are compiled in. Cost: linear. Papers: 002 section 3, an endless
 * input.
 */
#ifndef LOOM_COMPILER_STAGE_ENDLESS_H
#define LOOM_COMPILER_STAGE_ENDLESS_H

#include "compiler/ir/core.h"

typedef struct loom_endless {
    loom_program *prepare;
    loom_program *finish; /* NULL: no windows */
    int64_t lag;
} loom_endless;

/* Of function f and its parameter `param`, a sequence. In `arena`; both programs are checked. What does not go is
 * LOOM_E_DATA with place and reason. */
LOOM_MUST_USE loom_status *loom_endless_split(loom_arena *arena, const loom_program *program, uint32_t f,
                                              uint32_t param, loom_endless *endless);

#endif
