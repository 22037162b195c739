#!/usr/bin/python3
"""tests/programs/nested: nested and irregular parallelism in the part of the language that is Futhark's too, run by their own test
blocks, interpreted and compiled. What they expect was computed by plain Python programs, independent of ours."""
# timeout: 600
# sanitize: asan
import os, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "tests/programs/nested")
p = subprocess.run([os.path.join(os.environ["GRIDLOOM_BIN"], "gridloom"), "test", FOLDER, "--timeout", "60"], capture_output=True, text=True)
lines = p.stdout.splitlines()
programs = len([f for f in os.listdir(FOLDER) if f.endswith(".fut")])
if p.returncode or programs < 20 or len(lines) != programs + 1 or any(" 0 passed" in line or "skipped" in line for line in lines):
    print(p.stdout + p.stderr)
    sys.exit(1)
print("%s\nok" % lines[-1])
