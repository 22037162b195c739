/* Bodies that are scalar all through, run on a strip of elements at a time: each node is a loop over the strip.
 *
 * A body qualifies if its nodes are primitives, conversions, constants, tuples and projections, conditionals over such,
 * and reads of scalars from arrays (of outside, or from the element itself). Such a body becomes a list of instructions
 * over *lanes*, one buffer of STRIP_LENGTH scalars each; tuples are only names for groups of lanes. Both branches of a
 * conditional run and the results are selected; if anything fails in either (division, index), the strip is given up
 * and its elements run one by one, which decides whether there is an error, and whose. So results, errors and counts of
 * work are those of the plain evaluation. Example: map (\x -> x * a + 1) becomes: lane 0 = element, 1 = a, 2 = 1
 * (broadcast), 3 = lane 0 * lane 1, 4 = lane 3 + lane 2, result 4.
 */
#include "eval.h"
#include <assert.h>
#include <string.h>

/* More lanes would leave the caches, and hostile bodies can have millions of nodes. */
#define MOST_LANES   2000
#define MOST_INDICES 8

typedef enum instruction_kind {
    RUN_KERNEL, /* to = kernel(from[0], from[1], from[2]) */
    RUN_INDEX,  /* to = array[from...] */
    RUN_COUNT,  /* work units for each element whose from[0] (a bool lane; LOOM_NONE: all) is set */
} instruction_kind;

typedef enum lane_kind {
    LANE_COMPUTED,
    LANE_INPUT,
    LANE_POSITION,
    LANE_OUTER
} lane_kind;

typedef struct lane {
    lane_kind kind;
    uint32_t size;
    uint32_t input, leaf; /* INPUT */
    loom_node_id node;    /* OUTER: a scalar node, or a tuple and the path to a scalar in it */
    const struct fields *fields;
    size_t offset; /* of its buffer; an INPUT may stand in the array itself */
} lane;

/* Path of projections from the inside out: `field` of (`of` of ...). */
typedef struct fields {
    uint32_t field;
    const struct fields *of;
} fields;

typedef struct instruction {
    instruction_kind kind;
    uint32_t to, from[MOST_INDICES];
    kernel *run;
    uint16_t prim;   /* for its failures */
    loom_dtype type; /* of the last operand */
    bool can_fail;
    uint32_t n_indices;
    bool of_element; /* INDEX: the array is part of the element */
    uint32_t input, leaf;
    loom_node_id node; /* INDEX: the outer array (or a tuple that holds it) */
    const struct fields *fields;
    uint64_t work;
} instruction;

typedef struct strip_code {
    uint32_t n_lanes, n_instructions, n_results;
    const lane *lanes;
    const instruction *instructions;
    const uint32_t *results; /* lanes */
    size_t bytes;
} strip_code;

/* ---- preparation ---- */

typedef enum value_mode {
    NOT_KNOWN,
    LANES,
    ELEMENT,
    OUTER
} value_mode;

/* What a node is to a strip. */
typedef struct value {
    value_mode mode;
    const type_info *type;
    uint32_t *lanes;      /* LANES: one for each leaf */
    uint32_t input, leaf; /* ELEMENT: a part of an element, from this column on */
    loom_node_id node;    /* OUTER */
    const fields *path;
} value;

typedef struct planner {
    evaluation *ev;
    const loom_program *p;
    loom_arena *scratch;
    loom_node_id first, end;
    value *values; /* by node - first */
    LOOM_VEC(lane) lanes;
    LOOM_VEC(instruction) code;
    bool possible;
} planner;

static bool is_scalars(const type_info *t) {
    if (t->kind == LOOM_T_SCALAR) return true;
    if (t->kind == LOOM_T_ARRAY || t->n_fields == 0) return false;
    for (uint32_t i = 0; i < t->n_fields; i++) {
        if (!is_scalars(t->fields[i])) return false;
    }
    return true;
}

