"""From stacks, as py-spy writes them, to who is at work. No measuring here."""

import re
from collections import Counter
from collections.abc import Iterable

KERNEL = "kernel: sleep and wake"
USER = "your code"
NATIVE = "native core"
PYTHON = "Penstock in Python"
MSGSPEC = "msgspec"
OTHER = "other"

CATEGORIES = (USER, NATIVE, PYTHON, MSGSPEC, KERNEL, OTHER)

_FRAME = re.compile(r"^(?P<name>.*) \((?P<place>[^()]*)\)$")
_SYSTEM_CALLS = frozenset({"syscall", "poll", "epoll_wait", "clock_nanosleep", "select", "read", "write", "__poll"})
_NEUTRAL = ("libpython", "libc.so", "libstdc++", "ld-linux", "python3", "libm.so", "libpthread")
"""Libraries that work for whoever has called them."""


def who(stack: str, user_file: str) -> str:
    """The category of one stack, outermost frame first: that of its innermost frame which says anything."""
    for frame in reversed(stack.split(";")):
        found = _FRAME.match(frame)
        if found is None:
            continue
        name, place = found["name"], found["place"]
        if name in _SYSTEM_CALLS and "libc" in place:
            return KERNEL
        if "_native" in place:
            return NATIVE
        if "msgspec" in place:
            return MSGSPEC
        if place.startswith(user_file):
            return USER
        if place.startswith("penstock/"):
            return PYTHON
        if any(library in place for library in _NEUTRAL):
            continue
        if ".py:" in place:
            return OTHER
    return OTHER


def shares(lines: Iterable[str], user_file: str, thread: str) -> dict[str, float]:
    """Of the samples of a thread, which has a frame of that name, how much each category has."""
    counted: Counter[str] = Counter()
    for line in lines:
        stack, _, samples = line.rstrip("\n").rpartition(" ")
        if thread in stack:
            counted[who(stack, user_file)] += int(samples)
    total = sum(counted.values())
    return {category: counted[category] / total for category in CATEGORIES} if total else {}
