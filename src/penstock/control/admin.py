"""The command line's end: asks a run in another process."""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import Self

import zmq

from penstock.control.codec import decode_answer, encode
from penstock.control.numbering import Numbering
from penstock.control.protocol import Answer, Question
from penstock.control.questions import Asker
from penstock.control.wire import connected_dealer
from penstock.errors import RunError
from penstock.transport.links import LinkKeys

__all__ = ["AdminClient"]


class AdminClient(Asker):
    """Asks one question at a time. For one thread."""

    def __init__(self, *, endpoint: str, server_public: bytes, keys: LinkKeys) -> None:
        self._endpoint = endpoint
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = connected_dealer(self._context, endpoint=endpoint, server_public=server_public, keys=keys)
        self._numbering = Numbering()
        self._closed = False

    def ask(self, question: Question, *, timeout_s: float = 10.0) -> Answer:
        """Asks the controller. After a question without an answer this client is of no use any more."""
        if self._closed:
            message = f"this client of the run at {self._endpoint} is closed"
            raise RunError(message)
        self._socket.sndtimeo = self._socket.rcvtimeo = round(timeout_s * 1000)
        with contextlib.suppress(zmq.Again):  # a connection whose handshake failed does not even take the question
            self._socket.send_multipart([self._numbering.stamp(question), encode(question)])
            _, payload = self._socket.recv_multipart()
            return decode_answer(payload)
        self.close()
        message = (
            f"the run at {self._endpoint} did not answer within {timeout_s:g} s: its driver is gone, cannot be "
            f"reached from here, or does not accept these keys"
        )
        raise RunError(message)

    def close(self) -> None:
        """Closes the connection."""
        if not self._closed:
            self._closed = True
            self._socket.close(linger=0)
            self._context.term()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
