"""What a benchmark returns, and the three ways to show it: on a terminal, as Markdown, as one line of JSON."""

import operator
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
        """The tables and plots, for the documentation."""
        parts = [f"# {self.bench}", self._machine_text()]
        for table in self.tables():
            lines = [table.columns, tuple("---" for _ in table.columns), *table.rows]
            parts.append(f"## {table.title}")
            parts.append("\n".join("| " + " | ".join(cells).replace("\n", "<br>") + " |" for cells in lines))
            parts.extend([table.note] if table.note else [])
        parts.extend(f"![{plot.stem}]({plot.name})" for plot in self.outcome.plots)
        return "\n\n".join(parts) + "\n"

    def tables(self) -> tuple[Table, ...]:
        """All tables that have rows; the goals last."""
        return tuple(table for table in (*self.outcome.tables, self._goals_table()) if table.rows)

    def _goals_table(self) -> Table:
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
                for goal in self.outcome.goals
            ),
        )

    def _machine_text(self) -> str:
        machine = self.machine
        versions = ", ".join(f"{name} {version}" for name, version in machine.packages.items())
        return (
            f"{machine.cpu}, {machine.cores} cores (load average {machine.load_average:g} at the start), "
            f"{machine.memory_gb:g} GB; {machine.kernel}; "
            f"{machine.python}; {machine.java or 'no Java'}; {versions}"
        )


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
