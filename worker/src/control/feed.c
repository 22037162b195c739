/* Pulling blocks. What the working thread will need next is asked for in the order of the queue, LOOM_CHUNKS_AHEAD
 * pieces at a time. Streams that the worker opens itself need no asking: their chunks are ready at once. */
#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "control/control.h"
#include "control/kept.h"
#include "proto/value_codec.h"
#include "proto/wire.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What an answer is for: a chunk, or the constants of a run. */
typedef struct request {
    struct request *next;
    uint64_t ticket;
    const loom_item *item; /* NULL: constants. Compared, not followed: it may be gone */
    loom_work_run *run;
    uint32_t *params;
    size_t n_params;
    int64_t first, count;
    uint32_t stream; /* constants: of this one */
    double asked;
} request;

typedef struct loom_feed {
    loom_control *control;
    loom_work_job *job;
    loom_socket *socket;
    char *endpoint;
    uint64_t received; /* bytes of all messages */
    request *requests;
} loom_feed;

void loom_chunk_free(loom_chunk *chunk, uint32_t n_streams) {
    for (uint32_t i = 0; i < n_streams; i++) loom_value_unref(chunk->values[i]);
    loom_status_free(chunk->status);
    free(chunk->values);
    free(chunk);
}

static bool any_served(const loom_work_run *run) {
    for (uint32_t i = 0; i < run->n_streams; i++) {
        if (loom_run_is_served(run, i)) return true;
    }
    return false;
}

/* ---- answers ---- */

static request *take_request(loom_feed *feed, uint64_t ticket) {
    for (request **at = &feed->requests; *at; at = &(*at)->next) {
        if ((*at)->ticket != ticket) continue;
        request *found = *at;
        *at = found->next;
        return found;
    }
    return NULL;
}

static void free_request(request *r) {
    free(r->params);
    free(r);
}

/* Values for the served streams, in order, or for the one whose constants were asked for. Frames are moved out. */
static loom_status *take_values(loom_incoming *in, const request *r, loom_value **values) {
    const Wire__Block *block = in->message->block;
    size_t next_value = 0, next_frame = 0;
    for (uint32_t i = 0; i < r->run->n_streams; i++) {
        if (r->item ? !loom_run_is_served(r->run, i) : i != r->stream) continue;
        if (next_value == block->n_values) return loom_error(LOOM_E_PROTOCOL, "a block with too few streams");
        const Wire__Value *value = block->values[next_value++];
        size_t columns;
        uint64_t bytes;
        LOOM_TRY(loom_wire_value_check(value, &columns, &bytes));
        if (columns > in->n_frames - next_frame) return loom_error(LOOM_E_PROTOCOL, "a block with too few columns");
        if (value->n_leaves) LOOM_TRY(loom_value_over_frames(value, in->frames + next_frame, columns, &values[i]));
        next_frame += columns;
    }
    return NULL;
}

/* The chunk may be gone: its item was dropped with its job. */
static loom_chunk *find_chunk(loom_control *c, const loom_item *item, uint64_t ticket) {
    for (loom_item *i = c->queue; i; i = i->next) {
        if (i != item) continue;
        for (loom_chunk *k = i->chunks; k; k = k->next) {
            if (k->ticket == ticket) return k;
        }
    }
    return NULL;
}

static void give_constants(loom_control *c, loom_work_run *run, loom_value **values, loom_status *status) {
    pthread_mutex_lock(&c->lock);
    for (uint32_t i = 0; i < run->n_streams; i++) {
        if (!values[i]) continue;
        loom_value_unref(run->constants[i]);
        run->constants[i] = values[i];
        values[i] = NULL;
    }
    run->constants_pending--;
    if (status && !run->broken) {
        run->broken = status;
        status = NULL;
    }
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    loom_status_free(status);
}

