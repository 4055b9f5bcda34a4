"""What the sink of a query needs to feed a run."""

from __future__ import annotations

import base64

import msgspec

from penstock.errors import RunError
from penstock.transport.links import LinkKeys
from penstock.worker.settings import WorkerSettings

__all__ = ["FEED_OPTION", "FeedTicket"]

FEED_OPTION = "feedSecret"
"""The option of the query that holds the ticket. Spark shows no value of an option whose name has "secret" in it."""


class FeedTicket(msgspec.Struct, frozen=True, kw_only=True):
    """Travels with the query's plan, in memory, and nowhere else: it holds secret keys."""

    component: str
    endpoint: str
    """Where the controller listens."""
    server_public: bytes
    keys: LinkKeys
    settings: WorkerSettings

    def to_option(self) -> str:
        """The ticket as the value of an option."""
        return base64.b64encode(msgspec.msgpack.encode(self)).decode()

    @classmethod
    def from_option(cls, value: str | None) -> FeedTicket:
        """What `to_option` was given; RunError if it is not that."""
        try:
            return msgspec.msgpack.decode(base64.b64decode(value or "", validate=True), type=cls)
        except (ValueError, msgspec.DecodeError):
            message = (
                'format "penstock" is written to by ps.StreamingFrame, which starts the query by itself: wanted '
                'topo.spout("name", ps.StreamingFrame(df, checkpoint=...)), got writeStream.format("penstock")'
            )
            raise RunError(message) from None
