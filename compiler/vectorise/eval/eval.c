/* Evaluating operations of lifted IR, one point after the other. */
#include "eval.h"
#include "common/order.h"
#include <math.h>

static const loom_leaf *source_leaf(const eval *v, const loom_lvalue *value) {
    loom_value *const *from = value->source == LOOM_LV_INPUT ? v->arguments->inputs : v->arguments->columns;
    return &from[value->index]->leaves[value->leaf];
}

static bool is_segmented(const eval *v, loom_axis_id axis) {
    return v->l->axes[axis].kind == LOOM_AXIS_SEGMENTED;
}

int64_t leval_axis_extent(eval *v, loom_axis_id axis) {
    const loom_axis *a = &v->l->axes[axis];
    switch (a->kind) {
    case LOOM_AXIS_CHUNK: return v->arguments->count;
    case LOOM_AXIS_CONST: return a->extent;
    case LOOM_AXIS_SCALAR: return v->values[a->value].at ? v->values[a->value].at[0].i : 0;
    case LOOM_AXIS_INPUT: {
        const loom_lvalue *value = &v->l->values[a->value];
        return source_leaf(v, value)->extents[a->level + (value->source == LOOM_LV_INPUT ? 0 : 1)];
    }
    case LOOM_AXIS_SEGMENTED: break;
    }
    return 0;
}

/* Length of segment number p; where there are no segments yet, nothing. */
static int64_t segment_length(const eval *v, loom_axis_id axis, int64_t p, int64_t *first) {
    const buffer *b = &v->values[v->l->axes[axis].offsets];
    if (!b->at || p < 0 || p >= b->n) return 0;
    *first = b->at[p].i;
    return b->at[p + 1].i - b->at[p].i;
}

int64_t leval_offset_of(const eval *v, const buffer *b, const int64_t *index, uint32_t n, bool *inside) {
    int64_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t first = 0, extent = b->extents[i];
        bool segmented = is_segmented(v, b->axes[i]);
        if (segmented) extent = segment_length(v, b->axes[i], at, &first);
        *inside = *inside && index[i] >= 0 && index[i] < extent;
        at = (segmented ? first : at * extent) + (*inside ? index[i] : 0);
    }
    return at;
}

static void shape(eval *v, buffer *b, const loom_axis_id *axes, uint32_t n) {
    b->n = 1;
    b->axes = axes;
    for (uint32_t i = 0; i < n; i++) {
        int64_t extent = leval_axis_extent(v, axes[i]);
        if (extent < 0 && !v->error)
            v->error = loom_error(LOOM_E_RUNTIME, "an array cannot have %" PRId64 " elements", extent);
        b->extents[i] = extent < 0 ? 0 : extent;
        b->n *= b->extents[i];
        if (!is_segmented(v, axes[i])) continue;
        const buffer *total = &v->values[v->l->axes[axes[i]].total];
        b->n = total->at ? total->at[0].i : 0;
    }
    b->at = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)b->n + 2);
}

static buffer *make_value(eval *v, loom_lvalue_id id) {
    buffer *b = &v->values[id];
    shape(v, b, v->l->values[id].axes, v->l->values[id].n_axes);
    return b;
}

static int64_t list_length(const loom_leaf *leaf, uint32_t k, int64_t list) {
    return leaf->lengths[k] ? leaf->lengths[k][list] : leaf->extents[k];
}

static int64_t lists_at(const loom_leaf *leaf, uint32_t k) {
    int64_t lists = 1;
    for (uint32_t i = 0; i < k; i++) {
        int64_t below = 0;
        for (int64_t j = 0; j < lists; j++) below += list_length(leaf, i, j);
        lists = below;
    }
    return lists;
}

static void read_source(eval *v, loom_lvalue_id id) {
    const loom_lvalue *value = &v->l->values[id];
    buffer *b = make_value(v, id);
    if (value->source == LOOM_LV_FIRST) {
        b->at[0].i = v->arguments->first;
        return;
    }
    const loom_leaf *leaf = source_leaf(v, value);
    size_t size = loom_dtype_size(leaf->dtype);
    /* How many there are is known by the leaf; offsets are made later. */
    b->n = value->lengths_of ? lists_at(leaf, value->lengths_of) : leaf->n_data;
    b->at = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)b->n + 2);
    for (int64_t i = 0; i < b->n; i++) {
        if (value->lengths_of) {
            b->at[i].i = list_length(leaf, value->lengths_of, i);
        } else {
            b->at[i] = loom_scalar_load(leaf->dtype, (const char *)leaf->data + (size_t)i * size);
        }
    }
}

