/* Wire tables shared by the codecs of this folder. */
#ifndef LOOM_PLAN_TABLES_H
#define LOOM_PLAN_TABLES_H
#include "wire.h"
extern const loom_wire_table loom_wire_span;
#endif
