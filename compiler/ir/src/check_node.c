/* Type rules, one function for each operation (or family of them). Written as in the table of operations in core.h. */
#include "check.h"
#include "compiler/ir/trap.h"
#include <string.h>

typedef struct rule {
    const loom_program *p;
    loom_node_id id;
    const loom_node *n;
} rule;

#define FAIL(r, ...) return loom_check_fail((r)->p, (r)->id, LOOM_E_TYPE, __VA_ARGS__)
#define REQUIRE(r, condition, ...)                                                                                     \
    do {                                                                                                               \
        if (!(condition)) FAIL(r, __VA_ARGS__);                                                                        \
    } while (0)

static loom_type_id operand_type(const rule *r, uint32_t i) {
    return r->p->nodes[loom_operand(r->p, r->n, i)].type;
}
static const loom_type *type_of(const rule *r, loom_type_id t) {
    return &r->p->types[t];
}
static const char *text(const rule *r, loom_type_id t) {
    return loom_type_text(r->p, t);
}
static bool is_kind(const rule *r, loom_type_id t, loom_type_kind kind) {
    return type_of(r, t)->kind == kind;
}
static bool is_scalar(const rule *r, loom_type_id t, loom_dtype dtype) {
    return is_kind(r, t, LOOM_T_SCALAR) && type_of(r, t)->dtype == dtype;
}
static bool is_array_of(const rule *r, loom_type_id t, loom_type_id element) {
    return is_kind(r, t, LOOM_T_ARRAY) && type_of(r, t)->element == element;
}
static bool is_seq_of(const rule *r, loom_type_id t, loom_type_id element) {
    return is_kind(r, t, LOOM_T_SEQ) && type_of(r, t)->element == element;
}
static loom_type_id body_result(const rule *r, uint32_t i) {
    return r->p->nodes[loom_node_body(r->p, r->n, i)->result].type;
}
static loom_type_id body_param(const rule *r, uint32_t i, uint32_t position) {
    return r->p->nodes[loom_node_body(r->p, r->n, i)->first + position].type;
}

/* The type below `levels` arrays of `t`; false if there are fewer. */
static bool strip(const rule *r, loom_type_id t, uint32_t levels, loom_type_id *inner) {
    for (; levels; levels--) {
        if (!is_kind(r, t, LOOM_T_ARRAY)) return false;
        t = type_of(r, t)->element;
    }
    *inner = t;
    return true;
}

static loom_status *require_type(const rule *r, const char *what, loom_type_id found, loom_type_id expected) {
    REQUIRE(r, found == expected, "%s is %s, expected %s", what, text(r, found), text(r, expected));
    return NULL;
}

static loom_status *require_i64(const rule *r, uint32_t from) {
    for (uint32_t i = from; i < r->n->n_operands; i++) {
        REQUIRE(r, is_scalar(r, operand_type(r, i), LOOM_I64), "operand %u is %s, expected i64", i,
                text(r, operand_type(r, i)));
    }
    return NULL;
}

static loom_status *require_operands(const rule *r, uint32_t least, uint32_t most) {
    REQUIRE(r, r->n->n_operands >= least && r->n->n_operands <= most, "%u operands, expected %u to %u",
            r->n->n_operands, least, most);
    return NULL;
}

/* Body i is a function of these parameters (n of them) to `result` (LOOM_NONE: any). */
static loom_status *require_body(const rule *r, uint32_t i, uint32_t n, const loom_type_id *params,
                                 loom_type_id result) {
    const loom_body *b = loom_node_body(r->p, r->n, i);
    REQUIRE(r, b->n_params == n, "its body %u has %u parameters, expected %u", i, b->n_params, n);
    for (uint32_t k = 0; k < n; k++) {
        REQUIRE(r, body_param(r, i, k) == params[k], "parameter %u of its body %u is %s, expected %s", k, i,
                text(r, body_param(r, i, k)), text(r, params[k]));
    }
    if (result != LOOM_NONE) LOOM_TRY(require_type(r, "the result of its body", body_result(r, i), result));
    return NULL;
}

/* Body i is an operator (t, t) -> t. */
static loom_status *require_op(const rule *r, uint32_t i, loom_type_id t) {
    return require_body(r, i, 2, (loom_type_id[]){t, t}, t);
}

static loom_status *require_array(const rule *r, uint32_t i, loom_type_id *element) {
    REQUIRE(r, is_kind(r, operand_type(r, i), LOOM_T_ARRAY), "operand %u is %s, expected an array", i,
            text(r, operand_type(r, i)));
    *element = type_of(r, operand_type(r, i))->element;
    return NULL;
}

static loom_status *require_seq(const rule *r, uint32_t i, loom_type_id *element) {
    REQUIRE(r, is_kind(r, operand_type(r, i), LOOM_T_SEQ), "operand %u is %s, expected a sequence", i,
            text(r, operand_type(r, i)));
    *element = type_of(r, operand_type(r, i))->element;
    return NULL;
}

static loom_status *require_plain(const rule *r, loom_type_id t) {
    REQUIRE(r, !loom_type_has_seq(r->p, t), "a sequence (%s) cannot stand here", text(r, t));
    return NULL;
}

