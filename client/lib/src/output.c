#include "client/output.h"
#include "client/program.h"
#include "common/buffer.h"
#include "common/file.h"
#include "common/signals.h"
#include "io/npy.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Arrays of at most so many elements print in full; longer ones belong in files. */
#define SHORT_ARRAY 64

typedef struct target {
    uint32_t leaf;
    const char *path;
} target;

struct loom_client_outputs {
    loom_arena *arena;
    uint32_t n_leaves;
    loom_type_leaf *leaves;
    target *targets;
    size_t n_targets;
};

/* ---- before the run ---- */

/* A pipe is not opened: its reader would take that for all there is. */
static loom_status *try_to_open(const char *path) {
    struct stat info;
    if (stat(path, &info) == 0 && S_ISFIFO(info.st_mode)) {
        return access(path, W_OK) == 0 ? NULL : loom_error_errno(LOOM_E_CANTCREATE, errno, "cannot write %s", path);
    }
    sigset_t before;
    loom_signals_hold(&before);
    loom_writer *writer = NULL;
    loom_status *status = loom_writer_open(path, &writer);
    loom_writer_abort(writer);
    loom_signals_restore(&before);
    return status;
}

loom_status *loom_client_check_writable(const char *path, uint64_t bytes) {
    LOOM_TRY(try_to_open(path));
    char *folder = loom_file_folder(path);
    loom_status *status = loom_file_check_room(folder, path, bytes);
    free(folder);
    return status;
}

static char *leaf_names(const loom_client_outputs *o) {
    loom_buffer b = {0};
    for (uint32_t i = 0; i < o->n_leaves; i++) loom_buffer_printf(&b, "%s%s", i ? ", " : "", o->leaves[i].name);
    return loom_buffer_take(&b);
}

static loom_status *find_leaf(const loom_client_outputs *o, const char *name, size_t length, uint32_t *leaf) {
    for (uint32_t i = 0; i < o->n_leaves; i++) {
        if (strlen(o->leaves[i].name) != length || memcmp(o->leaves[i].name, name, length) != 0) continue;
        *leaf = i;
        return NULL;
    }
    char *names = leaf_names(o);
    loom_status *status;
    if (length == 0) {
        status = loom_status_note(loom_error(LOOM_E_USAGE, "the result has several parts"),
                                  "hint: choose with -o PART=FILE.npy; its parts are %s", names);
    } else if (o->n_leaves == 1 && o->leaves[0].name[0] == '\0') {
        status = loom_error(LOOM_E_USAGE, "the result has no part '%.*s': it is one value", (int)length, name);
    } else {
        status = loom_status_note(loom_error(LOOM_E_USAGE, "the result has no part '%.*s'", (int)length, name),
                                  "hint: its parts are %s", names);
    }
    free(names);
    return status;
}

/* "K=FILE" or "FILE"; a '=' counts only before the first '/', so that odd file names can be given as ./a=b.npy. */
static loom_status *add_target(loom_client_outputs *o, const char *given) {
    size_t name = strcspn(given, "=/");
    bool chosen = given[name] == '=';
    uint32_t leaf;
    LOOM_TRY(find_leaf(o, given, chosen ? name : 0, &leaf));
    const char *path = chosen ? given + name + 1 : given;
    size_t n = strlen(path);
    if (n < 5 || strcmp(path + n - 4, ".npy") != 0) {
        return loom_status_note(loom_error(LOOM_E_USAGE, "-o %s: results are written as .npy files", given),
                                "hint: end the name with .npy");
    }
    LOOM_TRY(loom_client_check_writable(path, 0));
    o->targets[o->n_targets++] = (target){leaf, path};
    return NULL;
}

loom_status *loom_client_outputs_create(const loom_program *p, uint32_t function, const loom_option_list *given,
                                        loom_client_outputs **outputs) {
    loom_client_outputs *o = loom_xcalloc(1, sizeof *o);
    o->arena = loom_arena_create(0);
    o->n_leaves = loom_type_leaves(p, o->arena, loom_client_result_type(p, function), &o->leaves);
    o->targets = loom_xcalloc(given->count + 1, sizeof *o->targets);
    loom_status *status = NULL;
    for (size_t i = 0; i < given->count && !status; i++) status = add_target(o, given->at[i]);
    if (status) {
        loom_client_outputs_free(o);
        return status;
    }
    *outputs = o;
    return NULL;
}

