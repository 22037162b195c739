/* Loops whose elements differ in the number of turns or in the shape of their states, with states or bodies that need
 * memory of their own.
 *
 *     map (\xs -> loop ys = xs while c ys do f ys) xss
 *     ->  elements are numbered (part.c); a LOOP whose states are k, how many still turn, their numbers and their ys:
 *             while k > 0
 *             flags = c ys; those where it is false are collected, with their numbers; k' = how many others there are
 *             ys' = f of the others' ys
 *         what was collected, put in the order of the numbers
 * Every turn has those elements only that still turn: one that has ended costs nothing, and cannot fail. A state whose
 * rows differ in length is kept flat between turns. Rows that are as long after each turn as before have the lengths
 * that they had at the start, which are found by the element's number; where that is not known, the lengths are a state
 * too. That is found out by trying: all shapes are taken to be kept at first. A loop outside of all maps, whose state
 * changes its shape, is one of a single element.
 *
 * States that the body updates stay where they are, with the rows of all elements (stay.c): of these a turn takes rows
 * by the numbers of its elements and puts them back, and nothing is collected.
 *
 * What the loop has from around is gathered for the elements of a turn. Cost of a turn: the states that do not stay,
 * what is put into those that do, and what is gathered, of those that still turn.
 */
#include "turns.h"

extent vec_scalar_extent(vec *v, loom_lvalue_id value) {
    return (extent){loom_lifted_axis(v->l, (loom_axis){.kind = LOOM_AXIS_SCALAR, .value = value}), LOOM_NONE, NULL};
}

static leaf value_leaf(vec *v, loom_lvalue_id id, uint32_t n_own, const extent *own) {
    const loom_lvalue *value = &v->l->values[id];
    source *s = LOOM_NEW_ARRAY(v->scratch, source, (size_t)value->n_axes + 1);
    for (uint32_t i = 0; i < value->n_axes; i++) s[i] = (source){FROM_OWN, IN_RANGE, i};
    return (leaf){.kind = LEAF_VALUE,
                  .dtype = value->dtype,
                  .id = id,
                  .sources = s,
                  .site = LOOM_NONE,
                  .n_own = n_own,
                  .own = own};
}

/* An array of i64 along one axis. */
leaf vec_list_leaf(vec *v, loom_lvalue_id id, extent e) {
    extent *own = LOOM_NEW(v->scratch, extent);
    *own = e;
    return value_leaf(v, id, 1, own);
}

static size_t axis_at(uint32_t leaf, uint32_t level) {
    return (size_t)leaf * LOOM_MAX_DEPTH + level;
}

static uint32_t own_axes(const turns *t, const slot *s) {
    return s->lengths ? s->level : t->initial.at[s->leaf].n_own;
}

/* ---- slots between turns ---- */

/* The leaf, over the level, as a state has it: with its own axes, or flat. `rows`: how many elements it has then. */
static bool store(vec *v, const turns *t, const slot *s, const leaf *x, uint32_t level, loom_lvalue_id *values,
                  loom_lvalue_id *value) {
    uint64_t mask = UINT64_C(1) << level;
    if (!s->flat) return vec_copy_value(v, t->node, x, mask, value);
    leaf count;
    op_axes axes;
    if (!vec_value_axes(v, t->node, mask, x->n_own, x->own, &axes)) return false;
    if (!vec_count_points(v, t->node, axes.n, axes.axis, &count)) return false;
    if (!vec_copy_value(v, t->node, &count, 0, &values[s->rows])) return false;
    op_axes flat = {.n = 1, .axis = {vec_scalar_extent(v, values[s->rows]).axis}};
    return vec_dense_value(v, t->node, x, mask, &flat, value);
}

/* How many elements the leaf has along own axis k, as a leaf of its own. */
static leaf lengths_of(const vec *v, const leaf *x, uint32_t k) {
    leaf y = vec_extent_leaf(v, x->own[k]);
    y.n_own = k;
    y.own = x->own;
    return y;
}

/* All slots of a state that do not stay. */
static bool store_all(vec *v, const turns *t, const val *state, uint32_t level, loom_lvalue_id *values,
                      loom_lvalue_id *stored) {
    for (uint32_t j = 0; j < t->n_slots; j++) {
        const slot *s = &t->slots[j];
        leaf x = state->at[s->leaf];
        if (s->stays) continue;
        if (s->lengths) x = lengths_of(v, &x, s->level);
        if (!store(v, t, s, &x, level, values, &stored[j])) return false;
    }
    return true;
}

