/* --count-work FILE: what a run or an evaluation took, in numbers that can be held against each other, as JSON. */
#include "cli.h"
#include "common/buffer.h"
#include "common/file.h"
#include "json.h"
#include <inttypes.h>

void cli_add_work(cli_work *work, const loom_job_result *job) {
    for (size_t i = 0; i < job->n_times; i++) {
        work->evaluations += job->times[i].evaluations;
        work->moved += job->times[i].moved;
        work->descriptors += job->times[i].descriptors;
    }
    work->peak_bytes = job->peak_bytes;
}

void cli_add_result(cli_work *work, const loom_value *result) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < result->n_leaves; i++) {
        const loom_leaf *leaf = &result->leaves[i];
        work->moved += (uint64_t)leaf->n_data;
        bytes += (uint64_t)leaf->n_data * loom_dtype_size(leaf->dtype);
        for (uint32_t k = 1; k < leaf->depth; k++) {
            if (leaf->extents[k] == LOOM_IRREGULAR) work->descriptors += (uint64_t)leaf->n_lengths[k];
        }
    }
    if (bytes > work->peak_bytes) work->peak_bytes = bytes;
}

static void print_counts(loom_buffer *b, uint64_t evaluations, uint64_t moved, uint64_t descriptors) {
    loom_buffer_printf(b, "\"evaluations\": %" PRIu64 ", \"moved\": %" PRIu64 ", \"descriptors\": %" PRIu64,
                       evaluations, moved, descriptors);
}

loom_status *cli_hold_work(const char *path, const cli_work *work, const loom_job_result *job, loom_file_set *files) {
    if (!path) return NULL;
    loom_buffer b = {0};
    loom_buffer_text(&b, "{");
    print_counts(&b, work->evaluations, work->moved, work->descriptors);
    loom_buffer_printf(&b, ", \"peak_bytes\": %" PRIu64, work->peak_bytes);
    if (job) loom_buffer_text(&b, ",\n \"actions\": [");
    for (size_t i = 0; job && i < job->n_times; i++) {
        loom_buffer_text(&b, i ? ",\n  {\"label\": " : "\n  {\"label\": ");
        cli_json_text(&b, job->times[i].label);
        loom_buffer_text(&b, ", ");
        print_counts(&b, job->times[i].evaluations, job->times[i].moved, job->times[i].descriptors);
        loom_buffer_text(&b, "}");
    }
    loom_buffer_text(&b, job ? "]}\n" : "}\n");
    loom_status *status = loom_file_set_put(files, path, b.data, b.length);
    loom_buffer_free(&b);
    return status;
}
