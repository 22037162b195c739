/* What can be said about a request before any data is touched. */
#include "common/buffer.h"
#include "image.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- size, scale, channels ---- */

static loom_status *bad_size(const char *text, const char *why) {
    return loom_status_note(
        loom_error(LOOM_E_USAGE, "--size %s: %s", text, why),
        "hint: --size 512, or --size 512x256 for 512 pixels in right ascension and 256 in declination");
}

static bool take_side(const char **at, int64_t *side) {
    char *end;
    if (**at < '0' || **at > '9') return false;
    *side = strtoll(*at, &end, 10);
    *at = end;
    return true;
}

loom_status *image_parse_size(const char *text, int64_t *nx, int64_t *ny) {
    const char *at = text;
    int64_t x, y;
    if (!take_side(&at, &x)) return bad_size(text, "an image size is a number of pixels");
    y = x;
    if (*at == 'x') {
        at++;
        if (!take_side(&at, &y)) return bad_size(text, "the second side is missing");
    }
    if (*at) return bad_size(text, "an image size is a number of pixels");
    if (x < 1 || y < 1) return bad_size(text, "an image has at least one pixel a side");
    if (x > CLI_MAX_IMAGE_SIDE || y > CLI_MAX_IMAGE_SIDE) {
        double bytes = 8.0 * (double)x * (double)y;
        return loom_error(LOOM_E_USAGE, "--size %s: such an image needs at least %s of memory; the largest side is %d",
                          text, image_bytes_text(bytes), CLI_MAX_IMAGE_SIDE);
    }
    *nx = x;
    *ny = y;
    return NULL;
}

loom_status *image_parse_angle(const char *option, const char *text, double *radians) {
    static const struct {
        const char *name;
        double radians;
    } units[] = {
        {"asec", M_PI / 648000},  {"arcsec", M_PI / 648000},
        {"amin", M_PI / 10800},   {"arcmin", M_PI / 10800},
        {"deg", M_PI / 180},      {"rad", 1},
        {"mrad", 1e-3},           {"masec", M_PI / 648000e3},
        {"mas", M_PI / 648000e3}, {"uasec", M_PI / 648000e6},
        {"uas", M_PI / 648000e6},
    };
    char *end;
    double x = strtod(text, &end);
    if (end == text || !(x > 0) || !isfinite(x)) {
        return loom_status_note(loom_error(LOOM_E_USAGE, "--%s %s: expected a positive angle", option, text),
                                "hint: for example 5asec, 0.5amin, 0.01deg, 2e-5rad");
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].name) != 0) continue;
        *radians = x * units[i].radians;
        return NULL;
    }
    return loom_status_note(*end ? loom_error(LOOM_E_USAGE, "--%s %s: unknown unit '%s'", option, text, end)
                                 : loom_error(LOOM_E_USAGE, "--%s %s: the unit is missing", option, text),
                            "hint: units are asec, amin, deg, rad, mrad, mas and uas; for example --%s 5asec", option);
}

loom_status *image_parse_scale(const char *text, double *radians) {
    return image_parse_angle("scale", text, radians);
}

loom_status *image_parse_channels(const char *text, loom_ms_selection *selection) {
    int64_t from = 0, to = LOOM_MS_ALL;
    const char *at = text;
    bool good = true;
    if (*at != ':') good = take_side(&at, &from);
    good = good && *at == ':';
    if (good && *++at) good = take_side(&at, &to) && !*at;
    if (!good) {
        return loom_status_note(loom_error(LOOM_E_USAGE, "--channels %s: expected A:B", text),
                                "hint: 2:6 is channels 2, 3, 4 and 5; 2: and :6 are open");
    }
    if (to != LOOM_MS_ALL && from >= to) {
        return loom_error(LOOM_E_USAGE, "--channels %s: an empty range of channels (the second number is left out)",
                          text);
    }
    selection->channel_from = from;
    selection->channel_to = to;
    return NULL;
}

/* ---- time ---- */

/* Days of the civil calendar since MJD 0, 1858-11-17 (the usual count of days from 0000-03-01). */
static double days_of(int64_t year, int64_t month, int64_t day) {
    int64_t y = month <= 2 ? year - 1 : year, m = (month + 9) % 12;
    int64_t days = 365 * y + y / 4 - y / 100 + y / 400 + (m * 306 + 5) / 10 + day - 1 - 678881;
    return (double)days;
}

