/* What can be said about a request before any data is touched. */
#include "common/buffer.h"
#include "common/machine.h"
#include "image.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- size, scale ---- */

static loom_status *bad_size(const char *text, const char *why) {
    return loom_status_note(
        loom_error(LOOM_E_USAGE, "--size %s: %s", text, why),
        "hint: --size 512, or --size 512x256 for 512 pixels in right ascension and 256 in declination");
}

loom_status *image_parse_size(const char *text, int64_t *nx, int64_t *ny) {
    const char *at = text;
    int64_t x, y;
    if (!cli_take_number(&at, &x)) return bad_size(text, "an image size is a number of pixels");
    y = x;
    if (*at == 'x') {
        at++;
        if (!cli_take_number(&at, &y)) return bad_size(text, "the second side is missing");
    }
    if (*at) return bad_size(text, "an image size is a number of pixels");
    if (x < 1 || y < 1) return bad_size(text, "an image has at least one pixel a side");
    if (x > CLI_MAX_IMAGE_SIDE || y > CLI_MAX_IMAGE_SIDE) {
        char bytes[32];
        return loom_error(LOOM_E_USAGE, "--size %s: such an image needs at least %s of memory; the largest side is %d",
                          text, loom_bytes_text(8.0 * (double)x * (double)y, bytes), CLI_MAX_IMAGE_SIDE);
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

/* ---- memory ---- */

/* What the arrays of one plane of an image take on its worker, in bytes, as client/programs/image.weft makes them. */
typedef struct plane_memory {
    double least;  /* of data that reach only a few cells of the padded grid */
    double enough; /* of any data, whatever planes of constant w they need: one is kept at the least */
} plane_memory;

/* Room for everything small: chunks of one row, scratch of threads. */
#define LEAST_ROOM  1e6
#define ENOUGH_ROOM 64e6

/* As good_size of the imaging program. */
static double padded_side(int64_t n, double padding) {
    int64_t side = (int64_t)ceil((double)n * padding);
    for (;; side++) {
        int64_t m = side;
        for (int64_t prime = 2; prime <= 7; prime++) {
            while (m % prime == 0) m /= prime;
        }
        if (m == 1 && side % 2 == 0) return (double)side;
    }
}

/* Large arrays are whole huge pages. */
static double array_bytes(double n) {
    return n < 0x1p21 ? n : ceil(n / 0x1p21) * 0x1p21;
}

/* While a plane is transformed there are at one time its columns along v, the image so far, and the kernel's transform
 * in w, in double precision; beside them its rows along u, as far as data reach. */
static double image_bytes(const image_request *r, double padding) {
    double real = r->epsilon >= 1e-5 ? 4 : 8, pixels = (double)r->nx * (double)r->ny;
    double columns = (double)r->nx * padded_side(r->ny, padding) * 2 * real;
    return array_bytes(pixels * real) + array_bytes(pixels * 8) + array_bytes(columns);
}

/* The program chooses the padding by cost: for few samples 1.6 at most, or 2 near the end of double precision; for many
 * up to 2. Before a plane is transformed, when it is gridded, there are its cells. */
static plane_memory memory_of_plane(const image_request *r) {
    bool single = r->epsilon >= 1e-5;
    double least = r->epsilon >= 1e-10 ? 1.6 : 2.0, most = 2.0, real = single ? 4 : 8;
    double all = padded_side(r->nx, most) * padded_side(r->ny, most);
    double rows = array_bytes(all * 2 * real), cells = array_bytes(all * 16);
    return (plane_memory){.least = image_bytes(r, least) + LEAST_ROOM,
                          .enough = fmax(image_bytes(r, most) + rows, cells) + ENOUGH_ROOM};
}

/* As --memory takes it, rounded up. */
static double whole_mib(double bytes) {
    return ceil(bytes / 0x1p20);
}

/* What comes back to this process. */
static double result_bytes(const image_request *r) {
    double planes = (double)r->channels_out * (double)(r->n_products + (r->psf != NULL));
    return (double)r->nx * (double)r->ny * (r->epsilon >= 1e-5 ? 4 : 8) * planes;
}

static loom_status *too_little(const image_request *r, double needed, double there, const char *where) {
    char mib[32], more[32], have[32];
    snprintf(mib, sizeof mib, "%.0f MiB", whole_mib(needed));
    return loom_error(LOOM_E_MEMORY,
                      "--size %s: an image of %" PRId64 " x %" PRId64 " pixels needs at least %s of memory%s %s",
                      r->size_text, r->nx, r->ny, needed < 0x1p34 ? mib : loom_bytes_text(needed, more), where,
                      loom_bytes_text(there, have));
}

loom_status *image_note_memory(const image_request *r, loom_status *status) {
    double enough = whole_mib(memory_of_plane(r).enough);
    return loom_status_note(status,
                            "hint: --memory %.0fMiB is enough for this --size, whatever the data; fewer pixels%s "
                            "need less%s",
                            enough, r->epsilon < 1e-5 ? " and single precision (an --epsilon of 1e-5 or more)" : "",
                            r->where.connect ? " (--memory of the workers)" : "");
}

loom_status *image_check_memory(const image_request *r) {
    double result = result_bytes(r), machine = (double)loom_machine_memory();
    if (result > machine) {
        return loom_status_note(too_little(r, result, machine, " for all planes that are written, there are"),
                                "hint: make fewer pixels, or fewer planes at a time");
    }
    if (r->where.connect) return NULL; /* the workers' memory is theirs to know */
    double limit =
        r->where.memory ? (double)r->where.memory : (double)loom_machine_worker_memory((unsigned)r->where.workers);
    double needed = memory_of_plane(r).least;
    if (needed <= limit) return NULL;
    return image_note_memory(r, too_little(r, needed, limit, r->where.memory ? ", --memory gives" : ", a worker has"));
}
