/* The private daemon and workers of a session: folders, processes, and their end. */
#include "common/buffer.h"
#include "common/file.h"
#include "common/log.h"
#include "common/machine.h"
#include "impl.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "gridloom-"
/* A shared-memory file system with less room (64 MB in containers) is not worth using. */
#define SHM_ROOM ((uint64_t)1 << 30)

/* ---- folders ---- */

static loom_status *own_folder(char **folder) {
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0) return loom_error_errno(LOOM_E_OS, errno, "cannot read /proc/self/exe");
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash) *slash = '\0';
    *folder = loom_xstrdup(path);
    return NULL;
}

static char *beside(const loom_session *s, const char *name) {
    return loom_xprintf("%s/%s", s->binaries, name);
}

static loom_status *find_binaries(loom_session *s) {
    const char *named = s->options.binaries ? s->options.binaries : getenv("GRIDLOOM_BIN");
    if (named && named[0]) {
        s->binaries = loom_xstrdup(named);
    } else {
        LOOM_TRY(own_folder(&s->binaries));
    }
    static const char *const needed[] = {"gridloomd", "gridloom-worker", "gridloom-compile"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        char *path = beside(s, needed[i]);
        bool there = access(path, X_OK) == 0;
        free(path);
        if (there) continue;
        return loom_status_note(loom_error(LOOM_E_CONFIG, "%s is not in %s", needed[i], s->binaries),
                                "hint: the programs of one build belong in one folder");
    }
    return NULL;
}

static loom_status *make_temporary(const char *under, char **folder) {
    char *path = loom_xprintf("%s/" PREFIX "XXXXXX", under);
    if (!mkdtemp(path)) {
        loom_status *status = loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot make a folder in %s", under);
        free(path);
        return status;
    }
    *folder = path;
    return NULL;
}

/* ---- folders of sessions that were killed ---- */

/* A folder whose lock nobody holds belongs to no session any more. Young ones may be about to be locked; one that has
 * been without a lock for so much longer was left by a session that was killed as it began, or as it removed it. */
#define STALE_SECONDS    60
#define UNLOCKED_SECONDS 3600

/* Nothing but what sessions make: a folder of somebody else may have such a name too. */
static bool looks_like_ours(const char *folder) {
    static const char *const known[] = {".", "..", "arguments", "objects", "serve", "control", "store", "cache"};
    DIR *dir = opendir(folder);
    bool ours = dir != NULL;
    for (const struct dirent *e; ours && (e = readdir(dir));) {
        ours = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) ours = ours || strcmp(e->d_name, known[i]) == 0;
    }
    if (dir) closedir(dir);
    return ours;
}

static bool is_stale(const char *folder, const char *lock) {
    struct stat info;
    if (lstat(folder, &info) < 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid()) return false;
    if ((info.st_mode & 0777) != 0700) return false;
    time_t age = time(NULL) - info.st_mtime;
    if (age < STALE_SECONDS) return false;
    int fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return errno == ENOENT && age >= UNLOCKED_SECONDS && looks_like_ours(folder);
    bool stale = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return stale;
}

static void sweep(const char *under) {
    DIR *dir = opendir(under);
    if (!dir) return;
    for (const struct dirent *e; (e = readdir(dir));) {
        if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) != 0) continue;
        char *folder = loom_xprintf("%s/%s", under, e->d_name);
        char *lock = loom_xprintf("%s/owner", folder);
        if (is_stale(folder, lock)) loom_remove_tree(folder);
        free(lock);
        free(folder);
    }
    closedir(dir);
}

/* Held until the process ends, however it does. */
static loom_status *lock_folder(const char *folder, int *lock) {
    char *path = loom_xprintf("%s/owner", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    loom_status *status = NULL;
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
        status = loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot lock %s", path);
        if (fd >= 0) close(fd);
    } else {
        *lock = fd;
    }
    free(path);
    return status;
}

static bool shm_has_room(void) {
    struct statvfs fs;
    return statvfs("/dev/shm", &fs) == 0 && access("/dev/shm", W_OK) == 0 &&
           (uint64_t)fs.f_bavail * fs.f_frsize >= SHM_ROOM;
}

static loom_status *make_folders(loom_session *s) {
    const char *temporary = getenv("TMPDIR");
    if (!temporary || !temporary[0]) temporary = "/tmp";
    sweep(temporary);
    LOOM_TRY(make_temporary(temporary, &s->folder));
    LOOM_TRY(lock_folder(s->folder, &s->locks[0]));
    sweep("/dev/shm");
    if (shm_has_room()) {
        loom_status *status = make_temporary("/dev/shm", &s->shm);
        if (!status) status = lock_folder(s->shm, &s->locks[1]);
        if (status && s->shm) {
            loom_remove_tree(s->shm);
            free(s->shm);
            s->shm = NULL;
        }
        loom_status_free(status);
    }
    s->arguments = loom_xprintf("%s/arguments", s->shm ? s->shm : s->folder);
    return loom_make_directories(s->arguments, 0700);
}

