"""What tests of moves have in common: who asks, who prepares, and what became of it."""

from __future__ import annotations

from typing import Any

from penstock.control.decisions import Decision
from penstock.control.events import EpochCommitted
from penstock.control.instructions import Instruction, SendTo
from penstock.control.moving import AskMove, Prepared
from penstock.control.protocol import BeginEpoch
from tests.control.stage import Stage, sent
from tests.control.test_rewinds import save_all


def asks(stage: Stage, task: int | str, worker: int) -> Any:
    (answer, *_) = stage.says(b"operator", AskMove(task=task, worker=worker))
    assert isinstance(answer, SendTo)
    return answer.message


def last(stage: Stage) -> Decision:
    return stage.status().decisions[-1]


def preparing(stage: Stage, *connections: bytes, number: int = 2) -> list[Instruction]:
    said: list[Instruction] = []
    for connection in connections:
        said += stage.says(connection, Prepared(assignment=number))
    return said


def commits(stage: Stage, first: bytes, second: bytes, epoch: int, *, assignment: int = 1) -> list[Instruction]:
    while not any(message.epoch == epoch for message in begun(stage.said, first)):
        stage.passes(0.25, first, second)
    save_all(stage, first, epoch, assignment=assignment)
    return stage.happens(EpochCommitted(epoch=epoch))


def begun(said: list[Instruction], connection: bytes) -> list[BeginEpoch]:
    return [message for message in sent(said, connection) if isinstance(message, BeginEpoch)]
