#!/usr/bin/python3
"""group_seq forever, and streams from standard input. Results come out while the input goes on, in order, each group once; late
elements are left out and counted; the interpreter has the same results and counts; workers that are killed change nothing. What has no
windows, keys that jump, and frames that are broken are refused."""
# timeout: 300
# sanitize: asan
import json, os, re, signal, subprocess, sys, threading, time
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
from a_daemon import Daemon, Failed, exe, run_all, wait_for

TMP = os.path.join(os.environ["LOOM_TMP"], "forever")
os.makedirs(TMP, exist_ok=True)
ENVIRONMENT = dict(os.environ, TMPDIR=TMP)
ACCOUNT = re.compile(r"elements: (\d+) received = (\d+) used \+ (\d+) late \+ (\d+) in no group(?:; (\d+) of)?")


def path(name):
    return os.path.join(TMP, name)


def program(name, text):
    with open(path(name), "w") as f:
        f.write(text)
    return path(name)


COUNTS = program("counts.weft", """type sample = {t: i64, x: f64}
entry main (s: seq sample) : seq (i64, i64, f64) =
  group_seq forever (\\v -> [v.t / 10]) s (\\k ys ->
    (k, fold_seq (+) 0 (map_seq (\\_ -> 1i64) ys), fold_seq (+) 0 (map_seq (.x) ys)))
""")
# Overlapping windows of what a filter leaves; a body that is a chain; results that are filtered and numbered.
OVERLAP = program("overlap.weft", """type sample = {t: i64, x: f64}
entry main (scale: f64) (s: seq sample) : seq (i64, f64, i64) =
  let kept = map_seq (\\v -> (v.t, v.x * scale)) (filter_seq (\\v -> v.x > 3) s)
  let spans = group_seq forever (\\(t, _) -> [t / 8, t / 8 - 1]) kept (\\k ys ->
    (k, chain_seq 1 (\\a (_, x) -> a / 2 + x) ys))
  in filter_seq (\\(_, _, i) -> i % 5 != 2) (map_seq (\\(i, (k, x)) -> (k, x, i)) (enumerate_seq spans))
""")
# What is no result of the entry as it is: as a whole, by one worker.
WITHIN = program("within.weft", """type sample = {t: i64, x: f64}
entry main (s: seq sample) : (i64, f64) =
  let g = group_seq forever (\\v -> [v.t / 10]) s (\\k ys -> (1i64, fold_seq max (-inf) (map_seq (.x) ys)))
  in fold_seq (\\(n, x) (m, y) -> (n + m, max x y)) (0, -inf) g
""")
SAMPLE = np.dtype([("t", "<i8"), ("x", "<f8")])


def samples(n, seed, late=0.1):
    """Forwards in time, some too late by up to 40 steps, some before the beginning."""
    r = np.random.default_rng(seed)
    a = np.zeros(n, SAMPLE)
    a["t"] = np.sort(r.integers(0, n, n)) - np.where(r.random(n) < late, r.integers(0, 40, n), 0)
    a["x"] = np.floor(r.random(n) * 1000)
    return a


def save(a):
    for name in a.dtype.names:
        np.save(path("s.%s.npy" % name), a[name])
    return ["--stream", "s.t=" + path("s.t.npy"), "--stream", "s.x=" + path("s.x.npy")]


def call(command, text, *words, data=b""):
    p = subprocess.run([exe("gridloom"), command, text, *words], input=data, capture_output=True, timeout=200, env=ENVIRONMENT)
    return p.returncode, p.stdout, p.stderr.decode()


def good(*words, **more):
    code, out, errors = call(*words, **more)
    if code:
        raise Failed("%s: exit %d: %s" % (" ".join(words[:2]), code, errors))
    return out, errors


def told_and_failed(code, part, *words, **more):
    """What came out, and what was said."""
    got, out, errors = call(*words, **more)
    if got != code or part not in errors:
        raise Failed("%s: exit %d, expected %d with '%s': %s" % (words, got, code, part, errors))
    return out, errors


