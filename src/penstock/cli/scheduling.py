"""Commands about who plans where tasks run, by what, and what came of it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import App, Parameter
from cyclopts.validators import Number

from penstock.cli.arguments import pairs
from penstock.cli.load_stores import opened_store, run_named
from penstock.cli.runs import Name, console, find, reach, say
from penstock.control.load_records import Choice, ScheduleRecord, Situation
from penstock.control.load_store import LoadStore
from penstock.control.schedule_generator import Generator, judgement_settings, planned_by, schedule_of
from penstock.control.scheduling import Scalar
from penstock.errors import LoadStoreError, RunError
from penstock.plan.judgement import judge
from penstock.ui.load_plot import plot_load
from penstock.ui.load_view import load_view

__all__ = ["register"]

# A driver that has written nothing for so long is gone.
_GONE_AFTER_S = 600.0

Set = Annotated[list[str] | None, Parameter(name="--set", negative=())]


def register(app: App) -> None:
    """Adds the commands."""
    for command in (use_scheduler, tune, plan, load, scheduler):
        app.command(command)


def use_scheduler(scheduler: str, name: Name = None, /, *, set_: Set = None) -> None:
    """Have a run place its tasks by another scheduler from now on, or by the same with other parameters.

    For example: penstock use-scheduler t-storm --set gamma=1.7

    Args:
        scheduler: a name, or package.module:Class, which the driver of the run can import.
        name: a run, or the beginning of its id, or a topology; without it, the only run there is.
        set_: NAME=VALUE, a parameter of the scheduler. Can be given several times.
    """
    file = find(name)
    with reach(file) as client:
        client.use_scheduler(scheduler, _scalars(set_))
    say(f"run {file.run} ({file.topology}) is planned by {scheduler} from now on")


def tune(name: Name = None, /, *, set_: Set = None) -> None:
    """Change settings of a run's online scheduling while it goes on.

    For example: penstock tune --set load_every_s=5 --set gain_threshold=0.2

    Args:
        name: a run, or the beginning of its id, or a topology; without it, the only run there is.
        set_: NAME=VALUE: load_every_s, load_alpha, schedule_every_s, fetch_every_s, gain_threshold,
            capacity_fraction or history_s. Can be given several times.
    """
    file = find(name)
    with reach(file) as client:
        client.tune_scheduling(_scalars(set_))
    say(f"run {file.run} ({file.topology}) goes by that from now on")


def plan(
    name: Name = None,
    /,
    *,
    scheduler: str | None = None,
    set_: Set = None,
    explain: Annotated[bool, Parameter(negative=())] = False,
    apply: Annotated[bool, Parameter(negative=())] = False,
    store: str | None = None,
) -> None:
    """Show where a scheduler would put the tasks of a run now, and why, without doing it.

    For example: penstock plan --scheduler t-storm --set gamma=1.7 --explain

    Args:
        name: a run, or the beginning of its id, or a topology; without it, the only run there is.
        scheduler: a name, or package.module:Class; without it, the one in use.
        set_: NAME=VALUE, a parameter of the scheduler. Can be given several times.
        explain: in words and a picture: who is where before and after, what flows where, and why each task moves.
        apply: propose it to the run, worth the moves or not.
        store: the load store; without it, that of a run of this user on this machine.
    """
    with opened_store(name, store) as (opened, run):
        situation = opened.situation(run)
        choice = _chosen(situation, scheduler, set_)
        schedule = _planned(situation, choice)
        _tell_plan(schedule, explain=explain)
        if not apply or schedule.worker_of == _places(situation):
            return
        number = opened.propose(run, msgspec.structs.replace(schedule, status="proposed"))
        period_s = situation.choice.settings.fetch_every_s
        say(f"proposed as schedule {number}: the driver of run {run} takes it up within {period_s:g} s")


def _chosen(situation: Situation, scheduler: str | None, set_: list[str] | None) -> Choice:
    choice = situation.choice
    if scheduler is None and set_:
        message = f"--set {set_[0]} is a parameter of a scheduler: say which with --scheduler"
        raise RunError(message)
    if scheduler is not None:
        _find_own_modules()
        choice = Choice(scheduler=scheduler, parameters=_scalars(set_), settings=choice.settings)
    if choice.scheduler is None:
        message = f"run {situation.run.run} is planned by no scheduler that looks at load: say which with --scheduler"
        raise RunError(message)
    return choice


def _planned(situation: Situation, choice: Choice) -> ScheduleRecord:
    if situation.sample == 0:
        message = (
            f"of run {situation.run.run} ({situation.run.topology}) no load was sampled yet: that is done every "
            f"{situation.choice.settings.load_every_s} s"
        )
        raise RunError(message)
    request = situation.request()
    try:
        planned = planned_by(choice, request)
    except ValueError as error:
        raise RunError(str(error)) from error
    judgement = judge(request, planned, judgement_settings(choice))
    chosen = msgspec.structs.replace(situation, choice=choice)
    return schedule_of(chosen, request, judgement, now_s=time.time())


def _places(situation: Situation) -> dict[int, int]:
    return {} if situation.assignment is None else situation.assignment.worker_of


def _tell_plan(schedule: ScheduleRecord, *, explain: bool) -> None:
    before, after = schedule.before, schedule.after
    assert before is not None
    assert after is not None
    parameters = ", ".join(f"{name}={value}" for name, value in schedule.parameters.items())
    verdict = "would be proposed" if schedule.status == "proposed" else "would not be proposed"
    say(f"{schedule.scheduler}{f' ({parameters})' if parameters else ''}: {verdict}: {schedule.reason}")
    for what, was, then in (
        ("tuples/s within workers", before.tuples_per_s.within_workers, after.tuples_per_s.within_workers),
        ("tuples/s between workers of a node", before.tuples_per_s.between_workers, after.tuples_per_s.between_workers),
        ("tuples/s between nodes", before.tuples_per_s.between_nodes, after.tuples_per_s.between_nodes),
        ("workers in use", before.workers_used, after.workers_used),
        ("nodes in use", before.nodes_used, after.nodes_used),
    ):
        say(f"  {what:36}{was:>12,.0f} → {then:,.0f}")
    if explain:
        say(f"\n{schedule.words}")


def load(
    name: Name = None,
    /,
    *,
    plot: Path | None = None,
    samples: Annotated[int, Parameter(validator=Number(gte=1))] = 1000,
    store: str | None = None,
) -> None:
    """Show the load of a run over time; of one that is over, too.

    Args:
        name: a run, or the beginning of its id, or a topology; without it, the only run there is, or the last.
        plot: a file to draw it into, such as load.png; needs matplotlib.
        samples: how many samples, the newest.
        store: the load store; without it, that of a run of this user on this machine.
    """
    with opened_store(name, store, over=True) as (opened, run):
        situation = opened.situation(run)
        history = opened.history(run, most=samples)
        assignments = opened.assignments(run)
        decided = opened.schedules(run, most=5)
    console.print(load_view(situation, history, assignments))
    for schedule in decided:
        at_s = schedule.at_s - situation.run.started_at_s
        say(f"{at_s:8,.0f} s  {schedule.scheduler}  {schedule.status}  {schedule.reason.partition(chr(10))[0]}")
    if plot is not None:
        plot_load(plot, situation, history, assignments)
        say(f"drawn into {plot}")


def scheduler(
    *,
    store: str,
    run: Annotated[str | None, Parameter(help="a run, or the beginning of its id, or a topology; else all.")] = None,
    look_every_s: Annotated[float, Parameter(validator=Number(gt=0))] = 2.0,
) -> None:
    """Plan for runs that were started with scheduling="external", until Ctrl-C.

    It needs nothing but the load store: it can run anywhere, be stopped and started again, and no run depends on it.

    Args:
        store: the load store of the runs, such as postgresql://user@host/database.
        run: which run; without it, all that were started so.
        look_every_s: how often to look for what is new.
    """
    _find_own_modules()
    generators: dict[str, Generator] = {}
    say("waiting for runs that are to be planned for; Ctrl-C ends this, and no run")
    try:
        while True:
            try:
                with LoadStore.open(store) as opened:
                    while True:
                        _plan_for_all(opened, run, generators)
                        time.sleep(look_every_s)
            except LoadStoreError as error:
                say(f"{error}; tried again in {look_every_s:g} s")
                time.sleep(look_every_s)
    except KeyboardInterrupt:
        return


def _plan_for_all(store: LoadStore, name: str | None, generators: dict[str, Generator]) -> None:
    now_s = time.time()
    runs = store.runs() if name is None else [run_named(store, name)]
    for run in runs:
        if run.scheduling != "external" or run.ended_at_s is not None or now_s - run.heard_at_s > _GONE_AFTER_S:
            generators.pop(run.run, None)
            continue
        generator = generators.setdefault(run.run, Generator(store, run.run))
        generator.store = store
        schedule = generator.look(now_s)
        if schedule is not None:
            reason = schedule.reason.strip().rpartition("\n")[2]
            say(f"run {run.run} ({run.topology}): schedule {schedule.number} {schedule.status}: {reason}")


def _scalars(texts: list[str] | None) -> dict[str, Scalar]:
    """Values as numbers, true, false or null where they are, and else as texts."""
    found: dict[str, Scalar] = {}
    for name, text in pairs(texts or []).items():
        try:
            found[name] = msgspec.json.decode(text, type=bool | int | float | None)
        except msgspec.DecodeError:
            found[name] = text
    return found


def _find_own_modules() -> None:
    """Lets a scheduler of the user's own be imported from where the command is given."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
