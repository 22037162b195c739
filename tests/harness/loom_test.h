/* Unit tests, written once and run by either of two runners: Criterion (a process per test, in parallel) and a plain
 * one (all tests in one process, which is what ThreadSanitizer and a debugger need).
 *
 *     #include "loom_test.h"
 *     LOOM_TEST(arena, grows) {
 *         LOOM_CHECK_EQ_INT(loom_arena_used(arena), 16);
 *         LOOM_OK(loom_file_read(path, limit, &data, &length));
 *     }
 *
 * A check that fails prints file, line and both sides and ends its test. What a failed test held is not given back.
 * Threads: checks belong to the thread that runs the test; a check that fails on another thread ends the process.
 * A test must not depend on another one having run, nor on their order.
 */
#ifndef LOOM_TEST_H
#define LOOM_TEST_H

#include "common/status.h"
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sanitizers take a request for more memory than there can be for a defect, and slow programs down several times. */
#define LOOM_TEST_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))

#ifdef LOOM_TEST_CRITERION
#include <criterion/criterion.h>
#define LOOM_TEST(suite, name) Test(suite, name)
#else
typedef struct loom_test_case {
    const char *suite, *name;
    void (*run)(void);
    struct loom_test_case *next;
} loom_test_case;
void loom_test_register(loom_test_case *test);
#define LOOM_TEST(suite_, name_)                                                                                       \
    static void loom_test_##suite_##_##name_(void);                                                                    \
    __attribute__((constructor)) static void loom_test_register_##suite_##_##name_(void) {                             \
        static loom_test_case test = {#suite_, #name_, loom_test_##suite_##_##name_, NULL};                            \
        loom_test_register(&test);                                                                                     \
    }                                                                                                                  \
    static void loom_test_##suite_##_##name_(void)
#endif

/* Ends the running test as failed, or as skipped. The text has been printed. */
#ifdef LOOM_TEST_CRITERION
_Noreturn static inline void loom_test_end_failed(void) {
    cr_assert_fail("see above");
    abort();
}
_Noreturn static inline void loom_test_end_skipped(void) {
    cr_skip_test("see above");
    abort();
}
#else
_Noreturn void loom_test_end_failed(void);
_Noreturn void loom_test_end_skipped(void);
#endif

__attribute__((format(printf, 3, 4))) _Noreturn static inline void loom_test_fail(const char *file, int line,
                                                                                  const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    fflush(stderr);
    loom_test_end_failed();
}

static inline void loom_test_near(const char *file, int line, const char *text, double a, double b, double tolerance) {
    /* Written so that a NaN fails. */
    if (!(fabs(a - b) <= tolerance)) {
        loom_test_fail(file, line, "%s: %.17g and %.17g differ by %.3g, more than %.3g", text, a, b, fabs(a - b),
                       tolerance);
    }
}

static inline void loom_test_same_text(const char *file, int line, const char *text, const char *a, const char *b) {
    if (!a || !b || strcmp(a, b) != 0) {
        loom_test_fail(file, line, "%s:\n  got      \"%s\"\n  expected \"%s\"", text, a ? a : "(null)",
                       b ? b : "(null)");
    }
}

static inline void loom_test_has_text(const char *file, int line, const char *text, const char *a, const char *part) {
    if (!a || !strstr(a, part)) {
        loom_test_fail(file, line, "%s: \"%s\" does not contain \"%s\"", text, a ? a : "(null)", part);
    }
}

static inline void loom_test_ok(const char *file, int line, const char *text, loom_status *status) {
    if (status) loom_test_fail(file, line, "%s failed: %s", text, loom_status_text(status));
}

static inline void loom_test_fails(const char *file, int line, const char *text, loom_status *status, loom_code code) {
    if (!status) loom_test_fail(file, line, "%s succeeded, expected %s", text, loom_code_name(code));
    if (loom_status_code(status) != code) {
        loom_test_fail(file, line, "%s: expected %s, got %s: %s", text, loom_code_name(code),
                       loom_code_name(loom_status_code(status)), loom_status_text(status));
    }
    loom_status_free(status);
}

#define LOOM_CHECK(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) loom_test_fail(__FILE__, __LINE__, "not true: %s", #condition);                              \
    } while (0)
/* Integers of any type up to 64 bits, got and expected. */
#define LOOM_CHECK_EQ_INT(a, b)                                                                                        \
    do {                                                                                                               \
        intmax_t loom_a_ = (intmax_t)(a), loom_b_ = (intmax_t)(b);                                                     \
        if (loom_a_ != loom_b_) {                                                                                      \
            loom_test_fail(__FILE__, __LINE__, "%s is %" PRIdMAX ", expected %s = %" PRIdMAX, #a, loom_a_, #b,         \
                           loom_b_);                                                                                   \
        }                                                                                                              \
    } while (0)
#define LOOM_CHECK_NEAR(a, b, tolerance) loom_test_near(__FILE__, __LINE__, #a " and " #b, (a), (b), (tolerance))
/* Equal text, got and expected. */
#define LOOM_CHECK_STR(a, b)    loom_test_same_text(__FILE__, __LINE__, #a, (a), (b))
#define LOOM_CHECK_HAS(a, part) loom_test_has_text(__FILE__, __LINE__, #a, (a), (part))
/* A call that must succeed, and one that must fail with the code; both free the status. */
#define LOOM_OK(status)          loom_test_ok(__FILE__, __LINE__, #status, (status))
#define LOOM_FAILS(status, code) loom_test_fails(__FILE__, __LINE__, #status, (status), (code))
#define LOOM_SKIP(reason)                                                                                              \
    do {                                                                                                               \
        fprintf(stderr, "skipped: %s\n", (reason));                                                                    \
        loom_test_end_skipped();                                                                                       \
    } while (0)

#endif
