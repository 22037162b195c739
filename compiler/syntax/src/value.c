/* Values and scopes: what a name means, and values as nodes. */
#include "elab.h"
#include <string.h>

syn_value *loom_syn_value(syn_elab *e, syn_value_kind kind) {
    loom_syn_step(e);
    syn_value *v = LOOM_NEW(e->arena, syn_value);
    v->kind = kind;
    v->at = LOOM_DTYPES;
    return v;
}

syn_value *loom_syn_node_value(syn_elab *e, syn_node *node) {
    syn_value *v = loom_syn_value(e, V_NODE);
    v->node = node;
    return v;
}

bool loom_syn_has_function(const syn_value *v) {
    return v->kind != V_NODE && v->kind != V_SIZE; /* a TUPLE is made only where there is one in it */
}

static syn_node *size_node(syn_elab *e, const syn_size *size, loom_span span) {
    if (size->node) return size->node;
    const char *name = size->name->text;
    if (!size->in_two && !size->per_element) {
        loom_syn_error(e, LOOM_W_SIZE_UNKNOWN, span, "a size has a value where an array parameter has it in its type",
                       "size `%s` has no value here: no parameter's type binds it", name);
        return loom_syn_poison(e, span);
    }
    char hint[512];
    snprintf(hint, sizeof hint,
             "where all elements have it, make it a parameter, `(%.60s: i64)`, or give it to an array parameter too, "
             "`(zero: [%.60s]f64)`; where each has its own, name it in the function of an element, `\\(x: [%.60s]f64) "
             "-> ...`",
             name, name, name);
    const char *why = size->in_two ? "it occurs in the elements of several sequences and in no array parameter"
                                   : "each element of the sequence may have another one";
    loom_syn_error(e, LOOM_W_SIZE_UNKNOWN, span, hint, "size `%s` has no value here: %s", name, why);
    return loom_syn_poison(e, span);
}

/* f(x, y), as others write f x y. */
static bool is_pair(const syn_value *v, uint32_t n) {
    if (v->kind == V_TUPLE) return v->n_args == n && !v->shape;
    syn_ty *t = v->kind == V_NODE ? loom_syn_ty(v->node->type) : NULL;
    return t && t->kind == TY_TUPLE && t->n == n && !t->shape;
}

syn_node *loom_syn_need_node(syn_elab *e, syn_value *v, loom_span span, const char *where) {
    if (v->kind == V_NODE) return v->node;
    if (v->kind == V_SIZE) return size_node(e, v->size, span);
    if (v->kind == V_WINDOW || (v->kind == V_BOUNDARY && loom_syn_arity(e, v) == 0)) {
        bool window = v->kind == V_WINDOW;
        loom_syn_error(e, LOOM_W_WINDOW_AS_VALUE, span,
                       window ? "read it: `w[-1]`, `w[0, 1]`" : "it is the first argument of `stencil`",
                       "a %s cannot be %s", window ? "window" : "boundary", where);
        return loom_syn_poison(e, span);
    }
    if (v->kind == V_FOREVER) {
        loom_syn_error(e, LOOM_W_FOREVER_AS_VALUE, span, "`group_seq forever keys s body`",
                       "`forever` is no number, and cannot be %s", where);
        return loom_syn_poison(e, span);
    }
    uint32_t missing = loom_syn_arity(e, v);
    const char *form = v->kind == V_BUILTIN ? loom_syn_builtin_form(loom_syn_builtin(v->builtin)->name) : NULL;
    const char *hint =
        v->kind == V_BUILTIN && strcmp(loom_syn_builtin(v->builtin)->name, "unflatten") == 0 && v->n_args == 1
            ? "give both sizes, `unflatten n m xs`, or an annotation `: [n][m]t`"
        : v->n_args == 1 && missing && is_pair(v->args[0], missing + 1)
            ? "arguments are written without parentheses and commas: `f x y`"
        : v->n_args && missing && form ? loom_arena_printf(e->arena, "`%s`: %u more argument%s would make it a value",
                                                           form, missing, missing == 1 ? "" : "s")
        : v->n_args && missing
            ? loom_arena_printf(e->arena, "%u more argument%s would make it a value", missing, missing == 1 ? "" : "s")
            : "functions can be parameters and results of a def, and be named by `let`; nothing else";
    loom_syn_error(e, LOOM_W_FUNCTION_AS_VALUE, span, hint, "a function cannot be %s", where);
    return loom_syn_poison(e, span);
}

/* ---- scopes ---- */

