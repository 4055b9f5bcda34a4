"""The figures to beat, judged on what was measured."""

from collections.abc import Iterable, Sequence

from bench.report import Goal
from bench.wordcount.contest import LatencyRow, ThroughputRow
from bench.wordcount.contestants import BATCHES, BYTEWAX, RECORDS, Contestant


def wordcount_goals(
    throughput: Sequence[ThroughputRow], latency: Sequence[LatencyRow], peers: Sequence[Contestant]
) -> tuple[Goal, ...]:
    """Words/s against the best peer, latency against the best of several processes, CPU time against Bytewax."""
    words = {row.contestant: row.words_per_s.median for row in throughput}
    best = max((words[peer.name] for peer in peers if peer.name in words), default=None)
    cpu_us = {row.contestant: row.cpu_us_per_word.median for row in throughput if row.cpu_us_per_word}
    bytewax = [peer.name for peer in peers if peer.environment == BYTEWAX]
    several = {peer.name for peer in peers if peer.processes > 1}
    micro_batches = {peer.name for peer in peers if peer.micro_batches}
    return (
        Goal(
            name="words_per_s_of_record_bolts_over_the_best_peer",
            value=_ratio(words.get(RECORDS.name), best),
            comparison=">=",
            limit=2.5,
        ),
        Goal(
            name="words_per_s_of_batch_bolts_over_the_best_peer",
            value=_ratio(words.get(BATCHES.name), best),
            comparison=">=",
            limit=5.0,
        ),
        *(
            Goal(
                name=f"{figure}_over_{whom}",
                value=_ratio(_lowest(latency, {RECORDS.name}, figure), _lowest(latency, names, figure)),
                comparison="<=",
                limit=limit,
            )
            for whom, names, limit in (
                ("the_best_peer_of_several_processes", several, 0.5),
                ("micro_batches", micro_batches, 0.01),
            )
            for figure in ("p50", "p99")
        ),
        Goal(
            name="cpu_s_per_million_words_of_record_bolts_over_bytewax",
            value=_ratio(
                cpu_us.get(RECORDS.name), min((cpu_us[name] for name in bytewax if name in cpu_us), default=None)
            ),
            comparison="<=",
            limit=0.5,
        ),
    )


def _lowest(rows: Iterable[LatencyRow], names: set[str], figure: str) -> float | None:
    """The lowest of those who kept up; the latency of the others only says how long the run was."""
    found = [getattr(row, f"{figure}_ms").median for row in rows if row.contestant in names and not row.saturated]
    return min(found, default=None)


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours is not None and theirs else None
