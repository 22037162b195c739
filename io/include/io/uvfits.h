/* UVFITS: an interferometer's visibilities as the random groups of a FITS file (AIPS Memo 117), read as a stream of the
 * same `row` elements as a MeasurementSet (io/ms.h).
 *
 * A row is one group of one IF (spectral window); c channels and h correlations are those of the FREQ and STOKES axes
 * in the order of the file, whatever the order of the axes themselves. A segment is one IF of one frequency setup
 * (FREQSEL); segments come setup by setup, IF by IF, rows of a segment in the order of the file. `spw` of the selection
 * is the number of the segment so counted: the number of the IF, from 0, where there is one setup. `field` is the
 * number of the row of the table AIPS SU, 0 where there is no such table. u, v, w: the parameters UU, VV, WW (any
 * projection suffix) in seconds, times the speed of light: metres. The sign is kept as it stands: the phase of a source
 * at (l, m) is exp(+2 pi i f (u l + v m + w (n - 1))), as in an MS. time: the sum of the parameters DATE, Julian days,
 * as MJD seconds; NaN where there is none. antenna1, antenna2: from BASELINE, 256 a + b up to 65 535, above it 65 536 +
 * 2048 a + b, and from 4 259 840 = 2^16 + 2^22 on that plus 2^31 a + b, a fraction (the subarray) left out; or from
 * ANTENNA1 and ANTENNA2. vis, wt, flag: real and imaginary part; the modulus of the weight; flagged where the weight is
 * <= 0. Parameters are scaled in double precision (PSCAL, PZERO); those of one name add up. Data may be of any BITPIX,
 * scaled (BSCALE, BZERO), integers with BLANK (NaN). Frequency of channel i (from 0): CRVAL + (i + 1 - CRPIX) CDELT +
 * IF FREQ of the table AIPS FQ; the increment may be negative. Where the table has several setups, the modulus of the
 * increment is the setup's CH WIDTH.
 *
 * The parameters of all groups are looked through once when the file is opened; the data is read by blocks. Memory: a
 * block, 1 MiB or the one group that is larger, and 24 bytes for each run of adjacent groups that belong together.
 * Sizes that a header claims are held against the file's length before anything is allocated.
 * Threads: blocks may be read from several threads; opening takes a lock that all share, because cfitsio need not be
 * thread-safe.
 */
#ifndef LOOM_IO_UVFITS_H
#define LOOM_IO_UVFITS_H

#include "io/ms.h"

/* PCOUNT and NAXIS have at most three digits in FITS keywords (PTYPE999, CTYPE999). Test: io/test/uvfits_test.c. */
#define LOOM_MAX_UVFITS_KEYS 999
/* IFs times setups: each is a segment with a description of its own, and a plan. Ten times what any telescope records.
 * Test: io/test/uvfits_test.c. */
#define LOOM_MAX_UVFITS_SEGMENTS 65536

/* Opens and validates. Errors name what is wrong and what there is to choose from: not FITS, no random groups,
 * truncated, a missing axis or parameter, no such field, IF or channels, no groups. The only column is DATA. */
LOOM_MUST_USE loom_status *loom_uvfits_open(const char *path, const loom_ms_selection *selection, loom_source **source,
                                            loom_ms_info **info);

#endif
