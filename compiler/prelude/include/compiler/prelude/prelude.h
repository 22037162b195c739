/* The prelude: what of Weft is written in Weft, linked in as text and read before every program. */
#ifndef LOOM_COMPILER_PRELUDE_H
#define LOOM_COMPILER_PRELUDE_H

#include "compiler/ir/core.h"

extern const loom_source_file loom_prelude_files[];
extern const uint32_t loom_prelude_count;

#endif
