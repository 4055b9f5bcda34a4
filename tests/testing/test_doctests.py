"""The examples in the kit's documentation are run."""

import doctest
import importlib
import pkgutil

import pytest

from penstock import testing

MODULES = [
    "penstock.testing",
    *(f"penstock.testing.{module.name}" for module in pkgutil.iter_modules(testing.__path__)),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    assert sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES) > 30


def test_all_is_sorted_and_documented() -> None:
    assert list(testing.__all__) == sorted(set(testing.__all__))
    assert all(getattr(testing, name).__doc__ for name in testing.__all__)
