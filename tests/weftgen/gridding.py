"""Programs that add patches of values onto grids: what the imaging programs do, with places, patches and what follows varied."""
from .expressions import Ctx, Gen
from .programs import Program
from .terms import A, COMPLEX, E, I64, PART, R, S, Seq, T


class Gridding:
    def __init__(self, r):
        self.r = r
        self.value = r.choice(["f32", "f64", "c64", "c128", "i32", "i64"])
        self.exact = self.value[0] == "i"
        self.rows = {"s": r.choice([0, 1, 7, 50, 400, 400, 2000])}
        self.grid = r.choice([1, 5, 16, 40, 130, 300])
        self.patch = (r.choice([1, 2, 3, 4, 7]), r.choice([1, 2, 3, 5, 8]))
        self.planes = r.choice([1, 2, 3])
        self.gen = Gen(r, ["h", "w"], [self.value, "i64", "bool" if self.exact else PART.get(self.value, self.value)])
        self.lets = []

    def offset(self, e, axis, index):
        """The place along one axis: mostly `element + index - half`, sometimes other things."""
        r = self.r
        x = r.random()
        if x < 0.7:
            return "%s.%s + %s - %d" % (e, axis, index, r.choice([0, 1, 2, 3]))
        if x < 0.8:
            return "%s.%s + 2 * %s" % (e, axis, index)
        if x < 0.9:
            return "%s.%s - %s" % (e, axis, index)
        return "(if %s.b == 0 then -1 else %s.%s + %s)" % (e, e, axis, index)

    def places(self, shape, rank):
        """A def-like lambda text from an element to its places: nested as the patch (`shape` axes of it)."""
        i, j = ("i", "j") if self.r.random() < 0.85 else ("j", "i")
        parts = {1: [self.offset("e", "y", i)], 2: [self.offset("e", "y", i), self.offset("e", "x", j)],
                 3: ["e.b", self.offset("e", "y", i), self.offset("e", "x", j)]}[rank]
        if self.r.random() < 0.1:
            parts.reverse()
        leaf = parts[0] if rank == 1 else "(%s)" % ", ".join(parts)
        if shape == 0:
            return "let i = 0 let j = 0 in " + leaf
        if shape == 1:
            return "generate h (\\i -> let j = i in %s)" % leaf
        return self.r.choice(["generate (h, w) (\\i j -> %s)" % leaf, "generate h (\\i -> generate w (\\j -> %s))" % leaf])

    def values(self, shape, t):
        """The patch of an element."""
        g, r = self.gen, self.r
        if shape == 2 and t == S(self.value) and r.random() < 0.5:
            return r.choice(["map (map (* e.v)) kern[e.b % p]", "map (map (\\k -> k * e.v)) kern[e.b % p]", "generate (h, w) (\\i j -> kern[e.b % p, i, j] * e.v)",
                             "zip_with (zip_with (\\a b -> a * b)) kern[e.b % p] (replicate h (replicate w e.v))",
                             "let k = kern[e.b % p] in generate (h, w) (\\i j -> k[i, j] + e.v * k[h - 1 - i, j])"])
        env = {"e": (self.element, True), "h": (I64, True), "w": (I64, True), "p": (I64, True)}
        g.budget = 12
        names = {0: [], 1: ["i"], 2: ["i", "j"]}[shape]
        env.update({n: (I64, True) for n in names})
        body = g.expr(t, Ctx(env, r.randint(1, 3), exact=self.exact, inside=True))
        head = {0: [], 1: ["generate h (\\i -> "], 2: ["generate (h, w) (\\i j -> "]}[shape]
        return E(t, *head, body, *([")"] if names else []))

    def program(self):
        r, v = self.r, S(self.value)
        self.element = R(y=I64, x=I64, b=I64, v=v, u=v)
        params = {"kern": A("p", A("h", A("w", v))), "gy": I64, "gx": I64}
        dest = r.random() < 0.3
        if dest:
            params["start"] = A("n", A("m", v))
        # Several consumers of one shape, most with the same places.
        rank, shape = r.choice([1, 2, 2, 2, 2, 3]), r.choice([0, 1, 2, 2, 2])
        place = self.places(shape, rank)
        self.lets.append(("place", E(I64, "\\(e: %s) -> %s" % (self.element.text, place))))
        outs = []
        for i in range(r.choice([1, 1, 2, 3])):
            t = v if r.random() < 0.75 else T(v, I64)
            inner = t
            if rank == 1 and r.random() < 0.3:
                inner = A("w", t)
            op = self.gen.operator(inner, self.exact, commutative=True)
            dims = {1: ["gy"], 2: ["gy", "gx"], 3: ["p", "gy", "gx"]}[rank]
            target, fill = inner, op.neutral
            for d in reversed(dims):
                target, fill = A(d, target), "(replicate %s %s)" % (d, fill)
            if dest and target.text == "[gy][gx]" + v.text and r.random() < 0.6:
                fill = "start"
            patch = self.values(shape, inner)
            s = r.choice(["s", "s", "s", "(map_seq (\\(e: %s) -> {y = e.x, x = e.y, b = e.b, v = e.u, u = e.v}) s)" % self.element.text])
            name = "g%d" % i
            call = ["(permute_seq %s %s (map_seq place %s) (map_seq (\\(e: %s) -> " % (op.section, fill, s, self.element.text), patch, ") %s))" % s]
            self.lets.append((name, E(target, *call)))
            outs.append(E(strip_sizes(target), name))
            if t == v and inner == v and rank == 2 and r.random() < 0.3:
                outs.append(self.after(name, v))
        if r.random() < 0.4:
            outs.append(E(I64, "fold_seq (+) 0 (map_seq (\\(e: %s) -> if e.y < gy then 1 else 0) s)" % self.element.text))
        if rank == 2 and shape == 2 and r.random() < 0.4:
            outs.append(self.planes_of(place, v))
        sizes = {"p": self.planes, "h": self.patch[0], "w": self.patch[1], "n": self.grid, "m": max(1, self.grid - 1), "gy": self.grid,
                 "gx": max(1, self.grid - 1)}
        made = Program(params, {"s": Seq(self.element)}, [], self.lets, outs, sizes)
        margin = (-3, self.grid + 3)
        made.ranges = {"s.y": margin, "s.x": margin, "s.b": (-1, self.planes)}
        made.exact = self.exact
        return made

    def after(self, grid, v):
        """What follows on a grid."""
        r = self.r
        if self.value in COMPLEX:
            return r.choice([E(A("", A("", v)), "fft %s" % grid), E(A("", v), "map (fold (+) 0) %s" % grid),
                             E(A("", A("", v)), "fft (backpermute (replicate (gy + 3) (replicate (gx + 2) 0)) (\\(i, j) -> (i - 1, j - 2)) %s)" % grid)])
        return r.choice([E(A("", v), "map (fold %s.max 0) %s" % (v.text, grid)), E(A("", A("", v)), "transpose %s" % grid),
                         E(A("", A("", v)), "generate (gy, gx) (\\i j -> %s[gy - 1 - i, (j + 1) %% gx])" % grid)])

    def planes_of(self, place, v):
        """Groups, each with a grid of its own, then a fold over the groups."""
        e = self.element.text
        keys = self.r.choice(["\\(e: %s) -> [e.b]" % e, "\\(e: %s) -> generate 2 (\\k -> e.b + k)" % e, "\\(e: %s) -> [e.b, e.b + 1, e.b]" % e])
        body = self.r.choice(["g", "map (map (\\x -> x + x)) g", "generate (gy, gx) (\\i j -> g[i, gx - 1 - j])"] +
                             (["fft g"] if self.value in COMPLEX else []))
        weight = self.r.choice(["e.v", "e.v * %s k" % self.value, "e.u + %s (k * i + j)" % self.value])
        patch = "generate (h, w) (\\i j -> %s)" % weight
        return E(A("", A("", v)), "(group_seq p (%s) s (\\k ys -> let g = permute_seq (+) (replicate gy (replicate gx 0)) (map_seq place ys) "
                 "(map_seq (\\(e: %s) -> %s) ys) in %s) |> fold_seq (zip_with (zip_with (+))) (replicate gy (replicate gx 0)))" % (keys, e, patch, body))


def strip_sizes(t):
    """The type without claims."""
    return A("", strip_sizes(t.element)) if t.array else t
