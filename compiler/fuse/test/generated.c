/* Generated programs: what is vectorised and fused computes what the interpreter computes. Expressions over numbers,
 * lists and lists of lists, typed as they are made; indices, divisors and extents are not guarded, so that errors occur
 * too: where the interpreter fails the lifted program may fail or not, but must stay in its memory. LOOM_SEED and
 * LOOM_PROGRAMS choose others. */
#include "../../vectorise/test/weft.h"

typedef enum type {
    INT,
    REAL,
    TRUTH,
    INTS,
    REALS,
    ROWS
} type;

enum {
    MAX_VARIABLES = 24
};

typedef struct maker {
    uint64_t state;
    FILE *to;
    struct {
        type type;
        uint32_t number;
    } variables[MAX_VARIABLES];
    uint32_t n_variables, next_number;
    int budget; /* operations left */
} maker;

static uint32_t below(maker *m, uint32_t n) {
    m->state = m->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(m->state >> 33) % n;
}

static void make(maker *m, type t, int depth);

static void text(maker *m, const char *s) {
    fputs(s, m->to);
}

/* Text with holes: %i %r %b int, real, truth; %I %R %M their lists. */
static void form(maker *m, int depth, const char *pattern) {
    for (const char *c = pattern; *c; c++) {
        if (*c != '%') {
            fputc(*c, m->to);
            continue;
        }
        c++;
        type t = *c == 'i' ? INT : *c == 'r' ? REAL : *c == 'b' ? TRUTH : *c == 'I' ? INTS : *c == 'R' ? REALS : ROWS;
        text(m, "(");
        make(m, t, depth - 1);
        text(m, ")");
    }
}

static uint32_t declare(maker *m, type t) {
    m->variables[m->n_variables].type = t;
    m->variables[m->n_variables].number = m->next_number;
    m->n_variables++;
    return m->next_number++;
}

/* \v -> body, with a variable of type `of`. */
static void lambda(maker *m, type of, type to, int depth) {
    uint32_t before = m->n_variables, v = declare(m, of);
    fprintf(m->to, "(\\v%u -> ", v);
    make(m, to, depth - 1);
    text(m, ")");
    m->n_variables = before;
}

static void lambda2(maker *m, type of, type to, int depth) {
    uint32_t before = m->n_variables, v = declare(m, of), w = declare(m, of);
    fprintf(m->to, "(\\v%u v%u -> ", v, w);
    make(m, to, depth - 1);
    text(m, ")");
    m->n_variables = before;
}

static bool variable(maker *m, type t) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_variables; i++) n += m->variables[i].type == t;
    if (!n) return false;
    uint32_t k = below(m, n);
    for (uint32_t i = 0; i < m->n_variables; i++) {
        if (m->variables[i].type != t || k--) continue;
        fprintf(m->to, "v%u", m->variables[i].number);
        return true;
    }
    return false;
}

static void leaf(maker *m, type t) {
    if (below(m, 4) && variable(m, t)) return;
    switch (t) {
    case INT: fprintf(m->to, "%ui64", below(m, 6)); return;
    case REAL: fprintf(m->to, "%u.5f64", below(m, 5)); return;
    case TRUTH: text(m, below(m, 2) ? "true" : "false"); return;
    case INTS: fprintf(m->to, "iota %u", below(m, 5)); return;
    case REALS: text(m, "[1.0, -2.0, 0.5]"); return;
    case ROWS: text(m, "[[1.0, 2.0], [3.0, 4.0]]"); return;
    }
}

static void make_loop(maker *m, type t, int depth) {
    uint32_t before = m->n_variables;
    uint32_t state = m->next_number++;
    fprintf(m->to, "loop v%u = ", state);
    make(m, t, depth - 1);
    m->variables[m->n_variables].type = t;
    m->variables[m->n_variables++].number = state;
    uint32_t i = declare(m, INT);
    fprintf(m->to, " for v%u < %u do ", i, below(m, 4));
    make(m, t, depth - 1);
    m->n_variables = before;
}

static void make_let(maker *m, type t, int depth) {
    type of = (type)below(m, 6);
    uint32_t before = m->n_variables;
    fprintf(m->to, "let v%u = ", m->next_number);
    uint32_t number = m->next_number++;
    make(m, of, depth - 1);
    m->variables[m->n_variables].type = of;
    m->variables[m->n_variables++].number = number;
    text(m, " in ");
    make(m, t, depth - 1);
    m->n_variables = before;
}

