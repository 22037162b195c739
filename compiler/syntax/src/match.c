/* `match`: the first case whose pattern fits.
 *
 * How it is said in core. The subject is evaluated once. What patterns compare are its scalar parts, so comparisons can
 * be made first (they cannot fail and cost little), and the case is found by halving: does one of the first half fit?
 *     match x case 0 -> a case 1 -> b case _ -> c      if x == 0 then a else if x == 1 then b else c
 * Bodies nest by the logarithm of the number of cases, and the last case is never asked for.
 * Of many cases (more than FEW) that would make n log n uses of n comparisons, and what is used more than once is kept
 * by later passes. There the number of the case comes first, with one use of each comparison, and bodies are found by
 * that number. Where literals are compared with one real number, by searching among the sorted literals:
 *     k = if x < 50 then (if x < 25 then ... (if x == 7 then 7 else 100)) else ...
 *     if k < 50 then (if k < 25 then ...) else ...
 * else as the least of the numbers of cases that fit. Both have n steps of code; searching takes log n of time.
 *
 * What is covered. Tuples and records have one form each, so a pattern is a list of comparisons (place, literal), the
 * places being those of the subject that any pattern looks at. A value that no case fits is looked for place by place:
 * the cases that agree with a literal there, and, unless the literals are all that the type has, those that compare
 * nothing there. A case is reached if such a value of the cases before it fits it (Maranget, "Warnings for pattern
 * matching", without the constructors). Cost: exponential at worst, as the problem is, and n^2 of n cases that compare
 * several places; each look is a step against the limit of checking. Where one place is compared, one sort.
 */
#include "elab.h"
#include <stdlib.h>
#include <string.h>

/* A part of the subject that some pattern names. */
typedef struct place {
    syn_value *value;
    bool apart, record; /* taken apart: by a tuple pattern, or by names */
    struct {
        struct place **at;
        size_t count, capacity;
    } parts;
    syn_name **names; /* record */
    uint32_t column;  /* of those compared with literals, from 0; LOOM_NONE */
} place;

/* A comparison of a case. */
typedef struct test {
    uint32_t column;
    const syn_exp *literal;
    double real;          /* the literal as its type has it */
    bool exact;           /* an integer: compared as such */
    syn_node *value, *to; /* what is compared, and the literal */
    const syn_pat *pat;
} test;

/* The comparisons of a case, by column. */
typedef struct row {
    test *at;
    size_t count, capacity;
} row;

/* What a column of the value that nothing covers is. */
typedef struct wanted {
    bool any, negative, truth;
    uint64_t integer;
    const syn_exp *literal; /* or */
} wanted;

typedef struct matching {
    syn_elab *e;
    const syn_exp *exp;
    syn_env *env;
    const syn_rt *expected;
    syn_value *subject;
    place *root;
    row *rows; /* by case */
    syn_ty **columns;
    uint32_t n_columns, cap_columns;
    wanted *witness;
    syn_ty *type; /* of the first case's value */
    bool broken;  /* an error was told: what is covered does not matter */
} matching;

/* ---- places and comparisons ---- */

static place *new_place(matching *m, syn_value *value) {
    place *at = LOOM_NEW(m->e->arena, place);
    *at = (place){.value = value, .column = LOOM_NONE};
    return at;
}

static void compare(matching *m, place *at, const syn_pat *pat, row *tests) {
    syn_elab *e = m->e;
    syn_node *value = loom_syn_need_node(e, at->value, pat->span, "compared with a literal");
    syn_node *literal = loom_syn_elab_node(e, pat->literal, m->env, "a literal");
    if (!loom_syn_need_type(e, LOOM_W_CASE_PATTERN, literal->type, value->type, pat->span,
                            "pattern of the case, against what is matched") ||
        loom_syn_is_poison(value->type)) {
        m->broken = true;
        return;
    }
    if (at->column == LOOM_NONE) {
        at->column = m->n_columns;
        if (m->n_columns == m->cap_columns) {
            m->cap_columns = 2 * m->cap_columns + 8;
            m->columns = loom_arena_grow(e->arena, m->columns, m->n_columns, m->cap_columns, sizeof *m->columns);
        }
        m->columns[m->n_columns++] = value->type;
    }
    test t = {.column = at->column, .literal = pat->literal, .value = value, .to = literal, .pat = pat};
    LOOM_PUSH(e->arena, *tests, t);
}

