/* Cutting streams into blocks. */
#include "blocks.h"
#include "loom_test.h"

typedef struct made_stream {
    Wire__Stream stream;
    Wire__Segment segments[8], *list[8];
    Wire__StreamShape shapes[3], *shape_list[3];
} made_stream;

static Wire__Stream *make(made_stream *m, uint64_t n, int n_segments, const uint64_t *firsts, const uint32_t *shapes,
                          const char *const *constants) {
    memset(m, 0, sizeof *m);
    wire__stream__init(&m->stream);
    m->stream.n_elements = n;
    m->stream.n_segments = (size_t)n_segments;
    m->stream.segments = m->list;
    m->stream.n_shapes = 3;
    m->stream.shapes = m->shape_list;
    for (int i = 0; i < 3; i++) {
        wire__stream_shape__init(&m->shapes[i]);
        m->shape_list[i] = &m->shapes[i];
    }
    for (int i = 0; i < n_segments; i++) {
        wire__segment__init(&m->segments[i]);
        m->segments[i].first = firsts[i];
        m->segments[i].shape = shapes ? shapes[i] : 0;
        m->segments[i].constants = constants ? (char *)constants[i] : NULL;
        m->list[i] = &m->segments[i];
    }
    return &m->stream;
}

LOOM_TEST(blocks, one_segment) {
    made_stream m;
    uint64_t zero = 0;
    const Wire__Stream *s = make(&m, 10, 1, &zero, NULL, NULL);
    LOOM_OK(loom_stream_check(s));
    loom_arena *arena = loom_arena_create(0);
    loom_blocks *b;
    LOOM_OK(loom_blocks_create(arena, &s, 1, 3, &b));
    LOOM_CHECK_EQ_INT(b->n_blocks, 4);
    LOOM_CHECK_EQ_INT(b->n_classes, 1);
    int64_t first, count;
    loom_blocks_elements(b, (loom_stretch){3, 1}, &first, &count);
    LOOM_CHECK_EQ_INT(first, 9);
    LOOM_CHECK_EQ_INT(count, 1);
    loom_blocks_elements(b, (loom_stretch){1, 3}, &first, &count);
    LOOM_CHECK_EQ_INT(first, 3);
    LOOM_CHECK_EQ_INT(count, 7);
    loom_arena_destroy(arena);
}

LOOM_TEST(blocks, cuts_where_any_stream_does_and_classes_by_content) {
    made_stream m, k;
    uint64_t firsts[] = {0, 5, 9}, other[] = {0, 7};
    uint32_t shapes[] = {0, 1, 0};
    const char *constants[] = {"aa", NULL, "aa"};
    const Wire__Stream *s[] = {make(&m, 20, 3, firsts, shapes, constants), make(&k, 20, 2, other, NULL, NULL)};
    loom_arena *arena = loom_arena_create(0);
    loom_blocks *b;
    LOOM_OK(loom_blocks_create(arena, s, 2, 4, &b));
    /* [0,5) [5,7) [7,9) [9,20): blocks 2, 1, 1, 3; the first and the last are alike, the middle two too. */
    LOOM_CHECK_EQ_INT(b->n_cuts, 4);
    LOOM_CHECK_EQ_INT(b->n_blocks, 7);
    LOOM_CHECK_EQ_INT(b->n_classes, 2);
    LOOM_CHECK_EQ_INT(b->cuts[0].class, b->cuts[3].class);
    LOOM_CHECK_EQ_INT(b->cuts[1].class, b->cuts[2].class);
    int64_t at = 0;
    for (int64_t i = 0; i < b->n_blocks; i++) {
        int64_t first, count;
        loom_blocks_elements(b, (loom_stretch){i, 1}, &first, &count);
        LOOM_CHECK_EQ_INT(first, at);
        LOOM_CHECK(count > 0 && count <= 4);
        at += count;
    }
    LOOM_CHECK_EQ_INT(at, 20);
    LOOM_CHECK_EQ_INT(loom_blocks_count(b, (loom_stretch){0, 7}), 20);
    loom_arena_destroy(arena);
}

LOOM_TEST(blocks, other_constants_are_another_class) {
    made_stream m;
    uint64_t firsts[] = {0, 5};
    const char *constants[] = {"aa", "bb"};
    const Wire__Stream *s = make(&m, 10, 2, firsts, NULL, constants);
    loom_arena *arena = loom_arena_create(0);
    loom_blocks *b;
    LOOM_OK(loom_blocks_create(arena, &s, 1, 100, &b));
    LOOM_CHECK_EQ_INT(b->n_classes, 2);
    loom_arena_destroy(arena);
}

