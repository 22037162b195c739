/* One request, one reply. */
#include "cache.h"
#include "common/clock.h"
#include "compiler/stage/stage.h"
#include "passes.h"
#include <stdlib.h>
#include <string.h>

/* ---- GRAPH: program -> staged program and graph ---- */

static loom_status *compile_graph(loom_arena *arena, const loom_compile_request *r, loom_compile_reply *reply) {
    loom_program *program, *staged;
    loom_graph *graph;
    LOOM_TRY(loom_program_decode(arena, r->program, r->program_length, &program));
    const loom_function *entry = loom_program_entry(program, r->entry);
    if (!entry) return loom_error(LOOM_E_USAGE, "the program has no entry %s", r->entry ? r->entry : "main");
    uint32_t n_params = program->bodies[entry->body].n_params;
    if (r->n_arguments && r->n_arguments != n_params) {
        return loom_error(LOOM_E_DATA, "compile request: %u arguments, expected %u", r->n_arguments, n_params);
    }
    loom_value **none = LOOM_NEW_ARRAY(arena, loom_value *, (size_t)n_params + 1);
    loom_stage_request request = {.program = program,
                                  .entry = entry->name,
                                  .arguments = r->n_arguments ? r->arguments : none,
                                  .specialise = !(r->force & LOOM_FORCE_SYMBOLIC),
                                  .memory = r->memory,
                                  .traversal = r->traversal};
    LOOM_TRY(loom_stage_split(arena, &request, &staged, &graph));
    LOOM_TRY(loom_program_check(staged));
    char *bytes;
    size_t length;
    LOOM_TRY(loom_program_encode(staged, &bytes, &length));
    reply->program = memcpy(loom_arena_alloc(arena, length + 1), bytes, length);
    reply->program_length = length;
    free(bytes);
    LOOM_TRY(loom_graph_encode(graph, &bytes, &length));
    reply->graph = memcpy(loom_arena_alloc(arena, length + 1), bytes, length);
    reply->graph_length = length;
    free(bytes);
    reply->remarks = graph->remarks;
    reply->n_remarks = graph->n_remarks;
    return NULL;
}

/* ---- STAGE: staged program + shapes -> plan and object ---- */

typedef struct stage_input {
    loom_program *program;
    loom_graph *graph;
    const loom_graph_stage *stage;
} stage_input;

static loom_status *decode_stage(loom_arena *arena, const loom_compile_request *r, stage_input *in) {
    LOOM_TRY(loom_program_decode(arena, r->program, r->program_length, &in->program));
    LOOM_TRY(loom_graph_decode(arena, r->graph, r->graph_length, &in->graph));
    if (r->stage >= in->graph->n_stages) return loom_error(LOOM_E_DATA, "compile request: no stage %u", r->stage);
    in->stage = &in->graph->stages[r->stage];
    if (in->stage->function >= in->program->n_functions)
        return loom_error(LOOM_E_DATA, "compile request: no such function");
    uint32_t leaves = 0;
    for (uint32_t i = 0; i < in->stage->n_inputs; i++) leaves += in->graph->slots[in->stage->inputs[i]].n_leaves;
    for (uint32_t i = 0; i < in->stage->n_streams; i++) leaves += in->graph->slots[in->stage->streams[i]].n_leaves;
    if (r->n_shapes != leaves)
        return loom_error(LOOM_E_DATA, "compile request: shapes of %u leaves, expected %u", r->n_shapes, leaves);
    if (r->n_arguments && r->n_arguments != in->stage->n_inputs) {
        return loom_error(LOOM_E_DATA, "compile request: %u inputs, expected %u", r->n_arguments, in->stage->n_inputs);
    }
    if (!r->target) return loom_error(LOOM_E_DATA, "compile request: no target");
    return NULL;
}

/* Everything that determines the reply: the request in canonical form without the folder of the cache (program, shapes,
 * values, target and features), this compiler with its passes, its scalar functions and its flags for floats, and LLVM,
 * which is a library of its own. Both the program and the graph have been decoded, so their bytes are the canonical
 * ones. False where one of these cannot be told: then nothing is looked up or stored. */
static bool cache_key(const loom_compile_request *r, loom_hash *hash) {
    loom_compile_request key = *r;
    key.cache = NULL;
    char *bytes = NULL;
    size_t length = 0;
    loom_hash version;
    loom_status *status = loom_compile_request_encode(&key, &bytes, &length);
    if (!status) status = loom_cache_version(&version);
    if (!status) {
        char *llvm = loom_driver_llvm();
        loom_hasher *hasher = loom_hasher_create();
        loom_hasher_add(hasher, &version, sizeof version);
        loom_hasher_add(hasher, llvm, strlen(llvm) + 1);
        loom_hasher_add(hasher, bytes, length);
        *hash = loom_hasher_end(hasher);
        free(llvm);
    }
    free(bytes);
    bool known = !status;
    loom_status_free(status);
    return known;
}

static void say(loom_arena *arena, const stage_input *in, const char *what, const char *why,
                loom_compile_reply *reply) {
    const char **remarks = LOOM_NEW_ARRAY(arena, const char *, 1);
    remarks[0] = loom_arena_printf(arena, "%s: %s%s", in->stage->label ? in->stage->label : "a stage", what, why);
    reply->remarks = remarks;
    reply->n_remarks = 1;
}

static void interpret(loom_arena *arena, const stage_input *in, const char *why, loom_compile_reply *reply) {
    say(arena, in, "interpreted: ", why ? why : "no reason given", reply);
    reply->interpret = true;
}

