"""A daemon of one's own with workers, and tests that run one after another and tell what was seen."""
import json, os, subprocess, sys, time

BIN = os.environ["GRIDLOOM_BIN"]


class Failed(Exception):
    pass


def exe(name):
    return os.path.join(BIN, name)


def ask(command, endpoint):
    q = subprocess.run([exe("gridloom"), command, "--json", "--connect", endpoint], capture_output=True, text=True)
    return json.loads(q.stdout) if q.returncode == 0 else None


def wait_for(what, condition, seconds=100):
    limit = time.monotonic() + seconds
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > limit:
            raise Failed("waited in vain for: " + what)
        time.sleep(0.02)


def expect(said, text):
    if text not in said:
        raise Failed("not seen: " + text)


class Daemon:
    """With one worker, started with options `more`, the daemon with `options`; what they say, down to details, is said()."""

    def __init__(self, folder, *more, options=()):
        self.folder = folder
        self.more = more
        self.options = options

    def __enter__(self):
        self.endpoint = "ipc://" + os.path.join(self.folder, "control")
        self.log = open(os.path.join(self.folder, "log"), "w+")
        self.started = []
        self.spawn("gridloomd", "--listen", self.endpoint, "--store", os.path.join(self.folder, "store"), *self.options)
        wait_for("the daemon", lambda: ask("status", self.endpoint) is not None)
        self.worker(*self.more)
        return self

    def spawn(self, name, *words):
        environment = dict(os.environ, TMPDIR=self.folder, GRIDLOOM_LOG="debug")
        self.started.append(subprocess.Popen([exe(name), *words], stderr=self.log, env=environment))
        return self.started[-1]

    def worker(self, *more):
        n = len(ask("workers", self.endpoint)["workers"])
        w = self.spawn("gridloom-worker", "--connect", self.endpoint, "--threads", "1", *more)
        wait_for("a worker", lambda: len(ask("workers", self.endpoint)["workers"]) > n)
        return w

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def jobs(self):
        return ask("status", self.endpoint)["jobs"]

    def __exit__(self, *_):
        for q in reversed(self.started):
            q.kill()
            q.wait()
        self.log.close()


def run_all(tests):
    """Each by itself; ends the process."""
    failed = []
    for test in tests:
        began = time.monotonic()
        try:
            test()
            print("%s: %.1f s" % (test.__name__, time.monotonic() - began), flush=True)
        except Failed as e:
            print("failed: %s: %s" % (test.__name__, e), flush=True)
            failed.append(test.__name__)
    if failed:
        sys.exit(1)
    print("ok")