static uint32_t new_lane(planner *w, lane l) {
    if (w->lanes.count == MOST_LANES) w->possible = false;
    LOOM_PUSH(w->scratch, w->lanes, l);
    return (uint32_t)w->lanes.count - 1;
}

static value refuse(planner *w) {
    w->possible = false;
    return (value){.mode = NOT_KNOWN};
}

/* Outer scalars and parts of elements become lanes when they are used as numbers. */
static value as_lanes(planner *w, value v) {
    if (v.mode == LANES) return v;
    if (!is_scalars(v.type) || (v.mode == OUTER && v.type->kind != LOOM_T_SCALAR)) return refuse(w);
    value made = {.mode = LANES, .type = v.type};
    made.lanes = LOOM_NEW_ARRAY(w->scratch, uint32_t, v.type->n_leaves);
    for (uint32_t k = 0; k < v.type->n_leaves; k++) {
        lane l = {.size = (uint32_t)loom_dtype_size(v.type->leaf_dtypes[k])};
        l.kind = v.mode == OUTER ? LANE_OUTER : LANE_INPUT;
        l.input = v.input;
        l.leaf = v.leaf + k;
        l.node = v.node;
        l.fields = v.path;
        made.lanes[k] = new_lane(w, l);
    }
    return made;
}

static value *slot_of(planner *w, loom_node_id id) {
    return &w->values[id - w->first];
}

static value value_of(planner *w, loom_node_id id) {
    if (id >= w->first && id < w->end) return *slot_of(w, id);
    return (value){.mode = OUTER, .type = type_of(w->ev, id), .node = id};
}

static value lanes_of(planner *w, loom_node_id id) {
    value v = as_lanes(w, value_of(w, id));
    if (w->possible && id >= w->first && id < w->end) *slot_of(w, id) = v; /* not again for the next user */
    return v;
}

static value one_lane(planner *w, const type_info *type) {
    value v = {.mode = LANES, .type = type, .lanes = LOOM_NEW(w->scratch, uint32_t)};
    v.lanes[0] = new_lane(w, (lane){.kind = LANE_COMPUTED, .size = type->size});
    return v;
}

static value plan_kernel(planner *w, const loom_node *n) {
    value made = one_lane(w, type_of_id(w->ev, n->type));
    instruction i = {.kind = RUN_KERNEL, .to = made.lanes[0], .prim = n->prim};
    for (uint32_t k = 0; k < n->n_operands; k++) {
        value v = lanes_of(w, loom_operand(w->p, n, k));
        if (!w->possible) return v;
        i.from[k] = v.lanes[0];
        i.type = v.type->dtype;
    }
    if (n->op == LOOM_OP_PRIM) {
        i.run = prim_kernel(n->prim, i.type);
        i.can_fail = loom_prim_table[n->prim].can_trap;
    } else {
        i.run = convert_kernel(i.type, made.type->dtype);
    }
    LOOM_PUSH(w->scratch, w->code, i);
    return made;
}

static value plan_tuple(planner *w, const loom_node *n) {
    value made = {.mode = LANES, .type = type_of_id(w->ev, n->type)};
    if (!is_scalars(made.type)) return refuse(w);
    made.lanes = LOOM_NEW_ARRAY(w->scratch, uint32_t, made.type->n_leaves);
    for (uint32_t f = 0; f < n->n_operands; f++) {
        value v = lanes_of(w, loom_operand(w->p, n, f));
        if (!w->possible) return v;
        memcpy(made.lanes + made.type->first_leaf[f], v.lanes, v.type->n_leaves * sizeof *v.lanes);
    }
    return made;
}

static value plan_project(planner *w, const loom_node *n) {
    value v = value_of(w, loom_operand(w->p, n, 0));
    if (v.mode == NOT_KNOWN) return refuse(w);
    value made = v;
    made.type = v.type->fields[n->aux];
    if (v.mode == LANES) made.lanes = v.lanes + v.type->first_leaf[n->aux];
    if (v.mode == ELEMENT) made.leaf = v.leaf + v.type->first_leaf[n->aux];
    if (v.mode == OUTER) {
        fields *f = LOOM_NEW(w->ev->arena, fields);
        *f = (fields){n->aux, v.path};
        made.path = f;
    }
    return made;
}

