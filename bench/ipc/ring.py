"""Penstock's ring, in the three ways a program may use it."""

from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from typing import TYPE_CHECKING, Any

from bench.ipc.pacing import Message
from bench.ipc.python_transport import PythonTransport, Receiver, Sender

if TYPE_CHECKING:
    from penstock.transport.ring import RingReader, RingWriter

_MAX_BATCH = 256
# A batch is one record, and a record larger than an eighth of the ring would be cut into packets.
_RECORDS_PER_RING = 8
_SPIN_US = 20

AddressPipe = tuple["Connection[Any, Any]", "Connection[Any, Any]"]


class Ring(PythonTransport[AddressPipe]):
    """One record per message; the receiver uses the payload as it is lent."""

    name = "ring"
    module = "penstock.transport.ring"

    def __init__(self, capacity_bytes: int = 8 * 1024 * 1024) -> None:
        """Over a ring of `capacity_bytes`."""
        self.capacity_bytes = capacity_bytes

    def link(self, context: SpawnContext) -> AddressPipe:
        """A pipe through which the reader tells the writer its address."""
        return context.Pipe(duplex=False)

    def receiver(self, link: AddressPipe) -> Receiver:
        """Create the ring."""
        from penstock.transport.ring import RingReader, RingSettings

        # A core is free for the reader here, as for those it is compared with: it may spin.
        reader = RingReader.create(RingSettings(capacity_bytes=self.capacity_bytes, max_spin_us=_SPIN_US))
        _, tell = link
        tell.send(reader.address)
        return self._receiving(reader)

    def sender(self, link: AddressPipe) -> Sender:
        """Attach to the ring."""
        from penstock.transport.ring import RingWriter

        hear, _ = link
        return self._sending(RingWriter.attach(hear.recv()))

    def _receiving(self, reader: "RingReader") -> Receiver:
        read = reader.read

        def receive() -> Message:
            record = read()
            assert record is not None  # without a timeout it waits until there is one
            return record.payload

        return Receiver(receive=receive, close=reader.close)

    def _sending(self, writer: "RingWriter") -> Sender:
        from penstock.transport.ring import Route

        write, route = writer.write, Route()

        def send(message: Message) -> None:
            write(message, route)

        return Sender(send=send, close=writer.close)


class RingCopied(Ring):
    """The receiver copies each payload to `bytes`, which is what the other transports hand out."""

    name = "ring (copied to bytes)"

    def _receiving(self, reader: "RingReader") -> Receiver:
        lent = super()._receiving(reader)
        receive = lent.receive
        return lent._replace(receive=lambda: bytes(receive()))


class RingBatched(Ring):
    """What a busy pair does: floods go by `write_many` and `read_many`, many messages to a record."""

    name = "ring (write_many)"

    def _receiving(self, reader: "RingReader") -> Receiver:
        def drain(count: int) -> None:
            while count > 0:
                for record in reader.read_many():
                    count -= len(record.payloads)

        return super()._receiving(reader)._replace(drain=drain)

    def _sending(self, writer: "RingWriter") -> Sender:
        from penstock.transport.ring import Route

        route = Route()

        def flood(message: Message, count: int) -> None:
            fitting = self.capacity_bytes // _RECORDS_PER_RING // (2 * len(message))
            batch = [message] * max(1, min(_MAX_BATCH, fitting))
            for _ in range(count // len(batch)):
                writer.write_many(batch, route)
            if rest := count % len(batch):
                writer.write_many(batch[:rest], route)

        return super()._sending(writer)._replace(flood=flood)
