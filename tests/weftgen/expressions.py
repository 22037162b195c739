"""Expressions of any type over variables in scope: what is common to all types, scalars, operators.

EXACT. A context says whether a value must come out the same to the last bit (exact) or may carry rounding of sums in another
order. What jumps (comparisons, conversions, indices) or amplifies is only made of exact values, so that a difference beyond
the tolerance is a defect. RISKY programs may fail when they run; others never do.
"""
from .terms import A, BOOL, COMPLEX, E, FLOATS, I64, INTS, PART, R, S, SCALARS, SIGNED, T, literal_text
from .arrays import Arrays
from .forms import Forms


# Rules that need a type or a place which is seldom there, or choose among many functions.
RARE = ["a_fft", "a_sort", "a_stencil_2d", "a_transpose", "a_unflatten", "a_unflatten_3d", "a_zip", "f_all_of", "f_dft", "f_sized", "f_extent", "f_permute_3d", "f_range", "f_rare",
        "f_stencil_3d", "f_update_column", "r_call", "s_any", "s_complex", "s_float", "s_function", "s_test"]


class Ctx:
    """Variables in scope (name -> (type, exact)), how deep the expression may still be, whether it must be exact, whether it is
    the body of a map (where what makes irregular arrays is rare)."""
    __slots__ = ("env", "depth", "exact", "inside")

    def __init__(self, env, depth, exact=False, inside=False):
        self.env, self.depth, self.exact, self.inside = env, depth, exact, inside

    def down(self, by=1):
        return Ctx(self.env, self.depth - by, self.exact, self.inside)

    def ex(self):
        return Ctx(self.env, self.depth - 1, True, self.inside)

    def bind(self, inside=None, **new):
        return Ctx(dict(self.env, **new), self.depth, self.exact, self.inside if inside is None else inside)


class Op:
    """An associative operator: as a function, applied to two texts, and its neutral element."""
    def __init__(self, section, apply, neutral, commutes=False):
        self.section, self.apply, self.neutral, self.commutes = section, apply, neutral, commutes


