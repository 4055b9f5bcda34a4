"""What is known of clusters, and which of them are swept."""

from __future__ import annotations

import os
import subprocess
import sys
from ipaddress import IPv4Network
from pathlib import Path

import msgspec
import pytest

from penstock.devcluster.layout import loopback_layout
from penstock.devcluster.marks import MARK_VARIABLE, kill_marked, kill_running, mark_of, marked_processes
from penstock.devcluster.registry import ClusterRegistry, ClusterState
from penstock.devcluster.settings import DevClusterSettings
from penstock.devcluster.sweep import sweep
from penstock.errors import DevClusterError
from penstock.transport.process_identity import ProcessIdentity
from tests.ring.patience import wait_until


@pytest.fixture
def registry(tmp_path: Path) -> ClusterRegistry:
    return ClusterRegistry(tmp_path / "clusters")


def state_of(cluster: str, *, block: str = "127.18.0.0/24") -> ClusterState:
    layout = loopback_layout(cluster, 2, IPv4Network(block))
    return ClusterState(cluster=cluster, settings=DevClusterSettings(nodes=2), layout=layout)


def dead_process() -> ProcessIdentity:
    with subprocess.Popen(["true"]) as process:
        return ProcessIdentity.of(process.pid)


def orphan_of(state: ClusterState) -> ClusterState:
    return msgspec.structs.replace(state, owner=dead_process())


def sleeper(mark: str, seconds: str = "1000") -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", seconds], env=os.environ | {MARK_VARIABLE: mark})


def test_a_cluster_is_found_by_the_beginning_of_its_id(registry: ClusterRegistry) -> None:
    with registry.locked():
        registry.add(state_of("aa01"))
        registry.add(state_of("ab02"))

    assert registry.find("ab").cluster == "ab02"
    with pytest.raises(DevClusterError, match=r"more than one matches; .*: aa01, ab02"):
        registry.find()
    with pytest.raises(DevClusterError, match=r"wanted a cluster named 'x': no such cluster; .*: aa01, ab02"):
        registry.find("x")


def test_what_was_written_is_read(registry: ClusterRegistry) -> None:
    written = state_of("aa01", block="127.18.9.0/24")
    with registry.locked():
        folder = registry.add(written)

    assert registry.clusters() == [written]
    assert registry.blocks() == [IPv4Network("127.18.9.0/24")]
    assert folder.stat().st_mode & 0o077 == 0


def test_where_nothing_was_ever_kept_there_is_nothing(registry: ClusterRegistry) -> None:
    assert registry.clusters() == []
    with pytest.raises(DevClusterError, match=r"no such cluster; .*: none"):
        registry.find()


def test_a_folder_that_others_can_enter_is_refused(registry: ClusterRegistry) -> None:
    registry.path.mkdir(mode=0o755)
    with pytest.raises(DevClusterError, match="nobody else can enter"), registry.locked():
        pass


def test_a_state_that_cannot_be_read_is_named(registry: ClusterRegistry) -> None:
    with registry.locked():
        (registry.add(state_of("aa01")) / "state.json").write_text('{"cluster": 7}')
    with pytest.raises(DevClusterError, match=r"aa01/state\.json is not the state of a cluster"):
        registry.clusters()


def test_only_what_dead_owners_left_is_swept(registry: ClusterRegistry) -> None:
    with registry.locked():
        registry.add(state_of("aa01"))
        left = registry.add(orphan_of(state_of("bb02")))
        (left / "work-0" / "app").mkdir(parents=True)
        (left / "work-0" / "app" / "stderr").write_text("…")
        registry.folder("cc03").mkdir()  # its maker died before it had written anything
    others, theirs = sleeper(mark_of("aa01", 0)), sleeper(mark_of("bb02", 1))
    with others, theirs:
        wait_until(lambda: marked_processes("bb02", 1), "the process has become what it is to be")
        try:
            with registry.locked():
                assert sweep(registry) == ["bb02"]
            assert theirs.wait() == -9
            assert others.poll() is None
        finally:
            others.kill()
            theirs.kill()

    assert [state.cluster for state in registry.clusters()] == ["aa01"]
    assert sorted(entry.name for entry in registry.path.iterdir()) == [".lock", "aa01"]


def test_of_a_cluster_before_the_last_boot_only_files_are_swept(registry: ClusterRegistry) -> None:
    with registry.locked():
        registry.add(msgspec.structs.replace(state_of("aa01"), boot_id="another"))
        survivor = sleeper(mark_of("aa01", 0))
        with survivor:
            wait_until(lambda: marked_processes("aa01"), "the process has become what it is to be")
            assert sweep(registry) == ["aa01"]
            assert survivor.poll() is None
            survivor.kill()

    assert registry.clusters() == []


def test_who_starts_at_the_same_time_waits(registry: ClusterRegistry) -> None:
    program = (
        "import sys; from pathlib import Path; from penstock.devcluster import ClusterRegistry\n"
        f"with ClusterRegistry(Path({str(registry.path)!r})).locked(): print('in', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "in\n"
        try_now = f"import fcntl; fcntl.flock(open({str(registry.path / '.lock')!r}), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        refused = subprocess.run([sys.executable, "-c", try_now], capture_output=True, text=True, check=False)
        assert "BlockingIOError" in refused.stderr
        other.kill()  # and a lock does not outlive who holds it

    with registry.locked():
        pass


def test_all_processes_of_a_node_are_found_and_no_others() -> None:
    cluster = os.urandom(4).hex()
    family = "sleep 1000 & echo ready; exec sleep 1000"  # the child outlives the parent that is killed first
    environment = os.environ | {MARK_VARIABLE: mark_of(cluster, 1)}
    other = sleeper(mark_of(cluster, 11))
    with (
        other,
        subprocess.Popen(["bash", "-c", family], env=environment, stdout=subprocess.PIPE, text=True) as parent,
    ):
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        wait_until(lambda: marked_processes(cluster, 11), "the other has become what it is to be")
        # For an instant, one that becomes another program has no environment.
        wait_until(lambda: len(marked_processes(cluster, 1)) == 2, "both are found")
        assert parent.pid in marked_processes(cluster, 1)
        assert marked_processes(cluster, 11) == [other.pid]
        wait_until(lambda: len(marked_processes(cluster)) == 3, "all are found")

        kill_marked(cluster, 1)
        assert marked_processes(cluster) == [other.pid]
        kill_marked(cluster)
        assert marked_processes(cluster) == []
        assert other.wait() == -9


def test_of_a_place_only_what_runs_the_word_is_killed() -> None:
    cluster = os.urandom(4).hex()
    with (
        sleeper(mark_of(cluster, 1), "1001") as wanted,
        sleeper(mark_of(cluster, 1), "10010") as longer,
        sleeper(mark_of(cluster, 2), "1001") as elsewhere,
    ):
        wait_until(lambda: len(marked_processes(cluster)) == 3, "all have their marks")
        kill_running(cluster, 1, "1001")
        assert wanted.wait() == -9
        assert sorted(marked_processes(cluster)) == sorted([longer.pid, elsewhere.pid])
        kill_marked(cluster)
