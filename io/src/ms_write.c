/* Writing a MeasurementSet: everything goes to a directory beside the target, which takes its name at the end. */
#include "casa.h"
#include "common/buffer.h"
#include "common/file.h"
#include "io/ms.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct loom_ms_writer {
    loom_casa_ms *ms;
    char *path, *temporary;
};

static void free_writer(loom_ms_writer *writer) {
    free(writer->path);
    free(writer->temporary);
    free(writer);
}

static char *without_slashes(const char *path) {
    char *copy = loom_xstrdup(path);
    for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--) copy[n - 1] = '\0';
    return copy;
}

/* The folder must take a new entry: told before hours of work, not after. */
static loom_status *check_target(const char *path) {
    struct stat info;
    if (lstat(path, &info) == 0) {
        return loom_status_note(loom_error(LOOM_E_CANTCREATE, "cannot write %s: it exists", path),
                                "hint: remove it, or choose another name");
    }
    return errno == ENOENT ? NULL : loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot write %s", path);
}

loom_status *loom_ms_create(const char *path, const loom_ms_layout *layout, loom_ms_writer **writer) {
    loom_ms_writer *made = loom_xcalloc(1, sizeof *made);
    made->path = without_slashes(path);
    made->temporary = loom_xprintf("%s.tmp-%d", made->path, (int)getpid());
    loom_status *status = check_target(made->path);
    /* casacore's own message for a folder that cannot be made is no help. */
    if (!status && mkdir(made->temporary, 0777) < 0) {
        status = loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot write %s", made->path);
    } else if (!status) {
        rmdir(made->temporary);
        status = loom_casa_ms_create(made->temporary, layout, &made->ms);
        if (status) loom_remove_tree(made->temporary);
    }
    if (status) {
        free_writer(made);
        return status;
    }
    *writer = made;
    return NULL;
}

loom_status *loom_ms_put(loom_ms_writer *writer, const loom_ms_rows *rows) {
    return loom_status_note(loom_casa_ms_put(writer->ms, rows), "while writing %s", writer->path);
}

loom_status *loom_ms_flush(loom_ms_writer *writer) {
    if (!writer->ms) return NULL;
    loom_status *status = loom_casa_ms_close(writer->ms);
    writer->ms = NULL;
    return status;
}

loom_status *loom_ms_commit(loom_ms_writer *writer) {
    loom_status *status = loom_ms_flush(writer);
    if (!status && rename(writer->temporary, writer->path) < 0) {
        status = loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot write %s", writer->path);
    }
    if (status) {
        loom_remove_tree(writer->temporary);
        loom_status_note(status, "nothing is left at %s", writer->path);
    }
    free_writer(writer);
    return status;
}

void loom_ms_abort(loom_ms_writer *writer) {
    if (!writer) return;
    loom_status_free(loom_ms_flush(writer));
    loom_remove_tree(writer->temporary);
    free_writer(writer);
}
