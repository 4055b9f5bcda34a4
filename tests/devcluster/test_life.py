"""How clusters begin and end, in good order and otherwise; and what the command line does to them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.devcluster import ClusterRegistry, DevCluster, DevClusterSettings
from penstock.devcluster import cluster as cluster_module
from penstock.devcluster.abilities import probe
from penstock.errors import DevClusterError
from tests.devcluster.leftovers import commands_naming, leftovers
from tests.spark import scenarios
from tests.spark.interruptible import interruptible
from tests.spark.remote_driver import QUIET, RemoteDriver
from tests.spark.topologies import words_of

pytestmark = pytest.mark.box

ROOT = Path(__file__).parents[2]
NO_NAMESPACES = probe().no_namespaces
PROGRAM = "import sys; from penstock.cli.dev_cluster import app; app(sys.argv[1:])"
networks = pytest.mark.parametrize("network", ["loopback", "namespaces"])


@pytest.fixture
def registry(tmp_path: Path) -> ClusterRegistry:
    return ClusterRegistry(tmp_path / "penstock" / "dev-clusters")


def need(network: str) -> None:
    if network == "namespaces" and NO_NAMESPACES is not None:
        pytest.skip(f"no network namespaces here: {NO_NAMESPACES}")


def command(registry: ClusterRegistry, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env=os.environ | {"XDG_CACHE_HOME": str(registry.path.parents[1]), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


@contextlib.contextmanager
def process(registry: ClusterRegistry, *words: str) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        interruptible([sys.executable, *words]),
        cwd=ROOT,
        env=os.environ | {"XDG_CACHE_HOME": str(registry.path.parents[1]), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with started:
        try:
            yield started
        finally:
            started.kill()


def line_with(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if found := re.search(pattern, line):
            return found
    pytest.fail(f"{pattern!r} was not said:\n{''.join(said)}")


@networks
def test_what_a_killed_owner_left_is_swept_and_nothing_else(registry: ClusterRegistry, network: str) -> None:
    need(network)
    with process(registry, "-m", "tests.devcluster.owner", str(registry.path), network) as owner:
        cluster = line_with(owner, r"^([0-9a-f]{8})$")[1]
        with process(registry, "-m", "tests.devcluster.owner", str(registry.path), network) as survivor:
            other = line_with(survivor, r"^([0-9a-f]{8})$")[1]
            owner.kill()
            owner.wait()
            untouched = leftovers(other)

            left = leftovers(cluster)
            assert len([what for what in left if what.startswith("process")]) == 4  # a master, two nodes, a guest
            assert len([what for what in left if what.startswith("link")]) == (3 if network == "namespaces" else 0)
            assert len([what for what in left if what.startswith("namespace")]) == (2 if network == "namespaces" else 0)
            assert f"{cluster} was killed" in command(registry, "list").stdout

            assert f"swept what was left of {cluster}" in command(registry, "--sweep").stdout

            assert leftovers(cluster) == []
            assert commands_naming(cluster) == []
            assert not registry.folder(cluster).exists()
            assert leftovers(other) == untouched
            assert command(registry, "--sweep").stdout.strip() == "nothing to sweep"
            assert command(registry, "stop").returncode == 0
            assert survivor.wait() == 0
            assert leftovers(other) == []
    assert [entry.name for entry in registry.path.iterdir()] == [".lock"]


@networks
def test_the_command_line_starts_troubles_and_ends_a_cluster(registry: ClusterRegistry, network: str) -> None:
    need(network)
    words = ["-c", PROGRAM, "--nodes", "2", "--slots", "1", "--network", network]
    with process(registry, *words) as owner:
        master = line_with(owner, r"(spark://\S+) is up, with room for 2 workers")[1]
        line_with(owner, r"Ctrl-C ends it")
        (state,) = registry.clusters()
        listed = command(registry, "list").stdout
        assert master in listed
        assert len(re.findall(r"\bup\b", listed)) == 2

        assert re.search(r"^1 .*\bdead\b", command(registry, "kill", "1").stdout, re.MULTILINE)
        assert re.search(r"^1 .*\bup\b", command(registry, "restart", "1", "--cluster", state.cluster).stdout, re.M)
        cut = command(registry, "cut-off", "1")
        if network == "namespaces":
            assert re.search(r"^1 .*\bcut off\b", cut.stdout, re.MULTILINE)
            refused = command(registry, "restart", "1")
            assert "node 1 cannot be restarted while it is cut off" in refused.stderr
            assert re.search(r"^1 .*\bup\b", command(registry, "rejoin", "1").stdout, re.MULTILINE)
            assert re.search(r"^0 .*\b10mbit\b", command(registry, "slow", "0", "--rate", "10mbit").stdout, re.M)
        else:
            assert "cannot be cut off: it is an address of the loopback interface" in cut.stderr
        assert "has nodes 0 to 1, got 2" in command(registry, "kill", "2").stderr
        assert "wanted a rate such as 1gbit" in command(registry, "slow", "0", "--rate", "fast").stderr

        owner.send_signal(signal.SIGINT)
        assert owner.wait() == 0
    assert leftovers(state.cluster) == []
    assert commands_naming(state.cluster) == []
    assert registry.clusters() == []
    assert command(registry, "list").stdout.strip() == "no clusters"


def test_a_topology_runs_on_loopback_addresses_too(registry: ClusterRegistry) -> None:
    settings = DevClusterSettings(nodes=2, slots_per_node=2, network="loopback", rate_bits_per_s=10**9)
    with DevCluster(settings, registry=registry) as cluster:
        assert cluster.lacking == ("links have no rate limit: network='loopback' was asked for",)
        with RemoteDriver(cluster.master_url, cluster.spark_settings() | QUIET) as driver:
            driver(scenarios.await_slots, count=4)
            assert driver(scenarios.word_count, workers=4, times=10)["counts"] == words_of(10)
            testimony = driver(scenarios.testimony, workers=4)
            # All could share memory here; they are told not to.
            assert {said["node"] for said in testimony} == {f"{cluster.id}-0", f"{cluster.id}-1"}
            assert {said["rings"] for said in testimony} == {2}
    cluster.close()  # once more does no harm
    assert leftovers(cluster.id) == []


def test_a_cluster_that_does_not_start_says_why_and_leaves_nothing(
    registry: ClusterRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "worker_command", lambda *_: ["bash", "-c", "echo no such luck; exit 7"])
    before = set(leftovers(""))

    with pytest.raises(DevClusterError, match=r"node 0 \(.*\) ended with 7; .*\n  no such luck"):
        DevCluster(DevClusterSettings(nodes=2), registry=registry)

    assert registry.clusters() == []
    assert {what for what in leftovers("") if "penstock-" in what or "link pk" in what} <= before
