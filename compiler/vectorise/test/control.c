/* Conditions and loops that differ between elements, with branches, bodies and states that need memory of their own. */
#include "weft.h"

#define WEFT_SUITE control

/* Conditions. */
SAME(filter_or_map,
     "entry main (a: [][]f64) : [][]f64 = map (\\r -> if length r > 1 then filter (> 2.0) r else map (* 2.0) r) a",
     "f64 5x[2 0 5 1 3]")
SAME(filter_or_scan,
     "entry main (a: [][]f64) : [][]f64 = map (\\r -> if length r > 1 then filter (> 2.0) r else scan (+) 0.0 r) a",
     "f64 5x[2 0 5 1 3]")
SAME(scan_on_one_side,
     "entry main (a: [3][4]f64) : []f64 = map (\\r -> if r[0] > 1.0 then sum (scan (+) 0.0 r) else r[1]) a", "f64 3x4")
SAME(
    scans_of_one_shape,
    "entry main (a: [][]f64) : [][]f64 = map (\\r -> map2 (+) r (if length r > 1 then scan (+) 0.0 r else scan max 0.0 "
    "r)) a",
    "f64 5x[2 0 5 1 3]")
SAME(none_takes_it, "entry main (a: [][]f64) : [][]f64 = map (\\r -> if length r > 9 then scan (+) 0.0 r else r) a",
     "f64 5x[2 0 5 1 3]")
SAME(no_elements, "entry main (a: [][]f64) : [][]f64 = map (\\r -> if length r > 1 then scan (+) 0.0 r else r) a",
     "f64 0x[]")
SAME(of_elements_of_rows,
     "entry main (a: [][]i64) : [][]i64 = map (\\r -> map (\\x -> if x > 2 then sum (scan (+) 0 r) else x) r) a",
     "i64 5x[2 0 5 1 3]")
SAME(of_elements_of_equal_rows,
     "entry main (a: [][]i64) : [][]i64 = map (map (\\x -> if x > 2 then sum (scan (+) 0 (iota x)) else x)) a",
     "i64 3x4")
SAME(rows_of_the_inner_level,
     "entry main (a: [][]i64) : [][]i64 = map (\\r -> map (\\x -> if length r > 2 then sum (scan (+) 0 (iota x)) else "
     "x) "
     "r) a",
     "i64 5x[2 0 5 1 3]")
SAME(nested_conditions,
     "entry main (a: [][]i64) : [][]i64 = map (\\r -> if length r > 1 then (if r[0] > 2 then scan (+) 0 r else filter "
     "(> "
     "2) r) else r) a",
     "i64 5x[2 0 5 1 3]")
SAME(scalars_and_arrays,
     "entry main (a: [][]i64) : ([]i64, [][]i64) = unzip (map (\\r -> if length r > 1 then (r[1], scan (+) 0 r) else "
     "(0, [7])) a)",
     "i64 5x[2 0 5 1 3]")
SAME(would_fail,
     "entry main (a: [][]i64) : [][]i64 = map (\\r -> if length r > 1 then scan (+) 0 (map (+ r[1]) r) else r) a",
     "i64 4x[2 0 1 3]")
SAME(would_fail_for_all,
     "entry main (a: [][]i64) (z: i64) : [][]i64 = map (\\r -> if length r > 9 then scan (+) (1 / z) r else r) a",
     "i64 5x[2 0 5 1 3]", "i64 = 0")
FAILS(fails_for_one,
      "entry main (a: [][]i64) (z: i64) : [][]i64 = map (\\r -> if length r > 4 then scan (+) (1 / z) r else r) a",
      "i64 5x[2 0 5 1 3]", "i64 = 0")
SAME(of_a_stream,
     "entry main (s: seq ([]f64)) : [][]f64 = from_seq (map_seq (\\r -> if length r > 1 then scan (+) 0.0 r else r) s)",
     "f64 5x[3 0 1 1 4]")
SAME(
    result_from_around,
    "entry main (n: []i64) : [][][]i64 = map (\\k -> map (\\x -> if x > 1 then generate 1 (\\_ -> x) else filter (> 0) "
    "(generate k (\\_ -> k))) (iota k)) n",
    "i64 4 = 2 0 3 1")

SAME(uniform_of_two_shapes,
     "entry main (n: i64) (a: []i64) : []i64 = if n > 2 then filter (> n) a else scan (+) 0 (a ++ a)", "i64 = 3",
     "i64 9")
SAME(uniform_of_two_shapes_else,
     "entry main (n: i64) (a: []i64) : []i64 = if n > 2 then filter (> n) a else scan (+) 0 (a ++ a)", "i64 = 1",
     "i64 9")
SAME(uniform_inside_maps,
     "entry main (n: i64) (a: [][]i64) : [][]i64 = map (\\r -> if n > 2 then filter (> n) r else scan (+) n r) a",
     "i64 = 3", "i64 5x[2 0 5 1 3]")
