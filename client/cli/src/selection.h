/* Which rows and channels of an observation: what `image` and `predict` are told alike. */
#ifndef LOOM_CLI_SELECTION_H
#define LOOM_CLI_SELECTION_H

#include "common/option.h"
#include "io/ms.h"

/* No number that a scan has: those below 0 occur. */
#define CLI_ALL_SCANS INT64_MIN

typedef struct cli_selection {
    loom_ms_selection rows;
    const char *channels, *time; /* as typed; time may be NULL */
    int64_t scan;                /* CLI_ALL_SCANS: all */
} cli_selection;

/* --column is each command's own: it means what is read in one, what is written in the other. */
#define CLI_SELECTION {.rows = {.spw = LOOM_MS_ALL, .channel_to = LOOM_MS_ALL}, .channels = ":", .scan = CLI_ALL_SCANS}
#define CLI_SELECTION_OPTIONS(s)                                                                                       \
    {"field",                                                                                                          \
     0,                                                                                                                \
     LOOM_OPT_INT,                                                                                                     \
     &(s).rows.field,                                                                                                  \
     "N",                                                                                                              \
     "Field to use: FIELD_ID, or the row of a UVFITS file's table AIPS SU; default 0.",                                \
     0,                                                                                                                \
     0},                                                                                                               \
        {"spw",                                                                                                        \
         0,                                                                                                            \
         LOOM_OPT_INT,                                                                                                 \
         &(s).rows.spw,                                                                                                \
         "N",                                                                                                          \
         "Spectral window to use (UVFITS: IF), counted from 0; default: all.",                                         \
         0,                                                                                                            \
         INT32_MAX},                                                                                                   \
        {"channels",                                                                                                   \
         0,                                                                                                            \
         LOOM_OPT_TEXT,                                                                                                \
         &(s).channels,                                                                                                \
         "A:B",                                                                                                        \
         "Channels to use of each spectral window, counted from 0, B left out; default all.",                          \
         0,                                                                                                            \
         0},                                                                                                           \
        {"time",                                                                                                       \
         0,                                                                                                            \
         LOOM_OPT_TEXT,                                                                                                \
         &(s).time,                                                                                                    \
         "FROM/TO",                                                                                                    \
         "Times to use, UTC as 2020-05-31T12:00:00 or as MJD days; TO is left out; either end may be open.",           \
         0,                                                                                                            \
         0},                                                                                                           \
        {"scan", 0, LOOM_OPT_INT, &(s).scan, "N", "SCAN_NUMBER of the rows to use (MeasurementSets); default all.",    \
         0,      0}

/* What was typed, into `rows`. */
LOOM_MUST_USE loom_status *cli_selection_parse(cli_selection *selection);
/* That what is left of the command line is one observation; `expected`: of which kinds. */
LOOM_MUST_USE loom_status *cli_check_observation(const char **rest, int n, const char *expected);

/* "2:6", ":6", "2:" */
LOOM_MUST_USE loom_status *cli_parse_channels(const char *text, loom_ms_selection *selection);
/* "2020-05-31T12:00:00/2020-05-31T13:00", "59000.5/", "/59000.5": UTC, the end left out. */
LOOM_MUST_USE loom_status *cli_parse_time(const char *text, loom_ms_selection *selection);
/* A number without a sign; *at moves behind it. False: there is none. */
bool cli_take_number(const char **at, int64_t *number);

#endif
