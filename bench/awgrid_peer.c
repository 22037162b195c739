/* The peer of bench/run for AW-gridding: plain C with FFTW, six 32x32 transforms a visibility, papers/000 section 5.3.
 *
 * usage: awgrid_peer AKERN WKERN Y X WBIN A1 A2 VIS GRID_SIZE THREADS OUT    (raw arrays: na,nw after the file names as
 * NAME:COUNT) Prints seconds of the traversal (median of five). Each thread has a grid of its own, added at the end.
 * Compiled -O3.
 */
#include <complex.h>
#include <fftw3.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    S = 15,
    P = 32,
    HALF = 7
};
typedef double complex cx;

typedef struct job {
    const cx *akern, *wkern, *vis;
    const int64_t *y, *x, *wbin, *a1, *a2;
    int64_t from, to, g;
    cx *grid;
    fftw_plan forward, backward;
} job;

static void pad(const cx *k, cx *to) {
    memset(to, 0, P * P * sizeof *to);
    for (int i = 0; i < S; i++) memcpy(to + i * P, k + i * S, S * sizeof *to);
}

static void convolve(const job *j, const cx *a, const cx *b, cx *out, cx *fa, cx *fb) {
    pad(a, fa);
    pad(b, fb);
    fftw_execute_dft(j->forward, fa, fa);
    fftw_execute_dft(j->forward, fb, fb);
    for (int i = 0; i < P * P; i++) fa[i] *= fb[i] * (1.0 / (P * P));
    fftw_execute_dft(j->backward, fa, fa);
    for (int i = 0; i < S; i++) memcpy(out + i * S, fa + (i + HALF) * P + HALF, S * sizeof *out);
}

static void *work(void *argument) {
    const job *j = argument;
    cx *fa = fftw_alloc_complex(P * P), *fb = fftw_alloc_complex(P * P), k[S * S], kernel[S * S];
    for (int64_t i = j->from; i < j->to; i++) {
        convolve(j, j->akern + j->a1[i] * S * S, j->akern + j->a2[i] * S * S, k, fa, fb);
        convolve(j, j->wkern + j->wbin[i] * S * S, k, kernel, fa, fb);
        for (int r = 0; r < S; r++) {
            int64_t row = j->y[i] + r - HALF;
            if (row < 0 || row >= j->g) continue;
            for (int c = 0; c < S; c++) {
                int64_t column = j->x[i] + c - HALF;
                if (column >= 0 && column < j->g) j->grid[row * j->g + column] += kernel[r * S + c] * j->vis[i];
            }
        }
    }
    fftw_free(fa);
    fftw_free(fb);
    return NULL;
}

static void *load(const char *path, size_t *bytes) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(66);
    }
    fseek(f, 0, SEEK_END);
    *bytes = (size_t)ftell(f);
    rewind(f);
    void *data = malloc(*bytes);
    if (!data || fread(data, 1, *bytes, f) != *bytes) {
        perror(path);
        exit(74);
    }
    fclose(f);
    return data;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    return *(const double *)a < *(const double *)b ? -1 : 1;
}

int main(int argc, char **argv) {
    if (argc != 12) {
        fprintf(stderr, "usage: awgrid_peer AKERN WKERN Y X WBIN A1 A2 VIS GRID THREADS OUT\n");
        return 64;
    }
    size_t bytes;
    job base = {.akern = load(argv[1], &bytes), .wkern = load(argv[2], &bytes), .y = load(argv[3], &bytes)};
    int64_t n = (int64_t)(bytes / 8);
    base.x = load(argv[4], &bytes), base.wbin = load(argv[5], &bytes), base.a1 = load(argv[6], &bytes);
    base.a2 = load(argv[7], &bytes), base.vis = load(argv[8], &bytes);
    base.g = atoll(argv[9]);
    int threads = atoi(argv[10]);
    size_t cells = (size_t)base.g * (size_t)base.g;
    cx *scratch = fftw_alloc_complex(P * P);
    base.forward = fftw_plan_dft_2d(P, P, scratch, scratch, FFTW_FORWARD, FFTW_MEASURE);
    base.backward = fftw_plan_dft_2d(P, P, scratch, scratch, FFTW_BACKWARD, FFTW_MEASURE);
    job *jobs = calloc((size_t)threads, sizeof *jobs);
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    for (int t = 0; t < threads; t++) {
        jobs[t] = base;
        jobs[t].from = n * t / threads, jobs[t].to = n * (t + 1) / threads;
        jobs[t].grid = malloc(cells * sizeof(cx));
        memset(jobs[t].grid, 0, cells * sizeof(cx));
    }
    double seconds[5];
    for (int turn = 0; turn < 5; turn++) {
        for (int t = 0; t < threads; t++) memset(jobs[t].grid, 0, cells * sizeof(cx));
        double start = now();
        for (int t = 1; t < threads; t++) pthread_create(&ids[t], NULL, work, &jobs[t]);
        work(&jobs[0]);
        for (int t = 1; t < threads; t++) {
            pthread_join(ids[t], NULL);
            for (size_t i = 0; i < cells; i++) jobs[0].grid[i] += jobs[t].grid[i];
        }
        seconds[turn] = now() - start;
    }
    qsort(seconds, 5, sizeof *seconds, ascending);
    printf("%.6f\n", seconds[2]);
    FILE *out = fopen(argv[11], "wb");
    if (!out || fwrite(jobs[0].grid, sizeof(cx), cells, out) != cells) return 74;
    return fclose(out) ? 74 : 0;
}
