#!/usr/bin/python3
"""Blocks that a client serves stay with a worker for the next traversal: an observation is read once where there is room for it, and the
image is the same where there is room for a part, where what is kept makes way for the grid, and where the worker that had it is killed.
Each is seen to have happened."""
# timeout: 300
# sanitize: asan tsan
import json, os, re, shutil, subprocess, sys
import numpy as np
from astropy.io import fits

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
from a_daemon import Daemon, Failed, exe, expect, run_all, wait_for

TMP = os.path.join(os.environ["LOOM_TMP"], "kept")
os.makedirs(TMP, exist_ok=True)
MS = os.path.join(TMP, "obs.ms")
STATIONS, TIMES = 40, 60
ROWS = STATIONS * (STATIONS - 1) // 2 * TIMES


def path(name):
    return os.path.join(TMP, name)


def start(name, *more):
    """In double precision, so that the order in which samples are added up is not seen."""
    return subprocess.Popen([exe("gridloom"), "image", MS, "-o", path(name + ".fits"), "--size", "256", "--scale", "3asec", "--epsilon", "1e-8",
                             "--block", "200", "--stats", path(name + ".json"), *more],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=TMP, GRIDLOOM_LOG="debug"))


def end(p, name):
    """How many rows were read, and what was said."""
    out, said = p.communicate(timeout=200)
    if p.returncode:
        raise Failed("exit %d: %s" % (p.returncode, (out + said)[-1000:]))
    with open(path(name + ".json")) as f:
        stats = json.load(f)
    if stats["elements"] < 2 * ROWS:  # and more where the planes come in batches
        raise Failed("%d rows were traversed, not %d twice" % (stats["elements"], ROWS))
    return stats["served"], said


def check_image(name, other="room", off=1e-12):
    got, want = fits.getdata(path(name + ".fits")), fits.getdata(path(other + ".fits"))
    if not np.allclose(got, want, rtol=0, atol=off * abs(want).max()):
        raise Failed("another image")


def is_read_once_where_there_is_room():
    served, _ = end(start("room"), "room")
    if served != ROWS:
        raise Failed("%d rows were read, not %d" % (served, ROWS))


def a_part_has_room():
    served, _ = end(start("part", "--memory", "24MiB"), "part")
    check_image("part")
    if not ROWS < served < 2 * ROWS:
        raise Failed("%d rows of twice %d were read" % (served, ROWS))


def makes_way():
    """For the planes of a batch."""
    wide = "--size", "1000", "--scale", "40asec"
    served, said = end(start("way", "--memory", "80MiB", *wide), "way")
    if not re.search(r"[1-9]\d* bytes of blocks that were kept make way", said):
        raise Failed("nothing had to make way; %d rows were read" % served)
    end(start("wide", *wide), "wide")
    check_image("way", "wide", 1e-7)


def its_worker_is_killed():
    with Daemon(TMP) as d:
        p = start("killed", "--connect", d.endpoint)
        try:
            wait_for("the gridding", lambda: any(j["blocks_done"] and "permute_seq" in j["stage"] for j in d.jobs()))
            d.started[1].kill()
            d.worker()
            served, _ = end(p, "killed")
        finally:
            p.kill()
    check_image("killed")
    if not served > ROWS:
        raise Failed("the other worker was not served")


shutil.rmtree(MS, ignore_errors=True)
subprocess.run([exe("gridloom"), "simulate", "-o", MS, "--stations", str(STATIONS), "--times", str(TIMES), "--channels", "8", "--extent", "3000",
                "--seed", "3"], check=True, capture_output=True)
run_all([is_read_once_where_there_is_room, a_part_has_room, makes_way, its_worker_is_killed])
