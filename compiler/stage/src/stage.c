/* The passes from a submitted program to its stages, in order. */
#include "compiler/stage/stage.h"
#include "normalise.h"
#include "simplify.h"
#include "split.h"

static loom_status *find_entry(const loom_program *p, const char *name, uint32_t *index) {
    const loom_function *f = loom_program_entry(p, name);
    if (!f) {
        if (name) return loom_error(LOOM_E_DATA, "the program has no entry named %s", name);
        return loom_status_note(loom_error(LOOM_E_DATA, "the program has no entry, or several and none named main"),
                                "hint: name one with --entry");
    }
    *index = (uint32_t)(f - p->functions);
    return NULL;
}

/* What cannot be cut is interpreted by one worker, in a form that it knows: without spills, which are for stages. */
static loom_status *whole(loom_arena *arena, const loom_stage_request *q, uint32_t entry, const char *remark,
                          loom_program **staged, loom_graph **graph) {
    const char *none = NULL;
    loom_program *simple = NULL, *normal = NULL;
    loom_notes notes = {0};
    LOOM_TRY(loom_simplify_function(arena, q->program, entry, q->specialise ? q->arguments : NULL, &simple));
    LOOM_TRY(loom_normalise(arena, simple, q->memory, 0, &normal, &none, &notes));
    if (normal) LOOM_TRY(loom_simplify_function(arena, normal, 0, NULL, &simple));
    return loom_split_whole(arena, simple, 0, remark, staged, graph);
}

static loom_status *passes(loom_arena *arena, const loom_stage_request *q, loom_program **staged, loom_graph **graph) {
    uint32_t entry = 0;
    const char *remark = NULL;
    loom_program *simple = NULL, *normal = NULL;
    loom_notes notes = {0};
    LOOM_TRY(find_entry(q->program, q->entry, &entry));
    LOOM_TRY(loom_simplify_function(arena, q->program, entry, q->specialise ? q->arguments : NULL, &simple));
    LOOM_TRY(loom_normalise(arena, simple, q->memory, q->traversal, &normal, &remark, &notes));
    if (!normal) return loom_split_whole(arena, simple, 0, remark, staged, graph);
    LOOM_TRY(loom_simplify_function(arena, normal, 0, NULL, &simple));
    LOOM_TRY(loom_split(arena, simple, staged, graph, &remark));
    if (!*staged) return whole(arena, q, entry, remark, staged, graph);
    (*graph)->n_remarks = notes.n;
    (*graph)->remarks = notes.at;
    return NULL;
}

loom_status *loom_stage_split(loom_arena *arena, const loom_stage_request *request, loom_program **staged,
                              loom_graph **graph) {
    jmp_buf guard;
    jmp_buf *before = loom_arena_set_guard(arena, &guard);
    if (setjmp(guard)) {
        loom_arena_set_guard(arena, before);
        return loom_error(LOOM_E_LIMIT, "the program grows beyond the compiler's memory when its calls are expanded");
    }
    loom_status *status = passes(arena, request, staged, graph);
    loom_arena_set_guard(arena, before);
    return status;
}

loom_status *loom_simplify_one(loom_arena *arena, const loom_program *program, uint32_t f, loom_program **simplified) {
    return loom_simplify_function(arena, program, f, NULL, simplified);
}

loom_status *loom_simplify(loom_arena *arena, const loom_program *program, loom_program **simplified) {
    uint32_t entry = 0;
    const loom_function *f = loom_program_entry(program, NULL);
    for (uint32_t i = 0; !f && i < program->n_functions; i++)
        if (program->functions[i].entry) f = &program->functions[i];
    if (!f) return loom_error(LOOM_E_DATA, "the program has no entry");
    entry = (uint32_t)(f - program->functions);
    return loom_simplify_function(arena, program, entry, NULL, simplified);
}
