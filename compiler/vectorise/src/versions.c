/* Which calls of lifted functions a version takes the place of, and the rewriting.
 *
 * RULES, for a node  y = lifted a ... b v  (b: the body, v: the version; all closed)
 *   in no map                                  =>  b a ...
 *   in a branch, a loop, an operator           =>  b a ...      with a note: its elements are not those of the map
 *   v for regular rows, and some a has rows that may differ  =>  b a ...   (in b there may be one for irregular rows)
 *   generate n (\i -> .. y ..)                 =>  map (\i -> .. y ..) (iota n), and again; of two extents two maps
 *   map (\x -> .. y ..) xs                     =>  let (as, c) = map (\x -> (a, c)) xs       c: what both halves need
 *                                                  in map (\x c y -> ..) xs c (v as)
 *        an argument that is the same for all elements is repeated; one that is x is xs itself; v as is claimed to have
 *        as many rows as xs
 *   the same in the body of another map        =>  in place of `v as` there: lifted as (\as -> v as)
 *                                                  (\ass -> unflatten (v (flatten ass)))
 *        so where all rows of both maps are regular, v takes them at once, and else it is called for each outer element
 * What needs another call's result waits for the next round.
 *
 * Worked example: map (\(a, x) -> a * sum (smooth x)) (zip as xs), xs [k][n]
 *     map (\(a, x) y -> a * sum y) (zip as xs) (smooth_rows (map (\(a, x) -> x) (zip as xs)))
 *
 * Cost: see versions.h. Papers: papers/000, manual lifting. */
#include "compiler/vectorise/versions.h"
#include "compiler/analysis/shapes.h"
#include "compiler/stage/stage.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* Calls that need each other's results, or stand in maps in maps, take a round each. Programs that people write have a
 * few; beyond this the bodies are taken, so that compiling stays linear in the program. */
#define MAX_ROUNDS 32

/* Calls that a map is divided for at one time: each argument is a column of what its first half gives. */
#define MAX_CALLS 64

typedef enum verdict {
    LATER,   /* inside of another one, or it needs another one's result */
    BODY,    /* what the body says */
    VERSION, /* in the map around it */
} verdict;

typedef struct chooser {
    loom_arena *arena;
    const loom_program *from;
    loom_program *to;
    uint32_t function;
    bool versions; /* else all are what their bodies say */
    const loom_shapes *shapes;
    loom_shape_reasons *reasons;
    loom_version_notes *notes;
    loom_body_id *owner; /* by node: the body around it */
    loom_node_id *user;  /* by body: the node that uses it, or LOOM_NONE */
    uint32_t *first_own; /* by body: into `own`, which lists the nodes of each body without those of inner ones */
    loom_node_id *own;
    bool *live;        /* by node */
    uint8_t *verdict;  /* by node: of LIFTED */
    bool *splits;      /* by node: a map with calls that a version takes the place of */
    bool *becomes_map; /* by node: a generate with such calls */
    loom_node_id *map; /* node of from -> node of to */
    bool open;         /* something is left for another round */
} chooser;

/* ---- the program at hand ---- */

static bool is_lifted(const chooser *c, loom_node_id id) {
    return c->from->nodes[id].op == LOOM_OP_LIFTED;
}

static void list_own(chooser *c) {
    const loom_program *p = c->from;
    c->first_own = LOOM_NEW_ARRAY(c->arena, uint32_t, (size_t)p->n_bodies + 2);
    c->own = LOOM_NEW_ARRAY(c->arena, loom_node_id, (size_t)p->n_nodes + 1);
    uint32_t *next = LOOM_NEW_ARRAY(c->arena, uint32_t, (size_t)p->n_bodies + 2);
    for (loom_node_id id = 0; id < p->n_nodes; id++) c->first_own[c->owner[id] + 1]++;
    for (uint32_t b = 0; b <= p->n_bodies; b++) {
        if (b) c->first_own[b] += c->first_own[b - 1];
        next[b] = c->first_own[b];
    }
    for (loom_node_id id = 0; id < p->n_nodes; id++) c->own[next[c->owner[id]]++] = id;
}

