/* Awkward observations, read through the source in blocks and counted by the rules of the imaging program; the numbers
 * are those of tests/data/cases/cases.json. */
#include "common/buffer.h"
#include "common/file.h"
#include "io/ms.h"
#include "loom_test.h"
#include <unistd.h>

#define LIGHT_SPEED 299792458.0
#define ARCSEC      (3.14159265358979323846 / 180 / 3600)

/* Unpacks a case into a folder of its own; the path of that folder is the caller's. */
static char *unpack(const char *tgz) {
    char *folder = loom_xstrdup("/tmp/loom-ms-test-XXXXXX");
    LOOM_CHECK(mkdtemp(folder));
    char *command = loom_xprintf("tar xzf tests/data/cases/%s.tgz -C %s", tgz, folder);
    LOOM_CHECK_EQ_INT(system(command), 0);
    free(command);
    return folder;
}

static void clean(char *folder) {
    char *command = loom_xprintf("chmod -R u+w %s", folder);
    LOOM_CHECK_EQ_INT(system(command), 0);
    free(command);
    loom_remove_tree(folder);
    free(folder);
}

enum {
    AUTOCORRELATION,
    FLAGGED,
    NONFINITE,
    ZERO_WEIGHT,
    OUT_OF_GRID,
    GRIDDED,
    CLASSES
};

typedef struct tally {
    int64_t n[CLASSES];
    double weight;
} tally;

typedef struct block {
    const double *u, *v, *w;
    const int32_t *antenna1, *antenna2;
    const float *vis, *wt;
    const bool *flag;
    const double *freq;
    const int32_t *corr;
    int64_t rows, channels, hands;
} block;

static const void *data_of(const loom_value *value, const char *name) {
    const loom_leaf *leaf = loom_value_find(value, name);
    LOOM_CHECK(leaf);
    return leaf->data;
}

static bool has_hand(const block *b, int32_t code) {
    for (int64_t h = 0; h < b->hands; h++) {
        if (b->corr[h] == code) return true;
    }
    return false;
}

static bool is_used(const block *b, int32_t code) {
    if (has_hand(b, 1)) return code == 1;
    if (has_hand(b, 9) || has_hand(b, 12)) return code == 9 || code == 12;
    return code == 5 || code == 8;
}

static int classify(const block *b, int64_t row, int64_t channel, double *weight) {
    bool flagged = false, finite = isfinite(b->u[row]) && isfinite(b->v[row]) && isfinite(b->w[row]);
    double least = INFINITY, scale = 20 * ARCSEC * b->freq[channel] / LIGHT_SPEED;
    for (int64_t h = 0; h < b->hands; h++) {
        int64_t i = (row * b->channels + channel) * b->hands + h;
        if (!is_used(b, b->corr[h])) continue;
        flagged = flagged || b->flag[i];
        finite = finite && isfinite(b->vis[2 * i]) && isfinite(b->vis[2 * i + 1]) && isfinite(b->wt[i]);
        least = fmin(least, (double)b->wt[i]);
    }
    *weight = least;
    if (b->antenna1[row] == b->antenna2[row]) return AUTOCORRELATION;
    if (flagged) return FLAGGED;
    if (!finite) return NONFINITE;
    if (!(least > 0)) return ZERO_WEIGHT;
    return fabs(b->u[row]) * scale > 0.5 || fabs(b->v[row]) * scale > 0.5 ? OUT_OF_GRID : GRIDDED;
}

static void count_block(const block *b, tally *t) {
    for (int64_t row = 0; row < b->rows; row++) {
        for (int64_t c = 0; c < b->channels; c++) {
            double weight;
            int class = classify(b, row, c, &weight);
            t->n[class]++;
            if (class == GRIDDED) t->weight += weight;
        }
    }
}

static tally count_source(loom_source *source, int64_t length) {
    tally t = {0};
    loom_block_info *blocks;
    int64_t n, elements = 0;
    LOOM_OK(loom_source_blocks(&source, 1, length, &blocks, &n));
    for (int64_t i = 0; i < n; i++) {
        loom_value *rows, *constants;
        LOOM_OK(loom_source_read(source, blocks[i].first, blocks[i].count, &rows));
        LOOM_OK(loom_source_constants(source, blocks[i].segment, &constants));
        LOOM_OK(loom_value_check(rows));
        block b = {.rows = blocks[i].count};
        b.u = data_of(rows, "u");
        b.v = data_of(rows, "v");
        b.w = data_of(rows, "w");
        b.antenna1 = data_of(rows, "antenna1");
        b.antenna2 = data_of(rows, "antenna2");
        b.vis = data_of(rows, "vis");
        b.wt = data_of(rows, "wt");
        b.flag = data_of(rows, "flag");
        b.freq = data_of(constants, "freq");
        b.corr = data_of(constants, "corr");
        b.channels = loom_value_find(constants, "freq")->extents[0];
        b.hands = loom_value_find(constants, "corr")->extents[0];
        count_block(&b, &t);
        elements += b.rows;
        loom_value_unref(rows);
        loom_value_unref(constants);
    }
    LOOM_CHECK_EQ_INT(elements, source->n_elements);
    free(blocks);
    return t;
}

