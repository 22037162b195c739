/* JSON for machines. */
#ifndef LOOM_CLI_JSON_H
#define LOOM_CLI_JSON_H

#include "common/buffer.h"

/* The text in quotes, escaped. */
void cli_json_text(loom_buffer *buffer, const char *text);

#endif
