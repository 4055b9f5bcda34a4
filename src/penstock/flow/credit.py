"""Credit: how much a task may have under way to a task of another worker.

The rule that keeps every queue bounded and no two workers waiting for each other:

    A worker always reads its inbox. What it may find there is bounded by the credit that it has given.

A sender counts, for each channel (source task, target task), the bytes that it has sent and that the target has not
processed yet. At the channel's window it counts as exhausted, and its source does not run until credit comes back. A
receiver gives credit back when it has processed an eighth of the window that the sender knows of: often enough that no
sender waits for it, and seldom enough that it costs nothing. So a full ring is always a matter of moments, never of two
workers waiting for each other: the tasks at the end of the topology never wait, so their queues empty, so credit flows
back to the tasks before them, and so on up to the spouts.

Credit is a channel's own, because a target that aligns markers keeps back what comes on the channels that were first:
a channel that is kept back must not exhaust the credit of those that the target waits for.

A window is what the receiver can work through in a while, for who sends more only has it wait there. So it begins
small, and with each credit comes how large it is to be (see penstock.worker.pressure): from `LEAST_WINDOW_BYTES` to
`window_bytes`.

A channel whose source or target moves is laid anew, under the number of another assignment, and counts from nothing:
credit for what was sent before is on its way from the old place, and does not count any more.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

__all__ = [
    "FIRST_WINDOW_BYTES",
    "LEAST_WINDOW_BYTES",
    "WIDE_WINDOW_BYTES",
    "Channel",
    "CreditGiver",
    "CreditTaker",
    "target_of_edge",
]

FIRST_WINDOW_BYTES = 4 << 10
"""Until the receiver has said what it can do."""

WIDE_WINDOW_BYTES = 64 << 10
"""Whoever may have as much under way need not look at it before each turn: what comes of one is no more than that."""

LEAST_WINDOW_BYTES = 1 << 10
"""Whoever has less than that under way sends so little at a time that sending is most of the work."""

GIVEN_BACK_AT_ONCE = 8
"""Credit comes back when so great a part of a window has been processed: what is under way looks that much larger to
the sender, which shares tuples out by it."""

Channel = tuple[int, int]
"""The source task and the target task."""


def target_of_edge(edge: int) -> int:
    """Stands in a channel for whoever is at the end of an edge, where credit is not counted by task. No task has it.

    So it is for a broadcast (see flow/cast), which is under way to all tasks at once; and for tuples that are put
    together on the way (see flow/combining): they go from worker to worker, and each gives credit to the one before.
    What is under way on another edge, from the same source, has nothing to do with it.
    """
    return ~edge


class CreditTaker:
    """The sender's side: what is under way on each channel to elsewhere."""

    def __init__(self, *, window_bytes: int) -> None:
        self._window_bytes = window_bytes
        self._first_window_bytes = min(FIRST_WINDOW_BYTES, window_bytes)
        self._windows: dict[Channel, int] = {}
        self._under_way: dict[Channel, int] = {}
        self._laid: dict[Channel, int] = {}
        self.exhausted: set[Channel] = set()
        self.wide: set[Channel] = set()
        """Channels that may have much under way, for all that their receivers have said."""

    def sent(self, channel: Channel, size_bytes: int) -> None:
        """Counts a frame that is on its way."""
        under_way = self._under_way[channel] = self._under_way.get(channel, 0) + size_bytes
        if under_way >= self._window_of(channel):
            self.exhausted.add(channel)

    def _window_of(self, channel: Channel) -> int:
        """Where credit is not counted by task, nobody says more about it."""
        return self._window_bytes if channel[1] < 0 else self._windows.get(channel, self._first_window_bytes)

    def laid(self, channel: Channel, assignment: int) -> None:
        """The channel is laid anew: only what is sent from now on counts."""
        self._laid[channel] = assignment
        self._under_way.pop(channel, None)
        self._windows.pop(channel, None)
        self.wide.discard(channel)
        self.exhausted.discard(channel)

    def returned(self, channel: Channel, size_bytes: int, assignment: int, *, window_bytes: int = 0) -> None:
        """Takes credit back from the worker that runs the target, for frames that were routed by an assignment.

        `window_bytes` is the window from now on; 0 if it stays.
        """
        if self._laid and assignment < self._laid.get(channel, 0):
            return
        if window_bytes:
            self._windows[channel] = min(window_bytes, self._window_bytes)
            is_wide = window_bytes >= min(WIDE_WINDOW_BYTES, self._window_bytes)
            (self.wide.add if is_wide else self.wide.discard)(channel)
        under_way = self._under_way[channel] = max(0, self._under_way.get(channel, 0) - size_bytes)
        if under_way < self._window_of(channel):
            self.exhausted.discard(channel)

    def block(self, channel: Channel) -> None:
        """Nothing more on this channel, whose credit is counted elsewhere."""
        self.exhausted.add(channel)

    def unblock(self, channel: Channel) -> None:
        """It may go on."""
        self.exhausted.discard(channel)

    def forget(self, targets: Collection[int]) -> int:
        """Everything under way to these tasks was lost, with their worker or on the way. Returns how many bytes.

        The windows stay. A receiver that is met again, and has not been restarted, may have told of them just before,
        and gives credit back by them. One that was restarted gives back by the first window, and so sooner.
        """
        lost = [channel for channel in self._under_way if channel[1] in targets]
        self.exhausted.difference_update(lost)
        return sum(self._under_way.pop(channel) for channel in lost)

    def room_bytes(self, channel: Channel) -> int:
        """How much more may be sent."""
        return max(0, self._window_of(channel) - self._under_way.get(channel, 0))

    def share_under_way(self, channel: Channel) -> float:
        """How much is under way, of what may be."""
        return self._under_way.get(channel, 0) / self._window_of(channel)

    def under_way_bytes(self, channel: Channel) -> int:
        """How much is under way."""
        return self._under_way.get(channel, 0)


