#!/usr/bin/python3
"""Rows that are referred to are not copied: twenty thousand times a row of a million elements, by an index, a slice, a condition, in
a hundredth of the memory that one copy of them all would take, and in the time of what is used of them. Retrieving from a
shared row, and the furthest of 100 000 points. All is compared with numpy."""
# timeout: 900
import json, os, resource, subprocess, sys, time
import numpy as np

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "references")
os.makedirs(TMP, exist_ok=True)
failed = []
rng = np.random.default_rng(5)
MEMORY, SECONDS = "100MiB", 60  # a copy of all rows takes 160 GB, and about as many seconds


def path(name, value=None):
    p = os.path.join(TMP, name + ".npy")
    if value is not None:
        np.save(p, value)
    return p


def run(name, program, words, want, tolerance=1e-12):
    start = time.time()
    p = subprocess.run([os.path.join(BIN, "gridloom"), "run", program, *words, "-o", path("out"), "--memory", MEMORY, "--threads", "2",
                        "--remarks", "--quiet"], capture_output=True, text=True, timeout=300)
    seconds = time.time() - start
    if p.returncode:
        failed.append("%s: exit %d: %s" % (name, p.returncode, p.stderr.strip()))
        return
    got = np.load(path("out"))
    if got.shape != want.shape or not np.abs(got - want).max() <= tolerance * np.abs(want).max():
        failed.append("%s: %s, expected %s" % (name, got, want))
    if "remark" in p.stderr:
        failed.append("%s: %s" % (name, p.stderr.strip()))
    if seconds > SECONDS:
        failed.append("%s: took %.1f s" % (name, seconds))
    print("%-12s %6.2f s" % (name, seconds))


# What is made of the rows xss[i], i in is, and of the numbers js: text, and the same for one row and number in Python.
CASES = {
    "twice": ("let yss = map (\\i -> xss[i]) is in zip_with (\\ys j -> ys[j] + ys[0]) yss js", lambda r, j: r[j] + r[0]),
    "gather": ("zip_with (\\ys j -> ys[j] * ys[0]) (gather (gather xss (reverse is)) (reverse (iota (length is)))) js",
               lambda r, j: r[j] * r[0]),
    "chain": ("let n = length is let f = \\yss -> gather yss (map (n - 1 -) (iota n)) "
              "in zip_with (\\ys j -> ys[j] + 2 * ys[0]) (f (f (f (f (gather xss is))))) js", lambda r, j: r[j] + 2 * r[0]),
    "if": ("let yss = map (\\i -> if i > 0 then xss[i] else xss[0]) is in zip_with (\\ys j -> ys[j] + ys[0]) yss js",
           lambda r, j: r[j] + r[0]),
    "length": ("let yss = gather xss is in map (\\ys -> f64 (length ys) + ys[1]) yss", lambda r, j: len(r) + r[1]),
    "loop": ("map (\\i -> let ys = xss[i] in loop s = 0 for k < 3 do s + ys[k]) is", lambda r, j: r[:3].sum()),
    "while": ("map (\\ys -> (loop (k, s) = (0i64, 0) while k < 3 do (k + 1, s + ys[k])).1) (gather xss is)", lambda r, j: r[:3].sum()),
    "state": ("let yss = gather xss is in loop s = replicate (length is) 0 for k < 3 do zip_with (\\ys a -> ys[k] + a * ys[0]) yss s",
              lambda r, j: r[2] + r[0] * (r[1] + r[0] * r[0])),
    "take": ("let yss = map (take 5) (gather xss is) in map (\\ys -> sum ys + ys[0]) yss", lambda r, j: r[:5].sum() + r[0]),
    "reverse": ("let yss = map reverse (gather xss is) in zip_with (\\ys j -> ys[j] + ys[0]) yss js", lambda r, j: r[-1 - j] + r[-1]),
    "sort": ("let yss = sort_by (\\ys -> ys[0] * 0) (gather xss is) in zip_with (\\ys j -> ys[j] + ys[0]) yss js", lambda r, j: r[j] + r[0]),
    "rotate": ("let yss = zip_with (\\i j -> rotate j xss[i]) is js in map (\\ys -> ys[0] + ys[1]) yss", lambda r, j: r[j] + r[j + 1]),
    "slice": ("let yss = zip_with (\\i j -> xss[i][j:]) is js in map (\\ys -> ys[0] + ys[1]) yss", lambda r, j: r[j] + r[j + 1]),
    "update": ("let yss = zip_with (\\i j -> xss[i] with [j] = 9) is js in map (\\ys -> ys[0] + ys[1]) yss",
               lambda r, j: (9 if j == 0 else r[0]) + (9 if j == 1 else r[1])),
    "tuples": ("let zss = gather (map (map (\\x -> (x, 2 * x))) xss) is in zip_with (\\zs j -> zs[j].0 + zs[0].1) zss js",
               lambda r, j: r[j] + 2 * r[0]),
    "sums": ("let sss = map (scan (+) 0) xss in zip_with (\\i j -> let s = sss[i] in s[j + 1] - s[j]) is js", lambda r, j: r[j + 1]),
    "sequence": ("from_seq (zip_with_seq (\\ys j -> ys[j] + ys[0]) (rows (gather xss is)) (rows js))", lambda r, j: r[j] + r[0]),
}