static loom_status *result_is(const rule *r, loom_type_id t) {
    return require_type(r, "its type", r->n->type, t);
}

static loom_status *result_is_array_of(const rule *r, loom_type_id element) {
    REQUIRE(r, is_array_of(r, r->n->type, element), "its type is %s, expected an array of %s", text(r, r->n->type),
            text(r, element));
    return NULL;
}

static loom_status *result_is_seq_of(const rule *r, loom_type_id element) {
    REQUIRE(r, is_seq_of(r, r->n->type, element), "its type is %s, expected a sequence of %s", text(r, r->n->type),
            text(r, element));
    return NULL;
}

static loom_status *result_is_i64(const rule *r) {
    REQUIRE(r, is_scalar(r, r->n->type, LOOM_I64), "its type is %s, expected i64", text(r, r->n->type));
    return NULL;
}

/* ---- scalars ---- */

static bool constant_fits(loom_dtype t, loom_scalar s) {
    unsigned char byte;
    memcpy(&byte, &s, 1);
    unsigned bits = (unsigned)(8 * loom_dtype_size(t));
    if (t == LOOM_BOOL) return byte <= 1;
    if (loom_dtype_is_signed(t)) {
        int64_t most = (int64_t)(UINT64_MAX >> (65 - bits));
        return s.i <= most && s.i >= -most - 1;
    }
    if (loom_dtype_is_unsigned(t)) return s.u <= UINT64_MAX >> (64 - bits);
    if (t == LOOM_F32) return s.f != s.f || (double)(float)s.f == s.f;
    if (t == LOOM_C64) {
        return (s.c[0] != s.c[0] || (double)(float)s.c[0] == s.c[0]) &&
               (s.c[1] != s.c[1] || (double)(float)s.c[1] == s.c[1]);
    }
    return true;
}

static loom_status *check_const(const rule *r) {
    REQUIRE(r, is_kind(r, r->n->type, LOOM_T_SCALAR), "a constant of type %s", text(r, r->n->type));
    if (r->n->aux >= r->p->n_constants)
        return loom_check_fail(r->p, r->id, LOOM_E_DATA, "constant %u does not exist", r->n->aux);
    REQUIRE(r, constant_fits(type_of(r, r->n->type)->dtype, r->p->constants[r->n->aux]),
            "its value is not one of type %s", text(r, r->n->type));
    return NULL;
}

static loom_status *check_prim(const rule *r) {
    if (r->n->prim >= LOOM_PRIM_COUNT)
        return loom_check_fail(r->p, r->id, LOOM_E_DATA, "primitive %u does not exist", r->n->prim);
    const loom_prim_info *info = &loom_prim_table[r->n->prim];
    LOOM_TRY(require_operands(r, (uint32_t)info->arity, (uint32_t)info->arity));
    loom_dtype types[3] = {LOOM_DTYPES, LOOM_DTYPES, LOOM_DTYPES};
    for (uint32_t i = 0; i < r->n->n_operands; i++) {
        REQUIRE(r, is_kind(r, operand_type(r, i), LOOM_T_SCALAR), "operand %u is %s, expected a scalar", i,
                text(r, operand_type(r, i)));
        types[i] = type_of(r, operand_type(r, i))->dtype;
    }
    loom_dtype result = loom_prim_result((loom_prim)r->n->prim, types);
    REQUIRE(r, result != LOOM_DTYPES, "does not apply to %s%s%s", text(r, operand_type(r, 0)),
            info->arity > 1 ? " and " : "", info->arity > 1 ? text(r, operand_type(r, 1)) : "");
    REQUIRE(r, is_scalar(r, r->n->type, result), "its type is %s, expected %s", text(r, r->n->type),
            loom_dtype_name(result));
    return NULL;
}

static loom_status *check_convert(const rule *r) {
    loom_type_id from = operand_type(r, 0);
    REQUIRE(r, is_kind(r, from, LOOM_T_SCALAR) && is_kind(r, r->n->type, LOOM_T_SCALAR),
            "from %s to %s, expected scalars", text(r, from), text(r, r->n->type));
    REQUIRE(r, !loom_dtype_is_complex(type_of(r, from)->dtype) || loom_dtype_is_complex(type_of(r, r->n->type)->dtype),
            "from %s to %s: take `re` or `abs` of a complex number", text(r, from), text(r, r->n->type));
    return NULL;
}

/* ---- tuples, calls, control ---- */

static loom_status *check_tuple(const rule *r) {
    const loom_type *t = type_of(r, r->n->type);
    REQUIRE(r, t->kind == LOOM_T_TUPLE && t->n_fields == r->n->n_operands, "its type is %s, expected a tuple of %u",
            text(r, r->n->type), r->n->n_operands);
    for (uint32_t i = 0; i < t->n_fields; i++)
        LOOM_TRY(require_type(r, "a component", operand_type(r, i), t->fields[i]));
    return NULL;
}

static loom_status *check_project(const rule *r) {
    const loom_type *t = type_of(r, operand_type(r, 0));
    REQUIRE(r, t->kind == LOOM_T_TUPLE && r->n->aux < t->n_fields, "field %u of %s", r->n->aux,
            text(r, operand_type(r, 0)));
    return result_is(r, t->fields[r->n->aux]);
}