static void mark_live(chooser *c) {
    const loom_program *p = c->from;
    for (uint32_t f = 0; f < p->n_functions; f++) c->live[p->bodies[p->functions[f].body].result] = true;
    for (loom_node_id id = p->n_nodes; id-- > 0;) {
        const loom_node *n = &p->nodes[id];
        for (uint32_t i = 0; c->live[id] && i < n->n_operands; i++) c->live[loom_operand(p, n, i)] = true;
        for (uint32_t i = 0; c->live[id] && i < n->n_bodies; i++) c->live[loom_node_body(p, n, i)->result] = true;
    }
}

static void look_at(chooser *c, const loom_program *p) {
    size_t nodes = (size_t)p->n_nodes + 1;
    c->from = p;
    c->owner = loom_program_owners(p, c->arena);
    c->user = LOOM_NEW_ARRAY(c->arena, loom_node_id, (size_t)p->n_bodies + 1);
    for (uint32_t b = 0; b < p->n_bodies; b++) c->user[b] = LOOM_NONE;
    for (loom_node_id id = 0; id < p->n_nodes; id++) {
        const loom_node *n = &p->nodes[id];
        for (uint32_t i = 0; i < n->n_bodies; i++) c->user[p->body_refs[n->first_body + i]] = id;
    }
    list_own(c);
    c->live = LOOM_NEW_ARRAY(c->arena, bool, nodes);
    c->verdict = LOOM_NEW_ARRAY(c->arena, uint8_t, nodes);
    c->splits = LOOM_NEW_ARRAY(c->arena, bool, nodes);
    c->becomes_map = LOOM_NEW_ARRAY(c->arena, bool, nodes);
    c->map = LOOM_NEW_ARRAY(c->arena, loom_node_id, nodes);
    mark_live(c);
}

/* Nodes of body `b` that node `id` of that body uses, itself or in its bodies. */
static void for_uses(const chooser *c, loom_node_id id, loom_body_id b, void (*use)(void *, loom_node_id), void *to) {
    const loom_program *p = c->from;
    loom_node_id first = id;
    for (uint32_t i = 0; i < p->nodes[id].n_bodies; i++) {
        const loom_body *inner = loom_node_body(p, &p->nodes[id], i);
        if (inner->first < first) first = inner->first;
    }
    for (loom_node_id m = first; m <= id; m++) {
        const loom_node *n = &p->nodes[m];
        if (m != id && c->owner[m] == b) continue;
        for (uint32_t i = 0; i < n->n_operands; i++) {
            if (c->owner[loom_operand(p, n, i)] == b) use(to, loom_operand(p, n, i));
        }
        for (uint32_t i = 0; i < n->n_bodies; i++) {
            loom_node_id result = loom_node_body(p, n, i)->result;
            if (c->owner[result] == b) use(to, result);
        }
    }
}

/* ---- notes ---- */

/* What stands at a place of the text, as far as it is a name. */
static const char *name_at(const chooser *c, loom_span span) {
    if (!span.line || !span.column || span.file >= c->from->n_files) return "?";
    const loom_source_file *file = &c->from->files[span.file];
    const char *at = file->text, *end = at + file->length;
    for (uint32_t line = 1; line < span.line && at < end; line++) {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        at = next ? next + 1 : end;
    }
    size_t length = 0, skip = span.column - 1;
    if ((size_t)(end - at) <= skip) return "?";
    at += skip;
    while (at + length < end && (isalnum((unsigned char)at[length]) || at[length] == '_' || at[length] == '\''))
        length++;
    return length ? loom_arena_strndup(c->arena, at, length) : "?";
}

/* The parameters of the bodies stand where the declaration names the function and its version. */
static loom_span declared(const chooser *c, const loom_node *call, uint32_t body) {
    return c->from->nodes[loom_node_body(c->from, call, body)->first].span;
}

static const char *name_of(const chooser *c, const loom_node *call, uint32_t body) {
    return name_at(c, declared(c, call, body));
}

static void note(chooser *c, loom_node_id id, const char *what) {
    const loom_node *n = &c->from->nodes[id];
    bool placed = n->span.line && n->span.file < c->from->n_files;
    const char *file = placed ? c->from->files[n->span.file].name : "?";
    const char *text =
        loom_arena_printf(c->arena, "%s:%" PRIu32 ": %s: %s", file, n->span.line, name_of(c, n, 0), what);
    LOOM_PUSH(c->arena, *c->notes, text);
}

