/* Round trips of the wire form, canonical bytes, hostile bytes, and agreement of our tables with plan.proto: what we
 * encode protobuf-c unpacks and packs to the same bytes, and it knows every field. */
#include "common/value.h"
#include "compiler/ir/force.h"
#include "compiler/plan/compile.h"
#include "loom_test.h"
#include "plan.pb-c.h"
#include "sample_plan.h"

static char *text_of_plan(const loom_plan *p) {
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    loom_plan_print(p, to);
    fclose(to);
    return text;
}

LOOM_TEST(plan_codec, round_trip) {
    loom_arena *arena = loom_arena_create(0);
    loom_plan *plan = sample_plan(arena), *back = NULL;
    char *bytes, *again;
    size_t length, again_length;
    LOOM_OK(loom_plan_encode(plan, &bytes, &length));
    LOOM_OK(loom_plan_decode(arena, bytes, length, &back));
    LOOM_OK(loom_plan_encode(back, &again, &again_length));
    LOOM_CHECK_EQ_INT(length, again_length);
    LOOM_CHECK(memcmp(bytes, again, length) == 0);
    char *a = text_of_plan(plan), *b = text_of_plan(back);
    LOOM_CHECK_STR(b, a);
    LOOM_CHECK_HAS(a, "reduce k0, k1 over chunk into sum.b1");
    free(a);
    free(b);
    free(bytes);
    free(again);
    loom_arena_destroy(arena);
}

LOOM_TEST(plan_codec, agrees_with_proto) {
    loom_arena *arena = loom_arena_create(0);
    char *bytes;
    size_t length;
    LOOM_OK(loom_plan_encode(sample_plan(arena), &bytes, &length));
    Loom__Plan__Plan *unpacked = loom__plan__plan__unpack(NULL, length, (const uint8_t *)bytes);
    LOOM_CHECK(unpacked != NULL);
    LOOM_CHECK_EQ_INT(unpacked->base.n_unknown_fields, 0);
    LOOM_CHECK_EQ_INT(unpacked->actions[0]->base.n_unknown_fields, 0);
    LOOM_CHECK_EQ_INT(unpacked->outputs[0]->base.n_unknown_fields, 0);
    LOOM_CHECK_EQ_INT(loom__plan__plan__get_packed_size(unpacked), length);
    uint8_t *packed = malloc(length);
    loom__plan__plan__pack(unpacked, packed);
    LOOM_CHECK(memcmp(packed, bytes, length) == 0);
    loom__plan__plan__free_unpacked(unpacked, NULL);
    free(packed);
    free(bytes);
    loom_arena_destroy(arena);
}

/* `decoded` counts the messages that are let through: these are what they encode to. */
static void check_canonical(const char *bytes, size_t length, size_t *decoded) {
    loom_arena *arena = loom_arena_create(1 << 20);
    loom_plan *plan;
    loom_status *status = loom_plan_decode(arena, bytes, length, &plan);
    if (!status) {
        char *again;
        size_t again_length;
        LOOM_OK(loom_plan_encode(plan, &again, &again_length));
        LOOM_CHECK(again_length == length && memcmp(again, bytes, length) == 0);
        free(again);
        (*decoded)++;
    }
    loom_status_free(status);
    loom_arena_destroy(arena);
}

/* What a shorter message says already is refused: an array that is given but empty, a value that is given as zero.
 * Such a record is put into each place of the plan and of each message in it, under each id. */
