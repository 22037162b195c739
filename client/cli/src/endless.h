/* Runs of a program over a sequence that is not waited for: standard input as it comes, or a file through windows.
 *
 * The sequence is taken by stretches, each a job of its own: what stands before the windows. Elements are kept here
 * while their groups are open (held.h); groups that have closed are a job over their elements. A job's result is there
 * once or not at all, whoever dies, and groups are handed to jobs in order, each once; so results are there exactly
 * once, in order. One job runs at a time, on all workers. What is kept goes with this process, and with it the run.
 */
#ifndef LOOM_CLI_ENDLESS_H
#define LOOM_CLI_ENDLESS_H

#include "entry_run.h"

/* The program over its endless parameter is one that can be run so; what cannot is an error before anything runs. */
LOOM_MUST_USE loom_status *cli_endless_check(const cli_entry_run *run);
/* Runs it: lines or frames on standard output as they come. What became of the elements, and statistics, are told
 * however it ends. */
LOOM_MUST_USE loom_status *cli_endless_run(const cli_entry_run *run);
/* Whether a program over files has `group_seq forever` where it can go by stretches: then *result is as of one job,
 * and *counts of its elements. Otherwise *done is false, and the program is to be run as a whole. */
LOOM_MUST_USE loom_status *cli_endless_run_files(const cli_entry_run *run, bool *done, loom_job_result **result,
                                                 loom_window_counts *counts);
/* Whether there is a `group_seq forever` in it. */
bool cli_endless_goes_on(const loom_program *program);
/* On standard error, unless the run is to be quiet: what became of all elements. */
void cli_endless_account(const loom_window_counts *counts);

#endif
