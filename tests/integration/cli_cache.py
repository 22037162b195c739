#!/usr/bin/python3
"""`gridloom cache`: what is in the folder of compiled stages, broken entries, emptying it; programs run all the same."""
# timeout: 120
# sanitize: asan
import json, os, shutil, subprocess, sys
import numpy as np

BIN, TMP = os.environ["GRIDLOOM_BIN"], os.path.join(os.environ["LOOM_TMP"], "cli_cache")
shutil.rmtree(TMP, ignore_errors=True)
os.makedirs(TMP)
ENV = dict(os.environ, XDG_CACHE_HOME=TMP)
FOLDER = os.path.join(TMP, "gridloom")
failed = []


def gridloom(*words):
    return subprocess.run([os.path.join(BIN, "gridloom"), *words], capture_output=True, text=True, env=ENV)


def expect(name, good, what=""):
    print("%s: %s" % (name, "ok" if good else "failed " + str(what)), flush=True)
    if not good:
        failed.append(name)


def look(*words, code=0):
    p = gridloom("cache", *words, "--json")
    if p.returncode != code:
        failed.append("%s: exit code %d: %s" % (words, p.returncode, p.stderr))
        return {}
    return json.loads(p.stdout)


with open(os.path.join(TMP, "p.weft"), "w") as f:
    f.write("entry main (xs: seq f64) : f64 = fold_seq (+) 0.0 (map_seq (\\x -> x * x) xs)\n")
np.save(os.path.join(TMP, "x.npy"), np.arange(10.0))


def run():
    p = gridloom("run", os.path.join(TMP, "p.weft"), "--stream", "xs=" + os.path.join(TMP, "x.npy"), "--quiet")
    return p.returncode == 0 and float(p.stdout) == 285


expect("a folder that is not there", look()["entries"] == 0)
expect("a program", run())
seen = look("stat")
expect("an entry", seen["entries"] == 1 and seen["bytes"] > 100 and seen["used_first"] == seen["used_last"] > 1.7e9, seen)
expect("it is sound", look("verify")["broken"] == 0)
entry = [n for n in os.listdir(FOLDER) if n.endswith(".stage")][0]
with open(os.path.join(FOLDER, entry), "r+b") as f:
    f.seek(200)
    byte = f.read(1)
    f.seek(200)
    f.write(bytes([byte[0] ^ 1]))
expect("a changed entry is found", look("verify", code=65)["broken"] == 1)
expect("and removed", look()["entries"] == 0)
expect("the program again", run() and look()["entries"] == 1)
p = gridloom("cache", "clear")
expect("emptied", p.returncode == 0 and "1 entry" in p.stdout and "removed" in p.stdout and look()["entries"] == 0, p.stdout + p.stderr)
expect("and once more", run())
with open(os.path.join(FOLDER, "notes.txt"), "w") as f:
    f.write("mine")
look("clear")
expect("other files stay", os.path.exists(os.path.join(FOLDER, "notes.txt")))
os.chmod(FOLDER, 0o755)
p = gridloom("cache", "clear")
expect("a folder that others can read", p.returncode == 77 and "hint:" in p.stderr, (p.returncode, p.stderr))
os.chmod(FOLDER, 0o700)
p = gridloom("cache", "burn")
expect("an unknown deed", p.returncode == 64 and "burn" in p.stderr, p.stderr)
p = gridloom("cache", "stat", "clear")
expect("two deeds", p.returncode == 64, p.stderr)
p = gridloom("cache", "--folder", os.path.join(TMP, "x.npy"))
expect("a file", p.returncode == 77, (p.returncode, p.stderr))
if failed:
    sys.exit("\n".join(map(str, failed)))
print("ok")
