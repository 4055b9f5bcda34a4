"""Leron's chain with and without helping: throughput, time under backpressure, r over time, exact counts.

benchmark    the run
plan         what to measure: rows, and the sides that are compared in each
topology     word -> compute -> exclam1 -> exclam2 -> check
dial         how long bolts take for a tuple, which can be changed while they run
placement    a worker for each task
contest      one side of one row, for some seconds
pressure     what a run's metrics say about help and backpressure
account      what is lost or doubled
simulation   the chain in virtual time, with the workers' own policy objects
simulated    rows in virtual time
measured     all that was measured
goals        what is wanted
tables       what is shown
charts       r, queues and throughput over time
"""
