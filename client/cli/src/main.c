#include "cli.h"
#include "common/buffer.h"
#include "common/log.h"
#include "compiler/syntax/errors.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Longer words are no mistyped command. */
#define LONGEST 16

const cli_command cli_commands[] = {
    {"image", cli_image, "make a dirty image of an observation"},
    {"predict", cli_predict, "predict the visibilities of an image or of point sources"},
    {"simulate", cli_simulate, "make an observation of point sources"},
    {"run", cli_run, "run a Weft program on workers"},
    {"eval", cli_eval, "evaluate a Weft program here, with the interpreter"},
    {"profile", cli_profile, "tell where the time of a Weft program goes, line by line"},
    {"bench", cli_bench, "run a Weft program several times and tell how long it takes"},
    {"test", cli_test, "run the tests that Weft programs carry"},
    {"check", cli_check, "look for errors in a Weft program"},
    {"fmt", cli_fmt, "lay out a Weft program"},
    {"explain", cli_explain, "show what the compiler makes of a Weft program"},
    {"cache", cli_cache, "look at, check or empty the cache of object code"},
    {"status", cli_status, "list the jobs of a daemon"},
    {"cancel", cli_cancel, "cancel a job"},
    {"workers", cli_workers, "list the workers of a daemon"},
    {NULL, NULL, NULL},
};

static void usage(FILE *to) {
    fprintf(to, "usage: gridloom COMMAND [ARGUMENTS]\n\n"
                "Gridloom images radio interferometers and runs Weft programs over streams of data.\n\ncommands:\n");
    for (const cli_command *c = cli_commands; c->name; c++) fprintf(to, "  %-12s%s\n", c->name, c->summary);
    fprintf(to, "  %-12s%s\n", "help", "tell about a command: gridloom help COMMAND");
    fprintf(to, "\n  gridloom COMMAND --help tells about a command\n"
                "  gridloom help W0301 tells about an error of a program, by its code; help --errors about all\n"
                "  gridloom --version\n");
}

static const cli_command *find(const char *name) {
    for (const cli_command *c = cli_commands; c->name; c++) {
        if (strcmp(c->name, name) == 0) return c;
    }
    return NULL;
}

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Letters to insert, drop, change or swap to get from a to b, both of at most LONGEST letters. */
static size_t distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b), d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = smaller(best, smaller(d[i - 1][j], d[i][j - 1]) + 1);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            d[i][j] = swapped ? smaller(best, d[i - 2][j - 2] + 1) : best;
        }
    }
    return d[n][m];
}

static loom_status *unknown(const char *name) {
    loom_status *status = loom_error(LOOM_E_USAGE, "unknown command '%s'", name);
    for (const cli_command *c = cli_commands; c->name && strlen(name) <= LONGEST; c++) {
        if (distance(name, c->name) > 2 || strlen(name) < 3) continue;
        return loom_status_note(status, "hint: did you mean '%s'?", c->name);
    }
    size_t n = strlen(name);
    if (n > 5 && strcmp(name + n - 5, ".weft") == 0) {
        return loom_status_note(status, "hint: gridloom run %s runs a program", name);
    }
    return loom_status_note(status, "hint: gridloom --help lists the commands");
}

static loom_status *man_page(const char *name, FILE *to) {
    const cli_command *c = find(name);
    if (!c) return unknown(name);
    char *argv[] = {(char *)(uintptr_t)name, NULL};
    return c->run(&(cli_call){1, argv, to});
}

static void overview(FILE *to) {
    fputs(
        ".TH \"gridloom\" 1\n.SH NAME\ngridloom \\- images radio interferometers and runs Weft programs\n.SH SYNOPSIS\n"
        ".B gridloom\nCOMMAND [ARGUMENTS]\n.SH DESCRIPTION\nGridloom images radio interferometers and runs programs in "
        "Weft, a small data\\-parallel language, over streams of data. It starts workers of its own, or uses those of "
        "a "
        "gridloomd.\n.SH COMMANDS\n",
        to);
    for (const cli_command *c = cli_commands; c->name; c++) {
        fprintf(to, ".TP\n\\fBgridloom\\-%s\\fR(1)\n%s\n", c->name, c->summary);
    }
    fputs(".SH ENVIRONMENT\n.TP\nGRIDLOOM_CONNECT\nThe daemon of commands without \\-\\-connect.\n.TP\nGRIDLOOM_LOG\n"
          "What is logged: error, warn, info or debug.\n",
          to);
    fputs(".SH ERRORS OF PROGRAMS\n.B gridloom help W0301\ntells more about an error of a Weft program, by the code at "
          "its "
          "end;\n.B gridloom help \\-\\-errors\nabout all of them.\n",
          to);
    loom_exits_man(to);
    fputs(".SH SEE ALSO\ngridloomd(1), gridloom\\-worker(1)\n", to);
}

