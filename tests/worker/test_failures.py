"""Exceptions of user code: once per kind, with a count and the first traceback."""

from typing import Any

import pytest

from penstock.worker import failures as module
from penstock.worker.failures import Failure, Failures


def raised(make: Any) -> Exception:
    try:
        make()
    except Exception as error:
        return error
    raise AssertionError


def divide() -> None:
    1 / 0  # noqa: B018


def divide_elsewhere() -> None:
    2 / 0  # noqa: B018


def only(failures: Failures) -> tuple[Failure, int]:
    [(failure, count)] = failures.take_fresh()
    return failure, count


def test_a_kind_is_kept_once_with_its_first_culprit_and_traceback() -> None:
    failures = Failures()
    for number in range(1000):
        failures.add("split", number, raised(divide), ("tuple", number))

    failure, count = only(failures)
    assert count == 1000
    assert (failure.component, failure.task, failure.message) == ("split", 0, "division by zero")
    assert failure.culprit == "('tuple', 0)"
    assert failure.kind.startswith("ZeroDivisionError at ")
    assert f"{__file__}:" in failure.kind
    assert "in divide\n    1 / 0" in failure.trace


def test_kinds_differ_by_component_type_and_place() -> None:
    failures = Failures()
    failures.add("split", 0, raised(divide), None)
    failures.add("count", 0, raised(divide), None)
    failures.add("split", 0, raised(divide_elsewhere), None)
    failures.add("split", 0, raised(lambda: int("x")), None)
    failures.add("split", 0, raised(divide), None)

    assert sorted(count for _, count in failures.take_fresh()) == [1, 1, 1, 2]


def test_what_was_told_is_told_again_only_when_it_happens_again() -> None:
    failures = Failures()
    failures.add("split", 0, raised(divide), "first")
    assert only(failures)[1] == 1
    assert failures.take_fresh() == []

    failures.add("split", 0, raised(divide), "second")
    failure, count = only(failures)
    assert (failure.culprit, count) == ("'first'", 1)


def test_an_error_that_was_never_raised_is_of_the_kind_of_its_text() -> None:
    failures = Failures()
    for text in ("one", "other", "one"):
        failures.add("split", 0, ValueError(text), None)

    told = {failure.message: (failure.kind, count) for failure, count in failures.take_fresh()}
    assert told == {"one": ("ValueError", 2), "other": ("ValueError", 1)}


def test_a_flood_of_kinds_does_not_fill_the_memory() -> None:
    failures = Failures()
    for number in range(module.MOST_KINDS + 50):
        failures.add("split", 0, ValueError(str(number)), None)
    assert len(failures.take_fresh()) == module.MOST_KINDS


class Rude:
    def __init__(self, raised: type[BaseException]) -> None:
        self.raised = raised

    def __repr__(self) -> str:
        raise self.raised


class RudeError(Exception):
    def __init__(self, raised: type[BaseException]) -> None:
        self.raised = raised

    def __str__(self) -> str:
        raise self.raised


@pytest.mark.parametrize("raised", [RuntimeError, SystemExit])
def test_a_culprit_or_an_error_that_cannot_be_shown_is_reported_all_the_same(raised: type[BaseException]) -> None:
    failures = Failures()
    failures.add("split", 0, RudeError(raised), Rude(raised))

    failure, count = only(failures)
    assert count == 1
    assert failure.culprit == f"<no repr: {raised.__name__}>"
    assert failure.message == f"<no text: {raised.__name__}>"
    assert "RudeError" in failure.trace


def test_a_long_culprit_is_shortened() -> None:
    failures = Failures()
    failures.add("split", 0, ValueError(), "x" * 100_000)
    assert len(only(failures)[0].culprit) == module.MOST_CULPRIT_CHARACTERS + 1


@pytest.mark.parametrize("error", [KeyError("word"), ExceptionGroup("several", [ValueError("a")])])
def test_any_exception_can_be_reported(error: Exception) -> None:
    failures = Failures()
    failures.add("split", 0, error, None)
    assert type(error).__name__ in only(failures)[0].kind
