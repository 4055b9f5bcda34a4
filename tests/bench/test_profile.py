"""Whose a sample of a worker is."""

import pytest

from bench.profile.stacks import KERNEL, MSGSPEC, NATIVE, OTHER, PYTHON, USER, shares, who

FILE = "bench/profile/topologies.py"
AGENT = "_Agent._turn (penstock/control/agent.py:168)"
NATIVE_FRAME = "0x7f551b04c2f3 (_native.cpython-311-x86_64-linux-gnu.so)"


@pytest.mark.parametrize(
    ("frames", "category"),
    [
        ([AGENT, "Count.process (bench/profile/topologies.py:133)"], USER),
        (
            [AGENT, NATIVE_FRAME, "Count.process (bench/profile/topologies.py:1)", "dict_get (libpython3.11.so.1.0)"],
            USER,
        ),
        ([AGENT, NATIVE_FRAME], NATIVE),
        ([AGENT, NATIVE_FRAME, "PyUnicode_New (libpython3.11.so.1.0)", "malloc (libc.so.6)"], NATIVE),
        ([AGENT, "FrameOpener.open (penstock/worker/frame_opener.py:67)", "mpack_decode (msgspec/_core.so)"], MSGSPEC),
        ([AGENT, "Lane.flush (penstock/worker/lanes.py:156)", "PyObject_Call (libpython3.11.so.1.0)"], PYTHON),
        ([AGENT, NATIVE_FRAME, "syscall (libc.so.6)"], KERNEL),
        ([AGENT, "select (selectors.py:468)"], OTHER),
        (["no frame at all"], OTHER),
    ],
)
def test_a_sample_is_that_of_its_innermost_frame_that_says_anything(frames: list[str], category: str) -> None:
    assert who(";".join(frames), FILE) == category


def test_shares_are_of_the_thread_that_works() -> None:
    lines = [
        f"{AGENT};Count.process (bench/profile/topologies.py:133) 30",
        f"{AGENT};{NATIVE_FRAME} 10",
        "Thread.run (threading.py:982);poll (libc.so.6) 500",
    ]
    found = shares(lines, FILE, "_Agent._turn")
    assert (found[USER], found[NATIVE], sum(found.values())) == (0.75, 0.25, 1.0)
    assert shares([], FILE, "_Agent._turn") == {}
