/* What the compiler makes of a program, stage by stage of the compiler, for people. */
#include "compiler/explain/explain.h"
#include "compiler/analysis/shapes.h"
#include "compiler/stage/stage.h"
#include "passes.h"
#include <stdlib.h>
#include <string.h>

const char *const loom_explain_stages =
    "nodes steps html ast core simplified stages shapes lifted fused schedule llvm plan";

typedef struct explainer {
    loom_arena *arena;
    const loom_explain_request *request;
    FILE *to;
    loom_program *staged;
    loom_graph *graph;
    char *target;
} explainer;

static loom_status *explain_ast(const loom_explain_request *r, loom_diagnostics *diagnostics, FILE *to) {
    for (size_t i = 0; i < r->n_files; i++) LOOM_TRY(loom_syntax_print_ast(&r->files[i], diagnostics, to));
    return NULL;
}

static void print_shapes(explainer *x, uint32_t slot) {
    const loom_graph_slot *s = &x->graph->slots[slot];
    for (uint32_t i = 0; i < s->n_leaves; i++) {
        const char *dot = *s->leaves[i].name ? "." : "";
        fprintf(x->to, "  %s%s%s: ", s->name, dot, s->leaves[i].name);
        for (uint32_t k = 0; k < s->leaves[i].depth; k++) fputs(s->stream && k == 0 ? "[chunk]" : "[?]", x->to);
        fprintf(x->to, "%s\n", loom_dtype_name(s->leaves[i].dtype));
    }
}

static void explain_shapes(explainer *x, const loom_graph_stage *stage) {
    for (uint32_t i = 0; i < stage->n_inputs; i++) print_shapes(x, stage->inputs[i]);
    for (uint32_t i = 0; i < stage->n_streams; i++) print_shapes(x, stage->streams[i]);
    for (uint32_t i = 0; i < stage->n_outputs; i++) print_shapes(x, stage->outputs[i].slot);
    loom_shapes_print(loom_shapes_analyse(x->arena, x->staged, stage->function), x->to);
}

static bool asks(const explainer *x, const char *stage) {
    return strcmp(x->request->stage, stage) == 0;
}

static void print_pass(const explainer *x, loom_pass last, const loom_lifted *lifted, loom_code_result *code) {
    if (last != LOOM_PASS_CODEGEN) {
        loom_lifted_print(lifted, x->to);
    } else if (asks(x, "llvm")) {
        fputs(code->llvm_text, x->to);
    } else {
        loom_plan_print(code->plan, x->to);
    }
    free(code->object);
    free(code->llvm_text);
}

static loom_status *explain_passes(explainer *x, uint32_t index) {
    loom_vectorise_request request = loom_lifting_request(x->arena, x->staged, x->graph, index, &x->request->sizes);
    request.force = x->request->force;
    loom_pass last = asks(x, "lifted")     ? LOOM_PASS_VECTORISE
                     : asks(x, "fused")    ? LOOM_PASS_FUSE
                     : asks(x, "schedule") ? LOOM_PASS_SCHEDULE
                                           : LOOM_PASS_CODEGEN;
    loom_lifted *lifted = NULL;
    const char *remark = NULL;
    loom_code_result code = {0};
    LOOM_TRY(
        loom_driver_passes(x->arena, &request, x->target, last, true, false, asks(x, "llvm"), &lifted, &remark, &code));
    if (!lifted) {
        fprintf(x->to, "remark: interpreted: %s\n", remark ? remark : "no reason given");
        return NULL;
    }
    print_pass(x, last, lifted, &code);
    loom_lifted *tested;
    loom_code_result other = {0};
    LOOM_TRY(loom_driver_tested(x->arena, &request, x->target, last, true, false, asks(x, "llvm"), lifted, &tested,
                                &remark, &other));
    if (remark) fprintf(x->to, "remark: %s\n", remark);
    if (!tested) return NULL;
    fputs("---- where a test finds rows of one length\n", x->to);
    print_pass(x, last, tested, &other);
    return NULL;
}

static loom_status *explain_stages(explainer *x) {
    if (asks(x, "stages")) {
        loom_graph_print(x->graph, x->to);
        loom_program_print(x->staged, x->to);
        return NULL;
    }
    for (uint32_t s = 0; s < x->graph->n_stages; s++) {
        const loom_graph_stage *stage = &x->graph->stages[s];
        fprintf(x->to, "---- stage %u: %s\n", s, stage->label ? stage->label : "");
        if (asks(x, "shapes")) {
            explain_shapes(x, stage);
        } else if (stage->kind == LOOM_STAGE_WHOLE) {
            fputs("remark: interpreted: the program could not be cut into stages\n", x->to);
        } else {
            LOOM_TRY(explain_passes(x, s));
        }
    }
    for (uint32_t i = 0; i < x->graph->n_remarks; i++) fprintf(x->to, "remark: %s\n", x->graph->remarks[i]);
    return NULL;
}

static loom_status *explain_nodes(explainer *x, const loom_program *program, const char *entry) {
    loom_account *account;
    LOOM_TRY(loom_account_make(x->arena, program, entry, &x->request->sizes, &account));
    loom_account_print(account, x->to);
    return NULL;
}

static loom_status *check_stage_name(const char *stage) {
    size_t length = strlen(stage);
    for (const char *at = loom_explain_stages; *at;) {
        size_t n = strcspn(at, " ");
        if (n == length && memcmp(at, stage, n) == 0) return NULL;
        at += n + (at[n] == ' ');
    }
    return loom_error(LOOM_E_USAGE, "no stage \"%s\": expected one of %s", stage, loom_explain_stages);
}

loom_status *loom_driver_explain(loom_arena *arena, const loom_explain_request *request, loom_diagnostics *diagnostics,
                                 FILE *to) {
    loom_explain_request r = *request;
    if (strcmp(r.stage, "simplify") == 0) r.stage = "simplified";
    LOOM_TRY(check_stage_name(r.stage));
    explainer x = {.arena = arena, .request = &r, .to = to};
    if (asks(&x, "ast")) return explain_ast(&r, diagnostics, to);
    loom_program *program, *simplified;
    LOOM_TRY(loom_syntax_compile(arena, r.files, r.n_files, diagnostics, &program));
    if (asks(&x, "core")) {
        loom_program_print(program, to);
        return NULL;
    }
    if (asks(&x, "simplified")) {
        LOOM_TRY(loom_simplify(arena, program, &simplified));
        loom_program_print(simplified, to);
        return NULL;
    }
    const loom_function *entry = loom_program_entry(program, r.entry);
    if (!entry) return loom_error(LOOM_E_USAGE, "the program has no entry %s", r.entry ? r.entry : "main");
    if (asks(&x, "nodes")) return explain_nodes(&x, program, entry->name);
    if (asks(&x, "steps")) return loom_steps_print(arena, program, entry->name, r.sizes.extent, to);
    if (asks(&x, "html")) return loom_account_page(arena, program, entry->name, &r.sizes, to);
    loom_value **none = LOOM_NEW_ARRAY(arena, loom_value *, (size_t)program->bodies[entry->body].n_params + 1);
    loom_stage_request split = {
        .program = program, .entry = entry->name, .arguments = none, .specialise = !(r.force & LOOM_FORCE_SYMBOLIC)};
    LOOM_TRY(loom_stage_split(arena, &split, &x.staged, &x.graph));
    x.target = r.target ? loom_arena_strdup(arena, r.target) : loom_driver_host();
    loom_status *status = explain_stages(&x);
    if (!r.target) free(x.target);
    return status;
}
