#!/usr/bin/python3
"""Rows that nothing proves to be of one length are looked at chunk by chunk, and those that are take code of their own: both in one
stream, with the results of numpy and the errors that one would have without; lengths that come in and lengths that are computed."""
# timeout: 300
import json, os, shutil, subprocess, sys
import numpy as np

BIN, TMP = os.environ["GRIDLOOM_BIN"], os.path.join(os.environ["LOOM_TMP"], "tested_rows")
shutil.rmtree(TMP, ignore_errors=True)
os.makedirs(TMP)
failed = []
rng = np.random.default_rng(8)
ALIKE = ", rows of one length"  # in the labels of such code
BLOCK = 100
LABELS = []  # of what ran last


def gridloom(*words):
    return subprocess.run([os.path.join(BIN, "gridloom"), *words], capture_output=True, text=True, cwd=TMP, timeout=120,
                          env=dict(os.environ, XDG_CACHE_HOME=os.path.join(TMP, "cache")))


def expect(name, good, what=""):
    print("%s: %s" % (name, "ok" if good else "failed " + str(what)), flush=True)
    if not good:
        failed.append(name)


def write(name, text):
    with open(os.path.join(TMP, name), "w") as f:
        f.write(text)


def save(name, value):
    np.save(os.path.join(TMP, name), value)


def load(name):
    return np.load(os.path.join(TMP, name))


# Blocks of rows of 4, of any rows, of rows of 7, of none.
LENGTHS = np.concatenate([np.full(5 * BLOCK, 4), rng.integers(0, 9, 3 * BLOCK), np.full(4 * BLOCK, 7), np.zeros(BLOCK, int)])
DATA = rng.standard_normal(LENGTHS.sum())
ROWS = np.split(DATA, np.cumsum(LENGTHS)[:-1])
BINS = rng.integers(0, 6, len(DATA))
save("data.npy", DATA)
save("bins.npy", BINS)
save("lengths.npy", LENGTHS)
STREAM = ["--stream", "rows=data.npy,lengths.npy"]


def run(name, program, words, check, both=True):
    """`check` gives what is wrong with what the run wrote, or nothing. `both`: codes of both kinds ran."""
    write(name + ".weft", program)
    for how in (["--block", str(BLOCK)], ["--block", str(BLOCK), "--workers", "2", "--threads", "1"], []):
        p = gridloom("run", name + ".weft", *words, *how, "--quiet", "--remarks", "--stats", "stats.json")
        if p.returncode or p.stderr:
            expect("%s %s" % (name, how), False, p.stderr)
            continue
        with open(os.path.join(TMP, "stats.json")) as f:
            labels = {a["label"] for a in json.load(f)["actions"] if a["calls"] and a["label"]}
        LABELS[:] = labels
        wrong = check(p.stdout)
        if how and both and {ALIKE in x for x in labels if "(" in x} != {False, True}:
            wrong = "ran %s" % sorted(labels)
        expect("%s %s" % (name, " ".join(how)), not wrong, wrong)


def near(got, want):
    return None if got.shape == want.shape and np.abs(got - want).max() < 1e-9 else "%s, not %s" % (got, want)


def out(want):
    return lambda said: near(load("out.npy"), want)


def rows_out(said):
    got, lengths = load("out.npy"), load("out.lengths.npy")
    return near(got, 2 * DATA + 1) or near(lengths, LENGTHS)


def number(want):
    return lambda said: near(np.array(float(said)), np.array(want))


run("averages", "entry main (rows: seq ([]f64)) : seq f64 = map_seq (\\r -> sum r / f64 (max 1 (length r))) rows\n",
    STREAM + ["-o", "out.npy"], out(np.array([r.sum() / max(1, len(r)) for r in ROWS])))
run("doubled", "entry main (rows: seq ([]f64)) : seq ([]f64) = map_seq (map (\\x -> 2 * x + 1)) rows\n", STREAM + ["-o", "out.npy"],
    rows_out)
run("total", "entry main (rows: seq ([]f64)) : f64 = fold_seq (+) 0 (map_seq (\\r -> sum (map (\\x -> x * x) r)) rows)\n", STREAM,
    number((DATA ** 2).sum()), both=False)  # blocks that are folded may go together
run("threes", "entry main (rows: seq ([]i64)) : []i64 = from_seq (map_seq (\\r -> sum (map (\\b -> if b == 3 then 1 else 0) r)) rows)\n",
    ["--stream", "rows=bins.npy,lengths.npy", "-o", "out.npy"],
    out(np.array([(b == 3).sum() for b in np.split(BINS, np.cumsum(LENGTHS)[:-1])])))
