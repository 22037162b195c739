/* The entry: sets up an evaluation, converts arguments and result, and gives everything back. */
#include "common/buffer.h"
#include "eval.h"
#include <inttypes.h>
#include <string.h>

/* Tables by node, body and type, and plans of strips: at most a few hundred bytes a node. */
#define PREPARATION_BYTES(p) (((uint64_t)1 << 26) + 2048 * ((uint64_t)(p)->n_nodes + (p)->n_bodies + (p)->n_types))

/* The indices of the elements that an error came from, outermost first. */
static loom_status *note_path(const evaluation *ev, loom_status *status) {
    if (!status || ev->n_path == 0) return status;
    loom_buffer text = {0};
    uint32_t n = ev->path_in_stream ? ev->n_path - 1 : ev->n_path;
    for (uint32_t i = n; i-- > 0;) loom_buffer_printf(&text, "%s%" PRId64, text.length ? ", " : "", ev->path[i]);
    if (!ev->path_in_stream) {
        loom_status_note(status, "at element [%s] (outermost index first)", text.data);
    } else {
        loom_status_note(status, "at element %" PRId64 " of the stream", ev->options->stream_first + ev->path[n]);
        if (n > 0) loom_status_note(status, "there at element [%s] (outermost index first)", text.data);
    }
    loom_buffer_free(&text);
    return status;
}

static loom_status *run(evaluation *ev, const loom_function *f, loom_value *const *arguments, loom_value **result) {
    const loom_program *p = ev->program;
    const loom_body *body = &p->bodies[f->body];
    for (uint32_t i = 0; i < body->n_params; i++) {
        slot s;
        LOOM_TRY(value_in(ev, p->nodes[body->first + i].type, f->param_names[i], arguments[i], &s));
        set_param(ev, f->body, i, s);
    }
    slot made;
    loom_status *status = eval_body(ev, f->body, &made);
    if (status) return note_path(ev, status);
    return value_out(ev, p->nodes[body->result].type, made, result);
}

static loom_status *guarded(evaluation *ev, const loom_function *f, loom_value *const *arguments, loom_value **result) {
    jmp_buf guard;
    loom_arena_set_guard(ev->arena, &guard);
    if (setjmp(guard)) return loom_error(LOOM_E_LIMIT, "preparing the evaluation needs more memory than its budget");
    evaluation_prepare(ev);
    return run(ev, f, arguments, result);
}

loom_status *loom_interp_call(const loom_program *program, uint32_t f, loom_value *const *arguments,
                              const loom_interp_options *options, loom_value **result, loom_interp_counters *counters) {
    static const loom_interp_options defaults = {0};
    if (f >= program->n_functions) return loom_error(LOOM_E_INTERNAL, "function %" PRIu32 " does not exist", f);
    evaluation ev = {.program = program, .options = options ? options : &defaults};
    ev.work_limit = ev.options->work_limit ? ev.options->work_limit : ev.options->cancel ? UINT64_MAX : 0;
    ev.random = ev.options->random_split_seed;
    ev.arena = loom_arena_create(PREPARATION_BYTES(program));
    heap_init(&ev.heap, ev.options->memory_limit);
    loom_status *status = guarded(&ev, &program->functions[f], arguments, result);
    if (counters)
        *counters = (loom_interp_counters){
            ev.work + 2 * ev.counter_turns, ev.heap.moved, ev.heap.lists, ev.steps, ev.heap.peak, ev.windows};
    heap_free(&ev.heap);
    loom_arena_destroy(ev.scratch);
    loom_arena_destroy(ev.arena);
    return status;
}
