#!/usr/bin/python3
"""Wrong input to `gridloom image`: each has its exit code, a message with the right words, and leaves no file behind."""
# timeout: 600
# sanitize: asan
import os
import shutil
import subprocess
import sys
import tarfile

import numpy
from casacore import tables

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "cli_image_errors")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
USAGE, DATA, NOINPUT, OSERR, CANTCREAT, IOERR = 64, 65, 66, 71, 73, 74
failed = []


def unpack(*names):
    for name in names:
        with tarfile.open(os.path.join(ROOT, "tests/data/cases", name + ".tgz")) as f:
            f.extractall(TMP)


def files():
    return sorted(os.listdir(TMP))


def check(what, arguments, code, *words):
    before = files()
    p = subprocess.run([os.path.join(BIN, "gridloom"), "image"] + arguments, cwd=TMP, capture_output=True, text=True, timeout=120)
    why = []
    if p.returncode != code:
        why.append("exit code %d, expected %d" % (p.returncode, code))
    if not p.stderr.startswith("error: "):
        why.append("no 'error:' on standard error")
    why += ["no word '%s'" % w for w in words if w.lower() not in p.stderr.lower()]
    left = set(files()) - set(before)
    if left:
        why.append("left behind: %s" % ", ".join(sorted(left)))
    if why:
        failed.append(what)
        print("%s: %s\n  said: %s" % (what, "; ".join(why), (p.stderr + p.stdout).strip()))


def changed(name, subtable, column, value):
    """A copy of base.ms in which the first cell of a subtable's column is another."""
    shutil.copytree(os.path.join(TMP, "base.ms"), os.path.join(TMP, name))
    t = tables.table(os.path.join(TMP, name, subtable), readonly=False, ack=False)
    t.putcell(column, 0, value)
    t.close()
    return name


def check_full_disk():
    """A file system of 200 KiB, where one may be mounted: the image does not fit, and that is told before anything runs."""
    script = ("mount -t tmpfs -o size=200k none small && cd small && \"$0\" image ../base.ms -o x.fits --size 512 --scale 20asec;"
              " echo code $?; ls -A")
    os.mkdir(os.path.join(TMP, "small"))
    p = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, os.path.join(BIN, "gridloom")],
                       cwd=TMP, capture_output=True, text=True, timeout=120)
    if "code" not in p.stdout or "mount:" in p.stderr:
        print("full disk: no file system can be mounted here")
    elif p.stdout.split() != ["code", str(IOERR)] or "x.fits" not in p.stderr or "room" not in p.stderr:
        failed.append("full disk")
        print("full disk: %s %s" % (p.stdout, p.stderr))


