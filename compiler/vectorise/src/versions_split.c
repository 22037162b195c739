/* A map in two: what its calls need, and what is made of their results; rules in versions.c. */
#include "versions_impl.h"

/* ---- a map in two ---- */

static bool is_before(const splitting *s, loom_node_id id) {
    return s->before[id - s->first];
}

/* Made anew where it is needed, and the same for all elements. */
static bool is_free(const splitting *s, loom_node_id id) {
    loom_op op = (loom_op)s->c->from->nodes[id].op;
    return op == LOOM_OP_PARAM || op == LOOM_OP_CONST;
}

/* A call, or a conditional that has some. */
static bool is_call(const splitting *s, loom_node_id id) {
    return s->c->verdict[id] == VERSION;
}

static void add_before(void *to, loom_node_id id) {
    splitting *s = to;
    s->before[id - s->first] = true;
}

static void add_field(void *to, loom_node_id id) {
    splitting *s = to;
    if (is_free(s, id) || !is_before(s, id) || s->field_of[id - s->first]) return;
    LOOM_PUSH(s->c->arena, s->fields, id);
    s->field_of[id - s->first] = (uint32_t)s->fields.count;
}

/* Which nodes the first half has, and which of them the second needs. */
static void divide(splitting *s) {
    chooser *c = s->c;
    uint32_t from = c->first_own[s->body], end = c->first_own[s->body + 1];
    for (uint32_t i = end; i-- > from;) {
        loom_node_id id = c->own[i];
        if (!c->live[id]) continue;
        if (is_call(s, id) || is_before(s, id)) versions_for_uses(c, id, s->body, add_before, s);
    }
    for (uint32_t i = from; i < end; i++) {
        loom_node_id id = c->own[i];
        if (c->live[id] && !is_call(s, id) && !is_before(s, id)) versions_for_uses(c, id, s->body, add_field, s);
    }
    loom_node_id result = c->from->bodies[s->body].result;
    if (c->owner[result] == s->body && !is_call(s, result)) add_field(s, result);
    s->n_kept = (uint32_t)s->fields.count;
    for (uint32_t i = from; i < end; i++) {
        loom_node_id id = c->own[i];
        if (!c->live[id] || !is_call(s, id)) continue;
        LOOM_PUSH(c->arena, s->calls, id);
        versions_for_uses(c, id, s->body, add_field, s);
    }
}

/* Can what the first half gives be an array of tuples, and the second half a map over what it needs? */
static bool fits(const splitting *s) {
    const loom_program *p = s->c->from;
    uint64_t leaves = 0;
    for (size_t i = 0; i < s->fields.count; i++) {
        loom_type_leaf *unused;
        loom_type_id type = p->nodes[s->fields.at[i]].type;
        leaves += loom_type_leaves(p, s->c->arena, type, &unused);
        if (loom_type_levels(p, type) >= LOOM_MAX_DEPTH) return false;
    }
    return s->fields.count <= LOOM_MAX_TUPLE && leaves <= LOOM_MAX_LEAVES &&
           s->n_arrays + s->n_kept + s->calls.count <= LOOM_MAX_TUPLE;
}

static void first_half(splitting *s) {
    chooser *c = s->c;
    uint32_t n = (uint32_t)s->fields.count;
    if (!n) return;
    loom_node_id *params;
    loom_body_id open = versions_open_like(c, s->body, &params);
    const loom_body b = c->from->bodies[s->body];
    for (uint32_t i = 0; i < b.n_params; i++) c->map[b.first + i] = params[i];
    for (uint32_t i = c->first_own[s->body]; i < c->first_own[s->body + 1]; i++) {
        loom_node_id id = c->own[i];
        bool wanted = c->live[id] && is_before(s, id) && c->from->nodes[id].op != LOOM_OP_PARAM;
        if (wanted) c->map[id] = versions_emit_node(c, id);
    }
    loom_node_id *parts = LOOM_NEW_ARRAY(c->arena, loom_node_id, n);
    loom_type_id *types = LOOM_NEW_ARRAY(c->arena, loom_type_id, n), *rows = LOOM_NEW_ARRAY(c->arena, loom_type_id, n);
    for (uint32_t i = 0; i < n; i++) {
        parts[i] = c->map[s->fields.at[i]];
        types[i] = versions_type_of(c, parts[i]);
        rows[i] = loom_type_array(c->to, types[i]);
    }
    loom_type_id type = n == 1 ? types[0] : loom_type_tuple(c->to, n, types, NULL);
    loom_node_id result = n == 1 ? parts[0] : versions_make(c, LOOM_OP_TUPLE, type, parts, n, NULL, 0, 0, s->span);
    loom_build_close(c->to, open, result);
    s->given = LOOM_NEW_ARRAY(c->arena, loom_node_id, n);
    s->given[0] =
        versions_make(c, LOOM_OP_MAP, loom_type_array(c->to, type), s->arrays, s->n_arrays, &open, 1, 0, s->span);
    if (n == 1) return;
    loom_node_id apart =
        versions_make1(c, LOOM_OP_UNZIP, loom_type_tuple(c->to, n, rows, NULL), s->given[0], 0, s->span);
    for (uint32_t i = 0; i < n; i++) s->given[i] = versions_make1(c, LOOM_OP_PROJECT, rows[i], apart, i, s->span);
}