run("sorted", "def step (xs: []f64) (p: i64) : []f64 =\n"
    "  let n = length xs\n"
    "  in generate n (\\i -> if i % 2 == p then (if i + 1 < n then min xs[i] xs[i + 1] else xs[i])\n"
    "                       else if i >= 1 then max xs[i - 1] xs[i] else xs[i])\n"
    "entry main (rows: seq ([]f64)) : seq ([]f64) = map_seq (\\r -> loop xs = r for j < length r do step xs (j % 2)) rows\n",
    STREAM + ["-o", "out.npy"], lambda said: near(load("out.npy"), np.concatenate([np.sort(r) for r in ROWS])))
save("counts.npy", LENGTHS)
run("counts", "entry main (ks: seq i64) : seq i64 = map_seq (\\k -> sum (map (\\i -> i * k) (iota k))) ks\n",
    ["--stream", "ks=counts.npy", "-o", "out.npy"], out(LENGTHS * (LENGTHS * (LENGTHS - 1) // 2)))
run("ranges", "entry main (ks: seq i64) : seq ([]i64) = map_seq (\\k -> map (* k) (iota k)) ks\n",
    ["--stream", "ks=counts.npy", "-o", "out.npy"],
    lambda said: near(load("out.npy"), np.concatenate([k * np.arange(k) for k in LENGTHS])) or near(load("out.lengths.npy"), LENGTHS))
# An argument that is an array: its counts are all alike, or they are not.
ARRAY = "entry main (ks: []i64) : []i64 = map (\\k -> sum (map (\\i -> i * k) (iota k))) ks\n"
for name, ks in (("array_alike", np.full(50, 9)), ("array", LENGTHS[:600])):
    save("ks.npy", ks)
    run(name, ARRAY, ["--arg", "ks=ks.npy", "-o", "out.npy"], out(ks * (ks * (ks - 1) // 2)), both=False)
# An argument has one form: it is looked at before the program is compiled for it.
save("alike.npy", DATA[:60])
save("alike.lengths.npy", np.full(12, 5))
run("argument", "entry main (xss: [][]f64) : []f64 = map (\\xs -> sum xs + f64 (length xs)) xss\n",
    ["--arg", "xss=alike.npy,alike.lengths.npy", "-o", "out.npy"],
    lambda said: near(load("out.npy"), DATA[:60].reshape(12, 5).sum(axis=1) + 5) or ("offsets" in LABELS and "with offsets"), both=False)


def errors():
    """The same error whether rows of its block have one length or not, and it names the element."""
    write("index.weft", "entry main (rows: seq ([]f64)) (k: []i64) : seq f64 = map_seq (\\r -> r[k[i64 r[0]]]) rows\n")
    said = []
    for last in (4, 5):
        lengths = np.full(250, 4)
        lengths[-1] = last
        data = np.zeros(lengths.sum())
        data[4 * 237], data[4 * 240] = 1, 1
        save("d.npy", data)
        save("l.npy", lengths)
        save("k.npy", np.array([3, 4]))
        p = gridloom("run", "index.weft", "--stream", "rows=d.npy,l.npy", "--arg", "k=k.npy", "--quiet", "-o", "out.npy", "--block", "250")
        said.append((p.returncode, p.stderr))
    expect("errors", said[0] == said[1] and said[0][0] == 65 and "element 237" in said[0][1], said)


def explained():
    text = gridloom("explain", "averages.weft", "--irregular").stdout
    expect("explain", "(2 values); tested at run time" in text, text)
    text = gridloom("explain", "doubled.weft", "--irregular").stdout
    expect("explain what is kept", "  regular    tested  " in text, text)
    text = gridloom("explain", "counts.weft").stdout
    expect("explain counts", "rows are tested at run time" in text and
           "[Generate] %3: the extent is a number that depends on the element (2 values); tested at run time" in text, text)
    text = gridloom("explain", "averages.weft").stdout
    expect("explain regular", "tested" not in text, text)
    text = gridloom("explain", "counts.weft", "--stage", "schedule").stdout
    expect("explain --stage", "where a test finds rows of one length" in text, text)


def represented():
    """`representation: tested` holds of what is not proved and found out; not of what is proved, nor of what a filter leaves."""
    body = {"proved": "entry main (k: i64) : i64 = sum (iota 9)\n",
            "tested": "entry main (k: i64) : i64 = sum (iota k)\n",
            "irregular": "entry main (k: i64) : i64 = sum (filter (< k) (iota 9))\n"}
    holds = {"proved": ("regular",), "tested": ("tested", "irregular"), "irregular": ("irregular",)}
    for name, text in body.items():
        for word in ("regular", "tested", "irregular"):
            write("claim.weft", "-- ==\n-- representation: %s\n%s" % (word, text))
            p = gridloom("test", "claim.weft")
            expect("%s is %s" % (name, word), (p.returncode == 0) == (word in holds[name]), p.stdout + p.stderr)


errors()
explained()
represented()
if failed:
    sys.exit("failed: " + ", ".join(failed))
print("ok")
