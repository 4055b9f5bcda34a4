"""What is counted: which word is in which line. Known to the spouts, and to who checks the counts at the end.

First every word once, as fast as can be, so that the state is as large as it is going to be; then lines at a rate,
whose words are numbered. Standard library only: it travels to workers.
"""

from collections import Counter
from collections.abc import Iterator

SPOUTS = 2
WORDS_PER_LINE = 4
_WORDS_PER_FIRST_LINE = 100
# Coprime to any number of words in use: so that words far from each other follow each other, and none is left out.
_STRIDE = 7_919


class Lines:
    """What all spout tasks emit together."""

    def __init__(self, words: int, lines_per_spout: int) -> None:
        self.words = words
        self.lines_per_spout = lines_per_spout
        self.first_lines = -(-words // (SPOUTS * _WORDS_PER_FIRST_LINE))

    def first(self, spout: int, line: int) -> str:
        """A line of the beginning; all of them together have every word once."""
        start = (line * SPOUTS + spout) * _WORDS_PER_FIRST_LINE
        return " ".join(map(str, range(start, min(self.words, start + _WORDS_PER_FIRST_LINE))))

    def numbers(self, spout: int, line: int) -> range:
        """The numbers of the words of a later line. No other word of the run has one of them."""
        start = (line * SPOUTS + spout) * WORDS_PER_LINE
        return range(start, start + WORDS_PER_LINE)

    def word(self, number: int) -> int:
        """The word with that number."""
        return number * _STRIDE % self.words

    def all_numbers(self) -> range:
        """Those of all words of all later lines."""
        return range(self.lines_per_spout * SPOUTS * WORDS_PER_LINE)

    def counts(self) -> Iterator[tuple[int, int]]:
        """How often each word is counted in the end."""
        later = Counter(map(self.word, self.all_numbers()))
        return ((word, 1 + later[word]) for word in range(self.words))
