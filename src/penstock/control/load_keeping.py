"""The driver's part in online scheduling, put together: who keeps the load of a run, and who plans by it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from penstock.control.events import Proposed
from penstock.control.generator_thread import GeneratorThread
from penstock.control.load_keeper import LoadKeeper, RunFacts
from penstock.control.scheduling import Declined, StoreTrouble
from penstock.control.settings import RunPlan

__all__ = ["kept_load"]


@contextlib.contextmanager
def kept_load(
    plan: RunPlan, url: str, *, post: Callable[[Proposed | Declined | StoreTrouble], object]
) -> Iterator[LoadKeeper | None]:
    """A keeper and a generator, which have no thread before they are needed; None where load is not measured."""
    if plan.choice is None:
        yield None
        return
    generator = GeneratorThread(url, plan.run, on_schedule=lambda: keeper.fetch_soon())
    facts = RunFacts(run=plan.run, topology=plan.topology, edges=plan.edges, pinned=plan.pinned)
    keeper = LoadKeeper(url, facts, plan.choice, post=post, on_news=generator.news)
    try:
        yield keeper
    finally:
        keeper.close()
        generator.close()  # it gets no more news now
