"""A message to all tasks and an answer from each of them, on a cluster in a box: every algorithm, rings against TCP.

benchmark    the run
plan         what to measure
placement    which task is where
conductor    which message goes when, and what came of it
topology     spout, broadcaster, workers, gatherer
contest      all algorithms in one topology, run after run
measured     all that was measured
goals        what is wanted
tables       what is shown
charts       the paper's figures 8 to 10

simulation, simulation_tables and simulation_charts are of clusters that are larger than any box.
"""
