/* Evaluation of bodies and of the operations on scalars, tuples and control. Nesting of bodies, through calls too, is
 * limited by the checker, so this recurses. */
#include "eval.h"
#include <assert.h>
#include <string.h>

/* ---- errors ---- */

static loom_status *placed(const evaluation *ev, const loom_node *n, loom_code code, const char *text) {
    const loom_program *p = ev->program;
    if (n->span.line == 0 || n->span.file >= p->n_files) return loom_error(code, "%s", text);
    return loom_error_at(code, p->files[n->span.file].name, n->span, "%s", text);
}

loom_status *fail(const evaluation *ev, const loom_node *n, loom_trap_code error, const char *format, ...) {
    char text[500], coded[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(coded, sizeof coded, "%s [W%04u]", text, (unsigned)error);
    return placed(ev, n, LOOM_E_RUNTIME, coded);
}

loom_status *fail_trap(const evaluation *ev, const loom_node *n, loom_trap trap, uint32_t detail, int64_t a,
                       int64_t b) {
    const loom_program *p = ev->program;
    loom_arena *arena = loom_arena_create(0);
    loom_trap_text text = loom_trap_describe(arena, p, n, trap, detail);
    const char *file = n->span.file < p->n_files ? p->files[n->span.file].name : NULL;
    loom_status *status = loom_trap_error(file, n->span, text.format, text.hint, a, b);
    loom_arena_destroy(arena);
    return status;
}

loom_status *place_error(const evaluation *ev, const loom_node *n, loom_status *status) {
    if (!status || loom_status_span(status).line != 0) return status;
    loom_status *with_place = placed(ev, n, loom_status_code(status), loom_status_message(status));
    for (size_t i = 0; i < loom_status_notes(status); i++) {
        loom_status_note(with_place, "%s", loom_status_note_at(status, i));
    }
    loom_status_free(status);
    return with_place;
}

loom_status *at_element(evaluation *ev, int64_t i, loom_status *status) {
    if (status && ev->n_path < MAX_PATH) ev->path[ev->n_path++] = i;
    return status;
}

loom_status *check_effort(const evaluation *ev, const loom_node *n) {
    if (ev->options->cancel && atomic_load_explicit(ev->options->cancel, memory_order_relaxed)) {
        return loom_error(LOOM_E_CANCELLED, "cancelled");
    }
    if (!ev->work_limit || ev->work + ev->turns + ev->heap.moved <= ev->work_limit) return NULL;
    return loom_status_note(placed(ev, n, LOOM_E_LIMIT, "the evaluation takes more work than its limit allows"),
                            "hint: the limit is %llu evaluations, turns and moves; a loop may not end",
                            (unsigned long long)ev->work_limit);
}

/* ---- operands ---- */

slot take_operand(evaluation *ev, const loom_node *n, uint32_t i) {
    loom_node_id id = loom_operand(ev->program, n, i);
    slot s = ev->env[id];
    if (ev->last[n->first_operand + i]) {
        ev->env[id].object = NULL;
        return s;
    }
    return slot_ref(type_of(ev, id), s);
}

static void drop_last(evaluation *ev, const loom_node *n) {
    for (uint32_t i = 0; i < n->n_operands; i++) {
        if (!ev->last[n->first_operand + i]) continue;
        slot *s = &ev->env[loom_operand(ev->program, n, i)];
        object_unref(&ev->heap, s->object);
        s->object = NULL;
    }
}

/* ---- scalars ---- */

static loom_status *eval_const(evaluation *ev, const loom_node *n, slot *result) {
    loom_scalar_store(type_of_id(ev, n->type)->dtype, ev->program->constants[n->aux], result->raw);
    return NULL;
}

static loom_status *eval_prim(evaluation *ev, const loom_node *n, slot *result) {
    const loom_prim_info *info = &loom_prim_table[n->prim];
    slot a = operand(ev, n, 0), b = info->arity > 1 ? operand(ev, n, 1) : a,
         c = info->arity > 2 ? operand(ev, n, 2) : a;
    loom_dtype type = operand_type(ev, n, n->n_operands - 1)->dtype;
    if (info->can_trap) {
        const char *what;
        if (prim_failure(n->prim, type, 1, b.raw, &what) == 0) {
            return fail_trap(ev, n, LOOM_TRAP_PRIM, 0, loom_scalar_load(type, b.raw).i, 0);
        }
    }
    prim_kernel(n->prim, type)(1, result->raw, a.raw, b.raw, c.raw);
    ev->work += loom_prim_counted((loom_prim)n->prim);
    return NULL;
}

static loom_status *eval_convert(evaluation *ev, const loom_node *n, slot *result) {
    slot a = operand(ev, n, 0);
    convert_kernel(operand_type(ev, n, 0)->dtype, type_of_id(ev, n->type)->dtype)(1, result->raw, a.raw, NULL, NULL);
    ev->work++;
    return NULL;
}

/* ---- tuples ---- */

static loom_status *eval_tuple(evaluation *ev, const loom_node *n, slot *result) {
    result->tuple = tuple_make(&ev->heap, type_of_id(ev, n->type));
    for (uint32_t i = 0; i < n->n_operands; i++) result->tuple->at[i] = take_operand(ev, n, i);
    return NULL;
}

static loom_status *eval_project(evaluation *ev, const loom_node *n, slot *result) {
    tuple *t = operand(ev, n, 0).tuple;
    *result = slot_ref(t->type->fields[n->aux], t->at[n->aux]);
    /* Where the tuple goes now and nothing else holds it, the component goes with it and may change in place. */
    if (ev->last[n->first_operand] && t->head.references == 1 && t->type->fields[n->aux]->is_object) {
        result->object->references--;
        t->at[n->aux].object = NULL;
    }
    return NULL;
}

/* ---- control ---- */

static loom_status *eval_call(evaluation *ev, const loom_node *n, slot *result) {
    loom_body_id body = ev->program->functions[n->aux].body;
    for (uint32_t i = 0; i < n->n_operands; i++) set_param(ev, body, i, take_operand(ev, n, i));
    return eval_body(ev, body, result);
}

/* The arguments of a version: each of the function's twice. */
static loom_status *set_rows(evaluation *ev, const loom_node *n) {
    for (uint32_t i = 0; i < n->n_operands; i++) {
        array_builder b;
        slot twice = {.raw = {0}};
        LOOM_TRY(array_builder_start(&b, &ev->heap, operand_type(ev, n, i), 2));
        LOOM_TRY(array_builder_repeat(&b, operand(ev, n, i), 2));
        LOOM_TRY(array_builder_end(&b, &twice.array));
        set_param(ev, body_of(ev, n, 1), i, twice);
    }
    return NULL;
}

/* Does the version give what the function gave, for each row? */
static loom_status *check_version(evaluation *ev, const loom_node *n, slot one) {
    static const char *const hint = "it must give for each row of its arguments what the function gives for that row";
    static const char *const broken = "the lifted version of the function gives something else than the function";
    const type_info *type = type_of_id(ev, n->type);
    slot rows;
    LOOM_TRY(loom_status_note(eval_body(ev, body_of(ev, n, 1), &rows), "in the lifted version of the function"));
    loom_status *status = NULL;
    if (rows.array->length != 2) {
        status = loom_status_note(fail(ev, n, LOOM_TRAP_CODE_LAW, "%s", broken), "hint: %s", hint);
    }
    for (int64_t i = 0; i < 2 && !status; i++) {
        slot row = element_at(&ev->heap, type, rows.array->leaves, i);
        status = check_law(ev, n, type, one, row, broken, hint);
        if (type->is_object) object_unref(&ev->heap, row.object);
    }
    object_unref(&ev->heap, rows.object);
    return status;
}

/* The meaning of a lifted function is its body; where laws are tested, its version must agree. */
static loom_status *eval_lifted(evaluation *ev, const loom_node *n, slot *result) {
    loom_body_id body = body_of(ev, n, 0);
    bool laws = ev->options->random_split_seed;
    if (laws) LOOM_TRY(set_rows(ev, n));
    for (uint32_t i = 0; i < n->n_operands; i++) set_param(ev, body, i, take_operand(ev, n, i));
    LOOM_TRY(eval_body(ev, body, result));
    return laws ? check_version(ev, n, *result) : NULL;
}

static loom_status *eval_for(evaluation *ev, const loom_node *n, slot *result) {
    int64_t count = operand_i64(ev, n, 0);
    loom_body_id body = body_of(ev, n, 0);
    slot state = take_operand(ev, n, 1);
    for (int64_t i = 0; i < count; i++) {
        LOOM_TRY(count_turn(ev, n, 1));
        ev->counter_turns++;
        set_param(ev, body, 0, (slot){.i64 = i});
        set_param(ev, body, 1, state);
        LOOM_TRY(eval_body(ev, body, &state));
    }
    *result = state;
    return NULL;
}

static loom_status *eval_while(evaluation *ev, const loom_node *n, slot *result) {
    loom_body_id test = body_of(ev, n, 0), step = body_of(ev, n, 1);
    const type_info *type = type_of_id(ev, n->type);
    slot state = take_operand(ev, n, 0);
    for (;;) {
        slot go;
        LOOM_TRY(count_turn(ev, n, 1));
        set_param(ev, test, 0, slot_ref(type, state));
        LOOM_TRY(eval_body(ev, test, &go));
        if (!go.b) break;
        set_param(ev, step, 0, state);
        LOOM_TRY(eval_body(ev, step, &state));
    }
    *result = state;
    return NULL;
}

static loom_status *eval_assert(evaluation *ev, const loom_node *n, slot *result) {
    if (!operand(ev, n, 0).b) {
        int64_t a = loom_assertion_counts(n->aux) ? operand_i64(ev, n, 1) : 0;
        return fail_trap(ev, n, LOOM_TRAP_ASSERT, 0, a, 0);
    }
    *result = take_operand(ev, n, 1);
    return NULL;
}

/* ---- nodes and bodies ---- */

static loom_status *eval_op(evaluation *ev, loom_node_id id, slot *result) {
    const loom_node *n = &ev->program->nodes[id];
    switch ((loom_op)n->op) {
    case LOOM_OP_CONST: return eval_const(ev, n, result);
    case LOOM_OP_PRIM: return eval_prim(ev, n, result);
    case LOOM_OP_CONVERT: return eval_convert(ev, n, result);
    case LOOM_OP_TUPLE: return eval_tuple(ev, n, result);
    case LOOM_OP_PROJECT: return eval_project(ev, n, result);
    case LOOM_OP_CALL: return eval_call(ev, n, result);
    case LOOM_OP_LIFTED: return eval_lifted(ev, n, result);
    case LOOM_OP_IF: return eval_body(ev, body_of(ev, n, operand(ev, n, 0).b ? 0 : 1), result);
    case LOOM_OP_LOOP_FOR: return eval_for(ev, n, result);
    case LOOM_OP_LOOP_WHILE: return eval_while(ev, n, result);
    case LOOM_OP_ASSERT: return eval_assert(ev, n, result);
    case LOOM_OP_CLAIM:
    case LOOM_OP_DIM:
    case LOOM_OP_ARRAY:
    case LOOM_OP_INDEX:
    case LOOM_OP_SLICE:
    case LOOM_OP_UPDATE:
    case LOOM_OP_LENGTH:
    case LOOM_OP_IOTA:
    case LOOM_OP_REPLICATE:
    case LOOM_OP_ZIP:
    case LOOM_OP_UNZIP: return eval_array_op(ev, id, result);
    case LOOM_OP_TRANSPOSE:
    case LOOM_OP_FLATTEN:
    case LOOM_OP_UNFLATTEN:
    case LOOM_OP_CONCAT:
    case LOOM_OP_REVERSE:
    case LOOM_OP_ROTATE: return eval_shape_op(ev, id, result);
    case LOOM_OP_MAP:
    case LOOM_OP_GENERATE:
    case LOOM_OP_FOLD:
    case LOOM_OP_FOLD1:
    case LOOM_OP_SCAN:
    case LOOM_OP_FILTER: return eval_mapping_op(ev, id, result);
    case LOOM_OP_PERMUTE:
    case LOOM_OP_SCATTER:
    case LOOM_OP_GATHER:
    case LOOM_OP_BACKPERMUTE: return eval_permute_op(ev, id, result);
    case LOOM_OP_FFT: return eval_fft(ev, id, result);
    case LOOM_OP_SORT: return eval_sort(ev, id, result);
    case LOOM_OP_PARAM:
    case LOOM_OPS: break;
    default: return eval_sequence_op(ev, id, result);
    }
    return loom_error(LOOM_E_INTERNAL, "operation %u in a body", n->op);
}

/* Does the node visit the elements of a stream? In a stage's function over a chunk: an array as long as the chunk. */
static bool visits_stream(evaluation *ev, const loom_node *n) {
    if (n->op >= LOOM_OP_SEQ_ROWS) return n->op != LOOM_OP_SEQ_GROUP && n->op != LOOM_OP_SEQ_GROUP_MAP;
    if (ev->options->stream_count == 0 || n->n_operands == 0) return false;
    uint32_t last = n->n_operands - 1;
    const array *a = operand_type(ev, n, last)->kind == LOOM_T_ARRAY ? operand(ev, n, last).array : NULL;
    return a && a->length == ev->options->stream_count;
}

static loom_status *show(evaluation *ev, loom_node_id id, slot made) {
    loom_value *value;
    LOOM_TRY(value_out(ev, ev->program->nodes[id].type, made, &value));
    ev->options->observer->value(ev->options->observer->user, id, value);
    loom_value_unref(value);
    return NULL;
}

static loom_status *eval_node(evaluation *ev, loom_node_id id) {
    const loom_node *n = &ev->program->nodes[id];
    slot result = {.raw = {0}};
    uint32_t n_path = ev->n_path;
    loom_status *status = eval_op(ev, id, &result);
    if (ev->n_path > n_path) ev->path_in_stream = visits_stream(ev, n);
    if (status) return place_error(ev, n, status);
    if (heap_exhausted(&ev->heap)) return place_error(ev, n, heap_over(&ev->heap, 0));
    LOOM_TRY(check_effort(ev, n));
    ev->steps += (uint64_t)loom_op_table[n->op].steps;
    if (ev->any_last[id]) drop_last(ev, n);
    ev->env[id] = result;
    return ev->options->observer ? show(ev, id, result) : NULL;
}

loom_status *eval_body(evaluation *ev, loom_body_id body, slot *result) {
    const loom_body *b = &ev->program->bodies[body];
    const body_code *code = &ev->bodies[body];
    const loom_interp_observer *observer = ev->options->observer;
    if (observer) observer->enter(observer->user, body);
    for (uint32_t i = 0; i < code->n_nodes; i++) LOOM_TRY(eval_node(ev, code->nodes[i]));
    slot s = ev->env[b->result];
    const type_info *type = type_of(ev, b->result);
    if (type->is_object) {
        bool moves = b->result >= b->first || code->result_is_last;
        if (moves) {
            ev->env[b->result].object = NULL;
        } else {
            s.object->references++;
        }
    }
    for (uint32_t i = 0; i < code->n_objects; i++) {
        slot *o = &ev->env[code->objects[i]];
        object_unref(&ev->heap, o->object);
        o->object = NULL;
    }
    if (observer) observer->leave(observer->user, body);
    *result = s;
    return NULL;
}

loom_status *apply1(evaluation *ev, loom_body_id body, slot a, slot *result) {
    set_param(ev, body, 0, a);
    return eval_body(ev, body, result);
}

loom_status *apply2(evaluation *ev, loom_body_id body, slot a, slot b, slot *result) {
    const body_code *code = &ev->bodies[body];
    if (code->single == LOOM_PRIM_COUNT) {
        set_param(ev, body, 0, a);
        set_param(ev, body, 1, b);
        return eval_body(ev, body, result);
    }
    const loom_node *n = &ev->program->nodes[ev->program->bodies[body].result];
    slot made = {.raw = {0}};
    kernel *k = prim_kernel(code->single, operand_type(ev, n, 1)->dtype);
    k(1, made.raw, code->single_swaps ? b.raw : a.raw, code->single_swaps ? a.raw : b.raw, NULL);
    *result = made;
    ev->work += (uint64_t)loom_prim_table[code->single].work;
    return NULL;
}
