"""What is kept, and how old it is: `python -m bench status`."""

from collections.abc import Iterable
from pathlib import Path

from rich.table import Table
from rich.text import Text

from bench.catalogue import BENCHMARKS
from bench.history import History
from bench.page import commit_text
from bench.results import FOLDER, load


def status_table(history: History, results: Path = FOLDER, names: Iterable[str] = tuple(BENCHMARKS)) -> Table:
    """Benchmarks down. How many commits have touched the data plane since changes with each commit.

    That is why it is here and not on the page, which would differ from what is made of the results at every commit.
    """
    table = Table("benchmark", "measured at", "on", "data plane changed since", "goals that hold", "do not hold")
    for name in names:
        kept = load(name, results)
        if kept is None:
            table.add_row(name, "never", "", "", "", "")
            continue
        changes = history.data_plane_changes_since(kept.commit)
        table.add_row(
            *map(
                Text,
                (
                    name,
                    commit_text(kept) + (" (quick)" if kept.quick else ""),
                    kept.date,
                    "unknown commit" if changes is None else f"by {changes} commits",
                    f"{kept.holding} of {len(kept.goals)}",
                    "\n".join(goal.name for goal in kept.goals if not goal.holds),
                ),
            )
        )
    return table
