/* Rules of shape and regularity analysis, one per operation.
 *
 * LOOPS. The state is iterated: join the state with what a turn makes of it, until neither shapes nor dependences
 * change, nor the value of a scalar, which may become an extent. A level or value whose descriptor changed on any turn
 * is a fresh label from then on ([While-Shape] holds for the others). Only then the test is judged, with the state as
 * it is after any number of turns: a test that depends on an element on some later turn is not uniform, and all that
 * the loop changes depends on the element too. (The published [While-Indep] looks one turn ahead and types the body
 * with the initial shapes; both are unsound.)
 *
 * Worked example:  map (\r -> loop x = r while x[0] < 10 do map (+ 1) x) a
 * r: elements {0}. Turn: the shape of x is kept (the same descriptor), elements {0}. Test: depends on level 0, so the
 * loop is not uniform; x keeps its extent, so the result is regular. With x ++ x in the body the extent would be a
 * label that depends on level 0: irregular.
 */
#include "shapes.h"
#include "compiler/ir/foreign.h"

static void run_body(loom_shapes *s, const loom_body *b, const aval *args, aframe *up, aval *result);

static aval *slot(aframe *f, loom_node_id n) {
    while (n < f->first || n >= f->end) f = f->up;
    return &f->vals[n - f->first];
}

static aval operand(loom_shapes *s, aframe *f, const loom_node *n, uint32_t i) {
    return *slot(f, loom_operand(s->p, n, i));
}

static desc_id node_desc(loom_shapes *s, loom_node_id id) {
    return shapes_desc(s, DESC_NODE, (int64_t)id, s->record ? 0 : (int64_t)s->steps, 0);
}

static aval scalar(loom_shapes *s, loom_dtype t, uint64_t elements, desc_id value) {
    aleaf *x = LOOM_NEW(s->arena, aleaf);
    *x = (aleaf){.dtype = t, .elements = elements, .value = value};
    return (aval){1, x};
}

/* The outermost level that several arrays share. */
static dim first_dim(loom_shapes *s, const aval *x) {
    if (x->n == 0 || x->at[0].depth == 0) return (dim){.desc = shapes_label(s)};
    return x->at[0].dims[0];
}

static dim extent_of(const aval *count) {
    return (dim){.desc = count->at[0].value, .levels = count->at[0].elements};
}

/* ---- bodies under a map ---- */

static aval mapped(loom_shapes *s, aframe *f, const loom_node *n, loom_node_id id, uint32_t n_args) {
    const loom_body *b = loom_node_body(s->p, n, 0);
    uint64_t level = shapes_level(s->depth);
    desc_id token = shapes_desc(s, DESC_TOKEN, (int64_t)id, (int64_t)s->steps, 0);
    aval *args = LOOM_NEW_ARRAY(s->arena, aval, (size_t)n_args + 1), x, first = operand(s, f, n, 0);
    for (uint32_t i = 0; i < n_args; i++) {
        aval y = operand(s, f, n, i);
        args[i] = shapes_bind(s, &y, token, level);
    }
    s->depth++;
    run_body(s, b, args, f, &x);
    s->depth--;
    return shapes_unbind(s, &x, token, level, first_dim(s, &first));
}

static aval generated(loom_shapes *s, aframe *f, const loom_node *n) {
    const loom_body *b = loom_node_body(s->p, n, 0);
    uint32_t k = n->n_operands, depth = s->depth;
    aval args[LOOM_MAX_DEPTH], x;
    desc_id tokens[LOOM_MAX_DEPTH];
    dim outer[LOOM_MAX_DEPTH];
    for (uint32_t i = 0; i < k; i++) {
        aval count = operand(s, f, n, i);
        outer[i] = extent_of(&count);
        tokens[i] = shapes_desc(s, DESC_TOKEN, (int64_t)b->first + i, (int64_t)s->steps, 1);
        args[i] = scalar(s, LOOM_I64, shapes_level(depth + i), tokens[i]);
    }
    s->depth += k;
    run_body(s, b, args, f, &x);
    s->depth = depth;
    for (uint32_t i = k; i > 0; i--) x = shapes_unbind(s, &x, tokens[i - 1], shapes_level(depth + i - 1), outer[i - 1]);
    return x;
}

/* ---- loops and folds: fixed points ---- */

typedef struct turning {
    aframe *frame;
    const loom_body *body;
    const aval *extra; /* an argument beside the state, or NULL */
    bool state_first;
} turning;

static aval one_turn(loom_shapes *s, const turning *t, const aval *state) {
    aval args[2], x;
    uint32_t n = 0;
    if (t->extra && !t->state_first) args[n++] = *t->extra;
    args[n++] = *state;
    if (t->extra && t->state_first) args[n++] = *t->extra;
    run_body(s, t->body, args, t->frame, &x);
    return x;
}

/* Is what a turn may have changed a label already, so that nothing is claimed of it? One that was there before the
 * iteration began, which is descriptor `since`, may be that of another value too: equality with it would be claimed. */
