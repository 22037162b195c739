/* Texts that are linked in (embed.cmake). */
#ifndef LOOM_CLI_EMBEDDED_H
#define LOOM_CLI_EMBEDDED_H

#include <stddef.h>

extern const char cli_image_weft[];
extern const size_t cli_image_weft_length;
extern const char cli_aterm_weft[];
extern const size_t cli_aterm_weft_length;
extern const char cli_predict_weft[];
extern const size_t cli_predict_weft_length;

#endif