/* ---- points ---- */

typedef struct walk {
    uint32_t n, skip; /* the axis that stands still, or LOOM_NONE */
    const loom_axis_id *axes;
    bool empty;
} walk;

/* Extent of axis i where the axes before it are at the point. */
static int64_t extent_here(eval *v, const walk *w, uint32_t i) {
    if (!is_segmented(v, w->axes[i])) return leval_axis_extent(v, w->axes[i]);
    const buffer *b = &v->values[v->l->axes[w->axes[i]].offsets];
    bool inside = true;
    int64_t first, p = leval_offset_of(v, b, v->point, i, &inside);
    return inside ? segment_length(v, w->axes[i], p, &first) : 0;
}

/* The first point with the axes before i as they are. */
static bool first_point(eval *v, const walk *w, uint32_t i) {
    if (i == w->n) return true;
    v->point[i] = 0;
    if (i == w->skip) return first_point(v, w, i + 1);
    for (; v->point[i] < extent_here(v, w, i); v->point[i]++) {
        if (first_point(v, w, i + 1)) return true;
    }
    return false;
}

static walk walk_over(eval *v, const loom_axis_id *axes, uint32_t n, uint32_t skip) {
    walk w = {.n = n, .axes = axes, .skip = skip};
    w.empty = !first_point(v, &w, 0);
    return w;
}

static bool next_point(eval *v, const walk *w) {
    for (uint32_t i = w->n; i > 0; i--) {
        if (i - 1 == w->skip) continue;
        for (v->point[i - 1]++; v->point[i - 1] < extent_here(v, w, i - 1); v->point[i - 1]++) {
            if (first_point(v, w, i)) return true;
        }
    }
    return false;
}

static int64_t place(const eval *v, const buffer *b, const loom_lop *o, uint32_t skip) {
    int64_t index[LOOM_LIFTED_MAX_AXES];
    uint32_t n = 0;
    bool inside = true;
    for (uint32_t i = 0; i < o->n_axes; i++) {
        if (i != skip) index[n++] = v->point[i];
    }
    return leval_offset_of(v, b, index, n, &inside);
}

static void run_offsets(eval *v, const loom_lop *o) {
    const buffer *lengths = &v->values[o->args[0]];
    buffer *offsets = make_value(v, o->results[0]), *total = make_value(v, o->results[1]);
    int64_t sum = 0;
    for (int64_t i = 0; i < lengths->n; i++) {
        offsets->at[i].i = sum;
        if (lengths->at[i].i < 0 && !v->error)
            v->error = loom_error(LOOM_E_RUNTIME, "an array cannot have %" PRId64 " elements", lengths->at[i].i);
        sum += lengths->at[i].i;
    }
    offsets->at[lengths->n].i = offsets->at[lengths->n + 1].i = sum;
    total->at[0].i = sum;
}

static void run_compute(eval *v, const loom_lop *o) {
    buffer points;
    for (uint32_t i = 0; i < o->n_results; i++) make_value(v, o->results[i]);
    shape(v, &points, o->axes, o->n_axes);
    for (uint32_t i = 0; i < o->n_results; i++) {
        if (o->dense && !v->error && v->values[o->results[i]].n != points.n && !v->defect)
            v->defect = loom_error(LOOM_E_INTERNAL, "a dense result with another number of points");
    }
    if (v->defect) return;
    walk w = walk_over(v, o->axes, o->n_axes, LOOM_NONE);
    if (w.empty) return;
    do {
        leval_run_block(v, o->body, NULL);
        for (uint32_t i = 0; i < o->n_results; i++) {
            buffer *b = &v->values[o->results[i]];
            b->at[place(v, o->dense ? &points : b, o, LOOM_NONE)] = leval_block_result(v, o->body, i);
        }
    } while (!v->error && !v->defect && next_point(v, &w));
}

