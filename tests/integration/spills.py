#!/usr/bin/python3
"""A stream of which groups go by batches is written out by batch, where that is worth it: the result is that of all groups resident,
by independent sums, with one worker and two, where a worker is killed while it writes and while it reads, where elements are arrays of
different lengths, where rows come in segments of different shapes with constants of their own; where elements are for too many batches
it is given up; an error names the element by its place in the stream. Each is seen to have happened. How the result is made, and not
whether that is worth it, is looked at with --spill always: what is decided by time is another thing on a machine that does much else."""
# timeout: 400
# sanitize: asan tsan
import json, os, re, subprocess, sys
import numpy as np
from astropy.io import fits

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
from a_daemon import Daemon, Failed, exe, expect, run_all, wait_for
import ms_files

TMP = os.path.join(os.environ["LOOM_TMP"], "spills")
os.makedirs(TMP, exist_ok=True)
N, GROUPS, CELLS = 400000, 200, 160000
ALWAYS = ("--spill", "always")
MEMORY = ("--memory", "64MiB")  # 1.28 MB a group: 26 of 200 fit beside what is in flight
# Finding the keys takes longer than writing the element, so that to write it is worth it, however fast the disk; each is in two groups.
PROGRAM = """
entry main (n: i64) (cells: i64) (turns: i64) (s: seq ([8]f64)) : []f64 =
  let slow (x: f64) = loop a = x for _i < turns do 0.5 * a + 0.5 * x
  in group_seq n (\\e -> let k = i64.f64 (slow e[0]) in [k, k + 1]) s (\\k ys ->
       permute_seq (+) (replicate cells 0.0) (map_seq (\\y -> [i64.f64 y[1]]) ys) (map_seq (\\y -> [y[2] * f64 (k + 1)]) ys) |> sum)
     |> from_seq
"""
# Every element is in every group.
DENSE = PROGRAM.replace("[k, k + 1]", "map (\\j -> j + 0 * k) (iota n)")
# Cells by a table: an index too large is an error of the element.
BROKEN = """
entry main (n: i64) (cells: i64) (turns: i64) (s: seq ([8]f64)) : []f64 =
  let slow (x: f64) = loop a = x for _i < turns do 0.5 * a + 0.5 * x
  let table = generate cells (\\i -> f64.i64 (i % 7))
  in group_seq n (\\e -> [i64.f64 (slow e[0])]) s (\\k ys ->
       permute_seq (+) (replicate cells 0.0) (map_seq (\\y -> [i64.f64 y[1]]) ys)
         (map_seq (\\y -> [table[i64.f64 y[1] + (if y[2] > 2.0 then cells else 0)]]) ys) |> sum)
     |> from_seq
"""
# Elements of different lengths.
RAGGED = """
entry main (n: i64) (cells: i64) (s: seq {k: i64, x: []f64}) : []f64 =
  group_seq n (\\e -> [e.k]) s (\\k ys ->
    permute_seq (+) (replicate cells 0.0) (map_seq (\\y -> map (\\v -> i64.f64 v) y.x) ys) (map_seq (\\y -> map (\\v -> v + f64 k) y.x) ys)
    |> sum)
  |> from_seq
"""


def path(name):
    return os.path.join(TMP, name)


for name, text in (("p", PROGRAM), ("dense", DENSE), ("broken", BROKEN), ("ragged", RAGGED)):
    with open(path(name + ".weft"), "w") as f:
        f.write(text)
r = np.random.default_rng(1)
rows = r.random((N, 8))
rows[:, 0] = np.floor(rows[:, 0] * GROUPS)
rows[:, 1] = np.floor(rows[:, 1] * CELLS)
rows[:, 2] = np.floor(rows[:, 2] * 1000) / 1024  # sums are exact in any order
rows[: N // 8, 0] = np.minimum(rows[: N // 8, 0], 20)  # so that some batches have nothing of the first blocks,
rows[:, 0] = np.where((rows[:, 0] >= 60) & (rows[:, 0] < 130), 10, rows[:, 0])  # and some have nothing at all
np.save(path("s.npy"), rows)
want = np.zeros(GROUPS + 1)
for d in (0, 1):
    np.add.at(want, rows[:, 0].astype(int) + d, rows[:, 2])
want = (want * np.arange(1, GROUPS + 2))[:GROUPS]


def start(program, out, *more, turns=300, stream="s.npy", groups=GROUPS):
    return subprocess.Popen([exe("gridloom"), "run", path(program + ".weft"), "--arg", "n=%d" % groups, "--arg", "cells=%d" % CELLS,
                             "--arg", "turns=%d" % turns, "--stream", "s=" + path(stream), "--block", "8192", "-o", path(out + ".npy"),
                             "--stats", path(out + ".json"), *more],
                            stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=TMP, GRIDLOOM_LOG="debug"))