static bool stays_or_label(const loom_shapes *s, desc_id before, desc_id after, desc_id since) {
    return before == after || (before >= since && shapes_is_label(s, before));
}

/* The state after any number of turns. */
static aval fixed_point(loom_shapes *s, const turning *t, aval state, uint64_t chooser) {
    desc_id since = shapes_label(s);
    for (;;) {
        aval next = one_turn(s, t, &state), joined = shapes_join(s, &state, &next, chooser);
        bool labels = true;
        for (uint32_t i = 0; i < state.n; i++) {
            const aleaf *before = &state.at[i], *after = &joined.at[i];
            if (!before->depth) labels = labels && stays_or_label(s, before->value, after->value, since);
            for (uint32_t k = 0; k < before->depth; k++) {
                labels = labels && stays_or_label(s, before->dims[k].desc, after->dims[k].desc, since);
            }
        }
        bool settled = labels && shapes_same(&state, &joined);
        if (!settled || s->steps > s->max_steps) state = joined;
        if (settled || s->steps > s->max_steps) return state;
    }
}

/* A loop's count is chosen by `chooser`: what a turn changes depends on it. */
static aval changed_by(loom_shapes *s, const aval *initial, const aval *state, uint64_t chooser) {
    aval y;
    aleaf *at = shapes_copy(s, state, &y);
    for (uint32_t i = 0; i < y.n; i++) {
        at[i].elements |= chooser;
        if (!at[i].depth) continue;
        dim *d = shapes_dims(s, &at[i]);
        for (uint32_t k = 0; k < at[i].depth; k++) {
            if (d[k].desc != initial->at[i].dims[k].desc) d[k].levels |= chooser;
        }
    }
    return y;
}

static aval loop_for(loom_shapes *s, aframe *f, const loom_node *n, loom_node_id id) {
    aval count = operand(s, f, n, 0), initial = operand(s, f, n, 1);
    aval index = scalar(s, LOOM_I64, 0, shapes_label(s));
    turning t = {f, loom_node_body(s->p, n, 0), &index, false};
    uint64_t chooser = count.at[0].elements;
    aval state = fixed_point(s, &t, initial, 0);
    if (s->record) s->differs[id] = chooser != 0;
    return changed_by(s, &initial, &state, chooser);
}

static aval loop_while(loom_shapes *s, aframe *f, const loom_node *n, loom_node_id id) {
    aval initial = operand(s, f, n, 0), test;
    turning t = {f, loom_node_body(s->p, n, 1), NULL, false};
    aval state = fixed_point(s, &t, initial, 0);
    run_body(s, loom_node_body(s->p, n, 0), &state, f, &test);
    uint64_t chooser = test.at[0].elements;
    if (s->record) s->differs[id] = chooser != 0;
    if (!chooser) return state;
    /* Elements stop at different turns, so states differ between them, and so may the test's inputs: once more. */
    aval changed = changed_by(s, &initial, &state, chooser);
    state = fixed_point(s, &t, changed, chooser);
    run_body(s, loom_node_body(s->p, n, 0), &state, f, &test);
    return changed_by(s, &initial, &state, chooser | test.at[0].elements);
}

/* An element of an array, no matter which. */
static aval some_element(loom_shapes *s, const aval *x) {
    aval y;
    aleaf *at = shapes_copy(s, x, &y);
    for (uint32_t i = 0; i < y.n; i++) {
        if (!at[i].depth) continue;
        dim *d = shapes_dims(s, &at[i]);
        for (uint32_t k = 1; k < at[i].depth; k++) {
            if (d[k].own & 1) d[k].desc = shapes_label(s);
            d[k].own >>= 1;
        }
        uint64_t length = d[0].levels;
        at[i].elements |= length;
        at[i].dims++;
        at[i].depth--;
        at[i].value = shapes_label(s);
    }
    return y;
}

static aval folded(loom_shapes *s, aframe *f, const loom_node *n, aval start, const aval *array, uint32_t body) {
    aval x = some_element(s, array);
    turning t = {f, loom_node_body(s->p, n, body), &x, true};
    aval state = fixed_point(s, &t, start, 0);
    uint64_t length = first_dim(s, array).levels;
    return changed_by(s, &start, &state, length);
}

static aval scanned(loom_shapes *s, aframe *f, const loom_node *n) {
    aval start = operand(s, f, n, 0), array = operand(s, f, n, 1), y;
    aval state = folded(s, f, n, start, &array, 0);
    aleaf *at = shapes_copy(s, &state, &y);
    for (uint32_t i = 0; i < y.n; i++) {
        dim *d = LOOM_NEW_ARRAY(s->arena, dim, (size_t)at[i].depth + 2);
        d[0] = first_dim(s, &array);
        for (uint32_t k = 0; k < at[i].depth; k++) {
            d[k + 1] = at[i].dims[k];
            d[k + 1].own <<= 1;
            if (d[k + 1].desc != start.at[i].dims[k].desc) d[k + 1].own |= 1;
        }
        at[i].dims = d;
        at[i].depth++;
    }
    if (n->op != LOOM_OP_SCAN || n->aux != LOOM_SCAN_TOTAL) return y;
    aleaf *both = LOOM_NEW_ARRAY(s->arena, aleaf, 2 * (size_t)y.n + 1);
    memcpy(both, y.at, y.n * sizeof *both);
    memcpy(both + y.n, state.at, y.n * sizeof *both);
    return (aval){2 * y.n, both};
}

