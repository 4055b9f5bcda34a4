"""What the last operator notes of each line, in whichever process it is: what is in the line, and when it came.

A line is made of stamps, such as `sent_ns=1700000000000000000 n=17`, to which whoever passes it on may add more.
"""

import time
from collections.abc import Iterable
from pathlib import Path

Stamps = dict[str, int]

_FILE = "arrivals"


def note(folder: str, lines: Iterable[str]) -> None:
    """Notes that these have come just now. A small write to the page cache: microseconds."""
    now_ns = time.time_ns()
    with Path(folder, _FILE).open("a") as file:
        file.write("".join(f"{line} arrived_ns={now_ns}\n" for line in lines))


def noted(folder: str) -> dict[int, Stamps]:
    """All that have come, by number. If one came twice, as at least once it may, the first time counts."""
    file = Path(folder, _FILE)
    found: dict[int, Stamps] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        stamps = {name: int(value) for name, value in (part.split("=") for part in line.split(" "))}
        found.setdefault(stamps["n"], stamps)
    return found


def sent_between(found: dict[int, Stamps], begin_ns: int, end_ns: int) -> list[Stamps] | None:
    """Those that were sent in this time; None if there may be others that are still on their way.

    Numbers have no gaps, so that no line is left out for being slow.
    """
    inside = [stamps for stamps in found.values() if begin_ns <= stamps["sent_ns"] < end_ns]
    if not inside or not any(stamps["sent_ns"] >= end_ns for stamps in found.values()):
        return None
    numbers = [stamps["n"] for stamps in inside]
    return inside if max(numbers) - min(numbers) + 1 == len(numbers) else None
