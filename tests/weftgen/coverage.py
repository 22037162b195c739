"""What of the language generated programs use: by name a pattern of the text, or a question about types and inputs."""
import re
import numpy as np
from collections import Counter
from .terms import FLOATS, INTS, SCALARS

# One for each operation of the tables of WEFT.md, with its aliases, and for each construct. A name alone is looked for as a word.
WORDS = """
map map1 map2 map3 map4 map5 zip_with imap zip zip3 zip4 unzip unzip3 iota replicate generate tabulate tabulate_2d indices
fold reduce reduce_comm fold1 foldl foldr sum product minimum maximum any all and or count scan scan_ex scan_right scan_total
filter partition sort sort_by permute reduce_by_index hist scatter spread gather backpermute
transpose flatten unflatten unflatten_3d reshape concat reverse rotate length extent head last take drop tail split null
stencil fft ifft rows map_seq zip_with_seq filter_seq enumerate_seq scan_seq fold_seq permute_seq reduce_seq chain_seq from_seq
group_seq group_map_seq
re im conj arg cis complex scale sin cos tan asin acos atan atan2 sinh cosh tanh exp log log2 log10 sqrt hypot fma lerp like opaque iterate
floor ceil round trunc clamp abs sgn is_nan is_finite is_inf popc clz ctz
if loop for while in match let def assert
""".split()

PATTERNS = {
    "min, max": r"\.(min|max) ", "extremes": r"\.(highest|lowest)", "f.inf, f.nan": r"\.(inf|nan)\b", "f.pi": r"\.pi\b",
    "**": r" \*\* ", "/": r" / ", "%": r" % ", "//": r" // ", "%%": r" %% ", "& | ^": r" [&|^] ", "&& ||": r" (&&|\|\|) ", "++": r" \+\+ ",
    "<<": r" << ", ">>": r" >> ", ">>>": r" >>> ", "!": r"\(!", "unary -": r"\(- ", "|>": r"\|> ", "<|": r" <\| ", ">->": r">->", "`f`": r"`max`|`min`",
    "comparison": r" (<|<=|>|>=) ", "equality": r" (==|!=) ", "section": r"\(\S+ [-+*&|^]\)|\([+*&|^] |map \([-+*&|^]? ?\S+ [-+*&|^]\)", "field": r"\)\.p\b|\b\w+\.x\b",
    "part of a tuple": r"\.0\b", "record": r"\{p = ", "record pattern": r"let \{p = ", "update of a field": r" with p = ", "array literal": r"\[\w[^\]]*, ",
    "index": r"\w\[\w+\]|\)\[", "slice from": r"\[\w+:\]", "slice to": r"\[:\w+\]", "stride": r"\[(\w*:)?\w*:-?2\]|::2\]", "reversed slice": r"\[::-1\]|::-2\]",
    "update": r"with \[[^:\]]+\] = ", "update of a slice": r"with \[[^\]]*:[^\]]*\] = ", "update of a column": r"with \[:, 0\]",
    "range": r"\d\.\.<|\.\.\.|\.\.>", "range with a step": r"\d\.\.\d+\.\.<|\.\.\(", "claim": r"\) : \[", "claim :>": r" :> ", "claim of a parameter": r"\\\(\w+: \*?\[", "claim of a name": r"let \w+: \[", "attribute": r"#\[", "uniqueness": r": \*\[",
    "match of tuples": r"case \(",
    "local function": r"let fun\d+ ", "function of functions": r"let fun\d+ \w+ \w+ = ", "local operator": r"\(\\\w+ \w+ -> |\(\\\(", "call of a def": r"\(f\d ",
    "generate 2": r"generate \(\S+, \S+\)", "permute, 2 axes": r"\(permute \S.*?\(i64, i64\)|\w+, j", "backpermute, 2 axes": r"backpermute .*\(\\\(ix\d+, j",
    "stencil #clamp": r"#clamp", "stencil #mirror": r"#mirror", "stencil #wrap": r"#wrap", "stencil #constant": r"#constant",
    "stencil, 2 axes": r"= w\d+\[[^\[\],]+, [^\[\],]+\]", "stencil, 3 axes": r"= w\d+\[[^\[\],]+, [^\[\],]+, [^\[\],]+\]", "stencil of zip": r"w\d+\[-?\d\]\.0",
    "loop over an array": r"for \w+ in ", "while in a tuple": r"loop \(\w+, \w+\) = ", "turns that change few elements": r"loop \(p\d+, q\d+\) = ", "updates in turns that differ": r"(for|while) iu\d+ < ", "updates of rows that differ in length": r"loop \(?u\d+", "updates of an update": r"\(\([pqau]\d+ with \[", "state that grows": r"loop (a|q|p)\d+ = .* do (\(.* \+\+|\w+ \+\+|\(if )",
    "rows of columns": r"rows \(transpose", "rows of elements": r"rows \(flatten", "rows of all": r"rows \[", "consumer in a branch": r"then \(\w+_seq",
    "consumer in a loop": r"do \((fold|permute)_seq", "affine operator": r"b \* c \+ d", "operator of rows": r"\(zip_with \((zip_with|\(|[+*&|^]|\\a)",
    "two dimensions of keys": r"generate 2 \(\\j", "foreign": r"foreign def", "groups for ever": r"group_seq forever", "sized def": r"def z0 \[za\]",
    "call of a sized def": r"\(z0 ", "elements of collected lists": r"rows \(flatten t\d",
    "fold that chooses a row": r"fold1? \(\\\w+ \w+ -> (if|let n)", "fold that chooses a record": r"fold \(\\\(k\d+, x\d+\)", "scan that chooses a row": r"scan\w* \(\\a\d+ b\d+ -> (if|let n)",
    "state that loses elements": r"loop (\(q\d+, \w+(, p)?\)|q\d+) = .* do (\(*(if .*)?)*(tail|init|drop|take|q\d+\[)",
}