static loom_status *check_call(const rule *r) {
    if (r->n->aux >= r->p->n_functions)
        return loom_check_fail(r->p, r->id, LOOM_E_DATA, "function %u does not exist", r->n->aux);
    const loom_body *b = &r->p->bodies[r->p->functions[r->n->aux].body];
    LOOM_TRY(require_operands(r, b->n_params, b->n_params));
    for (uint32_t i = 0; i < b->n_params; i++) {
        LOOM_TRY(require_type(r, "an argument", operand_type(r, i), r->p->nodes[b->first + i].type));
    }
    return result_is(r, r->p->nodes[b->result].type);
}

/* The second body takes and gives the same with one more level. */
static loom_status *check_lifted(const rule *r) {
    const loom_body *body = loom_node_body(r->p, r->n, 0), *version = loom_node_body(r->p, r->n, 1);
    uint32_t n = r->n->n_operands;
    REQUIRE(r, n > 0, "0 operands, expected at least one");
    if (r->n->aux >= LOOM_VERSIONS)
        return loom_check_fail(r->p, r->id, LOOM_E_DATA, "version %u does not exist", r->n->aux);
    REQUIRE(r, body->n_params == n && version->n_params == n, "its bodies have %u and %u parameters, expected %u",
            body->n_params, version->n_params, n);
    for (uint32_t i = 0; i < n; i++) {
        loom_type_id type = operand_type(r, i), param = body_param(r, 1, i);
        LOOM_TRY(require_plain(r, type));
        LOOM_TRY(require_type(r, "a parameter of its body", body_param(r, 0, i), type));
        REQUIRE(r, is_array_of(r, param, type), "a parameter of its version is %s, expected an array of %s",
                text(r, param), text(r, type));
    }
    LOOM_TRY(require_plain(r, r->n->type));
    LOOM_TRY(require_type(r, "the result of its body", body_result(r, 0), r->n->type));
    REQUIRE(r, is_array_of(r, body_result(r, 1), r->n->type),
            "the result of its version is %s, expected an array of %s", text(r, body_result(r, 1)),
            text(r, r->n->type));
    return NULL;
}

static loom_status *check_if(const rule *r) {
    REQUIRE(r, is_scalar(r, operand_type(r, 0), LOOM_BOOL), "its condition is %s, expected bool",
            text(r, operand_type(r, 0)));
    LOOM_TRY(require_plain(r, r->n->type));
    LOOM_TRY(require_body(r, 0, 0, NULL, r->n->type));
    return require_body(r, 1, 0, NULL, r->n->type);
}

static loom_status *check_loop_for(const rule *r) {
    loom_type_id count = operand_type(r, 0), state = operand_type(r, 1);
    REQUIRE(r, is_scalar(r, count, LOOM_I64), "its count is %s, expected i64", text(r, count));
    LOOM_TRY(require_plain(r, state));
    LOOM_TRY(require_body(r, 0, 2, (loom_type_id[]){count, state}, state));
    return result_is(r, state);
}

static loom_status *check_loop_while(const rule *r) {
    loom_type_id state = operand_type(r, 0);
    LOOM_TRY(require_plain(r, state));
    LOOM_TRY(require_body(r, 0, 1, &state, LOOM_NONE));
    REQUIRE(r, is_scalar(r, body_result(r, 0), LOOM_BOOL), "its test gives %s, expected bool",
            text(r, body_result(r, 0)));
    LOOM_TRY(require_body(r, 1, 1, &state, state));
    return result_is(r, state);
}

static loom_status *check_assert(const rule *r) {
    REQUIRE(r, is_scalar(r, operand_type(r, 0), LOOM_BOOL), "its condition is %s, expected bool",
            text(r, operand_type(r, 0)));
    REQUIRE(r, LOOM_ASSERTION(r->n->aux) < LOOM_ASSERTIONS, "assertion %u does not exist", r->n->aux);
    REQUIRE(r, !loom_assertion_counts(r->n->aux) || is_scalar(r, operand_type(r, 1), LOOM_I64),
            "what it counts is %s, expected i64", text(r, operand_type(r, 1)));
    return result_is(r, operand_type(r, 1));
}

/* ---- arrays ---- */

static loom_status *check_claim(const rule *r) {
    uint32_t mask = r->n->aux, levels = 0, claimed = 0;
    LOOM_TRY(require_operands(r, 2, 33));
    for (uint32_t bit = 0; bit < 32; bit++) {
        if (mask >> bit & 1) {
            levels = bit + 1;
            claimed++;
        }
    }
    loom_type_id inner;
    REQUIRE(r, claimed == r->n->n_operands - 1, "%u claims for %u claimed levels", r->n->n_operands - 1, claimed);
    REQUIRE(r, strip(r, operand_type(r, 0), levels, &inner), "claims about level %u of %s", levels,
            text(r, operand_type(r, 0)));
    LOOM_TRY(require_i64(r, 1));
    return result_is(r, operand_type(r, 0));
}

