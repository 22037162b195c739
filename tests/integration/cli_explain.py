#!/usr/bin/python3
"""`gridloom explain`: nodes with reasons, steps, pages; what cannot be asked; every program of the tests can be explained."""
# timeout: 300
# sanitize: asan
import glob, html.parser, os, re, shutil, subprocess, sys

BIN, TMP = os.environ["GRIDLOOM_BIN"], os.path.join(os.environ["LOOM_TMP"], "cli_explain")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
shutil.rmtree(TMP, ignore_errors=True)
os.makedirs(TMP)
failed = []


def gridloom(*words, **more):
    return subprocess.run([os.path.join(BIN, "gridloom"), *words], capture_output=True, text=True, cwd=TMP, timeout=120, **more)


def expect(name, good, what=""):
    print("%s: %s" % (name, "ok" if good else "failed " + str(what)), flush=True)
    if not good:
        failed.append(name)


def program(name, text):
    with open(os.path.join(TMP, name), "w") as f:
        f.write(text)
    return name


P = program("p.weft", """-- <b>bold</b> & "quoted"
entry evens (xss: [][]i64) : [][]i64 =
  map (\\xs ->
    map (* 2) (filter (\\x -> x % 2 == 0) xs)) xss
entry conditional [n] (xs: [n]f64) : [n]f64 = if xs[0] > 1 then map (+ 1) xs else xs
""")


def nodes():
    p = gridloom("explain", P, "--entry", "evens")
    expect("nodes", p.returncode == 0 and "rows of inputs have one length" in p.stdout and
           re.search(r"4:\d+: \[Filter\] %\d+: how many elements stay", p.stdout), p)
    row = [line for line in p.stdout.split("\n") if re.match(r" +%\d+ filter ", line)]
    expect("row of a node", len(row) == 1 and "irregular" in row[0] and row[0].rstrip().endswith("4:16"), row)
    p = gridloom("explain", P, "--entry", "evens", "--irregular", "--size", "7")
    expect("irregular inputs", p.returncode == 0 and "arrays of 7, rows of inputs differ" in p.stdout and "[Input]" in p.stdout and
           " xss: rows of the input" in p.stdout, p)
    p = gridloom("explain", P, "--entry", "conditional")
    expect("no reasons", p.returncode == 0 and "not regular" not in p.stdout, p)


def steps():
    p = gridloom("explain", P, "--entry", "conditional", "--steps")
    counts = dict(re.findall(r"(?m)^(\w+) +(\d+) steps?", p.stdout))
    # papers/000, section 6.3.1: 8 in the regular case, 46 in the irregular one.
    expect("steps of a conditional", p.returncode == 0 and set(counts) == {"unlifted", "regular", "irregular"} and
           int(counts["regular"]) <= 8 and int(counts["irregular"]) <= 24, p)
    # papers/000, section 6.3.1, has 13, 88 and 663 for this transform.
    p = gridloom("explain", os.path.join(ROOT, "examples/fft.weft"), "--entry", "split_radix", "--steps", "--size", "1024")
    n = {name: int(k) for name, k in re.findall(r"(?m)^(\w+) +(\d+) steps?", p.stdout)}
    expect("steps of a split-radix transform", p.returncode == 0 and n["regular"] <= n["unlifted"] and n["irregular"] <= 3 * n["unlifted"], p)
    p = gridloom("explain", P, "--entry", "evens", "--stage", "steps")
    expect("--stage steps", p.returncode == 0 and p.stdout.startswith("arrays of 100"), p)


class Page(html.parser.HTMLParser):
    """Tags that are open, names of tags, and the text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.ids, self.links = [], set(), "", set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.ids |= {v for k, v in attributes if k == "id"}
        self.links |= {v for k, v in attributes if k in ("href", "src")}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            raise ValueError("closed out of order: " + tag)

    def handle_data(self, data):
        self.text += data


def pages():
    name = program("<i>&.weft", open(os.path.join(TMP, P)).read())
    p = gridloom("explain", name, "--entry", "evens", "--html", "page.html")
    expect("page", p.returncode == 0 and p.stdout == "" and p.stderr == "", p)
    page = Page(open(os.path.join(TMP, "page.html")).read())
    expect("tags", page.open == [] and "b" in page.tags and "script" not in page.tags and "img" not in page.tags, page.tags)
    expect("text of the program", '-- <b>bold</b> & "quoted"' in page.text and "<i>&.weft" in page.text)
    expect("reason", "[Filter] how many elements stay depends on their values" in page.text)
    expect("links lead inside", page.links and all(x.startswith("#") and x[1:] in page.ids for x in page.links), page.links)
    expect("nothing beside it", sorted(os.listdir(TMP)) == sorted([P, name, "page.html"]), os.listdir(TMP))
    p = gridloom("explain", name, "--entry", "evens", "--html", "/dev/stdout")
    expect("page to a pipe", p.returncode == 0 and p.stdout.startswith("<!DOCTYPE html>"), p)
    before = open(os.path.join(TMP, "page.html")).read()
    wrong = program("wrong.weft", "entry main (x: i64) : i64 = x + y\n")
    p = gridloom("explain", wrong, "--html", "page.html")
    expect("an error leaves the page", p.returncode == 65 and open(os.path.join(TMP, "page.html")).read() == before, p)


def refused():
    for words, code, said in [
            (["--html", P], 64, P), (["--html", ""], 64, "empty"), (["--html", "no/such/page.html"], 73, "no/such"),
            (["--html", "x.html", "--steps"], 64, "at once"), (["--steps", "--stage", "plan"], 64, "at once"),
            (["--size", "0"], 64, "size"), (["--stage", "knots"], 64, "expected one of nodes")]:
        p = gridloom("explain", P, "--entry", "evens", *words)
        expect("explain " + " ".join(words), p.returncode == code and said in p.stderr and not os.path.exists(os.path.join(TMP, "x.html")), p)


def all_programs():
    """Each entry of each program of ours has an account, whatever its inputs are like."""
    for path in sorted(glob.glob(os.path.join(ROOT, "tests/programs/*.weft")) + glob.glob(os.path.join(ROOT, "examples/*.weft"))):
        listed = gridloom("check", path)
        entries = re.findall(r"(?m)^entry (\S+)", listed.stdout)
        for entry in entries[:1]:
            for words in (["--irregular"], ["--steps", "--size", "16"]):
                p = gridloom("explain", path, "--entry", entry, *words)
                if p.returncode or not p.stdout:
                    expect("explain %s --entry %s %s" % (path, entry, words), False, p)


nodes()
steps()
pages()
refused()
all_programs()
if failed:
    sys.exit(1)
print("ok")
