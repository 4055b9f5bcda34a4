"""How traffic is shaped: a shape in, arguments of `tc` out.

A rate holds in both directions, so it is set at both ends of a node's cable, each of which shapes what it sends. A
delay is set at the node's end alone: what a node sends is late once, wherever it goes.
"""

from __future__ import annotations

from penstock.devcluster.settings import Shape

__all__ = ["queue_commands"]

# What may be sent at once. Below a few packets nothing would pass; with much more, a message that fits into it would
# take no time at all.
_LEAST_BURST_BYTES = 4 * 1514
_BURST_S = 0.001
# What may wait: as much as a switch would hold. Beyond it packets are dropped, and TCP slows down.
_LEAST_QUEUE_BYTES = 32 * 1514
_QUEUE_S = 0.05
# netem drops what exceeds its own queue, which has to hold all that is under way.
_PACKETS_UNDER_WAY = 100_000


def queue_commands(device: str, shape: Shape, *, at_node: bool) -> list[list[str]]:
    """What `tc` has to be called with, one after another, for a device whose queue is "noqueue"."""
    delayed = at_node and shape.delay_s is not None
    commands = []
    parent = ["root"]
    if delayed:
        assert shape.delay_s is not None
        microseconds = max(1, round(shape.delay_s * 1e6))
        delay = ["netem", "delay", f"{microseconds}us", "limit", str(_PACKETS_UNDER_WAY)]
        commands.append(["qdisc", "replace", "dev", device, "root", "handle", "1:", *delay])
        parent = ["parent", "1:1"]
    if shape.rate_bits_per_s is not None:
        commands.append(["qdisc", "replace", "dev", device, *parent, "handle", "2:", *_bucket(shape.rate_bits_per_s)])
    return commands


def _bucket(rate_bits_per_s: int) -> list[str]:
    bytes_per_s = rate_bits_per_s / 8
    burst = max(_LEAST_BURST_BYTES, round(bytes_per_s * _BURST_S))
    queue = max(_LEAST_QUEUE_BYTES, round(bytes_per_s * _QUEUE_S))
    # The limit counts what waits, including what the next burst will take.
    return ["tbf", "rate", f"{rate_bits_per_s}bit", "burst", f"{burst}b", "limit", f"{burst + queue}b"]
