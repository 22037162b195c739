#!/usr/bin/python3
"""Examples on arrays and nested arrays: interpreted and compiled, on regular and irregular inputs, sizes 0 and 1 too, against numpy,
hashlib, published vectors, and plain Python; and the tests that examples carry in comments."""
# timeout: 900
import collections, hashlib, math, os, sys
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
import example_case
from example_case import case, failed, gridloom, path, ragged, source
from weftgen.farm import Farm

rng = None  # the same numbers for an example, whichever others run
example_case.begin("examples_arrays")
farm = Farm(os.environ["GRIDLOOM_BIN"])
ARRAYS = [["--connect", farm.endpoint]]
STREAMS = [ARRAYS[0] + ["--block", b] for b in ("1", "7", "100000")]


def arrays(program, inputs, expected, **more):
    case(program, [("arg",) + i for i in inputs], expected, ways=ARRAYS, **more)


def streams(program, inputs, expected, **more):
    case(program, inputs, expected, ways=STREAMS, **more)


def rows(lengths):
    return [rng.normal(size=n) for n in lengths]


def forms(xss, dtype):
    """Rows as files with their lengths; where all have one length, as a matrix too: that is known to be regular before anything runs."""
    regular = len({len(xs) for xs in xss}) == 1
    return [ragged(xss, dtype)] + ([np.array(xss, dtype)] if regular else [])


def own_tests(program, blocks):
    """Further tests of a program, as it would carry them in comments: for values nested deeper than files can hold."""
    with open(source(program)) as f, open(path(program)[:-4] + ".weft", "w") as g:
        g.write(f.read())
        for entry, inputs, outputs in blocks:
            g.write("\n-- ==\n-- entry: %s\n-- input {\n--  %s }\n-- output {\n--  %s }\n" %
                    (entry, "\n--  ".join(map(text, inputs)), "\n--  ".join(map(text, outputs))))
    p = gridloom("test", g.name, "--connect", farm.endpoint)
    if p.returncode:
        failed.append("tests of %s: %s" % (program, p.stderr.strip()[:2000]))


