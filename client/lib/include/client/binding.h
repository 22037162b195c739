/* Arguments, streams and constants of an entry, from what a command line says (WEFT.md, "On the wire and from files"):
 *
 *     --arg NAME[.field]=VALUE        a scalar: 3, -1.5e3, true, inf, 1+2i
 *     --arg NAME[.field]=FILE.npy     an array; FILE.npy,LENGTHS.npy where its second level is irregular
 *     --stream NAME[.field]=FILE.npy  a column of a stream over the first axis; FILE.npy,LENGTHS.npy likewise
 *     --stream NAME=-                 a whole stream, as raw frames (io/frames.h) from standard input; it may be
 * endless
 *     --const NAME.field=FILE.npy     a field that is the same in all of the stream
 *     --observation NAME=FILE         all of a stream: the fields of a MeasurementSet or UVFITS file that its elements
 *                                     have (io/ms.h)
 *
 * Every scalar leaf of every parameter must be given, once. Errors name the parameter with its type as the program
 * has it, and what was given.
 */
#ifndef LOOM_CLIENT_BINDING_H
#define LOOM_CLIENT_BINDING_H

#include "common/option.h"
#include "common/paths.h"
#include "common/value.h"
#include "compiler/ir/core.h"
#include "io/frames.h"
#include "io/ms.h"
#include "io/source.h"

typedef struct loom_client_given {
    loom_option_list arguments, streams, constants, observations;
    const loom_ms_selection *selection; /* of all observations; not NULL where there are any */
} loom_client_given;

#define LOOM_CLIENT_NOT_ENDLESS UINT32_MAX

/* For each parameter exactly one of arguments[i] and sources[i] is not NULL; for the endless one both are. */
typedef struct loom_client_binding {
    uint32_t n_params;
    uint32_t endless;    /* the parameter that standard input is for, LOOM_CLIENT_NOT_ENDLESS: none */
    loom_frames *frames; /* its elements; NULL: there is none */
    loom_value **arguments;
    loom_source **sources;
    loom_paths *files; /* all that are read; the command adds what it reads and writes besides */
} loom_client_binding;

LOOM_MUST_USE loom_status *loom_client_bind(const loom_program *p, uint32_t function, const loom_client_given *given,
                                            loom_client_binding **binding);
void loom_client_binding_free(loom_client_binding *binding); /* NULL is fine */

/* All of a stream as one value of type []t, constants repeated, for the interpreter. Leaves in the order of the element
 * type's. */
LOOM_MUST_USE loom_status *loom_client_collect(const loom_program *p, loom_type_id stream, loom_source *source,
                                               loom_value **value);

/* A scalar of a type from text. `what` names it in errors. */
LOOM_MUST_USE loom_status *loom_client_scalar(const char *what, const char *text, loom_dtype dtype, loom_scalar *value);

#endif
