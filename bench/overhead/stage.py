"""One process of a chain that is no topology: spawned, asked over a pipe, ended whatever it is doing."""

import multiprocessing
from collections.abc import Callable
from typing import Any

from bench.cpu import CpuMeter
from bench.overhead.chain import ChainError

_PATIENCE_S = 60.0


class Stage:
    """One of the processes; ready when constructed."""

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        """Start it, and wait until it is ready; `ready` is what it says then."""
        context = multiprocessing.get_context("spawn")
        self._name = target.__name__
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
        self._process.start()
        self.pid = self._process.pid or 0
        theirs.close()
        try:
            self.ready = self.answer()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def answer(self) -> Any:
        """Wait for what it says."""
        try:
            if self._pipe.poll(_PATIENCE_S):
                return self._pipe.recv()
        except EOFError:
            self._process.join()
            message = f"{self._name} died, exit code {self._process.exitcode}"
            raise ChainError(message) from None
        message = f"{self._name} said nothing for {_PATIENCE_S:g} s"
        raise ChainError(message)

    def stop(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


def metered(*stages: Stage) -> CpuMeter:
    """A meter of these processes, begun now."""
    meter = CpuMeter(lambda: [stage.pid for stage in stages])
    meter.start()
    return meter
