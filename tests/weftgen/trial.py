"""A program of one of the generators, with its inputs."""
import numpy as np
from .case import Case, make_inputs
from .gridding import Gridding
from .programs import Maker
from .ragged import Ragged


def rising(r, values):
    """In order, but for a few."""
    values = np.sort(values)
    for _ in range(r.choice([0, 0, 1, 3]) if values.size else 0):
        values[r.randrange(values.size)] = values[r.randrange(values.size)]
    return values


def made_by(r, ragged_above=0.7):
    """The case, and the program that its text is of. `ragged_above`: of rows that differ in length are so many of 1, from there on."""
    kind = r.random()
    maker = Gridding(r) if kind < 0.15 else Ragged(r) if kind > ragged_above else Maker(r)
    p, rows = maker.program(), maker.rows
    p.foreign = maker.gen.foreign if hasattr(maker, "gen") else None
    blocks = [r.choice([1, 2, 3, 5, 8] if max(rows.values(), default=0) <= 200 else [64, 100, 257, 700]), 100000]
    inputs = make_inputs(r, p.params, p.streams, p.sizes, rows, p.consts, p.ranges)
    for full in p.rising:
        name, leaf = full.split(".", 1)
        inputs[name][leaf] = rising(r, inputs[name][leaf])
    case = Case(p.text(), p.params, p.streams, p.result(), inputs, blocks, p.consts, p.exact)
    case.ragged = isinstance(maker, Ragged)
    return case, p
