/* Parts of image and simulate that need no job. */
#include "common/buffer.h"
#include "common/file.h"
#include "image.h"
#include "loom_test.h"
#include "sky.h"
#include <unistd.h>

static void size_is(const char *text, int64_t nx, int64_t ny) {
    int64_t x, y;
    LOOM_OK(image_parse_size(text, &x, &y));
    LOOM_CHECK_EQ_INT(x, nx);
    LOOM_CHECK_EQ_INT(y, ny);
}

LOOM_TEST(image, sizes) {
    size_is("1", 1, 1);
    size_is("512x256", 512, 256);
    size_is("1000000000", CLI_MAX_IMAGE_SIDE, CLI_MAX_IMAGE_SIDE);
    static const char *const wrong[] = {
        "", "0", "-5", "0x5", "5x0", "5x", "x5", "5x5x5", "5.5", "1000000001", "1e3", "99999999999999999999", " 5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t x, y;
        LOOM_FAILS(image_parse_size(wrong[i], &x, &y), LOOM_E_USAGE);
    }
}

LOOM_TEST(image, scales) {
    static const struct {
        const char *text;
        double arcsec;
    } good[] = {{"5asec", 5},
                {"0.5arcmin", 30},
                {"1amin", 60},
                {"0.01deg", 36},
                {"2mas", 0.002},
                {"10uas", 1e-5},
                {"1e-3rad", 206.26480624709636},
                {"1mrad", 206.26480624709636},
                {"5arcsec", 5}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double x;
        LOOM_OK(image_parse_scale(good[i].text, &x));
        LOOM_CHECK_NEAR(x * 648000 / M_PI / good[i].arcsec, 1.0, 1e-12);
    }
    static const char *const wrong[] = {"", "5", "asec", "-5asec", "0asec", "infasec", "nandeg", "5 asec", "5parsec"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        double x;
        LOOM_FAILS(image_parse_scale(wrong[i], &x), LOOM_E_USAGE);
    }
}

