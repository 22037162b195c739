#include "common/file.h"
#include "common/paths.h"
#include "loom_test.h"
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char before[4096], folder[64];

/* In a folder of its own: set.ms/sub, file, hard (a link of file), soft -> file, other -> set.ms */
static void enter(void) {
    LOOM_CHECK(getcwd(before, sizeof before) != NULL);
    strcpy(folder, "/tmp/loom-paths-test-XXXXXX");
    LOOM_CHECK(mkdtemp(folder) != NULL);
    LOOM_CHECK(chdir(folder) == 0);
    LOOM_OK(loom_make_directories("set.ms/sub", 0700));
    LOOM_OK(loom_file_write("file", "x", 1, false));
    LOOM_CHECK(link("file", "hard") == 0);
    LOOM_CHECK(symlink("file", "soft") == 0);
    LOOM_CHECK(symlink("set.ms", "other") == 0);
}

static void leave(void) {
    LOOM_CHECK(chdir(before) == 0);
    loom_remove_tree(folder);
}

static int check(const char *read, const char *first, const char *second) {
    loom_paths *paths = loom_paths_create();
    loom_paths_write(paths, first);
    loom_paths_write(paths, second);
    loom_paths_read(paths, read);
    loom_status *status = loom_paths_check(paths);
    int code = loom_status_code(status);
    loom_status_free(status);
    loom_paths_free(paths);
    return code;
}

LOOM_TEST(paths, outputs_that_are_inputs) {
    enter();
    static const char *const refused[] = {"file", "./file", "hard", "soft", "set.ms/../file", ".//soft"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        LOOM_CHECK(check("file", refused[i], NULL) == LOOM_E_USAGE);
        LOOM_CHECK(check(refused[i], "file", NULL) == LOOM_E_USAGE);
        LOOM_CHECK(check("set.ms", "fine", refused[i]) == 0);
    }
    LOOM_CHECK(check("file", "new", NULL) == 0);
    LOOM_CHECK(check("not there", "new", NULL) == 0);
    LOOM_CHECK(check("/dev/null", "/dev/null", "/dev/null") == 0);
    leave();
}

LOOM_TEST(paths, outputs_inside_folders_that_are_read) {
    enter();
    static const char *const refused[] = {
        "set.ms", "set.ms/", "set.ms/new", "set.ms/sub/new", "other/sub/new", "./set.ms/sub/../new", "other"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        LOOM_CHECK(check("set.ms", refused[i], NULL) == LOOM_E_USAGE);
        LOOM_CHECK(check("other/", refused[i], NULL) == LOOM_E_USAGE);
    }
    LOOM_CHECK(check("set.ms", "set.msx", "set.ms.new") == 0);
    LOOM_CHECK(check("set.ms/sub", "set.ms/new", NULL) == 0);
    LOOM_CHECK(check("set.ms", "nowhere/at/all", NULL) == 0);
    leave();
}

LOOM_TEST(paths, two_outputs_that_are_one) {
    enter();
    LOOM_CHECK(check(NULL, "new", "./new") == LOOM_E_USAGE);
    LOOM_CHECK(check(NULL, "set.ms/new", "other//new") == LOOM_E_USAGE);
    LOOM_CHECK(check(NULL, "file", "hard") == LOOM_E_USAGE);
    LOOM_CHECK(check(NULL, "nowhere/new", "nowhere/new") == LOOM_E_USAGE);
    LOOM_CHECK(check(NULL, "new", "newer") == 0);
    LOOM_CHECK(check(NULL, "new", "set.ms/new") == 0);
    leave();
}
