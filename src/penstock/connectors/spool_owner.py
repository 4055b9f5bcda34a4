"""Whose a spool is: of one run at a time, and of one checkpoint for good.

    owner-checkpoint-ID             the checkpoint that its rows belong to
    owner-run-ID                    the run that has written last, where there is no checkpoint

With a checkpoint a spool is bound to it: the next run that goes on from there may have files to show that were prepared
long ago, and readers would pass them over once they have seen files of another run. Without one a run owes nothing when
it is over, and the next may have the spool; should the former still be at it, it finds its mark gone, and ends.
"""

from __future__ import annotations

from penstock.connectors.folder import Folder, without_secrets
from penstock.errors import RunError

__all__ = ["SpoolOwner"]

_BOUND, _FREE = "owner-checkpoint-", "owner-run-"


class SpoolOwner:
    """A run, as an owner of a spool. One that has no name, as in tests of a single sink, takes what is there."""

    def __init__(self, url: str, *, run: str, checkpoint: str, sink: str) -> None:
        self._folder = Folder(url)
        self._shown = without_secrets(url)
        self._mark = f"{_BOUND}{checkpoint}" if checkpoint else f"{_FREE}{run}" if run else None
        self._sink = sink

    def take(self) -> None:
        """Makes the spool the run's.

        Raises:
            RunError: it belongs to another checkpoint.
        """
        if self._mark is None:
            return
        owners = self._owners()
        self._refuse_bound(owners)
        if self._mark not in owners:
            self._folder.put_once(self._mark, b"")
            try:
                self._refuse_bound(self._owners())  # another one may have come in the same instant
            except RunError:
                self._folder.delete(self._mark)
                raise
        for former in owners - {self._mark}:
            self._folder.delete(former)

    def require(self) -> None:
        """Makes sure that it still is.

        Raises:
            RunError: another run has taken it.
        """
        if self._mark is not None and not self._folder.has(self._mark):
            got = ", ".join(sorted(self._owners())) or "none"
            message = (
                f"{self._sink}: wanted {self._mark} in spool {self._shown}, got {got}: another run has taken it, or "
                f"somebody has emptied it. A spool has one run at a time"
            )
            raise RunError(message)

    def _owners(self) -> set[str]:
        return {name for name in self._folder.sizes() if name.startswith((_BOUND, _FREE))}

    def _refuse_bound(self, owners: set[str]) -> None:
        for other in sorted(owners - {self._mark}):
            if other.startswith(_BOUND):
                message = (
                    f"{self._sink}: wanted spool {self._shown} for {self._mark}, got one with {other}, for which rows "
                    f"may be due yet: go on from that checkpoint, or give another path; if all of it is read, empty it"
                )
                raise RunError(message)
