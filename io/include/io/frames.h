/* Elements of a stream as bytes one after the other, as a pipe brings them: raw frames.
 *
 * A frame is one element. For each scalar leaf of the element's type, in order: for each array level of the leaf,
 * outermost first, one length (i64) for each list of that level, then its scalars. All little-endian, without gaps;
 * bool is a byte. So the frames of `seq f64` are its numbers, those of `seq (i64, [n]f32)` each an i64, an i64 length
 * and so many f32. There is no header and no end but that of the file.
 *
 * Limits: an element has at most LOOM_MAX_FRAME_BYTES; memory is taken as bytes arrive, whatever lengths say.
 * Threads: one at a time.
 */
#ifndef LOOM_IO_FRAMES_H
#define LOOM_IO_FRAMES_H

#include "common/value.h"
#include <stdio.h>

/* A lengths field that was damaged should not make a reader wait for 2^60 bytes; a gigabyte is the largest image. */
#define LOOM_MAX_FRAME_BYTES ((uint64_t)1 << 30)

typedef struct loom_frame_leaf {
    const char *name;
    loom_dtype dtype;
    uint32_t depth; /* levels inside an element */
} loom_frame_leaf;

typedef struct loom_frames loom_frames;
/* Reads `fd`, called `what` in errors; leaves are copied. */
LOOM_MUST_USE loom_status *loom_frames_open(int fd, const char *what, const loom_frame_leaf *leaves, uint32_t n_leaves,
                                            loom_frames **frames);
void loom_frames_close(loom_frames *frames); /* NULL is fine; `fd` stays open */
/* Waits up to `milliseconds` for bytes and takes what is there, and what comes close behind within `gather` seconds, up
 * to about `most` bytes: whole elements become *elements, NULL where there are none yet. *end: the input has ended, and
 * these were the last. An input that ends inside a frame is LOOM_E_DATA, as is one that makes no sense; the whole
 * elements before are given out first. */
LOOM_MUST_USE loom_status *loom_frames_read(loom_frames *frames, int milliseconds, double gather, size_t most,
                                            loom_value **elements, bool *end);
/* All up to the end of the input, as one value, of no elements maybe. `cancelled` is asked now and then. */
LOOM_MUST_USE loom_status *loom_frames_read_all(loom_frames *frames, loom_status *(*cancelled)(void),
                                                loom_value **elements);
/* Elements of the outermost level as frames. */
LOOM_MUST_USE loom_status *loom_frames_write(const loom_value *elements, FILE *to);

#endif
