/* Raw frames: io/frames.h has the format. Bytes are gathered until a frame is whole; its columns are then appended to
 * those of the batch. A frame that is not whole is looked at again when as many bytes are there as it is known to need,
 * which is once a level. */
#include "io/frames.h"
#include "common/buffer.h"
#include "common/clock.h"
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES ((size_t)64 << 10)

/* Grows as bytes come. */
typedef struct bytes {
    char *at;
    size_t n, capacity;
} bytes;

typedef struct frame_column {
    loom_frame_leaf leaf;
    bytes lengths[LOOM_MAX_DEPTH]; /* by level inside an element */
    bytes data;
} frame_column;

struct loom_frames {
    int fd;
    char *what;
    uint32_t n_columns;
    frame_column *columns;
    bytes raw;           /* read, and not a whole frame yet */
    loom_status *broken; /* what ended the input behind elements that have been given out */
    size_t needs;
    int64_t before, n; /* elements given out; elements in the columns */
};

static loom_status *append(bytes *b, const void *from, size_t n) {
    if (n > b->capacity - b->n) {
        size_t capacity = b->capacity ? 2 * b->capacity : 256;
        while (capacity - b->n < n) capacity *= 2; /* n is bounded by bytes that have come */
        char *grown = realloc(b->at, capacity);
        if (!grown) return loom_error(LOOM_E_MEMORY, "no memory for %zu bytes of a stream", capacity);
        b->at = grown;
        b->capacity = capacity;
    }
    if (n) memcpy(b->at + b->n, from, n);
    b->n += n;
    return NULL;
}

loom_status *loom_frames_open(int fd, const char *what, const loom_frame_leaf *leaves, uint32_t n_leaves,
                              loom_frames **frames) {
    uint64_t least = 0;
    for (uint32_t i = 0; i < n_leaves; i++) {
        if (leaves[i].depth >= LOOM_MAX_DEPTH) {
            return loom_error(LOOM_E_LIMIT, "'%s' has %" PRIu32 " array levels, the limit is %d", leaves[i].name,
                              leaves[i].depth, LOOM_MAX_DEPTH - 1);
        }
        least += leaves[i].depth ? sizeof(int64_t) : loom_dtype_size(leaves[i].dtype);
    }
    if (!least) return loom_error(LOOM_E_USAGE, "%s: elements without scalars have no bytes", what);
    loom_frames *f = loom_xcalloc(1, sizeof *f);
    f->fd = fd;
    f->what = loom_xstrdup(what);
    f->columns = loom_xcalloc(n_leaves, sizeof *f->columns);
    f->n_columns = n_leaves;
    for (uint32_t i = 0; i < n_leaves; i++) {
        f->columns[i].leaf = leaves[i];
        f->columns[i].leaf.name = loom_xstrdup(leaves[i].name);
    }
    f->needs = least;
    *frames = f;
    return NULL;
}

void loom_frames_close(loom_frames *f) {
    if (!f) return;
    for (uint32_t i = 0; i < f->n_columns; i++) {
        for (uint32_t k = 0; k < LOOM_MAX_DEPTH; k++) free(f->columns[i].lengths[k].at);
        free(f->columns[i].data.at);
        free((char *)(uintptr_t)f->columns[i].leaf.name);
    }
    free(f->columns);
    free(f->raw.at);
    loom_status_free(f->broken);
    free(f->what);
    free(f);
}

/* ---- a frame ---- */

typedef struct cursor {
    const char *at;
    size_t left, used; /* bytes behind `at`; before it */
    uint64_t missing;  /* bytes that the frame is known to need in all, where they are not there; 0: all are */
} cursor;

static loom_status *too_large(const loom_frames *f, const frame_column *c) {
    return loom_status_note(loom_error(LOOM_E_DATA, "%s: element %" PRId64 " has more than %" PRIu64 " bytes in '%s'",
                                       f->what, f->before + f->n, (uint64_t)LOOM_MAX_FRAME_BYTES, c->leaf.name),
                            "hint: each array in a frame has its length before it, an i64; frames may be out of step");
}

/* `count` items of `size` bytes; NULL where they are not there yet. */
static loom_status *take(const loom_frames *f, const frame_column *c, cursor *at, uint64_t count, size_t size,
                         const char **items) {
    uint64_t n;
    if (__builtin_mul_overflow(count, (uint64_t)size, &n) || n > LOOM_MAX_FRAME_BYTES ||
        at->used + n > LOOM_MAX_FRAME_BYTES) {
        return too_large(f, c);
    }
    *items = NULL;
    if (n > at->left) {
        at->missing = at->used + n;
        return NULL;
    }
    *items = at->at;
    at->at += n;
    at->left -= n;
    at->used += n;
    return NULL;
}

