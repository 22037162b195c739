/* The table of operations that the language knows; everything else is prelude, in Weft. */
#include "compiler/ir/trap.h"
#include "ops.h"
#include <string.h>

static const syn_builtin builtins[] = {
    /* arrays */
    {"map", 2, 1, loom_syn_op_map},
    {"map1", 2, 1, loom_syn_op_map},
    {"map2", 3, 2, loom_syn_op_map},
    {"map3", 4, 3, loom_syn_op_map},
    {"map4", 5, 4, loom_syn_op_map},
    {"map5", 6, 5, loom_syn_op_map},
    {"zip_with", -1, 0, loom_syn_op_map},
    {"flatmap", -1, 0, loom_syn_op_flatmap},
    {"zip", 2, 2, loom_syn_op_zip},
    {"zip2", 2, 2, loom_syn_op_zip},
    {"zip3", 3, 3, loom_syn_op_zip},
    {"zip4", 4, 4, loom_syn_op_zip},
    {"zip5", 5, 5, loom_syn_op_zip},
    {"unzip", 1, 0, loom_syn_op_unzip},
    {"unzip2", 1, 2, loom_syn_op_unzip},
    {"unzip3", 1, 3, loom_syn_op_unzip},
    {"unzip4", 1, 4, loom_syn_op_unzip},
    {"unzip5", 1, 5, loom_syn_op_unzip},
    {"iota", 1, 0, loom_syn_op_iota},
    {"replicate", 2, 0, loom_syn_op_replicate},
    {"generate", 2, 0, loom_syn_op_generate},
    {"tabulate", 2, 0, loom_syn_op_generate},
    {"tabulate_2d", 3, 2, loom_syn_op_tabulate},
    {"tabulate_3d", 4, 3, loom_syn_op_tabulate},
    {"fold", 3, 0, loom_syn_op_fold},
    {"reduce", 3, 0, loom_syn_op_fold},
    {"reduce_comm", 3, 0, loom_syn_op_fold},
    {"fold1", 2, 0, loom_syn_op_fold1},
    {"scan", 3, LOOM_SCAN_INCLUSIVE, loom_syn_op_scan},
    {"scan_ex", 3, LOOM_SCAN_EXCLUSIVE, loom_syn_op_scan},
    {"scan_right", 3, LOOM_SCAN_RIGHT, loom_syn_op_scan},
    {"scan_total", 3, LOOM_SCAN_TOTAL, loom_syn_op_scan},
    {"filter", 2, 0, loom_syn_op_filter},
    {"permute", 4, 0, loom_syn_op_permute},
    {"scatter", 3, 0, loom_syn_op_scatter},
    {"scatter_2d", 3, 0, loom_syn_op_scatter},
    {"scatter_3d", 3, 0, loom_syn_op_scatter},
    {"gather", 2, 0, loom_syn_op_gather},
    {"sort", 1, 0, loom_syn_op_sort},
    {"sort_by", 2, 0, loom_syn_op_sort_by},
    {"stencil", 3, 0, loom_syn_op_stencil},
    {"backpermute", 3, 0, loom_syn_op_backpermute},
    {"transpose", 1, LOOM_OP_TRANSPOSE, loom_syn_op_levels},
    {"flatten", 1, LOOM_OP_FLATTEN, loom_syn_op_levels},
    {"unflatten", 3, 0, loom_syn_op_unflatten},
    {"reshape", 2, 0, loom_syn_op_reshape},
    {"concat", 2, 0, loom_syn_op_concat},
    {"++", 2, 0, loom_syn_op_concat},
    {"reverse", 1, 0, loom_syn_op_reverse},
    {"rotate", 2, 0, loom_syn_op_rotate},
    {"length", 1, 0, loom_syn_op_length},
    {"extent", 1, 0, loom_syn_op_extent},
    {"fft", 1, 0, loom_syn_op_fft},
    {"ifft", 1, 1, loom_syn_op_fft},
    {"assert", 2, LOOM_ASSERT_PROGRAM, loom_syn_op_assert},
    {"assert_range", 2, LOOM_ASSERT_RANGE, loom_syn_op_assert},
    {"assert_step", 2, LOOM_ASSERT_RANGE_STEP, loom_syn_op_assert},
    {"assert_update", 2, LOOM_ASSERT_UPDATE, loom_syn_op_assert},
    {"convert_like", 2, 0, loom_syn_op_like},
    {"like", 2, 0, loom_syn_op_like},
    /* sequences */
    {"rows", 1, 0, loom_syn_op_rows},
    {"map_seq", 2, 1, loom_syn_op_map_seq},
    {"zip_with_seq", -1, 0, loom_syn_op_map_seq},
    {"filter_seq", 2, 0, loom_syn_op_filter_seq},
    {"enumerate_seq", 1, 0, loom_syn_op_enumerate_seq},
    {"scan_seq", 3, 0, loom_syn_op_scan_seq},
    {"fold_seq", 3, 0, loom_syn_op_fold_seq},
    {"permute_seq", 4, 0, loom_syn_op_permute_seq},
    {"reduce_seq", 4, 0, loom_syn_op_reduce_seq},
    {"chain_seq", 3, 0, loom_syn_op_chain_seq},
    {"from_seq", 1, 0, loom_syn_op_from_seq},
    {"group_seq", 4, 0, loom_syn_op_group_seq},
    {"group_map_seq", 6, 0, loom_syn_op_group_map_seq},
};

enum {
    COUNT = (int)(sizeof builtins / sizeof *builtins)
};

void loom_syn_builtins_init(syn_context *c) {
    for (int i = 0; i < COUNT; i++) loom_syn_intern(c, builtins[i].name, strlen(builtins[i].name))->builtin = i;
}

/* Operations whose arguments are easily given in another order. */
const char *loom_syn_builtin_form(const char *name) {
    static const char *const forms[] = {
        "fold op ne xs",
        "reduce op ne xs",
        "scan op ne xs",
        "permute op dest is xs",
        "scatter dest is xs",
        "gather xs is",
        "backpermute dest f xs",
        "rotate n xs",
        "sort_by key xs",
        "stencil #clamp f xs",
        "reshape (n, m) xs",
        "fold_seq op ne s",
        "scan_seq op ne s",
        "permute_seq op dest is xs",
        "filter_seq p s",
        "map_seq f s",
        "reduce_seq zero step merge s",
        "chain_seq init step s",
        "group_seq n keys s body",
        "group_map_seq n keys op ne s body",
    };
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strncmp(forms[i], name, n) == 0 && forms[i][n] == ' ') return forms[i];
    }
    return NULL;
}

const syn_builtin *loom_syn_builtin(int index) {
    return index >= 0 && index < COUNT ? &builtins[index] : NULL;
}
