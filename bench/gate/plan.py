"""How long, how often, and which bounds."""

import msgspec

from bench.gate.policy import Metric

# CPU time per record hardly depends on who else wants the machine; throughput and latency do.
CPU = (
    "overhead_cpu_us_per_tuple",
    "overhead_cpu_us_per_tuple_at_1000_per_s",
    "wordcount_cpu_us_per_word",
    "wordcount_batches_cpu_us_per_word",
    "ipc_cpu_us_per_message",
)
RATES = (
    "overhead_tuples_per_s",
    "wordcount_words_per_s",
    "wordcount_batches_words_per_s",
    "ipc_messages_per_s",
)
LATENCIES = ("overhead_p50_us_at_1000_per_s", "ipc_p50_us_at_1000_per_s")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to measure."""

    rounds: int
    """As many at least."""
    most_rounds: int
    """As many at most, while there is a metric of which it is not clear."""
    flood_s: float
    """About how long an unthrottled run lasts."""
    paced_s: float
    batches: bool
    """Whether words are also counted by batch bolts."""
    cpu_limit: float
    wall_limit: float
    wall_sure: float

    def metric(self, name: str) -> Metric:
        """How a metric is judged."""
        if name in CPU:
            return Metric(name=name, more_is_better=False, limit=self.cpu_limit)
        if name not in RATES + LATENCIES:
            message = f"no metric is called {name!r}"
            raise ValueError(message)
        return Metric(name=name, more_is_better=name in RATES, limit=self.wall_limit, sure=self.wall_sure)


FULL = Plan(
    rounds=5,
    most_rounds=15,
    flood_s=3.0,
    paced_s=5.0,
    batches=True,
    cpu_limit=1.05,
    wall_limit=1.05,
    wall_sure=1.0,
)

# For a machine that is not quiet: CPU time decides. Throughput and p50 count only when they are so far out that nobody
# else's doing explains it, by both: twice as slow, and a fifth slower at the near end of the interval.
SHORT = Plan(
    rounds=5,
    most_rounds=9,
    flood_s=1.0,
    paced_s=1.5,
    batches=False,
    cpu_limit=1.2,
    wall_limit=2.0,
    wall_sure=1.2,
)
