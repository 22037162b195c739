#include "wire.h"
#include "loom_test.h"
#include "samples.h"

static char *printed(const loom_program *p) {
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    loom_program_print(p, to);
    fclose(to);
    return text;
}

static void round_trip(loom_arena *arena, const loom_program *p) {
    char *bytes, *again;
    size_t length, n;
    loom_program *q;
    LOOM_OK(loom_program_encode(p, &bytes, &length));
    LOOM_OK(loom_program_scan(bytes, length));
    LOOM_OK(loom_program_decode(arena, bytes, length, &q));
    LOOM_OK(loom_program_encode(q, &again, &n));
    LOOM_CHECK_EQ_INT(n, length);
    LOOM_CHECK(memcmp(bytes, again, n) == 0);
    LOOM_CHECK_EQ_INT(q->n_nodes, p->n_nodes);
    LOOM_CHECK_EQ_INT(q->n_functions, p->n_functions);
    LOOM_CHECK_EQ_INT(q->n_files, p->n_files);
    free(again);
    free(bytes);
}

LOOM_TEST(ir_wire, round_trips) {
    loom_arena *arena = loom_arena_create(0);
    round_trip(arena, sample_sum(arena));
    round_trip(arena, sample_mixed(arena));
    round_trip(arena, loom_program_create(arena));
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_wire, text_survives) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = sample_sum(arena), *q;
    char *bytes;
    size_t length;
    LOOM_OK(loom_program_encode(p, &bytes, &length));
    LOOM_OK(loom_program_decode(arena, bytes, length, &q));
    char *a = printed(p), *b = printed(q);
    LOOM_CHECK_EQ_INT(strlen(a), strlen(b)); /* bodies are numbered anew, by use */
    free(a);
    free(b);
    free(bytes);
    loom_program *m = sample_mixed(arena);
    LOOM_OK(loom_program_encode(m, &bytes, &length));
    LOOM_OK(loom_program_decode(arena, bytes, length, &q));
    LOOM_CHECK_STR(q->files[0].name, "a.weft");
    LOOM_CHECK_STR(q->files[0].text, m->files[0].text);
    LOOM_CHECK_EQ_INT(q->files[0].length, m->files[0].length);
    LOOM_CHECK_EQ_INT(q->nodes[4].span.end_column, 20);
    LOOM_CHECK_STR(q->functions[1].param_names[1], "s");
    free(bytes);
    loom_arena_destroy(arena);
}

/* Spare types and constants, other numbers of bodies: the same program has the same bytes. */
LOOM_TEST(ir_wire, canonical) {
    loom_arena *arena = loom_arena_create(0);
    loom_program *p = sample_sum(arena), *q = loom_program_create(arena);
    loom_type_array(q, loom_type_scalar(q, LOOM_U16));
    loom_node_id *map = LOOM_NEW_ARRAY(arena, loom_node_id, p->n_nodes);
    memset(map, 0xff, p->n_nodes * sizeof *map);
    loom_build_function(q, "sum", loom_copy_as_body(q, p, 0, map), true, (const char *[]){"xs"});
    char *a, *b;
    size_t n, m;
    LOOM_OK(loom_program_encode(p, &a, &n));
    LOOM_OK(loom_program_encode(q, &b, &m));
    LOOM_CHECK_EQ_INT(n, m);
    LOOM_CHECK(memcmp(a, b, n) == 0);
    free(a);
    free(b);
    loom_arena_destroy(arena);
}

LOOM_TEST(ir_wire, every_cut_and_flip_is_an_error_or_a_program) {
    loom_arena *keep = loom_arena_create(0);
    char *bytes;
    size_t length;
    LOOM_OK(loom_program_encode(sample_mixed(keep), &bytes, &length));
    for (size_t cut = 0; cut < length; cut++) {
        loom_arena *arena = loom_arena_create(0);
        loom_program *q = NULL;
        loom_status *status = loom_program_decode(arena, bytes, cut, &q);
        LOOM_CHECK(status != NULL || cut == 2); /* the version alone is the empty program */
        loom_status_free(status);
        loom_arena_destroy(arena);
    }
    for (size_t bit = 0; bit < 8 * length; bit++) {
        bytes[bit / 8] ^= (char)(1 << (bit % 8));
        loom_arena *arena = loom_arena_create(0);
        loom_program *q = NULL;
        loom_status *status = loom_program_decode(arena, bytes, length, &q);
        LOOM_CHECK((status == NULL) == (q != NULL));
        loom_status_free(status);
        loom_arena_destroy(arena);
        bytes[bit / 8] ^= (char)(1 << (bit % 8));
    }
    free(bytes);
    loom_arena_destroy(keep);
}

