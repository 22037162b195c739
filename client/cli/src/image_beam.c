/* The beam: a Gaussian fitted to the main lobe of a point spread function, by least squares with peak and centre fixed.
 *
 *   minimise sum over x >= 0, y >= 0 in a box of (P(x, y) - exp(-x^2 / (2 s^2) + b x y / (s t) - y^2 / (2 t^2)))^2
 *
 * over s, t, b, by GSL's Levenberg-Marquardt method (lmsder, after MINPACK's) from a round beam of the size that the
 * longest baseline resolves. The box is ten times that size wide; where the beam turns out larger than 1.25 times what
 * the box was made for, a box of ten times the beam, from there. This is what WSClean's beam is, so that restored
 * images compare: its fit counts the pixels right of and above the centre. P is even, so two of the four quadrants say
 * nothing new; the fourth would change beams by some percent where sidelobes are high.
 *
 * A PSF without a main lobe that a Gaussian is like (few baselines, weighted alike) has a long valley instead of a
 * minimum, and WSClean's fit stops on the way, after 500 steps. To stop where it stops, ours walks as it does, in its
 * derivatives too: those for s and t have the sign of the term in b turned round, which adds multiples of the
 * derivative for b to them. That leaves minima where they are and makes the way longer. Its end is told (`unfinished`).
 *
 * The method asks for residuals and their derivatives only in sums that do not change when an orthogonal matrix is
 * applied to both. So it gets four residuals in place of one for each pixel: R and Q^T of the decomposition of all,
 * from the normal matrix, and what is left. Cost: a pass over the quadrant a step, no memory. */
#include "image.h"
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlin.h>
#include <math.h>
#include <string.h>

#define FULL_WIDTH 2.3548200450309493 /* of a Gaussian at half maximum, in standard deviations: sqrt(8 ln 2) */

enum {
    BOX = 10, /* beams a side */
    STEPS = 500,
    BOXES = 5,
    WIDEST = 10 /* sides of the image that a beam's full width is at most */
};

/* Sums at p = (s, t, b), in which the fit walks: of squares; their half gradient; the normal matrix. */
typedef struct sums {
    double p[3], squares, gradient[3], normal[3][3];
} sums;

typedef struct lobe {
    const loom_leaf *psf;
    int64_t nx, ny;
    int64_t width, height; /* of the box */
    double unit;           /* a pixel, in the middle of width and height */
    bool has_sums;
    sums sums; /* those asked for last: residuals and derivatives of a place are asked for one after the other */
} lobe;

static double pixel(const loom_leaf *psf, int64_t i) {
    return psf->dtype == LOOM_F32 ? (double)((const float *)psf->data)[i] : ((const double *)psf->data)[i];
}

static void add_up(lobe *o, const double p[3]) {
    sums *to = &o->sums;
    bool same = o->has_sums && to->p[0] == p[0] && to->p[1] == p[1] && to->p[2] == p[2];
    if (same) return;
    o->has_sums = true;
    *to = (sums){.p = {p[0], p[1], p[2]}};
    const int64_t middle_x = o->nx / 2, middle_y = o->ny / 2; /* whole pixels, as the image has its centre */
    const double s = p[0], t = p[1], b = p[2];
    for (int64_t j = 0; j < o->height - o->height / 2; j++) {
        for (int64_t i = 0; i < o->width - o->width / 2; i++) {
            double x = (double)i * o->unit, y = (double)j * o->unit;
            double value = pixel(o->psf, (middle_y + j) * o->nx + middle_x + i);
            if (isnan(value)) continue;
            double g = exp(-x * x / (2 * s * s) + b * x * y / (s * t) - y * y / (2 * t * t)), off = g - value;
            double d[3] = {(b * x * y / (s * s * t) + x * x / (s * s * s)) * g,
                           (b * x * y / (s * t * t) + y * y / (t * t * t)) * g, x * y / (s * t) * g};
            to->squares += off * off;
            for (int r = 0; r < 3; r++) {
                to->gradient[r] += d[r] * off;
                for (int c = 0; c < 3; c++) to->normal[r][c] += d[r] * d[c];
            }
        }
    }
}

