"""Links over ZeroMQ and CURVE on the loopback: frames arrive in the ring, strangers do not get in, nothing is left."""

import logging
import time

import pytest
import zmq
from zmq.utils.monitor import recv_monitor_message

from penstock._native import pack_link_head
from penstock.flow.credit import CreditTaker
from penstock.transport.links import LinkKeys, LinkReceiver, LinkSender
from penstock.transport.ring import RingReader
from penstock.worker.carriers import Carrier
from tests.ring.patience import PATIENCE_S, wait_until
from tests.transport.linked import ROUTE, fill, frame, raw_socket, read, receiving, send, sending

pytestmark = pytest.mark.usefixtures("both_ways")

HANDSHAKE_FAILURES = (
    zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    | zmq.EVENT_DISCONNECTED
)


@pytest.fixture
def keys() -> LinkKeys:
    return LinkKeys.make()


def test_a_frame_arrives_in_the_ring(keys: LinkKeys) -> None:
    with receiving(keys) as (ring, receiver), sending(receiver.endpoint, keys) as sender:
        send(sender, b"hello")
        record = ring.read(PATIENCE_S)

        assert record is not None
        assert (record.target, record.source, record.stream, record.assignment, record.flags) == (1, 2, 3, 4, 0)
        assert bytes(record.payload) == b"hello"


def test_frames_of_all_sizes_arrive_in_order(keys: LinkKeys) -> None:
    payloads = [bytes([number]) * size for number, size in enumerate([1, 0, 100_000, 5, 3_000_000, 70_000, 2] * 10)]
    with receiving(keys) as (ring, receiver), sending(receiver.endpoint, keys) as sender:
        waiting, arrived = list(payloads), list[bytes]()
        while len(arrived) < len(payloads):
            while waiting and sender.try_send(ROUTE, waiting[0]):
                del waiting[0]
            arrived += [bytes(record.payload) for record in ring.read_many(64, 0.01)]

        assert arrived == payloads


def test_several_senders_share_a_receiver(keys: LinkKeys) -> None:
    with (
        receiving(keys) as (ring, receiver),
        sending(receiver.endpoint, keys) as first,
        sending(receiver.endpoint, keys) as second,
    ):
        send(first, b"first")
        send(second, b"second")
        assert sorted(read(ring, 2)) == [b"first", b"second"]


def test_a_sender_is_told_when_there_is_no_room_and_all_arrives_when_there_is(keys: LinkKeys) -> None:
    with receiving(keys, capacity_bytes=1 << 16) as (ring, receiver), sending(receiver.endpoint, keys) as sender:
        sent = 0
        # Until it has been full for so long that no buffer on the way can be hiding.
        refused_in_a_row = 0
        while sent <= 20 or refused_in_a_row < 50:
            if sender.try_send(ROUTE, sent.to_bytes(4, "little") * 1000):
                sent, refused_in_a_row = sent + 1, 0
            else:
                refused_in_a_row += 1
                time.sleep(0.005)
        assert [int.from_bytes(payload[:4], "little") for payload in read(ring, sent)] == list(range(sent))


@pytest.mark.parametrize("stranger", ["with another key", "that takes us for somebody else", "without any key"])
def test_a_stranger_is_not_let_in(keys: LinkKeys, stranger: str) -> None:
    other = LinkKeys.make()
    context = zmq.Context()
    with receiving(keys) as (ring, receiver), sending(receiver.endpoint, keys) as sender:
        socket = context.socket(zmq.PUSH)
        socket.linger = 0
        if stranger != "without any key":
            socket.curve_serverkey = other.public if "somebody else" in stranger else keys.public
            socket.curve_publickey, socket.curve_secretkey = other.public, other.secret
        monitor = socket.get_monitor_socket(HANDSHAKE_FAILURES)
        socket.connect(receiver.endpoint)
        socket.send(frame(7, 0, b"from a stranger"), flags=zmq.NOBLOCK)
        assert monitor.poll(30_000), "the stranger was not turned away"
        recv_monitor_message(monitor)
        send(sender, b"from a friend")

        assert read(ring, 1) == [b"from a friend"]
        socket.disable_monitor()
        monitor.close(linger=0)
        socket.close()
    context.term()


def test_a_sender_survives_its_receiver_and_its_successor_is_met(keys: LinkKeys) -> None:
    with receiving(keys) as (ring, receiver):
        sender = LinkSender(endpoint=receiver.endpoint, keys=keys, high_water_frames=2)
        carrier = Carrier(sender, CreditTaker(window_bytes=1000))
        carrier.send(ROUTE, b"before", 1)
        assert read(ring, 1) == [b"before"]
    while not carrier.waiting_frames:  # ZeroMQ takes a few for a peer that it hopes to see again
        carrier.send(ROUTE, b"while nobody is there", 1)
    assert carrier.pump() == 0

    with receiving(keys) as (ring, receiver):
        carrier.replace(LinkSender(endpoint=receiver.endpoint, keys=keys, high_water_frames=2))
        carrier.send(ROUTE, b"after", 1)
        assert read(ring, 1) == [b"after"]
        assert carrier.lost_tuples == 1
        carrier.close()