/* And back: over the level, with these own axes. `rows`: how many elements it has. */
static bool restore(vec *v, const turns *t, const slot *s, loom_lvalue_id id, loom_lvalue_id rows, uint32_t level,
                    const extent *own, leaf *x) {
    uint32_t n_own = own_axes(t, s);
    op_axes axes;
    loom_lvalue_id value = id;
    if (!vec_value_axes(v, t->node, UINT64_C(1) << level, n_own, own, &axes)) return false;
    if (s->flat) {
        leaf flat = vec_list_leaf(v, id, vec_scalar_extent(v, rows));
        if (!vec_dense_value(v, t->node, &flat, 0, &axes, &value)) return false;
    }
    *x = vec_result_leaf(v, value, &axes, n_own, own);
    return true;
}

/* Own axes of the leaves inside of a part, as far as they are known at the start; room for the others. */
static bool kept_extents(vec *v, turns *t, part *p, extent **own) {
    for (uint32_t i = 0; i < t->initial.n; i++) {
        leaf x = t->initial.at[i];
        const extent *kept;
        uint32_t n = 0;
        while (n < x.n_own && !t->changes[axis_at(i, n)]) n++;
        own[i] = LOOM_NEW_ARRAY(v->scratch, extent, (size_t)x.n_own + 1);
        if (x.n_own) memcpy(own[i], x.own, x.n_own * sizeof *own[i]);
        x.n_own = n;
        if (!vec_part_extents(v, t->node, p, &x, &kept)) return false;
        if (n) memcpy(own[i], kept, n * sizeof *kept);
    }
    return true;
}

/* Gives slot j inside of a part, where its own axes are there. */
typedef bool (*slot_source)(vec *v, turns *t, part *p, uint32_t j, const extent *own, leaf *x);

/* The state inside of a part: lengths first, which are the axes of what comes behind. slots: NULL, or one each. */
static bool state_in_part(vec *v, turns *t, part *p, slot_source get, leaf *slots, val *state) {
    extent **own = LOOM_NEW_ARRAY(v->scratch, extent *, (size_t)t->initial.n + 1);
    leaf *at, x;
    val made = vec_leaves_of(v, t->initial.n, &at);
    if (!kept_extents(v, t, p, own)) return false;
    for (uint32_t j = 0; j < t->n_slots; j++) {
        const slot *s = &t->slots[j];
        for (uint32_t k = 0; k < own_axes(t, s); k++) {
            uint32_t owner = t->owner[axis_at(s->leaf, k)];
            if (t->changes[axis_at(s->leaf, k)]) own[s->leaf][k] = own[owner][k];
        }
        if (!get(v, t, p, j, own[s->leaf], &x)) return false;
        if (slots) slots[j] = x;
        if (s->lengths) {
            x.n_own = 0;
            own[s->leaf][s->level] = vec_count_extent(v, &x);
        } else {
            at[s->leaf] = x;
        }
    }
    *state = made;
    return true;
}

/* ---- before the loop ---- */

static uint64_t levels_of(const vec *v, const frame *f) {
    uint64_t mask = 0;
    for (uint32_t i = 0; f && i < f->n_nodes; i++) {
        for (uint32_t k = 0; k < f->vals[i].n; k++) mask |= vec_level_mask(v, &f->vals[i].at[k]);
    }
    return mask;
}

/* Levels that the loop has anything to do with: all elements of them are told apart. */
static bool find_points(vec *v, turns *t) {
    uint64_t mask = levels_of(v, t->for_body) | levels_of(v, t->for_test);
    for (uint32_t i = 0; i < t->initial.n; i++) mask |= vec_level_mask(v, &t->initial.at[i]);
    for (uint32_t i = 0; i < t->count.n; i++) mask |= vec_level_mask(v, &t->count.at[i]);
    return vec_all_points(v, t->node, mask, &t->all);
}

static bool is_flat(const vec *v, const turns *t, uint32_t leaf, uint32_t n_own) {
    const extent *own = t->initial.at[leaf].own;
    for (uint32_t k = 0; k < n_own; k++) {
        if (t->changes[axis_at(leaf, k)] || vec_is_segmented(v, own[k])) return true;
    }
    return false;
}

