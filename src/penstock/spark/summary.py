"""What is left of a run when it is over."""

from __future__ import annotations

import html
from typing import Any

from penstock.connectors.collect import Collect
from penstock.control.instructions import RunSummary
from penstock.control.metrics import RunMetrics
from penstock.control.status import RunStatus
from penstock.topology.rows import row_maker
from penstock.topology.topology import Topology
from penstock.transport.values import decode_rows

__all__ = ["Summary"]


class Summary:
    """How a run went: what its sinks collected, all counts, and who took part."""

    def __init__(self, topology: Topology, summary: RunSummary) -> None:
        self._chunks = summary.collected
        self._row_makers = {name: row_maker(topology.components, name) for name in _sinks(topology)}
        self.status: RunStatus = summary.status
        """How the run ended, and who took part."""
        self.metrics: RunMetrics = summary.metrics
        """All counts."""

    @property
    def collected_names(self) -> tuple[str, ...]:
        """The names of the `Collect` sinks."""
        return tuple(self._row_makers)

    def collected(self, name: str) -> list[Any]:
        """What the `Collect` sink of this name received, in order of arrival: tuples, with their fields' names."""
        if name not in self._row_makers:
            there = ", ".join(map(repr, self._row_makers)) or "none"
            message = f"no Collect sink is named {name!r} in topology {self.status.topology!r}; there are: {there}"
            raise ValueError(message)
        make = self._row_makers[name]
        return [make(*row) for chunk in self._chunks.get(name, ()) for row in decode_rows(chunk)]

    def __repr__(self) -> str:
        return f"Summary({self.status.topology!r}, {self.status.phase}, {self.status.run_s:.1f} s)"

    def _repr_html_(self) -> str:
        """In a notebook."""
        return f"<div>{html.escape(str(self))}</div>{self.metrics._repr_html_()}"

    def __str__(self) -> str:
        metrics = self.metrics
        counts = ", ".join(f"{part.name} {part.processed:,}" for part in metrics.components)
        failed = sum(failure.count for failure in metrics.failures)
        troubles = [
            f"{count:,} {what}"
            for count, what in (
                (self.status.restarts, "workers restarted"),
                (metrics.lost + metrics.unaccounted, "tuples unaccounted for"),
                (failed, "tuples failed"),
            )
            if count
        ]
        return "; ".join(
            [f"{self.status.topology} {self.status.phase} after {self.status.run_s:.1f} s", counts, *troubles]
        )


def _sinks(topology: Topology) -> list[str]:
    return [name for name, spec in topology.components.items() if isinstance(spec.logic, Collect)]
