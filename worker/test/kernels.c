/* Kernels as the code generator would make them, for hand-made plans. A kernel knows its buffers by number; the numbers
 * are those of the plan in the test that uses it. */
#include "kernels.h"
#include "compiler/plan/plan.h"
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- dot product: buffers 0, 1: columns f32; 2: partial f32 ---- */

EXPORT void dot_reduce(const loom_kernel_frame *f, int64_t from, int64_t to, void *const *partial);
void dot_reduce(const loom_kernel_frame *f, int64_t from, int64_t to, void *const *partial) {
    const float *x = f->buffers[0], *y = f->buffers[1];
    float sum = 0;
    for (int64_t i = from; i < to; i++) sum += x[i] * y[i];
    *(float *)partial[0] = sum;
}

EXPORT void add_f32(const loom_kernel_frame *f, void *const *into, void *const *from, int64_t begin, int64_t end);
void add_f32(const loom_kernel_frame *f, void *const *into, void *const *from, int64_t begin, int64_t end) {
    (void)f;
    float *a = into[0];
    const float *b = from[0];
    for (int64_t i = begin; i < end; i++) a[i] += b[i];
}

EXPORT void add_f64(const loom_kernel_frame *f, void *const *into, void *const *from, int64_t begin, int64_t end);
void add_f64(const loom_kernel_frame *f, void *const *into, void *const *from, int64_t begin, int64_t end) {
    (void)f;
    double *a = into[0];
    const double *b = from[0];
    for (int64_t i = begin; i < end; i++) a[i] += b[i];
}

/* ---- affine maps (associative, not commutative): buffers 0, 1: columns i64 a, b; partial in place of 2, 3 ---- */

EXPORT void affine_reduce(const loom_kernel_frame *f, int64_t from, int64_t to, void *const *partial);
void affine_reduce(const loom_kernel_frame *f, int64_t from, int64_t to, void *const *partial) {
    const uint64_t *a = f->buffers[0], *b = f->buffers[1];
    uint64_t p = 1, q = 0;
    for (int64_t i = from; i < to; i++) {
        p = a[i] * p;
        q = a[i] * q + b[i];
    }
    *(uint64_t *)partial[0] = p;
    *(uint64_t *)partial[1] = q;
}

EXPORT void affine_combine(const loom_kernel_frame *f, void *const *into, void *const *from, int64_t begin,
                           int64_t end);
void affine_combine(const loom_kernel_frame *f, void *const *into, void *const *from, int64_t begin, int64_t end) {
    (void)f;
    uint64_t *p = into[0], *q = into[1];
    const uint64_t *r = from[0], *s = from[1];
    for (int64_t i = begin; i < end; i++) {
        q[i] = r[i] * q[i] + s[i];
        p[i] = r[i] * p[i];
    }
}

/* ---- maps: buffer 0: column f64, 1: result f64; 2: FIRST ---- */

EXPORT void square_plus_position(const loom_kernel_frame *f, int64_t from, int64_t to);
void square_plus_position(const loom_kernel_frame *f, int64_t from, int64_t to) {
    const double *x = f->buffers[0];
    double *y = f->buffers[1];
    int64_t first = *(const int64_t *)f->buffers[2];
    for (int64_t i = from; i < to; i++) y[i] = x[i] * x[i] + (double)(first + i);
}

/* Raises site 0 with the value where it is negative, site 1 where it is above 1000. */
EXPORT void checked_root(const loom_kernel_frame *f, int64_t from, int64_t to);
void checked_root(const loom_kernel_frame *f, int64_t from, int64_t to) {
    const double *x = f->buffers[0];
    double *y = f->buffers[1];
    for (int64_t i = from; i < to; i++) {
        if (x[i] < 0) f->runtime->raise(f, 0, i, (int64_t)x[i], i);
        if (x[i] > 1000) f->runtime->raise(f, 1, i, (int64_t)x[i], i);
        y[i] = x[i] < 0 ? 0 : x[i] / 2;
    }
}

/* y[i] = x[i] * scale[0] of a constant field (buffer 2), through scratch of 64 bytes per thread. */
EXPORT void scale_by_constant(const loom_kernel_frame *f, int64_t from, int64_t to);
void scale_by_constant(const loom_kernel_frame *f, int64_t from, int64_t to) {
    const double *x = f->buffers[0], *s = f->buffers[2];
    double *y = f->buffers[1], *scratch = f->scratch;
    for (int64_t i = from; i < to; i++) {
        scratch[0] = x[i] * s[0];
        y[i] = scratch[0];
    }
}

/* ---- loops: 0: input n i64; 1: state i64 [1]; 2: next; 3: counter; 4: go on (bool) ---- */

