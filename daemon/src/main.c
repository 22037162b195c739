/* gridloomd: the coordinator. */
#include "common/log.h"
#include "common/machine.h"
#include "common/option.h"
#include "daemon.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Folder of this executable: its companions are installed beside it. */
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

static const loom_command_text text = {
    .program = "gridloomd",
    .synopsis = "--listen ENDPOINT --store FOLDER [options]",
    .description =
        "Coordinates jobs: clients submit programs, gridloom-worker processes register and are lent work.\n\n"
        "Ends on SIGTERM and SIGINT; running jobs then end with an error at their clients. The store may be "
        "used again by the next daemon.",
    .examples = "  gridloomd --listen ipc:///run/gridloom/control --store /var/lib/gridloom\n"
                "  gridloom-worker --connect ipc:///run/gridloom/control\n"
                "  gridloom status --connect ipc:///run/gridloom/control\n",
};

static loom_spill_policy spill_policy(const char *word) {
    if (strcmp(word, "always") == 0) return LOOM_SPILL_ALWAYS;
    return strcmp(word, "never") == 0 ? LOOM_SPILL_NEVER : LOOM_SPILL_AUTO;
}

static loom_status *run(int argc, char **argv) {
    loom_daemon_options o = {0};
    loom_option_list scratch = {0};
    const char *spill = "auto";
    loom_option options[] = {
        {"listen", 0, LOOM_OPT_TEXT, &o.listen, "ENDPOINT", "Where to listen: ipc://PATH.", 0, 0},
        {"store", 0, LOOM_OPT_TEXT, &o.store, "FOLDER",
         "Folder of the ledger, of object code and of spooled objects; "
         "made if it is not there.",
         0, 0},
        {"spool", 0, LOOM_OPT_TEXT, &o.spool, "FOLDER",
         "Preferred folder for spooled objects, as a tmpfs; the store is "
         "used when it is full. Default: the store.",
         0, 0},
        {"cache", 0, LOOM_OPT_TEXT, &o.cache, "FOLDER", "Folder of compiled object code. Default: in the store.", 0, 0},
        {"handover", 0, LOOM_OPT_REAL, &o.handover, "SECONDS",
         "Workers hand over what they have folded about this often, so that a death costs no more. Default: 60.", 0.01,
         1e6},
        {"spill", 0, LOOM_OPT_WORD, &spill, "auto|always|never",
         "Of groups that do not all fit into memory: whether the stream is written to the store once, by batch of "
         "groups, or read again for each batch. auto: written where that is seen to take less time; always: however "
         "long it takes, but for want of room. Default: auto.",
         0, 0},
        {"insecure", 0, LOOM_OPT_FLAG, &o.insecure, NULL, "Allow tcp:// endpoints, to which anybody may connect.", 0,
         0},
        {"parent", 0, LOOM_OPT_INT, &o.parent, "PID", "End with this process, which must be the parent.", 0, 4194304},
        {"scratch", 0, LOOM_OPT_LIST, &scratch, "FOLDER", "With --parent: removed if the parent has died.", 0, 0},
        {0},
    };
    const char **rest;
    int n_rest;
    bool done = false;
    LOOM_TRY(loom_options_parse(&text, options, argc, argv, &rest, &n_rest, &done));
    if (done) return NULL;
    if (n_rest) return loom_error(LOOM_E_USAGE, "unexpected argument '%s'", rest[0]);
    if (!o.listen || !o.store) return loom_error(LOOM_E_USAGE, "--listen and --store are needed");
    LOOM_TRY(loom_machine_check_limits());
    char *folder = NULL;
    LOOM_TRY(own_folder(&folder));
    o.binaries = folder;
    o.spill = spill_policy(spill);
    o.scratch = scratch.at;
    o.n_scratch = scratch.count;
    loom_status *status = loom_daemon_run(&o);
    free(folder);
    free(scratch.at);
    return status;
}

int main(int argc, char **argv) {
    loom_log_init("gridloomd");
    loom_status *status = run(argc, argv);
    if (!status) return 0;
    int code = loom_code_exit(loom_status_code(status));
    loom_status_print(status, stderr);
    loom_status_free(status);
    return code;
}