static void run_check(eval *v, const loom_lop *o) {
    walk w = walk_over(v, o->axes, o->n_axes, LOOM_NONE);
    if (w.empty) return;
    uint32_t n = v->l->blocks[o->body].n_results;
    do {
        leval_run_block(v, o->body, NULL);
        if (!leval_block_result(v, o->body, 0).b) {
            leval_raise_site(v, o->site, n > 1 ? leval_block_result(v, o->body, 1).i : 0,
                             n > 2 ? leval_block_result(v, o->body, 2).i : 0);
        }
    } while (!v->error && !v->defect && next_point(v, &w));
}

/* state = combine(state, x); the later one on the left where `reversed`. */
static void join(eval *v, const loom_lop *o, loom_scalar *state, const loom_scalar *x, uint32_t n, bool reversed) {
    loom_scalar *params = LOOM_NEW_ARRAY(v->arena, loom_scalar, 2 * (size_t)n + 1);
    memcpy(params, reversed ? x : state, n * sizeof *params);
    memcpy(params + n, reversed ? state : x, n * sizeof *params);
    leval_run_block(v, o->combine, params);
    for (uint32_t i = 0; i < n; i++) state[i] = leval_block_result(v, o->combine, i);
}

static void start(eval *v, const loom_lop *o, loom_scalar *state, uint32_t n) {
    leval_run_block(v, o->ne, NULL);
    for (uint32_t i = 0; i < n; i++) state[i] = leval_block_result(v, o->ne, i);
}

static void contribution(eval *v, const loom_lop *o, loom_scalar *x, uint32_t n) {
    leval_run_block(v, o->body, NULL);
    for (uint32_t i = 0; i < n; i++) x[i] = leval_block_result(v, o->body, i);
}

static void run_reduce(eval *v, const loom_lop *o) {
    uint32_t n = o->n_results;
    loom_scalar *state = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)n + 1),
                *x = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) make_value(v, o->results[i]);
    walk w = walk_over(v, o->axes, o->n_axes, o->reduce);
    if (w.empty) return;
    do {
        int64_t count = extent_here(v, &w, o->reduce);
        start(v, o, state, n);
        for (int64_t k = 0; k < count && !v->error && !v->defect; k++) {
            v->point[o->reduce] = k;
            contribution(v, o, x, n);
            join(v, o, state, x, n, false);
        }
        for (uint32_t i = 0; i < n; i++) {
            buffer *b = &v->values[o->results[i]];
            b->at[place(v, b, o, o->reduce)] = state[i];
        }
    } while (!v->error && !v->defect && next_point(v, &w));
}

static void run_scan(eval *v, const loom_lop *o) {
    bool total = o->scan == LOOM_SCAN_TOTAL, right = o->scan == LOOM_SCAN_RIGHT;
    bool exclusive = total || o->scan == LOOM_SCAN_EXCLUSIVE;
    uint32_t n = o->n_results / (total ? 2 : 1);
    loom_scalar *state = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)n + 1),
                *x = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)n + 1);
    for (uint32_t i = 0; i < o->n_results; i++) make_value(v, o->results[i]);
    walk w = walk_over(v, o->axes, o->n_axes, o->reduce);
    if (w.empty) return;
    do {
        int64_t count = extent_here(v, &w, o->reduce);
        start(v, o, state, n);
        for (int64_t k = 0; k < count && !v->error && !v->defect; k++) {
            v->point[o->reduce] = right ? count - 1 - k : k;
            for (int turn = 0; turn < 2; turn++) {
                if ((turn == 0) == exclusive) {
                    for (uint32_t i = 0; i < n; i++) {
                        buffer *b = &v->values[o->results[i]];
                        b->at[place(v, b, o, LOOM_NONE)] = state[i];
                    }
                } else {
                    contribution(v, o, x, n);
                    join(v, o, state, x, n, right);
                }
            }
        }
        for (uint32_t i = 0; total && i < n; i++) {
            buffer *b = &v->values[o->results[n + i]];
            b->at[place(v, b, o, o->reduce)] = state[i];
        }
    } while (!v->error && !v->defect && next_point(v, &w));
}

