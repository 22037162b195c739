/* An observation in whichever of the formats read here: a MeasurementSet (a directory) or UVFITS (a file). */
#ifndef LOOM_IO_OBSERVATION_H
#define LOOM_IO_OBSERVATION_H

#include "io/ms.h"

/* As loom_ms_open and loom_uvfits_open. */
LOOM_MUST_USE loom_status *loom_observation_open(const char *path, const loom_ms_selection *selection,
                                                 loom_source **source, loom_ms_info **info);

/* The fields of its elements (io/ms.h, "READING"). */
const loom_source_field *loom_observation_fields(uint32_t *n);

#endif
