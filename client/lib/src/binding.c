/* Order of work: every given text is hung on the leaf it names; what is missing is found; then files are opened. */
#include "client/binding.h"
#include "client/program.h"
#include "common/buffer.h"
#include "io/npy.h"
#include "io/observation.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct slot {
    const char *given; /* "p.n=512", for messages; NULL: not given */
    const char *text;  /* "512" */
    bool constant, observation;
} slot;

typedef struct param {
    const char *name;
    loom_type_id type; /* of a stream: of its elements */
    bool stream;
    bool endless; /* from standard input */
    uint32_t n_leaves;
    loom_type_leaf *leaves;
    slot *slots;
} param;

typedef struct binder {
    const loom_program *p;
    loom_arena *arena;
    uint32_t n_params;
    param *params;
    loom_paths *files;
    const loom_ms_selection *selection; /* of observations */
} binder;

static void read_params(binder *b, uint32_t function) {
    b->n_params = loom_client_n_params(b->p, function);
    b->params = LOOM_NEW_ARRAY(b->arena, param, b->n_params + 1);
    for (uint32_t i = 0; i < b->n_params; i++) {
        param *q = &b->params[i];
        q->name = loom_client_param_name(b->p, function, i);
        q->type = loom_client_param_type(b->p, function, i);
        q->stream = b->p->types[q->type].kind == LOOM_T_SEQ;
        if (q->stream) q->type = b->p->types[q->type].element;
        q->n_leaves = loom_type_leaves(b->p, b->arena, q->type, &q->leaves);
        q->slots = LOOM_NEW_ARRAY(b->arena, slot, q->n_leaves + 1);
    }
}

static const char *type_of(const binder *b, const param *q) {
    return loom_arena_printf(b->arena, "%s%s", q->stream ? "seq " : "", loom_type_text(b->p, q->type));
}

/* "[][]f32" */
static const char *leaf_type(const binder *b, const loom_type_leaf *leaf) {
    loom_buffer text = {0};
    for (uint32_t k = 0; k < leaf->depth; k++) loom_buffer_text(&text, "[]");
    loom_buffer_text(&text, loom_dtype_name(leaf->dtype));
    const char *copy = loom_arena_strdup(b->arena, text.data);
    loom_buffer_free(&text);
    return copy;
}

/* ---- hanging texts on leaves ---- */

static loom_status *no_such_param(const binder *b, const char *option, const char *given, size_t length) {
    loom_buffer names = {0};
    for (uint32_t i = 0; i < b->n_params; i++) {
        loom_buffer_printf(&names, "%s%s: %s", i ? ", " : "", b->params[i].name, type_of(b, &b->params[i]));
    }
    loom_status *status = loom_status_note(
        loom_error(LOOM_E_USAGE, "--%s %s: the entry has no parameter '%.*s'", option, given, (int)length, given),
        "hint: its parameters are %s", names.length ? names.data : "none");
    loom_buffer_free(&names);
    return status;
}

static loom_status *no_such_field(const binder *b, const param *q, const char *option, const char *given,
                                  const char *field, size_t length) {
    if (length == 0 || (q->n_leaves == 1 && q->leaves[0].name[0] == '\0')) {
        return length ? loom_error(LOOM_E_USAGE, "--%s %s: parameter %s is %s, which has no fields", option, given,
                                   q->name, type_of(b, q))
                      : loom_status_note(loom_error(LOOM_E_USAGE, "--%s %s: parameter %s is %s", option, given, q->name,
                                                    type_of(b, q)),
                                         "hint: give each field: --%s %s.%s=...%s", option, q->name,
                                         q->n_leaves ? q->leaves[0].name : "",
                                         q->stream ? ", or all of an observation's with --observation" : "");
    }
    return loom_error(LOOM_E_USAGE, "--%s %s: parameter %s has no field '%.*s'; it is %s", option, given, q->name,
                      (int)length, field, type_of(b, q));
}

static loom_status *check_kind(const binder *b, const param *q, const char *option, const char *given) {
    bool argument = strcmp(option, "arg") == 0;
    if (argument != q->stream) return NULL;
    return loom_status_note(loom_error(LOOM_E_USAGE, "--%s %s: parameter %s is %s, %s stream", option, given, q->name,
                                       type_of(b, q), q->stream ? "a" : "not a"),
                            "hint: use --%s", q->stream ? "stream (or --const for a constant field)" : "arg");
}