SAME(uniform_would_fail,
     "entry main (n: i64) (a: []i64) : []i64 = if n > 2 then filter (> 12 / (n - 1)) a else scan (+) 0 (a ++ a)",
     "i64 = 1", "i64 9")
SAME(uniform_would_not_end,
     "entry main (n: i64) (a: []i64) : []i64 = if n > 2 then (loop r = a while length r > 0 do r ++ r) else filter (> "
     "n) "
     "a",
     "i64 = 1", "i64 9")

/* Loops. */
SAME(counted, "entry main (n: []i64) : [][]i64 = map (\\k -> loop r = [1, 2, 3] for i < k do scan (+) i r) n",
     "i64 5 = 2 0 3 1 2")
SAME(counted_rows, "entry main (a: [][]i64) : [][]i64 = map (\\r -> loop s = r for i < length r do scan (+) i s) a",
     "i64 5x[2 0 5 1 3]")
SAME(while_rows,
     "entry main (a: [][]i64) : [][]i64 = map (\\r -> loop s = r while sum s > 2 do map (/ 2) (scan max 0 s)) a",
     "i64 5x[2 0 5 1 3]")
SAME(none_turns, "entry main (a: [][]i64) : [][]i64 = map (\\r -> loop s = r while sum s < 0 do scan (+) 0 s) a",
     "i64 5x[2 0 5 1 3]")
SAME(no_loops, "entry main (a: [][]i64) : [][]i64 = map (\\r -> loop s = r while sum s > 2 do scan (+) 0 s) a",
     "i64 0x[]")
SAME(reads_from_around,
     "entry main (a: [][]i64) (n: []i64) : [][]i64 = map2 (\\r k -> loop s = r for i < k do map2 (+) r (scan (+) 0 s)) "
     "a "
     "n",
     "i64 5x[2 0 5 1 3]", "i64 5 = 2 3 0 1 2")
SAME(
    of_nested_maps,
    "entry main (a: [][]i64) (n: []i64) : [][][]i64 = map (\\r -> map (\\k -> loop s = r for i < k do scan (+) i s) n) "
    "a",
    "i64 5x[2 0 5 1 3]", "i64 3 = 2 0 3")
SAME(of_elements,
     "entry main (a: [][]i64) : [][]i64 = map (map (\\x -> loop y = x while y > 1 do sum (scan (+) 0 (iota (y % 5))))) "
     "a",
     "i64 5x[2 0 5 1 3]")
SAME(ended_would_fail,
     "entry main (n: []i64) : []i64 = map (\\k -> (loop (j, s) = (k, 0) while j > 0 do (j - 1, s + sum (scan (+) (12 / "
     "j) [1, 2]))).1) n",
     "i64 5 = 2 0 3 1 2")
FAILS(turn_fails,
      "entry main (n: []i64) : [][]i64 = map (\\k -> loop r = [1, 2] for i < k do scan (+) (1 / (i - 2)) r) n",
      "i64 5 = 2 0 3 1 2")
SAME(loop_in_a_branch,
     "entry main (a: [][]i64) : [][]i64 = map (\\r -> if length r > 1 then (loop s = r for i < length r do scan (+) i "
     "s) "
     "else r) a",
     "i64 5x[2 0 5 1 3]")
SAME(branch_in_a_loop,
     "entry main (a: [][]i64) : [][]i64 = map (\\r -> loop s = r for i < length r do (if sum s > 9 then reverse s else "
     "scan (+) 0 s)) a",
     "i64 5x[2 0 5 1 3]")
SAME(loop_in_a_loop,
     "entry main (n: []i64) : [][]i64 = map (\\k -> loop r = [1, 2] for i < k do (loop s = r for j < i do scan (+) j "
     "s)) "
     "n",
     "i64 5 = 2 0 3 4 2")
SAME(rows_in_states,
     "entry main (a: [][][]i64) : [][][]i64 = map (\\m -> loop s = m for i < length m do map (scan (+) i) s) a",
     "i64 3x[2 0 3]x[1 4 0 2 2]")
SAME(states_of_many_kinds,
     "entry main (a: [][]i64) : ([][]i64, []i64, [][]f64) = unzip3 (map (\\r -> loop (s, k, f) = (r, 0, [0.5, 1.5]) "
     "while "
     "k < length r do (scan (+) k s, k + 1, scan (+) (f64 k) f)) a)",
     "i64 5x[2 0 5 1 3]")
SAME(
    loop_of_a_stream,
    "entry main (s: seq ([]i64)) : [][]i64 = from_seq (map_seq (\\r -> loop t = r for i < length r do scan (+) i t) s)",
    "i64 5x[3 0 1 1 4]")

/* States that change their shape. */
SAME(grows, "entry main (n: []i64) : [][]i64 = map (\\k -> loop r = [1] for i < k do r ++ [i]) n", "i64 5 = 2 0 3 1 2")
SAME(thins, "entry main (a: [][]i64) : [][]i64 = map (\\r -> loop s = r while length s > 1 do filter (> s[0]) s) a",
     "i64 5x[2 0 5 1 3]")
