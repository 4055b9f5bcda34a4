"""Real messages, made by the code that makes them in a run: what fuzzing starts from."""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from itertools import cycle
from typing import Any

import msgspec
import pyarrow as pa

from penstock._native import Histogram, pack_link_head
from penstock.checkpoint.manifest import PartRef, SavedTask
from penstock.control.codec import encode
from penstock.control.feeding import (
    AskGrant,
    AskHolds,
    AskTaken,
    BatchIn,
    CloseBatch,
    EndFeed,
    FeedBroken,
    FeedPlace,
    Grant,
    Taken,
    Wait,
    WrittenPart,
)
from penstock.control.metrics import PairCounts, TaskCounts
from penstock.control.moving import (
    Abandon,
    AskMove,
    AskRebalance,
    AskScale,
    Decided,
    Moved,
    NotPrepared,
    Prepare,
    Prepared,
    Switch,
    TakeOver,
)
from penstock.control.peers import Peer, PeerChanged, PeerGone, PeerLost, PeerSilent
from penstock.control.protocol import (
    Admit,
    AskDrain,
    AskMetrics,
    AskStatus,
    AskStop,
    Begin,
    BeginEpoch,
    BeginTrial,
    Collected,
    Committed,
    Deploy,
    Done,
    Drain,
    Dying,
    Ended,
    Fatal,
    Heartbeat,
    InCall,
    Left,
    LinkBroken,
    MetricsAnswer,
    Noted,
    NotNow,
    Ping,
    Pulse,
    Ready,
    Refuse,
    Report,
    RowsKept,
    SpoutFailing,
    StatusAnswer,
    Stop,
    TaskFailure,
    TaskNotSaved,
    TaskSaved,
    TasksEnded,
    Trial,
    Tried,
    Trying,
)
from penstock.control.scheduling import AskScheduling
from penstock.plan.assignment import Assignment
from penstock.topology.emit import Emit
from penstock.transport.frames import FrameKind
from penstock.transport.ring import Route
from penstock.transport.values import encode_rows
from penstock.worker.batches import batch_to_payload, to_batch
from penstock.worker.care import Care
from penstock.worker.loan_frames import Answer, encode_loan, encode_offer, encode_repaid
from penstock.worker.resume import SpoutProgress
from penstock.worker.task_checkpoints import TaskRestore
from tests.control.stage import EDGES, TASKS, Stage, register
from tests.security.frames import real_frames

VALUES: list[Any] = [
    None,
    True,
    -1,
    2**63,
    2**70,
    2.5,
    "blue",
    "grün" * 20,
    b"\0\1\2",
    bytearray(b"abc"),
    [1, [2, ["three"]]],
    (1, (2.5, "x")),
    {"a": 1, "b": {"c": None}},
    {(1, 2): "pair", 3: "plain"},
    {"seen", 3},
    frozenset({1, (2, 3)}),
    1 + 2j,
    decimal.Decimal("0.10"),
    uuid.UUID(int=5),
    dt.date(2024, 2, 29),
    dt.time(12, 30, 15, 5),
    dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC),
    dt.timedelta(days=-1, seconds=5),
]


def link_frames() -> list[bytes]:
    heads = [pack_link_head(7, 1, Route(target=1, assignment=1, flags=kind)) for kind in FrameKind]
    return [head + payload for head, payload in zip(heads, cycle((b"", b"frame", bytes(2000))), strict=False)]


def rows() -> list[bytes]:
    return [encode_rows([(value,)]) for value in VALUES] + [encode_rows([tuple(VALUES), tuple(VALUES)])]


def batches() -> list[bytes]:
    tables = [
        to_batch([("blue", 1), ("red", None)], ("word", "count")),
        to_batch([([1, 2], {"x": 1.5}), ([], None)], ("list", "struct")),
        pa.RecordBatch.from_arrays([pa.array(["a", "b", "a"]).dictionary_encode()], names=["word"]),
        pa.RecordBatch.from_arrays([pa.array([b"x", b"yy"], pa.large_binary()), pa.array([True, None])], names="ab"),
        pa.RecordBatch.from_arrays(
            [pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC), None]), pa.nulls(2)], names=["at", "null"]
        ),
    ]
    return [batch_to_payload(table, 1, 2) for table in tables]


def frames() -> list[bytes]:
    """What workers send each other, but for batches: a byte for the kind, and the payload."""
    one_by_one, to_all = real_frames(VALUES), real_frames(VALUES, broadcast=True)
    answers: list[Answer] = [[(value,), Emit((value, 1), stream="odd", task=2)] for value in VALUES]
    lent = [
        (FrameKind.WANTED, b""),
        (FrameKind.OFFER, encode_offer(2)),
        (FrameKind.LOAN, encode_loan(2**63, 1, [(value, 1) for value in VALUES])),
        (FrameKind.REPAID, encode_repaid(2**63, 2, [None, [], *answers])),
    ]
    return [bytes([kind]) + payload for kind, payload in one_by_one + to_all + lent]


def greetings() -> list[bytes]:
    """At a ring's door."""
    return [msgspec.msgpack.encode(["_Hello", 1, *known]) for known in ((None, None), (3, 2**60))]


