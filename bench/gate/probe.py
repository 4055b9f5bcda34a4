"""What the process of a side does: it answers questions until nobody is there to ask.

It runs this tree's benchmarks with the side's own penstock.
"""

import multiprocessing
import os
import socket
import statistics
import sys
from contextlib import closing
from typing import Any

import msgspec

import penstock as ps
from bench.cpu import CpuMeter
from bench.ipc.pair import Paced as PacedMessages
from bench.ipc.ring import Ring
from bench.overhead.chain import Paced
from bench.overhead.topology import Topology
from bench.wordcount.job import Job
from bench.wordcount.runners.penstock_run import topology_of


def where() -> dict[str, Any]:
    """Whose penstock this is."""
    return {"penstock": ps.__file__}


def flood(count: int) -> dict[str, Any]:
    """So many tuples through the chain of `bench overhead`."""
    run = Topology().flood(count)
    return {"per_s": run.tuples / run.elapsed_s, "cpu_us": run.cpu_us_per_tuple}


def pace(rate_per_s: int, seconds: float) -> dict[str, Any]:
    """Tuples at a rate through the same chain."""
    count = int(rate_per_s * seconds)
    run = Topology().pace(Paced(rate_per_s=rate_per_s, count=count, warm_up=count // 4))
    return {"p50_us": statistics.median(run.latencies_ns) / 1e3, "cpu_us": run.cpu_us_per_tuple}


def words(**job: Any) -> dict[str, Any]:
    """The word count of `bench wordcount`; what came of it is in the job's folder."""
    given = Job(**job)
    ps.run(topology_of(given), workers=given.options["workers"], delivery="at_most_once")
    return {}


def messages(count: int, rate_per_s: int, paced: int) -> dict[str, Any]:
    """So many messages of 100 bytes over the ring of `bench ipc`, as fast as they go, and so many at a rate.

    Both ends are new each time: where two processes and their ring happen to lie in memory makes more of a difference
    than some slips, and would fall on one side for all rounds.
    """
    with closing(Ring().open()) as pair:
        pair.warm_up()
        # The two ends are all that this process has spawned by multiprocessing.
        meter = CpuMeter(lambda: [child.pid for child in multiprocessing.active_children() if child.pid])
        meter.start()
        elapsed_s = pair.flood_s(100, count)
        meter.look()
        run = pair.latencies(
            PacedMessages(size_bytes=100, rate_per_s=rate_per_s, count=paced, warm_up=max(5, paced // 10))
        )
    return {
        "per_s": count / elapsed_s,
        "cpu_us": meter.taken_s * 1e6 / count,
        "p50_us": statistics.median(run.latencies_ns) / 1e3,
    }


ANSWERS = {answer.__name__: answer for answer in (where, flood, pace, words, messages)}


def main() -> None:
    """Serve the socket whose descriptor is the first argument."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)  # else the JVM would keep it open when we are gone
    with socket.socket(fileno=descriptor) as line, line.makefile("rwb") as lines:
        ps.local_session(workers=Topology.workers)
        for question in lines:
            asked = msgspec.json.decode(question)
            try:
                answer = ANSWERS[asked["what"]](**asked["arguments"])
            except Exception as error:  # who asks decides what becomes of it
                answer = {"error": f"{type(error).__name__}: {error}"}
            lines.write(msgspec.json.encode(answer) + b"\n")
            lines.flush()


if __name__ == "__main__":
    main()