def test_what_is_no_frame_is_refused_and_counted_and_the_next_arrives(
    keys: LinkKeys, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving(keys) as (ring, receiver), raw_socket(keys) as socket:
        socket.connect(receiver.endpoint)
        head = pack_link_head(7, 0, ROUTE)
        wrong = ([b""], [b"no number"], [head[:16] + b"no header"], [head, b"in parts"], [head, b"", head, b"", b""])
        for parts in (*wrong, [frame(7, 1, b"right")]):
            socket.send_multipart(parts)

        assert read(ring, 1) == [b"right"]
        assert (receiver.refused_frames, receiver.lost_frames, receiver.error) == (len(wrong), 0, None)
    (logged,) = caplog.records
    assert logged.levelno == logging.WARNING
    assert logged.message.endswith("more will only be counted: a frame's number has 16 bytes, got 0")


def test_frames_that_are_missing_are_counted(keys: LinkKeys) -> None:
    with receiving(keys) as (ring, receiver), raw_socket(keys) as socket:
        socket.connect(receiver.endpoint)
        for link, number in ((7, 0), (7, 1), (8, 0), (7, 5), (8, 1), (9, 2)):
            socket.send(frame(link, number))
        assert len(read(ring, 6)) == 6
        assert receiver.lost_frames == 3 + 2


def test_a_link_works_over_the_other_internet_protocol(keys: LinkKeys) -> None:
    with (
        RingReader.create() as ring,
        LinkReceiver(host="::1", ring_address=ring.address, keys=keys, high_water_frames=10) as receiver,
        sending(receiver.endpoint, keys) as sender,
    ):
        send(sender, b"frame")
        assert read(ring, 1) == [b"frame"]
        assert (receiver.lost_frames, receiver.error) == (0, None)


def test_a_frame_that_the_ring_cannot_take_is_refused_and_the_next_arrives(
    keys: LinkKeys, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        receiving(keys, capacity_bytes=1 << 16, max_message_bytes=100_000) as (ring, receiver),
        sending(receiver.endpoint, keys) as sender,
    ):
        send(sender, bytes(200_000), b"small")
        assert read(ring, 1) == [b"small"]
        assert receiver.refused_frames == 1
    assert "payload_bytes=200000 limit=100000" in caplog.text


def test_a_receiver_closes_while_its_ring_is_full(keys: LinkKeys) -> None:
    with receiving(keys, capacity_bytes=1 << 12) as (ring, receiver), sending(receiver.endpoint, keys) as sender:
        fill(ring, sender)


def test_a_receiver_closes_while_a_large_frame_is_under_way(keys: LinkKeys) -> None:
    with receiving(keys, capacity_bytes=1 << 12) as (ring, receiver), sending(receiver.endpoint, keys) as sender:
        send(sender, bytes(100_000))
        wait_until(lambda: ring.counters().full_waits == 1, "a full ring")


def test_who_connects_while_the_ring_is_full_is_let_in_or_turned_away(keys: LinkKeys) -> None:
    with receiving(keys, capacity_bytes=1 << 12) as (ring, receiver), sending(receiver.endpoint, keys) as sender:
        fill(ring, sender)
        for comer, outcome in (
            (keys, zmq.EVENT_HANDSHAKE_SUCCEEDED),
            (LinkKeys.make(), zmq.EVENT_HANDSHAKE_FAILED_AUTH),
        ):
            with raw_socket(keys) as socket:
                socket.curve_publickey, socket.curve_secretkey = comer.public, comer.secret
                with socket.get_monitor_socket(outcome) as monitor:
                    socket.connect(receiver.endpoint)
                    assert monitor.poll(100_000), "nobody answered at the gate"
                    socket.disable_monitor()


def test_a_receiver_says_that_its_ring_was_closed_and_can_be_closed(keys: LinkKeys) -> None:
    with receiving(keys) as (ring, receiver), sending(receiver.endpoint, keys) as sender:
        assert receiver.error is None
        ring.close()
        for _ in range(5):
            sender.try_send(ROUTE, b"too late")
        wait_until(lambda: receiver.error is not None, "the end of the thread")
        wanted = "the link from other nodes broke down: RingClosedError: the ring was closed by its consumer"
        assert receiver.error == wanted


def test_a_closed_receiver_still_has_its_counts(keys: LinkKeys) -> None:
    with receiving(keys) as (ring, receiver), raw_socket(keys) as socket:
        socket.connect(receiver.endpoint)
        socket.send(b"no frame")
        socket.send(frame(7, 3))
        assert read(ring, 1) == [b"frame"]
        for _ in range(2):
            receiver.close()
            assert (receiver.refused_frames, receiver.lost_frames, receiver.error) == (1, 3, None)


def test_a_link_that_carried_nothing_leaves_nothing(keys: LinkKeys) -> None:
    with receiving(keys) as (_, receiver), sending(receiver.endpoint, keys):
        pass
