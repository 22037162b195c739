"""Whole programs: parameters, streams, consumers of streams, results."""
import re
from .expressions import Ctx, Gen
from .terms import A, BOOL, COMPLEX, E, I64, PART, R, SCALARS, Seq, T


# What the system has under this name, in words of the language.
FOREIGN = """foreign def dft [n] (xs: [n]%(t)s) : [n]%(t)s =
  generate n (\\k -> fold (+) 0 (imap (\\i x -> x * cis (-2 * pi * %(part)s (i * k %% n) / %(part)s n)) xs))
"""


class Program:
    """An entry: `lets` bind names before the results, `outs` are its results (a tuple of them where there are several)."""
    def __init__(self, params, streams, defs, lets, outs, sizes):
        self.params, self.streams, self.defs, self.lets, self.outs, self.sizes = params, streams, defs, lets, outs, sizes
        self.consts, self.ranges, self.exact = set(), {}, False
        self.lifted = []  # declarations of versions, which are among `defs`
        self.foreign, self.rising = None, []  # the type of a transform that the system has; leaves of streams whose values rise, mostly

    def result(self):
        return self.outs[0].type if len(self.outs) == 1 else T(*[o.type for o in self.outs])

    def text(self):
        text = "".join("def %s = %s\n" % (head, body.text()) for head, body in self.defs) + "".join(d + "\n" for d in self.lifted) + self.entry()
        if not re.search(r"\bdft\b", text):
            return text
        return FOREIGN % {"t": self.foreign.text, "part": PART[self.foreign.text]} + text

    def entry(self):
        params = "".join(" (%s: %s)" % (n, t.text) for n, t in list(self.params.items()) + list(self.streams.items()))
        types = list(self.params.values()) + list(self.streams.values())
        used = {d for t in types for d in t.dims() if d and d.isalpha() and d not in self.params}
        sizes = "".join(" [%s]" % d for d in sorted(used))
        lets = "".join("  let %s = %s\n" % (n, e.text()) for n, e in self.lets)
        outs = ",\n      ".join(o.text() for o in self.outs)
        body = outs if len(self.outs) == 1 else "(" + outs + ")"
        return "entry main%s%s : %s =\n%s  %s%s\n" % (sizes, params, self.result().text, lets, "in " if self.lets else "", body)

    def trees(self):
        """The expressions that may be made smaller."""
        return [b for _, b in self.defs] + [e for _, e in self.lets] + self.outs


def version(name, params, t, body):
    """The version of a def for arrays of its arguments: a map over its body."""
    heads = "".join(" (%ss: []%s)" % (n, u.text) for n, u in params.items())
    inner = "\\%s -> " % " ".join("(%s: %s)" % (n, u.text) for n, u in params.items())
    arrays = "".join(" %ss" % n for n in params)
    return "%ss%s : []%s" % (name, heads, t.text), E(A("", t), "map%d (%s" % (len(params), inner), body, ")" + arrays)