static value plan_index(planner *w, const loom_node *n) {
    value array = value_of(w, loom_operand(w->p, n, 0));
    const type_info *type = type_of_id(w->ev, n->type);
    uint32_t levels = n->n_operands - 1;
    if ((array.mode != ELEMENT && array.mode != OUTER) || type->kind != LOOM_T_SCALAR || levels > MOST_INDICES)
        return refuse(w);
    value made = one_lane(w, type);
    instruction i = {.kind = RUN_INDEX, .to = made.lanes[0], .n_indices = levels, .can_fail = true};
    i.of_element = array.mode == ELEMENT;
    i.input = array.input;
    i.leaf = array.leaf;
    i.node = array.node;
    i.fields = array.path;
    for (uint32_t k = 0; k < levels; k++) {
        value v = lanes_of(w, loom_operand(w->p, n, k + 1));
        if (!w->possible) return v;
        i.from[k] = v.lanes[0];
    }
    LOOM_PUSH(w->scratch, w->code, i);
    return made;
}

static void plan_nodes(planner *w, loom_body_id body, uint32_t mask);

static uint32_t combine(planner *w, loom_prim prim, uint32_t a, uint32_t b) {
    uint32_t to = new_lane(w, (lane){.kind = LANE_COMPUTED, .size = 1});
    instruction i = {.kind = RUN_KERNEL, .to = to, .from = {a, b}, .run = prim_kernel((uint16_t)prim, LOOM_BOOL)};
    LOOM_PUSH(w->scratch, w->code, i);
    return to;
}

/* `mask`: the lane that says which elements are here at all, for the count of work. */
static value plan_if(planner *w, const loom_node *n, uint32_t mask) {
    value c = lanes_of(w, loom_operand(w->p, n, 0));
    if (!w->possible) return c;
    uint32_t yes = c.lanes[0], no = combine(w, LOOM_PRIM_NOT, yes, yes);
    uint32_t masks[2] = {mask == LOOM_NONE ? yes : combine(w, LOOM_PRIM_AND, mask, yes),
                         mask == LOOM_NONE ? no : combine(w, LOOM_PRIM_AND, mask, no)};
    value results[2];
    for (uint32_t k = 0; k < 2 && w->possible; k++) {
        loom_body_id b = body_of(w->ev, n, k);
        plan_nodes(w, b, masks[k]);
        if (w->possible) results[k] = lanes_of(w, w->p->bodies[b].result);
    }
    if (!w->possible) return (value){.mode = NOT_KNOWN};
    value made = {.mode = LANES, .type = results[0].type};
    made.lanes = LOOM_NEW_ARRAY(w->scratch, uint32_t, made.type->n_leaves);
    for (uint32_t k = 0; k < made.type->n_leaves; k++) {
        loom_dtype t = made.type->leaf_dtypes[k];
        made.lanes[k] = new_lane(w, (lane){.kind = LANE_COMPUTED, .size = (uint32_t)loom_dtype_size(t)});
        instruction i = {.kind = RUN_KERNEL, .to = made.lanes[k], .run = prim_kernel(LOOM_PRIM_SELECT, t)};
        i.from[0] = yes;
        i.from[1] = results[0].lanes[k];
        i.from[2] = results[1].lanes[k];
        LOOM_PUSH(w->scratch, w->code, i);
    }
    return made;
}

static value plan_const(planner *w, loom_node_id id) {
    return (value){.mode = OUTER, .type = type_of(w->ev, id), .node = id};
}

