"""Tokens of a sink: each is committed once its epoch is, and saved with every epoch until then."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.checkpoint.prepared_tokens import PreparedTokens, decode_tokens

# What happens at the end of each epoch: whether there is something to commit, and whether the epoch is committed.
epochs = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=20)


@given(epochs)
def test_every_token_is_committed_once_or_saved(ends: list[tuple[bool, bool]]) -> None:
    tokens = PreparedTokens()
    prepared, committed = list[int](), list[int]()
    for epoch, (has_token, is_committed) in enumerate(ends):
        tokens.add(epoch=epoch, token=epoch if has_token else None)
        if has_token:
            prepared.append(epoch)
        assert committed + decode_tokens(tokens.encoded()) == prepared
        if is_committed:
            tokens.commit_up_to(epoch, committed.append)
            assert committed == prepared
            assert tokens.encoded() is None


def test_later_epochs_stay() -> None:
    tokens = PreparedTokens()
    for epoch in (3, 4, 5):
        tokens.add(epoch=epoch, token=["file", epoch])
    committed = list[object]()
    tokens.commit_up_to(4, committed.append)
    assert committed == [["file", 3], ["file", 4]]
    assert decode_tokens(tokens.encoded()) == [["file", 5]]


def test_what_could_not_be_committed_stays() -> None:
    tokens = PreparedTokens()
    tokens.add(epoch=1, token="a")
    tokens.add(epoch=1, token="b")

    def fail_at_b(token: str) -> None:
        if token == "b":
            raise OSError(token)

    with pytest.raises(OSError, match="b"):
        tokens.commit_up_to(1, fail_at_b)
    assert decode_tokens(tokens.encoded()) == ["b"]


def test_a_token_of_other_values_is_refused() -> None:
    tokens = PreparedTokens()
    tokens.add(epoch=1, token=object())
    with pytest.raises(TypeError, match=r"got one of type builtins\.object"):
        tokens.encoded()
