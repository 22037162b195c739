/* Entries of programs with their arguments, for the commands that run them. Threads: main only. */
#ifndef LOOM_CLI_ENTRY_RUN_H
#define LOOM_CLI_ENTRY_RUN_H

#include "cli.h"
#include "client/binding.h"
#include "client/output.h"
#include "selection.h"

typedef struct cli_entry_run {
    /* What the command line says. */
    const char *entry;
    loom_client_given given;
    cli_selection selection; /* of observations */
    loom_option_list outputs;
    int64_t block;
    cli_where where;
    bool remarks, laws;
    const char *claims;
    double timeout; /* 0: none */
    int64_t lag;
    bool takes_frames; /* the command can read a stream from standard input; set by it */
    /* Made by cli_entry_prepare. */
    loom_client_program *program;
    uint32_t function;
    loom_client_outputs *out;
    bool frames_out; /* -o -: the elements of the result, on standard output */
    loom_client_binding *binding;
} cli_entry_run;

#define CLI_ENTRY_OPTIONS(r)                                                                                           \
    {"entry", 0, LOOM_OPT_TEXT, &(r).entry, "NAME", "The entry to run; default main, or the only one.", 0, 0},         \
        {"timeout",    0,         LOOM_OPT_REAL,                                                                       \
         &(r).timeout, "SECONDS", "What takes longer is given up, and is an error; default: it may take for ever.",    \
         0.001,        1e9},                                                                                           \
        {"arg",                                                                                                        \
         0,                                                                                                            \
         LOOM_OPT_LIST,                                                                                                \
         &(r).given.arguments,                                                                                         \
         "NAME[.field]=VALUE|FILE.npy",                                                                                \
         "A parameter, or one field of it: a scalar, or an array from a file.",                                        \
         0,                                                                                                            \
         0},                                                                                                           \
        {"lag",                                                                                                        \
         0,                                                                                                            \
         LOOM_OPT_INT,                                                                                                 \
         &(r).lag,                                                                                                     \
         "N",                                                                                                          \
         "Of `group_seq forever`: a group closes when a key has come that is greater by more than N; default 0.",      \
         0,                                                                                                            \
         (double)LOOM_MAX_LAG},                                                                                        \
        {"stream",                                                                                                     \
         0,                                                                                                            \
         LOOM_OPT_LIST,                                                                                                \
         &(r).given.streams,                                                                                           \
         "NAME[.field]=FILE.npy[,LENGTHS.npy]",                                                                        \
         "A column of a stream, over the first axis of the file; with a file of lengths its elements are arrays of "   \
         "different lengths. NAME=-: all of a stream, endless maybe, from standard input (run, eval).",                \
         0,                                                                                                            \
         0},                                                                                                           \
        {"const",                                                                                                      \
         0,                                                                                                            \
         LOOM_OPT_LIST,                                                                                                \
         &(r).given.constants,                                                                                         \
         "NAME.field=FILE.npy",                                                                                        \
         "A field of a stream that is the same in all of its elements.",                                               \
         0,                                                                                                            \
         0},                                                                                                           \
        {"observation",                                                                                                \
         0,                                                                                                            \
         LOOM_OPT_LIST,                                                                                                \
         &(r).given.observations,                                                                                      \
         "NAME=FILE",                                                                                                  \
         "A stream whose elements are rows of a MeasurementSet or a UVFITS file, with those of their fields that the " \
         "program names.",                                                                                             \
         0,                                                                                                            \
         0},                                                                                                           \
        {"column", 0, LOOM_OPT_TEXT, &(r).selection.rows.column, "NAME", "Visibilities of it; default DATA.", 0, 0},   \
        CLI_SELECTION_OPTIONS((r).selection)
/* What the fields of options must be before they are read. */
#define CLI_ENTRY_RUN {.selection = CLI_SELECTION}
#define CLI_OUTPUT_OPTION(r)                                                                                           \
    {"output",                                                                                                         \
     'o',                                                                                                              \
     LOOM_OPT_LIST,                                                                                                    \
     &(r).outputs,                                                                                                     \
     "[PART=]FILE.npy",                                                                                                \
     "Where the result goes, or one part of it; lengths of irregular ones go to FILE.lengths.npy. -: the elements of " \
     "a sequence, as raw frames, to standard output.",                                                                 \
     0,                                                                                                                \
     0}
#define CLI_BLOCK_OPTION(r)                                                                                            \
    {"block", 0, LOOM_OPT_INT, &(r).block, "N", "Elements of the streams in a block; default: by their size.", 1, 1e15}
#define CLI_ABOUT_ARGUMENTS                                                                                            \
    "Every parameter must be given. Complex numbers are written "                                                      \
    "1+2i. Fields of records and tuples are named NAME.field and NAME.0."

/* Compiles the program, finds the entry and opens what its parameters are given. No output is an input. */
LOOM_MUST_USE loom_status *cli_entry_prepare(cli_entry_run *run, const char **paths, int n);
/* The remarks of what has run, if they are wanted, else its warnings. */
void cli_entry_remarks(const cli_entry_run *run, const loom_job_result *result);
/* One job; errors about streams of unequal length name them. */
LOOM_MUST_USE loom_status *cli_entry_submit(const cli_entry_run *run, loom_session *session, loom_job_result **result);
/* What fails for streams of unequal length knows them by number, or as arrays: here they get names. Takes the error. */
loom_status *cli_entry_with_lengths(const cli_entry_run *run, loom_status *status);
/* All that was made, and lists of options. */
void cli_entry_free(cli_entry_run *run);

#endif
