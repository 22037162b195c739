/* What the compile children are asked: the graph of a job, then each stage once its inputs are known, for a class of
 * segments and a target. And how workers are told of what came of it. */
#include "common/clock.h"
#include "common/log.h"
#include "daemon.h"
#include <inttypes.h>

/* A reply decoded: plan and object are copied out of it. */
#define REPLY_ARENA ((size_t)1 << 30)

/* ---- the graph ---- */

static loom_status *check_fits(const loom_job *job, const loom_graph *graph) {
    if (graph->n_params != job->n_arguments) {
        return loom_error(LOOM_E_USAGE, "the entry has %u parameters, %zu were given", graph->n_params,
                          job->n_arguments);
    }
    for (uint32_t i = 0; i < graph->n_params; i++) {
        bool stream = job->streams[i] != NULL;
        if (graph->slots[i].stream == stream) continue;
        return loom_error(LOOM_E_USAGE, "parameter %s is %sa stream, and was %sgiven as one", graph->slots[i].name,
                          stream ? "not " : "", stream ? "" : "not ");
    }
    return NULL;
}

static loom_status *take_graph(loom_job *job, const loom_compile_reply *reply) {
    loom_graph *graph;
    LOOM_TRY(loom_graph_decode(job->arena, reply->graph, reply->graph_length, &graph));
    LOOM_TRY(loom_graph_check(graph));
    LOOM_TRY(check_fits(job, graph));
    free(job->program); /* as it was submitted */
    job->program = loom_xmalloc(reply->program_length + 1);
    memcpy(job->program, reply->program, reply->program_length);
    job->program_length = reply->program_length;
    job->graph_bytes = loom_xmalloc(reply->graph_length + 1);
    memcpy(job->graph_bytes, reply->graph, reply->graph_length);
    job->graph_length = reply->graph_length;
    loom_held_object **slots = LOOM_NEW_ARRAY(job->arena, loom_held_object *, graph->n_slots + 1);
    memcpy(slots, job->slots, job->n_arguments * sizeof *slots);
    job->slots = slots;
    job->graph = graph;
    job->stages = loom_xcalloc(graph->n_stages + 1, sizeof *job->stages);
    for (uint32_t i = 0; i < graph->n_stages; i++) {
        job->stages[i] = (loom_job_stage){.job = job, .index = i, .graph = &graph->stages[i]};
    }
    loom_job_prepare_slots(job);
    for (uint32_t i = 0; i < graph->n_remarks; i++) loom_job_remark(job, graph->remarks[i]);
    for (uint32_t i = 0; i < reply->n_remarks; i++) loom_job_remark(job, reply->remarks[i]);
    return NULL;
}

/* ---- time ----
 *
 * Stages compile side by side: what a user waits for is the time in which at least one did. */

static void compile_begins(loom_job *job) {
    if (job->n_compiling++ == 0) job->compile_began = loom_seconds();
}

static void compile_ends(loom_job *job) {
    if (--job->n_compiling == 0) job->compile_seconds += loom_seconds() - job->compile_began;
}

/* Decodes a reply, whose own error becomes ours. */
static loom_status *open_reply(loom_arena *arena, const void *bytes, size_t length, loom_compile_reply **reply) {
    LOOM_TRY(loom_compile_reply_decode(arena, bytes, length, reply));
    loom_status *error = (*reply)->error;
    (*reply)->error = NULL;
    return error;
}

static void on_graph(void *user, loom_status *error, const void *bytes, size_t length) {
    loom_job *job = user;
    job->compiling = NULL;
    compile_ends(job);
    loom_arena *arena = loom_arena_create(REPLY_ARENA);
    loom_compile_reply *reply;
    if (!error) error = open_reply(arena, bytes, length, &reply);
    if (!error) error = take_graph(job, reply);
    loom_arena_destroy(arena);
    if (error) {
        loom_job_fail(job, error);
    } else {
        loom_job_advance(job);
    }
}

static bool has_scalars(const loom_value *value) {
    for (uint32_t i = 0; i < value->n_leaves; i++) {
        if (value->leaves[i].depth == 0) return true;
    }
    return false;
}

static void free_values(loom_value **values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) loom_value_unref(values[i]);
    free(values);
}

