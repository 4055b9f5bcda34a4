"""The run: measure, judge."""

from collections import defaultdict

import msgspec

from bench.recovery.outage import Outage, outage
from bench.recovery.soak import Soaked, soak
from bench.recovery.word_count import GUARANTEES, words_per_s
from bench.report import Goal, Outcome, Table, format_figure
from bench.rounds import interleaved
from bench.settings import RunSettings
from bench.stats import Spread
from penstock.spark.session import borrowed_session


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to measure."""

    rounds: int
    sentences: int
    soak_s: float


FULL = Plan(rounds=5, sentences=400_000, soak_s=300.0)
QUICK = Plan(rounds=1, sentences=100_000, soak_s=20.0)
_SEED = 7


def run(settings: RunSettings) -> Outcome:
    """Measures in one Spark session."""
    plan = QUICK if settings.quick else FULL
    words: dict[str, list[float]] = defaultdict(list)
    outages: dict[str, list[Outage]] = defaultdict(list)
    soaked: list[Soaked] = []
    with borrowed_session(workers=3):
        for guarantee, _ in interleaved(settings.progress, "words/s", GUARANTEES, ["unthrottled"], plan.rounds):
            words[guarantee].append(words_per_s(guarantee, plan.sentences))
        tracked = GUARANTEES[1:]
        for guarantee, _ in interleaved(settings.progress, "outage", tracked, ["SIGKILL"], plan.rounds):
            outages[guarantee].append(outage(guarantee))
        for guarantee, _ in interleaved(settings.progress, "soak", tracked, [f"{plan.soak_s:g} s"], 1):
            soaked.append(soak(guarantee, plan.soak_s, _SEED))
    rates = {guarantee: Spread.over(values) for guarantee, values in words.items()}
    return Outcome(
        figures={
            "words_per_s": {name: msgspec.to_builtins(rate) for name, rate in rates.items()},
            "outages": {name: msgspec.to_builtins(found) for name, found in outages.items()},
            "soak": msgspec.to_builtins(soaked),
        },
        goals=_goals(rates, outages, soaked),
        tables=(_words_table(rates, plan), _outage_table(outages, plan), _soak_table(soaked)),
    )


def _goals(rates: dict[str, Spread], outages: dict[str, list[Outage]], soaked: list[Soaked]) -> tuple[Goal, ...]:
    plain = rates["at_most_once"].median
    beyond_restart = [one.until_output_s - one.until_restart_s for one in outages["at_least_once"]]
    return (
        Goal(
            name="at_least_once_over_at_most_once",
            value=rates["at_least_once"].median / plain,
            comparison=">=",
            limit=0.7,
        ),
        Goal(
            name="exactly_once_over_at_most_once",
            value=rates["exactly_once"].median / plain,
            comparison=">=",
            limit=0.85,
        ),
        Goal(
            name="at_least_once_outage_beyond_the_restart_s",
            value=Spread.over(beyond_restart).median,
            comparison="<",
            limit=2.0,
        ),
        Goal(
            name="exactly_once_outage_with_tasks_moved_elsewhere_s",
            value=Spread.over(one.until_output_s for one in outages["exactly_once"]).median,
            comparison="<",
            limit=1.5,
        ),
        Goal(name="lost", value=sum(one.lost for one in soaked), comparison="<=", limit=0),
        Goal(
            name="doubled_exactly_once",
            value=sum(one.doubled for one in soaked if one.delivery == "exactly_once"),
            comparison="<=",
            limit=0,
        ),
    )


def _words_table(rates: dict[str, Spread], plan: Plan) -> Table:
    plain = rates["at_most_once"].median
    return Table(
        title="Word count under each guarantee",
        columns=("delivery", "words/s", "of at most once"),
        rows=tuple((name, _spread(rate), format_figure(rate.median / plain)) for name, rate in rates.items()),
        note=f"Over {plan.rounds} interleaved rounds: median (lowest–highest). Epochs of 1 s. All counts were right.",
    )


def _outage_table(outages: dict[str, list[Outage]], plan: Plan) -> Table:
    return Table(
        title="A worker is killed: seconds until something comes out again",
        columns=("delivery", "until output", "until Spark has restarted the worker"),
        rows=tuple(
            (
                name,
                _spread(Spread.over(one.until_output_s for one in found)),
                _spread(Spread.over(one.until_restart_s for one in found)),
            )
            for name, found in outages.items()
        ),
        note=f"Over {plan.rounds} interleaved rounds: median (lowest–highest).",
    )


def _soak_table(soaked: list[Soaked]) -> Table:
    return Table(
        title="A fault every few seconds",
        columns=("delivery", "seconds", "faults", "tuples checked", "lost", "doubled", "seed"),
        rows=tuple(
            (
                one.delivery,
                f"{one.seconds:.0f}",
                str(one.faults),
                f"{one.checked:,}",
                str(one.lost),
                str(one.doubled),
                str(one.seed),
            )
            for one in soaked
        ),
        note="SIGKILL of a worker, or SIGSTOP for up to four seconds. At least once may double; that is what it is.",
    )


def _spread(spread: Spread) -> str:
    return f"{format_figure(spread.median)} ({format_figure(spread.lowest)}–{format_figure(spread.highest)})"
