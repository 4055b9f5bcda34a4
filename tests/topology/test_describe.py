"""Pictures of a topology."""

from __future__ import annotations

import pytest

from penstock.topology.topology import Topology
from tests.topology.complaints import Numbers, Same


def example() -> Topology:
    topo = Topology("example")
    source = topo.spout("numbers", Numbers(), tasks=2, streams={"late": ("n", "by_s")})
    same = topo.bolt("same", Same(), source.by("n"), source.stream("late").shuffle(), tasks=10)
    topo.bolt("out", print, same.custom(lambda values, count: values[0] % count))
    return topo


def test_text_has_a_row_for_each_component_and_stream() -> None:
    first, blank, *rows = example().describe().splitlines()
    assert first == "topology example: 3 components, 13 tasks"
    assert blank == ""
    assert [row.split() for row in rows[:4]] == [
        ["numbers", "spout", "×2", "Numbers()", "->", "n"],
        ["->", "late:", "n,", "by_s"],
        ["same", "bolt", "×10", "Same()", "->", "n", "<-", "numbers.by('n')"],
        ["<-", "numbers.stream('late').shuffle()"],
    ]
    assert rows[4].split()[:6] == ["out", "bolt", "×1", "print()", "->", "-"]
    assert len({row.index("<-") for row in rows if "<-" in row}) == 1  # in columns
    assert not any(row != row.rstrip() for row in rows)


def test_mermaid_has_a_box_for_each_component_and_an_arrow_for_each_input() -> None:
    assert example().describe("mermaid").splitlines()[:6] == [
        "flowchart LR",
        '    c0(["<b>numbers</b> ×2<br/>Numbers()"])',
        '    c1["<b>same</b> ×10<br/>Same()"]',
        '    c2["<b>out</b> ×1<br/>print()"]',
        "    c0 -- \"by('n')\" --> c1",
        '    c0 -- "late: shuffle()" --> c1',
    ]


def test_mermaid_is_not_broken_by_what_names_contain() -> None:
    topo = Topology("t")
    source = topo.spout("a", Numbers())
    topo.bolt("b", Same(), source.by('"><script>'))
    last = topo.describe("mermaid").splitlines()[-1]
    assert last == "    c0 -- \"by('#quot;&gt;&lt;script&gt;')\" --> c1"


def test_a_notebook_shows_the_picture() -> None:
    assert example()._repr_markdown_() == f"```mermaid\n{example().describe('mermaid')}\n```"


def test_an_empty_topology_has_a_picture_too() -> None:
    assert Topology("empty").describe() == "topology empty: 0 components, 0 tasks"
    assert Topology("empty").describe("mermaid") == "flowchart LR"


def test_a_topology_that_is_wrong_has_a_picture_too() -> None:
    topo = Topology("wrong")
    topo.bolt("b", Same, tasks="2")  # type: ignore[arg-type]
    assert "×2" in topo.describe()


def test_another_style_is_refused() -> None:
    with pytest.raises(ValueError, match="wanted 'text' or 'mermaid', got 'svg'"):
        example().describe("svg")  # type: ignore[arg-type]
