/* Binding command lines to entries, scalars, results. */
#include "client/binding.h"
#include "client/output.h"
#include "client/program.h"
#include "common/buffer.h"
#include "common/file.h"
#include "io/npy.h"
#include "loom_test.h"
#include <unistd.h>

static loom_client_program *compile(const char *text) {
    loom_client_program *p;
    LOOM_OK(loom_client_embedded("test.weft", text, strlen(text), &p));
    LOOM_OK(loom_client_compile(p));
    return p;
}

/* ---- scalars ---- */

static loom_scalar scalar(const char *text, loom_dtype dtype) {
    loom_scalar x;
    LOOM_OK(loom_client_scalar("x", text, dtype, &x));
    return x;
}

static void no_scalar(const char *text, loom_dtype dtype) {
    loom_scalar x;
    LOOM_FAILS(loom_client_scalar("x", text, dtype, &x), LOOM_E_USAGE);
}

LOOM_TEST(scalar, from_text) {
    LOOM_CHECK_EQ_INT(scalar("-128", LOOM_I8).i, -128);
    LOOM_CHECK_EQ_INT(scalar("-9223372036854775808", LOOM_I64).i, INT64_MIN);
    LOOM_CHECK(scalar("18446744073709551615", LOOM_U64).u == UINT64_MAX);
    LOOM_CHECK_EQ_INT(scalar("0x10", LOOM_U8).u, 16);
    LOOM_CHECK(scalar("true", LOOM_BOOL).b && !scalar("false", LOOM_BOOL).b);
    LOOM_CHECK_NEAR(scalar("-1.5e3", LOOM_F32).f, -1500.0, 0);
    LOOM_CHECK(isinf(scalar("-inf", LOOM_F64).f) && isnan(scalar("nan", LOOM_F64).f));
    LOOM_CHECK_NEAR(scalar("0.1", LOOM_F32).f, (double)0.1f, 0);
    static const struct {
        const char *text;
        double re, im;
    } complexes[] = {{"1+2i", 1, 2}, {"1-2i", 1, -2},         {"-1.5", -1.5, 0}, {"2i", 0, 2},  {"-i", 0, -1},
                     {"i", 0, 1},    {"1e1-1e-1i", 10, -0.1}, {"3+i", 3, 1},     {"3-i", 3, -1}};
    for (size_t i = 0; i < sizeof complexes / sizeof *complexes; i++) {
        loom_scalar x = scalar(complexes[i].text, LOOM_C128);
        LOOM_CHECK_NEAR(x.c[0], complexes[i].re, 0);
        LOOM_CHECK_NEAR(x.c[1], complexes[i].im, 0);
    }
}

LOOM_TEST(scalar, from_wrong_text) {
    no_scalar("128", LOOM_I8);
    no_scalar("-1", LOOM_U8);
    no_scalar("256", LOOM_U8);
    no_scalar("1.5", LOOM_I64);
    no_scalar("", LOOM_I64);
    no_scalar("9223372036854775808", LOOM_I64);
    no_scalar("yes", LOOM_BOOL);
    no_scalar("1,5", LOOM_F64);
    no_scalar("", LOOM_F64);
    no_scalar("1+2", LOOM_C64);
    no_scalar("1+2i+3", LOOM_C64);
    no_scalar("1 2i", LOOM_C64);
    no_scalar("", LOOM_C64);
    no_scalar("j", LOOM_C64);
}

static void prints(loom_dtype dtype, const void *at, const char *expected) {
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    loom_client_print_scalar(dtype, at, to);
    fclose(to);
    LOOM_CHECK_STR(text, expected);
    free(text);
}

LOOM_TEST(scalar, to_text) {
    prints(LOOM_F32, &(float){0.1f}, "0.100000001");
    prints(LOOM_F64, &(double){-INFINITY}, "-inf");
    prints(LOOM_C64, (float[]){1, -2}, "1-2i");
    prints(LOOM_C128, (double[]){0, 2}, "0+2i");
    prints(LOOM_U64, &(uint64_t){UINT64_MAX}, "18446744073709551615");
    prints(LOOM_I8, &(int8_t){-3}, "-3");
    prints(LOOM_BOOL, &(bool){true}, "true");
}

/* ---- entries ---- */

