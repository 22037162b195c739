/* --stats FILE: where a job's time went, as JSON. */
#include "cli.h"
#include "client/output.h"
#include "common/buffer.h"
#include "common/file.h"
#include "json.h"
#include <inttypes.h>

loom_status *cli_check_stats(const cli_where *where) {
    return where->stats ? loom_client_check_writable(where->stats, 0) : NULL;
}

static void put_windows(loom_buffer *b, const loom_window_counts *w) {
    loom_buffer_printf(b,
                       " \"windows\": {\"received\": %" PRId64 ", \"used\": %" PRId64 ", \"partly_late\": %" PRId64
                       ", \"late\": %" PRId64 ", \"outside\": %" PRId64 "},\n",
                       w->received, w->used, w->partly, w->late, w->outside);
}

loom_status *cli_hold_stats(const cli_where *where, const loom_job_result *job, const loom_window_counts *windows,
                            loom_file_set *files) {
    if (!where->stats) return NULL;
    loom_buffer b = {0};
    loom_buffer_printf(
        &b,
        "{\"seconds\": {\"traversal\": %.6f, \"array_stages\": %.6f, \"handover\": %.6f, \"wait\": %.6f, "
        "\"read\": %.6f, \"compile\": %.6f, \"total\": %.6f},\n",
        job->seconds.traversal, job->seconds.array, job->seconds.handover, job->seconds.wait, job->seconds.read,
        job->seconds.compile, job->seconds.total);
    loom_buffer_printf(&b,
                       " \"elements\": %" PRId64 ", \"served\": %" PRId64 ", \"traversals\": %" PRIu32
                       ", \"releases\": %" PRId64 ", \"blocks_lost\": %" PRId64 ",\n \"actions\": [",
                       job->elements, job->served, job->traversals, job->releases, job->blocks_lost);
    for (size_t i = 0; i < job->n_times; i++) {
        loom_buffer_text(&b, i ? ",\n  {\"label\": " : "\n  {\"label\": ");
        cli_json_text(&b, job->times[i].label);
        loom_buffer_printf(&b, ", \"seconds\": %.6f, \"calls\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
                           job->times[i].seconds, job->times[i].calls, job->times[i].bytes);
    }
    loom_buffer_text(&b, "],\n");
    if (windows) put_windows(&b, windows);
    loom_buffer_text(&b, " \"remarks\": [");
    for (size_t i = 0; i < job->n_remarks; i++) {
        if (i) loom_buffer_text(&b, ", ");
        cli_json_text(&b, job->remarks[i]);
    }
    loom_buffer_text(&b, "]}\n");
    loom_status *status = loom_file_set_put(files, where->stats, b.data, b.length);
    loom_buffer_free(&b);
    return status;
}

loom_status *cli_write_stats(const cli_where *where, const loom_job_result *job, const loom_window_counts *windows) {
    loom_file_set *files = loom_file_set_create();
    loom_status *status = cli_hold_stats(where, job, windows, files);
    if (!status) status = loom_file_set_commit(files);
    loom_file_set_destroy(files);
    return status;
}
