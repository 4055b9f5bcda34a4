"""PyFlink's DataStream API: sentences over a socket, split and counted by Python, in thread or in process mode.

What makes it fast: large bundles unthrottled and small ones at a rate, no metrics of Python operators, and counts in a
dictionary of the operator instead of Flink's keyed state, which takes twice as long.
"""

import os
import site
import sys
import time
import uuid
from collections.abc import Iterator
from typing import Any

from pyflink.common import Configuration, Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import KeyedProcessFunction, RuntimeContext

from bench.wordcount.feeder import Feeder
from bench.wordcount.job import CounterNotes, Job


def main() -> None:
    """Run one job on a cluster inside this process's JVM."""
    job = Job.from_command_line()
    # Else PyFlink would run the Python operators of a local cluster inside this very process, for debugging.
    os.environ["_python_worker_execution_mode"] = "process"  # noqa: SIM112
    # What is embedded into the JVM does not know that it is in a virtual environment.
    os.environ["PYTHONPATH"] = os.pathsep.join([os.environ["PYTHONPATH"], *site.getsitepackages()])
    environment = StreamExecutionEnvironment.get_execution_environment(_configuration(job))
    paced = bool(job.rate_per_s)
    with Feeder(job, numbered=paced) as feeder:
        lines = DataStream(environment._j_stream_execution_environment.socketTextStream("127.0.0.1", feeder.port))
        if paced:
            word_type = Types.TUPLE([Types.STRING(), Types.LONG()])
            words = lines.flat_map(_split_numbered, word_type).key_by(lambda word: word[0], Types.STRING())
            counted = words.process(TimedCount(job), Types.STRING())
        else:
            words = lines.flat_map(str.split, Types.STRING()).key_by(lambda word: word, Types.STRING())
            counted = words.process(Count(job), Types.STRING())
        counted.print()
        environment.execute("wordcount")


def _configuration(job: Job) -> Configuration:
    settings = {
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        "python.execution-mode": job.options["mode"],
        "python.metric.enabled": "false",
        "python.fn-execution.bundle.size": "100" if job.rate_per_s else "10000",
        "python.fn-execution.bundle.time": "1" if job.rate_per_s else "1000",
        "execution.buffer-timeout.interval": "1 ms" if job.rate_per_s else "100 ms",
        "pipeline.object-reuse": "true",
        "parallelism.default": str(job.options["parallelism"]),
        "rest.bind-port": "0",
    }
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    return configuration


def _split_numbered(line: str) -> Iterator[tuple[str, int]]:
    number, *words = line.split()
    sentence = int(number)
    for word in words:
        yield word, sentence


class Count(KeyedProcessFunction):  # type: ignore[misc]
    """How often each word of this task came; left behind at the end."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def open(self, runtime_context: RuntimeContext) -> None:  # noqa: ARG002
        # The context of thread mode does not know its index.
        self.notes = CounterNotes(self.job, f"counter-{uuid.uuid4()}")
        self.counts: dict[str, int] = {}
        self.finished_ns = 0

    def process_element(self, value: Any, ctx: Any) -> tuple[()]:  # noqa: ARG002
        self.counts[value] = self.counts.get(value, 0) + 1
        return ()

    def close(self) -> None:
        self.notes.save(self.counts, self.finished_ns or time.monotonic_ns())


class TimedCount(Count):
    """Notes besides when each sentence's words were counted."""

    def process_element(self, value: Any, ctx: Any) -> tuple[()]:  # noqa: ARG002
        word, sentence = value
        self.counts[word] = self.counts.get(word, 0) + 1
        self.notes.times[sentence] = time.monotonic_ns()
        return ()


if __name__ == "__main__":
    main()
