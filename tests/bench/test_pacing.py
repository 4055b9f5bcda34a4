"""The timed loops, against a clock that moves only when it is told to."""

import struct

from bench.ipc.pacing import END_MESSAGE, Message, collect, pace

START = 1_000_000
PERIOD = 1_000_000  # of 1,000 messages/s
NEVER = 10**18


class Clock:
    """Time passes when somebody sleeps or when a message is being sent."""

    def __init__(self, oversleeps_ns: int = 0, sends_take_ns: tuple[int, ...] = ()) -> None:
        self.now = START
        self.slept_ns: list[int] = []
        self.sent: list[bytes] = []
        self._oversleeps_ns = oversleeps_ns
        self._sends_take_ns = list(sends_take_ns)

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept_ns.append(round(seconds * 1e9))
        self.now += self.slept_ns[-1] + self._oversleeps_ns

    def send(self, message: Message) -> None:
        self.sent.append(bytes(message))
        self.now += self._sends_take_ns.pop(0) if self._sends_take_ns else 0

    def stamps(self) -> list[int]:
        return [struct.unpack_from(">q", message)[0] for message in self.sent[:-1]]


def run(clock: Clock, count: int, give_up_ns: int = NEVER) -> int:
    started, sent = pace(
        clock.send, bytearray(100), rate_per_s=1000, count=count, give_up_ns=give_up_ns, clock=clock, sleep=clock.sleep
    )
    assert started == START
    return sent


def test_messages_go_out_at_absolute_deadlines() -> None:
    clock = Clock(oversleeps_ns=50_000)
    assert run(clock, 4) == 4
    # Oversleeping does not add up: the next sleep is shorter.
    assert clock.slept_ns == [PERIOD, PERIOD - 50_000, PERIOD - 50_000]
    assert [len(message) for message in clock.sent] == [100, 100, 100, 100, len(END_MESSAGE)]


def test_a_message_is_stamped_when_the_sender_wakes_up_for_it() -> None:
    clock = Clock(oversleeps_ns=50_000)
    run(clock, 3)
    assert clock.stamps() == [START, START + PERIOD + 50_000, START + 2 * PERIOD + 50_000]


def test_a_message_that_waited_for_a_blocked_sender_is_stamped_with_its_deadline() -> None:
    clock = Clock(sends_take_ns=(0, 2_500_000))  # the second blocks for two and a half periods
    run(clock, 5)
    assert clock.stamps() == [START + number * PERIOD for number in range(5)]


def test_messages_that_are_late_because_the_sender_overslept_are_stamped_when_it_woke() -> None:
    clock = Clock(oversleeps_ns=2_500_000)
    run(clock, 4)
    woke = START + PERIOD + 2_500_000
    assert clock.stamps() == [START, woke, woke, woke]


def test_a_sender_that_is_too_far_behind_gives_up() -> None:
    clock = Clock(sends_take_ns=(0, 0, 9_000_000))
    assert run(clock, 100, give_up_ns=5_000_000) == 3
    assert clock.sent[-1] == bytes(END_MESSAGE)


def test_latency_is_from_the_stamp_to_the_message_in_hand() -> None:
    arrivals = [(START, START + 7), (START + 10, START + 500)]
    clock = Clock()

    def receive() -> Message:
        if not arrivals:
            return END_MESSAGE
        stamp, clock.now = arrivals.pop(0)
        return memoryview(struct.pack(">q", stamp) + bytes(50))

    assert collect(receive, clock) == [7, 490]
