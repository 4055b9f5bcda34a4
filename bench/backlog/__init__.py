"""Whose outgoing queue goes next: largest backlog first against round robin and first in, first out.

benchmark    the run
simulation   Hone's figures 6 to 8, with the policies that workers run
simulated    all that is simulated, over several seeds
plan         what to measure on a cluster in a box, and at which rates
topology     sentences, split, count; and which task is where
contest      all policies on the same sentences, run after run
measured     all that was measured
goals        what is wanted
tables       what is shown
charts       Hone's figures 6 to 8, 10 and 12
"""
