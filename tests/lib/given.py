"""Observations that are given: our own, and others' that are not part of the repository (GRIDLOOM_SHARED, default ../shared)."""
import os, tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(os.environ.get("GRIDLOOM_SHARED", os.path.join(ROOT, "../shared")), "data")
absent = []  # asked for and not at hand


def find(name):
    """Where a file is; None where it is not."""
    for folder in (os.path.join(ROOT, "tests/data"), SHARED):
        if os.path.exists(os.path.join(folder, name)):
            return os.path.join(folder, name)
    if name not in absent:
        absent.append(name)
    return None


def unpack(ms, folder):
    """NAME.ms in the folder, as it was given; None where it is not at hand."""
    archive = find(ms + ".tgz")
    if not archive:
        return None
    with tarfile.open(archive) as f:
        f.extractall(folder)
    return os.path.join(folder, ms)


def end(failed):
    """Ends a test: says what failed and what was left out."""
    for f in failed:
        print("failed:", f)
    if absent:
        print("not at hand, left out:", ", ".join(absent))
    if failed:
        raise SystemExit(1)
    print("ok")