def dims_of(case):
    for t in list(case.params.values()) + list(case.streams.values()):
        yield from ((dtype, dims) for _, dtype, dims in t.leaves())


def arrays_of(case):
    for leaves in case.inputs.values():
        for v in leaves.values():
            yield v[0] if isinstance(v, tuple) else v


def has(case, question):
    return any(question(v) for v in arrays_of(case) if v.size)


QUESTIONS = {
    "input without elements": lambda c: any(v.size == 0 for v in arrays_of(c)),
    "input with rows without elements": lambda c: any(v.ndim > 1 and v.shape[0] and not v.size for v in arrays_of(c)),
    "input with NaN": lambda c: has(c, lambda v: v.dtype.kind in "fc" and np.isnan(v).any()),
    "input with infinities": lambda c: has(c, lambda v: v.dtype.kind in "fc" and np.isinf(v).any()),
    "input with -0.0": lambda c: has(c, lambda v: v.dtype.kind == "f" and (np.signbit(v) & (v == 0)).any()),
    "input with extreme integers": lambda c: has(c, lambda v: v.dtype.kind in "iu" and (v == np.iinfo(v.dtype).max).any()),
    "rows that differ in length": lambda c: any(isinstance(v, tuple) for leaves in c.inputs.values() for v in leaves.values()),
    "constant field": lambda c: bool(c.consts), "stream": lambda c: bool(c.streams), "stream as a result": lambda c: c.result.kind == "seq",
    "three levels": lambda c: any(len(dims) > 2 for _, dims in dims_of(c)), "three levels in a result": lambda c: any(len(d) > 2 for _, _, d in c.result.leaves()),
    "records": lambda c: any("{" in t.text for t in list(c.params.values()) + list(c.streams.values())), "several results": lambda c: c.result.tuple,
}


class Coverage:
    def __init__(self):
        self.count = Counter({n: 0 for n in list(WORDS) + list(PATTERNS) + list(QUESTIONS) + ["type " + t for t in SCALARS]})
        self.words = set(WORDS)

    def add(self, case):
        found = self.words & set(re.findall(r"\w+", case.text)) | {"type " + t for t in SCALARS if re.search(r"\b%s\b" % t, case.text)}
        found |= {n for n, p in PATTERNS.items() if re.search(p, case.text)}
        if case.result:
            found |= {n for n, q in QUESTIONS.items() if q(case)}
        self.count.update(found)

    def missing(self):
        return sorted(n for n, k in self.count.items() if k == 0)

    def print(self):
        names = sorted(self.count, key=lambda n: (self.count[n], n))
        for i in range(0, len(names), 6):
            print("  " + "".join("%-32s" % ("%5d %s" % (self.count[n], n)) for n in names[i:i + 6]).rstrip())