static void add_slot(vec *v, turns *t, uint32_t leaf, uint32_t level, bool lengths) {
    slot s = {.leaf = leaf, .level = level, .lengths = lengths};
    uint32_t n_own = own_axes(t, &s);
    for (uint32_t k = 0; k < n_own; k++) s.changes = s.changes || t->changes[axis_at(leaf, k)];
    s.stays = !lengths && n_own && !s.changes && t->roots[leaf] != ROOT_OTHER;
    s.flat = !s.stays && is_flat(v, t, leaf, n_own);
    s.at = s.stays ? LOOM_NONE : t->n_collected++;
    s.rows = s.flat ? t->n_states++ : LOOM_NONE;
    s.sum = s.changes ? t->n_states++ : LOOM_NONE;
    t->slots[t->n_slots++] = s;
}

static bool mark_change(turns *t, uint32_t leaf, uint32_t level) {
    bool *changes = &t->changes[axis_at(leaf, level)], new = !*changes;
    *changes = true;
    return new;
}

/* Rows inside of what changes differ in length, and change too; leaves that have the same lengths change together. */
static void spread_changes(const vec *v, turns *t) {
    bool more = true;
    while (more) {
        more = false;
        for (uint32_t i = 0; i < t->initial.n; i++) {
            const leaf *x = &t->initial.at[i];
            bool around = false;
            for (uint32_t k = 0; k < x->n_own; k++) {
                uint32_t owner = t->owner[axis_at(i, k)];
                bool inside = around && vec_is_segmented(v, x->own[k]);
                if (inside || t->changes[axis_at(owner, k)]) more = mark_change(t, i, k) || more;
                if (t->changes[axis_at(i, k)]) more = mark_change(t, owner, k) || more;
                around = around || t->changes[axis_at(i, k)];
            }
        }
    }
}

static void number_states(vec *v, turns *t) {
    uint32_t n = t->initial.n;
    spread_changes(v, t);
    t->slots = LOOM_NEW_ARRAY(v->scratch, slot, (size_t)n * (LOOM_MAX_DEPTH + 1) + 1);
    t->n_slots = t->n_collected = 0;
    t->n_states = 1;
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < t->initial.at[i].n_own; k++) {
            if (t->changes[axis_at(i, k)] && t->owner[axis_at(i, k)] == i) add_slot(v, t, i, k, true);
        }
        add_slot(v, t, i, 0, false);
    }
    t->numbers = t->n_states;
    t->first_slot = t->numbers + 1;
    t->n_states = t->first_slot + t->n_slots;
    t->before = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, t->n_states);
    t->state = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, t->n_states);
    t->next = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, t->n_states);
    t->collected = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)t->n_slots + 1);
}

/* Nothing has been collected. */
static bool start_sums(vec *v, turns *t) {
    leaf zero = vec_int_leaf(0);
    for (uint32_t j = 0; j < t->n_slots; j++) {
        const slot *s = &t->slots[j];
        if (s->changes && !vec_copy_value(v, t->node, &zero, 0, &t->before[s->sum])) return false;
    }
    return true;
}

static bool store_initial(vec *v, turns *t, part *p) {
    val seen;
    leaf number = vec_axis_leaf(v->levels[p->level].axis, p->level);
    if (!vec_copy_value(v, t->node, &number, UINT64_C(1) << p->level, &t->before[t->numbers])) return false;
    if (!start_sums(v, t) || !vec_part_see(v, t->node, p, &t->initial, &seen)) return false;
    for (uint32_t i = 0; i < seen.n; i++) {
        if (seen.at[i].kind == LEAF_BAD) return vec_refuse(v, t->node, "%s", seen.at[i].why);
    }
    for (uint32_t j = 0; j < t->n_slots; j++) {
        slot *s = &t->slots[j];
        if (s->stays && !vec_stay_start(v, t, s, &seen.at[s->leaf], p->level, &t->before[t->first_slot + j]))
            return false;
    }
    return store_all(v, t, &seen, p->level, t->before, t->before + t->first_slot);
}