syn_env *loom_syn_bind(syn_elab *e, syn_env *env, syn_name *name, syn_value *value) {
    syn_env *entry = LOOM_NEW(e->arena, syn_env);
    *entry = (syn_env){.name = name, .value = value, .next = env};
    name->bound = true;
    return entry;
}

syn_env *loom_syn_bind_type(syn_elab *e, syn_env *env, syn_name *name, syn_ty *type) {
    syn_env *entry = LOOM_NEW(e->arena, syn_env);
    *entry = (syn_env){.name = name, .type = type, .next = env};
    return entry;
}

syn_value *loom_syn_lookup(syn_elab *e, syn_env *env, const syn_name *name) {
    if (!name->bound) return NULL; /* most names of operations never are, and scopes may be long */
    for (uint32_t n = 0; env; env = env->next) {
        if (++n % 16 == 0) loom_syn_step(e); /* looking is cheaper than other steps */
        if (env->name == name && env->value) return env->value;
    }
    return NULL;
}

syn_decl *loom_syn_top_level(const syn_elab *e, const syn_name *name) {
    syn_decl *d = name->value;
    while (d && d->index >= e->limit_decl) d = d->shadowed;
    return d;
}

/* ---- names that are not there ---- */

/* What other languages call it. */
static const struct {
    const char *name, *here;
} foreign_names[] = {
    {"len", "`length xs`"},
    {"size", "`length xs`"},
    {"count", "`length (filter p xs)`"},
    {"pow", "a power is written `x ** y`"},
    {"mod", "`x % y` is the remainder"},
    {"div", "`x / y` divides integers too"},
    {"not", "`!x` is true where x is false"},
    {"xor", "`x != y` of truth values, `x ^ y` of integers"},
    {"range", "`0..<n`, or `iota n`"},
    {"append", "`xs ++ ys`"},
    {"fst", "`t.0` is the first component"},
    {"snd", "`t.1` is the second component"},
    {"mean", "`sum xs / f64 (length xs)` of f64s"},
    {"average", "`sum xs / f64 (length xs)` of f64s"},
    {"print", "a program's output is the result of its entry"},
    {"return", "the value of the last expression is the result"},
    {"True", "it is written `true`"},
    {"False", "it is written `false`"},
};

static const char *foreign_hint(const syn_name *name) {
    for (size_t i = 0; i < sizeof foreign_names / sizeof *foreign_names; i++) {
        if (strcmp(name->text, foreign_names[i].name) == 0) return foreign_names[i].here;
    }
    return NULL;
}

/* Is b within two changes of a? Texts of up to 31 characters. */
static bool is_near(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > 31 || m > 31 || n < 3) return false;
    unsigned row[32];
    for (size_t j = 0; j <= m; j++) row[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            unsigned other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < other ? change : other;
        }
    }
    return row[m] <= (n < 6 ? 1u : 2u);
}

static const char *similar_name(syn_elab *e, syn_env *env, const syn_name *name) {
    for (; env; env = env->next) {
        loom_syn_step(e);
        if (env->value && is_near(name->text, env->name->text)) return env->name->text;
    }
    for (size_t i = e->decls->count; i-- > 0;) {
        const syn_decl *d = e->decls->at[i];
        loom_syn_step(e);
        if (d->kind != D_TYPE && d->index < e->limit_decl && is_near(name->text, d->name->text)) return d->name->text;
    }
    for (int i = 0; loom_syn_builtin(i); i++) {
        if (is_near(name->text, loom_syn_builtin(i)->name)) return loom_syn_builtin(i)->name;
    }
    return NULL;
}

static syn_value *unknown_name(syn_elab *e, const syn_name *name, syn_env *env, loom_span span) {
    /* What the lexer put in place of what it complained about. */
    if (loom_syn_is_stand_in(name)) return loom_syn_node_value(e, loom_syn_poison(e, span));
    const char *hint = foreign_hint(name);
    if (hint) {
        /* surely not a mistyped name of the text */
    } else if (name->value && !name->value->prelude) {
        hint = name->value->index == e->limit_decl
                   ? "there is no recursion: use `loop`"
                   : loom_arena_printf(e->arena, "it is defined later, in line %u: move it up", name->value->span.line);
    } else {
        const char *similar = similar_name(e, env, name);
        if (similar) hint = loom_arena_printf(e->arena, "did you mean `%s`?", similar);
    }
    loom_syn_error(e, LOOM_W_UNKNOWN_NAME, span, hint, "unknown name `%s`", name->text);
    return loom_syn_node_value(e, loom_syn_poison(e, span));
}

