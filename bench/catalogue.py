"""The benchmarks there are."""

# Modules are imported when asked for, so that what one benchmark needs is no burden to another.
BENCHMARKS = {
    "ipc": "bench.ipc.benchmark",
    "overhead": "bench.overhead.benchmark",
    "wordcount": "bench.wordcount.benchmark",
    "scale": "bench.scale.benchmark",
    "recovery": "bench.recovery.benchmark",
    "monitor": "bench.monitor.benchmark",
    "frames": "bench.frames.benchmark",
    "broadcast": "bench.broadcast.benchmark",
    "helping": "bench.helping.benchmark",
    "backlog": "bench.backlog.benchmark",
    "paths": "bench.paths.benchmark",
    "moves": "bench.moves.benchmark",
    "scheduling": "bench.scheduling.benchmark",
}
"""By name, in the order in which the documentation has them and `python -m bench all` runs them."""