static bool start(vec *v, turns *t) {
    leaf size = vec_extent_leaf(v, t->all.all), *at;
    val all = vec_leaves_of(v, 1, &at);
    part p;
    if (!vec_copy_value(v, t->node, &size, 0, &t->before[0])) return false;
    extent *own = LOOM_NEW(v->scratch, extent);
    *own = vec_scalar_extent(v, t->before[0]);
    at[0] = vec_axis_leaf(own->axis, 0);
    at[0].at = (source){FROM_OWN, IN_RANGE, 0};
    at[0].n_own = 1;
    at[0].own = own;
    if (!vec_part_enter(v, t->node, &t->all, &all, &p)) return false;
    bool ok = store_initial(v, t, &p);
    vec_part_leave(v, &p);
    return ok;
}

/* A value of the form of state s, whose extents are `values` where those of the state are `from`; what stays has its
 * own. */
static loom_lvalue_id value_like(vec *v, const turns *t, uint32_t s, const loom_lvalue_id *from,
                                 const loom_lvalue_id *values, loom_lsource source) {
    loom_lvalue like = v->l->values[from[s]];
    loom_axis_id axes[LOOM_MAX_DEPTH + 1];
    bool stays = s >= t->first_slot && t->slots[s - t->first_slot].stays;
    for (uint32_t k = 0; k < like.n_axes && !stays; k++) {
        axes[k] = like.axes[k];
        const loom_axis *a = &v->l->axes[axes[k]];
        for (uint32_t i = 0; i < t->numbers && a->kind == LOOM_AXIS_SCALAR; i++) {
            if (a->value != from[i]) continue;
            axes[k] = vec_scalar_extent(v, values[i]).axis;
            break;
        }
    }
    if (!stays) like.axes = axes;
    like.source = source;
    like.op = source == LOOM_LV_OP ? v->l->n_ops : LOOM_NONE;
    return loom_lifted_value(v->l, like);
}

/* ---- a turn ---- */

static bool any_turns(vec *v, turns *t) {
    leaf k = value_leaf(v, t->state[0], 0, NULL), none = vec_int_leaf(0), some;
    return vec_scalar_prim(v, t->node, LOOM_PRIM_GT, &k, &none, &some) &&
           vec_canonical(v, t->node, &some, 0, &t->go_on);
}

/* Whether the element goes on. */
static bool lift_test(vec *v, turns *t, part *p, const val *states, leaf *flag) {
    val made;
    frame *inside;
    if (!t->test) {
        leaf turn = value_leaf(v, t->counter, 0, NULL);
        return vec_part_see(v, t->node, p, &t->count, &made) &&
               vec_scalar_prim(v, t->node, LOOM_PRIM_LT, &turn, &made.at[0], flag);
    }
    if (!vec_part_frame(v, t->node, p, t->for_test, &inside)) return false;
    if (!vec_lift_body(v, t->test, states, inside, &made)) return false;
    *flag = made.at[0];
    return true;
}

/* The row of what stays, of the element of the part, whose elements have these numbers. */
static bool row_of_stayed(vec *v, turns *t, part *p, const leaf *numbers, uint32_t j, const extent *own, leaf *x) {
    leaf whole = vec_stay_whole(&t->slots[j], t->state[t->first_slot + j]), row = vec_bind_level(v, numbers, p->level);
    return vec_row_of(v, t->node, &whole, &row, own, x);
}

static bool slot_of_state(vec *v, turns *t, part *p, uint32_t j, const extent *own, leaf *x) {
    const slot *s = &t->slots[j];
    if (s->stays) return row_of_stayed(v, t, p, &t->number, j, own, x);
    loom_lvalue_id rows = s->flat ? t->state[s->rows] : LOOM_NONE;
    return restore(v, t, s, t->state[t->first_slot + j], rows, p->level, own, x);
}

static bool look_at_states(vec *v, turns *t, part *p, leaf *flags) {
    leaf *arrays, flag;
    val here;
    uint64_t level = UINT64_C(1) << p->level;
    t->arrays = vec_leaves_of(v, t->n_slots, &arrays);
    if (!state_in_part(v, t, p, slot_of_state, arrays, &here)) return false;
    for (uint32_t j = 0; j < t->n_slots; j++) {
        if (!t->slots[j].stays) arrays[j] = vec_unbind_level(v, &arrays[j], p->level, t->turning);
    }
    if (!lift_test(v, t, p, &here, &flag)) return false;
    if (flag.kind == LEAF_BAD) return vec_refuse(v, t->node, "%s", flag.why);
    /* Under a map that may be empty, a loop that has nothing to do with it must not turn. */
    if (!vec_guard_flag(v, t->node, level, level, &flag)) return false;
    *flags = vec_unbind_level(v, &flag, p->level, t->turning);
    return true;
}

