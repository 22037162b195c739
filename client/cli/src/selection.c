#include "selection.h"
#include "common/buffer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- channels ---- */

bool cli_take_number(const char **at, int64_t *number) {
    char *end;
    if (**at < '0' || **at > '9') return false;
    *number = strtoll(*at, &end, 10);
    *at = end;
    return true;
}

loom_status *cli_parse_channels(const char *text, loom_ms_selection *selection) {
    int64_t from = 0, to = LOOM_MS_ALL;
    const char *at = text;
    bool good = true;
    if (*at != ':') good = cli_take_number(&at, &from);
    good = good && *at == ':';
    if (good && *++at) good = cli_take_number(&at, &to) && !*at;
    if (!good) {
        return loom_status_note(loom_error(LOOM_E_USAGE, "--channels %s: expected A:B", text),
                                "hint: 2:6 is channels 2, 3, 4 and 5; 2: and :6 are open");
    }
    if (to != LOOM_MS_ALL && from >= to) {
        return loom_error(LOOM_E_USAGE, "--channels %s: an empty range of channels (the second number is left out)",
                          text);
    }
    selection->channel_from = from;
    selection->channel_to = to;
    return NULL;
}

/* ---- time ---- */

/* Days of the civil calendar since MJD 0, 1858-11-17 (the usual count of days from 0000-03-01). */
static double days_of(int64_t year, int64_t month, int64_t day) {
    int64_t y = month <= 2 ? year - 1 : year, m = (month + 9) % 12;
    int64_t days = 365 * y + y / 4 - y / 100 + y / 400 + (m * 306 + 5) / 10 + day - 1 - 678881;
    return (double)days;
}

static int days_in(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* "2020-05-31", with "T12:00", "T12:00:30.5" after it, or a number of MJD days; in MJD seconds. */
static bool take_time(const char *text, double *seconds) {
    int year, month, day, hour = 0, minute = 0, used = 0;
    double second = 0;
    char *end;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) == 3 && used) {
        int more = 0;
        text += used;
        if (*text == 'T' || *text == ' ') {
            if (sscanf(text + 1, "%2d:%2d%n", &hour, &minute, &more) != 2 || !more) return false;
            text += 1 + more;
            if (*text == ':') {
                second = strtod(text + 1, &end);
                text = end;
            }
        }
        bool good = year > 0 && month >= 1 && month <= 12 && day >= 1 && day <= days_in(year, month) && hour >= 0 &&
                    hour <= 24 && minute >= 0 && minute < 60 && second >= 0 && second < 61 && !*text;
        if (good) *seconds = days_of(year, month, day) * 86400 + hour * 3600.0 + minute * 60.0 + second;
        return good;
    }
    double days = strtod(text, &end);
    if (end == text || *end || !isfinite(days)) return false;
    *seconds = days * 86400;
    return true;
}

loom_status *cli_parse_time(const char *text, loom_ms_selection *selection) {
    const char *slash = strchr(text, '/');
    double from = -INFINITY, to = INFINITY;
    char *first = slash ? loom_xprintf("%.*s", (int)(slash - text), text) : NULL;
    bool good = slash && (!*first || take_time(first, &from)) && (!slash[1] || take_time(slash + 1, &to));
    free(first);
    if (!good) {
        return loom_status_note(
            loom_error(LOOM_E_USAGE, "--time %s: expected FROM/TO", text),
            "hint: for example 2020-05-31T12:00:00/2020-05-31T13:30, or MJD days: 59000.5/59000.6; either "
            "end may be left open");
    }
    if (!(from < to)) return loom_error(LOOM_E_USAGE, "--time %s: the range is empty (its end is left out)", text);
    selection->by_time = true;
    selection->time_from = from;
    selection->time_to = to;
    return NULL;
}

loom_status *cli_selection_parse(cli_selection *s) {
    LOOM_TRY(cli_parse_channels(s->channels, &s->rows));
    if (s->time) LOOM_TRY(cli_parse_time(s->time, &s->rows));
    s->rows.by_scan = s->scan != CLI_ALL_SCANS;
    s->rows.scan = s->scan;
    return NULL;
}

loom_status *cli_check_observation(const char **rest, int n, const char *expected) {
    if (n == 0) return loom_error(LOOM_E_USAGE, "no observation given: expected %s", expected);
    if (n == 1) return NULL;
    /* Other programs' options take two words. */
    char *end;
    for (int i = 0; i < n; i++) {
        (void)strtod(rest[i], &end);
        if (end == rest[i] || *end) continue;
        return loom_status_note(loom_error(LOOM_E_USAGE, "one observation at a time: '%s' is too many", rest[i]),
                                "hint: an option's value is one word, as in --size 512x256 and --weight briggs:0.5");
    }
    return loom_error(LOOM_E_USAGE, "one observation at a time: '%s' is too many", rest[1]);
}
