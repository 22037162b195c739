#!/usr/bin/python3
"""Help, version, manual pages and unknown commands."""
# sanitize: asan
import os
import re
import shutil
import signal
import subprocess
import sys

GRIDLOOM = os.path.join(os.environ["GRIDLOOM_BIN"], "gridloom")
TMP = os.path.join(os.environ["LOOM_TMP"], "cli_help")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMANDS = "image predict simulate run eval profile bench test check fmt explain cache status cancel workers".split()


def run(*arguments):
    return subprocess.run([GRIDLOOM] + list(arguments), capture_output=True, text=True, timeout=60)


def service_without_workers():
    """$GRIDLOOM_CONNECT counts for `run`, which says that it waits; the daemon takes its socket away."""
    socket = os.path.join(TMP, "socket")
    endpoint = "ipc://" + socket
    daemon = subprocess.Popen([os.path.join(os.environ["GRIDLOOM_BIN"], "gridloomd"), "--listen", endpoint, "--store",
                               os.path.join(TMP, "store")], stderr=subprocess.DEVNULL)
    program = os.path.join(TMP, "one.weft")
    with open(program, "w") as f:
        f.write("entry main : i64 = 1\n")
    job = subprocess.Popen([GRIDLOOM, "run", program], stderr=subprocess.PIPE, text=True,
                           env=dict(os.environ, GRIDLOOM_CONNECT=endpoint))
    try:
        said = job.stderr.readline()
        assert "waiting for a worker" in said and endpoint in said, said
        assert os.path.exists(socket)
        job.send_signal(signal.SIGINT)
        assert job.wait(timeout=60) == 130
        daemon.terminate()
        assert daemon.wait(timeout=60) == 0 and not os.path.exists(socket)
    finally:
        job.kill()
        daemon.kill()


def nobody_answers():
    """What is waited for is told before the wait is over; nothing where it should be quiet."""
    endpoint = "ipc://" + os.path.join(TMP, "nobody")
    p = subprocess.Popen([GRIDLOOM, "status", "--connect", endpoint], stderr=subprocess.PIPE, text=True)
    line = p.stderr.readline()
    assert line.startswith("waiting for a daemon at " + endpoint) and p.poll() is None, line
    assert "does not answer" in p.stderr.read() and p.wait() == 69
    with open(os.path.join(TMP, "one.weft"), "w") as f:
        f.write("entry main : i64 = 1\n")
    p = run("run", os.path.join(TMP, "one.weft"), "--connect", endpoint, "--quiet")
    assert p.returncode == 69 and p.stderr.startswith("error: "), p


def main():
    shutil.rmtree(TMP, ignore_errors=True)
    os.makedirs(TMP)
    p = run("--version")
    assert p.returncode == 0 and p.stdout.startswith("gridloom 0."), p
    version = p.stdout.split()[1]
    for program in ("gridloom", "gridloomd", "gridloom-worker", "gridloom-compile"):
        p = subprocess.run([os.path.join(os.environ["GRIDLOOM_BIN"], program), "--version"], capture_output=True, text=True)
        assert p.returncode == 0 and p.stdout == "%s %s\n" % (program, version), p
    assert run("image", "--version").stdout == "gridloom %s\n" % version
    for ask in (["--help"], ["help"], ["-h"], ["help", "help"]):
        p = run(*ask)
        assert p.returncode == 0 and all("  " + c in p.stdout for c in COMMANDS), p
    for c in COMMANDS:
        p, q = run(c, "--help"), run("help", c)
        assert p.returncode == 0 and p.stdout == q.stdout and p.stdout.startswith("usage: gridloom " + c), (c, p)
        assert max(len(line) for line in p.stdout.splitlines()) <= 120, c
    p = run("help", "--man-pages", TMP)
    assert p.returncode == 0, p
    for name in ["gridloom-%s.1" % c for c in COMMANDS] + ["gridloom.1", "gridloomd.1", "gridloom-worker.1"]:
        with open(os.path.join(TMP, name)) as a, open(os.path.join(ROOT, "docs/man", name)) as b:
            assert a.read() == b.read(), "docs/man/%s is not what 'gridloom help --man-pages docs/man' writes" % name
    with open(os.path.join(TMP, "gridloom.1")) as a, open(os.path.join(ROOT, "docs/commands.md")) as b:
        page, table = a.read(), b.read()
    exits = dict(re.findall(r"\.TP\n(\d+)\n(.*)\n", page.split(".SH EXIT STATUS")[1].split(".SH")[0]))
    documented = {c: t.replace("`", "") for c, t in re.findall(r"\n\| (\d+) \| (.*) \|", table)}
    assert len(exits) > 10 and {c: t.replace("\\-", "-") for c, t in exits.items() if c != "0"} == documented, (exits, documented)
    with open(os.path.join(ROOT, "docs/errors.md")) as f:
        assert f.read() == run("help", "--errors").stdout, "docs/errors.md is not what 'gridloom help --errors' writes"
    p, q = run("help", "W0301"), run("help", "301")
    assert p.returncode == 0 and p.stdout == q.stdout and p.stdout.startswith("W0301: "), p
    p = run("help", "W0300")
    assert p.returncode == 64 and "no error has the code" in p.stderr and "--errors" in p.stderr, p
    for wrong in ([], ["imgae"], ["help", "imgae"], ["image", "--nothing"], ["cancel"], ["status"]):
        p = run(*wrong)
        assert p.returncode == 64 and "error: " in p.stderr and not p.stdout, (wrong, p)
    assert "did you mean 'image'" in run("imgae").stderr
    wrong = [os.path.join(TMP, n) for n in ("a.weft", "b.weft", "c.weft")]
    for path, text in zip(wrong, ("entry a = 1 +\n", "entry b (x: i64) = x\n", "def c = (1\n")):
        with open(path, "w") as f:
            f.write(text)
    p = run("fmt", *wrong)
    assert p.returncode == 65 and "a.weft:1:" in p.stderr and "c.weft:1:" in p.stderr and p.stdout == "entry b (x: i64) = x\n", p
    nobody_answers()
    p = subprocess.run("%s image --help > /dev/full" % GRIDLOOM, shell=True, capture_output=True, text=True)
    assert p.returncode == 74, p
    service_without_workers()
    shutil.rmtree(TMP)
    print("ok")


if __name__ == "__main__":
    sys.exit(main())