static void run_permute(eval *v, const loom_lop *o) {
    uint32_t n = v->l->blocks[o->body].n_results - o->rank;
    buffer **onto = LOOM_NEW_ARRAY(v->arena, buffer *, (size_t)n + 1);
    for (uint32_t i = 0; i < n; i++) {
        if (o->output != LOOM_NONE) {
            onto[i] = &v->targets[v->first_target[o->output] + i];
            continue;
        }
        onto[i] = make_value(v, o->results[i]);
        const buffer *from = &v->values[o->dest[i]];
        memcpy(onto[i]->at, from->at, (size_t)from->n * sizeof *from->at);
    }
    loom_scalar *state = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)n + 1),
                *x = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)n + 1);
    walk w = walk_over(v, o->axes, o->n_axes, LOOM_NONE);
    if (w.empty) return;
    do {
        int64_t index[LOOM_LIFTED_MAX_AXES];
        bool inside = true;
        leval_run_block(v, o->body, NULL);
        for (uint32_t i = 0; i < o->n_context; i++) index[i] = v->point[i];
        for (uint32_t i = 0; i < o->rank; i++) index[o->n_context + i] = leval_block_result(v, o->body, i).i;
        int64_t at = leval_offset_of(v, onto[0], index, o->n_context + o->rank, &inside);
        if (!inside || v->error || v->defect) continue;
        for (uint32_t i = 0; i < n; i++) {
            x[i] = leval_block_result(v, o->body, o->rank + i);
            state[i] = onto[i]->at[at];
        }
        join(v, o, state, x, n, false);
        for (uint32_t i = 0; i < n; i++) onto[i]->at[at] = state[i];
    } while (!v->error && !v->defect && next_point(v, &w));
}

/* One axis of a transform, by the definition. */
static void transform(eval *v, const loom_scalar *in, loom_scalar *out, int64_t n, int64_t stride, bool inverse) {
    const double pi = 3.14159265358979323846;
    (void)v;
    for (int64_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        for (int64_t j = 0; j < n; j++) {
            double angle = (inverse ? 2 : -2) * pi * (double)((j * k) % n) / (double)n, c = cos(angle), s = sin(angle);
            const double *x = in[j * stride].c;
            re += x[0] * c - x[1] * s;
            im += x[0] * s + x[1] * c;
        }
        double scale = inverse ? 1.0 / (double)n : 1.0;
        out[k * stride].c[0] = re * scale;
        out[k * stride].c[1] = im * scale;
    }
}

static void fft_of_rows(eval *v, const loom_lop *o, const buffer *from, buffer *to, const loom_axis *rows) {
    const loom_scalar *offsets = v->values[rows->offsets].at;
    for (int64_t list = 0, begin = 0; begin < to->n; begin = offsets[++list].i) {
        transform(v, from->at + begin, to->at + begin, offsets[list + 1].i - begin, 1, o->inverse);
    }
}

static void run_fft(eval *v, const loom_lop *o) {
    const buffer *from = &v->values[o->args[0]];
    buffer *to = make_value(v, o->results[0]);
    const loom_axis *last = &v->l->axes[o->axes[o->n_axes - 1]];
    if (last->kind == LOOM_AXIS_SEGMENTED) {
        fft_of_rows(v, o, from, to, last);
        return;
    }
    loom_scalar *copy = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)to->n + 1);
    memcpy(to->at, from->at, (size_t)to->n * sizeof *to->at);
    int64_t stride = 1;
    for (uint32_t k = 0; k < o->fft_rank && to->n; k++) {
        int64_t extent = to->extents[o->n_axes - 1 - k];
        memcpy(copy, to->at, (size_t)to->n * sizeof *copy);
        for (int64_t base = 0; base < to->n; base += extent * stride) {
            for (int64_t i = 0; i < stride; i++)
                transform(v, copy + base + i, to->at + base + i, extent, stride, o->inverse);
        }
        stride *= extent;
    }
}

