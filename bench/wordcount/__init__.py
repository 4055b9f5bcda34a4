"""`python -m bench wordcount`: sentences split into words, words counted, by Penstock and by its peers.

    benchmark       the run: measure, judge
    plan            how many sentences at which rate, full and quick
    contestants     who takes part, and with which settings
    contest         rounds, and what was measured
    environments    a virtual environment for each peer
    corpus          the sentences, and what counting them must give
    job             what a runner is given, and what it leaves behind
    runner          running a contestant once
    notes           reading what it left behind
    runners/        one script per system
    feeder          sentences over a socket, for systems that read one
    goals  tables   the figures to beat; for people

This module imports nothing, because it is imported in the peers' environments too.
"""
