/* The driver as gridloomd uses it: requests and replies, the cache, steps down the ladder, explain. */
#include "cache.h"
#include "common/buffer.h"
#include "common/file.h"
#include "compiler/driver/driver.h"
#include "loom_test.h"
#include "passes.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char dotp[] = "entry main (xs: seq f32) (ys: seq f32) : f32 = fold_seq (+) 0 (zip_with_seq (*) xs ys)";

static void encode_program(loom_arena *arena, const char *text, char **bytes, size_t *length) {
    loom_source_file file = {.name = "a.weft", .text = text, .length = strlen(text)};
    loom_diagnostics diagnostics = {0};
    loom_program *program;
    LOOM_OK(loom_syntax_compile(arena, &file, 1, &diagnostics, &program));
    LOOM_OK(loom_program_encode(program, bytes, length));
}

typedef struct session {
    loom_arena *arena;
    loom_compile_reply graph, stage;
    loom_compile_request request;
    char *target, *program;
} session;

static void open_session(session *s, const char *text) {
    *s = (session){.arena = loom_arena_create(0), .target = loom_driver_host()};
    loom_compile_request graph = {.what = LOOM_COMPILE_GRAPH, .entry = "main"};
    encode_program(s->arena, text, &s->program, &graph.program_length);
    graph.program = s->program;
    loom_driver_compile(s->arena, &graph, &s->graph);
    LOOM_OK(s->graph.error);
    static const int64_t chunk[] = {-2};
    static const loom_leaf_shape shapes[] = {{1, chunk, false}, {1, chunk, false}};
    s->request = (loom_compile_request){.what = LOOM_COMPILE_STAGE,
                                        .program = s->graph.program,
                                        .program_length = s->graph.program_length,
                                        .graph = s->graph.graph,
                                        .graph_length = s->graph.graph_length,
                                        .n_shapes = 2,
                                        .shapes = shapes,
                                        .target = s->target,
                                        .debug = true};
}

static void close_session(session *s) {
    free(s->target);
    free(s->program);
    loom_arena_destroy(s->arena);
}

LOOM_TEST(driver, stage) {
    session s;
    open_session(&s, dotp);
    loom_driver_compile(s.arena, &s.request, &s.stage);
    LOOM_OK(s.stage.error);
    LOOM_CHECK(!s.stage.interpret && !s.stage.cached && s.stage.object_length > 0);
    loom_plan *plan;
    LOOM_OK(loom_plan_decode(s.arena, s.stage.plan, s.stage.plan_length, &plan));
    LOOM_CHECK_STR(plan->target, s.target);
    LOOM_CHECK_EQ_INT(plan->n_outputs, 1);
    close_session(&s);
}

static char *only_entry(const char *folder) {
    DIR *dir = opendir(folder);
    char *found = NULL;
    for (struct dirent *d; (d = readdir(dir));) {
        if (strstr(d->d_name, ".stage")) {
            LOOM_CHECK(!found);
            found = malloc(strlen(folder) + strlen(d->d_name) + 2);
            sprintf(found, "%s/%s", folder, d->d_name);
        }
    }
    closedir(dir);
    return found;
}

LOOM_TEST(driver, cache) {
    char folder[] = "/tmp/loom-cache-XXXXXX";
    LOOM_CHECK(mkdtemp(folder));
    session s;
    open_session(&s, dotp);
    s.request.cache = folder;
    loom_compile_reply first, second, third;
    loom_driver_compile(s.arena, &s.request, &first);
    LOOM_CHECK(!first.error && !first.cached);
    loom_driver_compile(s.arena, &s.request, &second);
    LOOM_CHECK(!second.error && second.cached && second.object_length == first.object_length);
    LOOM_CHECK(memcmp(second.object, first.object, first.object_length) == 0 &&
               second.plan_length == first.plan_length);
    /* A changed byte is a miss and is replaced. */
    char *path = only_entry(folder), *data;
    size_t length;
    LOOM_OK(loom_file_read(path, 1 << 24, &data, &length));
    data[length / 2] ^= 1;
    LOOM_OK(loom_file_write(path, data, length, false));
    loom_driver_compile(s.arena, &s.request, &third);
    LOOM_CHECK(!third.error && !third.cached);
    loom_driver_compile(s.arena, &s.request, &third);
    LOOM_CHECK(third.cached);
    /* A folder that others can write to is not used. */
    chmod(folder, 0777);
    loom_driver_compile(s.arena, &s.request, &third);
    LOOM_CHECK(!third.error && !third.cached);
    free(data);
    free(path);
    loom_remove_tree(folder);
    close_session(&s);
}