/* ---- conditionals ---- */

static aval chosen(loom_shapes *s, aframe *f, const loom_node *n, loom_node_id id) {
    aval condition = operand(s, f, n, 0), a, b;
    uint64_t chooser = condition.at[0].elements;
    run_body(s, loom_node_body(s->p, n, 0), NULL, f, &a);
    run_body(s, loom_node_body(s->p, n, 1), NULL, f, &b);
    if (s->record) s->differs[id] = chooser != 0;
    return shapes_join(s, &a, &b, chooser);
}

/* ---- arrays ---- */

/* The outermost level replaced, inner levels that depend on it unknown but still dependent. */
static aval reshaped(loom_shapes *s, const aval *x, dim outer) {
    aval y;
    aleaf *at = shapes_copy(s, x, &y);
    for (uint32_t i = 0; i < y.n; i++) {
        dim *d = shapes_dims(s, &at[i]);
        d[0] = outer;
        for (uint32_t k = 1; k < at[i].depth; k++) {
            if (d[k].own & 1) d[k].desc = shapes_label(s);
        }
    }
    return y;
}

static uint64_t scalars_of(loom_shapes *s, aframe *f, const loom_node *n, uint32_t from) {
    uint64_t all = 0;
    for (uint32_t i = from; i < n->n_operands; i++) {
        aval x = operand(s, f, n, i);
        all |= shapes_all(&x);
    }
    return all;
}

static aval indexed(loom_shapes *s, aframe *f, const loom_node *n) {
    aval x = operand(s, f, n, 0);
    for (uint32_t i = 1; i < n->n_operands; i++) {
        aval index = operand(s, f, n, i);
        x = shapes_bind(s, &x, index.at[0].value, index.at[0].elements);
    }
    return x;
}

static aval literal(loom_shapes *s, aframe *f, const loom_node *n) {
    aval row = operand(s, f, n, 0), y;
    bool same = true;
    for (uint32_t i = 1; i < n->n_operands; i++) {
        aval x = operand(s, f, n, i), joined = shapes_join(s, &row, &x, 0);
        for (uint32_t k = 0; k < row.n; k++) {
            for (uint32_t j = 0; j < row.at[k].depth; j++)
                same = same && row.at[k].dims[j].desc == x.at[k].dims[j].desc;
        }
        row = joined;
    }
    aleaf *at = shapes_copy(s, &row, &y);
    for (uint32_t i = 0; i < y.n; i++) {
        dim *d = LOOM_NEW_ARRAY(s->arena, dim, (size_t)at[i].depth + 2);
        d[0] = (dim){.desc = shapes_desc(s, DESC_CONST, n->n_operands, 0, 0)};
        for (uint32_t k = 0; k < at[i].depth; k++) {
            d[k + 1] = at[i].dims[k];
            d[k + 1].own = d[k + 1].own << 1 | (same ? 0 : 1);
        }
        at[i].dims = d;
        at[i].depth++;
    }
    return y;
}

static aval concatenated(loom_shapes *s, aframe *f, const loom_node *n, loom_node_id id) {
    aval x = operand(s, f, n, 0);
    uint64_t length = 0;
    for (uint32_t i = 0; i < n->n_operands; i++) {
        aval y = operand(s, f, n, i), tail_x = reshaped(s, &x, (dim){0}), tail_y = reshaped(s, &y, (dim){0});
        length |= first_dim(s, &y).levels;
        aval joined = shapes_join(s, &tail_x, &tail_y, 0);
        aleaf *at = shapes_copy(s, &joined, &x);
        for (uint32_t k = 0; k < x.n; k++) {
            dim *d = shapes_dims(s, &at[k]);
            for (uint32_t j = 1; j < at[k].depth; j++) {
                if (d[j].desc != tail_x.at[k].dims[j].desc) d[j].own |= 1;
            }
        }
    }
    return reshaped(s, &x, (dim){.desc = node_desc(s, id), .levels = length});
}

/* Whether an extent is surely not 0. */
static bool is_some(const loom_shapes *s, desc_id extent) {
    return s->descs[extent].kind == DESC_CONST && s->descs[extent].a > 0;
}

static aval transposed(loom_shapes *s, const aval *x) {
    aval y;
    aleaf *at = shapes_copy(s, x, &y);
    for (uint32_t i = 0; i < y.n; i++) {
        dim *d = shapes_dims(s, &at[i]), row = d[1];
        /* Rows must agree; and without any there are no columns, however long rows are claimed to be. */
        if (row.own & 1 || !is_some(s, d[0].desc)) row.desc = shapes_label(s);
        row.own = 0;
        d[1] = d[0];
        d[0] = row;
        for (uint32_t k = 2; k < at[i].depth; k++) {
            uint32_t low = d[k].own & 3;
            d[k].own = (d[k].own & ~3u) | (low >> 1 | (low & 1) << 1);
            if (low) d[k].desc = shapes_label(s);
        }
    }
    return y;
}

