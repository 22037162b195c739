/* Raw frames through a pipe, in pieces of every size, and what is wrong with some. */
#include "common/buffer.h"
#include "io/frames.h"
#include "loom_test.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const loom_frame_leaf leaves[] = {
    {"t", LOOM_I64, 0}, {"xs", LOOM_F32, 1}, {"ok", LOOM_BOOL, 0}, {"rows", LOOM_I16, 2}};
enum {
    LEAVES = 4,
    ELEMENTS = 3
};

static void put_i64(loom_buffer *b, int64_t x) {
    loom_buffer_append(b, &x, sizeof x);
}

/* Element i: t = i, xs of i numbers, ok a byte that is not 0 for odd i, rows of lengths 1 and i. */
static loom_buffer sample(void) {
    loom_buffer b = {0};
    for (int64_t i = 0; i < ELEMENTS; i++) {
        put_i64(&b, i);
        put_i64(&b, i);
        for (int64_t k = 0; k < i; k++) loom_buffer_append(&b, &(float){(float)(10 * i + k)}, 4);
        loom_buffer_append(&b, i % 2 ? "\7" : "\0", 1);
        put_i64(&b, 2);
        put_i64(&b, 1);
        put_i64(&b, i);
        for (int16_t k = 0; k <= i; k++) loom_buffer_append(&b, &k, 2);
    }
    return b;
}

typedef struct reading {
    int pipe[2];
    loom_frames *frames;
} reading;

static reading open_pipe(const loom_frame_leaf *of, uint32_t n) {
    reading r;
    LOOM_CHECK(pipe(r.pipe) == 0);
    LOOM_OK(loom_frames_open(r.pipe[0], "the pipe", of, n, &r.frames));
    return r;
}

static void send_bytes(const reading *r, const char *bytes, size_t n) {
    LOOM_CHECK(write(r->pipe[1], bytes, n) == (ssize_t)n);
}

static void close_pipe(reading *r) {
    loom_frames_close(r->frames);
    close(r->pipe[0]);
    if (r->pipe[1] >= 0) close(r->pipe[1]);
}

static void hang_up(reading *r) {
    close(r->pipe[1]);
    r->pipe[1] = -1;
}

static loom_status *never(void) {
    return NULL;
}

static loom_buffer written(const loom_value *value) {
    char *bytes = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&bytes, &n);
    LOOM_OK(loom_frames_write(value, to));
    fclose(to);
    return (loom_buffer){bytes, n, n};
}

static void check_sample(const loom_value *value, const loom_buffer *frames) {
    LOOM_OK(loom_value_check(value));
    LOOM_CHECK_EQ_INT(loom_value_find(value, "xs")->n_data, 3);
    LOOM_CHECK_EQ_INT(loom_value_find(value, "xs")->extents[1], LOOM_IRREGULAR);
    LOOM_CHECK_EQ_INT(loom_value_find(value, "rows")->extents[1], 2); /* of one length */
    LOOM_CHECK_EQ_INT(loom_value_find(value, "rows")->lengths[2][5], 2);
    LOOM_CHECK_EQ_INT(((const unsigned char *)loom_value_find(value, "ok")->data)[1], 1);
    loom_buffer again = written(value);
    LOOM_CHECK_EQ_INT(again.length, frames->length);
    size_t differ = 0; /* the truth value that was a 7 */
    for (size_t i = 0; i < again.length && i < frames->length; i++) differ += again.data[i] != frames->data[i];
    LOOM_CHECK_EQ_INT(differ, 1);
    free(again.data);
}

LOOM_TEST(io_frames, pieces_of_every_size) {
    loom_buffer frames = sample();
    for (size_t piece = 1; piece <= frames.length; piece += 1 + piece / 8) {
        reading r = open_pipe(leaves, LEAVES);
        loom_value *parts[ELEMENTS], *all;
        size_t n = 0;
        bool end = false;
        for (size_t at = 0; at < frames.length; at += piece) {
            size_t some = frames.length - at < piece ? frames.length - at : piece;
            send_bytes(&r, frames.data + at, some);
            LOOM_OK(loom_frames_read(r.frames, 0, 0, SIZE_MAX, &parts[n], &end));
            n += parts[n] != NULL;
            LOOM_CHECK(!end && n <= ELEMENTS);
        }
        hang_up(&r);
        loom_value *none;
        LOOM_OK(loom_frames_read(r.frames, 0, 0, SIZE_MAX, &none, &end));
        LOOM_CHECK(end && !none);
        LOOM_OK(loom_value_concat(parts, n, &all));
        for (size_t i = 0; i < n; i++) loom_value_unref(parts[i]);
        LOOM_CHECK_EQ_INT(all->leaves[0].extents[0], ELEMENTS);
        loom_buffer again = written(all);
        LOOM_CHECK_EQ_INT(again.length, frames.length);
        free(again.data);
        loom_value_unref(all);
        close_pipe(&r);
    }
    loom_buffer_free(&frames);
}

