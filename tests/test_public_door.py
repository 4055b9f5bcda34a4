"""`penstock` itself: one door, with a sorted list of what is behind it."""

import ast
import inspect
import subprocess
import sys

import pytest

import penstock


def test_all_is_sorted_and_names_nothing_twice() -> None:
    assert list(penstock.__all__) == sorted(set(penstock.__all__))


def test_what_type_checkers_see_is_what_is_there() -> None:
    tree = ast.parse(inspect.getsource(penstock))
    seen, _ = (node.body for node in tree.body if isinstance(node, ast.If))
    homes = {alias.name: node.module for node in seen if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert homes == penstock._HOMES
    assert set(penstock.__all__) == {*homes, "__version__"}


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(AttributeError, match="module 'penstock' has no attribute 'Bold'"):
        _ = penstock.Bold  # type: ignore[attr-defined]
    assert not hasattr(penstock, "_HOUSES")


def test_a_worker_imports_nothing_heavy() -> None:
    """Each worker pays for what it imports: a start takes longer, on every executor."""
    program = "import sys, penstock, penstock.spark.host; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    heavy = {"http.server", "importlib.metadata", "numpy", "pandas", "prometheus_client", "pyarrow", "zmq.asyncio"}
    assert heavy & {*done.stdout.split()} == set()


def test_dir_shows_the_public_names_only() -> None:
    assert dir(penstock) == sorted(penstock.__all__)


@pytest.mark.parametrize("name", [name for name in penstock.__all__ if not name.startswith("__")])
def test_everything_public_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(penstock, name))
