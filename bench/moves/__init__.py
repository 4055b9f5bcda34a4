"""A word count whose tasks move while it runs: how long nothing comes out, how late what comes is, and what is missing.

benchmark    the run
plan         what to measure
lines        what is counted: which word is in which line, and so how often each must have been counted
topology     numbered lines, split, counted by word, and noted
journal      what the sink notes, as a file
mover        moves random tasks, one after another
steady       one run at a steady rate, quiet and with moves by turns
restart      the same, stopped and started again from its checkpoint
outputs      gaps and latencies, from what was noted
ledger       what is lost or doubled
measured     all that was measured
goals        what is wanted
tables       what is shown
"""
