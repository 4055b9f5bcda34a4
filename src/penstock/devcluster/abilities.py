"""What this machine lets us have: namespaces, rates, delays. Found by trying, in a namespace that ends with the try."""

from __future__ import annotations

import shutil

import msgspec

from penstock.devcluster.commands import trouble_with
from penstock.devcluster.settings import DevClusterSettings, Shape
from penstock.errors import DevClusterError

__all__ = ["Abilities", "probe"]

_IN_PASSING = ("unshare", "--net", "--mount", "--")


class Abilities(msgspec.Struct, frozen=True, kw_only=True):
    """For each thing, None if it can be had, else why not."""

    no_namespaces: str | None = None
    no_rates: str | None = None
    no_delays: str | None = None

    @classmethod
    def without_namespaces(cls, why: str) -> Abilities:
        """A machine where there are none, or where they are not used: then there is nothing to shape either."""
        return cls(no_namespaces=why, no_rates=why, no_delays=why)

    def network_for(self, settings: DevClusterSettings) -> str:
        """Which kind of network there will be. DevClusterError if one was asked for by name and cannot be had."""
        if settings.network == "namespaces" and self.no_namespaces is not None:
            message = f"network='namespaces' was asked for, and cannot be had: {self.no_namespaces}"
            raise DevClusterError(message)
        if settings.network == "auto":
            return "loopback" if self.no_namespaces is not None else "namespaces"
        return settings.network

    def shape_for(self, wanted: Shape) -> Shape:
        """What can be had of a shape."""
        return Shape(
            rate_bits_per_s=None if self.no_rates is not None else wanted.rate_bits_per_s,
            delay_s=None if self.no_delays is not None else wanted.delay_s,
        )

    def lacking(self, settings: DevClusterSettings) -> list[str]:
        """A sentence for each thing that was asked for and will be missing."""
        found = []
        if settings.network == "auto" and self.no_namespaces is not None:
            found.append(
                f"nodes are loopback addresses and not network namespaces, so they cannot be cut off or slowed: "
                f"{self.no_namespaces}"
            )
        if settings.rate_bits_per_s is not None and self.no_rates is not None:
            found.append(f"links have no rate limit: {self.no_rates}")
        if settings.delay_s is not None and self.no_delays is not None:
            found.append(f"links have no delay: {self.no_delays}")
        return found


def probe() -> Abilities:
    """Tries everything once. Leaves nothing behind, whatever happens: the kernel removes the namespace."""
    missing = [command for command in ("unshare", "ip", "tc") if shutil.which(command) is None]
    if missing:
        packages = "util-linux iproute2" if "unshare" in missing else "iproute2"
        why = f"no command {' or '.join(missing)} is on the PATH (on Debian: apt-get install {packages})"
        return Abilities.without_namespaces(why)
    link = ["ip", "link", "add", "probe0", "type"]
    for what, command in {
        "a network namespace": ["true"],
        "a bridge": [*link, "bridge"],
        "a pair of virtual links": [*link, "veth", "peer", "name", "probe1"],
    }.items():
        if (trouble := trouble_with([*_IN_PASSING, *command])) is not None:
            return Abilities.without_namespaces(f"{what} cannot be made ({trouble}); it takes root")
    return Abilities(
        no_rates=_no_queue("tbf", "rate", "1mbit", "burst", "10kb", "limit", "10kb"),
        no_delays=_no_queue("netem", "delay", "1ms"),
    )


def _no_queue(kind: str, *options: str) -> str | None:
    trouble = trouble_with([*_IN_PASSING, "tc", "qdisc", "add", "dev", "lo", "root", kind, *options])
    return None if trouble is None else f"this kernel has no {kind} ({trouble})"
