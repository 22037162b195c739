#include "common/file.h"
#include "common/buffer.h"
#include "common/log.h"
#include "special.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- reading ---- */

#define TELL_AFTER_MS 1000

static loom_status *open_input(const char *path, int flags, int *fd, struct stat *info) {
    int f = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (f < 0) return loom_error_errno(LOOM_E_NOINPUT, errno, "cannot read %s", path);
    if (fstat(f, info) < 0 || S_ISDIR(info->st_mode)) {
        int why = S_ISDIR(info->st_mode) ? EISDIR : errno;
        close(f);
        return loom_error_errno(LOOM_E_NOINPUT, why, "cannot read %s", path);
    }
    *fd = f;
    return NULL;
}

static loom_status *too_large(const char *path, uint64_t limit) {
    return loom_error(LOOM_E_LIMIT, "%s is larger than %llu bytes, the limit for such a file", path,
                      (unsigned long long)limit);
}

/* Reads to the end: the size that fstat said is a hint only (pipes, files that grow). */
static loom_status *read_all(int fd, const char *path, uint64_t limit, size_t hint, char **data, size_t *length) {
    size_t capacity = hint + 2, used = 0; /* one for the NUL, one to see the end without growing */
    char *at = malloc(capacity);
    if (!at) return loom_error(LOOM_E_MEMORY, "%s: no memory for %zu bytes", path, capacity);
    for (;;) {
        if (used + 1 == capacity) {
            char *grown = capacity <= SIZE_MAX / 2 ? realloc(at, 2 * capacity) : NULL;
            if (!grown) {
                free(at);
                return loom_error(LOOM_E_MEMORY, "%s: no memory for %zu bytes", path, capacity);
            }
            at = grown;
            capacity *= 2;
        }
        ssize_t n = read(fd, at + used, capacity - used - 1);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            int why = errno;
            free(at);
            return loom_error_errno(LOOM_E_IO, why, "reading %s", path);
        }
        if (n == 0) break;
        used += (size_t)n;
        if (used > limit) {
            free(at);
            return too_large(path, limit);
        }
    }
    at[used] = '\0';
    *data = at;
    *length = used;
    return NULL;
}

/* Opened without waiting for a writer. */
static void await_writer(int fd, const char *path) {
    struct pollfd p = {fd, POLLIN, 0};
    if (poll(&p, 1, TELL_AFTER_MS) == 0)
        loom_log(LOOM_LOG_WARN, "%s is a pipe; waiting for somebody to write to it", path);
    while (!p.revents && (poll(&p, 1, -1) >= 0 || errno == EINTR)) {}
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

loom_status *loom_file_read(const char *path, uint64_t limit, char **data, size_t *length) {
    int fd;
    struct stat info;
    bool pipe = stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
    LOOM_TRY(open_input(path, pipe ? O_NONBLOCK : 0, &fd, &info));
    if (pipe) await_writer(fd, path);
    uint64_t size = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 4096;
    loom_status *status =
        S_ISREG(info.st_mode) && size > limit ? too_large(path, limit) : read_all(fd, path, limit, size, data, length);
    close(fd);
    return status;
}

static loom_status *not_stored(const char *path) {
    return loom_status_note(loom_error(LOOM_E_NOINPUT, "cannot read %s: it is a pipe or a device", path),
                            "hint: what it gives can be read once only; save it to a file");
}

loom_status *loom_file_check_stored(const char *path) {
    struct stat info;
    bool stored = stat(path, &info) != 0 || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode);
    return stored ? NULL : not_stored(path);
}

loom_status *loom_file_map(const char *path, loom_mapping *mapping) {
    int fd;
    struct stat info;
    LOOM_TRY(open_input(path, O_NONBLOCK, &fd, &info)); /* a pipe is refused, not waited for */
    loom_mapping made = {NULL, (size_t)info.st_size};
    int why = 0;
    if (!S_ISREG(info.st_mode)) {
        close(fd);
        return not_stored(path);
    }
    if (made.length) {
        made.data = mmap(NULL, made.length, PROT_READ, MAP_SHARED, fd, 0);
        if (made.data == MAP_FAILED) why = errno;
    }
    close(fd);
    if (why) return loom_error_errno(LOOM_E_NOINPUT, why, "cannot map %s", path);
    *mapping = made;
    return NULL;
}

