"""ZeroMQ PUSH and PULL over a Unix socket, with its default settings."""

import uuid
from multiprocessing.context import SpawnContext

from bench.ipc.python_transport import PythonTransport, Receiver, Sender


class ZeroMQ(PythonTransport[str]):
    """One message per `send`, copied, as `bytes` at the receiver."""

    name = "ZeroMQ ipc"
    module = "zmq"

    def link(self, context: SpawnContext) -> str:  # noqa: ARG002
        """An address in the abstract namespace, which leaves no file behind."""
        return f"ipc://@penstock-bench-{uuid.uuid4()}"

    def receiver(self, link: str) -> Receiver:
        """Pull."""
        import zmq

        context = zmq.Context()
        socket = context.socket(zmq.PULL)
        socket.bind(link)
        return Receiver(receive=socket.recv, close=lambda: context.destroy(linger=0))

    def sender(self, link: str) -> Sender:
        """Push."""
        import zmq

        context = zmq.Context()
        socket = context.socket(zmq.PUSH)
        socket.connect(link)
        return Sender(send=socket.send, close=lambda: context.destroy(linger=0))
