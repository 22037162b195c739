#include "common/file.h"
#include "loom_test.h"
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of the test's own; removed by leave(). */
static char folder[64];

static const char *enter(void) {
    strcpy(folder, "/tmp/loom-file-test-XXXXXX");
    LOOM_CHECK(mkdtemp(folder) != NULL);
    return folder;
}

static void leave(void) {
    loom_remove_tree(folder);
    LOOM_CHECK(access(folder, F_OK) != 0);
}

static const char *in(const char *name) {
    static char room[4][256];
    static int turn;
    char *path = room[turn++ % 4];
    snprintf(path, sizeof room[0], "%s/%s", folder, name);
    return path;
}

static int entries(const char *path) {
    DIR *d = opendir(path);
    LOOM_CHECK(d != NULL);
    int n = 0;
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

static void check_content(const char *path, const char *expected) {
    char *data;
    size_t length;
    LOOM_OK(loom_file_read(path, 1 << 20, &data, &length));
    LOOM_CHECK_EQ_INT(length, strlen(expected));
    LOOM_CHECK_STR(data, expected);
    free(data);
}

LOOM_TEST(file, write_then_read) {
    enter();
    LOOM_OK(loom_file_write(in("a"), "hello", 5, true));
    check_content(in("a"), "hello");
    LOOM_OK(loom_file_write(in("a"), "", 0, false));
    check_content(in("a"), "");
    LOOM_CHECK_EQ_INT(entries(folder), 1);
    leave();
}

LOOM_TEST(file, read_refuses_more_than_the_limit) {
    enter();
    char *data = NULL;
    size_t length = 42;
    LOOM_OK(loom_file_write(in("a"), "12345678", 8, false));
    LOOM_FAILS(loom_file_read(in("a"), 7, &data, &length), LOOM_E_LIMIT);
    LOOM_CHECK(data == NULL && length == 42);
    LOOM_OK(loom_file_read(in("a"), 8, &data, &length));
    LOOM_CHECK_EQ_INT(length, 8);
    free(data);
    leave();
}

/* A pipe has no size to look at beforehand. */
LOOM_TEST(file, read_of_a_pipe) {
    int ends[2];
    LOOM_CHECK(pipe(ends) == 0);
    char *sent = malloc(60000), path[64];
    memset(sent, 'x', 60000);
    LOOM_CHECK_EQ_INT(write(ends[1], sent, 60000), 60000);
    close(ends[1]);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    char *data;
    size_t length;
    LOOM_OK(loom_file_read(path, 60000, &data, &length));
    LOOM_CHECK_EQ_INT(length, 60000);
    LOOM_CHECK_EQ_INT(memcmp(data, sent, 60000), 0);
    free(data);
    free(sent);
    close(ends[0]);
}

LOOM_TEST(file, endless_input_meets_the_limit) {
    char *data;
    size_t length;
    LOOM_FAILS(loom_file_read("/dev/zero", 100000, &data, &length), LOOM_E_LIMIT);
}

LOOM_TEST(file, missing_and_folder_are_told_apart) {
    enter();
    char *data;
    size_t length;
    loom_status *s = loom_file_read(in("none"), 10, &data, &length);
    LOOM_CHECK_EQ_INT(loom_status_code(s), LOOM_E_NOINPUT);
    LOOM_CHECK_HAS(loom_status_message(s), "No such file");
    loom_status_free(s);
    s = loom_file_read(folder, 10, &data, &length);
    LOOM_CHECK_EQ_INT(loom_status_code(s), LOOM_E_NOINPUT);
    LOOM_CHECK_HAS(loom_status_message(s), "Is a directory");
    loom_status_free(s);
    leave();
}

LOOM_TEST(file, map) {
    enter();
    loom_mapping m;
    LOOM_OK(loom_file_write(in("a"), "mapped", 6, false));
    LOOM_OK(loom_file_map(in("a"), &m));
    LOOM_CHECK_EQ_INT(m.length, 6);
    LOOM_CHECK_EQ_INT(memcmp(m.data, "mapped", 6), 0);
    loom_file_unmap(&m);
    LOOM_CHECK(m.data == NULL);
    LOOM_OK(loom_file_write(in("empty"), "", 0, false));
    LOOM_OK(loom_file_map(in("empty"), &m));
    LOOM_CHECK_EQ_INT(m.length, 0);
    loom_file_unmap(&m);
    LOOM_FAILS(loom_file_map(in("none"), &m), LOOM_E_NOINPUT);
    LOOM_FAILS(loom_file_map("/dev/zero", &m), LOOM_E_NOINPUT);
    leave();
}

LOOM_TEST(file, abort_leaves_the_old_file) {
    enter();
    loom_writer *w;
    LOOM_OK(loom_file_write(in("a"), "old", 3, false));
    LOOM_OK(loom_writer_open(in("a"), &w));
    LOOM_OK(loom_writer_put(w, "new", 3));
    LOOM_CHECK_EQ_INT(entries(folder), 2);
    loom_writer_abort(w);
    loom_writer_abort(NULL);
    check_content(in("a"), "old");
    LOOM_CHECK_EQ_INT(entries(folder), 1);
    leave();
}

LOOM_TEST(file, pieces_appear_at_commit) {
    enter();
    loom_writer *w;
    LOOM_OK(loom_writer_open(in("a"), &w));
    for (int i = 0; i < 1000; i++) LOOM_OK(loom_writer_put(w, "0123456789", 10));
    LOOM_CHECK(access(in("a"), F_OK) != 0);
    LOOM_OK(loom_writer_commit(w, true));
    struct stat info;
    LOOM_CHECK(stat(in("a"), &info) == 0);
    LOOM_CHECK_EQ_INT(info.st_size, 10000);
    LOOM_CHECK_EQ_INT(entries(folder), 1);
    leave();
}

static void hold(loom_file_set *set, const char *name, const char *content) {
    LOOM_OK(loom_file_set_put(set, in(name), content, strlen(content)));
}

LOOM_TEST(file, a_set_is_put_in_place_together) {
    enter();
    LOOM_OK(loom_file_write(in("b"), "old", 3, false));
    loom_file_set *set = loom_file_set_create();
    hold(set, "a", "one");
    hold(set, "b", "two");
    LOOM_CHECK(access(in("a"), F_OK) != 0);
    check_content(in("b"), "old");
    LOOM_OK(loom_file_set_commit(set));
    check_content(in("a"), "one");
    check_content(in("b"), "two");
    loom_file_set_destroy(set);
    LOOM_CHECK_EQ_INT(entries(folder), 2);
    set = loom_file_set_create();
    hold(set, "c", "x");
    hold(set, "b", "y");
    loom_file_set_destroy(set); /* given up */
    check_content(in("b"), "two");
    LOOM_CHECK_EQ_INT(entries(folder), 2);
    leave();
}

/* The last name cannot be taken: the first ones are as they were. */
LOOM_TEST(file, a_set_that_fails_changes_nothing) {
    enter();
    LOOM_OK(loom_file_write(in("b"), "old", 3, false));
    loom_file_set *set = loom_file_set_create();
    hold(set, "a", "one");
    hold(set, "b", "two");
    hold(set, "sub", "three");
    LOOM_OK(loom_make_directories(in("sub/full"), 0700));
    LOOM_OK(loom_file_write(in("sub/full/x"), "x", 1, false));
    loom_status *status = loom_file_set_commit(set);
    LOOM_CHECK_HAS(loom_status_message(status), "sub");
    LOOM_FAILS(status, LOOM_E_CANTCREATE);
    loom_file_set_destroy(set);
    LOOM_CHECK(access(in("a"), F_OK) != 0);
    check_content(in("b"), "old");
    check_content(in("sub/full/x"), "x");
    LOOM_CHECK_EQ_INT(entries(folder), 2);
    leave();
}

LOOM_TEST(file, a_stream_tells_what_did_not_arrive) {
    FILE *full = fopen("/dev/full", "w");
    LOOM_OK(loom_stream_flush(full, "nothing"));
    for (int i = 0; i < 100000; i++) fputc('x', full); /* fails before the flush, which would see nothing of it */
    LOOM_FAILS(loom_stream_flush(full, "full"), LOOM_E_IO);
    fclose(full);
}

/* As libraries do that take a name: remove the file and make it anew. */
LOOM_TEST(file, temporary_may_be_made_anew) {
    enter();
    loom_writer *w;
    LOOM_OK(loom_writer_open(in("a"), &w));
    LOOM_CHECK(unlink(loom_writer_temporary(w)) == 0);
    FILE *f = fopen(loom_writer_temporary(w), "w");
    fputs("by name", f);
    fclose(f);
    LOOM_OK(loom_writer_commit(w, true));
    check_content(in("a"), "by name");
    leave();
}

LOOM_TEST(file, full_disk_is_an_error) {
    loom_writer *w;
    LOOM_OK(loom_writer_open("/dev/full", &w));
    LOOM_OK(loom_writer_put(w, "x", 1));
    loom_status *s = loom_writer_commit(w, false);
    LOOM_CHECK_EQ_INT(loom_status_code(s), LOOM_E_IO);
    LOOM_CHECK_HAS(loom_status_message(s), "No space left");
    loom_status_free(s);
    struct stat info;
    LOOM_CHECK(stat("/dev/full", &info) == 0 && S_ISCHR(info.st_mode));
}

LOOM_TEST(file, link_stays_a_link) {
    enter();
    LOOM_OK(loom_file_write(in("target"), "old", 3, false));
    LOOM_CHECK(symlink("target", in("link")) == 0);
    LOOM_OK(loom_file_write(in("link"), "new", 3, false));
    struct stat info;
    LOOM_CHECK(lstat(in("link"), &info) == 0 && S_ISLNK(info.st_mode));
    check_content(in("target"), "new");
    leave();
}

LOOM_TEST(file, unwritable_places) {
    enter();
    LOOM_FAILS(loom_file_write(in("no/such/folder"), "x", 1, false), LOOM_E_CANTCREATE);
    LOOM_FAILS(loom_file_write(folder, "x", 1, false), LOOM_E_CANTCREATE);
    LOOM_OK(loom_file_write(in("file"), "x", 1, false));
    LOOM_FAILS(loom_file_write(in("file/below"), "x", 1, false), LOOM_E_CANTCREATE);
    LOOM_FAILS(loom_make_directories(in("file/below"), 0700), LOOM_E_CANTCREATE);
    LOOM_FAILS(loom_make_directories(in("file"), 0700), LOOM_E_CANTCREATE);
    leave();
}

LOOM_TEST(file, folders_are_made_and_removed) {
    enter();
    LOOM_OK(loom_make_directories(in("a/b/c"), 0700));
    LOOM_OK(loom_make_directories(in("a/b/c/"), 0700));
    struct stat info;
    LOOM_CHECK(stat(in("a/b/c"), &info) == 0);
    LOOM_CHECK_EQ_INT(info.st_mode & 0777, 0700);
    /* A link out of the tree: what it points to must survive. */
    LOOM_OK(loom_make_directories(in("outside"), 0700));
    LOOM_OK(loom_file_write(in("outside/kept"), "x", 1, false));
    LOOM_CHECK(symlink("../outside", in("a/link")) == 0);
    loom_remove_tree(in("a"));
    LOOM_CHECK(access(in("a"), F_OK) != 0);
    check_content(in("outside/kept"), "x");
    loom_remove_tree(in("none"));
    leave();
}