static void scan_refuses(const char *bytes, size_t n, const char *part) {
    loom_status *status = loom_program_scan(bytes, n);
    LOOM_CHECK(status && strstr(loom_status_message(status), part));
    loom_status_free(status);
}

LOOM_TEST(ir_wire, scan_refuses) {
    scan_refuses("", 0, "no version");
    scan_refuses("\x08\x02", 2, "version 2");
    scan_refuses("\x08\x01\x08\x01", 4, "repeated");
    scan_refuses("\x08\x01\x72\x00", 4, "field 14");
    scan_refuses("\x08\x01\x10\x01", 4, "field 2 of type 0");
    scan_refuses("\x08\x01\x2a\x05\x01", 5, "beyond the end");
    scan_refuses("\x08\x01\x2a\x02\x80\x00", 6, "padded");
    scan_refuses("\x08\x01\x2a\x01\x01", 5, "disagree");
    scan_refuses("\x08\x01\x4a\x01\x01", 5, "64-bit words");
    scan_refuses("\x08\x81\x00", 3, "broken length or value");
}

LOOM_TEST(ir_wire, budget_of_the_arena_is_a_limit) {
    loom_arena *keep = loom_arena_create(0), *small = loom_arena_create(600);
    char *bytes;
    size_t length;
    loom_program *q = NULL;
    LOOM_OK(loom_program_encode(sample_mixed(keep), &bytes, &length));
    loom_status *status = loom_program_decode(small, bytes, length, &q);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_LIMIT);
    loom_status_free(status);
    free(bytes);
    loom_arena_destroy(small);
    loom_arena_destroy(keep);
}

/* A field of `count` one-byte elements behind the version. malloc'ed. */
static char *column_of(char tag, uint32_t count, size_t *length) {
    char *bytes = calloc(1, count + 16), *at = bytes;
    *at++ = 8, *at++ = 1, *at++ = tag;
    for (uint32_t n = count; n >= 128 || (*at++ = (char)n, false); n >>= 7) *at++ = (char)(n | 128);
    *length = (size_t)(at - bytes) + count;
    return bytes;
}

static void column_refused(int field, uint32_t most) {
    size_t length;
    char *bytes = column_of((char)(field << 3 | 2), most + 1, &length);
    loom_status *status = loom_program_scan(bytes, length);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_LIMIT);
    loom_status_free(status);
    free(bytes);
    bytes = column_of((char)(field << 3 | 2), most, &length);
    status = loom_program_scan(bytes, length); /* other columns are missing, but this one is not too long */
    LOOM_CHECK(loom_status_code(status) != LOOM_E_LIMIT);
    loom_status_free(status);
    free(bytes);
}

LOOM_TEST(ir_wire, limits_of_the_scan) {
    column_refused(3, LOOM_MAX_WIRE_TYPES);
    column_refused(4, LOOM_MAX_NODES);
    column_refused(5, LOOM_MAX_NODES);
    column_refused(8, 8 * LOOM_MAX_NODES);
    column_refused(13, 2 * LOOM_MAX_WIRE_FILES);
    loom_status *status = loom_program_scan("", (size_t)LOOM_MAX_PROGRAM_BYTES + 1);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_LIMIT);
    loom_status_free(status);
    size_t n = LOOM_MAX_WIRE_STRINGS + 1;
    char *bytes = malloc(2 + 2 * n);
    memcpy(bytes, "\x08\x01", 2);
    for (size_t i = 0; i < n; i++) memcpy(bytes + 2 + 2 * i, "\x12\x00", 2);
    status = loom_program_scan(bytes, 2 + 2 * n);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_LIMIT);
    loom_status_free(status);
    free(bytes);
}
