"""What held a tuple, from the notes of its tasks."""

import pytest

from bench.tail.reasons import Held, Note, Stolen, held, worst

US = 1_000
MS = 1_000_000


def notes(*rows: tuple[float, float, float, float]) -> list[Note]:
    """At, and each counter: since the note before, in µs."""
    made, totals = [], [0, 0, 0]
    for at_us, *since_us in rows:
        totals = [total + int(each * US) for total, each in zip(totals, since_us, strict=True)]
        made.append(Note(int(at_us * US), *totals))
    return made


def reasons(second: tuple[float, float, float, float], sender: tuple[float, float, float, float]) -> dict[str, float]:
    """Of the second of three tuples a millisecond apart, from one task to another."""
    first = notes((0, 30, 0, 0), (1_000, 30, 0, 0), sender, (3_000, 30, 0, 0))
    after = notes((50, 30, 0, 0), second, (2_050, 30, 0, 0), (3_050, 30, 0, 0))
    [one, _] = held([0, 1_000 * US, 2_000 * US, 3_000 * US], [first, after], [], 1)
    assert sum(one.reasons_us.values()) == pytest.approx(one.latency_us)
    return {reason: part for reason, part in one.reasons_us.items() if part}


def test_a_thread_that_has_no_core_holds_what_comes_to_it() -> None:
    assert reasons((1_900, 30, 850, 0), sender=(2_000, 30, 0, 0)) == {"no core": 850, "asleep": 50}


def test_so_does_a_sender_that_has_none_with_the_tuple_in_its_hands() -> None:
    assert reasons((1_900, 30, 0, 0), sender=(2_000, 30, 800, 0)) == {"no core": 800, "asleep": 100}


def test_garbage_and_work_beyond_the_usual_are_told_apart() -> None:
    assert reasons((1_900, 630, 0, 400), sender=(2_000, 30, 0, 0)) == {"garbage": 400, "at work": 200, "asleep": 300}


def test_no_reason_is_longer_than_the_hop() -> None:
    assert reasons((1_050, 30, 900, 0), sender=(2_000, 30, 0, 0)) == {"no core": 50}


def test_what_the_kernel_cannot_explain_is_stolen_if_so_much_was() -> None:
    first = notes((0, 30, 0, 0), (1_000, 30, 0, 0), (2_000, 30, 0, 0))
    after = notes((50, 30, 0, 0), (9_000, 30, 0, 0), (9_010, 30, 0, 0))
    steal = [Stolen(at * MS, 0 if at < 5 else 6 * MS) for at in range(0, 40, 5)]
    [one] = held([0, 1_000 * US, 2_000 * US], [first, after], steal, 1)
    assert one.reasons_us == {"no core": 0, "garbage": 0, "at work": 0, "stolen": 6_000, "asleep": 2_000}
    [one] = held([0, 1_000 * US, 2_000 * US], [first, after], [Stolen(at * MS, 0) for at in range(40)], 1)
    assert one.reasons_us["asleep"] == 8_000


def test_of_tuples_that_one_thing_held_only_the_slowest_is_shown() -> None:
    latencies_us = [1, 5, 9, 8, 7, 1, 1, 3, 2, 1]
    tuples = [Held(number=n, latency_us=one, hops_us=(), reasons_us={}) for n, one in enumerate(latencies_us)]
    assert [one.number for one in worst(tuples, 3, apart=3)] == [2, 7], "no third is far enough from both"
    assert [one.number for one in worst(tuples, 2, apart=1)] == [2, 3]
