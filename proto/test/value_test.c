/* Values over columns, over frames, in objects. */
#include "common/file.h"
#include "common/limits.h"
#include "loom_test.h"
#include "proto/packet.h"
#include "proto/value_codec.h"
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* Three lists of 2, 0 and 3 numbers, and a grid of complex numbers. */
static loom_value *sample(void) {
    loom_value *v;
    LOOM_OK(loom_value_create(2, &v));
    loom_leaf *a = &v->leaves[0];
    *a = (loom_leaf){.name = strdup("lists"), .dtype = LOOM_F64, .depth = 2, .extents = {3, LOOM_IRREGULAR}};
    a->n_lengths[0] = 1;
    a->n_lengths[1] = 3;
    a->lengths[1] = calloc(3, sizeof(int64_t));
    a->lengths[1][0] = 2;
    a->lengths[1][2] = 3;
    a->n_data = 5;
    a->data = calloc(5, sizeof(double));
    for (int i = 0; i < 5; i++) ((double *)a->data)[i] = i + 0.5;
    int64_t extents[] = {4, 3};
    LOOM_OK(loom_leaf_init(&v->leaves[1], "grid.re", LOOM_C64, 2, extents, 1 << 20));
    ((float *)v->leaves[1].data)[23] = 7;
    LOOM_OK(loom_value_check(v));
    return v;
}

static void check_sample(const loom_value *v) {
    LOOM_OK(loom_value_check(v));
    LOOM_CHECK_EQ_INT(v->n_leaves, 2);
    const loom_leaf *a = loom_value_find(v, "lists"), *b = loom_value_find(v, "grid.re");
    LOOM_CHECK(a && b);
    LOOM_CHECK_EQ_INT(a->extents[1], LOOM_IRREGULAR);
    LOOM_CHECK_EQ_INT(a->lengths[1][2], 3);
    LOOM_CHECK_NEAR(((double *)a->data)[4], 4.5, 0);
    LOOM_CHECK_EQ_INT(b->extents[1], 3);
    LOOM_CHECK_NEAR(((float *)b->data)[23], 7, 0);
}

static size_t columns_of(const loom_value *v, loom_column columns[3]) {
    columns[0] = (loom_column){v->leaves[0].lengths[1], 24};
    columns[1] = (loom_column){v->leaves[0].data, 40};
    columns[2] = (loom_column){v->leaves[1].data, 96};
    return 3;
}

static int released;
static void count_release(void *owner) {
    (void)owner;
    released++;
}

LOOM_TEST(value_codec, over_columns_in_place) {
    loom_value *v = sample();
    loom_arena *arena = loom_arena_create(0);
    loom_column columns[3];
    size_t n = columns_of(v, columns);
    loom_value *over;
    released = 0;
    LOOM_OK(loom_value_over(loom_wire_value(arena, v), columns, n, count_release, NULL, &over));
    check_sample(over);
    LOOM_CHECK(over->leaves[1].data == v->leaves[1].data);
    LOOM_CHECK_EQ_INT(released, 0);
    loom_value_unref(over);
    LOOM_CHECK_EQ_INT(released, 1);
    loom_arena_destroy(arena);
    loom_value_unref(v);
}

LOOM_TEST(value_codec, a_column_that_is_not_aligned_is_copied) {
    loom_value *v = sample();
    loom_arena *arena = loom_arena_create(0);
    loom_column columns[3];
    size_t n = columns_of(v, columns);
    char *odd = malloc(42);
    memcpy(odd + 1, columns[1].data, 40);
    columns[1].data = odd + 1;
    loom_value *over;
    LOOM_OK(loom_value_over(loom_wire_value(arena, v), columns, n, NULL, NULL, &over));
    free(odd);
    check_sample(over);
    loom_value_unref(over);
    loom_arena_destroy(arena);
    loom_value_unref(v);
}

