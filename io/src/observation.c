#include "io/observation.h"
#include "io/uvfits.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool starts_as_fits(const char *path) {
    struct stat info;
    if (stat(path, &info) < 0 || !S_ISREG(info.st_mode)) return false;
    char start[6] = {0};
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(start, 1, sizeof start, f) : 0;
    if (f) fclose(f);
    return n == sizeof start && memcmp(start, "SIMPLE", sizeof start) == 0;
}

/* What is neither is for the reader of MeasurementSets to refuse: it knows what could be meant. */
loom_status *loom_observation_open(const char *path, const loom_ms_selection *selection, loom_source **source,
                                   loom_ms_info **info) {
    return starts_as_fits(path) ? loom_uvfits_open(path, selection, source, info)
                                : loom_ms_open(path, selection, source, info);
}