def end(p, code=0):
    """What was said."""
    _, said = p.communicate(timeout=200)
    if p.returncode != code:
        raise Failed("exit %d: %s" % (p.returncode, said[-1000:]))
    return said


def stats(out):
    with open(path(out + ".json")) as f:
        return json.load(f)


def check(p, out):
    """What was said, where the result is right."""
    said = end(p)
    got = np.load(path(out + ".npy"))
    if not np.array_equal(got, want):
        raise Failed("a wrong result, off by %g" % np.abs(got - want).max())
    return said


def is_spilled(said, out):
    expect(said, "elements 1.")  # times written: those at the edge of a batch twice
    if "not spilled" in said:
        raise Failed("it was given up")
    read = stats(out)["elements"]
    if not read < 3 * N:
        raise Failed("%d elements were read, of %d" % (read, N))


def by_one_worker():
    is_spilled(check(start("p", "one", *ALWAYS, *MEMORY), "one"), "one")


def by_two_workers():
    is_spilled(check(start("p", "two", *ALWAYS, *MEMORY, "--workers", "2", "--threads", "1"), "two"), "two")


def by_what_it_takes():
    """To find the keys takes much longer than to write elements, which the disk may hold up all the same: what was seen decides."""
    said = check(start("p", "auto", *MEMORY), "auto")
    seen = [(float(on), float(stop)) for on, stop in re.findall(r"times: (\S+) s to go on, (\S+) to stop", said)]
    if not seen:
        raise Failed("nothing was judged")
    if any(on > 1.02 * stop for on, stop in seen[:-1]):  # numbers are rounded
        raise Failed("it went on though it cost more: %s" % seen)
    if "not spilled" not in said:
        if seen[-1][0] > 1.02 * seen[-1][1]:
            raise Failed("it was not given up though it cost more: %s" % seen)
        is_spilled(said, "auto")
    else:
        expect(said, "not spilled: it costs more than it saves")
        if not seen[-1][0] > 0.98 * seen[-1][1]:
            raise Failed("it was given up though it cost less: %s" % seen)


def never():
    """Not even begun, whatever that would save; the same for every command that starts a daemon, and of a daemon that is there."""
    said = check(start("p", "never", *MEMORY, "--spill", "never"), "never")
    with Daemon(TMP, *MEMORY, options=("--spill", "never")) as d:
        check(start("p", "never", *ALWAYS, "--connect", d.endpoint, turns=3), "never")  # its own --spill counts
        said += d.said()
    if "spilled" in said:
        raise Failed("it was spilled")
    if not stats("never")["elements"] > 5 * N:
        raise Failed("%d elements were read, of %d" % (stats("never")["elements"], N))


def always_though_it_costs_more():
    """Every element in every group of four batches."""
    groups = 80
    said = end(start("dense", "always", *ALWAYS, *MEMORY, turns=3, groups=groups))
    if "not spilled" in said:
        raise Failed("it was given up")
    expect(said, "elements 4.00 times")
    if not np.array_equal(np.load(path("always.npy")), rows[:, 2].sum() * np.arange(1, groups + 1)):
        raise Failed("a wrong result")


def all_resident():
    said = check(start("p", "resident"), "resident")
    expect(said, "done after 1 turns")
    if "spilled" in said:
        raise Failed("it was spilled, though all groups fit")


def elements_of_all_batches():
    groups = 80  # four batches
    said = end(start("dense", "dense", *MEMORY, turns=3, groups=groups))
    expect(said, "not spilled: it costs more than it saves")
    if not np.array_equal(np.load(path("dense.npy")), rows[:, 2].sum() * np.arange(1, groups + 1)):
        raise Failed("a wrong result")


def killed(stage, name):
    with Daemon(TMP, *MEMORY, options=ALWAYS) as d:
        p = start("p", name, "--connect", d.endpoint, turns=3000)
        try:
            wait_for(stage, lambda: any(stage in j["stage"] and j["blocks_done"] > 3 for j in d.jobs()))
            d.worker(*MEMORY)
            d.started[1].kill()
            check(p, name)
            expect(d.said(), "spilled")
            if "not spilled" in d.said():
                raise Failed("it was given up")
            if not stats(name)["releases"]:
                raise Failed("nothing was lost")
        finally:
            p.kill()


def a_worker_is_killed_that_writes():
    killed("spill", "writes")


def a_worker_is_killed_that_reads():
    killed("permute_seq", "reads")


