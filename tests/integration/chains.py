#!/usr/bin/python3
"""scan_seq and chain_seq go over blocks in order, with states that go from block to block: against numpy, for states that are numbers, tuples,
arrays and arrays that grow, with filters before and behind, several in one traversal and one behind the other, in loops, over no
elements; with less memory than the stream has bytes; over windows of unlike shapes; where the worker that has the states is killed,
before anything was accepted and after. Each is seen to have happened."""
# timeout: 300
# sanitize: asan tsan
import itertools, json, os, subprocess, sys
import numpy as np
from casacore.tables import table

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
from a_daemon import Daemon, Failed, exe, expect, run_all, wait_for
import ms_files

TMP = os.path.join(os.environ["LOOM_TMP"], "chains")
os.makedirs(TMP, exist_ok=True)
N = 100000
PROGRAM = r"""
entry sums (s: seq i64) : seq i64 = scan_seq (+) 0 s
entry filtered (s: seq i64) : seq i64 = scan_seq (+) 0 (filter_seq (\x -> x % 3 == 0) s)
entry none (s: seq i64) : seq i64 = scan_seq (+) 0 (filter_seq (\x -> x < 0) s)
entry behind (s: seq i64) : seq i64 = filter_seq (\x -> x % 7 == 0) (scan_seq (+) 0 s)
entry several (s: seq i64) : (i64, i64, i64) =
  let t = scan_seq (+) 0 s in (fold_seq max 0 t, chain_seq 1 (\a x -> a * 31 + x) s, fold_seq (+) 0 s)
entry later (s: seq i64) : seq i64 = let m = fold_seq max 0 s in map_seq (\x -> x - m) (scan_seq (+) 0 s)
entry begins (k: i64) (s: seq i64) : i64 =
  let a = chain_seq k (\a x -> a * 3 + x) s in chain_seq (a + 1) (\a x -> a * 5 - x) s
entry rows (s: seq i64) : []i64 =
  fold_seq (map2 max) [0, 0, 0]
    (scan_seq (map2 (+)) [0, 0, 0] (map_seq (\x -> [x, x * 2, 1]) (filter_seq (\x -> x > 5000) s)))
entry counts (s: seq i64) : []i64 = chain_seq (replicate 10 0) (\h x -> h with [x % 10] = h[x % 10] * 3 + x) s
entry grows (s: seq i64) : []i64 = chain_seq [] (\h x -> if x % 1000 == 0 then h ++ [x] else h) s
entry turns (s: seq i64) : i64 = loop a = 0 for i < 3 do chain_seq a (\a x -> a * 7 + x + i) s
entry pairs (s: seq i64) : seq i64 =
  map_seq (\(a, b) -> a - b) (scan_seq (\(a, b) (c, d) -> (a + c, max b d)) (0, 0) (map_seq (\x -> (x, x)) s))
entry twice (s: seq i64) : seq i64 = scan_seq max 0 (map_seq (\x -> x % 1000) (scan_seq (+) 0 s))
entry places (s: seq i64) : seq i64 = map_seq (\(i, x) -> i * x) (enumerate_seq (scan_seq (+) 0 s))
entry groups (n: i64) (s: seq i64) : seq i64 = group_seq n (\x -> [x % n]) (scan_seq (+) 0 s) (\_k ys -> fold_seq (+) 0 ys)
entry fails (s: seq i64) : i64 = chain_seq 0 (\a x -> a + 100 / (x - 77777)) s
entry slow_sums (turns: i64) (s: seq i64) : seq i64 =
  scan_seq (+) 0 (map_seq (\x -> loop a = x for i < turns do (a * 3 + i) % 1000003) s)
entry slow_chain (turns: i64) (s: seq i64) : i64 =
  chain_seq 0 (\b x -> (b * 31 + (loop a = x for i < turns do (a * 3 + i) % 1000003)) % 1000000007) s
entry windows [c] (s: seq {freq: [c]f64, antenna1: i32}) : i64 =
  chain_seq 0 (\a r -> (a * 31 + length r.freq * 7 + i64.i32 r.antenna1) % 1000000007) s
entry window_sums [c] (s: seq {freq: [c]f64, antenna1: i32}) : seq i64 =
  scan_seq (\a b -> a + b) 0 (map_seq (\r -> length r.freq * 7 + i64.i32 r.antenna1) s)
"""


def path(name):
    return os.path.join(TMP, name)


with open(path("p.weft"), "w") as f:
    f.write(PROGRAM)
streams = {"many": np.arange(N), "one": np.array([42]), "no": np.zeros(0, np.int64)}
for name, values in streams.items():
    np.save(path(name + ".npy"), values)


def start(entry, *more, stream="many.npy", out="out.npy"):
    return subprocess.Popen([exe("gridloom"), "run", path("p.weft"), "--entry", entry, *(("--stream", "s=" + path(stream)) if stream else ()),
                             "--stats", path("stats.json"), *(("-o", path(out)) if out else ()), *more],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, TMPDIR=TMP, GRIDLOOM_LOG="debug"))


def end(p, code=0):
    out, said = p.communicate(timeout=200)
    if p.returncode != code:
        raise Failed("exit %d: %s" % (p.returncode, said[-1000:]))
    return out, said


def chained(values, start, step):
    state = int(start)
    for x in values:
        state = int(np.int64(np.uint64((step(state, int(x))) % 2**64)))
    return state


