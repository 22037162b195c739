#include "print.h"
#include <inttypes.h>

static void print_real(FILE *to, loom_dtype real, double value) {
    fprintf(to, real == LOOM_F32 ? "%.9g" : "%.17g", value);
}

void loom_print_scalar(FILE *to, loom_dtype t, loom_scalar s) {
    if (t == LOOM_BOOL) {
        fputs(s.b ? "true" : "false", to);
    } else if (loom_dtype_is_signed(t)) {
        fprintf(to, "%" PRId64, s.i);
    } else if (loom_dtype_is_unsigned(t)) {
        fprintf(to, "%" PRIu64, s.u);
    } else if (loom_dtype_is_complex(t)) {
        fputc('(', to);
        print_real(to, loom_dtype_real(t), s.c[0]);
        fputs(" + ", to);
        print_real(to, loom_dtype_real(t), s.c[1]);
        fputs("i)", to);
    } else {
        print_real(to, t, s.f);
    }
}