static loom_status *find_param(const binder *b, const char *option, const char *given, size_t length, param **found) {
    for (uint32_t i = 0; i < b->n_params; i++) {
        param *q = &b->params[i];
        if (strlen(q->name) != length || memcmp(q->name, given, length) != 0) continue;
        *found = q;
        return check_kind(b, q, option, given);
    }
    return no_such_param(b, option, given, length);
}

static loom_status *given_before(const param *q, const slot *s, const char *option, const char *given) {
    return loom_error(LOOM_E_USAGE, "--%s %s: %s was given before, as %s", option, given, q->name, s->given);
}

/* --stream NAME=-: all leaves of one stream. */
static loom_status *hang_frames(binder *b, param *q, const char *given, bool whole) {
    if (!whole) {
        return loom_status_note(loom_error(LOOM_E_USAGE,
                                           "--stream %s: the fields of a stream come from standard input "
                                           "together",
                                           given),
                                "hint: --stream %s=-", q->name);
    }
    for (uint32_t i = 0; i < b->n_params; i++) {
        if (b->params[i].endless)
            return loom_error(LOOM_E_USAGE, "--stream %s: standard input is for %s already", given, b->params[i].name);
    }
    for (uint32_t k = 0; k < q->n_leaves; k++) {
        if (q->slots[k].given) return given_before(q, &q->slots[k], "stream", given);
        q->slots[k] = (slot){given, "-", false, false};
    }
    q->endless = true;
    return NULL;
}

static loom_status *hang(binder *b, const char *option, const char *given, bool constant) {
    size_t path = strcspn(given, "="), name = strcspn(given, ".=");
    if (given[path] != '=' || name == 0) {
        return loom_error(LOOM_E_USAGE, "--%s %s: expected NAME[.field]=%s", option, given,
                          strcmp(option, "arg") == 0 ? "VALUE or FILE.npy" : "FILE.npy");
    }
    param *q;
    LOOM_TRY(find_param(b, option, given, name, &q));
    const char *field = given + name + (given[name] == '.');
    size_t length = (size_t)(given + path - field);
    if (q->stream && !constant && strcmp(given + path + 1, "-") == 0) return hang_frames(b, q, given, path == name);
    for (uint32_t k = 0; k < q->n_leaves; k++) {
        if (strlen(q->leaves[k].name) != length || memcmp(q->leaves[k].name, field, length) != 0) continue;
        if (q->slots[k].given) return given_before(q, &q->slots[k], option, given);
        q->slots[k] = (slot){given, given + path + 1, constant, false};
        return NULL;
    }
    return no_such_field(b, q, option, given, field, length);
}

/* An observation gives all fields of a stream at once. */
static loom_status *hang_observation(binder *b, const char *given) {
    size_t name = strcspn(given, "=");
    if (given[name] != '=' || name == 0 || !given[name + 1]) {
        return loom_error(LOOM_E_USAGE, "--observation %s: expected NAME=FILE", given);
    }
    param *q;
    LOOM_TRY(find_param(b, "observation", given, name, &q));
    for (uint32_t k = 0; k < q->n_leaves; k++) {
        if (q->slots[k].given) return given_before(q, &q->slots[k], "observation", given);
        q->slots[k] = (slot){given, given + name + 1, false, true};
    }
    return NULL;
}

static loom_status *hang_all(binder *b, const loom_client_given *given) {
    for (size_t i = 0; i < given->arguments.count; i++) LOOM_TRY(hang(b, "arg", given->arguments.at[i], false));
    for (size_t i = 0; i < given->streams.count; i++) LOOM_TRY(hang(b, "stream", given->streams.at[i], false));
    for (size_t i = 0; i < given->constants.count; i++) LOOM_TRY(hang(b, "const", given->constants.at[i], true));
    for (size_t i = 0; i < given->observations.count; i++) LOOM_TRY(hang_observation(b, given->observations.at[i]));
    return NULL;
}

