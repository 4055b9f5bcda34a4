"""Transports that fail. In a file of its own, because the ends that are spawned import it."""

import os
import signal

from bench.ipc.pacing import END_MESSAGE, Message
from bench.ipc.pipe import Pipe, PipeEnds
from bench.ipc.python_transport import Receiver, Sender


class Forgetful(Pipe):
    """A pipe whose sender forgets every third message, but never the end."""

    name = "forgetful"

    def sender(self, link: PipeEnds) -> Sender:
        reliable = super().sender(link)
        sent = 0

        def send(message: Message) -> None:
            nonlocal sent
            sent += 1
            if message is END_MESSAGE or sent % 3 != 0:
                reliable.send(message)

        return reliable._replace(send=send)


class Refusing(Pipe):
    """A pipe that cannot be opened for reading."""

    name = "refusing"

    def receiver(self, link: PipeEnds) -> Receiver:  # noqa: ARG002
        msg = "no such pipe"
        raise RuntimeError(msg)


class Crashing(Pipe):
    """A pipe whose sender is killed by its first message."""

    name = "crashing"

    def sender(self, link: PipeEnds) -> Sender:
        def send(_: Message) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        return super().sender(link)._replace(send=send)
