/* Sets of forced choices: text and checks. */
#include "compiler/ir/force.h"
#include "common/buffer.h"
#include <stdlib.h>
#include <string.h>

typedef struct force_info {
    const char *key, *value;
} force_info;

static const force_info table[LOOM_FORCE_BITS] = {
#define X(name, key, value, what) {key, value},
    LOOM_FORCES(X)
#undef X
};

static bool is_text(const char *text, const char *at, size_t length) {
    return strlen(text) == length && memcmp(text, at, length) == 0;
}

/* Values of the key, or keys of the table where it is NULL; once each. */
static char *expected(const char *key, size_t length) {
    loom_buffer b = {0};
    for (uint32_t i = 0; i < LOOM_FORCE_BITS; i++) {
        if (key && !is_text(table[i].key, key, length)) continue;
        if (!key && i > 0 && strcmp(table[i].key, table[i - 1].key) == 0) continue;
        loom_buffer_printf(&b, "%s%s", b.length ? ", " : "", key ? table[i].value : table[i].key);
    }
    return loom_buffer_take(&b);
}

static loom_status *parse_one(const char *at, size_t length, uint32_t *force) {
    const char *equals = memchr(at, '=', length);
    size_t key = equals ? (size_t)(equals - at) : length;
    bool known = false;
    for (uint32_t i = 0; i < LOOM_FORCE_BITS; i++) {
        if (!is_text(table[i].key, at, key)) continue;
        known = true;
        if (!equals || !is_text(table[i].value, equals + 1, length - key - 1)) continue;
        *force |= UINT32_C(1) << i;
        return NULL;
    }
    char *names = expected(known ? at : NULL, key);
    loom_status *status =
        known ? loom_error(LOOM_E_USAGE, "\"%.*s\" cannot be forced: expected %.*s=, and one of %s", (int)length, at,
                           (int)key, at, names)
              : loom_error(LOOM_E_USAGE,
                           "\"%.*s\" cannot be forced: expected one of %s, and its value behind a =", (int)length, at,
                           names);
    free(names);
    return loom_status_note(status, "hint: several stand behind each other, as in schedule=flat,loops=compact");
}

/* The second bit of a key that has two, or LOOM_FORCE_BITS. */
static uint32_t forced_twice(uint64_t force) {
    for (uint32_t i = 1; i < LOOM_FORCE_BITS; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if ((force >> i & 1) && (force >> j & 1) && strcmp(table[i].key, table[j].key) == 0) return i;
        }
    }
    return LOOM_FORCE_BITS;
}

loom_status *loom_force_parse(const char *text, uint32_t *force) {
    *force = 0;
    if (!text || !*text) return NULL;
    uint32_t made = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        LOOM_TRY(parse_one(at, length, &made));
        at += length;
        if (!*at) break;
    }
    uint32_t twice = forced_twice(made);
    if (twice < LOOM_FORCE_BITS)
        return loom_error(LOOM_E_USAGE, "\"%s\" forces two values of %s: expected one", text, table[twice].key);
    *force = made;
    return NULL;
}

loom_status *loom_force_check(uint64_t force) {
    if (force >= LOOM_FORCE_END)
        return loom_error(LOOM_E_DATA, "forced choices %#llx: the last one known here is %#x",
                          (unsigned long long)force, LOOM_FORCE_END / 2);
    uint32_t twice = forced_twice(force);
    return twice < LOOM_FORCE_BITS ? loom_error(LOOM_E_DATA, "two forced values of %s", table[twice].key) : NULL;
}
