/* The beam: a Gaussian fitted to the main lobe of a point spread function, by least squares with peak and centre fixed.
 *
 *   minimise sum over x >= 0, y >= 0 in a box of (P(x, y) - exp(-(a x^2 + 2 b x y + c y^2) / 2))^2 over a, b, c
 *
 * by Levenberg's and Marquardt's method from a round beam of the size that the longest baseline resolves. The box is
 * ten times that size wide; where the beam turns out larger than 1.25 times what the box was made for, a box of ten
 * times the beam, from there. This is what WSClean's beam is, so that restored images compare: its fit counts the
 * pixels right of and above the centre. P is even, so two of the four quadrants say nothing new; the fourth would
 * change beams by some percent where sidelobes are high. Cost: a pass over the quadrant a step. */
#include "image.h"
#include <math.h>
#include <string.h>

#define FULL_WIDTH 2.3548200450309493 /* of a Gaussian at half maximum, in standard deviations: sqrt(8 ln 2) */

enum {
    BOX = 10, /* beams a side */
    STEPS = 200,
    BOXES = 5,
    WIDEST = 10 /* sides of the image that a beam's full width is at most */
};

typedef struct lobe {
    const loom_leaf *psf;
    int64_t nx, ny;
    int64_t width, height; /* of the box */
} lobe;

static double pixel(const loom_leaf *psf, int64_t i) {
    return psf->dtype == LOOM_F32 ? (double)((const float *)psf->data)[i] : ((const double *)psf->data)[i];
}

/* The sum of squares at q = (a, b, c); its half gradient and the normal matrix, where wanted. */
static double squares(const lobe *o, const double q[3], double gradient[3], double normal[3][3]) {
    double sum = 0;
    if (gradient) {
        memset(gradient, 0, 3 * sizeof *gradient);
        memset(normal, 0, sizeof(double[3][3]));
    }
    const int64_t middle_x = o->nx / 2, middle_y = o->ny / 2; /* whole pixels, as the image has its centre */
    for (int64_t j = 0; j < o->height - o->height / 2; j++) {
        for (int64_t i = 0; i < o->width - o->width / 2; i++) {
            double x = (double)i, y = (double)j, value = pixel(o->psf, (middle_y + j) * o->nx + middle_x + i);
            if (isnan(value)) continue;
            double g = exp(-0.5 * (q[0] * x * x + 2 * q[1] * x * y + q[2] * y * y)), off = g - value;
            sum += off * off;
            if (!gradient) continue;
            double d[3] = {-0.5 * x * x * g, -x * y * g, -0.5 * y * y * g};
            for (int r = 0; r < 3; r++) {
                gradient[r] += d[r] * off;
                for (int s = 0; s < 3; s++) normal[r][s] += d[r] * d[s];
            }
        }
    }
    return sum;
}

/* A symmetric system of three by elimination; false where it is singular. */
static bool solve(double m[3][3], const double right[3], double x[3]) {
    double a[3][4];
    for (int r = 0; r < 3; r++) {
        memcpy(a[r], m[r], sizeof m[r]);
        a[r][3] = right[r];
    }
    for (int k = 0; k < 3; k++) {
        int best = k;
        for (int r = k + 1; r < 3; r++) {
            if (fabs(a[r][k]) > fabs(a[best][k])) best = r;
        }
        if (!(fabs(a[best][k]) > 0)) return false;
        for (int c = 0; c < 4; c++) {
            double t = a[k][c];
            a[k][c] = a[best][c];
            a[best][c] = t;
        }
        for (int r = 0; r < 3; r++) {
            double f = r == k ? 0 : a[r][k] / a[k][k];
            for (int c = k; c < 4; c++) a[r][c] -= f * a[k][c];
        }
    }
    for (int k = 0; k < 3; k++) x[k] = a[k][3] / a[k][k];
    return true;
}

static bool positive(const double q[3]) {
    return q[0] > 0 && q[2] > 0 && q[0] * q[2] > q[1] * q[1];
}

static void fit(const lobe *o, double q[3]) {
    double gradient[3], normal[3][3], damping = 1e-3, now = squares(o, q, gradient, normal);
    for (int step = 0; step < STEPS && damping < 1e12; step++) {
        double damped[3][3], move[3], next[3];
        memcpy(damped, normal, sizeof damped);
        for (int k = 0; k < 3; k++) damped[k][k] *= 1 + damping;
        if (!solve(damped, gradient, move)) return;
        for (int k = 0; k < 3; k++) next[k] = q[k] - move[k];
        double then = positive(next) ? squares(o, next, NULL, NULL) : INFINITY;
        if (!(then <= now)) {
            damping *= 10;
            continue;
        }
        double size = fmax(q[0], q[2]);
        bool done = fmax(fabs(move[0]), fmax(fabs(move[1]), fabs(move[2]))) < 1e-9 * size;
        memcpy(q, next, sizeof next);
        if (done) return;
        damping = fmax(damping / 10, 1e-12);
        now = squares(o, q, gradient, normal);
    }
}

/* In pixels. */
static image_beam beam_of(const double q[3]) {
    double det = q[0] * q[2] - q[1] * q[1], xx = q[2] / det, yy = q[0] / det, xy = -q[1] / det;
    double mean = (xx + yy) / 2, spread = hypot((xx - yy) / 2, xy);
    /* The long axis, from straight up towards the left, which is east. */
    double angle = spread > 0 ? 0.5 * atan2(-2 * xy, yy - xx) : 0;
    return (image_beam){FULL_WIDTH * sqrt(mean + spread), FULL_WIDTH * sqrt(fmax(mean - spread, 0)), angle};
}

static int64_t box_side(double beam) {
    double side = fmax(BOX, ceil(BOX * fmin(beam, 1e9)));
    return 2 * (int64_t)ceil(side / 2);
}

static lobe box_of(const loom_leaf *psf, int64_t side) {
    lobe o = {.psf = psf, .nx = psf->extents[1], .ny = psf->extents[0]};
    o.width = side < o.nx ? side : o.nx;
    o.height = side < o.ny ? side : o.ny;
    return o;
}

image_beam image_fit_beam(const loom_leaf *psf, double resolution, double scale) {
    image_beam none = {0};
    if (psf->depth != 2 || psf->extents[0] < 3 || psf->extents[1] < 3 || !(resolution > 0) || !isfinite(resolution))
        return none;
    double guess = resolution / scale;
    int64_t side = box_side(guess);
    image_beam beam = none;
    for (int i = 0; i < BOXES; i++) {
        lobe o = box_of(psf, side);
        double width = FULL_WIDTH / guess, q[3] = {width * width, 0, width * width};
        fit(&o, q);
        if (!positive(q)) return none;
        beam = beam_of(q);
        double wanted = 0.8 * BOX * beam.major;
        bool enough = (wanted < (double)o.width || o.width == o.nx) && (wanted < (double)o.height || o.height == o.ny);
        if (enough) break;
        side = box_side(beam.major);
        guess = fmax(beam.major, guess);
    }
    /* A lobe far wider than the image is one that the image does not show. */
    if (!(beam.major <= WIDEST * fmax((double)psf->extents[0], (double)psf->extents[1])) || !(beam.minor > 0))
        return none;
    beam.major *= scale;
    beam.minor *= scale;
    return beam;
}
