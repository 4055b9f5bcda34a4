"""Whether a topology can go on from what another one, or an earlier version of it, has saved.

What has no state may change freely. State has to find the component that it belongs to again:

>>> from penstock.checkpoint.shape import SavedComponent, SavedShape
>>> def shape(tasks):
...     return SavedShape(topology="t", components=(SavedComponent(name="lines", kind="spout", tasks=tasks),))
>>> differences(shape(2), shape(2))
[]
>>> differences(shape(2), shape(3))
["spout 'lines' has 3 tasks, but 2 in the checkpoint: each position belongs to one task"]
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.checkpoint.shape import SavedComponent, SavedKind, SavedShape

__all__ = ["differences"]

# What would be lost, or be missing, if a component of the kind were not in both. The other kinds keep nothing.
_KEPT: dict[SavedKind, str] = {
    "spout": "positions",
    "stateful": "state",
    "keyed": "state by key",
}
# What a sink may still owe somebody. A new one may come in: it is given what comes from now on, and owes no more.
_OWED: dict[SavedKind, str] = {
    "sink": "what it prepared but perhaps did not commit",
    "collect": "the rows that it has collected",
}
# What is tied to the number of tasks. State by key is not, nor are rows: they are shared out anew.
_TIED_TO_TASKS: dict[SavedKind, str] = {
    "spout": "each position belongs to one task",
    "stateful": "each task has a state of its own; a KeyedBolt's state can be shared out anew",
}


def differences(old: SavedShape, new: SavedShape) -> list[str]:
    """What keeps `new` from going on from a checkpoint of `old`, a sentence each; empty if nothing does."""
    return list(_differences(old, new))


def _differences(old: SavedShape, new: SavedShape) -> Iterator[str]:
    if old.topology != new.topology:
        yield f"the topology is called {new.topology!r}, but {old.topology!r} in the checkpoint"
    before = {component.name: component for component in old.components}
    now = {component.name: component for component in new.components}
    for name, component in before.items():
        if name not in now:
            yield from _gone(component)
    for name, component in now.items():
        if name not in before:
            yield from _added(component)
        else:
            yield from _changed(before[name], component)


def _gone(component: SavedComponent) -> Iterator[str]:
    shown = f"{component.kind} {component.name!r}"
    if component.kind in _OWED:
        yield f"{shown} is gone, and with it {_OWED[component.kind]}"
    elif component.kind in _KEPT:
        yield f"{shown} is gone, and with it the {_KEPT[component.kind]} that the checkpoint has for it"


def _added(component: SavedComponent) -> Iterator[str]:
    if component.kind in _KEPT:
        yield f"{component.kind} {component.name!r} is new: the checkpoint has no {_KEPT[component.kind]} for it"


def _changed(old: SavedComponent, new: SavedComponent) -> Iterator[str]:
    shown = f"{new.kind} {new.name!r}"
    if old.kind != new.kind:
        # A stateless operator may become another, or a sink: then there is nothing to lose and nothing to miss.
        if old.kind in _KEPT or old.kind in _OWED or new.kind in _KEPT:
            yield f"{new.name!r} is a {new.kind}, but a {old.kind} in the checkpoint"
        return
    if new.kind in _TIED_TO_TASKS and old.tasks != new.tasks:
        yield f"{shown} has {_tasks(new.tasks)}, but {old.tasks} in the checkpoint: {_TIED_TO_TASKS[new.kind]}"
    if new.kind == "keyed" and _keys(old) != _keys(new):
        yield f"{shown} is grouped {_listed(new)}, but {_listed(old)} in the checkpoint: its keys are others"


def _keys(component: SavedComponent) -> set[str]:
    return {taken.grouping for taken in component.inputs}


def _listed(component: SavedComponent) -> str:
    return " and ".join(sorted(_keys(component)))


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count} tasks"
