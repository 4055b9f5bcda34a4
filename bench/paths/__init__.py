"""What each way from a source to a Python operator costs in latency, with and without a Spark query before and behind.

benchmark     the run
paths         the ways
topology      the operators, and a spout of their own
sender        the source: lines over a TCP connection, each with when it was sent
arrivals      what the last operator notes
measured      all that was measured
tables        what is shown
"""