static void plan_nodes(planner *w, loom_body_id body, uint32_t mask) {
    const body_code *code = &w->ev->bodies[body];
    uint64_t work = 0;
    for (uint32_t k = 0; k < code->n_nodes && w->possible; k++) {
        const loom_node *n = &w->p->nodes[code->nodes[k]];
        value v = {.mode = NOT_KNOWN};
        switch ((loom_op)n->op) {
        case LOOM_OP_CONST: v = plan_const(w, code->nodes[k]); break;
        case LOOM_OP_PRIM:
            work += loom_prim_counted((loom_prim)n->prim);
            v = plan_kernel(w, n);
            break;
        case LOOM_OP_CONVERT:
            work++;
            v = plan_kernel(w, n);
            break;
        case LOOM_OP_TUPLE: v = plan_tuple(w, n); break;
        case LOOM_OP_PROJECT: v = plan_project(w, n); break;
        case LOOM_OP_INDEX: v = plan_index(w, n); break;
        case LOOM_OP_IF: v = plan_if(w, n, mask); break;
        default: w->possible = false;
        }
        *slot_of(w, code->nodes[k]) = v;
    }
    instruction count = {.kind = RUN_COUNT, .from = {mask}, .work = work};
    if (work) LOOM_PUSH(w->scratch, w->code, count);
}

static bool op_may_run(loom_op op) {
    switch (op) {
    case LOOM_OP_PARAM:
    case LOOM_OP_CONST:
    case LOOM_OP_PRIM:
    case LOOM_OP_CONVERT:
    case LOOM_OP_TUPLE:
    case LOOM_OP_PROJECT:
    case LOOM_OP_INDEX:
    case LOOM_OP_IF: return true;
    default: return false;
    }
}

/* Copies what was planned from scratch memory to where it stays. */
static const strip_code *finish(planner *w, value result) {
    loom_arena *arena = w->ev->arena;
    strip_code *code = LOOM_NEW(arena, strip_code);
    lane *lanes = LOOM_NEW_ARRAY(arena, lane, w->lanes.count + 1);
    instruction *instructions = LOOM_NEW_ARRAY(arena, instruction, w->code.count + 1);
    uint32_t *results = LOOM_NEW_ARRAY(arena, uint32_t, result.type->n_leaves);
    for (size_t i = 0; i < w->lanes.count; i++) {
        lanes[i] = w->lanes.at[i];
        lanes[i].offset = code->bytes;
        code->bytes += STRIP_LENGTH * (size_t)lanes[i].size;
    }
    for (size_t i = 0; i < w->code.count; i++) instructions[i] = w->code.at[i];
    memcpy(results, result.lanes, result.type->n_leaves * sizeof *results);
    code->lanes = lanes;
    code->n_lanes = (uint32_t)w->lanes.count;
    code->instructions = instructions;
    code->n_instructions = (uint32_t)w->code.count;
    code->results = results;
    code->n_results = result.type->n_leaves;
    return code;
}

static const strip_code *plan(evaluation *ev, loom_body_id body, loom_arena *scratch) {
    const loom_body *b = &ev->program->bodies[body];
    planner w = {.ev = ev, .p = ev->program, .scratch = scratch, .first = b->first, .end = b->end, .possible = true};
    w.values = LOOM_NEW_ARRAY(scratch, value, (size_t)(b->end - b->first) + 1);
    for (uint32_t k = 0; k < b->n_params; k++) {
        value v = {.mode = ELEMENT, .type = type_of(ev, b->first + k), .input = k};
        *slot_of(&w, b->first + k) = v;
    }
    plan_nodes(&w, body, LOOM_NONE);
    if (!w.possible) return NULL;
    value result = lanes_of(&w, b->result);
    return w.possible ? finish(&w, result) : NULL;
}

/* Bodies of a function, a loop or a branch are not run on elements. Nodes are looked at first, so that long bodies that
 * do not qualify cost nothing more. */
