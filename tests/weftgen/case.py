"""A program with its inputs: interpreted, run, and both compared; and as a text file that says all of it."""
import ast
import os
import re
import numpy as np
from . import work
from .farm import difference
from .terms import A, NP, S, SCALARS, Seq, T, R, data

TOLERANCE, SINGLE_TOLERANCE = 1e-5, 2e-4  # sums may be made in another order: of 32-bit numbers, by more


def error_of(said):
    """Place and code of the error of a program, ("2:17", "W1001"); either is None where it is not told."""
    found = re.search(r"^error: (?:\S*p\.weft:(\d+:\d+): )?.*?(?:\[(W\d+)\])?$", said, re.M)
    return found.groups() if found else (None, None)


def differ(evaluated, ran):
    """None, or what is wrong with the error of a run where eval fails too. Which of a program's errors is met first is nobody's to say,
    so they may be of different places; but what may go wrong at a place is one thing, and each has a code."""
    (at, code), (ran_at, ran_code) = error_of(evaluated), error_of(ran)
    if code and not ran_code:
        return "the error has no code: " + ran[-300:]
    if at and at == ran_at and code != ran_code:
        return "error %s in place of %s: %s" % (ran_code, code, ran[-300:])
    return None


class Case:
    """inputs: name of a parameter or stream -> {leaf: values, or (values, lengths)}. forces: choices in place of the compiler, as `run
    --force` takes them; each is run once, beside what the compiler chooses for each block length."""
    def __init__(self, text, params, streams, result, inputs, blocks, consts=(), exact=False):
        self.consts, self.exact = consts, exact
        self.text, self.params, self.streams, self.result, self.inputs, self.blocks = text, params, streams, result, inputs, blocks
        self.remarks, self.counted, self.forces, self.forced, self.forced_interpreted = set(), False, [], 0, 0

    def write(self, folder):
        """The files and the words of the command line."""
        with open(os.path.join(folder, "p.weft"), "w") as f:
            f.write(self.text)
        words = [os.path.join(folder, "p.weft")]
        for name, leaves in self.inputs.items():
            for leaf, values in leaves.items():
                full = name + ("." + leaf if leaf else "")
                path = os.path.join(folder, "in.%s.npy" % full)
                files = path
                if isinstance(values, tuple):
                    np.save(path + ".lengths.npy", values[1])
                    files += "," + path + ".lengths.npy"
                    values = values[0]
                np.save(path, values)
                option = "--arg" if name in self.params else "--const" if full in self.consts else "--stream"
                words += [option, "%s=%s" % (full, files)]
        return words

    def outputs(self, folder, where):
        words, paths = [], []
        for leaf, _, _ in self.result.leaves():
            paths.append(os.path.join(folder, "%s.%s.npy" % (where, leaf or "result")))
            words += ["-o", (leaf + "=" if leaf else "") + paths[-1]]
        return words, paths

    def check(self, farm):
        """None if all agrees, "skip ..." if eval fails, else what is wrong. Afterwards `want` holds what eval gives."""
        for name in os.listdir(farm.folder):
            if name.startswith(("want", "got", "in.")):
                os.remove(os.path.join(farm.folder, name))
        inputs = self.write(farm.folder)
        words, paths = self.outputs(farm.folder, "want")
        self.want = None
        counts = os.path.join(farm.folder, "want.work.json")
        code, said = farm.call(["eval"] + inputs + words + ["--count-work", counts])
        self.failed = said
        if code not in (0, 65):
            return "eval exits %d: %s" % (code, said[-300:])
        if re.search(r"p\.weft:\d+:\d+: error", said):
            return "skip ill-typed " + said
        if code == 0:
            self.want = [load(p) for p in paths]
        self.forced = self.forced_interpreted = 0
        for block, force in self.runs():
            why = self.check_run(farm, inputs, block, force)
            if why:
                return why
        if self.want is None:
            return "skip fails: " + said[-300:]
        # An endless stream goes by stretches, each a job with the starts and ends of all its operations.
        if not self.counted or self.remarks or "group_seq forever" in self.text:
            return None
        block = max(self.blocks + [100000])
        return work.check(lambda more: farm.run(inputs + more, block), self.outputs(farm.folder, "got")[0], counts)

    def check_passes(self, farm):
        """None where the passes of the compiler make what their checkers find well formed, whatever is forced and assumed of rows."""
        words = self.write(farm.folder)[:1]
        self.forced = self.forced_interpreted = 0
        for i, force in enumerate([""] + self.forces):
            code, said = farm.call(["explain", *words, "--stage", "schedule"] + ["--irregular"] * (i % 2) + (["--force", force] if force else []))
            if re.search(r"p\.weft:\d+:\d+: error", said):
                return "skip ill-typed " + said
            if code:
                return "explain exits %d, %s: %s" % (code, force or "nothing forced", said[-600:])
            self.forced += bool(force)
            self.forced_interpreted += bool(force) and "interpreted" in said
            if not force:
                self.remarks.update(re.findall(r".*interpreted.*", said))
        return None

    def runs(self):
        yield from ((block, "") for block in self.blocks)
        yield from ((self.blocks[i % len(self.blocks)], force) for i, force in enumerate(self.forces))

    def check_run(self, farm, inputs, block, force):
        words, paths = self.outputs(farm.folder, "got")
        for p in paths:
            if os.path.exists(p):
                os.remove(p)
        code, said = farm.run(inputs + words, block, force)
        remarks = re.findall(r".*interpreted.*", said)
        if force:
            self.forced += 1
            self.forced_interpreted += bool(remarks)
        else:
            self.remarks.update(remarks)
        if code not in (0, 65):
            return "run exits %d: %s" % (code, said[-600:])
        given_up = [m for m in remarks if re.search(r"malformed|ended by signal|internal|checker", m)]
        if given_up:
            return "the compiler gives up: " + given_up[0]
        if self.want is None:
            return differ(self.failed, said) if code else None
        if code:
            return "run fails where eval does not: %s" % said[-300:]
        for path, want in zip(paths, self.want):
            for w, g in zip(want, load(path)):
                single = w.dtype in (np.float32, np.complex64)
                # What a transform makes of NaN and infinities depends on how it is done.
                tolerance = 0 if self.exact else SINGLE_TOLERANCE if single else TOLERANCE
                why = difference(w, g, tolerance, loose="fft" in self.text or "dft" in self.text)
                if why:
                    return "wrong: block %d%s, %s: %s" % (block, ", " + force if force else "", os.path.basename(path), why)
        return None

    def comments(self):
        """What `parse` reads back."""
        lines = ["-- blocks: %s" % " ".join(str(b) for b in self.blocks)]
        lines += ["-- force: %s" % f for f in self.forces]
        lines += ["-- const: %s" % c for c in sorted(self.consts)] + ["-- exact: all"] * self.exact
        for name, leaves in self.inputs.items():
            for leaf, values in leaves.items():
                full = name + ("." + leaf if leaf else "")
                if isinstance(values, tuple):
                    lines.append("-- lengths: %s = %s" % (full, values[1].tolist()))
                    values = values[0]
                shape = "" if values.size else " %s" % (values.shape,)
                lines.append("-- input: %s = %s%s" % (full, re.sub(r"\s+", " ", repr(values.tolist())), shape))
        return "\n".join(lines) + "\n"


