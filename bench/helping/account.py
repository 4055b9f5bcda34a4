"""What is lost or doubled: of the numbers that the spout emitted, by what came to the end."""

import msgspec


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What the sink has counted when all was over."""

    highest: int
    """The highest number that came; -1 if none did."""
    seen: int
    """How many numbers came at all."""
    again: int
    """How often one came that had come already."""
    wrong: int
    """How many were not worked on by every bolt exactly once."""


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """An account, beside what was emitted."""

    emitted: int
    lost: int
    doubled: int
    wrong: int

    @classmethod
    def of(cls, account: Account, emitted: int) -> "Ledger":
        """Numbers are dense from 0, so none is above what was emitted unless it came from nowhere."""
        from_nowhere = max(0, account.highest + 1 - emitted)
        return cls(
            emitted=emitted,
            lost=emitted - account.seen,
            doubled=account.again,
            wrong=account.wrong + from_nowhere,
        )

    @property
    def is_exact(self) -> bool:
        """Every number once, and worked on as it should be."""
        return (self.lost, self.doubled, self.wrong) == (0, 0, 0)
