#!/usr/bin/python3
"""Values that stay with the worker that made them, for the array stage that reads what a traversal has added up, or the traversal that
reads what an array stage has made: the result is the same where they stay, where the worker is killed before they are read (they are
made once more, by another), where memory is out beside them, and where another job wants the worker meanwhile, which does not keep the
array stage from it for ever. Each is seen to have happened."""
# timeout: 400
# sanitize: asan tsan
import json, os, subprocess, sys
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
from a_daemon import Daemon, Failed, exe, expect, run_all, wait_for

TMP = os.path.join(os.environ["LOOM_TMP"], "residents")
os.makedirs(TMP, exist_ok=True)
CELLS, BLOCK = 400000, 4096
# Two results of the size of what is added up: with it, three.
PROGRAM = """
entry main (cells: i64) (turns: i64) (s: seq i64) : ([]f64, []f64) =
  let h = permute_seq (+) (replicate cells 0.0) (map_seq (\\x -> x % cells) s) (map_seq f64.i64 s)
  let a = map (\\v -> loop a = v for i < turns do 0.5 * a + f64 i) h
  in (a, map (\\v -> v - 1.0) h)
"""
# What an array stage makes is read by a traversal, which adds up as much: with both, two. The first traversal tells how long the second
# may take.
BACK = """
entry main (cells: i64) (turns: i64) (s: seq i64) : []f64 =
  let most = fold_seq i64.max 0 s
  let t = generate cells (\\i -> f64.i64 ((7 * i + turns) % (if most < 0 then 999 else 1000)))
  in permute_seq (+) (replicate cells 0.0) (map_seq (\\x -> x % cells) s)
                 (map_seq (\\x -> loop a = t[x % cells] for _i < turns do 0.5 * a + 0.5 * a) s)
"""


def path(name):
    return os.path.join(TMP, name)


# The same, added up to a number: no memory is wanted for that.
SUM = """
entry main (cells: i64) (turns: i64) (s: seq i64) : f64 =
  let most = fold_seq i64.max 0 s
  let t = generate cells (\\i -> f64.i64 ((7 * i + turns) % (if most < 0 then 999 else 1000)))
  in fold_seq (+) 0.0 (map_seq (\\x -> loop a = t[x % cells] for _i < turns do 0.5 * a + 0.5 * a) s)
"""
for name, text in (("p", PROGRAM), ("back", BACK), ("sum", SUM)):
    with open(path(name + ".weft"), "w") as f:
        f.write(text)
values = np.random.default_rng(1).integers(0, 3 * CELLS, 1 << 20)
np.save(path("s.npy"), values)


def run(program, out, turns, cells, block, *more):
    return subprocess.Popen([exe("gridloom"), "run", path(program), "--arg", "cells=%d" % cells, "--arg", "turns=%d" % turns,
                             "--stream", "s=" + path("s.npy"), "--block", str(block), "--stats", path(out + ".json"), *more],
                            stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=TMP, GRIDLOOM_LOG="debug"))


def end(p):
    """What was said, where all went well."""
    _, said = p.communicate(timeout=200)
    if p.returncode:
        raise Failed("exit %d: %s" % (p.returncode, said[-1000:]))
    return said


def start(out, turns, *more, cells=CELLS):
    return run("p.weft", out, turns, cells, BLOCK, "-o", "0=" + path(out + "0.npy"), "-o", "1=" + path(out + "1.npy"), *more)


def check(p, out, turns, cells=CELLS):
    """What was said, where the result is right."""
    said = end(p)
    h = np.zeros(cells)
    np.add.at(h, values % cells, values)  # whole numbers: exact in any order
    a = h.copy()
    for i in range(turns):
        a = 0.5 * a + i
    got = [np.load(path(out + k)) for k in ("0.npy", "1.npy")]
    if not np.array_equal(got[1], h - 1) or not np.allclose(got[0], a, rtol=1e-12):
        raise Failed("a wrong result")
    return said


def start_back(out, turns, *more, cells=CELLS, block=BLOCK, program="back.weft"):
    return run(program, out, turns, cells, block, "-o", path(out + ".npy"), *more)


def check_back(p, out, turns, cells=CELLS):
    said = end(p)
    h = np.zeros(cells)
    np.add.at(h, values % cells, (7 * (values % cells) + turns) % 1000)  # whole numbers: exact in any order
    if not np.array_equal(np.load(path(out + ".npy")), h):
        raise Failed("a wrong result")
    return said


def releases(out):
    with open(path(out + ".json")) as f:
        return json.load(f)["releases"]


