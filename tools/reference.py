"""Writes docs/reference.md from the docstrings of everything behind the public door.

python -m tools.reference          writes the page
python -m tools.reference --check  fails if the page is not what the docstrings say
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

import penstock
from penstock import testing
from penstock.spark.settings import RunSettings

PAGE = Path(__file__).parent.parent / "docs" / "reference.md"

HEAD = """# Reference

Everything that `import penstock as ps` gives, from the docstrings. Made by `python -m tools.reference`; a test holds it
to the code.
"""

SETTINGS_TITLE = "Settings of a run"
SETTINGS_HEAD = """`ps.run` and `ps.start` take any of these by name, beside their arguments, such as
`ps.run(topo, workers=3, start_timeout_s=120.0)`. The command line has the arguments only.
"""


def reference() -> str:
    """The whole page."""
    names = [name for name in penstock.__all__ if not name.startswith("__")]
    titles = {name: _title("ps", name, getattr(penstock, name)) for name in names}
    listed = "".join(f"- [`ps.{name}`](#{anchor(title)})\n" for name, title in titles.items())
    parts = [HEAD, f"{listed}- [settings of a run](#{anchor(SETTINGS_TITLE)})\n"]
    parts += [_entry("ps", name, getattr(penstock, name)) for name in names]
    parts.append(f"# {SETTINGS_TITLE}\n\n{SETTINGS_HEAD}")
    parts += [_settings(field.type) for field in msgspec.structs.fields(RunSettings)]
    parts.append(
        "# The test kit\n\nWhat `from penstock import testing` gives: topologies without Spark and without processes.\n"
    )
    parts += [_entry("testing", name, getattr(testing, name)) for name in testing.__all__]
    return "\n".join(parts)


def anchor(title: str) -> str:
    """What a heading is linked by: in lower case, so that `ps.run` and `ps.Run` need different titles."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _title(module: str, name: str, value: Any) -> str:
    return f"{'class' if inspect.isclass(value) else 'function'} {module}.{name}"


def _entry(module: str, name: str, value: Any) -> str:
    lines = [f"## {_title(module, name, value)}\n"]
    if callable(value):
        lines.append(f"```text\n{module}.{name}{_signature(value)}\n```\n")
    lines.append(_text(value))
    if inspect.isclass(value) and not issubclass(value, Exception):
        lines += [f"**`{member}{_signature(method)}`**\n\n{_text(method)}" for member, method in _methods(value)]
    return "\n".join(lines)


def _methods(cls: type) -> Iterator[tuple[str, Any]]:
    """Its public methods and properties, inherited ones of ours included."""
    for name in dir(cls):
        if name.startswith("_"):
            continue
        value = inspect.getattr_static(cls, name)
        if isinstance(value, property):
            yield name, value.fget
        elif inspect.isfunction(value) or isinstance(value, classmethod | staticmethod):
            yield name, getattr(cls, name)


def _settings(kind: type[msgspec.Struct]) -> str:
    """Every setting with type, default and what is written below it; but for those that `run` has arguments for."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    arguments = inspect.signature(penstock.run).parameters
    lines = [f"## class {kind.__name__}\n", _text(kind)]
    for statement, following in pairwise([*body.body, ast.Pass()]):
        if not isinstance(statement, ast.AnnAssign) or ast.unparse(statement.target) in arguments:
            continue
        name, annotation = ast.unparse(statement.target), ast.unparse(statement.annotation)
        default = "" if statement.value is None else f" = {ast.unparse(statement.value)}"
        told = following.value if isinstance(following, ast.Expr) else None
        text = told.value if isinstance(told, ast.Constant) else None
        lines.append(f"- `{name}: {annotation}{default}`" + (f": {' '.join(str(text).split())}" if text else ""))
    return "\n".join(lines) + "\n"


def _signature(value: Any) -> str:
    try:
        signature = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    signature = re.sub(r" at 0x[0-9a-f]+", "", signature)  # of a default that is a function: another in each process
    return signature.replace("(self, ", "(").replace("(self)", "()").replace("'", "")


def _text(value: Any) -> str:
    """A docstring, with its examples as code and its Google sections as lists."""
    lines, in_code, in_list = [], False, False
    for line in (inspect.getdoc(value) or "").splitlines():
        is_code = line.lstrip().startswith((">>> ", "... ")) or (in_code and bool(line.strip()))
        if is_code and not in_code:
            lines.append("```pycon")
        if in_code and not is_code:
            lines.append("```")
        in_code = is_code
        if line in ("Args:", "Raises:", "Attributes:", "Returns:"):
            in_list = True
            lines += [f"*{line[:-1]}*", ""]
        elif in_list and line.startswith("    ") and not line.startswith("     "):
            lines.append(f"- {line.strip()}")
        else:
            in_list = in_list and (not line or line.startswith(" "))
            lines.append(line)
    if in_code:
        lines.append("```")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Writes or checks the page."""
    if "--check" not in sys.argv:
        PAGE.write_text(reference())
    elif not PAGE.exists() or PAGE.read_text() != reference():
        message = "docs/reference.md is not what the docstrings say: run python -m tools.reference"
        raise SystemExit(message)


if __name__ == "__main__":
    main()
