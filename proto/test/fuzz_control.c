/* Header frames from anybody: scanned, unpacked, values in them checked. */
#include "common/status.h"
#include "proto/packet.h"
#include "proto/value_codec.h"
#include "proto/wire.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    zmq_msg_t frame;
    zmq_msg_init_size(&frame, size);
    if (size) memcpy(zmq_msg_data(&frame), data, size);
    loom_incoming *in = NULL;
    loom_status *status = loom_incoming_create(&frame, 1, false, &in);
    if (!status && in->message->body_case == WIRE__MESSAGE__BODY_BLOCK) {
        for (size_t i = 0; i < in->message->block->n_values; i++) {
            size_t columns;
            uint64_t bytes;
            loom_status_free(loom_wire_value_check(in->message->block->values[i], &columns, &bytes));
        }
    }
    if (!status && in->message->body_case == WIRE__MESSAGE__BODY_JOB_END) {
        loom_status_free(loom_wire_status_restore(in->message->job_end->status));
    }
    loom_status_free(status);
    loom_incoming_destroy(in);
    return 0;
}