static bool is_before(const eval *v, const loom_lop *o, int64_t a, int64_t b) {
    for (uint32_t k = 0; k < o->n_args; k++) {
        const loom_lvalue_id key = o->args[k];
        loom_dtype t = v->l->values[key].dtype;
        uint64_t x = loom_order_word(t, v->values[key].at[a]), y = loom_order_word(t, v->values[key].at[b]);
        if (x != y) return x < y;
    }
    return false;
}

static void run_sort(eval *v, const loom_lop *o) {
    buffer *to = make_value(v, o->results[0]);
    const loom_axis *last = &v->l->axes[o->axes[o->n_axes - 1]];
    bool rows = last->kind == LOOM_AXIS_SEGMENTED;
    const loom_scalar *offsets = rows ? v->values[last->offsets].at : NULL;
    for (int64_t list = 0, begin = 0; begin < to->n; list++) {
        int64_t end = rows ? offsets[list + 1].i : begin + to->extents[o->n_axes - 1];
        for (int64_t i = begin; i < end; i++) {
            int64_t j = i;
            for (; j > begin && is_before(v, o, i, begin + to->at[j - 1].i); j--) to->at[j] = to->at[j - 1];
            to->at[j].i = i - begin;
        }
        begin = end;
    }
}

static void run_ops(eval *v, loom_lop_id first, loom_lop_id end);

static void copy_value(eval *v, loom_lvalue_id from, loom_lvalue_id to) {
    make_value(v, to);
    memcpy(v->values[to].at, v->values[from].at, (size_t)v->values[to].n * sizeof(loom_scalar));
}

static buffer *collected(eval *v, const loom_lop *o, uint32_t i) {
    return &v->values[o->results[o->n_states + i]];
}

static void append(eval *v, const buffer *from, buffer *to) {
    loom_scalar *all = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)(to->n + from->n) + 1);
    if (to->n) memcpy(all, to->at, (size_t)to->n * sizeof *all);
    if (from->n) memcpy(all + to->n, from->at, (size_t)from->n * sizeof *all);
    to->at = all;
    to->n += from->n;
}

/* All of it has come together. */
static void finish_collected(eval *v, const loom_lop *o, uint32_t i) {
    buffer got = *collected(v, o, i), *b = make_value(v, o->results[o->n_states + i]);
    if (b->n != got.n) {
        v->defect = loom_error(LOOM_E_INTERNAL, "a loop collects %" PRId64 " elements for %" PRId64, got.n, b->n);
        return;
    }
    if (b->n) memcpy(b->at, got.at, (size_t)b->n * sizeof *b->at);
}

/* Nothing behind the test is evaluated where it does not hold. */
static void run_turn(eval *v, const loom_lop *o) {
    loom_lop_id behind = o->inner_first;
    if (o->test != LOOM_NONE) {
        loom_lop_id made = v->l->values[o->test].op;
        if (made != LOOM_NONE && made >= o->inner_first && made < o->inner_end) behind = made + 1;
        run_ops(v, o->inner_first, behind);
        if (v->error || v->defect || !v->values[o->test].at[0].b) return;
    }
    run_ops(v, behind, o->inner_end);
}

static void run_loop(eval *v, const loom_lop *o) {
    for (uint32_t i = 0; i < o->n_states; i++) copy_value(v, o->initial[i], o->state[i]);
    int64_t count = o->n_args ? v->values[o->args[0]].at[0].i : INT64_MAX;
    if (o->counter != LOOM_NONE) make_value(v, o->counter);
    buffer *next = LOOM_NEW_ARRAY(v->arena, buffer, (size_t)o->n_states + 1);
    for (uint32_t i = 0; i < o->n_collected; i++) collected(v, o, i)->n = 0;
    for (int64_t k = 0; k < count && !v->error && !v->defect; k++) {
        if (o->counter != LOOM_NONE) v->values[o->counter].at[0].i = k;
        run_turn(v, o);
        if (v->error || v->defect || (o->test != LOOM_NONE && !v->values[o->test].at[0].b)) break;
        for (uint32_t i = 0; i < o->n_states; i++) next[i] = v->values[o->next[i]];
        for (uint32_t i = 0; i < o->n_collected; i++) append(v, &v->values[o->collected[i]], collected(v, o, i));
        for (uint32_t i = 0; i < o->n_states; i++) {
            size_t bytes = (size_t)next[i].n * sizeof(loom_scalar);
            buffer *s = &v->values[o->state[i]];
            *s = next[i]; /* its size, too */
            s->at = LOOM_NEW_ARRAY(v->arena, loom_scalar, (size_t)next[i].n + 1);
            memcpy(s->at, next[i].at, bytes);
        }
    }
    for (uint32_t i = 0; i < o->n_states; i++) copy_value(v, o->state[i], o->results[i]);
    for (uint32_t i = 0; i < o->n_collected && !v->error && !v->defect; i++) finish_collected(v, o, i);
}

