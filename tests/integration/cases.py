#!/usr/bin/python3
"""The awkward observations of tests/data/cases: each gives the image and the counts that cases.json says, or is refused with the
right words and leaves no image."""
# timeout: 900
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GRIDLOOM = os.path.join(os.environ["GRIDLOOM_BIN"], "gridloom")
CASES = os.path.join(ROOT, "tests/data/cases")


def main():
    p = subprocess.run([sys.executable, "-W", "ignore", os.path.join(ROOT, "tests/oracle/run_cases.py"), CASES, GRIDLOOM],
                       capture_output=True, text=True, env=dict(os.environ, TMPDIR=os.environ["LOOM_TMP"]))
    print(p.stdout + p.stderr)
    failed = p.returncode != 0
    print("failed" if failed else "ok")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
