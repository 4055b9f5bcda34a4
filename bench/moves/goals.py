"""What is wanted of moves."""

from bench.moves.measured import Measured
from bench.report import Goal


def goals(measured: Measured) -> tuple[Goal, ...]:
    """Each with what was measured in the worst run."""
    runs = measured.steady
    return (
        Goal(
            name="longest_gap_between_outputs_with_moves_ms",
            value=max((one.longest_gap_ms(one.moving) for one in runs), default=None),
            comparison="<",
            limit=100,
        ),
        Goal(
            name="p99_with_moves_over_quiet",
            value=max((one.p99_over_quiet() for one in runs), default=None),
            comparison="<=",
            limit=2.0,
        ),
        Goal(name="lost", value=sum(one.ledger.lost for one in runs) if runs else None, comparison="<=", limit=0),
        Goal(name="doubled", value=sum(one.ledger.doubled for one in runs) if runs else None, comparison="<=", limit=0),
    )
