/* Parts of image and simulate that need no job. */
#include "common/buffer.h"
#include "common/file.h"
#include "image.h"
#include "loom_test.h"
#include "selection.h"
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
    LOOM_OK(cli_parse_channels("2:6", &s));
    LOOM_CHECK(s.channel_from == 2 && s.channel_to == 6);
    LOOM_OK(cli_parse_channels(":", &s));
    LOOM_CHECK(s.channel_from == 0 && s.channel_to == LOOM_MS_ALL);
    LOOM_OK(cli_parse_channels("3:", &s));
    LOOM_CHECK(s.channel_from == 3 && s.channel_to == LOOM_MS_ALL);
    LOOM_OK(cli_parse_channels(":3", &s));
    LOOM_CHECK(s.channel_from == 0 && s.channel_to == 3);
    static const char *const wrong[] = {"", "3", "a:b", "3:3", "4:2", "-1:3", "1:2:3", "0:0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        LOOM_FAILS(cli_parse_channels(wrong[i], &s), LOOM_E_USAGE);
}

static double mebibytes_after(const char *text, const char *before) {
    const char *at = strstr(text, before);
    return at ? strtod(at + strlen(before), NULL) : 0;
}

/* What an error names as the least is taken, what its hint names is more. */
LOOM_TEST(image, memory) {
    image_request r = {
        .nx = 1000, .ny = 1000, .epsilon = 1e-4, .size_text = "1000", .n_products = 1, .channels_out = 1};
    LOOM_OK(image_check_memory(&r));
    r.where.memory = 10 << 20;
    loom_status *status = image_check_memory(&r);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_MEMORY);
    double least = mebibytes_after(loom_status_message(status), "at least ");
    double enough = loom_status_notes(status) ? mebibytes_after(loom_status_note_at(status, 0), "--memory ") : 0;
    loom_status_free(status);
    LOOM_CHECK(least > 20 && enough > least);
    r.where.memory = (uint64_t)least << 20;
    LOOM_OK(image_check_memory(&r));
    r.where.memory = 0;
    r.nx = r.ny = CLI_MAX_IMAGE_SIDE;
    LOOM_FAILS(image_check_memory(&r), LOOM_E_MEMORY);
    r.where.connect = "ipc:///x";
    LOOM_FAILS(image_check_memory(&r), LOOM_E_MEMORY);
    char text[32];
    LOOM_CHECK_STR(loom_bytes_text(1536, text), "1.5 KiB");
}

/* With a daemon the workers' memory is not asked for, that for all planes here is. */
LOOM_TEST(image, memory_of_planes) {
    image_request r = {
        .nx = 1000, .ny = 1000, .epsilon = 1e-4, .size_text = "1000", .n_products = 1, .channels_out = 1};
    r.where.connect = "ipc:///x";
    LOOM_OK(image_check_memory(&r));
    r.channels_out = 1000000000;
    LOOM_FAILS(image_check_memory(&r), LOOM_E_MEMORY);
}

static double first_time(const char *text) {
    loom_ms_selection s = {0};
    LOOM_OK(cli_parse_time(text, &s));
    LOOM_CHECK(s.by_time && s.time_from < s.time_to);
    return s.time_from;
}

LOOM_TEST(image, times) {
    LOOM_CHECK_NEAR(first_time("1858-11-17/"), 0.0, 1e-9);
    LOOM_CHECK_NEAR(first_time("2020-02-29T12:30/2020-03-01"), 58908 * 86400.0 + 45000, 1e-6);
    LOOM_CHECK_NEAR(first_time("2000-01-01T00:00:00.25/60000"), 51544 * 86400.0 + 0.25, 1e-6);
    LOOM_CHECK_NEAR(first_time("59000.5/59001"), 59000.5 * 86400, 1e-6);
    LOOM_CHECK(first_time("/2020-01-01") == -INFINITY);
    LOOM_CHECK_NEAR(first_time("2000-02-29/"), 51603 * 86400.0, 1e-6);
    static const char *const wrong[] = {
        "",    "2020-01-01",          "x/",   "2020-13-01/", "2020-01-01T25:00/", "2020-01-01T1/", "5/4",
        "5/5", "2020-01-01T00:00:x/", "nan/", "1/2/3",       "2021-02-29/",       "2020-04-31/",   "1900-02-29/"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        loom_ms_selection s = {0};
        LOOM_FAILS(cli_parse_time(wrong[i], &s), LOOM_E_USAGE);
    }
}

/* ---- weights and planes ---- */

static loom_status *weight_of(const char *text, double robust, image_weights *weights) {
    image_request r = {.weight = text, .robust = robust};
    LOOM_TRY(image_parse_weight(&r));
    *weights = r.weights;
    return NULL;
}

