"""Work and space of a compiled program against those of the interpreter (docs/architecture.md, "Work and space").

What is compared are evaluations, scalars moved and entries of descriptors together: which of them a program's work is differs between
the two, as a slice that is moved there is an index that is computed here. Compiled code may do FACTOR times as much, and OVERHEAD more:
what an operation does however few elements there are, as the lengths, offsets and numbers of elements of each level and branch, the
starts and ends of its folds, for every stage and every turn of its loops. It is told in parts of the program's size in the interpreter's
nodes, which a generated program has some tens of."""
import json
import os
import tempfile

FACTOR = 4
OVERHEAD = 1000  # of a program of a few dozen operations on a handful of elements
SPACE_OVERHEAD = 1 << 16  # bytes: buffers are whole lines of memory, and each thread has scratch of its own
KINDS = ("evaluations", "moved", "descriptors")


def total(counts):
    return sum(counts[k] for k in KINDS)


def read(path):
    with open(path) as f:
        return json.load(f)


def exceeds(interpreted, compiled, overhead=OVERHEAD):
    """None, or how the compiled program does more than it may."""
    want, got = total(interpreted), total(compiled)
    if got <= FACTOR * want + overhead:
        return None
    most = sorted(compiled["actions"], key=total, reverse=True)[:3]
    return "work %d (%s), interpreted %d (%s), %.1f times; most of it in %s" % (
        got, told(compiled), want, told(interpreted), got / max(1, want),
        "; ".join("%s: %s" % (a["label"].replace("\n", " "), told(a)) for a in most))


def told(counts):
    return ", ".join("%s %d" % (k, counts[k]) for k in KINDS)


def measure(call, words, more=()):
    """What `gridloom eval` and `gridloom run` count for the same words; `call` runs a command. None where one of them fails."""
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        for command, options in (("eval", []), ("run", list(more))):
            path = os.path.join(folder, command + ".json")
            code, said = call([command] + list(words) + options + ["--count-work", path])
            if code:
                return None
            counts.append(read(path))
    return counts
