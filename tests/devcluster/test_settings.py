"""What can be asked of a cluster in a box."""

from typing import Any

import pytest

from penstock.devcluster.abilities import Abilities
from penstock.devcluster.settings import DevClusterSettings, Shape
from penstock.errors import DevClusterError


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"nodes": 0}, r"nodes must be from 1 to 99, got 0"),
        ({"nodes": 100}, r"nodes must be from 1 to 99, got 100"),
        ({"slots_per_node": 0}, r"slots_per_node must be at least 1, got 0"),
        ({"executor_memory_mib": 100}, r"executor_memory_mib must be at least 450.*got 100"),
        ({"rate_bits_per_s": 10}, r"rate_bits_per_s must be at least 8000, got 10"),
        ({"delay_s": 0.0}, r"delay_s must be above 0 and at most 60, got 0.0"),
        ({"delay_s": float("nan")}, r"delay_s must be above 0 and at most 60, got nan"),
        ({"lost_after_s": 0.0}, r"lost_after_s must be above zero, got 0.0"),
    ],
)
def test_wrong_settings_are_refused_with_what_was_wanted(wrong: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        DevClusterSettings(**wrong)


EVERYTHING = Abilities()
NO_DELAYS = Abilities(no_delays="this kernel has no netem")
NOTHING = Abilities.without_namespaces("it takes root")
SHAPED = DevClusterSettings(rate_bits_per_s=10**9, delay_s=0.001)


def test_where_everything_can_be_had_nothing_is_lacking() -> None:
    assert EVERYTHING.network_for(SHAPED) == "namespaces"
    assert EVERYTHING.shape_for(SHAPED.shape) == Shape(rate_bits_per_s=10**9, delay_s=0.001)
    assert EVERYTHING.lacking(SHAPED) == []


def test_a_kernel_without_delays_gives_the_rate_and_says_so() -> None:
    assert NO_DELAYS.network_for(SHAPED) == "namespaces"
    assert NO_DELAYS.shape_for(SHAPED.shape) == Shape(rate_bits_per_s=10**9)
    assert NO_DELAYS.lacking(SHAPED) == ["links have no delay: this kernel has no netem"]


def test_what_nobody_asked_for_is_not_lacking() -> None:
    assert NO_DELAYS.lacking(DevClusterSettings()) == []


def test_without_namespaces_nodes_are_loopback_addresses_and_that_is_said() -> None:
    assert NOTHING.network_for(SHAPED) == "loopback"
    assert NOTHING.shape_for(SHAPED.shape) == Shape()
    sentences = NOTHING.lacking(SHAPED)
    assert [sentence.partition(":")[2] for sentence in sentences] == [" it takes root"] * 3
    assert "cannot be cut off or slowed" in sentences[0]


def test_namespaces_that_were_asked_for_by_name_are_not_replaced() -> None:
    with pytest.raises(DevClusterError, match="network='namespaces' was asked for, and cannot be had: it takes root"):
        NOTHING.network_for(DevClusterSettings(network="namespaces"))


def test_loopback_can_be_asked_for() -> None:
    settings = DevClusterSettings(network="loopback")
    assert EVERYTHING.network_for(settings) == "loopback"
    assert NOTHING.lacking(settings) == []
