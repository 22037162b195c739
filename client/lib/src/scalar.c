/* Scalars from the command line and to the terminal. */
#include "client/binding.h"
#include "client/output.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static loom_status *not_a(const char *what, const char *text, loom_dtype dtype) {
    loom_status *status =
        loom_error(LOOM_E_USAGE, "%s = '%s' is not a value of type %s", what, text, loom_dtype_name(dtype));
    if (loom_dtype_is_complex(dtype)) loom_status_note(status, "hint: complex numbers are written 1+2i");
    if (dtype == LOOM_BOOL) loom_status_note(status, "hint: true or false");
    return status;
}

static loom_status *integer(const char *what, const char *text, loom_dtype dtype, loom_scalar *value) {
    int bits = 8 * (int)loom_dtype_size(dtype);
    char *end;
    errno = 0;
    loom_scalar x = {0};
    bool fits;
    if (loom_dtype_is_signed(dtype)) {
        x.i = strtoll(text, &end, 0);
        fits = bits == 64 || (x.i >= -(INT64_C(1) << (bits - 1)) && x.i < INT64_C(1) << (bits - 1));
    } else {
        x.u = strtoull(text, &end, 0);
        fits = text[strspn(text, " ")] != '-' && (bits == 64 || x.u < UINT64_C(1) << bits);
    }
    if (end == text || *end) return not_a(what, text, dtype);
    if (errno == ERANGE || !fits) {
        return loom_error(LOOM_E_USAGE, "%s = %s does not fit into %s", what, text, loom_dtype_name(dtype));
    }
    *value = x;
    return NULL;
}

/* One real number, at most up to the sign or 'i' that follows it. */
static bool take_real(const char *text, const char **end, double *x) {
    char *stop;
    *x = strtod(text, &stop);
    *end = stop;
    return stop != text;
}

/* "1+2i", "1", "2i", "-i", "1-i". */
static bool complex_number(const char *text, double c[2]) {
    const char *at = text;
    double x = 0;
    c[0] = c[1] = 0;
    for (int part = 0; part < 2 && *at; part++) {
        if (part == 1 && *at != '+' && *at != '-') return false;
        const char *sign = at;
        /* "inf" must not be read as the unit i followed by letters. */
        if (!take_real(at, &at, &x)) {
            at = sign + (*sign == '+' || *sign == '-');
            if (*at != 'i') return false;
            x = *sign == '-' ? -1 : 1;
        }
        if (*at == 'i') {
            c[1] = x;
            return at[1] == '\0';
        }
        if (part == 1) return false;
        c[0] = x;
    }
    return at != text && *at == '\0';
}

loom_status *loom_client_scalar(const char *what, const char *text, loom_dtype dtype, loom_scalar *value) {
    loom_scalar x = {0};
    const char *end;
    if (dtype == LOOM_BOOL) {
        x.b = strcmp(text, "true") == 0;
        if (!x.b && strcmp(text, "false") != 0) return not_a(what, text, dtype);
    } else if (loom_dtype_is_integer(dtype)) {
        return integer(what, text, dtype, value);
    } else if (loom_dtype_is_complex(dtype)) {
        if (!complex_number(text, x.c)) return not_a(what, text, dtype);
    } else {
        if (!take_real(text, &end, &x.f) || *end) return not_a(what, text, dtype);
        if (dtype == LOOM_F32) x.f = (double)(float)x.f;
    }
    *value = x;
    return NULL;
}

static void print_real(loom_dtype dtype, double x, FILE *to) {
    if (isnan(x)) {
        fputs("nan", to);
    } else if (isinf(x)) {
        fputs(x < 0 ? "-inf" : "inf", to);
    } else {
        fprintf(to, "%.*g", dtype == LOOM_F32 || dtype == LOOM_C64 ? 9 : 17, x);
    }
}

void loom_client_print_scalar(loom_dtype dtype, const void *at, FILE *to) {
    loom_scalar x = loom_scalar_load(dtype, at);
    if (dtype == LOOM_BOOL) {
        fputs(x.b ? "true" : "false", to);
    } else if (loom_dtype_is_signed(dtype)) {
        fprintf(to, "%" PRId64, x.i);
    } else if (loom_dtype_is_unsigned(dtype)) {
        fprintf(to, "%" PRIu64, x.u);
    } else if (loom_dtype_is_complex(dtype)) {
        print_real(dtype, x.c[0], to);
        if (isnan(x.c[1]) || !signbit(x.c[1])) fputc('+', to);
        print_real(dtype, x.c[1], to);
        fputc('i', to);
    } else {
        print_real(dtype, x.f, to);
    }
}