static void make_int(maker *m, int d) {
    static const char *const forms[] = {"%i + %i",
                                        "%i - %i",
                                        "%i * %i",
                                        "%i / %i",
                                        "%i %% %i",
                                        "length %R",
                                        "length %M",
                                        "i64.max %i %i",
                                        "sum %I",
                                        "%I[%i]",
                                        "%I[%i %% 3]",
                                        "i64.f64 %r",
                                        "if %b then %i else %i",
                                        "length (transpose %M)"};
    const char *f = forms[below(m, sizeof forms / sizeof *forms)];
    /* A modulo sign stands for itself here. */
    if (strstr(f, "%%")) {
        text(m, "(");
        make(m, strchr(f, '[') ? INTS : INT, d - 1);
        text(m, strchr(f, '[') ? ")[(" : ") % (");
        make(m, INT, d - 1);
        text(m, strchr(f, '[') ? ") % 3]" : ")");
        return;
    }
    form(m, d, f);
}

static void make_real(maker *m, int d) {
    static const char *const forms[] = {"%r + %r",       "%r - %r",    "%r * %r",
                                        "f64.i64 %i",    "sum %R",     "%R[%i]",
                                        "f64.min %r %r", "f64.abs %r", "if %b then %r else %r",
                                        "maximum %R",    "%M[%i, %i]"};
    form(m, d, forms[below(m, sizeof forms / sizeof *forms)]);
}

static void make_truth(maker *m, int d) {
    static const char *const forms[] = {"%i < %i", "%r < %r", "%i == %i", "%b && %b", "%b || %b", "!%b"};
    form(m, d, forms[below(m, sizeof forms / sizeof *forms)]);
}

static void make_ints(maker *m, int d) {
    switch (below(m, 6)) {
    case 0: form(m, d, "iota (i64.max 0 (i64.min 6 %i))"); return;
    case 1: text(m, "map "), lambda(m, INT, INT, d), form(m, d, " %I"); return;
    case 2: text(m, "map "), lambda(m, REAL, INT, d), form(m, d, " %R"); return;
    case 3: form(m, d, "reverse %I"); return;
    case 4:
        text(m, "generate (i64.max 0 (i64.min 5 "), form(m, d, "%i))"), text(m, " "), lambda(m, INT, INT, d);
        return;
    default: form(m, d, "scan (+) 0 %I"); return;
    }
}

static void make_reals(maker *m, int d) {
    static const char *const forms[] = {"reverse %R",
                                        "rotate %i %R",
                                        "%R ++ %R",
                                        "scan (+) 0.0 %R",
                                        "%M[%i]",
                                        "flatten %M",
                                        "map sum %M",
                                        "gather %R %I",
                                        "%R with [%i] = %r",
                                        "if %b then %R else %R",
                                        "%R[1:3]",
                                        "%R[%i:%i]",
                                        "fold (map2 (+)) (replicate (length (transpose %M)) 0.0) %M",
                                        "map2 (*) %R %R",
                                        "permute (+) %R %I (map f64.i64 %I)",
                                        "replicate (i64.max 0 (i64.min 4 %i)) %r",
                                        "%R[::-1]",
                                        "scatter %R (iota 2) %R[0:2]"};
    uint32_t n = sizeof forms / sizeof *forms, k = below(m, n + 6);
    if (k < n) {
        form(m, d, forms[k]);
    } else if (k == n || k == n + 1) {
        text(m, "map "), lambda(m, REAL, REAL, d), form(m, d, " %R");
    } else if (k == n + 2) {
        text(m, "map2 "), lambda2(m, REAL, REAL, d), form(m, d, " %R %R");
    } else if (k == n + 3) {
        text(m, "map "), lambda(m, REALS, REAL, d), form(m, d, " %M");
    } else if (k == n + 4) {
        form(m, d, "generate (i64.max 0 (i64.min 5 %i)) "), lambda(m, INT, REAL, d);
    } else {
        form(m, d, "backpermute %R "), lambda(m, INT, INT, d), form(m, d, " %R");
    }
}

static void make_rows(maker *m, int d) {
    switch (below(m, 8)) {
    case 0:
    case 1: text(m, "map "), lambda(m, REALS, REALS, d), form(m, d, " %M"); return;
    case 2: form(m, d, "transpose %M"); return;
    case 3: form(m, d, "replicate (i64.max 0 (i64.min 4 %i)) %R"); return;
    case 4: form(m, d, "map (map (* %r)) %M"); return;
    case 5: form(m, d, "reverse %M"); return;
    case 6: text(m, "map "), lambda(m, REAL, REALS, d), form(m, d, " %R"); return;
    default: text(m, "map2 "), lambda2(m, REALS, REALS, d), form(m, d, " %M %M"); return;
    }
}