static aval flattened(loom_shapes *s, const aval *x, loom_node_id id) {
    aval y;
    aleaf *at = shapes_copy(s, x, &y);
    for (uint32_t i = 0; i < y.n; i++) {
        dim *d = LOOM_NEW_ARRAY(s->arena, dim, at[i].depth);
        const dim *from = at[i].dims;
        d[0] = (dim){.desc = node_desc(s, id), .levels = from[0].levels | from[1].levels};
        for (uint32_t k = 2; k < at[i].depth; k++) {
            d[k - 1] = from[k];
            if (from[k].own & 3) d[k - 1].desc = shapes_label(s);
            d[k - 1].own = (from[k].own & 3 ? 1 : 0) | (from[k].own >> 2 << 1);
        }
        at[i].dims = d;
        at[i].depth--;
    }
    return y;
}

static aval unflattened(loom_shapes *s, aframe *f, const loom_node *n) {
    aval rows = operand(s, f, n, 0), columns = operand(s, f, n, 1), x = operand(s, f, n, 2), y;
    aleaf *at = shapes_copy(s, &x, &y);
    for (uint32_t i = 0; i < y.n; i++) {
        dim *d = LOOM_NEW_ARRAY(s->arena, dim, (size_t)at[i].depth + 2);
        d[0] = extent_of(&rows);
        d[1] = extent_of(&columns);
        for (uint32_t k = 1; k < at[i].depth; k++) {
            d[k + 1] = at[i].dims[k];
            if (at[i].dims[k].own & 1) d[k + 1].desc = shapes_label(s);
            d[k + 1].own = (at[i].dims[k].own & 1 ? 3 : 0) | (at[i].dims[k].own >> 1 << 2);
        }
        at[i].dims = d;
        at[i].depth++;
    }
    return y;
}

static aval gathered(loom_shapes *s, aframe *f, const loom_node *n) {
    aval x = operand(s, f, n, 0), index = operand(s, f, n, 1), y;
    const aleaf *is = &index.at[0];
    aval element = shapes_bind(s, &x, shapes_label(s), is->elements);
    aleaf *at = shapes_copy(s, &element, &y);
    for (uint32_t i = 0; i < y.n; i++) {
        dim *d = LOOM_NEW_ARRAY(s->arena, dim, (size_t)at[i].depth + is->depth + 1);
        memcpy(d, is->dims, is->depth * sizeof *d);
        for (uint32_t k = 0; k < at[i].depth; k++) {
            bool differs = x.at[i].dims[k + 1].own & 1;
            d[is->depth + k] = at[i].dims[k];
            d[is->depth + k].own = at[i].dims[k].own << is->depth | (differs ? (1u << is->depth) - 1 : 0);
        }
        at[i].dims = d;
        at[i].depth += is->depth;
        at[i].elements |= is->elements;
    }
    return y;
}

static aval filtered(loom_shapes *s, aframe *f, const loom_node *n, loom_node_id id) {
    aval x = operand(s, f, n, 0), keep;
    uint64_t level = shapes_level(s->depth);
    aval element = shapes_bind(s, &x, shapes_label(s), level);
    s->depth++;
    run_body(s, loom_node_body(s->p, n, 0), &element, f, &keep);
    s->depth--;
    uint64_t levels = (keep.at[0].elements & ~level) | first_dim(s, &x).levels;
    return reshaped(s, &x, (dim){.desc = node_desc(s, id), .levels = levels});
}

static aval claimed(loom_shapes *s, aframe *f, const loom_node *n) {
    aval x = operand(s, f, n, 0), y;
    aleaf *at = shapes_copy(s, &x, &y);
    for (uint32_t k = 0, i = 1; i < n->n_operands; k++) {
        if (!(n->aux >> k & 1)) continue;
        aval size = operand(s, f, n, i++);
        for (uint32_t j = 0; j < y.n; j++) shapes_dims(s, &at[j])[k] = extent_of(&size);
    }
    return y;
}

static aval dimension(loom_shapes *s, aframe *f, const loom_node *n, loom_node_id id, uint32_t level) {
    aval x = operand(s, f, n, 0);
    if (x.n == 0) return scalar(s, LOOM_I64, 0, node_desc(s, id));
    dim d = x.at[0].dims[level];
    if (d.own == 0) return scalar(s, LOOM_I64, d.levels, d.desc);
    uint64_t levels = 0; /* of the first row */
    for (uint32_t k = 0; k <= level; k++) levels |= x.at[0].dims[k].levels;
    return scalar(s, LOOM_I64, levels, node_desc(s, id));
}

static aval replicated(loom_shapes *s, aframe *f, const loom_node *n) {
    aval count = operand(s, f, n, 0), x = operand(s, f, n, 1);
    return shapes_unbind(s, &x, shapes_label(s), 0, extent_of(&count));
}

