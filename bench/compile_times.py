"""How long programs take to compile: bench/run compile.

Of each entry of the programs in examples/ and client/programs: nodes of the program, operations that it becomes, processor time of the compiler from text
to object code, without starting it, for sizes that are not known; and, from `gridloom bench` on small inputs, what one waits for, cold (nothing is in
a cache) and cached. Then of generated programs of growing size, in families (tests/lib/growing.py), processor time for each node, and the exponent with
which the time grows from one size to the next: 1 is linear. docs/compile-times.md has numbers.
"""
import importlib, json, math, os, re, sys
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
import growing


# Programs that are read behind others.
TOGETHER = {"aterm": ["image"], "predict": ["image"]}


def inputs():
    """Of each entry whose inputs files can hold: what is given, as in tests/lib/example_case.py, and scalars."""
    r = np.random.default_rng(3)
    real, single, integers = r.normal, lambda *s: r.normal(size=s).astype(np.float32), lambda n, *s: r.integers(0, n, s)
    arg, stream = lambda k, v: ("arg", k, v), lambda k, v: ("stream", k, v)
    complexes = lambda *s: real(size=s) + 1j * real(size=s)
    lengths = integers(9, 60) + 1
    ragged = lambda make: (make(lengths.sum()), lengths)
    fields = lambda kind, name, make, *names: [(kind, name + "." + n, make()) for n in names]
    table = [arg("table", real(size=(20, 30))), arg("rows", integers(20, 60)), arg("iss", ragged(lambda n: integers(30, n)))]
    given = {
        "averages": ([stream("xss", ragged(lambda n: single(n)))], []),
        "awgrid": ([arg("akern", complexes(4, 15, 15)), arg("wkern", complexes(4, 15, 15))] + fields("stream", "s", lambda: 20 + integers(60, 99), "y", "x") +
                   fields("stream", "s", lambda: integers(4, 99), "wbin", "a1", "a2") + [stream("s.vis", complexes(99))], ["g=100"]),
        "barnes_hut": (fields("arg", "points", lambda: real(size=50), "x", "y") + [arg("points.mass", r.random(50))], ["epsilon=0.1"]),
        "bfs": ([arg("links", ragged(lambda n: integers(60, n)))], ["start=0"]),
        "black_scholes": (fields("stream", "options", lambda: 50 + r.random(99), "price", "strike", "days"), ["rate=0.03", "volatility=0.2"]),
        "blur": ([stream("pictures", real(size=(3, 20, 20)))], ["width=1.5"]),
        "convgrid": ([arg("gcf", complexes(5, 5).astype(np.complex64)), arg("grid", np.zeros((50, 50), np.complex64))] +
                     fields("stream", "s", lambda: 10 + integers(30, 99), "x", "y") + [stream("s.vis", complexes(99).astype(np.complex64))], []),
        "dotp": ([stream("xs", single(99)), stream("ys", single(99))], []),
        "furthest": ([arg("ps.0", single(99)), arg("ps.1", single(99))], []),
        "histogram/of_stream": ([stream("xs", real(size=99))], ["low=-2", "high=2", "bins=10"]),
        "histogram/of_lists": ([arg("xss", ragged(lambda n: real(size=n)))], ["low=-2", "high=2", "bins=10"]),
        "kmeans": ([arg("points", real(size=(99, 3)))], ["k=4", "turns=5"]),
        "life": ([arg("cells", r.random((20, 20)) < 0.4)], ["generations=5"]),
        "mandelbrot": ([], ["width=20", "height=10", "low=-2-1i", "high=1+1i", "limit=50"]),
        "matmul/matmul": ([arg("a", real(size=(9, 8))), arg("b", real(size=(8, 7)))], []),
        "max_sum": ([stream("xs", single(99))], []),
        "md5": ([stream("words", ragged(lambda n: integers(256, n).astype(np.uint8)))], []),
        "mvm": ([stream("mat", single(99, 9)), arg("x", single(9))], []),
        "nbody": (fields("arg", "places", lambda: real(size=50), "x", "y", "z") + fields("arg", "speeds", lambda: real(size=50), "x", "y", "z") +
                  [arg("masses", r.random(50))], ["steps=3", "dt=0.01", "epsilon=0.1"]),
        "pagerank": ([arg("links", ragged(lambda n: integers(60, n)))], ["damping=0.85", "turns=5"]),
        "primes": ([], ["n=1000"]),
        "retrieve": (table, []),
        "retsum": (table, []),
        "sort_rows/bubble_sort_all": ([arg("xss", real(size=(20, 30)))], []),
        "sort_rows/quicksort_all": ([arg("xss", ragged(lambda n: real(size=n)))], []),
        "spmv/csr": ([arg("starts", np.cumsum(lengths) - lengths), arg("columns", integers(40, lengths.sum())), arg("values", real(size=lengths.sum())),
                      arg("x", real(size=40))], []),
        "spmv/nested": ([arg("rows.0", ragged(lambda n: integers(40, n))), arg("rows.1", ragged(lambda n: real(size=n))), arg("x", real(size=40))], []),
    }
    powers = 2 ** integers(6, 20)  # split radix takes no other lengths
    for way in ("split_radix", "stockham", "bluestein", "library"):
        given["fft/" + way] = ([arg("xs", complexes(128))], [])
        given["fft/%s_all" % way] = ([arg("xss", complexes(20, 128))], [])
        given["fft/%s_rows" % way] = ([arg("xss", (complexes(powers.sum()), powers))], [])
    return given


