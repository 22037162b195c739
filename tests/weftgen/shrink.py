"""Makes a failing program small."""
import time
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


def shrink(program, fails, seconds):
    """Applies changes as long as `fails(program)` stays true and time is left."""
    end = time.time() + seconds
    changed = True
    while changed and time.time() < end:
        changed = False
        for change in smaller_trees(program):
            if time.time() > end:
                break
            back = change()
            if fails():
                changed = True
                break
            back()