/* Values of `n` slots that a compiler can look at: small ones with a scalar in them; NULL for the others. Elements of
 * arrays are never compiled in, so that one plan serves whatever an array holds. */
static loom_status *small_values(loom_job *job, const uint32_t *slots, uint32_t n, loom_value ***values) {
    loom_value **found = loom_xcalloc(n + 1, sizeof *found);
    loom_status *status = NULL;
    for (uint32_t i = 0; i < n && !status; i++) {
        loom_held_object *object = job->slots[slots ? slots[i] : i];
        if (object) status = loom_held_object_small_value(object, &found[i]);
        if (!found[i] || has_scalars(found[i])) continue;
        loom_value_unref(found[i]);
        found[i] = NULL;
    }
    if (status) {
        free_values(found, n);
        return status;
    }
    *values = found;
    return NULL;
}

/* What every worker has: groups are batched so that any of them can take a lease. */
static uint64_t memory_of_workers(const loom_daemon *d) {
    uint64_t least = 0;
    for (size_t i = 0; i < d->workers.n; i++) {
        const loom_worker *w = d->workers.at[i];
        if (w->memory && (!least || w->memory < least)) least = w->memory;
    }
    return least;
}

/* Bytes of an element of a shape, whose irregular lists are taken to have `length` elements; -1 where there is no such
 * number to be had (0). */
static double shape_bytes(const Wire__StreamShape *shape, double length) {
    double bytes = 0;
    for (size_t k = 0; k < shape->n_leaves; k++) {
        const Wire__StreamLeaf *leaf = shape->leaves[k];
        if (leaf->constant) continue;
        double leaf_bytes = (double)loom_dtype_size((loom_dtype)leaf->dtype);
        for (size_t e = 1; e < leaf->n_extents; e++) {
            if (leaf->extents[e] < 0 && length <= 0) return -1;
            leaf_bytes *= leaf->extents[e] < 0 ? length : (double)leaf->extents[e];
        }
        bytes += leaf_bytes;
    }
    return bytes;
}

/* Of a list whose length is not known: what a stream's bytes are needed for is a choice of what costs less. */
#define GUESSED_LENGTH 64.0

static double stream_bytes(const Wire__Stream *stream) {
    double bytes = 0;
    for (size_t i = 0; i < stream->n_segments; i++) {
        const Wire__Segment *s = stream->segments[i];
        uint64_t end = i + 1 < stream->n_segments ? stream->segments[i + 1]->first : stream->n_elements;
        bytes += (double)(end - s->first) * shape_bytes(stream->shapes[s->shape], GUESSED_LENGTH);
    }
    return bytes;
}

/* What a traversal reads, up to the next power of two: it is compiled in, and code made for one observation is to serve
 * others of about its size. */
static uint64_t traversal_bytes(const loom_job *job) {
    double bytes = 0;
    for (size_t i = 0; i < job->n_arguments; i++)
        if (job->streams[i]) bytes += stream_bytes(job->streams[i]);
    uint64_t power = 1;
    while ((double)power < bytes && power < UINT64_MAX / 2) power *= 2;
    return power;
}

loom_status *loom_job_request_graph(loom_job *job) {
    uint32_t n = (uint32_t)job->n_arguments;
    loom_value **arguments;
    LOOM_TRY(small_values(job, NULL, n, &arguments));
    loom_compile_request request = {.what = LOOM_COMPILE_GRAPH,
                                    .program = job->program,
                                    .program_length = job->program_length,
                                    .entry = job->entry[0] ? job->entry : NULL,
                                    .n_arguments = n,
                                    .arguments = arguments,
                                    .cache = job->daemon->cache,
                                    .debug = job->debug,
                                    .force = job->force,
                                    .memory = memory_of_workers(job->daemon),
                                    .traversal = traversal_bytes(job)};
    char *bytes;
    size_t size;
    loom_status *status = loom_compile_request_encode(&request, &bytes, &size);
    free_values(arguments, n);
    if (status) return status;
    compile_begins(job);
    job->compiling = loom_compile_pool_submit(job->daemon->compilers, bytes, size, on_graph, job);
    return NULL;
}

/* ---- stages ---- */

