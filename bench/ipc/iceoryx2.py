"""iceoryx2: zero-copy publish and subscribe in shared memory, with an event to wake the receiver."""

import ctypes
import time
import uuid
from multiprocessing.context import SpawnContext
from typing import Any

from bench.ipc.pacing import Message
from bench.ipc.python_transport import PythonTransport, Receiver, Sender

_MAX_MESSAGE_BYTES = 512 * 1024
_MAX_MESSAGES = 64


class Iceoryx2(PythonTransport[str]):
    """The sender copies into a loaned sample, the receiver copies the sample to `bytes`."""

    name = "iceoryx2"
    module = "iceoryx2"

    def link(self, context: SpawnContext) -> str:  # noqa: ARG002
        """The name of a service of our own."""
        self.clean_up()
        return f"penstock-bench-{uuid.uuid4()}"

    def receiver(self, link: str) -> Receiver:
        """Subscribe, and listen while there is nothing."""
        node = _node()
        data, event = _services(node, link)
        subscriber = data.subscriber_builder().create()
        listener = event.listener_builder().create()

        def receive() -> bytes:
            while (sample := subscriber.receive()) is None:
                listener.blocking_wait()
            message = ctypes.string_at(sample.payload_ptr, sample.header.number_of_elements)
            sample.delete()
            return message

        def close() -> None:
            subscriber.delete()
            listener.delete()

        return Receiver(receive=receive, close=close)

    def sender(self, link: str) -> Sender:
        """Publish, then notify."""
        import iceoryx2

        node = _node()
        data, event = _services(node, link)
        publisher = (
            data.publisher_builder()
            .initial_max_slice_len(_MAX_MESSAGE_BYTES)
            .backpressure_strategy(iceoryx2.BackpressureStrategy.RetryUntilDelivered)
            .create()
        )
        notifier = event.notifier_builder().create()

        def reached(message: Message) -> int:
            size = len(message)
            sample = publisher.loan_slice_uninit(size)
            ctypes.memmove(sample.payload_ptr, (ctypes.c_ubyte * size).from_buffer(message), size)
            subscribers: int = sample.assume_init().send()
            return subscribers

        def send(message: Message) -> None:
            # In spite of RetryUntilDelivered a sample may reach nobody when the buffer is full (seen in 0.10).
            while not reached(message):
                time.sleep(0)
            notifier.notify()

        def close() -> None:
            publisher.delete()
            notifier.delete()

        return Sender(send=send, close=close)

    def clean_up(self) -> None:
        """Remove the shared memory of whoever was killed, now or in an earlier run."""
        _node().try_cleanup_dead_nodes()


def _node() -> Any:
    import iceoryx2

    iceoryx2.set_log_level(iceoryx2.LogLevel.Error)
    return (
        iceoryx2.NodeBuilder.new()
        .signal_handling_mode(iceoryx2.SignalHandlingMode.Disabled)
        .create(iceoryx2.ServiceType.Ipc)
    )


def _services(node: Any, name: str) -> tuple[Any, Any]:
    import iceoryx2

    data = (
        node.service_builder(iceoryx2.ServiceName.new(f"{name}-data"))
        .publish_subscribe(iceoryx2.Slice[ctypes.c_uint8])
        .enable_safe_overflow(False)
        .subscriber_max_buffer_size(_MAX_MESSAGES)
        .open_or_create()
    )
    event = node.service_builder(iceoryx2.ServiceName.new(f"{name}-event")).event().open_or_create()
    return data, event
