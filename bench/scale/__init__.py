"""`python -m bench scale`: what a tuple costs with more tasks, workers, load, keys and hours.

benchmark     the run: measure, judge
plan          how much of everything, full and quick
notes         what the processes of a run leave behind: CPU time, memory
sizes         unthrottled runs with more and more tasks, or workers
load          latency of the chain of `bench overhead` from an idle machine to a full one
state         keyed state of many keys: filled, saved, moved, restored
soak          the chain at a rate for a long time, slice by slice
goals         the figures to beat
tables        for people
charts        the same as pictures
"""
