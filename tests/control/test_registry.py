"""Run files: how other processes of the user find a run."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest

from penstock.control import registry
from penstock.control.keys import RunKeys
from penstock.control.registry import RunDirectory, RunFile
from penstock.errors import RunError
from penstock.transport.process_identity import ProcessIdentity

KEYS = RunKeys.make()


def run_file(
    run: str = "abc123",
    topology: str = "wordcount",
    started_at: str = "2026-01-01T00:00:00Z",
    streams: dict[str, str] | None = None,
) -> RunFile:
    return RunFile(
        run=run,
        topology=topology,
        endpoint="tcp://127.0.0.1:5555",
        server_public=KEYS.server.public,
        keys=KEYS.client,
        started_at=started_at,
        streams=streams or {},
    )


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path / "deep" / "runs")


def test_what_is_published_is_found_until_it_is_withdrawn(directory: RunDirectory) -> None:
    assert directory.runs() == []
    later, earlier = run_file(run="b", started_at="2026-01-02T00:00:00Z"), run_file(run="c")
    directory.publish(later)
    directory.publish(earlier)

    assert directory.runs() == [earlier, later]

    directory.withdraw("b")
    directory.withdraw("b")
    assert directory.runs() == [earlier]


def test_nobody_else_can_read_it(directory: RunDirectory) -> None:
    old = os.umask(0)
    try:
        directory.publish(run_file())
    finally:
        os.umask(old)

    assert directory.path.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in directory.path.iterdir()] == [0o600]


def test_a_folder_that_others_can_enter_is_not_used(tmp_path: Path) -> None:
    open_to_all = tmp_path / "runs"
    open_to_all.mkdir()
    open_to_all.chmod(0o755)
    directory = RunDirectory(open_to_all)

    with pytest.raises(RunError, match="nobody else can enter"):
        directory.publish(run_file())
    (open_to_all / "planted.run").write_bytes(msgspec.json.encode(run_file()))
    assert directory.runs() == []


def test_a_link_in_the_place_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    (tmp_path / "runs").symlink_to(real)

    with pytest.raises(RunError, match="cannot be kept"):
        RunDirectory(tmp_path / "runs").publish(run_file())


def test_files_of_dead_drivers_are_swept(directory: RunDirectory) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as driver:
        file = msgspec.structs.replace(run_file(), driver=ProcessIdentity.of(driver.pid))
        directory.publish(file)
        assert directory.runs() == [file]
        driver.kill()
        driver.wait()

    assert directory.runs() == []
    assert list(directory.path.iterdir()) == []


def test_a_pid_that_was_given_to_another_process_does_not_keep_a_file(directory: RunDirectory) -> None:
    me = ProcessIdentity.current()
    directory.publish(
        msgspec.structs.replace(run_file(), driver=msgspec.structs.replace(me, start_time=me.start_time - 1))
    )

    assert directory.runs() == []


@pytest.mark.parametrize(("host", "kept"), [(socket.gethostname(), False), ("another-machine", True)])
def test_a_file_of_before_the_last_boot_is_swept_and_one_of_another_machine_is_not(
    directory: RunDirectory, host: str, kept: bool
) -> None:
    directory.publish(msgspec.structs.replace(run_file(), boot_id="long ago", host=host))

    assert bool(directory.runs()) is kept


def test_files_that_cannot_be_read_are_left_alone(directory: RunDirectory) -> None:
    directory.publish(run_file())
    (directory.path / "other.run").write_text('{"run": 7}')

    assert directory.runs() == [run_file()]
    assert (directory.path / "other.run").exists()


def test_a_run_is_found_by_id_by_its_beginning_and_by_topology(directory: RunDirectory) -> None:
    first, second = run_file(run="abc123"), run_file(run="abd456", topology="logs")
    directory.publish(first)
    directory.publish(second)

    for name, found in {"abc123": first, "abc": first, "wordcount": first, "abd4": second, "logs": second}.items():
        assert directory.find(name) == found


def test_without_a_name_the_only_run_is_meant(directory: RunDirectory) -> None:
    directory.publish(run_file())

    assert directory.find() == run_file()


def test_what_is_not_found_or_not_clear_is_said_with_what_there_is(directory: RunDirectory) -> None:
    with pytest.raises(RunError, match="wanted a run: no such run; runs of this user on this machine: none"):
        directory.find()
    directory.publish(run_file(run="abc123"))
    directory.publish(run_file(run="abd456"))
    with pytest.raises(RunError, match=r"no such run; .*: abc123 \(wordcount\), abd456 \(wordcount\)"):
        directory.find("xyz")
    for name in (None, "ab", "wordcount"):
        with pytest.raises(RunError, match="more than one matches"):
            directory.find(name)


def test_a_name_that_is_an_id_and_the_beginning_of_another_means_the_first(directory: RunDirectory) -> None:
    directory.publish(run_file(run="abc"))
    directory.publish(run_file(run="abcd"))

    assert directory.find("abc").run == "abc"


def test_streams_are_found_when_the_run_is_over_and_its_keys_are_gone(directory: RunDirectory) -> None:
    with pytest.raises(RunError, match="wanted a run named 'wordcount': no such run"):
        directory.find_streams("wordcount")
    for day, run in enumerate(("aa", "ab", "ac"), 1):
        directory.publish(run_file(run=run, started_at=f"2026-01-0{day}T00:00:00Z", streams={"out": f"/spool/{run}"}))
    for name in ("a", "wordcount"):
        with pytest.raises(RunError, match="more than one matches"):
            directory.find_streams(name)
    directory.withdraw("ac")
    directory.withdraw("ab")
    assert directory.find_streams("wordcount").run == "aa"  # which is alive
    directory.withdraw("aa")
    assert [directory.find_streams(name).run for name in ("wordcount", "a", "ab")] == ["ac", "ac", "ab"]
    assert directory.find_streams("aa").streams == {"out": "/spool/aa"}
    for place in directory.path.iterdir():
        assert place.stat().st_mode & 0o777 == 0o600
        assert b"keys" not in place.read_bytes()


def test_streams_of_old_runs_are_forgotten(directory: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_MOST_STREAMS", 2)
    for run in ("aa", "bb", "cc"):
        directory.publish(run_file(run=run, started_at=f"2026-{run}", streams={"out": "/spool"}))
        directory.withdraw(run)
    assert sorted(place.name for place in directory.path.iterdir()) == ["bb.streams", "cc.streams"]


def test_the_folder_is_the_users_runtime_folder_or_else_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert RunDirectory.default().path == tmp_path / "penstock"

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "not there"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert RunDirectory.default().path == tmp_path / "home" / ".cache" / "penstock" / "runs"


def test_a_run_is_not_published_twice(directory: RunDirectory) -> None:
    directory.publish(run_file())
    directory.publish(run_file())

    assert len(directory.runs()) == 1


# ---- load


def test_the_load_of_the_last_runs_is_kept(directory: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_MOST_LOADS", 2)
    directory.publish(run_file(run="alive"))
    assert directory.load_stores() == []
    for number, run in enumerate(["alive", "older", "old", "new"]):
        place = directory.path / f"{run}.load"
        place.touch()
        os.utime(place, (number, number))
        assert directory.load_store_of(run) == f"sqlite://{place}"
    directory.publish(run_file(run="next"))
    assert [url.rpartition("/")[2] for url in directory.load_stores()] == ["alive.load", "old.load", "new.load"]
    directory.withdraw("alive")
    directory.publish(run_file(run="last"))
    assert [url.rpartition("/")[2] for url in directory.load_stores()] == ["old.load", "new.load"]


def test_a_user_without_a_home_has_it_among_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_RUNTIME_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert RunDirectory.default().path == tmp_path / ".cache" / "penstock" / "runs"

    # As containers of YARN have it, where /home/ is nobody's.
    monkeypatch.setenv("HOME", "/dev/null")
    directory = RunDirectory.default()
    directory.publish(run_file())

    assert directory.path == tmp_path / f"penstock-runs-{os.geteuid()}"
    assert RunDirectory.default().runs() == [run_file()]
