/* Any bytes as a UVFITS file: rows or an error. The file is one in memory, so that cfitsio reads it as it would any.
 * Tables are cut off: cfitsio 4.2 allocates by counts it has not read where a table's first cards are damaged, and then
 * gives up, which libFuzzer takes for a leak of memory. */
#include "io/uvfits.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_some(loom_source *source) {
    for (uint32_t s = 0; s < source->n_segments && s < 4; s++) {
        int64_t n = source->segment_first[s + 1] - source->segment_first[s];
        loom_value *rows = NULL, *constants = NULL;
        loom_status *status = loom_source_constants(source, s, &constants);
        if (!status) status = loom_source_read(source, source->segment_first[s], n < 3 ? n : 3, &rows);
        loom_status_free(status);
        if (rows && (status = loom_value_check(rows))) abort();
        loom_value_unref(rows);
        loom_value_unref(constants);
    }
}

static size_t without_tables(const uint8_t *data, size_t size) {
    size_t at = 0;
    while (at + 8 <= size && memcmp(data + at, "XTENSION", 8) != 0) at += 2880;
    return at < size ? at : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size = without_tables(data, size);
    int fd = memfd_create("fuzz.uvfits", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    loom_ms_selection all = {.column = "DATA", .spw = LOOM_MS_ALL, .channel_to = LOOM_MS_ALL};
    loom_source *source;
    loom_ms_info *info;
    loom_status *status = loom_uvfits_open(path, &all, &source, &info);
    if (!status) {
        read_some(source);
        loom_source_destroy(source);
        loom_ms_info_free(info);
    }
    loom_status_free(status);
    close(fd);
    return 0;
}
