/* The peer of bench/run for dotp: one thread over two mapped .npy files of f32. usage: dotp_peer A.npy B.npy; prints
 * seconds (median of five, files in the page cache) and the sum. Compiled -O3 -ffast-math -march=native. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

static const float *map(const char *path, size_t *n) {
    int fd = open(path, O_RDONLY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) {
        perror(path);
        exit(66);
    }
    const unsigned char *d = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (d == MAP_FAILED) exit(74);
    size_t header = d[6] == 1 ? 10u + d[8] + 256u * d[9] : 12u + d[8] + 256u * d[9] + 65536u * d[10];
    *n = ((size_t)st.st_size - header) / sizeof(float);
    return (const float *)(const void *)(d + header);
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
    if (argc != 3) return 64;
    size_t n, m;
    const float *a = map(argv[1], &n), *b = map(argv[2], &m);
    if (m < n) n = m;
    double seconds[5];
    float sum = 0;
    for (int turn = 0; turn < 5; turn++) {
        double start = now();
        sum = 0;
        for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
        __asm__ volatile("" : "+x"(sum) : : "memory"); /* each turn is made */
        seconds[turn] = now() - start;
    }
    qsort(seconds, 5, sizeof *seconds, ascending);
    printf("%.6f %.9g\n", seconds[2], (double)sum);
    return 0;
}
