/* gridloom-worker: does the work of a daemon's jobs. */
#include "common/limits.h"
#include "common/log.h"
#include "common/option.h"
#include "control/control.h"

static const loom_command_text text = {
    .program = "gridloom-worker",
    .synopsis = "--connect ENDPOINT [options]",
    .description =
        "Registers with a gridloomd and executes what it is lent. Workers may come and go at any time; what a "
        "worker held when it went is done again by another.\n\n"
        "Ends on SIGTERM and SIGINT, and when the daemon has been away for five minutes.",
    .examples = "  gridloom-worker --connect ipc:///run/gridloom/control --threads 16 --memory 64GiB\n",
};

static loom_status *run(int argc, char **argv) {
    loom_control_options o = {0};
    int64_t threads = 0;
    loom_option options[] = {
        {"connect", 0, LOOM_OPT_TEXT, &o.connect, "ENDPOINT", "Where gridloomd listens.", 0, 0},
        {"threads", 0, LOOM_OPT_INT, &threads, "N",
         "Threads to compute with. Default: all processors this process may "
         "use.",
         1, LOOM_MAX_THREADS},
        {"memory", 0, LOOM_OPT_BYTES, &o.memory, "BYTES",
         "Memory for buffers. Default: three quarters of the "
         "machine's.",
         1 << 20, 1e18},
        {"cache", 0, LOOM_OPT_TEXT, &o.cache, "FOLDER",
         "Folder where it is kept which way of doing large Fourier transforms is the fastest on this machine. Default: "
         "found out anew by each worker, which takes a second or two.",
         0, 0},
        {"insecure", 0, LOOM_OPT_FLAG, &o.insecure, NULL, "Allow tcp:// endpoints.", 0, 0},
        {"parent", 0, LOOM_OPT_INT, &o.parent, "PID", "End with this process, which must be the parent.", 0, 4194304},
        {0},
    };
    const char **rest;
    int n_rest;
    bool done = false;
    LOOM_TRY(loom_options_parse(&text, options, argc, argv, &rest, &n_rest, &done));
    if (done) return NULL;
    if (n_rest) return loom_error(LOOM_E_USAGE, "unexpected argument '%s'", rest[0]);
    if (!o.connect) return loom_error(LOOM_E_USAGE, "--connect is needed");
    o.threads = (int)threads;
    o.command = argv;
    return loom_control_run(&o);
}

int main(int argc, char **argv) {
    loom_log_init("gridloom-worker");
    loom_status *status = run(argc, argv);
    if (!status) return 0;
    int code = loom_code_exit(loom_status_code(status));
    loom_status_print(status, stderr);
    loom_status_free(status);
    return code;
}
