"""Exceptions of user code: kept once per kind, with a count, so that a bad stream cannot flood the log."""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

import msgspec

__all__ = ["USER_ERRORS", "Failure", "Failures", "reason_of"]

USER_ERRORS = (Exception, SystemExit, asyncio.CancelledError)
"""What user code may raise without ending the worker. Nobody who calls sys.exit() in a bolt means the whole process,
and a bolt that runs a coroutine may meet one that was cancelled."""

MOST_KINDS = 100
MOST_CULPRIT_CHARACTERS = 500


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of exception in one component: where it was raised first, and on what."""

    component: str
    task: int
    kind: str
    message: str
    culprit: str
    trace: str


class Failures:
    """What user code has raised in this worker."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str, str], Failure] = {}
        self._fresh: dict[tuple[str, str, str], int] = {}

    def add(self, component: str, task: int, error: BaseException, culprit: Any) -> None:
        """Counts an exception; the first of its kind keeps its traceback."""
        kind, place, message = type(error).__name__, _raised_at(error), _text(error)
        key = (component, kind, place or message)
        if key not in self._kinds:
            if len(self._kinds) >= MOST_KINDS:
                return
            self._kinds[key] = Failure(
                component=component,
                task=task,
                kind=f"{kind} at {place}" if place else kind,
                message=message,
                culprit="" if culprit is None else _shortened(culprit),
                trace="".join(traceback.format_exception(error)),
            )
        self._fresh[key] = self._fresh.get(key, 0) + 1

    def take_fresh(self) -> list[tuple[Failure, int]]:
        """The kinds that were met since the last call, and how often."""
        fresh, self._fresh = self._fresh, {}
        return [(self._kinds[key], count) for key, count in fresh.items()]


def reason_of(error: BaseException) -> str:
    """An exception in one line."""
    text = f"{type(error).__name__}: {_text(error)}"
    return text if len(text) <= MOST_CULPRIT_CHARACTERS else text[:MOST_CULPRIT_CHARACTERS] + "…"


def _raised_at(error: BaseException) -> str:
    """File and line of the innermost frame: what tells two kinds of the same type apart."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except USER_ERRORS as another:  # the user's own, as the next
        return f"<no text: {type(another).__name__}>"


def _shortened(culprit: Any) -> str:
    try:
        text = repr(culprit)
    except USER_ERRORS as error:  # a repr of the user's own may fail too, and must not end the worker
        text = f"<no repr: {type(error).__name__}>"
    return text if len(text) <= MOST_CULPRIT_CHARACTERS else text[:MOST_CULPRIT_CHARACTERS] + "…"
