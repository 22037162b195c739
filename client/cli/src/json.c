#include "json.h"

void cli_json_text(loom_buffer *b, const char *text) {
    loom_buffer_text(b, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            loom_buffer_printf(b, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            loom_buffer_printf(b, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            loom_buffer_append(b, text, 1);
    }
    loom_buffer_text(b, "\"");
}