/* The part of a place that item i of a tuple or record pattern is about. */
static place *part(matching *m, place *at, const syn_pat *pat, uint32_t i) {
    if (!at->record) return at->parts.at[i];
    for (size_t k = 0; k < at->parts.count; k++) {
        loom_syn_step(m->e);
        if (at->names[k] == pat->names[i]) return at->parts.at[k];
    }
    place *made = new_place(m, loom_syn_part_of(m->e, pat, at->value, i));
    at->names = loom_arena_grow(m->e->arena, at->names, at->parts.count, at->parts.count + 1, sizeof *at->names);
    at->names[at->parts.count] = pat->names[i];
    LOOM_PUSH(m->e->arena, at->parts, made);
    return made;
}

static void look(matching *m, place *at, const syn_pat *pat, row *tests) {
    loom_syn_step(m->e);
    while (pat->kind == P_TYPED) pat = pat->items[0];
    if (pat->kind == P_LITERAL) compare(m, at, pat, tests);
    if (pat->kind != P_TUPLE && pat->kind != P_RECORD) return;
    bool record = pat->kind == P_RECORD;
    if (!loom_syn_takes_apart(m->e, pat, at->value) || (at->apart && at->record != record)) {
        m->broken = true; /* told, or told when the case binds its names */
        return;
    }
    if (!at->apart && !record) {
        for (uint32_t i = 0; i < pat->n_items; i++) {
            place *made = new_place(m, loom_syn_part_of(m->e, pat, at->value, i));
            LOOM_PUSH(m->e->arena, at->parts, made);
        }
    }
    at->apart = true;
    at->record = record;
    for (uint32_t i = 0; i < pat->n_items; i++) look(m, part(m, at, pat, i), pat->items[i], tests);
}

static int by_column(const void *x, const void *y) {
    const test *a = x, *b = y;
    return (a->column > b->column) - (a->column < b->column);
}

static double number(const syn_exp *x) {
    return x->flag ? -x->real : x->real;
}

/* Types may be known only when all patterns were looked at: 0.1 and 0.10000000001 are one f32. */
static void round_literal(const matching *m, test *t) {
    const syn_ty *type = loom_syn_ty(m->columns[t->column]);
    loom_dtype dtype = type->kind == TY_SCALAR ? type->dtype : LOOM_DTYPES;
    bool single = dtype == LOOM_F32 || dtype == LOOM_C64, whole = single || dtype == LOOM_F64 || dtype == LOOM_C128;
    t->real = single ? (double)(float)number(t->literal) : number(t->literal);
    t->exact = t->literal->kind == E_INT && !whole;
}

static void look_at_cases(matching *m) {
    m->rows = LOOM_NEW_ARRAY(m->e->arena, row, m->exp->n_cases);
    for (uint32_t i = 0; i < m->exp->n_cases; i++) {
        look(m, m->root, m->exp->cases[i].pat, &m->rows[i]);
        if (m->rows[i].count) qsort(m->rows[i].at, m->rows[i].count, sizeof *m->rows[i].at, by_column);
    }
    for (uint32_t i = 0; i < m->exp->n_cases; i++) {
        for (size_t k = 0; k < m->rows[i].count; k++) round_literal(m, &m->rows[i].at[k]);
    }
}

/* ---- what is covered ---- */

/* Literals of one column by value; integers exactly. */
static int compare_literals(const test *s, const test *t) {
    const syn_exp *a = s->literal, *b = t->literal;
    if (a->kind == E_BOOL || b->kind == E_BOOL) return (int)a->flag - (int)b->flag;
    double x = s->real, y = t->real;
    if (x != y || !s->exact || !t->exact || a->integer == b->integer) return (x > y) - (x < y);
    return (a->integer < b->integer) == a->flag ? 1 : -1;
}

