/* Transforms of many sizes against the sum by its definition. */
#include "helper.h"
#include "loom_test.h"
#include <complex.h>

static uint64_t state = 42;
static double random_number(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53 - 0.5;
}

static built transform_of(const char *type, uint32_t inverse) {
    built b = start(1, &type);
    finish(&b, NODE(&b, FFT, type, inverse, param(&b, 0)));
    return b;
}

static loom_value *random_array(loom_dtype t, uint32_t depth, const int64_t *extents) {
    loom_value *v;
    LOOM_OK(loom_value_create(1, &v));
    LOOM_OK(loom_leaf_init(&v->leaves[0], "", t, depth, extents, 1 << 26));
    for (int64_t i = 0; i < 2 * v->leaves[0].n_data; i++) {
        if (t == LOOM_C128) ((double *)v->leaves[0].data)[i] = random_number();
        if (t == LOOM_C64) ((float *)v->leaves[0].data)[i] = (float)random_number();
    }
    return v;
}

LOOM_TEST(interp_fft, sizes_against_the_definition) {
    built b = transform_of("[]c128", 0);
    static const int64_t sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,   9,   12,  13,  15,  16,  17, 19,
                                    25, 27, 32, 34, 49, 60, 97, 121, 128, 169, 250, 251, 360, 512};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int64_t n = sizes[k];
        loom_value *x = random_array(LOOM_C128, 1, &n), *y = NULL;
        LOOM_OK(loom_interp_call(b.p, 0, &x, NULL, &y, NULL));
        const double *a = x->leaves[0].data, *f = y->leaves[0].data;
        for (int64_t j = 0; j < n; j++) {
            long double re = 0, im = 0;
            for (int64_t i = 0; i < n; i++) {
                long double angle =
                    -2 * 3.14159265358979323846264338327950288L * (long double)(i * j % n) / (long double)n;
                re += a[2 * i] * cosl(angle) - a[2 * i + 1] * sinl(angle);
                im += a[2 * i] * sinl(angle) + a[2 * i + 1] * cosl(angle);
            }
            LOOM_CHECK_NEAR(f[2 * j], (double)re, 1e-15 * (double)n);
            LOOM_CHECK_NEAR(f[2 * j + 1], (double)im, 1e-15 * (double)n);
        }
        loom_value_unref(x);
        loom_value_unref(y);
    }
    done(&b);
}

LOOM_TEST(interp_fft, there_and_back_in_several_axes) {
    static const char *const types[] = {"[]c128", "[][]c128", "[][][]c128"};
    static const int64_t extents[][3] = {{30}, {32, 32}, {5, 17, 6}};
    for (uint32_t rank = 1; rank <= 3; rank++) {
        built forth = transform_of(types[rank - 1], 0), back = transform_of(types[rank - 1], 1);
        loom_value *x = random_array(LOOM_C128, rank, extents[rank - 1]), *y = NULL, *z = NULL;
        LOOM_OK(loom_interp_call(forth.p, 0, &x, NULL, &y, NULL));
        LOOM_OK(loom_interp_call(back.p, 0, &y, NULL, &z, NULL));
        for (int64_t i = 0; i < 2 * x->leaves[0].n_data; i++) {
            LOOM_CHECK_NEAR(((double *)z->leaves[0].data)[i], ((double *)x->leaves[0].data)[i], 1e-14);
        }
        loom_value_unref(x);
        loom_value_unref(y);
        loom_value_unref(z);
        done(&forth);
        done(&back);
    }
}

/* All axes: separable, so the transform of a product is the product of transforms. */
LOOM_TEST(interp_fft, two_axes) {
    built one = transform_of("[]c128", 0), two = transform_of("[][]c128", 0);
    int64_t n = 6, m = 10, both[2] = {n, m};
    loom_value *a = random_array(LOOM_C128, 1, &n), *b = random_array(LOOM_C128, 1, &m),
               *c = random_array(LOOM_C128, 2, both);
    const double complex *x = a->leaves[0].data, *y = b->leaves[0].data;
    double complex *z = c->leaves[0].data;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < m; k++) z[i * m + k] = x[i] * y[k];
    }
    loom_value *fa = NULL, *fb = NULL, *fc = NULL;
    LOOM_OK(loom_interp_call(one.p, 0, &a, NULL, &fa, NULL));
    LOOM_OK(loom_interp_call(one.p, 0, &b, NULL, &fb, NULL));
    LOOM_OK(loom_interp_call(two.p, 0, &c, NULL, &fc, NULL));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < m; k++) {
            double complex want = ((double complex *)fa->leaves[0].data)[i] * ((double complex *)fb->leaves[0].data)[k];
            LOOM_CHECK(cabs(((double complex *)fc->leaves[0].data)[i * m + k] - want) < 1e-14);
        }
    }
    loom_value *all[] = {a, b, c, fa, fb, fc};
    for (int i = 0; i < 6; i++) loom_value_unref(all[i]);
    done(&one);
    done(&two);
}

LOOM_TEST(interp_fft, single_precision_empty_and_irregular) {
    built b = transform_of("[]c64", 0);
    EXPECT(&b, "[10+0i, -2+2i, -2+0i, -2-2i]", "c64 [1, 2, 3, 4]");
    EXPECT(&b, "[]", "c64^1 []");
    done(&b);
    b = transform_of("[][]c64", 1);
    EXPECT(&b, "[[2.5+0i, -0.5+0i], [-1+0i, 0+0i]]", "c64 [[1, 2], [3, 4]]");
    EXPECT(&b, "[[], []]", "c64 [[], []]");
    EXPECT_ERROR(&b, "rows differ in length", "c64 [[1], [3, 4]]");
    done(&b);
}
