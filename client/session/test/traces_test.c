/* What sessions leave behind when they end, are interrupted or are killed: nothing. */
#include "common/buffer.h"
#include "common/clock.h"
#include "common/file.h"
#include "jobs.h"
#include "loom_test.h"
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int count_entries(const char *folder) {
    DIR *d = opendir(folder);
    if (!d) return 0;
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

LOOM_TEST(session, leaves_no_process_and_no_folder) {
    char *folder = loom_xstrdup("/tmp/loom-leaves-XXXXXX");
    LOOM_CHECK(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
    loom_session *s = open_session(2, "2000");
    job j;
    make_job(&j, "all", 500000, 100, NULL, 0);
    uint64_t id;
    LOOM_OK(loom_session_submit(s, &j.d, &id));
    int64_t pids[2] = {a_worker(s, 0), a_worker(s, 1)};
    usleep(300000);
    LOOM_CHECK_EQ_INT(count_entries(folder), 1);
    double before = loom_seconds();
    loom_session_close(s); /* in the middle of a job */
    LOOM_CHECK(loom_seconds() - before < (getenv("LOOM_SLOW") ? 10 : 2.5));
    LOOM_CHECK_EQ_INT(count_entries(folder), 0);
    for (int i = 0; i < 2; i++) LOOM_CHECK(kill((pid_t)pids[i], 0) != 0);
    unsetenv("TMPDIR");
    loom_remove_tree(folder);
    free(folder);
    free_job(&j);
}

/* Objects of arguments that this process has written, wherever sessions keep theirs. */
static int64_t count_arguments(void) {
    const char *temporary = getenv("TMPDIR");
    const char *places[2] = {"/dev/shm", temporary ? temporary : "/tmp"};
    int64_t n = 0;
    for (int i = 0; i < 2; i++) {
        char *pattern = loom_xprintf("%s/gridloom-*/arguments/%ld-*.obj", places[i], (long)getpid());
        glob_t found;
        if (glob(pattern, 0, NULL, &found) == 0) {
            n += (int64_t)found.gl_pathc;
            globfree(&found);
        }
        free(pattern);
    }
    return n;
}

LOOM_TEST(session, what_jobs_are_given_is_written_once_and_removed) {
    loom_session *s = open_session(1, "0");
    job a, b;
    make_job(&a, "all", 1000, 100, NULL, 0);
    make_job(&b, "all", 1000, 100, NULL, 0);
    for (int i = 0; i < 3; i++) {
        loom_job_result *r;
        LOOM_OK(loom_session_run(s, &a.d, &r));
        check_all(&a, r);
        loom_job_result_free(r);
        LOOM_CHECK_EQ_INT(count_arguments(), 1);
    }
    uint64_t id;
    LOOM_OK(loom_session_submit(s, &b.d, &id)); /* has an argument of its own */
    LOOM_CHECK_EQ_INT(count_arguments(), 2);
    loom_job_result *r;
    LOOM_OK(loom_session_wait(s, id, &r));
    loom_job_result_free(r);
    free_job(&b);
    a.d.sources = NULL; /* a job that is refused leaves what it took */
    LOOM_FAILS(loom_session_submit(s, &a.d, &id), LOOM_E_USAGE);
    free_job(&a);
    make_job(&b, "all", 10, 10, NULL, 0);
    LOOM_OK(loom_session_run(s, &b.d, &r));
    loom_job_result_free(r);
    LOOM_CHECK_EQ_INT(count_arguments(), 1);
    free_job(&b);
    loom_session_close(s);
}

static char *make_old(const char *folder, const char *name, const char *content, long age) {
    char *path = loom_xprintf("%s/%s", folder, name);
    LOOM_OK(loom_make_directories(path, 0700));
    char *inside = loom_xprintf("%s/%s", path, content);
    if (*content) LOOM_OK(loom_file_write(inside, "", 0, false));
    struct timespec times[2] = {{.tv_sec = time(NULL) - age}, {.tv_sec = time(NULL) - age}};
    LOOM_CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
    free(inside);
    return path;
}

/* What a killed client of a public daemon left is removed by the next one, once it is old enough; what no session made
 * is not, whatever its name. */
LOOM_TEST(session, folders_of_dead_sessions_are_swept) {
    static const struct {
        const char *name, *content;
        long age;
        bool goes;
    } folders[] = {{"gridloom-old", "owner", 1000, true},    {"gridloom-young", "owner", 1, false},
                   {"gridloom-begun", "", 1000, false},      {"gridloom-empty", "", 10000, true},
                   {"gridloom-left", "serve", 10000, true},  {"gridloom-user", "notes.txt", 10000, false},
                   {"gridloom-held", "owner", 10000, false}, {"other-old", "owner", 10000, false}};
    char *folder = loom_xstrdup("/tmp/loom-sweep-XXXXXX"), *paths[8];
    LOOM_CHECK(mkdtemp(folder));
    for (int i = 0; i < 8; i++) paths[i] = make_old(folder, folders[i].name, folders[i].content, folders[i].age);
    char *lock = loom_xprintf("%s/owner", paths[6]);
    int held = open(lock, O_RDWR | O_CLOEXEC);
    LOOM_CHECK_EQ_INT(flock(held, LOCK_EX), 0);
    setenv("TMPDIR", folder, 1);
    loom_session_close(open_session(1, "0"));
    unsetenv("TMPDIR");
    for (int i = 0; i < 8; i++) {
        if ((access(paths[i], F_OK) != 0) != folders[i].goes) fprintf(stderr, "%s\n", folders[i].name);
        LOOM_CHECK_EQ_INT(access(paths[i], F_OK) != 0, folders[i].goes);
        free(paths[i]);
    }
    close(held);
    free(lock);
    loom_remove_tree(folder);
    free(folder);
}

LOOM_TEST(session, a_signal_cancels) {
    loom_session *s = open_session(1, "2000");
    job j;
    make_job(&j, "all", 500000, 100, NULL, 0);
    a_worker(s, 0);
    killer k = {s, getpid(), SIGINT, 0.5};
    pthread_t thread;
    pthread_create(&thread, NULL, kill_later, &k);
    loom_job_result *r;
    LOOM_FAILS(loom_session_run(s, &j.d, &r), LOOM_E_CANCELLED);
    pthread_join(thread, NULL);
    LOOM_CHECK(loom_session_interrupted(s));
    LOOM_FAILS(loom_session_run(s, &j.d, &r), LOOM_E_CANCELLED);
    loom_session_close(s);
    free_job(&j);
}

/* The client is killed outright: daemon and workers go by themselves, folders too. */
LOOM_TEST(session, after_the_clients_death_nothing_is_left) {
    char *folder = loom_xstrdup("/tmp/loom-orphan-XXXXXX");
    LOOM_CHECK(mkdtemp(folder));
    setenv("TMPDIR", folder, 1);
    int tell[2];
    LOOM_CHECK(pipe(tell) == 0);
    pid_t child = fork(); /* before any session of this process */
    if (child == 0) {
        loom_session *s = open_session(1, "2000");
        int64_t pid = a_worker(s, 0);
        if (write(tell[1], &pid, sizeof pid) != sizeof pid) _exit(1);
        pause();
    }
    int64_t pid;
    LOOM_CHECK(read(tell[0], &pid, sizeof pid) == sizeof pid);
    end_process(child, SIGKILL);
    double until = loom_seconds() + 10;
    while ((count_entries(folder) || kill((pid_t)pid, 0) == 0) && loom_seconds() < until) usleep(20000);
    LOOM_CHECK_EQ_INT(count_entries(folder), 0);
    LOOM_CHECK(kill((pid_t)pid, 0) != 0);
    unsetenv("TMPDIR");
    loom_remove_tree(folder);
    free(folder);
}