/* All that is missing is told at once. */
static loom_status *check_complete(const binder *b) {
    loom_status *status = NULL;
    for (uint32_t i = 0; i < b->n_params; i++) {
        const param *q = &b->params[i];
        for (uint32_t k = 0; k < q->n_leaves; k++) {
            if (q->slots[k].given) continue;
            const char *dot = q->leaves[k].name[0] ? "." : "";
            if (!status) status = loom_error(LOOM_E_USAGE, "not all parameters are given");
            loom_status_note(status, "missing: --%s %s%s%s=%s (%s%s)", q->stream ? "stream" : "arg", q->name, dot,
                             q->leaves[k].name, q->stream || q->leaves[k].depth ? "FILE.npy" : "VALUE",
                             q->stream ? "seq " : "", leaf_type(b, &q->leaves[k]));
        }
    }
    return status;
}

/* ---- arguments ---- */

/* "values.npy,lengths.npy" in two; *lengths NULL if there is no comma. */
static const char *split_files(const binder *b, const char *text, const char **lengths) {
    const char *comma = strchr(text, ',');
    const char *values = comma ? loom_arena_strndup(b->arena, text, (size_t)(comma - text)) : text;
    *lengths = comma ? comma + 1 : NULL;
    loom_paths_read(b->files, values);
    loom_paths_read(b->files, *lengths);
    return values;
}

static loom_status *scalar_argument(const slot *s, const loom_type_leaf *leaf, loom_value **value) {
    loom_scalar x;
    char *what = loom_xprintf("--arg %.*s", (int)(s->text - s->given - 1), s->given);
    loom_status *status = loom_client_scalar(what, s->text, leaf->dtype, &x);
    free(what);
    LOOM_TRY(status);
    loom_value *made;
    LOOM_TRY(loom_value_create(1, &made));
    status = loom_leaf_init(&made->leaves[0], leaf->name, leaf->dtype, 0, NULL, 64);
    if (status) {
        loom_value_unref(made);
        return status;
    }
    loom_scalar_store(leaf->dtype, x, made->leaves[0].data);
    *value = made;
    return NULL;
}

/* Values and lengths: the same as a stream over the outermost level, read whole. */
static loom_status *irregular_argument(const slot *s, const loom_type_leaf *leaf, const char *values,
                                       const char *lengths, loom_value **value) {
    if (leaf->depth < 2) {
        return loom_error(LOOM_E_USAGE, "--arg %s: lengths are for arrays of at least two levels", s->given);
    }
    loom_npy_column column = {leaf->name, values, lengths, false, leaf->dtype, leaf->depth - 1};
    loom_source *source;
    LOOM_TRY(loom_source_npy(&column, 1, &source));
    loom_status *status = loom_source_read(source, 0, source->n_elements, value);
    loom_source_destroy(source);
    return status;
}

static loom_status *file_argument(const binder *b, const slot *s, const loom_type_leaf *leaf, loom_value **value) {
    const char *lengths, *values = split_files(b, s->text, &lengths);
    if (lengths) return irregular_argument(s, leaf, values, lengths, value);
    LOOM_TRY(loom_npy_read(values, leaf->name, value));
    const loom_leaf *got = &(*value)->leaves[0];
    if (got->dtype == leaf->dtype && got->depth == leaf->depth) return NULL;
    loom_status *status = loom_status_note(
        loom_error(LOOM_E_DATA, "--arg %s: the file holds %s with %" PRIu32 " axes, the parameter is %s", s->given,
                   loom_dtype_name(got->dtype), got->depth, leaf_type(b, leaf)),
        "hint: convert it, for example with x.astype(...)");
    loom_value_unref(*value);
    *value = NULL;
    return status;
}

static bool names_file(const char *text) {
    size_t n = strlen(text);
    return n > 4 && strcmp(text + n - 4, ".npy") == 0;
}

static loom_status *leaf_argument(const binder *b, const slot *s, const loom_type_leaf *leaf, loom_value **value) {
    if (leaf->depth == 0 && !names_file(s->text)) return scalar_argument(s, leaf, value);
    if (!names_file(s->text)) {
        return loom_status_note(
            loom_error(LOOM_E_USAGE, "--arg %s: an array (%s) is given as a file", s->given, leaf_type(b, leaf)),
            "hint: save it as .npy with numpy.save");
    }
    return file_argument(b, s, leaf, value);
}

typedef struct parts {
    uint32_t n;
    loom_value *at[];
} parts;

static void release_parts(loom_value *value) {
    parts *p = value->owner;
    for (uint32_t i = 0; i < p->n; i++) loom_value_unref(p->at[i]);
    free(p);
}

