"""`penstock` itself: one door, with a sorted list of what is behind it."""

import inspect
from types import ModuleType

import pytest

import penstock


def test_all_is_sorted_and_names_nothing_twice() -> None:
    assert list(penstock.__all__) == sorted(set(penstock.__all__))


def test_all_is_exactly_what_is_public() -> None:
    public = {
        name for name, value in vars(penstock).items() if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    assert set(penstock.__all__) == public | {"__version__"}


def test_dir_shows_the_public_names_only() -> None:
    assert dir(penstock) == sorted(penstock.__all__)


@pytest.mark.parametrize("name", [name for name in penstock.__all__ if not name.startswith("__")])
def test_everything_public_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(penstock, name))