void loom_file_unmap(loom_mapping *mapping) {
    if (mapping->data) munmap(mapping->data, mapping->length);
    *mapping = (loom_mapping){NULL, 0};
}

/* ---- writing ---- */

struct loom_writer {
    FILE *file;
    char *path;      /* with links resolved: a link stays one, what it points to is replaced */
    char *temporary; /* equal to path where the target is a device or pipe, which must not be renamed over */
    bool direct, pipe;
};

static void free_writer(loom_writer *writer) {
    if (!writer) return;
    if (writer->file) fclose(writer->file);
    free(writer->path);
    free(writer->temporary);
    free(writer);
}

static loom_status *name_target(const char *path, loom_writer *writer) {
    static atomic_uint counter;
    struct stat info;
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        return loom_error_errno(LOOM_E_CANTCREATE, EISDIR, "cannot write %s", path);
    }
    writer->direct = exists && !S_ISREG(info.st_mode);
    writer->pipe = exists && S_ISFIFO(info.st_mode);
    /* A pipe by way of /dev/stdout has no real path. */
    writer->path = exists && !writer->direct ? realpath(path, NULL) : strdup(path);
    if (!writer->path) return loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot write %s", path);
    if (writer->direct) {
        writer->temporary = strdup(writer->path);
    } else if (asprintf(&writer->temporary, "%s.tmp-%d-%u", writer->path, (int)getpid(),
                        atomic_fetch_add(&counter, 1)) < 0) {
        writer->temporary = NULL;
    }
    return writer->temporary ? NULL : loom_error(LOOM_E_MEMORY, "cannot write %s: out of memory", path);
}

/* What went wrong with a write; where a signal asked for the end, that. */
static loom_status *not_written(loom_code code, int why, const char *doing, const char *path) {
    if (why == ECANCELED) return loom_error(LOOM_E_CANCELLED, "interrupted, %s %s", doing, path);
    return loom_error_errno(code, why, "%s %s", doing, path);
}

/* Under its temporary name. Read access too: libraries that open it by name see the same permissions. */
static FILE *open_temporary(const char *name) {
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return NULL;
    FILE *file = fdopen(fd, "w");
    if (!file) {
        int why = errno;
        close(fd);
        unlink(name);
        errno = why;
    }
    return file;
}

static loom_status *open_target(const char *path, loom_writer *writer) {
    LOOM_TRY(name_target(path, writer));
    writer->file = writer->direct ? loom_special_open(path, writer->pipe) : open_temporary(writer->temporary);
    return writer->file ? NULL : not_written(LOOM_E_CANTCREATE, errno, "cannot write", path);
}

loom_status *loom_writer_open(const char *path, loom_writer **writer) {
    loom_writer *made = calloc(1, sizeof *made);
    if (!made) return loom_error(LOOM_E_MEMORY, "cannot write %s: out of memory", path);
    loom_status *status = open_target(path, made);
    if (!made->file) {
        free_writer(made);
        return status;
    }
    *writer = made;
    return NULL;
}

loom_status *loom_writer_put(loom_writer *writer, const void *data, size_t length) {
    errno = 0;
    if (length && fwrite(data, 1, length, writer->file) != length) {
        return not_written(LOOM_E_IO, errno ? errno : EIO, "writing", writer->path);
    }
    return NULL;
}

const char *loom_writer_temporary(const loom_writer *writer) {
    return writer->temporary;
}

/* Syncs a file or folder by name: a library may have replaced the file that we hold open. */
static int sync_path(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    int why = fsync(fd) < 0 ? errno : 0;
    close(fd);
    return why;
}

