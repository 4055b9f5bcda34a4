"""The short form of `make fuzz`: some thousand inputs for each decoder, in a process of its own, for it might crash."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from penstock.control.codec import decode_answer, decode_from_controller, decode_to_controller
from penstock.control.protocol import Answer, FromController, FromWorker, Question
from tests.fuzz.corpus import answers, to_controller, to_worker
from tests.fuzz.mutation import mutated
from tests.fuzz.targets import TARGETS, Target

ROOT = Path(__file__).parents[2]
INPUTS = 2000


def test_no_decoder_raises_what_it_does_not_document_or_takes_much_memory(tmp_path: Path) -> None:
    """The output names the seed, which repeats it: python -m tests.fuzz --inputs 2000 --seed … TARGET."""
    command = [sys.executable, "-m", "tests.fuzz", "--inputs", str(INPUTS)]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("nothing found") == len(TARGETS)


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_is_what_the_decoder_takes(name: str) -> None:
    for data in TARGETS[name].corpus():
        TARGETS[name].decode(data)


@pytest.mark.parametrize(
    ("corpus", "decode", "kinds"),
    [
        (to_controller, decode_to_controller, get_args(FromWorker) + get_args(Question)),
        (to_worker, decode_from_controller, get_args(FromController)),
        (answers, decode_answer, get_args(Answer)),
    ],
)
def test_every_message_of_control_is_fuzzed(
    corpus: Callable[[], list[bytes]], decode: Callable[[bytes], object], kinds: tuple[type, ...]
) -> None:
    assert {type(decode(data)) for data in corpus()} == {*kinds}


def _careless_bytearray(code: int, content: memoryview) -> object:
    return bytearray(msgspec.msgpack.decode(content)) if code == 13 else None


def _careless_text(data: bytes) -> object:
    return data[-4:].decode("ascii")


@pytest.mark.parametrize(
    "careless",
    [msgspec.msgpack.Decoder(ext_hook=_careless_bytearray).decode, _careless_text, lambda data: 1 // (data[0] - 0xFF)],
)
def test_a_careless_decoder_is_found_out(careless: Callable[[bytes], object]) -> None:
    target = Target(careless, (msgspec.DecodeError, RecursionError), TARGETS["rows"].corpus)
    rng, corpus = random.Random(1), target.corpus()

    def tries() -> None:
        for _ in range(5 * INPUTS):
            target.check(mutated(rng, corpus) or b"\0")

    with pytest.raises((TypeError, UnicodeDecodeError, ZeroDivisionError)):
        tries()
