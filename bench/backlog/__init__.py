"""Whose outgoing queue goes next: largest backlog first against round robin and first in, first out.

benchmark    the run
simulation   Hone's figures 6 to 8, with the policies that workers run
simulated    all that was simulated, over several seeds
goals        what is wanted
tables       what is shown
charts       Hone's figures 6 to 8
"""
