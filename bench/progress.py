"""What is going on, on stderr: a bar for people, a line now and then for logs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

_LINES_PER_STAGE = 10


class Progress:
    """Stages of a known number of steps.

    Nothing is drawn between steps (no refreshing thread), so that nothing disturbs what is being measured.
    """

    def __init__(self, stream: TextIO) -> None:
        """Show progress on `stream`."""
        self._console = Console(file=stream)
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            auto_refresh=False,
            disable=not self._console.is_terminal,
        )

    def __enter__(self) -> Self:
        """Start drawing."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last state on the screen."""
        self._bar.stop()

    @contextmanager
    def stage(self, name: str, steps: int) -> Iterator[Callable[[str], None]]:
        """A stage of so many steps: call what it yields when a step begins, with what is being done."""
        task = self._bar.add_task(name, total=steps)
        begun = 0

        def step(doing: str) -> None:
            nonlocal begun
            self._draw(task, f"{name}: {doing}", begun)
            if begun % max(1, steps // _LINES_PER_STAGE) == 0:
                self._log(f"{name}: {begun}/{steps}, {doing}")
            begun += 1

        yield step
        self._draw(task, name, steps)

    def _draw(self, task: TaskID, description: str, completed: int) -> None:
        self._bar.update(task, description=description, completed=completed)
        self._bar.refresh()

    def _log(self, line: str) -> None:
        if not self._console.is_terminal:
            self._console.print(line, markup=False, highlight=False)
