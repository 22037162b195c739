/* Types as terms with variables; unification.
 *
 * A variable stands for any type, or (mask) for one scalar type of a set: the type of an integer literal is a variable
 * whose set is all numbers. Unifying two variables intersects their sets; a set of one is that type. A variable that
 * may not become a sequence hands this on to what it is bound to.
 */
#include "common/value.h"
#include "elab.h"
#include <string.h>

void loom_syn_step(syn_elab *e) {
    if (++e->steps > LOOM_SYN_MAX_STEPS) {
        if (e->covering) {
            loom_syn_limit(e, LOOM_W_STEPS, e->covering->span, "end it with `case _ -> ...`",
                           "checking took more than %u steps: whether the cases of this `match` cover everything",
                           LOOM_SYN_MAX_STEPS);
        }
        loom_syn_limit(e, LOOM_W_STEPS, e->at, LOOM_SYN_GROWTH_HINT,
                       "checking took more than %u steps: the text expands to too much", LOOM_SYN_MAX_STEPS);
    }
}

/* ---- making ---- */

static syn_ty *new_ty(syn_elab *e, syn_ty_kind kind) {
    loom_syn_step(e);
    syn_ty *t = LOOM_NEW(e->arena, syn_ty);
    t->kind = kind;
    t->leaves = 1;
    t->height = 1;
    return t;
}

void loom_syn_types_init(syn_elab *e) {
    for (loom_dtype d = 0; d < LOOM_DTYPES; d++) {
        e->scalars[d] = new_ty(e, TY_SCALAR);
        e->scalars[d]->dtype = d;
    }
    e->poison = new_ty(e, TY_POISON);
    e->ready_end = &e->ready;
}

syn_ty *loom_syn_ty_var(syn_elab *e, syn_mask mask) {
    syn_ty *t = new_ty(e, TY_VAR);
    t->mask = mask;
    return t;
}

#define FLATTEN_HINT "`flatten` makes one array of an array of arrays"

static void check_size(syn_elab *e, const syn_ty *t) {
    if (t->n > LOOM_MAX_TUPLE) {
        loom_syn_limit(e, LOOM_W_TYPE_SIZE, e->at, "what is more of the same is an array",
                       "a tuple of more than %d components", LOOM_MAX_TUPLE);
    }
    if (t->leaves > LOOM_SYN_MAX_LEAVES) {
        loom_syn_limit(e, LOOM_W_TYPE_SIZE, e->at, "what is more of the same is an array",
                       "a type of more than %u scalars", LOOM_SYN_MAX_LEAVES);
    }
    if (t->height > LOOM_MAX_TYPE_NESTING) {
        loom_syn_limit(e, LOOM_W_TYPE_DEPTH, e->at, FLATTEN_HINT, "a type nested more than %d levels deep",
                       LOOM_MAX_TYPE_NESTING);
    }
}

syn_ty *loom_syn_ty_array(syn_elab *e, syn_ty *element) {
    syn_ty *t = new_ty(e, TY_ARRAY);
    t->element = element;
    t->leaves = loom_syn_ty(element)->leaves;
    t->height = loom_syn_ty(element)->height + 1;
    check_size(e, t);
    return t;
}

syn_ty *loom_syn_ty_arrays(syn_elab *e, syn_ty *element, uint32_t depth) {
    for (uint32_t i = 0; i < depth; i++) element = loom_syn_ty_array(e, element);
    return element;
}

syn_ty *loom_syn_ty_seq(syn_elab *e, syn_ty *element) {
    syn_ty *t = loom_syn_ty_array(e, element);
    t->kind = TY_SEQ;
    return t;
}

syn_ty *loom_syn_ty_tuple(syn_elab *e, uint32_t n, syn_ty **fields) {
    syn_ty *t = new_ty(e, TY_TUPLE);
    t->n = n;
    t->fields = LOOM_NEW_ARRAY(e->arena, syn_ty *, n ? n : 1);
    t->leaves = n ? 0 : 1;
    for (uint32_t i = 0; i < n; i++) {
        t->fields[i] = fields[i];
        const syn_ty *f = loom_syn_ty(fields[i]);
        t->leaves += f->leaves;
        if (f->height >= t->height) t->height = f->height + 1;
    }
    check_size(e, t);
    return t;
}

/* Are these the names of the shape? Leaves the place of each in its `place`. */
static bool same_names(syn_elab *e, const syn_shape *shape, uint32_t n, syn_name **names) {
    if (shape->n != n) return false;
    uint32_t stamp = ++e->c->stamp;
    for (uint32_t i = 0; i < n; i++) {
        shape->names[i]->stamp = stamp;
        shape->names[i]->place = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (names[i]->stamp != stamp) return false;
    }
    return true;
}