/* Everything that can be wrong with a header or a column is refused, and what was handed over is released. */
LOOM_TEST(value_codec, lies_are_refused) {
    loom_value *v = sample();
    loom_column good[3];
    size_t n = columns_of(v, good);
    for (int lie = 0; lie < 11; lie++) {
        loom_arena *arena = loom_arena_create(0);
        Wire__Value *wire = loom_wire_value(arena, v);
        loom_column columns[3];
        memcpy(columns, good, sizeof good);
        int64_t lengths[3] = {2, -1, 3};
        int64_t extents[2] = {3, LOOM_IRREGULAR};
        wire->leaves[0]->extents = extents;
        size_t given = n;
        switch (lie) {
        case 0: wire->leaves[0]->dtype = LOOM_DTYPES; break;
        case 1: extents[0] = -7; break;
        case 2: extents[0] = 4; break;
        case 3: extents[0] = INT64_MAX; break;
        case 4: given = 2; break;
        case 5: wire->column_bytes[2] = 95; break;
        case 6: columns[2].length = wire->column_bytes[2] = 88; break;
        case 7: columns[0].data = lengths; break;
        case 8: wire->n_column_bytes = 2; break;
        case 9: columns[0].length = wire->column_bytes[0] = 20; break;
        case 10: wire->leaves[1]->n_extents = LOOM_MAX_DEPTH + 1; break;
        }
        loom_value *over = NULL;
        released = 0;
        loom_status *status = loom_value_over(wire, columns, given, count_release, NULL, &over);
        LOOM_CHECK(status && !over);
        LOOM_CHECK_EQ_INT(released, 1);
        loom_status_free(status);
        loom_arena_destroy(arena);
    }
    loom_value_unref(v);
}

LOOM_TEST(value_codec, too_many_leaves) {
    Wire__Value wire = WIRE__VALUE__INIT;
    wire.n_leaves = LOOM_MAX_VALUE_LEAVES + 1;
    loom_value *over;
    LOOM_FAILS(loom_value_over(&wire, NULL, 0, NULL, NULL, &over), LOOM_E_LIMIT);
}

LOOM_TEST(value_codec, over_frames_of_a_packet) {
    loom_value *v = sample();
    Wire__Block block = WIRE__BLOCK__INIT;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_BLOCK;
    message.block = &block;
    loom_packet *packet = loom_packet_create(&message);
    loom_packet_add_columns(packet, v);
    LOOM_CHECK_EQ_INT(packet->n, 4);
    loom_arena *arena = loom_arena_create(0);
    loom_value *over;
    LOOM_OK(loom_value_over_frames(loom_wire_value(arena, v), packet->frames + 1, 3, &over));
    loom_packet_destroy(packet);
    loom_value_unref(v);
    check_sample(over);
    loom_value_unref(over);
    loom_arena_destroy(arena);
}

static char *temporary(void) {
    static char path[] = "/tmp/loom-proto-XXXXXX";
    snprintf(path, sizeof path, "/tmp/loom-proto-XXXXXX");
    LOOM_CHECK(mkdtemp(path));
    return path;
}

LOOM_TEST(object, round_trip) {
    char *folder = temporary();
    loom_value *v = sample();
    loom_object object, twin;
    const char *folders[] = {folder};
    LOOM_OK(loom_object_write(folders, 1, UINT64_MAX, v, &object));
    LOOM_OK(loom_object_write(folders, 1, UINT64_MAX, v, &twin));
    LOOM_CHECK(strcmp(object.path, twin.path) != 0);
    loom_value *back;
    LOOM_OK(loom_object_map(object.path, &back));
    unlink(object.path); /* the mapping stays */
    check_sample(back);
    LOOM_CHECK_EQ_INT((uintptr_t)back->leaves[1].data % 64, 0);
    loom_value_unref(back);
    loom_value_unref(v);
    free(object.path);
    free(twin.path);
    loom_remove_tree(folder);
}