/* Leaves under one array type share its level: an array of records has one length. */
static loom_status *check_levels(const binder *b, loom_type_id type, uint32_t level, const loom_value *value,
                                 uint32_t *leaf) {
    const loom_type *t = &b->p->types[type];
    uint32_t first = *leaf;
    if (t->kind == LOOM_T_SCALAR) {
        ++*leaf;
        return NULL;
    }
    if (t->kind == LOOM_T_TUPLE) {
        for (uint32_t i = 0; i < t->n_fields; i++) LOOM_TRY(check_levels(b, t->fields[i], level, value, leaf));
        return NULL;
    }
    LOOM_TRY(check_levels(b, t->element, level + 1, value, leaf));
    for (uint32_t i = first + 1; i < *leaf; i++) {
        const loom_leaf *x = &value->leaves[first], *y = &value->leaves[i];
        bool same = x->extents[level] == y->extents[level];
        if (same && x->extents[level] == LOOM_IRREGULAR) {
            same = x->n_lengths[level] == y->n_lengths[level] &&
                   memcmp(x->lengths[level], y->lengths[level], (size_t)x->n_lengths[level] * sizeof(int64_t)) == 0;
        }
        if (same) continue;
        return loom_error(LOOM_E_DATA,
                          "fields '%s' and '%s' differ in length at array level %" PRIu32 " (%" PRId64 " and %" PRId64
                          ")",
                          x->name, y->name, level + 1, x->extents[level], y->extents[level]);
    }
    return NULL;
}

static loom_status *bind_argument(const binder *b, const param *q, loom_value **value) {
    loom_value *made;
    LOOM_TRY(loom_value_create(q->n_leaves, &made));
    parts *p = loom_xcalloc(1, sizeof *p + q->n_leaves * sizeof *p->at);
    made->owner = p;
    made->release = release_parts;
    loom_status *status = NULL;
    for (uint32_t k = 0; k < q->n_leaves && !status; k++) {
        status = leaf_argument(b, &q->slots[k], &q->leaves[k], &p->at[k]);
        if (status) break;
        p->n = k + 1;
        made->leaves[k] = p->at[k]->leaves[0];
    }
    uint32_t leaf = 0;
    if (!status) status = check_levels(b, q->type, 0, made, &leaf);
    if (status) {
        loom_value_unref(made);
        return loom_status_note(status, "in parameter %s: %s", q->name, type_of(b, q));
    }
    *value = made;
    return NULL;
}

/* ---- streams ---- */

/* "u: f64, ..., vis: [][]c64, ..." */
static const char *fields_of_observations(const binder *b) {
    loom_buffer text = {0};
    uint32_t n;
    const loom_source_field *fields = loom_observation_fields(&n);
    for (uint32_t i = 0; i < n; i++) {
        loom_type_leaf leaf = {.dtype = fields[i].dtype, .depth = fields[i].depth};
        loom_buffer_printf(&text, "%s%s: %s", i ? ", " : "", fields[i].name, leaf_type(b, &leaf));
    }
    const char *copy = loom_arena_strdup(b->arena, text.data);
    loom_buffer_free(&text);
    return copy;
}

/* Which field of an observation a leaf is. */
static loom_status *observed_field(const binder *b, const param *q, const loom_type_leaf *leaf,
                                   loom_source_field *field) {
    uint32_t n;
    const loom_source_field *known = loom_observation_fields(&n);
    for (uint32_t i = 0; i < n; i++) {
        *field = known[i];
        if (strcmp(leaf->name, known[i].name) != 0) continue;
        if (leaf->dtype == known[i].dtype && leaf->depth == known[i].depth) return NULL;
        return loom_error(LOOM_E_DATA, "parameter %s has %s: %s, which is %s%s in an observation", q->name, leaf->name,
                          leaf_type(b, leaf),
                          leaf_type(b, &(loom_type_leaf){.dtype = known[i].dtype, .depth = known[i].depth}),
                          known[i].constant ? " (a constant field)" : "");
    }
    loom_status *status =
        leaf->name[0]
            ? loom_error(LOOM_E_DATA, "parameter %s has a field '%s', an observation has none", q->name, leaf->name)
            : loom_error(LOOM_E_DATA,
                         "parameter %s has no fields; an observation's elements "
                         "are records",
                         q->name);
    return loom_status_note(status, "hint: its fields are %s", fields_of_observations(b));
}

