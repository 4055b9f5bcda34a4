"""Nothing that comes from a socket is unpickled, evaluated or imported: no such code, and no such behaviour.

The one exception is the topology itself, which a worker opens when the driver of its run has sent it. That nobody else
can send it is tested in test_strangers.py.
"""

from __future__ import annotations

import ast
import contextlib
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from penstock.control.codec import decode_answer, decode_from_controller, decode_to_controller
from penstock.control.protocol import Collected, Fatal
from penstock.errors import ProtocolError
from penstock.transport.frames import FrameKind
from penstock.transport.values import UNREADABLE, decode_rows
from penstock.worker.batches import batch_from_payload, batch_to_payload, rows_of
from tests.control.stage import register
from tests.control.troupe import troupe, worker
from tests.ring.patience import wait_until
from tests.security.frames import receiving_worker, refused_frame

SOURCE = Path(__file__).parents[2] / "src" / "penstock"

# Where a module that runs what it reads may be used, and what for.
ALLOWED = {
    "topology/shipping.py": {"cloudpickle"},  # from_bytes: the topology, on the worker
    "topology/pickling.py": {"cloudpickle"},  # dumps only
    "topology/travelling_code.py": {"cloudpickle"},  # which modules travel whole
    "cli/arguments.py": {"eval"},  # the annotations of the user's own function
}
DANGEROUS_MODULES = {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "jsonpickle", "yaml", "_pickle"}
DANGEROUS_CALLS = {"eval", "exec", "recv_pyobj", "send_pyobj", "recv_serialized", "deserialize", "read_pickle"}


def _dangers(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]
            if node.module == "multiprocessing.connection":
                yield "pickle"  # a Connection unpickles what it receives
        elif isinstance(node, ast.Call):
            function = node.func
            yield function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _found(source: str) -> set[str]:
    return set(_dangers(ast.parse(source))) & (DANGEROUS_MODULES | DANGEROUS_CALLS)


def test_no_module_can_run_what_it_reads_but_those_that_are_known() -> None:
    found = {str(file.relative_to(SOURCE)): _found(file.read_text()) for file in sorted(SOURCE.rglob("*.py"))}

    assert {name: dangers for name, dangers in found.items() if dangers} == ALLOWED


def test_only_the_worker_opens_a_topology_and_only_one_place_unpickles() -> None:
    nodes = [
        (str(file.relative_to(SOURCE)), node)
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
    ]
    importers = {
        name
        for name, node in nodes
        if isinstance(node, ast.ImportFrom)
        and node.module == "penstock.topology.shipping"
        and any(alias.name == "from_bytes" for alias in node.names)
    }
    unpicklers = {
        name
        for name, node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in DANGEROUS_MODULES
        and node.attr in ("load", "loads", "Unpickler")
    }

    # The second one takes what came inside Spark's own task, and listens to nobody.
    assert importers == {"control/deploying.py", "spark/barrier_worker.py"}
    assert unpicklers == {"topology/shipping.py"}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import cloudpickle as c",
        "from multiprocessing.connection import Client",
        "def f(socket):\n    return socket.recv_pyobj()",
        "exec(data)",
    ],
)
def test_a_planted_danger_is_found(source: str) -> None:
    assert _found(source)


# ---- and what happens when somebody sends one


class _Bomb:
    """Leaves a mark where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._mark,)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "went off"


@pytest.fixture
def bomb(mark: Path) -> Iterator[bytes]:
    """A pickle that leaves a mark; none may be there in the end."""
    armed = pickle.dumps(_Bomb(mark))
    pickle.loads(armed)
    assert mark.exists(), "the bomb is a dud, and would prove nothing"
    mark.unlink()
    yield armed
    assert not mark.exists(), "somebody unpickled what came from a socket"


def arrow_bomb(bomb: bytes) -> bytes:
    """A record batch of the extension type that older Arrows unpickled when they met it."""
    metadata = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": bomb}
    schema = pa.schema([pa.field("n", pa.int64(), metadata=metadata)])
    return batch_to_payload(pa.RecordBatch.from_arrays([pa.array([1])], schema=schema), 1, 1)


DECODERS: dict[str, Callable[[bytes], Any]] = {
    "rows": decode_rows,
    "batch": batch_from_payload,
    "to controller": decode_to_controller,
    "to worker": decode_from_controller,
    "answer": decode_answer,
}


@pytest.mark.parametrize("decoder", DECODERS)
def test_no_decoder_unpickles(bomb: bytes, decoder: str) -> None:
    wrapped = [bomb, b"PNSTK\x01" + bomb, bytes(16) + bomb, *(_extended(code, bomb) for code in range(256))]
    for data in wrapped:
        with contextlib.suppress(ProtocolError, *UNREADABLE):
            DECODERS[decoder](data)


def _extended(code: int, content: bytes) -> bytes:
    signed = code if code < 128 else code - 256
    return msgspec.msgpack.encode([[msgspec.msgpack.Ext(signed, msgspec.msgpack.encode(content))]])


def test_arrow_does_not_unpickle_extension_types(bomb: bytes) -> None:
    with contextlib.suppress(*UNREADABLE):
        list(rows_of(batch_from_payload(arrow_bomb(bomb))[0]))


def test_a_driver_keeps_what_workers_say_as_bytes_and_text(bomb: bytes) -> None:
    with troupe(stop_timeout_s=0.1) as run, worker(run) as played:
        played.client.send(register(0))
        wait_until(lambda: run.server.status().workers[0].generation == 1, "it is admitted")
        played.client.send(Collected(task=0, component="totals", count=1, rows=bomb))
        played.client.send(Fatal(traceback=bomb.decode("latin-1")))
        end = run.server.wait(60)

        assert end is not None
        assert end.summary.collected == {"totals": (bomb,)}
    with contextlib.suppress(*UNREADABLE):
        decode_rows(bomb)


def test_a_stray_pickle_on_the_control_socket_is_refused(bomb: bytes) -> None:
    with troupe() as run, worker(run) as stray:
        stray.client._socket.send_multipart([bytes(8), bomb])
        wait_until(lambda: run.server.status().notices, "a notice")

        assert "no Penstock control message" in run.server.status().notices[0]


@pytest.mark.parametrize("kind", [FrameKind.TUPLES, FrameKind.BATCH, FrameKind.MARKER, FrameKind.CREDIT])
def test_a_worker_refuses_a_pickle_in_a_frame(bomb: bytes, kind: FrameKind) -> None:
    with receiving_worker() as receiver:
        refused_frame(receiver, bomb, flags=kind)
        if kind == FrameKind.BATCH:
            receiver.sends(arrow_bomb(bomb), flags=kind)
