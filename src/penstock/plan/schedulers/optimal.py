"""`optimal`: the best assignment there is, proven, for small topologies. Needs the extra `penstock[optimal]`."""

from __future__ import annotations

import importlib
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np

from penstock.errors import PenstockError
from penstock.plan.assignment import Assignment
from penstock.plan.flows import Integers
from penstock.plan.problem import CostSettings, Problem, problem_of
from penstock.plan.schedulers.base import PlanRequest
from penstock.plan.schedulers.penstock import penstock_places, rank
from penstock.plan.shares import CAPACITY_FRACTION

__all__ = ["OptimalScheduler"]

_MOST_CHOICES = 400  # tasks times workers
_MOST_PAIRS = 400

# The solver reckons in whole numbers: loads in thousandths of a core, and the dearest traffic as so many.
_PARTS_OF_A_CORE = 1_000
_PARTS_OF_THE_DEAREST = 1_000_000


class OptimalScheduler(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Minimises what `penstock` minimises, with a constraint solver (CP-SAT), to know how far the others are off.

    First the least overload that can be, then, with no more of that, the least traffic with the moves counted. Where a
    task sends by `local_or_shuffle()` it is held to be with one certain target, as for the other schedulers.
    """

    name: ClassVar[str] = "optimal"

    capacity_fraction: Annotated[float, msgspec.Meta(gt=0.0)] = CAPACITY_FRACTION
    """How much of a worker, and of a node, may be planned for."""
    node_weight: Annotated[float, msgspec.Meta(ge=1.0)] = CostSettings().node_weight
    """How much dearer traffic between nodes is than traffic between workers of a node."""
    effort: Annotated[float, msgspec.Meta(gt=0.0)] = 60.0
    """When to give up: a measure of the solver's own, about as many seconds, and the same on every machine."""

    def plan(self, request: PlanRequest) -> Assignment:
        """Solves it, or PenstockError: OR-tools is missing, the case is too large, or nothing was proven in time."""
        settings = CostSettings(capacity_fraction=self.capacity_fraction, node_weight=self.node_weight)
        problem = problem_of(request, settings)
        pairs = sum(len(known) for known in problem.neighbours) // 2
        choices = len(problem.tasks) * len(problem.workers)
        if choices > _MOST_CHOICES or pairs > _MOST_PAIRS:
            message = (
                f"scheduler 'optimal' is for small topologies: tasks times workers wanted<={_MOST_CHOICES} "
                f"got={choices}, pairs of tasks with traffic wanted<={_MOST_PAIRS} got={pairs}; use 'penstock'"
            )
            raise PenstockError(message)
        hint = penstock_places(problem)
        solved = _Model(problem, _solver_package()).solve(hint, self.effort)
        # In whole numbers two may be equal that are not quite.
        return problem.assignment(min((solved, hint), key=lambda places: rank(problem, places)))


def _solver_package() -> Any:
    try:
        return importlib.import_module("ortools.sat.python.cp_model")
    except ImportError as error:
        message = "scheduler 'optimal' needs OR-tools, which is not installed: pip install 'penstock[optimal]'"
        raise PenstockError(message) from error


class _Model:
    """The problem in the solver's words."""

    def __init__(self, problem: Problem, package: Any) -> None:
        self._problem, self._package = problem, package
        self._model = package.CpModel()
        self._on = [[self._model.new_bool_var("") for _ in problem.workers] for _ in problem.tasks]
        for task, row in enumerate(self._on):
            self._model.add_exactly_one(row)
            if problem.fixed[task] >= 0:
                self._model.add(row[problem.fixed[task]] == 1)
        self._on_node = [
            [sum(row[worker] for worker in np.flatnonzero(problem.node_of == node).tolist()) for node in self._nodes()]
            for row in self._on
        ]

    def solve(self, hint: Integers, effort: float) -> Integers:
        for task, row in enumerate(self._on):
            for worker, variable in enumerate(row):
                self._model.add_hint(variable, int(hint[task] == worker))
        overload = self._overload()
        self._model.minimize(overload)
        least = self._run(effort, "the least overload")
        self._model.add(overload <= round(least.objective_value))
        self._model.minimize(self._cost())
        solver = self._run(effort, "the least traffic")
        return np.array([[solver.value(on) for on in row].index(1) for row in self._on], dtype=np.int64)

    def _run(self, effort: float, wanted: str) -> Any:
        solver = self._package.CpSolver()
        solver.parameters.num_workers = 1  # with several, which of two equal solutions is found is chance
        solver.parameters.random_seed = 1
        solver.parameters.max_deterministic_time = effort
        status = solver.solve(self._model)
        if status != self._package.OPTIMAL:
            got = solver.status_name(status)
            message = f"scheduler 'optimal' could not prove {wanted} with effort={effort:g}: got {got}"
            raise PenstockError(message)
        return solver

    def _nodes(self) -> range:
        return range(len(self._problem.nodes))

    def _overload(self) -> Any:
        """As `Problem.overload`: the squares of what is beyond the limits, over the limits."""
        problem = self._problem
        busy = [round(share * _PARTS_OF_A_CORE) for share in problem.busy.tolist()]
        places = [
            (limit, [row[worker] for row in self._on]) for worker, limit in enumerate(problem.worker_limit.tolist())
        ]
        places += [(limit, [row[node] for row in self._on_node]) for node, limit in enumerate(problem.node_limit)]
        terms = []
        total = sum(busy)
        for limit, members in places:
            most = int(limit * _PARTS_OF_A_CORE + len(busy) / 2)  # what the rounding of the tasks may have added
            if total <= most:
                continue
            beyond = self._model.new_int_var(0, total - most, "")
            self._model.add(sum(share * on for share, on in zip(busy, members, strict=True)) - most <= beyond)
            square = self._model.new_int_var(0, (total - most) ** 2, "")
            self._model.add_multiplication_equality(square, [beyond, beyond])
            terms.append(square * max(1, round(_PARTS_OF_A_CORE / max(limit, 1e-3))))
        return sum(terms)

    def _cost(self) -> Any:
        problem, model = self._problem, self._model
        rates = {
            (task, other): rate
            for task, known in enumerate(problem.neighbours)
            for other, rate in known
            if task < other
        }
        weight = problem.settings.node_weight
        dearest = max([*(rate * weight for rate in rates.values()), *problem.moving.tolist(), 1e-9])
        scale = _PARTS_OF_THE_DEAREST / dearest
        terms = []
        for (task, other), rate in rates.items():
            for here, there, price in (
                (self._on[task], self._on[other], rate),
                (self._on_node[task], self._on_node[other], rate * (weight - 1.0)),
            ):
                apart = model.new_bool_var("")
                for one, two in zip(here, there, strict=True):
                    model.add(apart >= one - two)
                terms.append(round(price * scale) * apart)
        for task, worker in enumerate(problem.current):
            if worker >= 0:
                terms.append(round(float(problem.moving[task]) * scale) * (1 - self._on[task][worker]))
        return sum(terms)