static void run_if(eval *v, const loom_lop *o) {
    bool yes = v->values[o->args[0]].at[0].b;
    run_ops(v, yes ? o->inner_first : o->else_first, yes ? o->inner_end : o->else_end);
    if (v->error || v->defect) return;
    for (uint32_t i = 0; i < o->n_results; i++)
        copy_value(v, yes ? o->then_results[i] : o->else_results[i], o->results[i]);
}

static void run_op(eval *v, const loom_lop *o) {
    switch (o->kind) {
    case LOOM_LO_COMPUTE: run_compute(v, o); break;
    case LOOM_LO_REDUCE: run_reduce(v, o); break;
    case LOOM_LO_SCAN: run_scan(v, o); break;
    case LOOM_LO_PERMUTE: run_permute(v, o); break;
    case LOOM_LO_FFT: run_fft(v, o); break;
    case LOOM_LO_LOOP: run_loop(v, o); break;
    case LOOM_LO_IF: run_if(v, o); break;
    case LOOM_LO_CHECK: run_check(v, o); break;
    case LOOM_LO_OFFSETS: run_offsets(v, o); break;
    case LOOM_LO_SORT: run_sort(v, o); break;
    }
}

static void run_ops(eval *v, loom_lop_id first, loom_lop_id end) {
    loom_lop_id *own = LOOM_NEW_ARRAY(v->arena, loom_lop_id, (size_t)(end - first) + 1);
    uint32_t n = 0;
    for (loom_lop_id i = end; i > first;) {
        const loom_lop *o = &v->l->ops[--i];
        own[n++] = i;
        if (o->kind == LOOM_LO_LOOP || o->kind == LOOM_LO_IF) i = o->inner_first;
    }
    while (n-- && !v->error && !v->defect) run_op(v, &v->l->ops[own[n]]);
}

/* ---- outputs ---- */

static void prepare_targets(eval *v) {
    uint32_t n = 0;
    v->first_target = LOOM_NEW_ARRAY(v->arena, uint32_t, (size_t)v->l->n_outputs + 1);
    for (uint32_t j = 0; j < v->l->n_outputs; j++) {
        v->first_target[j] = n;
        n += v->l->outputs[j].n_leaves;
    }
    v->targets = LOOM_NEW_ARRAY(v->arena, buffer, (size_t)n + 1);
}

/* Targets get their extents when the first permute reaches them: those of SCALAR axes are not known before. */
static void fill_targets(eval *v, uint32_t j) {
    const loom_loutput *o = &v->l->outputs[j];
    for (uint32_t i = 0; i < o->n_leaves; i++) {
        buffer *b = &v->targets[v->first_target[j] + i];
        if (b->at) continue;
        shape(v, b, o->axes, o->n_axes);
        for (int64_t k = 0; k < b->n; k++) b->at[k] = o->neutral[i];
    }
}

