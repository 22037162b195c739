/* simulate: an array, a track, a sky of point sources, and the MeasurementSet they would give. */
#include "cli.h"
#include "client/output.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "sky.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A site with the whole southern sky: 26.7 S, 116.7 E. */
#define LONGITUDE (116.7 * M_PI / 180)
#define LATITUDE  (-26.7 * M_PI / 180)
/* Midnight of 2023-02-25 (MJD 60000): the track is centred on the field's next passage of the meridian. */
#define FIRST_DAY (60000 * 86400.0)
/* Rows written at a time. */
#define BATCH 4096

typedef struct simulation {
    const char *output, *sources;
    int64_t stations, times, channels, n_sources, seed;
    double extent, ra, dec, hours, frequency, width, noise, radius;
    bool quiet;
    sky sky;
    loom_ms_antenna *antennas;
    double *frequencies;
    sky_random random;
    loom_ms_layout layout;
    char *command;
} simulation;

typedef struct batch {
    int64_t n;
    double uvw[BATCH][3], time[BATCH];
    int32_t antenna1[BATCH], antenna2[BATCH];
    float *data, *weight;
    double *prediction;
} batch;

/* ---- setting up ---- */

static double hour_angle(const simulation *s, double time) {
    return sky_sidereal(time) - s->ra;
}

/* Time at which the field passes the site's meridian. */
static double transit(const simulation *s) {
    double angle = -(hour_angle(s, FIRST_DAY) + LONGITUDE);
    angle -= 2 * M_PI * floor(angle / (2 * M_PI));
    return FIRST_DAY + angle / (2 * M_PI) * 86400 / 1.00273781191135448;
}

static loom_status *set_up(simulation *s) {
    s->random.state = (uint64_t)s->seed;
    s->antennas = loom_xcalloc((size_t)s->stations, sizeof *s->antennas);
    s->frequencies = loom_xcalloc((size_t)s->channels, sizeof *s->frequencies);
    sky_layout(s->stations, s->extent, LONGITUDE, LATITUDE, &s->random, s->antennas);
    for (int64_t c = 0; c < s->channels; c++) {
        s->frequencies[c] = s->frequency + ((double)c - 0.5 * (double)(s->channels - 1)) * s->width;
    }
    if (!(s->frequencies[0] > 0)) return loom_error(LOOM_E_USAGE, "the channels reach below 0 Hz");
    if (s->sources) {
        LOOM_TRY(sky_read(s->sources, s->ra, s->dec, &s->sky));
    } else {
        sky_make(s->n_sources, s->radius, &s->random, &s->sky);
    }
    static const int32_t hands[] = {9, 12}; /* XX, YY */
    double interval = s->hours * 3600 / (double)s->times, first = transit(s) - s->hours * 1800 + interval / 2;
    s->layout = (loom_ms_layout){.telescope = "GRIDLOOM",
                                 .field = "SIMULATED",
                                 .observer = "gridloom",
                                 .antennas = s->antennas,
                                 .n_antennas = s->stations,
                                 .dish_diameter = 25,
                                 .frequencies = s->frequencies,
                                 .n_channels = s->channels,
                                 .channel_width = s->width,
                                 .correlations = hands,
                                 .n_correlations = 2,
                                 .ra = s->ra,
                                 .dec = s->dec,
                                 .time_first = first,
                                 .time_last = first + interval * (double)(s->times - 1),
                                 .interval = interval,
                                 .history = s->command};
    return NULL;
}

/* ---- rows ---- */

static batch *make_batch(const simulation *s) {
    batch *b = loom_xcalloc(1, sizeof *b);
    size_t cells = (size_t)BATCH * (size_t)s->channels;
    b->data = loom_xcalloc(cells, 4 * sizeof *b->data);
    b->weight = loom_xcalloc(BATCH, 2 * sizeof *b->weight);
    b->prediction = loom_xcalloc((size_t)s->channels, 2 * sizeof *b->prediction);
    for (size_t i = 0; i < 2 * BATCH; i++) b->weight[i] = 1;
    return b;
}

static void free_batch(batch *b) {
    free(b->data);
    free(b->weight);
    free(b->prediction);
    free(b);
}