/* Four residuals, and their derivatives, that have these sums: normal = R^T R, gradient = R^T z. */
static void condense(const sums *of, double residuals[4], double derivatives[4][3]) {
    double rest = of->squares;
    memset(derivatives, 0, sizeof(double[4][3]));
    for (int k = 0; k < 3; k++) {
        double pivot = of->normal[k][k], z = of->gradient[k];
        for (int i = 0; i < k; i++) {
            pivot -= derivatives[i][k] * derivatives[i][k];
            z -= derivatives[i][k] * residuals[i];
        }
        residuals[k] = 0;
        if (!(pivot > 0)) continue;
        derivatives[k][k] = sqrt(pivot);
        for (int c = k + 1; c < 3; c++) {
            double sum = of->normal[k][c];
            for (int i = 0; i < k; i++) sum -= derivatives[i][k] * derivatives[i][c];
            derivatives[k][c] = sum / derivatives[k][k];
        }
        residuals[k] = z / derivatives[k][k];
        rest -= residuals[k] * residuals[k];
    }
    residuals[3] = sqrt(fmax(rest, 0));
}

static int evaluate(const gsl_vector *at, void *context, gsl_vector *residuals, gsl_matrix *derivatives) {
    double p[3], f[4], d[4][3];
    lobe *o = context;
    for (size_t i = 0; i < 3; i++) p[i] = gsl_vector_get(at, i);
    add_up(o, p);
    condense(&o->sums, f, d);
    for (size_t r = 0; r < 4; r++) {
        if (residuals) gsl_vector_set(residuals, r, f[r]);
        for (size_t c = 0; derivatives && c < 3; c++) gsl_matrix_set(derivatives, r, c, d[r][c]);
    }
    return GSL_SUCCESS;
}

static int evaluate_residuals(const gsl_vector *at, void *context, gsl_vector *residuals) {
    return evaluate(at, context, residuals, NULL);
}

static int evaluate_derivatives(const gsl_vector *at, void *context, gsl_matrix *derivatives) {
    return evaluate(at, context, NULL, derivatives);
}

/* From a round beam of `width` pixels to q = (a, b, c), in pixels, of exp(-(a x^2 + 2 b x y + c y^2) / 2). Whether the
 * end was reached. */
static bool fit(lobe *o, double width, double q[3]) {
    static const double change = 1e-7; /* of the parameters, in a last step */
    o->unit = 2 / (double)(o->width + o->height);
    double sigma = width * o->unit / FULL_WIDTH, start[3] = {sigma, sigma, 0};
    gsl_vector_view from = gsl_vector_view_array(start, 3);
    gsl_multifit_function_fdf function = {
        .f = evaluate_residuals, .df = evaluate_derivatives, .fdf = evaluate, .n = 4, .p = 3, .params = o};
    gsl_error_handler_t *before = gsl_set_error_handler_off();
    gsl_multifit_fdfsolver *solver = gsl_multifit_fdfsolver_alloc(gsl_multifit_fdfsolver_lmsder, 4, 3);
    int state = gsl_multifit_fdfsolver_set(solver, &function, &from.vector);
    bool ended = false;
    for (int step = 0; step < STEPS && !state && !ended; step++) {
        state = gsl_multifit_fdfsolver_iterate(solver);
        ended = state || gsl_multifit_test_delta(solver->dx, solver->x, change, change) == GSL_SUCCESS;
    }
    double s = gsl_vector_get(solver->x, 0) / o->unit, t = gsl_vector_get(solver->x, 1) / o->unit;
    q[0] = 1 / (s * s);
    q[1] = -gsl_vector_get(solver->x, 2) / (s * t);
    q[2] = 1 / (t * t);
    gsl_multifit_fdfsolver_free(solver);
    gsl_set_error_handler(before);
    return ended;
}

static bool positive(const double q[3]) {
    return q[0] > 0 && q[2] > 0 && q[0] * q[2] > q[1] * q[1];
}

/* In pixels. */
static image_beam beam_of(const double q[3]) {
    double det = q[0] * q[2] - q[1] * q[1], xx = q[2] / det, yy = q[0] / det, xy = -q[1] / det;
    double mean = (xx + yy) / 2, spread = hypot((xx - yy) / 2, xy);
    /* The long axis, from straight up towards the left, which is east. */
    double angle = spread > 0 ? 0.5 * atan2(-2 * xy, yy - xx) : 0;
    return (image_beam){
        .major = FULL_WIDTH * sqrt(mean + spread), .minor = FULL_WIDTH * sqrt(fmax(mean - spread, 0)), .angle = angle};
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
        double q[3];
        bool ended = fit(&o, guess, q);
        if (!positive(q)) return none;
        beam = beam_of(q);
        beam.unfinished = !ended;
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
