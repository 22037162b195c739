#include "replies.h"
#include "common/buffer.h"
#include "common/hash.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct known {
    struct known *next;
    uint64_t hash;
    char *request, *reply;
    size_t request_length, length;
} known;

struct loom_replies {
    known *first; /* the latest one used */
    size_t bytes, most;
};

loom_replies *loom_replies_create(size_t most) {
    loom_replies *r = loom_xcalloc(1, sizeof *r);
    r->most = most;
    return r;
}

static size_t bytes_of(const known *k) {
    return sizeof *k + k->request_length + k->length;
}

static void free_known(known *k) {
    free(k->request);
    free(k->reply);
    free(k);
}

void loom_replies_destroy(loom_replies *r) {
    if (!r) return;
    while (r->first) {
        known *k = r->first;
        r->first = k->next;
        free_known(k);
    }
    free(r);
}

/* Takes it out of the list, if it is there. */
static known *take_out(loom_replies *r, const void *request, size_t length) {
    uint64_t hash = loom_hash_bytes(request, length).low;
    for (known **at = &r->first; *at; at = &(*at)->next) {
        known *k = *at;
        if (k->hash != hash || k->request_length != length || memcmp(k->request, request, length) != 0) continue;
        *at = k->next;
        return k;
    }
    return NULL;
}

static void put_first(loom_replies *r, known *k) {
    k->next = r->first;
    r->first = k;
}

/* What was not used for longest goes. */
static void drop_last(loom_replies *r) {
    known **at = &r->first;
    while ((*at)->next) at = &(*at)->next;
    r->bytes -= bytes_of(*at);
    free_known(*at);
    *at = NULL;
}

void loom_replies_put(loom_replies *r, char *request, size_t request_length, const void *reply, size_t length) {
    known *k = take_out(r, request, request_length);
    if (k) {
        r->bytes -= bytes_of(k);
        free_known(k);
    }
    k = loom_xcalloc(1, sizeof *k);
    *k = (known){.hash = loom_hash_bytes(request, request_length).low, .request = request};
    k->request_length = request_length;
    k->length = length;
    if (bytes_of(k) > r->most) {
        free_known(k);
        return;
    }
    k->reply = loom_xmalloc(length + 1);
    memcpy(k->reply, reply, length);
    r->bytes += bytes_of(k);
    put_first(r, k);
    while (r->bytes > r->most) drop_last(r);
}

const void *loom_replies_find(loom_replies *r, const void *request, size_t request_length, size_t *length) {
    known *k = take_out(r, request, request_length);
    if (!k) return NULL;
    put_first(r, k);
    *length = k->length;
    return k->reply;
}