static void note_version(chooser *c, loom_node_id id) {
    static const char *const kinds[LOOM_VERSIONS] = {
        "its version for regular rows",
        "its version for irregular rows",
        "its version for regular rows, once for all elements of the maps around",
    };
    const loom_node *n = &c->from->nodes[id];
    note(c, id, loom_arena_printf(c->arena, "lifted by %s, %s", name_of(c, n, 1), kinds[n->aux]));
}

static void note_irregular(chooser *c, loom_node_id id, uint32_t argument) {
    const loom_node *n = &c->from->nodes[id];
    loom_shape_reason reason;
    const char *why = "its extents may differ between the elements", *place = "";
    if (loom_shapes_irregular_because(c->reasons, loom_operand(c->from, n, argument), &reason)) {
        loom_span span = c->from->nodes[reason.node].span;
        why = reason.text;
        if (span.line) place = loom_arena_printf(c->arena, " (line %" PRIu32 ")", span.line);
    }
    const char *what = n->aux == LOOM_VERSION_FLAT ? "for each element of the map around by itself" : "not lifted by";
    const char *version = n->aux == LOOM_VERSION_FLAT ? "" : name_of(c, n, 1);
    note(c, id,
         loom_arena_printf(c->arena, "%s%s%s: argument %" PRIu32 ": %s%s", what, *version ? " " : "", version,
                           argument + 1, why, place));
}

/* ---- verdicts ---- */

static bool is_control(loom_op op) {
    return op == LOOM_OP_IF || op == LOOM_OP_LOOP_FOR || op == LOOM_OP_LOOP_WHILE;
}

static bool is_map(loom_op op) {
    return op == LOOM_OP_MAP || op == LOOM_OP_GENERATE;
}

/* What stands around body `b`, from the inside out. */
typedef struct surroundings {
    bool operation; /* that evaluates it for elements */
    bool lifted;    /* a call whose own fate is not known yet */
} surroundings;

static surroundings around(const chooser *c, loom_body_id b) {
    surroundings s = {false, false};
    for (; c->user[b] != LOOM_NONE; b = c->owner[c->user[b]]) {
        loom_op op = (loom_op)c->from->nodes[c->user[b]].op;
        if (op == LOOM_OP_LIFTED) s.lifted = true;
        if (op != LOOM_OP_LIFTED && !is_control(op)) s.operation = true;
    }
    return s;
}

static verdict by_arguments(chooser *c, loom_node_id id) {
    const loom_node *n = &c->from->nodes[id];
    if (n->aux == LOOM_VERSION_IRREGULAR) return VERSION;
    for (uint32_t i = 0; i < n->n_operands; i++) {
        if (loom_shapes_equal_rows(c->shapes, loom_operand(c->from, n, i), id)) continue;
        note_irregular(c, id, i);
        return BODY;
    }
    return VERSION;
}

static verdict judge(chooser *c, loom_node_id id) {
    loom_body_id body = c->owner[id];
    if (!c->versions) return BODY;
    if (c->user[body] == LOOM_NONE) return BODY;
    loom_op op = (loom_op)c->from->nodes[c->user[body]].op;
    surroundings s = around(c, body);
    if (s.lifted) return LATER;
    if (is_map(op)) return by_arguments(c, id);
    if (s.operation) {
        note(c, id,
             loom_arena_printf(c->arena, "not lifted: it is called in %s, which not all elements of a map do together",
                               op == LOOM_OP_IF ? "a branch"
                               : is_control(op) ? "a loop"
                                                : loom_op_table[op].name));
    }
    return BODY;
}

typedef struct needs {
    const bool *waits; /* by node */
    bool found;
} needs;

static void need(void *to, loom_node_id id) {
    needs *n = to;
    n->found = n->found || n->waits[id];
}