static aval with_elements(loom_shapes *s, const aval *x, uint64_t more) {
    aval y;
    aleaf *at = shapes_copy(s, x, &y);
    for (uint32_t i = 0; i < y.n; i++) at[i].elements |= more;
    return y;
}

static aval updated(loom_shapes *s, aframe *f, const loom_node *n) {
    aval x = operand(s, f, n, 0), row = operand(s, f, n, 1), y;
    uint32_t k = n->n_operands - 2;
    aleaf *at = shapes_copy(s, &x, &y);
    for (uint32_t i = 0; i < y.n; i++) {
        dim *d = shapes_dims(s, &at[i]);
        for (uint32_t j = k; j < at[i].depth; j++) {
            if (d[j].desc == row.at[i].dims[j - k].desc) continue;
            d[j].desc = shapes_label(s);
            d[j].own |= (1u << k) - 1;
            d[j].levels |= row.at[i].dims[j - k].levels | scalars_of(s, f, n, 2);
        }
    }
    return with_elements(s, &y, scalars_of(s, f, n, 1));
}

static aval grouped(loom_shapes *s, aframe *f, const loom_node *n) {
    aval count = operand(s, f, n, 0), xs = operand(s, f, n, 1), x;
    uint64_t level = shapes_level(s->depth);
    const loom_body *b = loom_node_body(s->p, n, 1);
    desc_id token = shapes_desc(s, DESC_TOKEN, (int64_t)b->first, (int64_t)s->steps, 1);
    aval args[2] = {scalar(s, LOOM_I64, level, token),
                    reshaped(s, &xs, (dim){.desc = shapes_label(s), .levels = level})};
    args[1] = with_elements(s, &args[1], level);
    aval element = shapes_bind(s, &xs, shapes_label(s), level);
    s->depth++;
    run_body(s, loom_node_body(s->p, n, 0), &element, f, &x);
    run_body(s, b, args, f, &x);
    s->depth--;
    /* How many groups go on for ever depends on the keys. */
    dim unknown = {.desc = shapes_label(s), .levels = UINT64_MAX};
    dim groups = loom_group_is_forever(n) ? unknown : extent_of(&count);
    return shapes_unbind(s, &x, token, level, groups);
}

static aval enumerated(loom_shapes *s, aframe *f, const loom_node *n) {
    aval x = operand(s, f, n, 0);
    aleaf *at = LOOM_NEW_ARRAY(s->arena, aleaf, (size_t)x.n + 2);
    dim *d = LOOM_NEW(s->arena, dim);
    *d = first_dim(s, &x);
    at[0] = (aleaf){.dtype = LOOM_I64, .depth = 1, .dims = d};
    if (x.n) memcpy(at + 1, x.at, x.n * sizeof *at);
    return (aval){x.n + 1, at};
}

static aval tupled(loom_shapes *s, aframe *f, const loom_node *n) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < n->n_operands; i++) count += operand(s, f, n, i).n;
    aleaf *at = LOOM_NEW_ARRAY(s->arena, aleaf, (size_t)count + 1);
    count = 0;
    for (uint32_t i = 0; i < n->n_operands; i++) {
        aval x = operand(s, f, n, i);
        if (x.n) memcpy(at + count, x.at, x.n * sizeof *at);
        count += x.n;
    }
    return (aval){count, at};
}

static aval projected(loom_shapes *s, aframe *f, const loom_node *n) {
    const loom_type *t = &s->p->types[s->p->nodes[loom_operand(s->p, n, 0)].type];
    aval x = operand(s, f, n, 0);
    uint32_t skip = 0;
    for (uint32_t i = 0; i < n->aux; i++) skip += shapes_count(s, t->fields[i]);
    return (aval){shapes_count(s, t->fields[n->aux]), x.at + skip};
}

/* A foreign function: what is declared of it, whatever its body looks like. */
static aval by_table(loom_shapes *s, const loom_foreign_info *known, const aval *args, uint32_t n) {
    aval y;
    aleaf *at = shapes_copy(s, &args[known->shape_of], &y);
    uint64_t elements = 0;
    for (uint32_t i = 0; known->elements_depend && i < n; i++)
        for (uint32_t k = 0; k < args[i].n; k++) elements |= args[i].at[k].elements;
    for (uint32_t k = 0; k < y.n; k++) at[k].elements = elements;
    return y;
}

static aval called(loom_shapes *s, aframe *f, const loom_node *n) {
    aval *args = LOOM_NEW_ARRAY(s->arena, aval, (size_t)n->n_operands + 1), x;
    for (uint32_t i = 0; i < n->n_operands; i++) args[i] = operand(s, f, n, i);
    uint32_t foreign = s->p->functions[n->aux].foreign;
    if (foreign) return by_table(s, &loom_foreign_table[foreign], args, n->n_operands);
    bool record = s->record;
    s->record = false;
    run_body(s, &s->p->bodies[s->p->functions[n->aux].body], args, NULL, &x);
    s->record = record;
    return x;
}

