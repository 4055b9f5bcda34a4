"""A transactional sink: who commits, and when."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.topology.transactional import TransactionalSink
from penstock.topology.tuples import Tuple, tuple_class

Word = tuple_class("split", "default", ("word",))


class _Pages(TransactionalSink):
    """Keeps what was committed."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.committed: list[Any] = []

    def process(self, tup: Tuple) -> None:
        self.words.append(tup.word)

    def prepare(self) -> list[str] | None:
        words, self.words = self.words, []
        return words or None

    def commit(self, token: Any) -> None:
        self.committed.append(token)


def test_without_epochs_it_commits_by_itself_at_the_end() -> None:
    sink = _Pages()
    sink.process(Word("blue"))
    sink.finish()
    assert sink.committed == [["blue"]]
    sink.close()
    assert sink.committed == [["blue"]]


def test_a_run_that_is_stopped_commits_what_came() -> None:
    sink = _Pages()
    sink.process(Word("blue"))
    sink.close()
    assert sink.committed == [["blue"]]


def test_with_epochs_only_the_runtime_commits() -> None:
    sink = _Pages()
    sink.by_epochs = True
    sink.process(Word("blue"))
    sink.finish()
    sink.close()
    assert sink.committed == []
    assert sink.prepare() == ["blue"]


def test_recovering_commits_what_was_prepared() -> None:
    sink = _Pages()
    sink.by_epochs = True
    sink.recover([["a"], ["b", "c"]])
    assert sink.committed == [["a"], ["b", "c"]]


def test_what_it_must_define_is_named() -> None:
    with pytest.raises(NotImplementedError, match=r"TransactionalSink does not define prepare\(\)"):
        TransactionalSink().prepare()
    with pytest.raises(NotImplementedError, match=r"TransactionalSink does not define commit\(token\)"):
        TransactionalSink().commit("token")
