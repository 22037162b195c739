/* Values given to jobs, as objects: each is written once and serves all jobs that are given the same value, for as long
 * as a job or the caller has it. A session that lives for weeks keeps no files of what it was given long ago. */
#include "common/buffer.h"
#include "common/log.h"
#include "impl.h"
#include "proto/value_codec.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct loom_argument {
    struct loom_argument *next;
    loom_value *value; /* a reference of its own: no other value has this address meanwhile */
    loom_object object;
    uint32_t jobs;
};

static void free_argument(loom_argument *a) {
    loom_value_unref(a->value);
    free(a->object.path);
    free(a);
}

/* What no job has and the caller has let go. */
static void sweep(loom_session *s) {
    for (loom_argument **at = &s->given; *at;) {
        loom_argument *a = *at;
        if (a->jobs || loom_value_is_shared(a->value)) {
            at = &a->next;
            continue;
        }
        if (unlink(a->object.path) < 0 && errno != ENOENT)
            loom_log(LOOM_LOG_WARN, "cannot remove %s: %s", a->object.path, strerror(errno));
        *at = a->next;
        free_argument(a);
    }
}

static loom_status *write_argument(loom_session *s, loom_value *value, loom_argument **argument) {
    const char *folders[2] = {s->arguments, s->folder};
    loom_object object;
    LOOM_TRY(loom_object_write(folders, 2, UINT64_MAX, value, &object));
    loom_argument *made = loom_xcalloc(1, sizeof *made);
    *made = (loom_argument){.next = s->given, .value = loom_value_ref(value), .object = object};
    s->given = made;
    *argument = made;
    return NULL;
}

loom_status *loom_argument_take(loom_session *s, loom_value *value, loom_argument **argument) {
    sweep(s);
    loom_argument *a = s->given;
    while (a && a->value != value) a = a->next;
    if (!a) LOOM_TRY(write_argument(s, value, &a));
    a->jobs++;
    *argument = a;
    return NULL;
}

const char *loom_argument_object(const loom_argument *a, uint64_t *bytes) {
    *bytes = a->object.bytes;
    return a->object.path;
}

void loom_argument_leave(loom_session *s, loom_argument *a) {
    a->jobs--;
    sweep(s);
}

void loom_arguments_free_all(loom_session *s) {
    while (s->given) {
        loom_argument *a = s->given;
        s->given = a->next;
        free_argument(a);
    }
}
