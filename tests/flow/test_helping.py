"""Who is asked, who says yes, who is stopped, and what is learned of it."""

import pytest

from penstock.flow.helping import Answer, Helping, Request
from penstock.flow.relief import Order, Relief, ReliefState, Word
from penstock.flow.watermarks import Gauge, Marks

EDGE, TARGET, TASK, ASKER = 3, 30, 20, 7
REQUEST = Request(worker=ASKER, target=TARGET, episode=5)


def helping() -> Helping:
    return Helping({EDGE: "compute", EDGE + 1: "other"}, step=0.1)


def ask(side: Helping) -> bool:
    (answer,) = side.heard(Word.HELP, REQUEST, [EDGE], 0)
    assert answer[:3] == (ASKER, TARGET, 5)
    return answer.yes


# ---- the pressed task's side


def test_nobody_is_stopped_while_somebody_may_help() -> None:
    relief = Relief()
    assert relief.high([0, 1, 2], [1, 2]) == [Order(1, Word.HELP), Order(2, Word.HELP)]
    assert relief.answered(1, relief.episode, yes=False) == []
    assert relief.answered(2, relief.episode, yes=True) == []
    assert relief.helping == {2}
    assert relief.low() == [Order(1, Word.RELIEVED), Order(2, Word.RELIEVED)]
    assert relief.state is ReliefState.FLOWING


def test_all_are_stopped_when_nobody_can_help() -> None:
    relief = Relief()
    relief.high([0, 1], [1])
    assert relief.answered(1, relief.episode, yes=False) == [Order(0, Word.STOP), Order(1, Word.STOP)]
    assert relief.state is ReliefState.STOPPING
    assert Relief().high([0, 1], []) == [Order(0, Word.STOP), Order(1, Word.STOP)]


def test_who_helps_goes_on_while_others_are_stopped_until_it_withdraws() -> None:
    relief = Relief()
    relief.high([0, 1, 2], [1, 2])
    relief.answered(1, relief.episode, yes=True)
    assert relief.overfull() == [Order(0, Word.STOP), Order(2, Word.STOP)]
    assert relief.helping == {1}
    assert relief.answered(1, relief.episode, yes=False) == [Order(1, Word.STOP)]


def test_an_answer_to_an_earlier_question_does_not_count() -> None:
    relief = Relief()
    relief.high([1], [1])
    relief.low()
    relief.high([1], [1])
    assert relief.answered(1, relief.episode - 1, yes=False) == []
    assert relief.state is ReliefState.ASKED


def test_a_helper_that_dies_helps_no_more_and_is_told_again_when_it_is_back() -> None:
    relief = Relief()
    relief.high([0, 1], [1])
    relief.answered(1, relief.episode, yes=True)
    assert relief.lost(1) == [Order(0, Word.STOP)]
    assert relief.met(1) == [Order(1, Word.STOP)]
    assert relief.low() == [Order(0, Word.RELIEVED), Order(1, Word.RELIEVED)]


# ---- the side of who feeds it


def test_who_is_asked_does_all_of_it_until_the_target_is_relieved() -> None:
    side = helping()
    assert ask(side)
    assert side.share(EDGE) == 1
    side.heard(Word.RELIEVED, REQUEST, [EDGE], 0)
    assert side.share(EDGE) == pytest.approx(0.1)


def test_who_is_pressed_says_no_and_withdraws() -> None:
    side = helping()
    assert ask(side)
    assert side.own_pressed("compute", TASK) == [Answer(ASKER, TARGET, 5, yes=False)]
    assert side.share(EDGE) == pytest.approx(0.09)
    assert not ask(side)
    side.own_relieved("compute", TASK)
    assert ask(side)


def test_the_pressure_of_a_task_that_does_not_feed_it_is_no_reason() -> None:
    side = helping()
    side.own_pressed("other", TASK)
    assert ask(side)


def test_who_is_helped_does_not_help_not_even_by_what_it_has_learned() -> None:
    side = helping()
    ask(side)
    side.heard(Word.RELIEVED, REQUEST, [EDGE], 0)
    side.own_helped("compute", TASK, helped=True)
    assert side.share(EDGE) == 0
    assert not ask(side)


def test_helpers_that_do_not_keep_up_are_pressure_too() -> None:
    side = helping()
    assert ask(side)
    assert side.strained(EDGE) == [Answer(ASKER, TARGET, 5, yes=False)]
    assert side.strained(EDGE) == []
    assert side.share(EDGE) == 0
    side.unstrained(EDGE)
    assert side.share(EDGE) == pytest.approx(0.09)


def test_the_ratio_settles_between_too_little_help_and_too_much() -> None:
    """As long as the target asks whenever r is below what is right, and is never asked above it."""
    side, right = helping(), 0.37
    for _ in range(200):
        if side.ratio.get(EDGE, 0) < right:
            ask(side)
            side.heard(Word.RELIEVED, REQUEST, [EDGE], 0)
        else:
            side.own_pressed("compute", TASK)
            side.own_relieved("compute", TASK)
    assert side.ratio[EDGE] == pytest.approx(right, abs=0.07)


def test_how_long_a_target_has_others_stopped_is_counted() -> None:
    side = helping()
    side.heard(Word.STOP, REQUEST, [], 100)
    assert [*side.stopping] == [TARGET]
    side.lost(ASKER, 150)
    assert not side.stopping
    side.heard(Word.STOP, REQUEST, [], 200)
    side.moved(230)
    assert side.stop_spells.total_ns(TARGET, 999) == 80
    assert side.stop_spells.count[TARGET] == 2


# ---- marks


def test_few_tuples_are_no_pressure_however_slow_the_task() -> None:
    gauge = Gauge(Marks(high_tuples=1000, high_ns=10))
    gauge.worked(1, 1_000_000)
    assert not gauge.read(15)
    assert gauge.read(16)
    assert gauge.read(9)
    assert not gauge.read(8)


def test_a_mark_of_one_tuple_is_left_when_the_queue_is_empty() -> None:
    gauge = Gauge(Marks(high_tuples=1))
    assert gauge.read(1)
    assert not gauge.read(0)


def test_a_mark_is_within_what_credit_lets_come() -> None:
    """Else those that feed a task run out of credit, and nobody hears that it is too slow."""
    gauge = Gauge(Marks(high_tuples=1000, high_ns=100_000_000))
    gauge.worked(tuples=10, busy_ns=10_000_000)
    assert gauge.high_tuples == 100, "by time"
    gauge.bound(64)
    assert (gauge.high_tuples, gauge.read(31), gauge.read(32)) == (32, False, True)
    gauge.worked(tuples=10, busy_ns=10_000_000)
    assert gauge.high_tuples == 32
    gauge.bound(2)
    assert gauge.high_tuples == 16, "what comes in one frame is no pressure"
    gauge.bound(1 << 30)
    assert gauge.high_tuples == 100
