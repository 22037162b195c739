#include "clone.h"
#include <string.h>

static uint32_t inner_blocks(const loom_lexpr *e) {
    return e->kind == LOOM_LX_IF || e->kind == LOOM_LX_WHILE ? 2 : e->kind == LOOM_LX_FOR ? 1 : 0;
}

/* Which expressions of the block stand in blocks inside it. */
static bool *find_inner(const loom_clone *c, const loom_lblock *b) {
    bool *inner = LOOM_NEW_ARRAY(c->scratch, bool, (size_t)(b->end - b->first) + 1);
    for (loom_lexpr_id e = b->first; e < b->end; e++) {
        for (uint32_t k = 0; k < inner_blocks(&c->l->exprs[e]); k++) {
            const loom_lblock *x = &c->l->blocks[c->l->exprs[e].blocks[k]];
            for (loom_lexpr_id i = x->first; i < x->end; i++) inner[i - b->first] = true;
        }
    }
    return inner;
}

void loom_clone_block(const loom_clone *c, loom_lblock_id block, loom_lexpr_id *results) {
    loom_lifted *l = c->l;
    const loom_lblock b = l->blocks[block];
    const bool *inner = find_inner(c, &b);
    uint32_t n = b.end - b.first;
    loom_lexpr_id *map = LOOM_NEW_ARRAY(c->scratch, loom_lexpr_id, (size_t)n + 1);
    loom_lexpr_id *at =
        LOOM_NEW_ARRAY(c->scratch, loom_lexpr_id, (size_t)n + 1); /* where the copy stood when this one was reached */
    for (uint32_t i = 0; i < n; i++) {
        loom_lexpr e = l->exprs[b.first + i];
        loom_lexpr_id *args = LOOM_NEW_ARRAY(c->scratch, loom_lexpr_id, (size_t)e.n_args + 1);
        at[i] = l->n_exprs;
        for (uint32_t k = 0; k < e.n_args; k++) {
            loom_lexpr_id arg = loom_lifted_arg(l, &e, k);
            args[k] = arg >= b.first && arg < b.end ? map[arg - b.first] : arg;
        }
        for (uint32_t k = 0; k < inner_blocks(&e); k++) {
            const loom_lblock x = l->blocks[e.blocks[k]];
            loom_lexpr_id *inner_results = LOOM_NEW_ARRAY(c->scratch, loom_lexpr_id, (size_t)x.n_results + 1);
            for (uint32_t r = 0; r < x.n_results; r++) {
                bool own = x.results[r] >= b.first && x.results[r] < b.end;
                inner_results[r] = own ? map[x.results[r] - b.first] : x.results[r];
            }
            loom_lblock_id copy =
                loom_lifted_block(l, at[x.first - b.first], x.n_params, x.params, x.n_results, inner_results);
            l->blocks[copy].end = x.end - b.first < i ? at[x.end - b.first] : at[i];
            e.blocks[k] = copy;
        }
        if (e.kind == LOOM_LX_PARAM && !inner[i] && c->params) {
            map[i] = c->params[e.aux];
        } else {
            map[i] = c->replace ? c->replace(c->context, b.first + i, e, args, e.n_args)
                                : loom_lifted_expr(l, e, args, e.n_args);
        }
    }
    for (uint32_t r = 0; r < b.n_results; r++) {
        bool own = b.results[r] >= b.first && b.results[r] < b.end;
        results[r] = own ? map[b.results[r] - b.first] : b.results[r];
    }
}
