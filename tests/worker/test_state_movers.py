"""State that goes ahead of its task, while the task changes it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.topology.bolts import KeyedBolt
from penstock.topology.collecting import CollectingBolt
from penstock.transport.canonical_key import canonical_key
from penstock.transport.stable_hash import stable_hash
from penstock.worker import state_movers
from penstock.worker.state_movers import KeyedMover, RowsMover, mover_for
from tests.tries import tried

KEYS = (st.integers(0, 30) | st.sampled_from([float("nan"), -0.0, {"a": float("nan")}])).map(canonical_key)


class Keyed(KeyedBolt):
    def __init__(self, state: dict[Any, Any] | None = None) -> None:
        self.state = state or {}


class Ticking(Keyed):
    def tick(self) -> None:
        """Says that any key may change at any time."""


@given(
    state=st.dictionaries(KEYS, st.integers(), max_size=25),
    steps=st.lists(st.one_of(st.none(), st.tuples(KEYS, st.one_of(st.none(), st.integers()))), max_size=40),
    ticks=st.booleans(),
)
@tried(60)
def test_whatever_changes_meanwhile_all_of_it_arrives(
    state: dict[int, int], steps: list[tuple[int, int | None] | None], ticks: bool
) -> None:
    old = (Ticking if ticks else Keyed)(dict(state))
    new = Keyed()
    mover, taker = KeyedMover(old), KeyedMover(new)
    taker.begin()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_movers, "KEYS_AT_ONCE", 3)
        ahead = mover.ahead()
        for step in steps:
            if step is None:
                piece = next(ahead, None)
                if piece is not None:
                    taker.take(piece)
                continue
            key, value = step
            mover.touch([key])
            if value is None:
                old.state.pop(key, None)
            else:
                old.state[key] = value
        for piece in [*ahead, *mover.rest()]:
            taker.take(piece)
    assert new.state == old.state


@given(state=st.dictionaries(st.text(max_size=3), st.integers(), max_size=40), count=st.integers(1, 4))
@tried(40)
def test_shares_are_those_that_tuples_are_routed_by(state: dict[str, int], count: int) -> None:
    shares = []
    for index in range(count):
        new = Keyed()
        mover = mover_for(Keyed(dict(state)), (index, count))
        for piece in [*mover.ahead(), *mover.rest()]:
            mover_for(new).take(piece)
        assert all(stable_hash(key) % count == index for key in new.state)
        shares.append(new.state)
    assert {key: value for share in shares for key, value in share.items()} == state
    assert sum(map(len, shares)) == len(state)


def test_rows_that_are_kept_go_ahead_and_those_that_are_not_go_last() -> None:
    kept, fleeting = CollectingBolt(), CollectingBolt()
    kept.by_epochs = True
    for sink in (kept, fleeting):
        sink.rows += [(number,) for number in range(2500)]
    assert [len([*RowsMover(sink).ahead()]) for sink in (kept, fleeting)] == [5, 0]
    for sink in (kept, fleeting):
        new = CollectingBolt()
        mover = RowsMover(sink)
        for piece in [*mover.ahead(), *mover.rest()]:
            RowsMover(new).take(piece)
        assert new.rows == sink.rows