static void take_plan(loom_job_plan *plan, const loom_compile_reply *reply) {
    plan->interpret = reply->interpret;
    if (reply->interpret) return;
    plan->plan = loom_xmalloc(reply->plan_length + 1);
    memcpy(plan->plan, reply->plan, reply->plan_length);
    plan->plan_length = reply->plan_length;
    plan->object = loom_xmalloc(reply->object_length + 1);
    memcpy(plan->object, reply->object, reply->object_length);
    plan->object_length = reply->object_length;
}

static void on_stage(void *user, loom_status *error, const void *bytes, size_t length) {
    loom_job_plan *plan = user;
    loom_job *job = plan->stage->job;
    plan->compiling = NULL;
    compile_ends(job);
    loom_arena *arena = loom_arena_create(REPLY_ARENA);
    loom_compile_reply *reply;
    if (!error) error = open_reply(arena, bytes, length, &reply);
    if (!error) {
        take_plan(plan, reply);
        for (uint32_t i = 0; i < reply->n_remarks; i++) loom_job_remark(job, reply->remarks[i]);
        if (reply->interpret && reply->n_remarks) plan->slow = loom_job_interprets(job, reply->remarks[0]);
    } else if (loom_compile_steps_down(error, job->debug)) {
        char *why = loom_status_text(error);
        char *remark = loom_xprintf("%s: interpreted, because it could not be compiled: %s",
                                    plan->stage->graph->label ? plan->stage->graph->label : "a stage", why);
        /* The client tells it; the log is for who runs the daemon. */
        loom_log(job->daemon->options.parent ? LOOM_LOG_INFO : LOOM_LOG_WARN, "job %" PRIu64 ": %s", job->id, remark);
        loom_job_warn(job, remark);
        free(remark);
        free(why);
        loom_status_free(error);
        error = NULL;
        plan->interpret = true;
    }
    loom_arena_destroy(arena);
    plan->ready = !error;
    if (error) loom_job_fail(job, error);
    loom_daemon_changed(job->daemon);
}

typedef struct shapes {
    loom_leaf_shape *at;
    uint32_t n, capacity;
} shapes;

static void add_shape(shapes *s, size_t depth, const int64_t *extents, bool constant) {
    if (s->n == s->capacity) {
        s->capacity = s->capacity ? 2 * s->capacity : 16;
        s->at = loom_xrealloc(s->at, s->capacity * sizeof *s->at);
    }
    s->at[s->n++] = (loom_leaf_shape){(uint32_t)depth, extents, constant};
}

/* A stream's leaf as the graph knows it, by name: sources may list them in another order. */
static loom_status *stream_shapes(shapes *s, const loom_graph_slot *slot, const Wire__StreamShape *shape) {
    for (uint32_t i = 0; i < slot->n_leaves; i++) {
        const Wire__StreamLeaf *found = NULL;
        for (size_t k = 0; k < shape->n_leaves; k++) {
            if (strcmp(shape->leaves[k]->name, slot->leaves[i].name) == 0) found = shape->leaves[k];
        }
        const char *dot = slot->leaves[i].name[0] ? "." : "";
        if (!found) {
            return loom_error(LOOM_E_DATA, "stream %s has no column %s%s%s", slot->name, slot->name, dot,
                              slot->leaves[i].name);
        }
        if (found->dtype != (uint32_t)slot->leaves[i].dtype) {
            return loom_error(LOOM_E_DATA, "column %s%s%s is of type %s, the program wants %s", slot->name, dot,
                              slot->leaves[i].name, loom_dtype_name((loom_dtype)found->dtype),
                              loom_dtype_name(slot->leaves[i].dtype));
        }
        size_t depth = found->n_extents + (found->constant ? 1 : 0);
        if (depth != slot->leaves[i].depth) {
            return loom_error(LOOM_E_DATA, "an element of column %s%s%s has %zu array levels, the program wants %u",
                              slot->name, dot, slot->leaves[i].name, depth - 1, slot->leaves[i].depth - 1);
        }
        add_shape(s, found->n_extents, found->extents, found->constant);
    }
    return NULL;
}

