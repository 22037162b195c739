/* The formatter: layout, comments, idempotence, the same tree. */
#include "ast.h"
#include "common/file.h"
#include "support.h"
#include <dirent.h>

static char *formatted(const char *text) {
    loom_source_file file = {"test.weft", text, strlen(text)};
    loom_diagnostics d = {0};
    char *out = NULL;
    LOOM_OK(loom_syntax_format(&file, &d, &out));
    loom_diagnostics_free(&d);
    return out;
}

static void check_format(const char *text, const char *expected) {
    char *once = formatted(text), *twice = formatted(once);
    LOOM_CHECK_STR(once, expected);
    LOOM_CHECK_STR(twice, once);
    free(once);
    free(twice);
}

static char *tree_of(const char *text) {
    loom_arena *arena = loom_arena_create(0);
    loom_diagnostics d = {0};
    syn_context context;
    loom_syn_context_init(&context, arena, &d);
    syn_tokens tokens = loom_syn_lex(&context, 0, text, strlen(text));
    syn_decls decls = {0};
    loom_syn_parse(&context, &tokens, false, &decls, NULL);
    LOOM_CHECK(!d.any_error);
    char *tree = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&tree, &size);
    loom_syn_print_decls(&decls, to, false);
    fclose(to);
    loom_arena_destroy(arena);
    return tree;
}

LOOM_TEST(syntax_format, spaces) {
    check_format("def   f(x:f32)   :f32=x+1* -x", "def f (x: f32) : f32 = x + 1 * -x\n");
    check_format("def f xs=xs[ 1 : 2 ,0]+ g [1]", "def f xs = xs[1:2, 0] + g [1]\n");
    check_format("type r [n]={a:[ n ]f32,b :*[]i8}", "type r [n] = {a: [n]f32, b: *[]i8}\n");
    check_format("def f x = \\y->(x,y).0", "def f x = \\y -> (x, y).0\n");
    check_format("def f x = x `max` 2 |> (+1)", "def f x = x `max` 2 |> (+ 1)\n");
    check_format("def f a = 0 ..< a :> [3]i64", "def f a = 0..<a :> [3]i64\n");
    check_format("def f = - (- 1) - -2", "def f = -(-1) - -2\n");
    check_format("def f x = !x && ! (x)", "def f x = !x && !(x)\n");
    check_format("def f xs=stencil  # clamp (\\w->w [- 1]) xs", "def f xs = stencil #clamp (\\w -> w [-1]) xs\n");
    check_format("def f g=stencil(#constant  0)g", "def f g = stencil (#constant 0) g\n");
    check_format("def f x = (x:f32)", "def f x = (x : f32)\n");
}

LOOM_TEST(syntax_format, comments_and_blank_lines) {
    check_format("\n\n--a\n\n\n\ndef f = 1    -- b\n      -- c\ndef g = 2\n-- d",
                 "--a\n\ndef f = 1  -- b\n-- c\ndef g = 2\n-- d\n");
    check_format("def f =\n      -- why\n 1\n", "def f =\n  -- why\n  1\n");
    check_format("", "");
    check_format("-- alone", "-- alone\n");
}

LOOM_TEST(syntax_format, indentation) {
    check_format("def f x =\nlet y = x\n   let z =\n y\nin z\n", "def f x =\n  let y = x\n  let z =\n    y\n  in z\n");
    check_format("def f x = if x then 1\nelse if x then 2\nelse 3",
                 "def f x = if x then 1\n          else if x then 2\n          else 3\n");
    check_format("def f xs =\nmap (\\x ->\nx + 1)\nxs", "def f xs =\n  map (\\x ->\n    x + 1)\n    xs\n");
    check_format("def f x =\nmatch(x,1)\ncase(0,- 1)->\n1\n  case _->2",
                 "def f x =\n  match (x, 1)\n  case (0, -1) ->\n    1\n  case _ -> 2\n");
    check_format("def f = [\n1,\n2\n]", "def f = [\n  1,\n  2\n]\n");
    check_format("def f = g (1,\n2)", "def f = g (1,\n           2)\n");
    check_format("def f a b =\na\n+ b\n|> g", "def f a b =\n  a\n  + b\n  |> g\n");
}

LOOM_TEST(syntax_format, does_not_format_what_does_not_parse) {
    loom_source_file file = {"test.weft", "def f =", 7};
    loom_diagnostics d = {0};
    char *out = NULL;
    LOOM_FAILS(loom_syntax_format(&file, &d, &out), LOOM_E_SYNTAX);
    LOOM_CHECK(out == NULL);
    LOOM_CHECK_EQ_INT(d.count, 1);
    loom_diagnostics_free(&d);
}

static void check_folder(const char *folder, unsigned least) {
    DIR *dir = opendir(folder);
    LOOM_CHECK(dir);
    unsigned files = 0;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        size_t n = strlen(entry->d_name), length;
        if (n < 5 || strcmp(entry->d_name + n - 5, ".weft") != 0) continue;
        char path[512], *text;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        LOOM_OK(loom_file_read(path, 1 << 20, &text, &length));
        char *once = formatted(text), *twice = formatted(once), *before = tree_of(text), *after = tree_of(once);
        LOOM_CHECK_STR(twice, once);
        LOOM_CHECK_STR(after, before);
        free(once);
        free(twice);
        free(before);
        free(after);
        free(text);
        files++;
    }
    closedir(dir);
    LOOM_CHECK(files >= least);
}

LOOM_TEST(syntax_format, keeps_the_tree_of_all_programs_there_are) {
    check_folder("examples", 6);
    check_folder("compiler/prelude", 2);
    check_folder("compiler/syntax/test/corpus/fuzz_syntax", 1);
}
