#!/usr/bin/python3
"""Array steps that go by rows through several actions: transforms of gathered columns against numpy's, for numbers of rows around
those of a block, the same bits from any number of threads; where the rows of two steps are not as many, and where one raises an error,
all is as the interpreter has it."""
import os, subprocess
import numpy as np

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "rows")
os.makedirs(TMP, exist_ok=True)
PROGRAM = """entry main [n][m][w][k] (a: [n][m]%(real)s) (b: [w]%(real)s) (at: [k]i64) : [][]%(real)s =
  let lines = generate m (\\x -> fft (generate n (\\i -> complex a[i, m - 1 - x] a[(i + 1) %% n, x])))
  in generate (w, k) (\\x y -> let z = lines[x, at[y]] in b[x] * (re z - 0.5 * im z))
"""
r = np.random.default_rng(4)


def gridloom(*words):
    return subprocess.run([os.path.join(BIN, "gridloom"), *words], cwd=TMP, capture_output=True, text=True, timeout=300)


def save(name, a):
    np.save(os.path.join(TMP, name + ".npy"), a)


def arguments(width):
    save("b", np.full(width, 2, np.load(os.path.join(TMP, "a.npy")).dtype))
    return ["rows.weft", "--arg", "a=a.npy", "--arg", "b=b.npy", "--arg", "at=at.npy"]


for real, tolerance in (("f32", 2e-5), ("f64", 1e-13)):
    open(os.path.join(TMP, "rows.weft"), "w").write(PROGRAM % {"real": real})
    plan = gridloom("explain", "rows.weft", "--stage", "plan").stdout
    assert "rows of 3 operations" in plan, plan
    for n, m in ((1, 1), (7, 5), (64, 8), (50, 9), (600, 130), (4096, 75), (30, 2000)):
        a = r.normal(size=(n, m)).astype(real.replace("f", "float"))
        at = r.integers(0, n, 40)
        save("a", a)
        save("at", at)
        z = np.fft.fft((a[:, ::-1] + 1j * np.roll(a, -1, 0)).T, axis=1)[:, at]
        want = 2 * z.real - z.imag
        for width in {m, (m + 1) // 2, 0}:
            bits = []
            for threads in (1, 2, 3):
                p = gridloom("run", *arguments(width), "-o", "out.npy", "--threads", str(threads))
                assert p.returncode == 0, p.stderr
                bits.append(np.load(os.path.join(TMP, "out.npy")))
            assert bits[0].shape == ((width, 40) if width else (0, 0)), bits[0].shape  # an array without rows has no columns
            off = np.abs(bits[0] - want[:width]).max() / np.abs(want).max() if width else 0
            assert off < tolerance, (real, n, m, width, off)
            assert all((b == bits[0]).all() for b in bits), (real, n, m, width)

# Rows that are not there, and an index that is not: the first error in the order of the program, whatever goes by rows.
save("a", r.normal(size=(600, 130)))
for width, bad in ((131, None), (130, 600), (130, -1), (70, 600), (131, 600)):
    at = r.integers(0, 600, 40)
    if bad is not None:
        at[17] = bad
    save("at", at)
    said = [gridloom(what, *arguments(width), "-o", "out.npy") for what in ("eval", "run")]
    assert said[0].returncode == said[1].returncode != 0, [p.stderr for p in said]
    errors = [[line for line in p.stderr.splitlines() if "error" in line] for p in said]
    assert errors[0] and errors[0][0].split("error")[1] == errors[1][0].split("error")[1], errors
print("ok")
