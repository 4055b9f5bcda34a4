"""How much of the machine's cores is in use, by whomever."""

from pathlib import Path

import msgspec


class CoreTimes(msgspec.Struct, frozen=True, kw_only=True):
    """What all cores together have done since the machine was started, in ticks of its clock."""

    busy: int
    idle: int

    @classmethod
    def now(cls) -> "CoreTimes":
        """As the kernel counts."""
        return cls.of(Path("/proc/stat").read_text())

    @classmethod
    def of(cls, text: str) -> "CoreTimes":
        """Of the text of /proc/stat."""
        user, nice, system, idle, waiting, *interrupts = map(int, text.split("\n", 1)[0].split()[1:9])
        return cls(busy=user + nice + system + sum(interrupts), idle=idle + waiting)

    def share_since(self, earlier: "CoreTimes") -> float:
        """Which part of the time since then the cores were busy; 1 is all of them."""
        busy, idle = self.busy - earlier.busy, self.idle - earlier.idle
        return busy / max(1, busy + idle)
