#!/usr/bin/python3
"""Which column was imaged is told, with a hint where another one was probably meant. What was written and by which command is told
by the HISTORY of MeasurementSets and of FITS headers."""
import json, os, shutil, subprocess, sys, time

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "provenance")
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
from astropy.io import fits
from casacore.tables import table
from uvfits_files import File
import given

failed = []
shutil.rmtree(TMP, ignore_errors=True)
os.makedirs(TMP)


def here(name):
    return os.path.join(TMP, name)


def gridloom(*arguments):
    p = subprocess.run([os.path.join(BIN, "gridloom"), *arguments], capture_output=True, text=True, timeout=600)
    if p.returncode:
        raise SystemExit("%s: exit %d: %s" % (arguments, p.returncode, p.stderr))
    return p


def expect(what, good, said=""):
    if not good:
        failed.append("%s %s" % (what, said))


def image(data, *more):
    return gridloom("image", here(data), "-o", here("out.fits"), "--size", "16", "--scale", "60asec", *more)


def columns():
    p = image("one.ms", "--json")
    expect("DATA alone", json.loads(p.stdout)["column"] == "DATA" and "hint" not in p.stderr, p.stderr)
    gridloom("predict", here("one.ms"), "--model", here("one.ms.sources.txt"), "--subtract", "-o", here("two.ms"), "--quiet")
    p = image("two.ms", "--json")
    expect("two columns", json.loads(p.stdout)["column"] == "DATA" and "--column CORRECTED_DATA" in p.stderr, p.stderr)
    p = image("two.ms")
    expect("two columns", "column DATA" in p.stdout and "--column CORRECTED_DATA" in p.stderr, p.stdout + p.stderr)
    expect("two columns, quiet", not image("two.ms", "--quiet").stderr)
    for column in ("DATA", "CORRECTED_DATA"):
        p = image("two.ms", "--json", "--column", column)
        expect("column %s named" % column, json.loads(p.stdout)["column"] == column and "hint" not in p.stderr, p.stderr)
    File(n_times=2).write(here("groups.uvfits"))
    p = image("groups.uvfits", "--json")
    expect("UVFITS", json.loads(p.stdout)["column"] == "DATA" and "hint" not in p.stderr, p.stderr)
    p = subprocess.run([os.path.join(BIN, "gridloom"), "predict", here("groups.uvfits"), "--model", here("one.ms.sources.txt"), "-o",
                        here("new.ms")], capture_output=True, text=True, timeout=600)
    expect("prediction for UVFITS", p.returncode == 65 and "importuvfits" in p.stderr and not os.path.exists(here("new.ms")), p.stderr)


def history(ms):
    with table(here(ms) + "::HISTORY", ack=False) as t:
        return [{c: t.getcell(c, i) for c in ("TIME", "APPLICATION", "ORIGIN", "MESSAGE", "CLI_COMMAND")} for i in range(t.nrows())]


def histories():
    def check(what, row, command):
        expect(what, abs(row["TIME"] / 86400 - 40587 - time.time() / 86400) < 0.1 and row["APPLICATION"].startswith("gridloom 0."), row)
        expect(what, row["ORIGIN"] == "gridloom " + command[0] and row["MESSAGE"] == row["CLI_COMMAND"][0]
               and row["MESSAGE"].startswith("gridloom " + " ".join(command)), row)
    rows = history("one.ms")
    expect("simulated", len(rows) == 1, rows)
    check("simulated", rows[0], ["simulate", "-o", here("one.ms")])
    rows = history("two.ms")
    expect("a copy", len(rows) == 2 and len(history("one.ms")) == 1, rows)
    check("a copy", rows[-1], ["predict", here("one.ms"), "--model", here("one.ms.sources.txt"), "--subtract", "-o", here("two.ms")])
    image("two.ms")
    for k in (3, 4):
        p = gridloom("predict", here("two.ms"), "--model", here("one.ms.sources.txt"))
        rows = history("two.ms")
        expect("in place", len(rows) == k and "remark" not in p.stderr, rows)
        check("in place", rows[-1], ["predict", here("two.ms")])
    with table(here("two.ms"), ack=False, readonly=False) as t:
        t.removekeyword("HISTORY")
    p = gridloom("predict", here("two.ms"), "--model", here("one.ms.sources.txt"))
    expect("no HISTORY", "remark: " in p.stderr and "HISTORY" in p.stderr, p.stderr)
    expect("no HISTORY, quiet", not gridloom("predict", here("two.ms"), "--model", here("one.ms.sources.txt"), "--quiet").stderr)


def header():
    image("one.ms", "--weight", "briggs:0.5", "--psf", here("a psf.fits"))
    for name in ("out.fits", "a psf.fits"):
        lines = "".join(str(x).ljust(72) for x in fits.getheader(here(name))["HISTORY"])
        for word in ("gridloom 0.", "gridloom image " + here("one.ms"), "'%s'" % here("a psf.fits"), "gridded 60", "Briggs 0.5", "column DATA"):
            expect("HISTORY of " + name, word.replace(" ", "") in lines.replace(" ", ""), (word, lines))


gridloom("simulate", "-o", here("one.ms"), "--stations", "5", "--times", "3", "--channels", "2", "--n-sources", "1", "--quiet")
columns()
histories()
header()
given.end(failed)
