"""What is wanted of guarantees."""

from bench.recovery.measured import Measured
from bench.report import Goal
from bench.stats import Spread


def goals(measured: Measured) -> tuple[Goal, ...]:
    """Each with what was measured."""
    plain = measured.rate("at_most_once").median
    beyond_restart = [one.until_output_s - one.until_restart_s for one in measured.outages["at_least_once"]]
    moved = [one.until_output_s for one in measured.outages["exactly_once"]]
    exact = [one for one in measured.soaked if one.delivery == "exactly_once"]
    return (
        Goal(
            name="at_least_once_over_at_most_once",
            value=measured.rate("at_least_once").median / plain,
            comparison=">=",
            limit=0.93,
        ),
        Goal(
            name="exactly_once_over_at_most_once",
            value=measured.rate("exactly_once").median / plain,
            comparison=">=",
            limit=0.9,
        ),
        Goal(
            name="at_least_once_outage_beyond_the_restart_s",
            value=Spread.over(beyond_restart).median,
            comparison="<",
            limit=2.0,
        ),
        Goal(
            name="exactly_once_outage_with_tasks_moved_elsewhere_s",
            value=Spread.over(moved).median,
            comparison="<",
            limit=1.5,
        ),
        Goal(name="lost", value=sum(one.lost for one in measured.soaked), comparison="<=", limit=0),
        Goal(name="doubled_exactly_once", value=sum(one.doubled for one in exact), comparison="<=", limit=0),
    )
