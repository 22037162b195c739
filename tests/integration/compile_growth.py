#!/usr/bin/python3
"""The compiler's time grows with the size of a program and not faster: programs of growing size, in families of what one writes again and again.

Processor times of one compiler are compared with each other, and never with a number of seconds, so neither the machine nor what else it does
decides: ten times the nodes may take MOST times as long for each node. The least of several times counts: the first compiler of its size may have
the system find the memory for it, which takes as long again."""
# timeout: 900
# tier: ci
import os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import checks, growing
from checks import expect

MOST = 2.5
# Nodes. Where much is made of each node a few are enough, and where little is made of it the sizes are larger, so that there is something to measure.
SIZES = {"scalars": 20, "defs": 20, "chain of maps": 10, "independent lets": 10, "loops of elements": 10, "cases of a match": 10, "filters": 0.3, "loads at indices": 5, "choices in a loop": 5}
# Programs of 10 000 nodes stay within the compiler's limits too, of memory first: kernels must not each take as much as the program is large.
LARGE = ["reductions"]

checks.begin("compile_growth")
compiler = growing.Compiler(os.environ["GRIDLOOM_BIN"])


def per_node(family, size, turns):
    text = growing.program(family, size)
    nodes = compiler.nodes(["-"], text)
    seconds, remark = min(compiler.seconds(["-"], text) for _ in range(turns))
    expect("%s, %d nodes: compiled" % (family, nodes), not remark, remark)
    return nodes, seconds / nodes


for family in growing.FAMILIES:
    scale = SIZES.get(family, 1)
    try:
        small_nodes, small = per_node(family, 200 * scale, 3)
        nodes, large = per_node(family, 2000 * scale, 1)
        if large > MOST * small:
            nodes, large = per_node(family, 2000 * scale, 2)
    except RuntimeError as e:
        expect(family, False, e)
        continue
    print("%-24s %6d nodes: %6.1f us each; %6d: %6.1f us" % (family, small_nodes, 1e6 * small, nodes, 1e6 * large))
    expect(family, large < MOST * small, "%d nodes take %.1f us each, %d take %.1f us each" % (small_nodes, 1e6 * small, nodes, 1e6 * large))
for family in LARGE:
    try:
        per_node(family, 10000, 1)
    except RuntimeError as e:
        expect("%s, 10 000 nodes" % family, False, e)
checks.end()
