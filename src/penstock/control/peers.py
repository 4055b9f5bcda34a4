"""What the controller and the workers tell each other about other workers."""

from __future__ import annotations

import msgspec

from penstock.control.message import Message

__all__ = ["Peer", "PeerChanged", "PeerGone", "PeerLost", "PeerSilent"]


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """Another worker and how to reach it: by its ring from the same node, by its link from elsewhere."""

    worker: int
    generation: int
    node: str
    ring_address: str
    link_endpoint: str


class PeerGone(Message, frozen=True, kw_only=True):
    """The process of another worker is dead: its ring has nobody to read it."""

    worker: int
    generation: int


class PeerChanged(Message, frozen=True, kw_only=True):
    """A worker is another process now; what was sent to the old one is gone."""

    peer: Peer


class PeerLost(Message, frozen=True, kw_only=True):
    """A worker is dead, or given up: PeerChanged follows if there will be another in its place."""

    worker: int
    generation: int


class PeerSilent(Message, frozen=True, kw_only=True):
    """A worker may be stopped or cut off, or was and can be reached again: nobody should depend on one that is not."""

    worker: int
    generation: int
    silent: bool
