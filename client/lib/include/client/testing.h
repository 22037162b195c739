/* Tests that programs carry in comments, in the form of Futhark's:
 *
 *     -- What is tested.
 *     -- ==
 *     -- entry: dotp
 *     -- input { [1f32, 2f32] [3f32, 4f32] }
 *     -- output { 11f32 }
 *     -- random input { [100]f32 [100]f32 } auto output
 *     -- input { [1f32] empty([0]f32) } error: lengths
 *
 * A block is a run of comment lines, from a line `==` to the first that is no comment. Values are written one after
 * another, one for each scalar leaf of the entry's parameters (or of its result): a tuple is several values, an array
 * of tuples several arrays, a stream an array. Literals without suffix have whatever type is needed.
 *
 * Threads: one at a time. Ownership: blocks live in an arena, but for their regular expressions, and point into the
 * text of the file; values are references of their own. Errors: LOOM_E_DATA with file, line and column. Texts are
 * anybody's: nesting is that of the type asked for, sizes are checked against a limit before anything is allocated.
 */
#ifndef LOOM_CLIENT_TESTING_H
#define LOOM_CLIENT_TESTING_H

#include "common/arena.h"
#include "common/value.h"
#include "compiler/explain/explain.h"
#include "compiler/ir/core.h"

/* A place in a block of comments, read from there to the block's end; the marks `--` of further lines are no text. */
typedef struct loom_testing_text {
    const char *file; /* its name, for messages */
    const char *text; /* of the file */
    size_t length, at;
    uint32_t line, column;
} loom_testing_text;

typedef enum loom_testing_outcome {
    LOOM_TESTING_RUNS,   /* nothing is said of the result */
    LOOM_TESTING_VALUES, /* `output { ... }` */
    LOOM_TESTING_AUTO,   /* `auto output`: compiled as interpreted */
    LOOM_TESTING_ERROR   /* `error: regex` */
} loom_testing_outcome;

/* Limits of a regular expression. regcomp recurses over brackets (a kilobyte of stack each) and writes repetitions out
 * (`((a{9}){9}){9}` as 729 characters), matching takes memory by the square of that, and messages have
 * 1000 characters. Refused too, since their time is exponential: repetitions of what may be empty, references back. */
#define LOOM_TESTING_MAX_REGEX       1000
#define LOOM_TESTING_MAX_REGEX_DEPTH 50
typedef struct loom_testing_regex loom_testing_regex;

typedef struct loom_testing_case {
    loom_span span;                  /* of the word `input` */
    const char *name;                /* "in quotes" before it, or NULL */
    bool random;                     /* `input` has types */
    bool compiled;                   /* `compiled input`: too much for an interpreter */
    const char *skipped;             /* why it is not run, or NULL */
    loom_testing_text input, output; /* from within the braces */
    loom_testing_outcome outcome;
    const loom_testing_regex *error; /* LOOM_TESTING_ERROR */
} loom_testing_case;

typedef struct loom_testing_entry {
    const char *name;
    loom_span span;
} loom_testing_entry;

/* What is expected of the compiler, of each entry of the block:
 *     steps: unlifted|regular|irregular [<=] N [at SIZE]       compiler/explain/explain.h tells what is counted
 *     representation: WORD        mapped over a stream of arguments whose rows have one length: what analysis says of
 * all values (regular, irregular; tested: irregular ones, of which run time tells), what becomes of all stages
 * (compiled, interpreted) */
typedef enum loom_testing_verdict {
    LOOM_TESTING_STEPS,
    LOOM_TESTING_REGULAR,     /* all values are regular or avoided */
    LOOM_TESTING_IRREGULAR,   /* some value is not */
    LOOM_TESTING_TESTED,      /* some value is not, and a test at run time tells whether its rows have one length */
    LOOM_TESTING_COMPILED,    /* all stages are vectorised */
    LOOM_TESTING_INTERPRETED, /* some stage is not */
} loom_testing_verdict;
typedef struct loom_testing_claim {
    loom_span span;
    loom_testing_verdict verdict;
    loom_lift lift; /* STEPS */
    bool at_most;   /* STEPS: fewer will do */
    uint64_t steps;
    int64_t size; /* STEPS: extents that are left open */
} loom_testing_claim;
/* Of a claim that states none: as `explain` takes them. */
#define LOOM_TESTING_SIZE 100

typedef struct loom_testing_block {
    loom_span span;
    loom_testing_entry *entries; /* `main` where none is named */
    uint32_t n_entries;
    const loom_testing_regex *error;     /* not NULL: the program must not compile, with this error; the only block */
    const loom_testing_regex **warnings; /* `warning: regex`: what the compiler warns of */
    uint32_t n_warnings;
    loom_testing_claim *claims;
    uint32_t n_claims;
    loom_testing_case *cases;
    uint32_t n_cases;
} loom_testing_block;

typedef struct loom_testing_blocks {
    loom_testing_block *at;
    uint32_t count;
    loom_testing_regex *regexes; /* all that are compiled */
} loom_testing_blocks;

/* All blocks of a text. `name` and `text` must outlive them. */
LOOM_MUST_USE loom_status *loom_testing_parse(loom_arena *arena, const char *name, const char *text, size_t length,
                                              loom_testing_blocks *blocks);

void loom_testing_free(loom_testing_blocks *blocks);
/* Does a text have what the expression says? "" fits any. */
bool loom_testing_fits(const loom_testing_regex *regex, const char *text);
const char *loom_testing_regex_text(const loom_testing_regex *regex);
loom_span loom_testing_regex_span(const loom_testing_regex *regex);

/* Values of these types, up to the closing brace: values[i] has the leaves of types[i]. `bytes` bounds all of them
 * together. `names`, or NULL: of the parameters, for notes of errors. */
LOOM_MUST_USE loom_status *loom_testing_read(loom_testing_text text, const loom_program *p, uint32_t n,
                                             const loom_type_id *types, const char *const *names, uint64_t bytes,
                                             loom_value **values);
/* The same from a list of types, `[100]i32 f64`, filled at random: whole ranges of integers, floats from 0 to 1. Equal
 * seeds give equal values. */
LOOM_MUST_USE loom_status *loom_testing_random(loom_testing_text text, const loom_program *p, uint32_t n,
                                               const loom_type_id *types, const char *const *names, uint64_t bytes,
                                               uint64_t seed, loom_value **values);

/* As Futhark's: a float may be off by 0.002 of the largest magnitude of its array, or of 1 where that is smaller. */
#define LOOM_TESTING_TOLERANCE 0.002
/* NULL where `found` is what is expected: shapes and integers exactly, floats within the tolerance (0: bit by
 * bit), NaN where NaN is. Else what differs first, in words; malloc'ed. */
char *loom_testing_difference(const loom_value *expected, const loom_value *found, double tolerance);

#endif
