#include "cache.h"
#include "common/buffer.h"
#include "common/file.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Entry: magic, hash of its key and of the rest, rest = a reply as it travels. */
static const char magic[8] = "loomobj2";
enum {
    HEADER = sizeof magic + 32
};

struct loom_cache {
    char *folder, *path;
    loom_hash key;
    int lock;
};

loom_status *loom_cache_version(loom_hash *hash) {
    loom_mapping self;
    LOOM_TRY(loom_file_map("/proc/self/exe", &self));
    *hash = loom_hash_bytes(self.data, self.length);
    loom_file_unmap(&self);
    return NULL;
}

/* A folder that others may write to could hold anybody's code. */
static bool is_private(const char *folder) {
    struct stat s;
    return lstat(folder, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() && (s.st_mode & 077) == 0;
}

loom_cache *loom_cache_open(const char *folder, loom_hash key) {
    if (!folder || !*folder) return NULL;
    loom_status_free(loom_make_directories(folder, 0700));
    if (!is_private(folder)) return NULL;
    char name[33];
    loom_hash_text(key, name);
    loom_cache *c = loom_xcalloc(1, sizeof *c);
    c->folder = loom_xstrdup(folder);
    c->key = key;
    c->path = loom_xprintf("%s/%s.stage", folder, name);
    char *lock = loom_xprintf("%s/%s.lock", folder, name);
    c->lock = open(lock, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    free(lock);
    if (c->lock >= 0) (void)!flock(c->lock, LOCK_EX);
    return c;
}

void loom_cache_close(loom_cache *c) {
    if (!c) return;
    if (c->lock >= 0) close(c->lock);
    free(c->folder);
    free(c->path);
    free(c);
}

/* The key too, so that an entry under another's name is none. */
static void sum_of(const loom_cache *c, const void *bytes, size_t length, char text[33]) {
    loom_hasher *hasher = loom_hasher_create();
    loom_hasher_add(hasher, &c->key, sizeof c->key);
    loom_hasher_add(hasher, bytes, length);
    loom_hash_text(loom_hasher_end(hasher), text);
}

bool loom_cache_get(loom_cache *c, loom_arena *arena, loom_compile_reply **reply) {
    char *data = NULL, sum[33];
    size_t length = 0;
    struct stat s;
    if (lstat(c->path, &s) != 0 || !S_ISREG(s.st_mode) || s.st_uid != geteuid()) return false;
    loom_status *status = loom_file_read(c->path, LOOM_CACHE_BYTES, &data, &length);
    bool sound = !status && length > HEADER && memcmp(data, magic, sizeof magic) == 0;
    if (sound) {
        sum_of(c, data + HEADER, length - HEADER, sum);
        sound = memcmp(data + sizeof magic, sum, 32) == 0;
    }
    loom_status_free(status);
    status = sound ? loom_compile_reply_decode(arena, data + HEADER, length - HEADER, reply) : NULL;
    sound = sound && !status && !(*reply)->error;
    loom_status_free(status);
    free(data);
    if (sound) {
        (void)!utimensat(AT_FDCWD, c->path, NULL, 0); /* used now */
    } else {
        unlink(c->path);
    }
    return sound;
}

/* ---- size ---- */

typedef struct entry {
    char *path;
    struct timespec used;
    uint64_t bytes;
} entry;

static int by_age(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

static size_t list_entries(const char *folder, entry **entries, uint64_t *total) {
    DIR *dir = opendir(folder);
    size_t n = 0, capacity = 0;
    *entries = NULL;
    *total = 0;
    int at = dir ? dirfd(dir) : -1;
    for (struct dirent *d; at >= 0 && (d = readdir(dir));) {
        struct stat s;
        if (fstatat(at, d->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(s.st_mode)) continue;
        if (n == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            *entries = loom_xrealloc(*entries, capacity * sizeof **entries);
        }
        (*entries)[n++] = (entry){loom_xprintf("%s/%s", folder, d->d_name), s.st_mtim, (uint64_t)s.st_size};
        *total += (uint64_t)s.st_size;
    }
    if (dir) closedir(dir);
    return n;
}

/* Down to nine tenths, so that not every new entry scans and removes. Locks are empty and go with what is oldest. */
static void shrink(const char *folder) {
    entry *entries;
    uint64_t total;
    size_t n = list_entries(folder, &entries, &total);
    if (total > LOOM_CACHE_BYTES) {
        qsort(entries, n, sizeof *entries, by_age);
        for (size_t i = 0; i < n && total > LOOM_CACHE_BYTES / 10 * 9; i++) {
            if (unlink(entries[i].path) == 0) total -= entries[i].bytes;
        }
    }
    for (size_t i = 0; i < n; i++) free(entries[i].path);
    free(entries);
}

void loom_cache_put(loom_cache *c, const loom_compile_reply *reply) {
    char *bytes, sum[33];
    size_t length;
    loom_status *status = loom_compile_reply_encode(reply, &bytes, &length);
    if (!status) {
        loom_buffer file = {0};
        sum_of(c, bytes, length, sum);
        loom_buffer_append(&file, magic, sizeof magic);
        loom_buffer_append(&file, sum, 32);
        loom_buffer_append(&file, bytes, length);
        free(bytes);
        status = loom_file_write(c->path, file.data, file.length, true);
        loom_buffer_free(&file);
    }
    /* A cache that cannot be written costs time alone. */
    loom_status_free(status);
    shrink(c->folder);
}