def histograms() -> list[bytes]:
    empty, spread = Histogram(), Histogram()
    for value in (100, 5000, 10**9):
        spread.record(value)
    return [empty.to_bytes(), spread.to_bytes()]


def to_controller() -> list[bytes]:
    _, spread = histograms()
    report = Report(
        at_ns=10**9,
        cpu_ns=10**8,
        tasks=tuple(TaskCounts(task=task, processed=10, emitted=20, busy_ns=5) for task in range(4)),
        pairs=(PairCounts(edge=0, source=0, target=1, tuples=10, bytes=100),),
        lost=1,
        latency={"count": spread},
        hops={1: spread},
    )
    part = PartRef(path="parts/1", size_bytes=10, checksum="00")
    saved = SavedTask(component="split", index=1, parts=(part,), position=b"\x05", prepared=b"\x90", owes=True)
    failure = TaskFailure(component="split", task=1, kind="ValueError", message="x", traceback="Traceback …", count=3)
    said = (
        register(0),
        Heartbeat(),
        Ready(assignment=1, feeds=(FeedPlace(task=0, ring_address="@ring", link_endpoint="tcp://10.0.0.1:1"),)),
        report,
        failure,
        Collected(task=0, component="totals", count=1, rows=encode_rows([("blue", 3)])),
        Ended(assignment=1),
        Dying(traceback="Traceback …"),
        Fatal(traceback="Traceback …"),
        Left(reason="told to"),
        Ping(),
        InCall(component="split", task=1, place="process (words.py:7)"),
        TaskSaved(assignment=1, task=1, epoch=2, saved=saved),
        TaskNotSaved(assignment=1, task=1, epoch=2, reason="the disk is full"),
        Trying(task=1, tuples=(2**63, 5), alone=False),
        Tried(),
        Trial(task=0, stage="wanted"),
        PeerGone(worker=1, generation=1),
        LinkBroken(lost_frames=3),
        SpoutFailing(component="lines", task=0, trouble="fails again and again"),
        AskStatus(),
        AskMetrics(),
        AskDrain(),
        AskStop(),
        BatchIn(assignment=1, component="events", task=0, closing=7),
        FeedBroken(assignment=1, component="events", task=0, reason="lost"),
        AskGrant(component="events", query="q", query_run="r", batch=7, partition=2, node="n"),
        AskHolds(component="events", grant=3),
        Prepared(assignment=2),
        NotPrepared(assignment=2, reason="no space left"),
        Moved(assignment=2, task=3),
        AskMove(task="count[0]", worker=1),
        AskRebalance(),
        AskScale(component="count", tasks=8),
        AskScheduling(
            scheduler="t-storm", parameters={"gamma": 1.7}, settings={"load_alpha": 0.5, "load_every_s": None}
        ),
        AskTaken(component="events", query="q", query_run="r", batch=7, parts=(WrittenPart(grant=3, rows=100),)),
    )
    return [encode(message) for message in said]


def to_worker() -> list[bytes]:
    peer = Peer(worker=1, generation=1, node="a", ring_address="penstock-ring-0", link_endpoint="tcp://127.0.0.1:1")
    deploy = Deploy(
        topology=b"blob",
        tasks=TASKS,
        edges=EDGES,
        assignment=Assignment(number=1, worker_of={0: 0, 1: 1, 2: 0, 3: 1}),
        peers=(peer,),
        resume=(SpoutProgress(task=0, position=b"\x05"),),
        checkpoint_url="file:///checkpoint",
        claim=2,
        epoch=7,
        restore=(TaskRestore(task=1, position=b"\x05", share=(0, 2)),),
        ended_tasks=(1,),
        care=Care(epochs=10, suspects={"split": (1, 2**63)}, given_up={"split": {5: 3}}),
    )
    said = (
        Admit(generation=1),
        Refuse(reason="no"),
        deploy,
        PeerLost(worker=1, generation=2),
        PeerSilent(worker=1, generation=2, silent=True),
        PeerChanged(peer=peer),
        TasksEnded(tasks=(0, 1)),
        CloseBatch(component="events", closing=7, rows={0: {3: 100}, 1: {}}),
        EndFeed(component="events"),
        Prepare(assignment=Assignment(number=2, worker_of={0: 0, 1: 1, 2: 1, 3: 1}), tasks=TASKS, peers=(peer,)),
        Switch(assignment=2),
        Abandon(assignment=2),
        TakeOver(task=0, worker=1, resume=SpoutProgress(task=0, position=b"\x05", owed=3)),
        Begin(),
        BeginEpoch(epoch=8, committed=7),
        BeginTrial(task=0),
        Committed(epoch=8),
        RowsKept(task=3, arrivals=10),
        Noted(),
        Drain(),
        Stop(),
        Pulse(),
    )
    return [encode(message) for message in said]


def answers() -> list[bytes]:
    stage = Stage()
    stage.runs()
    metrics = stage.controller.metrics(stage.now_s)
    return [
        encode(message)
        for message in (
            StatusAnswer(status=stage.status()),
            MetricsAnswer(metrics=metrics),
            Done(),
            Decided(decision=3),
            NotNow(reason="no"),
            Grant(grant=3, task=0, same_node=True, ring_address="@ring", link_endpoint="tcp://10.0.0.1:1"),
            Wait(),
            Taken(),
        )
    ]
