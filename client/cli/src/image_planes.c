/* What the planes of an image are: products of hands (Stokes parameters or hands themselves) and runs of channels; and
 * how their samples are weighted. */
#include "common/buffer.h"
#include "image.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- weights ---- */

static loom_status *bad_weight(const image_request *r, const char *why) {
    return loom_status_note(
        loom_error(LOOM_E_USAGE, "--weight %s: %s", r->weight, why),
        "hint: natural, uniform, or briggs:R with R from -2 (nearly uniform) to 2 (nearly natural)");
}

/* "natural", "uniform", "briggs" (with --robust R, else R = 0), "briggs:R". */
loom_status *image_parse_weight(image_request *r) {
    image_weights *w = &r->weights;
    bool given = !isnan(r->robust);
    if (strcmp(r->weight, "natural") == 0 || strcmp(r->weight, "uniform") == 0) {
        w->kind = r->weight[0] == 'u';
        if (given) return bad_weight(r, "--robust is for briggs");
    } else if (strncmp(r->weight, "briggs", 6) == 0 && (r->weight[6] == '\0' || r->weight[6] == ':')) {
        w->kind = 2;
        w->robust = given ? r->robust : 0;
        if (r->weight[6]) {
            char *end;
            if (given) return bad_weight(r, "the robustness is given twice");
            w->robust = strtod(r->weight + 7, &end);
            if (end == r->weight + 7 || *end) return bad_weight(r, "after 'briggs:' a number is expected");
        }
        if (!(fabs(w->robust) <= 10)) return bad_weight(r, "the robustness is out of range");
    } else {
        return bad_weight(r, "there is no such weighting");
    }
    return r->taper_text ? image_parse_angle("taper", r->taper_text, &w->taper) : NULL;
}

const char *image_weights_text(const image_weights *w, char text[64]) {
    size_t n = (size_t)snprintf(text, 64, "%s", w->kind == 0 ? "natural" : w->kind == 1 ? "uniform" : "Briggs");
    if (w->kind == 2) n += (size_t)snprintf(text + n, 64 - n, " %g", w->robust);
    n += (size_t)snprintf(text + n, 64 - n, " weights");
    if (w->taper > 0) snprintf(text + n, 64 - n, ", taper %.6g arcsec", w->taper * 648000 / M_PI);
    return text;
}

/* ---- products ---- */

static const struct {
    const char *name;
    int32_t code; /* casacore's */
    int fits;     /* of the STOKES axis */
} products[] = {{"I", 1, 1},   {"Q", 2, 2},   {"U", 3, 3},   {"V", 4, 4},    {"RR", 5, -1},  {"RL", 6, -3},
                {"LR", 7, -4}, {"LL", 8, -2}, {"XX", 9, -5}, {"XY", 10, -7}, {"YX", 11, -8}, {"YY", 12, -6}};
enum {
    N_PRODUCTS = sizeof products / sizeof *products
};

int image_fits_stokes(int32_t product) {
    return products[product - 1].fits;
}
const char *image_product_name(int32_t product) {
    return products[product - 1].name;
}

static loom_status *bad_stokes(const char *text, const char *why) {
    return loom_status_note(loom_error(LOOM_E_USAGE, "--stokes %s: %s", text, why),
                            "hint: I, IQUV, or a list as XX,YY or RR,LL");
}

static bool take_product(const char **at, int32_t *code) {
    for (size_t length = 2; length > 0; length--) {
        for (int i = 0; i < N_PRODUCTS; i++) {
            if (strlen(products[i].name) != length || strncasecmp(*at, products[i].name, length) != 0) continue;
            *at += length;
            *code = products[i].code;
            return true;
        }
    }
    return false;
}

/* By the codes of the FITS axis, from the one nearest zero. */
static int by_axis(const void *a, const void *b) {
    return abs(image_fits_stokes(*(const int32_t *)a)) - abs(image_fits_stokes(*(const int32_t *)b));
}

/* "I", "IQUV", "Q,U", "XX,YY": sorted as a FITS axis can hold them, whose codes are evenly spaced. */
loom_status *image_parse_stokes(image_request *r) {
    const char *at = r->stokes_text;
    int64_t n = 0;
    while (*at) {
        int32_t code;
        if (!take_product(&at, &code)) return bad_stokes(r->stokes_text, "expected I, Q, U, V or hands");
        for (int64_t i = 0; i < n; i++) {
            if (r->products[i] == code) return bad_stokes(r->stokes_text, "one is named twice");
        }
        if (n == 4) return bad_stokes(r->stokes_text, "at most four");
        r->products[n++] = code;
        if (*at == ',' && at[1]) at++;
    }
    if (n == 0) return bad_stokes(r->stokes_text, "none is named");
    qsort(r->products, (size_t)n, sizeof *r->products, by_axis);
    int first = image_fits_stokes(r->products[0]), step = n > 1 ? image_fits_stokes(r->products[1]) - first : 1;
    for (int64_t i = 1; i < n; i++) {
        if (image_fits_stokes(r->products[i]) != first + (int)i * step || first * (first + step) < 0) {
            return bad_stokes(r->stokes_text, "these cannot stand on one FITS axis, whose steps are even (I Q U V; RR "
                                              "LL RL LR; XX YY XY YX); image them one by one");
        }
    }
    r->n_products = n;
    return NULL;
}

static bool has(const loom_ms_segment *s, int32_t code) {
    for (int64_t i = 0; i < s->n_correlations; i++) {
        if (s->correlations[i] == code) return true;
    }
    return false;
}