/* Those that end here. */
static bool find_ended(vec *v, turns *t, const leaf *flags, const leaf *place, const leaf *count) {
    val numbers = {1, &t->number};
    leaf rest, turning = vec_extent_leaf(v, t->turning);
    return vec_scalar_prim(v, t->node, LOOM_PRIM_SUB, &turning, count, &rest) &&
           vec_lift_chosen(v, t->node, flags, place, false, t->turning, vec_count_extent(v, &rest), &t->ended) &&
           vec_lift_choice(v, t->node, &numbers, &t->ended, &t->ended_numbers);
}

/* Which elements end here, and which go on. */
static bool tell_apart(vec *v, turns *t) {
    val numbers = {1, &t->number};
    part p;
    leaf flags, place, count;
    if (!vec_part_enter(v, t->node, &t->all, &numbers, &p)) return false;
    bool ok = look_at_states(v, t, &p, &flags);
    vec_part_leave(v, &p);
    if (!ok || !vec_lift_places(v, t->node, &flags, t->turning, &place, &count)) return false;
    if (!vec_copy_value(v, t->node, &count, 0, &t->next[0])) return false;
    t->n_others = vec_scalar_extent(v, t->next[0]);
    return vec_lift_chosen(v, t->node, &flags, &place, true, t->turning, t->n_others, &t->others) &&
           vec_lift_choice(v, t->node, &numbers, &t->others, &t->other_numbers) &&
           (!t->n_collected || find_ended(v, t, &flags, &place, &count));
}

typedef struct row_read {
    leaf array, row;
    const extent *own;
} row_read;

static bool build_row(vec *v, void *argument, val *result) {
    row_read *r = argument;
    loom_lexpr_id e;
    leaf *at;
    if (!vec_to_expr(v, &r->row, &e)) return false;
    *result = vec_leaves_of(v, 1, &at);
    at[0] = vec_drop_own(v, &r->array, (index_step){.at = e, .site = LOOM_NONE});
    at[0].own = r->own;
    return true;
}

bool vec_row_of(vec *v, const loom_node *n, const leaf *array, const leaf *row, const extent *own, leaf *x) {
    row_read r = {.array = *array, .row = *row, .own = own};
    val one;
    if (!vec_emit_compute(v, n, build_row, &r, &one)) return false;
    *x = one.at[0];
    return true;
}

/* Slots of the elements of the part, which stand at `places` of the turn's. */
static bool slot_at(vec *v, turns *t, part *p, const val *places, uint32_t j, const extent *own, leaf *x) {
    leaf row = vec_bind_level(v, &places->at[0], p->level);
    return vec_row_of(v, t->node, &t->arrays.at[j], &row, own, x);
}

/* What nobody asks for. */
static bool slot_unseen(const turns *t, uint32_t j, leaf *x) {
    const leaf *like = &t->initial.at[t->slots[j].leaf];
    *x = (leaf){.kind = LEAF_BAD, .dtype = like->dtype, .why = "a state that stays where it is", .site = LOOM_NONE};
    return true;
}

static bool slot_of_ended(vec *v, turns *t, part *p, uint32_t j, const extent *own, leaf *x) {
    return t->slots[j].stays ? slot_unseen(t, j, x) : slot_at(v, t, p, &t->ended, j, own, x);
}

static bool slot_of_others(vec *v, turns *t, part *p, uint32_t j, const extent *own, leaf *x) {
    if (t->slots[j].stays) return row_of_stayed(v, t, p, &t->other_numbers.at[0], j, own, x);
    return slot_at(v, t, p, &t->others, j, own, x);
}

/* More elements have been collected. */
static bool add_to_sums(vec *v, turns *t, const loom_lvalue_id *rows) {
    for (uint32_t j = 0; j < t->n_slots; j++) {
        const slot *s = &t->slots[j];
        if (!s->changes) continue;
        leaf sum = value_leaf(v, t->state[s->sum], 0, NULL), more = value_leaf(v, rows[s->rows], 0, NULL);
        if (!vec_scalar_prim(v, t->node, LOOM_PRIM_ADD, &sum, &more, &sum)) return false;
        if (!vec_copy_value(v, t->node, &sum, 0, &t->next[s->sum])) return false;
    }
    return true;
}

