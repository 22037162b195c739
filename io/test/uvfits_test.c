/* UVFITS through its source: what rows say, blocks of any length, selection, and damaged files. Images of files with
 * awkward features are compared in tests/integration/uvfits.py. */
#include "common/buffer.h"
#include "common/file.h"
#include "io/observation.h"
#include "io/uvfits.h"
#include "loom_test.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

static char *folder;

/* A file of tests/data/cases in a folder of its own. */
static char *unpack(const char *name) {
    folder = loom_xstrdup("/tmp/loom-uvfits-test-XXXXXX");
    LOOM_CHECK(mkdtemp(folder));
    char *command = loom_xprintf("tar xzf tests/data/cases/%s.tgz -C %s", name, folder);
    LOOM_CHECK_EQ_INT(system(command), 0);
    free(command);
    return loom_xprintf("%s/%s.uvfits", folder, name);
}

static void clean(char *path) {
    free(path);
    loom_remove_tree(folder);
    free(folder);
}

static const loom_ms_selection everything = {.column = "DATA", .spw = LOOM_MS_ALL, .channel_to = LOOM_MS_ALL};

static const void *data_of(const loom_value *value, const char *name) {
    const loom_leaf *leaf = loom_value_find(value, name);
    LOOM_CHECK(leaf);
    return leaf->data;
}

LOOM_TEST(uvfits, rows) {
    char *path = unpack("uv_plain");
    loom_source *source;
    loom_ms_info *info;
    LOOM_OK(loom_observation_open(path, &everything, &source, &info));
    LOOM_CHECK_EQ_INT(source->n_elements, 780);
    LOOM_CHECK_EQ_INT(info->n_segments, 1);
    LOOM_CHECK_EQ_INT(info->segments[0].n_channels, 4);
    LOOM_CHECK_EQ_INT(info->segments[0].correlations[0], 9);
    LOOM_CHECK_EQ_INT(info->segments[0].correlations[1], 12);
    LOOM_CHECK_EQ_INT(info->n_antennas, 12);
    LOOM_CHECK_EQ_INT(info->antenna_first, 1);
    LOOM_CHECK(info->time_from == info->time_first && info->time_to == info->time_last);
    LOOM_CHECK(fabs(info->segments[0].frequencies[3] - 141.5e6) < 1e-3);
    LOOM_CHECK(fabs(info->dec + M_PI / 4) < 1e-12);
    loom_value *rows;
    LOOM_OK(loom_source_read(source, 0, 780, &rows));
    const int32_t *antenna1 = data_of(rows, "antenna1"), *antenna2 = data_of(rows, "antenna2");
    const double *u = data_of(rows, "u"), *time = data_of(rows, "time");
    const float *vis = data_of(rows, "vis"), *weight = data_of(rows, "wt");
    /* The first group is an autocorrelation, BASELINE 257, DATE 2459000.9140625 + 0.0026041665. */
    LOOM_CHECK_EQ_INT(antenna1[0], 1);
    LOOM_CHECK_EQ_INT(antenna2[0], 1);
    LOOM_CHECK(u[0] == 0 && u[1] != 0);
    LOOM_CHECK(fabs(time[0] - (2459000.9140625 + 0.0026041665 - 2400000.5) * 86400) < 1e-3);
    LOOM_CHECK(vis[0] == 7.4149036F && vis[1] == -0.022225639F && weight[1] == 1.3911062F);
    loom_value_unref(rows);
    loom_source_destroy(source);
    loom_ms_info_free(info);
    clean(path);
}

/* The same bytes whatever the length of blocks. */
static void check_blocks(loom_source *source, const loom_value *all, int64_t length) {
    for (int64_t at = 0; at < source->n_elements; at += length) {
        int64_t n = source->n_elements - at < length ? source->n_elements - at : length;
        loom_value *part, *want;
        LOOM_OK(loom_source_read(source, at, n, &part));
        LOOM_OK(loom_value_slice(all, at, at + n, &want));
        for (uint32_t i = 0; i < part->n_leaves; i++) {
            size_t bytes = (size_t)part->leaves[i].n_data * loom_dtype_size(part->leaves[i].dtype);
            LOOM_CHECK_EQ_INT(part->leaves[i].n_data, want->leaves[i].n_data);
            LOOM_CHECK(memcmp(part->leaves[i].data, want->leaves[i].data, bytes) == 0);
        }
        loom_value_unref(part);
        loom_value_unref(want);
    }
}

