/* A MeasurementSet written and read back, by our reader and by casacore's own Python tables. */
#include "common/buffer.h"
#include "common/file.h"
#include "io/ms.h"
#include "loom_test.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ROWS = 300,
    CHANNELS = 3,
    HANDS = 2
};

typedef struct fixture {
    char *folder, *path;
    loom_ms_antenna antennas[3];
    double frequencies[CHANNELS];
    int32_t correlations[HANDS];
    loom_ms_layout layout;
    double uvw[ROWS][3], time[ROWS];
    int32_t antenna1[ROWS], antenna2[ROWS];
    float data[ROWS * CHANNELS * HANDS * 2], weight[ROWS * HANDS];
} fixture;

static fixture *make_fixture(void) {
    fixture *f = loom_xcalloc(1, sizeof *f);
    f->folder = loom_xstrdup("/tmp/loom-ms-write-XXXXXX");
    LOOM_CHECK(mkdtemp(f->folder));
    f->path = loom_xprintf("%s/a.ms", f->folder);
    for (int i = 0; i < 3; i++) {
        snprintf(f->antennas[i].name, sizeof f->antennas[i].name, "A%d", i);
        f->antennas[i].position[0] = 6e6 + i;
    }
    for (int c = 0; c < CHANNELS; c++) f->frequencies[c] = 1e8 + 1e5 * c;
    f->correlations[0] = 9;
    f->correlations[1] = 12;
    f->layout = (loom_ms_layout){.telescope = "T",
                                 .field = "F",
                                 .observer = "O",
                                 .antennas = f->antennas,
                                 .n_antennas = 3,
                                 .dish_diameter = 5,
                                 .frequencies = f->frequencies,
                                 .n_channels = CHANNELS,
                                 .channel_width = 1e5,
                                 .correlations = f->correlations,
                                 .n_correlations = HANDS,
                                 .ra = 1,
                                 .dec = -0.5,
                                 .time_first = 5e9,
                                 .time_last = 5e9 + 99 * 10,
                                 .interval = 10,
                                 .history = "test"};
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < 3; k++) f->uvw[i][k] = i + 0.25 * k;
        int step = i / 3;
        f->time[i] = 5e9 + 10.0 * step;
        f->antenna1[i] = i % 3 == 2 ? 1 : 0;
        f->antenna2[i] = i % 3 == 0 ? 1 : 2;
        for (int k = 0; k < CHANNELS * HANDS * 2; k++) f->data[i * CHANNELS * HANDS * 2 + k] = (float)(100 * i + k);
        f->weight[2 * i] = 1;
        f->weight[2 * i + 1] = 2;
    }
    return f;
}

static void free_fixture(fixture *f) {
    loom_remove_tree(f->folder);
    free(f->folder);
    free(f->path);
    free(f);
}

/* In two parts, as a simulation would. */
static loom_status *write_all(fixture *f) {
    loom_ms_writer *writer;
    LOOM_TRY(loom_ms_create(f->path, &f->layout, &writer));
    loom_status *status = NULL;
    for (int from = 0; from < ROWS && !status; from += ROWS / 2) {
        loom_ms_rows rows = {ROWS / 2,
                             f->uvw[from],
                             f->time + from,
                             f->antenna1 + from,
                             f->antenna2 + from,
                             f->data + from * CHANNELS * HANDS * 2,
                             f->weight + from * HANDS};
        status = loom_ms_put(writer, &rows);
    }
    if (!status) return loom_ms_commit(writer);
    loom_ms_abort(writer);
    return status;
}

LOOM_TEST(ms_write, is_read_back) {
    fixture *f = make_fixture();
    LOOM_OK(write_all(f));
    loom_ms_selection all = {.spw = LOOM_MS_ALL, .channel_from = 1, .channel_to = 3};
    loom_source *source;
    loom_ms_info *info;
    LOOM_OK(loom_ms_open(f->path, &all, &source, &info));
    LOOM_CHECK_EQ_INT(source->n_elements, ROWS);
    LOOM_CHECK_NEAR(info->ra, 1.0, 1e-12);
    LOOM_CHECK_STR(info->telescope, "T");
    loom_value *v;
    LOOM_OK(loom_source_read(source, 100, 50, &v));
    const float *vis = loom_value_find(v, "vis")->data, *wt = loom_value_find(v, "wt")->data;
    const double *w = loom_value_find(v, "w")->data;
    for (int i = 0; i < 50; i++) {
        LOOM_CHECK_NEAR(w[i], 100 + i + 0.5, 0);
        /* Channel 1, hand 0 of row 100 + i is element 4 of its row. */
        LOOM_CHECK_NEAR((double)vis[i * 2 * HANDS * 2], 100.0 * (100 + i) + 4, 0);
        LOOM_CHECK_NEAR((double)wt[i * 2 * HANDS + 3], 2.0, 0);
    }
    loom_value_unref(v);
    loom_source_destroy(source);
    loom_ms_info_free(info);
    LOOM_FAILS(write_all(f), LOOM_E_CANTCREATE); /* it exists */
    free_fixture(f);
}

LOOM_TEST(ms_write, is_whole_for_casacore) {
    fixture *f = make_fixture();
    LOOM_OK(write_all(f));
    char *command = loom_xprintf(
        "/usr/bin/python3 -c \"\nfrom casacore.tables import table, tablecolumn\nt = table('%s', ack=False)\n"
        "assert t.nrows() == %d and t.keyword('MS_VERSION') if hasattr(t, 'keyword') else t.getkeyword('MS_VERSION') "
        "== 2.0\n"
        "n = dict((k, t.getkeyword(k)) for k in t.keywordnames() if k.isupper() and k != 'MS_VERSION')\n"
        "assert len(n) >= 12, n\n"
        "for k, s in n.items():\n    u = table(s.replace('Table: ', ''), ack=False)\n    assert u.nrows() > 0 or k in "
        "('FLAG_CMD', 'POINTING'), k\n"
        "assert not t.getcol('FLAG').any() and t.getcol('SIGMA').shape == (%d, 2)\n"
        "assert abs(t.getcol('INTERVAL') - 10).max() == 0\"",
        f->path, ROWS, ROWS);
    LOOM_CHECK_EQ_INT(system(command), 0);
    free(command);
    free_fixture(f);
}

static void expect_empty(const char *folder) {
    char *command = loom_xprintf("test -z \"$(ls -A %s)\"", folder);
    LOOM_CHECK_EQ_INT(system(command), 0);
    free(command);
}

LOOM_TEST(ms_write, nothing_is_left_of_a_failure) {
    fixture *f = make_fixture();
    loom_ms_writer *writer;
    LOOM_OK(loom_ms_create(f->path, &f->layout, &writer));
    loom_ms_abort(writer);
    expect_empty(f->folder);
    struct rlimit limit = {20000, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    LOOM_CHECK_EQ_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 20000;
    LOOM_CHECK_EQ_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    loom_status *status = write_all(f);
    LOOM_CHECK(status);
    loom_status_free(status);
    limit.rlim_cur = before;
    LOOM_CHECK_EQ_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    expect_empty(f->folder);
    f->path[strlen(f->folder)] = '\0';
    LOOM_FAILS(write_all(f), LOOM_E_CANTCREATE);
    free_fixture(f);
}
