"""What a transport has to offer to be measured. One file per transport implements it."""

from abc import ABC, abstractmethod

from bench.ipc.pair import Pair


class Transport(ABC):
    """A way to get messages from one process to another."""

    name: str

    @abstractmethod
    def absence(self) -> str | None:
        """Why it cannot be measured here, or None if it can."""

    @abstractmethod
    def open(self) -> Pair:
        """Start a sender process and a receiver process, connected."""