/* The values of an argument for all elements. */
loom_node_id versions_all_of(splitting *s, loom_node_id id) {
    chooser *c = s->c;
    const loom_node *n = &c->from->nodes[id];
    bool own = c->owner[id] == s->body;
    if (own && n->op == LOOM_OP_PARAM) return s->arrays[id - s->first];
    if (own && n->op != LOOM_OP_CONST) return s->given[s->field_of[id - s->first] - 1];
    if (own) c->map[id] = versions_emit_node(c, id);
    loom_node_id operands[2] = {s->length, c->map[id]};
    return versions_make(c, LOOM_OP_REPLICATE, loom_type_array(c->to, versions_type_of(c, c->map[id])), operands, 2,
                         NULL, 0, 0, s->span);
}

/* unflatten (version (flatten xs) ...), as a body over arrays of what the version takes. */
static loom_body_id flattened(chooser *c, const loom_node *call, const loom_type_id *types) {
    uint32_t n = call->n_operands;
    loom_span span = call->span;
    loom_body_id open = loom_build_open(c->to, n, types, versions_declared(c, call, 1));
    loom_node_id *args = versions_params_of(c, open, n), operands[3];
    operands[0] = versions_length_of(c, args[0], span);
    operands[1] = versions_make1(c, LOOM_OP_DIM, versions_i64(c), args[0], 1, span);
    for (uint32_t i = 0; i < n; i++) {
        args[i] = versions_make1(c, LOOM_OP_FLATTEN, c->to->types[types[i]].element, args[i], 0, span);
    }
    operands[2] = versions_inlined(c, c->from->body_refs[call->first_body + 1], args);
    loom_type_id type = loom_type_array(c->to, versions_type_of(c, operands[2]));
    loom_build_close(c->to, open, versions_make(c, LOOM_OP_UNFLATTEN, type, operands, 3, NULL, 0, 0, span));
    return open;
}

static loom_body_id unchanged(chooser *c, const loom_node *call, const loom_type_id *types) {
    loom_body_id open = loom_build_open(c->to, call->n_operands, types, versions_declared(c, call, 0));
    loom_node_id *args = versions_params_of(c, open, call->n_operands);
    loom_build_close(c->to, open, versions_inlined(c, c->from->body_refs[call->first_body + 1], args));
    return open;
}

/* ---- calls ---- */

static bool in_map(const chooser *c, loom_node_id id) {
    loom_node_id user = c->user[c->owner[id]];
    return user != LOOM_NONE && is_map((loom_op)c->from->nodes[user].op);
}

/* For the levels of two maps. */
static bool has_room(const chooser *c, const loom_node *call) {
    uint32_t most = loom_type_levels(c->from, call->type);
    for (uint32_t i = 0; i < call->n_operands; i++) {
        uint32_t levels = loom_type_levels(c->from, c->from->nodes[loom_operand(c->from, call, i)].type);
        if (levels > most) most = levels;
    }
    return most + 2 <= LOOM_MAX_DEPTH;
}

/* The results of a call for all elements. */
static loom_node_id by_version(splitting *s, loom_node_id id) {
    chooser *c = s->c;
    const loom_node *call = &c->from->nodes[id];
    uint32_t n = call->n_operands;
    loom_node_id *args = LOOM_NEW_ARRAY(c->arena, loom_node_id, n);
    for (uint32_t i = 0; i < n; i++) args[i] = versions_all_of(s, loom_operand(c->from, call, i));
    versions_note_version(c, id);
    c->notes->used++;
    loom_node_id operands[2] = {LOOM_NONE, s->length};
    if (!in_map(c, s->id) || !has_room(c, call)) {
        operands[0] = versions_inlined(c, c->from->body_refs[call->first_body + 1], args);
    } else {
        loom_type_id *types = LOOM_NEW_ARRAY(c->arena, loom_type_id, n),
                     *more = LOOM_NEW_ARRAY(c->arena, loom_type_id, n);
        for (uint32_t i = 0; i < n; i++) {
            types[i] = versions_type_of(c, args[i]);
            more[i] = loom_type_array(c->to, types[i]);
        }
        loom_body_id bodies[2];
        bodies[0] = unchanged(c, call, types);
        bodies[1] = flattened(c, call, more);
        loom_type_id type = versions_type_of(c, c->to->bodies[bodies[0]].result);
        operands[0] = versions_make(c, LOOM_OP_LIFTED, type, args, n, bodies, 2, LOOM_VERSION_FLAT, call->span);
        c->open = true;
    }
    return versions_make(c, LOOM_OP_CLAIM, versions_type_of(c, operands[0]), operands, 2, NULL, 0, 1, call->span);
}

