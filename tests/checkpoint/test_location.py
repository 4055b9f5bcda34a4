"""URLs and paths: where they lead, and what is said of those that lead nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.checkpoint.location import locate
from penstock.checkpoint.store import CheckpointStore
from penstock.errors import CheckpointError


def test_a_path_is_the_same_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for given in ("here", Path("here"), "./there/../here", str(tmp_path / "here"), (tmp_path / "here").as_uri()):
        monkeypatch.chdir(tmp_path)
        location = locate(given)
        assert location.root == str(tmp_path / "here")
        monkeypatch.chdir("/")
        assert locate(location.url).root == location.root
    monkeypatch.setenv("HOME", str(tmp_path))
    assert locate("~/here").root == str(tmp_path / "here")


@pytest.mark.parametrize("name", ["a b", "a%20b", "a#b", "a?b", "ünïcode"])
def test_odd_names_are_taken_as_they_are(tmp_path: Path, name: str) -> None:
    store = CheckpointStore.open(tmp_path / name)
    store.claim("run")
    assert (tmp_path / name / "lease.json").is_file()
    CheckpointStore.open(store.url).join("run")


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("", "wanted a URL or a path, got an empty one"),
        ("gopher://host/x", r"checkpoint gopher://host/x: wanted a URL that pyarrow has a filesystem for.* got "),
        ("file://relative/x", r"checkpoint file://relative/x: wanted a URL"),
    ],
)
def test_what_leads_nowhere_is_refused(url: str, complaint: str) -> None:
    with pytest.raises(CheckpointError, match=complaint):
        CheckpointStore.open(url)


def test_passwords_are_never_shown() -> None:
    with pytest.raises(CheckpointError) as caught:
        locate("gopher://user:secret@host/x?token=secret")
    assert "gopher://host/x" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