static loom_status *bind_observation(const binder *b, const param *q, loom_source **source) {
    loom_source_field *fields = LOOM_NEW_ARRAY(b->arena, loom_source_field, q->n_leaves + 1);
    for (uint32_t k = 0; k < q->n_leaves; k++) LOOM_TRY(observed_field(b, q, &q->leaves[k], &fields[k]));
    const char *path = q->slots[0].text;
    loom_paths_read(b->files, path);
    loom_ms_info *info = NULL;
    loom_source *whole = NULL;
    LOOM_TRY(loom_observation_open(path, b->selection, &whole, &info));
    loom_ms_info_free(info);
    return loom_source_select(whole, fields, q->n_leaves, source);
}

static loom_status *bind_columns(const binder *b, const param *q, loom_source **source) {
    loom_npy_column *columns = LOOM_NEW_ARRAY(b->arena, loom_npy_column, q->n_leaves + 1);
    for (uint32_t k = 0; k < q->n_leaves; k++) {
        const slot *s = &q->slots[k];
        columns[k] = (loom_npy_column){.name = q->leaves[k].name,
                                       .constant = s->constant,
                                       .dtype = q->leaves[k].dtype,
                                       .depth = q->leaves[k].depth};
        columns[k].values = split_files(b, s->text, &columns[k].lengths);
    }
    return loom_source_npy(columns, q->n_leaves, source);
}

static loom_status *bind_stream(const binder *b, const param *q, loom_source **source) {
    bool observed = q->n_leaves && q->slots[0].observation;
    return loom_status_note(observed ? bind_observation(b, q, source) : bind_columns(b, q, source),
                            "in parameter %s: %s", q->name, type_of(b, q));
}

static loom_status *bind_frames(const binder *b, const param *q, loom_client_binding *binding) {
    loom_frame_leaf *leaves = LOOM_NEW_ARRAY(b->arena, loom_frame_leaf, q->n_leaves + 1);
    for (uint32_t k = 0; k < q->n_leaves; k++)
        leaves[k] = (loom_frame_leaf){q->leaves[k].name, q->leaves[k].dtype, q->leaves[k].depth};
    binding->endless = (uint32_t)(q - b->params);
    return loom_status_note(loom_frames_open(STDIN_FILENO, "standard input", leaves, q->n_leaves, &binding->frames),
                            "in parameter %s: %s", q->name, type_of(b, q));
}

static loom_status *bind_all(const binder *b, loom_client_binding *binding) {
    for (uint32_t i = 0; i < b->n_params; i++) {
        const param *q = &b->params[i];
        if (q->endless) {
            LOOM_TRY(bind_frames(b, q, binding));
            continue;
        }
        LOOM_TRY(q->stream ? bind_stream(b, q, &binding->sources[i]) : bind_argument(b, q, &binding->arguments[i]));
    }
    return NULL;
}

loom_status *loom_client_bind(const loom_program *p, uint32_t function, const loom_client_given *given,
                              loom_client_binding **binding) {
    binder b = {.p = p, .arena = loom_arena_create(0), .selection = given->selection};
    read_params(&b, function);
    loom_client_binding *made = loom_xcalloc(1, sizeof *made);
    b.files = made->files = loom_paths_create();
    made->n_params = b.n_params;
    made->endless = LOOM_CLIENT_NOT_ENDLESS;
    made->arguments = loom_xcalloc(b.n_params + 1, sizeof(loom_value *));
    made->sources = loom_xcalloc(b.n_params + 1, sizeof(loom_source *));
    loom_status *status = hang_all(&b, given);
    if (!status) status = check_complete(&b);
    if (!status) status = bind_all(&b, made);
    loom_arena_destroy(b.arena);
    if (status) {
        loom_client_binding_free(made);
        return status;
    }
    *binding = made;
    return NULL;
}

void loom_client_binding_free(loom_client_binding *binding) {
    if (!binding) return;
    for (uint32_t i = 0; i < binding->n_params; i++) {
        loom_value_unref(binding->arguments[i]);
        loom_source_destroy(binding->sources[i]);
    }
    loom_frames_close(binding->frames);
    loom_paths_free(binding->files);
    free(binding->arguments);
    free(binding->sources);
    free(binding);
}