static loom_node_id second_half(splitting *s, const loom_node_id *results) {
    chooser *c = s->c;
    const loom_body b = c->from->bodies[s->body];
    uint32_t n_kept = s->n_kept, n_calls = (uint32_t)s->calls.count;
    uint32_t n = s->n_arrays + n_kept + n_calls, at = 0;
    loom_node_id *operands = LOOM_NEW_ARRAY(c->arena, loom_node_id, n), *params;
    loom_type_id *types = LOOM_NEW_ARRAY(c->arena, loom_type_id, n);
    for (uint32_t i = 0; i < s->n_arrays; i++) operands[at++] = s->arrays[i];
    for (uint32_t i = 0; i < n_kept; i++) operands[at++] = s->given[i];
    for (uint32_t i = 0; i < n_calls; i++) operands[at++] = results[i];
    for (uint32_t i = 0; i < n; i++) types[i] = c->to->types[versions_type_of(c, operands[i])].element;
    loom_body_id open = loom_build_open(c->to, n, types, s->span);
    params = versions_params_of(c, open, n);
    for (uint32_t i = 0; i < b.n_params; i++) c->map[b.first + i] = params[i];
    for (uint32_t i = 0; i < n_kept; i++) c->map[s->fields.at[i]] = params[s->n_arrays + i];
    for (uint32_t i = 0; i < n_calls; i++) c->map[s->calls.at[i]] = params[s->n_arrays + n_kept + i];
    for (uint32_t i = c->first_own[s->body]; i < c->first_own[s->body + 1]; i++) {
        loom_node_id id = c->own[i];
        bool again = c->from->nodes[id].op == LOOM_OP_CONST || !is_before(s, id);
        bool wanted = c->live[id] && c->from->nodes[id].op != LOOM_OP_PARAM && !is_call(s, id);
        if (again && wanted) c->map[id] = versions_emit_node(c, id);
    }
    loom_build_close(c->to, open, c->map[b.result]);
    return versions_make(c, LOOM_OP_MAP, versions_copied_type(c, s->id), operands, n, &open, 1, 0, s->span);
}

/* A call, or the calls in the branches of a conditional, are what their bodies say: in another round they would be
 * given up again. */
static void give_up_call(chooser *c, loom_node_id id) {
    const loom_node *n = &c->from->nodes[id];
    if (is_lifted(c, id)) {
        c->verdict[id] = BODY;
        versions_note(c, id, "not lifted: too many values, or of too many levels, are needed before and after it");
        return;
    }
    c->verdict[id] = LATER;
    for (uint32_t b = 0; b < n->n_bodies; b++) {
        loom_body_id body = c->from->body_refs[n->first_body + b];
        for (uint32_t i = c->first_own[body]; i < c->first_own[body + 1]; i++) {
            loom_node_id inner = c->own[i];
            bool call = is_lifted(c, inner) && c->verdict[inner] == LATER;
            if (c->live[inner] && (call || c->from->nodes[inner].op == LOOM_OP_IF)) give_up_call(c, inner);
        }
    }
}

/* All calls of the map are what their bodies say. */
static loom_node_id give_up(splitting *s) {
    chooser *c = s->c;
    for (size_t i = 0; i < s->calls.count; i++) give_up_call(c, s->calls.at[i]);
    c->splits[s->id] = false;
    return versions_emit_node(c, s->id);
}

loom_node_id versions_split_map(chooser *c, loom_node_id id) {
    const loom_node *n = &c->from->nodes[id];
    splitting s = {.c = c, .id = id, .body = c->from->body_refs[n->first_body], .span = n->span};
    const loom_body b = c->from->bodies[s.body];
    size_t range = (size_t)(b.end - b.first) + 1;
    s.first = b.first;
    s.before = LOOM_NEW_ARRAY(c->arena, bool, range);
    s.field_of = LOOM_NEW_ARRAY(c->arena, uint32_t, range);
    s.n_arrays = n->n_operands;
    s.arrays = LOOM_NEW_ARRAY(c->arena, loom_node_id, s.n_arrays);
    divide(&s);
    if (!fits(&s)) return give_up(&s);
    for (uint32_t i = 0; i < s.n_arrays; i++) s.arrays[i] = c->map[loom_operand(c->from, n, i)];
    s.length = versions_length_of(c, s.arrays[0], s.span);
    /* What the map says of its arrays; a version is given them without it. */
    for (uint32_t i = 1; i < s.n_arrays; i++) {
        loom_node_id operands[2] = {s.arrays[i], s.length};
        s.arrays[i] =
            versions_make(c, LOOM_OP_CLAIM, versions_type_of(c, s.arrays[i]), operands, 2, NULL, 0, 1, s.span);
    }
    first_half(&s);
    loom_node_id *results = LOOM_NEW_ARRAY(c->arena, loom_node_id, s.calls.count + 1);
    for (size_t i = 0; i < s.calls.count; i++) {
        loom_node_id call = s.calls.at[i];
        results[i] = is_lifted(c, call) ? by_version(&s, call) : versions_by_branches(&s, call);
    }
    bool last = s.calls.count == 1 && b.result == s.calls.at[0];
    return last ? results[0] : second_half(&s, results);
}
