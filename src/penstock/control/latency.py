"""Latency histograms that come in pieces: what was so in all, and what is so lately."""

from __future__ import annotations

from penstock._native import Histogram
from penstock.control.metrics import Latency

__all__ = ["LatencyRecord", "latency_of"]

# "Lately" is the current window and the one before: between 5 and 10 s.
_WINDOW_S = 5.0


class LatencyRecord:
    """One latency's pieces, merged as they come. Two windows and a total: bounded, however long the run."""

    def __init__(self) -> None:
        self.total: Histogram | None = None
        self._windows: dict[int, Histogram] = {}

    def add(self, piece: Histogram, now_s: float) -> None:
        """Merges what was recorded since the last piece. ValueError if its shape is another."""
        self.total = _merged(self.total, piece)
        window = int(now_s // _WINDOW_S)
        self._windows = {number: kept for number, kept in self._windows.items() if number >= window - 1}
        self._windows[window] = _merged(self._windows.get(window), piece)

    def lately(self, now_s: float) -> Histogram | None:
        """What came in the current window and the one before; None if nothing did."""
        window = int(now_s // _WINDOW_S)
        merged: Histogram | None = None
        for number, kept in self._windows.items():
            if number >= window - 1:
                merged = _merged(merged, kept)
        return merged


def _merged(into: Histogram | None, piece: Histogram) -> Histogram:
    if into is None:
        return piece.copy()
    into.merge(piece)
    return into


def latency_of(histogram: Histogram | None) -> Latency | None:
    """A histogram in a few numbers; None if it is empty."""
    if histogram is None or histogram.count == 0:
        return None
    return Latency(
        count=histogram.count,
        mean_ns=histogram.mean,
        p50_ns=histogram.percentile(50),
        p99_ns=histogram.percentile(99),
        max_ns=histogram.max,
    )