static void make(maker *m, type t, int depth) {
    if (depth <= 0 || m->budget-- <= 0 || m->n_variables + 4 > MAX_VARIABLES) {
        leaf(m, t);
        return;
    }
    uint32_t k = below(m, 14);
    if (k == 0) {
        leaf(m, t);
    } else if (k == 1) {
        make_let(m, t, depth);
    } else if (k == 2) {
        make_loop(m, t, depth);
    } else {
        switch (t) {
        case INT: make_int(m, depth); return;
        case REAL: make_real(m, depth); return;
        case TRUTH: make_truth(m, depth); return;
        case INTS: make_ints(m, depth); return;
        case REALS: make_reals(m, depth); return;
        case ROWS: make_rows(m, depth); return;
        }
    }
}

/* The last two parameters may be streams: of numbers and of lists. */
static void make_traversal(maker *m) {
    static const char *const forms[] = {"fold_seq (+) 0.0 (map_seq ", "from_seq (map_seq ",
                                        "fold_seq f64.max (-f64.inf) (map_seq "};
    static const char *const results[] = {"f64", "[]f64", "f64"};
    uint32_t k = below(m, 4), lists = below(m, 2);
    if (k == 3) {
        fprintf(m->to, "[]f64 =\n  permute_seq (+) (replicate 5 0.0) (map_seq ");
        lambda(m, lists ? REALS : REAL, INT, 5);
        fprintf(m->to, " s%u) (map_seq ", lists);
        lambda(m, lists ? REALS : REAL, REAL, 5);
        fprintf(m->to, " s%u)", lists);
        return;
    }
    fprintf(m->to, "%s =\n  %s", results[k], forms[k]);
    lambda(m, lists ? REALS : REAL, REAL, 6);
    fprintf(m->to, " s%u)", lists);
}

static char *program(uint64_t seed, bool streams) {
    static const type given[] = {REALS, ROWS, INTS, INT, REAL};
    char *out = NULL;
    size_t length = 0;
    maker m = {.state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1, .budget = 26};
    m.to = open_memstream(&out, &length);
    text(&m, "entry main (v0: []f64) (v1: [][]f64) (v2: []i64) (v3: i64) (v4: f64) ");
    if (streams) text(&m, "(s0: seq f64) (s1: seq ([]f64)) ");
    text(&m, ": ");
    for (uint32_t i = 0; i < 5; i++) declare(&m, given[i]);
    static const char *const types[] = {"i64", "f64", "bool", "[]i64", "[]f64", "[][]f64"};
    if (streams) {
        make_traversal(&m);
    } else {
        type t = (type)below(&m, 6);
        fprintf(m.to, "%s =\n  ", types[t]);
        make(&m, t, 6);
    }
    fclose(m.to);
    return out;
}

static uint64_t number_from(const char *name, uint64_t otherwise) {
    const char *s = getenv(name);
    return s ? strtoull(s, NULL, 10) : otherwise;
}

LOOM_TEST(generated, programs_agree) {
    uint64_t seed = number_from("LOOM_SEED", 1), n = number_from("LOOM_PROGRAMS", 400), outcomes[3] = {0};
    for (uint64_t i = 0; i < n; i++) {
        bool streams = (seed + i) % 5 == 0;
        char *source = program(seed + i, streams);
        char name[40];
        snprintf(name, sizeof name, "seed %llu", (unsigned long long)(seed + i));
        if (getenv("LOOM_SHOW")) fprintf(stderr, "-- %s\n%s\n", name, source);
        static const char *const arguments[4][3] = {
            {"f64 5", "f64 3x4", "i64 4 = 0 2 1 3"},
            {"f64 70", "f64 3x80", "i64 4 = 0 2 1 3"}, /* extents that stay symbolic */
            {"f64 0", "f64 0x0", "i64 0"},             /* nothing runs under an empty map */
            {"f64 90", "f64 90x90", "i64 90"},         /* equal extents that are not known to be */
        };
        const char *const *a = arguments[(seed + i) % 4];
        weft_case c = {.name = name,
                       .text = source,
                       .arguments = {a[0], a[1], a[2], "i64 = 2", "f64 = 1.5", streams ? "f64 6" : NULL, "f64 6x3"},
                       .expect = WEFT_ANY,
                       .tolerance = 1e-9,
                       .known = i % 3 == 0};
        weft_outcome outcome = weft_run(&c);
        outcomes[outcome]++;
        free(source);
    }
    fprintf(stderr, "%llu the same, %llu refused, %llu fail\n", (unsigned long long)outcomes[WEFT_WAS_SAME],
            (unsigned long long)outcomes[WEFT_WAS_REFUSED], (unsigned long long)outcomes[WEFT_HAD_FAILED]);
    if (n >= 100) LOOM_CHECK(outcomes[WEFT_WAS_SAME] * 4 > n); /* else the test tests little */
}