class Maker:
    def __init__(self, r):
        self.r = r
        self.risky, self.irregular = r.random() < 0.2, r.random() < 0.06
        self.small = r.random() < 0.5  # one thing at a time, and many programs in an hour
        palette = r.sample(["i32", "i64", "f32", "f64"], 2) + r.sample(SCALARS, 2) + ([r.choice(COMPLEX)] if r.random() < 0.3 else [])
        self.exact = r.random() < 0.3  # nothing rounds in another order: results must agree to the last bit
        self.base = ["n", "m"] + r.choice([[], ["3"], ["2"], ["k"], ["4", "1"]])
        self.gen = Gen(r, self.base, palette, self.risky, self.irregular)
        self.params, self.streams, self.defs, self.lets, self.consts, self.rows = {}, {}, [], [], set(), {}
        self.lifted = []

    def parameters(self):
        """Every size name is the length of a parameter; a few more of any type."""
        g, r = self.gen, self.r
        for i, d in enumerate(d for d in g.dims if d.isalpha()):
            self.params["p%d" % i] = A(d, g.some_scalar())
        for i in range(r.choice([0, 1, 2, 3])):
            x = r.random()
            t = g.some_type(2) if x < 0.7 else R(x=g.some_scalar(), y=g.some_type(1)) if x < 0.85 else A(g.dim(), A(g.dim(), A(g.dim(), g.some_scalar())))
            self.params["q%d" % i] = t
        self.env = {n: (t, True) for n, t in self.params.items()}
        self.env.update({d: (I64, True) for d in g.dims if d.isalpha()})
        if r.random() < 0.4:  # extents that are scalar arguments, or computed
            self.params["h"] = I64
            self.env["h"] = (I64, True)
            g.dims = self.base + r.choice([["h"], ["h"], ["h", "(h + 1)"], ["(n + 1)"], ["h", "(n * h)"]])

    def definitions(self):
        g, r = self.gen, self.r
        for i in range(r.choice([0, 0, 1, 1, 2])):
            params = {"v%d" % j: g.some_scalar() if r.random() < 0.7 else A("", g.some_scalar()) for j in range(r.choice([1, 2, 2]))}
            t = g.some_scalar()
            dims, g.dims = g.dims, ["2", "3"]
            g.budget = 15
            body = g.expr(t, Ctx({n: (u, True) for n, u in params.items()}, r.randint(1, 3), exact=True))
            g.dims = dims
            self.defs.append(("f%d%s : %s" % (i, "".join(" (%s: %s)" % (n, u.text) for n, u in params.items()), t.text), body))
            if all(u.scalar for u in params.values()):
                g.defs.append(("f%d" % i, list(params.values()), t))
                if r.random() < 0.6:
                    self.defs.append(version("f%d" % i, params, t, body))
                    self.lifted.append("lifted %s f%d = f%ds" % (r.choice(["regular", "irregular"]), i, i))

        if r.random() < 0.4:
            self.sized_definition("z0")

    def sized_definition(self, name):
        """Of two arrays, whose lengths have names; the result is as long as the first."""
        g, r = self.gen, self.r
        types, t = [g.some_scalar(), g.some_scalar()], g.some_scalar()
        env = {"v0": (A("za", types[0]), True), "v1": (A("zb", types[1]), True), "za": (I64, True), "zb": (I64, True)}
        dims, g.dims, g.budget = g.dims, ["za", "zb"], 15  # not those that operators name
        body = g.expr(A("za", t), Ctx(env, r.randint(1, 3), exact=True))
        g.dims = dims
        self.defs.append(("%s [za][zb] (v0: [za]%s) (v1: [zb]%s) : [za]%s" % (name, types[0].text, types[1].text, t.text), body))
        g.sized.append((name, types, t))

    def expr(self, t, depth=None, exact=False, budget=40, **bound):
        self.gen.budget = min(budget, 12) if self.small else budget
        env = dict(self.env, **bound)
        return self.gen.expr(t, Ctx(env, self.r.randint(2, 5) if depth is None else depth, exact or self.exact, inside=bool(bound)))

    def sizes(self):
        r = self.r
        sizes = {d: r.choice([0, 1, 2, 3, 5, 8]) for d in self.base if d.isalpha()}
        if r.random() < 0.1:
            sizes[r.choice(sorted(sizes))] = r.choice([16, 17, 33, 70])
        sizes["h"] = r.choice([0, 1, 2, 3, 6])
        return sizes

    def program(self):
        """A program of any kind."""
        x = self.r.random()
        made = self.array_program() if x < 0.35 else self.endless_program() if x < 0.4 else self.sequence_program()
        made.exact, made.consts, made.lifted = self.exact, self.consts, self.lifted
        return made

    def array_program(self):
        self.parameters()
        self.definitions()
        outs = [self.expr(self.gen.some_type() if self.r.random() < 0.55 else self.gen.large_type()) for _ in range(1 if self.small else self.r.choice([1, 2, 3, 4]))]
        if self.gen.sized and self.r.random() < 0.5:
            outs.append(self.expr(A(self.gen.dim(), self.gen.sized[0][2])))
        return Program(self.params, {}, self.defs, [], outs, self.sizes())

    # ---- streams ----
    def sequence_program(self):
        g, r = self.gen, self.r
        self.parameters()
        self.definitions()
        dims, g.dims = g.dims, self.base
        self.pool = []  # (text, type of an element, exact, source)
        for i in range(r.choice([1, 1, 2, 3])):
            source = 0 if i == 0 or r.random() < 0.8 else i
            self.rows.setdefault(source, r.choice([0, 1, 2, 7, 20, 20, 100] + [1000, 3000] * (r.random() < 0.2)))
            x = r.random()
            t = g.some_scalar() if x < 0.4 else g.some_type(1) if x < 0.7 else g.some_type(2) if x < 0.8 else R(x=g.some_scalar(), y=g.some_type(1))
            if self.irregular and r.random() < 0.5:
                t = A("", g.some_scalar())
            if t.names and r.random() < 0.4 and (t.fields[1].scalar or t.fields[1].array and t.fields[1].element.scalar):
                self.consts.add("s%d.y" % i)
            self.streams["s%d" % i] = Seq(t)
            self.pool.append(("s%d" % i, t, True, source))
            self.rows["s%d" % i] = self.rows[source]
        g.dims = dims
        if r.random() < 0.3:
            arrays = list(g.variables(Ctx(self.env, 1), lambda u: u.array))
            text, u = r.choice([a for a in arrays if a[1].element.array and r.random() < 0.9] or arrays)
            self.pool.append(("(rows %s)" % text, u.element, True, "array " + u.dim))
            self.divide(text, u)
        for _ in range(r.choice([0, 1]) if self.small else r.choice([0, 1, 1, 2, 3])):
            self.derive()
        if r.random() < 0.1:
            text, t, _, _ = r.choice(self.pool)
            sizes = self.sizes()
            if not any(d == "" for d in t.dims()):
                return Program(self.params, self.streams, self.defs, self.lets, [E(Seq(t), text)], sizes)
        for _ in range(1 if self.small else r.choice([1, 2, 2, 3, 4])):
            self.consume()
        results = [n for n, _ in self.lets if n.startswith("r")]
        outs = [E(self.env[n][0], n) for n in r.sample(results, min(len(results), r.choice([1, 2, 3])))]
        for _ in range(int(not outs) if self.small else r.choice([0, 1, 1])):
            outs.append(self.expr(g.some_type() if r.random() < 0.55 else g.large_type(), depth=r.randint(1, 3)))
        return Program(self.params, self.streams, self.defs, self.lets, outs, self.sizes())

    def endless_program(self):
        """Groups that go on for ever, of a stream whose keys rise now and then fall back."""
        g, r = self.gen, self.r
        self.parameters()
        self.definitions()
        t = R(x=I64, y=g.some_type(1))
        self.streams["s0"] = Seq(t)
        self.rows["s0"] = r.choice([0, 1, 2, 7, 20, 20, 100, 1000])
        self.pool = [("s0", t, True, 0)]
        found = self.group(forever=True)
        if not found:  # another one, from the beginning
            self.streams, self.defs, self.lets, self.lifted, g.defs, g.sized = {}, [], [], [], [], []
            return self.array_program()
        made = Program(self.params, self.streams, self.defs, self.lets, [found[0]], self.sizes())
        made.ranges, made.rising = {"s0.x": (r.choice([0, 0, -2]), r.choice([3, 10, 40]))}, ["s0.x"]
        return made

    def divide(self, text, u):
        """The other divisions of an array: columns, elements, the whole."""
        if u.element.array and self.r.random() < 0.8:
            columns = "(rows (transpose %s))" % text
            made = [(columns, A(u.dim, u.element.element), True, "columns of " + text), ("(rows (flatten %s))" % text, u.element.element, True, "elements of " + text)]
            self.pool += made * 3
        if self.r.random() < 0.3:
            self.pool.append(("(rows [%s])" % text, u, True, "all of " + text))

    def element(self, t, pattern, u, exact, depth=None):
        """An expression of type t over an element of type u, as the two halves of a lambda."""
        body = self.expr(t, depth if depth is not None else self.r.randint(1, 4), exact=False, **{pattern: (u, exact)})
        return body

    def zipped(self, t, depth=None, source=None, extra=None, exact=False):
        """A sequence of t made from one or several of the pool: the expression, its source."""
        g, r = self.gen, self.r
        first = r.choice([p for p in self.pool if source is None or p[3] == source])
        members = [first] + [p for p in r.sample(self.pool, len(self.pool)) if p is not first and p[3] == first[3]][:r.choice([0, 0, 1, 1, 2])]
        names = [g.name("el") for _ in members]
        bound = {n: (m[1], m[2]) for n, m in zip(names, members)}
        bound.update(extra or {})
        body = self.expr(t, depth if depth is not None else r.randint(1, 4), exact=exact, budget=30, **bound)
        annotated = ["(%s: %s)" % (n, m[1].text) for n, m in zip(names, members)]
        head = "(%s (\\%s -> " % ("map_seq" if len(members) == 1 else "zip_with_seq", " ".join(annotated))
        return E(Seq(t), head, body, ") ", " ".join(m[0] for m in members), ")"), first[3]

    def bind(self, name, e):
        self.lets.append((name, e))

    def derive(self):
        g, r = self.gen, self.r
        text, t, exact, source = r.choice(self.pool)
        n, x = g.name("t"), r.random()
        if x < 0.7:
            u = g.some_type(r.choice([0, 1, 1, 2]))
            e, source = self.zipped(u)
            self.pool.append((n, u, self.exact, source))
        elif x < 0.82:
            e = E(Seq(T(I64, t)), "(enumerate_seq %s)" % text)
            self.pool.append((n, T(I64, t), exact, source))
        elif x < 0.9:
            made = self.group_map(text, t, exact)
            if not made:
                return
            e, u, exact = made
            self.pool.append((n, u, exact, source))
        elif x < 0.96:  # as many elements as a list that is made of each has
            u = A("" if r.random() < 0.5 else g.dim(), g.some_type(r.choice([0, 0, 1])))
            made = u if u.dim else A("2", u.element)
            e, _ = self.zipped(made)
            if not u.dim:
                k = g.name("k")
                e = E(Seq(u), "(map_seq (\\%s -> " % k, "take (length %s - 1) %s) " % (k, k), e, ")")
            e = E(A("", u), "(from_seq ", e, ")")
            self.pool += [("(rows (flatten %s))" % n, u.element, self.exact, "elements of " + n)] * 3
        elif x < 0.975:
            p = g.name("el")
            body = self.expr(BOOL, r.randint(1, 3), exact=True, **{p: (t, exact)})
            e = E(Seq(t), "(filter_seq (\\(%s: %s) -> " % (p, t.text), body, ") %s)" % text)
            self.pool.append((n, t, exact, n))
        else:
            op = g.operator(t, True)
            if not op or not exact:
                return
            e = E(Seq(t), "(scan_seq %s %s %s)" % (op.section, op.neutral, text))
            self.pool.append((n, t, exact, source))
        self.bind(n, e)

    def consume(self):
        r = self.r
        rule = r.choices([self.fold, self.permute, self.from_seq, self.reduce, self.chain, self.group, self.guarded, self.loop],
                         [4, 4, 2, 1.5, 0.4, 1.5, 1, 1.2])[0]
        found = rule()
        if not found:
            return
        e, t, exact = found
        n = self.gen.name("r")
        self.bind(n, e)
        self.env[n] = (t, exact)

    def fold(self, source=None, extra=None, t=None, exact=False):
        g, r = self.gen, self.r
        t = t or g.some_type(r.choice([0, 0, 1, 2]))
        exact = exact or self.exact or r.random() < 0.7
        op = g.operator(t, exact)
        if not op:
            return None
        s, _ = self.zipped(t, source=source, extra=extra, exact=exact)
        return E(t, "(fold_seq %s %s " % (op.section, op.neutral), s, ")"), t, exact

    def permute(self, source=None, extra=None):
        g, r = self.gen, self.r
        exact = self.exact or r.random() < 0.7
        rank = r.choice([1, 1, 2])
        element = g.some_type(r.choice([0, 0, 0, 1]))
        op = g.operator(element, exact, commutative=True)
        if not op:
            return None
        t = element
        for _ in range(rank):
            t = A(g.dim(), t)
        dest = E(t, *self.fill(t, op.neutral, rank)) if r.random() < 0.5 else self.expr(t, r.randint(0, 2), exact=True)
        if extra:
            dest = E(t, *self.fill(t, op.neutral, rank))
        place, value = (I64 if rank == 1 else T(*[I64] * rank)), element
        for _ in range(r.choice([0, 0, 1, 2])):
            d = g.dim()
            place, value = A(d, place), A(d, value)
        is_, source = self.zipped(place, source=source, extra=extra, exact=True)
        xs, _ = self.zipped(value, source=source, extra=extra, exact=exact)
        return E(t, "(permute_seq %s " % op.section, dest, " ", is_, " ", xs, ")"), t, exact

    def fill(self, t, neutral, rank):
        out = neutral
        dims = []
        for _ in range(rank):
            dims.append(t.dim)
            t = t.element
        for d in reversed(dims):
            out = "(replicate %s %s)" % (d, out)
        return [out]

    def from_seq(self):
        g, r = self.gen, self.r
        t = g.some_type(r.choice([0, 0, 1, 2]))
        s, source = self.zipped(t)
        if r.random() < 0.2 and self.irregular:
            text, t, _, _ = r.choice(self.pool)
            s = E(Seq(t), text)
        return E(A("", t), "(from_seq ", s, ")"), A("", t), self.exact

    def reduce(self):
        """reduce_seq whose step is a fold of the chunk, or a loop over it."""
        g, r = self.gen, self.r
        t = g.some_type(r.choice([0, 0, 1]))
        exact = self.exact or r.random() < 0.7
        op = g.operator(t, exact)
        if not op:
            return None
        if t.scalar and r.random() < 0.5:
            body = "(\\z xs -> %s)" % op.apply("z", "(fold %s %s xs)" % (op.section, op.neutral))
        else:
            body = "(\\(z: %s) (xs: []%s) -> loop z = z for x in xs do %s)" % (t.text, t.text, op.apply("z", "x"))
        s, _ = self.zipped(t, exact=exact)
        return E(t, "(reduce_seq %s %s %s " % (op.neutral, body, op.section), s, ")"), t, exact

    def chain(self):
        """chain_seq: an operator, or an expression of the state and the element, whatever it is. Nothing in it rounds, as in
        a loop."""
        g, r = self.gen, self.r
        t, u = g.some_type(r.choice([0, 0, 1])), g.some_type(r.choice([0, 0, 1]))
        z, x, op = g.name("z"), g.name("el"), g.operator(t, True)
        start = self.expr(t, r.randint(0, 2), exact=True)
        if op and r.random() < 0.3:
            u, step = t, E(t, op.section)
        else:
            body = self.expr(t, r.randint(1, 3), exact=True, budget=20, **{z: (t, True), x: (u, True)})
            step = E(t, "(\\(%s: %s) (%s: %s) -> " % (z, t.text, x, u.text), body, ")")
        s, _ = self.zipped(u, exact=True)
        return E(t, "(chain_seq ", start, " ", step, " ", s, ")"), t, True

    def guarded(self):
        """A consumer in a branch; the other branch is one too, or an expression."""
        r = self.r
        found = r.choice([self.fold, self.permute, self.group, self.loop])()
        if not found:
            return None
        e, t, exact = found
        other = self.fold(t=t) if r.random() < 0.5 else None
        branches = [e, other[0] if other else self.expr(t, r.randint(0, 2), exact=exact)]
        exact = exact and (not other or other[2])
        r.shuffle(branches)
        condition = self.expr(BOOL, r.randint(1, 3), exact=True)
        return E(t, "(if ", condition, " then ", branches[0], " else ", branches[1], ")"), t, exact

    def loop(self):
        """A loop whose turns traverse a stream with the state: counted, or until a condition holds. Nothing in it rounds:
        turns would make a difference in rounding large."""
        g, r = self.gen, self.r
        t = g.some_type(r.choice([0, 0, 1, 2]))
        z, i, env = g.name("z"), g.name("ix"), self.env
        start = self.expr(t, r.randint(0, 2), exact=True)
        inner = {z: (t, True), i: (I64, True)}
        self.env = dict(env, **inner)
        found = self.placed(z, t, inner) if t.array and r.random() < 0.5 else self.fold(extra=inner, t=t, exact=True)
        if not found:
            self.env = env
            return None
        body = found[0]
        if r.random() < 0.4:
            y = g.name("y")
            self.env[y] = (t, True)
            body = E(t, "let %s = " % y, body, " in ", self.expr(t, r.randint(1, 2), exact=True))
            del self.env[y]
        if r.random() < 0.3:
            body = E(t, "(if ", self.expr(BOOL, 2, exact=True), " then ", body, " else ", self.expr(t, 1, exact=True), ")")
        goes_on = self.expr(BOOL, r.randint(1, 2), exact=True)
        self.env = env
        turns = r.choice(["0", "1", "2", "3", "3", "4"])
        if r.random() < 0.6:
            return E(t, "(loop %s = " % z, start, " for %s < %s do " % (i, turns), body, ")"), t, True
        return (E(t, "(let (%s, _) = loop (%s, %s) = (" % (z, z, i), start, ", 0i64) while %s < %s && " % (i, turns), goes_on, " do (", body,
                  ", %s + 1) in %s)" % (i, z)), t, True)

    def placed(self, dest, t, extra):
        """permute_seq into the state of a loop."""
        op = self.gen.operator(t.element, True, commutative=True)
        if not op:
            return None
        is_, source = self.zipped(I64, extra=extra, exact=True)
        xs, _ = self.zipped(t.element, source=source, extra=extra, exact=True)
        return E(t, "(permute_seq %s %s " % (op.section, dest), is_, " ", xs, ")"), t, True

    def keys(self, key):
        """The groups of an element: one, some that may be equal, some next to each other."""
        r, x = self.r, self.r.random()
        if x < 0.5:
            return ["[", self.expr(I64, r.randint(1, 3), exact=True, **key), "]"]
        if x < 0.8:
            j = self.gen.name("j")
            return ["(generate 2 (\\%s -> " % j, self.expr(I64, r.randint(1, 2), exact=True, **key), " + %s))" % j]
        return ["[", self.expr(I64, 1, exact=True, **key), ", ", self.expr(I64, 2, exact=True, **key), "]"]

    def group_map(self, text, u, exact):
        """group_map_seq over one sequence of the pool: what is made of a group is a map of it, or two zipped."""
        g, r = self.gen, self.r
        t = g.some_type(r.choice([0, 0, 1]))
        op = g.operator(t, True)
        if not op:
            return None
        n, k, ys, e = g.dim(), g.name("k"), g.name("ys"), g.name("el")
        keys = self.keys({e: (u, exact)})
        pool, self.pool = self.pool, [(ys, u, exact, ys)]
        parts, extra = [], {k: (I64, True)}
        if r.random() < 0.4:
            name, v = g.name("g"), g.some_type(r.choice([0, 1]))
            zs, _ = self.zipped(v, extra=extra, exact=self.exact)
            parts += ["let %s = " % name, zs, " in "]
            self.pool.append((name, v, self.exact, ys))
        zs, _ = self.zipped(t, extra=extra, exact=True)
        self.pool = pool
        return (E(Seq(t), "(group_map_seq %s (\\(%s: %s) -> " % (n, e, u.text), *keys, ") %s %s %s (\\%s %s -> " % (op.section, op.neutral, text, k, ys),
                  *parts, zs, "))"), t, True)

    def group(self, forever=False):
        """group_seq: consumers of a group and an expression over their results. `forever`: by a field of the elements, and a sequence."""
        g, r = self.gen, self.r
        text, u, exact, _ = r.choice(self.pool)
        n, k, ys, e = "forever" if forever else g.dim(), g.name("k"), g.name("ys"), g.name("el")
        key = {e: (u, exact)}
        keys = [r.choice(["[%(e)s.x]", "[%(e)s.x, %(e)s.x + 1]", "[%(e)s.x / 2]"]) % {"e": e}] if forever else self.keys(key)
        pool, env = self.pool, self.env
        self.pool, self.env = [(ys, u, exact, ys)], dict(env, **{k: (I64, True)})
        parts, all_exact = [], True
        for _ in range(r.choice([1, 1, 2])):
            found = self.fold(extra={k: (I64, True)}) if r.random() < 0.5 else self.permute(extra={k: (I64, True)})
            if found:
                name = g.name("g")
                parts += ["let %s = " % name, found[0], " "]
                self.env[name] = (found[1], found[2])
        if not parts:
            self.pool, self.env = pool, env
            return None
        t = g.some_type(1)
        body = self.expr(t, r.randint(0, 2)) if r.random() < 0.5 else None
        if body is None:
            name, (t, all_exact) = list(self.env.items())[-1]
            body = E(t, name)
        self.pool, self.env = pool, env
        groups = E(Seq(t), "(group_seq %s (\\(%s: %s) -> " % (n, e, u.text), *keys, ") %s (\\%s %s -> " % (text, k, ys), *parts, "in ", body, "))")
        return (groups, t, self.exact) if forever else (E(A(n, t), "(from_seq ", groups, ")"), A(n, t), self.exact)