/* The sources are not polarised: both hands see the same, each with its own noise. */
static void fill_row(simulation *s, batch *b, const double uvw[3]) {
    float *to = b->data + b->n * s->channels * 4;
    sky_predict(&s->sky, uvw, s->frequencies, s->channels, b->prediction);
    for (int64_t c = 0; c < s->channels; c++) {
        for (int k = 0; k < 4; k++) {
            double noise = s->noise > 0 ? s->noise * sky_gaussian(&s->random) : 0;
            *to++ = (float)(b->prediction[2 * c + k % 2] + noise);
        }
    }
}

static loom_status *flush(batch *b, loom_ms_writer *writer) {
    if (b->n == 0) return NULL;
    loom_ms_rows rows = {b->n, b->uvw[0], b->time, b->antenna1, b->antenna2, b->data, b->weight};
    b->n = 0;
    return loom_ms_put(writer, &rows);
}

static loom_status *observe(simulation *s, int64_t step, batch *b, loom_ms_writer *writer) {
    double time = s->layout.time_first + (double)step * s->layout.interval;
    double angle = hour_angle(s, time), *uvw = loom_xcalloc((size_t)s->stations, 3 * sizeof *uvw);
    for (int64_t i = 0; i < s->stations; i++) sky_uvw(s->antennas[i].position, angle, s->dec, uvw + 3 * i);
    loom_status *status = NULL;
    for (int64_t i = 0; i < s->stations && !status; i++) {
        for (int64_t j = i + 1; j < s->stations && !status; j++) {
            for (int k = 0; k < 3; k++) b->uvw[b->n][k] = uvw[3 * j + k] - uvw[3 * i + k];
            b->time[b->n] = time;
            b->antenna1[b->n] = (int32_t)i;
            b->antenna2[b->n] = (int32_t)j;
            fill_row(s, b, b->uvw[b->n]);
            if (++b->n == BATCH) status = flush(b, writer);
        }
    }
    free(uvw);
    return status;
}

static loom_status *observe_all(simulation *s, loom_ms_writer *writer) {
    batch *b = make_batch(s);
    cli_progress progress = cli_progress_start(s->quiet, "rows");
    double start = loom_seconds(), shown = start;
    loom_status *status = NULL;
    for (int64_t step = 0; step < s->times && !status; step++) {
        status = cli_check_signals();
        if (!status) status = observe(s, step, b, writer);
        double now = loom_seconds(), part = (double)(step + 1) / (double)s->times;
        if (now - shown > 0.25) {
            cli_progress_text(&progress, "simulating", part, (now - start) / part * (1 - part));
            shown = now;
        }
    }
    if (!status) status = flush(b, writer);
    cli_progress_end(&progress);
    free_batch(b);
    return status;
}

/* OUT.ms.sources.txt */
static char *list_path(const char *output) {
    size_t n = strlen(output);
    while (n > 1 && output[n - 1] == '/') n--;
    return loom_xprintf("%.*s.sources.txt", (int)n, output);
}

/* Everything is on the disk. The observation takes its name last: names are all that can still fail. */
static loom_status *put_in_place(const simulation *s, const char *list, loom_ms_writer **writer, loom_file_set *files) {
    LOOM_TRY(cli_check_signals());
    if (!s->quiet) {
        printf("%s: %" PRId64 " rows of %" PRId64 " channels, %zu sources (%s)\n", s->output,
               s->stations * (s->stations - 1) / 2 * s->times, s->channels, s->sky.n, list);
    }
    LOOM_TRY(cli_commit(files));
    loom_ms_writer *last = *writer;
    *writer = NULL;
    loom_status *status = loom_ms_commit(last);
    if (status) unlink(list);
    return status;
}

static loom_status *simulate(simulation *s) {
    LOOM_TRY(set_up(s));
    cli_catch_signals();
    char *list = list_path(s->output);
    loom_file_set *files = loom_file_set_create();
    loom_ms_writer *writer = NULL;
    loom_status *status = loom_client_check_writable(list, 0);
    if (!status) status = loom_ms_create(s->output, &s->layout, &writer);
    if (!status) status = observe_all(s, writer);
    if (!status) status = loom_ms_flush(writer);
    if (!status) status = sky_hold(list, &s->sky, files);
    if (!status) status = put_in_place(s, list, &writer, files);
    if (status) loom_ms_abort(writer);
    loom_file_set_destroy(files);
    free(list);
    return status;
}

