#include "common/option.h"
#include "loom_test.h"

static struct {
    bool quiet;
    int64_t size;
    double epsilon;
    const char *output, *colour;
    uint64_t memory;
    loom_option_list args;
} got;

static loom_option options[] = {
    {"quiet", 'q', LOOM_OPT_FLAG, &got.quiet, NULL, "Say nothing.", 0, 0},
    {"size", 0, LOOM_OPT_INT, &got.size, "N", "Pixels a side; default 512.", 1, 65536},
    {"epsilon", 0, LOOM_OPT_REAL, &got.epsilon, "E", "Accuracy; default 1e-4.", 1e-12, 0.1},
    {"output", 'o', LOOM_OPT_TEXT, &got.output, "FILE", "Where the image goes.", 0, 0},
    {"memory", 0, LOOM_OPT_BYTES, &got.memory, "BYTES", "Memory of a worker; default what the machine has.", 1 << 20,
     1e18},
    {"colour", 0, LOOM_OPT_WORD, &got.colour, "red|green", "Of lines; default red.", 0, 0},
    {"arg", 0, LOOM_OPT_LIST, &got.args, "NAME=VALUE", "An argument; may be given many times.", 0, 0},
    {0},
};

static const loom_command_text text = {
    .program = "gridloom image",
    .synopsis = "DATA -o OUT.fits [options]",
    .description = "Makes an image.\n\nOf a measurement set.",
    .examples = "  gridloom image a.ms -o a.fits",
};

static loom_status *parse(char **argv, const char ***rest, int *n) {
    int argc = 0;
    bool done;
    free(got.args.at);
    memset(&got, 0, sizeof got);
    while (argv[argc]) argc++;
    return loom_options_parse(&text, options, argc, argv, rest, n, &done);
}

#define ARGV(...) ((char **)(const char *[]){"image", __VA_ARGS__, NULL})

LOOM_TEST(option, all_kinds) {
    const char **rest;
    int n;
    LOOM_OK(parse(ARGV("a.ms", "-q", "--size", "300", "--epsilon=1e-5", "-o", "x.fits", "--memory", "2G", "--arg",
                       "a=1", "b.ms", "--arg=b=-2", "--colour", "green", "--", "--size"),
                  &rest, &n));
    LOOM_CHECK(got.quiet);
    LOOM_CHECK_EQ_INT(got.size, 300);
    LOOM_CHECK_NEAR(got.epsilon, 1e-5, 0);
    LOOM_CHECK_STR(got.output, "x.fits");
    LOOM_CHECK_EQ_INT(got.memory, (int64_t)2 << 30);
    LOOM_CHECK_STR(got.colour, "green");
    LOOM_CHECK_EQ_INT(got.args.count, 2);
    LOOM_CHECK_STR(got.args.at[0], "a=1");
    LOOM_CHECK_STR(got.args.at[1], "b=-2");
    LOOM_CHECK_EQ_INT(n, 3);
    LOOM_CHECK_STR(rest[0], "a.ms");
    LOOM_CHECK_STR(rest[1], "b.ms");
    LOOM_CHECK_STR(rest[2], "--size");
    free(got.args.at);
    got.args = (loom_option_list){0};
}

static void check_error(char **argv, const char *part) {
    const char **rest;
    int n;
    loom_status *s = parse(argv, &rest, &n);
    LOOM_CHECK_EQ_INT(loom_status_code(s), LOOM_E_USAGE);
    char *said = loom_status_text(s);
    LOOM_CHECK_HAS(said, part);
    free(said);
    loom_status_free(s);
}

