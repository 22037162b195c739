#!/usr/bin/python3
"""Lifted functions: programs whose tests compare the body, which is interpreted, with the versions, which are compiled; that a wrong
version is found so; and what `explain` says of each call. The example of docs/language.md is one of the programs."""
# timeout: 600
# sanitize: asan
import os
import re
import subprocess
import sys

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "lifted")
os.makedirs(TMP, exist_ok=True)
failed = []


def gridloom(*words):
    return subprocess.run([os.path.join(BIN, "gridloom"), *words], cwd=TMP, capture_output=True, text=True, timeout=500)


def expect(what, right, p):
    if not right:
        failed.append(what)
        print("%s: exit %d\n%s%s" % (what, p.returncode, p.stdout, p.stderr))


def write(name, text):
    with open(os.path.join(TMP, name), "w") as f:
        f.write(text)
    return name


def remarks(program, *words):
    p = gridloom("explain", program, *words)
    expect("explain %s" % " ".join(words), p.returncode == 0, p)
    return [line[len("remark: "):].split(": ", 1)[1] for line in p.stdout.splitlines() if line.startswith("remark: ")], p


# What the body says and what the versions do.
with open(os.path.join(ROOT, "docs/language.md")) as f:
    blocks = re.findall(r"```weft\n(.*?)```", f.read(), re.S)
example = [b for b in blocks if "\nlifted " in b]
write("example.weft", example[0])
places = os.path.join(ROOT, "tests/programs/lifted/places.weft")
for path, least in (("example.weft", 3), (places, 50)):
    p = gridloom("test", path)
    passed = re.search(r": (\d+) passed$", p.stdout, re.M)
    expect("tests of %s" % os.path.basename(path), p.returncode == 0 and passed and int(passed.group(1)) >= least, p)

# A wrong version is found by its test, so it is what runs compiled.
wrong = write("wrong.weft", example[0].replace("sums[end] - sums[end - n]", "sums[end] - sums[end - n] + 1"))
p = gridloom("test", wrong)
expect("a wrong version", p.returncode == 1 and ": 1 passed, 2 failed" in p.stdout, p)

# Where they are used.
REGULAR, IRREGULAR, ALL = "its version for regular rows", "its version for irregular rows", "once for all elements of the maps around"
SMOOTH = "smooth: lifted by smooth_rows, " + REGULAR
DIFFER = "argument %d: rows of the input may differ in length (line %d)"
line = {}
with open(places) as f:
    for number, text in enumerate(f, 1):
        if text.startswith("entry "):
            line[text.split()[1]] = number
for entry, rows, wanted in [
        ("rows", [], [SMOOTH]),
        ("rows", ["--irregular"], ["smooth: not lifted by smooth_rows: " + DIFFER % (1, line["rows"])]),
        ("inside", [], [SMOOTH]),
        ("twice", [], [SMOOTH, SMOOTH]),
        ("averages", [], ["total: lifted by totals, " + IRREGULAR]),
        ("averages", ["--irregular"], ["total: lifted by totals, " + IRREGULAR]),
        ("same", [], ["axpy: lifted by axpy_rows, " + REGULAR]),
        ("either", ["--irregular"], ["axpy: not lifted by axpy_rows: " + DIFFER % (2, line["either"]), "axpy: lifted by axpy_ragged, " + IRREGULAR]),
        ("levels", [], [SMOOTH, SMOOTH + ", " + ALL]),
        ("scalars", ["--irregular"], ["third: lifted by thirds, " + REGULAR,
                                      "third: for each element of the map around by itself: " + DIFFER % (1, line["scalars"])]),
        ("made_twice", [], [SMOOTH, SMOOTH + ", " + ALL]),
        ("alone", [], []),
        ("branch", [], [SMOOTH]),
        ("branches", [], ["total: lifted by totals, " + IRREGULAR, SMOOTH]),
        ("turns", [], ["smooth: not lifted: it is called in a loop, which not all elements of a map do together"]),
        ("stream", [], [SMOOTH]),
        ("streamed", [], [SMOOTH])]:
    found, p = remarks(places, "--entry", entry, *rows)
    expect("%s %s: expected %s, found %s" % (entry, " ".join(rows), wanted, found), found == wanted, p)
found, p = remarks(places, "--entry", "stream_sums", "--irregular")
expect("rows along the stream", found == ["total: lifted by totals, " + IRREGULAR], p)
# An update inside of a row among rows that differ is not compiled; without the version it is.
updated = write("updated.weft", """def total (xs: []f64) : f64 = sum xs
def totals [k] (xss: [k][]f64) : [k]f64 = map sum (xss with [0, 0] = xss[0, 0])
lifted irregular total = totals
entry main (s: seq ([]f64)) : f64 = fold_seq (+) 0 (map_seq total s)
""")
found, p = remarks(updated, "--irregular")
expect("a stage without its versions", len(found) == 2 and "without lifted versions, because with them" in found[1] and
       "interpreted" not in p.stdout, p)

# The page, the core, and the formatter know of it.
p = gridloom("explain", places, "--entry", "rows", "--html", "page.html")
with open(os.path.join(TMP, "page.html")) as f:
    expect("page", p.returncode == 0 and SMOOTH in f.read(), p)
p = gridloom("explain", "example.weft", "--entry", "sums", "--stage", "core")
expect("core", p.returncode == 0 and "= lifted.1 " in p.stdout and "= call totals " in p.stdout, p)
p = gridloom("fmt", write("loose.weft", example[0].replace("lifted regular smooth = smooth_rows", "lifted  regular smooth=smooth_rows")))
expect("fmt", p.returncode == 0 and "\nlifted regular smooth = smooth_rows\n" in p.stdout, p)

if failed:
    print("failed: %d" % len(failed))
    sys.exit(1)
print("ok")
