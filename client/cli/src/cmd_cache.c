/* cache: the folder of compiled stages. */
#include "cli.h"
#include "common/buffer.h"
#include "compiler/driver/cache_folder.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct deed {
    const char *name;
    loom_status *(*run)(const char *folder, loom_cache_stat *stat);
    const char *done; /* what has been done to the entries */
} deed;

static const deed deeds[] = {
    {"stat", loom_cache_look, ""},
    {"verify", loom_cache_verify, ", read"},
    {"clear", loom_cache_clear, ", removed"},
};

static loom_status *find_deed(const char **words, int n, const deed **found) {
    *found = &deeds[0];
    if (n == 0) return NULL;
    for (size_t i = 0; n == 1 && i < sizeof deeds / sizeof *deeds; i++) {
        *found = &deeds[i];
        if (strcmp(words[0], deeds[i].name) == 0) return NULL;
    }
    return loom_status_note(
        n > 1 ? loom_error(LOOM_E_USAGE, "more than one thing to do: '%s' and '%s'", words[0], words[1])
              : loom_error(LOOM_E_USAGE, "cannot '%s' a cache", words[0]),
        "hint: gridloom cache stat, verify or clear");
}

static void print_time(const char *what, int64_t seconds) {
    char text[64];
    time_t t = (time_t)seconds;
    struct tm utc;
    if (seconds && gmtime_r(&t, &utc) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc))
        printf("%s %s\n", what, text);
}

static void print_table(const char *folder, const deed *d, const loom_cache_stat *s) {
    printf("%s\n%" PRIu64 " %s, %.1f of at most %.0f MiB%s\n", folder, s->entries,
           s->entries == 1 ? "entry" : "entries", (double)s->bytes / 0x1p20, (double)s->most / 0x1p20, d->done);
    print_time("used first", s->used_first);
    print_time("used last ", s->used_last);
    if (s->broken) printf("%" PRIu64 " broken, removed\n", s->broken);
}

static void print_json(const loom_cache_stat *s) {
    printf("{\"entries\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"most\": %" PRIu64 ", \"used_first\": %" PRId64
           ", \"used_last\": %" PRId64 ", \"broken\": %" PRIu64 "}\n",
           s->entries, s->bytes, s->most, s->used_first, s->used_last, s->broken);
}

static loom_status *do_it(const deed *d, const char *named, bool json) {
    char *folder = named ? loom_xstrdup(named) : loom_session_cache();
    if (!folder) {
        return loom_status_note(loom_error(LOOM_E_CONFIG, "there is no cache: neither XDG_CACHE_HOME nor HOME is set"),
                                "hint: --folder FOLDER");
    }
    loom_cache_stat stat;
    loom_status *status = d->run(folder, &stat);
    if (!status) json ? print_json(&stat) : print_table(folder, d, &stat);
    free(folder);
    if (status || d->run != loom_cache_verify || !stat.broken) return status;
    return loom_error(LOOM_E_DATA, "%" PRIu64 " entries were cut short or changed", stat.broken);
}

loom_status *cli_cache(const cli_call *call) {
    static const loom_command_text text = {
        "gridloom cache", "[stat | verify | clear] [options]",
        "Tells what is in the folder of compiled stages, reads all of it and removes what is broken, or empties it. "
        "What is "
        "missing is compiled again when it is wanted, so no harm is done while programs run.",
        "  gridloom cache\n  gridloom cache verify --folder /var/lib/gridloom/cache"};
    const char *folder = NULL;
    bool json = false, done;
    loom_option options[] = {{"folder", 0, LOOM_OPT_TEXT, &folder, "FOLDER",
                              "The folder; default: that of commands without --connect, $XDG_CACHE_HOME/gridloom or "
                              "~/.cache/gridloom. A daemon's "
                              "is named by its --cache, or is the folder cache in its store.",
                              0, 0},
                             {"json", 0, LOOM_OPT_FLAG, &json, NULL, "Print it as JSON.", 0, 0},
                             {0}};
    const char **rest;
    int n;
    const deed *d;
    loom_status *status = cli_options(call, &text, options, &rest, &n, &done);
    if (!status && !done) status = find_deed(rest, n, &d);
    return status || done ? status : do_it(d, folder, json);
}
