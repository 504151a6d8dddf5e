"""Costs that a search measures, and searches along the plans that these lead to."""

from __future__ import annotations

import _thread
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from searches import GRID, check_cells, classifier, data, regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, GridSearchCV, NuSVC
from widemargin.plans import (
    CostMatrix,
    GridGraph,
    Plan,
    best_tree,
    heuristic_plan,
    minimum_arborescence,
)
from widemargin.runtime import Work

WIDE = {"C": 2.0 ** np.arange(-2, 8, 2), "gamma": 10.0 ** np.linspace(-4, 0, 6)}


def search_of(machine: Any, grid: Any = None, **options: Any) -> GridSearchCV:
    return GridSearchCV(machine, GRID if grid is None else grid, **{"cv": 3, **options})


class Recorder:
    """Progress that is remembered."""

    def __init__(self) -> None:
        self.machines, self.done, self.reason = 0, 0, ""

    def start(self, machines: int) -> None:
        self.machines = machines

    def advance(self, machines: int, cost: float, expected_cost_left: float | None, best: float | None) -> None:
        self.done += machines

    def finish(self, reason: str) -> None:
        self.reason = reason


@pytest.mark.parametrize("name", ["two", "three", "friedman"])
@pytest.mark.parametrize("memory", ["auto", 1e-3])
def test_best_trees_cost_no_more_than_other_plans(name: str, memory: Any) -> None:
    machine = regressor() if name == "friedman" else classifier()
    search = search_of(machine, max_memory=memory)
    costs = search.measure_costs(*data(name))
    assert costs.graph == GridGraph.from_candidates(list(ParameterGrid(GRID)))
    assert set(costs.edges) == set(costs.graph.edges())
    assert (costs.cold > 0).all()
    tree = minimum_arborescence(costs)
    assert tree.cost(costs) <= best_tree(costs).cost(costs) <= heuristic_plan(costs.graph).cost(costs)
    assert tree.cost(costs) <= costs.total_cold
    found = search.set_params(plan=tree).fit(*data(name))
    check_cells(found, search_of(machine, plan="cold").fit(*data(name)))


def test_costs_count_steps_and_kernel_values_where_there_is_no_matrix() -> None:
    X, y = data("two")
    seen: list[Work] = []

    def steps(work: Work) -> float:
        seen.append(work)
        return work.scans

    search = search_of(classifier())
    costs = search.measure_costs(X, y, cost=steps)
    assert search.measure_costs(X, y).cold.tolist() == costs.cold.tolist()
    assert all(work.kernel_evaluations == 0 and work.scans % len(X) == 0 for work in seen)
    # What a search counts for the first two machines of a line, the first of them from nothing, on the first split.
    first = next(iter(StratifiedKFold(3).split(X, y)))
    line = GridSearchCV(classifier(), {"C": [0.1, 1.0], "gamma": [0.01]}, cv=[first], plan="cold").fit(X, y)
    iterations = line.work_report_.iterations
    assert iterations is not None
    assert costs.cold[0] + costs.of(0, 3) == pytest.approx(iterations * len(X), rel=0.02)
    seen.clear()
    search_of(classifier(), max_memory=1e-3).measure_costs(X, y, cost=steps)
    assert all(work.kernel_evaluations > 0 for work in seen[:12])


def test_costs_are_the_same_every_time() -> None:
    first, second = (search_of(classifier(), n_jobs=n_jobs).measure_costs(*data("two")) for n_jobs in (1, 2))
    assert first.cold.tolist() == second.cold.tolist()
    assert first.edges == second.edges


def test_provable_repeats_cost_nothing_going_up() -> None:
    costs = search_of(classifier(gamma=1.0), {"C": [1e4, 1e5, np.inf]}).measure_costs(*data("two"))
    assert costs.of(0, 1) == 0
    assert costs.of(1, 2) == 0
    assert costs.of(None, 1) > 0


def test_a_search_along_the_best_tree_needs_about_the_steps_of_the_heuristic_at_most() -> None:
    X, y = data("breast_cancer")
    search = search_of(SVC(), WIDE, cv=5, refit=False)
    tree = minimum_arborescence(search.measure_costs(X, y))
    steps = {plan: search.set_params(plan=plan).fit(X, y).work_report_.iterations for plan in ("heuristic", "cold")}
    along = search.set_params(plan=tree).fit(X, y).work_report_.iterations
    assert along is not None
    assert along < 1.05 * steps["heuristic"]
    assert along < 1.05 * steps["cold"]


