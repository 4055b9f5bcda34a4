"""A picture of a topology, for a terminal or for a document that draws Mermaid."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from penstock.topology.emit import DEFAULT_STREAM
from penstock.topology.logic import Logic
from penstock.topology.spec import ComponentSpec

__all__ = ["Style", "describe"]

Style: TypeAlias = Literal["text", "mermaid"]


def describe(name: str, components: Mapping[str, ComponentSpec], style: Style) -> str:
    """Draws the components, their tasks and fields, and the streams between them."""
    if style not in get_args(Style):
        message = f"describe: wanted 'text' or 'mermaid', got {style!r}"
        raise ValueError(message)
    specs = list(components.values())
    return _text(name, specs) if style == "text" else _mermaid(specs)


def _text(name: str, specs: Sequence[ComponentSpec]) -> str:
    """One line per component, in columns; a further line for each further input."""
    rows: list[tuple[str, ...]] = []
    for spec in specs:
        outputs, inputs = list(_outputs(spec)) or ["-"], [repr(taken) for taken in spec.inputs]
        for line in range(max(len(outputs), len(inputs))):
            head = (spec.name, spec.kind, f"×{spec.tasks}", _shown(spec.logic)) if line == 0 else ("",) * 4
            output = f"-> {outputs[line]}" if line < len(outputs) else ""
            taken = f"<- {inputs[line]}" if line < len(inputs) else ""
            rows.append((*head, output, taken))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    counts: list[Any] = [spec.tasks for spec in specs]
    tasks = sum(count for count in counts if isinstance(count, int))  # what fails its check is drawn too
    title = f"topology {name}: {_plural(len(specs), 'component')}, {_plural(tasks, 'task')}"
    return "\n".join([title, "", *(f"  {line}".rstrip() for line in lines)]).rstrip()


def _mermaid(specs: Sequence[ComponentSpec]) -> str:
    """A flow from left to right: spouts are round, bolts are square, and edges say how tuples are shared out."""
    numbers = {spec.name: f"c{number}" for number, spec in enumerate(specs)}
    lines = ["flowchart LR"]
    for spec in specs:
        label = f'"<b>{_escaped(spec.name)}</b> ×{spec.tasks}<br/>{_escaped(_shown(spec.logic))}"'
        shape = f"([{label}])" if spec.kind == "spout" else f"[{label}]"
        lines.append(f"    {numbers[spec.name]}{shape}")
    for spec in specs:
        for taken in spec.inputs:
            stream = "" if taken.stream == DEFAULT_STREAM else f"{taken.stream}: "
            label = _escaped(f"{stream}{taken.grouping!r}")
            lines.append(f'    {numbers[taken.source]} -- "{label}" --> {numbers[spec.name]}')
    return "\n".join(lines)


def _outputs(spec: ComponentSpec) -> Iterator[str]:
    for stream, fields in spec.streams.items():
        prefix = "" if stream == DEFAULT_STREAM else f"{stream}: "
        yield prefix + ", ".join(map(str, fields))


def _shown(logic: Logic) -> str:
    """What a component calls itself, else its class: an address tells nobody anything."""
    return repr(logic) if type(logic).__repr__ is not object.__repr__ else f"{type(logic).__name__}()"


def _escaped(text: str) -> str:
    # Mermaid reads labels as HTML, but has a way of its own to write a quote.
    return html.escape(text, quote=False).replace('"', "#quot;")


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