static void give_chunk(loom_control *c, const request *r, loom_value **values, loom_status *status) {
    pthread_mutex_lock(&c->lock);
    loom_chunk *chunk = find_chunk(c, r->item, r->ticket);
    if (chunk && !chunk->ready) {
        if (!status) loom_kept_add(c, r->run, r->first, r->count, values);
        for (uint32_t i = 0; i < r->run->n_streams; i++) {
            chunk->values[i] = values[i];
            values[i] = NULL;
        }
        chunk->status = status;
        chunk->ready = true;
        status = NULL;
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
    loom_status_free(status);
}

static void on_block(void *user, loom_incoming *in) {
    loom_feed *feed = user;
    loom_control *c = feed->control;
    const Wire__Block *block = in->message->body_case == WIRE__MESSAGE__BODY_BLOCK ? in->message->block : NULL;
    /* As the serving side counts: everything that it sent, wanted or not. */
    feed->received += in->bytes;
    request *r = block ? take_request(feed, block->ticket) : NULL;
    if (!r) {
        if (!block) loom_log(LOOM_LOG_WARN, "a message that is not a block");
        loom_incoming_destroy(in);
        return;
    }
    loom_value **values = loom_xcalloc((size_t)r->run->n_streams + 1, sizeof *values);
    loom_status *status = loom_wire_status_restore(block->status);
    if (!status) status = take_values(in, r, values);
    loom_incoming_destroy(in);
    if (r->item) {
        give_chunk(c, r, values, status);
    } else {
        give_constants(c, r->run, values, status);
    }
    for (uint32_t i = 0; i < r->run->n_streams; i++) loom_value_unref(values[i]);
    free(values);
    free_request(r);
    loom_feed_ahead(c);
}

/* ---- requests ---- */

static loom_status *open_feed(loom_control *c, loom_work_job *job) {
    loom_feed *feed = job->feed;
    if (feed->socket) return NULL;
    loom_socket_options options = {
        .context = c->zmq, .type = ZMQ_DEALER, .max_frame = LOOM_MAX_BLOCK_FRAME, .on_message = on_block, .user = feed};
    feed->control = c;
    LOOM_TRY(loom_socket_create(&c->loop, &options, &feed->socket));
    loom_status *status = loom_socket_connect(feed->socket, feed->endpoint, c->options.insecure);
    if (!status) return NULL;
    loom_socket_close(feed->socket, 0);
    feed->socket = NULL;
    return status;
}

static void send_request(loom_feed *feed, request *r) {
    Wire__Fetch fetch = WIRE__FETCH__INIT;
    fetch.job = feed->job->id;
    fetch.ticket = r->ticket;
    fetch.n_params = r->n_params;
    fetch.params = r->params;
    fetch.first = (uint64_t)r->first;
    fetch.count = (uint64_t)r->count;
    fetch.constants = !r->item;
    fetch.credit = feed->received + LOOM_FETCH_WINDOW;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_FETCH;
    message.fetch = &fetch;
    r->asked = loom_seconds();
    loom_socket_send(feed->socket, NULL, 0, loom_packet_create(&message));
}

static void give_failure(loom_control *c, const request *r, loom_status *status) {
    loom_value **none = loom_xcalloc((size_t)r->run->n_streams + 1, sizeof *none);
    if (r->item) {
        give_chunk(c, r, none, status);
    } else {
        give_constants(c, r->run, none, status);
    }
    free(none);
}

/* Copies `asked`, whose params it takes. */
static void ask(loom_control *c, request asked) {
    loom_feed *feed = asked.run->job->feed;
    loom_status *status = open_feed(c, asked.run->job);
    if (status) {
        give_failure(c, &asked, status);
        free(asked.params);
        return;
    }
    request *r = loom_xmalloc(sizeof *r);
    *r = asked;
    r->next = feed->requests;
    feed->requests = r;
    send_request(feed, r);
}

/* One request per stream: each names a segment of its own stream. */
void loom_feed_constants(loom_control *c, loom_work_run *run) {
    for (uint32_t i = 0; run->segments && i < run->n_streams; i++) {
        if (!loom_run_is_served(run, i) || !run->has_constants[i]) continue;
        pthread_mutex_lock(&c->lock);
        run->constants_pending++;
        pthread_mutex_unlock(&c->lock);
        request r = {.ticket = ++c->next_ticket, .run = run, .n_params = 1, .first = run->segments[i], .stream = i};
        r.params = loom_xmalloc(sizeof *r.params);
        r.params[0] = loom_run_param(run, i);
        ask(c, r);
    }
}

/* ---- ahead of time ---- */

/* Blocks of the item that are all within so many elements from the next one on. */
static int64_t blocks_within(const loom_item *item, int64_t elements) {
    int64_t left = item->count - item->planned * item->block;
    return elements >= left ? item->n_blocks - item->planned : elements / item->block;
}

/* `kept`: of the blocks that come next, so many need not be asked for. */
static int64_t blocks_at_once(const loom_item *item, int64_t kept) {
    const loom_work_run *run = item->run;
    if (item->what == WIRE__TASK_KIND__WHOLE || run->interpret) return 1;
    int64_t n = run->chunk_blocks;
    if (kept) {
        if (kept < n) n = kept;
    } else if (any_served(run) && item->spilled < 0) {
        double bytes = run->bytes_per_element * (double)item->block,
               blocks = bytes > 0 ? LOOM_SERVED_CHUNK_BYTES / bytes : 1;
        /* The first ones are small, so that reading and computing soon go on side by side. */
        double begun = blocks / LOOM_FIRST_CHUNKS + (double)item->planned;
        if (begun < blocks) blocks = begun;
        if (blocks < (double)n) n = (int64_t)blocks;
    }
    return n < 1 ? 1 : n;
}

/* The next chunk of an item; blocks of a lease are all `block` long but the last. Ready: its elements are here, or the
 * working thread reads them itself. */
static loom_chunk *plan_chunk(loom_control *c, loom_item *item) {
    bool local = item->spilled >= 0 || !any_served(item->run);
    int64_t first = item->first + item->planned * item->block;
    int64_t kept = local ? 0 : blocks_within(item, loom_kept_reach(c, item->run, first));
    int64_t n = blocks_at_once(item, kept);
    if (n > item->n_blocks - item->planned) n = item->n_blocks - item->planned;
    loom_chunk *chunk = loom_xcalloc(1, sizeof *chunk);
    chunk->first_block = item->first_block + item->planned;
    chunk->n_blocks = n;
    chunk->first = first;
    int64_t end = item->first + item->count;
    int64_t most = n <= INT64_MAX / item->block ? n * item->block : INT64_MAX;
    chunk->count = most < end - chunk->first ? most : end - chunk->first;
    chunk->values = loom_xcalloc((size_t)item->run->n_streams + 1, sizeof *chunk->values);
    if (kept) loom_kept_get(c, item->run, first, chunk->count, chunk->values, &chunk->status);
    chunk->ready = local || kept;
    item->planned += n;
    return chunk;
}

static void append_chunk(loom_item *item, loom_chunk *chunk) {
    loom_chunk **at = &item->chunks;
    while (*at) at = &(*at)->next;
    *at = chunk;
}

static bool needs_blocks(const loom_item *item) {
    return item->kind == LOOM_ITEM_TASK &&
           (item->what == WIRE__TASK_KIND__FOLD || item->what == WIRE__TASK_KIND__WHOLE) && !item->job->closed &&
           !item->run->closed;
}

static void fill_params(request *r) {
    r->params = loom_xcalloc((size_t)r->run->n_streams + 1, sizeof *r->params);
    for (uint32_t i = 0; i < r->run->n_streams; i++) {
        if (loom_run_is_served(r->run, i)) r->params[r->n_params++] = loom_run_param(r->run, i);
    }
}

/* Enters the next chunk; false: nothing more is to be had now. `r` is filled, with params, if it must be asked for. The
 * item itself is not to be touched outside the lock: the working thread may end it at any moment. */
static bool next_chunk(loom_control *c, request *r) {
    int ahead = 0;
    for (loom_item *item = c->queue; item; item = item->next) {
        if (!needs_blocks(item)) continue;
        for (loom_chunk *k = item->chunks; k; k = k->next) ahead++;
        if (ahead >= LOOM_CHUNKS_AHEAD) return false;
        if (item->planned >= item->n_blocks) continue;
        loom_chunk *chunk = plan_chunk(c, item);
        append_chunk(item, chunk);
        chunk->ticket = ++c->next_ticket;
        *r = (request){.ticket = chunk->ticket, .item = item, .run = item->run};
        r->first = chunk->first;
        r->count = chunk->count;
        if (chunk->ready) {
            pthread_cond_broadcast(&c->changed);
        } else {
            fill_params(r);
        }
        return true;
    }
    return false;
}

void loom_feed_ahead(loom_control *c) {
    for (bool more = true; more;) {
        request r = {0};
        pthread_mutex_lock(&c->lock);
        more = !c->stopping && next_chunk(c, &r);
        pthread_mutex_unlock(&c->lock);
        if (r.params) ask(c, r);
    }
}

void loom_feed_check(loom_control *c) {
    double now = loom_seconds();
    for (loom_work_job *job = c->jobs; job; job = job->next) {
        for (request *r = job->feed->requests; r; r = r->next) {
            if (now - r->asked > LOOM_FETCH_PATIENCE) send_request(job->feed, r);
        }
    }
}

void loom_feed_forget(const loom_work_run *run) {
    for (request **at = &run->job->feed->requests; *at;) {
        request *r = *at;
        if (r->run == run) {
            *at = r->next;
            free_request(r);
        } else {
            at = &r->next;
        }
    }
}

struct loom_feed *loom_feed_create(loom_control *c, loom_work_job *job, const char *endpoint) {
    loom_feed *feed = loom_xcalloc(1, sizeof *feed);
    feed->control = c;
    feed->job = job;
    feed->endpoint = loom_xstrdup(endpoint);
    return feed;
}

void loom_feed_close(struct loom_feed *feed) {
    if (!feed) return;
    loom_socket_close(feed->socket, 0);
    while (feed->requests) {
        request *r = feed->requests;
        feed->requests = r->next;
        free_request(r);
    }
    free(feed->endpoint);
    free(feed);
}