LOOM_TEST(image, channels) {
    loom_ms_selection s = {0};
    LOOM_OK(image_parse_channels("2:6", &s));
    LOOM_CHECK(s.channel_from == 2 && s.channel_to == 6);
    LOOM_OK(image_parse_channels(":", &s));
    LOOM_CHECK(s.channel_from == 0 && s.channel_to == LOOM_MS_ALL);
    LOOM_OK(image_parse_channels("3:", &s));
    LOOM_CHECK(s.channel_from == 3 && s.channel_to == LOOM_MS_ALL);
    LOOM_OK(image_parse_channels(":3", &s));
    LOOM_CHECK(s.channel_from == 0 && s.channel_to == 3);
    static const char *const wrong[] = {"", "3", "a:b", "3:3", "4:2", "-1:3", "1:2:3", "0:0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        LOOM_FAILS(image_parse_channels(wrong[i], &s), LOOM_E_USAGE);
}

LOOM_TEST(image, memory) {
    image_request r = {.nx = 1000, .ny = 1000, .epsilon = 1e-4, .size_text = "1000"};
    LOOM_OK(image_check_memory(&r));
    r.where.memory = 50 << 20;
    LOOM_FAILS(image_check_memory(&r), LOOM_E_MEMORY);
    r.where.memory = 0;
    r.nx = r.ny = CLI_MAX_IMAGE_SIDE;
    LOOM_FAILS(image_check_memory(&r), LOOM_E_MEMORY);
    r.where.connect = "ipc:///x";
    LOOM_FAILS(image_check_memory(&r), LOOM_E_MEMORY);
    LOOM_CHECK_STR(image_bytes_text(1536), "1.5 KiB");
}

static double first_time(const char *text) {
    loom_ms_selection s = {0};
    LOOM_OK(image_parse_time(text, &s));
    LOOM_CHECK(s.by_time && s.time_from < s.time_to);
    return s.time_from;
}

LOOM_TEST(image, times) {
    LOOM_CHECK_NEAR(first_time("1858-11-17/"), 0.0, 1e-9);
    LOOM_CHECK_NEAR(first_time("2020-02-29T12:30/2020-03-01"), 58908 * 86400.0 + 45000, 1e-6);
    LOOM_CHECK_NEAR(first_time("2000-01-01T00:00:00.25/60000"), 51544 * 86400.0 + 0.25, 1e-6);
    LOOM_CHECK_NEAR(first_time("59000.5/59001"), 59000.5 * 86400, 1e-6);
    LOOM_CHECK(first_time("/2020-01-01") == -INFINITY);
    static const char *const wrong[] = {
        "",    "2020-01-01",          "x/",   "2020-13-01/", "2020-01-01T25:00/", "2020-01-01T1/", "5/4",
        "5/5", "2020-01-01T00:00:x/", "nan/", "1/2/3"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        loom_ms_selection s = {0};
        LOOM_FAILS(image_parse_time(wrong[i], &s), LOOM_E_USAGE);
    }
}

static image_counts counts_of(int64_t flagged, int64_t out, int64_t gridded) {
    return (image_counts){.flagged = flagged, .out_of_grid = out, .gridded = gridded};
}

LOOM_TEST(image, every_visibility_is_accounted_for) {
    image_request r = {.data = "a.ms"};
    loom_ms_segment segment = {.n_rows = 5, .n_channels = 2};
    loom_ms_info info = {.segments = &segment, .n_segments = 1};
    image_counts good = counts_of(4, 0, 6), flagged = counts_of(10, 0, 0), out = counts_of(4, 6, 0),
                 less = counts_of(4, 0, 5);
    LOOM_OK(image_check_counts(&r, &info, &good));
    LOOM_FAILS(image_check_counts(&r, &info, &less), LOOM_E_INTERNAL);
    loom_status *status = image_check_counts(&r, &info, &flagged);
    LOOM_CHECK_HAS(loom_status_message(status), "all 10 visibilities are flagged");
    LOOM_FAILS(status, LOOM_E_DATA);
    status = image_check_counts(&r, &info, &out);
    LOOM_CHECK_HAS(loom_status_message(status), "4 flagged, 6 out of the grid");
    LOOM_FAILS(status, LOOM_E_DATA);
}

/* ---- sky ---- */

LOOM_TEST(sky, lists) {
    char folder[] = "/tmp/loom-sky-test-XXXXXX";
    LOOM_CHECK(mkdtemp(folder));
    char *path = loom_xprintf("%s/a", folder);
    static const char good[] = "# none\n\n 10 -20 1.5 ignored # east, south\n00:00:00 -44:59:50.0 2\n";
    LOOM_OK(loom_file_write(path, good, strlen(good), false));
    sky s;
    LOOM_OK(sky_read(path, 0, -M_PI / 4, &s));
    LOOM_CHECK_EQ_INT(s.n, 2);
    LOOM_CHECK_NEAR(s.sources[1].m * 648000 / M_PI, 10.0, 1e-6);
    LOOM_CHECK_NEAR(s.sources[1].l, 0.0, 1e-12);
    loom_file_set *files = loom_file_set_create();
    LOOM_OK(sky_hold(path, &s, files));
    LOOM_OK(loom_file_set_commit(files));
    loom_file_set_destroy(files);
    sky_free(&s);
    LOOM_OK(sky_read(path, 0, -M_PI / 4, &s));
    LOOM_CHECK_NEAR(s.sources[0].l * 648000 / M_PI, 10.0, 1e-6);
    sky_free(&s);
    static const char *const wrong[] = {
        "", "1 2\n", "1 x 3\n", "1 2 x\n", "1:2 3:4:5 1\n", "300000 0 1\n", "12:00:00 45:00:00 1\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        LOOM_OK(loom_file_write(path, wrong[i], strlen(wrong[i]), false));
        LOOM_FAILS(sky_read(path, 0, -M_PI / 4, &s), LOOM_E_DATA);
    }
    free(path);
    loom_remove_tree(folder);
}

LOOM_TEST(sky, uvw_and_prediction) {
    double north[3] = {0, 0, 100}, uvw[3];
    /* At declination 0 the pole lies in the plane of the sky, to the north; at the pole it lies ahead. */
    sky_uvw(north, 1.0, 0, uvw);
    LOOM_CHECK_NEAR(uvw[1], 100.0, 1e-9);
    sky_uvw(north, 1.0, M_PI / 2, uvw);
    LOOM_CHECK_NEAR(uvw[2], 100.0, 1e-9);
    double east[3] = {0, 100, 0};
    sky_uvw(east, 0, 0.3, uvw);
    LOOM_CHECK_NEAR(uvw[0], 100.0, 1e-9);
    sky_source one = {0.01, 0, 2};
    sky s = {&one, 1};
    double frequency = 299792458.0, v[2], quarter[3] = {25, 0, 0};
    sky_predict(&s, quarter, &frequency, 1, v);
    LOOM_CHECK_NEAR(v[0], 0.0, 1e-9);
    LOOM_CHECK_NEAR(v[1], 2.0, 1e-9); /* exp(+i) for a source to the east and u > 0 */
}

LOOM_TEST(sky, sidereal_time) {
    /* 2000-01-01 12:00 UT1: 18 h 41 m 50.5 s. */
    LOOM_CHECK_NEAR(sky_sidereal(51544.5 * 86400) * 12 / M_PI, 18.697374, 1e-5);
}
