"""Programs over rows that differ in length: arguments and streams with lengths, rows that are filtered, cut, joined and computed,
rows in rows. A row has type []s, rows [][]s; all sizes are open, and everything that needs an element asks for one first."""
from .programs import Program, version
from .terms import A, BOOL, E, I64, INTS, S, Seq


def row_of(s):
    return A("", s)


class Ragged:
    def __init__(self, r):
        self.r = r
        self.s = S(r.choice(["i64", "i64", "i64", "f64", "i32"]))
        self.count, self.budget, self.rows = 0, 0, {}
        self.defs, self.lifted, self.calls = [], [], {}  # calls: result type -> the functions of a row that give it

    def name(self, stem):
        self.count += 1
        return "%s%d" % (stem, self.count)

    # ---- scalars; env: name -> type ----
    def number(self, env, d, want=None):
        """A number of the type s, or of `want`."""
        r, t = self.r, want or self.s
        self.budget -= 1
        found = [n for n, u in env.items() if u == t]
        if d > 0 and t in self.calls and r.random() < 0.15:
            return E(t, "(%s " % r.choice(self.calls[t]), self.row(env, d - 1), ")")
        x = r.random()
        if d <= 0 or self.budget <= 0 or x < 0.2:
            if found and r.random() < 0.8:
                return E(t, r.choice(found))
            return E(t, "%d%s" % (r.choice([0, 1, 2, 3, 5]), t.name))
        if x < 0.45:
            op = r.choice(["+", "-", "*"]) if t == I64 else r.choice(["+", "-"])
            return E(t, "(", self.number(env, d - 1, t), " %s " % op, self.number(env, d - 1, t), ")")
        if x < 0.55:
            return E(t, "(if ", self.test(env, d - 1), " then ", self.number(env, d - 1, t), " else ", self.number(env, d - 1, t), ")")
        if t == I64 and x < 0.7:
            return E(t, "(length ", self.row(env, d - 1), ")")
        if t != self.s:
            return E(t, "(i64 ", self.number(env, d - 1), ")") if self.s.name == "i32" else E(t, "%d" % r.choice([1, 2, 4]))
        if x < 0.85:
            op, ne = r.choice([("(+)", "0"), ("max", "0"), ("(+)", "1"), ("min", "9")])
            return E(t, "(reduce %s %s%s " % (op, ne, t.name), self.row(env, d - 1), ")")
        q = self.name("q")
        at = r.choice(["0", "length %s - 1" % q, "length %s / 2" % q])
        return E(t, "(let %s = " % q, self.row(env, d - 1), " in if length %s > 0 then %s[%s] else " % (q, q, at), self.number(env, d - 2), ")")

    def test(self, env, d):
        r = self.r
        if r.random() < 0.4:
            return E(BOOL, "(length ", self.row(env, d - 1), " > %d)" % r.choice([0, 1, 2, 3]))
        return E(BOOL, "(", self.number(env, d - 1), " %s " % r.choice([">", "<", "<=", "=="]), self.number(env, d - 1), ")")

    def small(self, env, d):
        """A length."""
        if d > 0 and self.r.random() < 0.15:  # that a loop arrives at
            m, bound = self.name("m"), E(I64, "((", self.number(env, d - 1, I64), ") % 5)")
            return E(I64, "(loop %s = 1 " % m, self.r.choice(["while %s < " % m, "for %s < " % self.name("i")]), bound, " do (2 * %s) %% 7)" % m)
        return E(I64, "((", self.number(env, d - 1, I64), ") % 5)") if self.r.random() < 0.6 else E(I64, str(self.r.choice([0, 1, 2, 3])))

    # ---- rows ----
    def row(self, env, d):
        r, t = self.r, row_of(self.s)
        self.budget -= 1
        found = [n for n, u in env.items() if u == t]
        if d <= 0 or self.budget <= 0 or (found and r.random() < 0.2):
            if found:
                return E(t, r.choice(found))
            return E(t, "(generate ", self.small(env, 0), " (\\%s -> " % self.name("i"), self.number(env, 0), "))")
        if t in self.calls and r.random() < 0.15:
            return E(t, "(%s " % r.choice(self.calls[t]), self.row(env, d - 1), ")")
        rules = [(4, self.mapped), (3, self.filtered), (1.5, self.turned), (1.5, self.scanned), (1.5, self.joined), (2, self.cut),
                 (2, self.generated), (2, self.zipped), (1.5, self.gathered), (1, self.placed), (2, self.chosen), (1.5, self.looped), (1, self.eaten),
                 (1.5, self.paired), (0.7, self.turned_pair)]
        if d > 1:
            rules += [(2.5, self.looped_twice), (1, self.looped_or_not), (3, self.updated)]
        if any(u == A("", t) for u in env.values()):
            rules += [(1.5, self.flattened), (0.7, self.counted), (1.5, self.folded)]
        return r.choices([f for _, f in rules], [w for w, _ in rules])[0](t, env, d)

    def mapped(self, t, env, d):
        x = self.name("x")
        return E(t, "(map (\\%s -> " % x, self.number(dict(env, **{x: self.s}), d - 1), ") ", self.row(env, d - 1), ")")

    def filtered(self, t, env, d):
        x = self.name("x")
        return E(t, "(filter (\\%s -> " % x, self.test(dict(env, **{x: self.s}), d - 1), ") ", self.row(env, d - 1), ")")

    def turned(self, t, env, d):
        return E(t, self.r.choice(["(reverse ", "(rotate 1 ", "(rotate (-2) "]), self.row(env, d - 1), ")")

    def scanned(self, t, env, d):
        op, ne = self.r.choice([("(+)", "0"), ("max", "0")])
        return E(t, "(%s %s %s%s " % (self.r.choice(["scan", "scan_ex", "scan_right"]), op, ne, self.s.name), self.row(env, d - 1), ")")

    def joined(self, t, env, d):
        return E(t, "(", self.row(env, d - 1), " ++ ", self.row(env, d - 1), ")")

    def cut(self, t, env, d):
        q, k, r = self.name("q"), self.name("k"), self.r
        form = r.choice(["%s[%s:]", "%s[:%s]", "%s[%s::2]", "%s[::-1][%s:]"]) % (q, k)
        return E(t, "(let %s = " % q, self.row(env, d - 1), " in let %s = (" % k, self.number(env, d - 1, I64), ") %% (length %s + 1) in %s)" % (q, form))

    def generated(self, t, env, d):
        i = self.name("i")
        inner = dict(env, **{i: I64})
        return E(t, "(generate ", self.small(env, d - 1), " (\\%s -> " % i, self.number(inner, d - 1), "))")

    def zipped(self, t, env, d):
        q, x, y, r = self.name("q"), self.name("x"), self.name("y"), self.r
        other = r.choice(["(reverse %s)", "(map (+ 1%s) %%s)" % self.s.name, "(scan (+) 0%s %%s)" % self.s.name]) % q
        return E(t, "(let %s = " % q, self.row(env, d - 1), " in map2 (\\%s %s -> " % (x, y),
                 self.number(dict(env, **{q: t, x: self.s, y: self.s}), d - 1), ") %s %s)" % (q, other))

    def gathered(self, t, env, d):
        q, i = self.name("q"), self.name("i")
        return E(t, "(let %s = " % q, self.row(env, d - 1), " in gather %s (map (\\%s -> (%s * 3 + 1) %% length %s) (iota (length %s))))" % (q, i, i, q, q))

    def placed(self, t, env, d):
        q, i = self.name("q"), self.name("i")
        return E(t, "(let %s = " % q, self.row(env, d - 1), " in permute (+) (map (\\_ -> 0%s) %s) (map (\\%s -> %s / 2) (iota (length %s))) %s)" %
                 (self.s.name, q, i, i, q, q))

    def chosen(self, t, env, d):
        return E(t, "(if ", self.test(env, d - 1), " then ", self.row(env, d - 1), " else ", self.row(env, d - 1), ")")

    def pair(self, env, d, a, b):
        """Two rows of lengths of their own, by a condition: those bound to a and b, also in each other's place, or others."""
        def side():
            x = self.r.random()
            if x < 0.5:
                return ["(%s, %s)" % ((a, b) if x < 0.25 else (b, a))]
            return ["(", self.row(env, d - 1), ", ", a if x < 0.75 else self.row(env, d - 1), ")"]
        other = ["(if ", self.test(env, 1), " then ", *side(), " else ", *side(), ")"] if self.r.random() < 0.2 else side()
        return ["(if ", self.test(env, d - 1), " then ", *side(), " else ", *other, ")"]

    def of_pair(self, t, env, d, pair):
        """One row of a pair, or what is made of both."""
        r, a, b = self.r, self.name("a"), self.name("b")
        if r.random() < 0.6:
            return [*pair, ".%d" % r.choice([0, 1])]
        both = r.choice(["%s ++ %s" % (a, b), "map (+ reduce max 0%s %s) %s" % (t.element.name, b, a), ""])
        return ["let (%s, %s) = " % (a, b), *pair, " in ", both or self.row(dict(env, **{a: t, b: t}), d - 1)]

    def paired(self, t, env, d):
        p, q = self.name("p"), self.name("q")
        inner = dict(env, **{p: t, q: t})
        return E(t, "(let %s = " % p, self.row(env, d - 1), " in let %s = " % q, self.row(env, d - 1), " in ",
                 *self.of_pair(t, inner, d, self.pair(inner, d - 1, p, q)), ")")

    def turned_pair(self, t, env, d):
        """Two rows that a loop's turns change by a condition, with each other."""
        p, q, i = self.name("p"), self.name("q"), self.name("i")
        inner = dict(env, **{p: t, q: t, i: I64})
        loop = ["(loop (%s, %s) = (" % (p, q), self.row(env, d - 1), ", ", self.row(env, d - 1), ") for %s < " % i, self.small(env, 1), " do ",
                *self.pair(inner, min(d - 1, 2), p, q), ")"]
        return E(t, "(", *self.of_pair(t, env, d, loop), ")")

    def same_length(self, q, i, env):
        """A row as long as q."""
        r, x = self.r, self.name("x")
        body = self.number(dict(env, **{x: self.s, i: I64}), 1)
        return r.choice([["(map (\\%s -> " % x, body, ") %s)" % q], ["(scan (+) 0%s (reverse %s))" % (self.s.name, q)],
                         ["(rotate %s %s)" % (i, q)], ["(map2 (+) %s (scan_ex max 0%s %s))" % (q, self.s.name, q)],
                         ["(if ", self.test(dict(env, **{i: I64}), 1), " then reverse %s else scan (+) 0%s %s)" % (q, self.s.name, q)]])

    def guarded(self, q, env):
        """A test that looks at an element where there is one, or where there are few."""
        r = self.r
        at = r.choice(["0", "length %s - 1" % q])
        some = r.choice(["length %s > 0 && length %s < 6" % (q, q), "(length %s + 5) %% 6 < 5" % q])
        return E(BOOL, "%s && %s[%s] %s " % (some, q, at, r.choice(["<", ">", "!="])), self.number(env, 1))

    def looped_twice(self, t, env, d):
        """A loop in the turns of another: it goes on with the state of the outer one, or starts anew beside it."""
        r, q, p, i, j, k = self.r, self.name("q"), self.name("p"), self.name("i"), self.name("j"), self.name("k")
        outer = dict(env, **{q: t, i: I64})
        inner = dict(outer, **{p: t, j: I64})
        start = r.choice([E(t, q), E(t, q), self.row(outer, 1)])
        turn = r.choice([E(t, p, " ++ [", self.number(inner, 1), "]"), E(t, *self.same_length(p, j, inner)),
                         E(t, "(take 9 ", self.row(inner, 1), ")"), E(t, "drop 1 ", p, " ++ ", q, "[:min 1 (length ", q, ")]")])
        if r.random() < 0.5:
            turns = r.choice([self.small(outer, 1), E(I64, "(length %s + %s + 1) %% 4" % (q, i))])
            again = E(t, "(loop %s = " % p, start, " for %s < " % j, turns, " do ", turn, ")")
        else:
            again = E(t, "(loop (%s, %s) = (" % (p, j), start, ", 0) while %s < 3 && " % j, self.guarded(p, inner), " do (", turn, ", %s + 1)).0" % j)
        body = r.choice([again, again, E(t, "(take 9 (", again, " ++ ", q, "))")])
        begin = self.row(env, 1)
        if r.random() < 0.5:
            b = self.name("b")
            turns = r.choice([self.small(env, 1), E(I64, "(length %s + 1) %% 4" % b)])
            return E(t, "(let %s = " % b, begin, " in loop %s = %s for %s < " % (q, b, i), turns, " do ", body, ")")
        count = r.choice(["%s + 1" % k, "%s + length %s" % (k, q)])
        return E(t, "(loop (%s, %s, %s) = (" % (q, i, k), begin, ", 0, 0) while %s < 3 && " % i, self.guarded(q, outer), " do (", body,
                 ", %s + 1, " % i, count, ")).0")

    def looped(self, t, env, d):
        """A row that is changed a few times, and keeps its length or does not."""
        r, q, i = self.r, self.name("q"), self.name("i")
        start, inner = self.row(env, d - 1), dict(env, **{q: t})
        turn = self.same_length(q, i, inner) if r.random() < 0.6 else [self.row(dict(inner, **{i: I64}), min(d - 1, 2))]
        if r.random() < 0.5:
            return E(t, "(loop %s = " % q, start, " for %s < " % i, self.small(env, 1), " do ", *turn, ")")
        test = self.guarded(q, inner) if r.random() < 0.4 else self.test(inner, 2)
        return E(t, "(loop (%s, %s) = (" % (q, i), start, ", 0) while %s < 4 && " % i, test, " do (", *turn, ", %s + 1)).0" % i)

    def eaten(self, t, env, d):
        """A row that loses elements at its ends, turn by turn, and what is left of it or was made of it."""
        r, q, s, i = self.r, self.name("q"), self.name("s"), self.name("i")
        inner = dict(env, **{q: t, s: self.s})
        cuts = [c.replace("q", q) for c in ("tail q", "init q", "drop (min 2 (length q)) q", "take (length q / 2) q", "q[1:max 1 (length q - 1)]", "tail (init (q ++ q[:1]))",
                                            "(let p = tail q in take (length p) p)")] + ["%s[3:]" % q] * (r.random() < 0.05)
        a, b = r.choice(cuts[:5]), r.choice(cuts)
        value = self.number(inner, 1)
        turn = r.choice([E(t, "(", b, ", ", value, ")"), E(t, "(if ", self.test(inner, 1), " then ", a, " else ", b, ", ", value, ")"),
                         E(t, "if ", self.test(inner, 1), " then (", a, ", ", value, ") else (", b, ", %s)" % s)])
        if r.random() < 0.3:  # where there may be nothing left
            turn = E(t, "if length %s > 0 then " % q, turn, " else (%s, %s)" % (q, s))
            loop = E(t, "(loop (%s, %s) = (" % (q, s), self.row(env, d - 1), ", 0) for %s < " % i, self.small(env, 1), " do (", turn, "))")
        elif r.random() < 0.3:  # and a row beside it, or nothing
            return E(t, "(loop (%s, %s, p) = (" % (q, i), self.row(env, d - 1), ", 0, replicate 3 0%s) while length %s > 0 do (%s, %s + 1, p with [%s %% 3] = %s[0])).2" % (self.s.name, q, a, i, i, q))
        elif r.random() < 0.3:
            return E(t, "(loop %s = " % q, self.row(env, d - 1), " while length %s > %d do " % (q, r.choice([1, 3])), r.choice([a, "(if %s[0] > 0 then %s else %s)" % (q, a, b)]), ")")
        else:
            loop = E(t, "(loop (%s, %s) = (" % (q, s), self.row(env, d - 1), ", 0) while length %s > %d do (" % (q, r.choice([0, 0, 1, 2])), turn, "))")
        return E(t, loop, ".0") if r.random() < 0.5 else E(t, "[", loop, ".1]")

    def updated(self, t, env, d):
        """A row of which each turn changes few elements: by updates, one or several, in branches and in loops inside, by scatter and
        counting. Beside it another one, or a number, that are made of old values."""
        r, b, u, w, i, s = self.r, self.name("b"), self.name("u"), self.name("u"), self.name("iu"), self.name("s")
        inner, form = dict(env, **{u: t, i: I64}), r.randrange(4)
        if form == 1:
            inner[w] = t
        if form == 2:
            inner[s] = self.s

        def place(at=None):
            at = at or r.choice([i, i, "0", "%s * 3" % i, "length %s - 1" % b, None])
            return ["((", at or self.number(inner, 1, I64), ") % length ", b, ")"]

        def value(x):
            if form == 2 and r.random() < 0.2:
                return [s]
            return ["%s[" % r.choice([x, u]), *place(), "]"] if r.random() < 0.6 else [self.number(inner, 1)]

        def update(x):
            parts = [x]
            for _ in range(r.choice([1, 1, 1, 2, 3])):
                parts = ["(", *parts, " with [", *place(), "] = ", *value(x), ")"]
            return parts

        def scattered(x):
            return ["(scatter %s [" % x, *place(), ", ", *place(), "] [", *value(x), ", ", *value(x), "])"]

        def turned(x):
            p, j = self.name("u"), self.name("j")
            turns = r.choice(["2", "(%s + 1) %% 3" % i, "(length %s + %s) %% 3" % (b, i)])
            return ["(loop %s = %s for %s < %s do " % (p, x, j, turns), *r.choice([update, scattered])(p), ")"]

        def changed(x):
            k, p = r.random(), self.name("u")
            if k < 0.1:
                return scattered(x)
            if k < 0.15:
                return ["(reduce_by_index %s (+) 0%s [" % (x, t.element.name), *place(), ", ", *place(), "] [", *value(x), ", ", *value(x), "])"]
            if k < 0.35:
                sides = [r.choice([update, scattered, turned])(x), r.choice([lambda y: [y], update, update, scattered, turned])(x)]
                r.shuffle(sides)
                return ["(if ", self.test(inner, 1), " then ", *sides[0], " else ", *sides[1], ")"]
            if k < 0.45:
                return turned(x)
            if k < 0.55:
                return ["(let %s = " % p, *update(x), " in %s with [" % p, *place(), "] = %s[" % p, *place(), "])"]
            return update(x)

        begin, turns = self.row(env, d - 1), r.choice([self.small(env, 1), E(I64, "(length %s + %d) %% 6" % (b, r.choice([0, 1, 3])))])
        if form == 0:
            loop = ["loop %s = %s for %s < " % (u, b, i), turns, " do ", *changed(u)]
        elif form == 1:
            both = [*changed(u), ", ", *changed(w)] if r.random() < 0.8 else [w, ", ", *changed(u)]
            loop = ["(loop (%s, %s) = (%s, reverse %s) for %s < " % (u, w, b, b, i), turns, " do (", *both, ")).%d" % r.choice([0, 1])]
        elif form == 2:
            loop = ["(loop (%s, %s) = (%s, 1%s) for %s < " % (u, s, b, t.element.name, i), turns, " do (", *changed(u), ", ", self.number(inner, 1), ")).0"]
        else:
            loop = ["(loop (%s, %s) = (%s, 0) while %s < " % (u, i, b, i), turns, " && ", self.test(inner, 1), " do (", *changed(u), ", %s + 1)).0" % i]
        return E(t, "(let %s = " % b, begin, " in if length %s == 0 then %s else " % (b, b), *loop, ")")

    def looped_or_not(self, t, env, d):
        """A loop for some elements, little or nothing for the others."""
        short = self.r.choice([E(t, "[]"), E(t, "[", self.number(env, 1), "]")])
        loop = self.r.choice([self.looped, self.looped_twice])(t, env, d - 1)
        return E(t, "(if ", self.test(env, 1), " then ", short, " else ", loop, ")")

    def flattened(self, t, env, d):
        return E(t, "(flatten ", self.matrix(env, d - 1), ")")

    def counted(self, t, env, d):
        """The elements of rows, in a few places."""
        a, i, q, x = self.name("a"), self.name("i"), self.name("r"), self.name("x")
        places = "(imap (\\%s %s -> map (\\%s -> %s %% 5) %s) %s)" % (i, q, x, i, q, a)
        return E(t, "(let %s = " % a, self.matrix(env, d - 1), " in permute (+) (replicate 4 0%s) %s %s)" % (self.s.name, places, a))

    def choice(self, x, y):
        """One of two rows, by what has an order: what is not a number has none. As an operator it is associative."""
        r, i, n = self.r, self.name("i"), self.name("n")
        keys = ["length %s", "length %s", "length %s %% 3", "length (filter (> 0) %s)"]
        if self.s.name in INTS:
            keys += ["sum %s", "sum (map (* 3) %s)"] + ["%s[0]"] * (r.random() < 0.1)
        k, l, more = r.choice(keys), r.choice(keys[:3]), r.choice([">", ">=", "<", "<="])
        if self.s.name in INTS and r.random() < 0.2:
            first = "let %s = min (length %s) (length %s) let %s = loop %s = 0 while %s < %s && %s[%s] == %s[%s] do %s + 1 in " % (n, x, y, i, i, i, n, x, i, y, i, i)
            return first + "if %s < %s then (if %s[%s] > %s[%s] then %s else %s) else if length %s %s length %s then %s else %s" % (i, n, x, i, y, i, x, y, x, more, y, x, y)
        holds = "%s %s %s" % (k % x, more, k % y)
        if r.random() < 0.3:
            holds = "%s > %s || (%s == %s && %s)" % (l % x, l % y, l % x, l % y, holds)
        return "if %s then %s else %s" % (holds, x, y)

    def best(self, t, rows):
        """A fold whose operator gives one of its operands: a row, or one with a number."""
        r, a, x, y, k, l, i = self.r, self.name("a"), self.name("x"), self.name("y"), self.name("k"), self.name("l"), self.name("i")
        if r.random() < 0.7:
            op = "(\\%s %s -> %s)" % (x, y, self.choice(x, y))
            if r.random() < 0.6:
                return E(t, "(fold %s [] " % op, rows, ")")
            return E(t, "(let %s = " % a, rows, " in if length %s > 0 then fold1 %s %s else [])" % (a, op, a))
        more = r.choice(["%s > %s", "%s >= %s"]) % (k, l)
        if r.random() < 0.5:
            more = "%s > %s || (%s == %s && length %s > length %s)" % (k, l, k, l, x, y)
        return E(t, "(fold (\\(%s, %s) (%s, %s) -> if %s then (%s, %s) else (%s, %s)) (-1, []) (imap (\\%s %s -> (%s * 5 %% 3, %s)) " %
                 (k, x, l, y, more, k, x, l, y, i, a, i, a), rows, ")).1")

    def folded(self, t, env, d):
        """A fold of rows: joined, chosen, or added to one that is as long; each operator is associative."""
        r, a, q, x, y = self.r, self.name("a"), self.name("q"), self.name("x"), self.name("y")
        rows, k = self.matrix(env, d - 1), r.random()
        if k < 0.25:
            return E(t, "(fold (++) [] ", rows, ")")
        if k < 0.4:
            return E(t, "(let %s = " % a, rows, " in if length %s > 0 then fold1 (++) %s else [])" % (a, a))
        if k < 0.6:
            return self.best(t, rows)
        op, row = r.choice(["(+)", "max"]), self.name("r")
        value = self.number(dict(env, **{row: t, x: self.s}), 1)
        made = ["(map (\\%s -> map (\\%s -> " % (row, x), value, ") %s) " % q, rows, ")"]
        if k < 0.85:
            return E(t, "(let %s = " % q, self.row(env, d - 1), " in fold (zip_with %s) %s " % (op, q), *made, ")")
        return E(t, "(let %s = " % q, self.row(env, d - 1), " in flatten (scan (zip_with %s) %s " % (op, q), *made, "))")

    # ---- rows of rows: t is the type of a row's element, s or []s ----
    def element(self, t, env, d):
        return self.number(env, d) if t == self.s else self.row(env, d)

    def matrix(self, env, d):
        r, t, u = self.r, A("", row_of(self.s)), row_of(self.s)
        self.budget -= 1
        found = [n for n, v in env.items() if v == t]
        x, q = r.random(), self.name("r")
        inner = dict(env, **{q: u})
        if d <= 0 or self.budget <= 0 or (found and x < 0.2):
            return E(t, r.choice(found))
        if x < 0.5:
            return E(t, "(map (\\%s -> " % q, self.row(inner, d - 1), ") ", self.matrix(env, d - 1), ")")
        if x < 0.6:
            return E(t, "(filter (\\%s -> " % q, self.test(inner, d - 1), ") ", self.matrix(env, d - 1), ")")
        if x < 0.67:
            return E(t, "(reverse ", self.matrix(env, d - 1), ")")
        if x < 0.74:
            i = self.name("i")
            return E(t, "(generate ", self.small(env, d - 1), " (\\%s -> " % i, self.row(dict(env, **{i: I64}), d - 1), "))")
        if x < 0.78:
            return E(t, "[", self.row(env, d - 1), ", ", self.row(env, d - 1), "]")
        if x < 0.88:
            return self.referred(t, env, d)
        if x < 0.92 and d > 1:
            return self.put(t, env, d)
        if x < 0.93 and d > 1:
            a, b = self.name("a"), self.name("b")
            op = r.choice(["(++)", "(\\%s %s -> %s)" % (a, b, self.choice(a, b))])
            return E(t, "(%s %s [] " % (r.choice(["scan", "scan_ex", "scan_right"]), op), self.matrix(env, d - 1), ")")
        if x < 0.94 and d > 1:  # rows in rows
            return E(t, "(flatten (map (\\%s -> " % q, self.matrix(inner, d - 2), ") ", self.matrix(env, d - 1), "))")
        if x < 0.96:
            return E(t, "(if ", self.test(env, d - 2), " then ", self.matrix(env, d - 1), " else ", self.matrix(env, d - 1), ")")
        return E(t, "(", self.matrix(env, d - 1), " ++ ", self.matrix(env, d - 1), ")")

    def referred(self, t, env, d):
        """Rows of others: chosen by indices, some of them often, others never; repeated; cut out of one row; one of two."""
        r, a, q, i = self.r, self.name("a"), self.name("r"), self.name("i")
        x = r.random()
        if x < 0.2:
            return E(t, "(replicate ", self.small(env, d - 1), " ", self.row(env, d - 1), ")")
        if x < 0.4:
            cut = r.choice(["%s[%s:]", "%s[%s / 2:%s]", "%s[:%s]", "(rotate %s %s)"])
            cut = cut % (i, q) if "rotate" in cut else cut % ((q,) + (i,) * (cut.count("%s") - 1))
            return E(t, "(let %s = " % q, self.row(env, d - 1), " in map (\\%s -> %s) (iota (length %s + 1)))" % (i, cut, q))
        count = E(I64, "(if length %s > 0 then " % a, r.choice([self.small(env, d - 1), E(I64, "length %s" % a), E(I64, "7")]), " else 0)")
        at = "(%s * %d + %d) %% length %s" % (i, r.choice([0, 1, 5]), r.choice([0, 2]), a)
        if x < 0.7:
            return E(t, "(let %s = " % a, self.matrix(env, d - 1), " in gather %s (map (\\%s -> %s) (iota " % (a, i, at), count, ")))")
        body = E(row_of(self.s), "%s[%s]" % (a, at))
        if x > 0.85:
            body = E(body.type, "(if ", self.test(dict(env, **{i: I64}), d - 1), " then ", body, " else %s[0])" % a)
        return E(t, "(let %s = " % a, self.matrix(env, d - 1), " in map (\\%s -> " % i, body, ") (iota ", count, "))")

    def put(self, t, env, d):
        """Rows of others that are combined with what is put onto them, or replaced."""
        r, a, q, i, x = self.r, self.name("a"), self.name("r"), self.name("i"), self.name("x")
        inner, k = dict(env, **{q: row_of(self.s)}), r.random()
        at = "(%s * %d + %d) %% (length %s + 1)" % (i, r.choice([1, 2, 5]), r.choice([0, 1]), a)
        rows = self.matrix(env, d - 1)
        if k < 0.35:
            value = self.number(dict(env, **{x: self.s, i: I64}), 1)
            there = "(let %s = %s in if %s < length %s then %s[%s] else [])" % (i, at, i, a, a, i)
            return E(t, "(let %s = " % a, rows, " in permute (zip_with %s) %s (imap (\\%s _ -> %s) %s) (imap (\\%s _ -> map (\\%s -> " %
                     (r.choice(["(+)", "max"]), a, i, at, a, i, x), value, ") %s) %s))" % (there, a))
        if k < 0.5:
            at = r.choice(["0", "length %s - 1" % a, "length %s / 2" % a])
            return E(t, "(let %s = " % a, rows, " in if length %s > 0 then %s with [%s] = " % (a, a, at), self.row(env, d - 2), " else %s)" % a)
        if k < 0.7:
            places = "(imap (\\%s _ -> %s) %s)" % (i, at, a)
            return E(t, "(let %s = " % a, rows, " in scatter %s %s (map (\\%s -> " % (a, places, q), self.row(inner, d - 2), ") %s))" % a)
        pair = "(imap (\\%s %s -> (%s, length %s / 2)) %s)" % (i, q, at, q, a)
        values = ["(map (\\%s -> " % q, self.number(inner, 1), ") %s)" % a]
        return E(t, "(let %s = " % a, rows, " in %s %s %s " % (r.choice(["permute (+)", "permute max", "scatter"]), a, pair), *values, ")")

    def result(self, env, d):
        """What is made of rows."""
        r, u, q, x = self.r, row_of(self.s), self.name("r"), self.name("x")
        inner, k = dict(env, **{q: u}), r.random()
        if k < 0.35:
            return self.matrix(env, d)
        if k < 0.65:
            return E(u, "(map (\\%s -> " % q, self.number(inner, d - 1), ") ", self.matrix(env, d - 1), ")")
        if k < 0.72:
            a, n, u2 = self.name("a"), self.name("n"), self.name("r")
            return E(u, "(let %s = " % a, self.matrix(env, d - 1), " in map2 (\\%s %s -> " % (q, n), self.number(dict(inner, **{n: self.s}), d - 1),
                     ") %s (map (\\%s -> " % (a, u2), self.number(dict(env, **{u2: u}), d - 1), ") %s))" % a)
        if k < 0.84:
            return E(self.s, "(reduce (+) 0%s (map (\\%s -> " % (self.s.name, q), self.number(inner, d - 1), ") ", self.matrix(env, d - 1), "))")
        t = r.choice([A("", A("", u)), A("", u)])
        body = self.element(u if t.element.element.array else self.s, dict(inner, **{x: self.s}), d - 1)
        return E(t, "(map (\\%s -> map (\\%s -> " % (q, x), body, ") ", self.row(inner, 1), ") ", self.matrix(env, d - 1), ")")

    # ---- programs ----
    def definitions(self):
        """Functions of a row with versions for arrays of rows."""
        r, u = self.r, row_of(self.s)
        for i in range(r.choice([0, 0, 1, 2])):
            self.budget, t = 12, r.choice([u, u, self.s])
            body = (self.row if t == u else self.number)({"z": u}, r.randint(1, 3))
            name, kinds = "f%d" % i, r.choice([["regular"], ["irregular"], ["regular", "irregular"]])
            self.defs += [("%s (z: %s) : %s" % (name, u.text, t.text), body), version(name, {"z": u}, t, body)]
            self.lifted += ["lifted %s %s = %ss" % (kind, name, name) for kind in kinds]
            self.calls.setdefault(t, []).append(name)

    def of_stream(self, text, t, env, d):
        """A result of a traversal: of rows, or of numbers."""
        r, q, x = self.r, self.name("r"), self.name("x")
        inner, k, u = dict(env, **{q: t}), r.random(), row_of(self.s)
        typed = "(\\(%s: %s) -> " % (q, t.text)
        if k < 0.3:
            return E(A("", u), "(from_seq (map_seq %s" % typed, self.row(inner, d), ") %s))" % text)
        if k < 0.5:
            return E(u, "(from_seq (map_seq %s" % typed, self.number(inner, d), ") %s))" % text)
        if k < 0.7:
            return E(self.s, "(fold_seq (+) 0%s (map_seq %s" % (self.s.name, typed), self.number(inner, d), ") %s))" % text)
        if k < 0.75 and t == row_of(self.s):
            j, ne = self.name("i"), self.r.choice(["(replicate 4 0%s)", "(replicate 0 0%s)"]) % self.s.name
            places = "(map_seq (\\(%s: %s) -> imap (\\%s _ -> %s %% 5) %s) %s)" % (q, t.text, j, j, q, text)
            return E(u, "(permute_seq (+) %s %s (map_seq %smap (\\%s -> " % (ne, places, typed, x),
                     self.number(dict(inner, **{x: self.s}), 1), ") %s) %s))" % (q, text))
        if k < 0.78 and t == row_of(self.s):
            return E(u, "(fold_seq (zip_with (+)) (replicate 3 0%s) (map_seq %stake 3 (" % (self.s.name, typed), self.row(inner, d),
                     " ++ replicate 3 0%s)) %s))" % (self.s.name, text))
        if k < 0.87:
            return E(A("", t), "(from_seq (filter_seq %s" % typed, self.test(inner, d), ") %s))" % text)
        body = self.row(dict(inner, **{x: self.s}), d - 1)
        return E(A("", A("", u)), "(from_seq (map_seq %smap (\\%s -> " % (typed, x), body, ") ", self.row(inner, 1), ") %s))" % text)

    def program(self):
        r, u = self.r, row_of(self.s)
        params, streams, lets, outs = {}, {}, [], []
        self.definitions()
        env = {"a": A("", u), "k": I64}
        params.update(a=A("", u), k=I64)
        self.rows["a"] = r.choice([0, 1, 3, 6])
        if r.random() < 0.7:
            streams["s"] = Seq(u)
            self.rows["s"] = r.choice([0, 1, 2, 7, 20, 60])
        if r.random() < 0.3:
            streams["n"] = Seq(self.s)
            self.rows["n"] = r.choice([0, 1, 5, 20])
        for name, t in streams.items():
            for _ in range(r.choice([1, 1, 2])):
                self.budget = 30
                e = self.of_stream(name, t.element, env, r.randint(1, 4))
                n = self.name("t")
                lets.append((n, e))
                outs.append(E(e.type, n))
                if r.random() < 0.5:
                    env[n] = e.type
        for _ in range(r.choice([1, 1, 2]) if r.random() < 0.7 or not outs else 0):
            self.budget = 40
            outs.append(self.result(env, r.randint(2, 5)))
        made = Program(params, streams, self.defs, lets, outs, {"k": r.choice([0, 1, 3])})
        made.lifted = self.lifted
        return made
