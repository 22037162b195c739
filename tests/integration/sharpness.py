#!/usr/bin/python3
"""Of values of tests/corpus that were regular in each of 100 random runs, less than one in twenty is called irregular; what its
programs say of themselves holds."""
# timeout: 900
# tier: ci
import os, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = [sys.executable, os.path.join(ROOT, "tests", "sharpness"), "--bin", os.environ["GRIDLOOM_BIN"]]

p = subprocess.run(TOOL + ["--runs", "100", "--most", "5"], capture_output=True, text=True)
print(p.stdout.strip().split("\n")[-1])
if p.returncode:
    sys.exit(p.stdout + p.stderr)
# It would tell: no share is less than -1 %.
p = subprocess.run(TOOL + ["--runs", "3", "--most", "-1", os.path.join(ROOT, "tests", "corpus", "triangles.weft")], capture_output=True, text=True)
if p.returncode != 1 or not p.stdout.startswith("triangles.weft: 0 of "):
    sys.exit("triangles alone: exit %d: %s%s" % (p.returncode, p.stdout, p.stderr))
p = subprocess.run([os.path.join(os.environ["GRIDLOOM_BIN"], "gridloom"), "test", "--interpreted", os.path.join(ROOT, "tests", "corpus")],
                   capture_output=True, text=True)
if p.returncode:
    sys.exit(p.stdout + p.stderr)
print("ok")
