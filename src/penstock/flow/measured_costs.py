"""What sending over rings and links costs here, learned from what it did cost. Pure."""

from __future__ import annotations

from penstock.transport.broadcast_cost import BYTES_PER_KB, CostsBySize, Linear

__all__ = ["Fit", "MeasuredCosts"]

FORGETS = 0.02
"""How much each new observation counts against all before it."""

MOST_US = 1e7
"""Who was away for ten seconds was stopped, and that says nothing about rings and links."""


class Fit:
    """A straight line through what was observed, of which the oldest fades: a fixed cost, and one per KB.

    Begins at a guess, which counts as much as one observation of a small and one of a large message.

    >>> fit = Fit(Linear(fixed_us=5.0, us_per_kb=0.1))
    >>> for _ in range(300):
    ...     fit.observe(1024, 12.0)
    ...     fit.observe(10 * 1024, 30.0)
    >>> line = fit.line
    >>> round(line.fixed_us), round(line.us_per_kb, 1)
    (10, 2.0)
    """

    def __init__(self, guess: Linear) -> None:
        self._weight = self._kb = self._us = self._kb_kb = self._kb_us = 0.0
        for kb in (0.1, 100.0):
            self._add(kb, guess.of(kb * BYTES_PER_KB), 1.0)

    def observe(self, size_bytes: int, us: float) -> None:
        """A message of this size took so long."""
        keep = 1.0 - FORGETS
        self._weight *= keep
        self._kb *= keep
        self._us *= keep
        self._kb_kb *= keep
        self._kb_us *= keep
        self._add(size_bytes / BYTES_PER_KB, min(max(us, 0.0), MOST_US), FORGETS * 20)

    def _add(self, kb: float, us: float, weight: float) -> None:
        self._weight += weight
        self._kb += weight * kb
        self._us += weight * us
        self._kb_kb += weight * kb * kb
        self._kb_us += weight * kb * us

    @property
    def line(self) -> Linear:
        """What is believed now. Neither part is ever negative, however noise has it."""
        mean_kb, mean_us = self._kb / self._weight, self._us / self._weight
        spread = self._kb_kb / self._weight - mean_kb * mean_kb
        slope = (self._kb_us / self._weight - mean_kb * mean_us) / spread if spread > 1e-9 else 0.0
        slope = min(max(slope, 0.0), mean_us / mean_kb if mean_kb > 0 else 0.0)
        return Linear(fixed_us=max(0.0, mean_us - slope * mean_kb), us_per_kb=slope)


class MeasuredCosts:
    """The four costs of the model, over rings and over links."""

    def __init__(self) -> None:
        # Guesses, until something was measured: in the right order of size is enough.
        self._send = {False: Fit(Linear(fixed_us=3, us_per_kb=0.1)), True: Fit(Linear(fixed_us=15, us_per_kb=1))}
        self._latency = {False: Fit(Linear(fixed_us=40, us_per_kb=0.1)), True: Fit(Linear(fixed_us=150, us_per_kb=8))}

    def sent(self, size_bytes: int, us: float, *, link: bool) -> None:
        """To send a message kept us busy for so long."""
        self._send[link].observe(size_bytes, us)

    def answered(self, size_bytes: int, us: float, *, link: bool) -> None:
        """Who we sent a message to has answered that it has it. The answer is small, and took its own time."""
        self._latency[link].observe(size_bytes, us / 2)

    @property
    def costs(self) -> CostsBySize:
        """What is believed now."""
        return CostsBySize(
            ring_latency=self._latency[False].line,
            ring_send=self._send[False].line,
            link_latency=self._latency[True].line,
            link_send=self._send[True].line,
        )