/* A lifted function: what its body says. */
static aval by_body(loom_shapes *s, aframe *f, const loom_node *n) {
    aval *args = LOOM_NEW_ARRAY(s->arena, aval, (size_t)n->n_operands + 1), x;
    for (uint32_t i = 0; i < n->n_operands; i++) args[i] = operand(s, f, n, i);
    run_body(s, loom_node_body(s->p, n, 0), args, f, &x);
    return x;
}

static aval sliced(loom_shapes *s, aframe *f, const loom_node *n, loom_node_id id) {
    aval x = operand(s, f, n, 0);
    uint64_t levels = first_dim(s, &x).levels | scalars_of(s, f, n, 1);
    return with_elements(s, &(aval[]){reshaped(s, &x, (dim){.desc = node_desc(s, id), .levels = levels})}[0],
                         scalars_of(s, f, n, 1));
}

/* An element `depth` levels inside an array. */
static aval inner_element(loom_shapes *s, aval x, uint32_t depth) {
    for (; depth; depth--) x = some_element(s, &x);
    return x;
}

/* Elements of dest after others have been joined to some of them, or put in their places: each level that is not that
 * of what was there is another. Of rows that differ, each element has levels of its own. */
static aval replaced_elements(loom_shapes *s, const aval *dest, uint32_t rank, const aval *there, const aval *now,
                              uint64_t places) {
    aval y;
    aleaf *at = shapes_copy(s, dest, &y);
    uint32_t outer = (1u << rank) - 1;
    for (uint32_t i = 0; i < y.n; i++) {
        dim *d = shapes_dims(s, &at[i]);
        for (uint32_t k = rank; k < at[i].depth; k++) {
            const dim *x = i < now->n && k - rank < now->at[i].depth ? &now->at[i].dims[k - rank] : NULL;
            if (x && x->desc == there->at[i].dims[k - rank].desc) continue;
            d[k].desc = shapes_label(s);
            d[k].own |= outer;
            d[k].levels |= (x ? x->levels : 0) | places;
        }
    }
    return y;
}

static aval permuted(loom_shapes *s, aframe *f, const loom_node *n) {
    aval dest = operand(s, f, n, 0), is = operand(s, f, n, 1), xs = operand(s, f, n, 2), joined;
    uint64_t places = scalars_of(s, f, n, 1); /* what meets what */
    if (dest.n && is.n) {
        uint32_t rank = n->op == LOOM_OP_SCATTER ? 1 : n->aux;
        aval args[2] = {inner_element(s, dest, rank), inner_element(s, xs, is.at[0].depth)};
        for (int i = 0; i < 2; i++) args[i] = with_elements(s, &args[i], places);
        joined = args[1];
        if (n->n_bodies) run_body(s, loom_node_body(s->p, n, 0), args, f, &joined);
        dest = replaced_elements(s, &dest, rank, &args[0], &joined, places);
    }
    return with_elements(s, &dest, places);
}

static aval backpermuted(loom_shapes *s, aframe *f, const loom_node *n) {
    const loom_body *b = loom_node_body(s->p, n, 0);
    aval dest = operand(s, f, n, 0), xs = operand(s, f, n, 1), args[LOOM_MAX_DEPTH], place;
    uint64_t level = shapes_level(s->depth);
    for (uint32_t i = 0; i < b->n_params; i++) args[i] = scalar(s, LOOM_I64, level, shapes_label(s));
    s->depth++;
    run_body(s, b, args, f, &place);
    s->depth--;
    return with_elements(s, &dest, shapes_all(&xs) | (shapes_all(&place) & ~level));
}

