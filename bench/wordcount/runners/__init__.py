"""One script per system, executed by an interpreter that has it: `python -m bench.wordcount.runners.NAME JOB`."""
