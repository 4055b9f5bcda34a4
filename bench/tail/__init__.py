"""`python -m bench.tail [--seconds 60] [--picture FILE]`: what held the slowest tuples of a minute.

    __main__   the command line: runs it, prints the ten worst, draws them
    topology   the chain of `bench overhead` at 1,000 tuples/s; each task notes the kernel's account of its thread
    reasons    pure: from notes to reasons
    picture    the ten worst as bars

The kernel counts for each thread how long it ran, and how long it could have run and had no core
(/proc/thread-self/schedstat). What is in neither was sleep: the thread had nothing to do as far as the kernel knew.
What a thread did since the tuple before it is taken for what held a tuple, up to the length of the hop: where that was
before the tuple was sent, the reason given is wrong. Of hops much longer than the pause between two tuples it is right.
"""
