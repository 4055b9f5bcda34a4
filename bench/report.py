"""What a benchmark returns, and the three ways to show it: on a terminal, as Markdown, as one line of JSON."""

import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import rich.table
from rich.console import Console
from rich.text import Text

from bench.machine import Machine

_COMPARISONS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge}


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """A figure to beat. What could not be measured has no value, and does not hold."""

    name: str
    value: float | None
    comparison: Literal["<=", "<", ">="]
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the value was measured and is on the right side of the limit."""
        return self.value is not None and bool(_COMPARISONS[self.comparison](self.value, self.limit))

    @property
    def text(self) -> str:
        """The goal as a reader wants it: `<= 0.55`."""
        return f"{self.comparison} {format_figure(self.limit)}"


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table of texts, some of them of several lines; the first column names the row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a benchmark returns."""

    figures: dict[str, Any]
    """Everything measured, ready for JSON."""
    goals: tuple[Goal, ...]
    tables: tuple[Table, ...]
    plots: tuple[Path, ...] = ()
    rounds: int | None = None
    """How many interleaved rounds the figures are of, where there is one number for all."""
    cpu_us_per_record: dict[str, float] = {}
    """User and system time of all processes of a side over the records it took, where it was measured."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """An outcome, with the name of the benchmark and the machine it ran on."""

    bench: str
    machine: Machine
    outcome: Outcome

    def to_json(self) -> str:
        """One line: `{"bench", "machine", "figures", "goals": {name: {"value", "goal", "holds"}}}`."""
        goals = {
            goal.name: {"value": goal.value, "goal": goal.text, "holds": goal.holds} for goal in self.outcome.goals
        }
        line = {
            "bench": self.bench,
            "machine": self.machine,
            "figures": self.outcome.figures,
            "goals": goals,
        }
        return msgspec.json.encode(line).decode()

    def to_markdown(self) -> str:
        """The tables and plots, to be read."""
        parts = [f"# {self.bench}", self.machine.text]
        parts.extend(table_markdown(table, level=2) for table in self.tables())
        parts.extend(f"![{plot.stem}]({plot.name})" for plot in self.outcome.plots)
        return "\n\n".join(parts) + "\n"

    def tables(self) -> tuple[Table, ...]:
        """All tables that have rows; the goals last."""
        return tuple(table for table in (*self.outcome.tables, goals_table(self.outcome.goals)) if table.rows)


def goals_table(goals: Sequence[Goal]) -> Table:
    """The figures to beat, and what became of them."""
    return Table(
        title="Goals",
        columns=("goal", "wanted", "measured", "holds"),
        rows=tuple(
            (
                goal.name,
                goal.text,
                "not measured" if goal.value is None else format_figure(goal.value),
                "yes" if goal.holds else "NO",
            )
            for goal in goals
        ),
    )


def table_markdown(table: Table, level: int) -> str:
    """A heading of so many marks, the table, and its note."""
    lines = [table.columns, tuple("---" for _ in table.columns), *table.rows]
    drawn = "\n".join("| " + " | ".join(cells).replace("\n", "<br>") + " |" for cells in lines)
    return "\n\n".join([f"{'#' * level} {table.title}", drawn, *([table.note] if table.note else [])])


def show(report: Report, console: Console) -> None:
    """Print every table."""
    for table in report.tables():
        drawn = rich.table.Table(
            title=Text(table.title, style="bold"),
            title_justify="left",
            caption=Text(table.note),
            caption_justify="left",
            show_lines=any("\n" in cell for row in table.rows for cell in row),
        )
        for column in table.columns:
            drawn.add_column(column)
        for row in table.rows:
            drawn.add_row(*map(Text, row))
        console.print(drawn)


def format_figure(value: float) -> str:
    """Three significant digits, thousands apart: `0.0123`, `4.57`, `1,234,567`."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
