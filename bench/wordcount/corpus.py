"""What everybody counts: sentences of ten words from a vocabulary of 5,000 in which frequency falls with rank (Zipf).

Standard library only: it is imported in the peers' environments too.
"""

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

VOCABULARY = 5_000
WORDS_PER_SENTENCE = 10
SENTENCES = 20_000
"""How many sentences the file has. A longer stream is the file over and over."""

_SEED = 20_240_901


def write_corpus(path: Path, sentences: int = SENTENCES) -> None:
    """Write a sentence per line; the same ones each time."""
    chance = random.Random(_SEED)
    words = [_word(rank) for rank in range(VOCABULARY)]
    weights = [1 / (rank + 1) for rank in range(VOCABULARY)]
    drawn = iter(
        chance.choices(words, cum_weights=list(itertools.accumulate(weights)), k=sentences * WORDS_PER_SENTENCE)
    )
    path.write_text("".join(" ".join(itertools.islice(drawn, WORDS_PER_SENTENCE)) + "\n" for _ in range(sentences)))


def read_corpus(path: Path) -> list[str]:
    """The sentences of the file."""
    return path.read_text().splitlines()


def sentence_stream(corpus: list[str], count: int) -> Iterator[str]:
    """So many sentences: the corpus over and over."""
    return itertools.islice(itertools.cycle(corpus), count)


def expected_counts(corpus: list[str], count: int) -> Counter[str]:
    """What counting the words of the stream must give."""
    whole, rest = divmod(count, len(corpus))
    once = Counter(word for sentence in corpus for word in sentence.split())
    counts = Counter({word: number * whole for word, number in once.items()})
    counts.update(word for sentence in corpus[:rest] for word in sentence.split())
    return +counts


def _word(rank: int) -> str:
    """A word of four to nine letters, different for each rank: as long as words of a text are."""
    chance = random.Random(rank)
    letters = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(1, 6)))
    tail = ""
    for _ in range(3):
        rank, digit = divmod(rank, 26)
        tail += chr(ord("a") + digit)
    return letters + tail