def entries(path):
    with open(path) as f:
        return re.findall(r"^entry +(\w+)", f.read(), re.M)


def milliseconds(seconds):
    return "%9.1f ms" % (1000 * seconds)


def example(a, given, compiler, path, entry):
    name = os.path.splitext(os.path.basename(path))[0]
    only = len(entries(path)) == 1
    files = [os.path.join(os.path.dirname(path), f + ".weft") for f in TOGETHER.get(name, [])] + [path]
    words = files + ([] if only else ["--entry", entry])
    seconds, remark = compiler.seconds(words)
    line = "%-30s %5d nodes %5d operations   processor %s" % (name if only else name + "/" + entry, compiler.nodes(words), compiler.operations(words), milliseconds(seconds))
    known = given.get(name if only else name + "/" + entry)
    if known:
        import example_case
        p = example_case.gridloom("bench", *words, *example_case.given(*known), "--runs", str(a.turns), "--json", "--quiet")
        if p.returncode:
            sys.exit("%s: %s" % (name, p.stderr))
        times = json.loads(p.stdout)["compile"]
        line += "   cold %s   cached %s" % (milliseconds(times["first"]), milliseconds(times["cached"]))
    print(line + ("   (interpreted: %.60s)" % remark if remark else ""), flush=True)


def growth(compiler, family, sizes):
    last, line = None, "%-24s" % family
    for size in sizes:
        text = growing.program(family, size)
        nodes = compiler.nodes(["-"], text)
        seconds, remark = compiler.seconds(["-"], text)
        line += "  %6d:%7.1f us" % (nodes, 1e6 * seconds / nodes)
        if last:
            line += " (%4.2f)" % (math.log(seconds / last[1]) / math.log(nodes / last[0]))
        if remark:
            line += " interpreted"
        last = nodes, seconds
    print(line, flush=True)


def compile(a, t):
    os.environ["GRIDLOOM_BIN"], os.environ["LOOM_TMP"] = a.bin, t  # example_case asks for them
    importlib.import_module("example_case").begin("inputs")
    compiler, given = growing.Compiler(a.bin), inputs()
    for folder in ("examples", "client/programs"):
        for file in sorted(os.listdir(os.path.join(ROOT, folder))):
            path = os.path.join(ROOT, folder, file)
            for entry in entries(path) if file.endswith(".weft") and a.case in file else []:
                example(a, given, compiler, path, entry)
    print("processor time for a node of programs of growing size (exponent of growth)")
    for family in growing.FAMILIES:
        if a.case in family:
            growth(compiler, family, (100, 300, 1000, 3000) if a.small else (100, 300, 1000, 3000, 10000))