static bool collect(vec *v, turns *t, part *p) {
    loom_lvalue_id *rows = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, t->n_states),
                   *stored = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)t->n_slots + 1);
    val states;
    if (!state_in_part(v, t, p, slot_of_ended, NULL, &states)) return false;
    if (!store_all(v, t, &states, p->level, rows, stored)) return false;
    for (uint32_t j = 0; j < t->n_slots; j++) {
        if (!t->slots[j].stays) t->collected[1 + t->slots[j].at] = stored[j];
    }
    return add_to_sums(v, t, rows) && vec_copy_value(v, t->node, &t->ended_numbers.at[0], 0, &t->collected[0]);
}

/* Own axis k of a next state, against what was taken to be so. A leaf that differs from its owner along k is its own
 * from there on. Of three leaves a, b and c that begin alike, if b changes otherwise than a and c do, c still names a
 * for k; and where c names b for an axis inside of it, that is compared with b's too, whose lengths are of other rows
 * then: so it is c's own in the next try (tests/programs/loops_of_three_states.weft). */
static void compare_axis(vec *v, turns *t, const val *next, const leaf *before, uint32_t i, uint32_t k) {
    size_t at = axis_at(i, k);
    extent e = next->at[i].own[k];
    uint32_t owner = t->owner[at];
    bool known = !vec_is_unknown(e);
    if (!t->changes[at] && !(known && vec_known_equal(v, e, before->own[k]))) t->changes[at] = t->grown = true;
    if (owner == i || !t->changes[at]) return;
    if (!known || !vec_known_equal(v, e, next->at[owner].own[k])) {
        for (uint32_t l = k; l < LOOM_MAX_DEPTH; l++) t->owner[axis_at(i, l)] = i;
        t->grown = true;
    }
}

/* The next state, as far as its shape is that of the one before with the very same axes. */
static bool check_next(vec *v, turns *t, const val *before, val *next) {
    leaf *at;
    val made = vec_leaves_of(v, next->n, &at);
    for (uint32_t i = 0; i < next->n; i++) {
        if (next->at[i].kind == LEAF_BAD) return vec_refuse(v, t->node, "%s", next->at[i].why);
        at[i] = next->at[i];
        for (uint32_t k = 0; k < at[i].n_own; k++) {
            if (vec_is_unknown(at[i].own[k])) return vec_refuse(v, t->node, "an inner extent that is not known here");
            compare_axis(v, t, next, &before->at[i], i, k);
            if (!t->changes[axis_at(i, k)]) at[i] = vec_with_own(v, &at[i], k, before->at[i].own[k]);
        }
    }
    *next = made;
    return true;
}

/* What the others make of the states that stay. */
static bool put_next(vec *v, turns *t, part *p, const val *next) {
    leaf number = vec_bind_level(v, &t->other_numbers.at[0], p->level);
    for (uint32_t j = 0; j < t->n_slots; j++) {
        const slot *s = &t->slots[j];
        uint32_t at = t->first_slot + j;
        if (!s->stays) continue;
        t->next[at] = t->state[at];
        if (t->roots[s->leaf] == ROOT_SAME) continue;
        if (!vec_stay_next(v, t, s, t->state[at], &next->at[s->leaf], &number, p->level, &t->next[at])) return false;
    }
    return true;
}

static bool turn_others(vec *v, turns *t, part *p) {
    val args[2], next;
    leaf *at;
    frame *inside;
    args[0] = vec_leaves_of(v, 1, &at);
    if (!t->test) at[0] = value_leaf(v, t->counter, 0, NULL);
    if (!state_in_part(v, t, p, slot_of_others, NULL, &args[1])) return false;
    if (!vec_part_frame(v, t->node, p, t->for_body, &inside)) return false;
    if (!vec_lift_body(v, t->body, t->test ? &args[1] : args, inside, &next)) return false;
    if (!check_next(v, t, &args[1], &next)) return false;
    return t->grown || (store_all(v, t, &next, p->level, t->next, t->next + t->first_slot) && put_next(v, t, p, &next));
}

static bool in_part(vec *v, turns *t, const val *numbers, bool (*f)(vec *v, turns *t, part *p)) {
    part p;
    if (!vec_part_enter(v, t->node, &t->all, numbers, &p)) return false;
    bool ok = f(v, t, &p);
    vec_part_leave(v, &p);
    return ok;
}