static syn_value *prim_value(syn_elab *e, loom_prim prim) {
    syn_value *v = loom_syn_value(e, V_PRIM);
    v->prim = prim;
    return v;
}

/* Operations, scalar functions, conversions and constants of the language. */
static syn_value *language_name(syn_elab *e, syn_name *name, loom_dtype at, loom_span span) {
    loom_prim prim;
    if (loom_syn_scalar_function(name->text, &prim)) {
        syn_value *v = prim_value(e, prim);
        v->at = at;
        return v;
    }
    if (name->dtype != LOOM_DTYPES) {
        syn_value *v = loom_syn_value(e, V_CONVERT);
        v->to = name->dtype;
        return v;
    }
    if (name->builtin >= 0) {
        syn_value *v = loom_syn_value(e, V_BUILTIN);
        v->builtin = name->builtin;
        v->at = at;
        return v;
    }
    if (at == LOOM_DTYPES && strcmp(name->text, "forever") == 0) return loom_syn_value(e, V_FOREVER);
    syn_node *constant = loom_syn_constant(e, name, at, span);
    return constant ? loom_syn_node_value(e, constant) : NULL;
}

static syn_value *decl_value(syn_elab *e, syn_decl *d, loom_dtype at, loom_span span) {
    if (d->broken) return loom_syn_node_value(e, loom_syn_poison(e, span));
    if (d->function->n_params == 0) return loom_syn_call_def(e, d, NULL, span);
    syn_value *v = loom_syn_value(e, V_DEF);
    v->decl = d;
    v->at = at;
    return v;
}

syn_value *loom_syn_name(syn_elab *e, syn_name *name, syn_env *env, loom_span span) {
    syn_value *v = loom_syn_lookup(e, env, name);
    if (v) return v->kind == V_SIZE ? loom_syn_node_value(e, size_node(e, v->size, span)) : v;
    syn_decl *d = loom_syn_top_level(e, name);
    if (d) return decl_value(e, d, LOOM_DTYPES, span);
    v = language_name(e, name, LOOM_DTYPES, span);
    return v ? v : unknown_name(e, name, env, span);
}

syn_value *loom_syn_qualified(syn_elab *e, loom_dtype at, syn_name *name, loom_span span) {
    if (name->dtype != LOOM_DTYPES) { /* f32.i64 */
        syn_value *v = loom_syn_value(e, V_CONVERT);
        v->to = at;
        v->at = name->dtype;
        return v;
    }
    syn_value *v = language_name(e, name, at, span);
    if (v) return v;
    syn_decl *d = name->value;
    while (d && !d->prelude) d = d->shadowed;
    if (d) return decl_value(e, d, at, span);
    loom_syn_error(e, LOOM_W_NO_QUALIFIED, span, "as in f64.sqrt, f32.i64, i32.max, i64.sum, f32.inf",
                   "there is no `%s.%s`", loom_dtype_name(at), name->text);
    return loom_syn_node_value(e, loom_syn_poison(e, span));
}

syn_value *loom_syn_operator(syn_elab *e, const syn_name *op) {
    static const struct {
        const char *text;
        loom_prim prim;
    } operators[] = {{"+", LOOM_PRIM_ADD},      {"-", LOOM_PRIM_SUB},    {"*", LOOM_PRIM_MUL},  {"/", LOOM_PRIM_DIV},
                     {"%", LOOM_PRIM_FLOORMOD}, {"//", LOOM_PRIM_QUOT},  {"%%", LOOM_PRIM_REM}, {"**", LOOM_PRIM_POW},
                     {"==", LOOM_PRIM_EQ},      {"!=", LOOM_PRIM_NE},    {"<", LOOM_PRIM_LT},   {"<=", LOOM_PRIM_LE},
                     {">", LOOM_PRIM_GT},       {">=", LOOM_PRIM_GE},    {"&&", LOOM_PRIM_AND}, {"||", LOOM_PRIM_OR},
                     {"&", LOOM_PRIM_BAND},     {"|", LOOM_PRIM_BOR},    {"^", LOOM_PRIM_BXOR}, {"<<", LOOM_PRIM_SHL},
                     {">>", LOOM_PRIM_SHR},     {">>>", LOOM_PRIM_LSHR}, {"!", LOOM_PRIM_NOT},  {"~", LOOM_PRIM_BNOT}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (strcmp(op->text, operators[i].text) == 0) return prim_value(e, operators[i].prim);
    }
    if (op->builtin < 0) return NULL;
    syn_value *v = loom_syn_value(e, V_BUILTIN);
    v->builtin = op->builtin;
    return v;
}