const syn_shape *loom_syn_shape(syn_elab *e, uint32_t n, syn_name **names, uint32_t *place) {
    uint32_t hash = n;
    for (uint32_t i = 0; i < n; i++) hash += names[i]->hash;
    syn_shape *shape = e->shapes[hash % 64];
    while (shape && (loom_syn_step(e), shape->hash != hash || !same_names(e, shape, n, names))) shape = shape->next;
    if (!shape) {
        shape = LOOM_NEW(e->arena, syn_shape);
        *shape = (syn_shape){.n = n, .hash = hash, .names = names, .next = e->shapes[hash % 64]};
        e->shapes[hash % 64] = shape;
        for (uint32_t i = 0; i < n; i++) names[i]->place = i;
    }
    for (uint32_t i = 0; i < n && place; i++) place[i] = names[i]->place;
    return shape;
}

syn_ty *loom_syn_ty_record(syn_elab *e, uint32_t n, syn_name **names, syn_ty **fields, uint32_t *place) {
    if (n == 0) return loom_syn_ty_tuple(e, 0, NULL);
    uint32_t *to = place ? place : LOOM_NEW_ARRAY(e->arena, uint32_t, n);
    const syn_shape *shape = loom_syn_shape(e, n, names, to);
    syn_ty **ordered = LOOM_NEW_ARRAY(e->arena, syn_ty *, n);
    for (uint32_t i = 0; i < n; i++) ordered[to[i]] = fields[i];
    syn_ty *t = loom_syn_ty_tuple(e, n, ordered);
    t->shape = shape;
    return t;
}

/* ---- looking ---- */

/* Variables can be bound so that a type grows beyond what was checked when its parts were made. */
static void go_deeper(syn_elab *e) {
    loom_syn_step(e);
    if (++e->type_depth > 2 * LOOM_MAX_TYPE_NESTING) {
        loom_syn_limit(e, LOOM_W_TYPE_DEPTH, e->at, FLATTEN_HINT, "a type nested more than %d levels deep",
                       LOOM_MAX_TYPE_NESTING);
    }
}

syn_ty *loom_syn_ty(syn_ty *t) {
    while (t->kind == TY_VAR && t->link) {
        if (t->link->kind == TY_VAR && t->link->link) t->link = t->link->link;
        t = t->link;
    }
    return t;
}

bool loom_syn_is_poison(syn_ty *t) {
    return loom_syn_ty(t)->kind == TY_POISON;
}

/* Walks the parts of a type; stops at the first for which `found` is true. */
static bool any_part(syn_elab *e, syn_ty *t, bool (*found)(const syn_ty *t, const void *with), const void *with) {
    go_deeper(e);
    t = loom_syn_ty(t);
    bool is_there = found(t, with);
    if (t->kind == TY_ARRAY || t->kind == TY_SEQ) is_there = is_there || any_part(e, t->element, found, with);
    for (uint32_t i = 0; t->kind == TY_TUPLE && i < t->n && !is_there; i++) {
        is_there = any_part(e, t->fields[i], found, with);
    }
    e->type_depth--;
    return is_there;
}

static bool is_open(const syn_ty *t, const void *with) {
    (void)with;
    return t->kind == TY_VAR || t->kind == TY_POISON;
}

static bool is_told(const syn_ty *t, const void *with) {
    (void)with;
    return t->kind == TY_POISON;
}

static bool is_seq(const syn_ty *t, const void *with) {
    (void)with;
    return t->kind == TY_SEQ;
}

bool loom_syn_ground(syn_elab *e, syn_ty *t) {
    return !any_part(e, t, is_open, NULL);
}

bool loom_syn_has_poison(syn_elab *e, syn_ty *t) {
    return any_part(e, t, is_told, NULL);
}

bool loom_syn_has_seq(syn_elab *e, syn_ty *t) {
    return any_part(e, t, is_seq, NULL);
}

uint32_t loom_syn_rank(syn_ty *t, syn_ty **leaf) {
    uint32_t rank = 0;
    for (t = loom_syn_ty(t); t->kind == TY_ARRAY && rank <= LOOM_MAX_TYPE_NESTING; t = loom_syn_ty(t->element)) rank++;
    if (leaf) *leaf = t;
    return rank;
}

/* ---- unification ---- */

static bool is_same(const syn_ty *t, const void *with) {
    return t == with;
}

static bool occurs(syn_elab *e, const syn_ty *var, syn_ty *t) {
    return any_part(e, t, is_same, var);
}

