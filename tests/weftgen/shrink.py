"""Makes a failing program small."""
import itertools
import re
import time
import numpy as np
from .terms import E, simple


def smaller_trees(program):
    """Changes to try, as functions that make one and give a function that takes it back."""
    def drop(items, i):
        def change():
            saved = items[:]
            del items[i]
            def back():
                items[:] = saved
            return back
        return change
    if len(program.outs) > 1:
        for i in range(len(program.outs)):
            yield drop(program.outs, i)
    for items in (program.lets, program.defs):
        for i in reversed(range(len(items))):
            yield drop(items, i)
    for tree in program.trees():
        for node in list(tree.nodes()):
            options = [(k.parts, k.env) for k in node.nodes() if k is not node and k.type == node.type]
            options += [((n,), node.env) for n, (t, _) in (node.env or {}).items() if t == node.type]
            if node.type.kind != "seq" and all(node.type.dims()):
                options.append(((simple(node.type),), node.env))
            size = len(node.text())
            for parts, env in options:
                if len(E(node.type, *parts).text()) < size:
                    yield exchange(node, parts, env)


def exchange(node, parts, env):
    def change():
        saved = node.parts, node.env
        node.parts, node.env = parts, env
        def back():
            node.parts, node.env = saved
        return back
    return change


def smaller_inputs(program, case):
    """Nothing forced, or one choice alone; fewer parameters, shorter streams, one block length."""
    if case.forces:
        yield assign(case, "forces", [])
    for i, force in enumerate(case.forces):
        if len(case.forces) > 1:
            yield assign(case, "forces", [force])
        for part in force.split(",") if "," in force else []:
            less = ",".join(p for p in force.split(",") if p != part)
            yield assign(case, "forces", case.forces[:i] + [less] + case.forces[i + 1:])
    if len(case.blocks) > 1:
        for b in case.blocks:
            yield assign(case, "blocks", [b])
    for names in (program.params, program.streams):
        for n in list(names):
            if not re.search(r"\b%s\b" % n, "".join(t.text() for t in program.trees())):
                yield without(program, case, names, n)
    longest = max([length(v) for n in program.streams for leaf, v in case.inputs[n].items() if "%s.%s" % (n, leaf) not in case.consts],
                  default=0)
    for keep in sorted({0, 1, 2, 5, longest // 2, longest - 1}):
        if 0 <= keep < longest:
            cut = {n: {leaf: first(v, keep) if n in program.streams and "%s.%s" % (n, leaf) not in case.consts else v
                       for leaf, v in leaves.items()}
                   for n, leaves in case.inputs.items()}
            yield assign(case, "inputs", cut)
    for n, leaves in case.inputs.items():
        for leaf, v in leaves.items():
            if not isinstance(v, tuple) and v.size and (v != v.dtype.type(1)).any():
                yield assign(case, "inputs", dict(case.inputs, **{n: dict(leaves, **{leaf: np.ones_like(v)})}))


def length(v):
    return len(v[1] if isinstance(v, tuple) else v)


def first(v, n):
    return (v[0][:int(v[1][:n].sum())], v[1][:n]) if isinstance(v, tuple) else v[:n]


def assign(thing, name, value):
    def change():
        saved = getattr(thing, name)
        setattr(thing, name, value)
        return lambda: setattr(thing, name, saved)
    return change


def without(program, case, names, n):
    def change():
        saved, inputs = dict(names), case.inputs
        del names[n]
        case.inputs = {k: v for k, v in inputs.items() if k != n}
        def back():
            names.clear()
            names.update(saved)
            case.inputs = inputs
        return back
    return change


def shrink(program, case, fails, seconds):
    """Applies changes as long as `fails()` stays true and time is left."""
    end = time.time() + seconds
    changed = True
    while changed and time.time() < end:
        changed = False
        for change in itertools.chain(smaller_inputs(program, case), smaller_trees(program)):
            if time.time() > end:
                break
            back = change()
            if fails():
                changed = True
                break
            back()
