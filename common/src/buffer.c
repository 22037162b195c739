#include "common/buffer.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void exhausted(size_t bytes) {
    fprintf(stderr, "out of memory: no room for %zu bytes\n", bytes);
    abort();
}

/* Room for n more bytes and the NUL. */
static void reserve(loom_buffer *buffer, size_t n) {
    size_t need;
    if (__builtin_add_overflow(buffer->length, n, &need) || need == SIZE_MAX) exhausted(n);
    need++;
    if (need <= buffer->capacity) return;
    size_t capacity = buffer->capacity < 32 ? 64 : buffer->capacity;
    while (capacity < need) capacity = capacity > SIZE_MAX / 2 ? need : 2 * capacity;
    buffer->data = loom_xrealloc(buffer->data, capacity);
    buffer->capacity = capacity;
}

void loom_buffer_append(loom_buffer *buffer, const void *bytes, size_t n) {
    reserve(buffer, n);
    if (n) memcpy(buffer->data + buffer->length, bytes, n);
    buffer->length += n;
    buffer->data[buffer->length] = '\0';
}

void loom_buffer_text(loom_buffer *buffer, const char *text) {
    loom_buffer_append(buffer, text, strlen(text));
}

void loom_buffer_printf(loom_buffer *buffer, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length >= 0) {
        reserve(buffer, (size_t)length);
        vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
}

char *loom_buffer_take(loom_buffer *buffer) {
    if (!buffer->data) reserve(buffer, 0);
    char *data = buffer->data;
    data[buffer->length] = '\0';
    *buffer = (loom_buffer){0};
    return data;
}

void loom_buffer_free(loom_buffer *buffer) {
    free(buffer->data);
    *buffer = (loom_buffer){0};
}

void *loom_xmalloc(size_t bytes) {
    void *at = malloc(bytes ? bytes : 1);
    if (!at) exhausted(bytes);
    return at;
}

void *loom_xcalloc(size_t count, size_t size) {
    void *at = calloc(count ? count : 1, size ? size : 1);
    if (!at) exhausted(count);
    return at;
}

void *loom_xrealloc(void *old, size_t bytes) {
    void *at = realloc(old, bytes ? bytes : 1);
    if (!at) exhausted(bytes);
    return at;
}

char *loom_xstrdup(const char *text) {
    size_t n = strlen(text) + 1;
    return memcpy(loom_xmalloc(n), text, n);
}

char *loom_xprintf(const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0) exhausted(0);
    return text;
}

const char *loom_bytes_text(double bytes, char text[32]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++) bytes /= 1024;
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

/* Bytes of the character at `text`; 0: none that can be shown. */
static size_t character(const char *text, size_t length) {
    unsigned char c = (unsigned char)text[0];
    if (c < 0x80) return c >= ' ' && c != 0x7f;
    size_t n = c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
    if (n == 0 || n > length) return 0;
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80) return 0;
    }
    bool control = c == 0xC2 && (unsigned char)text[1] < 0xA0;
    return control ? 0 : n;
}

void loom_make_printable(char *text, size_t length) {
    for (size_t i = 0; i < length;) {
        size_t n = character(text + i, length - i);
        if (n == 0 && text[i] != '\n' && text[i] != '\t') text[i] = '?';
        i += n ? n : 1;
    }
}

char *loom_printable(char *text) {
    if (text) loom_make_printable(text, strlen(text));
    return text;
}