class _Account(msgspec.Struct):
    """What one worker has sent on one channel, as it was laid by one assignment."""

    assignment: int
    give_at_bytes: int
    processed_bytes: int = 0


class CreditGiver:
    """The receiver's side: what has been processed and not been given back yet, by the sending worker and channel.

    The invariant: `give_at_bytes` of a channel follows from the window that its sender was last told, never from one
    that it does not know of. Else the sender could exhaust its smaller window before anything is given back.
    """

    def __init__(self, *, window_bytes: int) -> None:
        self._window_bytes = window_bytes
        self._accounts: dict[tuple[int, Channel], _Account] = {}

    def processed(self, sender: int, channel: Channel, size_bytes: int, assignment: int = 0) -> int:
        """Counts a frame that the target has processed; returns the credit to give back now, or 0."""
        account = self._account(sender, channel, assignment)
        if assignment < account.assignment:  # its sender has laid the channel anew, and does not count it
            return size_bytes
        account.processed_bytes += size_bytes
        if account.processed_bytes < account.give_at_bytes:
            return 0
        due, account.processed_bytes = account.processed_bytes, 0
        return due

    def bytes_until_due(self, sender: int, channel: Channel, assignment: int = 0) -> int:
        """How much more has to be processed before credit is given back; 0 if it is at once."""
        account = self._account(sender, channel, assignment)
        return 0 if assignment < account.assignment else account.give_at_bytes - account.processed_bytes

    def _account(self, sender: int, channel: Channel, assignment: int) -> _Account:
        """The newest of a channel, by this assignment at least."""
        account = self._accounts.get((sender, channel))
        if account is None or account.assignment < assignment:
            first = self._window_bytes if channel[1] < 0 else min(FIRST_WINDOW_BYTES, self._window_bytes)
            account = self._accounts[sender, channel] = _Account(assignment, _part_of(first))
        return account

    def take(self, sender: int, channel: Channel, assignment: int = 0) -> int:
        """What was processed beside what is given back: that goes with it, for the window may be about to shrink."""
        account = self._accounts.get((sender, channel))
        if account is None or account.assignment != assignment:
            return 0
        left, account.processed_bytes = account.processed_bytes, 0
        return left

    def told(self, sender: int, channel: Channel, window_bytes: int, assignment: int = 0) -> None:
        """A sender is told of the window that it has from now on."""
        account = self._accounts.get((sender, channel))
        if account is not None and account.assignment == assignment:
            account.give_at_bytes = _part_of(min(window_bytes, self._window_bytes))

    def forget(self, sender: int) -> None:
        """This worker was lost: who comes in its place counts anew."""
        self._accounts = {key: account for key, account in self._accounts.items() if key[0] != sender}


def _part_of(window_bytes: int) -> int:
    return max(1, window_bytes // GIVEN_BACK_AT_ONCE)
