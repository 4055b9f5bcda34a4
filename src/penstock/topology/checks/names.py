"""Names: of the topology, of components, streams and fields."""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from penstock.topology.spec import ComponentSpec
from penstock.topology.tuples import RESERVED_FIELDS

__all__ = ["name_problems", "topology_name_problems"]

# What can stand unquoted in a command line, a file name, a metric's label and a logger's name.
_NAME = re.compile(r"[^\W\d_][\w-]*")


def topology_name_problems(name: object) -> Iterator[str]:
    """What is wrong with the name of a topology."""
    yield from _badly_named("its name", name)


def name_problems(spec: ComponentSpec) -> Iterator[str]:
    """What is wrong with the names that a component brings in."""
    yield from _badly_named("its name", spec.name)
    for stream, fields in spec.streams.items():
        yield from _badly_named("the name of a stream", stream)
        of = "fields" if stream == "default" else f"streams[{stream!r}]"
        if not fields:
            yield f"{of}: wanted at least one field, got none"
        for field in fields:
            yield from (f"{of}: {problem}" for problem in _field_problems(field))
        yield from (f"{of}: {field!r} is there {count} times" for field, count in _repeated(fields))


def _badly_named(what: str, name: object) -> Iterator[str]:
    if not isinstance(name, str):
        yield f"{what}: wanted a str, got {name!r}"
    elif not _NAME.fullmatch(name):
        yield f"{what}: wanted a letter, then letters, digits, '_' and '-', got {name!r}"


def _field_problems(field: object) -> Iterator[str]:
    # A field is read as tup.field, so it has to be a name there, and not one that means something else.
    if not isinstance(field, str):
        yield f"wanted names, got {field!r}"
    elif not field.isidentifier():
        yield f"wanted names that Python takes after a dot, got {field!r}"
    elif keyword.iskeyword(field):
        yield f"{field!r} is a keyword of Python; call it {field + '_'!r}"
    elif field.startswith("_"):
        yield f"{field!r} begins with '_', as only Penstock's own attributes do"
    elif field in RESERVED_FIELDS:
        yield f"{field!r} is what every tuple has already ({', '.join(sorted(RESERVED_FIELDS))}); call it otherwise"


def _repeated(names: Iterable[object]) -> Iterator[tuple[object, int]]:
    return ((name, count) for name, count in Counter(map(str, names)).items() if count > 1)