LOOM_TEST(object, large_ones_do_not_stay_in_memory) {
    char *memory = strdup("/dev/shm/loom-test-XXXXXX"), *disk = temporary();
    struct statfs fs;
    if (!mkdtemp(memory) || statfs(memory, &fs) != 0 || fs.f_type != TMPFS_MAGIC) {
        loom_remove_tree(disk);
        free(memory);
        return;
    }
    const char *folders[] = {memory, disk};
    loom_value *v = sample();
    loom_object object;
    LOOM_OK(loom_object_write(folders, 2, UINT64_MAX, v, &object));
    LOOM_CHECK(strncmp(object.path, memory, strlen(memory)) == 0);
    free(object.path);
    LOOM_OK(loom_object_write(folders, 2, 1, v, &object));
    LOOM_CHECK(strncmp(object.path, disk, strlen(disk)) == 0);
    free(object.path);
    /* With what is there already, not each for itself. */
    uint64_t most = object.bytes + loom_value_wire_bytes(v) + (1u << 16);
    LOOM_OK(loom_object_write(folders, 2, most - 1, v, &object));
    LOOM_CHECK(strncmp(object.path, disk, strlen(disk)) == 0);
    free(object.path);
    LOOM_OK(loom_object_write(folders, 2, most, v, &object));
    LOOM_CHECK(strncmp(object.path, memory, strlen(memory)) == 0);
    free(object.path);
    loom_value_unref(v);
    loom_remove_tree(memory);
    loom_remove_tree(disk);
    free(memory);
}

static loom_value *rows(int64_t n, int64_t m, double from) {
    loom_value *v;
    LOOM_OK(loom_value_create(2, &v));
    LOOM_OK(loom_leaf_init(&v->leaves[0], "a", LOOM_F64, 2, (int64_t[]){n, m}, 1 << 20));
    LOOM_OK(loom_leaf_init(&v->leaves[1], "b", LOOM_U8, 1, (int64_t[]){n}, 1 << 20));
    for (int64_t i = 0; i < v->leaves[0].n_data; i++) ((double *)v->leaves[0].data)[i] = from + (double)i;
    for (int64_t i = 0; i < n; i++) ((uint8_t *)v->leaves[1].data)[i] = (uint8_t)(from + (double)i);
    return v;
}

/* Written one after another, what is read is what joining in memory gives; inner extents that differ make it irregular.
 */
LOOM_TEST(object, joined) {
    char *folder = temporary();
    const char *folders[] = {folder};
    static const int64_t lengths[][3][2] = {
        {{2, 3}, {0, 3}, {5, 3}}, {{0, 0}, {4, 2}, {1, 2}}, {{2, 3}, {1, 4}, {1, 3}}, {{0, 0}, {0, 0}, {0, 0}}};
    for (size_t k = 0; k < 4; k++) {
        loom_value *parts[3], *want, *got, *shape;
        for (int i = 0; i < 3; i++) parts[i] = rows(lengths[k][i][0], lengths[k][i][1], 10 * i);
        loom_object object;
        LOOM_OK(loom_value_concat(parts, 3, &want));
        LOOM_OK(loom_object_join(folders, 1, UINT64_MAX, parts, 3, &object, &shape));
        LOOM_OK(loom_object_map(object.path, &got));
        LOOM_OK(loom_value_check(got));
        for (uint32_t i = 0; i < 2; i++) {
            const loom_leaf *a = &want->leaves[i], *b = &got->leaves[i], *s = &shape->leaves[i];
            LOOM_CHECK_STR(b->name, a->name);
            LOOM_CHECK_EQ_INT(b->n_data, a->n_data);
            LOOM_CHECK(a->n_data == 0 || memcmp(a->data, b->data, (size_t)a->n_data * loom_dtype_size(a->dtype)) == 0);
            for (uint32_t e = 0; e < a->depth; e++) {
                LOOM_CHECK_EQ_INT(b->extents[e], a->extents[e]);
                LOOM_CHECK_EQ_INT(s->extents[e], a->extents[e]);
            }
        }
        for (int i = 0; i < 3; i++) loom_value_unref(parts[i]);
        loom_value_unref(want), loom_value_unref(got), loom_value_unref(shape);
        free(object.path);
    }
    loom_remove_tree(folder);
}