/* Of the calls in a body: those that need the result of another one wait for it, and those that are too many. */
static void order(chooser *c, loom_body_id b, bool *waits) {
    uint32_t calls = 0;
    for (uint32_t i = c->first_own[b]; i < c->first_own[b + 1]; i++) {
        loom_node_id id = c->own[i];
        needs n = {waits, false};
        if (!c->live[id]) continue;
        for_uses(c, id, b, need, &n);
        bool chosen = is_lifted(c, id) && c->verdict[id] == VERSION;
        if (chosen && (n.found || calls++ >= MAX_CALLS)) c->verdict[id] = LATER;
        waits[id] = n.found || chosen;
    }
}

static void decide(chooser *c) {
    const loom_program *p = c->from;
    bool *waits = LOOM_NEW_ARRAY(c->arena, bool, (size_t)p->n_nodes + 1);
    bool *has = LOOM_NEW_ARRAY(c->arena, bool, (size_t)p->n_bodies + 1);
    const loom_body *function = &p->bodies[p->functions[c->function].body];
    for (loom_node_id id = function->first; id < function->end; id++) {
        if (!c->live[id] || !is_lifted(c, id)) continue;
        c->verdict[id] = (uint8_t)judge(c, id);
        has[c->owner[id]] = has[c->owner[id]] || c->verdict[id] == VERSION;
    }
    for (loom_body_id b = 0; b < p->n_bodies; b++) {
        if (!has[b]) continue;
        if (p->nodes[c->user[b]].op == LOOM_OP_GENERATE) {
            c->becomes_map[c->user[b]] = true;
            continue;
        }
        order(c, b, waits);
        c->splits[c->user[b]] = true;
    }
}

/* ---- building ---- */

static loom_node_id make(chooser *c, loom_op op, loom_type_id type, const loom_node_id *operands, uint32_t n,
                         const loom_body_id *bodies, uint32_t n_bodies, uint32_t aux, loom_span span) {
    return loom_build_node(c->to, op, 0, type, operands, n, bodies, n_bodies, aux, span);
}

static loom_node_id make1(chooser *c, loom_op op, loom_type_id type, loom_node_id x, uint32_t aux, loom_span span) {
    return make(c, op, type, &x, 1, NULL, 0, aux, span);
}

static loom_type_id type_of(const chooser *c, loom_node_id id) {
    return c->to->nodes[id].type;
}

static loom_type_id copied_type(chooser *c, loom_node_id id) {
    return loom_copy_type(c->to, c->from, c->from->nodes[id].type);
}

static loom_type_id i64(chooser *c) {
    return loom_type_scalar(c->to, LOOM_I64);
}

static loom_node_id length_of(chooser *c, loom_node_id x, loom_span span) {
    return make1(c, LOOM_OP_LENGTH, i64(c), x, 0, span);
}

static loom_node_id emit_node(chooser *c, loom_node_id id);

/* The live nodes of a body into the innermost open one, its parameters replaced. */
static loom_node_id inlined(chooser *c, loom_body_id body, const loom_node_id *args) {
    const loom_body b = c->from->bodies[body];
    for (uint32_t i = 0; i < b.n_params; i++) c->map[b.first + i] = args[i];
    for (uint32_t i = c->first_own[body]; i < c->first_own[body + 1]; i++) {
        loom_node_id id = c->own[i];
        if (c->live[id] && c->from->nodes[id].op != LOOM_OP_PARAM) c->map[id] = emit_node(c, id);
    }
    return c->map[b.result];
}

static loom_node_id *params_of(chooser *c, loom_body_id open, uint32_t n) {
    loom_node_id *params = LOOM_NEW_ARRAY(c->arena, loom_node_id, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) params[i] = loom_build_param(c->to, open, i);
    return params;
}

/* Opens a body with the parameters of one of `from`. */
static loom_body_id open_like(chooser *c, loom_body_id body, loom_node_id **params) {
    const loom_body b = c->from->bodies[body];
    loom_type_id *types = LOOM_NEW_ARRAY(c->arena, loom_type_id, (size_t)b.n_params + 1);
    for (uint32_t i = 0; i < b.n_params; i++) types[i] = copied_type(c, b.first + i);
    loom_span span = b.n_params ? c->from->nodes[b.first].span : (loom_span){0};
    loom_body_id open = loom_build_open(c->to, b.n_params, types, span);
    *params = params_of(c, open, b.n_params);
    return open;
}