/* "2020-05-31", with "T12:00", "T12:00:30.5" after it, or a number of MJD days; in MJD seconds. */
static bool take_time(const char *text, double *seconds) {
    int year, month, day, hour = 0, minute = 0, used = 0;
    double second = 0;
    char *end;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) == 3 && used) {
        int more = 0;
        text += used;
        if (*text == 'T' || *text == ' ') {
            if (sscanf(text + 1, "%2d:%2d%n", &hour, &minute, &more) != 2 || !more) return false;
            text += 1 + more;
            if (*text == ':') {
                second = strtod(text + 1, &end);
                text = end;
            }
        }
        bool good = year > 0 && month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour >= 0 && hour <= 24 &&
                    minute >= 0 && minute < 60 && second >= 0 && second < 61 && !*text;
        if (good) *seconds = days_of(year, month, day) * 86400 + hour * 3600.0 + minute * 60.0 + second;
        return good;
    }
    double days = strtod(text, &end);
    if (end == text || *end || !isfinite(days)) return false;
    *seconds = days * 86400;
    return true;
}

loom_status *image_parse_time(const char *text, loom_ms_selection *selection) {
    const char *slash = strchr(text, '/');
    double from = -INFINITY, to = INFINITY;
    char *first = slash ? loom_xprintf("%.*s", (int)(slash - text), text) : NULL;
    bool good = slash && (!*first || take_time(first, &from)) && (!slash[1] || take_time(slash + 1, &to));
    free(first);
    if (!good) {
        return loom_status_note(
            loom_error(LOOM_E_USAGE, "--time %s: expected FROM/TO", text),
            "hint: for example 2020-05-31T12:00:00/2020-05-31T13:30, or MJD days: 59000.5/59000.6; either "
            "end may be left open");
    }
    if (!(from < to)) return loom_error(LOOM_E_USAGE, "--time %s: the range is empty (its end is left out)", text);
    selection->by_time = true;
    selection->time_from = from;
    selection->time_to = to;
    return NULL;
}

/* ---- memory ---- */

const char *image_bytes_text(double bytes) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    static char room[8][32];
    static unsigned next;
    char *text = room[next++ % 8];
    size_t u = 0;
    for (; bytes >= 1024 && u + 1 < sizeof units / sizeof *units; u++) bytes /= 1024;
    snprintf(text, sizeof room[0], u ? "%.1f %s" : "%.0f %s", bytes, units[u]);
    return text;
}

/* Physical memory, or what a container may use of it. */
static double machine_memory(void) {
    double bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE), limit;
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "r");
    if (f && fscanf(f, "%lf", &limit) == 1 && limit > 0) bytes = fmin(bytes, limit);
    if (f) fclose(f);
    return bytes;
}

/* A lower bound: w-planes padded by 1.6, four of them at the least, and the image. How many planes there are is known
 * only when the data has been seen; what does not fit then is an error of the job. */
static double least_memory(const image_request *r) {
    bool single = r->epsilon >= 1e-5;
    double padding = single ? 1.6 : 2.0, real = single ? 4 : 8, pixels = (double)r->nx * (double)r->ny;
    return pixels * padding * padding * 2 * real * 4 + pixels * real;
}

loom_status *image_check_memory(const image_request *r) {
    double needed = least_memory(r), machine = machine_memory();
    double limit = r->where.memory ? (double)r->where.memory : machine;
    if (r->where.connect) {
        /* The workers' memory is theirs to know; the image itself comes here. */
        needed = (double)r->nx * (double)r->ny * (r->epsilon >= 1e-5 ? 4 : 8);
        limit = machine;
    }
    if (needed <= limit) return NULL;
    return loom_status_note(loom_error(LOOM_E_MEMORY,
                                       "--size %s: an image of %" PRId64 " x %" PRId64
                                       " pixels needs at least %s of memory, there are %s%s",
                                       r->size_text, r->nx, r->ny, image_bytes_text(needed), image_bytes_text(limit),
                                       r->where.memory && !r->where.connect ? " (--memory)" : ""),
                            "hint: make the image smaller, or its pixels larger");
}
