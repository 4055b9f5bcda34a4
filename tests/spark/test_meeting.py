"""Tasks of one executor meet at a socket: in any order, with one that dies, comes twice or never comes."""

import contextlib
import multiprocessing
import os
import secrets
import signal
import socket
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import RunError
from penstock.spark import meeting
from penstock.spark.meeting import all_texts, meet

# A child that was forked would close, with what it inherits of Py4J, the connection of the session of other tests.
SPAWN = multiprocessing.get_context("spawn")


def place() -> str:
    return f"penstock-test-{secrets.token_hex(8)}"


@given(order=st.integers(1, 8).flatmap(lambda count: st.permutations(range(count))))
def test_everybody_is_told_what_everybody_told(order: Sequence[int]) -> None:
    where, count = place(), len(order)
    with ThreadPoolExecutor(max_workers=count) as tasks:
        told = [tasks.submit(meet, where, number, count, f"text {number} ✓") for number in order]
        wanted = [f"text {number} ✓" for number in range(count)]
        assert [one.result(timeout=60) for one in told] == [wanted] * count


def test_many_with_long_texts_meet() -> None:
    where, count = place(), 64
    with ThreadPoolExecutor(max_workers=count) as tasks:
        told = [tasks.submit(meet, where, number, count, f"{number}" * 400) for number in range(count)]
        assert all(one.result(timeout=60) == [f"{number}" * 400 for number in range(count)] for one in told)


def test_a_stage_can_meet_again_where_another_has_met() -> None:
    where = place()
    for text in ("first", "second"):
        with ThreadPoolExecutor(max_workers=2) as tasks:
            told = [tasks.submit(meet, where, number, 2, text) for number in range(2)]
            assert [one.result(timeout=60) for one in told] == [[text, text]] * 2


def test_when_the_host_is_killed_the_others_fail_at_once() -> None:
    where = place()
    host = SPAWN.Process(target=die_with_a_guest, args=(where,))
    host.start()
    await_bound(where)
    with pytest.raises(RunError, match="went away before all had met"):
        meet(where, 1, 3, "guest")
    host.join()
    assert host.exitcode == -signal.SIGKILL
    host.close()


def die_with_a_guest(where: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as own:
        own.bind(f"\0{where}")
        time.sleep(0.05)  # bound and not listening yet: a guest tries again
        own.listen()
        own.accept()
        os.kill(os.getpid(), signal.SIGKILL)


def await_bound(where: str) -> None:
    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s:
        if f"@{where}" in Path("/proc/net/unix").read_text():
            return
        time.sleep(0.001)
    pytest.fail("nobody has become the host")


def test_a_number_that_comes_twice_ends_the_meeting_for_all() -> None:
    where = place()
    with ThreadPoolExecutor(max_workers=2) as tasks:
        told = [tasks.submit(meet, where, 1, 3, "both") for _ in range(2)]
        errors = [str(one.exception(timeout=60)) for one in told]
    assert sorted(errors) == [
        "a task of this stage went away before all had met",
        "task 1 of this stage came twice: an attempt that was given up still runs",
    ]


def test_who_waits_in_vain_gives_up_and_says_for_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting, "PATIENCE_S", 0.05)
    with pytest.raises(RunError, match=r"task 1 waited 0\.05 s for tasks \[0, 2\] of its stage"):
        meet(place(), 1, 3, "alone")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_another_user_is_not_heard() -> None:
    where = place()
    with ThreadPoolExecutor(max_workers=2) as tasks:
        host = tasks.submit(meet, where, 0, 2, "host")
        await_bound(where)
        stranger = SPAWN.Process(target=speak_as_nobody, args=(where,))
        stranger.start()
        stranger.join()
        assert stranger.exitcode == 0
        stranger.close()
        guest = tasks.submit(meet, where, 1, 2, "guest")
        assert host.result(timeout=60) == guest.result(timeout=60) == ["host", "guest"]


def connect(own: socket.socket, where: str) -> None:
    """As soon as somebody listens there, which is a moment after it is bound."""
    deadline_s = time.monotonic() + 60
    while True:
        try:
            return own.connect(f"\0{where}")
        except ConnectionRefusedError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.001)


def speak_as_nobody(where: str) -> None:
    os.setuid(65534)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as own:
        connect(own, where)
        own.settimeout(60)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may be closed before it is spoken to
            own.sendall(msgspec.msgpack.encode((1, "forged")))
            assert own.recv(100) == b""


class Info:
    def __init__(self, address: str) -> None:
        self.address = address


class Context:
    """As much of Spark's as a meeting uses: its own gathering is taken on several executors only."""

    def __init__(self, number: int, *executors: str) -> None:
        self._number = number
        self._executors = executors

    def getTaskInfos(self) -> list[Info]:
        return [Info(address) for address in self._executors]

    def partitionId(self) -> int:
        return self._number

    def allGather(self, text: str) -> list[str]:
        return [f"{text} by Spark"]


def test_tasks_of_several_executors_meet_by_spark() -> None:
    assert all_texts(Context(0, "a:1", "b:1"), place(), "text") == ["text by Spark"]
    assert all_texts(Context(0, "a:1", "a:2"), place(), "text") == ["text by Spark"]


def test_tasks_of_one_executor_meet_without_spark() -> None:
    where = place()
    with ThreadPoolExecutor(max_workers=2) as tasks:
        told = [tasks.submit(all_texts, Context(number, "a:1", "a:1"), where, f"{number}") for number in range(2)]
        assert [one.result(timeout=60) for one in told] == [["0", "1"]] * 2
    assert all_texts(Context(0, "a:1"), place(), "alone") == ["alone"]