static int sync_folder_of(const char *path) {
    char *folder = strdup(path);
    if (!folder) return ENOMEM;
    char *slash = strrchr(folder, '/');
    if (slash == folder) slash++;
    if (slash) *slash = '\0';
    int why = sync_path(slash ? folder : ".");
    free(folder);
    return why;
}

/* Closes; what was written is on the disk under the temporary name, or that is gone. */
static int finish(loom_writer *writer, bool sync) {
    int why = 0;
    if (fflush(writer->file) != 0) why = errno;
    /* A full disk may show only when the file is closed. */
    if (fclose(writer->file) != 0 && !why) why = errno;
    writer->file = NULL;
    if (!why && sync && !writer->direct) why = sync_path(writer->temporary);
    if (why && !writer->direct) unlink(writer->temporary);
    return why;
}

loom_status *loom_writer_commit(loom_writer *writer, bool sync) {
    int why = finish(writer, sync);
    if (!why && !writer->direct) {
        if (rename(writer->temporary, writer->path) < 0) why = errno;
        if (why) unlink(writer->temporary);
        if (!why && sync) why = sync_folder_of(writer->path);
    }
    loom_status *status = why ? not_written(LOOM_E_IO, why, "writing", writer->path) : NULL;
    free_writer(writer);
    return status;
}

void loom_writer_abort(loom_writer *writer) {
    if (!writer) return;
    if (!writer->direct) unlink(writer->temporary);
    free_writer(writer);
}

loom_status *loom_file_write(const char *path, const void *data, size_t length, bool sync) {
    loom_writer *writer;
    LOOM_TRY(loom_writer_open(path, &writer));
    loom_status *status = loom_writer_put(writer, data, length);
    if (status) {
        loom_writer_abort(writer);
        return status;
    }
    return loom_writer_commit(writer, sync);
}

/* ---- several files ---- */

typedef struct held_file {
    char *path, *temporary;
    bool sync;
    bool exchanged; /* once in place: what was there before has the temporary name */
} held_file;

struct loom_file_set {
    held_file *files;
    size_t n;
};

loom_file_set *loom_file_set_create(void) {
    return loom_xcalloc(1, sizeof(loom_file_set));
}

loom_status *loom_writer_hold(loom_writer *writer, bool sync, loom_file_set *set) {
    if (!set) return loom_writer_commit(writer, sync);
    int why = finish(writer, sync);
    loom_status *status = why ? loom_error_errno(LOOM_E_IO, why, "writing %s", writer->path) : NULL;
    if (!status && !writer->direct) {
        set->files = loom_xrealloc(set->files, (set->n + 1) * sizeof *set->files);
        set->files[set->n++] = (held_file){.path = writer->path, .temporary = writer->temporary, .sync = sync};
        writer->path = writer->temporary = NULL;
    }
    free_writer(writer);
    return status;
}

loom_status *loom_file_set_put(loom_file_set *set, const char *path, const void *data, size_t length) {
    loom_writer *writer;
    LOOM_TRY(loom_writer_open(path, &writer));
    loom_status *status = loom_writer_put(writer, data, length);
    if (!status) return loom_writer_hold(writer, false, set);
    loom_writer_abort(writer);
    return status;
}

/* A file that is there already is exchanged where the file system can do that, so that it can be taken back. */
static int put_in_place(held_file *f) {
    struct stat info;
    f->exchanged = lstat(f->path, &info) == 0 && S_ISREG(info.st_mode) &&
                   renameat2(AT_FDCWD, f->temporary, AT_FDCWD, f->path, RENAME_EXCHANGE) == 0;
    return f->exchanged || rename(f->temporary, f->path) == 0 ? 0 : errno;
}

static void take_back(held_file *f) {
    if (f->exchanged && rename(f->temporary, f->path) == 0) return;
    unlink(f->path);
}

static void free_files(loom_file_set *set, bool remove_temporary) {
    for (size_t i = 0; i < set->n; i++) {
        if (remove_temporary || set->files[i].exchanged) unlink(set->files[i].temporary);
        free(set->files[i].path);
        free(set->files[i].temporary);
    }
    free(set->files);
    *set = (loom_file_set){0};
}

