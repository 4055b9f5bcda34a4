"""`multiprocessing.Queue`: a pipe behind two locks and a feeder thread that pickles."""

from multiprocessing.context import SpawnContext
from multiprocessing.queues import Queue as ProcessQueue

from bench.ipc.pacing import Message
from bench.ipc.python_transport import PythonTransport, Receiver, Sender

# As many messages as ZeroMQ holds back by default. Without a bound a flood would fill memory.
_MAX_MESSAGES = 1000


class Queue(PythonTransport["ProcessQueue[bytes]"]):
    """`put` and `get` of bytes."""

    name = "Queue"
    module = "multiprocessing"

    def link(self, context: SpawnContext) -> "ProcessQueue[bytes]":
        """The queue itself is inherited."""
        return context.Queue(_MAX_MESSAGES)

    def receiver(self, link: "ProcessQueue[bytes]") -> Receiver:
        """Get."""
        return Receiver(receive=link.get, close=link.close)

    def sender(self, link: "ProcessQueue[bytes]") -> Sender:
        """Put a copy, because the feeder thread pickles later, when the caller has overwritten its buffer."""

        def send(message: Message) -> None:
            link.put(bytes(message))

        return Sender(send=send, close=link.close)