static void wake(syn_elab *e, syn_constraint *watch) {
    for (syn_constraint *c = watch; c; c = c->next_watch) {
        if (c->queued || c->done) continue;
        c->queued = true;
        c->next_ready = NULL;
        *e->ready_end = c;
        e->ready_end = &c->next_ready;
    }
}

static void join_watches(syn_ty *into, syn_ty *from) {
    if (!from->watch) return;
    *from->watch_end = into->watch;
    if (!into->watch) into->watch_end = from->watch_end;
    into->watch = from->watch;
    from->watch = NULL;
}

static bool bind(syn_elab *e, syn_ty *var, syn_ty *t) {
    if (t->kind == TY_POISON) {
        var->link = t;
        wake(e, var->watch);
        return true;
    }
    if (var->mask && (t->kind != TY_SCALAR || !(var->mask & SYN_BIT(t->dtype)))) return false;
    if (t->kind != TY_SCALAR && occurs(e, var, t)) return false;
    if (var->no_seq && !loom_syn_forbid_seq(e, t)) return false;
    var->link = t;
    wake(e, var->watch);
    return true;
}

static bool settle_mask(syn_elab *e, syn_ty *var, syn_mask mask) {
    if (mask == 0) return false;
    bool changed = mask != var->mask;
    var->mask = mask;
    if ((mask & (mask - 1)) == 0) {
        loom_dtype d = 0;
        while (!(mask & SYN_BIT(d))) d++;
        return bind(e, var, e->scalars[d]);
    }
    if (changed) wake(e, var->watch);
    return true;
}

static bool join_vars(syn_elab *e, syn_ty *a, syn_ty *b) {
    syn_mask mask = a->mask && b->mask ? a->mask & b->mask : a->mask | b->mask;
    if (a->mask && b->mask && mask == 0) return false;
    a->no_seq = a->no_seq || b->no_seq;
    if (b->literal > a->literal) a->literal = b->literal;
    a->counter = a->counter || b->counter;
    join_watches(a, b);
    b->link = a;
    return mask == a->mask || settle_mask(e, a, mask);
}

static bool unify(syn_elab *e, syn_ty *a, syn_ty *b);

static bool unify_parts(syn_elab *e, syn_ty *a, syn_ty *b) {
    if (a->kind == TY_SCALAR) return a->dtype == b->dtype;
    if (a->kind == TY_ARRAY || a->kind == TY_SEQ) return unify(e, a->element, b->element);
    if (a->n != b->n || a->shape != b->shape) return false;
    for (uint32_t i = 0; i < a->n; i++) {
        if (!unify(e, a->fields[i], b->fields[i])) return false;
    }
    return true;
}

static bool unify(syn_elab *e, syn_ty *a, syn_ty *b) {
    a = loom_syn_ty(a);
    b = loom_syn_ty(b);
    if (a == b) return true;
    if (a->kind == TY_VAR && b->kind == TY_VAR) return join_vars(e, a, b);
    if (a->kind == TY_VAR) return bind(e, a, b);
    if (b->kind == TY_VAR) return bind(e, b, a);
    if (a->kind == TY_POISON || b->kind == TY_POISON) return true;
    if (a->kind != b->kind) return false;
    go_deeper(e);
    bool same = unify_parts(e, a, b);
    e->type_depth--;
    return same;
}

static void drain(syn_elab *e) {
    if (e->draining) return;
    e->draining = true;
    while (e->ready) {
        loom_syn_step(e);
        syn_constraint *c = e->ready;
        e->ready = c->next_ready;
        if (!e->ready) e->ready_end = &e->ready;
        c->queued = false;
        if (!c->done) c->done = loom_syn_try_constraint(e, c);
        if (!c->done) loom_syn_watch_again(e, c);
    }
    e->draining = false;
}

bool loom_syn_unify(syn_elab *e, syn_ty *a, syn_ty *b) {
    bool same = unify(e, a, b);
    drain(e);
    return same;
}

bool loom_syn_restrict(syn_elab *e, syn_ty *t, syn_mask mask) {
    t = loom_syn_ty(t);
    bool possible = true;
    if (t->kind == TY_VAR) {
        possible = settle_mask(e, t, t->mask ? t->mask & mask : mask);
    } else if (t->kind != TY_POISON) {
        possible = t->kind == TY_SCALAR && (mask & SYN_BIT(t->dtype));
    }
    drain(e);
    return possible;
}