loom_status *loom_embed_prepare(loom_session *s) {
    if (!s->options.connect) LOOM_TRY(find_binaries(s));
    LOOM_TRY(make_folders(s));
    s->serve_endpoint = loom_xprintf("ipc://%s/serve", s->folder);
    s->endpoint = s->options.connect ? loom_xstrdup(s->options.connect) : loom_xprintf("ipc://%s/control", s->folder);
    LOOM_TRY(loom_endpoint_check(s->serve_endpoint, false));
    return loom_endpoint_check(s->endpoint, s->options.insecure);
}

void loom_embed_remove(loom_session *s) {
    if (s->folder) loom_remove_tree(s->folder);
    if (s->shm) loom_remove_tree(s->shm);
    for (int i = 0; i < 2; i++) {
        if (s->locks[i] >= 0) close(s->locks[i]);
        s->locks[i] = -1;
    }
}

/* ---- processes ---- */

char *loom_session_cache(void) {
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (xdg && xdg[0] == '/') return loom_xprintf("%s/gridloom", xdg);
    return home && home[0] == '/' ? loom_xprintf("%s/.cache/gridloom", home) : NULL;
}

/* Object code outlives a session where there is a home for it. */
static char *cache_folder(const loom_session *s) {
    char *path = s->options.own_cache ? NULL : loom_session_cache();
    loom_status *status = path ? loom_make_directories(path, 0700) : NULL;
    if (path && !status && access(path, W_OK) == 0) return path;
    loom_status_free(status);
    free(path);
    return loom_xprintf("%s/cache", s->folder);
}

typedef struct arguments {
    char **at;
    size_t n, capacity;
} arguments;

static void add(arguments *a, char *text) {
    if (a->n + 1 >= a->capacity) {
        a->capacity = a->capacity ? 2 * a->capacity : 16;
        a->at = loom_xrealloc(a->at, a->capacity * sizeof *a->at);
    }
    a->at[a->n++] = text;
    a->at[a->n] = NULL;
}

static void add_option(arguments *a, const char *name, char *value) {
    add(a, loom_xstrdup(name));
    add(a, value);
}

static char **daemon_arguments(const loom_session *s) {
    arguments a = {0};
    add(&a, beside(s, "gridloomd"));
    add_option(&a, "--listen", loom_xstrdup(s->endpoint));
    add_option(&a, "--store", loom_xprintf("%s/store", s->folder));
    if (s->shm) add_option(&a, "--spool", loom_xprintf("%s/objects", s->shm));
    add_option(&a, "--cache", cache_folder(s));
    add_option(&a, "--parent", loom_xprintf("%d", (int)getpid()));
    if (s->options.spill) add_option(&a, "--spill", loom_xstrdup(s->options.spill));
    add_option(&a, "--scratch", loom_xstrdup(s->folder));
    if (s->shm) add_option(&a, "--scratch", loom_xstrdup(s->shm));
    return a.at;
}

static char **worker_arguments(const loom_session *s) {
    int workers = s->options.workers > 0 ? s->options.workers : 1;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = s->options.threads;
    if (threads <= 0) threads = cores > workers ? (int)(cores / workers) : 1;
    uint64_t memory = s->options.memory;
    if (!memory) memory = loom_machine_worker_memory((unsigned)workers);
    arguments a = {0};
    add(&a, beside(s, "gridloom-worker"));
    add_option(&a, "--connect", loom_xstrdup(s->endpoint));
    add_option(&a, "--threads", loom_xprintf("%d", threads));
    add_option(&a, "--memory", loom_xprintf("%llu", (unsigned long long)memory));
    add_option(&a, "--cache", cache_folder(s));
    add_option(&a, "--parent", loom_xprintf("%d", (int)getpid()));
    return a.at;
}

static loom_status *spawn(loom_session *s, loom_child *child);

static char *how_it_ended(const loom_child *child, int64_t status, int signal) {
    const char *name = child->is_worker ? "a worker" : "gridloomd";
    if (signal) return loom_xprintf("%s was ended by signal %d (%s)", name, signal, strsignal(signal));
    return loom_xprintf("%s ended with status %lld", name, (long long)status);
}

static bool other_workers(const loom_session *s, const loom_child *but) {
    for (size_t i = 0; i < s->n_children; i++) {
        if (s->children[i] != but && s->children[i]->is_worker && s->children[i]->running) return true;
    }
    return false;
}

