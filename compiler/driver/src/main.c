/* gridloom-compile: started by gridloomd, one request in, one reply out; or `--explain` for gridloom explain.
 *
 * Runs with limits of its own, below those of its parent, so that a compile that runs away ends here. */
#include "common/buffer.h"
#include "common/file.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/option.h"
#include "common/signals.h"
#include "compiler/driver/driver.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The largest programs compile in seconds; what takes a hundred times that does not end. */
#define LOOM_COMPILE_CPU_SECONDS 300
/* LLVM takes some hundred megabytes for a large region; address space also counts mappings that are never touched. */
#define LOOM_COMPILE_ADDRESS_SPACE ((uint64_t)8 << 30)
/* Our own tables; the rest is LLVM's. */
#define LOOM_COMPILE_ARENA ((size_t)2 << 30)

static void limit(int resource, uint64_t value) {
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)resource, &now) != 0) return;
    if (now.rlim_cur != RLIM_INFINITY && now.rlim_cur <= value) return;
    now.rlim_cur = value;
    (void)!setrlimit((__rlimit_resource_t)resource, &now);
}

static void set_limits(void) {
    limit(RLIMIT_CPU, LOOM_COMPILE_CPU_SECONDS);
    limit(RLIMIT_CORE, 0);
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) /* these map terabytes and touch little */
    limit(RLIMIT_AS, LOOM_COMPILE_ADDRESS_SPACE);
#endif
}

/* ---- one request ---- */

