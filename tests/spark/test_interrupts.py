"""Ctrl-C while a run is waited for."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from penstock.spark.interrupts import held_interrupts, plain_interrupts


@pytest.fixture(autouse=True)
def handler_is_kept() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_another_handler_is_put_aside_and_put_back() -> None:
    called: list[int] = []

    def cancels_all_jobs(number: int, _frame: object) -> None:
        called.append(number)

    signal.signal(signal.SIGINT, cancels_all_jobs)

    def is_interrupted() -> None:
        with plain_interrupts():
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        is_interrupted()
    assert called == []
    assert signal.getsignal(signal.SIGINT) is cancels_all_jobs


def test_who_ignores_interrupts_goes_on_ignoring_them() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with plain_interrupts():
        signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_another_thread_has_no_say() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def waits() -> None:
        with plain_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=waits)
    thread.start()
    thread.join()
    assert seen == [before]


def test_what_must_not_be_interrupted_is_finished_first() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    done = []

    def is_interrupted() -> None:
        with held_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        is_interrupted()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_was_set_meanwhile_stays() -> None:
    def another(number: int, _frame: object) -> None: ...

    with held_interrupts():
        signal.signal(signal.SIGINT, another)
    assert signal.getsignal(signal.SIGINT) is another
