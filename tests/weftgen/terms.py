"""Types of generated programs, expressions as trees of text, literals and data."""
import numpy as np

SIGNED, UNSIGNED = ["i8", "i16", "i32", "i64"], ["u8", "u16", "u32", "u64"]
INTS, FLOATS, COMPLEX = SIGNED + UNSIGNED, ["f32", "f64"], ["c64", "c128"]
SCALARS = ["bool"] + INTS + FLOATS + COMPLEX
PART = {"c64": "f32", "c128": "f64"}
NP = dict({t: np.dtype(("int" if t[0] == "i" else "uint") + t[1:]) for t in INTS}, bool=np.dtype(bool), f32=np.dtype("float32"),
          f64=np.dtype("float64"), c64=np.dtype("complex64"), c128=np.dtype("complex128"))


class Type:
    """Immutable; equal if the text is. kind: scalar (name), array (dim, element), tuple or record (names, fields), seq."""
    def __init__(self, kind, name=None, dim=None, element=None, fields=(), names=None):
        self.kind, self.name, self.dim, self.element, self.fields, self.names = kind, name, dim, element, tuple(fields), names
        if kind == "scalar":
            self.text = name
        elif kind == "array":
            self.text = "[%s]%s" % (dim[1:-1] if dim.startswith("(") else dim, element.text)
        elif kind == "seq":
            self.text = "seq (%s)" % element.text
        elif names:
            self.text = "{%s}" % ", ".join("%s: %s" % (n, f.text) for n, f in zip(names, fields))
        else:
            self.text = "(%s)" % ", ".join(f.text for f in fields)

    def __eq__(self, other):
        return isinstance(other, Type) and self.text == other.text

    def __hash__(self):
        return hash(self.text)

    @property
    def scalar(self):
        return self.kind == "scalar"

    @property
    def array(self):
        return self.kind == "array"

    @property
    def tuple(self):
        return self.kind == "tuple"

    def leaves(self, prefix=""):
        """(dotted name, dtype, dims) of every scalar column."""
        if self.scalar:
            yield prefix, self.name, ()
        elif self.kind in ("array", "seq"):
            for name, dtype, dims in self.element.leaves(prefix):
                yield name, dtype, (self.dim,) + dims
        else:
            for i, f in enumerate(self.fields):
                part = self.names[i] if self.names else str(i)
                yield from f.leaves(prefix + "." + part if prefix else part)

    def dims(self):
        for _, _, dims in self.leaves():
            yield from dims


def S(name):
    return Type("scalar", name)


def A(dim, element):
    return Type("array", dim=dim, element=element)


def T(*fields):
    return Type("tuple", fields=fields)


def R(**fields):
    return Type("tuple", fields=fields.values(), names=tuple(fields))


def Seq(element):
    return Type("seq", element=element)


I64, BOOL = S("i64"), S("bool")


class E:
    """An expression: its type, text and expressions in order, and the variables that are in scope."""
    def __init__(self, type, *parts, env=None):
        self.type, self.parts, self.env = type, parts, env

    def text(self):
        return "".join(p if isinstance(p, str) else p.text() for p in self.parts)

    def kids(self):
        return [p for p in self.parts if isinstance(p, E)]

    def nodes(self):
        yield self
        for k in self.kids():
            yield from k.nodes()


def simple(t):
    """The plainest value of a type, as text."""
    if t.scalar:
        if t.name == "bool":
            return "false"
        if t.name in COMPLEX:
            return "(complex 1%s 0%s)" % (PART[t.name], PART[t.name])
        return "1" + t.name
    if t.array:
        return "(replicate %s %s)" % (t.dim or "2", simple(t.element))
    if t.names:
        return "{%s}" % ", ".join("%s = %s" % (n, simple(f)) for n, f in zip(t.names, t.fields))
    return "(%s)" % ", ".join(simple(f) for f in t.fields)


def literal_text(name, r):
    if name == "bool":
        return r.choice(["true", "false"])
    if name in COMPLEX:
        return "(complex %s %s)" % (literal_text(PART[name], r), literal_text(PART[name], r))
    if name in INTS:
        if r.random() < 0.07:
            return "%s.%s" % (name, r.choice(["highest", "lowest"]))
        v = r.choice([0, 1, 2, 3, 5, 7, 10, r.randint(0, 100)] + ([-1, -2, -r.randint(0, 100)] if name in SIGNED else []))
        return ("(%d%s)" if v < 0 else "%d%s") % (v, name)
    if r.random() < 0.04:
        return "%s.%s" % (name, r.choice(["inf", "nan", "pi", "highest"]))
    v = r.choice([0.0, 1.0, 0.5, 2.0, 3.25, -1.5, 10.0, round(r.uniform(-9, 9), 3)])
    return ("(%r%s)" if v < 0 else "%r%s") % (v, name)


def data(r, name, shape):
    """An array of random values, some of them awkward."""
    g = np.random.default_rng(r.getrandbits(32))
    dtype = NP[name]
    if name == "bool":
        return g.integers(0, 2, shape).astype(bool)
    if name in INTS:
        least = -5 if name in SIGNED else 0
        v = np.asarray(g.integers(least, 12, shape)).astype(dtype)
        awkward = [np.iinfo(dtype).max, np.iinfo(dtype).min, 100]
    else:
        v = np.asarray(g.normal(0, 3, shape)).astype(dtype)
        if name in COMPLEX:
            v = (v + 1j * g.normal(0, 3, shape)).astype(dtype)
        if r.random() < 0.3:
            v = np.round(v)
        awkward = [np.nan, np.inf, -np.inf, 0.0, -0.0]
    v = np.asarray(v)
    if v.size and r.random() < 0.2:
        v = v.copy()
        for _ in range(r.choice([1, 1, 3])):
            v.flat[r.randrange(v.size)] = r.choice(awkward)
    return v