static bool make_turn(vec *v, turns *t) {
    if (!any_turns(v, t) || !tell_apart(v, t)) return false;
    return (!t->n_collected || in_part(v, t, &t->ended_numbers, collect)) &&
           in_part(v, t, &t->other_numbers, turn_others) &&
           vec_copy_value(v, t->node, &t->other_numbers.at[0], 0, &t->next[t->numbers]);
}

static bool make_turns(vec *v, turns *t) {
    mark m = vec_mark_here(v);
    t->first = v->l->n_ops;
    t->counter = LOOM_NONE;
    vec_open_inner(v);
    for (uint32_t s = 0; s < t->n_states; s++) t->state[s] = value_like(v, t, s, t->before, t->state, LOOM_LV_STATE);
    if (!t->test) {
        t->counter =
            loom_lifted_value(v->l, (loom_lvalue){.dtype = LOOM_I64, .source = LOOM_LV_STATE, .op = LOOM_NONE});
    }
    t->turning = vec_scalar_extent(v, t->state[0]);
    t->number = vec_list_leaf(v, t->state[t->numbers], t->turning);
    bool ok = make_turn(v, t);
    vec_close_inner(v, m);
    return ok;
}

/* All elements end: what was collected is as much as there was before, where shapes are kept, and else the sum. */
static loom_lvalue_id *sizes_at_end(vec *v, const turns *t) {
    loom_lvalue_id *sizes = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, t->n_states);
    memcpy(sizes, t->before, t->n_states * sizeof *sizes);
    for (uint32_t j = 0; j < t->n_slots; j++) {
        const slot *s = &t->slots[j];
        if (s->changes) sizes[s->rows] = t->results[s->sum];
    }
    return sizes;
}

static void add_loop(vec *v, turns *t) {
    uint32_t n = t->n_collected ? t->n_collected + 1 : 0; /* numbers, then slots */
    op_axes none = {.n = 0};
    loom_lop op = vec_plain_op(v, t->node, LOOM_LO_LOOP, &none);
    t->results = LOOM_NEW_ARRAY(v->scratch, loom_lvalue_id, (size_t)t->n_states + n);
    for (uint32_t s = 0; s < t->n_states; s++) t->results[s] = value_like(v, t, s, t->before, t->results, LOOM_LV_OP);
    loom_lvalue_id *sizes = sizes_at_end(v, t);
    if (n) t->results[t->n_states] = value_like(v, t, t->numbers, t->before, sizes, LOOM_LV_OP);
    for (uint32_t j = 0; j < t->n_slots; j++) {
        const slot *s = &t->slots[j];
        if (s->stays) continue;
        t->results[t->n_states + 1 + s->at] = value_like(v, t, t->first_slot + j, t->before, sizes, LOOM_LV_OP);
    }
    op.n_results = t->n_states + n;
    op.results = t->results;
    op.n_states = t->n_states;
    op.initial = t->before;
    op.state = t->state;
    op.next = t->next;
    op.n_collected = n;
    op.collected = t->collected;
    op.counter = t->counter;
    op.test = t->go_on;
    op.inner_first = t->first;
    op.inner_end = v->l->n_ops;
    loom_lifted_op(v->l, op);
}

/* ---- after the loop ---- */

typedef struct return_to {
    turns *turns;
    part part;
    leaf place, number; /* of the element among those that ended; of all */
    val ends;           /* over the elements in the order in which they ended */
} return_to;

static bool slot_of_ends(vec *v, turns *t, part *p, uint32_t j, const extent *own, leaf *x) {
    const slot *s = &t->slots[j];
    if (s->stays) return slot_unseen(t, j, x);
    loom_lvalue_id rows = !s->flat ? LOOM_NONE : s->changes ? t->results[s->sum] : t->before[s->rows];
    return restore(v, t, s, t->results[t->n_states + 1 + s->at], rows, p->level, own, x);
}