EXPORT void collatz_start(const loom_kernel_frame *f, int64_t from, int64_t to);
void collatz_start(const loom_kernel_frame *f, int64_t from, int64_t to) {
    (void)from, (void)to;
    *(int64_t *)f->buffers[1] = *(const int64_t *)f->buffers[0];
}

EXPORT void collatz_test(const loom_kernel_frame *f, int64_t from, int64_t to);
void collatz_test(const loom_kernel_frame *f, int64_t from, int64_t to) {
    (void)from, (void)to;
    *(unsigned char *)f->buffers[4] = *(const int64_t *)f->buffers[1] != 1;
}

EXPORT void collatz_is_odd(const loom_kernel_frame *f, int64_t from, int64_t to);
void collatz_is_odd(const loom_kernel_frame *f, int64_t from, int64_t to) {
    (void)from, (void)to;
    *(unsigned char *)f->buffers[5] = *(const int64_t *)f->buffers[1] % 2 == 1;
}

EXPORT void collatz_odd(const loom_kernel_frame *f, int64_t from, int64_t to);
void collatz_odd(const loom_kernel_frame *f, int64_t from, int64_t to) {
    (void)from, (void)to;
    *(int64_t *)f->buffers[2] = 3 * *(const int64_t *)f->buffers[1] + 1;
}

EXPORT void collatz_even(const loom_kernel_frame *f, int64_t from, int64_t to);
void collatz_even(const loom_kernel_frame *f, int64_t from, int64_t to) {
    (void)from, (void)to;
    *(int64_t *)f->buffers[2] = *(const int64_t *)f->buffers[1] / 2;
}

/* 1: result i64 [n], where n is the scalar in buffer 0 (an extent). */
EXPORT void write_squares(const loom_kernel_frame *f, int64_t from, int64_t to);
void write_squares(const loom_kernel_frame *f, int64_t from, int64_t to) {
    int64_t *y = f->buffers[1];
    for (int64_t i = from; i < to; i++) y[i] = i * i;
}

/* 2: scalar i64 = buffer 0 - 3. */
EXPORT void minus_three(const loom_kernel_frame *f, int64_t from, int64_t to);
void minus_three(const loom_kernel_frame *f, int64_t from, int64_t to) {
    (void)from, (void)to;
    *(int64_t *)f->buffers[2] = *(const int64_t *)f->buffers[0] - 3;
}

/* ---- transforms in a strip: 0: column c128 [n][m]; 1: result; fft 0 ---- */

EXPORT void strip_transform(const loom_kernel_frame *f, int64_t from, int64_t to);
void strip_transform(const loom_kernel_frame *f, int64_t from, int64_t to) {
    int64_t m = f->extents[1];
    const double *x = f->buffers[0];
    double *y = f->buffers[1];
    f->runtime->fft(f, 0, x + 2 * m * from, y + 2 * m * from, to - from);
}

/* ---- gridding: 0: v, 1: u (i64 columns), 2: value f32 column; 3: accumulator f32 [g][g]; extents 1, 2: g, g ---- */

EXPORT void convolve_inspect(const loom_kernel_frame *f, int64_t from, int64_t to, int64_t *base);
void convolve_inspect(const loom_kernel_frame *f, int64_t from, int64_t to, int64_t *base) {
    const int64_t *v = f->buffers[0], *u = f->buffers[1];
    for (int64_t i = from; i < to; i++, base += 2) {
        base[0] = v[i];
        base[1] = u[i];
        if (v[i] == LOOM_DROPPED) base[0] = LOOM_DROPPED;
    }
}

EXPORT void convolve_execute(const loom_kernel_frame *f, const int64_t *units, int64_t n, const int64_t *bases);
void convolve_execute(const loom_kernel_frame *f, const int64_t *units, int64_t n, const int64_t *bases) {
    const float *value = f->buffers[2];
    float *grid = f->buffers[3];
    int64_t rows = f->extents[1], columns = f->extents[2];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t y = 0; y < PATCH; y++) {
            for (int64_t x = 0; x < PATCH; x++) {
                int64_t r = bases[2 * i] + y - PATCH_LEFT, c = bases[2 * i + 1] + x - PATCH_LEFT;
                if (r < 0 || r >= rows || c < 0 || c >= columns) continue;
                grid[r * columns + c] += value[units[i]] * (float)(1 + y * PATCH + x);
            }
        }
    }
}