def load(path):
    """The values and, for irregular ones, the lengths."""
    return [np.load(p) for p in (path, path[:-4] + ".lengths.npy", path + ".lengths.npy") if os.path.exists(p)]


def make_inputs(r, params, streams, sizes, rows, consts=(), ranges=None):
    """Random inputs for given types. `rows`: by stream. `ranges`: of the integers of one leaf. A parameter whose name is a size
    is that size."""
    inputs = {}
    for name, t in list(params.items()) + list(streams.items()):
        for leaf, dtype, dims in t.leaves():
            shape = [sizes.get(d, int(d) if d and d.isdigit() else 0) for d in dims[1 if name in streams else 0:]]
            full = name + ("." + leaf if leaf else "")
            if name in streams and full not in consts:
                shape = [rows[name]] + shape
            if t.scalar and name in sizes:
                values = np.array(sizes[name], NP[dtype])
            elif ranges and full in ranges:
                values = np.array([r.randint(*ranges[full]) for _ in range(int(np.prod(shape)))], NP[dtype]).reshape(shape)
            elif t.kind in ("array", "seq") and "" in t.element.dims():
                longest = 200 if r.random() < 0.1 else 5
                lengths = np.array([r.choice([0, 1, 2, 3, longest]) for _ in range(rows.get(name, 5))], np.int64)
                if r.random() < 0.4:  # many or all of them alike: such rows are found out at run time
                    lengths[r.choice([0, 0, len(lengths) // 2]):] = r.choice([0, 1, 2, 3, longest])
                values = (data(r, dtype, [int(lengths.sum())]), lengths)
            else:
                values = data(r, dtype, shape)
            inputs.setdefault(name, {})[leaf] = values
    return inputs


# ---- reading a case from its text ----

def parse_type(text):
    t, rest = read_type(text.strip())
    assert not rest.strip(), "after a type: " + rest
    return t


def read_type(s):
    s = s.strip()
    if s.startswith("seq "):
        t, s = read_type(s[4:])
        return Seq(t), s
    if s.startswith("["):
        dim, s = s[1:].split("]", 1)
        t, s = read_type(s)
        return A(dim.strip(), t), s
    if s.startswith(("(", "{")):
        fields, names, record = [], [], s[0] == "{"
        s = s[1:]
        while True:
            if record:
                name, s = s.split(":", 1)
                names.append(name.strip())
            t, s = read_type(s)
            fields.append(t)
            s = s.strip()
            if s[0] == ",":
                s = s[1:]
                continue
            break
        s = s[1:]
        if record:
            return R(**dict(zip(names, fields))), s
        return (fields[0] if len(fields) == 1 else T(*fields)), s
    name = re.match(r"\w+", s).group()
    assert name in SCALARS, "a type: " + s
    return S(name), s[len(name):]


def parse_entry(text):
    """Parameters, streams and the result of `entry main`, whose types are written out."""
    s = re.search(r"^entry main((?: \[\w+\])*)", text, re.M)
    s = text[s.end():].strip()
    params, streams = {}, {}
    while s.startswith("("):
        name, s = s[1:].split(":", 1)
        t, s = read_type(s)
        (streams if t.kind == "seq" else params)[name.strip()] = t
        s = s.strip()[1:].strip()
    return params, streams, read_type(s[1:])[0]


def parse(text, r):
    """The case that the comments of a program say: `-- input: NAME[.LEAF] = VALUES [SHAPE]`, `-- lengths: NAME = VALUES`,
    `-- sizes: n=3`, `-- rows: 20`, `-- blocks: 3 1000`, `-- force: KEY=VALUE,...`, `-- const: NAME.FIELD`, `-- range: NAME.LEAF FROM TO`, `-- exact: all` (floats
    to the last bit); what is not given is random."""
    def said(key):
        return re.findall(r"^-- %s: (.*)$" % key, text, re.M)
    params, streams, result = parse_entry(text)
    sizes = {k: int(v) for line in said("sizes") for k, v in (w.split("=") for w in line.split())}
    rows = {n: int((said("rows") or ["20"])[0]) for n in streams}
    consts = set(said("const"))
    ranges = {n: (int(a), int(b)) for n, a, b in (w.split() for w in said("range"))}
    inputs = make_inputs(r, params, streams, sizes, rows, consts, ranges)
    dtypes = {(n, leaf): dtype for n, t in list(params.items()) + list(streams.items()) for leaf, dtype, _ in t.leaves()}
    for key in ("input", "lengths"):
        for line in said(key):
            full, value = line.split(" = ", 1)
            name, _, leaf = full.strip().partition(".")
            shape = re.search(r"\] (\([\d, ]*\))$", value)
            values = eval_list(value[:shape.start() + 1] if shape else value)
            dtype = np.int64 if key == "lengths" else NP[dtypes[name, leaf]]
            array = np.array(values, dtype)
            if shape:
                array = array.reshape(ast.literal_eval(shape.group(1)))
            if key == "lengths":
                old = inputs[name][leaf]
                inputs[name][leaf] = (old[0] if isinstance(old, tuple) else old, array)
            else:
                old = inputs[name][leaf]
                inputs[name][leaf] = (array, old[1]) if isinstance(old, tuple) and array.ndim == 1 else array
    blocks = [int(b) for b in (said("blocks") or ["3 100000"])[0].split()]
    case = Case(text, params, streams, result, inputs, blocks, consts, bool(said("exact")))
    case.forces = said("force")
    return case


def eval_list(text):
    """Python literals with nan and inf."""
    return eval(text, {"__builtins__": {}}, {"nan": float("nan"), "inf": float("inf"), "nanj": complex(0, float("nan")), "infj": complex(0, float("inf")),
                                             "True": True, "False": False})
