/* Stands in for gridloom-compile: one request, one reply, graphs from a table. */
#include "common/buffer.h"
#include "compiler/plan/compile.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_all(void *to, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t got = read(0, (char *)to + at, n - at);
        if (got <= 0) return false;
        at += (size_t)got;
    }
    return true;
}

static void write_all(const void *from, size_t n) {
    for (size_t at = 0; at < n;) {
        ssize_t put = write(1, (const char *)from + at, n - at);
        if (put <= 0) _exit(1);
        at += (size_t)put;
    }
}

static const loom_graph_leaf scalar_f64[] = {{"", LOOM_F64, 0}}, scalar_u64[] = {{"", LOOM_U64, 0}},
                             list_u64[] = {{"", LOOM_U64, 1}}, list_f64[] = {{"", LOOM_F64, 1}},
                             pair[] = {{"a", LOOM_U64, 0}, {"b", LOOM_U64, 0}},
                             together[] = {
                                 {"0", LOOM_U64, 0}, {"1.a", LOOM_U64, 0}, {"1.b", LOOM_U64, 0}, {"2", LOOM_F64, 1}};

static const loom_graph *graph_all(void) {
    static const loom_graph_slot slots[] = {
        {"scale", false, 1, scalar_f64}, {"xs", true, 1, list_u64},    {"doubled", false, 1, scalar_f64},
        {"sum", false, 1, scalar_u64},   {"composed", false, 2, pair}, {"collected", false, 1, list_f64},
        {"result", false, 4, together},
    };
    static const uint32_t in0[] = {0}, in1[] = {2}, streams[] = {1}, in2[] = {3, 4, 5};
    static const loom_graph_output out0[] = {{LOOM_OUT_VALUE, LOOM_ORDER_ANY, 2, LOOM_NONE_FUNCTION}},
                                   out1[] = {{LOOM_OUT_FOLD, LOOM_ORDER_ANY, 3, 0},
                                             {LOOM_OUT_FOLD, LOOM_ORDER_ADJACENT, 4, 0},
                                             {LOOM_OUT_COLLECT, LOOM_ORDER_ADJACENT, 5, LOOM_NONE_FUNCTION}},
                                   out2[] = {{LOOM_OUT_VALUE, LOOM_ORDER_ANY, 6, LOOM_NONE_FUNCTION}};
    static const loom_graph_stage stages[] = {
        {LOOM_STAGE_ARRAY, 0, 1, in0, 0, NULL, 1, out0, 0, NULL, "double", 0, 0, 0, 0, NULL},
        {LOOM_STAGE_TRAVERSAL, 0, 1, in1, 1, streams, 3, out1, 0, NULL, "traversal", 0, 0, 0, 0, NULL},
        {LOOM_STAGE_ARRAY, 0, 3, in2, 0, NULL, 1, out2, 0, NULL, "together", 0, 0, 0, 0, NULL},
    };
    static const char *const remarks[] = {"a remark"};
    static const loom_graph graph = {2, 7, slots, 3, stages, 0, NULL, 6, false, 1, remarks};
    return &graph;
}

static const loom_graph *graph_stream(void) {
    static const loom_graph_slot slots[] = {{"xs", true, 1, list_u64}, {"result", false, 1, list_u64}};
    static const uint32_t streams[] = {0};
    static const loom_graph_output out[] = {{LOOM_OUT_STREAM, LOOM_ORDER_ADJACENT, 1, LOOM_NONE_FUNCTION}};
    static const loom_graph_stage stages[] = {
        {LOOM_STAGE_TRAVERSAL, 0, 0, NULL, 1, streams, 1, out, 0, NULL, "stream", 0, 0, 0, 0, NULL}};
    static const loom_graph graph = {1, 2, slots, 1, stages, 0, NULL, 1, true, 0, NULL};
    return &graph;
}

static const loom_graph *graph_whole(void) {
    static const loom_graph_slot slots[] = {{"xs", true, 1, list_u64}, {"result", false, 1, scalar_u64}};
    static const uint32_t streams[] = {0};
    static const loom_graph_output out[] = {{LOOM_OUT_VALUE, LOOM_ORDER_ANY, 1, LOOM_NONE_FUNCTION}};
    static const loom_graph_stage stages[] = {
        {LOOM_STAGE_WHOLE, 0, 0, NULL, 1, streams, 1, out, 0, NULL, "whole", 0, 0, 0, 0, NULL}};
    static const loom_graph graph = {1, 2, slots, 1, stages, 0, NULL, 1, false, 0, NULL};
    return &graph;
}

static loom_status *answer_graph(const loom_compile_request *request, loom_compile_reply *reply) {
    const loom_graph *graph = NULL;
    if (strcmp(request->entry, "all") == 0) graph = graph_all();
    if (strcmp(request->entry, "stream") == 0) graph = graph_stream();
    if (strcmp(request->entry, "whole") == 0) graph = graph_whole();
    if (strcmp(request->entry, "crash") == 0) abort();
    if (!graph) {
        loom_span span = {0, 1, 2, 1, 7};
        return loom_error_at(LOOM_E_TYPE, "fake.weft", span, "there is no entry %s", request->entry);
    }
    LOOM_TRY(loom_graph_check(graph));
    char *bytes;
    LOOM_TRY(loom_graph_encode(graph, &bytes, &reply->graph_length));
    reply->graph = bytes;
    reply->program = request->program;
    reply->program_length = request->program_length;
    return NULL;
}

int main(void) {
    uint64_t length;
    if (!read_all(&length, sizeof length)) return 0;
    char *bytes = loom_xmalloc(length + 1);
    if (!read_all(bytes, length)) return 1;
    loom_arena *arena = loom_arena_create(0);
    loom_compile_request *request;
    loom_compile_reply reply = {0};
    reply.error = loom_compile_request_decode(arena, bytes, length, &request);
    if (!reply.error && request->what == LOOM_COMPILE_GRAPH) reply.error = answer_graph(request, &reply);
    if (!reply.error && request->what == LOOM_COMPILE_STAGE) reply.interpret = true;
    char *out;
    size_t n;
    loom_status *status = loom_compile_reply_encode(&reply, &out, &n);
    if (status) {
        loom_status_print(status, stderr);
        return 1;
    }
    length = n;
    write_all(&length, sizeof length);
    write_all(out, n);
    free(out);
    free((void *)reply.graph);
    loom_status_free(reply.error);
    loom_arena_destroy(arena);
    free(bytes);
    return 0;
}