/* A leaf with lengths. */
static void write_rows(eval *v, loom_lvalue_id id, const char *name, loom_leaf *leaf) {
    const loom_lvalue *value = &v->l->values[id];
    const buffer *b = &v->values[id];
    size_t size = loom_dtype_size(value->dtype);
    int64_t lists = 1;
    leaf->name = loom_xstrdup(name);
    leaf->dtype = value->dtype;
    leaf->depth = value->n_axes;
    leaf->data = loom_xcalloc((size_t)b->n + 1, size);
    leaf->n_data = b->n;
    for (uint32_t k = 0; k < value->n_axes; k++) {
        const loom_axis *a = &v->l->axes[value->axes[k]];
        leaf->n_lengths[k] = lists;
        if (a->kind != LOOM_AXIS_SEGMENTED) {
            leaf->extents[k] = lists ? b->extents[k] : 0;
            lists *= leaf->extents[k];
            continue;
        }
        leaf->extents[k] = LOOM_IRREGULAR;
        leaf->lengths[k] = loom_xcalloc((size_t)lists + 1, sizeof(int64_t));
        for (int64_t i = 0; i < lists; i++) leaf->lengths[k][i] = v->values[a->lengths].at[i].i;
        lists = v->values[a->total].at[0].i;
    }
    for (int64_t k = 0; k < b->n; k++) loom_scalar_store(value->dtype, b->at[k], (char *)leaf->data + (size_t)k * size);
}

static loom_status *write_output(eval *v, uint32_t j, loom_value **result) {
    const loom_loutput *o = &v->l->outputs[j];
    loom_value *value;
    LOOM_TRY(loom_value_create(o->n_leaves, &value));
    for (uint32_t i = 0; i < o->n_leaves; i++) {
        bool target = o->values[i] == LOOM_NONE;
        if (!target && v->l->values[o->values[i]].rep == LOOM_REP_IRREGULAR) {
            write_rows(v, o->values[i], o->names[i], &value->leaves[i]);
            continue;
        }
        if (target) fill_targets(v, j);
        const buffer *b = target ? &v->targets[v->first_target[j] + i] : &v->values[o->values[i]];
        uint32_t depth = target ? o->n_axes : v->l->values[o->values[i]].n_axes;
        loom_dtype t = target ? o->dtypes[i] : v->l->values[o->values[i]].dtype;
        loom_status *s = loom_leaf_init(&value->leaves[i], o->names[i], t, depth, b->extents, UINT64_C(1) << 32);
        if (s) {
            loom_value_unref(value);
            return s;
        }
        size_t size = loom_dtype_size(t);
        for (int64_t k = 0; k < b->n; k++)
            loom_scalar_store(t, b->at[k], (char *)value->leaves[i].data + (size_t)k * size);
    }
    *result = value;
    return NULL;
}

static void run_all(eval *v) {
    loom_lop_id *own = LOOM_NEW_ARRAY(v->arena, loom_lop_id, (size_t)v->l->n_ops + 1);
    uint32_t n = 0;
    for (loom_lop_id i = v->l->n_ops; i > 0;) {
        const loom_lop *o = &v->l->ops[--i];
        own[n++] = i;
        if (o->kind == LOOM_LO_LOOP || o->kind == LOOM_LO_IF) i = o->inner_first;
    }
    while (n-- && !v->error && !v->defect) {
        const loom_lop *o = &v->l->ops[own[n]];
        if (o->kind == LOOM_LO_PERMUTE && o->output != LOOM_NONE) fill_targets(v, o->output);
        run_op(v, o);
    }
}

loom_status *loom_lifted_eval(const loom_lifted *l, const loom_lifted_arguments *arguments, loom_value **outputs) {
    eval v = {.l = l, .arguments = arguments, .arena = loom_arena_create(0)};
    v.values = LOOM_NEW_ARRAY(v.arena, buffer, (size_t)l->n_values + 1);
    v.exprs = LOOM_NEW_ARRAY(v.arena, loom_scalar *, (size_t)l->n_exprs + 1);
    v.blocks = LOOM_NEW_ARRAY(v.arena, block_list, (size_t)l->n_blocks + 1);
    prepare_targets(&v);
    for (loom_lvalue_id i = 0; i < l->n_values; i++) {
        if (l->values[i].source <= LOOM_LV_FIRST) read_source(&v, i);
    }
    run_all(&v);
    loom_status *s = v.defect ? v.defect : v.error;
    if (v.defect) loom_status_free(v.error);
    uint32_t done = 0;
    while (done < l->n_outputs && !s) {
        s = write_output(&v, done, &outputs[done]);
        if (!s) done++;
    }
    while (s && done > 0) loom_value_unref(outputs[--done]);
    loom_arena_destroy(v.arena);
    return s;
}
