"""Real pairs of processes, over the transports that need nothing installed."""

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from bench.ipc import pair
from bench.ipc.control import EndError
from bench.ipc.netty import Netty
from bench.ipc.pair import Paced
from bench.ipc.pipe import Pipe
from bench.ipc.queue import Queue
from bench.ipc.transport import Transport
from tests.bench.failing_transports import Crashing, Forgetful, Refusing

PATIENCE_S = 60.0
ROOT = Path(__file__).parents[2]
BRIEF = Paced(size_bytes=1000, rate_per_s=2000, count=40, warm_up=10)


@pytest.fixture(autouse=True)
def nobody_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine is no reason to stop early."""
    monkeypatch.setattr(pair, "_GIVE_UP_NS", 10**15)


@pytest.mark.parametrize("transport", [Pipe(), Queue()], ids=lambda transport: transport.name)
def test_a_pair_measures_again_and_again(transport: Transport) -> None:
    assert transport.absence() is None
    with closing(transport.open()) as opened:
        for _ in range(2):
            measured = opened.latencies(BRIEF)
            assert len(measured.latencies_ns) == 40
            assert min(measured.latencies_ns) > 0
            assert opened.throughput_per_s(100_000, at_least_s=0.001) > 0


def test_what_cannot_keep_up_is_saturated() -> None:
    with closing(Pipe().open()) as opened:
        hopeless = Paced(size_bytes=1_000_000, rate_per_s=10_000_000, count=200, warm_up=10)
        assert opened.latencies(hopeless).saturated


def test_lost_messages_are_noticed() -> None:
    with (
        closing(Forgetful().open()) as opened,
        pytest.raises(EndError, match="50 messages of 1000 bytes were sent, 34 "),
    ):
        opened.latencies(BRIEF)


def test_an_end_that_cannot_open_says_why() -> None:
    with pytest.raises(EndError, match=r"refusing receiver failed: RuntimeError: no such pipe \(.*failing_transports"):
        Refusing().open()


def test_an_end_that_dies_is_named() -> None:
    with closing(Crashing().open()) as opened, pytest.raises(EndError, match="crashing sender died, exit code -9"):
        opened.latencies(BRIEF)


def test_an_end_whose_clock_is_another_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic_ns", lambda: 0)
    with pytest.raises(EndError, match="clocks of two processes differ"):
        Pipe().open()


def test_the_ends_die_with_the_benchmark() -> None:
    code = (
        "import sys, time\n"
        "from bench.ipc.pipe import Pipe\n"
        "if __name__ == '__main__':\n"
        "    pair = Pipe().open()\n"
        "    print(pair._receiver.pid, pair._sender.pid, flush=True)\n"
        "    time.sleep(1000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as benchmark:
        assert benchmark.stdout is not None
        ends = [os.pidfd_open(int(pid)) for pid in benchmark.stdout.readline().split()]
        benchmark.send_signal(signal.SIGKILL)
    assert len(ends) == 2
    for end in ends:
        assert select.select([end], [], [], PATIENCE_S)[0], "an end outlives the benchmark"
        os.close(end)


def test_netty_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert Netty().absence() == "no javac on the PATH"


@pytest.mark.skipif(Netty().absence() is not None, reason=str(Netty().absence()))
def test_netty_measures_with_both_ends_in_java() -> None:
    with closing(Netty().open()) as opened:
        for _ in range(2):
            measured = opened.latencies(BRIEF)
            assert len(measured.latencies_ns) == 40
            assert min(measured.latencies_ns) > 0
            assert opened.throughput_per_s(100_000, at_least_s=0.001) > 0
