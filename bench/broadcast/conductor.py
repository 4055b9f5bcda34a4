"""Which message goes when, and what came of it.

The spout and the gatherer share one conductor, because they are tasks of one worker: so the next message goes when one
has been gathered, and all times of a round trip are of one clock. A block of messages has so many under way at a time:
one where a round trip is measured, many where messages per second are.
"""

import time
from typing import Any


class Block:
    """Messages of one size by one algorithm. Plain, because it travels to a worker that does not have this module."""

    def __init__(
        self, *, algorithm: str, size_bytes: int, window: int, warm_up: int, least: int, most: int, seconds: float
    ) -> None:
        """After `warm_up` messages, go on for `seconds`, with `least` messages at least and `most` at most."""
        self.algorithm = algorithm
        self.size_bytes = size_bytes
        self.window = window
        self.warm_up = warm_up
        self.least = least
        self.most = most
        self.seconds = seconds


class Conductor:
    """Goes through the blocks, one after another; each begins when nothing of the last is under way."""

    def __init__(self, blocks: list[Block], tasks: int) -> None:
        """Nothing is sent yet."""
        self.blocks = blocks
        self.tasks = tasks
        self.position = 0
        self.outcomes: list[dict[str, list[int]]] = []
        self._begin_block()

    def __deepcopy__(self, memo: object) -> "Conductor":
        """The tasks of a worker are copies of what was shipped; this is what two of them have in common."""
        return self

    def _begin_block(self) -> None:
        self.sent = self.gathered = 0
        self.stopping = False
        self.warm_ns = 0
        self.under_way: dict[int, list[int]] = {}
        self.outcomes.append({"round_trip_ns": [], "reached_ns": [], "gathered_ns": []})

    def next(self) -> tuple[int, str, int] | None:
        """Number, algorithm and size of the message to send now; None for none. StopIteration after the last."""
        if self.position == len(self.blocks):
            raise StopIteration
        block = self.blocks[self.position]
        if len(self.under_way) == block.window:
            return None
        self.stopping = self.stopping or self._is_over(block)
        if self.stopping:
            if not self.under_way:
                self.position += 1
                self._begin_block()
            return None
        number = self.sent
        self.sent += 1
        self.under_way[number] = [time.monotonic_ns(), self.tasks, sum(range(self.tasks)), 0]
        return number, block.algorithm, block.size_bytes

    def _is_over(self, block: Block) -> bool:
        measured = self.gathered - block.warm_up
        if measured < block.least:
            return False
        timed_out = bool(self.warm_ns) and time.monotonic_ns() - self.warm_ns > block.seconds * 1e9
        return measured >= block.most or timed_out

    def answered(self, number: int, index: int, reached_ns: int) -> None:
        """A task has answered a message, which had reached it at that time."""
        message = self.under_way[number]  # KeyError: an answer too many
        message[1] -= 1
        message[2] -= index
        message[3] = max(message[3], reached_ns)
        if message[1] == 0:
            self._note(number, message)

    def _note(self, number: int, message: list[int]) -> None:
        sent_ns, _, unanswered, reached_ns = message
        if unanswered:
            text = f"message {number}: some tasks have answered twice, and others never"
            raise RuntimeError(text)
        del self.under_way[number]
        now_ns = time.monotonic_ns()
        self.gathered += 1
        warm_up = self.blocks[self.position].warm_up
        if self.gathered == warm_up:
            self.warm_ns = now_ns
        # As much is under way at the end of what is measured as at its beginning. Else what had passed some links
        # before would count as done in that time, and all the more the larger the window is.
        if self.gathered > warm_up and not self.stopping:
            outcome = self.outcomes[self.position]
            outcome["round_trip_ns"].append(now_ns - sent_ns)
            outcome["reached_ns"].append(reached_ns - sent_ns)
            outcome["gathered_ns"].append(now_ns - self.warm_ns)

    def results(self) -> list[dict[str, Any]]:
        """What came of each block."""
        return [
            {"algorithm": block.algorithm, "size_bytes": block.size_bytes, "window": block.window, **outcome}
            for block, outcome in zip(self.blocks, self.outcomes, strict=False)
        ]