LOOM_TEST(plan_codec, needless_records) {
    static const struct {
        char bytes[18]; /* the tag's wire type, then the content */
        size_t length;
    } records[] = {{{2, 0}, 2}, {{2, 16}, 18}, {{1}, 9}, {{0}, 2}};
    loom_arena *arena = loom_arena_create(0);
    char *bytes;
    size_t length, decoded = 0;
    LOOM_OK(loom_plan_encode(sample_plan(arena), &bytes, &length));
    char *longer = malloc(length + sizeof records[0].bytes);
    for (size_t at = 0; at <= length; at++) {
        for (unsigned id = 1; id < 16; id++) {
            for (size_t k = 0; k < sizeof records / sizeof records[0]; k++) {
                size_t more = records[k].length;
                memcpy(longer, bytes, at);
                memcpy(longer + at, records[k].bytes, more);
                longer[at] |= (char)(id << 3);
                memcpy(longer + at + more, bytes + at, length - at);
                check_canonical(longer, length + more, &decoded);
                for (size_t before = 0; before + 2 <= at; before++) { /* a message around it, of fewer than 128 bytes */
                    size_t size = (unsigned char)bytes[before + 1], end = before + 2 + size;
                    if ((bytes[before] & 7) != 2 || end < at || end > length || size + more > 127) continue;
                    longer[before + 1] = (char)(size + more);
                    check_canonical(longer, length + more, &decoded);
                    longer[before + 1] = (char)size;
                }
            }
        }
    }
    LOOM_CHECK(decoded > 0); /* texts may be empty */
    free(longer);
    free(bytes);
    loom_arena_destroy(arena);
}

/* Every prefix and every single-byte change is either refused or decodes to something that encodes to those very bytes.
 */
LOOM_TEST(plan_codec, hostile_bytes) {
    loom_arena *arena = loom_arena_create(0);
    char *bytes;
    size_t length, decoded = 0;
    LOOM_OK(loom_plan_encode(sample_plan(arena), &bytes, &length));
    for (size_t cut = 0; cut < length; cut++) {
        loom_arena *scratch = loom_arena_create(1 << 20);
        loom_plan *back;
        loom_status_free(loom_plan_decode(scratch, bytes, cut, &back));
        loom_arena_destroy(scratch);
    }
    for (size_t at = 0; at < length; at++) {
        for (int change = 1; change < 256; change += 5) {
            bytes[at] = (char)(bytes[at] ^ change);
            check_canonical(bytes, length, &decoded);
            bytes[at] = (char)(bytes[at] ^ change);
        }
    }
    LOOM_CHECK(decoded > 0);
    free(bytes);
    loom_arena_destroy(arena);
}

LOOM_TEST(plan_codec, budget) {
    loom_arena *arena = loom_arena_create(0), *tight = loom_arena_create(256);
    char *bytes;
    size_t length;
    loom_plan *back;
    LOOM_OK(loom_plan_encode(sample_plan(arena), &bytes, &length));
    LOOM_FAILS(loom_plan_decode(tight, bytes, length, &back), LOOM_E_LIMIT);
    free(bytes);
    loom_arena_destroy(tight);
    loom_arena_destroy(arena);
}

