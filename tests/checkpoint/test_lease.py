"""One run at a time: who is refused, who may take over, and who is stopped."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from penstock.checkpoint.lease import decode_lease, encode_lease, new_lease
from penstock.checkpoint.location import locate
from penstock.checkpoint.store import CheckpointStore
from penstock.errors import CheckpointError
from tests.checkpoint.examples import NOON, Clock, claimed, manifest


def _store(folder: Path, clock: Clock) -> CheckpointStore:
    return CheckpointStore(locate(folder), stale_after_s=30, now=clock)


def test_a_second_run_is_refused_until_the_first_was_silent_for_long(tmp_path: Path) -> None:
    clock = Clock()
    _store(tmp_path, clock).claim("first")
    clock.pass_s(29)
    second = _store(tmp_path, clock)
    with pytest.raises(CheckpointError, match=r"run 'second' wanted /.*, but run 'first' on .* has it .* 29 s ago"):
        second.claim("second")
    clock.pass_s(2)
    second.claim("second")
    second.join("second")


def test_renewals_and_commits_keep_it(tmp_path: Path) -> None:
    clock = Clock()
    first = _store(tmp_path, clock)
    first.claim("first")
    keepers: list[Callable[[], None]] = [
        lambda: first.renew("first"),
        lambda: first.commit(manifest(1, run="first")),
    ]
    for keep in keepers:
        clock.pass_s(29)
        keep()
        clock.pass_s(29)
        with pytest.raises(CheckpointError, match="run 'first'"):
            _store(tmp_path, clock).claim("second")


def test_the_same_run_may_claim_again(tmp_path: Path) -> None:
    claimed(tmp_path, "run")
    claimed(tmp_path, "run").join("run")


def test_one_that_was_given_back_is_free_at_once(tmp_path: Path) -> None:
    first = claimed(tmp_path, "first")
    first.release("first")
    second = claimed(tmp_path, "second")
    first.release("first")  # it is not its own any more
    second.join("second")


def test_every_run_has_a_greater_number_than_those_before(tmp_path: Path) -> None:
    first = CheckpointStore.open(tmp_path)
    assert [first.claim("first"), first.claim("first")] == [1, 1]
    first.renew("first")
    first.commit(manifest(1, run="first"))
    first.release("first")
    assert CheckpointStore.open(tmp_path).claim("second") == 2


CLAIM = (
    "import sys; from penstock.checkpoint.store import CheckpointStore; CheckpointStore.open(sys.argv[1]).claim('dead')"
)


def test_one_of_a_process_that_is_dead_is_free_at_once(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", CLAIM, str(tmp_path)], check=True)
    claimed(tmp_path, "heir")


def test_a_pid_on_another_machine_says_nothing() -> None:
    gone = replace(new_lease("run", claim=1, now=NOON, stale_after_s=30).process, start_time=1)
    lease = replace(new_lease("run", claim=1, now=NOON, stale_after_s=30), process=gone)
    assert lease.is_free(NOON)
    assert not replace(lease, boot_id="another").is_free(NOON)


def test_a_run_that_was_given_up_is_stopped_at_its_next_commit(tmp_path: Path) -> None:
    clock = Clock()
    sleeper = _store(tmp_path, clock)
    sleeper.claim("sleeper")
    clock.pass_s(31)
    heir = _store(tmp_path, clock)
    heir.claim("heir")
    heir.commit(manifest(1, run="heir"))
    attempts: list[Callable[[], None]] = [
        lambda: sleeper.commit(manifest(1, run="sleeper")),
        lambda: sleeper.renew("sleeper"),
    ]
    for late in attempts:
        with pytest.raises(
            CheckpointError, match=r"wanted the lease of run 'sleeper' in .*, got that of run 'heir' on"
        ):
            late()
    found = heir.latest()
    assert found is not None
    assert found.run == "heir"


def test_a_commit_without_a_claim_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"wanted the lease of run 'run' in .*/lease\.json, got none"):
        CheckpointStore.open(tmp_path).commit(manifest(1))


def test_a_worker_finds_out_that_its_folder_is_not_the_drivers(tmp_path: Path) -> None:
    claimed(tmp_path / "driver")
    with pytest.raises(CheckpointError, match="same place for the driver and all workers"):
        CheckpointStore.open(tmp_path / "worker").join("run")
    with pytest.raises(CheckpointError, match=r"cannot write .*/worker/parts/"):
        CheckpointStore.open(tmp_path / "worker").write_part(epoch=1, task=0, payload=b"x")


def test_a_torn_lease_is_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    claimed(tmp_path, "first")
    lease = tmp_path / "lease.json"
    lease.write_bytes(lease.read_bytes()[:-5])
    claimed(tmp_path, "second")
    assert "lease.json is no lease, or not all of one: passed over" in caplog.text


def test_a_checkpoint_keeps_its_identity_from_run_to_run_and_wherever_it_is(tmp_path: Path) -> None:
    identity = claimed(tmp_path / "one", "first").identity()
    claimed(tmp_path / "one", "first").release("first")
    (tmp_path / "one").rename(tmp_path / "two")
    assert claimed(tmp_path / "two", "second").identity() == identity
    assert claimed(tmp_path / "three").identity() != identity
    with pytest.raises(CheckpointError, match=r"wanted 16 hexadecimal digits in .*/four/identity, got something else"):
        CheckpointStore.open(tmp_path / "four").identity()


def test_what_killed_processes_left_is_swept(tmp_path: Path) -> None:
    for litter in ("lease.json.00ff00ff.writing", "identity.00ff.writing", "probe-00ff", "probe-00ff.00ff.writing"):
        (tmp_path / litter).write_bytes(b"")
        os.utime(tmp_path / litter, (0, 0))
    (tmp_path / "notes.txt").write_text("not ours")
    claimed(tmp_path)
    ours = {"identity", "lease.json", "lease.lock", "manifests", "parts"}
    assert {path.name for path in tmp_path.iterdir()} == ours | {"notes.txt"}


def test_what_another_process_is_just_writing_is_not_swept(tmp_path: Path) -> None:
    drafts = {"lease.json.00ff00ff.writing", "identity.00ff.writing", "probe-00ff"}
    for draft in drafts:
        (tmp_path / draft).write_bytes(b"")
    claimed(tmp_path)
    assert drafts < {path.name for path in tmp_path.iterdir()}


ROOT = Path(__file__).parents[2]
RIVALS = 3
ROUNDS = 100


def _race(rivals: list[subprocess.Popen[str]], folder: Path) -> list[dict[str, str]]:
    """All claim at the same instant: each waits for it, at work, so that nobody has to be woken."""
    at_s = time.monotonic() + 0.02
    for rival in rivals:
        assert rival.stdin is not None
        print(folder, at_s, file=rival.stdin, flush=True)
    told = [rival.stdout.readline() for rival in rivals if rival.stdout is not None]
    return [json.loads(line) for line in told]


@pytest.mark.parametrize("before", ["nobody", "a run that has ended"])
def test_of_runs_that_claim_at_the_same_instant_one_has_it_and_the_others_are_told_which(
    tmp_path: Path, before: str
) -> None:
    with contextlib.ExitStack() as processes:
        rivals = [
            processes.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.checkpoint.rival", f"run-{number}"],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for number in range(RIVALS)
        ]
        for number in range(ROUNDS):
            folder = tmp_path / str(number)
            if before != "nobody":
                claimed(folder, "before").release("before")
            told = _race(rivals, folder)
            lease = decode_lease((folder / "lease.json").read_bytes())
            assert lease is not None
            assert [one["run"] for one in told if not one["error"]] == [lease.run]
            for one in told:
                if one["run"] != lease.run:
                    wanted = f"run {one['run']!r} wanted {folder}, but run {lease.run!r} on .* has it"
                    assert re.search(wanted, one["error"]), one["error"]
            assert {path.name for path in folder.iterdir() if path.name.endswith(".writing")} == set()


def test_a_lease_is_read_as_it_was_written() -> None:
    lease = new_lease("run", claim=1, now=NOON, stale_after_s=1.5, released=True)
    assert decode_lease(encode_lease(lease)) == lease
    assert decode_lease(b"{}") is None
