"""Credit: bounded on the way, and never stuck."""

from collections import deque
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.credit import (
    FIRST_WINDOW_BYTES,
    LEAST_WINDOW_BYTES,
    WIDE_WINDOW_BYTES,
    CreditGiver,
    CreditTaker,
    target_of_edge,
)

SENDER, SOURCE, TASK = 1, 3, 7
CHANNEL = (SOURCE, TASK)

frames = st.integers(1, 5000)
windows = st.integers(1, 10_000)


@given(windows, st.lists(frames, max_size=200), st.randoms(use_true_random=False))
def test_what_is_under_way_is_less_than_a_window_and_one_frame(window: int, sizes: list[int], random: Random) -> None:
    taker, giver = CreditTaker(window_bytes=window), CreditGiver(window_bytes=window)
    to_send, on_the_way, credit_on_the_way = deque(sizes), deque[int](), deque[int]()
    true_under_way = 0
    while to_send:
        step = random.choice(("send", "process", "credit"))
        if step == "send" and CHANNEL not in taker.exhausted:
            size = to_send.popleft()
            taker.sent(CHANNEL, size)
            on_the_way.append(size)
            true_under_way += size
            assert true_under_way < window + size
        elif step == "process" and on_the_way:
            size = on_the_way.popleft()
            true_under_way -= size
            if due := giver.processed(SENDER, CHANNEL, size):
                credit_on_the_way.append(due)
        elif step == "credit" and credit_on_the_way:
            taker.returned(CHANNEL, credit_on_the_way.popleft(), 1)
        # The taker knows of what was processed too late, never too early.
        assert taker.under_way_bytes(CHANNEL) >= true_under_way


@given(windows, st.lists(frames, max_size=100))
def test_a_sender_whose_frames_were_all_processed_may_send_again(window: int, sizes: list[int]) -> None:
    taker, giver = CreditTaker(window_bytes=window), CreditGiver(window_bytes=window)
    for size in sizes:
        taker.sent(CHANNEL, size)
    for size in sizes:
        if due := giver.processed(SENDER, CHANNEL, size):
            taker.returned(CHANNEL, due, 1)

    assert CHANNEL not in taker.exhausted


@given(windows)
def test_channels_do_not_share_a_window(window: int) -> None:
    taker = CreditTaker(window_bytes=window)
    taker.sent(CHANNEL, window)

    assert taker.exhausted == {CHANNEL}
    assert taker.under_way_bytes((SOURCE, TASK + 1)) == 0
    assert taker.under_way_bytes((SOURCE + 1, TASK)) == 0


def test_a_lost_task_leaves_a_window_for_its_successor() -> None:
    taker = CreditTaker(window_bytes=100)
    taker.sent(CHANNEL, 150)

    assert taker.forget({TASK}) == 150
    assert taker.exhausted == set()
    assert taker.under_way_bytes(CHANNEL) == 0


def test_credit_that_comes_for_a_forgotten_task_is_harmless() -> None:
    taker = CreditTaker(window_bytes=100)
    taker.returned(CHANNEL, 60, 1)
    taker.sent(CHANNEL, 99)

    assert taker.exhausted == set()
    assert taker.under_way_bytes(CHANNEL) == 99


def test_a_new_sender_is_not_credited_with_what_its_predecessor_sent() -> None:
    giver = CreditGiver(window_bytes=100)
    assert giver.processed(SENDER, CHANNEL, 11) == 0
    assert giver.processed(SENDER + 1, CHANNEL, 11) == 0
    giver.forget(SENDER)

    assert giver.processed(SENDER, CHANNEL, 1) == 0
    assert giver.processed(SENDER + 1, CHANNEL, 1) == 12


def test_a_channel_that_is_laid_anew_counts_from_nothing_and_late_credit_does_not_count() -> None:
    taker = CreditTaker(window_bytes=100)
    taker.sent(CHANNEL, 150)
    assert CHANNEL in taker.exhausted
    taker.laid(CHANNEL, 5)
    assert CHANNEL not in taker.exhausted
    taker.sent(CHANNEL, 60)
    taker.returned(CHANNEL, 150, 4)  # for what was sent the old way
    assert taker.under_way_bytes(CHANNEL) == 60
    taker.returned(CHANNEL, 60, 5)
    assert taker.under_way_bytes(CHANNEL) == 0


