/* Elements whose groups are open: what `group_seq forever` keeps of an endless sequence. Memory is what the open
 * elements take, twice that at most, beside a stretch just added. Threads: one at a time. */
#ifndef LOOM_CLI_HELD_H
#define LOOM_CLI_HELD_H

#include "common/value.h"
#include "compiler/ir/windows.h"

typedef struct cli_held cli_held;

cli_held *cli_held_create(void);
void cli_held_free(cli_held *held); /* NULL is fine */
/* Takes a stretch of elements, leaves of the elements first and their keys, []i64, last, as `prepare` of
 * compiler/stage/endless.h gives it; each goes through `windows`. An element that is an error is in none of the counts,
 * and those before it are. */
LOOM_MUST_USE loom_status *cli_held_add(cli_held *held, loom_value *stretch, loom_windows *windows);
/* The elements of groups [from, to), in order, each once, with the least group that was open to it as the last leaf:
 * what `finish` takes. Maybe none; but something must have been added, which tells their shape. */
LOOM_MUST_USE loom_status *cli_held_pick(const cli_held *held, int64_t from, int64_t to, loom_value **elements);
/* Groups before this one are out: elements without later ones are dropped. */
LOOM_MUST_USE loom_status *cli_held_drop(cli_held *held, int64_t before);
int64_t cli_held_count(const cli_held *held); /* elements that are kept */
/* Those that are in groups from `before` on. */
int64_t cli_held_open(const cli_held *held, int64_t before);

#endif