def an_error_has_its_place():
    """The least element of the first batch that has one."""
    bad = rows.copy()
    bad[[N // 2, N // 2 + 7, N - 1], 0] = [150, 3, 3]
    bad[[N // 2, N // 2 + 7, N - 1], 2] = 3
    np.save(path("bad.npy"), bad)
    said = end(start("broken", "broken", *ALWAYS, *MEMORY, stream="bad.npy"), 65)
    expect(said, "reads the whole stream, to find the least error")
    expect(said, "broken.weft:7:27: index %d is outside an array of length %d" % (bad[N // 2 + 7, 1] + CELLS, CELLS))
    expect(said, "at element %d of the stream" % (N // 2 + 7))


def elements_of_different_lengths():
    n = 16000
    lengths = r.integers(0, 220, n)
    k, x = r.integers(0, GROUPS, n), np.floor(r.random(lengths.sum()) * CELLS)
    for name, column in (("k", k), ("x", x), ("lengths", lengths)):
        np.save(path(name + ".npy"), column)
    p = subprocess.Popen([exe("gridloom"), "run", path("ragged.weft"), "--arg", "n=%d" % GROUPS, "--arg", "cells=%d" % CELLS, "--stream",
                          "s.k=" + path("k.npy"), "--stream", "s.x=%s,%s" % (path("x.npy"), path("lengths.npy")), "--block", "512",
                          "-o", path("ragged_out.npy"), "--stats", path("ragged.json"), "--memory", "48MiB", *ALWAYS],
                         stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=TMP, GRIDLOOM_LOG="debug"))
    said = end(p)
    expect(said, "elements 1.")
    if "not spilled" in said:
        raise Failed("it was given up")
    of = np.repeat(k, lengths)
    sums = np.bincount(of, weights=x + of, minlength=GROUPS)
    if not np.array_equal(np.load(path("ragged_out.npy")), sums):
        raise Failed("a wrong result")


def segments_with_constants():
    """Three windows, whose frequencies are no columns, of different shapes. Their rows are added up in one place: memory is for
    one batch of planes, not for three."""
    windows = [(140e6 + 5e5 * np.arange(24), np.full(24, 5e5)), (160e6 - 3e5 * np.arange(16), np.full(16, -3e5)), ([1.5e8], [1e6])]
    ms_files.write(path("w.ms"), windows, [[9, 12], [9, 10, 11, 12]], [(0, 0), (1, 1), (2, 0)], [("f", 1.0, -0.5)],
                   [(i // 500 % 3, 0) for i in range(12000)])
    images = []
    for name, more in (("whole", ()), ("batches", ("--memory", "96MiB", *ALWAYS))):
        p = subprocess.Popen([exe("gridloom"), "image", path("w.ms"), "--size", "1500", "--scale", "60asec", "--epsilon", "1e-4", "-o",
                              path(name + ".fits"), *more],
                             stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=TMP, GRIDLOOM_LOG="debug"))
        said = end(p)
        images.append(np.squeeze(fits.getdata(path(name + ".fits"))))
    expect(said, "spilled")
    if "not spilled" in said:
        raise Failed("it was given up")
    off = np.abs(images[0] - images[1]).max() / np.abs(images[0]).max()
    if not off < 1e-5:
        raise Failed("off by %g" % off)


def given_up_while_blocks_are_served():
    """Of a MeasurementSet, which workers do not read themselves: rows over a wide band are for nearly all planes, more than memory is for.
    Who waits for blocks of a
    lease that nobody wants any more goes on with others at once."""
    ms_files.write(path("wide.ms"), [(np.linspace(1e8, 1e9, 24), np.full(24, 4e7))], [[9, 12]], [(0, 0)], [("f", 1.0, -0.5)],
                   [(0, 0)] * 9000)
    p = subprocess.Popen([exe("gridloom"), "image", path("wide.ms"), "--size", "700", "--scale", "28asec", "--epsilon", "1e-4", "-o",
                          path("wide.fits"), "--memory", "32MiB", "--workers", "2", "--threads", "1", "--block", "512", *ALWAYS],
                         stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=TMP, GRIDLOOM_LOG="debug"))
    expect(end(p), "not spilled: elements written once for each of their batches take")


tests = [by_one_worker, by_two_workers, by_what_it_takes, never, all_resident, given_up_while_blocks_are_served,
         a_worker_is_killed_that_writes, a_worker_is_killed_that_reads, an_error_has_its_place]
if "tsan" not in os.environ["GRIDLOOM_BIN"]:  # these take minutes there, and have no threads of their own
    tests += [elements_of_all_batches, always_though_it_costs_more, elements_of_different_lengths, segments_with_constants]
run_all(tests)
