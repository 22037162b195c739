#!/usr/bin/python3
"""docs/tutorial.md as a reader follows it: blocks that begin with the name of a file are that file, commands run in their order, and what
they print is what the page says."""
# timeout: 200
import os, re, shutil, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TMP = os.path.join(os.environ["LOOM_TMP"], "tutorial")
shutil.rmtree(TMP, ignore_errors=True)
os.makedirs(TMP)
PATH = os.pathsep.join([os.environ["GRIDLOOM_BIN"], os.path.dirname(sys.executable), os.environ["PATH"]])

with open(os.path.join(ROOT, "docs", "tutorial.md")) as f:
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", f.read(), re.M | re.S)
printed, commands, failed = None, 0, 0
for language, text in blocks:
    if language in ("weft", "python"):
        name = re.match(r"(?:--|#) (\S+)\n", text).group(1)
        with open(os.path.join(TMP, name), "w") as f:
            f.write(text)
        if language == "weft":
            subprocess.run([os.path.join(os.environ["GRIDLOOM_BIN"], "gridloom"), "check", name], cwd=TMP, check=True, stdout=subprocess.DEVNULL)
    elif language == "sh":
        q = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=TMP, capture_output=True, text=True, env=dict(os.environ, PATH=PATH))
        if q.returncode:
            sys.exit("exit %d of:\n%s%s" % (q.returncode, text, q.stderr))
        printed = q.stdout
        commands += 1
    elif text != printed:
        failed += 1
        print("the page says:\n%sbut this is printed:\n%s" % (text, printed))
if commands < 6:
    sys.exit("only %d blocks of commands were found" % commands)
print("failed: %d" % failed if failed else "ok")
sys.exit(1 if failed else 0)