n = 20000
for shape, lengths in (("rows", np.array([1000000, 30, 50])), ("matrix", np.array([1000000, 1000000]))):
    table = rng.integers(1, 100, lengths.sum()).astype(float)  # sums are exact
    xss = np.split(table, lengths.cumsum()[:-1])
    i, j = rng.choice(len(lengths), n, p=[0.8] + [0.2 / (len(lengths) - 1)] * (len(lengths) - 1)), rng.integers(0, 3, n)
    words = ["--arg", "xss=%s,%s" % (path("table", table), path("lengths", lengths)), "--arg", "is=" + path("is", i), "--arg",
             "js=" + path("js", j)]
    for name, (text, one) in CASES.items():
        program = os.path.join(TMP, name + ".weft")
        with open(program, "w") as f:
            f.write("entry main (xss: [][]f64) (is: []i64) (js: []i64) : []f64 = %s\n" % text)
        run(shape + " " + name, program, words, np.array([one(xss[a], b) for a, b in zip(i, j)], float))
    # Rows that stay: chosen by what is in them, joined, shared by all.
    for name, text, want in (
            ("filter", "let yss = filter (\\ys -> ys[0] > 0) (gather xss is) in map (\\ys -> ys[0] + ys[1]) yss", lambda: [xss[a][0] + xss[a][1] for a in i]),
            ("joined", "map (\\ys -> ys[0] + ys[1]) (gather xss is ++ replicate 7 xss[1])",
             lambda: [xss[a][0] + xss[a][1] for a in i] + [xss[1][0] + xss[1][1]] * 7),
            ("shared", "let xs = xss[0] in map (\\j -> sum (map (\\k -> xs[k + j]) js[:5])) js",
             lambda: [sum(xss[0][k + a] for k in j[:5]) for a in j])):
        program = os.path.join(TMP, name + ".weft")
        with open(program, "w") as f:
            f.write("entry main (xss: [][]f64) (is: []i64) (js: []i64) : []f64 = %s\n" % text)
        run(shape + " " + name, program, words, np.array(want(), float))


# A hundred thousand elements from one shared row of a million, of two rows.
table, lengths = rng.integers(1, 100, 1000010).astype(float), np.array([1000000, 10])
for lists in (1000, 100000):
    indices, counts = rng.integers(0, 1000000, 100000), np.full(lists, 100000 // lists)
    counts[:2] += [1, -1]  # these differ in length too
    run("retrieve %d" % lists, os.path.join(ROOT, "examples", "retrieve.weft"),
        ["--arg", "table=%s,%s" % (path("table", table), path("lengths", lengths)), "--arg", "rows=" + path("rows", np.zeros(lists, int)),
         "--arg", "iss=%s,%s" % (path("iss", indices), path("counts", counts))], table[indices])


# Time and memory grow with what is retrieved: eight times as much takes eight times as long, not sixty-four times.
def retrieve_many(elements):
    stats, best = os.path.join(TMP, "stats.json"), 1e9
    lists = elements // 100
    indices, counts = rng.integers(0, 1000000, elements), np.full(lists, 100)
    counts[:2] += [1, -1]
    words = ["--arg", "table=%s,%s" % (path("table"), path("lengths")), "--arg", "rows=" + path("rows", np.zeros(lists, int)), "--arg",
             "iss=%s,%s" % (path("iss", indices), path("counts", counts))]
    # an index, a result and some for their lists, beside the table
    memory = 8 * len(table) + 4 * 8 * elements + (8 << 20)
    for _ in range(3):
        p = subprocess.run([os.path.join(BIN, "gridloom"), "run", os.path.join(ROOT, "examples", "retrieve.weft"), *words, "-o", path("out"),
                            "--memory", str(memory), "--threads", "2", "--quiet", "--stats", stats], capture_output=True, text=True, timeout=300)
        if p.returncode:
            failed.append("%d elements in %d bytes: %s" % (elements, memory, p.stderr.strip()))
            return 0
        with open(stats) as f:
            best = min(best, json.load(f)["seconds"]["array_stages"])
    print("retrieve %d elements: %.4f s in %d MB" % (elements, best, memory >> 20))
    return best


few, many = retrieve_many(1000000), retrieve_many(8000000)
if many > 24 * few + 0.2:  # reading the row once for each list takes longer still
    failed.append("8 times as many elements take %.3f s in place of %.3f s" % (many, few))


def hull(points):
    """The corners of the smallest convex polygon around them: the two points furthest apart are among them."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    corners = []
    for side in (points, points[::-1]):
        part = []
        for p in side:
            while len(part) > 1 and np.cross(part[-1] - part[-2], p - part[-2]) <= 0:
                part.pop()
            part.append(p)
        corners += part[:-1]
    return np.array(corners)


points = rng.normal(size=(100000, 2)).astype(np.float32)
corners = hull(points.astype(float))
apart = np.hypot(*(corners[:, None] - corners).transpose(2, 0, 1)).max()
run("furthest", os.path.join(ROOT, "examples", "furthest.weft"),
    ["--arg", "ps.0=" + path("x", points[:, 0]), "--arg", "ps.1=" + path("y", points[:, 1])], np.array(apart), tolerance=1e-6)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print("largest process: %.0f MB" % peak)
if peak > 1024:
    failed.append("a process took %.0f MB" % peak)
if failed:
    sys.exit("\n".join("failed: " + f for f in failed))
print("ok")