LOOM_TEST(io_frames, all_at_once_and_none) {
    loom_buffer frames = sample();
    reading r = open_pipe(leaves, LEAVES);
    send_bytes(&r, frames.data, frames.length);
    hang_up(&r);
    loom_value *value;
    LOOM_OK(loom_frames_read_all(r.frames, never, &value));
    check_sample(value, &frames);
    loom_value_unref(value);
    close_pipe(&r);
    loom_buffer_free(&frames);

    r = open_pipe(leaves, LEAVES);
    hang_up(&r);
    LOOM_OK(loom_frames_read_all(r.frames, never, &value));
    LOOM_OK(loom_value_check(value));
    LOOM_CHECK_EQ_INT(value->leaves[3].extents[0], 0);
    loom_value_unref(value);
    close_pipe(&r);
}

LOOM_TEST(io_frames, an_end_inside_a_frame) {
    loom_buffer frames = sample();
    reading r = open_pipe(leaves, LEAVES);
    send_bytes(&r, frames.data, frames.length - 1);
    hang_up(&r);
    loom_value *value;
    loom_status *status = loom_frames_read_all(r.frames, never, &value);
    LOOM_CHECK_HAS(loom_status_message(status), "ends inside element 2");
    loom_status_free(status);
    close_pipe(&r);
    loom_buffer_free(&frames);
}

/* Elements that have come are there, and the error comes after them. */
static void gives_out_before(const char *rest, size_t n, const char *part) {
    loom_buffer frames = sample();
    reading r = open_pipe(leaves, LEAVES);
    loom_buffer_append(&frames, rest, n);
    send_bytes(&r, frames.data, frames.length);
    hang_up(&r);
    loom_value *value;
    bool end;
    LOOM_OK(loom_frames_read(r.frames, 0, 0, SIZE_MAX, &value, &end));
    LOOM_CHECK(!end && value);
    frames.length -= n;
    check_sample(value, &frames);
    loom_value_unref(value);
    loom_status *status = loom_frames_read(r.frames, 0, 0, SIZE_MAX, &value, &end);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_DATA);
    LOOM_CHECK_HAS(loom_status_message(status), part);
    loom_status_free(status);
    close_pipe(&r);
    loom_buffer_free(&frames);
}

LOOM_TEST(io_frames, whole_elements_come_before_an_error) {
    gives_out_before("1234567", 7, "ends inside element 3");
    gives_out_before((const char *)(int64_t[]){3, -1}, 16, "element 3 has an array of length -1");
}

static void refuses(const int64_t *numbers, size_t n, const char *part) {
    reading r = open_pipe(&leaves[3], 1);
    send_bytes(&r, (const char *)numbers, n * sizeof *numbers);
    loom_value *value;
    bool end;
    loom_status *status = loom_frames_read(r.frames, 0, 0, SIZE_MAX, &value, &end);
    LOOM_CHECK_HAS(loom_status_message(status), part);
    loom_status_free(status);
    close_pipe(&r);
}

LOOM_TEST(io_frames, lengths_that_make_no_sense) {
    refuses((int64_t[]){-1}, 1, "length -1");
    refuses((int64_t[]){INT64_MAX}, 1, "more than");
    refuses((int64_t[]){2, INT64_MAX, INT64_MAX}, 3, "more than");
    refuses((int64_t[]){4, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}, 5, "more than");
    refuses((int64_t[]){1, 1 << 30}, 2, "more than");
}

LOOM_TEST(io_frames, elements_have_bytes) {
    loom_frames *frames;
    LOOM_FAILS(loom_frames_open(0, "input", leaves, 0, &frames), LOOM_E_USAGE);
    loom_frame_leaf deep = {"x", LOOM_F32, LOOM_MAX_DEPTH};
    LOOM_FAILS(loom_frames_open(0, "input", &deep, 1, &frames), LOOM_E_LIMIT);
}
