"""Which load store, and which run in it, a command means."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from penstock.cli.runs import find
from penstock.control.load_records import RunRecord
from penstock.control.load_store import LoadStore
from penstock.control.registry import RunDirectory
from penstock.errors import LoadStoreError, RunError

__all__ = ["opened_store", "run_named"]


@contextlib.contextmanager
def opened_store(name: str | None, url: str | None, *, over: bool = False) -> Iterator[tuple[LoadStore, str]]:
    """The store of the run that is meant, and the run's id.

    Without a URL it is a run of this user on this machine; with `over`, it may be one that is over.
    """
    if url is not None:
        with LoadStore.open(url, create=False) as store:
            yield store, run_named(store, name).run
        return
    try:
        file = find(name)
    except RunError:
        past = _store_of_the_past(name) if over else None
        if past is None:
            raise
        with past as store:
            yield store, run_named(store, name).run
        return
    if file.load_store is None:
        message = f"run {file.run} ({file.topology}) keeps no load"
        raise RunError(message)
    try:
        store = LoadStore.open(file.load_store, create=False)
    except LoadStoreError as error:
        message = f"of run {file.run} ({file.topology}) no load was sampled yet, or it cannot be read: {error}"
        raise RunError(message) from error
    with store:
        yield store, file.run


def run_named(store: LoadStore, name: str | None) -> RunRecord:
    """The newest run with this id, or the beginning of it, or of this topology; without a name, the newest."""
    runs = store.runs()
    matching = [run for run in runs if name is None or run.topology == name or run.run.startswith(name)]
    if matching:
        return matching[-1]
    there = ", ".join(f"{run.run} ({run.topology})" for run in runs) or "none"
    message = f"wanted a run named {name!r}: no such run in {store.place}; there are: {there}"
    raise RunError(message)


def _store_of_the_past(name: str | None) -> LoadStore | None:
    for url in reversed(RunDirectory.default().load_stores()):
        try:
            store = LoadStore.open(url, create=False)
        except LoadStoreError:  # just removed, or of another version of Penstock
            continue
        try:
            run_named(store, name)
        except (RunError, LoadStoreError):
            store.close()
        else:
            return store
    return None