static loom_status *check_dim(const rule *r) {
    loom_type_id inner;
    REQUIRE(r, r->n->aux < 32 && strip(r, operand_type(r, 0), r->n->aux + 1, &inner), "level %u of %s", r->n->aux,
            text(r, operand_type(r, 0)));
    return result_is_i64(r);
}

static loom_status *check_array(const rule *r) {
    REQUIRE(r, r->n->n_operands >= 1, "an array literal without elements");
    loom_type_id t = operand_type(r, 0);
    LOOM_TRY(require_plain(r, t));
    for (uint32_t i = 1; i < r->n->n_operands; i++) LOOM_TRY(require_type(r, "an element", operand_type(r, i), t));
    return result_is_array_of(r, t);
}

static loom_status *check_index(const rule *r) {
    LOOM_TRY(require_operands(r, 2, UINT32_MAX));
    loom_type_id inner;
    REQUIRE(r, strip(r, operand_type(r, 0), r->n->n_operands - 1, &inner), "%u indices into %s", r->n->n_operands - 1,
            text(r, operand_type(r, 0)));
    LOOM_TRY(require_i64(r, 1));
    return result_is(r, inner);
}

static loom_status *check_slice(const rule *r) {
    loom_type_id element;
    uint32_t bits = r->n->aux;
    LOOM_TRY(require_operands(r, 1, 4));
    LOOM_TRY(require_array(r, 0, &element));
    uint32_t given = (bits & 1) + (bits >> 1 & 1) + (bits >> 2 & 1);
    REQUIRE(r, bits < 8 && given == r->n->n_operands - 1, "%u bounds where aux says %u", r->n->n_operands - 1, bits);
    LOOM_TRY(require_i64(r, 1));
    return result_is(r, operand_type(r, 0));
}

static loom_status *check_update(const rule *r) {
    LOOM_TRY(require_operands(r, 3, UINT32_MAX));
    loom_type_id inner;
    REQUIRE(r, strip(r, operand_type(r, 0), r->n->n_operands - 2, &inner), "%u indices into %s", r->n->n_operands - 2,
            text(r, operand_type(r, 0)));
    LOOM_TRY(require_type(r, "the new value", operand_type(r, 1), inner));
    LOOM_TRY(require_i64(r, 2));
    return result_is(r, operand_type(r, 0));
}

static loom_status *check_length(const rule *r) {
    loom_type_id element;
    LOOM_TRY(require_array(r, 0, &element));
    return result_is_i64(r);
}

/* Parameters of body 0 are the elements of the operands, which are arrays or sequences. */
static loom_status *check_map(const rule *r, bool seq) {
    LOOM_TRY(require_operands(r, 1, LOOM_MAX_TUPLE));
    loom_type_id elements[LOOM_MAX_TUPLE];
    for (uint32_t i = 0; i < r->n->n_operands; i++) {
        LOOM_TRY(seq ? require_seq(r, i, &elements[i]) : require_array(r, i, &elements[i]));
    }
    LOOM_TRY(require_body(r, 0, r->n->n_operands, elements, LOOM_NONE));
    LOOM_TRY(require_plain(r, body_result(r, 0)));
    return seq ? result_is_seq_of(r, body_result(r, 0)) : result_is_array_of(r, body_result(r, 0));
}

static loom_status *check_generate(const rule *r) {
    LOOM_TRY(require_operands(r, 1, 3));
    LOOM_TRY(require_i64(r, 0));
    uint32_t n = r->n->n_operands;
    loom_type_id i64 = operand_type(r, 0), inner;
    LOOM_TRY(require_body(r, 0, n, (loom_type_id[]){i64, i64, i64}, LOOM_NONE));
    REQUIRE(r, strip(r, r->n->type, n, &inner), "its type is %s, expected %u array levels", text(r, r->n->type), n);
    return require_type(r, "the result of its body", body_result(r, 0), inner);
}

static loom_status *check_iota(const rule *r) {
    LOOM_TRY(require_i64(r, 0));
    loom_type_id inner;
    bool good = strip(r, r->n->type, 1, &inner) && is_kind(r, inner, LOOM_T_SCALAR) &&
                loom_dtype_is_integer(type_of(r, inner)->dtype);
    REQUIRE(r, good, "its type is %s, expected an array of integers", text(r, r->n->type));
    return NULL;
}

static loom_status *check_replicate(const rule *r) {
    REQUIRE(r, is_scalar(r, operand_type(r, 0), LOOM_I64), "its count is %s, expected i64",
            text(r, operand_type(r, 0)));
    LOOM_TRY(require_plain(r, operand_type(r, 1)));
    return result_is_array_of(r, operand_type(r, 1));
}

static loom_status *check_zip(const rule *r) {
    loom_type_id inner;
    REQUIRE(r, strip(r, r->n->type, 1, &inner) && is_kind(r, inner, LOOM_T_TUPLE),
            "its type is %s, expected an array of tuples", text(r, r->n->type));
    const loom_type *t = type_of(r, inner);
    REQUIRE(r, t->n_fields == r->n->n_operands && r->n->n_operands > 0, "%u arrays into %s", r->n->n_operands,
            text(r, inner));
    for (uint32_t i = 0; i < t->n_fields; i++) {
        loom_type_id element;
        LOOM_TRY(require_array(r, i, &element));
        LOOM_TRY(require_type(r, "an element", element, t->fields[i]));
    }
    return NULL;
}