def test_a_window_begins_small_and_is_what_the_receiver_says() -> None:
    taker = CreditTaker(window_bytes=1 << 20)
    taker.sent(CHANNEL, FIRST_WINDOW_BYTES)
    assert taker.exhausted == {CHANNEL}
    taker.returned(CHANNEL, 0, 1, window_bytes=1 << 30)
    assert not taker.exhausted
    taker.sent(CHANNEL, (1 << 20) - FIRST_WINDOW_BYTES - 1)
    assert not taker.exhausted
    taker.sent(CHANNEL, 1)
    assert taker.exhausted == {CHANNEL}
    taker.returned(CHANNEL, (1 << 20) - LEAST_WINDOW_BYTES - 500, 1, window_bytes=LEAST_WINDOW_BYTES)
    assert taker.exhausted == {CHANNEL}, "more is under way than may be"
    taker.returned(CHANNEL, 501, 1)
    assert not taker.exhausted
    taker.laid(CHANNEL, 7)
    taker.sent(CHANNEL, FIRST_WINDOW_BYTES - 1)
    assert not taker.exhausted, "elsewhere it begins anew"


def test_credit_that_is_not_counted_by_task_has_the_whole_window_at_once() -> None:
    taker, channel = CreditTaker(window_bytes=1 << 20), (0, target_of_edge(3))
    taker.sent(channel, (1 << 20) - 1)
    assert not taker.exhausted


@given(st.integers(1, 1 << 22), st.integers(0, 1 << 20))
def test_whatever_the_window_enough_comes_back_to_go_on(window: int, told: int) -> None:
    """What a receiver keeps to itself is never as much as the least that a sender may have under way."""
    taker, giver = CreditTaker(window_bytes=window), CreditGiver(window_bytes=window)
    for _ in range(20):
        size = max(1, min(window, LEAST_WINDOW_BYTES) // 7)
        taker.sent(CHANNEL, size)
        due = giver.processed(0, CHANNEL, size)
        if due:
            window_bytes = max(LEAST_WINDOW_BYTES, told) if told else 0
            taker.returned(CHANNEL, due, 1, window_bytes=window_bytes)
            if window_bytes:
                giver.told(0, CHANNEL, window_bytes)
        assert not taker.exhausted


@given(
    st.integers(1, 1 << 21),
    st.lists(st.tuples(st.integers(1, 1 << 17), st.integers(0, 1 << 21), st.booleans()), max_size=60),
)
def test_a_sender_is_never_stuck_when_windows_change_and_channels_are_laid_anew(
    window: int, steps: list[tuple[int, int, bool]]
) -> None:
    """All that was sent is processed and all credit has come, and still nothing more may be sent: that is stuck."""
    taker, giver, assignment = CreditTaker(window_bytes=window), CreditGiver(window_bytes=window), 1
    for size, told, is_laid_anew in steps:
        if is_laid_anew:
            assignment += 1
            taker.laid(CHANNEL, assignment)
        taker.sent(CHANNEL, size)
        due = giver.processed(SENDER, CHANNEL, size, assignment)
        if due:
            taker.returned(CHANNEL, due, assignment, window_bytes=told)
            if told:
                giver.told(SENDER, CHANNEL, told, assignment)
        assert CHANNEL not in taker.exhausted


def test_a_wide_window_is_given_back_in_eighths_and_not_frame_by_frame() -> None:
    giver, window = CreditGiver(window_bytes=1 << 20), 1 << 20
    assert giver.processed(SENDER, CHANNEL, FIRST_WINDOW_BYTES) == FIRST_WINDOW_BYTES
    giver.told(SENDER, CHANNEL, window)
    given_back = [giver.processed(SENDER, CHANNEL, 128) for _ in range(window // 128)]
    assert [size for size in given_back if size] == [window // 8] * 8


def test_credit_for_a_channel_that_was_laid_anew_since_goes_back_at_once() -> None:
    giver = CreditGiver(window_bytes=1 << 20)
    giver.processed(SENDER, CHANNEL, 1, 5)
    assert giver.processed(SENDER, CHANNEL, 1, 4) == 1


def test_a_channel_is_wide_as_long_as_its_receiver_says_so() -> None:
    taker = CreditTaker(window_bytes=1 << 20)
    taker.sent(CHANNEL, 1000)
    assert (taker.wide, taker.room_bytes(CHANNEL)) == (set(), FIRST_WINDOW_BYTES - 1000)
    taker.returned(CHANNEL, 1000, 1, window_bytes=WIDE_WINDOW_BYTES)
    assert (taker.wide, taker.room_bytes(CHANNEL)) == ({CHANNEL}, WIDE_WINDOW_BYTES)
    taker.returned(CHANNEL, 0, 1, window_bytes=LEAST_WINDOW_BYTES)
    assert not taker.wide
    taker.returned(CHANNEL, 0, 1, window_bytes=1 << 20)
    taker.forget({TASK})
    assert taker.wide == {CHANNEL}, "a receiver that was not restarted goes on by what it told"
    taker.laid(CHANNEL, 2)
    assert not taker.wide
