/* Any bytes as a .npy file: parsing ends with a header whose data lies inside the bytes, or with an error. */
#include "io/npy.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    loom_npy_header header;
    loom_status *status = loom_npy_parse("fuzz.npy", data, size, &header);
    if (!status) {
        uint64_t bytes;
        loom_status *check = loom_bytes_of(header.dtype, header.depth, header.extents, &bytes);
        if (check || bytes != header.bytes || header.offset > size || bytes > size - header.offset) abort();
    }
    loom_status_free(status);
    return 0;
}
