#!/usr/bin/python3
"""Observations with a few wrong bytes, as a bad disk or copy makes them: `image` ends with an image and counts, or with an error
that says what is wrong, also where casacore itself cannot go on, and leaves nothing behind. Never by a signal."""
# timeout: 600
import collections, json, os, random, shutil, sys, tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import checks, given
from checks import expect, gridloom, here

TRIES = 120
# What this library dies of, in the table that it is in: byte and its new value.
FATAL = [("ANTENNA", {681: 9}), ("DATA_DESCRIPTION", {574: 255}), ("POLARIZATION", {871: 127})]


def fresh():
    shutil.rmtree(here("x.ms"), ignore_errors=True)
    shutil.copytree(here("base.ms"), here("x.ms"))


def change(name, wrong):
    with open(os.path.join(here("x.ms"), name), "r+b") as f:
        for at, value in wrong.items():
            f.seek(at)
            f.write(bytes([value]))


def image():
    p = gridloom("image", here("x.ms"), "-o", here("o.fits"), "--size", 32, "--json")
    there = os.path.exists(here("o.fits"))
    if there:
        os.remove(here("o.fits"))
    return p, there


def tables():
    found = []
    for folder, _, names in sorted(os.walk(here("base.ms"))):
        found += [os.path.relpath(os.path.join(folder, n), here("base.ms")) for n in sorted(names) if n.startswith("table.") and
                  os.path.getsize(os.path.join(folder, n))]
    return [f for f in found if not f.endswith(("info", "lock"))]


def damage(r, files):
    name = r.choice(files)
    size = os.path.getsize(os.path.join(here("x.ms"), name))
    most = size if r.random() < 0.5 else min(size, 2000)  # where descriptions are
    change(name, {r.randrange(most): r.choice([0, 1, 127, 255, r.randrange(256)]) for _ in range(r.choice([1, 1, 2, 4]))})
    return name


checks.begin("damaged")
with tarfile.open(given.find("cases/base.tgz")) as f:
    f.extractall(here("."))
r, files, codes = random.Random(20261128), tables(), collections.Counter()
for i in range(TRIES):
    fresh()
    name = damage(r, files)
    p, there = image()
    codes[p.returncode] += 1
    what = "try %d, %s: exit %d, %s" % (i, name, p.returncode, p.stderr.strip())
    if p.returncode == 0:
        counts = json.loads(p.stdout)["visibilities"]
        expect(what, there and counts["read"] > 0 and counts["read"] == sum(v for k, v in counts.items() if k != "read"), str(counts))
    else:
        expect(what, p.returncode in (65, 71) and "error: " in p.stderr and "x.ms" in p.stderr and not there)
expect("outcomes", codes[0] > TRIES / 4 and codes[65] > TRIES / 20, str(codes))
for table, wrong in FATAL:
    fresh()
    change(table + "/table.dat", wrong)
    p, there = image()
    expect(table, p.returncode == 65 and not there and table in p.stderr and "damaged" in p.stderr, p.stderr)
fresh()
p = gridloom("image", here("x.ms"), "-o", here("m.fits"), "--size", 16, "--quiet")
whole = open(here("m.fits"), "rb").read()
for name in (b"CTYPE1", b"CTYPE2", b"CUNIT1", b"RADESYS", b"BUNIT", b"OBJECT"):
    card = whole.index(name.ljust(8) + b"=")
    end = whole.index(b"'", whole.index(b"'", card) + 1)
    with open(here("m.fits"), "wb") as f:
        f.write(whole[:end] + b"-" + whole[end + 1:])
    p = gridloom("predict", here("x.ms"), "--model", here("m.fits"), "--quiet")
    expect("a string of a model without its end", p.returncode == 65 and "m.fits" in p.stderr and name.decode() in p.stderr, p.stderr)
os.remove(here("m.fits"))
expect("files", sorted(os.listdir(here("."))) == ["base.ms", "x.ms"], str(os.listdir(here("."))))
checks.end()
