"""Commits epochs, in a thread of its own: the controller must not wait for a filesystem."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from penstock.checkpoint.manifest import Manifest
from penstock.checkpoint.store import CheckpointStore
from penstock.control.events import EpochCommitted, EpochNotCommitted
from penstock.errors import CheckpointError, CheckpointTakenError

__all__ = ["CheckpointKeeper"]

log = logging.getLogger(__name__)

_RENEW_EVERY_S = 5.0


class CheckpointKeeper:
    """The driver's hand on the checkpoint of a run, from when it has claimed it until it is closed."""

    def __init__(
        self, store: CheckpointStore, *, run: str, post: Callable[[EpochCommitted | EpochNotCommitted], object]
    ) -> None:
        self._store = store
        self._run = run
        self._post = post
        self._orders: queue.SimpleQueue[Manifest | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._keep, name="penstock-checkpoint-keeper", daemon=True)
        self._thread.start()

    def commit(self, manifest: Manifest) -> None:
        """Has an epoch committed. An event tells what came of it."""
        self._orders.put(manifest)

    def close(self) -> None:
        """Ends the thread, when it has done what it was asked to, and gives the checkpoint back."""
        self._orders.put(None)
        self._thread.join()
        try:
            self._store.release(self._run)
        except CheckpointError as error:
            log.warning("the checkpoint was not given back, and will be free in a while: %s", error)

    def _keep(self) -> None:
        while True:
            try:
                manifest = self._orders.get(timeout=_RENEW_EVERY_S)
            except queue.Empty:
                self._renew()
                continue
            if manifest is None:
                return
            self._commit(manifest)

    def _renew(self) -> None:
        try:
            self._store.renew(self._run)
        except CheckpointError as error:
            log.warning("the claim on the checkpoint was not renewed: %s", error)

    def _commit(self, manifest: Manifest) -> None:
        try:
            self._store.commit(manifest)
        except CheckpointError as error:
            if not self._is_there(manifest):
                taken = isinstance(error, CheckpointTakenError)
                self._post(EpochNotCommitted(epoch=manifest.epoch, reason=str(error), taken=taken))
                return
        self._post(EpochCommitted(epoch=manifest.epoch))
        try:
            self._store.clean(keep=2)
        except CheckpointError as error:
            log.warning("what the checkpoint does not need any more was not deleted: %s", error)

    def _is_there(self, manifest: Manifest) -> bool:
        """Whether a commit that raised was one all the same."""
        try:
            latest = self._store.latest()
        except CheckpointError:
            return False
        return latest is not None and latest.epoch == manifest.epoch and latest.run == self._run