static loom_status *input_shapes(shapes *s, const loom_job *job, uint32_t slot) {
    const loom_held_object *object = job->slots[slot];
    const loom_graph_slot *g = &job->graph->slots[slot];
    if (object->value->n_leaves != g->n_leaves) {
        return loom_error(LOOM_E_DATA, "%s has %zu columns, the program wants %u", g->name, object->value->n_leaves,
                          g->n_leaves);
    }
    for (size_t i = 0; i < object->value->n_leaves; i++) {
        const Wire__Leaf *leaf = object->value->leaves[i];
        if (leaf->dtype != (uint32_t)g->leaves[i].dtype || leaf->n_extents != g->leaves[i].depth) {
            return loom_error(LOOM_E_DATA, "%s%s%s is a %s of %zu array levels, the program wants a %s of %u", g->name,
                              g->leaves[i].name[0] ? "." : "", g->leaves[i].name,
                              loom_dtype_name((loom_dtype)leaf->dtype), leaf->n_extents,
                              loom_dtype_name(g->leaves[i].dtype), g->leaves[i].depth);
        }
        add_shape(s, leaf->n_extents, leaf->extents, false);
    }
    return NULL;
}

static loom_status *all_shapes(shapes *s, const loom_job_stage *stage, uint32_t class) {
    const loom_job *job = stage->job;
    for (uint32_t i = 0; i < stage->graph->n_inputs; i++) LOOM_TRY(input_shapes(s, job, stage->graph->inputs[i]));
    if (!stage->blocks) return NULL;
    for (uint32_t i = 0; i < stage->graph->n_streams; i++) {
        const Wire__Stream *stream = stage->blocks->streams[i];
        uint32_t segment = stage->blocks->classes[class].segments[i];
        LOOM_TRY(stream_shapes(s, &job->graph->slots[stage->graph->streams[i]],
                               stream->shapes[stream->segments[segment]->shape]));
    }
    return NULL;
}

static void forget_varying(const loom_graph_stage *g, loom_value **values) {
    for (uint32_t i = 0; i < g->n_varying; i++) {
        loom_value_unref(values[g->varying[i]]);
        values[g->varying[i]] = NULL;
    }
}

/* An earlier turn of the loop has asked the same. */
static bool take_spare(loom_job_plan *plan) {
    loom_list *spare = &plan->stage->spare;
    for (size_t i = 0; i < spare->n; i++) {
        loom_job_plan *old = spare->at[i];
        if (!old->ready || memcmp(&old->request, &plan->request, sizeof old->request) != 0) continue;
        plan->interpret = old->interpret;
        plan->slow = old->slow;
        plan->plan = old->plan;
        plan->object = old->object;
        plan->plan_length = old->plan_length;
        plan->object_length = old->object_length;
        plan->ready = true;
        old->plan = old->object = NULL;
        loom_list_remove(spare, old);
        loom_plan_destroy(old);
        return true;
    }
    return false;
}

static loom_status *request_stage(loom_job_plan *plan) {
    loom_job_stage *stage = plan->stage;
    loom_job *job = stage->job;
    loom_value **values;
    LOOM_TRY(small_values(job, stage->graph->inputs, stage->graph->n_inputs, &values));
    shapes s = {0};
    loom_status *status = all_shapes(&s, stage, plan->class);
    forget_varying(stage->graph, values);
    loom_compile_request request = {.what = LOOM_COMPILE_STAGE,
                                    .program = job->program,
                                    .program_length = job->program_length,
                                    .n_arguments = stage->graph->n_inputs,
                                    .arguments = values,
                                    .graph = job->graph_bytes,
                                    .graph_length = job->graph_length,
                                    .stage = stage->index,
                                    .n_shapes = s.n,
                                    .shapes = s.at,
                                    .target = plan->target,
                                    .cache = job->daemon->cache,
                                    .debug = job->debug,
                                    .count_work = job->count_work,
                                    .force = job->force};
    char *bytes;
    size_t size;
    if (!status) status = loom_compile_request_encode(&request, &bytes, &size);
    free(s.at);
    free_values(values, stage->graph->n_inputs);
    if (status) return status;
    plan->request = loom_hash_bytes(bytes, size);
    if (take_spare(plan)) {
        free(bytes);
        return NULL;
    }
    compile_begins(job);
    plan->compiling = loom_compile_pool_submit(job->daemon->compilers, bytes, size, on_stage, plan);
    return NULL;
}

