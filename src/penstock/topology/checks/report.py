"""All checks together, and how what they found is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.topology.checks.emissions import emission_problems
from penstock.topology.checks.graph import input_problems
from penstock.topology.checks.logic import is_runnable, logic_problems, setting_problems
from penstock.topology.checks.names import name_problems, topology_name_problems
from penstock.topology.declaration import Declaration
from penstock.topology.emit import DEFAULT_STREAM
from penstock.topology.helpable import unhelped
from penstock.topology.spec import ComponentSpec
from penstock.topology.unshippable import unshippable

__all__ = ["problems_of", "report"]


def problems_of(name: str, declarations: Sequence[Declaration], *, shipped: bool) -> list[str]:
    """Everything that is wrong, component by component, in the order in which they were declared."""
    found = list(topology_name_problems(name))
    if not any(declared.spec.kind == "spout" for declared in declarations):
        found.append("wanted at least one spout, for tuples to come from, got none")
    components: dict[str, ComponentSpec] = {}
    for declared in declarations:
        components.setdefault(declared.spec.name, declared.spec)
    for declared in declarations:
        spec = declared.spec
        culprit = f"{spec.kind} {spec.name!r} ({spec.declared_at})"
        first = components[spec.name]
        if first is not spec:
            found.append(f"{culprit}: the {first.kind} of {first.declared_at} has the same name")
        problems = [*declared.notes, *_component_problems(spec, components, shipped=shipped)]
        found.extend(f"{culprit}: {problem}" for problem in problems)
    return found


def _component_problems(spec: ComponentSpec, components: dict[str, ComponentSpec], *, shipped: bool) -> Iterator[str]:
    yield from name_problems(spec)
    yield from setting_problems(spec)
    yield from logic_problems(spec)
    yield from input_problems(spec, components)
    if is_runnable(spec):
        yield from emission_problems(spec, components)
        yield from _own_problems(spec)
        yield from _helping_problems(spec, components)
        if shipped:
            yield from unshippable(spec)


def _own_problems(spec: ComponentSpec) -> Iterator[str]:
    """What the component itself says."""
    try:
        yield from spec.logic.problems(spec.tasks, spec.streams.get(DEFAULT_STREAM, ()))
    except Exception as error:
        yield f"{type(spec.logic).__name__}.problems() failed: {type(error).__name__}: {error}"


def _helping_problems(spec: ComponentSpec, components: dict[str, ComponentSpec]) -> Iterator[str]:
    helping: Any = spec.settings.helping
    if helping is not None and not isinstance(helping, bool):
        yield f"helping: wanted True, False or None, got {helping!r}"
    elif helping and (why := unhelped(components, spec.name)) is not None:
        yield f"helping=True: others cannot do its work: {why}"


def report(name: str, problems: Sequence[str]) -> str:
    """The text of the error."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return "\n".join([f"topology {name!r} cannot run: {count}", *(f"  {problem}" for problem in problems)])
