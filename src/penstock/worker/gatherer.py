"""Answers on their way into a bolt: kept until all tasks have answered, then handed on as one tuple.

This comes before the runner, whichever that is. It is given arrivals of answers, and gives arrivals of gathered tuples;
a gathered tuple takes the place of its answers also where trees are tracked: its frame's number is the sum of theirs.
So the tree waits until the gathered tuple is processed, and if the worker dies before, the question is asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat, starmap
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.flow.gathering import PATIENCE, AnsweredTwiceError, Gathering, Group
from penstock.flow.ledger import UNTRACKED
from penstock.flow.runs import roots_of
from penstock.topology.groupings import Gather
from penstock.topology.rows import row_class
from penstock.topology.tuples import tuple_class
from penstock.transport.canonical_key import canonical_keys
from penstock.worker.arrival import Arrival, Marker
from penstock.worker.batches import rows_of
from penstock.worker.failures import USER_ERRORS
from penstock.worker.rhythm import Rhythm

if TYPE_CHECKING:
    from penstock.worker.tasks import RunningTask

__all__ = ["GatherEdge", "Gatherer", "NotAllAnsweredError", "answer_class"]


class NotAllAnsweredError(Exception):
    """Some task has not answered a question. Reported, never raised."""


def answer_class(fields: tuple[str, ...]) -> type[Any]:
    """The class of answers. They become values of another tuple, so they are values: named tuples."""
    return row_class("Answer", fields)


class GatherEdge:
    """What a task must know about an edge that answers come on.

    Args:
        source: the component that answers.
        stream: its stream.
        fields: the fields of the answers.
        grouping: what the answers to one question have in common.
        index_of: the tasks that answer, by id.
    """

    def __init__(
        self, source: str, stream: str, fields: tuple[str, ...], *, grouping: Gather, index_of: Mapping[int, int]
    ) -> None:
        self.source = source
        self.index_of = index_of
        self.grouping = grouping
        self.fields = grouping.fields
        self.make_answer = answer_class(fields)
        self.key_of = attrgetter(*grouping.fields)
        self._make_gathered = tuple_class(source, stream, grouping.delivered(fields))
        self.gathering = Gathering(len(index_of))

    def gathered(self, group: Group) -> Any:
        """The tuple that the bolt is given."""
        return self._make_gathered(*self.key_values(group), tuple(group.answers))

    def key_values(self, group: Group) -> Sequence[Any]:
        """The values of the key's fields."""
        return group.key if len(self.fields) > 1 else (group.key,)