/* xs (stream) and n; a fold of xs; then, while a bool made of it is true, a loop that folds again. */
static loom_graph *sample_graph(loom_arena *arena) {
    static const loom_graph_leaf leaves[] = {{"re", LOOM_F32, 1}, {"im", LOOM_F32, 1}}, number[] = {{"", LOOM_F32, 0}},
                                 truth[] = {{"", LOOM_BOOL, 0}};
    static const loom_graph_slot slots[] = {{"xs", true, 2, leaves},
                                            {"n", false, 1, number},
                                            {"stage 0 output 0", false, 1, number},
                                            {"stage 1 output 0", false, 1, truth},
                                            {"go", false, 1, truth},
                                            {"x", false, 1, number},
                                            {"stage 2 output 0", false, 1, number},
                                            {"stage 3 output 0", false, 1, truth},
                                            {"go after", false, 1, truth},
                                            {"x after", false, 1, number}};
    static const uint32_t inputs[] = {1}, streams[] = {0}, folded[] = {2}, state[] = {5}, again[] = {6},
                          varying[] = {0};
    static const loom_graph_output fold[] = {{LOOM_OUT_FOLD, LOOM_ORDER_ADJACENT, 2, 1}};
    static const loom_graph_output test[] = {{LOOM_OUT_VALUE, LOOM_ORDER_ANY, 3, LOOM_NONE_FUNCTION}};
    static const loom_graph_output turn[] = {{LOOM_OUT_FOLD, LOOM_ORDER_ANY, 6, 1}};
    static const loom_graph_output retest[] = {{LOOM_OUT_VALUE, LOOM_ORDER_ANY, 7, LOOM_NONE_FUNCTION}};
    static const loom_graph_stage stages[] = {
        {LOOM_STAGE_TRAVERSAL, 0, 1, inputs, 1, streams, 1, fold, 0, NULL, "traversal 1", 0, 0, 0, 0, NULL},
        {LOOM_STAGE_ARRAY, 2, 1, folded, 0, NULL, 1, test, 0, NULL, "test", 0, 0, 0, 0, NULL},
        {LOOM_STAGE_TRAVERSAL, 3, 1, state, 1, streams, 1, turn, 1, varying, "turn", 0, 0, 0, 0, NULL},
        {LOOM_STAGE_ARRAY, 2, 1, again, 0, NULL, 1, retest, 0, NULL, "test again", 0, 0, 0, 0, NULL}};
    static const uint32_t init[] = {3, 2}, current[] = {4, 5}, next[] = {7, 6}, after[] = {8, 9};
    static const loom_graph_loop loops[] = {{2, 4, 2, init, current, next, after, "while"}};
    static const char *const remarks[] = {"a remark"};
    loom_graph *g = LOOM_NEW(arena, loom_graph);
    *g = (loom_graph){2, 10, slots, 4, stages, 1, loops, 9, false, 1, remarks};
    return g;
}

LOOM_TEST(graph_codec, round_trip) {
    loom_arena *arena = loom_arena_create(0);
    loom_graph *back = NULL;
    char *bytes, *text = NULL;
    size_t length, text_length;
    LOOM_OK(loom_graph_encode(sample_graph(arena), &bytes, &length));
    LOOM_OK(loom_graph_decode(arena, bytes, length, &back));
    FILE *to = open_memstream(&text, &text_length);
    loom_graph_print(back, to);
    fclose(to);
    LOOM_CHECK_HAS(text, "stage 0: traversal f0  -- traversal 1");
    LOOM_CHECK_HAS(text, "output s2 fold adjacent merge=f1");
    LOOM_CHECK_HAS(text, "loop 0: stages 2 to 3  -- while");
    LOOM_CHECK_HAS(text, "input  s5 x (varies)");
    Loom__Plan__Graph *unpacked = loom__plan__graph__unpack(NULL, length, (const uint8_t *)bytes);
    LOOM_CHECK(unpacked && unpacked->base.n_unknown_fields == 0 && unpacked->stages[2]->base.n_unknown_fields == 0 &&
               unpacked->loops[0]->base.n_unknown_fields == 0);
    loom__plan__graph__free_unpacked(unpacked, NULL);
    free(text);
    free(bytes);
    loom_arena_destroy(arena);
}

LOOM_TEST(graph_check, refuses) {
    loom_arena *arena = loom_arena_create(0);
    loom_graph *g = sample_graph(arena);
    g->result = 10;
    LOOM_FAILS(loom_graph_check(g), LOOM_E_DATA);
    g->result = 6; /* seen in the loop's body only */
    LOOM_FAILS(loom_graph_check(g), LOOM_E_DATA);
    g->result = 9;
    g->n_params = 4;
    LOOM_FAILS(loom_graph_check(g), LOOM_E_DATA);
    loom_arena_destroy(arena);
}