typedef struct test_case {
    const char *tgz, *column;
    int64_t from, to;
    int64_t n[CLASSES];
    double weight;
} test_case;

static const test_case cases[] = {
    {"base", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
    {"base", "DATA", 1, 3, {0, 26, 0, 0, 0, 1294}, 1082.4704917669296},
    {"rows_swapped", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
    {"unflagged_nan", "DATA", 0, -1, {0, 45, 296, 0, 0, 2299}, 1926.0259296894073},
    {"weights_nan", "DATA", 0, -1, {0, 45, 242, 0, 0, 2353}, 1965.7577931880951},
    {"weights_zero", "DATA", 0, -1, {0, 45, 0, 242, 0, 2353}, 1965.7577931880951},
    {"uvw_nan", "DATA", 0, -1, {0, 45, 291, 0, 0, 2304}, 1931.3185594677925},
    {"autocorrelations", "DATA", 0, -1, {480, 54, 0, 0, 0, 2586}, 2166.4655414819717},
    {"flag_row", "DATA", 0, -1, {0, 293, 0, 0, 0, 2347}, 1977.09380620718},
    {"channel_flagged", "DATA", 0, -1, {0, 689, 0, 0, 0, 1951}, 1636.0433343052864},
    {"one_row_one_channel", "DATA", 0, -1, {0, 0, 0, 0, 0, 1}, 0.50627171993255615},
    {"ws_undefined", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
    {"ws_differs", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 9706.3322279155254},
    {"spw2_differ", "DATA", 0, -1, {0, 76, 0, 0, 0, 3554}, 2926.2545892000198},
    {"dd_mixed_pols", "DATA", 0, -1, {0, 31, 0, 0, 0, 2609}, 2386.510150551796},
    {"channels_descending", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
    {"channels_188", "DATA", 0, -1, {0, 329, 0, 0, 0, 16591}, 13736.238548576832},
    {"stokes_iquv", "DATA", 0, -1, {0, 37, 0, 0, 0, 2603}, 2608.6769226789474},
    {"yy_first", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
    {"corr4", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
    {"corrected_only", "CORRECTED_DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
    {"dec_plus90", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
    {"amp_1e30", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
    {"weight_tiny", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 1.7150701571074827e-27},
    {"long_baseline", "DATA", 0, -1, {0, 45, 0, 0, 432, 2163}, 1809.3598381280899},
    {"two_observations", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
    {"big_endian", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
    {"std_storage", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
    {"tiledshape", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
    {"readonly", "DATA", 0, -1, {0, 45, 0, 0, 0, 2595}, 2174.1097140908241},
};

static void check_case(const test_case *k, int64_t length) {
    char *folder = unpack(k->tgz), *path = loom_xprintf("%s/%s.ms/", folder, k->tgz);
    loom_ms_selection selection = {
        .column = k->column, .spw = LOOM_MS_ALL, .channel_from = k->from, .channel_to = k->to};
    loom_source *source;
    loom_ms_info *info;
    LOOM_OK(loom_ms_open(path, &selection, &source, &info));
    tally t = count_source(source, length);
    for (int i = 0; i < CLASSES; i++) {
        if (t.n[i] != k->n[i]) fprintf(stderr, "case %s, class %d\n", k->tgz, i);
        LOOM_CHECK_EQ_INT(t.n[i], k->n[i]);
    }
    LOOM_CHECK_NEAR(t.weight / k->weight, 1.0, 1e-12);
    loom_source_destroy(source);
    loom_ms_info_free(info);
    free(path);
    clean(folder);
}

LOOM_TEST(ms, counts_in_blocks) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(&cases[i], 37);
}

LOOM_TEST(ms, counts_in_one_block) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i += 5) check_case(&cases[i], 1000000);
}

/* ---- what is refused, and what is said ---- */

static void check_refusal(const char *path, loom_ms_selection selection, loom_code code, const char *part) {
    loom_source *source = NULL;
    loom_ms_info *info = NULL;
    loom_status *status = loom_ms_open(path, &selection, &source, &info);
    LOOM_CHECK(status && !source && !info);
    char *text = loom_status_text(status);
    LOOM_CHECK_HAS(text, part);
    LOOM_CHECK_EQ_INT(loom_status_code(status), code);
    free(text);
    loom_status_free(status);
}

static void refused(const char *tgz, loom_ms_selection selection, const char *part) {
    char *folder = unpack(tgz), *path = loom_xprintf("%s/%s.ms", folder, tgz);
    check_refusal(path, selection, LOOM_E_DATA, part);
    free(path);
    clean(folder);
}

static const loom_ms_selection all = {.spw = LOOM_MS_ALL, .channel_to = LOOM_MS_ALL};

LOOM_TEST(ms, refuses_what_is_not_one) {
    check_refusal("/nonexistent.ms", all, LOOM_E_NOINPUT, "no such file");
    check_refusal("README.md", all, LOOM_E_DATA, "not a FITS file");
    refused("empty_directory", all, "not a MeasurementSet");
    refused("missing_table_file", all, "SPECTRAL_WINDOW");
    refused("zero_rows", all, "no rows");
    refused("ddid_out_of_range", all, "DATA_DESC_ID 7");
    refused("antenna_out_of_range", all, "ANTENNA");
}

LOOM_TEST(ms, refuses_what_is_not_there) {
    refused("base", (loom_ms_selection){.field = 3, .spw = -1, .channel_to = -1}, "no field 3");
    refused("base", (loom_ms_selection){.field = -1, .spw = -1, .channel_to = -1}, "no field -1");
    refused("base", (loom_ms_selection){.spw = 5, .channel_to = -1}, "no spectral window (spw) 5");
    refused("base", (loom_ms_selection){.spw = -1, .channel_from = 4, .channel_to = 8},
            "channels 4:8 are out of range");
    refused("base", (loom_ms_selection){.spw = -1, .channel_from = 2, .channel_to = 2},
            "channels 2:2 are out of range");
    refused("base", (loom_ms_selection){.column = "CORRECTED_DATA", .spw = -1, .channel_to = -1},
            "no column CORRECTED_DATA");
    refused("corrected_only", all, "CORRECTED_DATA, MODEL_DATA");
    refused("base", (loom_ms_selection){.column = "UVW", .spw = -1, .channel_to = -1}, "does not hold visibilities");
}

/* ---- segments, constants, header values ---- */

LOOM_TEST(ms, segments_of_two_windows) {
    char *folder = unpack("spw2_differ"), *path = loom_xprintf("%s/spw2_differ.ms", folder);
    loom_source *source;
    loom_ms_info *info;
    LOOM_OK(loom_ms_open(path, &all, &source, &info));
    LOOM_CHECK_EQ_INT(source->n_segments, 2);
    LOOM_CHECK_EQ_INT(info->n_segments, 2);
    LOOM_CHECK_EQ_INT(info->segments[0].n_channels, 4);
    LOOM_CHECK_EQ_INT(info->segments[1].n_channels, 7);
    LOOM_CHECK_EQ_INT(info->segments[0].n_rows + info->segments[1].n_rows, source->n_elements);
    LOOM_CHECK_EQ_INT(source->segment_first[1], info->segments[0].n_rows);
    loom_value *value = NULL;
    LOOM_FAILS(loom_source_read(source, source->segment_first[1] - 1, 2, &value), LOOM_E_PROTOCOL);
    LOOM_FAILS(loom_source_read(source, source->n_elements, 1, &value), LOOM_E_PROTOCOL);
    LOOM_OK(loom_source_read(source, source->n_elements, 0, &value));
    loom_value_unref(value);
    LOOM_FAILS(loom_source_constants(source, 2, &value), LOOM_E_PROTOCOL);
    loom_source_destroy(source);
    loom_ms_info_free(info);
    free(path);
    clean(folder);
}

LOOM_TEST(ms, info_of_the_observation) {
    char *folder = unpack("channels_descending"), *path = loom_xprintf("%s/channels_descending.ms", folder);
    loom_source *source;
    loom_ms_info *info;
    LOOM_OK(loom_ms_open(path, &all, &source, &info));
    LOOM_CHECK_NEAR(info->dec * 180 / M_PI, -45.0, 1e-9);
    LOOM_CHECK_STR(info->frame, "J2000");
    const loom_ms_segment *s = &info->segments[0];
    LOOM_CHECK(s->frequencies[0] > s->frequencies[s->n_channels - 1]);
    LOOM_CHECK(s->low < s->frequencies[s->n_channels - 1] && s->high > s->frequencies[0]);
    LOOM_CHECK(info->time_last > info->time_first);
    LOOM_CHECK_STR(loom_ms_correlation_name(9), "XX");
    LOOM_CHECK_STR(loom_ms_correlation_name(-4), "?");
    loom_source_destroy(source);
    loom_ms_info_free(info);
    free(path);
    clean(folder);
}