const strip_code *strip_prepare(evaluation *ev, loom_body_id body) {
    const loom_body *b = &ev->program->bodies[body];
    if (ev->options->one_by_one || b->n_params == 0 || b->n_params > MOST_LANES || b->end - b->first > 4 * MOST_LANES)
        return NULL;
    for (loom_node_id id = b->first; id < b->end; id++) {
        if (!op_may_run((loom_op)ev->program->nodes[id].op)) return NULL;
    }
    ev->scratch = loom_arena_create(0);
    const strip_code *code = plan(ev, body, ev->scratch);
    loom_arena_destroy(ev->scratch);
    ev->scratch = NULL;
    return code;
}

/* ---- running ---- */

typedef struct strip_run {
    evaluation *ev;
    const strip_code *code;
    const strip_input *inputs;
    char **lanes;
} strip_run;

static slot outer_value(evaluation *ev, loom_node_id id, const fields *path) {
    if (!path) return ev->env[id];
    return outer_value(ev, id, path->of).tuple->at[path->field];
}

static void broadcast(char *to, const char *from, uint32_t size, int64_t n) {
    switch (size) {
    case 1: memset(to, *from, (size_t)n); break;
    case 4:
        for (int64_t i = 0; i < n; i++) memcpy(to + 4 * i, from, 4);
        break;
    case 8:
        for (int64_t i = 0; i < n; i++) memcpy(to + 8 * i, from, 8);
        break;
    default:
        for (int64_t i = 0; i < n; i++) memcpy(to + size * (size_t)i, from, size);
    }
}

/* Constants of the body itself have no value in the environment while strips run. */
static slot outer_scalar(evaluation *ev, const lane *l) {
    const loom_node *n = &ev->program->nodes[l->node];
    slot s = {.raw = {0}};
    if (n->op != LOOM_OP_CONST) return outer_value(ev, l->node, l->fields);
    loom_scalar_store(type_of_id(ev, n->type)->dtype, ev->program->constants[n->aux], s.raw);
    return s;
}

static void fill_fixed(const strip_run *r, int64_t n) {
    for (uint32_t k = 0; k < r->code->n_lanes; k++) {
        const lane *l = &r->code->lanes[k];
        r->lanes[k] = r->ev->strip_memory + l->offset;
        if (l->kind != LANE_OUTER) continue;
        slot s = outer_scalar(r->ev, l);
        broadcast(r->lanes[k], s.raw, l->size, n);
    }
}

static void fill_positions(int64_t *to, const strip_input *in, int64_t from, int64_t n) {
    int64_t step = from % in->repeat, value = from / in->repeat % in->modulo;
    for (int64_t i = 0; i < n; i++) {
        to[i] = value;
        if (++step == in->repeat) {
            step = 0;
            value = value + 1 == in->modulo ? 0 : value + 1;
        }
    }
}

static void fill_inputs(const strip_run *r, int64_t from, int64_t n) {
    for (uint32_t k = 0; k < r->code->n_lanes; k++) {
        const lane *l = &r->code->lanes[k];
        if (l->kind != LANE_INPUT) continue;
        const strip_input *in = &r->inputs[l->input];
        if (in->leaves) {
            r->lanes[k] = in->leaves[l->leaf]->data + (size_t)from * l->size;
        } else {
            fill_positions((int64_t *)(void *)r->lanes[k], in, from, n);
        }
    }
}

#define READ(T)                                                                                                        \
    do {                                                                                                               \
        T *to = (T *)(void *)out;                                                                                      \
        const T *at = (const T *)(const void *)c->data;                                                                \
        for (int64_t e = 0; e < n; e++) to[e] = at[where[e]];                                                          \
    } while (0)
typedef struct sixteen {
    uint64_t u[2];
} sixteen;

