"""How components are joined: streams that exist, fields that they have, and groupings that fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any

from penstock.topology.bolts import BatchBolt, KeyedBolt
from penstock.topology.checks.calls import call_problem
from penstock.topology.checks.nearest import did_you_mean, listed
from penstock.topology.emit import DEFAULT_STREAM
from penstock.topology.groupings import (
    ANSWERS,
    BROADCAST_ALGORITHMS,
    Broadcast,
    By,
    Custom,
    Gather,
    PartialKey,
    ToOne,
    is_combined,
)
from penstock.topology.spec import ComponentSpec, Subscription

__all__ = ["input_problems"]


def input_problems(spec: ComponentSpec, components: Mapping[str, ComponentSpec]) -> Iterator[str]:
    """What is wrong with what a bolt takes."""
    if spec.kind == "spout":
        return
    for position, taken in enumerate(spec.inputs):
        if taken in spec.inputs[:position]:
            yield f"it takes {taken!r} twice, and so every tuple of it"
            continue
        source = components[taken.source]
        if taken.stream not in list(source.streams):  # what was passed as a name may not be one
            yield _unknown_stream(taken, source)
            continue
        yield from _grouping_problems(taken, source)
        if isinstance(taken.grouping, Gather):
            yield from _gather_problems(taken, taken.grouping, source, spec)
    if isinstance(spec.logic, KeyedBolt):
        yield from _key_problems(spec)


def _unknown_stream(taken: Subscription, source: ComponentSpec) -> str:
    if taken.stream == DEFAULT_STREAM:
        return f"{taken!r}: {source.name!r} declares no fields, so it emits nothing that could be taken; give it fields"
    return (
        f"{taken!r}: wanted one of the streams of {source.name!r} ({listed(source.streams)}), "
        f"got {taken.stream!r}{did_you_mean(taken.stream, source.streams)}"
    )


def _grouping_problems(taken: Subscription, source: ComponentSpec) -> Iterator[str]:
    grouping, fields = taken.grouping, source.streams[taken.stream]
    if isinstance(grouping, By | PartialKey | Gather):
        if not grouping.fields:
            yield f"{taken!r}: wanted at least one of the fields {listed(fields)}, got none"
        for position, field in enumerate(grouping.fields):
            if field not in fields:
                near = did_you_mean(field, fields)
                yield f"{taken!r}: wanted fields of that stream ({listed(fields)}), got {field!r}{near}"
            elif field in grouping.fields[:position]:
                yield f"{taken!r}: {field!r} is there twice"
    elif isinstance(grouping, Broadcast) and grouping.algorithm not in BROADCAST_ALGORITHMS:
        near = did_you_mean(grouping.algorithm, BROADCAST_ALGORITHMS)
        yield f"{taken!r}: wanted one of {listed(BROADCAST_ALGORITHMS)}, got {grouping.algorithm!r}{near}"
    elif isinstance(grouping, Custom):
        yield from _function_problems(taken, grouping.route, "values", "count")
    elif isinstance(grouping, ToOne) and grouping.combine is not None:
        yield from _function_problems(taken, grouping.combine, "a", "b")


def _function_problems(taken: Subscription, function: Any, *arguments: str) -> Iterator[str]:
    if not callable(function):
        yield f"{taken!r}: wanted a function of {' and '.join(arguments)}, got {function!r}"
    elif problem := call_problem(function, *arguments):
        yield f"{taken!r}: {problem}"


def _gather_problems(
    taken: Subscription, grouping: Gather, source: ComponentSpec, spec: ComponentSpec
) -> Iterator[str]:
    if source.kind == "spout":
        yield f"{taken!r}: wanted the stream of a bolt, whose tasks answer, got that of the spout {source.name!r}"
    if ANSWERS in source.streams[taken.stream]:
        yield f"{taken!r}: the answers come as a field {ANSWERS!r}, but that stream has one already; call it otherwise"
    if isinstance(spec.logic, BatchBolt):
        yield f"{taken!r}: {type(spec.logic).__name__} is a BatchBolt, but answers come as tuples; use a Bolt"
    if any(is_combined(one.grouping) for one in source.inputs):
        yield f"{taken!r}: {source.name!r} takes tuples that combine has put together, so it cannot answer each of them"
    timeout: Any = grouping.timeout_s
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not 0 < timeout < inf:
        yield f"{taken!r}: timeout_s: wanted a number of seconds above 0, got {timeout!r}"


def _key_problems(spec: ComponentSpec) -> Iterator[str]:
    kind = f"{type(spec.logic).__name__} is a KeyedBolt"
    for taken in spec.inputs:
        if isinstance(taken.grouping, PartialKey):
            yield (
                f"{taken!r}: {kind}, whose keys live in one task each, but partial_key spreads a key over two; "
                "use by(...), or a StatefulBolt"
            )
        elif not isinstance(taken.grouping, By | Gather):
            yield f"{taken!r}: {kind}, so wanted by(...), which tells it the key, got {taken.grouping!r}"
    keys = [taken for taken in spec.inputs if isinstance(taken.grouping, By | Gather)]
    lengths = {len(taken.grouping.fields) for taken in keys if isinstance(taken.grouping, By | Gather)}
    if len(lengths) > 1:
        yield f"{kind}, so wanted keys of as many fields from every input, got {' and '.join(map(repr, keys))}"
