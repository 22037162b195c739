#!/usr/bin/python3
"""`gridloom profile` and `gridloom bench`: lines by time, bytes that can be known, runs, JSON; what cannot be asked."""
# timeout: 200
import json, os, re, shutil, subprocess, sys
import numpy as np

BIN, TMP = os.environ["GRIDLOOM_BIN"], os.path.join(os.environ["LOOM_TMP"], "cli_profile")
shutil.rmtree(TMP, ignore_errors=True)
os.makedirs(TMP)
CACHE = os.path.join(TMP, "cache")
failed = []
N = 3000


def gridloom(*words):
    return subprocess.run([os.path.join(BIN, "gridloom"), *words], capture_output=True, text=True, cwd=TMP, timeout=120,
                          env=dict(os.environ, XDG_CACHE_HOME=CACHE))


def expect(name, good, what=""):
    print("%s: %s" % (name, "ok" if good else "failed " + str(what)), flush=True)
    if not good:
        failed.append(name)


def read(p):
    if p.returncode or p.stderr:
        return {}
    return json.loads(p.stdout)


with open(os.path.join(TMP, "p.weft"), "w") as f:
    f.write("""-- Sums of long and of short functions.
def cheap [n] (r: [n]f64) : f64 = sum (map (* 2) r)
def dear [n] (r: [n]f64) : f64 =
  sum (map (\\x -> loop y = x for _i < 300 do f64.sin y) r)
entry main [n] (s: seq ([n]f64)) (k: i64) : f64 =
  fold_seq (+) 0 (map_seq dear s) + fold_seq (+) 0 (map_seq cheap s) + f64.i64 k
""")
with open(os.path.join(TMP, "whole (1).weft"), "w") as f:
    f.write("entry main (s: seq f64) : f64 =\n  let sums = group_seq 1 (\\_ -> [0]) s (\\_k ys -> chain_seq 0 (+) ys)\n  in fold_seq max 0 sums\n")
np.save(os.path.join(TMP, "s.npy"), np.random.default_rng(1).random((N, 8)))
np.save(os.path.join(TMP, "x.npy"), np.arange(5.0))
ARGUMENTS = ["p.weft", "--stream", "s=s.npy", "--arg", "k=1", "--threads", "1", "--quiet"]


def profile():
    p = gridloom("profile", *ARGUMENTS, "--block", "1000", "--stats", "stats.json")
    first = p.stdout.split("\n")[1] if p.stdout.count("\n") > 1 else ""
    expect("dearest line first", p.returncode == 0 and re.search(r"p\.weft:4  sum \(map \(\\x -> loop", first), p)
    told = read(gridloom("profile", *ARGUMENTS, "--json"))
    lines = told.get("lines", [])
    expect("sorted", [x["seconds"] for x in lines] == sorted((x["seconds"] for x in lines), reverse=True), told)
    expect("sums", lines and abs(sum(x["seconds"] for x in lines) - told["seconds"]) < 1e-4 and
           sum(x["bytes"] for x in lines) == told["bytes"] and told["seconds"] <= told["total"] * 1.01, told)
    by_line = {x["line"]: x for x in lines}
    # The stream is read once for each of both sums, which are actions of their own.
    expect("bytes", {2, 4} <= set(by_line) and all(N * 64 <= by_line[i]["bytes"] <= 3 * N * 64 for i in (2, 4)), told)
    expect("texts", by_line.get(4, {}).get("text") == "sum (map (\\x -> loop y = x for _i < 300 do f64.sin y) r)", by_line.get(4))
    with open(os.path.join(TMP, "stats.json")) as f:
        actions = json.load(f)["actions"]
    expect("bytes in --stats", sum(a["bytes"] for a in actions) >= 2 * N * 64, actions)


def interpreted():
    p = gridloom("profile", "whole (1).weft", "--stream", "s=x.npy", "--json", "--quiet")
    told = read(p)
    expect("interpreted", any("interpreted" in x["text"] for x in told.get("lines", [])), p)


def bench():
    p = gridloom("bench", *ARGUMENTS, "--runs", "3", "--json")
    told = read(p)
    s, c = told.get("seconds", {}), told.get("compile", {})
    expect("runs", told.get("runs") == 3 and told.get("entry") == "main" and 0 < s["min"] <= s["median"] <= s["max"], p)
    expect("compiling", c.get("cold") is True and c["first"] > c["cached"] > 0, told)
    expect("rates", told.get("elements") == N and abs(told["elements_per_second"] * s["median"] / N - 1) < 1e-3 and
           told["bytes"] >= 2 * N * 64 and told["bytes_per_second"] > 0, told)
    kept = gridloom("cache", "stat").stdout
    p = gridloom("bench", "whole (1).weft", "--stream", "s=x.npy", "--runs", "1")
    expect("one run", p.returncode == 0 and p.stdout.startswith("1 run: ") and " s cold, " in p.stdout, p)
    shutil.copy(os.path.join(TMP, "p.weft"), os.path.join(TMP, "other.weft"))
    p = gridloom("bench", "other.weft", *ARGUMENTS[1:], "--runs", "1")
    expect("a cache of its own", p.returncode == 0 and kept == gridloom("cache", "stat").stdout, (p, kept))
    p = gridloom("bench", *ARGUMENTS, "--runs", "2")
    expect("text", p.returncode == 0 and p.stdout.startswith("2 runs: median ") and "elements of streams: %d" % N in p.stdout, p)


def refused():
    for words, code, said in [(["profile"], 64, "no program"), (["bench"], 64, "no program"), (["bench", *ARGUMENTS, "--runs", "0"], 64, "runs"),
                              (["bench", "p.weft"], 64, "not all parameters"), (["profile", "nothing.weft"], 66, "nothing.weft")]:
        p = gridloom(*words)
        expect(" ".join(words[:2]), p.returncode == code and said in p.stderr and p.stdout == "", p)


profile()
interpreted()
bench()
refused()
if failed:
    sys.exit(1)
print("ok")