static loom_body_id emit_body(chooser *c, loom_body_id body) {
    loom_node_id *params;
    loom_body_id copy = open_like(c, body, &params);
    loom_build_close(c->to, copy, inlined(c, body, params));
    return copy;
}

/* ---- generate as map ---- */

static loom_node_id map_over_iotas(chooser *c, const loom_node *n, const loom_node_id *extents, loom_node_id *indices,
                                   uint32_t level) {
    loom_body_id body = c->from->body_refs[n->first_body];
    if (level == n->n_operands) return inlined(c, body, indices);
    loom_type_id element = i64(c);
    loom_node_id places = make1(c, LOOM_OP_IOTA, loom_type_array(c->to, element), extents[level], 0, n->span);
    loom_body_id open = loom_build_open(c->to, 1, &element, n->span);
    indices[level] = loom_build_param(c->to, open, 0);
    loom_node_id result = map_over_iotas(c, n, extents, indices, level + 1);
    loom_build_close(c->to, open, result);
    return make(c, LOOM_OP_MAP, loom_type_array(c->to, type_of(c, result)), &places, 1, &open, 1, 0, n->span);
}

static loom_node_id as_map(chooser *c, const loom_node *n) {
    loom_node_id extents[LOOM_MAX_DEPTH], indices[LOOM_MAX_DEPTH];
    for (uint32_t i = 0; i < n->n_operands; i++) extents[i] = c->map[loom_operand(c->from, n, i)];
    c->open = true;
    return map_over_iotas(c, n, extents, indices, 0);
}

/* ---- a map in two ---- */

typedef struct splitting {
    chooser *c;
    loom_node_id id; /* the map */
    loom_body_id body;
    loom_span span;
    loom_node_id *arrays; /* that it goes over */
    uint32_t n_arrays;
    loom_node_id length;
    bool *before; /* by node of the body's range, from `first`: the arguments of calls need it */
    loom_node_id first;
    LOOM_VEC(loom_node_id) calls;  /* that a version takes the place of */
    uint32_t n_kept;               /* the first fields: those that the second half needs */
    LOOM_VEC(loom_node_id) fields; /* what the first half gives */
    uint32_t *field_of;            /* by node of the range: its number + 1 */
    loom_node_id *given;           /* the arrays of it */
} splitting;

static bool is_before(const splitting *s, loom_node_id id) {
    return s->before[id - s->first];
}

/* Made anew where it is needed, and the same for all elements. */
static bool is_free(const splitting *s, loom_node_id id) {
    loom_op op = (loom_op)s->c->from->nodes[id].op;
    return op == LOOM_OP_PARAM || op == LOOM_OP_CONST;
}

static bool is_call(const splitting *s, loom_node_id id) {
    return is_lifted(s->c, id) && s->c->verdict[id] == VERSION;
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
        if (is_call(s, id) || is_before(s, id)) for_uses(c, id, s->body, add_before, s);
    }
    for (uint32_t i = from; i < end; i++) {
        loom_node_id id = c->own[i];
        if (c->live[id] && !is_call(s, id) && !is_before(s, id)) for_uses(c, id, s->body, add_field, s);
    }
    loom_node_id result = c->from->bodies[s->body].result;
    if (c->owner[result] == s->body && !is_call(s, result)) add_field(s, result);
    s->n_kept = (uint32_t)s->fields.count;
    for (uint32_t i = from; i < end; i++) {
        loom_node_id id = c->own[i];
        if (!c->live[id] || !is_call(s, id)) continue;
        LOOM_PUSH(c->arena, s->calls, id);
        for_uses(c, id, s->body, add_field, s);
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
    loom_body_id open = open_like(c, s->body, &params);
    const loom_body b = c->from->bodies[s->body];
    for (uint32_t i = 0; i < b.n_params; i++) c->map[b.first + i] = params[i];
    for (uint32_t i = c->first_own[s->body]; i < c->first_own[s->body + 1]; i++) {
        loom_node_id id = c->own[i];
        bool wanted = c->live[id] && is_before(s, id) && c->from->nodes[id].op != LOOM_OP_PARAM;
        if (wanted) c->map[id] = emit_node(c, id);
    }
    loom_node_id *parts = LOOM_NEW_ARRAY(c->arena, loom_node_id, n);
    loom_type_id *types = LOOM_NEW_ARRAY(c->arena, loom_type_id, n), *rows = LOOM_NEW_ARRAY(c->arena, loom_type_id, n);
    for (uint32_t i = 0; i < n; i++) {
        parts[i] = c->map[s->fields.at[i]];
        types[i] = type_of(c, parts[i]);
        rows[i] = loom_type_array(c->to, types[i]);
    }
    loom_type_id type = n == 1 ? types[0] : loom_type_tuple(c->to, n, types, NULL);
    loom_node_id result = n == 1 ? parts[0] : make(c, LOOM_OP_TUPLE, type, parts, n, NULL, 0, 0, s->span);
    loom_build_close(c->to, open, result);
    s->given = LOOM_NEW_ARRAY(c->arena, loom_node_id, n);
    s->given[0] = make(c, LOOM_OP_MAP, loom_type_array(c->to, type), s->arrays, s->n_arrays, &open, 1, 0, s->span);
    if (n == 1) return;
    loom_node_id apart = make1(c, LOOM_OP_UNZIP, loom_type_tuple(c->to, n, rows, NULL), s->given[0], 0, s->span);
    for (uint32_t i = 0; i < n; i++) s->given[i] = make1(c, LOOM_OP_PROJECT, rows[i], apart, i, s->span);
}