class Gen(Arrays, Forms):
    def __init__(self, r, dims, palette, risky=False, irregular=False):
        self.r, self.dims, self.palette, self.risky, self.irregular = r, dims, palette, risky, irregular
        self.count, self.budget, self.defs, self.likes = 0, 60, [], {}
        self.sized, self.foreign = [], S(r.choice([p for p in palette if p in COMPLEX] or COMPLEX))

    def liking(self, rule):
        """Each program uses a few rules wherever it can: so what is rare occurs often enough, and together with itself."""
        if not self.likes:
            rules = sorted(n for n in dir(self) if n[:2] in ("a_", "f_", "r_", "s_"))
            self.likes = {n: 30 for n in self.r.sample(rules, 2) + self.r.sample(RARE, 3)}
        return self.likes.get(rule.__name__, 1)

    def name(self, stem="x"):
        self.count += 1
        return "%s%d" % (stem, self.count)

    def dim(self):
        return self.r.choice(self.dims)

    def some_scalar(self):
        return S(self.r.choice(self.palette) if self.r.random() < 0.85 else self.r.choice(SCALARS))

    def some_integer(self):
        return S(self.r.choice([p for p in self.palette if p in INTS] or INTS))

    def some_type(self, rank=2):
        x = self.r.random()
        if x < 0.5 or rank == 0:
            return self.some_scalar()
        if x < 0.85:
            return A(self.dim(), self.some_type(rank - 1))
        fields = [self.some_type(rank - 1) for _ in range(self.r.choice([2, 2, 2, 3, 4]))]
        return R(**dict(zip("abcd", fields))) if self.r.random() < 0.2 else T(*fields)

    def large_type(self):
        """What some_type seldom gives: three levels, tuples and records of many parts and in each other, a few rows."""
        r, s = self.r, self.some_scalar
        return r.choice([lambda: A(self.dim(), A(self.dim(), A(self.dim(), s()))), lambda: A(self.dim(), T(*[s() for _ in range(r.choice([3, 4, 5]))])),
                         lambda: A(self.dim(), A(r.choice("1234"), s())), lambda: A(self.dim(), T(s(), T(s(), A(self.dim(), s())))),
                         lambda: A(self.dim(), R(p=s(), q=A(self.dim(), s()))), lambda: A(self.dim(), A(self.dim(), T(s(), s())))])()

    # ---- leaves ----
    def variables(self, c, want):
        """Texts of variables, and of fields of variables, whose type satisfies `want`."""
        for n, (t, exact) in c.env.items():
            if c.exact and not exact:
                continue
            if want(t):
                yield n, t
            elif t.tuple:
                for i, f in enumerate(t.fields):
                    if want(f):
                        yield "%s.%s" % (n, t.names[i] if t.names else i), f

    def newest(self, found):
        """One of them, those bound last preferred: what a map or loop goes over should matter."""
        return found[-1 - int(len(found) * self.r.random() ** 2)]

    def variable(self, t, c):
        found = list(self.variables(c, lambda u: u == t))
        return E(t, self.newest(found)[0], env=c.env) if found else None

    def converted(self, t, c):
        """A variable of another type, converted."""
        if t.array and t.element.scalar and t.element.name in INTS + FLOATS:
            found = list(self.variables(c.ex(), lambda u: u.array and u.dim == t.dim and u.element.scalar and u.element.name in INTS + FLOATS))
            return E(t, "(map %s %s)" % (t.element.name, self.newest(found)[0]), env=c.env) if found else None
        if t.scalar and t.name in INTS + FLOATS:
            found = list(self.variables(c.ex(), lambda u: u.scalar and u.name in INTS + FLOATS))
            return E(t, "(%s %s)" % (t.name, self.newest(found)[0]), env=c.env) if found else None
        return None

    def leaf(self, t, c):
        if self.r.random() < 0.8:
            v = self.variable(t, c) or (self.converted(t, c) if self.r.random() < 0.8 else None)
            if v:
                return v
        return self.literal(t, c)

    def literal(self, t, c):
        if t.scalar:
            return E(t, literal_text(t.name, self.r), env=c.env)
        if t.tuple:
            return self.make_tuple(t, [self.leaf(f, c) for f in t.fields], c)
        e = t.element
        if e.scalar and e.name in INTS + FLOATS and self.r.random() < 0.5:
            return E(t, "(map %s (iota %s))" % (e.name, t.dim), env=c.env)
        return E(t, "(replicate %s " % t.dim, self.leaf(e, c), ")", env=c.env)

    def make_tuple(self, t, parts, c):
        out = ["{" if t.names else "("]
        for i, p in enumerate(parts):
            out += [", " if i else "", t.names[i] + " = " if t.names else "", p]
        return E(t, *out, "}" if t.names else ")", env=c.env)

    # ---- any type ----
    def expr(self, t, c):
        self.budget -= 1
        if c.depth <= 0 or self.budget <= 0:
            return self.leaf(t, c)
        own = self.scalar_rules(t) if t.scalar else self.array_rules(t) if t.array else [(5, self.tuple_literal)]
        rules = own + [(1.5, self.r_leaf), (1, self.r_if), (0.4, self.r_match), (0.9, self.r_let), (0.6, self.r_for), (0.4, self.r_while),
                       (0.8, self.r_index), (1.2, self.r_fold), (0.4, self.r_project), (0.3, self.r_assert),
                       (0.5, self.r_call), (0.4, self.r_over), (0.2, self.r_scan_total), (0.2, self.r_attribute), (0.3, self.f_end), (0.3, self.f_fold_left), (0.4, self.f_record),
                       (0.3, self.f_iterate)]
        for _ in range(4):
            rule = self.r.choices([f for _, f in rules], [w * self.liking(f) for w, f in rules])[0]
            e = rule(t, c)
            if e:
                e.env = c.env
                return e
        return self.leaf(t, c)

    def r_leaf(self, t, c):
        return self.variable(t, c)

    def tuple_literal(self, t, c):
        return self.make_tuple(t, [self.expr(f, c.down()) for f in t.fields], c)

    def r_if(self, t, c):
        return E(t, "(if ", self.expr(BOOL, c.ex()), " then ", self.expr(t, c.down()), " else ", self.expr(t, c.down()), ")")

    def r_match(self, t, c):
        """Cases of numbers, or of a number beside a truth value; all values are covered."""
        n, go, x = self.some_integer(), lambda c: self.expr(t, c.down()), self.name("n")
        cases = lambda form, last: [p for v in self.r.sample([0, 1, 2, 3, 100], self.r.randint(1, 3)) for p in (" case " + form % v + " -> ", go(c))] + [
            " case " + last + " -> ", go(c.bind(**{x: (n, True)}))]
        if self.r.random() < 0.5:
            return E(t, "(match ", self.expr(n, c.ex()), *cases("%d", x), ")")
        return E(t, "(match (", self.expr(n, c.ex()), ", ", self.expr(BOOL, c.ex()), ")", *cases("(%d, " + self.r.choice(["true", "false", "_"]) + ")",
                                                                                                 "(%s, _)" % x), ")")

    def r_let(self, t, c):
        x, u = self.name(), self.some_type()
        if u.tuple and not u.names and self.r.random() < 0.5:
            names = [self.name() for _ in u.fields]
            inner = c.bind(**{n: (f, c.exact) for n, f in zip(names, u.fields)})
            return E(t, "(let (%s) = " % ", ".join(names), self.expr(u, c.down()), " in ", self.expr(t, inner.down()), ")")
        claim = ": %s" % u.text if self.r.random() < 0.2 else ""
        return E(t, "(let %s%s = " % (x, claim), self.expr(u, c.down()), " in ", self.expr(t, c.bind(**{x: (u, c.exact)}).down()), ")")

    def r_for(self, t, c):
        if c.inside and t.array and self.r.random() < 0.7:
            return None
        a, i = self.name("a"), self.name("ix")
        inner = c.bind(**{a: (t, True), i: (I64, True)}).ex()
        count = E(I64, str(self.r.randint(0, 4))) if self.r.random() < 0.7 else E(I64, "(", self.expr(I64, c.ex().down()), " % 4)")
        return E(t, "(loop %s = " % a, self.expr(t, c.ex()), " for %s < " % i, count, " do ", self.expr(t, inner), ")")

    def r_over(self, t, c):
        """A loop over the elements of an array."""
        if t.array and c.inside:
            return None
        found = list(self.variables(c, lambda u: u.array))
        if not found:
            return None
        source, u = self.r.choice(found)
        a, x = self.name("a"), self.name()
        inner = c.bind(**{a: (t, True), x: (u.element, c.exact)}).ex()
        return E(t, "(loop %s = " % a, self.expr(t, c.ex()), " for %s in %s do " % (x, source), self.expr(t, inner), ")")

    def r_while(self, t, c):
        if c.inside and t.array and self.r.random() < 0.8:
            return None
        a, k = self.name("a"), self.name("k")
        inner = c.bind(**{a: (t, True), k: (I64, True)}).ex()
        limit = self.r.choice(["%d" % self.r.randint(1, 5), None])
        limit = E(I64, limit) if limit else E(I64, "(", self.expr(I64, c.ex().down()), " % 5)")
        test = E(BOOL, "%s < " % k, limit) if self.r.random() < 0.6 else E(BOOL, "%s < " % k, limit, " && ", self.expr(BOOL, inner.down()))
        return E(t, "(let (%s, _) = loop (%s, %s) = (" % (a, a, k), self.expr(t, c.ex()), ", 0i64) while ", test, " do (",
                 self.expr(t, inner), ", %s + 1) in %s)" % (k, a))

    def r_index(self, t, c):
        d = self.dim()
        xs, i = self.expr(A(d, t), c.down()), self.expr(I64, c.ex())
        if self.risky and self.r.random() < 0.3:
            return E(t, "(", xs, ")[", i, "]")
        if self.r.random() < 0.4:  # where elements differ in whether they may index
            a, k = self.name("a"), self.name("k")
            return E(t, "(let %s = " % a, xs, " let %s = " % k, i, " in if 0 <= %s && %s < length %s then %s[%s] else " % (k, k, a, a, k),
                     self.leaf(t, c), ")")
        if d.isdigit() and int(d) > 0:
            return E(t, "(", xs, ")[", i, " % " + d + "]")
        return E(t, "(if %s == 0 then " % d, self.leaf(t, c), " else (", xs, ")[", i, " %% %s])" % d)

    def r_fold(self, t, c):
        commutes = self.r.random() < 0.2
        op = self.operator(t, c.exact, commutative=commutes)
        if not op:
            return None
        op.commutes = commutes
        xs = self.expr(A(self.dim(), t), c.down())
        found = list(self.variables(c, lambda u: u.array))
        if found and self.r.random() < 0.5:
            source, u = self.r.choice(found)
            x = self.name()
            xs = E(A("", t), "(map (\\%s -> " % x, self.expr(t, c.bind(inside=True, **{x: (u.element, c.exact)}).down()), ") %s)" % source)
        if self.irregular and self.r.random() < 0.3:
            p = self.name()
            before, after = self.r.choice([("(filter", ")"), ("(filter", ")"), ("((partition", ").0)"), ("((partition", ").1)")])
            xs = E(A("", t), before + " (\\%s -> " % p, self.expr(BOOL, c.bind(inside=True, **{p: (t, True)}).ex()), ") ",
                   xs if c.exact else self.expr(A(self.dim(), t), c.ex()), after)
        if self.risky and self.r.random() < 0.15:
            return E(t, "(fold1 %s " % op.section, xs, ")")
        return E(t, "(%s %s %s " % (self.r.choice(["fold", "fold", "reduce", "reduce_comm"] if op.commutes else ["fold", "reduce"]), op.section, op.neutral), xs, ")")

    def r_scan_total(self, t, c):
        op = self.operator(t, c.exact)
        return op and E(t, "(scan_total %s %s " % (op.section, op.neutral), self.expr(A(self.dim(), t), c.down()), ").1")

    def r_attribute(self, t, c):
        return E(t, "(#[%s] " % self.r.choice(["unroll", "inline", "sequential"]), self.expr(t, c.down()), ")")

    def r_project(self, t, c):
        other = self.some_type(1)
        if self.r.random() < 0.5:
            return E(t, "(", self.expr(T(t, other), c.down()), ").0")
        return E(t, "(", self.expr(T(other, t), c.down()), ").1")

    def r_assert(self, t, c):
        if self.risky and self.r.random() < 0.5:
            cond = self.expr(BOOL, c.ex())
        else:
            x = self.name()
            cond = E(BOOL, "(let %s = " % x, self.expr(I64, c.ex()), " in %s == %s)" % (x, x))
        return E(t, "(assert ", cond, " ", self.expr(t, c.down()), ")")

    def r_call(self, t, c):
        fitting = [d for d in self.defs if d[2] == t]
        if fitting:
            name, params, _ = self.r.choice(fitting)
            parts = []
            for p in params:
                parts += [" ", self.expr(p, c.ex())]
            return E(t, "(" + name, *parts, ")")
        f, x, u = self.name("fun"), self.name(), self.some_scalar()
        inner = c.bind(**{x: (u, True)}).ex()
        return E(t, "(let %s (%s: %s) = " % (f, x, u.text), self.expr(t, inner), " in %s " % f, self.expr(u, c.ex()), ")")

    # ---- operators ----
    def operator(self, t, exact, commutative=False, r=None):
        """An Op on t, or None. Operators on floats that round are only for what need not be exact."""
        r = self.r
        if t.scalar:
            n = t.name
            infix = lambda o, ne: Op(r.choice(["(%s)" % o, "(\\a b -> a %s b)" % o]), lambda a, b: "(%s %s %s)" % (a, o, b), ne)
            prefix = lambda o, ne: Op("%s.%s" % (n, o), lambda a, b: "(%s.%s %s %s)" % (n, o, a, b), ne)
            if n == "bool":
                return r.choice([infix("&&", "true"), infix("||", "false")])
            if n in COMPLEX:
                return None if exact else infix("+", "(complex 0%s 0%s)" % (PART[n], PART[n]))
            if n in FLOATS:
                ops = [prefix("max", "(-%s.inf)" % n), prefix("min", "%s.inf" % n)]
                return r.choice(ops if exact else ops + [infix("+", "0" + n)] * 3)
            ones = "(-1%s)" % n if n in SIGNED else "%s.highest" % n
            ops = [infix("+", "0" + n)] * 3 + [infix("*", "1" + n), infix("&", ones), infix("|", "0" + n), infix("^", "0" + n),
                                               prefix("max", n + ".lowest"), prefix("min", n + ".highest")]
            if not commutative:
                first = lambda a, b: "(if %s == 0%s then %s else %s)" % (a, n, b, a)
                ops.append(Op("(\\a b -> %s)" % first("a", "b"), first, "0" + n))
            return r.choice(ops)
        if t.array:
            op = self.operator(t.element, exact, commutative)
            if not op or not t.dim:
                return None
            return Op("(zip_with %s)" % op.section, lambda a, b: "(zip_with %s %s %s)" % (op.section, a, b),
                      "(replicate %s %s)" % (t.dim, op.neutral))
        if not commutative and not t.names and len(t.fields) == 2 and r.random() < 0.5:
            a, b = t.fields
            if a == b and a.scalar and a.name in INTS:  # affine maps, the first one applied first
                return Op("(\\(a, b) (c, d) -> (a * c, b * c + d))",
                          lambda x, y: "(%s.0 * %s.0, %s.1 * %s.0 + %s.1)" % (x, y, x, y, y), "(1%s, 0%s)" % (a.name, a.name))
            if a.scalar and a.name in INTS and b == I64:  # the first greatest
                return Op("(\\(a, i) (b, j) -> if b > a then (b, j) else (a, i))",
                          lambda x, y: "(if %s.0 > %s.0 then %s else %s)" % (y, x, y, x), "(%s.lowest, 0i64)" % a.name)
        ops = [self.operator(f, exact, commutative) for f in t.fields]
        if not all(ops):
            return None
        names = t.names or [str(i) for i in range(len(ops))]
        apply = lambda a, b: ("{%s}" if t.names else "(%s)") % ", ".join(
            (n + " = " if t.names else "") + o.apply("%s.%s" % (a, n), "%s.%s" % (b, n)) for n, o in zip(names, ops))
        neutral = ("{%s}" if t.names else "(%s)") % ", ".join((n + " = " if t.names else "") + o.neutral for n, o in zip(names, ops))
        if not t.names and r.random() < 0.5:
            left, right = ["a%d" % i for i in range(len(ops))], ["b%d" % i for i in range(len(ops))]
            section = "(\\(%s) (%s) -> (%s))" % (", ".join(left), ", ".join(right), ", ".join(o.apply(x, y) for o, x, y in zip(ops, left, right)))
        else:
            section = "(\\(a: %s) (b: %s) -> %s)" % (t.text, t.text, apply("a", "b"))
        return Op(section, apply, neutral)

    # ---- scalars ----
    def scalar_rules(self, t):
        n = t.name
        rules = [(1, self.s_convert), (0.5, self.s_array)]
        if n == "bool":
            return [(3, self.s_compare), (1.5, self.s_logic), (0.5, self.s_test), (0.4, self.s_equal), (0.5, self.s_any), (0.3, self.f_all_of)]
        if n in COMPLEX:
            return rules + [(7, self.s_complex)]
        if t == I64:
            rules.append((1, self.f_extent))
        if n in FLOATS:
            rules.append((3, self.s_function))
        return rules + [(0.6, self.f_rare), (4, self.s_integer if n in INTS else self.s_float)]

    def s_convert(self, t, c):
        n = t.name
        names = [p for p in self.palette if p not in COMPLEX] or ["i64"]
        u = S(self.r.choice(names + ["i64", "bool"] if n in INTS else names))
        if n in COMPLEX:
            u = self.r.choice([u, S(COMPLEX[0]), S(COMPLEX[1])])
        if u.name == "bool":
            return E(t, "(if ", self.expr(u, c.ex()), " then 1%s else 0%s)" % (n, n)) if n not in COMPLEX else None
        keeps = n in FLOATS + COMPLEX and u.name in FLOATS + COMPLEX
        return E(t, "(%s " % n, self.expr(u, c.down() if keeps else c.ex()), ")")

    def s_array(self, t, c):
        if t == I64:
            return E(t, "(length ", self.expr(A(self.dim(), self.some_type(1)), c.ex()), ")")
        if t.name in INTS:
            return E(t, "(%s " % self.r.choice(["sum", "product", "maximum", "minimum"]), self.expr(A(self.dim(), t), c.down()), ")")
        if t.name in FLOATS:
            return E(t, "(%s " % self.r.choice(["maximum", "minimum"] + ([] if c.exact else ["sum", "sum"])), self.expr(A(self.dim(), t), c.down()), ")")
        return None if c.exact else E(t, "(sum ", self.expr(A(self.dim(), t), c.down()), ")")

    def s_any(self, t, c):
        u, x = self.some_scalar(), self.name()
        body = self.expr(BOOL, c.bind(inside=True, **{x: (u, True)}).ex())
        return E(t, "(%s (\\%s -> " % (self.r.choice(["any", "all"]), x), body, ") ", self.expr(A(self.dim(), u), c.ex()), ")")

    def s_compare(self, t, c):
        names = [p for p in self.palette if p not in COMPLEX + ["bool"]] or ["i64"]
        u = S(self.r.choice(names + ["i64"]))
        return E(t, "(", self.expr(u, c.ex()), " %s " % self.r.choice(["<", "<=", "==", "!=", ">", ">="]), self.expr(u, c.ex()), ")")

    def s_logic(self, t, c):
        if self.r.random() < 0.3:
            return E(t, "(!", self.expr(t, c.ex()), ")")
        return E(t, "(", self.expr(t, c.ex()), self.r.choice([" && ", " || ", " == ", " != "]), self.expr(t, c.ex()), ")")

    def s_test(self, t, c):
        u = S(self.r.choice(FLOATS))
        return E(t, "(%s " % self.r.choice(["is_nan", "is_finite", "is_inf"]), self.expr(u, c.ex()), ")")

    def s_equal(self, t, c):
        u = self.some_type()
        return E(t, "(", self.expr(u, c.ex()), self.r.choice([" == ", " != "]), self.expr(u, c.ex()), ")")

    def s_integer(self, t, c):
        n, r = t.name, self.r
        go = lambda: self.expr(t, c.ex())
        kind = r.random()
        if kind < 0.4:
            return E(t, "(", go(), " %s " % r.choice(["+", "-", "*", "+", "-", "&", "|", "^"]), go(), ")")
        if kind < 0.55:
            op = r.choice(["/", "%", "//", "%%"])
            if self.risky and r.random() < 0.4:
                return E(t, "(", go(), " %s " % op, go(), ")")
            if r.random() < 0.4:
                d = self.name("d")
                return E(t, "(let %s = " % d, go(), " in if %s == 0%s then " % (d, n), go(), " else ", go(), " %s %s)" % (op, d))
            return E(t, "(", go(), " %s %s)" % (op, r.choice(["1", "2", "3", "7", "100"] + (["(-1%s)", "(-3%s)"] if n in SIGNED else ["5"]))
                                               .replace("%s", n)))
        if kind < 0.65:
            op = r.choice(["<<", ">>", ">>>"])
            if r.random() < 0.5:
                return E(t, "(", go(), " %s %d%s)" % (op, r.choice([0, 1, 3, 7, 8, 15, 31, 32, 63, 64, 100]), n))
            return E(t, "(", go(), " %s (" % op, go(), " %% 70%s))" % n)
        if kind < 0.75:
            return E(t, "(%s.%s " % (n, r.choice(["min", "max"])), go(), " ", go(), ")")
        if kind < 0.85:
            if r.random() < 0.5:
                return E(t, "(%s (%s " % (n, r.choice(["popc", "clz", "ctz"])), self.expr(self.some_integer(), c.ex()), "))")
            return E(t, "(%s " % r.choice(["abs", "sgn", "!"] + (["-"] if n in SIGNED else [])), go(), ")")
        if kind < 0.92:
            return E(t, "(clamp ", go(), " ", go(), " ", go(), ")")
        return E(t, "(", go(), " ** %d%s)" % (r.randint(0, 5), n))

    def s_function(self, t, c):
        name = self.r.choice(["floor", "ceil", "round", "trunc", "sin", "cos", "tan", "atan", "exp", "log", "sqrt", "sgn", "tanh", "asin", "acos", "sinh",
                              "cosh", "log2", "log10"])
        return E(t, "(%s " % name, self.expr(t, c.ex()), ")")

    def s_float(self, t, c):
        n, r = t.name, self.r
        go, ex = lambda: self.expr(t, c.down()), lambda: self.expr(t, c.ex())
        kind = r.random()
        if kind < 0.18:
            return E(t, "(", go(), r.choice([" + ", " - "]), go(), ")")
        if kind < 0.3:
            return E(t, "(", ex(), r.choice([" * ", " * ", " / "]), ex(), ")")
        if kind < 0.4:
            return E(t, "(%s.%s " % (n, r.choice(["min", "max"])), go(), " ", go(), ")")
        if kind < 0.45:
            return E(t, "(%s " % r.choice(["abs", "-"]), go(), ")")
        if kind < 0.74:
            return self.s_function(t, c)
        if kind < 0.79:
            return E(t, "(%s " % r.choice(["atan2", "hypot"]), ex(), " ", ex(), ")")
        if kind < 0.84:
            return E(t, "(%s " % r.choice(["fma", "fma", "clamp"]), ex(), " ", ex(), " ", ex(), ")")
        if kind < 0.87:
            return E(t, "(", ex(), " ** ", ex(), ")")
        u = S({"f32": "c64", "f64": "c128"}[n])
        return E(t, "(%s " % r.choice(["re", "im", "abs", "arg"]), self.expr(u, c.ex()), ")")

    def s_complex(self, t, c):
        part, r = S(PART[t.name]), self.r
        go, ex = lambda: self.expr(t, c.down()), lambda: self.expr(t, c.ex())
        kind = r.random()
        if kind < 0.25:
            return E(t, "(", go(), r.choice([" + ", " - "]), go(), ")")
        if kind < 0.45:
            return E(t, "(", ex(), r.choice([" * ", " * ", " / "]), ex(), ")")
        if kind < 0.6:
            return E(t, "(complex ", self.expr(part, c.down()), " ", self.expr(part, c.down()), ")")
        if kind < 0.7:
            return E(t, "(scale ", self.expr(part, c.ex()), " ", ex(), ")")
        if kind < 0.85:
            return E(t, "(%s " % r.choice(["conj", "-", "exp", "sqrt"]), ex(), ")")
        return E(t, "(cis ", self.expr(part, c.ex()), ")")
