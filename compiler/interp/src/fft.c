/* Fourier transforms of any size, in double precision, by code of our own: an independent judge of the library that
 * compiled programs call. Stockham's self-sorting algorithm with radices 4, 2, 3, 5 and small primes; sizes with a
 * larger prime factor by Bluestein's: x_k e^(-i pi k^2 / n) convolved with e^(i pi k^2 / n), in transforms of a power
 * of two. An axis in the middle of an array is transformed for all inner positions at once, which are then the fastest
 * index.
 */
#include "compiler/interp/math/loom_math.h"
#include "eval.h"
#include <string.h>

#define LARGEST_RADIX 13

typedef struct complex_number {
    double re, im;
} complex_number;

typedef struct fft_plan {
    struct fft_plan *next;
    int64_t n;
    uint32_t n_factors;
    int64_t factors[64];
    complex_number *roots;              /* e^(-2 pi i k / n), k < n */
    const struct fft_plan *convolution; /* Bluestein: the transform of size m; NULL for sizes that factor */
    complex_number *chirp;              /* e^(-i pi k^2 / n), k < n */
    complex_number *spectrum;           /* transform of its conjugate, wrapped around, scaled by 1 / m */
} fft_plan;

static complex_number mul(complex_number a, complex_number b) {
    return (complex_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static complex_number add(complex_number a, complex_number b) {
    return (complex_number){a.re + b.re, a.im + b.im};
}
static complex_number sub(complex_number a, complex_number b) {
    return (complex_number){a.re - b.re, a.im - b.im};
}
static complex_number minus_i(complex_number a) {
    return (complex_number){a.im, -a.re};
}
static complex_number conjugate(complex_number a) {
    return (complex_number){a.re, -a.im};
}

/* e^(-2 pi i k / n), 0 <= k < n: the angle is brought below an eighth turn in integers, so that no digit is lost. */
static complex_number root(int64_t k, int64_t n) {
    int64_t eighth = (int64_t)((__int128)8 * k / n);
    __int128 rest = (__int128)8 * k - (__int128)eighth * n; /* eighths of a turn times n */
    bool odd = eighth & 1;
    double angle = 0.78539816339744830962 * (double)(int64_t)(odd ? n - rest : rest) / (double)n;
    double c = loom_math_cos_f64(angle), s = loom_math_sin_f64(angle), x = odd ? s : c, y = odd ? c : s;
    switch (eighth >> 1) {
    case 0: return (complex_number){x, -y};
    case 1: return (complex_number){-y, -x};
    case 2: return (complex_number){-x, y};
    default: return (complex_number){y, x};
    }
}

/* ---- one stage: n = p m; s is the product of the radices done and of inner extents ---- */

typedef struct stage {
    int64_t p, m, s;
    const complex_number *roots; /* of the whole size */
    int64_t step, size;          /* e^(-2 pi i / n) is roots[step]; size of the table */
} stage;

static void radix2(const stage *g, const complex_number *x, complex_number *y) {
    for (int64_t k = 0; k < g->m; k++) {
        complex_number w = g->roots[g->step * k];
        const complex_number *a = x + g->s * k, *b = a + g->s * g->m;
        complex_number *u = y + 2 * g->s * k, *v = u + g->s;
        for (int64_t q = 0; q < g->s; q++) {
            u[q] = add(a[q], b[q]);
            v[q] = mul(sub(a[q], b[q]), w);
        }
    }
}

static void radix4(const stage *g, const complex_number *x, complex_number *y) {
    int64_t s = g->s, far = g->s * g->m;
    for (int64_t k = 0; k < g->m; k++) {
        complex_number w1 = g->roots[g->step * k], w2 = g->roots[2 * g->step * k], w3 = g->roots[3 * g->step * k];
        const complex_number *a = x + s * k;
        complex_number *u = y + 4 * s * k;
        for (int64_t q = 0; q < s; q++) {
            complex_number e = add(a[q], a[q + 2 * far]), f = sub(a[q], a[q + 2 * far]);
            complex_number g1 = add(a[q + far], a[q + 3 * far]), h = minus_i(sub(a[q + far], a[q + 3 * far]));
            u[q] = add(e, g1);
            u[q + s] = mul(add(f, h), w1);
            u[q + 2 * s] = mul(sub(e, g1), w2);
            u[q + 3 * s] = mul(sub(f, h), w3);
        }
    }
}

static void radix_any(const stage *g, const complex_number *x, complex_number *y) {
    int64_t s = g->s, far = g->s * g->m, p = g->p, turn = g->size / p;
    for (int64_t k = 0; k < g->m; k++) {
        const complex_number *a = x + s * k;
        complex_number *u = y + p * s * k;
        for (int64_t r = 0; r < p; r++) {
            complex_number w = g->roots[g->step * k * r];
            for (int64_t q = 0; q < s; q++) {
                complex_number sum = a[q];
                for (int64_t j = 1; j < p; j++) sum = add(sum, mul(a[q + j * far], g->roots[turn * (j * r % p)]));
                u[q + r * s] = mul(sum, w);
            }
        }
    }
}

/* Transforms `inner` interleaved vectors of plan->n in x; y is as long; the result is in what is returned. */
static complex_number *transform(const fft_plan *plan, int64_t inner, complex_number *x, complex_number *y) {
    stage g = {.s = inner, .roots = plan->roots, .step = 1, .size = plan->n};
    int64_t n = plan->n;
    for (uint32_t i = 0; i < plan->n_factors; i++) {
        g.p = plan->factors[i];
        g.m = n / g.p;
        if (g.p == 4) {
            radix4(&g, x, y);
        } else if (g.p == 2) {
            radix2(&g, x, y);
        } else {
            radix_any(&g, x, y);
        }
        complex_number *swap = x;
        x = y;
        y = swap;
        n = g.m;
        g.s *= g.p;
        g.step *= g.p;
    }
    return x;
}

/* ---- plans ---- */

static bool factorise(fft_plan *plan) {
    static const int64_t radices[] = {4, 2, 3, 5, 7, 11, LARGEST_RADIX};
    int64_t n = plan->n;
    plan->n_factors = 0;
    for (size_t i = 0; i < sizeof radices / sizeof *radices; i++) {
        for (; n % radices[i] == 0; n /= radices[i]) plan->factors[plan->n_factors++] = radices[i];
    }
    return n == 1;
}

static loom_status *make_plan(evaluation *ev, int64_t n, const fft_plan **found);

static loom_status *numbers(evaluation *ev, int64_t n, complex_number **made) {
    uint64_t bytes;
    buffer *b;
    LOOM_TRY(loom_bytes_of(LOOM_C128, 1, &n, &bytes));
    LOOM_TRY(buffer_create(&ev->heap, bytes, &b)); /* given back with the evaluation */
    *made = (complex_number *)(void *)b->data;
    return NULL;
}

static loom_status *plan_bluestein(evaluation *ev, fft_plan *plan) {
    int64_t m = 1, n = plan->n;
    while (m < 2 * n - 1) m *= 2;
    complex_number *wrapped, *other;
    LOOM_TRY(make_plan(ev, m, &plan->convolution));
    LOOM_TRY(numbers(ev, n, &plan->chirp));
    LOOM_TRY(numbers(ev, m, &wrapped));
    LOOM_TRY(numbers(ev, m, &other));
    for (int64_t k = 0; k < m; k++) wrapped[k] = (complex_number){0, 0};
    for (int64_t k = 0; k < n; k++) {
        plan->chirp[k] = root((int64_t)((__int128)k * k % (2 * n)), 2 * n);
        complex_number c = conjugate(plan->chirp[k]);
        wrapped[k] = c;
        if (k) wrapped[m - k] = c;
    }
    plan->spectrum = transform(plan->convolution, 1, wrapped, other);
    for (int64_t k = 0; k < m; k++) {
        plan->spectrum[k].re /= (double)m;
        plan->spectrum[k].im /= (double)m;
    }
    return NULL;
}

static loom_status *make_plan(evaluation *ev, int64_t n, const fft_plan **found) {
    for (const fft_plan *p = ev->plans; p; p = p->next) {
        if (p->n == n) {
            *found = p;
            return NULL;
        }
    }
    fft_plan *plan = LOOM_NEW(ev->arena, fft_plan);
    plan->n = n;
    if (factorise(plan)) {
        LOOM_TRY(numbers(ev, n, &plan->roots));
        for (int64_t k = 0; k < n; k++) plan->roots[k] = root(k, n);
    } else {
        LOOM_TRY(plan_bluestein(ev, plan));
    }
    plan->next = ev->plans;
    ev->plans = plan;
    *found = plan;
    return NULL;
}

/* ---- arrays ---- */

typedef struct work_area {
    complex_number *a, *b; /* as long as the array */
    complex_number *c, *d; /* Bluestein: as long as the convolution */
    buffer *memory;
} work_area;

static void bluestein_line(const fft_plan *plan, complex_number *line, int64_t stride, const work_area *w) {
    int64_t n = plan->n, m = plan->convolution->n;
    for (int64_t k = 0; k < n; k++) w->c[k] = mul(line[k * stride], plan->chirp[k]);
    for (int64_t k = n; k < m; k++) w->c[k] = (complex_number){0, 0};
    complex_number *f = transform(plan->convolution, 1, w->c, w->d), *other = f == w->c ? w->d : w->c;
    /* The inverse transform is the conjugate of that of the conjugate. */
    for (int64_t k = 0; k < m; k++) f[k] = conjugate(mul(f[k], plan->spectrum[k]));
    complex_number *g = transform(plan->convolution, 1, f, other);
    for (int64_t k = 0; k < n; k++) line[k * stride] = mul(conjugate(g[k]), plan->chirp[k]);
}

/* One axis of length plan->n, `outer` blocks before and `inner` positions after it, in w->a. */
static void transform_axis(const fft_plan *plan, int64_t outer, int64_t inner, const work_area *w) {
    int64_t block = plan->n * inner;
    for (int64_t o = 0; o < outer; o++) {
        complex_number *x = w->a + o * block;
        if (plan->convolution) {
            for (int64_t q = 0; q < inner; q++) bluestein_line(plan, x + q, inner, w);
            continue;
        }
        complex_number *result = transform(plan, inner, x, w->b);
        if (result != x) memcpy(x, result, (size_t)block * sizeof *x);
    }
}

/* Real and imaginary parts change places on the way in and out of an inverse transform. */
static void load(const column *c, bool swapped, int64_t n, complex_number *to) {
    for (int64_t i = 0; i < n; i++) {
        loom_scalar s = loom_scalar_load(c->dtype, c->data + (size_t)i * scalar_size(c));
        to[i] = swapped ? (complex_number){s.c[1], s.c[0]} : (complex_number){s.c[0], s.c[1]};
    }
}

static void store(column *c, bool swapped, int64_t n, const complex_number *from) {
    double scale = swapped ? 1.0 / (double)n : 1.0;
    for (int64_t i = 0; i < n; i++) {
        double re = (swapped ? from[i].im : from[i].re) * scale, im = (swapped ? from[i].re : from[i].im) * scale;
        loom_scalar_store(c->dtype, (loom_scalar){.c = {re, im}}, c->data + (size_t)i * scalar_size(c));
    }
}

/* Rows of equal shape that happen to stand apart are brought together. */
static loom_status *together(evaluation *ev, column *c, column **made) {
    if (c->dense) {
        *made = object_ref(c);
        return NULL;
    }
    builder b;
    builder_start(&b, &ev->heap, c->dtype, c->depth, c->length);
    for (int64_t i = 0; i < c->length; i++) {
        column *row;
        LOOM_TRY(together(ev, c->at[i].row, &row));
        LOOM_TRY(builder_row(&b, row));
        object_unref(&ev->heap, &row->head);
    }
    return builder_end(&b, made);
}

static loom_status *open_area(evaluation *ev, const column *c, work_area *w, const fft_plan **plans) {
    int64_t n = c->length * c->stride, longest = 0;
    for (uint32_t k = 0; k < c->depth; k++) {
        LOOM_TRY(make_plan(ev, c->at[k].extent, &plans[k]));
        if (plans[k]->convolution && plans[k]->convolution->n > longest) longest = plans[k]->convolution->n;
    }
    buffer *b;
    int64_t total = 2 * n + 2 * longest;
    uint64_t bytes;
    LOOM_TRY(loom_bytes_of(LOOM_C128, 1, &total, &bytes));
    LOOM_TRY(buffer_create(&ev->heap, bytes, &b));
    w->a = (complex_number *)(void *)b->data;
    w->b = w->a + n;
    w->c = w->b + n;
    w->d = w->c + longest;
    w->memory = b;
    return NULL;
}

loom_status *eval_fft(evaluation *ev, loom_node_id id, slot *result) {
    const loom_node *n = &ev->program->nodes[id];
    column *c, *made;
    LOOM_TRY(together(ev, operand(ev, n, 0).array->leaves[0], &c));
    if (!c->dense) {
        return loom_status_note(fail(ev, n, LOOM_TRAP_CODE_ROWS_DIFFER, "fft of an array whose rows differ in length"),
                                "hint: `map fft` transforms rows of any lengths");
    }
    int64_t total = c->length * c->stride, outer = 1, inner = total, extents[LOOM_MAX_DEPTH + 1];
    for (uint32_t k = 0; k < c->depth; k++) extents[k] = c->at[k].extent;
    LOOM_TRY(column_fresh(&ev->heap, c->dtype, c->depth, extents, &made));
    if (total > 0) {
        const fft_plan *plans[LOOM_MAX_DEPTH + 1];
        work_area w;
        LOOM_TRY(open_area(ev, c, &w, plans));
        load(c, n->aux == 1, total, w.a);
        for (uint32_t k = 0; k < c->depth; k++) {
            inner /= extents[k];
            transform_axis(plans[k], outer, inner, &w);
            outer *= extents[k];
        }
        store(made, n->aux == 1, total, w.a);
        object_unref(&ev->heap, &w.memory->head);
        ev->heap.moved += (uint64_t)total;
        ev->work += 5 * (uint64_t)total * (63 - (uint64_t)__builtin_clzll((uint64_t)total));
    }
    object_unref(&ev->heap, &c->head);
    result->array = array_make(&ev->heap, type_of_id(ev, n->type)->element);
    result->array->leaves[0] = made;
    array_seal(result->array);
    return NULL;
}
