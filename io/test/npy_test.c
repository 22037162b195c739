#include "common/buffer.h"
#include "io/npy.h"
#include "loom_test.h"
#include <unistd.h>

static char *folder(void) {
    char *path = loom_xstrdup("/tmp/loom-npy-test-XXXXXX");
    LOOM_CHECK(mkdtemp(path));
    return path;
}

static void python(const char *code) {
    char *command = loom_xprintf("/usr/bin/python3 -c \"import numpy as np\n%s\"", code);
    LOOM_CHECK_EQ_INT(system(command), 0);
    free(command);
}

static void drop(char *path) {
    loom_remove_tree(path);
    free(path);
}

/* ---- with NumPy ---- */

LOOM_TEST(npy, every_type_to_numpy_and_back) {
    static const char *const numpy[LOOM_DTYPES] = {"bool",    "int8",      "int16",     "int32",  "int64",
                                                   "uint8",   "uint16",    "uint32",    "uint64", "float32",
                                                   "float64", "complex64", "complex128"};
    char *at = folder();
    for (int t = 0; t < LOOM_DTYPES; t++) {
        loom_dtype dtype = (loom_dtype)t;
        char *ours = loom_xprintf("%s/ours.npy", at), *theirs = loom_xprintf("%s/theirs.npy", at);
        int64_t extents[3] = {2, 3, 4};
        unsigned char data[24 * 16];
        for (size_t i = 0; i < sizeof data; i++) data[i] = dtype == LOOM_BOOL ? i & 1 : (unsigned char)(i % 64);
        LOOM_OK(loom_npy_write(ours, dtype, 3, extents, data));
        char *code =
            loom_xprintf("x = np.load('%s'); assert x.dtype == np.%s and x.shape == (2, 3, 4), x\nnp.save('%s', x)",
                         ours, strcmp(numpy[t], "bool") == 0 ? "bool_" : numpy[t], theirs);
        python(code);
        loom_value *value;
        LOOM_OK(loom_npy_read(theirs, "x", &value));
        LOOM_OK(loom_value_check(value));
        LOOM_CHECK_EQ_INT(value->leaves[0].dtype, dtype);
        LOOM_CHECK_EQ_INT(value->leaves[0].extents[2], 4);
        LOOM_CHECK_EQ_INT(memcmp(value->leaves[0].data, data, 24 * loom_dtype_size(dtype)), 0);
        loom_value_unref(value);
        free(code);
        free(ours);
        free(theirs);
    }
    drop(at);
}

LOOM_TEST(npy, shapes_of_all_kinds) {
    char *at = folder();
    char *code = loom_xprintf("np.save('%s/s.npy', np.float64(2.5)); np.save('%s/e.npy', np.zeros((0, 3), 'f4'))\n"
                              "np.save('%s/v.npy', np.arange(3))\n"
                              "np.save('%s/b.npy', np.frombuffer(bytes([0, 1, 2, 255]), dtype=bool))",
                              at, at, at, at);
    python(code);
    struct {
        const char *name;
        uint32_t depth;
        int64_t n, first;
    } files[] = {{"s", 0, 1, -1}, {"e", 2, 0, 0}, {"v", 1, 3, 3}, {"b", 1, 4, 4}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = loom_xprintf("%s/%s.npy", at, files[i].name);
        loom_value *value;
        LOOM_OK(loom_npy_read(path, "", &value));
        LOOM_OK(loom_value_check(value));
        LOOM_CHECK_EQ_INT(value->leaves[0].depth, files[i].depth);
        LOOM_CHECK_EQ_INT(value->leaves[0].n_data, files[i].n);
        if (files[i].depth) LOOM_CHECK_EQ_INT(value->leaves[0].extents[0], files[i].first);
        loom_value_unref(value);
        free(path);
    }
    free(code);
    drop(at);
}

LOOM_TEST(npy, irregular_leaf_and_its_lengths) {
    char *at = folder(), *path = loom_xprintf("%s/r.npy", at);
    int64_t lengths[3] = {2, 0, 1};
    float data[6] = {1, 2, 3, 4, 5, 6};
    loom_leaf leaf = {.dtype = LOOM_F32, .depth = 3, .extents = {3, LOOM_IRREGULAR, 2}, .data = data, .n_data = 6};
    leaf.lengths[1] = lengths;
    leaf.n_lengths[1] = 3;
    LOOM_OK(loom_npy_write_leaf(path, &leaf));
    char *code = loom_xprintf("x, n = np.load('%s'), np.load('%s/r.lengths.npy')\n"
                              "assert x.shape == (3, 2) and list(n) == [2, 0, 1] and n.dtype == np.int64",
                              path, at);
    python(code);
    free(code);
    free(path);
    drop(at);
}