def check_without_home():
    """As services are started: casacore wants a HOME, where there is none it is not the observation that is at fault."""
    for what, env in (("none", {}), ("an empty one", {"HOME": ""}), ("one that is not there", {"HOME": "/nowhere/at/all"})):
        p = subprocess.run([os.path.join(BIN, "gridloom"), "image", "base.ms", "-o", "home.fits", "--size", "32"], cwd=TMP, env=env, capture_output=True,
                           text=True, timeout=120)
        if p.returncode != 0 or p.stderr or not os.path.exists(os.path.join(TMP, "home.fits")):
            failed.append("HOME: " + what)
            print("HOME: %s: exit %d: %s" % (what, p.returncode, p.stderr))


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    os.makedirs(TMP)
    unpack("base", "all_flagged", "zero_rows", "missing_table_file", "empty_directory", "ddid_out_of_range",
           "antenna_out_of_range", "spw2_differ", "dd_mixed_pols", "corrected_only")
    with open(os.path.join(TMP, "file.ms"), "w") as f:
        f.write("not a table\n")
    out = ["-o", "x.fits", "--size", "64", "--scale", "20asec"]

    # The request itself.
    check("no observation", ["-o", "x.fits"], USAGE, "no observation")
    check("two observations", ["base.ms", "base.ms"] + out, USAGE, "one observation")
    check("no output", ["base.ms"], USAGE, "no output", "-o")
    check("unknown option", ["base.ms", "--sizes", "3"] + out, USAGE, "--sizes", "--size")
    check("size 0", ["base.ms", "-o", "x.fits", "--size", "0"], USAGE, "--size 0", "at least one pixel")
    check("size -3", ["base.ms", "-o", "x.fits", "--size", "-3"], USAGE, "--size -3")
    check("size words", ["base.ms", "-o", "x.fits", "--size", "big"], USAGE, "--size big")
    check("size of 10^10", ["base.ms", "-o", "x.fits", "--size", "10000000000"], USAGE, "memory")
    check("size absurd", ["base.ms", "-o", "x.fits", "--size", "3000000"], OSERR, "needs at least", "memory", "TiB")
    check("size beyond --memory", ["base.ms", "-o", "x.fits", "--size", "20000", "--memory", "1GiB"], OSERR, "--memory", "GiB")
    check("scale without unit", ["base.ms", "-o", "x.fits", "--scale", "5"], USAGE, "unit", "asec")
    check("scale of unknown unit", ["base.ms", "-o", "x.fits", "--scale", "5parsec"], USAGE, "parsec")
    check("scale 0", ["base.ms", "-o", "x.fits", "--scale", "0asec"], USAGE, "positive")
    check("epsilon 0", ["base.ms", "--epsilon", "0"] + out, USAGE, "epsilon")
    check("no such weighting", ["base.ms", "--weight", "even"] + out, USAGE, "--weight even", "natural", "briggs")
    check("robustness of natural weights", ["base.ms", "--robust", "0"] + out, USAGE, "--robust", "briggs")
    check("robustness twice", ["base.ms", "--weight", "briggs:0", "--robust", "0"] + out, USAGE, "twice")
    check("robustness in words", ["base.ms", "--weight", "briggs:low"] + out, USAGE, "number")
    check("a taper that leaves nothing", ["base.ms", "--size", "32", "--scale", "20asec", "--taper", "10deg", "--psf", "psf.fits"] + out, DATA,
          "no usable visibility", "weights", "--taper")
    check("taper without unit", ["base.ms", "--taper", "5"] + out, USAGE, "--taper", "unit", "asec")
    check("no such Stokes", ["base.ms", "--stokes", "IX"] + out, USAGE, "--stokes IX")
    check("Stokes twice", ["base.ms", "--stokes", "QQ"] + out, USAGE, "twice")
    check("Stokes of no axis", ["base.ms", "--stokes", "I,Q,V"] + out, USAGE, "axis")
    check("hand and Stokes", ["base.ms", "--stokes", "I,XX"] + out, USAGE, "axis")
    check("Stokes not recorded", ["base.ms", "--stokes", "IQUV"] + out, DATA, "Stokes U", "XX,YY")
    check("hand not recorded", ["base.ms", "--stokes", "RR"] + out, DATA, "RR", "XX,YY")
    check("more planes than channels", ["base.ms", "--channels-out", "5"] + out, USAGE, "--channels-out 5", "4 channels are")
    check("more planes than the channel", ["base.ms", "--channels", "1:2", "--channels-out", "2"] + out, USAGE, "1 channel is")
    check("grid of unknown format", ["base.ms", "--grid", "x.txt"] + out, USAGE, "--grid", ".npy")
    check("grid of several planes", ["base.ms", "--grid", "x.npy", "--channels-out", "2"] + out, USAGE, "one plane")
    check("two outputs of one name", ["base.ms", "--psf", "x.fits"] + out, USAGE, "x.fits")
    check("channels backwards", ["base.ms", "--channels", "3:1"] + out, USAGE, "channels", "empty")
    check("channels as words", ["base.ms", "--channels", "all"] + out, USAGE, "A:B")

    # The observation.
    check("no such file", ["nothing.ms"] + out, NOINPUT, "no such file", "nothing.ms")
    check("no name", [""] + out, NOINPUT, "no such file", '""')
    check("a column without a name", ["base.ms", "--column", ""] + out, DATA, 'no column ""', "DATA")
    check("a correlation twice", [changed("twice.ms", "POLARIZATION", "CORR_TYPE", numpy.array([9, 9], numpy.int32))] + out, DATA, "XX (9) twice")
    check("a file", ["file.ms"] + out, DATA, "not a MeasurementSet", "file.ms")
    tables.table(os.path.join(TMP, "some.ms"), tables.maketabdesc([tables.makescacoldesc("DATA_DESC_ID", 0)]), ack=False).close()
    check("a table without UVW", ["some.ms"] + out, DATA, "not a MeasurementSet", "without UVW")
    tables.table(os.path.join(TMP, "other.ms"), tables.maketabdesc([tables.makescacoldesc("X", 0)]), ack=False).close()
    check("another table", ["other.ms"] + out, DATA, "not a MeasurementSet", "without DATA_DESC_ID and UVW")
    check("empty directory", ["empty_directory.ms"] + out, DATA, "not a MeasurementSet")
    check("missing table", ["missing_table_file.ms"] + out, DATA, "SPECTRAL_WINDOW")
    check("no rows", ["zero_rows.ms"] + out, DATA, "no rows")
    check("no such column", ["base.ms", "--column", "CORRECTED_DATA"] + out, DATA, "column CORRECTED_DATA", "DATA")
    check("column not there", ["corrected_only.ms"] + out, DATA, "no column DATA", "CORRECTED_DATA")
    check("no such field", ["base.ms", "--field", "3"] + out, DATA, "field 3")
    check("no such window", ["base.ms", "--spw", "4"] + out, DATA, "spectral window", "4")
    check("no such channels", ["base.ms", "--channels", "4:8"] + out, DATA, "channels 4:8", "out of range", "4 channels")
    check("ids out of range", ["ddid_out_of_range.ms"] + out, DATA, "DATA_DESC_ID 7")
    check("antennas out of range", ["antenna_out_of_range.ms"] + out, DATA, "ANTENNA")
    check("channels of no window", ["spw2_differ.ms"] + out + ["--channels", "2:9"], DATA, "channels", "range", "7 channels")
    check("time", ["dd_mixed_pols.ms"] + out + ["--time", "yesterday"], USAGE, "--time", "FROM/TO")
    check("time backwards", ["dd_mixed_pols.ms"] + out + ["--time", "59001/59000"], USAGE, "--time", "empty")
    check("uv range", ["dd_mixed_pols.ms"] + out + ["--min-uv", "2", "--max-uv", "1"], USAGE, "--min-uv", "--max-uv")
    check("scan", ["dd_mixed_pols.ms"] + out + ["--scan", "99"], DATA, "no visibilities", "--scan")
    check("all flagged", ["all_flagged.ms"] + out, DATA, "no usable visibility", "all 2640 visibilities are flagged")

    # The output.
    check("folder not there", ["base.ms", "-o", "nowhere/x.fits"], CANTCREAT, "nowhere/x.fits")
    check("output is a folder", ["all_flagged.ms", "-o", "base.ms"], CANTCREAT, "base.ms")
    check("output is the observation", ["base.ms", "-o", "base.ms"], USAGE, "base.ms")
    check("png folder not there", ["base.ms", "--png", "nowhere/x.png"] + out, CANTCREAT, "nowhere/x.png")
    check("stats folder not there", ["base.ms", "--stats", "nowhere/x.json"] + out, CANTCREAT, "nowhere/x.json")
    check("empty output", ["base.ms", "-o", ""], USAGE, "--output", "empty")
    check("png is the fits", ["base.ms", "-o", "x.fits", "--png", "x.fits"], USAGE, "x.fits")
    if os.geteuid() != 0:
        os.mkdir(os.path.join(TMP, "closed"), 0o500)
        check("closed folder", ["base.ms", "-o", "closed/x.fits"], CANTCREAT, "closed/x.fits")
    check("full device", ["base.ms", "-o", "/dev/full", "--size", "64", "--scale", "20asec"], IOERR, "/dev/full", "No space left")
    check_full_disk()
    with open(os.path.join(TMP, "kept.fits"), "w") as f:
        f.write("precious\n")
    check("a failed run keeps the old file", ["all_flagged.ms", "-o", "kept.fits", "--size", "64"], DATA, "flagged")
    with open(os.path.join(TMP, "kept.fits")) as f:
        if f.read() != "precious\n":
            failed.append("the old file is gone")
    check_without_home()
    shutil.rmtree(TMP)
    print("failed: " + ", ".join(failed) if failed else "ok")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
