#!/usr/bin/python3
"""tests/oracle/run_cases.py itself: a case whose archive is missing, or which accepts any words of a refusal, has failed."""
# timeout: 60
import json
import os
import shutil
import subprocess
import sys
import tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "cases_runner")
OPTIONS = {"size": 8, "scale_arcsec": 20.0, "column": "DATA", "field": 0, "spw": -1, "channels": ":"}
REFUSE = {"expect": "refuse", "words": ["no such thing"], "tgz": "a.tgz"}

# name, what the case says, passes
CASES = [
    ("good", REFUSE, True),
    ("without_archive", dict(REFUSE, tgz=None), True),
    ("other_words", dict(REFUSE, words=["something else"]), False),
    ("no_words", dict(REFUSE, words=[]), False),
    ("missing_archive", dict(REFUSE, tgz="b.tgz"), False),
    ("unnamed_archive", {k: v for k, v in REFUSE.items() if k != "tgz"}, False),
    ("also_acceptable", dict(REFUSE, expect="image", words=None, also_acceptable={"expect": "refuse", "words": ["thing"]}), True),
    ("also_other_words", dict(REFUSE, expect="image", words=None, also_acceptable={"expect": "refuse", "words": ["else"]}), False),
    ("also_no_words", dict(REFUSE, expect="image", words=None, also_acceptable={"expect": "refuse"}), False),
    ("image_refused", dict(REFUSE, expect="image"), False),
]


def passes(*names):
    p = subprocess.run([sys.executable, os.path.join(ROOT, "tests/oracle/run_cases.py"), TMP, os.path.join(TMP, "refuses")] + list(names),
                       capture_output=True, text=True)
    return p.returncode == 0


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    os.makedirs(TMP)
    with open(os.path.join(TMP, "refuses"), "w") as f:
        f.write("#!/bin/sh\necho 'error: no such thing' >&2\nexit 65\n")
    os.chmod(os.path.join(TMP, "refuses"), 0o755)
    with tarfile.open(os.path.join(TMP, "a.tgz"), "w:gz"):
        pass
    cases = [dict(case, name=name, file="a.ms", awkward="", options=OPTIONS) for name, case, _ in CASES]
    with open(os.path.join(TMP, "cases.json"), "w") as f:
        json.dump({"cases": cases}, f)
    failed = [name for name, _, good in CASES if passes(name) != good]
    if passes("no_such_case"):
        failed.append("no_such_case")
    shutil.rmtree(TMP)
    print("failed: " + ", ".join(failed) if failed else "ok")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