/* *nothing (unless NULL): the input ended before its first byte, which is no error. */
static loom_status *read_all(void *to, size_t length, bool *nothing) {
    for (size_t done = 0; done < length;) {
        ssize_t n = read(STDIN_FILENO, (char *)to + done, length - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return loom_error_errno(LOOM_E_IO, errno, "cannot read the request");
        if (n == 0 && done == 0 && nothing) {
            *nothing = true;
            return NULL;
        }
        if (n == 0) return loom_error(LOOM_E_PROTOCOL, "the request ends after %zu of %zu bytes", done, length);
        done += (size_t)n;
    }
    return NULL;
}

static loom_status *write_all(const void *from, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t n = write(STDOUT_FILENO, (const char *)from + done, length - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return loom_error_errno(LOOM_E_IO, errno, "cannot write the reply");
        done += (size_t)n;
    }
    return NULL;
}

static loom_status *read_request(char **bytes, size_t *length, bool *nothing) {
    unsigned char head[8];
    LOOM_TRY(read_all(head, sizeof head, nothing));
    if (*nothing) return NULL;
    uint64_t n = 0;
    for (int i = 0; i < 8; i++) n |= (uint64_t)head[i] << (8 * i);
    if (n > LOOM_MAX_COMPILE_BYTES)
        return loom_error(LOOM_E_LIMIT, "a compile request of %llu bytes", (unsigned long long)n);
    char *data = malloc(n + 1);
    if (!data) return loom_error(LOOM_E_MEMORY, "no memory for a compile request of %llu bytes", (unsigned long long)n);
    loom_status *status = read_all(data, n, NULL);
    if (status) {
        free(data);
        return status;
    }
    *bytes = data;
    *length = n;
    return NULL;
}

static loom_status *write_reply(const loom_compile_reply *reply) {
    char *bytes;
    size_t length;
    LOOM_TRY(loom_compile_reply_encode(reply, &bytes, &length));
    unsigned char head[8];
    for (int i = 0; i < 8; i++) head[i] = (unsigned char)((uint64_t)length >> (8 * i));
    loom_status *status = write_all(head, sizeof head);
    if (!status) status = write_all(bytes, length);
    free(bytes);
    return status;
}

static loom_status *serve_one(void) {
    char *bytes;
    size_t length;
    bool nothing = false;
    LOOM_TRY(read_request(&bytes, &length, &nothing));
    if (nothing) return NULL; /* it was kept ready by a daemon that has ended */
    loom_arena *arena = loom_arena_create(LOOM_COMPILE_ARENA);
    loom_compile_request *request;
    loom_compile_reply reply = {.error = loom_compile_request_decode(arena, bytes, length, &request)};
    free(bytes);
    if (!reply.error) loom_driver_compile(arena, request, &reply);
    loom_status *status = write_reply(&reply);
    loom_status_free(reply.error);
    loom_arena_destroy(arena);
    return status;
}

/* ---- explain ---- */

typedef struct explaining {
    loom_arena *arena;
    const loom_explain_request *request;
    loom_diagnostics *diagnostics;
    FILE *to;
} explaining;

static loom_status *explain_one(void *context) {
    const explaining *x = context;
    return loom_driver_explain(x->arena, x->request, x->diagnostics, x->to);
}

/* What is asked for; files and their texts are filled in. */
static loom_status *explain_files(loom_explain_request *request, const char *const *paths, int n, FILE *to) {
    loom_arena *arena = loom_arena_create(LOOM_COMPILE_ARENA);
    loom_source_file *files = LOOM_NEW_ARRAY(arena, loom_source_file, (size_t)n + 1);
    loom_diagnostics diagnostics = {0};
    loom_status *status = NULL;
    for (int i = 0; i < n && !status; i++) {
        char *text;
        status = loom_file_read(strcmp(paths[i], "-") == 0 ? "/dev/stdin" : paths[i], LOOM_MAX_SOURCE_BYTES, &text,
                                &files[i].length);
        if (status) break;
        files[i].name = paths[i];
        files[i].text = loom_arena_strndup(arena, text, files[i].length);
        free(text);
    }
    request->files = files;
    request->n_files = (size_t)n;
    explaining x = {arena, request, &diagnostics, to};
    if (!status) status = loom_arena_guarded(arena, explain_one, &x, LOOM_COMPILE_EXHAUSTED);
    loom_diagnostics_print(&diagnostics, files, (size_t)n, stderr);
    loom_arena_destroy(arena);
    return status;
}

static loom_status *explain(loom_explain_request *request, const char *const *paths, int n) {
    loom_status *status = explain_files(request, paths, n, stdout);
    loom_status *lost = loom_stream_flush(stdout, "standard output");
    if (!status) return lost;
    loom_status_free(lost);
    return status;
}

/* All of the file or none of it. */
static loom_status *explain_to(const char *path, loom_explain_request *request, const char *const *paths, int n) {
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    if (!to) return loom_error_errno(LOOM_E_MEMORY, errno, "no memory for a page");
    loom_status *status = explain_files(request, paths, n, to);
    if (fclose(to) != 0 && !status) status = loom_error_errno(LOOM_E_MEMORY, errno, "no memory for a page");
    if (!status) {
        sigset_t before;
        loom_signals_hold(&before);
        status = loom_file_write(path, text, length, false);
        loom_signals_restore(&before);
    }
    free(text);
    return status;
}

static loom_status *run(int argc, char **argv) {
    const loom_command_text text = {"gridloom-compile", "[--explain STAGE [options] PROG.weft...]",
                                    "Started by gridloomd: reads one compile request from standard input, writes one "
                                    "reply to standard output. With --explain it prints "
                                    "what the compiler makes of a program; use `gridloom explain`.",
                                    NULL};
    const char *output = NULL, *force = NULL, **rest;
    loom_explain_request request = {.sizes = {.extent = LOOM_EXPLAIN_EXTENT}};
    int n;
    bool done;
    loom_option options[] = {
        {"explain", 0, LOOM_OPT_TEXT, &request.stage, "STAGE", "Print this stage of the compiler.", 0, 0},
        {"entry", 0, LOOM_OPT_TEXT, &request.entry, "NAME", "The entry; default main, or the only one.", 0, 0},
        {"size", 0, LOOM_OPT_INT, &request.sizes.extent, "N", "Extents that are not known.", 1, LOOM_EXPLAIN_LARGEST},
        {"irregular", 0, LOOM_OPT_FLAG, &request.sizes.irregular, NULL, "Rows of inputs differ in length.", 0, 0},
        {"force", 0, LOOM_OPT_TEXT, &force, "CHOICES", "What is chosen in place of the compiler.", 0, 0},
        {"output", 0, LOOM_OPT_TEXT, &output, "FILE", "Where it is printed; default: standard output.", 0, 0},
        {0}};
    LOOM_TRY(loom_options_parse(&text, options, argc, argv, &rest, &n, &done));
    if (done) return NULL;
    LOOM_TRY(loom_force_parse(force, &request.force));
    set_limits();
    if (!request.stage) return n ? loom_error(LOOM_E_USAGE, "unexpected argument %s", rest[0]) : serve_one();
    if (!n) return loom_error(LOOM_E_USAGE, "no program given: expected PROG.weft");
    return output ? explain_to(output, &request, rest, n) : explain(&request, rest, n);
}

int main(int argc, char **argv) {
    loom_log_init("gridloom-compile");
    loom_status *status = run(argc, argv);
    if (!status) return 0;
    loom_status_print(status, stderr);
    int code = loom_code_exit(loom_status_code(status));
    loom_status_free(status);
    return code;
}