/* What the system refuses to a child is refused to this process too; the child has said what. */
static loom_code code_of(int64_t status) {
    if (status == loom_code_exit(LOOM_E_IO)) return LOOM_E_IO;
    return status == loom_code_exit(LOOM_E_OS) || loom_machine_address_space() ? LOOM_E_OS : LOOM_E_UNAVAILABLE;
}

/* Programs that find no room for their libraries cannot say so themselves. */
static loom_status *limited(loom_status *status) {
    uint64_t most = loom_machine_address_space();
    if (!most) return status;
    return loom_status_note(status, "hint: the address space of a process is limited to %llu MiB (ulimit -v)",
                            (unsigned long long)(most >> 20));
}

/* A worker is started again, so that what it held is done again and the job goes on, but not where its own last word is
 * that the input is damaged. The daemon is not: it is small and does nothing dangerous, so its end is a defect to be
 * shown. */
static void ended_by_itself(loom_session *s, loom_child *child, int64_t status, const char *how) {
    if (!child->is_worker) {
        loom_session_fail(s, limited(loom_error(code_of(status), "%s", how)));
    } else if (status == loom_code_exit(LOOM_E_DATA)) {
        loom_session_fail(s, loom_error(LOOM_E_DATA, "a worker cannot go on with the input; it said why above"));
    } else if (s->restarts < LOOM_SESSION_RESTARTS) {
        s->restarts++;
        loom_log(LOOM_LOG_WARN, "%s; it is started again", how);
        loom_status *failed = spawn(s, child);
        if (failed) loom_session_fail(s, failed);
    } else if (other_workers(s, child)) {
        loom_log(LOOM_LOG_WARN, "%s; the others go on", how);
    } else {
        loom_session_fail(s, limited(loom_error(code_of(status), "%s, after workers were started again %d times", how,
                                                LOOM_SESSION_RESTARTS)));
    }
}

static void on_closed(uv_handle_t *handle) {
    (void)handle;
}

static void on_child_exit(uv_process_t *process, int64_t status, int signal) {
    loom_child *child = process->data;
    child->running = false;
    uv_close((uv_handle_t *)process, on_closed);
    pthread_mutex_lock(&child->session->lock);
    bool closing = child->session->closing;
    pthread_mutex_unlock(&child->session->lock);
    if (closing) return;
    char *how = how_it_ended(child, status, signal);
    /* The handle may be used again only when its close callback has run: a restart takes a new one. */
    loom_child *again = loom_xcalloc(1, sizeof *again);
    *again = (loom_child){.session = child->session, .is_worker = child->is_worker, .arguments = child->arguments};
    child->arguments = NULL;
    loom_session *s = child->session;
    s->children = loom_xrealloc(s->children, (s->n_children + 1) * sizeof(loom_child *));
    s->children[s->n_children++] = again;
    ended_by_itself(s, again, signal ? 0 : status, how);
    free(how);
}

/* In a session of its own, so that a signal from the terminal is this process's alone to act on. */
static loom_status *spawn(loom_session *s, loom_child *child) {
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_IGNORE}, {.flags = UV_INHERIT_FD, .data.fd = 2}, {.flags = UV_INHERIT_FD, .data.fd = 2}};
    uv_process_options_t options = {.file = child->arguments[0],
                                    .args = child->arguments,
                                    .flags = UV_PROCESS_DETACHED,
                                    .stdio = stdio,
                                    .stdio_count = 3,
                                    .exit_cb = on_child_exit};
    child->process.data = child;
    int rc = uv_spawn(&s->loop, &child->process, &options);
    if (rc < 0) {
        uv_close((uv_handle_t *)&child->process, on_closed);
        return loom_error(LOOM_E_OS, "cannot start %s: %s", child->arguments[0], uv_strerror(rc));
    }
    child->running = true;
    return NULL;
}

static loom_status *start_child(loom_session *s, bool is_worker, char **arguments_) {
    loom_child *child = loom_xcalloc(1, sizeof *child);
    *child = (loom_child){.session = s, .is_worker = is_worker, .arguments = arguments_};
    s->children = loom_xrealloc(s->children, (s->n_children + 1) * sizeof(loom_child *));
    s->children[s->n_children++] = child;
    return spawn(s, child);
}

loom_status *loom_embed_start(loom_session *s) {
    LOOM_TRY(start_child(s, false, daemon_arguments(s)));
    int workers = s->options.workers > 0 ? s->options.workers : 1;
    for (int i = 0; i < workers; i++) LOOM_TRY(start_child(s, true, worker_arguments(s)));
    return NULL;
}

void loom_embed_signal(loom_session *s, int number) {
    for (size_t i = 0; i < s->n_children; i++) {
        if (s->children[i]->running) uv_process_kill(&s->children[i]->process, number);
    }
}

bool loom_embed_any_running(const loom_session *s) {
    for (size_t i = 0; i < s->n_children; i++) {
        if (s->children[i]->running) return true;
    }
    return false;
}
