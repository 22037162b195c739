#!/usr/bin/python3
"""Every tests/programs/*.weft: `run` equals `eval` for every block length, the parts of the result are what the program's
comments say, and the program is compiled unless they say otherwise.

Comments: `-- input:`, `-- lengths:`, `-- sizes:`, `-- rows:`, `-- blocks:` as tests/weftgen/case.py reads them;
`-- expect: VALUE` or `-- expect: PART = VALUE`, a part of the result; `-- expect: error WORDS`, what eval and run say;
`-- interpreted: WORDS`, the remark of a program that is not compiled; `-- memory: BYTES TRAVERSALS`, with as much memory for the
worker it takes as many traversals, and the result is the same to the last bit."""
# timeout: 600
import glob
import json
import os
import random
import re
import sys
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from weftgen.case import eval_list, parse
from weftgen.farm import Farm, difference


def expected(case, text, why):
    """What of the result, or of the error, is not as the comments say."""
    leaves = [leaf for leaf, _, _ in case.result.leaves()]
    for line in re.findall(r"^-- expect: (.*)$", text, re.M):
        if line.startswith("error"):
            if case.want is not None or line[6:] not in why:
                return "expected an error with '%s': %s" % (line[6:], why)
            continue
        part, _, value = line.rpartition(" = ") if " = " in line else ("", "", line)
        if case.want is None:
            return why
        want = case.want[leaves.index(part)][0]
        wrong = difference(np.array(eval_list(value), want.dtype).reshape(want.shape), want, 1e-5)
        if wrong:
            return "eval, part '%s': %s" % (part, wrong)
    if case.want is None and "-- expect: error" not in text:
        return why
    return None


def in_little_memory(farm, case, memory, traversals):
    """What is not as in the run before, which had memory for everything."""
    before, (words, paths) = case.outputs(farm.folder, "got")[1], case.outputs(farm.folder, "got_little")
    stats = os.path.join(farm.folder, "stats.json")
    for block in case.blocks:
        code, said = farm.call(["run"] + case.write(farm.folder) + words + ["--memory", memory, "--block", str(block), "--stats", stats,
                                                                            "--threads", "2", "--quiet"])
        if code:
            return "with %s: exit code %d: %s" % (memory, code, said[-300:])
        for path, want in zip(paths, before):
            with open(path, "rb") as a, open(want, "rb") as b:
                if a.read() != b.read():
                    return "with %s, block %d, %s differs" % (memory, block, os.path.basename(path))
        with open(stats) as f:
            made = json.load(f)["traversals"]
        if made != int(traversals):
            return "with %s: %d traversals, not %s" % (memory, made, traversals)
    return None


def fails_too(farm, case, words):
    """What is not an error with those words when the program is run, as it is in eval."""
    for block in case.blocks:
        code, said = farm.run(case.write(farm.folder) + case.outputs(farm.folder, "got")[0], block)
        if code != 65 or words not in said:
            return "run, block %d: expected an error with '%s': exit code %d: %s" % (block, words, code, said[-300:])
    return None


def check(farm, path):
    with open(path) as f:
        text = f.read()
    case = parse(text, random.Random(1))
    why = case.check(farm)
    if why and not why.startswith("skip"):
        return why
    wrong = expected(case, text, why)
    for words in re.findall(r"^-- expect: error (.*)$", text, re.M):
        wrong = wrong or fails_too(farm, case, words)
    if wrong:
        return wrong
    for memory, traversals in re.findall(r"^-- memory: (\S+) (\d+)$", text, re.M):
        wrong = in_little_memory(farm, case, memory, traversals)
        if wrong:
            return wrong
    remarks = "; ".join(sorted(case.remarks))
    allowed = re.findall(r"^-- interpreted: (.*)$", text, re.M)
    if bool(allowed) != bool(remarks) or any(a not in remarks for a in allowed):
        return "remarks: %s" % (remarks or "none, expected one")
    return None


def main():
    farm, failed = Farm(os.environ["GRIDLOOM_BIN"]), False
    paths = sys.argv[1:] or sorted(glob.glob(os.path.join(ROOT, "tests/programs/*.weft")))
    try:
        for path in paths:
            why = check(farm, path)
            if why:
                print("%s: %s" % (os.path.basename(path), why))
                failed = True
    finally:
        farm.stop()
    print("%d programs" % len(paths))
    if failed:
        sys.exit(1)
    print("ok")


main()
