"""Where tasks sit: the papers' topologies under each scheduler, on clusters in a box.

benchmark    the run
plan         what to measure, and on how large clusters
contest      all schedulers on one running topology, round after round
overload     all in one worker, and twice the input: how long until it has spread
measured     all that was measured
goals        what is wanted
tables       what is shown
charts       processing times under overload: the paper's figures 9 and 10

throughput_test, word_count, log_stream and sol are the topologies; paced, tap and last_value are what they share.
rates chooses how fast their input is, cores says what that costs, window what happened between two looks, placement
puts all into one worker.

planning measures how long schedulers take, and gap how far they are from the best there is.
"""