/* One column of the frame; with `keep` it is appended to the batch. */
static loom_status *scan_column(const loom_frames *f, frame_column *c, cursor *at, bool keep) {
    uint64_t lists = 1;
    const char *items;
    for (uint32_t k = 0; k < c->leaf.depth; k++) {
        LOOM_TRY(take(f, c, at, lists, sizeof(int64_t), &items));
        if (!items) return NULL;
        uint64_t sum = 0;
        for (uint64_t i = 0; i < lists; i++) {
            int64_t length;
            memcpy(&length, items + i * sizeof length, sizeof length);
            if (length < 0) {
                return loom_error(LOOM_E_DATA, "%s: element %" PRId64 " has an array of length %" PRId64 " in '%s'",
                                  f->what, f->before + f->n, length, c->leaf.name);
            }
            if (__builtin_add_overflow(sum, (uint64_t)length, &sum)) return too_large(f, c);
        }
        if (keep) LOOM_TRY(append(&c->lengths[k], items, (size_t)lists * sizeof(int64_t)));
        lists = sum;
    }
    LOOM_TRY(take(f, c, at, lists, loom_dtype_size(c->leaf.dtype), &items));
    return items && keep ? append(&c->data, items, (size_t)(at->at - items)) : NULL;
}

/* Looks at a frame at the cursor; where all of it is there and `keep`, appends it. */
static loom_status *scan_frame(loom_frames *f, cursor *at, bool keep) {
    for (uint32_t i = 0; i < f->n_columns && !at->missing; i++) LOOM_TRY(scan_column(f, &f->columns[i], at, keep));
    return NULL;
}

/* All whole frames of the bytes at hand go into the columns. */
static loom_status *scan_all(loom_frames *f) {
    size_t done = 0;
    while (f->raw.n - done >= f->needs) {
        cursor look = {.at = f->raw.at + done, .left = f->raw.n - done}, keep = look;
        LOOM_TRY(scan_frame(f, &look, false));
        if (look.missing) {
            f->needs = (size_t)look.missing;
            break;
        }
        LOOM_TRY(scan_frame(f, &keep, true));
        done += keep.used;
        f->n++;
        f->needs = 1;
    }
    if (done) memmove(f->raw.at, f->raw.at + done, f->raw.n - done);
    f->raw.n -= done;
    return NULL;
}

/* ---- a batch ---- */

static int64_t *take_lengths(bytes *b, int64_t *n) {
    int64_t *lengths = (int64_t *)(void *)b->at;
    *n = (int64_t)(b->n / sizeof(int64_t));
    *b = (bytes){0};
    return lengths;
}

/* Rows of one length are regular: a value has one form. */
static void settle_level(loom_leaf *leaf, uint32_t k, int64_t *lengths, int64_t n) {
    bool same = true;
    for (int64_t i = 1; i < n && same; i++) same = lengths[i] == lengths[0];
    leaf->extents[k] = !same ? LOOM_IRREGULAR : n && leaf->extents[k - 1] != 0 ? lengths[0] : 0;
    if (same) {
        free(lengths);
        return;
    }
    leaf->lengths[k] = lengths;
    leaf->n_lengths[k] = n;
}

static void fill_leaf(loom_frames *f, frame_column *c, loom_leaf *leaf) {
    leaf->name = loom_xstrdup(c->leaf.name);
    leaf->dtype = c->leaf.dtype;
    leaf->depth = c->leaf.depth + 1;
    leaf->extents[0] = f->n;
    for (uint32_t k = 0; k < c->leaf.depth; k++) {
        int64_t n, *lengths = take_lengths(&c->lengths[k], &n);
        settle_level(leaf, k + 1, lengths, n);
    }
    leaf->n_data = (int64_t)(c->data.n / loom_dtype_size(c->leaf.dtype));
    leaf->data = c->data.at ? c->data.at : loom_xcalloc(1, 1);
    for (int64_t i = 0; c->leaf.dtype == LOOM_BOOL && i < leaf->n_data; i++) {
        unsigned char *b = (unsigned char *)leaf->data + i;
        *b = *b != 0;
    }
    c->data = (bytes){0};
}

static loom_status *take_batch(loom_frames *f, loom_value **elements) {
    *elements = NULL;
    if (!f->n) return NULL;
    loom_value *made;
    LOOM_TRY(loom_value_create(f->n_columns, &made));
    for (uint32_t i = 0; i < f->n_columns; i++) fill_leaf(f, &f->columns[i], &made->leaves[i]);
    f->before += f->n;
    f->n = 0;
    *elements = made;
    return NULL;
}

/* ---- reading ---- */

static loom_status *wait_for_bytes(const loom_frames *f, int milliseconds, bool *ready) {
    struct pollfd p = {.fd = f->fd, .events = POLLIN};
    int n = poll(&p, 1, milliseconds);
    *ready = n > 0;
    return n < 0 && errno != EINTR ? loom_error_errno(LOOM_E_NOINPUT, errno, "cannot read %s", f->what) : NULL;
}

