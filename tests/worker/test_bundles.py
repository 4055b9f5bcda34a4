"""What waits on one channel leaves together, and counts as what it was made of."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.backlog import policy_of
from penstock.flow.credit import CreditTaker
from penstock.flow.ledger import AckBook
from penstock.flow.runs import Runs
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.worker.bundles import MOST_BUNDLE_BYTES, MOST_BUNDLE_TUPLES, Bundle, WaitingFrame
from penstock.worker.carriers import Carrier
from penstock.worker.waiting_frames import ByTask

ROUTE = Route(target=7, source=1, flags=FrameKind.TUPLES)
OTHER = Route(target=8, source=1, flags=FrameKind.TUPLES)
MARKER = Route(target=7, source=1, flags=FrameKind.MARKER)

parts = st.lists(
    st.tuples(st.integers(1, 2**62), st.integers(1, 2**63), st.lists(st.tuples(st.integers(1, 5), st.integers(1, 3)))),
    min_size=1,
    max_size=20,
)


def payload_of(origin_ns: int, number: int, runs: Runs, rows: list[list[object]]) -> bytes:
    return msgspec.msgpack.encode((origin_ns, 5, number, runs, rows))


def frame(route: Route, rows: int, *, number: int = 0) -> WaitingFrame:
    return WaitingFrame(route, payload_of(9, number, [], [["word", place] for place in range(rows)]), rows)


def nothing_to_count(runs: Runs, old: int, new: int) -> None:
    assert not runs, (old, new)


@given(parts)
def test_tuples_and_trees_are_those_of_all_parts(parts: list[tuple[int, int, list[tuple[int, int]]]]) -> None:
    sent, told = AckBook(lambda: 1), AckBook(lambda: 1)

    def recount(runs: Runs, old: int, new: int) -> None:
        sent.processed(runs, old)
        sent.sent(runs, new)

    frames, rows_of_all = [], []
    for place, (origin_ns, number, runs) in enumerate(parts):
        rows: list[list[object]] = [[place, at, "é"] for at in range(sum(count for _, count in runs))]
        rows_of_all += rows
        sent.sent(runs, number)
        frames.append(WaitingFrame(ROUTE, payload_of(origin_ns, number, runs, rows), len(rows)))
    bundle = Bundle(frames[0])
    for one in frames[1:]:
        assert bundle.join(one, recount)

    whole = bundle.frame
    origin_ns, _, number, runs, rows = msgspec.msgpack.decode(whole.payload)
    assert rows == rows_of_all
    assert whole.tuples == len(rows) == sum(count for _, count in runs)
    assert origin_ns == min(origin for origin, _, _ in parts)
    assert whole.saved_bytes == sum(len(one.payload) for one in frames) - len(whole.payload)
    told.processed(runs, number)  # as its receiver counts it
    told_sums = {root: total for news in told.take().values() for root, total in news.sums}
    for news in sent.take().values():
        for root, total in news.sums:
            assert (total + told_sums.pop(root)) % 2**64 == 0
    assert not told_sums


def test_what_is_large_enough_is_left_alone() -> None:
    for rows, size in ((MOST_BUNDLE_TUPLES, 1), (1, MOST_BUNDLE_BYTES)):
        large = WaitingFrame(ROUTE, payload_of(1, 0, [], [["x" * size]] * rows), rows)
        assert not Bundle(large).join(frame(ROUTE, 1), nothing_to_count)


class Narrow:
    """A way that is open or shut."""

    def __init__(self) -> None:
        self.is_open = False
        self.passed: list[tuple[Route, bytes]] = []

    def try_send(self, route: Route, payload: bytes | memoryview) -> bool:
        if self.is_open:
            self.passed.append((route, bytes(payload)))
        return self.is_open

    def peer_is_dead(self) -> bool:
        return False

    def close(self) -> None:
        pass


def test_a_channel_keeps_its_order_and_what_is_saved_is_given_back() -> None:
    way, credit = Narrow(), CreditTaker(window_bytes=1 << 20)
    waiting = ByTask(
        place_of=lambda route: (0, route.source),
        policy=lambda: policy_of("lbf", interval_ns=0),
        recount=nothing_to_count,
        steady_ns=lambda: 0,
    )
    carrier = Carrier(way, credit, waiting)
    for one in (frame(ROUTE, 1), frame(ROUTE, 2), frame(OTHER, 3), frame(ROUTE, 4)):
        carrier.send(one.route, one.payload, one.tuples)
    carrier.send(MARKER, b"", 0)
    for one in (frame(OTHER, 5), frame(ROUTE, 6), frame(ROUTE, 7)):
        carrier.send(one.route, one.payload, one.tuples)
    way.is_open = True
    carrier.pump()

    found = [(route, len(msgspec.msgpack.decode(sent)[4]) if sent else 0) for route, sent in way.passed]
    # The first was tried, and may have left in part: nobody joins it.
    assert found == [(ROUTE, 1), (ROUTE, 6), (OTHER, 8), (MARKER, 0), (ROUTE, 13)]
    for target in (7, 8):
        arrived = sum(len(sent) for route, sent in way.passed if route.target == target)
        assert credit.under_way_bytes((1, target)) == arrived