def test_costs_of_some_data_serve_others(tmp_path: Path) -> None:
    X, y = data("two")
    search_of(classifier()).measure_costs(X[:60], y[:60]).save(tmp_path / "costs.json")
    plan = minimum_arborescence(CostMatrix.load(tmp_path / "costs.json"))
    check_cells(search_of(classifier(), plan=plan).fit(X, y), search_of(classifier()).fit(X, y))


def test_seconds_are_seconds() -> None:
    X, y = data("two")
    began = time.perf_counter()
    costs = search_of(classifier()).measure_costs(X, y, cost="seconds")
    assert 0 < costs.total_cold + sum(costs.edges.values()) < time.perf_counter() - began


def test_pipelines_lists_of_grids_and_weights() -> None:
    X, y = data("two")
    machine = make_pipeline(StandardScaler(), SVC(tol=1e-6))
    grid = [{"svc__kernel": ["linear"], "svc__C": [1.0, 10.0]}, {"svc__C": [1.0, 10.0], "svc__gamma": ["scale", 0.1]}]
    weights = np.linspace(0.5, 2.0, len(y))
    search = search_of(machine, grid)
    costs = search.measure_costs(X, y, svc__sample_weight=weights)
    assert len(costs.graph) == 6
    assert len(costs.edges) == 2 * 3
    tree = minimum_arborescence(costs)
    found = search.set_params(plan=tree).fit(X, y, svc__sample_weight=weights)
    check_cells(found, search_of(machine, grid, plan="cold").fit(X, y, svc__sample_weight=weights))


def test_progress_is_told() -> None:
    seen = Recorder()
    search_of(classifier(), progress=seen).measure_costs(*data("two"))
    assert seen.machines == seen.done == 12 + 2 * (3 * 3 + 4 * 2)
    assert seen.reason == "finished"


def endless() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.normal(size=(500, 3)), random.integers(0, 2, size=500)


HARD = {"C": [1e-3, 1e9, 1e10], "gamma": [0.05]}


@pytest.mark.parametrize(("limit", "done"), [(1e-9, 0), (0.3, 1)])
def test_time_that_does_not_suffice(limit: float, done: int) -> None:
    seen = Recorder()
    with pytest.raises(TimeoutError, match=f"max_time was over after {done} of 7 models were measured.*allow more"):
        search_of(SVC(tol=1e-8), HARD, max_time=limit, progress=seen).measure_costs(*endless())
    assert (seen.done, seen.reason) == (done, "time is up")


def test_an_interruption_is_told_of() -> None:
    class Pressed(Recorder):
        def advance(self, *told: Any) -> None:
            super().advance(*told)
            if self.done == 4:
                _thread.interrupt_main()

    seen = Pressed()
    with pytest.raises(KeyboardInterrupt, match=r"\d+ of 46 models were measured"):
        search_of(classifier(), progress=seen).measure_costs(*data("two"))
    assert 4 <= seen.done < 46
    assert seen.reason == "interrupted"


def test_machines_that_end_early_are_told_of() -> None:
    with pytest.warns(ConvergenceWarning, match=r"of 46 fits ended before the tolerance was met") as told:
        search_of(classifier(max_iter=3)).measure_costs(*data("two"))
    assert told[-1].filename == __file__


@pytest.mark.parametrize("cost", ["steps", None, 3, ["seconds"]])
def test_what_is_no_cost_is_refused(cost: Any) -> None:
    with pytest.raises(
        ValueError, match=r"cost must be 'operations', 'seconds' or a function of a widemargin.runtime.W"
    ):
        search_of(classifier()).measure_costs(*data("two"), cost=cost)


def test_machines_that_take_no_starts_have_no_costs() -> None:
    with pytest.raises(ValueError, match=r"measure_costs needs models that start from each other.*NuSVC"):
        search_of(NuSVC(), {"nu": [0.2, 0.4]}).measure_costs(*data("two"))
    with pytest.raises(ValueError, match=r"solver.*cannot be measured"):
        search_of(SVC(solver="smo")).measure_costs(*data("two"))


def test_parameters_that_are_not_accepted_have_no_cost() -> None:
    with pytest.raises(ValueError, match="C must be"):
        search_of(classifier(), {"C": [1.0, -1.0]}).measure_costs(*data("two"))


def test_an_unsuitable_plan_does_not_hinder_measuring() -> None:
    other = Plan(GridGraph.from_candidates([{"C": 1.0}]), (None,))
    assert len(search_of(classifier(), plan=other).measure_costs(*data("two")).graph) == 12