def refused(code, part, *words, **more):
    out, errors = told_and_failed(code, part, *words, **more)
    if out:
        raise Failed("%s: %s came out: %s" % (words, out, errors))


def account(errors):
    found = ACCOUNT.search(errors)
    if not found:
        raise Failed("no account: " + errors)
    received, used, late, outside, partly = (int(x or 0) for x in found.groups())
    if received != used + late + outside:
        raise Failed("elements are lost: " + errors)
    return received, used, late, outside, partly


def model(a, lag):
    """Groups of COUNTS, and the account."""
    newest, groups, late, outside = -1, {}, 0, 0
    for t, x in a:
        k = int(t) // 10
        if k < 0:
            outside += 1
        elif k < newest - lag:
            late += 1
        else:
            groups.setdefault(k, []).append(x)
        newest = max(newest, k)
    lines = [(k, len(groups.get(k, [])), sum(groups.get(k, []))) for k in range(newest + 1)]
    return lines, (len(a), len(a) - late - outside, late, outside, 0)


def lines_of(out):
    return [tuple(float(x) for x in line.split()) for line in out.decode().splitlines()]


def check(got, want, what):
    if got != want:
        at = next((i for i, (x, y) in enumerate(zip(got, want)) if x != y), min(len(got), len(want)))
        raise Failed("%s: %d lines, expected %d; they differ at %d: %s" % (what, len(got), len(want), at, got[at:at + 2]))


def groups_and_account_are_those_of_the_definition():
    a = samples(3000, 1)
    files = save(a)
    for lag in (0, 2, 7):
        lines, counts = model(a, lag)
        out, errors = good("run", COUNTS, "--lag", str(lag), "--stream", "s=-", "--stats", path("stats.json"), data=a.tobytes())
        check(lines_of(out), lines, "frames, lag %d" % lag)
        if account(errors) != counts:
            raise Failed("lag %d: %s, expected %s" % (lag, account(errors), counts))
        with open(path("stats.json")) as f:
            w = json.load(f)["windows"]
        if (w["received"], w["used"], w["late"], w["outside"], w["partly_late"]) != counts:
            raise Failed("the statistics say %s, expected %s" % (w, counts))
        for command in ("run", "eval"):
            outputs = [w for k in "012" for w in ("-o", "%s=%s" % (k, path(k + ".npy")))]
            _, errors = good(command, COUNTS, "--lag", str(lag), *files, *outputs)
            check(list(zip(*(np.load(path(k + ".npy")) for k in "012"))), lines, "%s of files, lag %d" % (command, lag))
            if account(errors) != counts:
                raise Failed("%s, lag %d: %s, expected %s" % (command, lag, account(errors), counts))
    if counts[2] or not model(a, 0)[1][2]:
        raise Failed("the test has no late elements, or too many")


def overlapping_windows_as_the_interpreter_has_them():
    a = samples(2500, 2)
    files = save(a)
    for lag in (0, 1, 4):
        words = ("--lag", str(lag), "--arg", "scale=0.5", "-o", "-")
        want, told = good("eval", OVERLAP, *words, *files)
        for what, more in (("files", files), ("small blocks", files + ["--block", "37"]), ("frames", ["--stream", "s=-"])):
            got, errors = good("run", OVERLAP, *words, *more, data=a.tobytes())
            if got != want or account(errors) != account(told):
                raise Failed("%s, lag %d: %d bytes, expected %d; %s, expected %s"
                             % (what, lag, len(got), len(want), account(errors), account(told)))
        got, _ = good("eval", OVERLAP, *words, "--stream", "s=-", data=a.tobytes())
        if got != want:
            raise Failed("the interpreter of frames, lag %d" % lag)
    if not account(told)[4]:
        raise Failed("no element was late for one of its groups")


