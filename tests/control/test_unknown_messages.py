"""What nobody knows is an error that names it: it is never taken for something else, and ends no run."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.control import agent
from penstock.control.codec import decode_answer, decode_from_controller, decode_to_controller, encode
from penstock.control.message import Message
from penstock.control.status import Phase
from penstock.errors import ProtocolError, RunError
from tests.control.stage import Stage
from tests.control.troupe import troupe


class Riddle(Message, frozen=True, kw_only=True):
    """Something that a later version might say."""


UNKNOWN: Any = Riddle()


def test_an_unknown_event_is_no_tick() -> None:
    stage = Stage()
    stage.runs()
    stage.now_s += 3600  # at a tick, those that have not answered for so long would be given up
    with pytest.raises(AssertionError, match="Riddle"):
        stage.controller.handle(UNKNOWN, stage.now_s)
    assert [one.state for one in stage.status().workers] == ["begun", "begun"]


def test_an_unknown_question_does_not_stop_the_run() -> None:
    stage = Stage()
    stage.runs()
    with pytest.raises(AssertionError, match="Riddle"):
        stage.controller._answers.answer(UNKNOWN, stage.now_s)
    assert stage.phase() is Phase.RUNNING


def test_an_unknown_word_of_a_worker_is_not_passed_over() -> None:
    stage = Stage()
    first, _ = stage.runs()
    with pytest.raises(AssertionError, match="Riddle"):
        stage.says(first, UNKNOWN)


def test_an_unknown_instruction_is_not_the_end_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    with troupe() as run:
        monkeypatch.setattr(run.controller, "handle", lambda *_: [UNKNOWN])
        with pytest.raises(RunError, match=r"broke down:\nTraceback(.|\n)*Riddle"):
            run.server.wait(100)


def test_a_worker_does_not_pass_over_what_it_does_not_know() -> None:
    worker = object.__new__(agent._Agent)
    with pytest.raises(AssertionError, match="Riddle"):
        worker._obey(UNKNOWN)


@pytest.mark.parametrize("decode", [decode_to_controller, decode_from_controller, decode_answer])
def test_a_message_that_no_decoder_knows_is_named(decode: Any) -> None:
    with pytest.raises(ProtocolError, match="'Riddle'"):
        decode(encode(UNKNOWN))