/* Changes one thing of the sample graph's loop and expects refusal. */
#define LOOP_REFUSED(change)                                                                                           \
    do {                                                                                                               \
        loom_arena *arena = loom_arena_create(0);                                                                      \
        loom_graph *g = sample_graph(arena);                                                                           \
        loom_graph_loop loop = g->loops[0];                                                                            \
        uint32_t init[] = {3, 2}, current[] = {4, 5}, next[] = {7, 6}, after[] = {8, 9};                               \
        loop.init = init, loop.current = current, loop.next = next, loop.result = after;                               \
        g->loops = &loop;                                                                                              \
        LOOM_OK(loom_graph_check(g));                                                                                  \
        change;                                                                                                        \
        LOOM_FAILS(loom_graph_check(g), LOOM_E_DATA);                                                                  \
        loom_arena_destroy(arena);                                                                                     \
    } while (0)

LOOM_TEST(graph_check, loops) {
    LOOP_REFUSED(loop.end = 2);
    LOOP_REFUSED(loop.end = 5);
    LOOP_REFUSED(loop.first = 1);
    LOOP_REFUSED(loop.n_state = 0);
    LOOP_REFUSED(init[1] = 6);                                                                 /* not there yet */
    LOOP_REFUSED(init[1] = 3);                                                                 /* of another type */
    LOOP_REFUSED(next[0] = 6);                                                                 /* of another type */
    LOOP_REFUSED(next[1] = 9);                                                                 /* not there yet */
    LOOP_REFUSED(after[0] = 9);                                                                /* out of order */
    LOOP_REFUSED(current[1] = 6);                                                              /* out of order */
    LOOP_REFUSED((loop.n_state = 1, loop.init++, loop.current++, loop.next++, loop.result++)); /* no condition */
    loom_arena *arena = loom_arena_create(0);
    loom_graph *g = sample_graph(arena);
    loom_graph_loop crossing[] = {g->loops[0], g->loops[0]};
    crossing[0].end = 3;
    crossing[1].first = 2;
    g->loops = crossing;
    g->n_loops = 2;
    LOOM_FAILS(loom_graph_check(g), LOOM_E_DATA);
    loom_arena_destroy(arena);
}

/* xs (stream) and what a chain of it begins with; a stage that carries that, and streams out beside it. */
static loom_graph *chained_graph(loom_arena *arena, loom_graph_stage **stage, loom_graph_carried **carried) {
    static const loom_graph_leaf column[] = {{"", LOOM_F32, 1}}, number[] = {{"", LOOM_F32, 0}};
    static const loom_graph_slot slots[] = {
        {"xs", true, 1, column}, {"init", false, 1, number}, {"last", false, 1, number}, {"ys", false, 1, column}};
    static const uint32_t inputs[] = {1, 1}, streams[] = {0};
    static const loom_graph_output outputs[] = {{LOOM_OUT_CHAIN, LOOM_ORDER_ADJACENT, 2, LOOM_NONE_FUNCTION},
                                                {LOOM_OUT_STREAM, LOOM_ORDER_ADJACENT, 3, LOOM_NONE_FUNCTION}};
    *carried = LOOM_NEW(arena, loom_graph_carried);
    **carried = (loom_graph_carried){1, 0};
    *stage = LOOM_NEW(arena, loom_graph_stage);
    **stage = (loom_graph_stage){.kind = LOOM_STAGE_TRAVERSAL,
                                 .n_inputs = 2,
                                 .inputs = inputs,
                                 .n_streams = 1,
                                 .streams = streams,
                                 .n_outputs = 2,
                                 .outputs = outputs,
                                 .label = "traversal 0",
                                 .n_carried = 1,
                                 .carried = *carried};
    loom_graph *g = LOOM_NEW(arena, loom_graph);
    *g = (loom_graph){.n_params = 2, .n_slots = 4, .slots = slots, .n_stages = 1, .stages = *stage, .result = 2};
    return g;
}