def within_a_program_as_a_whole():
    files = save(samples(2000, 3))
    for lag in ("0", "3"):
        want, _ = good("eval", WITHIN, "--lag", lag, *files)
        got, _ = good("run", WITHIN, "--lag", lag, *files)
        if got != want or not want:
            raise Failed("lag %s: %s, expected %s" % (lag, got, want))


def no_elements_and_one():
    each = program("all.weft", "entry main (s: seq f64) : seq f64 = map_seq (* 2) s")
    for n in (0, 1):
        a = np.zeros(n, SAMPLE)
        files = save(a)
        want, errors = good("eval", COUNTS, "-o", "-", *files)
        told = [errors] + [good(command, each, "--stream", "s=-", data=a["x"].tobytes())[1] for command in ("run", "eval")]
        if any(account(x) != (n, n, 0, 0, 0) for x in told):
            raise Failed("%d elements: %s" % (n, told))
        for words in (files, ["--stream", "s=-"]):
            got, errors = good("run", COUNTS, "-o", "-", *words, data=a.tobytes())
            if got != want or len(got) != 24 * n or account(errors)[0] != n:
                raise Failed("%d elements: %r, expected %r" % (n, got, want))


RAGGED = program("ragged.weft", """type row = {t: i64, xs: []f32, freq: []f64, on: bool}
entry main (c: i64) (s: seq row) : seq (i64, []f64, []f32) =
  let on = filter_seq (.on) s
  in group_seq forever (\\v -> [v.t]) on (\\k ys ->
    (k, fold_seq (zip_with (+)) (replicate c 0) (map_seq (.freq) ys), from_seq (map_seq (\\v -> sum v.xs) ys)))
""")


def frames_of_arrays():
    r = np.random.default_rng(5)
    data, want = b"", b""
    for t in range(60):
        freq, sums = np.zeros(3), []
        for _ in range(r.integers(0, 4) if t < 59 else 1):
            xs, f, on = np.floor(r.random(r.integers(0, 6)) * 9).astype("<f4"), np.floor(r.random(3) * 9), t == 59 or bool(r.integers(0, 2))
            data += np.int64(t).tobytes() + np.int64(len(xs)).tobytes() + xs.tobytes() + np.int64(3).tobytes() + f.tobytes() + bytes([5 * on])
            if on:
                freq, sums = freq + f, sums + [xs.sum()]
        want += np.int64(t).tobytes() + np.int64(3).tobytes() + freq.tobytes() + np.int64(len(sums)).tobytes() + np.array(sums, "<f4").tobytes()
    got, _ = good("run", RAGGED, "--arg", "c=3", "--stream", "s=-", "-o", "-", data=data)
    if got != want:
        raise Failed("%d bytes, expected %d" % (len(got), len(want)))