LOOM_TEST(option, errors_name_option_expectation_and_finding) {
    check_error(ARGV("--size", "many"), "'many' is not a whole number; in option --size N");
    check_error(ARGV("--size=0"), "0 is not between 1 and 65536; in option --size N");
    check_error(ARGV("--size", "65537"), "65537 is not between 1 and 65536");
    check_error(ARGV("--size", "99999999999999999999"), "does not fit");
    check_error(ARGV("--epsilon", "nan"), "'nan' is not a number");
    check_error(ARGV("--epsilon", "0"), "0 is not between 1e-12 and 0.1");
    check_error(ARGV("--memory", "2 apples"), "not a number of bytes");
    check_error(ARGV("--memory", "3"), "3 is not between 1048576 and 1000000000000000000");
    check_error(ARGV("--colour", "blue"), "'blue' is none of red|green; in option --colour red|green");
    check_error(ARGV("--colour", "gree"), "'gree' is none of");
    check_error(ARGV("--colour", ""), "'' is none of");
    check_error(ARGV("--colour", "red|green"), "is none of");
    check_error(ARGV("--size"), "--size needs a value: --size N");
    check_error(ARGV("--quiet=yes"), "--quiet takes no value");
    check_error(ARGV("--siez", "3"), "unknown option --siez; hint: did you mean --size?");
    check_error(ARGV("--zzz"), "unknown option --zzz; hint: --help");
    check_error(ARGV("-x"), "unknown option -x");
    check_error(ARGV("-oq"), "unknown option -oq");
}

LOOM_TEST(option, a_dash_is_an_argument) {
    const char **rest;
    int n;
    LOOM_OK(parse(ARGV("-"), &rest, &n));
    LOOM_CHECK_EQ_INT(n, 1);
    LOOM_CHECK_STR(rest[0], "-");
}

LOOM_TEST(option, bytes) {
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {
        {"0", 0},
        {"4096", 4096},
        {"1K", 1024},
        {"1536MiB", (uint64_t)1536 << 20},
        {"2G", 2ull << 30},
        {"1.5GiB", 3ull << 29},
        {"1GB", 1000000000ull},
        {"9007199254740993", 9007199254740993ull},
        {"3T", 3ull << 40},
        {"7B", 7},
    };
    uint64_t bytes;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        LOOM_OK(loom_parse_bytes(good[i].text, &bytes));
        LOOM_CHECK_EQ_INT(bytes, good[i].bytes);
    }
    static const char *const bad[] = {"", "G", "-1", "1 G", "1Gi", "nan", "inf", "20000000T", "1e30"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) LOOM_FAILS(loom_parse_bytes(bad[i], &bytes), LOOM_E_USAGE);
}

LOOM_TEST(option, numbers) {
    int64_t i;
    double x;
    LOOM_OK(loom_parse_int("-9223372036854775808", &i));
    LOOM_CHECK_EQ_INT(i, INT64_MIN);
    LOOM_FAILS(loom_parse_int("", &i), LOOM_E_USAGE);
    LOOM_FAILS(loom_parse_int("12x", &i), LOOM_E_USAGE);
    LOOM_FAILS(loom_parse_int("1.5", &i), LOOM_E_USAGE);
    LOOM_OK(loom_parse_real("-2.5e-3", &x));
    LOOM_CHECK_NEAR(x, -2.5e-3, 0);
    LOOM_FAILS(loom_parse_real("1e999", &x), LOOM_E_USAGE);
    LOOM_FAILS(loom_parse_real("", &x), LOOM_E_USAGE);
}

static char *written(void (*write)(const loom_command_text *, const loom_option *, FILE *)) {
    char *out = NULL;
    size_t length;
    FILE *to = open_memstream(&out, &length);
    write(&text, options, to);
    fclose(to);
    return out;
}

LOOM_TEST(option, help_and_manual_have_every_option) {
    char *help = written(loom_options_help), *man = written(loom_options_man);
    LOOM_CHECK_HAS(help, "usage: gridloom image DATA -o OUT.fits [options]\n");
    LOOM_CHECK_HAS(help, "  -o, --output FILE");
    LOOM_CHECK_HAS(help, "examples:\n");
    LOOM_CHECK_HAS(man, ".TH \"gridloom-image\" 1\n");
    LOOM_CHECK_HAS(man, "gridloom-image \\- Makes an image\n");
    LOOM_CHECK_HAS(man, "\nAccuracy; default 1e\\-4.\n");
    for (const loom_option *o = options; o->name; o++) {
        LOOM_CHECK_HAS(help, o->name);
        LOOM_CHECK_HAS(man, o->name);
    }
    for (const char *line = help; *line; line = strchr(line, '\n') + 1) LOOM_CHECK(strcspn(line, "\n") <= 100);
    free(help);
    free(man);
}
