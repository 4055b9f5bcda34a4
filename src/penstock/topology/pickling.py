"""Pickling for workers: cloudpickle, which sends code, and msgspec's structs, which it cannot send.

cloudpickle rebuilds a class that it sends whole as an empty one, and sets its attributes afterwards. A struct class has
to know its fields when it is made.
"""

from __future__ import annotations

import io
from typing import Any

import cloudpickle
import msgspec

from penstock.topology.travelling_code import travelling_code

__all__ = ["dumps"]


def dumps(whole: object) -> bytes:
    """The object, together with the code of it that is not installed."""
    with travelling_code(), io.BytesIO() as file:
        _Pickler(file).dump(whole)
        return file.getvalue()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    def reducer_override(self, whole: Any) -> Any:
        reduced = super().reducer_override(whole)
        if reduced is not NotImplemented and isinstance(whole, type) and issubclass(whole, msgspec.Struct):
            return _reduce_struct(whole)
        return reduced


# Not carried over: what these are is made from the fields, or belongs to the process.
_MADE_BY_MSGSPEC = frozenset({"__annotations__", "__dict__", "__weakref__", "__slots__", "__module__", "__qualname__"})


def _reduce_struct(cls: type[msgspec.Struct]) -> tuple[Any, ...]:
    """In two steps, as the methods may speak of the class: the fields first, the rest when it is there."""
    parents = [base for base in cls.__mro__[1:] if issubclass(base, msgspec.Struct) and base is not msgspec.Struct]
    inherited = {name for parent in parents for name in parent.__struct_fields__}
    own = [field for field in msgspec.structs.fields(cls) if field.name not in inherited]
    names = {field.name for field in own}
    config = {name: getattr(cls.__struct_config__, name) for name in _CONFIG}
    config |= {
        "rename": {field.name: field.encode_name for field in own},
        # An order of parameters and no setting, once the class is made: all its own fields are of one kind.
        "kw_only": names.isdisjoint(cls.__match_args__),
        "module": cls.__module__,
    }
    fields = [(field.name, field.type, _default(field)) for field in own]
    rest = {name: value for name, value in vars(cls).items() if name not in _MADE_BY_MSGSPEC | names}
    rest["__qualname__"] = cls.__qualname__
    return _make, (cls.__name__, fields, cls.__bases__, config), rest, None, None, _set_attributes


_CONFIG = (
    *("frozen", "eq", "order", "array_like", "gc", "repr_omit_defaults", "omit_defaults", "forbid_unknown_fields"),
    *("weakref", "dict", "cache_hash", "tag", "tag_field"),
)


def _default(field: msgspec.structs.FieldInfo) -> dict[str, Any]:
    given = {"default": field.default, "default_factory": field.default_factory}
    return {name: value for name, value in given.items() if value is not msgspec.NODEFAULT}


def _make(name: str, fields: list[Any], bases: tuple[type, ...], config: dict[str, Any]) -> type[msgspec.Struct]:
    with_defaults = [(field, kind, msgspec.field(**default)) for field, kind, default in fields]
    return msgspec.defstruct(name, with_defaults, bases=bases, **config)


def _set_attributes(cls: type[msgspec.Struct], rest: dict[str, Any]) -> None:
    for name, value in rest.items():
        setattr(cls, name, value)
