"""`python -m bench frames`: rows/s of a topology between DataFrames, beside what Spark itself offers for the same work.

benchmark     the run: measure, judge
plan          how many rows, full and quick
session       the Spark that all of them run in
readings      the table that all of them read
contestant    what takes part: a DataFrame or a streaming query, timed, and its answer checked
each_row      one row out for each row in, nothing exchanged
by_key        a total for each key, rows exchanged by key
running       how often a key came so far, one row out for each row in, rows exchanged by key
contest       the rounds
goals, tables
"""
