#!/usr/bin/python3
"""The table of kernels in image.weft against direct evaluation: no entry promises less error than there is, none is far off, and
all three parts have one entry for each oversampling and support."""
# tier: ci
import os, re, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/lib"))
import kernel_table

text = open(os.path.join(ROOT, "client/programs/image.weft")).read()


def numbers(name):
    start = text.index("def %s :" % name)
    return eval(re.search(r"=\s*(\[.*?\])\s*(?=def|--)", text[start:], re.S).group(1), {"__builtins__": {}})


oversamplings, errors, shapes = (numbers(n) for n in ("oversamplings", "errors", "shapes"))
assert sorted(oversamplings) == oversamplings and len(oversamplings) == len(errors) == len(shapes)
entries = 0
for over, row, shape in zip(oversamplings, errors, shapes):
    assert len(row) == len(shape) == len(kernel_table.SUPPORTS)
    assert row == sorted(row, reverse=True), "errors at %g" % over
    for support, promised, s in zip(kernel_table.SUPPORTS, row, shape):
        # denser than the search that made the table; rounding leaves a few 1e-16 per cell
        found = kernel_table.error(support, over, s * support, 701, 301)
        assert found <= 1.01 * promised + 1e-14, (over, support, found, promised)
        assert promised < 1.1 * found + 1e-14, (over, support, found, promised)
        entries += 1
assert entries == 14 * len(oversamplings)
print("ok")
