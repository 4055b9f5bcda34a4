"""Random states, shapes and manifests."""

from __future__ import annotations

import datetime as dt
from typing import Any

from hypothesis import strategies as st

from penstock.checkpoint.manifest import Manifest, PartRef, SavedTask
from penstock.checkpoint.shape import SavedComponent, SavedInput, SavedKind, SavedShape
from penstock.transport.canonical_key import canonical_key

KINDS: tuple[SavedKind, ...] = ("spout", "bolt", "stateful", "keyed", "batch", "sink", "collect")

_plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
_single_keys = _plain | st.floats() | st.binary(max_size=5) | st.dates() | st.decimals(allow_infinity=False)
_nested_keys = st.tuples(_single_keys, _single_keys) | st.dictionaries(st.text(max_size=2), _single_keys, max_size=2)
keys: st.SearchStrategy[Any] = (_single_keys | _nested_keys).map(canonical_key)
_dict_keys = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=5) | st.dates()
values: st.SearchStrategy[Any] = st.recursive(
    _plain | st.sets(st.integers(), max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(_dict_keys, inner, max_size=3)
    ),
    max_leaves=6,
)
states: st.SearchStrategy[dict[Any, Any]] = st.dictionaries(keys, values, max_size=12)

_names = st.sampled_from(["lines", "split", "count", "totals"])
_inputs = st.builds(
    SavedInput, source=_names, stream=st.just("default"), grouping=st.sampled_from(["by('word')", "by('user')"])
)


def components(names: st.SearchStrategy[str] = _names) -> st.SearchStrategy[SavedComponent]:
    return st.builds(
        SavedComponent,
        name=names,
        kind=st.sampled_from(KINDS),
        tasks=st.integers(1, 3),
        streams=st.just({"default": ("word",)}),
        inputs=st.lists(_inputs, max_size=2).map(tuple),
    )


shapes = st.builds(
    SavedShape,
    topology=st.just("t"),
    components=st.lists(components(), unique_by=lambda component: component.name, max_size=4).map(tuple),
)

part_refs = st.builds(PartRef, path=st.text(), size_bytes=st.integers(0, 2**60), checksum=st.text())
saved_tasks = st.builds(
    SavedTask,
    component=_names,
    index=st.integers(0, 9),
    ended=st.booleans(),
    parts=st.lists(part_refs, max_size=3).map(tuple),
    position=st.none() | st.binary(),
    prepared=st.none() | st.binary(),
)
manifests = st.builds(
    Manifest,
    format=st.just(1),
    epoch=st.integers(0, 10**13),
    run=st.text(),
    created_at=st.datetimes(timezones=st.just(dt.UTC)),
    shape=shapes,
    tasks=st.lists(saved_tasks, max_size=4).map(tuple),
    finished=st.booleans(),
)