static aval run_node(loom_shapes *s, aframe *f, loom_node_id id) {
    const loom_node *n = &s->p->nodes[id];
    aval a = {0, NULL}, b = {0, NULL};
    if (n->n_operands > 0) a = operand(s, f, n, 0);
    if (n->n_operands > 1) b = operand(s, f, n, 1);
    switch ((loom_op)n->op) {
    case LOOM_OP_CONST: {
        loom_dtype t = s->p->types[n->type].dtype;
        bool integer = loom_dtype_is_integer(t);
        return scalar(s, t, 0,
                      integer ? shapes_desc(s, DESC_CONST, s->p->constants[n->aux].i, 0, 0) : node_desc(s, id));
    }
    case LOOM_OP_PRIM:
    case LOOM_OP_CONVERT: return scalar(s, s->p->types[n->type].dtype, scalars_of(s, f, n, 0), node_desc(s, id));
    case LOOM_OP_TUPLE:
    case LOOM_OP_ZIP: return tupled(s, f, n);
    case LOOM_OP_PROJECT: return projected(s, f, n);
    case LOOM_OP_CALL: return called(s, f, n);
    case LOOM_OP_LIFTED: return by_body(s, f, n);
    case LOOM_OP_IF: return chosen(s, f, n, id);
    case LOOM_OP_LOOP_FOR: return loop_for(s, f, n, id);
    case LOOM_OP_LOOP_WHILE: return loop_while(s, f, n, id);
    case LOOM_OP_ASSERT: return b;
    case LOOM_OP_CLAIM: return claimed(s, f, n);
    case LOOM_OP_DIM: return dimension(s, f, n, id, n->aux);
    case LOOM_OP_LENGTH: return dimension(s, f, n, id, 0);
    case LOOM_OP_ARRAY: return literal(s, f, n);
    case LOOM_OP_INDEX: return indexed(s, f, n);
    case LOOM_OP_SLICE: return sliced(s, f, n, id);
    case LOOM_OP_UPDATE: return updated(s, f, n);
    case LOOM_OP_MAP:
    case LOOM_OP_SEQ_MAP: return mapped(s, f, n, id, n->n_operands);
    case LOOM_OP_GENERATE: return generated(s, f, n);
    case LOOM_OP_IOTA: {
        aval zero = scalar(s, s->p->types[s->p->types[n->type].element].dtype, 0, shapes_label(s));
        return shapes_unbind(s, &zero, shapes_label(s), 0, extent_of(&a));
    }
    case LOOM_OP_REPLICATE: return replicated(s, f, n);
    case LOOM_OP_FOLD:
    case LOOM_OP_SEQ_FOLD:
    case LOOM_OP_SEQ_CHAIN: return folded(s, f, n, a, &b, 0);
    case LOOM_OP_SEQ_REDUCE: {
        aval piece = reshaped(s, &b, (dim){.desc = shapes_label(s)});
        turning t = {f, loom_node_body(s->p, n, 0), &piece, true};
        aval state = fixed_point(s, &t, a, 0), both[2] = {state, state}, merged;
        run_body(s, loom_node_body(s->p, n, 1), both, f, &merged);
        return shapes_join(s, &state, &merged, 0);
    }
    case LOOM_OP_FOLD1: return folded(s, f, n, some_element(s, &a), &a, 0);
    case LOOM_OP_SCAN:
    case LOOM_OP_SEQ_SCAN: return scanned(s, f, n);
    case LOOM_OP_FILTER:
    case LOOM_OP_SEQ_FILTER: return filtered(s, f, n, id);
    case LOOM_OP_PERMUTE:
    case LOOM_OP_SEQ_PERMUTE:
    case LOOM_OP_SCATTER: return permuted(s, f, n);
    case LOOM_OP_BACKPERMUTE: return backpermuted(s, f, n);
    case LOOM_OP_GATHER: return gathered(s, f, n);
    case LOOM_OP_TRANSPOSE: return transposed(s, &a);
    case LOOM_OP_FLATTEN: return flattened(s, &a, id);
    case LOOM_OP_UNFLATTEN: return unflattened(s, f, n);
    case LOOM_OP_CONCAT: return concatenated(s, f, n, id);
    case LOOM_OP_REVERSE:
    case LOOM_OP_ROTATE: {
        aval x = n->op == LOOM_OP_ROTATE ? b : a;
        aval y = reshaped(s, &x, first_dim(s, &x));
        return n->op == LOOM_OP_ROTATE ? with_elements(s, &y, a.at[0].elements) : y;
    }
    case LOOM_OP_SORT: {
        aval place = scalar(s, LOOM_I64, shapes_all(&a), shapes_label(s));
        return shapes_unbind(s, &place, shapes_label(s), 0, first_dim(s, &a));
    }
    case LOOM_OP_UNZIP:
    case LOOM_OP_FFT:
    case LOOM_OP_SEQ_ROWS:
    case LOOM_OP_SEQ_FROM: return a;
    case LOOM_OP_SEQ_SPILL: return b;
    case LOOM_OP_SEQ_SPILLED: break;
    case LOOM_OP_SEQ_ENUMERATE: return enumerated(s, f, n);
    case LOOM_OP_SEQ_GROUP: return grouped(s, f, n);
    case LOOM_OP_SEQ_GROUP_MAP: break; /* the elements' shapes are whatever op makes of them */
    case LOOM_OP_PARAM:
    case LOOM_OPS: break;
    }
    return shapes_unknown(s, n->type, UINT64_MAX);
}

static void record(loom_shapes *s, loom_node_id id, const aval *x) {
    if (!s->record) return;
    s->of_node[id] = *x;
    s->depth_of[id] = s->depth;
}

static void run_body(loom_shapes *s, const loom_body *b, const aval *args, aframe *up, aval *result) {
    aframe f = {b->first, b->end, LOOM_NEW_ARRAY(s->arena, aval, (size_t)(b->end - b->first) + 1), up};
    loom_body_id self = (loom_body_id)(b - s->p->bodies);
    for (uint32_t i = 0; i < b->n_params; i++) {
        f.vals[i] = args[i];
        record(s, b->first + i, &args[i]);
    }
    for (loom_node_id id = b->first + b->n_params; id < b->end; id++) {
        if (s->owner[id] != self) continue;
        bool spent = ++s->steps > s->max_steps;
        f.vals[id - b->first] = spent ? shapes_unknown(s, s->p->nodes[id].type, UINT64_MAX) : run_node(s, &f, id);
        record(s, id, &f.vals[id - b->first]);
    }
    *result = b->end > b->first || up ? *slot(&f, b->result) : (aval){0, NULL};
}

