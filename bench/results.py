"""The last report of each benchmark, kept in git: `bench/results/NAME.json`."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bench.history import REPOSITORY, Code
from bench.machine import Machine
from bench.report import Goal, Report, Table

FOLDER = REPOSITORY / "bench" / "results"
IMAGES = REPOSITORY / "docs" / "images"

_DIGITS = 9


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured, at which commit, and on what."""

    bench: str
    commit: str
    dirty: bool
    """Whether the code was not the commit's, but changed."""
    date: str
    quick: bool
    rounds: int | None
    machine: Machine | None
    """With the load average at the start; None of what was measured before results were kept."""
    remarks: str = ""
    """Markdown about these figures and no others, written by hand: a new result has none."""
    cpu_us_per_record: dict[str, float] = {}
    """By side; all its processes together."""
    goals: tuple[Goal, ...]
    tables: tuple[Table, ...]
    plots: tuple[str, ...] = ()
    figures: Any = None

    @classmethod
    def of(cls, report: Report, code: Code, *, quick: bool) -> "Kept":
        """A report of the code as it was when the benchmark began."""
        outcome = report.outcome
        return cls(
            bench=report.bench,
            commit=code.commit,
            dirty=code.dirty,
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            quick=quick,
            rounds=outcome.rounds,
            machine=report.machine,
            cpu_us_per_record=outcome.cpu_us_per_record,
            goals=outcome.goals,
            tables=tuple(table for table in outcome.tables if table.rows),
            plots=tuple(plot.name for plot in outcome.plots),
            figures=msgspec.to_builtins(outcome.figures, str_keys=True),
        )

    @property
    def holding(self) -> int:
        """How many goals hold."""
        return sum(goal.holds for goal in self.goals)


def load(name: str, folder: Path = FOLDER) -> Kept | None:
    """The kept result of a benchmark, if there is one."""
    file = folder / f"{name}.json"
    return msgspec.json.decode(file.read_bytes(), type=Kept) if file.exists() else None


def save(kept: Kept, folder: Path = FOLDER) -> Path:
    """Write it in the place of the last one, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    written = msgspec.to_builtins(kept, str_keys=True)
    for goal, known in zip(written["goals"], kept.goals, strict=True):
        goal["holds"] = known.holds  # for who reads the file alone
    file = folder / f"{kept.bench}.json"
    unfinished = file.with_suffix(".unfinished")
    unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(_rounded(written)), indent=1) + b"\n")
    unfinished.replace(file)
    return file


def renew_images(name: str, plots: tuple[Path, ...], images: Path = IMAGES) -> list[Path]:
    """Copy those plots over that the documentation shows: of which there is an older one."""
    shown = {plot: images / f"{name}-{plot.name}" for plot in plots}
    return [Path(shutil.copyfile(plot, image)) for plot, image in shown.items() if image.exists()]


def _rounded(value: Any) -> Any:
    """With so many digits as can mean anything."""
    match value:
        case float():
            return float(f"{value:.{_DIGITS}g}")
        case dict():
            return {key: _rounded(part) for key, part in value.items()}
        case list() | tuple():
            return [_rounded(part) for part in value]
        case _:
            return value
