"""The live view, on a terminal of eighty columns."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest
from rich.console import Console

from penstock.control.metrics import ComponentMetrics, EdgeMetrics, FailureMetrics, Latency, RunMetrics
from penstock.control.pressure_metrics import PressureMetrics
from penstock.control.status import Phase, RunStatus, WorkerState, WorkerStatus
from penstock.flow.relief import ReliefState
from penstock.ui.figures import duration
from penstock.ui.run_view import run_view

WIDTH = 80


def latency(p50_ns: int, p99_ns: int) -> Latency:
    return Latency(count=100, mean_ns=float(p50_ns), p50_ns=p50_ns, p99_ns=p99_ns, max_ns=p99_ns)


def component(name: str, **changed: Any) -> ComponentMetrics:
    about: dict[str, Any] = {
        "name": name,
        "kind": "bolt",
        "tasks": 2,
        "processed": 0,
        "helped": 0,
        "emitted": 0,
        "failed": 0,
        "backlog": 0,
        "processed_per_s": 0.0,
        "emitted_per_s": 0.0,
        "busy_share": 0.0,
        "busiest_share": 0.0,
        "latency": None,
    }
    return ComponentMetrics(**(about | changed))


def edge(source: str, target: str, **changed: Any) -> EdgeMetrics:
    about: dict[str, Any] = {
        "edge": 0,
        "via": None,
        "source": source,
        "stream": "default",
        "target": target,
        "tuples": 0,
        "bytes": 0,
        "tuples_per_s": 0.0,
        "bytes_per_s": 0.0,
        "hop": None,
    }
    return EdgeMetrics(**(about | changed))


def failure(component: str, kind: str, message: str, count: int = 1) -> FailureMetrics:
    return FailureMetrics(component=component, kind=kind, count=count, message=message, traceback="", task=0)


def metrics(*components: ComponentMetrics, **changed: Any) -> RunMetrics:
    about: dict[str, Any] = {
        "run_s": 12.34,
        "components": components,
        "tasks": (),
        "edges": (),
        "end_to_end": None,
        "end_to_end_histogram": None,
        "lost": 0,
        "unaccounted": 0,
        "failures": (),
    }
    return RunMetrics(**(about | changed))


def worker(number: int, state: WorkerState = "begun", node: str | None = "node-a") -> WorkerStatus:
    return WorkerStatus(
        worker=number, state=state, generation=1, host=None, pid=None, node=node, tasks=(), silent_s=None
    )


def status(*workers: WorkerStatus, phase: Phase = Phase.RUNNING, **changed: Any) -> RunStatus:
    about: dict[str, Any] = {
        "run": "abc123",
        "topology": "wordcount",
        "run_s": 12.34,
        "scheduler": "even",
        "assignment": 1,
        "restarts": 0,
        "notices": (),
        "error": None,
    }
    return RunStatus(phase=phase, workers=workers or (worker(0), worker(1)), **(about | changed))


def shown(of: RunStatus, counts: RunMetrics, *, width: int = WIDTH) -> list[str]:
    """The lines as they stand on the screen. None is wider than the terminal."""
    screen = io.StringIO()
    Console(file=screen, width=width, force_terminal=False, legacy_windows=False).print(run_view(of, counts))
    lines = screen.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    return [line.rstrip() for line in lines]


def row(lines: list[str], name: str) -> list[str]:
    """The cells of the line that begins with a name."""
    (line,) = (line for line in lines if line.strip().startswith(f"{name} "))
    return line.split()


BUSY = component(
    "count",
    processed=1_234_567,
    failed=1_234,
    backlog=98_765,
    processed_per_s=123_456.0,
    emitted_per_s=999.0,
    busy_share=0.5,
    busiest_share=0.97,
    latency=latency(123_000, 4_560_000),
)


def test_everything_of_a_component_in_one_line() -> None:
    lines = shown(status(), metrics(component("lines", kind="spout", tasks=1, emitted_per_s=5.0, processed=77), BUSY))

    assert lines[0] == "wordcount  running  12.3 s  2/2 workers on 1 node"
    assert lines[1].split() == ["component", "tasks", "in/s", "out/s", "done", "waits", "busy", "p50", "p99", "err"]
    # A spout takes nothing in.
    assert row(lines, "lines") == ["lines", "1", "5", "77", "0", "░░░░", "0%"]
    assert row(lines, "count") == (
        ["count", "2", "123.5k", "999", "1,234,567", "98,765", "████", "97%", "123", "µs", "4.56", "ms", "1,234"]
    )


def test_the_largest_numbers_leave_room_for_a_name() -> None:
    giant = component(
        "tokenise",
        tasks=9_999,
        processed=987_654_321_000,
        failed=9_999_999,
        backlog=9_999_999,
        processed_per_s=999_900_000.0,
        emitted_per_s=999_900_000.0,
        busiest_share=1.0,
        latency=latency(999_400, 999_400_000),
    )
    lines = shown(status(), metrics(giant))

    assert "…" not in "".join(lines)
    cells = " ".join(" ".join(line.split()) for line in lines)
    for number in ("9999", "999.9M", "987.7G", "9,999,999", "100%", "999 µs", "999 ms"):
        assert number in cells


@pytest.mark.parametrize("width", [80, 100, 200])
def test_a_long_name_gives_way_and_numbers_stay_whole(width: int) -> None:
    name = "extract-customer-identifiers-from-unstructured-log-lines-of-the-payment-gateway"
    lines = shown(status(topology=name), metrics(msgspec.structs.replace(BUSY, name=name)), width=width)

    assert "…" not in "".join(lines)
    joined = "".join(line.split()[0] if line.split() else "" for line in lines)
    assert name in joined
    assert "1,234,567" in " ".join(lines)
    assert "4.56 ms" in " ".join(lines)


def test_edges() -> None:
    edges = (
        edge("lines", "split", tuples_per_s=1234.0, bytes_per_s=2.5e6, hop=latency(15_000, 250_000)),
        edge("split", "count", stream="words"),
    )
    lines = shown(status(), metrics(BUSY, edges=edges))

    assert row(lines, "lines → split") == ["lines", "→", "split", "1.2k", "2.5M", "15", "µs", "250", "µs"]
    assert row(lines, "split.words → count") == ["split.words", "→", "count", "0", "0"]


def test_end_to_end_restarts_and_losses_are_in_the_headline() -> None:
    of = status(worker(0), worker(1, node="node-b"), worker(2, "awaited", None), restarts=3)
    text = " ".join(shown(of, metrics(BUSY, lost=1_234, end_to_end=latency(1_500, 2_500_000)))[:3])

    assert "2/3 workers on 2 nodes" in text
    assert "restarts 3" in text
    assert "lost 1,234 tuples" in text
    assert "p50 1.5 µs, p99 2.5 ms" in " ".join(text.split())


def test_no_data_yet() -> None:
    awaited = (worker(0, "awaited", None), worker(1, "awaited", None))
    lines = shown(status(*awaited, phase=Phase.STARTING), metrics(component("count"), run_s=0.0))

    assert lines[0] == "wordcount  starting  0.0 s  0/2 workers"
    assert row(lines, "count") == ["count", "2", "0", "0", "0", "0", "░░░░", "0%"]


def test_nothing_at_all() -> None:
    assert shown(status(), metrics())[0].startswith("wordcount  running")


def test_ended() -> None:
    gone = (worker(0, "left", None), worker(1, "left", None))
    lines = shown(status(*gone, phase=Phase.ENDED), metrics(BUSY))

    # All were there; on how many nodes is not known any more.
    assert lines[0] == "wordcount  ended  12.3 s  2/2 workers"


def test_failed() -> None:
    why = "worker 0 on host-a cannot go on:\nTraceback:\n  deep\nKeyError: 'x'"
    lines = shown(status(phase=Phase.FAILED, error=why), metrics(BUSY))

    assert lines[0].startswith("wordcount  failed")
    assert "worker 0 on host-a cannot go on:" in lines
    assert "Traceback" not in "".join(lines)  # who is raised the error is told the rest


def test_failures_of_user_code() -> None:
    failures = tuple(failure("split", f"Kind{number}", "what [/] it said", count=1000 - number) for number in range(9))
    lines = shown(status(), metrics(BUSY, failures=failures))

    assert any("Kind0: what [/] it said" in line and "1,000" in line for line in lines)
    assert any("Kind4" in line for line in lines)
    assert not any("Kind5" in line for line in lines)


def test_what_users_write_is_not_taken_for_markup() -> None:
    lines = shown(
        status(notices=("[red]worker 1[/blue] :smile:",), error="[/] is wrong"),
        metrics(failures=(failure("a", "KeyError", "[bold]key[/nonsense] :smile:"),)),
    )

    assert "· [red]worker 1[/blue] :smile:" in lines
    assert "[/] is wrong" in lines
    assert any("KeyError: [bold]key[/nonsense] :smile:" in line for line in lines)


def test_what_users_raise_does_not_take_the_screen() -> None:
    message = "\x1b[2J first \x07 line " + "x" * 10_000 + "\nsecond line"
    lines = shown(status(notices=(message,)), metrics(failures=(failure("a", "E", message),)))

    assert len(lines) < 20
    assert "\x1b" not in "".join(lines)
    assert "second line" not in "".join(lines)


def test_only_the_last_notices_are_shown() -> None:
    lines = shown(status(notices=tuple(f"notice {number}" for number in range(9))), metrics())

    assert [line for line in lines if "notice" in line] == [f"· notice {number}" for number in range(5, 9)]


@pytest.mark.parametrize("share", [-0.5, 0.0, 0.124, 0.5, 1.0, 1.7])
def test_a_share_is_a_bar_of_one_width(share: float) -> None:
    (line,) = (
        line for line in shown(status(), metrics(component("a", busiest_share=share))) if "░" in line or "█" in line
    )

    assert line.count("░") + line.count("█") == 4
    assert f"{min(1.0, max(0.0, share)):.0%}" in line


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1 µs"),
        (12_345, "12.3 µs"),
        (999_400, "999 µs"),
        (999_600, "1 ms"),
        (999_600_000, "1 s"),
        (59_940_000_000, "59.9 s"),
        (1_234_000_000_000, "1234 s"),
    ],
)
def test_durations_have_three_digits_and_a_unit(ns: int, text: str) -> None:
    assert duration(ns) == text


def test_the_bolt_that_is_too_slow_is_named_and_whom_it_stops() -> None:
    about: dict[str, Any] = {"asked_s": 2.0, "stopping_s": 10.0, "episodes": 3, "stopped_s": {}}
    stopping = PressureMetrics(
        component="slow", state=ReliefState.STOPPING, stops=("spout",), helped_by={}, ratios={}, **about
    )
    helped = PressureMetrics(
        component="exclam1",
        state=ReliefState.ASKED,
        stops=(),
        helped_by={"compute": 1.0},
        ratios={"compute": 0.3},
        **about,
    )
    waits = PressureMetrics(
        component="idle",
        state=ReliefState.STOPPING,
        waits_for=("exclam1", "slow"),
        stops=("spout",),
        helped_by={},
        ratios={},
        **about,
    )
    over = PressureMetrics(component="calm", state=ReliefState.FLOWING, stops=(), helped_by={}, ratios={}, **about)
    lines = shown(status(), metrics(pressures=(stopping, helped, waits, over)))
    assert any("slow is too slow: nobody helps; stops spout; 12" in line for line in lines)
    assert any("exclam1 is too slow: helped by compute (100%); stops nobody; 12" in line for line in lines)
    assert any("idle waits for exclam1, slow: stops spout; 12" in line for line in lines)
    assert not any("idle is too slow" in line for line in lines)
    assert not any("calm" in line for line in lines)
