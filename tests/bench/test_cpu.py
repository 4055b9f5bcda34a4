"""CPU clocks of other processes."""

import os
import subprocess
import sys
import time

from bench.cpu import CpuMeter, cpu_ns, session_members

BURN = "import time\nwhile time.process_time() < {cpu_s}: pass\nprint('burnt', flush=True)\ninput()"


def burning(cpu_s: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BURN.format(cpu_s=cpu_s)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def burnt(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "burnt\n"


def test_our_own_clock_is_the_one_that_the_interpreter_reads() -> None:
    before_ns = time.process_time_ns()
    read_ns = cpu_ns(os.getpid())
    assert read_ns is not None
    assert before_ns <= read_ns <= time.process_time_ns()


def test_who_is_gone_has_no_clock() -> None:
    with burning(0.0) as process:
        burnt(process)
        assert cpu_ns(process.pid) is not None
        process.communicate("\n")
    assert cpu_ns(process.pid) is None


def test_a_meter_counts_from_its_start_who_came_later_from_the_beginning_and_who_ended_up_to_the_last_look() -> None:
    there: list[int] = []
    meter = CpuMeter(lambda: there)
    with burning(0.2) as first:
        burnt(first)
        there.append(first.pid)
        meter.start()
        with burning(0.3) as second:
            there.append(second.pid)
            burnt(second)
            meter.look()
            second.communicate("\n")
        meter.look()
        assert meter.taken_s >= 0.3  # all of the second, though it is gone
        first.communicate("\n")


def test_members_of_a_session_are_found_until_they_end() -> None:
    with burning(0.0) as process:
        burnt(process)
        assert session_members(process.pid) == [process.pid]
        assert process.pid not in session_members(os.getsid(0))
        process.communicate("\n")
    assert session_members(process.pid) == []
