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
import socket, sys
with socket.create_connection((sys.argv[1], 7000), timeout=float(sys.argv[3])) as connection:
    connection.settimeout(None)
    connection.sendall(bytes(int(sys.argv[2])))
    connection.shutdown(socket.SHUT_WR)
    assert connection.recv(10) == b"all"
"""


class Pair:
    """Two nodes; the second listens."""

    def __init__(self, layout: Layout, network: NamespaceNetwork) -> None:
        self.network = network
        self.near, self.far = layout.nodes
        self.host_address = layout.host_address

    def send(self, size: int, *, patience_s: float = 60.0) -> bool:
        words = [sys.executable, "-c", SEND, self.far.address, str(size), str(patience_s)]
        done = subprocess.run(self.network.command_at(self.near, words), capture_output=True, check=False)
        return done.returncode == 0

    def seconds_for(self, size: int) -> float:
        began_s = time.monotonic()
        assert self.send(size)
        return time.monotonic() - began_s

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
    size = 1_000_000
    seconds = {}
    for rate_bits_per_s in (32_000_000, 4_000_000):
        # At the one end, and then at the other: a link is as fast as its slower end.
        pair.network.shape(pair.near, Shape(rate_bits_per_s=rate_bits_per_s))
        pair.network.shape(pair.far, Shape(rate_bits_per_s=32_000_000))
        seconds[rate_bits_per_s] = pair.seconds_for(size)
    pair.network.shape(pair.near, Shape())
    pair.network.shape(pair.far, Shape(rate_bits_per_s=4_000_000))
    received_s = pair.seconds_for(size)
    pair.network.shape(pair.far, Shape())
    free_s = pair.seconds_for(size)

    # Eight times in theory; the start of a process and what passes in one burst are the same for all.
    assert seconds[4_000_000] > 3 * seconds[32_000_000]
    assert received_s > 3 * seconds[32_000_000]
    assert free_s < seconds[4_000_000] / 3


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
