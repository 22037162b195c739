"""Programs of any size, in families: what one may write again and again, so that the compiler's time can be held against the size; and how that is
measured: processor time of gridloom-compile, from text to object code, for other work on the machine does not change it by much."""
import os, re, subprocess, tempfile


def repeated(n, text):
    return "".join(text % {"i": i, "j": i - 1} for i in range(1, n + 1))


def array_to_array(n, step):
    return "entry main (x0: []f64) : []f64 =\n" + repeated(n, "let x%(i)d = " + step + "\n") + "in x%d\n" % n


def added_up(n, parameter, numbers):
    """Numbers that have nothing to do with each other, and their sum."""
    return "entry main (xs: %s) : f64 =\nlet t0 = 0f64\n" % parameter + repeated(n, "let s%(i)d = " + numbers + "\n") + \
        repeated(n, "let t%(i)d = t%(j)d + s%(i)d\n") + "in t%d\n" % n


def cases_of_a_match(n):
    return "entry main (xs: []i64) : []i64 = map (\\x -> match x\n" + repeated(n, "case %(i)d -> x * %(i)d + 1\n") + "case _ -> 0) xs\n"


def consumers_of_a_group(n):
    return "entry main (xs: seq (i64, f64)) : []f64 =\nfrom_seq (group_seq 10 (\\(k, _) -> [k]) xs (\\k ys ->\nlet t0 = f64 k\n" + \
        repeated(n, "let s%(i)d = fold_seq (+) 0 (map_seq (\\(_, v) -> v * %(i)d.5) ys)\n") + repeated(n, "let t%(i)d = t%(j)d + s%(i)d\n") + \
        "in t%d))\n" % n


def loads_in_branches(n):
    """Elements at computed indices, each in both branches: more than one kernel takes in, so that most are arrays of their own."""
    return "entry main (xs: []i64) (c: []i64) : []i64 = map (\\x ->\n" + repeated(n, "let v%(i)d = c[x %% (%(i)d + 1)]\n") + "in if x > 0 then let t0 = x\n" + \
        repeated(n, "let t%(i)d = t%(j)d + v%(i)d\n") + "in t%d else let t0 = x\n" % n + repeated(n, "let t%(i)d = t%(j)d - v%(i)d\n") + "in t%d) xs\n" % n


def choices_in_a_loop(n):
    """Each choice uses the one before it twice, and the first asks for one point."""
    return "entry main (xs: []i64) (n: i64) : []i64 =\nloop ys = xs for i < n do imap (\\j y ->\nlet a0 = if j == i then y + 1 else y\n" + \
        repeated(n, "let a%(i)d = if y > %(i)d then a%(j)d else if j + y > %(i)d then y else a%(j)d\n") + "in a%d) ys\n" % n


