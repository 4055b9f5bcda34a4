"""The keys of a run: made when it starts, gone when it ends, never on a network and in no file but the user's own."""

from __future__ import annotations

import msgspec

from penstock.transport.links import LinkKeys

__all__ = ["RunKeys"]


class RunKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Two CURVE key pairs. Who has the second, and knows the first's public half, takes part in the run.

    Both halves prove something: a worker that has been given `server.public` talks to nobody but the real driver, and
    the driver talks to nobody without `client.secret`.
    """

    server: LinkKeys
    """The driver's. Its secret never leaves the driver."""
    client: LinkKeys
    """Shared by all workers and by the user's command line."""

    @classmethod
    def make(cls) -> RunKeys:
        """Fresh keys."""
        return cls(server=LinkKeys.make(), client=LinkKeys.make())
