"""The page of the documentation, made of what was kept: `python -m bench page` writes `docs/benchmarks.md`.

What is explained by hand is in `bench/page.md` and `bench/NAME/page.md`; every figure comes from `bench/results`.
"""

import importlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from bench.catalogue import BENCHMARKS
from bench.history import REPOSITORY
from bench.report import goals_table, table_markdown
from bench.results import FOLDER, Kept, load

PAGE = REPOSITORY / "docs" / "benchmarks.md"

_EXPLAINED = REPOSITORY / "bench"
_COMMIT_DIGITS = 12
_GENERATED = "<!-- Made by `python -m bench page` of bench/page.md, bench/*/page.md and bench/results. Edit those. -->"
_NOT_MEASURED = "Not measured on the present code."


def make_page(results: Path = FOLDER, names: Iterable[str] = tuple(BENCHMARKS)) -> str:
    """The whole page."""
    kept = {name: load(name, results) for name in names}
    parts = [
        "# Benchmarks",
        _GENERATED,
        _explained(_EXPLAINED / "page.md"),
        _overview(kept),
        *(part for name, result in kept.items() for part in _section(name, result)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _overview(kept: Mapping[str, Kept | None]) -> str:
    rows = [("benchmark", "measured at", "on", "goals that hold"), ("---",) * 4]
    for name, result in kept.items():
        row = (f"`{commit_text(result)}`", result.date, _goals_text(result)) if result else (_NOT_MEASURED, "", "")
        rows.append((f"[`{name}`](#{name}): {_what(name)}", *row))
    return "\n".join("| " + " | ".join(cells) + " |" for cells in rows)


def _section(name: str, kept: Kept | None) -> Iterable[str]:
    yield f"## {name}"
    yield _explained(_EXPLAINED / name / "page.md")
    if kept is None:
        yield _NOT_MEASURED
        return
    yield kept.remarks
    yield _circumstances(kept)
    for table in (*kept.tables, goals_table(kept.goals)):
        if table.rows:
            yield table_markdown(table, level=3)


def _circumstances(kept: Kept) -> str:
    rounds = "" if kept.rounds is None else f", {kept.rounds} rounds"
    quick = ", a quick run" if kept.quick else ""
    machine = "" if kept.machine is None else f": {kept.machine.text}"
    return f"Measured on {kept.date} at commit `{commit_text(kept)}`{rounds}{quick}{machine}."


def commit_text(kept: Kept) -> str:
    """The commit, in short; with a mark if the code was not quite that."""
    return kept.commit[:_COMMIT_DIGITS] + ("-dirty" if kept.dirty else "")


def _goals_text(kept: Kept) -> str:
    return f"{kept.holding} of {len(kept.goals)}" if kept.goals else "-"


def _what(name: str) -> str:
    """The first sentence of a benchmark's package, without the command that runs it."""
    first = (importlib.import_module(f"bench.{name}").__doc__ or name).partition("\n")[0]
    text = first.removeprefix(f"`python -m bench {name}`: ").rstrip(".")
    return text[:1].lower() + text[1:]


def _explained(file: Path) -> str:
    return file.read_text().strip() if file.exists() else ""
