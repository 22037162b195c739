/* Shapes of values that come one after another as one stream. A job is compiled for the shapes of its streams: an
 * extent that is another one in each stretch would have each compiled anew. So an extent that has not been the same in
 * all values so far is irregular from then on, in those too that have rows of one length; whether they have is tested
 * where they are worked on. A level changes its form twice at most. Threads: one at a time. */
#ifndef LOOM_CLI_SHAPE_H
#define LOOM_CLI_SHAPE_H

#include "common/value.h"

typedef struct cli_shape cli_shape;

cli_shape *cli_shape_create(void);
void cli_shape_free(cli_shape *shape); /* NULL is fine */
/* The next value, whose outermost level is the stream, in the form that is right for it: itself, or a view of it. All
 * values of a shape have the same leaves. */
LOOM_MUST_USE loom_status *cli_shape_settle(cli_shape *shape, loom_value *value, loom_value **settled);

#endif
