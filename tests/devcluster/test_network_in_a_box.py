"""What the network between nodes does, without Spark: who reaches whom, and how fast."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from penstock.devcluster.abilities import probe
from penstock.devcluster.layout import Layout, free_block, namespace_layout
from penstock.devcluster.namespaces import NamespaceNetwork, networks_of_this_machine, remove_namespaces
from penstock.devcluster.settings import Shape
from tests.devcluster.leftovers import leftovers
from tests.ring.patience import wait_until

pytestmark = pytest.mark.box

LISTEN = """
import socket
with socket.create_server(("0.0.0.0", 7000)) as server:
    print("listening", flush=True)
    while True:
        connection, _ = server.accept()
        with connection:
            while connection.recv(1 << 20):
                pass
            connection.sendall(b"all")
"""
SEND = """
import socket, sys, time
with socket.create_connection((sys.argv[1], 7000), timeout=float(sys.argv[3])) as connection:
    connection.settimeout(None)
    began_s = time.monotonic()
    connection.sendall(bytes(int(sys.argv[2])))
    connection.shutdown(socket.SHUT_WR)
    assert connection.recv(10) == b"all"
    print(time.monotonic() - began_s)
"""


class Pair:
    """Two nodes; the second listens."""

    def __init__(self, layout: Layout, network: NamespaceNetwork) -> None:
        self.network = network
        self.near, self.far = layout.nodes
        self.host_address = layout.host_address

    def send(self, size: int, *, patience_s: float = 60.0) -> bool:
        return self._send(size, patience_s).returncode == 0

    def seconds_for(self, size: int) -> float:
        """From when it wants to connect until it has the answer, and some more."""
        began_s = time.monotonic()
        assert self.send(size)
        return time.monotonic() - began_s

    def transfer_s(self, size: int) -> float:
        """From when it is connected until it has the answer: the start of a process is no part of it."""
        done = self._send(size, patience_s=60.0)
        assert done.returncode == 0, done.stderr
        return float(done.stdout)

    def _send(self, size: int, patience_s: float) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", SEND, self.far.address, str(size), str(patience_s)]
        return subprocess.run(self.network.command_at(self.near, words), capture_output=True, text=True, check=False)

    def output_at_near(self, *words: str) -> str:
        command = self.network.command_at(self.near, words)
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    if (trouble := probe().no_namespaces) is not None:
        pytest.skip(f"no network namespaces here: {trouble}")
    layout = namespace_layout("7e57ab1e", 2, _block())
    network = NamespaceNetwork(layout, tmp_path)
    try:
        network.build()
        listener = network.command_at(layout.nodes[1], [sys.executable, "-c", LISTEN])
        with subprocess.Popen(listener, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == "listening\n"
            yield Pair(layout, network)
            server.kill()
    finally:
        remove_namespaces(layout)
    assert leftovers(layout.cluster) == []


def _block() -> IPv4Network:
    return free_block(networks_of_this_machine(), loopback=False)


def test_a_node_that_is_cut_off_cannot_be_reached_until_it_rejoins(pair: Pair) -> None:
    assert pair.send(1000)
    pair.network.cut_off(pair.near)
    assert not pair.send(1000, patience_s=0.5)
    pair.network.rejoin(pair.near)
    assert pair.send(1000)


def test_a_rate_makes_a_transfer_slower_by_as_much(pair: Pair) -> None:
    if (trouble := probe().no_rates) is not None:
        pytest.skip(trouble)
    size, fast, slow = 1_000_000, 32_000_000, 4_000_000

    def least_s(rate_bits_per_s: int) -> float:
        """What no machine can be below, however fast: nearly all of it passes at this rate, and not in one burst."""
        return 0.8 * 8 * size / rate_bits_per_s

    def is_no_longer_slow() -> bool:
        """In one try of many: a busy machine may be late at each, and not by so much at all of them."""
        return pair.transfer_s(size) < least_s(slow) / 2

    # At the one end, and then at the other: a link is as fast as its slower end.
    for near, far in ((slow, fast), (None, slow)):
        pair.network.shape(pair.near, Shape(rate_bits_per_s=near))
        pair.network.shape(pair.far, Shape(rate_bits_per_s=far))
        assert pair.transfer_s(size) >= least_s(slow)
    pair.network.shape(pair.near, Shape(rate_bits_per_s=fast))
    pair.network.shape(pair.far, Shape(rate_bits_per_s=fast))
    assert pair.transfer_s(size) >= least_s(fast)
    wait_until(is_no_longer_slow, "a transfer at the greater rate")
    pair.network.shape(pair.near, Shape(rate_bits_per_s=slow))
    pair.network.shape(pair.near, Shape())
    pair.network.shape(pair.far, Shape())
    wait_until(is_no_longer_slow, "a transfer at no rate at all")


def test_a_delay_makes_an_answer_later(pair: Pair) -> None:
    if (trouble := probe().no_delays) is not None:
        pytest.skip(trouble)
    delay_s = 0.2
    pair.network.shape(pair.near, Shape(delay_s=delay_s))
    # To connect takes one delay, what is sent then another; only those of one direction.
    assert pair.seconds_for(1) / delay_s >= 2


def test_a_node_has_a_name_of_its_own_and_knows_the_others(pair: Pair) -> None:
    ask = "import socket; print(socket.gethostname(), socket.gethostbyname('node-1'))"
    here = Path("/etc/hosts").read_text()

    assert pair.output_at_near(sys.executable, "-c", ask) == f"node-0 {pair.far.address}"
    assert Path("/etc/hosts").read_text() == here