static bool is_regular_input(const loom_shapes *s, loom_node_id id) {
    const loom_body *b = &s->p->bodies[s->p->functions[s->function].body];
    return s->regular_inputs || (s->regular_input && s->regular_input[id - b->first]);
}

static aval parameter(loom_shapes *s, loom_node_id id) {
    aleaf *at;
    aval x = shapes_make(s, s->p->nodes[id].type, &at);
    for (uint32_t i = 0; i < x.n; i++) {
        if (!at[i].depth) at[i].value = shapes_desc(s, DESC_INPUT, (int64_t)id, i, -1);
        dim *d = is_regular_input(s, id) && at[i].depth ? shapes_dims(s, &at[i]) : NULL;
        for (uint32_t k = 0; d && k < at[i].depth; k++) d[k].own = 0;
    }
    return x;
}

static loom_shapes *analyse(loom_arena *arena, const loom_program *program, uint32_t f, bool regular_inputs,
                            const bool *regular_input) {
    loom_shapes *s = LOOM_NEW(arena, loom_shapes);
    s->regular_inputs = regular_inputs;
    s->regular_input = regular_input;
    const loom_body *b = &program->bodies[program->functions[f].body];
    s->arena = arena;
    s->p = program;
    s->function = f;
    s->record = true;
    s->desc_heads = LOOM_NEW_ARRAY(arena, uint32_t, 1024);
    s->of_node = LOOM_NEW_ARRAY(arena, aval, (size_t)program->n_nodes + 1);
    s->depth_of = LOOM_NEW_ARRAY(arena, uint32_t, (size_t)program->n_nodes + 1);
    s->differs = LOOM_NEW_ARRAY(arena, bool, (size_t)program->n_nodes + 1);
    s->owner = loom_program_owners(program, arena);
    s->max_steps = 64 * (uint64_t)program->n_nodes + 10000;
    aval *args = LOOM_NEW_ARRAY(arena, aval, (size_t)b->n_params + 1), result;
    for (uint32_t i = 0; i < b->n_params; i++) args[i] = parameter(s, b->first + i);
    run_body(s, b, args, NULL, &result);
    return s;
}

loom_shapes *loom_shapes_analyse(loom_arena *arena, const loom_program *program, uint32_t f) {
    return analyse(arena, program, f, false, NULL);
}

loom_shapes *loom_shapes_analyse_regular(loom_arena *arena, const loom_program *program, uint32_t f) {
    return analyse(arena, program, f, true, NULL);
}

loom_shapes *loom_shapes_analyse_inputs(loom_arena *arena, const loom_program *program, uint32_t f,
                                        const bool *regular) {
    return analyse(arena, program, f, false, regular);
}

loom_shape_level loom_shapes_level(const loom_shapes *s, loom_node_id node, uint32_t leaf, uint32_t level) {
    const aval *x = &s->of_node[node];
    if (!x->at) return (loom_shape_level){.descriptor = LOOM_NO_DESCRIPTOR, .constant = -1, .rows_differ = true};
    const dim *d = &x->at[leaf].dims[level];
    bool constant = s->descs[d->desc].kind == DESC_CONST;
    return (loom_shape_level){d->desc, constant ? s->descs[d->desc].a : -1, d->own != 0};
}

bool loom_shapes_uniform(const loom_shapes *s, loom_node_id node) {
    return s->of_node[node].at && !s->differs[node];
}

uint32_t loom_shapes_depth(const loom_shapes *s, loom_node_id node) {
    return s->depth_of[node];
}

loom_shape_rep loom_shapes_rep(const loom_shapes *s, loom_node_id node) {
    const aval *x = &s->of_node[node];
    if (!x->at) return LOOM_SHAPE_IRREGULAR; /* in a body that was not looked at: nothing is known */
    uint64_t all = shapes_all(x);
    if (!all) return LOOM_SHAPE_AVOIDED;
    for (uint32_t i = 0; i < x->n; i++) {
        for (uint32_t k = 0; k < x->at[i].depth; k++) {
            if (x->at[i].dims[k].levels || x->at[i].dims[k].own) return LOOM_SHAPE_IRREGULAR;
        }
    }
    return LOOM_SHAPE_REGULAR;
}

bool loom_shapes_equal_rows(const loom_shapes *s, loom_node_id node, loom_node_id at) {
    const aval *x = &s->of_node[node];
    if (!x->at && x->n) return false;
    if (!s->of_node[at].at || s->depth_of[at] == 0) return false; /* nothing is known of where it stands */
    uint64_t level = shapes_level(s->depth_of[at] - 1);
    for (uint32_t i = 0; i < x->n; i++) {
        for (uint32_t k = 0; k < x->at[i].depth; k++) {
            if ((x->at[i].dims[k].levels & level) || x->at[i].dims[k].own) return false;
        }
    }
    return true;
}
