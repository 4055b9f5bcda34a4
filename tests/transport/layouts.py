"""Layouts of broadcasts, by rule and at random."""

from hypothesis import strategies as st

from penstock.transport.broadcast import Layout, layout_of


def regular(nodes: int, workers: int) -> Layout:
    """Worker 0 broadcasts; workers 0, 1, ... are on the first node, the next on the second, and so on."""
    node_of = {worker: f"node {worker // workers:05}" for worker in range(nodes * workers)}
    return layout_of(0, node_of, node_of)


@st.composite
def homes(draw: st.DrawFn) -> dict[int, str]:
    """The nodes of some workers, at least of one: even and uneven; worker numbers have gaps."""
    workers = draw(st.sets(st.integers(0, 1000), min_size=1, max_size=40))
    names = draw(st.integers(1, 12))
    return {worker: f"node {draw(st.integers(1, names))}" for worker in sorted(workers)}


layouts = homes().flatmap(
    lambda node_of: st.sampled_from(sorted(node_of)).map(lambda r: layout_of(r, node_of, node_of))
)


def node_numbers(layout: Layout) -> dict[int, int]:
    """The place of each worker's node in the layout."""
    return {worker: number for number, node in enumerate(layout.nodes) for worker in node}