static loom_status *check_unzip(const rule *r) {
    loom_type_id inner;
    LOOM_TRY(require_array(r, 0, &inner));
    const loom_type *from = type_of(r, inner), *to = type_of(r, r->n->type);
    REQUIRE(r, from->kind == LOOM_T_TUPLE && from->n_fields > 0, "operand 0 is %s, expected an array of tuples",
            text(r, operand_type(r, 0)));
    REQUIRE(r, to->kind == LOOM_T_TUPLE && to->n_fields == from->n_fields,
            "its type is %s, expected a tuple of %u arrays", text(r, r->n->type), from->n_fields);
    for (uint32_t i = 0; i < to->n_fields; i++) {
        REQUIRE(r, is_array_of(r, to->fields[i], from->fields[i]), "component %u is %s, expected an array of %s", i,
                text(r, to->fields[i]), text(r, from->fields[i]));
    }
    return NULL;
}

static loom_status *check_fold(const rule *r) {
    loom_type_id element;
    LOOM_TRY(require_array(r, 1, &element));
    LOOM_TRY(require_type(r, "its neutral element", operand_type(r, 0), element));
    LOOM_TRY(require_op(r, 0, element));
    return result_is(r, element);
}

static loom_status *check_fold1(const rule *r) {
    loom_type_id element;
    LOOM_TRY(require_array(r, 0, &element));
    LOOM_TRY(require_op(r, 0, element));
    return result_is(r, element);
}

static loom_status *check_scan(const rule *r) {
    loom_type_id element;
    LOOM_TRY(require_array(r, 1, &element));
    LOOM_TRY(require_type(r, "its neutral element", operand_type(r, 0), element));
    LOOM_TRY(require_op(r, 0, element));
    REQUIRE(r, r->n->aux <= LOOM_SCAN_TOTAL, "kind %u of scan does not exist", r->n->aux);
    if (r->n->aux != LOOM_SCAN_TOTAL) return result_is(r, operand_type(r, 1));
    const loom_type *t = type_of(r, r->n->type);
    REQUIRE(
        r, t->kind == LOOM_T_TUPLE && t->n_fields == 2 && t->fields[0] == operand_type(r, 1) && t->fields[1] == element,
        "its type is %s, expected (%s, %s)", text(r, r->n->type), text(r, operand_type(r, 1)), text(r, element));
    return NULL;
}

static loom_status *require_predicate(const rule *r, loom_type_id element) {
    LOOM_TRY(require_body(r, 0, 1, &element, LOOM_NONE));
    REQUIRE(r, is_scalar(r, body_result(r, 0), LOOM_BOOL), "its predicate gives %s, expected bool",
            text(r, body_result(r, 0)));
    return NULL;
}

static loom_status *check_filter(const rule *r) {
    loom_type_id element;
    LOOM_TRY(require_array(r, 0, &element));
    LOOM_TRY(require_predicate(r, element));
    return result_is(r, operand_type(r, 0));
}

/* `t` is an index of a target with n levels: i64 for one, else (or for one too) a tuple of n times i64. */
static bool is_place(const rule *r, loom_type_id t, uint32_t n) {
    if (n == 1 && is_scalar(r, t, LOOM_I64)) return true;
    const loom_type *tuple = type_of(r, t);
    if (tuple->kind != LOOM_T_TUPLE || tuple->n_fields != n || n == 0) return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_scalar(r, tuple->fields[i], LOOM_I64)) return false;
    }
    return true;
}

/* dest, indices, values: from some nesting on, indices are places of dest and values what stands there. */
static loom_status *require_places(const rule *r, loom_type_id places, loom_type_id values, loom_type_id *element) {
    uint32_t rank = r->n->aux;
    REQUIRE(r, rank >= 1 && rank <= LOOM_MAX_TUPLE && strip(r, operand_type(r, 0), rank, element),
            "%u indexed levels of %s", rank, text(r, operand_type(r, 0)));
    loom_type_id place = places, value = values;
    while (is_kind(r, place, LOOM_T_ARRAY)) {
        REQUIRE(r, is_kind(r, value, LOOM_T_ARRAY), "values %s do not have the nesting of indices %s", text(r, values),
                text(r, places));
        place = type_of(r, place)->element;
        value = type_of(r, value)->element;
    }
    REQUIRE(r, is_place(r, place, rank), "indices are %s, expected %u i64 at the leaves", text(r, places), rank);
    LOOM_TRY(require_type(r, "a value", value, *element));
    return result_is(r, operand_type(r, 0));
}

static loom_status *check_permute(const rule *r, bool combines) {
    loom_type_id element, ignored;
    LOOM_TRY(require_array(r, 1, &ignored));
    LOOM_TRY(require_places(r, operand_type(r, 1), operand_type(r, 2), &element));
    return combines ? require_op(r, 0, element) : NULL;
}

