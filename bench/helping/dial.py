"""How long each bolt takes for a tuple: numbers in a file, which can be changed while they run.

Standard library only: it travels to workers.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path

_LOOK_EVERY_NS = 100_000_000


class Dial:
    """The benchmark's end."""

    def __init__(self, folder: str) -> None:
        self.file = str(Path(folder, "service-ms"))
        self.turn({})

    def turn(self, service_ms: Mapping[str, float]) -> None:
        """From now on bolts take so long for a tuple, by name; those that are not named take no time."""
        draft = Path(f"{self.file}.draft")
        draft.write_text(json.dumps(dict(service_ms)))
        draft.rename(self.file)  # nobody reads half of it


class ServiceTime:
    """A bolt's end."""

    def __init__(self, file: str, name: str) -> None:
        self.file = file
        self.name = name
        self.look_at_ns = 0
        self.service_ns = 0

    def now_ns(self) -> int:
        """How long a tuple takes just now."""
        moment_ns = time.monotonic_ns()
        if moment_ns >= self.look_at_ns:
            self.look_at_ns = moment_ns + _LOOK_EVERY_NS
            self.service_ns = int(1e6 * json.loads(Path(self.file).read_text()).get(self.name, 0.0))
        return self.service_ns


def wait(service_ns: int) -> None:
    """As a call to a service does: the core is free meanwhile."""
    time.sleep(service_ns / 1e9)


def compute(service_ns: int) -> None:
    """As a model does: so much time of a core, however many want it."""
    end_ns = time.thread_time_ns() + service_ns
    while time.thread_time_ns() < end_ns:
        pass