/* The entry of another program under this one's name is none. */
LOOM_TEST(driver, cache_of_another) {
    char mine[] = "/tmp/loom-cache-XXXXXX", others[] = "/tmp/loom-cache-XXXXXX";
    LOOM_CHECK(mkdtemp(mine) && mkdtemp(others));
    session s, other;
    loom_compile_reply reply;
    open_session(&s, dotp);
    open_session(&other, "entry main (xs: seq f32) (ys: seq f32) : f32 = fold_seq (+) 0 (zip_with_seq (+) xs ys)");
    s.request.cache = mine;
    other.request.cache = others;
    loom_driver_compile(s.arena, &s.request, &reply);
    LOOM_OK(reply.error);
    loom_driver_compile(other.arena, &other.request, &reply);
    LOOM_OK(reply.error);
    char *to = only_entry(mine), *from = only_entry(others), *data;
    size_t length;
    LOOM_OK(loom_file_read(from, 1 << 24, &data, &length));
    LOOM_OK(loom_file_write(to, data, length, false));
    loom_driver_compile(s.arena, &s.request, &reply);
    LOOM_CHECK(!reply.error && !reply.cached);
    loom_driver_compile(s.arena, &s.request, &reply);
    LOOM_CHECK(!reply.error && reply.cached);
    free(data);
    free(to);
    free(from);
    loom_remove_tree(mine);
    loom_remove_tree(others);
    close_session(&s);
    close_session(&other);
}

