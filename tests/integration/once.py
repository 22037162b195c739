#!/usr/bin/python3
"""What can be read once only, a pipe or a device, is no stream and no argument: it is refused before anything runs, whether the
program traverses its stream once or twice, with a word on what to do."""
# timeout: 120
import io, os, subprocess, sys
import numpy as np

BIN = os.environ["GRIDLOOM_BIN"]
TMP = os.path.join(os.environ["LOOM_TMP"], "once")
os.makedirs(TMP, exist_ok=True)
PROGRAMS = {
    "one traversal": "entry main (k: i64) (s: seq i64) : i64 = k + fold_seq (+) 0 s",
    "two traversals": "entry main (k: i64) (s: seq i64) : i64 = let m = fold_seq (+) k s in fold_seq (+) 0 (map_seq (\\x -> x - m) s)",
}
buffer = io.BytesIO()
np.save(buffer, np.arange(10))
PIPED = buffer.getvalue()
file, fifo, program = (os.path.join(TMP, name) for name in ("s.npy", "fifo", "p.weft"))
with open(file, "wb") as f:
    f.write(PIPED)
if not os.path.exists(fifo):
    os.mkfifo(fifo)
failed = []


def run(command, *words):
    p = subprocess.run([os.path.join(BIN, "gridloom"), command, program, *words], input=PIPED, capture_output=True, timeout=60,
                       env=dict(os.environ, TMPDIR=TMP))
    return p.returncode, p.stdout.decode(), p.stderr.decode()


for name, text in PROGRAMS.items():
    with open(program, "w") as f:
        f.write(text)
    for command in ("run", "eval"):
        code, out, _ = run(command, "--arg", "k=0", "--stream", "s=" + file)
        if code or not out.strip():
            failed.append("%s, %s of a file: exit code %d" % (name, command, code))
        for path in ("/dev/stdin", fifo, "/dev/zero"):
            code, out, errors = run(command, "--arg", "k=0", "--stream", "s=" + path)
            if code != 66 or out or path not in errors or "pipe or a device" not in errors or "save it to a file" not in errors:
                failed.append("%s, %s of %s: exit code %d: %s%s" % (name, command, path, code, out, errors))
left = [x for x in os.listdir(TMP) if x not in ("s.npy", "fifo", "p.weft")]
if left:
    failed.append("left behind: %s" % left)
for f in failed:
    print("failed:", f)
if failed:
    sys.exit(1)
print("ok")