static loom_status *check_whole(const loom_job_stage *stage) {
    if (stage->graph->kind != LOOM_STAGE_WHOLE) return NULL;
    for (uint32_t i = 0; i < stage->graph->n_streams; i++) {
        const Wire__Stream *stream = stage->job->streams[stage->graph->streams[i]];
        for (size_t k = 0; k < stream->n_segments && stream->n_segments > 1; k++) {
            if (!stream->segments[k]->constants) continue;
            return loom_error(LOOM_E_LIMIT,
                              "%s has %zu segments with constant fields of their own, and the program is "
                              "interpreted as a whole, which takes one",
                              stage->job->graph->slots[stage->graph->streams[i]].name, stream->n_segments);
        }
    }
    return NULL;
}

/* A whole program is interpreted by definition, and so is a stage over an empty stream, whose shapes nobody knows. */
static bool never_compiled(const loom_job_stage *stage) {
    return stage->graph->kind == LOOM_STAGE_WHOLE || (stage->blocks && stage->blocks->n_classes == 0);
}

loom_job_plan *loom_plan_for(loom_job_stage *stage, uint32_t class, const loom_worker *worker) {
    for (size_t i = 0; i < stage->plans.n; i++) {
        loom_job_plan *plan = stage->plans.at[i];
        if (plan->class == class && strcmp(plan->target, worker->target) == 0) return plan->ready ? plan : NULL;
    }
    loom_job_plan *plan = loom_xcalloc(1, sizeof *plan);
    plan->run = loom_daemon_next_id(stage->job->daemon);
    plan->stage = stage;
    plan->class = class;
    plan->target = loom_xstrdup(worker->target);
    loom_list_add(&stage->plans, plan);
    loom_status *status = check_whole(stage);
    if (!status && never_compiled(stage)) {
        const loom_graph *graph = stage->job->graph;
        plan->ready = plan->interpret = true;
        if (stage->graph->kind == LOOM_STAGE_WHOLE && graph->n_remarks)
            plan->slow = loom_job_interprets(stage->job, graph->remarks[0]);
        return plan;
    }
    if (!status) status = request_stage(plan);
    if (status) loom_job_fail(stage->job, status);
    return plan->ready ? plan : NULL;
}

void loom_plan_stop(loom_job_plan *plan) {
    if (plan->compiling) compile_ends(plan->stage->job);
    loom_compile_pool_cancel(plan->compiling);
    plan->compiling = NULL;
}

void loom_plan_close(loom_job_plan *plan) {
    loom_daemon *d = plan->stage->job->daemon;
    Wire__CloseRun close = WIRE__CLOSE_RUN__INIT;
    close.job = plan->stage->job->id;
    close.run = plan->run;
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_CLOSE_RUN;
    message.close_run = &close;
    for (size_t i = 0; i < d->workers.n; i++) {
        loom_worker *w = d->workers.at[i];
        if (loom_list_remove(&w->open_runs, plan)) loom_daemon_send(d, &w->peer, &message);
    }
}

void loom_plan_destroy(loom_job_plan *plan) {
    loom_plan_stop(plan);
    free(plan->target);
    free(plan->plan);
    free(plan->object);
    free(plan);
}

/* ---- telling workers ---- */

static loom_status *open_job(loom_worker *w, loom_job *job) {
    for (size_t i = 0; i < w->open_jobs.n; i++) {
        if (w->open_jobs.at[i] == job) return NULL;
    }
    Wire__OpenStream *streams = loom_xcalloc(job->n_arguments + 1, sizeof *streams);
    Wire__OpenStream **list = loom_xcalloc(job->n_arguments + 1, sizeof *list);
    Wire__OpenJob open = WIRE__OPEN_JOB__INIT;
    open.job = job->id;
    open.serve = job->serve;
    open.streams = list;
    for (size_t i = 0; i < job->n_arguments; i++) {
        if (!job->streams[i]) continue;
        wire__open_stream__init(&streams[i]);
        streams[i].param = (uint32_t)i;
        streams[i].description = job->streams[i]->description;
        list[open.n_streams++] = &streams[i];
    }
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_OPEN_JOB;
    message.open_job = &open;
    loom_packet *packet = loom_packet_create(&message);
    loom_packet_add_copy(packet, job->program, job->program_length);
    loom_packet_add_copy(packet, job->graph_bytes, job->graph_length);
    loom_status *status = loom_daemon_send_packet(w->daemon, &w->peer, packet);
    free(streams);
    free(list);
    if (status) return loom_status_note(status, "in the description of the job's streams");
    loom_list_add(&w->open_jobs, job);
    return NULL;
}

