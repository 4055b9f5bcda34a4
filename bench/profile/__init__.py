"""`python -m bench.profile record FILE`: where the CPU time of a tuple goes; and `draw BEFORE AFTER FOLDER`.

    __main__     the command line
    topologies   a word count, unthrottled, and a chain of three at 1,000 tuples/s; each task leaves its process's id
    recording    looks at the workers with py-spy, and at what they take
    stacks       pure: from stacks to who is at work
    pictures     two recordings beside each other

Needs py-spy, which comes with the benchmarks. The recording is of the penstock that the interpreter has: with that of
another environment it is another release's.
"""