/* As `share` of the imaging program says. */
static bool makes(const loom_ms_segment *s, int32_t product) {
    bool parallel_linear = has(s, 9) && has(s, 12), parallel_circular = has(s, 5) && has(s, 8);
    bool cross_linear = has(s, 10) && has(s, 11), cross_circular = has(s, 6) && has(s, 7);
    if (has(s, product)) return true;
    switch (product) {
    case 1: return has(s, 5) || has(s, 8) || has(s, 9) || has(s, 12);
    case 2: return parallel_linear || cross_circular;
    case 3: return cross_linear || cross_circular;
    case 4: return cross_linear || parallel_circular;
    default: return false;
    }
}

static const char *needs(int32_t product) {
    static const char *const of[] = {"I, or a parallel hand (XX, YY, RR, LL), is", "Q, or XX and YY, or RL and LR, are",
                                     "U, or XY and YX, or RL and LR, are", "V, or XY and YX, or RR and LL, are"};
    return product <= 4 ? of[product - 1] : "it must be recorded itself: it is";
}

static void note_segments(loom_status *status, const loom_ms_info *info) {
    for (uint32_t i = 0; i < info->n_segments && i < 20; i++) {
        const loom_ms_segment *s = &info->segments[i];
        char hands[64] = "";
        for (int64_t h = 0; h < s->n_correlations && h < 8; h++) {
            size_t n = strlen(hands);
            snprintf(hands + n, sizeof hands - n, "%s%s", h ? "," : "", loom_ms_correlation_name(s->correlations[h]));
        }
        loom_status_note(
            status, "spectral window %" PRId64 ": %" PRId64 " channels from %.6g to %.6g MHz, %s, %" PRId64 " rows",
            s->spw, s->n_channels, s->low / 1e6, s->high / 1e6, hands, s->n_rows);
    }
}

/* Every segment must have the hands that each product can be made of. */
loom_status *image_check_observation(const image_request *r, const loom_ms_info *info) {
    for (int64_t k = 0; k < r->n_products; k++) {
        int32_t product = r->products[k];
        for (uint32_t i = 0; i < info->n_segments; i++) {
            if (makes(&info->segments[i], product)) continue;
            loom_status *status = loom_error(LOOM_E_DATA, "%s: no correlation there that %s%s can be made of",
                                             info->path, product <= 4 ? "Stokes " : "", image_product_name(product));
            note_segments(status, info);
            return loom_status_note(status, "hint: %s needed%s", needs(product),
                                    info->n_segments > 1 ? " in each of them; choose with --spw" : "");
        }
    }
    return NULL;
}

/* ---- bands ---- */

typedef struct channel {
    double frequency, low, high; /* its centre, its edges */
} channel;

static int by_frequency(const void *a, const void *b) {
    double x = ((const channel *)a)->frequency, y = ((const channel *)b)->frequency;
    return (x > y) - (x < y);
}

/* All channels by frequency; those of equal frequency (of several windows) are one. */
static channel *list_channels(const loom_ms_info *info, int64_t *n) {
    size_t total = 0, used = 0;
    for (uint32_t i = 0; i < info->n_segments; i++) total += (size_t)info->segments[i].n_channels;
    channel *list = loom_xcalloc(total + 1, sizeof *list);
    for (uint32_t i = 0; i < info->n_segments; i++) {
        const loom_ms_segment *s = &info->segments[i];
        double least = INFINITY, most = -INFINITY;
        for (int64_t c = 0; c < s->n_channels; c++) {
            least = fmin(least, s->frequencies[c]);
            most = fmax(most, s->frequencies[c]);
        }
        double below = fmax(0, least - s->low), above = fmax(0, s->high - most);
        for (int64_t c = 0; c < s->n_channels; c++) {
            double f = s->frequencies[c];
            list[used++] = (channel){f, f - below, f + above};
        }
    }
    qsort(list, used, sizeof *list, by_frequency);
    size_t kept = 0;
    for (size_t i = 0; i < used; i++) {
        if (kept && list[kept - 1].frequency == list[i].frequency) {
            list[kept - 1].low = fmin(list[kept - 1].low, list[i].low);
            list[kept - 1].high = fmax(list[kept - 1].high, list[i].high);
        } else {
            list[kept++] = list[i];
        }
    }
    *n = (int64_t)kept;
    return list;
}

static image_plane make_plane(int32_t product, const channel *from, const channel *to) {
    double low = INFINITY, high = -INFINITY;
    for (const channel *c = from; c < to; c++) {
        low = fmin(low, c->low);
        high = fmax(high, c->high);
    }
    return (image_plane){.product = product,
                         .low = from->frequency,
                         .high = to[-1].frequency,
                         .frequency = (low + high) / 2,
                         .width = high - low};
}

/* n channels in m runs as WSClean divides them: run k begins at channel k n / m. */
loom_status *image_divide(const image_request *r, const loom_ms_info *info, image_planes *planes) {
    int64_t n, m = r->channels_out;
    channel *list = list_channels(info, &n);
    if (m > n) {
        free(list);
        return loom_error(LOOM_E_USAGE, "--channels-out %" PRId64 ": only %" PRId64 " channel%s selected", m, n,
                          n == 1 ? " is" : "s are");
    }
    *planes = (image_planes){.n_products = r->n_products, .n_bands = m};
    planes->at = loom_xcalloc((size_t)(r->n_products * m), sizeof *planes->at);
    for (int64_t k = 0; k < r->n_products; k++) {
        for (int64_t b = 0; b < m; b++) {
            planes->at[k * m + b] = make_plane(r->products[k], &list[b * n / m], &list[(b + 1) * n / m]);
        }
    }
    free(list);
    return NULL;
}

void image_planes_free(image_planes *planes) {
    for (int64_t i = 0; i < planes->n_products * planes->n_bands; i++) {
        loom_job_result_free(planes->at[i].result);
        loom_job_result_free(planes->at[i].psf);
    }
    free(planes->at);
    *planes = (image_planes){0};
}
