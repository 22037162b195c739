#include "cache.h"
#include "common/buffer.h"
#include "common/file.h"
#include "compiler/driver/cache_folder.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
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

#define SUFFIX ".stage"

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
    c->path = loom_xprintf("%s/%s" SUFFIX, folder, name);
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
static void sum_of(loom_hash key, const void *bytes, size_t length, char text[33]) {
    loom_hasher *hasher = loom_hasher_create();
    loom_hasher_add(hasher, &key, sizeof key);
    loom_hasher_add(hasher, bytes, length);
    loom_hash_text(loom_hasher_end(hasher), text);
}

static bool is_ours(const char *path) {
    struct stat s;
    return lstat(path, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid();
}

/* The bytes of an entry that is whole and ours; data is malloc'ed. */
static bool read_entry(const char *path, loom_hash key, char **data, size_t *length) {
    char sum[33];
    *data = NULL;
    if (!is_ours(path)) return false;
    loom_status *status = loom_file_read(path, LOOM_CACHE_BYTES, data, length);
    bool sound = !status && *length > HEADER && memcmp(*data, magic, sizeof magic) == 0;
    loom_status_free(status);
    if (!sound) return false;
    sum_of(key, *data + HEADER, *length - HEADER, sum);
    return memcmp(*data + sizeof magic, sum, 32) == 0;
}

bool loom_cache_get(loom_cache *c, loom_arena *arena, loom_compile_reply **reply) {
    char *data;
    size_t length = 0;
    if (!is_ours(c->path)) return false;
    bool sound = read_entry(c->path, c->key, &data, &length);
    loom_status *status = sound ? loom_compile_reply_decode(arena, data + HEADER, length - HEADER, reply) : NULL;
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

static void free_entries(entry *entries, size_t n) {
    for (size_t i = 0; i < n; i++) free(entries[i].path);
    free(entries);
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
    free_entries(entries, n);
}

void loom_cache_put(loom_cache *c, const loom_compile_reply *reply) {
    char *bytes, sum[33];
    size_t length;
    loom_status *status = loom_compile_reply_encode(reply, &bytes, &length);
    if (!status) {
        loom_buffer file = {0};
        sum_of(c->key, bytes, length, sum);
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

/* ---- for who keeps the folder ---- */

/* The key that a path is named by; false: it is no entry's. */
static bool key_of(const char *path, loom_hash *key) {
    const char *name = strrchr(path, '/') + 1;
    unsigned long long high, low;
    int end = 0;
    if (strlen(name) != 32 + strlen(SUFFIX) || strcmp(name + 32, SUFFIX) != 0) return false;
    if (sscanf(name, "%16llx%16llx%n", &high, &low, &end) != 2 || end != 32) return false;
    *key = (loom_hash){high, low};
    return true;
}

static loom_status *check_folder(const char *folder, bool *there) {
    struct stat s;
    *there = lstat(folder, &s) == 0;
    if (!*there && errno == ENOENT) return NULL;
    if (!*there) return loom_error_errno(LOOM_E_NOINPUT, errno, "cannot look at %s", folder);
    if (is_private(folder)) return NULL;
    return loom_status_note(loom_error(LOOM_E_DENIED, "%s is not a folder of yours alone", folder),
                            "hint: object code is taken from folders with mode 0700 only");
}

typedef bool (*visit)(const entry *e, loom_hash key); /* whether the entry is fine */

static loom_status *visit_entries(const char *folder, visit look, loom_cache_stat *stat) {
    *stat = (loom_cache_stat){.most = LOOM_CACHE_BYTES};
    bool there;
    LOOM_TRY(check_folder(folder, &there));
    if (!there) return NULL;
    entry *entries;
    uint64_t total;
    size_t n = list_entries(folder, &entries, &total);
    for (size_t i = 0; i < n; i++) {
        loom_hash key;
        if (!key_of(entries[i].path, &key)) continue;
        int64_t used = entries[i].used.tv_sec;
        stat->entries++;
        stat->bytes += entries[i].bytes;
        if (!stat->used_first || used < stat->used_first) stat->used_first = used;
        if (used > stat->used_last) stat->used_last = used;
        if (look && !look(&entries[i], key)) stat->broken++;
    }
    free_entries(entries, n);
    return NULL;
}

static bool is_sound(const entry *e, loom_hash key) {
    char *data;
    size_t length = 0;
    bool sound = read_entry(e->path, key, &data, &length);
    free(data);
    if (!sound) unlink(e->path);
    return sound;
}

static bool remove_entry(const entry *e, loom_hash key) {
    (void)key;
    return unlink(e->path) == 0 || errno == ENOENT;
}

loom_status *loom_cache_look(const char *folder, loom_cache_stat *stat) {
    return visit_entries(folder, NULL, stat);
}

loom_status *loom_cache_verify(const char *folder, loom_cache_stat *stat) {
    return visit_entries(folder, is_sound, stat);
}

/* Locks stay: somebody may hold one. They are empty, and go with what is oldest. */
loom_status *loom_cache_clear(const char *folder, loom_cache_stat *stat) {
    LOOM_TRY(visit_entries(folder, remove_entry, stat));
    if (!stat->broken) return NULL;
    return loom_error(LOOM_E_IO, "%" PRIu64 " entries of %s could not be removed", stat->broken, folder);
}
