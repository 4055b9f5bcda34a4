"""`python -m bench overhead`: what a tuple costs that passes three processes, A to B to C.

    benchmark     the run: measure, judge
    plan          how many tuples, which rates, full and quick
    tuples        what passes, and the loop that paces it
    chain         what every chain of three processes can do
    stage         one process of a chain that is no topology
    handwritten   the chain written by hand: ZeroMQ and msgspec, a message per tuple or per batch
    raw_rings     two bare rings in a row, with no tuples
    topology      the chain as a Penstock topology: a spout and two bolts, a worker each
    contest       rounds, and what was measured
    goals         the figures to beat
    tables        for people

This module imports nothing, because the processes of a chain import it too.
"""
