/* Answers of the compiler that were good, by request: the same request again, as of jobs that are one program over one
 * stretch of a stream after another, needs no child. The latest ones, as many as fit. Threads: the loop's. */
#ifndef LOOM_DAEMON_REPLIES_H
#define LOOM_DAEMON_REPLIES_H

#include <stddef.h>

typedef struct loom_replies loom_replies;

/* Of at most `most` bytes, requests and answers together. */
loom_replies *loom_replies_create(size_t most);
void loom_replies_destroy(loom_replies *replies); /* NULL is fine */
/* Takes `request` (malloc'ed), copies the answer. */
void loom_replies_put(loom_replies *replies, char *request, size_t request_length, const void *reply, size_t length);
/* NULL: there is none. Valid until the next put. */
const void *loom_replies_find(loom_replies *replies, const void *request, size_t request_length, size_t *length);

#endif
