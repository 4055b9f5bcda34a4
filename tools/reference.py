"""Writes docs/reference.md from the docstrings of everything behind the public door.

python -m tools.reference          writes the page
python -m tools.reference --check  fails if the page is not what the docstrings say
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import penstock
from penstock import testing

PAGE = Path(__file__).parent.parent / "docs" / "reference.md"

HEAD = """# Reference

Everything that `import penstock as ps` gives, from the docstrings. Made by `python -m tools.reference`; a test holds it
to the code.
"""


def reference() -> str:
    """The whole page."""
    names = [name for name in penstock.__all__ if not name.startswith("__")]
    parts = [HEAD, "".join(f"- [`ps.{name}`](#ps{name.lower()})\n" for name in names)]
    parts += [_entry("ps", name, getattr(penstock, name)) for name in names]
    parts.append(
        "# The test kit\n\nWhat `from penstock import testing` gives: topologies without Spark and without processes.\n"
    )
    parts += [_entry("testing", name, getattr(testing, name)) for name in testing.__all__]
    return "\n".join(parts)


def _entry(module: str, name: str, value: Any) -> str:
    lines = [f"## {module}.{name}\n"]
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


def _signature(value: Any) -> str:
    try:
        signature = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
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