LOOM_TEST(object, falls_back_to_the_next_folder) {
    char *folder = temporary();
    const char *folders[] = {"/nonexistent-folder", folder};
    loom_value *v = sample();
    loom_object object;
    LOOM_OK(loom_object_write(folders, 2, UINT64_MAX, v, &object));
    LOOM_CHECK(strncmp(object.path, folder, strlen(folder)) == 0);
    LOOM_FAILS(loom_object_write(folders, 1, UINT64_MAX, v, &object), LOOM_E_CANTCREATE);
    free(object.path);
    loom_value_unref(v);
    loom_remove_tree(folder);
}

/* What was read stays though its file is cut short; only small files are read, and nothing that is waited for. */
LOOM_TEST(object, read_not_mapped) {
    char *folder = temporary();
    loom_value *v = sample(), *back;
    loom_object object;
    const char *folders[] = {folder};
    LOOM_OK(loom_object_write(folders, 1, UINT64_MAX, v, &object));
    LOOM_OK(loom_object_read(object.path, object.bytes, &back));
    LOOM_CHECK_EQ_INT(truncate(object.path, 0), 0);
    check_sample(back);
    LOOM_CHECK_EQ_INT((uintptr_t)back->leaves[1].data % 64, 0);
    loom_value_unref(back);
    LOOM_FAILS(loom_object_read(object.path, object.bytes, &back), LOOM_E_DATA);
    free(object.path);
    LOOM_OK(loom_object_write(folders, 1, UINT64_MAX, v, &object));
    LOOM_FAILS(loom_object_read(object.path, object.bytes - 1, &back), LOOM_E_DATA);
    LOOM_CHECK_EQ_INT(truncate(object.path, (off_t)object.bytes - 65), 0);
    LOOM_FAILS(loom_object_read(object.path, object.bytes, &back), LOOM_E_DATA);
    unlink(object.path);
    LOOM_FAILS(loom_object_read(object.path, object.bytes, &back), LOOM_E_NOINPUT);
    LOOM_CHECK_EQ_INT(mkfifo(object.path, 0600), 0);
    LOOM_FAILS(loom_object_read(object.path, object.bytes, &back), LOOM_E_DATA);
    free(object.path);
    loom_value_unref(v);
    loom_remove_tree(folder);
}

/* Every cut of an object and every changed byte of its header is an error or a valid value, never a crash. */
LOOM_TEST(object, broken_files) {
    char *folder = temporary();
    loom_value *v = sample();
    loom_object object;
    const char *folders[] = {folder};
    LOOM_OK(loom_object_write(folders, 1, UINT64_MAX, v, &object));
    char *bytes;
    size_t length;
    LOOM_OK(loom_file_read(object.path, 1 << 20, &bytes, &length));
    char *path = malloc(strlen(folder) + 8);
    snprintf(path, strlen(folder) + 8, "%s/x.obj", folder);
    for (size_t cut = 0; cut < length; cut += 7) {
        LOOM_OK(loom_file_write(path, bytes, cut, false));
        loom_value *back = NULL;
        loom_status *status = loom_object_map(path, &back);
        LOOM_CHECK(status || cut + 64 > length);
        loom_status_free(status);
        loom_value_unref(back);
    }
    for (size_t i = 0; i < 96 && i < length; i++) {
        for (int v8 = 1; v8 < 256; v8 += 37) {
            bytes[i] = (char)(bytes[i] + v8);
            LOOM_OK(loom_file_write(path, bytes, length, false));
            loom_value *back = NULL;
            loom_status_free(loom_object_map(path, &back));
            loom_value_unref(back);
            bytes[i] = (char)(bytes[i] - v8);
        }
    }
    free(bytes);
    free(path);
    free(object.path);
    loom_value_unref(v);
    loom_remove_tree(folder);
}