LOOM_TEST(entry, is_found_or_told) {
    loom_client_program *p =
        compile("entry a (x: i64) : i64 = x\nentry b (x: i64) (ys: []f32) : (i64, []f32) = (x, ys)");
    uint32_t f;
    LOOM_OK(loom_client_entry(p, "b", &f));
    char *signature = loom_client_signature(p->program, f);
    LOOM_CHECK_STR(signature, "b (x: i64) (ys: []f32) : (i64, []f32)");
    free(signature);
    loom_status *status = loom_client_entry(p, NULL, &f);
    LOOM_CHECK_HAS(loom_status_message(status), "a, b");
    LOOM_FAILS(status, LOOM_E_USAGE);
    LOOM_FAILS(loom_client_entry(p, "c", &f), LOOM_E_USAGE);
    loom_client_program_free(p);
    p = compile("def a (x: i64) : i64 = x");
    LOOM_FAILS(loom_client_entry(p, NULL, &f), LOOM_E_DATA);
    loom_client_program_free(p);
}

LOOM_TEST(program, that_is_wrong) {
    loom_client_program *p;
    const char *text = "entry a (x: i64) : i64 = y + z\n";
    LOOM_OK(loom_client_embedded("test.weft", text, strlen(text), &p));
    loom_status *status = loom_client_compile(p);
    LOOM_CHECK(p->diagnostics.count >= 2);
    LOOM_FAILS(status, LOOM_E_TYPE);
    loom_client_program_free(p);
    LOOM_FAILS(loom_client_read((const char *[]){"/nonexistent.weft"}, 1, &p), LOOM_E_NOINPUT);
}

/* ---- binding ---- */

typedef struct fixture {
    char *folder;
    loom_client_program *program;
    uint32_t function;
    const char *texts[3][8]; /* --arg, --stream, --const */
    size_t n[3];
    loom_client_binding *binding;
} fixture;

static fixture *make_fixture(const char *text) {
    fixture *f = loom_xcalloc(1, sizeof *f);
    f->folder = loom_xstrdup("/tmp/loom-client-test-XXXXXX");
    LOOM_CHECK(mkdtemp(f->folder) && chdir(f->folder) == 0);
    f->program = compile(text);
    LOOM_OK(loom_client_entry(f->program, NULL, &f->function));
    return f;
}

static void free_fixture(fixture *f) {
    loom_client_binding_free(f->binding);
    loom_client_program_free(f->program);
    LOOM_CHECK_EQ_INT(chdir("/"), 0);
    loom_remove_tree(f->folder);
    free(f->folder);
    free(f);
}

static void give(fixture *f, int kind, const char *text) {
    f->texts[kind][f->n[kind]++] = text;
}

static loom_status *bind(fixture *f) {
    loom_client_given given = {
        .arguments = {f->texts[0], f->n[0]}, .streams = {f->texts[1], f->n[1]}, .constants = {f->texts[2], f->n[2]}};
    return loom_client_bind(f->program->program, f->function, &given, &f->binding);
}

static void refused(fixture *f, loom_code code, const char *part) {
    loom_status *status = bind(f);
    char *text = loom_status_text(status);
    LOOM_CHECK_HAS(text, part);
    free(text);
    LOOM_FAILS(status, code);
}

LOOM_TEST(binding, records_arrays_and_streams) {
    fixture *f =
        make_fixture("type vis [c] = {u: f64, freq: [c]f64, z: [c]c64}\n"
                     "entry main [c] (p: {n: i64, z: c64, k: []f32}) (s: seq (vis [c])) (b: bool) : i64 = p.n\n");
    float k[3] = {1, 2, 3}, z[4 * 2 * 2] = {0};
    double u[4] = {5, 6, 7, 8}, freq[2] = {1, 2};
    LOOM_OK(loom_npy_write("k.npy", LOOM_F32, 1, (int64_t[]){3}, k));
    LOOM_OK(loom_npy_write("u.npy", LOOM_F64, 1, (int64_t[]){4}, u));
    LOOM_OK(loom_npy_write("f.npy", LOOM_F64, 1, (int64_t[]){2}, freq));
    LOOM_OK(loom_npy_write("z.npy", LOOM_C64, 2, (int64_t[]){4, 2}, z));
    give(f, 0, "p.n=512");
    give(f, 0, "p.z=1+2i");
    give(f, 0, "p.k=k.npy");
    give(f, 0, "b=true");
    give(f, 1, "s.u=u.npy");
    give(f, 1, "s.z=z.npy");
    refused(f, LOOM_E_USAGE, "missing: --stream s.freq=FILE.npy");
    give(f, 2, "s.freq=f.npy");
    LOOM_OK(bind(f));
    LOOM_CHECK_EQ_INT(f->binding->n_params, 3);
    const loom_value *p = f->binding->arguments[0];
    LOOM_OK(loom_value_check(p));
    LOOM_CHECK_EQ_INT(*(int64_t *)loom_value_find(p, "n")->data, 512);
    LOOM_CHECK_NEAR((double)((float *)loom_value_find(p, "z")->data)[1], 2.0, 0);
    LOOM_CHECK_EQ_INT(loom_value_find(p, "k")->extents[0], 3);
    LOOM_CHECK(!f->binding->arguments[1] && f->binding->sources[1]->n_elements == 4);
    loom_value *all;
    LOOM_OK(loom_client_collect(f->program->program, loom_client_param_type(f->program->program, f->function, 1),
                                f->binding->sources[1], &all));
    LOOM_OK(loom_value_check(all));
    LOOM_CHECK_STR(all->leaves[1].name, "freq");
    LOOM_CHECK_EQ_INT(all->leaves[1].extents[0], 4);
    LOOM_CHECK_NEAR(((double *)all->leaves[1].data)[7], 2.0, 0);
    loom_value_unref(all);
    free_fixture(f);
}