static loom_status *read_some(loom_frames *f, size_t *n) {
    char room[READ_BYTES];
    ssize_t got;
    do {
        got = read(f->fd, room, sizeof room);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return loom_error_errno(LOOM_E_NOINPUT, errno, "cannot read %s", f->what);
    *n = (size_t)got;
    return append(&f->raw, room, *n);
}

/* Bytes that come one after the other, as from a program that writes them in pieces, are not further apart. */
#define GAP_MS 10

static loom_status *gather_frames(loom_frames *f, int milliseconds, double seconds, size_t most, bool *end) {
    bool ready;
    LOOM_TRY(wait_for_bytes(f, milliseconds, &ready));
    double until = loom_seconds() + seconds;
    for (size_t all = 0, n; ready && all < most; all += n) {
        LOOM_TRY(read_some(f, &n));
        *end = n == 0;
        if (*end) break;
        LOOM_TRY(scan_all(f));
        LOOM_TRY(wait_for_bytes(f, loom_seconds() < until ? GAP_MS : 0, &ready));
    }
    if (!*end || !f->raw.n) return NULL;
    return loom_status_note(loom_error(LOOM_E_DATA, "%s ends inside element %" PRId64 ", after %zu bytes of it",
                                       f->what, f->before + f->n, f->raw.n),
                            "hint: a frame is an element: its scalars in order, each array with its length before it");
}

loom_status *loom_frames_read(loom_frames *f, int milliseconds, double gather, size_t most, loom_value **elements,
                              bool *end) {
    *end = false;
    loom_status *status = f->broken;
    f->broken = NULL;
    if (!status) status = gather_frames(f, milliseconds, gather, most, end);
    if (status && (f->n == 0 || loom_status_code(status) == LOOM_E_MEMORY)) return status;
    if (status) *end = false;
    f->broken = status;
    return take_batch(f, elements);
}

/* How long to wait for bytes between two looks at what may end the wait. */
#define WAIT_MS 100

typedef struct batches {
    loom_value **at;
    size_t n, capacity;
} batches;

static loom_status *read_batches(loom_frames *f, loom_status *(*cancelled)(void), batches *b) {
    for (bool end = false; !end;) {
        loom_value *batch;
        LOOM_TRY(cancelled());
        LOOM_TRY(loom_frames_read(f, WAIT_MS, 1, SIZE_MAX, &batch, &end));
        if (!batch) continue;
        if (b->n == b->capacity) {
            b->capacity = b->capacity ? 2 * b->capacity : 16;
            b->at = loom_xrealloc(b->at, b->capacity * sizeof *b->at);
        }
        b->at[b->n++] = batch;
    }
    return NULL;
}

static loom_status *no_elements(loom_frames *f, loom_value **elements) {
    loom_value *made;
    LOOM_TRY(loom_value_create(f->n_columns, &made));
    for (uint32_t i = 0; i < f->n_columns; i++) fill_leaf(f, &f->columns[i], &made->leaves[i]);
    *elements = made;
    return NULL;
}

loom_status *loom_frames_read_all(loom_frames *f, loom_status *(*cancelled)(void), loom_value **elements) {
    batches b = {0};
    loom_status *status = read_batches(f, cancelled, &b);
    if (!status) status = b.n ? loom_value_concat(b.at, b.n, elements) : no_elements(f, elements);
    for (size_t i = 0; i < b.n; i++) loom_value_unref(b.at[i]);
    free(b.at);
    return status;
}

/* ---- writing ---- */

/* Of each level of a leaf how many lists, and of its scalars how many, are written. */
typedef struct written {
    int64_t lists[LOOM_MAX_DEPTH + 1];
} written;

/* The next lists of level k (scalars where k is the depth), `n` of them: their lengths, then what is in them. */
static bool write_lists(const loom_leaf *leaf, uint32_t k, int64_t n, written *w, FILE *to) {
    int64_t first = w->lists[k];
    w->lists[k] += n;
    if (k == leaf->depth) {
        size_t size = loom_dtype_size(leaf->dtype);
        return fwrite((const char *)leaf->data + (size_t)first * size, size, (size_t)n, to) == (size_t)n;
    }
    int64_t inside = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t length = loom_leaf_length(leaf, k, first + i);
        if (fwrite(&length, sizeof length, 1, to) != 1) return false;
        inside += length;
    }
    return write_lists(leaf, k + 1, inside, w, to);
}

loom_status *loom_frames_write(const loom_value *elements, FILE *to) {
    int64_t n = elements->n_leaves ? loom_leaf_length(&elements->leaves[0], 0, 0) : 0;
    written *w = loom_xcalloc(elements->n_leaves + 1, sizeof *w);
    bool ok = true;
    for (int64_t i = 0; i < n && ok; i++) {
        for (uint32_t k = 0; k < elements->n_leaves && ok; k++) ok = write_lists(&elements->leaves[k], 1, 1, &w[k], to);
    }
    free(w);
    return ok ? NULL : loom_error_errno(LOOM_E_IO, errno, "cannot write frames");
}