LOOM_TEST(image, weights) {
    image_weights w;
    LOOM_OK(weight_of("natural", NAN, &w));
    LOOM_CHECK_EQ_INT(w.kind, 0);
    LOOM_OK(weight_of("uniform", NAN, &w));
    LOOM_CHECK_EQ_INT(w.kind, 1);
    LOOM_OK(weight_of("briggs", NAN, &w));
    LOOM_CHECK(w.kind == 2 && w.robust == 0);
    LOOM_OK(weight_of("briggs:-0.5", NAN, &w));
    LOOM_CHECK(w.kind == 2 && w.robust == -0.5);
    LOOM_OK(weight_of("briggs", 1.5, &w));
    LOOM_CHECK(w.robust == 1.5);
    static const char *const wrong[] = {"",        "even",       "briggs:",   "briggs:x",
                                        "briggs0", "briggs:nan", "briggs:11", "natural:0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) LOOM_FAILS(weight_of(wrong[i], NAN, &w), LOOM_E_USAGE);
    LOOM_FAILS(weight_of("uniform", 0, &w), LOOM_E_USAGE);
    LOOM_FAILS(weight_of("briggs:0", 0, &w), LOOM_E_USAGE);
}

LOOM_TEST(image, stokes) {
    static const struct {
        const char *text;
        int64_t n;
        int32_t codes[4];
    } good[] = {{"I", 1, {1}},         {"IQUV", 4, {1, 2, 3, 4}},           {"UQ", 2, {2, 3}},
                {"XX,YY", 2, {9, 12}}, {"XX,XY,YX,YY", 4, {9, 12, 10, 11}}, {"LL", 1, {8}},
                {"RRLL", 2, {5, 8}}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        image_request r = {.stokes_text = good[i].text};
        LOOM_OK(image_parse_stokes(&r));
        LOOM_CHECK_EQ_INT(r.n_products, good[i].n);
        for (int64_t k = 0; k < r.n_products; k++) LOOM_CHECK_EQ_INT(r.products[k], good[i].codes[k]);
    }
    static const char *const wrong[] = {"", "X", "II", "I,Q,V", "I,XX", ",I", "I,", "I Q", "IQUVI"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        image_request r = {.stokes_text = wrong[i]};
        LOOM_FAILS(image_parse_stokes(&r), LOOM_E_USAGE);
    }
}

/* Seven channels of two windows, one frequency in both: six channels, in three, four and too many runs. */
LOOM_TEST(image, bands) {
    double low[] = {4e6, 3e6, 2e6, 1e6}, high[] = {4e6, 6e6, 8e6};
    loom_ms_segment segments[] = {
        {.n_channels = 4, .frequencies = low, .low = 0.5e6, .high = 4.5e6},
        {.n_channels = 3, .frequencies = high, .low = 3e6, .high = 9e6},
    };
    loom_ms_info info = {.segments = segments, .n_segments = 2};
    image_request r = {.n_products = 1, .products = {1}, .channels_out = 4};
    image_planes planes;
    LOOM_OK(image_divide(&r, &info, &planes));
    static const double from[] = {1e6, 2e6, 4e6, 6e6}, to[] = {1e6, 3e6, 4e6, 8e6};
    for (int b = 0; b < 4; b++) LOOM_CHECK(planes.at[b].low == from[b] && planes.at[b].high == to[b]);
    LOOM_CHECK_NEAR(planes.at[1].frequency, 2.5e6, 1.0);
    LOOM_CHECK_NEAR(planes.at[1].width, 2e6, 1.0);
    LOOM_CHECK_NEAR(planes.at[2].width, 2e6, 1.0); /* the wider of both */
    image_planes_free(&planes);
    r.channels_out = 7;
    LOOM_FAILS(image_divide(&r, &info, &planes), LOOM_E_USAGE);
}

static image_beam fitted(int64_t nx, int64_t ny, double major, double minor, double angle) {
    float *pixels = calloc((size_t)(nx * ny), sizeof *pixels);
    for (int64_t i = 0; i < nx * ny; i++) {
        int64_t x = i % nx, y = i / nx, middle_x = nx / 2, middle_y = ny / 2;
        double east = (double)(middle_x - x), north = (double)(y - middle_y);
        double along = north * cos(angle) + east * sin(angle), across = east * cos(angle) - north * sin(angle);
        double r2 = pow(along / major, 2) + pow(across / minor, 2);
        pixels[i] = (float)exp(-4 * log(2) * r2);
    }
    loom_leaf psf = {.dtype = LOOM_F32, .depth = 2, .extents = {ny, nx}, .data = pixels, .n_data = nx * ny};
    image_beam beam = image_fit_beam(&psf, 4, 1);
    free(pixels);
    return beam;
}

LOOM_TEST(image, beams) {
    static const double angles[] = {0, 0.4, 1.5, -0.7};
    for (size_t i = 0; i < 4; i++) {
        image_beam b = fitted(101, 120, 9, 4.5, angles[i]);
        LOOM_CHECK_NEAR(b.major, 9.0, 1e-3);
        LOOM_CHECK_NEAR(b.minor, 4.5, 1e-3);
        LOOM_CHECK_NEAR(remainder(b.angle - angles[i], M_PI), 0.0, 1e-3);
    }
    LOOM_CHECK(fitted(2, 2, 9, 4.5, 0).major == 0);
    LOOM_CHECK_NEAR(fitted(512, 300, 60, 20, 0.3).major, 60.0, 0.1);
}

static image_counts counts_of(int64_t flagged, int64_t out, int64_t gridded) {
    return (image_counts){.flagged = flagged, .out_of_grid = out, .gridded = gridded, .sum_weights = (double)gridded};
}

LOOM_TEST(image, every_visibility_is_accounted_for) {
    image_request r = {.data = "a.ms"};
    loom_ms_segment segment = {.n_rows = 5, .n_channels = 2};
    loom_ms_info info = {.segments = &segment, .n_segments = 1};
    image_counts good = counts_of(4, 0, 6), flagged = counts_of(10, 0, 0), out = counts_of(4, 6, 0),
                 less = counts_of(4, 0, 5);
    LOOM_OK(image_check_counts(&r, &info, &good));
    image_counts weightless = good;
    weightless.sum_weights = 0;
    LOOM_FAILS(image_check_counts(&r, &info, &weightless), LOOM_E_DATA);
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
    static const char good[] = "# none\n\n 10 -20 1.5 # east, south\n00:00:00 -44:59:50.0 2\n";
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
    static const char *const wrong[] = {"",
                                        "1 2\n",
                                        "1 x 3\n",
                                        "1 2 x\n",
                                        "1:2 3:4:5 1\n",
                                        "300000 0 1\n",
                                        "12:00:00 45:00:00 1\n",
                                        "0 0 1 2\n",
                                        "0 0 1 x\n",
                                        "25:00:00 -45:00:00 1\n",
                                        "04:75:00 -45:00:00 1\n",
                                        "00:00:00 -95:00:00 1\n",
                                        "0 0 1e300\n"};
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

static const char *line_at(cli_progress *p, uint32_t stage, int64_t done, int64_t releases) {
    static char text[256];
    loom_job_progress state = {.stage = stage == 2 ? "gridding" : "screens",
                               .stage_index = stage,
                               .n_stages = 4,
                               .elements_done = done,
                               .elements_total = stage == 2 ? 100 : 0,
                               .seconds_left = -1,
                               .workers = 1,
                               .releases = releases};
    cli_progress_line(p, &state, text);
    return text;
}

/* Stages of a loop run again, blocks of a lost worker are done again: neither looks as if it went back. */
LOOM_TEST(progress, does_not_go_back) {
    cli_progress p = {.unit = "rows"};
    LOOM_CHECK_STR(line_at(&p, 2, 0, 0), "[3/4] gridding    0 %");
    LOOM_CHECK_STR(line_at(&p, 2, 80, 0), "[3/4] gridding   80 %");
    LOOM_CHECK_STR(line_at(&p, 2, 60, 1), "[3/4] gridding   80 %  1 blocks again");
    LOOM_CHECK_STR(line_at(&p, 2, 90, 1), "[3/4] gridding   90 %  1 blocks again");
    LOOM_CHECK_STR(line_at(&p, 3, 0, 0), "[4/4] screens");
    LOOM_CHECK_STR(line_at(&p, 2, 10, 0), "[4/4] gridding, pass 2   10 %");
    LOOM_CHECK_STR(line_at(&p, 2, 100, 0), "[4/4] gridding, pass 2  100 %");
    LOOM_CHECK_STR(line_at(&p, 2, 5, 0), "[4/4] gridding, pass 3    5 %");
    LOOM_CHECK_STR(line_at(&p, 3, 0, 0), "[4/4] screens, pass 2");
    cli_progress_end(&p);
    p = (cli_progress){.unit = "rows", .job = 2, .n_jobs = 8};
    LOOM_CHECK_STR(line_at(&p, 2, 50, 0), "2 of 8: [3/4] gridding   50 %");
    cli_progress_end(&p);
}
