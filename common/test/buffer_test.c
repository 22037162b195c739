#include "common/buffer.h"
#include "loom_test.h"

LOOM_TEST(buffer, appends_and_terminates) {
    loom_buffer b = {0};
    loom_buffer_text(&b, "a");
    LOOM_CHECK_STR(b.data, "a");
    loom_buffer_append(&b, "b\0c", 3);
    LOOM_CHECK_EQ_INT(b.length, 4);
    LOOM_CHECK_EQ_INT(b.data[4], 0);
    LOOM_CHECK_EQ_INT(memcmp(b.data, "ab\0c", 4), 0);
    loom_buffer_append(&b, NULL, 0);
    LOOM_CHECK_EQ_INT(b.length, 4);
    loom_buffer_free(&b);
    LOOM_CHECK(b.data == NULL);
    LOOM_CHECK_EQ_INT(b.length, 0);
}

LOOM_TEST(buffer, grows_over_many_appends) {
    loom_buffer b = {0};
    for (int i = 0; i < 10000; i++) loom_buffer_printf(&b, "%d,", i);
    LOOM_CHECK_EQ_INT(b.length, 10 * 2 + 90 * 3 + 900 * 4 + 9000 * 5);
    LOOM_CHECK_HAS(b.data, ",9998,9999,");
    LOOM_CHECK_EQ_INT(strlen(b.data), b.length);
    loom_buffer_free(&b);
}

LOOM_TEST(buffer, take_empties) {
    loom_buffer b = {0};
    char *nothing = loom_buffer_take(&b);
    LOOM_CHECK_STR(nothing, "");
    free(nothing);
    loom_buffer_text(&b, "text");
    char *text = loom_buffer_take(&b);
    LOOM_CHECK_STR(text, "text");
    LOOM_CHECK(b.data == NULL && b.capacity == 0);
    free(text);
}

LOOM_TEST(buffer, allocators) {
    char *a = loom_xprintf("%s-%d", "x", 7);
    LOOM_CHECK_STR(a, "x-7");
    char *b = loom_xstrdup(a);
    LOOM_CHECK_STR(b, a);
    int *zeros = loom_xcalloc(100, sizeof *zeros);
    for (int i = 0; i < 100; i++) LOOM_CHECK_EQ_INT(zeros[i], 0);
    zeros = loom_xrealloc(zeros, 200 * sizeof *zeros);
    void *empty = loom_xmalloc(0);
    LOOM_CHECK(empty != NULL);
    free(empty);
    free(zeros);
    free(a);
    free(b);
}