/* Where the comparisons of a row in columns from this one on begin. */
static size_t lower_bound(const row *r, uint32_t column) {
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (r->at[middle].column < column)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The comparison of a row in this column, or NULL. */
static const test *test_in(const row *r, uint32_t column) {
    size_t at = lower_bound(r, column);
    return at < r->count && r->at[at].column == column ? &r->at[at] : NULL;
}

/* Least column from `from` on that a row compares, or LOOM_NONE. */
static uint32_t column_from(const row *r, uint32_t from) {
    size_t at = lower_bound(r, from);
    return at < r->count ? r->at[at].column : LOOM_NONE;
}

/* Looking at a row is cheaper than other steps, memory for it is not. */
static void count_rows(matching *m, size_t looked_at, size_t kept) {
    for (size_t i = 0; i < looked_at / 16 + kept / 4 + 1; i++) loom_syn_step(m->e);
}

/* Are n different literals all values of a type? */
static bool is_all(syn_ty *type, size_t n) {
    type = loom_syn_ty(type);
    if (type->kind != TY_SCALAR) return false;
    if (type->dtype == LOOM_BOOL) return n >= 2;
    size_t bits = 8 * loom_dtype_size(type->dtype);
    return loom_dtype_is_integer(type->dtype) && bits < 64 && n >> bits;
}

/* One value in a column: with comparisons sorted by literal, those of [from, to) have this one. */
typedef struct group {
    const row *const *rows;
    const test *const *tests;
    size_t n;
} group;

static size_t group_end(const group *g, size_t from) {
    size_t to = from + 1;
    while (to < g->n && compare_literals(g->tests[from], g->tests[to]) == 0) to++;
    return to;
}

/* A value of a column that none of its literals is: for the message. */
static wanted other_value(const group *g, syn_ty *type) {
    type = loom_syn_ty(type);
    if (type->kind == TY_SCALAR && type->dtype == LOOM_BOOL) {
        return (wanted){.truth = !(g->n && g->tests[0]->literal->flag), .any = g->n == 0};
    }
    uint64_t positive = 0, negative = 1;
    for (size_t i = 0; i < g->n; i++) {
        const syn_exp *x = g->tests[i]->literal;
        if (number(x) == (double)positive) positive++;
    }
    for (size_t i = g->n; i-- > 0;) {
        if (number(g->tests[i]->literal) == -(double)negative) negative++;
    }
    size_t bits = type->kind == TY_SCALAR ? 8 * loom_dtype_size(type->dtype) : 64;
    bool is_signed = type->kind == TY_SCALAR && loom_dtype_is_signed(type->dtype);
    bool too_far = is_signed && positive >> (bits - 1);
    return too_far ? (wanted){.negative = true, .integer = negative} : (wanted){.integer = positive};
}

static bool uncovered(matching *m, const row *const *rows, size_t n, const row *within, uint32_t from);

/* Rows that have this literal in the column, and those that have none there. */
static bool uncovered_with(matching *m, const group *g, size_t first, size_t end, const row *const *free_rows,
                           size_t n_free, const row *within, uint32_t column) {
    size_t n = end - first + n_free;
    count_rows(m, n, n);
    const row **rows = LOOM_NEW_ARRAY(m->e->arena, const row *, n ? n : 1);
    for (size_t i = first; i < end; i++) rows[i - first] = g->rows[i];
    if (n_free) memcpy(rows + (end - first), free_rows, n_free * sizeof *rows);
    return uncovered(m, rows, n, within, column + 1);
}

typedef struct entry {
    const test *test;
    const row *row;
} entry;

static int by_literal(const void *x, const void *y) {
    const entry *a = x, *b = y;
    int order = compare_literals(a->test, b->test);
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

/* Splits rows at a column: those that compare there, sorted by literal, and the others. */
static group split(matching *m, const row *const *rows, size_t n, uint32_t column, const row **free_rows,
                   size_t *n_free) {
    loom_arena *arena = m->e->arena;
    entry *entries = LOOM_NEW_ARRAY(arena, entry, n);
    size_t k = 0;
    *n_free = 0;
    for (size_t i = 0; i < n; i++) {
        const test *t = test_in(rows[i], column);
        if (t)
            entries[k++] = (entry){t, rows[i]};
        else
            free_rows[(*n_free)++] = rows[i];
    }
    qsort(entries, k, sizeof *entries, by_literal);
    const row **sorted = LOOM_NEW_ARRAY(arena, const row *, k ? k : 1);
    const test **tests = LOOM_NEW_ARRAY(arena, const test *, k ? k : 1);
    for (size_t i = 0; i < k; i++) {
        sorted[i] = entries[i].row;
        tests[i] = entries[i].test;
    }
    return (group){sorted, tests, k};
}

/* Is there a value that none of the rows fits, but `within` does (may be NULL; its rows agree with it)? Columns before
 * `from` are decided. Recurses over columns, of which a type has LOOM_SYN_MAX_LEAVES at most. */
static bool uncovered(matching *m, const row *const *rows, size_t n, const row *within, uint32_t from) {
    uint32_t column = LOOM_NONE;
    for (size_t i = 0; i < n; i++) {
        uint32_t first = column_from(rows[i], from);
        if (first == LOOM_NONE) return false;
        if (first < column) column = first;
    }
    if (n == 0) return true;
    if (within && test_in(within, column)) return uncovered(m, rows, n, within, column + 1); /* they agree with it */
    count_rows(m, n, 4 * n);
    const row **free_rows = LOOM_NEW_ARRAY(m->e->arena, const row *, n);
    size_t n_free = 0, different = 0;
    group g = split(m, rows, n, column, free_rows, &n_free);
    for (size_t i = 0; i < g.n; i = group_end(&g, i)) different++;
    if (!is_all(m->columns[column], different)) {
        m->witness[column] = other_value(&g, m->columns[column]);
        if (uncovered(m, free_rows, n_free, within, column + 1)) return true;
    }
    for (size_t i = 0, end; i < g.n; i = end) {
        end = group_end(&g, i);
        m->witness[column] = (wanted){.literal = g.tests[i]->literal};
        if (uncovered_with(m, &g, i, end, free_rows, n_free, within, column)) return true;
    }
    m->witness[column] = (wanted){.any = true};
    return false;
}

/* ---- what is told ---- */

static const char *literal_text(matching *m, const syn_exp *x) {
    loom_arena *arena = m->e->arena;
    if (x->kind == E_BOOL) return x->flag ? "true" : "false";
    const char *sign = x->flag ? "-" : "";
    if (x->kind == E_INT) return loom_arena_printf(arena, "%s%llu", sign, (unsigned long long)x->integer);
    return loom_arena_printf(arena, "%s%.17g", sign, x->real);
}

static const char *column_text(matching *m, uint32_t column) {
    const wanted *w = &m->witness[column];
    if (w->any) return "_";
    if (w->literal) return literal_text(m, w->literal);
    syn_ty *t = loom_syn_ty(m->columns[column]);
    if (t->kind == TY_SCALAR && t->dtype == LOOM_BOOL) return w->truth ? "true" : "false";
    return loom_arena_printf(m->e->arena, "%s%llu", w->negative ? "-" : "", (unsigned long long)w->integer);
}

/* The value as a pattern. Cut where a message would be long. */
static const char *place_text(matching *m, const place *at) {
    enum {
        SHOWN = 12
    };
    if (at->column != LOOM_NONE) return column_text(m, at->column);
    if (!at->apart) return "_";
    const char *text = at->record ? "{" : "(";
    for (size_t i = 0; i < at->parts.count && i < SHOWN; i++) {
        text = loom_arena_printf(m->e->arena, "%s%s%s%s%s", text, i ? ", " : "", at->record ? at->names[i]->text : "",
                                 at->record ? " = " : "", place_text(m, at->parts.at[i]));
    }
    if (at->parts.count > SHOWN) text = loom_arena_printf(m->e->arena, "%s, ...", text);
    return loom_arena_printf(m->e->arena, "%s%s", text, at->record ? "}" : ")");
}

/* Is there a value that both fit? */
static bool agree(const row *a, const row *b) {
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        if (a->at[i].column == b->at[k].column) {
            if (compare_literals(&a->at[i++], &b->at[k++]) != 0) return false;
        } else if (a->at[i].column < b->at[k].column) {
            i++;
        } else {
            k++;
        }
    }
    return true;
}

/* Is a case reached, those before it being `rows`? */
static bool reached(matching *m, const row *const *rows, size_t n, const row *own, const row **agreeing) {
    size_t n_agreeing = 0;
    count_rows(m, n * (own->count + 1), 0);
    for (size_t i = 0; i < n; i++) {
        if (agree(rows[i], own)) agreeing[n_agreeing++] = rows[i];
    }
    return uncovered(m, agreeing, n_agreeing, own, 0);
}

/* Which cases are reached where there is one column: those first with their literal, up to one that compares nothing.
 * One sort. */
static void reached_by_literal(matching *m, bool *is) {
    uint32_t n = m->exp->n_cases;
    const row **rows = LOOM_NEW_ARRAY(m->e->arena, const row *, n),
              **free_rows = LOOM_NEW_ARRAY(m->e->arena, const row *, n);
    size_t n_free, different = 0;
    for (uint32_t i = 0; i < n; i++) rows[i] = &m->rows[i];
    count_rows(m, n, 4 * (size_t)n);
    group g = split(m, rows, n, 0, free_rows, &n_free);
    for (size_t i = 0; i < g.n; i = group_end(&g, i)) is[g.rows[i] - m->rows] = true;
    for (uint32_t i = 0; i < n; i++) {
        bool any = m->rows[i].count == 0;
        if (any) is[i] = !is_all(m->columns[0], different);
        different += !any && is[i];
        if (!any || !is[i]) continue;
        for (i++; i < n; i++) is[i] = false;
    }
}

static void reached_by_looking(matching *m, bool *is) {
    const row **rows = LOOM_NEW_ARRAY(m->e->arena, const row *, m->exp->n_cases);
    const row **agreeing = LOOM_NEW_ARRAY(m->e->arena, const row *, m->exp->n_cases);
    size_t n = 0;
    for (uint32_t i = 0; i < m->exp->n_cases; i++) {
        is[i] = reached(m, rows, n, &m->rows[i], agreeing);
        if (is[i]) rows[n++] = &m->rows[i];
    }
}

static void check_cases(matching *m) {
    const syn_exp *x = m->exp;
    const row **rows = LOOM_NEW_ARRAY(m->e->arena, const row *, x->n_cases);
    bool *is = LOOM_NEW_ARRAY(m->e->arena, bool, x->n_cases);
    m->witness = LOOM_NEW_ARRAY(m->e->arena, wanted, m->n_columns ? m->n_columns : 1);
    m->n_columns == 1 ? reached_by_literal(m, is) : reached_by_looking(m, is);
    size_t n = 0;
    for (uint32_t i = 0; i < x->n_cases; i++) {
        if (is[i]) {
            rows[n++] = &m->rows[i];
        } else {
            loom_syn_warn(m->e, LOOM_W_CASE_UNREACHED, x->cases[i].span, "leave it out, or move it up",
                          "this case is never reached: those before it fit all that it fits");
        }
    }
    for (uint32_t i = 0; i < m->n_columns; i++) m->witness[i].any = true;
    if (!uncovered(m, rows, n, NULL, 0)) return;
    const char *text = place_text(m, m->root);
    loom_syn_error(m->e, LOOM_W_CASES_MISSING, x->span,
                   loom_arena_printf(m->e->arena, "add `case %s -> ...`, or `case _ -> ...` for the rest", text),
                   "`match` needs a case for every value: expected one that fits `%s`, found none", text);
}

/* A limit of checking that is met meanwhile is told at the `match`. */
static void check_covered(matching *m) {
    if (m->broken) return;
    const syn_exp *around = m->e->covering;
    m->e->covering = m->exp;
    check_cases(m);
    m->e->covering = around;
}

/* ---- which case ---- */

static syn_node *compared(matching *m, loom_prim prim, const test *t) {
    return loom_syn_prim_call(m->e, prim, LOOM_DTYPES, 2, (syn_node *[]){t->value, t->to}, NULL, t->pat->span);
}

static syn_node *both(matching *m, loom_prim prim, syn_node *a, syn_node *b) {
    if (!a || !b) return a ? a : b;
    return loom_syn_prim(m->e, prim, m->e->scalars[LOOM_BOOL], 2, (syn_node *[]){a, b}, m->exp->span);
}

/* Does a case fit? NULL: always. */
static syn_node *fits(matching *m, uint32_t i) {
    syn_node *all = NULL;
    for (size_t k = 0; k < m->rows[i].count; k++) {
        all = both(m, LOOM_PRIM_AND, all, compared(m, LOOM_PRIM_EQ, &m->rows[i].at[k]));
    }
    return all;
}

static syn_node *number_of(matching *m, uint32_t i) {
    return loom_syn_literal(m->e, LIT_INT, i, i, false, m->e->scalars[LOOM_I32], m->exp->span);
}

static syn_node *chosen(matching *m, syn_node *holds, syn_node *a, syn_node *b) {
    return loom_syn_prim(m->e, LOOM_PRIM_SELECT, m->e->scalars[LOOM_I32], 3, (syn_node *[]){holds, a, b}, m->exp->span);
}

/* Least number of the cases of [from, to) that fit; `none` where none does. */
static syn_node *least_number(matching *m, uint32_t from, uint32_t to, syn_node *none) {
    if (to - from == 1) {
        syn_node *holds = fits(m, from), *own = number_of(m, from);
        return holds ? chosen(m, holds, own, none) : own;
    }
    uint32_t middle = from + (to - from) / 2;
    syn_node *sides[2] = {least_number(m, from, middle, none), least_number(m, middle, to, none)};
    return loom_syn_prim(m->e, LOOM_PRIM_MIN, m->e->scalars[LOOM_I32], 2, sides, m->exp->span);
}

/* Cases by literal, sorted, each literal once. */
typedef struct search {
    const group *g;
    const uint32_t *numbers;
    uint32_t otherwise;
} search;

static syn_node *searched(matching *m, const search *s, size_t from, size_t to);

static syn_body *searched_body(matching *m, const search *s, size_t from, size_t to) {
    syn_body *body = loom_syn_open(m->e, B_BRANCH, 0, NULL, m->exp->span);
    loom_syn_close(m->e, body, searched(m, s, from, to));
    return body;
}

static syn_node *searched(matching *m, const search *s, size_t from, size_t to) {
    if (to - from == 1) {
        syn_node *own = number_of(m, s->numbers[from]), *other = number_of(m, s->otherwise);
        return chosen(m, compared(m, LOOM_PRIM_EQ, s->g->tests[from]), own, other);
    }
    size_t middle = from + (to - from) / 2;
    syn_node *less = compared(m, LOOM_PRIM_LT, s->g->tests[middle]);
    syn_body *below = searched_body(m, s, from, middle), *above = searched_body(m, s, middle, to);
    syn_node *n = loom_syn_node1(m->e, LOOM_OP_IF, m->e->scalars[LOOM_I32], less, m->exp->span);
    loom_syn_set_bodies(m->e, n, below, above);
    return n;
}

/* One column of real numbers, whose type is known. */
static bool is_searchable(const matching *m) {
    if (m->n_columns != 1) return false;
    const syn_ty *type = loom_syn_ty(m->columns[0]);
    return type->kind == TY_SCALAR && (SYN_REALS & SYN_BIT(type->dtype));
}

static syn_node *search_number(matching *m) {
    loom_arena *arena = m->e->arena;
    uint32_t n = m->exp->n_cases, reached = 0;
    const row **rows = LOOM_NEW_ARRAY(arena, const row *, n), **free_rows = LOOM_NEW_ARRAY(arena, const row *, n);
    while (reached < n && m->rows[reached].count) reached++; /* none is, behind one that always fits */
    if (reached == 0) return number_of(m, 0);
    for (uint32_t i = 0; i < reached; i++) rows[i] = &m->rows[i];
    size_t n_free;
    group g = split(m, rows, reached, 0, free_rows, &n_free), once = g;
    const test **tests = LOOM_NEW_ARRAY(arena, const test *, g.n);
    uint32_t *numbers = LOOM_NEW_ARRAY(arena, uint32_t, g.n);
    once.n = 0;
    for (size_t i = 0; i < g.n; i = group_end(&g, i)) {
        tests[once.n] = g.tests[i];
        numbers[once.n++] = (uint32_t)(g.rows[i] - m->rows);
    }
    once.tests = tests;
    search s = {.g = &once, .numbers = numbers, .otherwise = reached < n ? reached : n - 1};
    return searched(m, &s, 0, once.n);
}

/* Cases that are asked for one after another, by halves: later passes copy so few comparisons. */
#define FEW 8

/* ---- the value ---- */

static syn_node *case_value(matching *m, uint32_t i) {
    syn_elab *e = m->e;
    const syn_case *c = &m->exp->cases[i];
    syn_env *env = loom_syn_match(e, c->pat, m->subject, m->env);
    e->expected = m->expected;
    syn_node *value = loom_syn_elab_node(e, c->body, env, "the result of `match`");
    if (!m->type) {
        m->type = value->type;
        if (!loom_syn_forbid_seq(e, m->type)) {
            loom_syn_error(e, LOOM_W_SEQ_BRANCH, c->body->span,
                           "put the `match` inside the function given to map_seq, or around a consumer",
                           "a sequence cannot be the result of `match`");
        }
    } else {
        loom_syn_need_type(e, LOOM_W_BRANCHES, value->type, m->type, c->body->span,
                           "value of the case, against the first case");
    }
    return value;
}

/* How the case is found: by its number, or, of few, by what holds for each. */
typedef struct choice {
    syn_node *number;
    syn_node **holds;
} choice;

static syn_node *is_before(matching *m, const choice *c, uint32_t from, uint32_t middle) {
    if (c->number) {
        syn_node *sides[2] = {c->number, number_of(m, middle)};
        return loom_syn_prim(m->e, LOOM_PRIM_LT, m->e->scalars[LOOM_BOOL], 2, sides, m->exp->span);
    }
    syn_node *any = c->holds[from];
    for (uint32_t i = from + 1; i < middle && any; i++) {
        any = c->holds[i] ? both(m, LOOM_PRIM_OR, any, c->holds[i]) : NULL;
    }
    return any ? any : loom_syn_bool(m->e, true, m->exp->span);
}

static syn_body *cases_body(matching *m, const choice *c, uint32_t from, uint32_t to);

/* Cases [from, to), none of those before fits, and one of these does. */
static syn_node *cases(matching *m, const choice *c, uint32_t from, uint32_t to) {
    if (to - from == 1) return case_value(m, from);
    uint32_t middle = from + (to - from) / 2;
    syn_node *before = is_before(m, c, from, middle);
    syn_body *then = cases_body(m, c, from, middle), *other = cases_body(m, c, middle, to);
    syn_node *n = loom_syn_node1(m->e, LOOM_OP_IF, m->type, before, m->exp->span);
    loom_syn_set_bodies(m->e, n, then, other);
    return n;
}

static syn_body *cases_body(matching *m, const choice *c, uint32_t from, uint32_t to) {
    syn_body *body = loom_syn_open(m->e, B_BRANCH, 0, NULL, m->exp->cases[from].body->span);
    loom_syn_close(m->e, body, cases(m, c, from, to));
    return body;
}

static choice find_case(matching *m) {
    uint32_t n = m->exp->n_cases;
    choice c = {0};
    if (n > FEW && !m->broken) {
        c.number = is_searchable(m) ? search_number(m) : least_number(m, 0, n, number_of(m, n - 1));
        return c;
    }
    c.holds = LOOM_NEW_ARRAY(m->e->arena, syn_node *, n);
    for (uint32_t i = 0; i < n; i++) c.holds[i] = m->broken ? NULL : fits(m, i);
    return c;
}

syn_value *loom_syn_elab_match(syn_elab *e, const syn_exp *x, syn_env *env, const syn_rt *expected) {
    matching m = {.e = e, .exp = x, .env = env, .expected = expected};
    m.subject = loom_syn_elab(e, x->a, env);
    m.root = new_place(&m, m.subject);
    look_at_cases(&m);
    check_covered(&m);
    choice c = find_case(&m);
    return loom_syn_node_value(e, cases(&m, &c, 0, x->n_cases));
}
