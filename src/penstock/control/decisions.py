"""What was decided about where tasks run, and what became of it. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec

from penstock.plan.assignment import Move

__all__ = ["Decision", "DecisionState", "Decisions"]

_KEPT = 10

DecisionState = Literal["waiting", "preparing", "switched", "done", "refused", "replaced", "abandoned", "set back"]
_FINAL = ("done", "refused", "replaced", "abandoned", "set back")


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A change of where tasks run, as people are told."""

    number: int
    """Counts the decisions of a run, from 1."""
    at_s: float
    """When it was asked for, in seconds since the first tuple could flow."""
    by: str
    """Who wanted it: the name of a scheduler, or ``you``."""
    why: str
    moves: tuple[Move, ...] = ()
    """What goes from where to where. As long as it waits, what was asked for."""
    state: DecisionState = "waiting"
    reason: str | None = None
    """Why it waits, or did not come to be."""
    took_s: float | None = None
    """From its beginning until all tasks had moved, or it was given up; None until then."""

    @property
    def is_final(self) -> bool:
        """Whether nothing more will become of it."""
        return self.state in _FINAL


class Decisions:
    """The last ones."""

    def __init__(self) -> None:
        self._known: list[Decision] = []
        self._count = 0

    def add(self, *, at_s: float, by: str, why: str, moves: tuple[Move, ...] = ()) -> int:
        """Notes that something was asked for, and returns its number."""
        self._count += 1
        self._known.append(Decision(number=self._count, at_s=at_s, by=by, why=why, moves=moves))
        over = [known for known in self._known if known.is_final]
        for known in over[: max(0, len(self._known) - _KEPT)]:  # not one that somebody waits for
            self._known.remove(known)
        return self._count

    def note(
        self,
        number: int,
        state: DecisionState,
        *,
        reason: str | None = None,
        moves: tuple[Move, ...] | None = None,
        took_s: float | None = None,
    ) -> None:
        """Notes what became of one. One that is too long ago is not kept any more."""
        for place, known in enumerate(self._known):
            if known.number == number:
                self._known[place] = msgspec.structs.replace(
                    known, state=state, reason=reason, moves=known.moves if moves is None else moves, took_s=took_s
                )

    def all(self) -> tuple[Decision, ...]:
        """The last ones, oldest first."""
        return tuple(self._known)
