"""`python -m bench.gate`: whether the working tree is slower than the last release, on the machine at hand.

    __main__   arguments; rounds until it is clear; the verdict
    policy     pure: samples in, verdict out
    plan       how long, how often, which bounds; full and short
    build      a wheel of each side, in an environment of its own
    side       the process that serves a side, and talking to it
    probe      what that process does
    measures   what is measured of a side in a round

Absolute figures of another day say little, so both sides are measured here and now, by turns: A B, B A, A B ... The
code that measures is this tree's for both.
"""
