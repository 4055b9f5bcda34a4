"""TurboStream's SOL (speed of light): a message goes through a chain of five bolts that do nothing to it."""

import penstock as ps
from bench.scheduling.paced import PacedSpout

BOLTS, TASKS = 5, 5
_BYTES = 10 * 1024


class Messages(PacedSpout):
    """The same message over and over."""

    fields = ("message",)

    def tuple_at(self, number: int) -> tuple[bytes]:  # noqa: ARG002
        return (bytes(_BYTES),)


class Pass(ps.Bolt):
    """Passes it on."""

    fields = ("message",)

    def process(self, tup: ps.Tuple) -> tuple[bytes]:
        return (tup.message,)


def sol(tap_file: str, limit: int | None = None) -> ps.Topology:
    """A spout and five bolts with five tasks each. The paper does not say how large its messages are: 10 KB here."""
    topology = ps.Topology("sol")
    last = topology.spout("spout", Messages(tap_file, limit), tasks=TASKS)
    for number in range(BOLTS):
        last = topology.bolt(f"bolt-{number + 1}", Pass(), last.shuffle(), tasks=TASKS)
    return topology
