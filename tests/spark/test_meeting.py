"""Tasks of one executor meet at a socket: in any order, with some that die, are of an older attempt or never come."""

import contextlib
import multiprocessing
import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import RunError
from penstock.spark import meeting
from penstock.spark.meeting import Meeting

# A child that was forked would close, with what it inherits of Py4J, the connection of the session of other tests.
SPAWN = multiprocessing.get_context("spawn")


def place() -> str:
    return f"penstock-test-{secrets.token_hex(8)}"


def gather(where: str, number: int, count: int, text: str, attempt: int | None = None) -> list[str]:
    return Meeting(where, number=number, count=count, attempt=number if attempt is None else attempt).gather(text)


@given(order=st.integers(1, 8).flatmap(lambda count: st.permutations(range(count))))
def test_everybody_is_told_what_everybody_told(order: Sequence[int]) -> None:
    where, count = place(), len(order)
    with ThreadPoolExecutor(max_workers=count) as tasks:
        told = [tasks.submit(gather, where, number, count, f"text {number} ✓") for number in order]
        wanted = [f"text {number} ✓" for number in range(count)]
        assert [one.result(timeout=60) for one in told] == [wanted] * count


def test_many_with_long_texts_meet() -> None:
    where, count = place(), 64
    with ThreadPoolExecutor(max_workers=count) as tasks:
        told = [tasks.submit(gather, where, number, count, f"{number}" * 10_000) for number in range(count)]
        assert all(one.result(timeout=60) == [f"{number}" * 10_000 for number in range(count)] for one in told)


def test_a_stage_can_meet_again_where_another_has_met() -> None:
    where = place()
    for text in ("first", "second"):
        with ThreadPoolExecutor(max_workers=2) as tasks:
            told = [tasks.submit(gather, where, number, 2, text) for number in range(2)]
            assert [one.result(timeout=60) for one in told] == [[text, text]] * 2


# ---- attempts


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> "Iterator[Attempts]":
    made = Attempts()
    send, host = meeting._send, Meeting._host

    def noted_send(connection: socket.socket, message: bytes) -> None:
        send(connection, message)
        made.come_by_thread[threading.get_ident()].set()

    def noted_host(self: Meeting, *how: Any) -> list[str]:
        made.come_by_thread[threading.get_ident()].set()
        return host(self, *how)

    monkeypatch.setattr(meeting, "_send", noted_send)
    monkeypatch.setattr(Meeting, "_host", noted_host)
    with made.tasks:
        yield made


class Attempts:
    """Tasks of several attempts at one place, in threads; of attempt n, ids begin at 4 n."""

    count = 4

    def __init__(self) -> None:
        self.where = place()
        self.tasks = ThreadPoolExecutor(max_workers=16)
        self.come_by_thread: dict[int, threading.Event] = {}
        """Set as soon as its task is the host, or has greeted it."""

    def come(self, attempt: int, *numbers: int) -> list["Task"]:
        """One after another: each is the host or has greeted it before the next comes."""
        return [self._come(attempt, number) for number in numbers]

    def _come(self, attempt: int, number: int) -> "Task":
        own = Meeting(self.where, number=number, count=self.count, attempt=self.count * attempt + number)
        has_come = threading.Event()

        def gather() -> list[str]:
            self.come_by_thread[threading.get_ident()] = has_come
            return own.gather(f"{attempt}.{number}")

        future = self.tasks.submit(gather)
        assert has_come.wait(60)
        return Task(own, future)


class Task(NamedTuple):
    meeting: Meeting
    told: "Future[list[str]]"


def assert_met(tasks: Sequence[Task], attempt: int) -> None:
    wanted = [f"{attempt}.{number}" for number in range(Attempts.count)]
    assert [one.told.result(timeout=60) for one in tasks] == [wanted] * Attempts.count


def assert_sent_away(tasks: Sequence[Task]) -> None:
    """Or they meet nobody any more, and wait: until Spark kills them, which nobody does here."""
    for one in tasks:
        one.meeting.call_off()
        with pytest.raises(RunError, match=r"is of an attempt of its stage that is over|it has failed"):
            one.told.result(timeout=60)


def test_a_new_attempt_finds_the_host_of_the_old_one(attempts: Attempts) -> None:
    old = attempts.come(0, 0, 1, 2)  # 3 has died
    assert_met(attempts.come(1, 0, 1, 2, 3), 1)
    assert_sent_away(old)


def test_the_one_that_the_old_attempt_misses_comes_first(attempts: Attempts) -> None:
    # Ids of one attempt are less than four apart: 7 cannot be of one attempt with 0, 1 and 2.
    old = attempts.come(0, 0, 1, 2)
    assert_met(attempts.come(1, 3, 2, 1, 0), 1)
    assert_sent_away(old)