/* Reads scalars; false if an index is outside or the array is not one block. */
static bool run_index(const strip_run *r, const instruction *i, int64_t from, int64_t n) {
    const column *c =
        i->of_element ? r->inputs[i->input].leaves[i->leaf] : outer_value(r->ev, i->node, i->fields).array->leaves[0];
    uint32_t skip = i->of_element ? 1 : 0;
    if (!c->dense || c->depth != i->n_indices + skip) return false;
    int64_t where[STRIP_LENGTH];
    for (int64_t e = 0; e < n; e++) where[e] = i->of_element ? from + e : 0;
    for (uint32_t k = 0; k < i->n_indices; k++) {
        const int64_t *index = (const int64_t *)(const void *)r->lanes[i->from[k]];
        int64_t extent = c->at[k + skip].extent;
        bool inside = true;
        for (int64_t e = 0; e < n; e++) {
            inside = inside && (uint64_t)index[e] < (uint64_t)extent;
            where[e] = (int64_t)((uint64_t)where[e] * (uint64_t)extent + (uint64_t)index[e]);
        }
        if (!inside) return false;
    }
    char *out = r->lanes[i->to];
    switch (scalar_size(c)) {
    case 1: READ(uint8_t); break;
    case 2: READ(uint16_t); break;
    case 4: READ(uint32_t); break;
    case 8: READ(uint64_t); break;
    default: READ(sixteen);
    }
    return true;
}

static uint64_t count_set(const bool *mask, int64_t n) {
    uint64_t set = 0;
    for (int64_t e = 0; e < n; e++) set += mask[e];
    return set;
}

/* One strip; false if its elements must run one by one. */
static bool run_strip(const strip_run *r, int64_t from, int64_t n, uint64_t *work) {
    fill_inputs(r, from, n);
    for (uint32_t k = 0; k < r->code->n_instructions; k++) {
        const instruction *i = &r->code->instructions[k];
        const char *what;
        switch (i->kind) {
        case RUN_INDEX:
            if (!run_index(r, i, from, n)) return false;
            break;
        case RUN_COUNT:
            *work +=
                i->work * (i->from[0] == LOOM_NONE ? (uint64_t)n : count_set((const bool *)r->lanes[i->from[0]], n));
            break;
        case RUN_KERNEL:
            if (i->can_fail && prim_failure(i->prim, i->type, (size_t)n, r->lanes[i->from[1]], &what) >= 0)
                return false;
            i->run((size_t)n, r->lanes[i->to], r->lanes[i->from[0]], r->lanes[i->from[1]], r->lanes[i->from[2]]);
        }
    }
    return true;
}

static loom_status *memory_for(evaluation *ev, size_t bytes) {
    if (bytes <= ev->strip_bytes) return NULL;
    buffer *b;
    uint64_t held = ev->heap.held, peak = ev->heap.peak;
    LOOM_TRY(buffer_create(&ev->heap, bytes, &b)); /* given back at the end of the evaluation */
    ev->heap.held = held;                          /* lanes are no values of the program */
    ev->heap.peak = peak;
    ev->strip_memory = b->data;
    ev->strip_bytes = bytes;
    return NULL;
}

loom_status *strip_all(evaluation *ev, loom_body_id body, const strip_input *inputs, int64_t length,
                       array_builder *sink, int64_t *from) {
    const strip_code *code = ev->bodies[body].strip;
    char *lanes[MOST_LANES];
    strip_run r = {ev, code, inputs, lanes};
    assert(code->n_lanes <= MOST_LANES);
    LOOM_TRY(memory_for(ev, code->bytes));
    fill_fixed(&r, length < STRIP_LENGTH ? length : STRIP_LENGTH);
    const loom_node *at = &ev->program->nodes[ev->program->bodies[body].result];
    while (*from < length) {
        int64_t n = length - *from < STRIP_LENGTH ? length - *from : STRIP_LENGTH;
        uint64_t work = 0;
        if (!run_strip(&r, *from, n, &work)) return NULL;
        ev->work += work;
        LOOM_TRY(count_turn(ev, at, (uint64_t)n));
        for (uint32_t k = 0; k < code->n_results; k++) {
            char *room;
            LOOM_TRY(builder_scalars(&sink->leaves[k], n, &room));
            memcpy(room, lanes[code->results[k]], (size_t)n * code->lanes[code->results[k]].size);
        }
        *from += n;
    }
    return NULL;
}
