"""Addresses, names, and the commands that make them so."""

from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from penstock.devcluster.layout import free_block, loopback_layout, namespace_layout
from penstock.devcluster.namespaces import NamespaceNetwork, build_commands, hosts_file
from penstock.devcluster.settings import MOST_NODES, Shape
from penstock.devcluster.shaping import queue_commands
from penstock.errors import DevClusterError

BLOCK = IPv4Network("198.18.3.0/24")
LONGEST_DEVICE_NAME = 15


@pytest.mark.parametrize("lay_out", [namespace_layout, loopback_layout])
def test_everybody_has_an_address_of_their_own_in_the_block(lay_out: type) -> None:
    layout = lay_out("0a1b2c3d", MOST_NODES, BLOCK)
    addresses = [layout.host_address, *(node.address for node in layout.nodes)]

    assert len(set(addresses)) == MOST_NODES + 1
    assert all(IPv4Address(address) in BLOCK for address in addresses)
    assert [node.number for node in layout.nodes] == list(range(MOST_NODES))


def test_names_hold_the_id_and_are_short_enough_for_the_kernel() -> None:
    layout = namespace_layout("0a1b2c3d", MOST_NODES, BLOCK)
    devices = [layout.bridge, *(node.link for node in layout.nodes)]
    names = [*devices, *(node.namespace for node in layout.nodes)]

    assert all("0a1b2c3d" in str(name) for name in names)
    assert len(set(names)) == len(names)
    assert all(len(str(name)) <= LONGEST_DEVICE_NAME for name in devices)


def test_the_first_block_that_nobody_has_is_taken() -> None:
    first = free_block([], loopback=False)
    taken = [first, IPv4Network("198.18.1.7/32"), IPv4Network("10.0.0.0/8")]

    assert first == IPv4Network("198.18.0.0/24")
    assert free_block(taken, loopback=False) == IPv4Network("198.18.2.0/24")
    assert free_block(taken, loopback=True) == IPv4Network("127.18.0.0/24")


def test_when_all_blocks_are_taken_that_is_said() -> None:
    with pytest.raises(DevClusterError, match=r"no network is free in 198\.18\.0\.0/15"):
        free_block([IPv4Network("198.16.0.0/12")], loopback=False)


def test_the_commands_that_build_a_network() -> None:
    commands = [" ".join(command) for command in build_commands(namespace_layout("0a1b2c3d", 1, BLOCK))]

    assert commands == [
        "ip link add name pk0a1b2c3d type bridge forward_delay 0 stp_state 0",
        "ip address add 198.18.3.1/24 dev pk0a1b2c3d",
        "ip link set dev pk0a1b2c3d up",
        "ip netns add penstock-0a1b2c3d-0",
        "ip link add name pk0a1b2c3d-0 type veth peer name eth0 netns penstock-0a1b2c3d-0",
        "ip link set dev pk0a1b2c3d-0 master pk0a1b2c3d up",
        "ip -netns penstock-0a1b2c3d-0 address add 198.18.3.10/24 dev eth0",
        "ip -netns penstock-0a1b2c3d-0 link set dev eth0 up",
        "ip -netns penstock-0a1b2c3d-0 link set dev lo up",
    ]


def test_a_command_at_a_node_runs_in_its_namespace() -> None:
    layout = namespace_layout("0a1b2c3d", 1, BLOCK)
    command = NamespaceNetwork(layout, Path("/folder")).command_at(layout.nodes[0], ["true", "--really"])

    assert command[:4] == ["ip", "netns", "exec", "penstock-0a1b2c3d-0"]
    assert command[-4:] == ["/folder/hosts", "node-0", "true", "--really"]


def test_nodes_know_each_other_by_name() -> None:
    assert hosts_file(namespace_layout("0a1b2c3d", 2, BLOCK)).splitlines() == [
        "127.0.0.1 localhost",
        "198.18.3.10 node-0",
        "198.18.3.11 node-1",
    ]


def test_what_has_no_shape_has_no_queue() -> None:
    assert queue_commands("eth0", Shape(), at_node=True) == []


def test_a_rate_is_set_at_both_ends_of_a_cable() -> None:
    shape = Shape(rate_bits_per_s=10**9)
    wanted = "qdisc replace dev eth0 root handle 2: tbf rate 1000000000bit burst 125000b limit 6375000b"

    for at_node in (True, False):
        assert [" ".join(command) for command in queue_commands("eth0", shape, at_node=at_node)] == [wanted]


def test_a_slow_rate_still_lets_whole_packets_through() -> None:
    (command,) = queue_commands("eth0", Shape(rate_bits_per_s=8000), at_node=False)
    burst = int(command[command.index("burst") + 1].removesuffix("b"))
    limit = int(command[command.index("limit") + 1].removesuffix("b"))

    assert burst > 1514
    assert limit > burst


def test_a_delay_is_set_at_the_node_alone_and_the_rate_within_it() -> None:
    shape = Shape(rate_bits_per_s=10**6, delay_s=0.0001)
    delay, rate = queue_commands("eth0", shape, at_node=True)

    assert " ".join(delay) == "qdisc replace dev eth0 root handle 1: netem delay 100us limit 100000"
    assert " ".join(rate).startswith("qdisc replace dev eth0 parent 1:1 handle 2: tbf rate 1000000bit ")
    assert len(queue_commands("link", shape, at_node=False)) == 1
    assert queue_commands("link", Shape(delay_s=0.1), at_node=False) == []
