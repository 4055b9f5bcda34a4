"""What is said about micro-batches that Spark feeds to a run. Part of the protocol.

Spark's processes ask, the controller answers, and none of them waits for an answer that takes long: who is told to wait
asks again.

    a task of Spark's                controller                     workers with tasks of the spout
    that has rows of the batch
          AskGrant ────────────────────►
          ◄──────── Grant: push them to this task of the spout
          ═══════════════════ rows ════════════════════════════════════════►
    the query's driver
          AskTaken: all is pushed ─────►
          ◄──────────────────────── Wait
                                        CloseBatch: so many rows by each grant ──►
                                        ◄── BatchIn: I have them all, and they are emitted and acknowledged
                                        (exactly once: an epoch is begun, saved and committed)
          AskTaken ────────────────────►
          ◄─────────────────────── Taken
"""

from __future__ import annotations

import msgspec

from penstock.control.message import Message

__all__ = [
    "AskGrant",
    "AskHolds",
    "AskTaken",
    "BatchIn",
    "CloseBatch",
    "EndFeed",
    "FeedAnswer",
    "FeedBroken",
    "FeedPlace",
    "FeedQuestion",
    "Grant",
    "Taken",
    "Wait",
    "WrittenPart",
]


# ---- Spark's processes -> controller


class AskGrant(Message, frozen=True, kw_only=True):
    """I have rows of a micro-batch: where do they go? Answered with Grant, Taken, Wait or NotNow."""

    component: str
    query: str
    """The id of the query, which stays the same for as long as its checkpoint does."""
    query_run: str
    """The id of this start of it."""
    batch: int
    partition: int
    node: str
    """Where I am."""


class AskHolds(Message, frozen=True, kw_only=True):
    """Is what I was granted still so? Answered with Wait if it is, and with NotNow if not."""

    component: str
    grant: int


class WrittenPart(msgspec.Struct, frozen=True, kw_only=True):
    """What was pushed by one grant."""

    grant: int
    rows: int


class AskTaken(Message, frozen=True, kw_only=True):
    """All rows of the micro-batch are pushed: are you in charge of them? Answered with Taken, Wait or NotNow."""

    component: str
    query: str
    query_run: str
    batch: int
    parts: tuple[WrittenPart, ...] = ()


FeedQuestion = AskGrant | AskHolds | AskTaken


# ---- controller -> Spark's processes


class Grant(Message, frozen=True, kw_only=True):
    """Push your rows there, with this number."""

    grant: int
    task: int
    same_node: bool
    ring_address: str
    link_endpoint: str


class Wait(Message, frozen=True, kw_only=True):
    """Not yet, or still: ask again."""


class Taken(Message, frozen=True, kw_only=True):
    """The run is in charge of that micro-batch: there is nothing more to do for it."""


FeedAnswer = Grant | Wait | Taken


# ---- controller <-> workers


class FeedPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a task of a fed spout takes what is pushed: its ring on the same node, its link from others."""

    task: int
    ring_address: str
    link_endpoint: str


class CloseBatch(Message, frozen=True, kw_only=True):
    """A micro-batch is complete: these tasks of yours have, or will have, so many rows by each of these grants."""

    component: str
    closing: int
    """Counts these messages: the same micro-batch may have been pushed before, and given up."""
    rows: dict[int, dict[int, int]]
    """By task: by grant."""


class EndFeed(Message, frozen=True, kw_only=True):
    """Nothing more will be pushed to the tasks of this component."""

    component: str


class BatchIn(Message, frozen=True, kw_only=True):
    """This task has all rows of the micro-batch, has emitted them, and, at least once, they are processed."""

    assignment: int
    component: str
    task: int
    closing: int


class FeedBroken(Message, frozen=True, kw_only=True):
    """Some of what was pushed to this task did not arrive."""

    assignment: int
    component: str
    task: int
    reason: str
