/* Logging: one call, one line a message, to standard error (a daemon's journal). Threads: any. */
#ifndef LOOM_COMMON_LOG_H
#define LOOM_COMMON_LOG_H

#include "common/status.h"
#include <stdbool.h>

typedef enum loom_level {
    LOOM_LOG_ERROR,
    LOOM_LOG_WARN,
    LOOM_LOG_INFO,
    LOOM_LOG_DEBUG
} loom_level;

/* Prefix of each line, e.g. "gridloomd"; kept by pointer. Level from GRIDLOOM_LOG=error|warn|info|debug, else warn.
 * Standard streams that are closed are opened, so that no file takes their numbers: what is printed then fails. */
void loom_log_init(const char *program);
void loom_log_set_level(loom_level level);
bool loom_log_enabled(loom_level level);
void loom_log(loom_level level, const char *format, ...) LOOM_PRINTF(2, 3);
/* Logs a status and frees it. */
void loom_log_status(loom_level level, loom_status *status);

#endif
