"""Whatever is passed, the check either passes or says what is wrong: it never fails itself."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.topology.bolts import BatchBolt, Bolt, KeyedBolt, StatefulBolt
from penstock.topology.emit import Emit
from penstock.topology.spouts import Spout
from penstock.topology.streams import Component
from penstock.topology.topology import Topology
from tests.topology.complaints import Numbers, Same, complaints, numbers, topology_with_numbers
from tests.tries import tried


class Directed(Bolt):
    fields = ("n",)

    def process(self, tup: Any) -> Any:
        return Emit((tup.n,), task=3)


class Odd(Bolt):
    fields = 7  # type: ignore[assignment]
    streams = ["late"]  # type: ignore[assignment] # noqa: RUF012
    tick_every_s = "often"  # type: ignore[assignment]
    process: Any = 3


class Crooked(Odd):
    def process(self, tup: Any) -> Any:
        return Emit((tup,), stream="late")


odd: st.SearchStrategy[Any] = st.sampled_from(
    [None, 0, -1, 1.5, True, "", "n", "two words", b"n", (), ("n",), ["n", 3], {"n": "m"}, object]
)
logic: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(Numbers(), Same(), Directed(), Odd(), Crooked(), threading.Lock()),
        *(Bolt(), StatefulBolt(), KeyedBolt(), BatchBolt(), Spout()),
        *(Numbers, Same, numbers, numbers(), print, len, max, lambda: None, lambda tup: (tup, 2), 5, None),
    ]
)
options: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {}, optional={"tasks": odd, "fields": odd, "streams": odd | st.just({"late": ("n",)})}
)
names: st.SearchStrategy[Any] = st.sampled_from(["numbers", "same", "b", "c", ""]) | odd


def test_a_task_is_not_compared_with_what_is_no_number() -> None:
    topo = Topology("t")
    source = topo.spout("numbers", Numbers())
    directed = topo.bolt("directed", Directed(), source.shuffle())
    topo.bolt("same", Same(), directed.direct(), tasks="2")  # type: ignore[arg-type]
    assert len(complaints(topo)) == 1


def some_input(data: st.DataObject, handles: list[Component]) -> Any:
    if not handles or data.draw(st.booleans()):
        return data.draw(odd | logic)
    handle: Any = data.draw(st.sampled_from(handles))
    stream = handle.stream(data.draw(st.just("late") | odd)) if data.draw(st.booleans()) else handle
    method = data.draw(st.sampled_from(["shuffle", "by", "partial_key", "broadcast", "to_one", "direct", "custom"]))
    arity = {"by": 2, "partial_key": 1, "broadcast": 1, "to_one": 1, "custom": 1}.get(method, 0)
    return getattr(stream, method)(*(data.draw(odd | st.just("n")) for _ in range(arity)))


@tried(300)
@given(st.data())
def test_the_check_never_breaks(data: st.DataObject) -> None:
    topo = Topology(data.draw(names))
    handles: list[Component] = []
    for _ in range(data.draw(st.integers(0, 4))):
        if data.draw(st.booleans()):
            handles.append(topo.spout(data.draw(names), data.draw(logic), **data.draw(options)))
        else:
            inputs = [some_input(data, handles) for _ in range(data.draw(st.integers(0, 3)))]
            every: dict[str, Any] = {"tick_every_s": data.draw(odd)} if data.draw(st.booleans()) else {}
            handles.append(topo.bolt(data.draw(names), data.draw(logic), *inputs, **data.draw(options), **every))
    complaints(topo, shipped=data.draw(st.booleans()))
    assert topo.describe()
    assert topo.describe("mermaid")
    assert repr(topo)


def test_a_file_that_was_changed_since_it_was_imported(tmp_path: Path) -> None:
    file = tmp_path / "changed.py"
    names: dict[str, Any] = {}
    exec(compile("def same(tup):\n    return (tup.n,)\n", str(file), "exec"), names)
    file.write_text("what is not (closed\n" * 9)
    topo, stream = topology_with_numbers()
    topo.bolt("same", names["same"], stream.shuffle(), fields=("n",))
    topo.check()