static loom_status *check_gather(const rule *r) {
    loom_type_id element, ignored, is = operand_type(r, 1), result = r->n->type;
    LOOM_TRY(require_array(r, 0, &element));
    LOOM_TRY(require_array(r, 1, &ignored));
    for (; is_kind(r, is, LOOM_T_ARRAY); is = type_of(r, is)->element) {
        REQUIRE(r, strip(r, result, 1, &result), "its type is %s, expected the nesting of %s", text(r, r->n->type),
                text(r, operand_type(r, 1)));
    }
    REQUIRE(r, is_scalar(r, is, LOOM_I64), "indices are %s, expected i64 at the leaves", text(r, operand_type(r, 1)));
    return require_type(r, "its element", result, element);
}

/* What has an order: of tuples it is that of the first fields that differ. */
static bool is_key(const rule *r, loom_type_id t) {
    const loom_type *type = type_of(r, t);
    if (type->kind == LOOM_T_SCALAR) return !loom_dtype_is_complex(type->dtype);
    if (type->kind != LOOM_T_TUPLE) return false;
    for (uint32_t i = 0; i < type->n_fields; i++) {
        if (!is_key(r, type->fields[i])) return false;
    }
    return type->n_fields > 0;
}

static loom_status *check_sort(const rule *r) {
    loom_type_id key;
    LOOM_TRY(require_array(r, 0, &key));
    REQUIRE(r, is_key(r, key), "its keys are %s, expected real numbers, truth values or tuples of those", text(r, key));
    REQUIRE(r, is_kind(r, r->n->type, LOOM_T_ARRAY) && is_scalar(r, type_of(r, r->n->type)->element, LOOM_I64),
            "its type is %s, expected []i64", text(r, r->n->type));
    return NULL;
}

static loom_status *check_backpermute(const rule *r) {
    loom_type_id inner, from, params[16];
    uint32_t rank = r->n->aux;
    REQUIRE(r, rank >= 1 && rank <= 16 && strip(r, operand_type(r, 0), rank, &inner), "%u indexed levels of %s", rank,
            text(r, operand_type(r, 0)));
    for (uint32_t i = 0; i < rank; i++) {
        params[i] = i < loom_node_body(r->p, r->n, 0)->n_params ? body_param(r, 0, i) : LOOM_NONE;
        REQUIRE(r, params[i] != LOOM_NONE && is_scalar(r, params[i], LOOM_I64), "its body takes %u indices, all i64",
                rank);
    }
    LOOM_TRY(require_body(r, 0, rank, params, LOOM_NONE));
    const loom_type *t = type_of(r, body_result(r, 0));
    uint32_t source_rank = t->kind == LOOM_T_TUPLE ? t->n_fields : 1;
    REQUIRE(r, is_place(r, body_result(r, 0), source_rank) && strip(r, operand_type(r, 1), source_rank, &from),
            "its body gives %s, expected an index of %s", text(r, body_result(r, 0)), text(r, operand_type(r, 1)));
    LOOM_TRY(require_type(r, "an element of the source", from, inner));
    return result_is(r, operand_type(r, 0));
}

static loom_status *check_levels(const rule *r, uint32_t operand, uint32_t levels) {
    loom_type_id inner;
    REQUIRE(r, strip(r, operand_type(r, operand), levels, &inner), "operand %u is %s, expected %u array levels",
            operand, text(r, operand_type(r, operand)), levels);
    return NULL;
}

static loom_status *check_flatten(const rule *r) {
    LOOM_TRY(check_levels(r, 0, 2));
    return result_is(r, type_of(r, operand_type(r, 0))->element);
}

static loom_status *check_unflatten(const rule *r) {
    LOOM_TRY(check_levels(r, 2, 1));
    REQUIRE(r, is_scalar(r, operand_type(r, 0), LOOM_I64) && is_scalar(r, operand_type(r, 1), LOOM_I64),
            "extents must be i64");
    return result_is_array_of(r, operand_type(r, 2));
}

static loom_status *check_concat(const rule *r) {
    LOOM_TRY(require_operands(r, 1, UINT32_MAX));
    LOOM_TRY(check_levels(r, 0, 1));
    for (uint32_t i = 1; i < r->n->n_operands; i++)
        LOOM_TRY(require_type(r, "an operand", operand_type(r, i), operand_type(r, 0)));
    return result_is(r, operand_type(r, 0));
}

static loom_status *check_rotate(const rule *r) {
    REQUIRE(r, is_scalar(r, operand_type(r, 0), LOOM_I64), "its distance is %s, expected i64",
            text(r, operand_type(r, 0)));
    LOOM_TRY(check_levels(r, 1, 1));
    return result_is(r, operand_type(r, 1));
}

static loom_status *check_fft(const rule *r) {
    loom_type_id t = operand_type(r, 0);
    LOOM_TRY(check_levels(r, 0, 1));
    while (is_kind(r, t, LOOM_T_ARRAY)) t = type_of(r, t)->element;
    REQUIRE(r, is_kind(r, t, LOOM_T_SCALAR) && loom_dtype_is_complex(type_of(r, t)->dtype),
            "operand 0 is %s, expected complex numbers", text(r, operand_type(r, 0)));
    REQUIRE(r, r->n->aux <= 1, "direction %u does not exist", r->n->aux);
    return result_is(r, operand_type(r, 0));
}

