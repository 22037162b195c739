/* What the compiler knows of a program, as data: for each node its shape, regularity and cost, for each loss of
 * regularity the rule and the place, and how many steps the flat schedule takes. For `explain`, and for tests that
 * programs carry.
 *
 * Nothing is run and no data is at hand: a loom_lifting_sizes says what is assumed of inputs. Threads: a call uses only
 * its arena; where that is exhausted, the call fails with LOOM_E_LIMIT. Everything returned lives in the arena.
 */
#ifndef LOOM_COMPILER_EXPLAIN_EXPLAIN_H
#define LOOM_COMPILER_EXPLAIN_EXPLAIN_H

#include "compiler/analysis/shapes.h"
#include "compiler/schedule/lifting.h"

/* ---- nodes ---- */

typedef struct loom_account_node {
    loom_node_id node; /* of the stage's program */
    uint32_t indent;   /* bodies around */
    uint32_t level;    /* maps around */
    const char *what;  /* the operation */
    const char *shape; /* loom_shapes_text */
    loom_shape_rep regularity;
    /* How its value is kept in memory when each operation runs over the whole chunk (the flat schedule): "avoided" (one
     * for all elements), "regular", "irregular" (with lengths), "tested" (so, unless a test at run time finds its rows
     * to be of one length); "" where it is a part of another operation. */
    const char *kept;
    uint64_t steps; /* of the flat schedule, made for this node */
    /* Per element of the stream, or in all where there is none; bodies of loops once. Bytes of the value; evaluations
     * of scalar operations as the cost model weighs them, those of its bodies included. */
    double bytes, flops;
    bool irregular; /* some extent differs; `reason` */
    loom_shape_reason reason;
    bool differs; /* turns or branches differ between elements; `chooser` */
    loom_shape_reason chooser;
} loom_account_node;

typedef struct loom_account_stage {
    const char *label;
    const char *remark; /* why it is interpreted, or NULL */
    uint32_t n_nodes;
    const loom_account_node *nodes;
    uint32_t n_parameters;         /* the first nodes */
    const char *const *parameters; /* whose values they are; "": the compiler's own */
    uint32_t first_stream;         /* of the parameters, those from here on are streams */
    /* There is code for rows that a test at run time finds to be of one length, with so many operations left over rows
     * that may differ. Else why not, where that is to be said, or NULL. */
    bool tested;
    uint32_t untested;
    const char *not_tested;
    uint64_t steps;
    bool per_element;    /* it traverses a stream */
    double bytes, flops; /* of the values that are kept; of all */
} loom_account_stage;

typedef struct loom_account {
    const loom_program *program; /* staged: spans and files */
    const char *entry;
    loom_lifting_sizes sizes;
    uint32_t n_stages;
    const loom_account_stage *stages;
    uint32_t n_remarks;
    const char *const *remarks;
} loom_account;

LOOM_MUST_USE loom_status *loom_account_make(loom_arena *arena, const loom_program *program, const char *entry,
                                             const loom_lifting_sizes *sizes, loom_account **account);
void loom_account_print(const loom_account *account, FILE *to);

/* ---- steps ----
 * A step is an operation of the flat schedule over the points of an index space, which all end before the next begins.
 * As papers/000 counts in section 6.3.1: the body of a loop once, of a conditional the longer branch. Operations on
 * single numbers are none, nor are copies. */

typedef enum loom_lift {
    LOOM_LIFT_NOT,       /* the entry by itself */
    LOOM_LIFT_REGULAR,   /* mapped over a stream of its arguments, rows of one length */
    LOOM_LIFT_IRREGULAR, /* the same where rows differ in length */
    LOOM_LIFTS
} loom_lift;
extern const char *const loom_lift_names[LOOM_LIFTS]; /* "unlifted", "regular", "irregular" */

typedef struct loom_steps {
    uint64_t steps;
    uint64_t avoided;   /* of them, those whose values are made once for all elements of the stream */
    const char *remark; /* not NULL: a stage is interpreted, for this reason, so nothing is counted */
    loom_shape_rep rep; /* the worst of all values */
    bool tested;        /* all rows that are not proved to be of one length are tested at run time */
} loom_steps;

/* An entry with streams is lifted as it is. Of one without parameters, and of one whose result is a stream, there is no
 * other version: all three are the same. */
LOOM_MUST_USE loom_status *loom_steps_count(loom_arena *arena, const loom_program *program, const char *entry,
                                            loom_lift lift, int64_t extent, loom_steps *steps);
/* All three versions, for people. */
LOOM_MUST_USE loom_status *loom_steps_print(loom_arena *arena, const loom_program *program, const char *entry,
                                            int64_t extent, FILE *to);

/* ---- a page ---- */

/* HTML that needs no other file: the text with marked lines, the nodes, the reasons, the steps. */
LOOM_MUST_USE loom_status *loom_account_page(loom_arena *arena, const loom_program *program, const char *entry,
                                             const loom_lifting_sizes *sizes, FILE *to);

#endif