/* Bytes of an element of all streams of a class, where no leaf is irregular. */
static double bytes_per_element(const loom_job_plan *plan) {
    const loom_job_stage *stage = plan->stage;
    double bytes = 0;
    if (!stage->blocks || !stage->blocks->n_classes) return 0;
    for (uint32_t i = 0; i < stage->graph->n_streams; i++) {
        const Wire__Stream *stream = stage->blocks->streams[i];
        uint32_t segment = stage->blocks->classes[plan->class].segments[i];
        double of_stream = shape_bytes(stream->shapes[stream->segments[segment]->shape], 0);
        if (of_stream < 0) return 0;
        bytes += of_stream;
    }
    return bytes;
}

/* A whole program pulls its streams to their ends: constants are had of streams that are one segment. */
static uint32_t segment_of(const loom_job_plan *plan, uint32_t stream) {
    const loom_job_stage *stage = plan->stage;
    return stage->blocks ? stage->blocks->classes[plan->class].segments[stream] : 0;
}

static void fill_streams(const loom_job_plan *plan, Wire__OpenRun *open) {
    const loom_job_stage *stage = plan->stage;
    uint32_t n = stage->graph->n_streams;
    if (stage->blocks && !stage->blocks->n_classes) return;
    open->segments = loom_xcalloc((size_t)n + 1, sizeof *open->segments);
    open->has_constants = loom_xcalloc((size_t)n + 1, sizeof *open->has_constants);
    open->n_segments = open->n_has_constants = n;
    for (uint32_t i = 0; i < n; i++) {
        const Wire__Stream *stream = stage->job->streams[stage->graph->streams[i]];
        open->segments[i] = segment_of(plan, i);
        open->has_constants[i] = stream->n_segments && stream->segments[open->segments[i]]->constants;
    }
    open->bytes_per_element = bytes_per_element(plan);
}

loom_status *loom_worker_open(loom_worker *w, loom_job_plan *plan) {
    for (size_t i = 0; i < w->open_runs.n; i++) {
        if (w->open_runs.at[i] == plan) return NULL;
    }
    loom_job_stage *stage = plan->stage;
    loom_job *job = stage->job;
    LOOM_TRY(open_job(w, job));
    uint32_t n = stage->graph->n_inputs;
    Wire__Object *objects = loom_xcalloc(n + 1, sizeof *objects);
    Wire__Object **list = loom_xcalloc(n + 1, sizeof *list);
    for (uint32_t i = 0; i < n; i++) {
        loom_held_object_wire(job->slots[stage->graph->inputs[i]], &objects[i]);
        list[i] = &objects[i];
    }
    Wire__OpenRun open = WIRE__OPEN_RUN__INIT;
    open.job = job->id;
    open.run = plan->run;
    open.stage = stage->index;
    open.interpret = plan->interpret;
    open.n_inputs = n;
    open.inputs = list;
    fill_streams(plan, &open);
    Wire__Message message = WIRE__MESSAGE__INIT;
    message.body_case = WIRE__MESSAGE__BODY_OPEN_RUN;
    message.open_run = &open;
    loom_packet *packet = loom_packet_create(&message);
    if (!plan->interpret) {
        loom_packet_add_copy(packet, plan->plan, plan->plan_length);
        loom_packet_add_copy(packet, plan->object, plan->object_length);
    }
    loom_status *status = loom_daemon_send_packet(w->daemon, &w->peer, packet);
    free(open.segments);
    free(open.has_constants);
    free(objects);
    free(list);
    if (status) return loom_status_note(status, "in the inputs of stage %u: they have too many columns", stage->index);
    loom_list_add(&w->open_runs, plan);
    return NULL;
}
