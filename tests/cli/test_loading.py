"""From FILE[:name] and --set to a topology, and what is said when there is none."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.arguments import pairs
from penstock.cli.loading import load_topology
from penstock.errors import TopologyError
from tests.cli.files import FACTORY, READY, write


def refused(target: str, **settings: str) -> str:
    with pytest.raises(TopologyError) as complaint:
        load_topology(target, settings)
    return str(complaint.value)


def given(module: str) -> dict[str, Any]:
    found: dict[str, Any] = sys.modules[module].given
    return found


# ---- found


def test_the_only_topology_of_a_file_is_meant(tmp_path: Path) -> None:
    assert load_topology(write(tmp_path, "alone.py", READY), {}).name == "only"


def test_a_topology_with_two_names_is_still_the_only_one(tmp_path: Path) -> None:
    assert load_topology(write(tmp_path, "named.py", READY + "    again = only\n"), {}).name == "only"


def test_a_name_says_which(tmp_path: Path) -> None:
    file = write(tmp_path, "several.py", READY + "    second = build('second')\n")

    assert load_topology(f"{file}:second", {}).name == "second"
    assert load_topology(f"{file}:only", {}).name == "only"
    assert load_topology(f"{file}:build", {"name": "third"}).name == "third"


def test_a_function_named_topology_makes_it(tmp_path: Path) -> None:
    assert load_topology(write(tmp_path, "factory.py", FACTORY), {}).name == "made"
    assert given("factory")["limit"] == 10


def test_settings_are_of_the_types_of_the_parameters(tmp_path: Path) -> None:
    texts = {"limit": "7", "rate": "2.5", "loud": "false", "folder": "there", "label": "12", "plain": "4", "other": "x"}
    load_topology(write(tmp_path, "typed.py", FACTORY), texts)

    assert given("typed") == {
        "limit": 7,
        "rate": 2.5,
        "loud": False,
        "folder": Path("there"),
        "label": "12",
        "plain": 4,
        "other": "x",  # of a type that only type checkers know: text
    }


def test_a_function_that_takes_anything_is_given_text(tmp_path: Path) -> None:
    text = READY + "    def topology(**more):\n        return build(more['name'])\n"

    assert load_topology(write(tmp_path, "anything.py", text), {"name": "free"}).name == "free"


def test_a_file_finds_its_neighbours_and_does_not_start_by_itself(tmp_path: Path) -> None:
    write(tmp_path, "neighbour_of_a_test.py", READY)
    file = write(
        tmp_path,
        "importing.py",
        "from neighbour_of_a_test import only\nassert __name__ == 'importing'\n",
    )

    assert load_topology(file, {}).name == "only"


def test_a_file_may_be_loaded_again_and_named_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, "twice.py", READY)
    first = load_topology(file, {})
    monkeypatch.chdir(tmp_path)

    assert load_topology("twice.py:only", {}) is not first
    assert sys.path.count(str(tmp_path)) == 1


def test_a_colon_may_be_part_of_a_file_name(tmp_path: Path) -> None:
    assert load_topology(write(tmp_path, "a:b.py", READY), {}).name == "only"


# ---- not found


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert refused(f"{tmp_path}/none.py") == f"no such file: {tmp_path}/none.py"
    assert refused(f"{tmp_path}/none.py:name") == f"no such file: {tmp_path}/none.py"
    assert refused(f"{tmp_path}") == f"{tmp_path} is a folder: a Python file is wanted"


def test_a_file_that_is_no_python_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "notes.txt", "hello")

    assert refused(file) == f"{file} must be a Python file, whose name ends with .py"


def test_a_file_without_a_topology(tmp_path: Path) -> None:
    file = write(tmp_path, "empty.py", "answer = 42\n")

    assert refused(file) == f"{file} must have one Topology or a function topology(); its topologies: none"
    assert refused(f"{file}:topo") == f"{file} has no 'topo'; its topologies: none"
    assert refused(f"{file}:answer") == (f"{file}:answer must be a Topology or a function that returns one, got int")


def test_a_file_with_two(tmp_path: Path) -> None:
    file = write(tmp_path, "two.py", READY + "    second = build('second')\n")

    assert refused(file) == (
        f"{file} must have one Topology or a function topology(); its topologies: 'only', 'second': "
        f"say which, as FILE:name"
    )
    assert refused(f"{file}:third") == f"{file} has no 'third'; its topologies: 'only', 'second'"


def test_a_file_whose_name_is_taken_does_not_take_it(tmp_path: Path) -> None:
    for name in ("json", "penstock", "sys"):
        taken = sys.modules[name]
        assert "which is a module already" in refused(write(tmp_path, f"{name}.py", READY))
        assert sys.modules[name] is taken


# ---- raised


def test_what_a_file_raises_is_told_with_its_own_lines_only(tmp_path: Path) -> None:
    file = write(tmp_path, "raising.py", "def deep():\n    return 1 / 0\n\ndeep()\n")
    told = refused(file)

    assert told.startswith(f'{file} could not be loaded:\nTraceback (most recent call last):\n  File "{file}", line 4')
    assert told.endswith("ZeroDivisionError: division by zero")
    assert "importlib" not in told
    assert "loading.py" not in told
    assert "raising" not in sys.modules


def test_a_file_that_cannot_be_read_as_python(tmp_path: Path) -> None:
    file = write(tmp_path, "typo.py", "topo = (\n")
    told = refused(file)

    assert re.search(r'could not be loaded:\n  File ".*/typo.py", line 1\n', told)
    assert "SyntaxError: '(' was never closed" in told


def test_a_file_that_ends_the_program_is_told_how_not_to(tmp_path: Path) -> None:
    file = write(tmp_path, "script.py", "import sys\nsys.exit(3)\n")

    assert refused(file) == (
        f"{file} could not be loaded: it ended the program (exit code 3); put that under if __name__ == '__main__'"
    )


def test_what_a_function_raises_is_told(tmp_path: Path) -> None:
    file = write(tmp_path, "broke.py", "def topology(path: str = 'x'):\n    raise OSError('no such text: ' + path)\n")
    told = refused(file, path="[red]y[/red]")

    assert told.startswith(f"{file} could not make its topology:\nTraceback")
    assert told.endswith("OSError: no such text: [red]y[/red]")


def test_a_complaint_of_ours_within_a_file_stays_as_it_is(tmp_path: Path) -> None:
    file = write(tmp_path, "wrong.py", "from penstock import TopologyError\nraise TopologyError('as it is')\n")

    assert refused(file) == "as it is"


def test_a_function_that_returns_something_else(tmp_path: Path) -> None:
    file = write(tmp_path, "forgot.py", "def topology():\n    pass\n")

    assert refused(file) == f"{file} must return a Topology, and returned NoneType"


# ---- settings


def test_settings_that_a_function_does_not_take(tmp_path: Path) -> None:
    file = write(tmp_path, "takes.py", "def topology(lines, *, tasks=2): ...\ndef none(): ...\n")

    assert refused(file, lines="1", words="2") == f"{file} takes no 'words'; it takes 'lines', 'tasks'"
    assert refused(f"{file}:none", words="2") == f"{file}:none takes no 'words'; it takes nothing"


def test_settings_that_a_function_needs(tmp_path: Path) -> None:
    file = write(tmp_path, "needs.py", "def topology(lines, words, tasks=2): ...\n")

    assert refused(file, tasks="1") == f"{file} needs --set lines=VALUE and --set words=VALUE"


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [("limit", "many", "int"), ("limit", "1.5", "int"), ("loud", "loudly", "bool"), ("plain", "x", "int")],
)
def test_settings_of_another_type(tmp_path: Path, name: str, text: str, wanted: str) -> None:
    told = refused(write(tmp_path, "typed.py", FACTORY), **{name: text})

    assert told.startswith(f"--set {name}={text}: wanted {wanted}, got {text!r}")


def test_settings_of_a_type_that_allows_several(tmp_path: Path) -> None:
    told = refused(write(tmp_path, "typed.py", FACTORY), rate="fast")

    assert told.startswith("--set rate=fast: wanted float | None, got 'fast'")


def test_a_ready_topology_takes_no_settings(tmp_path: Path) -> None:
    file = write(tmp_path, "ready.py", READY)

    assert refused(file, n="1") == f"--set needs a function that makes the topology; {file} is a ready one"


def test_pairs() -> None:
    assert pairs(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}


@pytest.mark.parametrize("text", ["a", "=1", ""])
def test_what_is_no_pair(text: str) -> None:
    with pytest.raises(TopologyError, match=re.escape(f"--set wants NAME=VALUE, got {text!r}")):
        pairs([text])


def test_a_pair_that_is_given_twice() -> None:
    with pytest.raises(TopologyError, match="--set a is given twice: '1' and '2'"):
        pairs(["a=1", "a=2"])
