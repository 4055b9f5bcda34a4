"""`python -m bench ipc`: messages between two processes of one node, over the ring and over its peers.

    benchmark          the run: measure, judge, draw
    plan               which sizes and rates, how many messages, full and quick
    contest            the transports that take part, round after round, and what was measured
    goals              the figures to beat
    paper              what TurboStream's section VI-A says, beside what was measured
    tables  charts     for people
    pair               the two processes of a transport, and what can be measured with them
    control            how the benchmark talks to the two processes
    pacing             the two timed loops
    transport          what a transport has to offer; python_transport, python_end: with both ends in Python
    ring  netty  zeromq  pipe  queue  fasterfifo  iceoryx2        one transport each

This module imports nothing, because every spawned end imports it.
"""