/* The values of an argument for all elements. */
static loom_node_id all_of(splitting *s, loom_node_id id) {
    chooser *c = s->c;
    const loom_node *n = &c->from->nodes[id];
    bool own = c->owner[id] == s->body;
    if (own && n->op == LOOM_OP_PARAM) return s->arrays[id - s->first];
    if (own && n->op != LOOM_OP_CONST) return s->given[s->field_of[id - s->first] - 1];
    if (own) c->map[id] = emit_node(c, id);
    loom_node_id operands[2] = {s->length, c->map[id]};
    return make(c, LOOM_OP_REPLICATE, loom_type_array(c->to, type_of(c, c->map[id])), operands, 2, NULL, 0, 0, s->span);
}

/* unflatten (version (flatten xs) ...), as a body over arrays of what the version takes. */
static loom_body_id flattened(chooser *c, const loom_node *call, const loom_type_id *types) {
    uint32_t n = call->n_operands;
    loom_span span = call->span;
    loom_body_id open = loom_build_open(c->to, n, types, declared(c, call, 1));
    loom_node_id *args = params_of(c, open, n), operands[3];
    operands[0] = length_of(c, args[0], span);
    operands[1] = make1(c, LOOM_OP_DIM, i64(c), args[0], 1, span);
    for (uint32_t i = 0; i < n; i++) {
        args[i] = make1(c, LOOM_OP_FLATTEN, c->to->types[types[i]].element, args[i], 0, span);
    }
    operands[2] = inlined(c, c->from->body_refs[call->first_body + 1], args);
    loom_type_id type = loom_type_array(c->to, type_of(c, operands[2]));
    loom_build_close(c->to, open, make(c, LOOM_OP_UNFLATTEN, type, operands, 3, NULL, 0, 0, span));
    return open;
}

