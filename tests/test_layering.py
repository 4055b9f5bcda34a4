"""Who may import whom inside the package."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "penstock"

# The main line, top to bottom: each may import what stands after it, never what stands before.
LADDER = ("cli", "ui", "spark", "control", "worker", "checkpoint", "flow", "plan", "transport", "topology")

# At the bottom: everybody may import these, and they import nothing of ours but each other.
GROUND = frozenset({"errors", "version", "_native", "_native_chaos"})

# The public door: may import everything, and nothing may import it.
DOOR = "__init__"


def _below(layer: str) -> frozenset[str]:
    return frozenset(LADDER[LADDER.index(layer) + 1 :])


MAY_IMPORT: dict[str, frozenset[str]] = {layer: _below(layer) for layer in LADDER}
# Beside the ladder: connectors are written against what users build with, and used by those who meet users.
MAY_IMPORT["connectors"] = frozenset({"topology"})
for _layer in ("cli", "ui", "spark"):
    MAY_IMPORT[_layer] |= {"connectors"}
# Beside the ladder: the test kit runs the real parts in one process, so without Spark and without people. It
# serves tests, ours and users': nothing in the package imports it.
MAY_IMPORT["testing"] = frozenset({"control", "worker", "connectors"}) | _below("worker")
# Beside the ladder: the cluster in a box starts Spark's own processes. Of ours it knows what a node is and whether a
# process lives; no run needs it.
MAY_IMPORT["devcluster"] = frozenset({"spark", "transport"})
MAY_IMPORT["cli"] |= {"devcluster"}
for _layer in GROUND:
    MAY_IMPORT[_layer] = frozenset()


def _layer_of(file: Path, package: Path) -> str:
    """The first name below the package: a folder or a module."""
    return file.relative_to(package).parts[0].removesuffix(".pyi").removesuffix(".py")


def _imported_modules(file: Path, package: Path) -> Iterator[tuple[int, str]]:
    """Each of our modules that a file imports, anywhere in it, as (line, dotted name below the package).

    Imports inside functions and under TYPE_CHECKING count too: who knows another layer's names depends on it.
    """
    own_parts = (package.name, *file.relative_to(package).parent.parts)
    for node in ast.walk(ast.parse(file.read_text(), str(file))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(own_parts[: len(own_parts) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            # `from penstock import errors` imports penstock.errors, `from penstock import run` the door.
            names = [f"{module}.{alias.name}" if module == package.name else module for alias in node.names]
        else:
            continue
        for name in names:
            first, _, rest = name.partition(".")
            if first == package.name:
                yield node.lineno, rest


def violations(package: Path) -> list[str]:
    """One sentence for each import that the table forbids."""
    found = []
    for file in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")]):
        layer = _layer_of(file, package)
        place = file.relative_to(package.parent)
        if layer == DOOR:
            continue
        if layer not in MAY_IMPORT:
            found.append(f"{place}: {layer!r} has no place in the layering table of {Path(__file__).name}")
            continue
        for line, module in _imported_modules(file, package):
            target = module.partition(".")[0]
            if target in GROUND or target == layer or target in MAY_IMPORT[layer]:
                continue
            if target not in MAY_IMPORT:
                target = "the public door"
            found.append(f"{place}:{line}: {layer} may not import {target}")
    return found


def test_every_layer_imports_only_what_is_below_it() -> None:
    assert violations(PACKAGE) == []


def test_package_is_where_the_checker_looks() -> None:
    assert (PACKAGE / "__init__.py").is_file()


PLANTED = [
    ("topology/graph.py", "import penstock.transport.ring", "topology may not import transport"),
    ("flow/helping.py", "from penstock.worker import loop", "flow may not import worker"),
    ("plan/load.py", "from penstock import control", "plan may not import control"),
    ("transport/ring.py", "from ..worker.loop import Loop", "transport may not import worker"),
    ("checkpoint/store.py", "from penstock.worker import loop", "checkpoint may not import worker"),
    ("flow/helping.py", "import penstock.checkpoint.store", "flow may not import checkpoint"),
    ("worker/loop.py", "from .. import spark", "worker may not import spark"),
    ("worker/loop.py", "def f():\n    import penstock.cli", "worker may not import cli"),
    ("control/moves.py", "from penstock import run", "control may not import the public door"),
    ("control/moves.py", "import penstock", "control may not import the public door"),
    ("connectors/files.py", "import penstock.transport", "connectors may not import transport"),
    ("testing/cluster.py", "import penstock.spark", "testing may not import spark"),
    ("worker/loop.py", "import penstock.testing", "worker may not import testing"),
    ("errors.py", "import penstock.topology", "errors may not import topology"),
    ("spark/launch.py", "import penstock.devcluster", "spark may not import devcluster"),
    ("devcluster/cluster.py", "import penstock.control", "devcluster may not import control"),
    ("plan/schedulers/even.py", "from ...control import moves", "plan may not import control"),
    ("drawer.py", "", "'drawer' has no place in the layering table"),
]


@pytest.mark.parametrize(("file", "source", "complaint"), PLANTED)
def test_a_planted_violation_is_caught(tmp_path: Path, file: str, source: str, complaint: str) -> None:
    planted = tmp_path / "penstock" / file
    planted.parent.mkdir(parents=True)
    planted.write_text(source)

    found = violations(tmp_path / "penstock")

    assert len(found) == 1
    assert complaint in found[0]
    assert file in found[0]


ALLOWED = [
    ("__init__.py", "from penstock.spark import run"),
    ("cli/top.py", "from penstock.ui import view"),
    ("spark/launch.py", "import penstock.connectors.files"),
    ("worker/loop.py", "from penstock.transport.ring import RingReader"),
    ("transport/ring.py", "from penstock import errors, _native"),
    ("transport/ring.py", "from . import door\nfrom .door import Door"),
    ("plan/schedulers/even.py", "from ..load import Load"),
    ("topology/graph.py", "import os\nimport msgspec\nfrom penstock.errors import PenstockError"),
]


@pytest.mark.parametrize(("file", "source"), ALLOWED)
def test_an_import_from_below_is_allowed(tmp_path: Path, file: str, source: str) -> None:
    allowed = tmp_path / "penstock" / file
    allowed.parent.mkdir(parents=True)
    allowed.write_text(source)

    assert violations(tmp_path / "penstock") == []
