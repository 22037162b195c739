"""What else there is to write: ways to say the same (pipes, sections, ranges, aliases), arrays that become longer and shorter on the
way, parts of arrays, functions of functions. Rules like those of expressions.py and arrays.py, which list them."""
from .terms import A, BOOL, E, FLOATS, I64, INTS, R, T


class Forms:
    # ---- arrays of a given type ----
    def f_stride(self, t, c):
        """Every other element of an array twice as long, from either end."""
        a, b = self.expr(t, c.down()), self.expr(t, c.down())
        return E(t, "(", a, " ++ ", b, ")", self.r.choice(["[::2]", "[1::2]", "[::-2]", "[:0:-2]" if t.dim.isdigit() and int(t.dim) > 0 else "[::-2]"]))

    def f_update_slice(self, t, c):
        """Some elements are others: the first few, the last few, every other one."""
        x, y, k = self.name(), self.name(), self.name("k")
        parts = ["(let %s = " % x, self.expr(t, c.down()), " let %s = " % y, self.expr(t, c.down())]
        form = self.r.choice(["%(x)s with [:%(k)s] = take %(k)s %(y)s", "%(x)s with [%(k)s:] = drop %(k)s %(y)s", "%(x)s with [::2] = %(y)s[::2]",
                              "%(x)s with [::-1] = %(y)s", "%(x)s with [%(k)s:%(k)s] = []"])
        if "%(k)s" in form:
            parts += [" let %s = " % k, self.expr(I64, c.ex()), " %% (length %s + 1)" % x]
        return E(t, *parts, " in " + form % {"x": x, "y": y, "k": k} + ")")

    def f_update_column(self, t, c):
        x, y, r = self.name(), self.name(), self.name("r")
        return E(t, "(let %s = " % x, self.expr(t, c.down()), " let %s = " % y, self.expr(t, c.down()), " in if length %s > 0 && length %s[0] > 0 then %s with [:, 0] = "
                 "map (\\%s -> last %s) %s else %s)" % (x, x, x, r, r, y, x))

    def f_range(self, t, c):
        """Numbers in steps, up or down."""
        n, name = t.dim, t.element.name
        forms = ["0..<%s" % n, "1...%s" % n, "%s..>0" % n, "5..7..<(2 * %s + 5)" % n, "%s..(%s - 1)...1" % (n, n)]
        text = self.r.choice(forms[:4] if not n.isdigit() else forms)
        return E(t, "(%s)" % text) if name == "i64" else E(t, "(map %s (%s))" % (name, text))

    def f_parted(self, t, c):
        """Elements that a condition sorts out and puts together again: as many as before."""
        p, q, x = self.name("p"), self.name("q"), self.name()
        body = self.expr(BOOL, c.bind(inside=True, **{x: (t.element, True)}).ex())
        how = self.r.choice(["%s ++ %s", "reverse %s ++ %s", "concat %s %s"])
        return E(t, "(let (%s, %s) = partition (\\%s -> " % (p, q, x), body, ") ", self.expr(t, c.ex()), " in ", how % (p, q), ")")

    def f_filtered(self, t, c):
        """What a condition leaves, filled up."""
        x = self.name()
        body = self.expr(BOOL, c.bind(inside=True, **{x: (t.element, True)}).ex())
        return E(t, "(take %s (filter (\\%s -> " % (t.dim, x), body, ") ", self.expr(t, c.ex()), " ++ replicate %s " % t.dim, self.leaf(t.element, c), "))")

    def f_turns(self, t, c):
        """A loop whose turns change few elements of two states: several of one, by each other, in branches and loops inside; old values
        are looked at, the states change places."""
        if c.inside and self.r.random() < 0.5:
            return None
        r, n, p, q = self.r, t.dim, self.name("p"), self.name("q")
        apart = r.random() < 0.4  # elements may differ in the number of turns
        i = self.name("iu" if apart else "ix")
        c = c.ex()
        inner = c.bind(**{p: (t, True), q: (t, True), i: (I64, True)}).ex()

        def place():
            at = r.choice([i, i, "0", "%s - 1 - %s" % (n, i), "%s + 1" % i, "%s * 3" % i, None])
            return "((", (at if at else self.expr(I64, inner.down())), ") %% %s)" % n

        def value():
            return ("%s[" % r.choice([p, q]), *place(), "]") if r.random() < 0.7 else (self.expr(t.element, inner.down()),)

        def changed(x):
            if r.random() < 0.15:
                return "(scatter %s [" % x, *place(), ", ", *place(), "] [", *value(), ", ", *value(), "])"
            parts = [x]
            for _ in range(r.choice([1, 1, 2, 2, 3])):
                parts = ["(", *parts, " with [", *place(), "] = ", *value(), ")"]
            return parts

        def turn():
            x, y, j, form = self.name("a"), self.name("a"), self.name("j"), r.randrange(9)
            if form == 0:
                return "(if ", self.expr(BOOL, inner), " then (", *changed(p), ", %s) else (%s, " % (q, p), *changed(q), "))"
            if form == 1:
                return "(", *changed(q), ", %s)" % p
            if form == 2:
                return "(let %s = " % x, *changed(p), " in (%s, " % x, *changed(r.choice([q, x])), "))"
            if form == 3:
                return "(loop %s = %s for %s < " % (p, p, j), str(r.randint(0, 3)), " do ", *changed(p), ", %s)" % q
            if form == 4:
                return "(if ", self.expr(BOOL, inner), " then (%s, %s) else (" % r.choice([(q, p), (p, q)]), *changed(p), ", ", *changed(q), "))"
            if form == 5:
                return ("(if ", self.expr(BOOL, inner), " then (loop %s = %s for %s < 2 do " % (x, p, j), *changed(x), ") else ", *changed(p), ", ",
                        *changed(q), ")")
            if form == 6:
                return "(let %s = " % x, *changed(p), " let %s = " % y, *changed(x), " in (%s, " % y, *changed(q), "))"
            return "(", *changed(p), ", ", *changed(q), ")"

        count = ("((", self.expr(I64, c.down()), ") %% %d)" % r.randint(2, 6)) if apart else (r.choice([str(r.randint(0, 7)), n]),)
        x, y = self.name(), self.name()
        return E(t, "(let %s = " % x, self.expr(t, c.down()), " let %s = " % y, self.expr(t, c.down()), " in if %s == 0 then %s else (loop (%s, %s) = (%s, %s) for %s < "
                 % (n, x, p, q, x, y, i), *count, " do ", *turn(), ").%d)" % r.randint(0, 1))

    def f_grown(self, t, c):
        """A loop whose state has another length after each turn, cut to the asked one at the end."""
        if c.inside and self.r.random() < 0.6:
            return None
        a, i, r = self.name("a"), self.name("ix"), self.r
        inner = c.bind(inside=True, **{i: (I64, True)}).ex()
        grow = r.choice(["%(a)s ++ %(a)s", "%(a)s ++ [%(e)s]", "[%(e)s] ++ %(a)s", "(if %(i)s %% 2 == 0 then %(a)s ++ [%(e)s] else drop 1 %(a)s)"])
        before, after = grow % {"a": a, "i": i, "e": "\0"} if "%(e)s" in grow else grow % {"a": a}, ""
        if "\0" in before:
            before, after = before.split("\0")
            turn = [before, self.expr(t.element, inner), after]
        else:
            turn = [before]
        turns = r.choice(["2", "3", "(%s %% 4)" % r.choice([t.dim, "3"])])
        return E(t, "(take %s ((loop %s = " % (t.dim, a), self.expr(t, c.ex()), " for %s < %s do " % (i, turns), *turn,
                 ") ++ replicate %s " % t.dim, self.leaf(t.element, c), "))")

    def f_pipe(self, t, c):
        """An array handed on, in either direction."""
        x, u = self.name(), self.some_type(1)
        body = self.expr(t.element, c.bind(inside=True, **{x: (u, c.exact)}).down())
        xs = self.expr(A(t.dim, u), c.down())
        if self.r.random() < 0.5:
            return E(t, "(", xs, " |> map (\\%s -> " % x, body, ")", self.r.choice(["", " |> reverse"]), ")")
        return E(t, "(map (\\%s -> " % x, body, ") <| ", xs, ")")

    def f_section(self, t, c):
        """An operator with one operand; a field; a function of two arguments with one."""
        e, r = t.element, self.r
        if e.scalar and e.name in INTS:
            v = self.leaf(e, c.ex())
            f = ["(", v, " %s)" % r.choice("+-*&|^")] if r.random() < 0.5 else ["(%s " % r.choice("+*&|^"), v, ")"]
        elif e.scalar and e.name in FLOATS:
            f = ["(%s.%s " % (e.name, r.choice(["max", "min"])), self.leaf(e, c), ")"]
        elif e == BOOL:
            f = ["(!)"]
        else:
            return None
        return E(t, "(map ", *f, " ", self.expr(t, c.down()), ")")

    def f_columns(self, t, c):
        """Fields of records that an array holds."""
        x, other = self.name(), self.some_type(1)
        made = R(p=t.element, q=other)
        return E(t, "(map (\\%s -> %s.p) " % (x, x), self.expr(A(t.dim, made), c.down()), ")")

    def f_unzip3(self, t, c):
        a, b, z = self.some_scalar(), self.some_scalar(), self.name("z")
        return E(t, "(let (_, %s, _) = unzip3 " % z, self.expr(A(t.dim, T(a, t.element, b)), c.down()), " in %s)" % z)

    def f_spread(self, t, c):
        d = self.dim()
        return E(t, "(spread %s " % t.dim, self.leaf(t.element, c), " ", self.places(c, [d], 1), " ", self.expr(A(d, t.element), c.down()), ")")

    def f_permute_3d(self, t, c):
        """On the three outer axes."""
        e = t.element.element.element
        op = self.operator(e, c.exact, commutative=True)
        if not op:
            return None
        d = self.dim()
        return E(t, "(permute %s " % op.section, self.expr(t, c.down()), " ", self.places(c, [d], 3), " ", self.expr(A(d, e), c.down()), ")")

    def f_stencil_3d(self, t, c):
        if not all((t.dim, t.element.dim, t.element.element.dim)):
            return None
        e = t.element.element.element
        return self.stencil(t, c, e if self.r.random() < 0.5 else self.some_scalar(), [t.dim, t.element.dim, t.element.element.dim])

    def f_stencil_zip(self, t, c):
        """Neighbours in two arrays at once."""
        r, w = self.r, self.name("w")
        u, v, x, y = self.some_scalar(), self.some_scalar(), self.name(), self.name()
        inner = c.bind(inside=True, **{x: (u, c.exact), y: (v, c.exact)})
        return E(t, "(stencil %s (\\%s -> let %s = %s[%d].0 let %s = %s[%d].1 in " % (r.choice(["#clamp", "#mirror", "#wrap"]), w, x, w, r.randint(-2, 2), y, w,
                 r.randint(-2, 2)), self.expr(t.element, inner.down()), ") (zip ", self.expr(A(t.dim, u), c.down()), " ", self.expr(A(t.dim, v), c.down()), "))")

    def f_unflatten_one(self, t, c):
        """As many rows as a type says."""
        flat = E(A("%s * %s" % (t.dim, t.element.dim), t.element.element), "(flatten ", self.expr(t, c.down()), ")")
        return E(t, "(unflatten ", flat, " : %s)" % t.text)

    def f_dft(self, t, c):
        """A function that the system has: eval goes by what the program says of it."""
        return None if c.exact else E(t, "(dft ", self.expr(t, c.ex()), ")")

    def f_sized(self, t, c):
        """A def whose types have size parameters, of arrays of whatever length."""
        fitting = [d for d in self.sized if d[2] == t.element]
        if not fitting:
            return None
        name, (first, second), _ = self.r.choice(fitting)
        return E(t, "(%s " % name, self.expr(A(t.dim, first), c.ex()), " ", self.expr(A(self.dim(), second), c.ex()), ")")

    def f_iterate(self, t, c):
        """A function of functions: the given one a few times."""
        x = self.name()
        body = self.expr(t, c.bind(**{x: (t, True)}).ex())
        if self.r.random() < 0.5:
            g, y = self.name("fun"), self.name()
            return E(t, "(let %s g %s = g (g %s) in %s (\\%s -> " % (g, y, y, g, x), body, ") ", self.expr(t, c.ex()), ")")
        f = self.r.choice(["iterate %d (\\%s -> " % (self.r.randint(0, 3), x), "((\\%s -> %s) >-> (\\%s -> " % (x, x, x)])
        return E(t, "(", f, body, "))" if ">->" in f else ")", " ", self.expr(t, c.ex()), ")")

    # ---- elements ----
    def f_end(self, t, c):
        """The first or the last of an array that has one element at least."""
        d = self.dim()
        return E(t, "(%s ([" % self.r.choice(["head", "last", "head", "last", "(\\xs -> (tail xs ++ xs)[0])"]), self.expr(t, c.down()), "] ++ ",
                 self.expr(A(d, t), c.down()), "))")

    def f_fold_left(self, t, c):
        """Any function, from one end to the other."""
        if c.inside and t.array:
            return None
        a, x, u = self.name("a"), self.name(), self.some_scalar()
        inner = c.bind(inside=True, **{a: (t, True), x: (u, True)}).ex()
        name, names = self.r.choice([("foldl", (a, x)), ("foldr", (x, a))])
        return E(t, "(%s (\\%s %s -> " % (name, *names), self.expr(t, inner), ") ", self.expr(t, c.ex()), " ", self.expr(A(self.dim(), u), c.ex()), ")")

    def f_record(self, t, c):
        """A field of a record, of one with another value in its place too."""
        other, x = self.some_type(1), self.name()
        made = R(p=t, q=other)
        if self.r.random() < 0.5:
            return E(t, "(", self.expr(made, c.down()), ").p")
        if self.r.random() < 0.5:
            return E(t, "(let %s = " % x, self.expr(made, c.down()), " in (%s with p = " % x, self.expr(t, c.down()), ").p)")
        return E(t, "(let {p = %s, q = _} = " % x, self.expr(made, c.down()), " in %s)" % x)

    def f_extent(self, t, c):
        """How many, asked for in one of the ways."""
        u = A(self.dim(), A(self.dim(), self.some_scalar()))
        x = self.name()
        form = self.r.choice(["(length %(x)s * length (flatten %(x)s))", "((extent %(x)s).0 + 2 * (extent %(x)s).1)", "(if null %(x)s then 7 else length %(x)s)",
                              "(count (\\r -> length r > 1) %(x)s)", "(sum (indices %(x)s))"])
        return E(t, "(let %s = " % x, self.expr(u, c.ex()), " in ", form % {"x": x}, ")")

    def f_all_of(self, t, c):
        return E(t, "(%s " % self.r.choice(["and", "or"]), self.expr(A(self.dim(), BOOL), c.ex()), ")")

    def f_rare(self, t, c):
        """Scalar functions that seldom stand anywhere."""
        n, r, go = t.name, self.r, lambda: self.expr(t, c.ex())
        if n in FLOATS:
            k = r.random()
            if k < 0.3:
                return E(t, "(%s.lerp " % n, go(), " ", go(), " ", go(), ")")
            return E(t, "(like ", go(), " ", self.expr(self.some_integer(), c.ex()), ")") if k < 0.6 else E(t, "(opaque ", go(), ")")
        return E(t, "(", go(), r.choice([" `max` ", " `min` "]), go(), ")") if n in INTS else None