# Name: a program of n repetitions; about how many nodes each has.
FAMILIES = {
    "scalars": (lambda n: "entry main (x0: f64) : f64 =\n" + repeated(n, "let x%(i)d = x%(j)d * 1.5 + %(i)d.25\n") + "in x%d\n" % n, 4),
    "defs": (lambda n: repeated(n, "def f%(i)d (x: f64) : f64 = x * 1.5 + %(i)d\n") + "entry main (x0: f64) : f64 =\n" +
             repeated(n, "let x%(i)d = f%(i)d x%(j)d\n") + "in x%d\n" % n, 6),
    "chain of maps": (lambda n: array_to_array(n, "map (\\v -> v * %(i)d.5 + 1) x%(j)d"), 5),
    "independent lets": (lambda n: "entry main (xs: []f64) : []f64 =\nlet t0 = xs\n" + repeated(n, "let y%(i)d = map (\\v -> f64.sqrt (v + %(i)d.25)) xs\n") +
                         repeated(n, "let t%(i)d = map2 (+) t%(j)d y%(i)d\n") + "in t%d\n" % n, 6),
    "scans": (lambda n: array_to_array(n, "scan (+) 0 (map (* %(i)d.5) x%(j)d)"), 6),
    "reductions": (lambda n: "entry main (xs: []f64) : f64 =\nlet s0 = 1f64\n" + repeated(n, "let s%(i)d = sum (map (\\v -> v * s%(j)d) xs)\n") +
                   "in s%d\n" % n, 5),
    "independent reductions": (lambda n: added_up(n, "[]f64", "sum (map (\\v -> v * %(i)d.5) xs)"), 8),
    "nested maps": (lambda n: "entry main (x0: [][]f64) : [][]f64 =\n" + repeated(n, "let x%(i)d = map (\\r -> let s = sum r in map (\\v -> v + s * %(i)d.5) r) x%(j)d\n") +
                    "in x%d\n" % n, 8),
    "cases of a match": (cases_of_a_match, 12),
    "choices in a loop": (choices_in_a_loop, 9),
    "loops of elements": (lambda n: array_to_array(n, "map (\\x -> loop v = x while v < 10 do v * %(i)d.5 + 1) x%(j)d"), 8),
    "loops of arrays": (lambda n: "entry main (x0: []f64) (k: i64) : []f64 =\n" +
                        repeated(n, "let x%(i)d = loop v = x%(j)d for _i < k do scan (+) 0 (map (* %(i)d.5) v)\n") + "in x%d\n" % n, 7),
    "conditions": (lambda n: "entry main (x0: []f64) : []f64 =\n" +
                   repeated(n, "let x%(i)d = map (\\x -> if x > %(i)d then f64.exp x else x + 1) x%(j)d\n") + "in x%d\n" % n, 7),
    "filters": (lambda n: array_to_array(n, "filter (> %(i)d.5) x%(j)d"), 3),
    "permutes": (lambda n: "entry main (x0: []i64) : []i64 =\n" + repeated(n, "let x%(i)d = hist (+) 0 100 x%(j)d (map (+ %(i)d) x%(j)d)\n") + "in x%d\n" % n, 8),
    "folds of a stream": (lambda n: added_up(n, "seq f64", "fold_seq (+) 0 (map_seq (\\v -> v * %(i)d.5) xs)"), 8),
    "traversals": (lambda n: "entry main (xs: seq f64) : f64 =\nlet s0 = 1f64\n" + repeated(n, "let s%(i)d = fold_seq (+) 0 (map_seq (\\v -> v * s%(j)d) xs)\n") +
                   "in s%d\n" % n, 5),
    "consumers of a group": (consumers_of_a_group, 9),
    "loads at indices": (loads_in_branches, 7),
}


def program(family, nodes):
    """One of about so many nodes."""
    text, each = FAMILIES[family]
    return text(max(1, round(nodes / each)))


class Compiler:
    def __init__(self, folder):
        """The folder of programs: bin."""
        self.path = os.path.join(folder, "gridloom-compile")
        self.at_rest = 0
        self.at_rest = min(self.seconds(["-"], "entry main (x: i64) : i64 = x")[0] for _ in range(3))  # starting it, and LLVM

    def explain(self, stage, arguments, text=None):
        """What it prints, and the processor time that it took."""
        with tempfile.TemporaryFile("w+") as source, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            source.write(text or "")
            source.seek(0)
            p = subprocess.Popen([self.path, "--explain", stage] + arguments, stdin=source, stdout=out, stderr=err)
            _, status, used = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            if p.returncode:
                raise RuntimeError("gridloom-compile %s: %d: %s" % (" ".join(arguments), p.returncode, err.read()[-300:]))
            return out.read(), used.ru_utime + used.ru_stime

    def nodes(self, arguments, text=None):
        return len(re.findall(r"^ *%\d+[: ]", self.explain("core", arguments, text)[0], re.M))

    def operations(self, arguments, text=None):
        return len(re.findall(r"^ *o\d+: ", self.explain("schedule", arguments, text)[0], re.M))

    def seconds(self, arguments, text=None):
        """From text to object code, without what starting takes; and why a stage was not compiled, if one was not."""
        plan, seconds = self.explain("plan", arguments, text)
        remark = re.search(r"^remark: interpreted: (.*)", plan, re.M)
        return max(seconds - self.at_rest, 1e-3), remark and remark[1]
