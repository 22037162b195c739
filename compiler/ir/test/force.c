/* Forced choices: names, and what is refused. */
#include "compiler/ir/force.h"
#include "loom_test.h"

static void refused(loom_status *status, loom_code code, const char *part) {
    LOOM_CHECK_EQ_INT(loom_status_code(status), code);
    LOOM_CHECK_HAS(loom_status_message(status), part);
    loom_status_free(status);
}

static void not_parsed(const char *text, const char *part) {
    uint32_t force = 77;
    refused(loom_force_parse(text, &force), LOOM_E_USAGE, part);
}

LOOM_TEST(ir_force, names) {
    uint32_t force = 77;
    LOOM_OK(loom_force_parse(NULL, &force));
    LOOM_CHECK_EQ_INT(force, 0);
    LOOM_OK(loom_force_parse("", &force));
    LOOM_CHECK_EQ_INT(force, 0);
    LOOM_OK(loom_force_parse("schedule=strip", &force));
    LOOM_CHECK_EQ_INT(force, LOOM_FORCE_STRIP);
    LOOM_OK(loom_force_parse("loops=compact,representation=irregular,schedule=flat", &force));
    LOOM_CHECK_EQ_INT(force, LOOM_FORCE_COMPACT | LOOM_FORCE_IRREGULAR | LOOM_FORCE_FLAT);
    LOOM_CHECK_HAS(LOOM_FORCE_NAMES, " schedule=flat schedule=strip");
}

LOOM_TEST(ir_force, refused) {
    not_parsed("schedule", "\"schedule\" cannot be forced: expected schedule=, and one of flat, strip, rows");
    not_parsed("schedule=", "one of flat, strip, rows");
    not_parsed("schedule=stri", "one of flat, strip, rows");
    not_parsed("schedule=stripe", "one of flat, strip, rows");
    not_parsed("sched=strip", "expected one of schedule, representation,");
    not_parsed("schedule=flat,", "\"\" cannot be forced");
    not_parsed(",", "\"\" cannot be forced");
    not_parsed("schedule=flat,schedule=strip", "two values of schedule");
}

LOOM_TEST(ir_force, sets) {
    LOOM_OK(loom_force_check(0));
    LOOM_OK(loom_force_check((LOOM_FORCE_END - 1) & ~(LOOM_FORCE_STRIP | LOOM_FORCE_ROWS)));
    refused(loom_force_check(LOOM_FORCE_END), LOOM_E_DATA, "the last one known");
    refused(loom_force_check(UINT64_C(1) << 40), LOOM_E_DATA, "the last one known");
    refused(loom_force_check(LOOM_FORCE_FLAT | LOOM_FORCE_ROWS), LOOM_E_DATA, "two forced values of schedule");
}
