#!/usr/bin/python3
"""The generator of programs (tests/weftgen): a seed makes the same program again, each part of the language that it lists occurs
among a thousand programs, and those that it makes are well typed. Where eval and run both fail, their errors are held against each
other."""
# timeout: 300
import os
import random
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from weftgen.case import differ, error_of
from weftgen.coverage import Coverage
from weftgen.trial import made_by

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "weftgen")
PROGRAMS, CHECKED = 1200, 80


def errors_compared():
    """An error may be another one than eval's, but not another one at the same place, nor one without a code."""
    at = lambda place, code: "remark: p.weft:9:9: interpreted\nerror: %sindex 3 is outside [0, 3)%s\n  hint: none\n" % (
        place and "/x/p.weft:%s: " % place, code and " [%s]" % code)
    want, wrong = at("2:17", "W1001"), []
    if error_of(want) != ("2:17", "W1001") or error_of(at("", "W1010")) != (None, "W1010") or error_of("error: lost") != (None, None):
        wrong.append("errors are not read as they stand")
    for ran, same in ((want, True), (at("3:1", "W1004"), True), (at("", "W1010"), True), (at("2:17", "W1004"), False), (at("2:17", ""), False),
                      ("error: lost\n", False)):
        if (differ(want, ran) is None) != same:
            wrong.append("errors compared: %r" % ran)
    return wrong


def main():
    os.makedirs(TMP, exist_ok=True)
    failed, coverage, ill_typed = [], Coverage(), []
    for seed in range(PROGRAMS):
        case, _ = made_by(random.Random(seed))
        coverage.add(case)
        if seed >= CHECKED:
            continue
        again, _ = made_by(random.Random(seed))
        if again.text != case.text or again.comments() != case.comments():
            failed.append("seed %d: another program than before" % seed)
        path = os.path.join(TMP, "p.weft")
        with open(path, "w") as f:
            f.write(case.text)
        p = subprocess.run([os.path.join(BIN, "gridloom"), "check", path, "--quiet"], capture_output=True, text=True, timeout=100)
        if p.returncode:
            ill_typed.append("seed %d: %s" % (seed, p.stderr[:400]))
    failed += errors_compared()
    failed += ill_typed if len(ill_typed) > 1 else []
    failed += ["in no program occurs: " + name for name in coverage.missing()]
    print("\n".join(failed) or "ok")
    sys.exit(1 if failed else 0)


main()