def text(value):
    """As tests in comments write it: nested lists of numbers."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(map(text, value)) + "]"
    return repr(value.item() if isinstance(value, np.generic) else value)


def matmul():
    for n, m, p in [(17, 30, 9), (1, 1, 1), (5, 1, 3), (1, 8, 1)]:
        a, b = rng.normal(size=(n, m)), rng.normal(size=(m, p))
        arrays("matmul", [("a", a), ("b", b)], [a @ b], entry="matmul")
    arrays("matmul", [("a", np.zeros((0, 0))), ("b", np.zeros((0, 0)))], [np.zeros((0, 0))], entry="matmul")
    a, b = rng.normal(size=(6, 3, 4)), rng.normal(size=(6, 4, 5))
    arrays("matmul", [("as", a), ("bs", b)], [a @ b], entry="products")
    sizes = [(2, 3, 4), (1, 1, 1), (5, 2, 1), (1, 7, 3)]
    a = [rng.integers(-9, 9, (n, m)).astype(float) for n, m, _ in sizes]
    b = [rng.integers(-9, 9, (m, p)).astype(float) for _, m, p in sizes]
    own_tests("matmul", [("products", [a, b], [[x @ y for x, y in zip(a, b)]])])


def md5():
    suite = [b"", b"a", b"abc", b"message digest", b"abcdefghijklmnopqrstuvwxyz",
             b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", b"1234567890" * 8]
    digests = ("d41d8cd98f00b204e9800998ecf8427e 0cc175b9c0f1b6a831c399e269772661 900150983cd24fb0d6963f7d28e17f72 "
               "f96b697d7cb7938d525a2f31aaf161d0 c3fcd3d76192e4007dfb496cca67e13b d174ab98d277d9f5a5611c2c9f419d9f "
               "57edf4a22be3c955ac49da2e2107b67a").split()
    octets = lambda words: ragged([np.frombuffer(w, np.uint8) for w in words], np.uint8)
    table = lambda sums: np.array([list(bytes.fromhex(s)) for s in sums], np.uint8).reshape(-1, 16)
    streams("md5", [("stream", "words", octets(suite))], [table(digests)])
    lengths = list(range(50, 70)) + [0, 1, 119, 120, 127, 128, 1000, 3001] + list(rng.integers(0, 300, 50))
    words = [rng.bytes(n) for n in lengths]
    streams("md5", [("stream", "words", octets(words))], [table([hashlib.md5(w).hexdigest() for w in words])])
    regular = rng.integers(0, 256, (20, 64), np.uint8)
    streams("md5", [("stream", "words", regular)], [table([hashlib.md5(w.tobytes()).hexdigest() for w in regular])])
    streams("md5", [("stream", "words", octets([]))], [table([])])


def pagerank():
    def dense(links, turns, d=0.85):
        n = len(links)
        m = np.zeros((n, n))
        for i, out in enumerate(links):
            if len(out):
                np.add.at(m[:, i], out, 1 / len(out))
            else:
                m[:, i] = 1 / n
        r = np.full(n, 1 / max(1, n))
        for _ in range(turns):
            r = (1 - d) / n + d * (m @ r)
        return r
    random = lambda n, most: [rng.integers(0, n, k) for k in rng.integers(0, most, n)]
    for links in [random(100, 9), [rng.integers(0, 30, 4) for _ in range(30)], [[0]], [[]], [[], [], []], [[1], []]]:
        for form in forms(links, np.int64):
            arrays("pagerank", [("links", form)], [dense(links, 30)], scalars=["damping=0.85", "turns=30"], tolerance=1e-9)
    arrays("pagerank", [("links", ragged([], np.int64))], [np.zeros(0)], scalars=["damping=0.85", "turns=30"])


def spmv():
    for counts, n in [(rng.integers(0, 8, 60), 40), ([3] * 10, 7), ([1], 1), ([0], 1), ([0, 0], 3), ([], 3)]:
        columns, values = [rng.integers(0, n, k) for k in counts], rows(counts)
        x, starts = rng.normal(size=n), np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        want = np.array([sum(v * x[j] for j, v in zip(c, r)) for c, r in zip(columns, values)], float)
        flat = [("columns", ragged(columns, np.int64)[0]), ("values", ragged(values, float)[0])]
        arrays("spmv", [("starts", starts)] + flat + [("x", x)], [want], entry="csr", tolerance=1e-12)
        for js, vs in zip(forms(columns, np.int64), forms(values, float)):
            arrays("spmv", [("rows.0", js), ("rows.1", vs), ("x", x)], [want], entry="nested", tolerance=1e-12)


def sort_rows():
    many = rows([0, 1, 2, 31, 0, 40, *rng.integers(0, 60, 15)])
    many[3][::2] = many[3][0]
    many[5][:3] = np.nan
    for xss in [many, rows([25] * 8), rows([0, 1, 2]), rows([1]), rows([0]), rows([])]:
        want = ragged([np.sort(xs) for xs in xss], float)
        for entry in ["bubble_sort_all", "quicksort_all"]:
            for form in forms(xss, float):
                arrays("sort_rows", [("xss", form)], [want], entry=entry)


def fft():
    def transforms(way, lengths):
        xss = [rng.normal(size=n) + 1j * rng.normal(size=n) for n in lengths]
        want = [np.fft.fft(xs) if len(xs) else xs for xs in xss]
        for form in forms(xss, complex):
            regular = not isinstance(form, tuple)
            arrays("fft", [("xss", form)], [ragged(want, complex)], entry=way + "_rows", tolerance=1e-12)
            if regular:
                arrays("fft", [("xss", form)], [np.array(want)], entry=way + "_all", tolerance=1e-12)
        for xs, y in zip(xss[-2:], want[-2:]):
            arrays("fft", [("xs", xs)], [y], entry=way, tolerance=1e-12)
    for way in ["split_radix", "stockham", "bluestein"]:
        for lengths in [[64] * 5, [1, 2, 4, 8, 16, 0, 512, 32], [1], [0], []]:
            transforms(way, lengths)
        p = gridloom("explain", source("fft"), "--entry", way + "_all", "--stage", "shapes")
        if p.returncode or "irregular" in p.stdout or "turns differ" in p.stdout or "while" not in p.stdout:
            failed.append("fft: %s_all is not proved regular: %s" % (way, p.stdout + p.stderr))
    transforms("bluestein", [3, 5, 100, 1, 0, 257, 6, 31])
    transforms("bluestein", [45] * 4)


def black_scholes():
    normal = lambda x: 0.5 * math.erfc(-x / math.sqrt(2))

    def values(s, k, days, r, v):
        t = days / 365
        d1 = (math.log(s / k) + (r + v * v / 2) * t) / (v * math.sqrt(t))
        d2 = d1 - v * math.sqrt(t)
        return s * normal(d1) - k * math.exp(-r * t) * normal(d2), k * math.exp(-r * t) * normal(-d2) - s * normal(-d1)
    for n in [500, 1, 0]:
        s, k, days = rng.uniform(5, 30, n), rng.uniform(0.95, 1.05, n), rng.uniform(30, 3000, n)
        k *= s if n == 1 else rng.uniform(5, 30, n)
        want = np.array([values(*o, 0.02, 0.3) for o in zip(s, k, days)]).reshape(-1, 2)
        streams("black_scholes", [("stream", "options." + f, x) for f, x in (("price", s), ("strike", k), ("days", days))],
                [want[:, 0], want[:, 1]], scalars=["rate=0.02", "volatility=0.3"], outputs=("0", "1"), tolerance=1e-6)


def mandelbrot():
    def turns(c, limit):
        z, i = 0, 0
        while i < limit and z.real * z.real + z.imag * z.imag <= 4:
            z, i = complex(z.real * z.real - z.imag * z.imag + c.real, 2 * z.real * z.imag + c.imag), i + 1
        return i
    for w, h, low, high in [(16, 9, -2 - 1j, 0.5 + 1j), (1, 1, 0j, 1 + 1j), (0, 3, 0j, 1j), (3, 0, 0j, 1j), (1, 5, -1 - 1j, 1j)]:
        step = lambda n, a, b, i: a + i * (b - a) / max(1, n - 1)
        want = [[turns(complex(step(w, low.real, high.real, x), step(h, low.imag, high.imag, y)), 60) for x in range(w)] for y in range(h)]
        scalar = lambda z: "%r%s%ri" % (z.real, "" if z.imag < 0 else "+", z.imag)
        arrays("mandelbrot", [], [np.array(want, np.int64).reshape(h, w)],
               scalars=["width=%d" % w, "height=%d" % h, "low=" + scalar(low), "high=" + scalar(high), "limit=60"])


def nbody():
    def pulls(p, m, eps):
        d = p[None] - p[:, None]
        r2 = (d ** 2).sum(-1) + eps ** 2
        return ((m / r2 ** 1.5)[..., None] * d).sum(1)
    for n in [40, 2, 1, 0]:
        p, v, m = rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.uniform(0.1, 1, n)
        inputs = [("%s.%s" % (name, axis), a[:, i].copy()) for name, a in (("places", p), ("speeds", v)) for i, axis in enumerate("xyz")]
        for _ in range(7):
            v = v + 0.005 * pulls(p, m, 0.2)
            p = p + 0.01 * v
            v = v + 0.005 * pulls(p, m, 0.2)
        arrays("nbody", inputs + [("masses", m)], [a[:, i] for a in (p, v) for i in range(3)], scalars=["steps=7", "dt=0.01", "epsilon=0.2"],
               outputs=["%d.%s" % (k, axis) for k in (0, 1) for axis in "xyz"], tolerance=1e-11)


def life():
    for n, m in [(23, 17), (1, 1), (2, 2), (1, 6), (5, 1), (0, 0)]:
        cells = rng.random((n, m)) < 0.4
        want = cells
        for _ in range(6):
            around = sum(np.roll(want, (i, j), (0, 1)).astype(int) for i in (-1, 0, 1) for j in (-1, 0, 1)) - want
            want = (around == 3) | ((around == 2) & want)
        arrays("life", [("cells", cells)], [want], scalars=["generations=6"])


def blur():
    def smooth(picture, width):
        r = math.ceil(3 * width)
        w = np.exp(-0.5 * (np.arange(-r, r + 1) / width) ** 2) if r else np.ones(1)
        w /= w.sum()
        for axis in (0, 1):
            pad = np.pad(picture, [(r, r) if a == axis else (0, 0) for a in (0, 1)], "edge")
            picture = sum(x * np.take(pad, range(i, i + picture.shape[axis]), axis) for i, x in enumerate(w))
        return picture
    for shape, width in [((6, 9, 12), 1.3), ((1, 1, 1), 2.0), ((2, 1, 5), 0.4), ((3, 4, 4), 0.0), ((0, 3, 3), 1.0)]:
        pictures = rng.normal(size=shape)
        streams("blur", [("stream", "pictures", pictures)], [np.array([smooth(p, width) for p in pictures]).reshape(shape)],
                scalars=["width=%g" % width], tolerance=1e-12)
    pictures = [rng.normal(size=s) for s in [(3, 4), (1, 1), (1, 9), (8, 2), (5, 5)]]
    own_tests("blur", [("blur", [pictures, 0.8], [[smooth(p, 0.8) for p in pictures]])])


def histogram():
    count = lambda xs, bins: np.histogram(xs[(xs >= -1) & (xs < 2)], bins, (-1, 2))[0].astype(np.int64)
    scalars = ["low=-1.0", "high=2.0", "bins=12"]
    for n in [5000, 1, 0]:
        xs = rng.normal(size=n)
        xs[5:9] = [np.nan, np.inf, -np.inf, -1][:len(xs[5:9])]
        streams("histogram", [("stream", "xs", xs)], [count(xs, 12)], scalars=scalars, entry="of_stream")
    for lengths in [rng.integers(0, 90, 30), [40] * 6, [1], [0], []]:
        xss = rows(lengths)
        want = np.array([count(xs, 12) for xs in xss]).reshape(-1, 12)
        for form in forms(xss, float):
            arrays("histogram", [("xss", form)], [want], scalars=scalars, entry="of_lists")


def primes():
    for n in [-1, 0, 1, 2, 3, 4, 5, 9, 10, 49, 121, 122, 3000]:
        want = [p for p in range(2, n) if all(p % q for q in range(2, math.isqrt(p) + 1))]
        arrays("primes", [], [np.array(want, np.int64)], scalars=["n=%d" % n])


def kmeans():
    def means(points, k, turns):
        centres = points[:k].copy()
        near = lambda: ((points[:, None] - centres[None]) ** 2).sum(-1).argmin(1) if k else np.zeros(0, int)
        member = near()
        for _ in range(turns):
            for j in range(k):
                if (member == j).any():
                    centres[j] = points[member == j].mean(0)
            before, member = member, near()
            if (before == member).all():
                break
        return centres, member
    for n, d, k, turns in [(150, 3, 6, 40), (150, 3, 6, 1), (30, 2, 30, 5), (4, 1, 1, 9), (1, 1, 1, 9), (0, 0, 0, 9)]:
        points = rng.normal(size=(n, d))
        arrays("kmeans", [("points", points)], means(points, k, turns), scalars=["k=%d" % k, "turns=%d" % turns], outputs=("0", "1"))


def bfs():
    def search(links, start):
        distance, parent = [-1] * len(links), [-1] * len(links)
        distance[start], parent[start] = 0, start
        queue = collections.deque([start])
        while queue:
            i = queue.popleft()
            for j in links[i]:
                if distance[j] < 0:
                    distance[j] = distance[i] + 1
                    queue.append(j)
        for j in range(len(links)):
            if distance[j] > 0:
                parent[j] = min(i for i in range(len(links)) if distance[i] == distance[j] - 1 and j in links[i])
        return np.array(distance), np.array(parent)
    random = [list(rng.integers(0, 80, k)) for k in rng.integers(0, 4, 80)]
    chain = [[i + 1] for i in range(30)] + [[]]
    for links, start in [(random, 7), (chain, 3), ([list(rng.integers(0, 20, 3)) for _ in range(20)], 0), ([[]], 0), ([[0, 0]], 0)]:
        for form in forms(links, np.int64):
            arrays("bfs", [("links", form)], search(links, start), scalars=["start=%d" % start], outputs=("0", "1"))


def barnes_hut():
    def acceleration(points, box, p, eps, depth=1):
        """The tree walked as it is built, by recursion."""
        mass = points[:, 2].sum()
        centre = (points[:, :2] * points[:, 2:]).sum(0) / mass
        size = max(box[2] - box[0], box[3] - box[1])
        d = centre - p[:2]
        if len(points) == 1 or depth >= 40 or size < math.hypot(*d):
            r2 = (d ** 2).sum() + eps ** 2
            return mass / (r2 * math.sqrt(r2)) * d
        mx, my = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        right, upper, total = points[:, 0] > mx, points[:, 1] > my, np.zeros(2)
        for x in (False, True):
            for y in (False, True):
                part = points[(right == x) & (upper == y)]
                quarter = (mx if x else box[0], my if y else box[1], box[2] if x else mx, box[3] if y else my)
                total += acceleration(part, quarter, p, eps, depth + 1) if len(part) else 0
        return total
    for n in [120, 2, 1, 0]:
        points = rng.normal(size=(n, 3))
        points[:, 2] = rng.uniform(0.5, 1, n)
        points[n // 2:n // 2 + 3, :2] = points[n // 2:n // 2 + 1, :2]  # three in one place
        box = (*points[:, :2].min(0), *points[:, :2].max(0)) if n else None
        want = np.array([acceleration(points, box, p, 0.05) for p in points]).reshape(-1, 2)
        d = points[None, :, :2] - points[:, None, :2]
        direct = ((points[:, 2] / ((d ** 2).sum(-1) + 0.05 ** 2) ** 1.5)[..., None] * d).sum(1)
        if n and ((want - direct) ** 2).sum() > 0.05 * (direct ** 2).sum():
            failed.append("barnes_hut: what is expected is not near the sum over all pairs")
        arrays("barnes_hut", [("points." + f, points[:, i].copy()) for i, f in enumerate(("x", "y", "mass"))], [want[:, 0], want[:, 1]],
               scalars=["epsilon=0.05"], outputs=("0", "1"), tolerance=1e-11)


def from_rows(program, of):
    """Lists of places in rows that are chosen by numbers: often the same, some never, of rows that are empty as well."""
    for lengths, n in (([40, 1, 0, 7, 30], 60), ([20] * 4, 60), ([3], 5), ([5, 2], 1), ([5, 2], 0), ([], 0)):
        xss = rows(lengths)
        chosen = rng.choice(np.flatnonzero(lengths), n) if n else np.zeros(0, int)
        iss = [rng.integers(0, lengths[r], rng.integers(0, 9)) for r in chosen]
        for table in forms(xss, float):
            arrays(program, [("table", table), ("rows", chosen), ("iss", ragged(iss, np.int64))],
                   [ragged([of(xss[r], i) for r, i in zip(chosen, iss)], float)])


def retrieve():
    from_rows("retrieve", lambda xs, i: xs[i])


def retsum():
    from_rows("retsum", lambda xs, i: xs[i] + xs.sum())


def furthest():
    for n in (300, 2, 1):
        x, y = rng.normal(size=n).astype(np.float32), rng.normal(size=n).astype(np.float32)
        arrays("furthest", [("ps.0", x), ("ps.1", y)], [np.hypot(x[:, None].astype(float) - x, y[:, None].astype(float) - y).max()])


def carried():
    """What the examples carry in comments."""
    p = gridloom("test", os.path.join(ROOT, "examples"), "--connect", farm.endpoint)
    if p.returncode or " passed" not in p.stdout:
        failed.append("gridloom test examples: exit %d: %s%s" % (p.returncode, p.stdout[-500:], p.stderr[-2000:]))


EXAMPLES = [matmul, md5, pagerank, spmv, sort_rows, fft, black_scholes, mandelbrot, nbody, life, blur, histogram, primes, kmeans, bfs, barnes_hut,
            retrieve, retsum, furthest, carried]
try:
    for example in EXAMPLES:
        if len(sys.argv) < 2 or example.__name__ in sys.argv[1:]:
            rng = np.random.default_rng(4)
            example()
            died = farm.died()
            if died:
                failed.append("%s: %s" % (example.__name__, died))
finally:
    farm.stop()
example_case.end()