SAME(two_that_change,
     "entry main (n: []i64) : [][]i64 = map (\\k -> (loop (ps, cs) = (iota 0, map (+ 2) (iota k)) while length cs > 0 "
     "do "
     "(ps ++ [cs[0]], filter (\\c -> c % cs[0] != 0) cs)).0) n",
     "i64 5 = 9 0 3 20 2")
SAME(pairs_that_change,
     "entry main (a: [](i64, [](i64, f64))) : []([](i64, f64)) = map (\\(k, r) -> loop s = r while length s > 1 do "
     "filter "
     "(\\(x, _) -> x > s[0].0) s) a",
     "i64 3; i64 3x[2 0 3]; f64 3x[2 0 3]")
SAME(come_apart,
     "entry main (n: []i64) : []([]i64, []i64) = map (\\k -> loop (a, b) = ([1], [2]) for i < k do (a ++ [i], b ++ a)) "
     "n",
     "i64 5 = 2 0 3 1 2")
SAME(one_changes_and_one_does_not,
     "entry main (a: [][]i64) : []([]i64, []i64) = map (\\r -> loop (s, t) = (r, r) for i < length r do (scan (+) i s, "
     "filter (> i) t)) a",
     "i64 5x[2 0 5 1 3]")
SAME(rows_that_change,
     "entry main (a: [][]i64) : [][][]i64 = map (\\r -> loop s = [r] while length s < length r do map (\\q -> take "
     "(length "
     "q / 2) q) s ++ s) a",
     "i64 5x[2 0 5 1 3]")
SAME(grows_without_maps, "entry main (n: i64) : []i64 = loop r = [1] for i < n do r ++ [i] ++ r", "i64 = 5")
SAME(grows_while, "entry main (n: i64) (a: []i64) : []i64 = loop r = a while length r < n do r ++ r", "i64 = 50",
     "i64 3")
SAME(grows_in_a_branch,
     "entry main (n: []i64) : [][]i64 = map (\\k -> if k > 1 then (loop r = [1] for i < k do r ++ [i]) else [k]) n",
     "i64 5 = 2 0 3 1 2")
FAILS(growing_fails, "entry main (n: []i64) : [][]i64 = map (\\k -> loop r = [1] for i < k do r ++ [r[i + i]]) n",
      "i64 5 = 2 0 3 1 2")
SAME(never_begins,
     "entry main (n: []i64) (m: []i64) : [][][]i64 = map (\\k -> map (\\j -> loop r = [j] while true do r ++ r) m) n",
     "i64 0", "i64 2")

/* Those that have ended are not among the elements of a turn. */
LOOM_TEST(control, turns_are_collected) {
    loom_arena *arena;
    weft_case c = {.name = "turns",
                   .text = "entry main (n: []i64) : [][]i64 = map (\\k -> loop r = [1, 2] for i < k do scan (+) i r) n",
                   .arguments = {"i64 5 = 2 0 3 1 2"}};
    loom_lifted *l = weft_lifted(&c, &arena);
    LOOM_CHECK_EQ_INT(weft_count(l, LOOM_LO_LOOP), 1);
    for (loom_lop_id i = 0; i < l->n_ops; i++) {
        const loom_lop *o = &l->ops[i];
        if (o->kind != LOOM_LO_LOOP) continue;
        LOOM_CHECK_EQ_INT(o->n_collected, 2);
        LOOM_CHECK_EQ_INT(o->n_results, o->n_states + 2);
    }
    loom_arena_destroy(arena);
}

/* What turns update is neither collected nor copied; what they make anew beside it is collected. */
LOOM_TEST(control, updated_states_stay) {
    static const struct {
        const char *text;
        int collected;
    } cases[] = {
        {"entry main (n: []i64) : [][]i64 = map (\\k -> loop r = [1, 2] for i < k do r with [i % 2] = i) n", 0},
        {"entry main (n: []i64) : []([]i64, []i64) = map (\\k -> loop (r, s) = ([1, 2], [3, 4]) for i < k do (r with "
         "[i % 2] "
         "= s[0], scan (+) i s)) n",
         2},
        {"entry main (n: []i64) : []([]i64, []i64) = map (\\k -> loop (r, s) = ([1, 2], [3, 4]) for i < k do (s, r "
         "with [i % "
         "2] = i)) n",
         3},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        loom_arena *arena;
        weft_case c = {.name = "stay", .text = cases[k].text, .arguments = {"i64 5 = 2 0 3 1 2"}};
        loom_lifted *l = weft_lifted(&c, &arena);
        LOOM_CHECK_EQ_INT(weft_count(l, LOOM_LO_LOOP), 1);
        for (loom_lop_id i = 0; i < l->n_ops; i++) {
            if (l->ops[i].kind == LOOM_LO_LOOP) LOOM_CHECK_EQ_INT(l->ops[i].n_collected, cases[k].collected);
        }
        loom_arena_destroy(arena);
    }
}
