/* Growing byte buffer and string builder (malloc'ed). Threads: one at a time. */
#ifndef LOOM_COMMON_BUFFER_H
#define LOOM_COMMON_BUFFER_H

#include "common/status.h"

typedef struct loom_buffer {
    char *data; /* NUL-terminated beyond `length` whenever data is not NULL */
    size_t length, capacity;
} loom_buffer;

void loom_buffer_append(loom_buffer *buffer, const void *bytes,
                        size_t n); /* out of memory ends the process with a message */
void loom_buffer_text(loom_buffer *buffer, const char *text);
void loom_buffer_printf(loom_buffer *buffer, const char *format, ...) LOOM_PRINTF(2, 3);
char *loom_buffer_take(loom_buffer *buffer); /* the bytes; the buffer is empty afterwards; caller frees */
void loom_buffer_free(loom_buffer *buffer);

/* malloc/realloc/strdup that end the process with a message when memory is out: for small bookkeeping whose size does
 * not come from outside. What does come from outside is allocated with a checked size and an error. */
void *loom_xmalloc(size_t bytes);
void *loom_xcalloc(size_t count, size_t size);
void *loom_xrealloc(void *old, size_t bytes);
char *loom_xstrdup(const char *text);
char *loom_xprintf(const char *format, ...) LOOM_PRINTF(1, 2);

/* "24.0 GiB" into text, and that. */
const char *loom_bytes_text(double bytes, char text[32]);

/* Names in files, messages of peers and programs are anybody's: control characters (C0 but line ends and tabs, DEL, and
 * C1 as UTF-8 has it), and what is no UTF-8, become '?', byte by byte and in place, so that they cannot steer the
 * terminal that shows them. */
void loom_make_printable(char *text, size_t length);
char *loom_printable(char *text); /* the same of a string, which may be NULL; returns it */

#endif
