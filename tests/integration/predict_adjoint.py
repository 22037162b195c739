#!/usr/bin/python3
"""predict.weft is the transpose of image.weft: for random images I and random visibilities V with weights W,
sum W Re(conj(V) predict(I)) = sum over pixels of I D(V) times sum W, through `gridloom run` of the programs that ship."""
# timeout: 900
import os, subprocess, sys
import numpy as np

BIN, ROOT = os.environ["GRIDLOOM_BIN"], os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "predict_adjoint")
C, FREQ = 299792458.0, np.array([150e6, 170e6, 131e6])
PROGRAMS = [os.path.join(ROOT, "client/programs", f) for f in ("image.weft", "predict.weft")]
SIZES = [(1, 1), (2, 2), (63, 63), (96, 40), (300, 500)] + ([(1024, 1024), (2187, 2187)] if "--long" in sys.argv else [])
FIELDS = [0.1, 2, 15, 60]
EPSILONS = [1e-2, 1e-4, 1e-5, 1e-6, 1e-8, 1e-12]
os.makedirs(TMP, exist_ok=True)
failed, worst = [], {"f32": 0.0, "f64": 0.0}


def save(name, x):
    path = os.path.join(TMP, name + ".npy")
    np.save(path, x)
    return path


def run(entry, arguments, streams, constants, outputs):
    command = [os.path.join(BIN, "gridloom"), "run", *PROGRAMS, "--entry", entry, "--remarks"]
    for option, given in (("--arg", arguments), ("--stream", streams), ("--const", constants)):
        for name, value in given.items():
            command += [option, "%s=%s" % (name, save(option[2:] + "_" + name, value) if isinstance(value, np.ndarray) else value)]
    for name in outputs:
        command += ["-o", "%s=%s" % (name, os.path.join(TMP, "out_%s.npy" % name))]
    p = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if p.returncode or p.stderr:
        raise SystemExit("%s: exit code %d: %s" % (entry, p.returncode, p.stderr))
    return [np.load(os.path.join(TMP, "out_%s.npy" % name)) for name in outputs]


def judge(seed, nx, ny, degrees, epsilon):
    r = np.random.default_rng(seed)
    precision = "f32" if epsilon >= 1e-5 else "f64"
    scale = np.radians(degrees) / max(nx, ny)
    depth = 1 - np.sqrt(max(0, 1 - ((nx // 2) ** 2 + (ny // 2) ** 2) * scale ** 2))
    n, metre = 1500, C / FREQ.max()
    u, v = r.uniform(-0.499, 0.499, (2, n)) / scale * metre
    w = r.uniform(-1, 1, n) * min(12 / max(depth, 1e-9), 3e5) * metre
    V = r.normal(size=(n, 3, 1)) + 1j * r.normal(size=(n, 3, 1))
    W = r.uniform(0.5, 2, (n, 3, 1)).astype(np.float32)
    image = r.normal(size=(ny, nx)).astype(np.float32 if precision == "f32" else np.float64)
    V = V.astype(np.complex64)

    p = {"p.nx": nx, "p.ny": ny, "p.scale": repr(scale), "p.epsilon": epsilon, "p.min_uv": 0, "p.max_uv": "inf"}
    q = {"q.kind": 0, "q.robust": 0, "q.taper": 0, "q.together": "false"}
    o = {"outputs.product": np.array([1]), "outputs.psf": np.array([False]), "outputs.low": np.array([0.0]), "outputs.high": np.array([1e15])}
    rows = {"s.u": u, "s.v": v, "s.w": w, "s.time": np.zeros(n), "s.antenna1": np.zeros(n, np.int32), "s.antenna2": np.ones(n, np.int32),
            "s.vis": V, "s.wt": W, "s.flag": np.zeros(V.shape, bool)}
    dirty, sums = run("image_" + precision, p | q | o, rows, {"s.freq": FREQ, "s.corr": np.array([1], np.int32)}, ["image", "sums"])
    places = {"s.u": np.repeat(u, 3), "s.v": np.repeat(v, 3), "s.w": np.repeat(w, 3), "s.freq": np.tile(FREQ, n)}
    predicted, classes = run("predict_" + precision, {"scale": repr(scale), "epsilon": epsilon, "image": image}, places, {}, ["vis", "class"])
    if classes.any():
        failed.append("%d samples are not predicted" % np.count_nonzero(classes))

    # Both sides in double precision; pixels beyond the horizon are blank in the image and dark in the prediction.
    terms = W.ravel().astype(float) * (np.conj(V.ravel().astype(complex)) * predicted.astype(complex)).real
    left = np.sum(terms)
    seen = np.where(np.isnan(dirty), 0, dirty.astype(float))
    right = np.sum(image.astype(float) * seen) * sums[0]
    # Terms of random signs: their sum is about as large as the root of the sum of their squares, but may happen to be 0.
    off = abs(left - right) / max(abs(left), np.sqrt(np.sum(terms**2)))
    bound = 3e-5 if precision == "f32" else 2e-12
    worst[precision] = max(worst[precision], off)
    print("%4d x %-4d %5.1f degrees, %.0e: %.9g, off by %.2g" % (nx, ny, degrees, epsilon, left, off), flush=True)
    if not off <= bound:
        failed.append("%d x %d, %g degrees, epsilon %g: %.17g and %.17g, off by %.3g" % (nx, ny, degrees, epsilon, left, right, off))


# Each pair of sizes and accuracies, of sizes and fields, of accuracies and fields occurs.
for i, (nx, ny) in enumerate(SIZES):
    for k, epsilon in enumerate(EPSILONS):
        judge(100 * i + k, nx, ny, FIELDS[(i + k + k // 4) % 4], epsilon)
print("worst: " + ", ".join("%s %.2g" % x for x in worst.items()))
if failed:
    print("\n".join(failed))
    sys.exit(1)
print("ok")