static loom_status *check(simulation *s, const char **rest, int n) {
    if (n) return loom_error(LOOM_E_USAGE, "'%s' is not understood: simulate takes options only", rest[0]);
    if (!s->output) return loom_status_note(loom_error(LOOM_E_USAGE, "no output given"), "hint: -o OUT.ms");
    s->ra *= M_PI / 180;
    s->dec *= M_PI / 180;
    s->radius *= M_PI / 180;
    char *list = list_path(s->output);
    const char *reads[] = {s->sources}, *writes[] = {s->output, list};
    loom_status *status = cli_check_files(reads, 1, writes, 2);
    free(list);
    return status;
}

loom_status *cli_simulate(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom simulate", "-o OUT.ms [options]",
        "Makes an observation of point sources by an array of stations on a spiral: a MeasurementSet with XX and YY, "
        "and "
        "beside it OUT.ms.sources.txt, the sources as they were put in. Visibilities are direct sums over the sources, "
        "V = sum S exp(+2 pi i f/c (u l + v m + w (n - 1))). The field is followed through its highest point.\n\nA "
        "list of "
        "sources has a line for each: L and M (offsets from the phase centre as direction cosines in arcsec, to the "
        "east "
        "and north) or HH:MM:SS and +DD:MM:SS, then the flux in Jy.",
        "  gridloom simulate -o sky.ms --stations 40 --times 60 --sources list.txt"};
    simulation s = {.stations = 20,
                    .times = 60,
                    .channels = 4,
                    .n_sources = 10,
                    .seed = 1,
                    .extent = 3000,
                    .ra = 60,
                    .dec = -45,
                    .hours = 4,
                    .frequency = 150e6,
                    .width = 200e3,
                    .radius = 2};
    loom_option options[] = {
        {"output", 'o', LOOM_OPT_TEXT, &s.output, "OUT.ms", "The MeasurementSet to make; must not exist.", 0, 0},
        {"stations", 0, LOOM_OPT_INT, &s.stations, "N", "Stations of the array; default 20.", 2, 4096},
        {"times", 0, LOOM_OPT_INT, &s.times, "N", "Time steps; default 60.", 1, 1e7},
        {"channels", 0, LOOM_OPT_INT, &s.channels, "N", "Channels; default 4.", 1, 65536},
        {"extent", 0, LOOM_OPT_REAL, &s.extent, "METRES", "Diameter of the array; default 3000.", 1, 1e6},
        {"sources", 0, LOOM_OPT_TEXT, &s.sources, "FILE", "List of sources; default: random ones.", 0, 0},
        {"n-sources", 0, LOOM_OPT_INT, &s.n_sources, "N", "Number of random sources; default 10.", 1, 1e6},
        {"radius", 0, LOOM_OPT_REAL, &s.radius, "DEGREES", "Random sources lie within this of the centre; default 2.",
         0.001, 57},
        {"seed", 0, LOOM_OPT_INT, &s.seed, "N", "Seed of everything random; default 1.", 0, 9e15},
        {"ra", 0, LOOM_OPT_REAL, &s.ra, "DEGREES", "Right ascension of the phase centre; default 60.", -360, 360},
        {"dec", 0, LOOM_OPT_REAL, &s.dec, "DEGREES", "Its declination; default -45.", -90, 90},
        {"hours", 0, LOOM_OPT_REAL, &s.hours, "HOURS", "Length of the track; default 4.", 1e-6, 24},
        {"frequency", 0, LOOM_OPT_REAL, &s.frequency, "HZ", "Centre of the band; default 150e6.", 1e3, 1e13},
        {"channel-width", 0, LOOM_OPT_REAL, &s.width, "HZ", "Width of a channel; default 200e3.", 1e-3, 1e12},
        {"noise", 0, LOOM_OPT_REAL, &s.noise, "JY",
         "Deviation of the noise of each part of each visibility; default none.", 0, 1e9},
        {"quiet", 0, LOOM_OPT_FLAG, &s.quiet, NULL, "Show no progress and no summary.", 0, 0},
        {0}};
    s.command = cli_command_line(call);
    const char **rest;
    int n;
    bool done;
    loom_status *status = cli_options(call, &text, options, &rest, &n, &done);
    if (!status && !done) status = check(&s, rest, n);
    if (!status && !done) status = simulate(&s);
    sky_free(&s.sky);
    free(s.antennas);
    free(s.frequencies);
    free(s.command);
    return status;
}