/* ---- sequences ---- */

static loom_status *check_seq_rows(const rule *r) {
    loom_type_id element;
    LOOM_TRY(require_array(r, 0, &element));
    return result_is_seq_of(r, element);
}

static loom_status *check_seq_from(const rule *r) {
    loom_type_id element;
    LOOM_TRY(require_seq(r, 0, &element));
    return result_is_array_of(r, element);
}

static loom_status *check_seq_spill(const rule *r) {
    loom_type_id element;
    REQUIRE(r, is_scalar(r, operand_type(r, 0), LOOM_F64), "the first operand is %s, expected f64",
            text(r, operand_type(r, 0)));
    LOOM_TRY(require_seq(r, 1, &element));
    const loom_type *t = type_of(r, element);
    REQUIRE(r, t->kind == LOOM_T_ARRAY && is_scalar(r, t->element, LOOM_I64),
            "an element of its sequence is %s, expected []i64", text(r, element));
    return result_is_array_of(r, element);
}

static loom_status *check_seq_spilled(const rule *r) {
    loom_type_id element;
    LOOM_TRY(require_seq(r, 0, &element));
    REQUIRE(r, is_scalar(r, operand_type(r, 2), LOOM_I64), "the batch is %s, expected i64",
            text(r, operand_type(r, 2)));
    return result_is(r, operand_type(r, 0));
}

static loom_status *check_seq_filter(const rule *r) {
    loom_type_id element;
    LOOM_TRY(require_seq(r, 0, &element));
    LOOM_TRY(require_predicate(r, element));
    return result_is(r, operand_type(r, 0));
}

static loom_status *check_seq_enumerate(const rule *r) {
    loom_type_id element;
    LOOM_TRY(require_seq(r, 0, &element));
    const loom_type *seq = type_of(r, r->n->type);
    REQUIRE(r, seq->kind == LOOM_T_SEQ, "its type is %s, expected a sequence", text(r, r->n->type));
    const loom_type *t = type_of(r, seq->element);
    REQUIRE(r,
            t->kind == LOOM_T_TUPLE && t->n_fields == 2 && is_scalar(r, t->fields[0], LOOM_I64) &&
                t->fields[1] == element,
            "its type is %s, expected seq (i64, %s)", text(r, r->n->type), text(r, element));
    return NULL;
}

static loom_status *check_seq_fold(const rule *r, bool scan) {
    loom_type_id element;
    LOOM_TRY(require_seq(r, 1, &element));
    LOOM_TRY(require_type(r, "its neutral element", operand_type(r, 0), element));
    LOOM_TRY(require_op(r, 0, element));
    return result_is(r, scan ? operand_type(r, 1) : element);
}

static loom_status *check_seq_permute(const rule *r) {
    loom_type_id places, values, element;
    LOOM_TRY(require_seq(r, 1, &places));
    LOOM_TRY(require_seq(r, 2, &values));
    LOOM_TRY(require_places(r, places, values, &element));
    return require_op(r, 0, element);
}

static loom_status *check_seq_reduce(const rule *r) {
    loom_type_id acc = operand_type(r, 0), element;
    LOOM_TRY(require_plain(r, acc));
    LOOM_TRY(require_seq(r, 1, &element));
    REQUIRE(r, loom_node_body(r->p, r->n, 0)->n_params == 2, "its step takes the accumulator and a chunk");
    loom_type_id chunk = body_param(r, 0, 1);
    REQUIRE(r, is_array_of(r, chunk, element), "its step takes a chunk of type %s, expected an array of %s",
            text(r, chunk), text(r, element));
    LOOM_TRY(require_body(r, 0, 2, (loom_type_id[]){acc, chunk}, acc));
    LOOM_TRY(require_op(r, 1, acc));
    return result_is(r, acc);
}

static loom_status *check_seq_chain(const rule *r) {
    loom_type_id state = operand_type(r, 0), element;
    LOOM_TRY(require_plain(r, state));
    LOOM_TRY(require_seq(r, 1, &element));
    LOOM_TRY(require_body(r, 0, 2, (loom_type_id[]){state, element}, state));
    return result_is(r, state);
}

/* Count and keys of a grouping whose sequence is operand `at`. */
static loom_status *require_groups(const rule *r, uint32_t at) {
    loom_type_id n = operand_type(r, 0), element, key;
    REQUIRE(r, is_scalar(r, n, LOOM_I64), "its count is %s, expected i64", text(r, n));
    LOOM_TRY(require_seq(r, at, &element));
    LOOM_TRY(require_body(r, 0, 1, &element, LOOM_NONE));
    REQUIRE(r, strip(r, body_result(r, 0), 1, &key) && is_scalar(r, key, LOOM_I64), "its keys are %s, expected []i64",
            text(r, body_result(r, 0)));
    return NULL;
}

