"""`python -m bench monitor`: what it costs to measure load while a topology runs as fast as it can.

benchmark   the run: switch, measure, judge
plan        how long, how often, full and quick
topology    what runs: a flood through two layers of bolts, whose last tasks note how far they are
slices      from notes to rates, and from rates to what is lost
sample_cost what a sample costs the driver, by itself
tables      for people
"""