/* ---- headers from outside ---- */

/* A version 1.0 file of a dict and `bytes` bytes of data. */
static loom_status *parse(const char *dict, size_t bytes, loom_npy_header *header) {
    loom_buffer b = {0};
    size_t n = strlen(dict);
    loom_buffer_append(&b, "\x93NUMPY\x01\x00", 8);
    char size[2] = {(char)(n & 0xff), (char)(n >> 8)};
    loom_buffer_append(&b, size, 2);
    loom_buffer_text(&b, dict);
    for (size_t i = 0; i < bytes; i++) loom_buffer_append(&b, "", 1);
    loom_status *status = loom_npy_parse("x.npy", b.data, b.length, header);
    loom_buffer_free(&b);
    return status;
}

static void refused(const char *dict, size_t bytes, loom_code code, const char *part) {
    loom_npy_header header;
    loom_status *status = parse(dict, bytes, &header);
    char *text = loom_status_text(status);
    LOOM_CHECK_HAS(text, part);
    free(text);
    LOOM_FAILS(status, code);
}

LOOM_TEST(npy, accepts_headers_written_by_hand) {
    loom_npy_header h;
    LOOM_OK(parse("{'descr':'<f8','fortran_order':False,'shape':(2,3)}", 48, &h));
    LOOM_CHECK_EQ_INT(h.depth, 2);
    LOOM_OK(parse("  { \"shape\" : ( 2L , ) , 'descr': '<i4', \"fortran_order\": True , } \n", 8, &h));
    LOOM_CHECK_EQ_INT(h.depth, 1);
    LOOM_CHECK_EQ_INT(h.dtype, LOOM_I32);
    LOOM_OK(parse("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", 1, &h));
    LOOM_CHECK_EQ_INT(h.depth, 0);
    LOOM_OK(parse("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9223372036854775807), }", 0, &h));
    LOOM_CHECK_EQ_INT(h.bytes, 0);
}

LOOM_TEST(npy, refuses_what_it_does_not_understand) {
    refused("{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }", 8, LOOM_E_DATA, "big-endian");
    refused("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }", 32, LOOM_E_DATA, "Fortran order");
    refused("{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }", 2, LOOM_E_DATA, "'<f2'");
    refused("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 8, LOOM_E_DATA, "'|O'");
    refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4, LOOM_E_DATA, "structured");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 8, LOOM_E_DATA, "cut off");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 8, LOOM_E_LIMIT, "2^63");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8, LOOM_E_DATA, "damaged");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", 8, LOOM_E_DATA, "damaged");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }", 8, LOOM_E_LIMIT,
            "axes");
    refused("{'descr': '<f8', 'shape': (1,), }", 8, LOOM_E_DATA, "missing");
    refused("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", 8, LOOM_E_DATA,
            "unexpected key");
    refused("{'descr': '<f8', 'fortran_order': False, 'shape': (1", 8, LOOM_E_DATA, "damaged");
    refused("", 0, LOOM_E_DATA, "damaged");
}

LOOM_TEST(npy, refuses_other_files) {
    loom_npy_header h;
    LOOM_FAILS(loom_npy_parse("x", "", 0, &h), LOOM_E_DATA);
    LOOM_FAILS(loom_npy_parse("x", "SIMPLE  = T   ", 14, &h), LOOM_E_DATA);
    LOOM_FAILS(loom_npy_parse("x", "\x93NUMPY\x04\x00\x00\x00", 10, &h), LOOM_E_DATA);
    LOOM_FAILS(loom_npy_parse("x", "\x93NUMPY\x02\x00\x00\x00", 10, &h), LOOM_E_DATA);
    /* One byte beyond LOOM_MAX_NPY_HEADER. */
    LOOM_FAILS(loom_npy_parse("x", "\x93NUMPY\x02\x00\x00\x00\x01\x00", 12, &h), LOOM_E_LIMIT);
    loom_value *value;
    LOOM_FAILS(loom_npy_read("/nonexistent.npy", "x", &value), LOOM_E_NOINPUT);
    LOOM_FAILS(loom_npy_read("/tmp", "x", &value), LOOM_E_NOINPUT);
}
