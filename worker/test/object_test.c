#include "executor/object.h"
#include "support.h"

LOOM_TEST(object, runs_a_kernel) {
    size_t length;
    char *bytes = kernels_object(&length);
    static const char *const symbols[] = {"add_f64", "dot_reduce", "add_f64"};
    void *addresses[3];
    loom_object *object;
    LOOM_OK(loom_object_link(bytes, length, symbols, 3, addresses, &object));
    free(bytes);
    LOOM_CHECK(addresses[0] == addresses[2] && addresses[0] != addresses[1]);
    double a[3] = {1, 2, 3}, b[3] = {10, 20, 30};
    void *into = a, *from = b;
    ((loom_kernel_combine)(uintptr_t)addresses[0])(NULL, &into, &from, 0, 3);
    LOOM_CHECK_NEAR(a[2], 33, 0);
    loom_object_destroy(object);
}

LOOM_TEST(object, names_a_missing_kernel) {
    size_t length;
    char *bytes = kernels_object(&length);
    static const char *const symbols[] = {"add_f64", "no_such_kernel"};
    void *addresses[2];
    loom_object *object;
    loom_status *status = loom_object_link(bytes, length, symbols, 2, addresses, &object);
    LOOM_CHECK_HAS(loom_status_message(status), "no_such_kernel");
    loom_status_free(status);
    free(bytes);
}

/* The object of the tests has one function that calls what is not on the list. Linking happens for the whole object, so
 * it stands in a file of its own. */
LOOM_TEST(object, refuses_symbols_of_the_process) {
    const char *bin = getenv("GRIDLOOM_BIN");
    if (!bin) LOOM_SKIP("GRIDLOOM_BIN is not set");
    size_t length;
    char *bytes = named_object("worker_forbidden.o", &length);
    static const char *const symbols[] = {"calls_getpid"};
    void *address;
    loom_object *object;
    loom_status *status = loom_object_link(bytes, length, symbols, 1, &address, &object);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_DATA);
    LOOM_CHECK_HAS(loom_status_message(status), "getpid");
    loom_status_free(status);
    free(bytes);
}

LOOM_TEST(object, refuses_what_is_no_object) {
    static const char *const symbols[] = {"f"};
    void *address;
    loom_object *object;
    LOOM_FAILS(loom_object_link("this is no object file", 22, symbols, 1, &address, &object), LOOM_E_DATA);
    LOOM_FAILS(loom_object_link("", 0, symbols, 1, &address, &object), LOOM_E_DATA);
    size_t length;
    char *bytes = kernels_object(&length);
    loom_status *status = loom_object_link(bytes, length / 2, symbols, 1, &address, &object);
    LOOM_CHECK_EQ_INT(loom_status_code(status), LOOM_E_DATA);
    loom_status_free(status);
    free(bytes);
}