class Live:
    """A run with an input of which the test decides when it comes."""

    def __init__(self, *words, **environment):
        self.p = subprocess.Popen([exe("gridloom"), "run", *words, "--stream", "s=-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=dict(ENVIRONMENT, **environment))
        self.lines = []
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in iter(self.p.stdout.readline, b""):
            self.lines.append(line)

    def put(self, a):
        self.p.stdin.write(a if isinstance(a, bytes) else a.tobytes())
        self.p.stdin.flush()

    def end(self):
        self.p.stdin.close()
        self.reader.join(200)
        errors = self.p.stderr.read().decode()
        if self.p.wait(100):
            raise Failed("exit %d: %s" % (self.p.returncode, errors))
        return b"".join(self.lines), errors


def results_come_out_while_the_input_goes_on():
    a = samples(600, 6)
    lines, counts = model(a, 2)
    live = Live(COUNTS, "--lag", "2", "--quiet")
    for at in range(0, len(a), 100):
        live.put(a[at:at + 100])
        closed = max(int(max(a["t"][:at + 100])) // 10 - 2, 0)
        wait_for("%d groups" % closed, lambda: len(live.lines) >= closed)
        time.sleep(0.05)
        if len(live.lines) != closed:
            raise Failed("%d groups came out where %d are closed" % (len(live.lines), closed))
    out, errors = live.end()
    check(lines_of(out), lines, "all in all")
    if errors:
        raise Failed("--quiet says: " + errors)


def elements_come_out_one_by_one():
    text = program("each.weft", "entry main (s: seq f64) : seq (i64, f64) = filter_seq (\\(_, x) -> x > 2) (enumerate_seq (map_seq (* 2) s))")
    live = Live(text)
    for i in range(3):
        live.put(np.arange(4.0) + i)
        n = sum(2 * (x % 4 + x // 4) > 2 for x in range(4 * (i + 1)))
        wait_for("%d elements" % n, lambda: len(live.lines) >= n)
    out, errors = live.end()
    check(lines_of(out), [(4 * i + k, 2.0 * (k + i)) for i in range(3) for k in range(4) if k + i > 1], "elements")


def workers_are_killed():
    """Mid-way through jobs: the result is the same, and blocks were leased again or the jobs waited."""
    a = samples(40000, 7, late=0.02)
    lines, counts = model(a, 1)
    with Daemon(TMP) as d:
        live = Live(COUNTS, "--lag", "1", "--connect", d.endpoint, "--block", "50", "--stats", path("killed.json"))
        workers, hits = [d.started[1]], 0
        try:
            for at in range(0, len(a), 4000):
                live.put(a[at:at + 4000])
                wait_for("a job", lambda: d.jobs() or len(live.lines) >= int(a["t"][at + 3999]) // 10 - 6, 20)
                hits += bool(d.jobs())
                workers[-1].kill()
                workers.append(d.worker())
            out, errors = live.end()
        finally:
            live.p.kill()
        check(lines_of(out), lines, "with %d workers killed" % (len(workers) - 1))
        if account(errors) != counts:
            raise Failed("%s, expected %s" % (account(errors), counts))
        if not hits:
            raise Failed("no worker was killed at work")


def interrupted():
    """The usual end of an endless run: it tells what became of the elements, and what it took."""
    a, stats = samples(100, 8, late=0), path("interrupted.json")
    live = Live(COUNTS, "--stats", stats)
    live.put(a)
    newest = int(max(a["t"])) // 10
    wait_for("all groups but the newest", lambda: len(live.lines) >= newest)
    live.p.send_signal(signal.SIGINT)
    if live.p.wait(30) != 130:
        raise Failed("exit %d" % live.p.returncode)
    live.p.stdin.close()
    live.reader.join(20)
    errors = live.p.stderr.read().decode()
    still_open = sum(a["t"] // 10 >= newest)
    if account(errors) != (100, 100, 0, 0, 0) or "%d of the elements used were in groups that had not" % still_open not in errors:
        raise Failed("%d elements were open: %s" % (still_open, errors))
    with open(stats) as f:
        if json.load(f)["windows"]["received"] != 100:
            raise Failed("the statistics are not of all elements")


def what_came_before_an_error_comes_out():
    a = samples(100, 9, late=0)
    lines, counts = model(a, 0)
    out, errors = told_and_failed(65, "ends inside element 100, after 3 bytes", "run", COUNTS, "--stream", "s=-", data=a.tobytes() + b"123")
    check(lines_of(out), lines[:-1], "an input that is cut")
    if account(errors) != counts or "groups that had not come out" not in errors:
        raise Failed("no account of an input that is cut: " + errors)


def options_of_jobs_are_those_of_all():
    """What is counted is that of all stretches and groups, and what is forced is so in each."""
    a = samples(1500, 10)
    files, work = save(a), path("work.json")

    def counted(*words):
        out, errors = good(*words, "-o", "-", "--count-work", work, data=a.tobytes())
        with open(work) as f:
            found = json.load(f)
        os.remove(work)
        return out, found

    want, by_interpreter = counted("eval", COUNTS, *files)
    for words in (files, ["--stream", "s=-"]):
        for forced in ((), ("--force", "schedule=flat")):
            got, found = counted("run", COUNTS, *words, *forced)
            least = by_interpreter["evaluations"] // 4
            if got != want or found["evaluations"] < least or not found["peak_bytes"] or not found["actions"]:
                raise Failed("%s %s: %s, the interpreter has %s" % (words[-1], forced, found, by_interpreter))
            if found["evaluations"] != sum(x["evaluations"] for x in found["actions"]):
                raise Failed("the work of actions is not that of the run: %s" % found)


SUMS = program("sums.weft", "entry main (s: seq []f64) : seq f64 = map_seq sum s")
OF_GROUPS = program("of_groups.weft", """type row = {t: i64, xs: []f64}
entry main (s: seq row) : seq f64 =
  group_seq forever (\\v -> [v.t]) s (\\k ys -> fold_seq (+) 0 (map_seq (\\v -> sum v.xs) ys))
""")


def rows_of_other_lengths_are_not_compiled_anew():
    for text, ahead in ((SUMS, lambda t: b""), (OF_GROUPS, lambda t: np.int64(t).tobytes())):
        cache = path("cache-" + os.path.basename(text))
        live, compiled, n = Live(text, "--quiet", XDG_CACHE_HOME=cache), [], 0
        for t in range(12):
            live.put(ahead(t) + np.int64(t + 1).tobytes() + np.ones(t + 1).tobytes())
            n = t + (text == SUMS)
            wait_for("%d results" % n, lambda: len(live.lines) >= n)
            compiled.append(sum(name.endswith(".stage") for _, _, names in os.walk(cache) for name in names))
        out, _ = live.end()
        check(lines_of(out), [(t + 1.0,) for t in range(12)], text)
        if compiled[4] == 0 or compiled[-1] != compiled[4]:
            raise Failed("%s: stages that were compiled: %s" % (text, compiled))


def what_does_not_go_is_refused():
    fold = program("fold.weft", "entry main (s: seq f64) : f64 = fold_seq (+) 0 s")
    twice = program("two.weft", "entry main (s: seq f64) (t: seq f64) : seq f64 = zip_with_seq (+) s t")
    far = program("far.weft", "entry main (s: seq i64) : seq i64 = group_seq forever (\\k -> [k]) s (\\k ys -> k)")
    for command in ("run", "eval"):
        refused(65, "fold_seq reads an endless sequence to its end", command, fold, "--stream", "s=-")
        refused(65, "the limit is 1048576 groups more", command, far, "--stream", "s=-", data=np.array([0, 1, 2**40]).tobytes())
        refused(65, "ends inside element 1", command, far, "--stream", "s=-", data=np.array([0]).tobytes() + b"9")
        refused(64, "has no `group_seq forever`", command, fold, "--stream", "s=-", "--lag", "1")
        refused(64, "come from standard input together", command, COUNTS, "--stream", "s.t=-", "--stream", "s.x=-")
        refused(64, "standard input is for s already", command, twice, "--stream", "s=-", "--stream", "t=-")
        refused(64, "the result is f64", command, fold, "--stream", "s=-", "-o", "-")
    refused(64, "the result of an endless stream has no end", "run", far, "--stream", "s=-", "-o", path("x.npy"))
    refused(64, "reads its streams more than once", "bench", far, "--stream", "s=-")
    np.save(path("t.npy"), np.arange(3.0))
    refused(65, "together with one that need not be as long", "run", twice, "--stream", "s=-", "--stream", "t=" + path("t.npy"))


run_all([groups_and_account_are_those_of_the_definition, overlapping_windows_as_the_interpreter_has_them, within_a_program_as_a_whole,
         no_elements_and_one, frames_of_arrays, results_come_out_while_the_input_goes_on, elements_come_out_one_by_one,
         workers_are_killed, interrupted, what_came_before_an_error_comes_out, options_of_jobs_are_those_of_all,
         rows_of_other_lengths_are_not_compiled_anew, what_does_not_go_is_refused])