LOOM_TEST(graph_codec, chains) {
    loom_arena *arena = loom_arena_create(0);
    loom_graph_stage *stage;
    loom_graph_carried *carried;
    loom_graph *g = chained_graph(arena, &stage, &carried), *back;
    char *bytes, *text = NULL;
    size_t length, text_length;
    LOOM_OK(loom_graph_encode(g, &bytes, &length));
    LOOM_OK(loom_graph_decode(arena, bytes, length, &back));
    FILE *to = open_memstream(&text, &text_length);
    loom_graph_print(back, to);
    fclose(to);
    LOOM_CHECK_HAS(text, "carry  output 0 to input 1");
    LOOM_CHECK_HAS(text, "output s2 chain");
    LOOM_CHECK(loom_stage_is_chained(&back->stages[0]) && !loom_stage_adds_up(&back->stages[0]));
    Loom__Plan__Graph *unpacked = loom__plan__graph__unpack(NULL, length, (const uint8_t *)bytes);
    LOOM_CHECK(unpacked && unpacked->stages[0]->base.n_unknown_fields == 0);
    loom__plan__graph__free_unpacked(unpacked, NULL);
    free(text);
    free(bytes);
    loom_arena_destroy(arena);
}

#define CHAIN_REFUSED(change)                                                                                          \
    do {                                                                                                               \
        loom_arena *arena = loom_arena_create(0);                                                                      \
        loom_graph_stage *stage;                                                                                       \
        loom_graph_carried *carried;                                                                                   \
        loom_graph *g = chained_graph(arena, &stage, &carried);                                                        \
        LOOM_OK(loom_graph_check(g));                                                                                  \
        change;                                                                                                        \
        LOOM_FAILS(loom_graph_check(g), LOOM_E_DATA);                                                                  \
        loom_arena_destroy(arena);                                                                                     \
    } while (0)

LOOM_TEST(graph_check, chains) {
    static const loom_graph_output other[] = {{LOOM_OUT_CHAIN, LOOM_ORDER_ADJACENT, 2, LOOM_NONE_FUNCTION},
                                              {LOOM_OUT_CHAIN, LOOM_ORDER_ADJACENT, 3, LOOM_NONE_FUNCTION}};
    static const loom_graph_carried both[] = {{1, 0}, {0, 1}}, twice[] = {{1, 0}, {1, 1}};
    CHAIN_REFUSED(stage->n_carried = 0);
    CHAIN_REFUSED(carried->output = 1); /* is no state */
    CHAIN_REFUSED(carried->output = 2);
    CHAIN_REFUSED(carried->input = 2);
    CHAIN_REFUSED((stage->outputs = other, stage->carried = both, stage->n_carried = 2)); /* of another type */
    CHAIN_REFUSED((stage->outputs = other, stage->carried = twice, stage->n_carried = 2));
    CHAIN_REFUSED(stage->outputs = other);
}

/* xs (stream), what spilling it saves, and a batch; a stage that spills xs and one that folds the batch. */
static loom_graph *spilling_graph(loom_arena *arena, loom_graph_stage **stages) {
    static const loom_graph_leaf column[] = {{"", LOOM_F32, 1}}, saves[] = {{"", LOOM_F64, 0}},
                                 batch[] = {{"", LOOM_I64, 0}}, lists[] = {{"", LOOM_I64, 2}},
                                 sum[] = {{"", LOOM_F32, 0}};
    static const loom_graph_slot slots[] = {{"xs", true, 1, column},    {"saves", false, 1, saves},
                                            {"batch", false, 1, batch}, {"ys", true, 1, column},
                                            {"spill", false, 1, lists}, {"sum", false, 1, sum}};
    static const uint32_t streams[] = {0};
    static const loom_graph_output spill[] = {{LOOM_OUT_SPILL, LOOM_ORDER_ADJACENT, 4, LOOM_NONE_FUNCTION}};
    static const loom_graph_output fold[] = {{LOOM_OUT_FOLD, LOOM_ORDER_ANY, 5, 1}};
    loom_graph_stage *s = LOOM_NEW_ARRAY(arena, loom_graph_stage, 2);
    s[0] = (loom_graph_stage){.kind = LOOM_STAGE_TRAVERSAL,
                              .n_streams = 1,
                              .streams = streams,
                              .n_outputs = 1,
                              .outputs = spill,
                              .label = "spill",
                              .saves = 1};
    s[1] = (loom_graph_stage){.kind = LOOM_STAGE_TRAVERSAL,
                              .function = 1,
                              .n_streams = 1,
                              .streams = streams,
                              .n_outputs = 1,
                              .outputs = fold,
                              .label = "batch",
                              .spilled = 4,
                              .batch = 2};
    loom_graph *g = LOOM_NEW(arena, loom_graph);
    *g = (loom_graph){.n_params = 4, .n_slots = 6, .slots = slots, .n_stages = 2, .stages = s, .result = 5};
    *stages = s;
    return g;
}