# What each entry gives for a stream, another way.
def wanted(entry, s):
    c = np.cumsum(s, dtype=np.int64)
    k = s[s > 5000]
    if entry == "several":
        return [max([0, *c]), chained(s, 1, lambda a, x: a * 31 + x), s.sum()]
    if entry == "counts":
        h = [0] * 10
        for x in s.tolist():
            h[x % 10] = chained([x], h[x % 10], lambda a, x: a * 3 + x)
        return h
    return {"sums": lambda: c, "filtered": lambda: np.cumsum(s[s % 3 == 0]), "none": lambda: s[:0], "behind": lambda: c[c % 7 == 0],
            "later": lambda: c - max([0, *s]),
            "begins": lambda: chained(s, chained(s, 5, lambda a, x: a * 3 + x) + 1, lambda a, x: a * 5 - x),
            "rows": lambda: [k.sum(), 2 * k.sum(), len(k)], "grows": lambda: s[s % 1000 == 0],
            "turns": lambda: chained(itertools.chain(s, s + 1, s + 2), 0, lambda a, x: a * 7 + x),
            "pairs": lambda: c - np.maximum.accumulate(s), "twice": lambda: np.maximum.accumulate(c % 1000),
            "places": lambda: np.arange(len(s)) * c, "groups": lambda: np.bincount(c % 7, weights=c, minlength=7).astype(np.int64)}[entry]()


ENTRIES = ["sums", "filtered", "none", "behind", "several", "later", "begins", "rows", "counts", "grows", "turns", "pairs", "twice",
           "places", "groups"]
WAYS = [("--workers", "1"), ("--workers", "2", "--threads", "1", "--block", "999")]


def numbers(text):
    return [int(w) for w in text.replace("[", " ").replace("]", " ").replace(",", " ").split() if w.lstrip("-").isdigit()]


def values():
    for entry, (name, s), way in itertools.product(ENTRIES, streams.items(), WAYS):
        if name != "many" and way != WAYS[1]:
            continue
        more = {"begins": ("--arg", "k=5"), "groups": ("--arg", "n=7")}.get(entry, ())
        out, said = end(start(entry, *way, *more, stream=name + ".npy", out=None if entry == "several" else "out.npy"))
        if entry == "several":
            got = numbers(" ".join(line.split("=")[-1] for line in out.splitlines()))
        else:
            got = np.load(path("out.npy"))
        want = np.asarray(wanted(entry, s))
        if not np.array_equal(np.asarray(got).reshape(-1), want.reshape(-1)):
            raise Failed("%s of %s, %s: %s..., expected %s..." % (entry, name, way, np.asarray(got).reshape(-1)[:9], want.reshape(-1)[:9]))
        with open(path("stats.json")) as f:
            if any("interpreted by one worker" in r for r in json.load(f)["remarks"]):
                raise Failed(entry + " was not cut into blocks")


def little_memory():
    n = 24000000  # 192 MB
    np.save(path("big.npy"), np.arange(n))
    end(start("sums", "--memory", "48MiB", stream="big.npy", out="sums.npy"))
    got = np.load(path("sums.npy"), mmap_mode="r")
    if len(got) != n or not np.array_equal(got, np.cumsum(np.arange(n))):
        raise Failed("a wrong result")
    os.unlink(path("big.npy"))
    os.unlink(path("sums.npy"))


def an_error_has_its_place():
    expect(end(start("fails", "--workers", "2", "--block", "999"), 65)[1], "p.weft:%d:" % (PROGRAM[:PROGRAM.index("entry fails")].count("\n") + 1))


def unlike_windows():
    up = lambda f0, df, n: (f0 + df * np.arange(n), np.full(n, df))
    ms_files.write(path("w.ms"), [up(140e6, 5e5, 4), up(160e6, -3e5, 7), up(120e6, 1e6, 1)], [[9, 12], [9, 12], [9]],
                   [(0, 0), (1, 1), (2, 2)], [("f", 1.0, -0.5)], [(i // 60 % 3, 0) for i in range(900)])
    with table(path("w.ms"), ack=False) as t:
        antenna, window = t.getcol("ANTENNA1"), t.getcol("DATA_DESC_ID")
    order = np.argsort(window, kind="stable")  # the rows of a window are a segment
    terms = np.array([4, 7, 1])[window[order]] * 7 + antenna[order]
    state = 0
    for x in terms.tolist():
        state = (state * 31 + x) % 1000000007
    for entry, want in (("windows", state), ("window_sums", np.cumsum(terms))):
        for more in (("--workers", "1"), ("--workers", "2", "--threads", "1", "--block", "7")):
            end(start(entry, "--observation", "s=" + path("w.ms"), *more, stream=None))
            if not np.array_equal(np.load(path("out.npy")), want):
                raise Failed("%s: a wrong result" % entry)


def slow(s, turns):
    a = s.copy()
    for i in range(turns):
        a = (a * 3 + i) % 1000003
    return a


def killed(entry, want):
    with Daemon(TMP) as d:
        p = start(entry, "--arg", "turns=6000", "--block", "1000", "--connect", d.endpoint)
        try:
            wait_for("blocks", lambda: any(j["blocks_done"] > 9 for j in d.jobs()))
            d.worker()
            d.started[1].kill()
            end(p)
        finally:
            p.kill()
        if not np.array_equal(np.load(path("out.npy")), want):
            raise Failed("a wrong result")
        with open(path("stats.json")) as f:
            if not json.load(f)["releases"]:
                raise Failed("nothing was lost")


def a_worker_is_killed_whose_states_were_accepted():
    """What is streamed out is handed over with each lease, and the states with it."""
    killed("slow_sums", np.cumsum(slow(streams["many"], 6000)))


def a_worker_is_killed_whose_states_were_not():
    state = 0
    for x in slow(streams["many"], 6000).tolist():
        state = (state * 31 + x) % 1000000007
    killed("slow_chain", state)


run_all([values, little_memory, an_error_has_its_place, unlike_windows, a_worker_is_killed_whose_states_were_accepted,
         a_worker_is_killed_whose_states_were_not])
