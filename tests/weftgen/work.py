"""Work and space of a compiled program against those of the interpreter (docs/architecture.md, "Work and space").

What is compared are evaluations, scalars moved and entries of descriptors together: which of them a program's work is differs between
the two, as a slice that is moved there is an index that is computed here. Compiled code may do FACTOR times as much, and more by what
an operation does however few elements there are: the starts and ends of folds, lengths, offsets and numbers of elements of each level,
branch and turn. OVERHEAD is that of a hundred operations and their turns, of which each has some ten such scalars: a scan by halves of
tuples of tuples over no elements has as many. It is a constant: of a program whose work grows, what grows is held to FACTOR."""
import json
import os

FACTOR = 4
OVERHEAD = 2000
SPACE_OVERHEAD = 4 << 20  # bytes: scratch for strips and workspace for permutes of each thread, however few elements there are
KINDS = ("evaluations", "moved", "descriptors")


def total(counts):
    return sum(counts[k] for k in KINDS)


def told(counts):
    return ", ".join("%s %d" % (k, counts[k]) for k in KINDS)


def read(path):
    with open(path) as f:
        return json.load(f)


def exceeds(interpreted, compiled, overhead=OVERHEAD, space_overhead=SPACE_OVERHEAD):
    """None, or how the compiled program takes more than it may."""
    want, got = total(interpreted), total(compiled)
    if want > overhead and got == 0:
        return "no work is counted, interpreted %d (%s)" % (want, told(interpreted))
    if got > FACTOR * want + overhead:
        most = sorted(compiled["actions"], key=total, reverse=True)[:3]
        return "too much work: %d (%s), interpreted %d (%s), %.1f times; most of it in %s" % (
            got, told(compiled), want, told(interpreted), got / max(1, want),
            "; ".join("%s: %s" % (a["label"].replace("\n", " "), told(a)) for a in most))
    want, got = interpreted["peak_bytes"], compiled["peak_bytes"]
    if got > FACTOR * want + space_overhead:
        return "too much space: %d bytes, interpreted %d" % (got, want)
    return None


def check(run, words, interpreted):
    """The same of a program that `run`, given words of the command line, runs with all of its streams in one block. `interpreted`: the
    file that `gridloom eval --count-work` wrote."""
    path = os.path.join(os.path.dirname(interpreted), "got.work.json")
    code, said = run(words + ["--count-work", path])
    if code:
        return "run fails where it counts its work: exit %d: %s" % (code, said[-300:])
    return exceeds(read(interpreted), read(path))