LOOM_TEST(graph_check, spills) {
    static const uint32_t other[] = {3}, spill_slot[] = {4};
    loom_arena *arena = loom_arena_create(0);
    loom_graph_stage *s;
    loom_graph *g = spilling_graph(arena, &s), *back;
    char *bytes;
    size_t length;
    LOOM_OK(loom_graph_encode(g, &bytes, &length));
    LOOM_OK(loom_graph_decode(arena, bytes, length, &back));
    LOOM_CHECK(back->stages[0].saves == 1 && back->stages[1].spilled == 4 && back->stages[1].batch == 2);
    Loom__Plan__Graph *unpacked = loom__plan__graph__unpack(NULL, length, (const uint8_t *)bytes);
    LOOM_CHECK(unpacked && unpacked->stages[1]->base.n_unknown_fields == 0 && unpacked->stages[1]->spilled == 4);
    loom__plan__graph__free_unpacked(unpacked, NULL);
    free(bytes);
#define SPILL_REFUSED(change)                                                                                          \
    do {                                                                                                               \
        g = spilling_graph(arena, &s);                                                                                 \
        LOOM_OK(loom_graph_check(g));                                                                                  \
        change;                                                                                                        \
        LOOM_FAILS(loom_graph_check(g), LOOM_E_DATA);                                                                  \
    } while (0)
    SPILL_REFUSED(s[0].saves = 0);
    SPILL_REFUSED(s[0].saves = 2);   /* no f64 */
    SPILL_REFUSED(s[0].saves = 5);   /* not there yet */
    SPILL_REFUSED(s[1].saves = 1);   /* it does not spill */
    SPILL_REFUSED(s[1].spilled = 0); /* a batch of nothing */
    SPILL_REFUSED(s[1].spilled = 1); /* a value */
    SPILL_REFUSED(s[1].spilled = 77);
    SPILL_REFUSED(s[1].batch = 1); /* no i64 */
    SPILL_REFUSED(s[1].streams = other);
    SPILL_REFUSED(g->result = 4);
    SPILL_REFUSED(s[1].kind = LOOM_STAGE_WHOLE);
    SPILL_REFUSED((s[1].n_inputs = 1, s[1].inputs = spill_slot)); /* which is no value */
    loom_arena_destroy(arena);
}

