/* A list of pointers: order is kept, removal costs its length. For what comes in tens: workers, jobs, tasks. */
#ifndef LOOM_DAEMON_LIST_H
#define LOOM_DAEMON_LIST_H

#include "common/buffer.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct loom_list {
    void **at;
    size_t n, capacity;
} loom_list;

static inline void loom_list_add(loom_list *list, void *item) {
    if (list->n == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 8;
        list->at = loom_xrealloc(list->at, list->capacity * sizeof *list->at);
    }
    list->at[list->n++] = item;
}

static inline bool loom_list_remove(loom_list *list, const void *item) {
    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i] != item) continue;
        memmove(&list->at[i], &list->at[i + 1], (list->n - i - 1) * sizeof *list->at);
        list->n--;
        return true;
    }
    return false;
}

static inline void loom_list_free(loom_list *list) {
    free(list->at);
    *list = (loom_list){0};
}

#endif
