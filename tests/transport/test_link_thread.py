"""The thread behind a link: what it does without the interpreter, and how it ends."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from penstock import _native
from penstock.transport import link_thread, links
from penstock.transport.links import LinkKeys
from penstock.transport.ring import RingWriter
from tests.ring.nursery import Nursery
from tests.ring.patience import wait_until
from tests.transport import link_scenes
from tests.transport.linked import fill, read, receiving, send, sending


@pytest.fixture
def keys() -> LinkKeys:
    return LinkKeys.make()


def status_of_link_threads() -> Iterator[dict[str, str]]:
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # another one, which has just ended
            status = dict(re.findall(r"^(\w+):\t(.*)$", (task / "status").read_text(), re.MULTILINE))
            if status["Name"] == "penstock-link":
                yield status


@pytest.mark.usefixtures("thread_in_cpp")
def test_frames_reach_the_ring_and_peers_get_in_while_the_interpreter_is_busy(keys: LinkKeys, nursery: Nursery) -> None:
    child = nursery.fork(link_scenes.receive_while_the_interpreter_is_busy, keys)
    address, endpoint = child.receive()
    frames = [b"small", bytes(100_000), b"last"]
    with RingWriter.attach(address) as onlooker:
        child.channel.send("go")
        assert child.receive() == "busy"
        with sending(endpoint, keys) as sender:
            send(sender, *frames)
            wait_until(lambda: onlooker.counters().records_written == len(frames), "all frames in the ring")
            os.write(child.channel.fileno(), b"x")
    assert child.receive() == frames
    assert child.wait() == 0


@pytest.mark.usefixtures("both_ways")
def test_sender_that_is_killed_leaves_whole_frames_and_the_next_gets_through(keys: LinkKeys, nursery: Nursery) -> None:
    with receiving(keys, capacity_bytes=1 << 14) as (ring, receiver):
        child = nursery.fork(link_scenes.send_numbers, receiver.endpoint, keys)
        assert child.receive() == "begins"
        arrived = read(ring, 200)
        assert child.kill() == -signal.SIGKILL
        with sending(receiver.endpoint, keys) as sender:
            send(sender, b"after")
            while arrived[-1] != b"after":
                arrived += read(ring, 1)
        assert arrived == [number.to_bytes(4, "little") * 100 for number in range(len(arrived) - 1)] + [b"after"]
        assert (receiver.refused_frames, receiver.lost_frames, receiver.error) == (0, 0, None)


@pytest.mark.usefixtures("thread_in_cpp")
def test_full_ring_is_waited_for_in_the_kernel(keys: LinkKeys) -> None:
    with receiving(keys, capacity_bytes=1 << 12) as (ring, receiver), sending(receiver.endpoint, keys) as sender:
        fill(ring, sender)

        def times_asleep() -> int:
            (thread,) = status_of_link_threads()
            return int(thread["voluntary_ctxt_switches"])

        before = times_asleep()
        wait_until(lambda: times_asleep() > before + 3, "the thread sleeps, and looks around")
        assert ring.counters().full_waits == 1  # the frame's, however often it is tried


@pytest.mark.usefixtures("both_ways")
def test_forked_child_has_no_link_and_the_parent_keeps_its_own(keys: LinkKeys, nursery: Nursery) -> None:
    scene = nursery.fork(link_scenes.receive_around_a_fork, keys)
    assert scene.receive() == (0, "RingClosedError", 1)
    assert scene.receive() == (0, [b"before", b"after"], None)
    assert scene.wait() == 0


@pytest.mark.usefixtures("thread_in_cpp")
def test_thread_leaves_all_signals_to_others(keys: LinkKeys) -> None:
    with receiving(keys):
        assert not [thread for thread in threading.enumerate() if thread.name == "penstock-link"]
        (status,) = status_of_link_threads()
        wanted = {signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGUSR1, signal.SIGALRM}
        assert {number for number in wanted if int(status["SigBlk"], 16) >> (number - 1) & 1} == wanted
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.parametrize("forgotten", ["receiver = None", "cycle = [receiver]; cycle += [cycle]; del receiver, cycle"])
def test_forgotten_link_ends_its_thread(forgotten: str) -> None:
    process_ends(
        f"{forgotten}\n"
        "gc.collect()\n"
        "while any((task / 'comm').read_text() == 'penstock-link\\n' for task in Path('/proc/self/task').iterdir()):\n"
        "    pass\n"
    )


def test_process_that_forgets_its_link_ends() -> None:
    process_ends("")


def process_ends(script: str) -> None:
    """Runs it in a process of its own that has a receiver."""
    scene = (
        "import gc\n"
        "from pathlib import Path\n"
        "from penstock.transport.links import LinkKeys, LinkReceiver\n"
        "from penstock.transport.ring import RingReader, RingSettings\n"
        "ring = RingReader.create(RingSettings(capacity_bytes=1 << 14))\n"
        "address = ring.address\n"
        "receiver = LinkReceiver(host='127.0.0.1', ring_address=address, keys=LinkKeys.make(), high_water_frames=10)\n"
    )
    ended = subprocess.run([sys.executable, "-c", scene + script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("library", "complaint"),
    [("/nowhere/libzmq.so", "not loaded: /nowhere/libzmq.so"), (_native.__file__, "no such function: zmq_errno")],
)
def test_functions_of_zeromq_that_are_not_there(library: str, complaint: str) -> None:
    with pytest.raises(RuntimeError, match=complaint):
        _native.ZeroMq(library)


def test_thread_is_of_python_where_zeromq_is_out_of_reach(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    find = link_thread._zeromq_of_pyzmq.__wrapped__
    assert find() is not None
    caplog.set_level(logging.INFO)
    with monkeypatch.context() as patch:
        patch.setattr(zmq, "zmq_version_info", lambda: (3, 2, 1))
        assert find() is None
    for unusual in (LinkKeys, int):  # a class that is no extension's, and one that is in no file
        with monkeypatch.context() as patch:
            patch.setattr(zmq.backend, "Socket", unusual)
            assert find() is None
    reasons = [record.message.partition("out of reach: ")[2] for record in caplog.records]
    assert reasons[0].startswith("libzmq version wanted=(3, 2, 1) got=(4, ")
    assert reasons[1:] == [f"not loaded: {links.__file__}", "not loaded: None"]
