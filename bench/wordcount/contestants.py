"""Who takes part, and with which settings."""

from typing import Any

import msgspec

from bench.wordcount.environments import Environment

BYTEWAX = Environment(name="bytewax", requirements=("bytewax==0.21.1",))
PATHWAY = Environment(name="pathway", requirements=("pathway==0.33.0",))
PYSPARK = Environment(name="pyspark", requirements=("pyspark==4.3.0", "pyarrow>=18", "pandas>=2.2,<3"))
PYFLINK = Environment(name="pyflink", requirements=("apache-flink==2.3.0",))


class Contestant(msgspec.Struct, frozen=True, kw_only=True):
    """One system with one set of settings."""

    name: str
    runner: str
    """The module that is executed; see `bench.wordcount.job`."""
    environment: Environment | None = None
    """Where it is installed; None is the environment of this very interpreter."""
    needs_java: bool = False
    processes: int
    """How many processes the words pass through."""
    micro_batches: bool = False
    slow: bool = False
    """Whether starting and warming up alone takes longer than a quick run should."""
    flood_options: dict[str, Any] = {}
    paced_options: dict[str, Any] = {}
    first_flood: int
    """Sentences of the first unthrottled run, a multiple of the corpus."""
    warm_up_s: float
    """How long a run at a rate goes on before it counts: compilers and first batches take their time."""


RECORDS = Contestant(
    name="Penstock, record bolts",
    runner="bench.wordcount.runners.penstock_run",
    needs_java=True,
    processes=3,
    flood_options={"bolts": "record", "workers": 3},
    paced_options={"bolts": "record", "workers": 3},
    first_flood=200_000,
    warm_up_s=2.0,
)

BATCHES = Contestant(
    name="Penstock, batch bolts",
    runner="bench.wordcount.runners.penstock_run",
    needs_java=True,
    processes=3,
    flood_options={"bolts": "batch", "workers": 3},
    paced_options={"bolts": "batch", "workers": 3},
    first_flood=400_000,
    warm_up_s=2.0,
)

PEERS = (
    *(
        Contestant(
            name=f"Bytewax, {text}",
            runner="bench.wordcount.runners.bytewax_run",
            environment=BYTEWAX,
            processes=processes,
            flood_options={"processes": processes, "batch_size": 1000},
            paced_options={"processes": processes},
            first_flood=100_000,
            warm_up_s=2.0,
        )
        for processes, text in ((1, "one worker"), (2, "two processes"))
    ),
    *(
        Contestant(
            name=f"Pathway, {text}",
            runner="bench.wordcount.runners.pathway_run",
            environment=PATHWAY,
            processes=processes,
            slow=True,
            flood_options={"processes": processes, "commit_ms": 100},
            paced_options={"processes": processes, "commit_ms": 1},
            first_flood=100_000,
            warm_up_s=3.0,
        )
        for processes, text in ((1, "one process"), (2, "two processes"))
    ),
    Contestant(
        name="Structured Streaming",
        runner="bench.wordcount.runners.spark_run",
        environment=PYSPARK,
        needs_java=True,
        processes=2,
        micro_batches=True,
        slow=True,
        first_flood=800_000,
        warm_up_s=20.0,
    ),
    *(
        Contestant(
            name=f"PyFlink, {mode} mode",
            runner="bench.wordcount.runners.flink_run",
            environment=PYFLINK,
            needs_java=True,
            processes=processes,
            slow=True,
            flood_options={"mode": mode, "parallelism": 1},
            paced_options={"mode": mode, "parallelism": 1},
            first_flood=20_000,
            warm_up_s=15.0,
        )
        for mode, processes in (("thread", 1), ("process", 2))
    ),
)
