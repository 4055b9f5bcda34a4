"""`multiprocessing.Pipe`: a Unix pipe with a length before each message."""

from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from typing import Any

from bench.ipc.python_transport import PythonTransport, Receiver, Sender

PipeEnds = tuple["Connection[Any, Any]", "Connection[Any, Any]"]


class Pipe(PythonTransport[PipeEnds]):
    """One direction; `send_bytes` and `recv_bytes`, without pickling."""

    name = "Pipe"
    module = "multiprocessing"

    def link(self, context: SpawnContext) -> PipeEnds:
        """The reading and the writing end."""
        return context.Pipe(duplex=False)

    def receiver(self, link: PipeEnds) -> Receiver:
        """Read."""
        reading, writing = link
        writing.close()
        return Receiver(receive=reading.recv_bytes, close=reading.close)

    def sender(self, link: PipeEnds) -> Sender:
        """Write."""
        reading, writing = link
        reading.close()
        return Sender(send=writing.send_bytes, close=writing.close)
