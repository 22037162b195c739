/* Which calls of lifted functions a version takes the place of, and the rewriting.
 *
 * RULES, for a node  y = lifted a ... b v  (b: the body, v: the version; all closed)
 *   in no map                                  =>  b a ...
 *   in a loop, an operator                     =>  b a ...      with a note: its elements are not those of the map
 *   v for regular rows, and some a has rows that may differ  =>  b a ...   (in b there may be one for irregular rows)
 *   generate n (\i -> .. y ..)                 =>  map (\i -> .. y ..) (iota n), and again; of two extents two maps
 *   map (\x -> .. y ..) xs                     =>  let (as, c) = map (\x -> (a, c)) xs       c: what both halves need
 *                                                  in map (\x c y -> ..) xs c (v as)
 *        an argument that is the same for all elements is repeated; one that is x is xs itself; v as is claimed to have
 *        as many rows as xs
 *   the same in the body of another map        =>  in place of `v as` there: lifted as (\as -> v as)
 *                                                  (\ass -> unflatten (v (flatten ass)))
 *        so where all rows of both maps are regular, v takes them at once, and else it is called for each outer element
 *   map (\x -> .. if p then .. y .. else e) xs  =>  the if is taken out of the map as a call is, and is
 *                                                  let is = places where p, js = the others
 *                                                      ts = map (\i -> (.. y ..)[x := xs[i]]) is, es = ... js
 *                                                  in map (\p n -> if p then ts[places before] else es[..]) ps
 *        so in the next round the call stands in a map over the elements that take its branch
 * What needs another call's result waits for the next round.
 *
 * Worked example: map (\(a, x) -> a * sum (smooth x)) (zip as xs), xs [k][n]
 *     map (\(a, x) y -> a * sum y) (zip as xs) (smooth_rows (map (\(a, x) -> x) (zip as xs)))
 *
 * Files: verdicts and rounds here; versions_emit.c copies the program, versions_split.c takes maps apart, and
 * versions_branch.c conditionals.
 * Cost: see versions.h. Papers: papers/000, manual lifting. */
#include "compiler/stage/stage.h"
#include "versions_impl.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* Calls that need each other's results, or stand in maps in maps, take a round each. Programs that people write have a
 * few; beyond this the bodies are taken, so that compiling stays linear in the program. */
#define MAX_ROUNDS 32

/* Calls that a map is divided for at one time: each argument is a column of what its first half gives. */
#define MAX_CALLS 64

/* ---- the program at hand ---- */

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
void versions_for_uses(const chooser *c, loom_node_id id, loom_body_id b, void (*use)(void *, loom_node_id), void *to) {
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
loom_span versions_declared(const chooser *c, const loom_node *call, uint32_t body) {
    return c->from->nodes[loom_node_body(c->from, call, body)->first].span;
}

static const char *name_of(const chooser *c, const loom_node *call, uint32_t body) {
    return name_at(c, versions_declared(c, call, body));
}

void versions_note(chooser *c, loom_node_id id, const char *what) {
    const loom_node *n = &c->from->nodes[id];
    bool placed = n->span.line && n->span.file < c->from->n_files;
    const char *file = placed ? c->from->files[n->span.file].name : "?";
    const char *text =
        loom_arena_printf(c->arena, "%s:%" PRIu32 ": %s: %s", file, n->span.line, name_of(c, n, 0), what);
    LOOM_PUSH(c->arena, *c->notes, text);
}

void versions_note_version(chooser *c, loom_node_id id) {
    static const char *const kinds[LOOM_VERSIONS] = {
        "its version for regular rows",
        "its version for irregular rows",
        "its version for regular rows, once for all elements of the maps around",
    };
    const loom_node *n = &c->from->nodes[id];
    versions_note(c, id, loom_arena_printf(c->arena, "lifted by %s, %s", name_of(c, n, 1), kinds[n->aux]));
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
    versions_note(c, id,
                  loom_arena_printf(c->arena, "%s%s%s: argument %" PRIu32 ": %s%s", what, *version ? " " : "", version,
                                    argument + 1, why, place));
}

/* ---- verdicts ---- */

static bool is_control(loom_op op) {
    return op == LOOM_OP_IF || op == LOOM_OP_LOOP_FOR || op == LOOM_OP_LOOP_WHILE;
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

/* The outermost conditional around body `b` that stands in a map; LOOM_NONE: something else is between. */
static loom_node_id branch_in_map(const chooser *c, loom_body_id b) {
    loom_node_id found = LOOM_NONE, at = c->user[b];
    for (; at != LOOM_NONE && c->from->nodes[at].op == LOOM_OP_IF; at = c->user[c->owner[at]]) found = at;
    return at != LOOM_NONE && is_map((loom_op)c->from->nodes[at].op) ? found : LOOM_NONE;
}

static verdict judge(chooser *c, loom_node_id id) {
    loom_body_id body = c->owner[id];
    if (!c->versions) return BODY;
    if (c->user[body] == LOOM_NONE) return BODY;
    loom_op op = (loom_op)c->from->nodes[c->user[body]].op;
    surroundings s = around(c, body);
    if (s.lifted) return LATER;
    if (is_map(op)) return by_arguments(c, id);
    loom_node_id branch = branch_in_map(c, body);
    if (branch != LOOM_NONE) {
        if (by_arguments(c, id) == BODY) return BODY;
        c->verdict[branch] = VERSION;
        return LATER;
    }
    if (s.operation) {
        versions_note(c, id,
                      loom_arena_printf(c->arena,
                                        "not lifted: it is called in %s, which not all elements of a map do together",
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
        versions_for_uses(c, id, b, need, &n);
        bool chosen = c->verdict[id] == VERSION;
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
    }
    for (loom_node_id id = function->first; id < function->end; id++) {
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

/* ---- rounds ---- */

static void emit_function(chooser *c, uint32_t f, bool as_it_is) {
    const loom_function *fn = &c->from->functions[f];
    loom_body_id body =
        as_it_is ? loom_copy_as_body(c->to, c->from, fn->body, c->map) : versions_emit_decided(c, fn->body);
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
