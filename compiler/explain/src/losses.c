#include "losses.h"

const char *const explain_regularities[] = {"avoided", "regular", "irregular"};

uint32_t explain_losses(loom_arena *arena, const loom_account *account, const loom_account_stage *stage,
                        explain_loss **losses) {
    uint32_t n_nodes = account->program->n_nodes, n = 0;
    explain_loss *of_shape = LOOM_NEW_ARRAY(arena, explain_loss, (size_t)n_nodes + 1);
    explain_loss *of_turns = LOOM_NEW_ARRAY(arena, explain_loss, (size_t)n_nodes + 1);
    explain_loss *all = LOOM_NEW_ARRAY(arena, explain_loss, 2 * (size_t)n_nodes + 1);
    for (uint32_t i = 0; i < stage->n_nodes; i++) {
        const loom_account_node *a = &stage->nodes[i];
        if (a->irregular) {
            of_shape[a->reason.node].reason = a->reason;
            of_shape[a->reason.node].values++;
        }
        if (a->differs) of_turns[a->node].reason = a->chooser;
    }
    for (loom_node_id id = 0; id < n_nodes; id++) {
        if (of_shape[id].reason.rule) all[n++] = of_shape[id];
        if (of_turns[id].reason.rule) all[n++] = of_turns[id];
    }
    for (uint32_t i = 0; i < n; i++) {
        bool stream = false;
        all[i].input = "";
        for (uint32_t k = 0; k < stage->n_parameters; k++) {
            if (stage->nodes[k].node != all[i].reason.node) continue;
            all[i].input = stage->parameters[k];
            stream = k >= stage->first_stream;
        }
        all[i].tested = stage->tested && all[i].values && (stream || !stage->untested);
    }
    *losses = all;
    return n;
}