/* Raises site 0 in the executing half where the value is negative. */
EXPORT void convolve_execute_checked(const loom_kernel_frame *f, const int64_t *units, int64_t n, const int64_t *bases);
void convolve_execute_checked(const loom_kernel_frame *f, const int64_t *units, int64_t n, const int64_t *bases) {
    const float *value = f->buffers[2];
    for (int64_t i = 0; i < n; i++) {
        if (value[units[i]] < 0) f->runtime->raise(f, 0, units[i], (int64_t)value[units[i]], 0);
    }
    convolve_execute(f, units, n, bases);
}

/* ---- planes: units are (element, plane); 0: v, 1: u; 2: value; 3: accumulator f32 [p][g][g], 4: accumulator f64
 * [p][g][g]; extents 1: p, 2: g, 3: g ---- */

EXPORT void planes_inspect(const loom_kernel_frame *f, int64_t from, int64_t to, int64_t *base);
void planes_inspect(const loom_kernel_frame *f, int64_t from, int64_t to, int64_t *base) {
    const int64_t *v = f->buffers[0], *u = f->buffers[1];
    int64_t planes = f->extents[1];
    for (int64_t k = from; k < to; k++, base += 3) {
        int64_t i = k / planes;
        base[0] = (v[i] + k % planes) % 3 == 0 ? LOOM_DROPPED : k % planes;
        base[1] = v[i];
        base[2] = u[i];
    }
}

EXPORT void planes_execute(const loom_kernel_frame *f, const int64_t *units, int64_t n, const int64_t *bases);
void planes_execute(const loom_kernel_frame *f, const int64_t *units, int64_t n, const int64_t *bases) {
    const float *value = f->buffers[2];
    float *image = f->buffers[3];
    double *psf = f->buffers[4];
    int64_t planes = f->extents[1], g = f->extents[2];
    for (int64_t i = 0; i < n; i++, bases += 3) {
        for (int64_t y = 0; y < PATCH; y++) {
            for (int64_t x = 0; x < PATCH; x++) {
                int64_t r = bases[1] + y - PATCH_LEFT, c = bases[2] + x - PATCH_LEFT;
                if (r < 0 || r >= g || c < 0 || c >= g) continue;
                int64_t at = (bases[0] * g + r) * g + c;
                image[at] += value[units[i] / planes] * 0.1f;
                psf[at] += 0.3 / (double)(1 + units[i]);
            }
        }
    }
}

/* ---- histogram: 0: bin i64 column; 1: weight f64 column; 2: accumulator f64 [bins]; patches of one cell ---- */

EXPORT void histogram_inspect(const loom_kernel_frame *f, int64_t from, int64_t to, int64_t *base);
void histogram_inspect(const loom_kernel_frame *f, int64_t from, int64_t to, int64_t *base) {
    memcpy(base, (const int64_t *)f->buffers[0] + from, (size_t)(to - from) * sizeof *base);
}

EXPORT void histogram_execute(const loom_kernel_frame *f, const int64_t *units, int64_t n, const int64_t *bases);
void histogram_execute(const loom_kernel_frame *f, const int64_t *units, int64_t n, const int64_t *bases) {
    const double *weight = f->buffers[1];
    double *bins = f->buffers[2];
    int64_t extent = f->extents[1];
    for (int64_t i = 0; i < n; i++) {
        if (bases[i] >= 0 && bases[i] < extent) bins[bases[i]] += weight[units[i]];
    }
}

/* ---- sum of rows: 0: column f64 [n][m]; partial f64 [m] in place of 1; extent 1: m ---- */

EXPORT void rows_reduce(const loom_kernel_frame *f, int64_t from, int64_t to, void *const *partial);
void rows_reduce(const loom_kernel_frame *f, int64_t from, int64_t to, void *const *partial) {
    int64_t m = f->extents[1];
    const double *x = f->buffers[0];
    double *sum = partial[0];
    for (int64_t k = 0; k < m; k++) sum[k] = 0;
    for (int64_t i = from; i < to; i++) {
        for (int64_t k = 0; k < m; k++) sum[k] += x[i * m + k];
    }
}

/* 1: f64 [m] = twice row 0 of the table in 0 */
EXPORT void first_row(const loom_kernel_frame *f, int64_t from, int64_t to);
void first_row(const loom_kernel_frame *f, int64_t from, int64_t to) {
    const double *table = f->buffers[0];
    double *row = f->buffers[1];
    for (int64_t i = from; i < to; i++) row[i] = 2 * table[i];
}

/* Raises once the counter (3) reaches 4. */
EXPORT void raise_at_four(const loom_kernel_frame *f, int64_t from, int64_t to);
void raise_at_four(const loom_kernel_frame *f, int64_t from, int64_t to) {
    (void)from, (void)to;
    int64_t turn = *(const int64_t *)f->buffers[3];
    if (turn == 4) f->runtime->raise(f, 0, 0, turn, 0);
}