def test_a_task_of_the_old_attempt_comes_late_to_the_new_one(attempts: Attempts) -> None:
    new = attempts.come(1, 0, 1)
    late = attempts.come(0, 1)
    assert_met([*new, *attempts.come(1, 2, 3)], 1)
    assert_sent_away(late)


def test_an_old_task_that_could_be_of_the_new_attempt_makes_room_for_its_successor(attempts: Attempts) -> None:
    host = attempts.come(1, 0)
    old = attempts.come(0, 3)  # with the id 3, and the host has 4
    assert_met([*host, *attempts.come(1, 3, 1, 2)], 1)
    assert_sent_away(old)


# ---- deaths and silence


def test_when_the_host_is_killed_the_others_meet_without_it() -> None:
    where = place()
    host = SPAWN.Process(target=die_with_a_guest, args=(where,))
    host.start()
    await_bound(where)
    with ThreadPoolExecutor(max_workers=2) as tasks:
        first = tasks.submit(gather, where, 1, 2, "guest")
        host.join()
        assert host.exitcode == -signal.SIGKILL
        assert gather(where, 0, 2, "anew") == first.result(timeout=60) == ["anew", "guest"]
    host.close()


def die_with_a_guest(where: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as own:
        own.bind(f"\0{where}")
        time.sleep(0.05)  # bound and not listening yet: a guest tries again
        own.listen()
        own.accept()
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("own", [0, 1])  # the host, and a guest
def test_it_can_be_called_off(attempts: Attempts, own: int) -> None:
    tasks = attempts.come(0, 0, 1)
    for one in (tasks[own], tasks[1 - own]):
        one.meeting.call_off()
        with pytest.raises(RunError, match="of this stage does not meet the others: it has failed"):
            one.told.result(timeout=60)
    with pytest.raises(RunError, match="it has failed"):
        tasks[own].meeting.gather("again")


def test_who_waits_in_vain_gives_up_and_says_for_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting, "PATIENCE_S", 0.05)
    with pytest.raises(RunError, match=r"task 1 waited 0\.05 s for tasks \[0, 2\] of its stage"):
        gather(place(), 1, 3, "alone")


@pytest.mark.parametrize("listens", [True, False])
def test_so_does_a_guest_whose_host_says_nothing(monkeypatch: pytest.MonkeyPatch, *, listens: bool) -> None:
    monkeypatch.setattr(meeting, "PATIENCE_S", 0.05)
    where = place()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.bind(f"\0{where}")
        if listens:
            silent.listen()
        with pytest.raises(RunError, match=r"task 1 waited 0\.05 s for tasks \[0, 2\] of its stage"):
            gather(where, 1, 3, "guest")


# ---- strangers


@pytest.mark.parametrize(
    "said", [b"", b"\xff\xff\xff\xff", b"\x03\x00\x00\x00abc", b"\x04\x00\x00\x00\x93\x09\x00\xa0"]
)
def test_who_makes_no_sense_is_not_heard(said: bytes) -> None:
    where = place()
    with ThreadPoolExecutor(max_workers=2) as tasks:
        host = tasks.submit(gather, where, 0, 2, "host")
        with connected(where) as stranger:
            stranger.sendall(said)
            stranger.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                assert stranger.recv(100) == b""
        guest = tasks.submit(gather, where, 1, 2, "guest")
        assert host.result(timeout=60) == guest.result(timeout=60) == ["host", "guest"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_not_heard() -> None:
    where = place()
    with ThreadPoolExecutor(max_workers=2) as tasks:
        host = tasks.submit(gather, where, 0, 2, "host")
        stranger = SPAWN.Process(target=speak_as_nobody, args=(where,))
        stranger.start()
        stranger.join()
        assert stranger.exitcode == 0
        stranger.close()
        guest = tasks.submit(gather, where, 1, 2, "guest")
        assert host.result(timeout=60) == guest.result(timeout=60) == ["host", "guest"]


def speak_as_nobody(where: str) -> None:
    os.setuid(65534)
    with connected(where) as own, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        own.sendall(b"\x0a\x00\x00\x00\x93\x01\x01\xa6forged")
        assert own.recv(100) == b""  # it may be closed before it is spoken to


def connected(where: str) -> socket.socket:
    deadline_s = time.monotonic() + 60
    while True:
        own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        own.settimeout(60)
        try:
            own.connect(f"\0{where}")
        except ConnectionRefusedError:
            own.close()
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.001)
        else:
            return own


def await_bound(where: str) -> None:
    deadline_s = time.monotonic() + 60
    while f"@{where}" not in Path("/proc/net/unix").read_text():
        assert time.monotonic() < deadline_s, "nobody is there"
        time.sleep(0.001)