/* Encoded into the arena. */
static loom_status *encode_plan(loom_arena *arena, const loom_plan *plan, const void **to, size_t *length) {
    char *bytes;
    LOOM_TRY(loom_plan_encode(plan, &bytes, length));
    *to = memcpy(loom_arena_alloc(arena, *length + 1), bytes, *length);
    free(bytes);
    return NULL;
}

static loom_status *compile_tested(loom_arena *arena, const loom_compile_request *r,
                                   const loom_vectorise_request *request, const loom_lifted *lifted, loom_plan *plan,
                                   const char **remark) {
    loom_lifted *tested;
    loom_code_result code = {0};
    LOOM_TRY(loom_driver_tested(arena, request, r->target, LOOM_PASS_CODEGEN, r->debug, r->count_work, false, lifted,
                                &tested, remark, &code));
    if (!tested) return NULL;
    loom_status *status = encode_plan(arena, code.plan, &plan->tested, &plan->tested_length);
    plan->tested_object = memcpy(loom_arena_alloc(arena, code.object_length + 1), code.object, code.object_length);
    plan->tested_object_length = code.object_length;
    free(code.object);
    return status;
}

/* Gives the plan another one for rows that a test finds to be of one length, where there is something to be had. The
 * plan does without where that one is too much for the compiler. */
static loom_status *add_tested(loom_arena *arena, const loom_compile_request *r, const loom_vectorise_request *request,
                               const loom_lifted *lifted, loom_plan *plan, const char **remark) {
    loom_status *status = compile_tested(arena, r, request, lifted, plan, remark);
    if (!loom_compile_steps_down(status, r->debug)) return status;
    char *text = loom_status_text(status);
    *remark = loom_arena_printf(arena, "rows are not tested: %s", text);
    free(text);
    loom_status_free(status);
    plan->tested = plan->tested_object = NULL;
    plan->tested_length = plan->tested_object_length = 0;
    return NULL;
}

/* True in *lasting for what another try would give again: an object, or a stage that is not regular. A compiler that
 * ran into a limit or a defect is asked anew the next time. */
static loom_status *make_stage(loom_arena *arena, const loom_compile_request *r, const stage_input *in,
                               loom_compile_reply *reply, bool *lasting) {
    loom_vectorise_request request = {.program = in->program,
                                      .graph = in->graph,
                                      .stage = r->stage,
                                      .shapes = r->shapes,
                                      .n_shapes = r->n_shapes,
                                      .force = r->force};
    loom_value **none = LOOM_NEW_ARRAY(arena, loom_value *, (size_t)in->stage->n_inputs + 1);
    request.known = r->n_arguments ? r->arguments : none;
    loom_lifted *lifted = NULL;
    const char *remark = NULL;
    loom_code_result code = {0};
    loom_status *status = loom_driver_passes(arena, &request, r->target, LOOM_PASS_CODEGEN, r->debug, r->count_work,
                                             false, &lifted, &remark, &code);
    if (!status && lifted) {
        const char *untested = NULL;
        status = add_tested(arena, r, &request, lifted, code.plan, &untested);
        if (!status) status = encode_plan(arena, code.plan, &reply->plan, &reply->plan_length);
        if (!status && untested) say(arena, in, "", untested, reply);
        reply->object = memcpy(loom_arena_alloc(arena, code.object_length + 1), code.object, code.object_length);
        reply->object_length = code.object_length;
        free(code.object);
    }
    *lasting = !status;
    if (loom_compile_steps_down(status, r->debug)) {
        char *text = loom_status_text(status);
        remark = loom_arena_strdup(arena, text);
        free(text);
        loom_status_free(status);
        status = NULL;
        lifted = NULL;
    }
    if (!status && !lifted) interpret(arena, in, remark, reply);
    return status;
}

/* `cache` is where the caller finds an entry that is locked, also when memory ran out on the way. */
static loom_status *compile_stage(loom_arena *arena, const loom_compile_request *r, loom_compile_reply *reply,
                                  loom_cache **cache) {
    stage_input in;
    LOOM_TRY(decode_stage(arena, r, &in));
    if (in.stage->kind == LOOM_STAGE_WHOLE) {
        interpret(arena, &in, "the program could not be cut into stages", reply);
        return NULL;
    }
    loom_hash key;
    if (r->cache && cache_key(r, &key)) *cache = loom_cache_open(r->cache, key);
    loom_compile_reply *found;
    if (*cache && loom_cache_get(*cache, arena, &found)) {
        *reply = *found;
        reply->cached = true;
        return NULL;
    }
    bool lasting = false;
    loom_status *status = make_stage(arena, r, &in, reply, &lasting);
    if (!status && lasting && *cache) loom_cache_put(*cache, reply);
    return status;
}

typedef struct compiling {
    loom_arena *arena;
    const loom_compile_request *request;
    loom_compile_reply *reply;
    loom_cache *cache;
} compiling;

static loom_status *compile(void *context) {
    compiling *c = context;
    return c->request->what == LOOM_COMPILE_GRAPH ? compile_graph(c->arena, c->request, c->reply)
                                                  : compile_stage(c->arena, c->request, c->reply, &c->cache);
}

void loom_driver_compile(loom_arena *arena, const loom_compile_request *request, loom_compile_reply *reply) {
    double start = loom_seconds();
    *reply = (loom_compile_reply){.error = NULL};
    compiling c = {arena, request, reply, NULL};
    loom_status *status = loom_arena_guarded(arena, compile, &c, LOOM_COMPILE_EXHAUSTED);
    loom_cache_close(c.cache);
    if (status) *reply = (loom_compile_reply){.error = status};
    reply->seconds = loom_seconds() - start;
}