LOOM_TEST(binding, irregular_arguments) {
    fixture *f = make_fixture("entry main (xss: [][]f32) : i64 = length xss\n");
    float x[5] = {0};
    LOOM_OK(loom_npy_write("x.npy", LOOM_F32, 1, (int64_t[]){5}, x));
    LOOM_OK(loom_npy_write("n.npy", LOOM_I64, 1, (int64_t[]){3}, (int64_t[]){2, 0, 3}));
    give(f, 0, "xss=x.npy,n.npy");
    LOOM_OK(bind(f));
    LOOM_OK(loom_value_check(f->binding->arguments[0]));
    LOOM_CHECK_EQ_INT(f->binding->arguments[0]->leaves[0].extents[0], 3);
    LOOM_CHECK_EQ_INT(f->binding->arguments[0]->leaves[0].extents[1], LOOM_IRREGULAR);
    free_fixture(f);
}

LOOM_TEST(binding, what_is_wrong_is_told) {
    fixture *f = make_fixture("entry main (n: i32) (xs: []f32) (s: seq f32) : i32 = n\n");
    double x[2] = {0};
    LOOM_OK(loom_npy_write("d.npy", LOOM_F64, 1, (int64_t[]){2}, x));
    LOOM_OK(loom_npy_write("f.npy", LOOM_F32, 1, (int64_t[]){2}, x));
    static const struct {
        int kind;
        const char *text;
        loom_code code;
        const char *part;
    } wrong[] = {
        {0, "m=1", LOOM_E_USAGE, "no parameter 'm'"}, {0, "n", LOOM_E_USAGE, "expected NAME[.field]="},
        {0, "n.x=1", LOOM_E_USAGE, "no fields"},      {0, "s=f.npy", LOOM_E_USAGE, "use --stream"},
        {1, "n=f.npy", LOOM_E_USAGE, "use --arg"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        give(f, wrong[i].kind, wrong[i].text);
        refused(f, wrong[i].code, wrong[i].part);
        f->n[wrong[i].kind]--;
    }
    refused(f, LOOM_E_USAGE, "missing: --arg n=VALUE (i32)");
    give(f, 0, "n=1");
    give(f, 1, "s=f.npy");
    static const struct {
        const char *text;
        loom_code code;
        const char *part;
    } arrays[] = {
        {"xs=d.npy", LOOM_E_DATA, "holds f64 with 1 axes, the parameter is []f32"},
        {"xs=1.5", LOOM_E_USAGE, "given as a file"},
        {"xs=none.npy", LOOM_E_NOINPUT, "none.npy"},
        {"n=2", LOOM_E_USAGE, "was given before"},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        give(f, 0, arrays[i].text);
        refused(f, arrays[i].code, arrays[i].part);
        f->n[0]--;
    }
    f->n[1] = 0;
    give(f, 0, "xs=f.npy");
    give(f, 1, "s=d.npy");
    refused(f, LOOM_E_DATA, "holds f64, but");
    f->n[0] = 0;
    give(f, 0, "n=3000000000");
    give(f, 0, "xs=f.npy");
    refused(f, LOOM_E_USAGE, "does not fit into i32");
    free_fixture(f);
}

LOOM_TEST(binding, columns_of_one_array_are_equally_long) {
    fixture *f = make_fixture("entry main (ps: []{x: f32, y: f32}) : i64 = length ps\n");
    float x[3] = {0};
    LOOM_OK(loom_npy_write("a.npy", LOOM_F32, 1, (int64_t[]){3}, x));
    LOOM_OK(loom_npy_write("b.npy", LOOM_F32, 1, (int64_t[]){2}, x));
    give(f, 0, "ps.x=a.npy");
    give(f, 0, "ps.y=b.npy");
    refused(f, LOOM_E_DATA, "differ in length");
    f->texts[0][1] = "ps.y=a.npy";
    LOOM_OK(bind(f));
    free_fixture(f);
}

/* ---- outputs ---- */

static loom_status *outputs(fixture *f, const char *a, const char *b, loom_client_outputs **out) {
    const char *texts[2] = {a, b};
    loom_option_list given = {texts, (size_t)(a != NULL) + (b != NULL)};
    return loom_client_outputs_create(f->program->program, f->function, &given, out);
}

LOOM_TEST(output, parts_to_files_and_to_text) {
    fixture *f =
        make_fixture("entry main (x: i64) (ys: []f32) : (i64, {a: []f32, b: bool}) = (x, {a = ys, b = true})\n");
    loom_client_outputs *out;
    LOOM_FAILS(outputs(f, "x.npy", NULL, &out), LOOM_E_USAGE);
    LOOM_FAILS(outputs(f, "7=x.npy", NULL, &out), LOOM_E_USAGE);
    LOOM_FAILS(outputs(f, "1.a=x.txt", NULL, &out), LOOM_E_USAGE);
    LOOM_FAILS(outputs(f, "1.a=nowhere/x.npy", NULL, &out), LOOM_E_CANTCREATE);
    LOOM_OK(outputs(f, "1.a=x.npy", "1.b=.//x.npy", &out));
    loom_paths *paths = loom_paths_create();
    loom_client_outputs_list(out, paths);
    LOOM_FAILS(loom_paths_check(paths), LOOM_E_USAGE);
    loom_paths_free(paths);
    loom_client_outputs_free(out);
    LOOM_OK(outputs(f, "1.a=x.npy", NULL, &out));
    loom_value *result;
    LOOM_OK(loom_value_create(3, &result));
    LOOM_OK(loom_leaf_init(&result->leaves[0], "0", LOOM_I64, 0, NULL, 64));
    LOOM_OK(loom_leaf_init(&result->leaves[1], "1.a", LOOM_F32, 1, (int64_t[]){2}, 64));
    LOOM_OK(loom_leaf_init(&result->leaves[2], "1.b", LOOM_BOOL, 0, NULL, 64));
    *(int64_t *)result->leaves[0].data = 5;
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    loom_file_set *files = loom_file_set_create();
    LOOM_OK(loom_client_outputs_hold(out, result, to, files));
    LOOM_CHECK(access("x.npy", F_OK) != 0);
    LOOM_OK(loom_file_set_commit(files));
    loom_file_set_destroy(files);
    fclose(to);
    LOOM_CHECK_STR(text, "0 = 5\n1.b = false\n");
    free(text);
    loom_value *back;
    LOOM_OK(loom_npy_read("x.npy", "", &back));
    LOOM_CHECK_EQ_INT(back->leaves[0].extents[0], 2);
    loom_value_unref(back);
    loom_value_unref(result);
    loom_client_outputs_free(out);
    LOOM_FAILS(loom_client_check_writable("y.npy", UINT64_C(1) << 62), LOOM_E_IO);
    LOOM_FAILS(loom_client_check_writable(f->folder, 0), LOOM_E_CANTCREATE);
    free_fixture(f);
}

LOOM_TEST(output, irregular_text) {
    fixture *f = make_fixture("entry main (xss: [][]i64) : [][]i64 = xss\n");
    loom_client_outputs *out;
    LOOM_OK(outputs(f, NULL, NULL, &out));
    int64_t data[3] = {1, 2, 3}, lengths[2] = {1, 2};
    loom_leaf leaf = {
        .name = (char[]){""}, .dtype = LOOM_I64, .depth = 2, .extents = {2, LOOM_IRREGULAR}, .data = data, .n_data = 3};
    leaf.lengths[1] = lengths;
    leaf.n_lengths[1] = 2;
    loom_value value = {.n_leaves = 1, .leaves = &leaf};
    char *text = NULL;
    size_t n;
    FILE *to = open_memstream(&text, &n);
    LOOM_OK(loom_client_outputs_hold(out, &value, to, NULL));
    fclose(to);
    LOOM_CHECK_STR(text, "[[1], [2, 3]]\n");
    free(text);
    loom_client_outputs_free(out);
    free_fixture(f);
}
