"""Array expressions: every operation on arrays, each giving a result of the asked type."""
from .terms import A, COMPLEX, E, I64, INTS, T, simple


def inner_type(t, levels):
    for _ in range(levels):
        t = t.element
    return t


class Arrays:
    def array_rules(self, t):
        e = t.element
        rules = [(4, self.a_map), (2, self.a_generate), (0.7, self.a_reverse), (0.7, self.a_rotate), (0.7, self.a_scan),
                 (1, self.a_slice), (0.7, self.a_gather), (0.7, self.a_backpermute), (1, self.a_permute), (0.4, self.a_update),
                 (0.4, self.a_replicate), (0.3, self.a_zip_index), (0.3, self.a_imap), (0.3, self.a_scatter), (0.3, self.a_claim),
                 (0.7, self.a_stencil), (0.4, self.f_stride), (0.4, self.f_update_slice), (0.5, self.f_parted), (0.4, self.f_filtered),
                 (0.4, self.f_grown), (0.7, self.f_turns), (0.4, self.f_pipe), (0.4, self.f_section), (0.3, self.f_columns), (0.2, self.f_unzip3), (0.2, self.f_spread),
                 (0.3, self.f_stencil_zip)]
        if e.scalar and e.name in INTS:
            rules += [(0.5, self.a_iota), (1, self.f_range)]
        if t.dim.isdigit() and 0 < int(t.dim) < 5:
            rules.append((1.5, self.a_literal))
        rules.append((0.7, self.a_sort))
        if e.tuple:
            rules.append((5, self.a_zip))
        if e.array:
            rules += [(0.8, self.f_update_column), (1, self.a_transpose), (1, self.a_unflatten), (1.5, self.a_generate_2d), (0.7, self.a_stencil_2d), (0.4, self.f_unflatten_one), (0.5, self.a_backpermute_2d), (1, self.a_permute_2d)]
        if e.array and e.element.array:
            rules += [(2, self.f_permute_3d), (3, self.f_stencil_3d), (4, self.a_unflatten_3d)]
        leaf = e
        while leaf.array:
            leaf = leaf.element
        if leaf.scalar and leaf.name in COMPLEX:
            rules.append((5, self.a_fft))
        if e == self.foreign:
            rules.append((12, self.f_dft))
        if any(d[2] == e for d in self.sized):
            rules.append((8, self.f_sized))
        return rules

    def sources(self, c, dim):
        """Array variables of one length."""
        return list(self.variables(c, lambda u: u.array and u.dim == dim))

    def pattern(self, c, u, exact):
        """A pattern for a parameter of type u, and the context with its names bound. c is already the inner one."""
        if u.tuple and not u.names and self.r.random() < 0.5:
            names = [self.name() for _ in u.fields]
            return "(%s)" % ", ".join(names), c.bind(**{n: (f, exact) for n, f in zip(names, u.fields)})
        x = self.name()
        unique = "*" if u.array and self.r.random() < 0.4 else ""
        return "(%s: %s%s)" % (x, unique, u.text) if self.r.random() < 0.25 else x, c.bind(**{x: (u, exact)})

    def a_map(self, t, c):
        r = self.r
        inner, patterns, sources = c.bind(inside=True), [], []
        for _ in range(r.choice([1, 1, 1, 2, 2, 3] if r.random() < 0.8 else [3, 4, 5])):
            found = self.sources(c, t.dim)
            if found and r.random() < 0.75:
                text, u = r.choice(found)
                s = E(u, text, env=c.env)
            else:
                u = A(t.dim, self.some_type(1))
                s = self.expr(u, c.down())
            p, inner = self.pattern(inner, u.element, c.exact)
            patterns.append(p)
            sources.append(s)
        body = self.expr(t.element, inner.down())
        f = r.choice(["map", "map1"]) if len(sources) == 1 else r.choice(["map%d" % len(sources), "zip_with"])
        parts = []
        for s in sources:
            parts += [" ", s]
        return E(t, "(%s (\\%s -> " % (f, " ".join(patterns)), body, ")", *parts, ")")

    def a_imap(self, t, c):
        i, x, u = self.name("ix"), self.name(), self.some_type(1)
        inner = c.bind(inside=True, **{i: (I64, True), x: (u, c.exact)})
        return E(t, "(imap (\\%s %s -> " % (i, x), self.expr(t.element, inner.down()), ") ", self.expr(A(t.dim, u), c.down()), ")")

    def a_generate(self, t, c):
        i = self.name("ix")
        inner = c.bind(inside=True, **{i: (I64, True)})
        return E(t, "(%s %s (\\%s -> " % (self.r.choice(["generate", "generate", "tabulate"]), t.dim, i), self.expr(t.element, inner.down()), "))")

    def a_generate_2d(self, t, c):
        i, j = self.name("ix"), self.name("j")
        inner = c.bind(inside=True, **{i: (I64, True), j: (I64, True)})
        head = "(generate (%s, %s)" if self.r.random() < 0.7 else "(tabulate_2d %s %s"
        return E(t, head % (t.dim, t.element.dim), " (\\%s %s -> " % (i, j), self.expr(t.element.element, inner.down()), "))")

    def a_iota(self, t, c):
        return E(t, "(iota %s)" % t.dim) if t.element == I64 else E(t, "(map %s (iota %s))" % (t.element.name, t.dim))

    def a_replicate(self, t, c):
        return E(t, "(replicate %s " % t.dim, self.expr(t.element, c.down()), ")")

    def a_literal(self, t, c):
        parts = []
        for i in range(int(t.dim)):
            parts += [", " if i else "", self.expr(t.element, c.down())]
        return E(t, "[", *parts, "]")

    def a_reverse(self, t, c):
        return E(t, "(reverse ", self.expr(t, c.down()), ")") if self.r.random() < 0.7 else E(t, "(", self.expr(t, c.down()), ")[::-1]")

    def a_rotate(self, t, c):
        return E(t, "(rotate ", self.expr(I64, c.ex()), " ", self.expr(t, c.down()), ")")

    def a_scan(self, t, c):
        op = self.operator(t.element, c.exact)
        if not op:
            return None
        xs = self.expr(t, c.down())
        if self.r.random() < 0.2:
            return E(t, "(scan_total %s %s " % (op.section, op.neutral), xs, ").0")
        return E(t, "(%s %s %s " % (self.r.choice(["scan", "scan_ex", "scan_right"]), op.section, op.neutral), xs, ")")

    def a_slice(self, t, c):
        """Part of a longer array that is made of two."""
        d = self.dim()
        a, b = self.expr(t, c.down()), self.expr(A(d, t.element), c.down())
        join = lambda x, y: E(A("%s + %s" % (t.dim, d), t.element), "(", x, " ++ ", y, ")")
        x, n = self.r.random(), t.dim
        if self.risky and x < 0.15:
            return E(t, "(", join(a, b), ")[", self.expr(I64, c.ex()), ":", self.expr(I64, c.ex()), "]")
        if x < 0.3:
            return E(t, "(take %s " % n, join(a, b), ")")
        if x < 0.5:
            return E(t, "(drop %s " % d, join(b, a), ")")
        if x < 0.65:
            return E(t, join(b, a), "[%s:]" % d)
        if x < 0.8:
            return E(t, join(a, b), "[:%s]" % n)
        if x < 0.9:
            return E(t, "(split %s " % n, join(a, b), ").0")
        return E(t, "(concat (replicate 0 %s) " % simple(t.element), a, ")")

    def a_gather(self, t, c):
        """From an array that has one element at least."""
        d = self.dim()
        xs = E(A("1 + " + d, t.element), "([", self.expr(t.element, c.down()), "] ++ ", self.expr(A(d, t.element), c.down()), ")")
        x = self.name()
        guard = "" if self.risky and self.r.random() < 0.3 else " %% (1 + %s)" % d
        return E(t, "(gather ", xs, " (map (\\%s -> %s%s) " % (x, x, guard), self.expr(A(t.dim, I64), c.ex()), "))")

    def a_backpermute(self, t, c):
        d = self.dim()
        # A name alone would stand for all axes of an array of arrays.
        i = self.name("ix")
        inner = c.bind(inside=True, **{i: (I64, True)}).ex()
        f = E(I64, "%s %s %d" % (i, self.r.choice(["+", "-", "*"]), self.r.randint(0, 3))) if self.r.random() < 0.6 else self.expr(I64, inner)
        return E(t, "(backpermute ", self.expr(t, c.down()), " (\\(%s: i64) -> " % i, f, ") ", self.expr(A(d, t.element), c.down()), ")")

    def a_backpermute_2d(self, t, c):
        d, e = self.dim(), self.dim()
        i, j = self.name("ix"), self.name("j")
        inner = c.bind(inside=True, **{i: (I64, True), j: (I64, True)}).ex()
        shift = lambda x: E(I64, "%s %s %d" % (x, self.r.choice(["+", "-"]), self.r.randint(0, 3)))
        f = [shift(i), shift(j)] if self.r.random() < 0.6 else [self.expr(I64, inner.down()), self.expr(I64, inner.down())]
        if self.r.random() < 0.3:
            f.reverse()
        xs = self.expr(A(d, A(e, t.element.element)), c.down())
        return E(t, "(backpermute ", self.expr(t, c.down()), " (\\(%s, %s) -> (" % (i, j), f[0], ", ", f[1], ")) ", xs, ")")

    def stencil(self, t, c, u, dims):
        """Elements of type t from windows over an array of u with these extents: values that are read are named first."""
        r = self.r
        w, inner, reads = self.name("w"), c.bind(inside=True), []
        boundary = r.choice(["#clamp", "#mirror", "#wrap", None])
        for _ in range(r.choice([1, 2, 2, 3])):
            x = self.name()
            reads += ["let %s = %s[" % (x, w)]
            for k in range(len(dims)):
                near = r.random() < 0.85
                reads += [", " if k else "", E(I64, str(r.randint(-2, 2))) if near else self.expr(I64, c.bind(inside=True).ex().down())]
            reads += ["] "]
            inner = inner.bind(**{x: (u, c.exact)})
        xs = u
        for d in reversed(dims):
            xs = A(d, xs)
        around = [boundary] if boundary else ["(#constant ", self.leaf(u, c), ")"]
        return E(t, "(stencil ", *around, " (\\%s -> " % w, *reads, "in ", self.expr(inner_type(t, len(dims)), inner.down()), ") ",
                 self.expr(xs, c.down()), ")")

    def a_stencil(self, t, c):
        return self.stencil(t, c, t.element if self.r.random() < 0.5 else self.some_type(1), [t.dim]) if t.dim else None

    def a_stencil_2d(self, t, c):
        u = t.element.element if self.r.random() < 0.5 else self.some_scalar()
        return self.stencil(t, c, u, [t.dim, t.element.dim]) if t.dim and t.element.dim else None

    def a_sort(self, t, c):
        if t.element.scalar and t.element.name not in COMPLEX and self.r.random() < 0.6:
            return E(t, "(sort ", self.expr(t, c.ex()), ")")
        key = self.some_scalar()
        if key.name in COMPLEX:
            return None
        x = self.name()
        body = self.expr(key, c.bind(inside=True, **{x: (t.element, True)}).ex())
        if self.r.random() < 0.3:
            body = E(T(key, key), "(", self.leaf(key, c.bind(inside=True, **{x: (t.element, True)}).ex()), ", ", body, ")")
        return E(t, "(sort_by (\\%s -> " % x, body, ") ", self.expr(t, c.ex()), ")")

    def places(self, c, dims, rank):
        """An array, nested as `dims`, of indices of `rank` levels."""
        leaf = I64 if rank == 1 else T(*[I64] * rank)
        t = leaf
        for d in reversed(dims):
            t = A(d, t)
        return self.expr(t, c.ex())

    def a_permute(self, t, c):
        op = self.operator(t.element, c.exact, commutative=True)
        if not op:
            return None
        dims = [self.dim() for _ in range(self.r.choice([1, 1, 1, 2]))]
        v = t.element
        for d in reversed(dims):
            v = A(d, v)
        is_, xs = self.places(c, dims, 1), self.expr(v, c.down())
        x = self.r.random()
        if x < 0.7:
            return E(t, "(permute %s " % op.section, self.expr(t, c.down()), " ", is_, " ", xs, ")")
        if x < 0.85:
            return E(t, "(reduce_by_index ", self.expr(t, c.down()), " %s %s " % (op.section, op.neutral), is_, " ", xs, ")")
        return E(t, "(hist %s %s %s " % (op.section, op.neutral, t.dim), is_, " ", xs, ")")

    def a_permute_2d(self, t, c):
        op = self.operator(t.element.element, c.exact, commutative=True)
        if not op:
            return None
        dims = [self.dim() for _ in range(self.r.choice([1, 1, 2]))]
        v = t.element.element
        for d in reversed(dims):
            v = A(d, v)
        return E(t, "(permute %s " % op.section, self.expr(t, c.down()), " ", self.places(c, dims, 2), " ", self.expr(v, c.down()), ")")

    def a_scatter(self, t, c):
        d = self.dim()
        return E(t, "(scatter ", self.expr(t, c.down()), " ", self.places(c, [d], 1), " ", self.expr(A(d, t.element), c.down()), ")")

    def a_update(self, t, c):
        xs, i, v = self.expr(t, c.down()), self.expr(I64, c.ex()), self.expr(t.element, c.down())
        if self.risky and self.r.random() < 0.3:
            return E(t, "(", xs, " with [", i, "] = ", v, ")")
        if t.dim.isdigit() and int(t.dim) > 0:
            return E(t, "(", xs, " with [", i, " %% %s] = " % t.dim, v, ")")
        y = self.name()
        return E(t, "(let %s = " % y, xs, " in if %s == 0 then %s else %s with [" % (t.dim, y, y), i, " %% %s] = " % t.dim, v, ")")

    def a_zip(self, t, c):
        e = t.element
        if e.names or len(e.fields) > 5:
            return None
        parts = []
        for f in e.fields:
            parts += [" ", self.expr(A(t.dim, f), c.down())]
        return E(t, "(zip%s" % ("" if len(e.fields) == 2 else len(e.fields)), *parts, ")")

    def a_zip_index(self, t, c):
        """One column of an array of tuples."""
        other = self.some_type(0)
        return E(t, "(unzip ", self.expr(A(t.dim, T(t.element, other)), c.down()), ").0")

    def a_claim(self, t, c):
        if self.risky and self.r.random() < 0.3:
            d = self.dim()
            return E(t, "(", self.expr(A(d, t.element), c.down()), " : %s)" % t.text)
        return E(t, "(", self.expr(t, c.down()), " %s %s)" % (self.r.choice([":", ":>"]), t.text))

    def a_transpose(self, t, c):
        # An array without rows has rows of no length: its transpose is empty.
        flipped = A(t.element.dim, A(t.dim, t.element.element))
        if not (t.element.dim.isdigit() and int(t.element.dim) > 0) and t.dim != t.element.dim:
            return None if self.r.random() < 0.5 else E(t, "(if %s == 0 then " % t.element.dim, self.leaf(t, c), " else transpose ",
                                                        self.expr(flipped, c.down()), ")")
        return E(t, "(transpose ", self.expr(flipped, c.down()), ")")

    def a_unflatten(self, t, c):
        if self.r.random() < 0.6:
            flat = E(A("%s * %s" % (t.dim, t.element.dim), t.element.element), "(flatten ", self.expr(t, c.down()), ")")
        else:
            i = self.name("ix")
            inner = c.bind(inside=True, **{i: (I64, True)})
            flat = E(A("%s * %s" % (t.dim, t.element.dim), t.element.element), "(generate (%s * %s) (\\%s -> " % (t.dim, t.element.dim, i),
                     self.expr(t.element.element, inner.down()), "))")
        if self.r.random() < 0.5 and not t.element.element.array:
            return E(t, "(reshape (%s, %s) " % (t.dim, t.element.dim), flat, ")")
        return E(t, "(unflatten %s %s " % (t.dim, t.element.dim), flat, ")")

    def a_unflatten_3d(self, t, c):
        flat = ["(flatten (flatten ", self.expr(t, c.down()), "))"]
        return E(t, "(unflatten_3d %s %s %s " % (t.dim, t.element.dim, t.element.element.dim), *flat, ")")

    def a_fft(self, t, c):
        return None if c.exact else E(t, "(%s " % self.r.choice(["fft", "ifft"]), self.expr(t, c.ex()), ")")
