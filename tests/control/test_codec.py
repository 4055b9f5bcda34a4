"""Messages as bytes: what goes in comes out, and nothing else comes in."""

from enum import Enum
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.control import feeding, moving, protocol, scheduling
from penstock.control.codec import decode_answer, decode_from_controller, decode_to_controller, encode
from penstock.control.protocol import Answer, AskStop, Begin, Deploy, FromController, FromWorker, Question, Register
from penstock.errors import ProtocolError
from penstock.plan.assignment import Assignment
from tests.control.stage import EDGES, TASKS, Stage, register
from tests.tries import tried

DECODERS = {
    "to controller": (decode_to_controller, (*get_args(FromWorker), *get_args(Question))),
    "to worker": (decode_from_controller, get_args(FromController)),
    "answers": (decode_answer, get_args(Answer)),
}
EVERY_MESSAGE = [(way, kind) for way, (_, kinds) in DECODERS.items() for kind in kinds]


SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: st.integers(-(2**63), 2**63),
    float: st.floats(allow_nan=False),
    str: st.text(max_size=20),
    bytes: st.binary(max_size=20),
    type(None): st.none(),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a type that messages are made of. Numbers have 64 bits, as on the wire."""
    parts = get_args(kind)
    if kind in SIMPLE:
        return SIMPLE[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = get_type_hints(kind)
        return st.builds(kind, **{name: values_of(hints[name]) for name in kind.__struct_fields__})
    if get_origin(kind) is Literal:
        return st.sampled_from(parts)
    if get_origin(kind) is tuple:
        if parts[-1] is not ...:
            return st.tuples(*map(values_of, parts))
        return st.lists(values_of(parts[0]), max_size=3).map(tuple)
    if get_origin(kind) is dict:
        return st.dictionaries(values_of(parts[0]), values_of(parts[1]), max_size=3)
    return st.one_of(*map(values_of, parts))


@pytest.mark.parametrize(("way", "kind"), EVERY_MESSAGE, ids=lambda value: getattr(value, "__name__", value))
@tried(30)
@given(data=st.data())
def test_every_message_survives_the_wire(way: str, kind: type[Any], data: st.DataObject) -> None:
    message = data.draw(values_of(kind))

    assert DECODERS[way][0](encode(message)) == message


def test_every_message_of_the_protocol_is_on_one_side_only() -> None:
    defined = {
        value
        for part in (protocol, feeding, moving, scheduling)
        for value in vars(part).values()
        if isinstance(value, type) and issubclass(value, protocol.Message) and value is not protocol.Message
    }

    sides = [set(kinds) for _, kinds in DECODERS.values()]
    assert set().union(*sides) == defined
    assert sum(map(len, sides)) == len(defined)


@pytest.mark.parametrize("way", DECODERS)
def test_what_is_meant_for_another_side_is_refused(way: str) -> None:
    decode, own = DECODERS[way]
    samples = {"to controller": AskStop(), "to worker": Begin(), "answers": protocol.Done()}
    for message in samples.values():
        if type(message) not in own:
            with pytest.raises(ProtocolError, match="bytes that are no"):
                decode(encode(message))  # type: ignore[arg-type]


def test_a_deployment_survives_the_wire_as_it_is() -> None:
    message = Deploy(
        topology=bytes(range(256)),
        tasks=TASKS,
        edges=EDGES,
        assignment=Assignment(number=3, worker_of={0: 1, 7: 0}),
        peers=(),
        ended_tasks=(1, 2),
    )

    assert decode_from_controller(encode(message)) == message


def test_a_status_survives_the_wire_as_it_is() -> None:
    stage = Stage(workers=2)
    stage.runs()
    message = protocol.StatusAnswer(status=stage.status())

    assert decode_answer(encode(message)) == message


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "0 bytes that are no Penstock control message"),
        (b"GET / HTTP/1.1\r\n", r"16 bytes that are no Penstock control message: they begin with b'GET / HT'"),
        (b"PNSTK", "version wanted=1 got=none: different versions of Penstock"),
        (b"PNSTK\x02\x80", "version wanted=1 got=2: different versions of Penstock"),
        (b"PNSTK\x01", "no message of a worker"),
        (b"PNSTK\x01\x80", "no message of a worker.*missing required field `type`"),
        (b"PNSTK\x01\x81\xa4type\xa5Nobody", "no message of a worker"),
        (b"PNSTK\x01\x81\xa4type\xa7AskStop\x00", "no message of a worker.*trailing"),
        (b"PNSTK\x01" + b"\x91" * 100_000, "no message of a worker"),
    ],
)
def test_foreign_bytes_are_refused_with_a_reason(data: bytes, complaint: str) -> None:
    with pytest.raises(ProtocolError, match=complaint):
        decode_to_controller(data)


@given(st.binary(max_size=200), st.sampled_from(sorted(DECODERS)), st.booleans())
def test_no_bytes_raise_anything_else(noise: bytes, way: str, prefixed: bool) -> None:
    data = b"PNSTK\x01" + noise if prefixed else noise
    try:
        DECODERS[way][0](data)
    except ProtocolError:
        return
    assert prefixed


@given(st.integers(0, 500), st.integers(0, 255))
def test_a_damaged_message_is_refused_or_read_as_another(place: int, byte: int) -> None:
    data = bytearray(encode(register(1)))
    data[place % len(data)] = byte
    try:
        message = decode_to_controller(bytes(data))
    except ProtocolError:
        return
    assert isinstance(message, msgspec.Struct)


def test_a_field_of_the_wrong_type_is_named() -> None:
    wrong = msgspec.msgpack.encode(msgspec.to_builtins(register(1)) | {"pid": "abc"})

    with pytest.raises(ProtocolError, match=r"Expected `int`, got `str` - at `\$.pid`"):
        decode_to_controller(b"PNSTK\x01" + wrong)


def test_messages_are_frozen_and_take_keywords_only() -> None:
    message = register(1)
    with pytest.raises(AttributeError):
        message.worker = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        Register("run")  # type: ignore[call-arg]
