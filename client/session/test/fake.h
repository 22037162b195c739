/* The jobs that the stand-ins for compiler and executor know, by the entry's name. They let daemon, worker and session
 * be tested alone, at any speed, with results that show whether each element was taken exactly once and in its place.
 *
 *   all     (scale: f64, xs: seq u64): an array stage doubles the scale; a traversal makes the sum (any order), the
 *           composition of the maps t -> (2x + 1) t + x (neighbours only), and the collected x * scale; an array stage
 *           puts the three together as "0", "1.a", "1.b", "2".
 *   stream  (xs: seq u64): x + 1 streams out.
 *   whole   (xs: seq u64): one worker pulls the stream and sums it.
 *   crash   as `all`, but the compiler ends without an answer.
 *
 * An element FAKE_BAD is an error of the program; FAKE_DEADLY ends the worker, and so
 * does FAKE_DAMAGED, as damaged input does. GRIDLOOM_FAKE_DELAY: microseconds that a
 * block takes.
 */
#ifndef LOOM_SESSION_TEST_FAKE_H
#define LOOM_SESSION_TEST_FAKE_H

#define FAKE_BAD     UINT64_MAX
#define FAKE_DEADLY  (UINT64_MAX - 1)
#define FAKE_DAMAGED (UINT64_MAX - 2)

#endif
