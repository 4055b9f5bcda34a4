"""The examples in the docstrings run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import penstock.checkpoint

MODULES = [f"penstock.checkpoint.{module.name}" for module in pkgutil.iter_modules(penstock.checkpoint.__path__)]


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_run(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_there_are_examples() -> None:
    assert sum(doctest.testmod(importlib.import_module(module)).attempted for module in MODULES) > 20
