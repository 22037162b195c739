/* A value's header with columns cut from the same bytes: one byte length of the header, the header, then data. */
#include "common/limits.h"
#include "proto/value_codec.h"
#include "proto/wire.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || (size_t)data[0] + 1 > size) return 0;
    size_t header = data[0];
    loom_arena *arena = loom_arena_create(1 << 22);
    ProtobufCMessage *message;
    loom_status *status =
        loom_wire_unpack(&wire__value__descriptor, arena, data + 1, header, &loom_wire_header_limits, &message);
    Wire__Value *wire = status ? NULL : (Wire__Value *)message;
    size_t n;
    uint64_t bytes;
    if (wire) status = loom_wire_value_check(wire, &n, &bytes);
    if (wire && !status) {
        loom_column *columns = calloc(n + 1, sizeof *columns);
        size_t at = header + 1;
        for (size_t i = 0; i < n; i++) {
            size_t length = size - at < wire->column_bytes[i] ? size - at : (size_t)wire->column_bytes[i];
            columns[i] = (loom_column){data + at, length};
            at += length;
        }
        loom_value *value = NULL;
        status = loom_value_over(wire, columns, n, NULL, NULL, &value);
        loom_value_unref(value);
        free(columns);
    }
    loom_status_free(status);
    loom_arena_destroy(arena);
    return 0;
}