LOOM_TEST(blocks, unequal_lengths_and_no_elements) {
    made_stream m, k;
    uint64_t zero = 0;
    const Wire__Stream *s[] = {make(&m, 10, 1, &zero, NULL, NULL), make(&k, 11, 1, &zero, NULL, NULL)};
    loom_arena *arena = loom_arena_create(0);
    loom_blocks *b;
    LOOM_FAILS(loom_blocks_create(arena, s, 2, 3, &b), LOOM_E_DATA);
    s[0] = make(&m, 0, 0, NULL, NULL, NULL);
    LOOM_OK(loom_stream_check(s[0]));
    LOOM_OK(loom_blocks_create(arena, s, 1, 3, &b));
    LOOM_CHECK_EQ_INT(b->n_blocks, 0);
    loom_arena_destroy(arena);
}

LOOM_TEST(blocks, descriptions_from_outside) {
    made_stream m;
    uint64_t order[] = {0, 5, 5}, late[] = {1}, beyond[] = {0, 10};
    uint32_t shapes[] = {9};
    uint64_t zero = 0;
    LOOM_FAILS(loom_stream_check(make(&m, 10, 3, order, NULL, NULL)), LOOM_E_PROTOCOL);
    LOOM_FAILS(loom_stream_check(make(&m, 10, 1, late, NULL, NULL)), LOOM_E_PROTOCOL);
    LOOM_FAILS(loom_stream_check(make(&m, 10, 2, beyond, NULL, NULL)), LOOM_E_PROTOCOL);
    LOOM_FAILS(loom_stream_check(make(&m, 10, 1, &zero, shapes, NULL)), LOOM_E_PROTOCOL);
    LOOM_FAILS(loom_stream_check(make(&m, 10, 0, NULL, NULL, NULL)), LOOM_E_PROTOCOL);
    LOOM_FAILS(loom_stream_check(make(&m, UINT64_MAX, 1, &zero, NULL, NULL)), LOOM_E_PROTOCOL);
}

LOOM_TEST(blocks, extents_from_outside) {
    static const struct {
        bool constant, good;
        size_t n;
        int64_t at[3];
    } cases[] = {{false, true, 1, {-2}},
                 {false, true, 3, {-2, -1, 7}},
                 {false, true, 2, {-2, 0}},
                 {true, true, 0, {0}},
                 {true, true, 2, {3, INT64_MAX / 3}},
                 {false, false, 0, {0}},      /* not over the elements */
                 {false, false, 2, {4, -2}},  /* the chunk is not first */
                 {true, false, 1, {-2}},      /* a constant has no chunk */
                 {false, false, 2, {-2, -2}}, /* the chunk twice */
                 {false, false, 2, {-2, -3}},
                 {true, false, 2, {3, INT64_MAX}}, /* more than can be counted */
                 {false, false, 3, {-2, INT64_MIN, 2}}};
    made_stream m;
    uint64_t zero = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Wire__Stream *s = make(&m, 10, 1, &zero, NULL, NULL);
        Wire__StreamLeaf leaf, *leaves = &leaf;
        wire__stream_leaf__init(&leaf);
        int64_t extents[3];
        memcpy(extents, cases[i].at, sizeof extents);
        leaf.name = (char *)"x";
        leaf.constant = cases[i].constant;
        leaf.n_extents = cases[i].n;
        leaf.extents = extents;
        m.shapes[0].n_leaves = 1;
        m.shapes[0].leaves = &leaves;
        loom_status *status = loom_stream_check(s);
        LOOM_CHECK_EQ_INT(status == NULL, cases[i].good);
        loom_status_free(status);
    }
}

/* As many classes as an observation with constants of its own per scan may have: found by content, not by looking at
 * all of them. */
LOOM_TEST(blocks, thousands_of_classes) {
    enum {
        SEGMENTS = 30000,
        CLASSES = SEGMENTS / 2
    };
    Wire__Segment *segments = calloc(SEGMENTS, sizeof *segments), **list = calloc(SEGMENTS, sizeof *list);
    char(*names)[16] = calloc(CLASSES, sizeof *names);
    made_stream m;
    uint64_t zero = 0;
    Wire__Stream *s = make(&m, SEGMENTS, 1, &zero, NULL, NULL);
    for (int i = 0; i < SEGMENTS; i++) {
        wire__segment__init(&segments[i]);
        snprintf(names[i % CLASSES], sizeof *names, "%d", i % CLASSES);
        segments[i].first = (uint64_t)i;
        segments[i].constants = names[i % CLASSES];
        list[i] = &segments[i];
    }
    s->segments = list;
    s->n_segments = SEGMENTS;
    LOOM_OK(loom_stream_check(s));
    loom_arena *arena = loom_arena_create(0);
    loom_blocks *b;
    LOOM_OK(loom_blocks_create(arena, (const Wire__Stream *const *)&s, 1, 3, &b));
    LOOM_CHECK_EQ_INT(b->n_classes, CLASSES);
    LOOM_CHECK_EQ_INT(b->n_cuts, SEGMENTS);
    for (int i = 0; i < SEGMENTS; i++) LOOM_CHECK_EQ_INT(b->cuts[i].class, (uint32_t)(i % CLASSES));
    loom_arena_destroy(arena);
    free(names);
    free(list);
    free(segments);
}
