#include "common/paths.h"
#include "common/buffer.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct place {
    char *path; /* as given */
    char *real; /* links resolved as far as files exist; NULL: not even its folder does */
    bool output, exists;
    struct stat info; /* where it exists */
} place;

struct loom_paths {
    place *at;
    size_t n;
};

loom_paths *loom_paths_create(void) {
    return loom_xcalloc(1, sizeof(loom_paths));
}

void loom_paths_free(loom_paths *paths) {
    if (!paths) return;
    for (size_t i = 0; i < paths->n; i++) {
        free(paths->at[i].path);
        free(paths->at[i].real);
    }
    free(paths->at);
    free(paths);
}

/* "a/b" of "a/b//": the real path of "a", then "/b". */
static char *real_path_of_new(const char *path) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    size_t name = n;
    while (name > 0 && path[name - 1] != '/') name--;
    char *folder = name ? loom_xprintf("%.*s", (int)name, path) : loom_xstrdup(".");
    char *real = realpath(folder, NULL);
    free(folder);
    if (!real) return NULL;
    char *whole = loom_xprintf("%s/%.*s", strcmp(real, "/") == 0 ? "" : real, (int)(n - name), path + name);
    free(real);
    return whole;
}

static void add(loom_paths *paths, const char *path, bool output) {
    if (!path) return;
    place p = {.path = loom_xstrdup(path), .output = output};
    p.exists = stat(path, &p.info) == 0;
    p.real = p.exists ? realpath(path, NULL) : real_path_of_new(path);
    paths->at = loom_xrealloc(paths->at, (paths->n + 1) * sizeof *paths->at);
    paths->at[paths->n++] = p;
}

void loom_paths_read(loom_paths *paths, const char *path) {
    add(paths, path, false);
}

void loom_paths_write(loom_paths *paths, const char *path) {
    add(paths, path, true);
}

static bool same_inode(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool is_stored(const place *p) {
    return S_ISREG(p->info.st_mode) || S_ISDIR(p->info.st_mode);
}

static bool same_place(const place *a, const place *b) {
    if (a->exists != b->exists) return false;
    if (a->exists) return is_stored(a) && same_inode(&a->info, &b->info);
    return strcmp(a->real ? a->real : a->path, b->real ? b->real : b->path) == 0;
}

static bool lies_inside(const place *p, const place *folder) {
    if (!p->real || !folder->exists || !S_ISDIR(folder->info.st_mode)) return false;
    char *above = loom_xstrdup(p->real);
    bool inside = false;
    for (char *slash; !inside && (slash = strrchr(above, '/')) && slash > above;) {
        *slash = '\0';
        struct stat info;
        inside = stat(above, &info) == 0 && same_inode(&info, &folder->info);
    }
    free(above);
    return inside;
}

static loom_status *check_pair(const place *output, const place *other) {
    if (same_place(output, other)) {
        if (other->output) {
            return loom_error(LOOM_E_USAGE, "two outputs cannot both be written to %s%s%s", output->path,
                              strcmp(output->path, other->path) == 0 ? "" : ", which is also ",
                              strcmp(output->path, other->path) == 0 ? "" : other->path);
        }
        return loom_error(LOOM_E_USAGE, "cannot write %s: it is read too, as %s", output->path, other->path);
    }
    if (!other->output && lies_inside(output, other)) {
        return loom_error(LOOM_E_USAGE, "cannot write %s: it lies inside %s, which is read", output->path, other->path);
    }
    return NULL;
}

loom_status *loom_paths_check(const loom_paths *paths) {
    for (size_t i = 0; i < paths->n; i++) {
        for (size_t k = 0; k < paths->n && paths->at[i].output; k++) {
            bool earlier = k < i || !paths->at[k].output; /* of two outputs the later one is told */
            if (earlier && k != i) LOOM_TRY(check_pair(&paths->at[i], &paths->at[k]));
        }
    }
    return NULL;
}

bool loom_paths_has_open(const loom_paths *paths, int fd) {
    struct stat info;
    if (fstat(fd, &info) != 0 || S_ISCHR(info.st_mode)) return false;
    for (size_t i = 0; i < paths->n; i++) {
        const place *p = &paths->at[i];
        if (p->output && p->exists && same_inode(&p->info, &info)) return true;
    }
    return false;
}
