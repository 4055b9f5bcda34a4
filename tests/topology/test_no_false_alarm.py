"""Emissions about which there is no opinion: those that are right, and those that might be."""

# ruff: noqa: ARG001, ARG002, ARG005 - what matters is what comes out, not what comes in

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from penstock.topology.bolts import Bolt
from penstock.topology.emit import Emit
from tests.topology.complaints import Same
from tests.topology.test_check_emissions import complaint_about, has_no_complaint

WIDE = True


def starred(tup: Any) -> Any:
    return (*tup, 1)


def not_literal(tup: Any) -> Any:
    return (tup.n,) * 2


def called(tup: Any) -> Any:
    yield tuple(tup)


def starred_list(tup: Any) -> Any:
    return [*((n, n) for n in range(tup.n))]


def inner_functions(tup: Any) -> Any:
    def single() -> Any:
        return (1,)

    def triple() -> Any:
        return (1, 2, 3)

    return single() + triple()[:1]


def tuples_that_are_not_emitted(tup: Any) -> Any:
    for key in (1, 2, 3):
        yield key, key
    return (1, 2, 3)


def some_stream(tup: Any) -> Any:
    return Emit((1, 2, 3), stream=tup.n)


def unpacked_emit(tup: Any) -> Any:
    options: Any = {"stream": "errors"}
    return Emit((1,), **options)


def another_emit(tup: Any) -> Any:
    Emit = tuple
    return Emit((1,))


def nothing(tup: Any) -> Any:
    return None


def stub(tup: Any) -> Any: ...


def either_by_expression(tup: Any) -> Any:
    return tup.n and (1,)


@pytest.mark.parametrize(
    "function",
    [
        starred,
        not_literal,
        called,
        starred_list,
        inner_functions,
        tuples_that_are_not_emitted,
        some_stream,
        unpacked_emit,
        another_emit,
        nothing,
        stub,
        either_by_expression,
        len,
        functools.partial(print, "x"),
    ],
)
def test_there_is_no_false_alarm(function: Any) -> None:
    assert has_no_complaint(function)


def test_code_that_is_set_up_for_several_widths_is_left_alone() -> None:
    def projection(*, wide: bool) -> Callable[[Any], Any]:
        def project(tup: Any) -> Any:
            if wide:
                return tup.n, tup.n
            return (tup.n,)

        return project

    def hidden(*, wide: bool) -> Callable[[Any], Any]:
        def project(tup: Any) -> Any:
            if wide:
                return tuple([tup.n] * 2)
            return (tup.n,)

        return project

    class Project(Bolt):
        def __init__(self, *fields: str) -> None:
            self.fields = fields

        def process(self, tup: Any) -> Any:
            return (tup.n, tup.n) if len(self.fields) == 2 else (tup.n,)

        def as_function(self, tup: Any) -> Any:
            return self.process(tup) if WIDE else (tup.n,)

    assert has_no_complaint(projection(wide=True))
    assert has_no_complaint(hidden(wide=True))
    assert has_no_complaint(Project("a", "b"), None)
    assert has_no_complaint(Project("a"), None)
    assert has_no_complaint(Project().as_function)


def test_code_that_is_set_up_and_right_in_no_way_is_seen() -> None:
    def projection(extra: Any) -> Callable[[Any], Any]:
        def project(tup: Any) -> Any:
            return tup.n, tup.n, extra

        return project

    assert complaint_about(projection(1)).endswith("got 3 values")


def test_what_a_decorator_makes_of_it_is_not_known() -> None:
    def doubled(function: Any) -> Any:
        def call(tup: Any) -> Any:
            return function(tup) * 2

        return call

    def well_doubled(function: Any) -> Any:
        @functools.wraps(function)
        def call(tup: Any) -> Any:
            return function(tup) * 2

        return call

    def as_is(function: Any) -> Any:
        function.seen = True
        return function

    @doubled
    def first(tup: Any) -> Any:
        return (tup.n,)

    @well_doubled
    def second(tup: Any) -> Any:
        return (tup.n,)

    @as_is
    def third(tup: Any) -> Any:
        return (tup.n,)

    assert has_no_complaint(first)
    assert has_no_complaint(second)
    assert has_no_complaint(third)


def test_code_without_source_is_left_alone() -> None:
    names: dict[str, Any] = {}
    exec("def made(tup):\n    return (1,)", names)
    assert has_no_complaint(names["made"])


def test_several_lambdas_in_a_line_are_left_alone() -> None:
    one, two = lambda tup: (1,), lambda tup: (1, 2)
    assert has_no_complaint(one)
    assert has_no_complaint(two)


def test_a_method_that_was_replaced_is_left_alone() -> None:
    bolt = Same()
    bolt.process = lambda tup: (1, 2)  # type: ignore[method-assign]
    assert has_no_complaint(bolt)


def test_a_base_class_that_serves_several_is_judged_by_the_fields_in_use() -> None:
    class Pair(Bolt):
        fields: tuple[str, ...] = ("a", "b")

        def process(self, tup: Any) -> Any:
            return 1, 2

    class Renamed(Pair):
        fields = ("x", "y")

    assert has_no_complaint(Renamed(), None)
    assert has_no_complaint(Pair(), ("v", "w"))
    assert complaint_about(Pair(), ("v",)).endswith("wanted 1 value, for the fields 'v', got 2 values")