LOOM_TEST(uvfits, blocks) {
    char *path = unpack("uv_circular");
    loom_source *source;
    loom_ms_info *info;
    loom_ms_selection some = everything;
    some.channel_from = 1;
    some.channel_to = 3;
    LOOM_OK(loom_uvfits_open(path, &some, &source, &info));
    LOOM_CHECK_EQ_INT(info->segments[0].n_channels, 2);
    loom_value *all;
    LOOM_OK(loom_source_read(source, 0, source->n_elements, &all));
    check_blocks(source, all, 1);
    check_blocks(source, all, 7);
    check_blocks(source, all, 600);
    loom_value_unref(all);
    loom_source_destroy(source);
    loom_ms_info_free(info);
    clean(path);
}

/* Opens and reads whatever can be read; errors are fine. */
static bool try_all(const char *path) {
    loom_source *source;
    loom_ms_info *info;
    loom_status *status = loom_observation_open(path, &everything, &source, &info);
    bool opened = !status;
    if (opened) {
        for (uint32_t s = 0; s < source->n_segments && !status; s++) {
            loom_value *rows = NULL, *constants = NULL;
            status = loom_source_constants(source, s, &constants);
            if (!status) status = loom_source_read(source, source->segment_first[s], 1, &rows);
            loom_value_unref(rows);
            loom_value_unref(constants);
        }
        loom_source_destroy(source);
        loom_ms_info_free(info);
    }
    loom_status_free(status);
    return opened;
}

static void flip_at(const char *path, long at, unsigned char bits) {
    FILE *f = fopen(path, "r+b");
    LOOM_CHECK(f);
    LOOM_CHECK_EQ_INT(fseek(f, at, SEEK_SET), 0);
    int byte = fgetc(f);
    LOOM_CHECK_EQ_INT(fseek(f, at, SEEK_SET), 0);
    fputc(byte ^ bits, f);
    LOOM_CHECK_EQ_INT(fclose(f), 0);
}

/* Where one of a table's first eight cards is damaged, cfitsio 4.2 allocates by a count that it has not read, gives up,
 * and says so: an error in the end, but sanitizers report the size. */
static bool upsets_sanitizers(const char *path, long at) {
    if (!LOOM_TEST_SANITIZED) return false;
    char start[8];
    FILE *f = fopen(path, "rb");
    LOOM_CHECK(f);
    LOOM_CHECK_EQ_INT(fseek(f, at / 2880 * 2880, SEEK_SET), 0);
    bool table = fread(start, 1, 8, f) == 8 && memcmp(start, "XTENSION", 8) == 0;
    fclose(f);
    return table && at % 2880 < 8L * 80;
}

/* One bit wrong, anywhere in the header or the tables: an error or rows, never a crash. */
LOOM_TEST(uvfits, flipped_bits) {
    char *path = unpack("uv_one_yy");
    FILE *f = fopen(path, "rb");
    LOOM_CHECK(f);
    LOOM_CHECK_EQ_INT(fseek(f, 0, SEEK_END), 0);
    long size = ftell(f), tail = 4 * 2880, header = 2 * 2880;
    fclose(f);
    uint32_t state = 12345;
    int opened = 0, turns = 3000;
    for (int i = 0; i < turns; i++) {
        state = state * 1664525 + 1013904223;
        long at = (long)((state >> 8) % (uint32_t)(header + tail));
        if (at >= header) at = size - tail + (at - header);
        if (upsets_sanitizers(path, at)) continue;
        unsigned char bits = (unsigned char)(1U << (state % 7));
        flip_at(path, at, bits);
        opened += try_all(path);
        flip_at(path, at, bits);
    }
    LOOM_CHECK(opened > turns / 10 && opened < turns);
    LOOM_CHECK(try_all(path));
    clean(path);
}

LOOM_TEST(uvfits, cut_anywhere) {
    char *path = unpack("uv_truncated");
    FILE *f = fopen(path, "rb");
    LOOM_CHECK(f);
    LOOM_CHECK_EQ_INT(fseek(f, 0, SEEK_END), 0);
    long size = ftell(f);
    fclose(f);
    for (long n = size - 1; n >= 0; n -= n > 9000 ? 997 : 61) {
        LOOM_CHECK_EQ_INT(truncate(path, n), 0);
        LOOM_CHECK(!try_all(path));
    }
    clean(path);
}
