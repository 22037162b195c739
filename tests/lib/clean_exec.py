#!/usr/bin/python3
"""Runs a command with a time limit and sees to it that no process of it stays behind.

usage: clean_exec.py SECONDS COMMAND...
Signals that whoever started the tests has set to be ignored (a shell does, of what it runs in the background) have their
usual effect again. Exit status: the command's; 124 where time ran out; 125 where it ended and left processes running. Descendants are found
by a variable in their environment, so those that started a session of their own are seen too; what is left is killed.
"""
import os
import signal
import subprocess
import sys
import time
import uuid


def descendants(mark):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open("/proc/%s/environ" % entry, "rb") as f:
                if mark not in f.read().split(b"\0"):
                    continue
            with open("/proc/%s/cmdline" % entry, "rb") as f:
                found.append((int(entry), f.read().replace(b"\0", b" ").decode(errors="replace").strip()))
        except OSError:
            continue
    return [(pid, line) for pid, line in found if line]  # without a command line it is a zombie


def end(mark):
    for sign in (signal.SIGTERM, signal.SIGKILL):
        for pid, _ in descendants(mark):
            try:
                os.kill(pid, sign)
            except OSError:
                pass
        for _ in range(30):
            if not descendants(mark):
                return
            time.sleep(0.1)


def usual_signals():
    for sign in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(sign, signal.SIG_DFL)


def main():
    limit, command = float(sys.argv[1]), sys.argv[2:]
    token = uuid.uuid4().hex
    mark = ("LOOM_TEST_PROCESS=" + token).encode()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=dict(os.environ, LOOM_TEST_PROCESS=token),
                             preexec_fn=usual_signals)
    try:
        code = child.wait(limit)
    except subprocess.TimeoutExpired:
        print("time is out after %g s; still running:" % limit, file=sys.stderr)
        for pid, line in descendants(mark):
            print("  %d %s" % (pid, line[:200]), file=sys.stderr)
        end(mark)
        child.wait()
        sys.exit(124)
    finally:
        if child.poll() is None:
            end(mark)
    # Daemons have two seconds to end after their command did.
    for _ in range(20):
        left = descendants(mark)
        if not left:
            break
        time.sleep(0.1)
    if left:
        print("left running after the end:", file=sys.stderr)
        for pid, line in left:
            print("  %d %s" % (pid, line[:200]), file=sys.stderr)
        end(mark)
        sys.exit(125 if code == 0 else code)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