class Gatherer:
    """Gathers what comes on some of a task's edges.

    Args:
        task: the task.
        edges: those edges, by id.
        held: whether its channels are held until all have sent a marker: exactly once.
    """

    def __init__(self, task: RunningTask, edges: Mapping[int, GatherEdge], *, held: bool) -> None:
        self._task = task
        self._edges = edges
        self._held = held
        self._is_upset = True  # at first, too: what its predecessor was given is lost, if there was one
        self._told_epoch: int | None = None
        self._by_edge = {edge: Rhythm(given.grouping.timeout_s / PATIENCE) for edge, given in edges.items()}
        self.rhythms: Sequence[Rhythm] = () if held else [*self._by_edge.values()]
        """By which it loses patience. Never where markers tell what will not come: slow is not wrong."""

    def take(self, arrival: Arrival) -> list[Arrival]:
        """What has become complete by an arrival; what came on another edge is handed on as it is."""
        edge = self._edges.get(arrival.edge)
        if edge is None:
            return [arrival]
        index, add = edge.index_of[arrival.source], edge.gathering.add
        complete: list[Group] = []
        for key, answer, root, frame in self._answers_of(edge, arrival):
            try:
                group = add(key, root, index, answer, frame)
            except USER_ERRORS as error:
                self._task.fail(_refusal(error, edge, index), answer, root)
                continue
            if group is not None:
                complete.append(group)
        if self._task.tracking is None:
            gathered = [*map(edge.gathered, complete)]
            return [msgspec.structs.replace(arrival, tuples=gathered, batch=None)] if gathered else []
        return [
            msgspec.structs.replace(
                arrival, tuples=[edge.gathered(group)], batch=None, runs=((group.root, 1),), frame=group.frames
            )
            for group in complete
        ]

    def _answers_of(self, edge: GatherEdge, arrival: Arrival) -> Iterable[tuple[Any, Any, int, int]]:
        """The key of each answer, the answer, its tree, and what the tree waits for until it is processed."""
        tracking, batch = self._task.tracking, arrival.batch
        answers: Sequence[Any] = arrival.tuples
        if batch is not None:
            answers = [*starmap(edge.make_answer, rows_of(batch))]
        keys = canonical_keys([*map(edge.key_of, answers)])
        if tracking is None:
            return zip(keys, answers, repeat(UNTRACKED), repeat(UNTRACKED))
        if batch is None:
            return zip(keys, answers, roots_of(arrival.runs), repeat(arrival.frame))
        ((root, _),) = arrival.runs
        return zip(keys, answers, repeat(root), tracking.book.shares(arrival.frame, len(answers)))

    def marker(self, marker: Marker) -> None:
        """A marker has come on all channels, and is about to be passed on."""
        if marker.ends:
            self._give_up_all()
        elif self._held:
            # Channels are held, so a question and all its answers are on one side of the marker. What is incomplete now
            # stays so. And so nothing is left at the end of an epoch that would have to be saved.
            self._give_up_all()
        elif self._task.tracking is not None:
            # The trees that are told of began before the marker, so all that came of them is here. If they are not
            # given up now, they are taken for lost when the marker has passed everywhere.
            for edge in self._edges.values():
                self._give_up(edge, edge.gathering.give_up_trees(marker.newest_roots))
            if self._told_epoch is not None and marker.epoch >= self._told_epoch:
                self._is_upset = False

    def lose_patience(self) -> None:
        """Gives up what has been waited for long enough, if it is time to look."""
        for number, rhythm in self._by_edge.items():
            if rhythm.take_due():
                edge = self._edges[number]
                self._give_up(edge, edge.gathering.grow_older())

    def epoch_begins(self, epoch: int) -> None:
        """This worker was told of an epoch."""
        if self._told_epoch is None:
            self._told_epoch = epoch

    def upset(self) -> None:
        """A worker was restarted: what is incomplete may have been lost with it, and nobody else is to blame.

        So it is until the first epoch is over that begins afterwards. What was lost counts as such when the marker has
        passed everywhere, as everything else that was lost; it is not held against the question.
        """
        self._is_upset, self._told_epoch = True, None

    def _give_up_all(self) -> None:
        for edge in self._edges.values():
            self._give_up(edge, edge.gathering.give_up_all())

    def _give_up(self, edge: GatherEdge, groups: Iterable[Group]) -> None:
        for group in groups:
            if self._is_upset and group.root != UNTRACKED:
                continue
            culprit = dict(zip(edge.fields, edge.key_values(group), strict=True))
            self._task.fail(_not_all(edge, group), culprit, group.root)


def _not_all(edge: GatherEdge, group: Group) -> NotAllAnsweredError:
    # The same text for all that lack the same, so that they are counted together.
    silent = group.missing_tasks
    spoke = [task for task in range(len(group.answers)) if task not in silent]
    got = f"none of task {_some(silent)}" if len(silent) <= len(spoke) else f"only that of task {_some(spoke)}"
    wanted = f"wanted an answer of each of the {len(group.answers)} tasks of {edge.source!r}"
    return NotAllAnsweredError(f"given up: {wanted}, got {got}")


def _some(tasks: Sequence[int]) -> str:
    first, *others = tasks
    return f"{first} and {len(others)} more" if others else f"{first}"


def _refusal(error: BaseException, edge: GatherEdge, index: int) -> BaseException:
    """Without a traceback, whose frames would all be ours and help nobody."""
    if isinstance(error, AnsweredTwiceError):
        wanted = f"wanted one answer to each question of each task of {edge.source!r}"
        return AnsweredTwiceError(f"{wanted}, got a second one of task {index}")
    return TypeError(f"{edge.grouping!r}: wanted values that can be hashed, got one that cannot: {error}")