static loom_body_id unchanged(chooser *c, const loom_node *call, const loom_type_id *types) {
    loom_body_id open = loom_build_open(c->to, call->n_operands, types, declared(c, call, 0));
    loom_node_id *args = params_of(c, open, call->n_operands);
    loom_build_close(c->to, open, inlined(c, c->from->body_refs[call->first_body + 1], args));
    return open;
}

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
    for (uint32_t i = 0; i < n; i++) args[i] = all_of(s, loom_operand(c->from, call, i));
    note_version(c, id);
    c->notes->used++;
    loom_node_id operands[2] = {LOOM_NONE, s->length};
    if (!in_map(c, s->id) || !has_room(c, call)) {
        operands[0] = inlined(c, c->from->body_refs[call->first_body + 1], args);
    } else {
        loom_type_id *types = LOOM_NEW_ARRAY(c->arena, loom_type_id, n),
                     *more = LOOM_NEW_ARRAY(c->arena, loom_type_id, n);
        for (uint32_t i = 0; i < n; i++) {
            types[i] = type_of(c, args[i]);
            more[i] = loom_type_array(c->to, types[i]);
        }
        loom_body_id bodies[2];
        bodies[0] = unchanged(c, call, types);
        bodies[1] = flattened(c, call, more);
        loom_type_id type = type_of(c, c->to->bodies[bodies[0]].result);
        operands[0] = make(c, LOOM_OP_LIFTED, type, args, n, bodies, 2, LOOM_VERSION_FLAT, call->span);
        c->open = true;
    }
    return make(c, LOOM_OP_CLAIM, type_of(c, operands[0]), operands, 2, NULL, 0, 1, call->span);
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
    for (uint32_t i = 0; i < n; i++) types[i] = c->to->types[type_of(c, operands[i])].element;
    loom_body_id open = loom_build_open(c->to, n, types, s->span);
    params = params_of(c, open, n);
    for (uint32_t i = 0; i < b.n_params; i++) c->map[b.first + i] = params[i];
    for (uint32_t i = 0; i < n_kept; i++) c->map[s->fields.at[i]] = params[s->n_arrays + i];
    for (uint32_t i = 0; i < n_calls; i++) c->map[s->calls.at[i]] = params[s->n_arrays + n_kept + i];
    for (uint32_t i = c->first_own[s->body]; i < c->first_own[s->body + 1]; i++) {
        loom_node_id id = c->own[i];
        bool again = c->from->nodes[id].op == LOOM_OP_CONST || !is_before(s, id);
        bool wanted = c->live[id] && c->from->nodes[id].op != LOOM_OP_PARAM && !is_call(s, id);
        if (again && wanted) c->map[id] = emit_node(c, id);
    }
    loom_build_close(c->to, open, c->map[b.result]);
    return make(c, LOOM_OP_MAP, copied_type(c, s->id), operands, n, &open, 1, 0, s->span);
}

/* All calls of the map are what their bodies say. */
static loom_node_id give_up(splitting *s) {
    chooser *c = s->c;
    for (size_t i = 0; i < s->calls.count; i++) {
        loom_node_id call = s->calls.at[i];
        c->verdict[call] = BODY;
        note(c, call, "not lifted: too many values, or of too many levels, are needed before and after it");
    }
    c->splits[s->id] = false;
    return emit_node(c, s->id);
}

static loom_node_id split_map(chooser *c, loom_node_id id) {
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
    s.length = length_of(c, s.arrays[0], s.span);
    /* What the map says of its arrays; a version is given them without it. */
    for (uint32_t i = 1; i < s.n_arrays; i++) {
        loom_node_id operands[2] = {s.arrays[i], s.length};
        s.arrays[i] = make(c, LOOM_OP_CLAIM, type_of(c, s.arrays[i]), operands, 2, NULL, 0, 1, s.span);
    }
    first_half(&s);
    loom_node_id *results = LOOM_NEW_ARRAY(c->arena, loom_node_id, s.calls.count + 1);
    for (size_t i = 0; i < s.calls.count; i++) results[i] = by_version(&s, s.calls.at[i]);
    bool last = s.calls.count == 1 && b.result == s.calls.at[0];
    return last ? results[0] : second_half(&s, results);
}

/* ---- all nodes ---- */

static loom_node_id emit_node(chooser *c, loom_node_id id) {
    const loom_node *n = &c->from->nodes[id];
    loom_node_id *operands = LOOM_NEW_ARRAY(c->arena, loom_node_id, (size_t)n->n_operands + 1);
    for (uint32_t i = 0; i < n->n_operands; i++) operands[i] = c->map[loom_operand(c->from, n, i)];
    if (n->op == LOOM_OP_LIFTED && c->verdict[id] == BODY) {
        return inlined(c, c->from->body_refs[n->first_body], operands);
    }
    if (n->op == LOOM_OP_LIFTED) c->open = true;
    if (c->becomes_map[id]) return as_map(c, n);
    if (c->splits[id]) return split_map(c, id);
    if (n->op == LOOM_OP_CONST) {
        return loom_build_const(c->to, c->from->types[n->type].dtype, c->from->constants[n->aux], n->span);
    }
    loom_body_id *bodies = LOOM_NEW_ARRAY(c->arena, loom_body_id, (size_t)n->n_bodies + 1);
    for (uint32_t i = 0; i < n->n_bodies; i++) bodies[i] = emit_body(c, c->from->body_refs[n->first_body + i]);
    return loom_build_node(c->to, (loom_op)n->op, n->prim, copied_type(c, id), operands, n->n_operands, bodies,
                           n->n_bodies, n->aux, n->span);
}

