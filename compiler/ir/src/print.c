/* Text form of typed core: nodes in the order of the table, bodies indented before the node that uses them. For people
 * (`explain --stage core`) and tests; it is not read back.
 *
 *     entry sum (%0 xs: []f32) -> f32
 *       %1: f32 = const 0
 *       b0 (%2: f32, %3: f32)
 *         %4: f32 = + %2 %3
 *         -> %4
 *       %5: f32 = fold %1 %0 b0
 *       -> %5
 */
#include "print.h"
#include "wire.h"
#include <inttypes.h>
#include <stdlib.h>

typedef struct printer {
    const loom_program *p;
    FILE *to;
    uint32_t *function_of; /* by body: function index + 1, or 0 */
    loom_body_id *open;    /* bodies around the present node, innermost last */
    uint32_t n_open;
} printer;

static void indent(const printer *w) {
    for (uint32_t i = 0; i < w->n_open; i++) fputs("  ", w->to);
}

static void print_params(const printer *w, const loom_body *b, const char *const *names) {
    fputs(" (", w->to);
    for (uint32_t i = 0; i < b->n_params; i++) {
        loom_node_id id = b->first + i;
        fprintf(w->to, "%s%%%" PRIu32, i ? ", " : "", id);
        if (names) fprintf(w->to, " %s", names[i]);
        fprintf(w->to, ": %s", loom_type_text(w->p, w->p->nodes[id].type));
    }
    fputc(')', w->to);
}

static void open_body(printer *w, loom_body_id id) {
    const loom_body *b = &w->p->bodies[id];
    indent(w);
    if (w->function_of[id]) {
        const loom_function *f = &w->p->functions[w->function_of[id] - 1];
        fprintf(w->to, "%s%s %s", f->foreign ? "foreign " : "", f->entry ? "entry" : "def", f->name);
        print_params(w, b, f->param_names);
        fprintf(w->to, " -> %s\n", loom_type_text(w->p, w->p->nodes[b->result].type));
    } else {
        fprintf(w->to, "b%" PRIu32, id);
        print_params(w, b, NULL);
        fputc('\n', w->to);
    }
    w->open[w->n_open++] = id;
}

static void close_body(printer *w) {
    indent(w);
    fprintf(w->to, "-> %%%" PRIu32 "\n", w->p->bodies[w->open[w->n_open - 1]].result);
    if (--w->n_open == 0) fputc('\n', w->to);
}

/* The operation and its callee are printed by name; a count of groups is an operand. */
static bool has_aux(const loom_node *n) {
    if (n->op == LOOM_OP_SEQ_GROUP) return loom_group_is_forever(n);
    return loom_wire_has_detail(n->op) && n->op != LOOM_OP_PRIM && n->op != LOOM_OP_CALL;
}

static void print_node(const printer *w, loom_node_id id) {
    const loom_program *p = w->p;
    const loom_node *n = &p->nodes[id];
    indent(w);
    fprintf(w->to, "%%%" PRIu32 ": %s = ", id, loom_type_text(p, n->type));
    fputs(n->op == LOOM_OP_PRIM ? loom_prim_table[n->prim].name : loom_op_table[n->op].name, w->to);
    if (has_aux(n)) fprintf(w->to, ".%" PRIu32, n->aux);
    if (n->op == LOOM_OP_CALL) fprintf(w->to, " %s", p->functions[n->aux].name);
    if (n->op == LOOM_OP_CONST) {
        fputc(' ', w->to);
        loom_print_scalar(w->to, p->types[n->type].dtype, p->constants[n->aux]);
    }
    for (uint32_t i = 0; i < n->n_operands; i++) fprintf(w->to, " %%%" PRIu32, loom_operand(p, n, i));
    for (uint32_t i = 0; i < n->n_bodies; i++) fprintf(w->to, " b%" PRIu32, p->body_refs[n->first_body + i]);
    if (n->span.line) fprintf(w->to, "    -- %" PRIu32 ":%" PRIu32, n->span.line, n->span.column);
    fputc('\n', w->to);
}

typedef struct body_place {
    loom_node_id first, end, user; /* user: the node that uses it; LOOM_NONE for a function */
    loom_body_id id;
} body_place;

/* Is `a` inside `b`, given that they begin at the same node? */
static bool inside(const body_place *a, const body_place *b) {
    return a->user != LOOM_NONE && a->user >= b->first && a->user < b->end;
}

/* By where they begin; of those that begin together the outer first, else the one that ends first (it is empty). */
static int compare_places(const void *x, const void *y) {
    const body_place *a = x, *b = y;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    if (inside(a, b)) return 1;
    if (inside(b, a)) return -1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static body_place *places_in_order(const loom_program *p, loom_arena *scratch) {
    body_place *places = LOOM_NEW_ARRAY(scratch, body_place, (size_t)p->n_bodies + 1);
    for (uint32_t i = 0; i < p->n_bodies; i++) {
        places[i] = (body_place){p->bodies[i].first, p->bodies[i].end, LOOM_NONE, i};
    }
    for (loom_node_id id = 0; id < p->n_nodes; id++) {
        const loom_node *n = &p->nodes[id];
        for (uint32_t i = 0; i < n->n_bodies; i++) places[p->body_refs[n->first_body + i]].user = id;
    }
    qsort(places, p->n_bodies, sizeof *places, compare_places);
    return places;
}

static void close_ended(printer *w, loom_node_id id) {
    while (w->n_open && w->p->bodies[w->open[w->n_open - 1]].end <= id) close_body(w);
}

void loom_program_print(const loom_program *p, FILE *to) {
    loom_arena *scratch = loom_arena_create(0);
    printer w = {.p = p, .to = to};
    w.function_of = LOOM_NEW_ARRAY(scratch, uint32_t, (size_t)p->n_bodies + 1);
    w.open = LOOM_NEW_ARRAY(scratch, loom_body_id, (size_t)p->n_bodies + 1);
    for (uint32_t i = 0; i < p->n_functions; i++) w.function_of[p->functions[i].body] = i + 1;
    const body_place *places = places_in_order(p, scratch);
    uint32_t next = 0;
    for (loom_node_id id = 0; id <= p->n_nodes; id++) {
        close_ended(&w, id);
        for (; next < p->n_bodies && places[next].first == id; next++) {
            open_body(&w, places[next].id);
            if (places[next].end == id) close_body(&w);
        }
        if (id < p->n_nodes && p->nodes[id].op != LOOM_OP_PARAM) print_node(&w, id);
    }
    loom_arena_destroy(scratch);
}