static loom_status *check_seq_group_map(const rule *r) {
    loom_type_id n = operand_type(r, 0), ne = operand_type(r, 1), seq = operand_type(r, 2);
    LOOM_TRY(require_groups(r, 2));
    LOOM_TRY(require_plain(r, ne));
    LOOM_TRY(require_op(r, 1, ne));
    LOOM_TRY(require_body(r, 2, 2, (loom_type_id[]){n, seq}, LOOM_NONE));
    const loom_type *made = type_of(r, body_result(r, 2));
    REQUIRE(r, made->kind == LOOM_T_SEQ && made->element == ne, "what it makes of a group is %s, expected seq %s",
            text(r, body_result(r, 2)), text(r, ne));
    return result_is_seq_of(r, ne);
}

static loom_status *check_seq_group(const rule *r) {
    loom_type_id n = operand_type(r, 0), seq = operand_type(r, 1);
    LOOM_TRY(require_groups(r, 1));
    LOOM_TRY(require_body(r, 1, 2, (loom_type_id[]){n, seq}, LOOM_NONE));
    LOOM_TRY(require_plain(r, body_result(r, 1)));
    return result_is_seq_of(r, body_result(r, 1));
}

loom_status *loom_check_node(const loom_program *p, loom_node_id id) {
    const rule rule_of_node = {p, id, &p->nodes[id]}, *r = &rule_of_node;
    switch ((loom_op)r->n->op) {
    case LOOM_OP_PARAM: return NULL;
    case LOOM_OP_CONST: return check_const(r);
    case LOOM_OP_PRIM: return check_prim(r);
    case LOOM_OP_CONVERT: return check_convert(r);
    case LOOM_OP_TUPLE: return check_tuple(r);
    case LOOM_OP_PROJECT: return check_project(r);
    case LOOM_OP_CALL: return check_call(r);
    case LOOM_OP_LIFTED: return check_lifted(r);
    case LOOM_OP_IF: return check_if(r);
    case LOOM_OP_LOOP_FOR: return check_loop_for(r);
    case LOOM_OP_LOOP_WHILE: return check_loop_while(r);
    case LOOM_OP_ASSERT: return check_assert(r);
    case LOOM_OP_CLAIM: return check_claim(r);
    case LOOM_OP_DIM: return check_dim(r);
    case LOOM_OP_ARRAY: return check_array(r);
    case LOOM_OP_INDEX: return check_index(r);
    case LOOM_OP_SLICE: return check_slice(r);
    case LOOM_OP_UPDATE: return check_update(r);
    case LOOM_OP_LENGTH: return check_length(r);
    case LOOM_OP_MAP: return check_map(r, false);
    case LOOM_OP_GENERATE: return check_generate(r);
    case LOOM_OP_IOTA: return check_iota(r);
    case LOOM_OP_REPLICATE: return check_replicate(r);
    case LOOM_OP_ZIP: return check_zip(r);
    case LOOM_OP_UNZIP: return check_unzip(r);
    case LOOM_OP_FOLD: return check_fold(r);
    case LOOM_OP_FOLD1: return check_fold1(r);
    case LOOM_OP_SCAN: return check_scan(r);
    case LOOM_OP_FILTER: return check_filter(r);
    case LOOM_OP_PERMUTE: return check_permute(r, true);
    case LOOM_OP_SCATTER: return check_permute(r, false);
    case LOOM_OP_GATHER: return check_gather(r);
    case LOOM_OP_BACKPERMUTE: return check_backpermute(r);
    case LOOM_OP_TRANSPOSE: LOOM_TRY(check_levels(r, 0, 2)); return result_is(r, operand_type(r, 0));
    case LOOM_OP_FLATTEN: return check_flatten(r);
    case LOOM_OP_UNFLATTEN: return check_unflatten(r);
    case LOOM_OP_CONCAT: return check_concat(r);
    case LOOM_OP_REVERSE: LOOM_TRY(check_levels(r, 0, 1)); return result_is(r, operand_type(r, 0));
    case LOOM_OP_ROTATE: return check_rotate(r);
    case LOOM_OP_FFT: return check_fft(r);
    case LOOM_OP_SORT: return check_sort(r);
    case LOOM_OP_SEQ_ROWS: return check_seq_rows(r);
    case LOOM_OP_SEQ_MAP: return check_map(r, true);
    case LOOM_OP_SEQ_FILTER: return check_seq_filter(r);
    case LOOM_OP_SEQ_ENUMERATE: return check_seq_enumerate(r);
    case LOOM_OP_SEQ_SCAN: return check_seq_fold(r, true);
    case LOOM_OP_SEQ_FOLD: return check_seq_fold(r, false);
    case LOOM_OP_SEQ_PERMUTE: return check_seq_permute(r);
    case LOOM_OP_SEQ_REDUCE: return check_seq_reduce(r);
    case LOOM_OP_SEQ_CHAIN: return check_seq_chain(r);
    case LOOM_OP_SEQ_FROM: return check_seq_from(r);
    case LOOM_OP_SEQ_GROUP: return check_seq_group(r);
    case LOOM_OP_SEQ_GROUP_MAP: return check_seq_group_map(r);
    case LOOM_OP_SEQ_SPILL: return check_seq_spill(r);
    case LOOM_OP_SEQ_SPILLED: return check_seq_spilled(r);
    case LOOM_OPS: break;
    }
    return loom_check_fail(p, id, LOOM_E_DATA, "operation %u does not exist", r->n->op);
}