/* What is not used for longest goes when the folder is too large; what is new stays. */
LOOM_TEST(driver, cache_size) {
    char folder[] = "/tmp/loom-cache-XXXXXX";
    LOOM_CHECK(mkdtemp(folder));
    char *paths[4];
    for (int i = 0; i < 4; i++) { /* each takes three eighths of the limit, and no space on disk */
        paths[i] = loom_xprintf("%s/%d.old", folder, i);
        LOOM_OK(loom_file_write(paths[i], "x", 1, false));
        LOOM_CHECK(truncate(paths[i], (off_t)(LOOM_CACHE_BYTES / 8 * 3)) == 0);
        struct timespec used[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        LOOM_CHECK(utimensat(AT_FDCWD, paths[i], used, 0) == 0);
    }
    session s;
    open_session(&s, dotp);
    s.request.cache = folder;
    loom_compile_reply reply;
    loom_driver_compile(s.arena, &s.request, &reply);
    LOOM_CHECK(!reply.error && !reply.cached);
    for (int i = 0; i < 4; i++) {
        LOOM_CHECK_EQ_INT(access(paths[i], F_OK) == 0, i >= 2);
        free(paths[i]);
    }
    loom_driver_compile(s.arena, &s.request, &reply);
    LOOM_CHECK(!reply.error && reply.cached);
    loom_remove_tree(folder);
    close_session(&s);
}

/* What determines an object: with any of it changed nothing that was stored is found. */
LOOM_TEST(driver, cache_key) {
    char folder[] = "/tmp/loom-cache-XXXXXX";
    LOOM_CHECK(mkdtemp(folder));
    session s;
    open_session(&s, dotp);
    s.request.cache = folder;
    loom_compile_reply reply;
    loom_driver_compile(s.arena, &s.request, &reply);
    LOOM_CHECK(!reply.error && !reply.cached);
    static const int64_t chunk[] = {-2};
    static const loom_leaf_shape other[] = {{1, chunk, true}, {1, chunk, false}};
    for (int change = 0; change < 4; change++) {
        session t;
        open_session(&t, change == 0
                             ? "entry main (xs: seq f32) (ys: seq f32) : f32 = fold_seq (+) 1 (zip_with_seq (*) xs ys)"
                             : dotp);
        t.request.cache = folder;
        char *target = NULL;
        if (change == 1) t.request.shapes = other;
        if (change == 2) t.request.debug = false;
        if (change == 3) {
            target = malloc(strlen(t.target) + 16);
            sprintf(target, "%s,-avx512f", t.target);
            t.request.target = target;
        }
        loom_driver_compile(t.arena, &t.request, &reply);
        LOOM_CHECK(!reply.cached);
        loom_status_free(reply.error);
        free(target);
        close_session(&t);
    }
    loom_driver_compile(s.arena, &s.request, &reply);
    LOOM_CHECK(!reply.error && reply.cached);
    loom_remove_tree(folder);
    close_session(&s);
}

static void compile_twice(session *s, loom_compile_reply *first, loom_compile_reply *second) {
    char folder[] = "/tmp/loom-cache-XXXXXX";
    LOOM_CHECK(mkdtemp(folder));
    s->request.cache = folder;
    s->request.debug = false;
    loom_driver_compile(s->arena, &s->request, first);
    loom_driver_compile(s->arena, &s->request, second);
    loom_remove_tree(folder);
    LOOM_OK(first->error);
    LOOM_OK(second->error);
    LOOM_CHECK(first->interpret && second->interpret);
    LOOM_CHECK_EQ_INT(second->n_remarks, 1);
    LOOM_CHECK_STR(second->remarks[0], first->remarks[0]);
}

/* A stage that is not regular never will be: that is stored. A compiler that gave up is asked again. */
LOOM_TEST(driver, cache_of_steps_down) {
    session s;
    loom_compile_reply first, second;
    open_session(
        &s, "entry main (xs: seq f32) (ys: seq f32) : f32 = fold_seq (+) 0 "
            "(zip_with_seq (\\x y -> f32 (sum ([[iota (i64 x), [1]], [[]]] with [0, 1] = iota (i64 y))[0][1])) xs ys)");
    compile_twice(&s, &first, &second);
    LOOM_CHECK_HAS(first.remarks[0], "a.weft:1");
    LOOM_CHECK(!first.cached && second.cached);
    close_session(&s);

    open_session(&s, dotp);
    loom_graph *graph;
    char *bytes;
    LOOM_OK(loom_graph_decode(s.arena, s.graph.graph, s.graph.graph_length, &graph));
    loom_graph_stage *stage = LOOM_NEW(s.arena, loom_graph_stage);
    *stage = graph->stages[0];
    stage->function = stage->outputs[0].merge; /* of other parameters: a defect, as far as the compiler knows */
    graph->stages = stage;
    LOOM_OK(loom_graph_encode(graph, &bytes, &s.request.graph_length));
    s.request.graph = bytes;
    compile_twice(&s, &first, &second);
    LOOM_CHECK(!first.cached && !second.cached);
    free(bytes);
    close_session(&s);
}

/* `main` of a match with n cases, compiled. */
static void compile_cases(int n, session *s, loom_compile_reply *reply) {
    loom_buffer text = {0};
    loom_buffer_text(
        &text, "entry main (xs: seq i64) (ys: seq i64) : i64 = fold_seq (+) 0 (zip_with_seq (\\x y -> match x + y");
    for (int i = 0; i < n; i++) loom_buffer_printf(&text, " case %d -> %d", i, i + 1);
    loom_buffer_text(&text, " case _ -> 0) xs ys)");
    open_session(s, text.data);
    loom_buffer_free(&text);
    loom_driver_compile(s->arena, &s->request, reply);
    LOOM_OK(reply->error);
}

/* Code grows with the number of cases, not faster. */
LOOM_TEST(driver, many_cases) {
    session s;
    loom_compile_reply reply;
    compile_cases(300, &s, &reply);
    LOOM_CHECK(!reply.interpret);
    LOOM_CHECK(reply.object_length < 300 * 600);
    close_session(&s);
}

LOOM_TEST(driver, too_large_to_compile) {
    session s;
    loom_compile_reply reply;
    compile_cases(15000, &s, &reply);
    LOOM_CHECK(reply.interpret);
    LOOM_CHECK_HAS(reply.remarks[0], "operations on scalars");
    close_session(&s);
}

LOOM_TEST(driver, refuses) {
    session s;
    loom_compile_reply reply;
    open_session(&s, dotp);
    s.request.stage = 7;
    loom_driver_compile(s.arena, &s.request, &reply);
    LOOM_FAILS(reply.error, LOOM_E_DATA);
    s.request.stage = 0;
    s.request.n_shapes = 1;
    loom_driver_compile(s.arena, &s.request, &reply);
    LOOM_FAILS(reply.error, LOOM_E_DATA);
    s.request.n_shapes = 2;
    s.request.target = "no target at all";
    loom_driver_compile(s.arena, &s.request, &reply);
    LOOM_FAILS(reply.error, LOOM_E_CONFIG);
    s.request.program = "rubbish";
    s.request.program_length = 7;
    loom_driver_compile(s.arena, &s.request, &reply);
    LOOM_CHECK(reply.error != NULL);
    loom_status_free(reply.error);
    close_session(&s);
}

static char *explained(const char *stage, const char *text) {
    loom_arena *arena = loom_arena_create(0);
    loom_source_file file = {.name = "a.weft", .text = text, .length = strlen(text)};
    loom_diagnostics diagnostics = {0};
    loom_explain_request request = {.stage = stage, .files = &file, .n_files = 1};
    char *out = NULL;
    size_t length;
    FILE *to = open_memstream(&out, &length);
    LOOM_OK(loom_driver_explain(arena, &request, &diagnostics, to));
    fclose(to);
    loom_arena_destroy(arena);
    return out;
}

LOOM_TEST(driver, explain) {
    static const char *const expected[][2] = {
        {"ast", "fold_seq"},      {"core", "fold_seq"},          {"simplified", "fold_seq"}, {"stages", "fold"},
        {"shapes", "[chunk]f32"}, {"lifted", "reduce"},          {"fused", "reduce"},        {"schedule", "reduce"},
        {"llvm", "@loom_reduce"}, {"plan", "reduce loom_reduce"}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        char *text = explained(expected[i][0], dotp);
        LOOM_CHECK_HAS(text, expected[i][1]);
        free(text);
    }
    loom_explain_request request = {.stage = "colour"};
    LOOM_FAILS(loom_driver_explain(NULL, &request, NULL, stdout), LOOM_E_USAGE);
}
