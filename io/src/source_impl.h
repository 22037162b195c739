/* What the kinds of sources share inside io/. */
#ifndef LOOM_IO_SOURCE_IMPL_H
#define LOOM_IO_SOURCE_IMPL_H

#include "io/source.h"

/* How a description of .npy columns starts; the rest is described in source_npy.c. */
#define LOOM_NPY_DESCRIPTION "npy1\t"

/* A source with n_segments + 1 bounds, all 0 but the last; state and description are the caller's to set. */
LOOM_MUST_USE loom_status *loom_source_make(const loom_source_kind *kind, int64_t n_elements, uint32_t n_segments,
                                            loom_source **source);
/* The last segment that begins at `first` or before: what element `first` is in, as empty segments come before it. */
uint32_t loom_source_segment_at(const loom_source *source, int64_t first);
LOOM_MUST_USE loom_status *loom_source_npy_open(const char *description, loom_source **source);

#endif
