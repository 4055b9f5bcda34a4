"""What guarantees cost, and how soon a run recovers.

benchmark     the run
measured      all that it has measured
goals         what is wanted
tables        what is shown
word_count    words/s under each guarantee
latency       how long a word takes under each guarantee
outage        a worker is killed: how long nothing comes out
soak          a fault every few seconds, and every tuple checked
"""