def it_stays():
    said = check(start("stays", 3), "stays", 3)
    expect(said, "stay in memory as value")
    if "is written" in said:
        raise Failed("what stayed was written, though nobody wanted the memory")


def memory_is_out():
    cells = 1600000  # 12.8 MB three times do not fit
    expect(check(start("small", 3, "--memory", "32MiB", cells=cells), "small", 3, cells), "is written")


def it_stays_for_a_traversal():
    said = check_back(start_back("back", 3), "back", 3)
    expect(said, "stay in memory as value")
    if "is written" in said:
        raise Failed("what stayed was written, though nobody wanted the memory")


def a_traversal_wants_the_memory():
    """What is read and what is added up do not fit together."""
    cells = 2600000
    said = check_back(start_back("tight", 3, "--memory", "32MiB", cells=cells), "tight", 3, cells)
    expect(said, "stay in memory as value")
    expect(said, "is written")


def reads(d):
    """Whether the second traversal is under way."""
    return any(j["blocks_done"] and "traversal 1" in j["stage"] for j in d.jobs())


def its_worker_is_killed():
    turns = 10000  # seconds
    with Daemon(TMP) as d:
        p = start("killed", turns, "--connect", d.endpoint)
        try:
            wait_for("the array stage", lambda: any(j["stage"].startswith("array") for j in d.jobs()))
            d.worker()
            d.started[1].kill()
            check(p, "killed", turns)
            expect(d.said(), "is gone with its worker")
            if releases("killed") <= len(values) // BLOCK:
                raise Failed("%d releases: what was added up was not lost" % releases("killed"))
        finally:
            p.kill()


def a_traversals_worker_is_killed():
    turns, block = 5000, 256  # seconds
    with Daemon(TMP) as d:
        p = start_back("gone", turns, "--connect", d.endpoint, block=block)
        try:
            wait_for("blocks of the traversal", lambda: reads(d))
            d.worker()
            d.started[1].kill()
            check_back(p, "gone", turns)
            expect(d.said(), "is gone with its worker")
            if releases("gone") < 2:
                raise Failed("nothing was lost")
        finally:
            p.kill()


def another_job_needs_the_memory():
    """Of the worker that holds what a traversal is reading: it fits beside that only when it has been written, and is let go."""
    turns, cells = 8000, 2800000
    with Daemon(TMP, "--memory", "32MiB") as d:
        p = start_back("big", turns, "--connect", d.endpoint, block=256, cells=cells, program="sum.weft")
        try:
            wait_for("blocks of the traversal", lambda: reads(d))
            check(start("beside", 3, "--connect", d.endpoint, cells=800000), "beside", 3, 800000)
            if p.poll() is not None:
                raise Failed("the traversal was too quick")
            expect(d.said(), "is written")
            end(p)
            if np.load(path("big.npy")) != np.sum((7 * (values % cells) + turns) % 1000):
                raise Failed("a wrong result of the traversal")
        finally:
            p.kill()


def others_want_the_worker():
    """Until one job's value has been written because of another's tasks: that takes the moment in which an array stage is compiled."""
    with Daemon(TMP) as d:
        for turn in range(20):
            cells = [CELLS + 10 * turn + i for i in range(4)]  # nothing of it has been compiled before
            jobs = [start("other%d" % i, 3, "--connect", d.endpoint, cells=n) for i, n in enumerate(cells)]
            for i, p in enumerate(jobs):
                check(p, "other%d" % i, 3, cells[i])
            if "is written" in d.said():
                return
        raise Failed("no job has met another one")


def an_array_stage_gets_its_turn():
    """Blocks of another job, of which there are always more, do not keep it from its worker."""
    with open(path("long.weft"), "w") as f:
        f.write("entry main (turns: i64) (s: seq i64) : f64 = "
                "fold_seq (+) 0.0 (map_seq (\\x -> loop a = f64.i64 x for i < turns do 0.5 * a + f64.i64 i) s)\n")
    with Daemon(TMP) as d:
        other = subprocess.Popen([exe("gridloom"), "run", path("long.weft"), "--arg", "turns=100000", "--stream", "s=" + path("s.npy"),
                                  "--block", "256", "--connect", d.endpoint], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for("the other job's blocks", lambda: any(j["blocks_done"] for j in d.jobs()))
            check(start("turn", 3, "--connect", d.endpoint), "turn", 3)
            if other.poll() is not None:
                raise Failed("the other job was too quick")
        finally:
            other.kill()


run_all((it_stays, it_stays_for_a_traversal, memory_is_out, a_traversal_wants_the_memory, its_worker_is_killed,
         a_traversals_worker_is_killed, another_job_needs_the_memory, others_want_the_worker, an_array_stage_gets_its_turn))