void loom_client_outputs_free(loom_client_outputs *outputs) {
    if (!outputs) return;
    loom_arena_destroy(outputs->arena);
    free(outputs->targets);
    free(outputs);
}

void loom_client_outputs_list(const loom_client_outputs *outputs, loom_paths *paths) {
    for (size_t i = 0; i < outputs->n_targets; i++) {
        const target *t = &outputs->targets[i];
        loom_paths_write(paths, t->path);
        /* Any level but the outermost may turn out irregular. */
        for (uint32_t k = 1; k < outputs->leaves[t->leaf].depth; k++) {
            char *lengths = loom_npy_lengths_path(t->path, k - 1);
            loom_paths_write(paths, lengths);
            free(lengths);
        }
    }
}

/* ---- after it ---- */

/* Prints the list that begins at scalar *at of level k, of `extent` elements; *list counts the lists of each level. */
static void print_list(const loom_leaf *leaf, uint32_t k, int64_t *at, int64_t *list, FILE *to) {
    if (k == leaf->depth) {
        loom_client_print_scalar(leaf->dtype, (const char *)leaf->data + (size_t)*at * loom_dtype_size(leaf->dtype),
                                 to);
        ++*at;
        return;
    }
    int64_t extent = loom_leaf_length(leaf, k, list[k]);
    list[k]++;
    fputc('[', to);
    for (int64_t i = 0; i < extent; i++) {
        if (i) fputs(", ", to);
        print_list(leaf, k + 1, at, list, to);
    }
    fputc(']', to);
}

static void print_leaf(const loom_leaf *leaf, bool named, FILE *to) {
    int64_t at = 0, list[LOOM_MAX_DEPTH] = {0};
    if (named) fprintf(to, "%s = ", leaf->name);
    if (leaf->n_data <= SHORT_ARRAY) {
        print_list(leaf, 0, &at, list, to);
        fputc('\n', to);
        return;
    }
    for (uint32_t k = 0; k < leaf->depth; k++) {
        if (leaf->extents[k] == LOOM_IRREGULAR) {
            fputs("[]", to);
        } else {
            fprintf(to, "[%" PRId64 "]", leaf->extents[k]);
        }
    }
    fprintf(to, "%s (to keep it: -o %s%sFILE.npy)\n", loom_dtype_name(leaf->dtype), leaf->name, named ? "=" : "");
}

static const target *target_of(const loom_client_outputs *o, uint32_t leaf) {
    for (size_t i = 0; i < o->n_targets; i++) {
        if (o->targets[i].leaf == leaf) return &o->targets[i];
    }
    return NULL;
}

loom_status *loom_client_outputs_hold(const loom_client_outputs *outputs, const loom_value *result, FILE *to,
                                      loom_file_set *files) {
    for (size_t i = 0; i < outputs->n_targets; i++) {
        const char *name = outputs->leaves[outputs->targets[i].leaf].name;
        const loom_leaf *leaf = loom_value_find(result, name);
        if (!leaf) return loom_error(LOOM_E_INTERNAL, "the result has no column '%s'", name);
        LOOM_TRY(loom_npy_hold_leaf(outputs->targets[i].path, leaf, files));
    }
    for (uint32_t i = 0; i < outputs->n_leaves; i++) {
        const loom_leaf *leaf = loom_value_find(result, outputs->leaves[i].name);
        if (leaf && !target_of(outputs, i)) print_leaf(leaf, outputs->leaves[i].name[0] != '\0', to);
    }
    return NULL;
}

void loom_client_print_elements(const loom_value *elements, FILE *to) {
    typedef struct place {
        int64_t at, list[LOOM_MAX_DEPTH];
    } place;
    place *places = loom_xcalloc(elements->n_leaves + 1, sizeof *places);
    int64_t n = elements->n_leaves ? loom_leaf_length(&elements->leaves[0], 0, 0) : 0;
    for (int64_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < elements->n_leaves; k++) {
            if (k) fputc(' ', to);
            print_list(&elements->leaves[k], 1, &places[k].at, places[k].list, to);
        }
        fputc('\n', to);
    }
    free(places);
}
