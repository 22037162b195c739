"""Programs under examples/, interpreted and compiled, on arrays; results held against arrays that were computed otherwise."""
import json, os, subprocess, sys
import numpy as np

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from weftgen.farm import difference

failed, done = [], 0
folder = None


def begin(name):
    global folder
    folder = os.path.join(os.environ["LOOM_TMP"], name)
    os.makedirs(folder, exist_ok=True)


def path(name):
    return os.path.join(folder, name + ".npy")


def source(program):
    return os.path.join(ROOT, "examples", program + ".weft")


def gridloom(*words):
    return subprocess.run([os.path.join(BIN, "gridloom")] + list(words), capture_output=True, text=True, timeout=300)


def ragged(rows, dtype):
    """Rows of different lengths as files hold them: the elements end to end, and the lengths."""
    return (np.concatenate([np.asarray(r, dtype) for r in rows] + [np.zeros(0, dtype)]).astype(dtype), np.array([len(r) for r in rows], np.int64))


def given(inputs, scalars):
    """The words that give the inputs: (kind, name, array or (values, lengths))."""
    words = []
    for kind, name, value in inputs:
        files = path(name)
        if isinstance(value, tuple):
            np.save(path(name), value[0])
            np.save(path(name + ".lengths"), value[1])
            files += "," + path(name + ".lengths")
        else:
            np.save(path(name), value)
        words += ["--" + kind, "%s=%s" % (name, files)]
    for s in scalars:
        words += ["--arg", s]
    return words


def result(i):
    """What came out: rows of different lengths are values and lengths; so are rows of one length, if that is asked for."""
    values, lengths = path("out%d" % i), path("out%d.lengths" % i)
    return (np.load(values), np.load(lengths)) if os.path.exists(lengths) else np.load(values)


def unlike(want, got, tolerance):
    """None, or how a result is not the expected one. Ragged rows that happen to have one length come as a matrix."""
    if not isinstance(want, tuple):
        if isinstance(got, tuple):
            return "rows differ in length: %s" % (got[1],)
        want = np.asarray(want)
        if want.size == 0 and got.size == 0:  # an array without rows has inner extents 0
            return None if want.shape[:1] == got.shape[:1] else "shape %s, expected %s" % (got.shape, want.shape)
        return difference(want.astype(got.dtype) if want.dtype.kind == got.dtype.kind else want, got, tolerance)
    if not isinstance(got, tuple):
        got = (got.reshape((-1,) + got.shape[2:]), np.full(got.shape[0], got.shape[1] if got.ndim > 1 else 0))
    return difference(want[1], got[1].astype(np.int64), 0) or unlike(want[0], got[0], tolerance)


def case(program, inputs, expected, scalars=(), outputs=(None,), ways=([],), entry=None, tolerance=1e-5, interpreted=None):
    """expected: an array, or values and lengths, per output; ways: further words of `run`, one run for each; interpreted:
    what the remark has of an entry that is not compiled, words or a tuple of such."""
    global done
    words = given(inputs, scalars) + (["--entry", entry] if entry else [])
    results = {}
    for command, more in [("eval", [])] + [("run", list(w) + ["--stats", os.path.join(folder, "stats.json")]) for w in ways]:
        for f in os.listdir(folder):
            if f.startswith("out"):
                os.remove(os.path.join(folder, f))
        out = []
        for i, key in enumerate(outputs):
            out += ["-o", ("" if key is None else key + "=") + path("out%d" % i)]
        what = " ".join([program, entry or "", command] + [os.path.basename(w) for w in more])
        p = gridloom(command, source(program), *words, *out, *more)
        done += 1
        if p.returncode:
            failed.append("%s: exit %d: %s" % (what, p.returncode, p.stderr.strip()))
            continue
        got = [result(i) for i in range(len(outputs))]
        for i, (g, e) in enumerate(zip(got, expected)):
            why = unlike(e, g, tolerance)
            if why:
                failed.append("%s, output %d against what is expected: %s" % (what, i, why))
            if command == "eval":
                results[i] = g
            elif i in results:
                why = unlike(results[i], g, tolerance)
                if why:
                    failed.append("%s, output %d against eval: %s" % (what, i, why))
        if command == "run":
            expect_compiled(what, interpreted)


def expect_compiled(what, interpreted):
    """What the compiler remarked on is what is known to be interpreted."""
    known = (interpreted,) if isinstance(interpreted, str) else interpreted or ()
    with open(os.path.join(folder, "stats.json")) as f:
        remarks = json.load(f)["remarks"]
    if any(not any(k in r for k in known) for r in remarks):
        failed.append("%s: is interpreted: %s" % (what, "; ".join(remarks)))
    elif known and not remarks:
        failed.append("%s: is compiled, though expected to be interpreted for '%s'" % (what, "' or '".join(known)))


def end():
    for f in failed:
        print("failed:", f)
    if failed:
        sys.exit(1)
    print("%d runs" % done)
    print("ok")