static loom_body_id emit_decided(chooser *c, loom_body_id from) {
    const loom_body b = c->from->bodies[from];
    loom_node_id *params;
    loom_body_id body = open_like(c, from, &params);
    for (uint32_t i = 0; i < b.n_params; i++) c->to->nodes[params[i]].span = c->from->nodes[b.first + i].span;
    loom_build_close(c->to, body, inlined(c, from, params));
    return body;
}

static void emit_function(chooser *c, uint32_t f, bool as_it_is) {
    const loom_function *fn = &c->from->functions[f];
    loom_body_id body = as_it_is ? loom_copy_as_body(c->to, c->from, fn->body, c->map) : emit_decided(c, fn->body);
    loom_build_function(c->to, fn->name, body, fn->entry, fn->param_names);
    c->to->functions[f].foreign = fn->foreign;
}

static bool any_lifted(const loom_program *p, uint32_t f) {
    const loom_body *b = &p->bodies[p->functions[f].body];
    for (loom_node_id id = b->first; id < b->end; id++) {
        if (p->nodes[id].op == LOOM_OP_LIFTED) return true;
    }
    return false;
}

static loom_program *new_program(chooser *c, const loom_program *like) {
    loom_program *p = loom_program_create(c->arena);
    p->files = like->files;
    p->n_files = p->cap_files = like->n_files;
    return p;
}

static loom_program *one_round(chooser *c, const loom_program *from, const bool *regular) {
    look_at(c, from);
    c->to = new_program(c, from);
    c->open = false;
    if (c->versions) {
        c->shapes = loom_shapes_analyse_inputs(c->arena, from, c->function, regular);
        c->reasons = loom_shapes_reasons(c->shapes, c->arena);
    }
    decide(c);
    for (uint32_t f = 0; f < from->n_functions; f++) emit_function(c, f, f != c->function);
    return c->to;
}

/* The function without what is not needed any more, and what its arguments say put into the calls. */
static loom_status *simplified(chooser *c, const loom_program *from, loom_program **to) {
    loom_program *one, *all = new_program(c, from);
    LOOM_TRY(loom_simplify_one(c->arena, from, c->function, &one));
    size_t nodes = (size_t)(one->n_nodes > from->n_nodes ? one->n_nodes : from->n_nodes) + 1;
    loom_node_id *map = LOOM_NEW_ARRAY(c->arena, loom_node_id, nodes);
    for (uint32_t f = 0; f < from->n_functions; f++) {
        const loom_program *p = f == c->function ? one : from;
        const loom_function *fn = &p->functions[f == c->function ? 0 : f];
        loom_build_function(all, fn->name, loom_copy_as_body(all, p, fn->body, map), fn->entry, fn->param_names);
        all->functions[f].foreign = fn->foreign;
    }
    *to = all;
    return loom_program_check(all);
}

loom_status *loom_versions_choose(loom_arena *arena, const loom_program *program, uint32_t f, const bool *regular,
                                  bool versions, loom_program **to, loom_version_notes *notes) {
    *to = (loom_program *)program;
    if (!any_lifted(program, f)) return NULL;
    chooser c = {.arena = arena, .function = f, .versions = versions, .notes = notes, .open = true};
    loom_program *p = *to;
    for (uint32_t round = 0; c.open; round++) {
        if (round == MAX_ROUNDS) {
            const char *text = "more calls of lifted functions that need each other than are looked at: the others are "
                               "what their bodies say";
            LOOM_PUSH(arena, *notes, text);
            c.versions = false;
        }
        p = one_round(&c, p, regular);
#ifdef LOOM_DEBUG_CHECKS
        LOOM_TRY(loom_program_check(p));
#endif
    }
    return simplified(&c, p, to);
}