bool loom_syn_forbid_seq(syn_elab *e, syn_ty *t) {
    go_deeper(e);
    t = loom_syn_ty(t);
    bool free = t->kind != TY_SEQ;
    if (t->kind == TY_VAR) t->no_seq = true;
    if (t->kind == TY_ARRAY) free = loom_syn_forbid_seq(e, t->element);
    for (uint32_t i = 0; t->kind == TY_TUPLE && i < t->n; i++) free = loom_syn_forbid_seq(e, t->fields[i]) && free;
    e->type_depth--;
    return free;
}

/* ---- text and core types ---- */

const char *loom_syn_mask_text(syn_mask mask) {
    if (mask == 0) return "a type not known yet";
    if ((mask & ~SYN_COMPLEX) == 0) return "a complex number";
    if ((mask & ~SYN_FLOATS) == 0) return "a float";
    if ((mask & ~SYN_INTEGERS) == 0) return "an integer";
    if ((mask & ~(SYN_FLOATS | SYN_COMPLEX)) == 0) return "a float or complex number";
    if ((mask & ~SYN_REALS) == 0) return "an integer or float";
    if ((mask & ~SYN_NUMBERS) == 0) return "a number";
    if ((mask & SYN_COMPLEX) == 0) return "an integer, float or bool";
    return "a scalar";
}

typedef struct text {
    char at[400];
    size_t n;
} text;

static void add(text *w, const char *part) {
    for (; *part && w->n < sizeof w->at - 4; part++) w->at[w->n++] = *part;
    if (*part) memcpy(w->at + sizeof w->at - 4, "...", 4);
}

static void write_ty(text *w, syn_ty *t, bool inside) {
    t = loom_syn_ty(t);
    if (w->n >= sizeof w->at - 4) return; /* each level writes something, so this bounds the depth as well */
    switch (t->kind) {
    case TY_VAR:
        add(w, inside ? "<" : "");
        add(w, t->mask ? loom_syn_mask_text(t->mask) : inside ? "?" : "a type not known yet");
        add(w, inside ? ">" : "");
        return;
    case TY_SCALAR: add(w, loom_dtype_name(t->dtype)); return;
    case TY_POISON: add(w, "?"); return;
    case TY_ARRAY:
        add(w, "[]");
        write_ty(w, t->element, true);
        return;
    case TY_SEQ:
        add(w, "seq (");
        write_ty(w, t->element, true);
        add(w, ")");
        return;
    case TY_TUPLE: break;
    }
    add(w, t->shape ? "{" : "(");
    for (uint32_t i = 0; i < t->n; i++) {
        if (i) add(w, ", ");
        if (t->shape) add(w, t->shape->names[i]->text);
        if (t->shape) add(w, ": ");
        write_ty(w, t->fields[i], true);
    }
    add(w, t->shape ? "}" : ")");
}

const char *loom_syn_ty_text(syn_elab *e, syn_ty *t) {
    text w = {.n = 0};
    write_ty(&w, t, false);
    return loom_arena_strdup(e->arena, w.at);
}

static loom_type_id core_tuple(syn_elab *e, const syn_ty *t) {
    loom_type_id *fields = LOOM_NEW_ARRAY(e->arena, loom_type_id, t->n ? t->n : 1);
    const char **names = t->shape ? LOOM_NEW_ARRAY(e->arena, const char *, t->n ? t->n : 1) : NULL;
    for (uint32_t i = 0; i < t->n; i++) {
        fields[i] = loom_syn_core_type(e, t->fields[i]);
        if (names) names[i] = t->shape->names[i]->text;
    }
    return loom_type_tuple(e->program, t->n, fields, names);
}

loom_type_id loom_syn_core_type(syn_elab *e, syn_ty *t) {
    go_deeper(e);
    t = loom_syn_ty(t);
    loom_type_id id = 0;
    switch (t->kind) {
    case TY_SCALAR: id = loom_type_scalar(e->program, t->dtype); break;
    case TY_ARRAY: id = loom_type_array(e->program, loom_syn_core_type(e, t->element)); break;
    case TY_SEQ: id = loom_type_seq(e->program, loom_syn_core_type(e, t->element)); break;
    case TY_TUPLE: id = core_tuple(e, t); break;
    default: id = loom_type_scalar(e->program, LOOM_BOOL); break; /* after an error; never emitted */
    }
    if (loom_type_levels(e->program, id) > LOOM_MAX_DEPTH) {
        loom_syn_limit(e, LOOM_W_TYPE_DEPTH, e->at, FLATTEN_HINT, "arrays nested more than %d levels deep",
                       LOOM_MAX_DEPTH);
    }
    e->type_depth--;
    return id;
}
