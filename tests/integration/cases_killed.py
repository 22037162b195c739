#!/usr/bin/python3
"""The awkward observations of tests/data/cases once more, from three workers of which one is killed at work: the same images, counts and
refusals."""
# timeout: 1200
# tier: ci
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CASES = os.path.join(ROOT, "tests/data/cases")
KILLS = os.path.join(os.environ["LOOM_TMP"], "kills")


def main():
    if os.path.exists(KILLS):
        os.remove(KILLS)
    p = subprocess.run([sys.executable, "-W", "ignore", os.path.join(ROOT, "tests/oracle/run_cases.py"), CASES,
                        os.path.join(ROOT, "tests/lib/kill_a_worker.py")], capture_output=True, text=True,
                       env=dict(os.environ, TMPDIR=os.environ["LOOM_TMP"], LOOM_KILLS=KILLS))
    print(p.stdout + p.stderr)
    with open(KILLS) as f:
        runs = [line.split() for line in f]
    images = [again for _, again in runs if again != "-"]
    bitten = sum(int(again) > 0 for again in images)
    print("%d images, %d with a worker killed, %d with blocks done again" % (len(images), sum(k == "True" for k, a in runs if a != "-"), bitten))
    failed = p.returncode != 0
    if bitten < len(images) / 4:
        failed = True
        print("failed: too few of the kills cost anything")
    print("failed" if failed else "ok")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