/* The other programs, beside this one, write their own pages, from their own tables. */
static loom_status *page_of_program(const char *program, const char *path) {
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return loom_error_errno(LOOM_E_OS, errno, "cannot tell where this program is");
    self[n] = '\0';
    char *slash = strrchr(self, '/'), *binary = loom_xprintf("%.*s/%s", (int)(slash - self), self, program);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (freopen(path, "w", stdout)) execl(binary, program, "--man", (char *)NULL);
        _exit(1);
    }
    int code = -1;
    while (child > 0 && waitpid(child, &code, 0) < 0 && errno == EINTR) {}
    loom_status *status = code == 0 ? NULL : loom_error(LOOM_E_CANTCREATE, "%s --man > %s failed", binary, path);
    free(binary);
    return status;
}

static loom_status *pages_of_programs(const char *folder) {
    static const char *const programs[] = {"gridloomd", "gridloom-worker"};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char *path = loom_xprintf("%s/%s.1", folder, programs[i]);
        loom_status *status = page_of_program(programs[i], path);
        free(path);
        if (status) return status;
    }
    return NULL;
}

/* A file gridloom-COMMAND.1 for each command, and one for each program. */
static loom_status *man_pages(const char *folder) {
    char *own = loom_xprintf("%s/gridloom.1", folder);
    FILE *first = fopen(own, "w");
    loom_status *wrong = first ? NULL : loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot write %s", own);
    if (first) overview(first);
    if (first && fclose(first) != 0) wrong = loom_error_errno(LOOM_E_IO, errno, "writing %s", own);
    free(own);
    if (wrong) return wrong;
    LOOM_TRY(pages_of_programs(folder));
    for (const cli_command *c = cli_commands; c->name; c++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/gridloom-%s.1", folder, c->name);
        FILE *to = fopen(path, "w");
        if (!to) return loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot write %s", path);
        loom_status *status = man_page(c->name, to);
        bool failed = fclose(to) != 0;
        if (!status && failed) status = loom_error_errno(LOOM_E_IO, errno, "writing %s", path);
        if (status) return status;
    }
    return NULL;
}

/* Of a program's error, by its code. */
static loom_status *explain_error(const char *code) {
    const loom_weft_entry *entry = loom_weft_error_find(code);
    if (!entry) {
        return loom_status_note(loom_error(LOOM_E_USAGE, "no error has the code '%s'", code),
                                "hint: gridloom help --errors lists them");
    }
    loom_weft_error_print(entry, stdout);
    return NULL;
}

/* help, help COMMAND, help CODE, help --errors, help --man COMMAND, help --man-pages FOLDER */
static loom_status *help(int argc, char **argv) {
    if (argc < 2) {
        usage(stdout);
        return NULL;
    }
    if (strcmp(argv[1], "--man") == 0 && argc == 3) return man_page(argv[2], stdout);
    if (strcmp(argv[1], "--man-pages") == 0 && argc == 3) return man_pages(argv[2]);
    if (strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return NULL;
    }
    if (strcmp(argv[1], "--errors") == 0 && argc == 2) {
        loom_weft_error_index(stdout);
        return NULL;
    }
    if (loom_weft_error_is_code(argv[1])) return explain_error(argv[1]);
    const cli_command *c = find(argv[1]);
    if (!c) return unknown(argv[1]);
    char flag[] = "--help", *ask[] = {argv[1], flag, NULL};
    return c->run(&(cli_call){2, ask, NULL});
}

static loom_status *dispatch(int argc, char **argv) {
    if (argc < 2) {
        usage(stderr);
        return loom_error(LOOM_E_USAGE, "no command given");
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("gridloom %s\n", loom_version());
        return NULL;
    }
    bool asks = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0;
    if (asks) return help(argc - 1, argv + 1);
    const cli_command *c = find(argv[1]);
    return c ? c->run(&(cli_call){argc - 1, argv + 1, NULL}) : unknown(argv[1]);
}

int main(int argc, char **argv) {
    loom_log_init("gridloom");
    /* Writing to a closed pipe or beyond a file size limit is an error of that write, not the end of the process. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    loom_status *status = dispatch(argc, argv);
    if (!status) status = loom_stream_flush(stdout, "standard output");
    int code = status ? loom_code_exit(loom_status_code(status)) : 0;
    loom_status_print(status, stderr);
    loom_status_free(status);
    return code;
}