LOOM_TEST(compile_codec, request) {
    loom_arena *arena = loom_arena_create(0);
    loom_value *argument;
    LOOM_OK(loom_value_create(1, &argument));
    LOOM_OK(loom_leaf_init(&argument->leaves[0], "n", LOOM_F64, 1, (const int64_t[]){3}, 1 << 20));
    ((double *)argument->leaves[0].data)[2] = 2.5;
    loom_value *const arguments[] = {NULL, argument};
    static const int64_t extents[] = {-2, 7};
    const loom_leaf_shape shapes[] = {{2, extents, false}, {0, NULL, true}};
    loom_compile_request r = {.what = LOOM_COMPILE_STAGE,
                              .program = "abc",
                              .program_length = 3,
                              .n_arguments = 2,
                              .arguments = arguments,
                              .graph = "de",
                              .graph_length = 2,
                              .stage = 5,
                              .n_shapes = 2,
                              .shapes = shapes,
                              .target = "t;c;f",
                              .debug = true,
                              .memory = (uint64_t)3 << 40,
                              .traversal = (uint64_t)5 << 50,
                              .force = LOOM_FORCE_STRIP | LOOM_FORCE_SYMBOLIC};
    loom_compile_request *back;
    char *bytes;
    size_t length;
    LOOM_OK(loom_compile_request_encode(&r, &bytes, &length));
    LOOM_OK(loom_compile_request_decode(arena, bytes, length, &back));
    LOOM_CHECK(back->arguments[0] == NULL && back->arguments[1]->leaves[0].extents[0] == 3);
    LOOM_CHECK_NEAR(((double *)back->arguments[1]->leaves[0].data)[2], 2.5, 0);
    LOOM_CHECK(back->n_shapes == 2 && back->shapes[0].extents[0] == -2 && back->shapes[1].constant && back->stage == 5);
    LOOM_CHECK(back->program_length == 3 && memcmp(back->program, "abc", 3) == 0 && !back->cache && back->debug);
    LOOM_CHECK(back->memory == (uint64_t)3 << 40 && back->force == r.force);
    loom_value_unref(loom_value_ref(back->arguments[1]));
    Loom__Plan__CompileRequest *unpacked = loom__plan__compile_request__unpack(NULL, length, (const uint8_t *)bytes);
    LOOM_CHECK(unpacked && unpacked->base.n_unknown_fields == 0 &&
               unpacked->arguments[1]->leaves[0]->base.n_unknown_fields == 0);
    loom__plan__compile_request__free_unpacked(unpacked, NULL);
    loom_value_unref(argument);
    free(bytes);
    loom_arena_destroy(arena);
}

LOOM_TEST(compile_codec, reply) {
    loom_arena *arena = loom_arena_create(0);
    loom_compile_reply r = {.error = loom_error_at(LOOM_E_TYPE, "a.weft", (loom_span){0, 3, 4, 3, 9}, "no such thing"),
                            .seconds = 0.25};
    r.error = loom_status_note(r.error, "hint: %s", "look");
    loom_compile_reply *back;
    char *bytes;
    size_t length;
    LOOM_OK(loom_compile_reply_encode(&r, &bytes, &length));
    LOOM_OK(loom_compile_reply_decode(arena, bytes, length, &back));
    LOOM_CHECK_EQ_INT(loom_status_code(back->error), LOOM_E_TYPE);
    LOOM_CHECK_STR(loom_status_message(back->error), "no such thing");
    LOOM_CHECK_EQ_INT(loom_status_span(back->error).column, 4);
    LOOM_CHECK_STR(loom_status_note_at(back->error, 0), "hint: look");
    LOOM_CHECK_NEAR(back->seconds, 0.25, 0);
    loom_status_free(back->error);
    loom_status_free(r.error);
    free(bytes);
    loom_arena_destroy(arena);
}

/* Refused by their length alone, before anything is read or allocated. */
LOOM_TEST(plan_codec, limits_of_bytes) {
    loom_arena *arena = loom_arena_create(0);
    loom_plan *plan;
    loom_graph *graph;
    loom_compile_request *request;
    loom_compile_reply *reply;
    LOOM_FAILS(loom_plan_decode(arena, "", LOOM_MAX_PLAN_BYTES + 1, &plan), LOOM_E_LIMIT);
    LOOM_FAILS(loom_graph_decode(arena, "", LOOM_MAX_GRAPH_BYTES + 1, &graph), LOOM_E_LIMIT);
    LOOM_FAILS(loom_compile_request_decode(arena, "", LOOM_MAX_COMPILE_BYTES + 1, &request), LOOM_E_LIMIT);
    LOOM_FAILS(loom_compile_reply_decode(arena, "", LOOM_MAX_COMPILE_BYTES + 1, &reply), LOOM_E_LIMIT);
    loom_arena_destroy(arena);
}