static bool build_ends(vec *v, void *argument, val *result) {
    return_to *r = argument;
    const turns *t = r->turns;
    loom_lexpr_id place = LOOM_NONE, number = LOOM_NONE;
    leaf *at;
    if (t->n_collected && !vec_to_expr(v, &r->place, &place)) return false;
    if (t->n_collected < t->n_slots && !vec_to_expr(v, &r->number, &number)) return false;
    *result = vec_leaves_of(v, t->initial.n, &at);
    for (uint32_t j = 0; j < t->n_slots; j++) {
        const slot *s = &t->slots[j];
        uint32_t i = s->leaf;
        if (s->lengths) continue;
        leaf whole = s->stays ? vec_stay_whole(s, t->results[t->first_slot + j]) : r->ends.at[i];
        at[i] = s->stays ? vec_drop_own(v, &whole, (index_step){.at = number, .site = LOOM_NONE})
                         : vec_part_leaf(v, &r->part, &whole, place, IN_RANGE);
        if (!s->changes) at[i].own = t->initial.at[i].own;
    }
    return true;
}

/* What was collected, and its places. */
static bool order_ends(vec *v, turns *t, return_to *r) {
    extent size = vec_scalar_extent(v, t->before[0]);
    leaf *at;
    val numbers = vec_leaves_of(v, 1, &at), places;
    at[0] = vec_list_leaf(v, t->results[t->n_states], size);
    if (!vec_lift_compaction(v, t->node, &numbers, size, size, &places)) return false;
    if (!vec_points_scalar(v, t->node, &t->all, &places.at[0], &r->place)) return false;
    if (!vec_part_enter(v, t->node, &t->all, &numbers, &r->part)) return false;
    bool ok = state_in_part(v, t, &r->part, slot_of_ends, NULL, &r->ends);
    vec_part_leave(v, &r->part);
    return ok;
}

static bool put_in_order(vec *v, turns *t, val *result) {
    return_to r = {.turns = t};
    extent *all = LOOM_NEW(v->scratch, extent);
    *all = t->all.all;
    leaf numbers = vec_axis_leaf(all->axis, 0);
    numbers.at = (source){FROM_OWN, IN_RANGE, 0};
    numbers.n_own = 1;
    numbers.own = all;
    if (t->n_collected < t->n_slots && !vec_points_scalar(v, t->node, &t->all, &numbers, &r.number)) return false;
    return (!t->n_collected || order_ends(v, t, &r)) && vec_emit_compute(v, t->node, build_ends, &r, result);
}

static bool same_shape(const vec *v, const leaf *a, const leaf *b, uint32_t k) {
    bool same = a->n_own > k;
    for (uint32_t l = 0; same && l <= k; l++) same = vec_same_extent(v, a->own[l], b->own[l]);
    return same;
}

/* All shapes are kept, and leaves with the same shape keep the same, until it is seen otherwise. */
static bool take_shapes(vec *v, turns *t) {
    size_t n = (size_t)t->initial.n * LOOM_MAX_DEPTH + 1;
    t->changes = LOOM_NEW_ARRAY(v->scratch, bool, n);
    t->owner = LOOM_NEW_ARRAY(v->scratch, uint32_t, n);
    for (uint32_t i = 0; i < t->initial.n; i++) {
        const leaf *x = &t->initial.at[i];
        for (uint32_t k = 0; k < x->n_own; k++) {
            uint32_t owner = 0;
            if (!vec_is_settled(v, x->own[k])) return vec_refuse(v, t->node, "an inner extent that is not known here");
            while (!same_shape(v, &t->initial.at[owner], x, k)) owner++; /* itself at the latest */
            t->owner[axis_at(i, k)] = owner;
        }
    }
    return true;
}

static bool try_turns(vec *v, turns *t) {
    t->grown = false;
    number_states(v, t);
    return start(v, t) && make_turns(v, t);
}

bool vec_lift_turns(vec *v, frame *f, const loom_node *n, const val *initial, val *result) {
    bool counted = n->op == LOOM_OP_LOOP_FOR;
    turns t = {.node = n, .initial = *initial};
    t.body = loom_node_body(v->p, n, counted ? 0 : 1);
    t.for_body = vec_outer_values(v, t.body, f);
    if (counted) {
        if (!vec_operand(v, f, n, 0, &t.count)) return false;
    } else {
        t.test = loom_node_body(v->p, n, 0);
        t.for_test = vec_outer_values(v, t.test, f);
    }
    t.roots = vec_state_roots(v, t.body, counted ? 1 : 0, initial->n);
    if (!take_shapes(v, &t) || !find_points(v, &t)) return false;
    mark m = vec_mark_here(v);
    do {
        vec_roll_back(v, m);
        if (!try_turns(v, &t)) return false;
    } while (t.grown);
    add_loop(v, &t);
    return put_in_order(v, &t, result);
}