loom_status *loom_file_set_commit(loom_file_set *set) {
    size_t done = 0;
    int why = 0;
    for (; done < set->n && !why; done++) why = put_in_place(&set->files[done]);
    loom_status *status = NULL;
    if (why) {
        status = loom_error_errno(LOOM_E_CANTCREATE, why, "writing %s", set->files[--done].path);
        while (done-- > 0) take_back(&set->files[done]);
    }
    for (size_t i = 0; i < set->n && !status; i++) {
        why = set->files[i].sync ? sync_folder_of(set->files[i].path) : 0;
        if (why) status = loom_error_errno(LOOM_E_IO, why, "writing %s", set->files[i].path);
    }
    free_files(set, status != NULL);
    return status;
}

void loom_file_set_destroy(loom_file_set *set) {
    if (!set) return;
    free_files(set, true);
    free(set);
}

loom_status *loom_stream_flush(FILE *stream, const char *name) {
    bool before = ferror(stream) != 0;
    int why = fflush(stream) != 0 ? errno : before ? EIO : 0;
    return why ? loom_error_errno(LOOM_E_IO, why, "writing to %s", name) : NULL;
}

/* A disk with less than this left is called full. */
#define NO_ROOM 65536

int loom_write_cause(const char *path, int errnum) {
    struct statvfs room;
    struct rlimit size;
    if (loom_errno_hint(errnum)) return errnum;
    if (path && statvfs(path, &room) == 0 && (uint64_t)room.f_bavail * room.f_frsize < NO_ROOM) return ENOSPC;
    if (path && getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY) return EFBIG;
    return 0;
}

/* ---- folders ---- */

static loom_status *make_one(const char *path, unsigned mode) {
    struct stat info;
    if (mkdir(path, mode) == 0) return NULL;
    int why = errno;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) return NULL;
        why = ENOTDIR;
    }
    return loom_error_errno(LOOM_E_CANTCREATE, why, "cannot make folder %s", path);
}

loom_status *loom_make_directories(const char *path, unsigned mode) {
    char *copy = strdup(path);
    if (!copy) return loom_error(LOOM_E_MEMORY, "cannot make folder %s: out of memory", path);
    loom_status *status = NULL;
    for (char *slash = *copy ? strchr(copy + 1, '/') : NULL; slash && !status; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        status = make_one(copy, mode);
        *slash = '/';
    }
    if (!status) status = make_one(copy, mode);
    free(copy);
    return status;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where) {
    (void)info;
    (void)type;
    (void)where;
    remove(path);
    return 0;
}

/* File descriptors that a walk may hold at a time. */
enum {
    OPEN_FOLDERS = 16
};

void loom_remove_tree(const char *path) {
    nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

/* What nftw calls has no context. */
static _Thread_local uint64_t tree_bytes;

static int add_one(const char *path, const struct stat *info, int type, struct FTW *where) {
    (void)path;
    (void)where;
    if (type == FTW_F) tree_bytes += (uint64_t)info->st_size;
    return 0;
}

uint64_t loom_tree_bytes(const char *path) {
    tree_bytes = 0;
    nftw(path, add_one, OPEN_FOLDERS, FTW_PHYS);
    return tree_bytes;
}

char *loom_file_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return loom_xstrdup(".");
    return slash == path ? loom_xstrdup("/") : loom_xprintf("%.*s", (int)(slash - path), path);
}

loom_status *loom_file_check_room(const char *folder, const char *path, uint64_t bytes) {
    struct statvfs room;
    if (statvfs(folder, &room) < 0 || (uint64_t)room.f_bavail >= bytes / room.f_frsize) return NULL;
    return loom_error(LOOM_E_IO, "cannot write %s: it needs %" PRIu64 " bytes, %s has room for %" PRIu64, path, bytes,
                      folder, (uint64_t)room.f_bavail * room.f_frsize);
}
