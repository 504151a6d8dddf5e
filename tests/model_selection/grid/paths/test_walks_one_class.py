"""Plans for machines of one class: they change the work of a search, and nothing else."""

from __future__ import annotations

import warnings
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from searches import check_cells, data
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVDD, GridSearchCV, OneClassSVM, UnfinishedSearchWarning
from widemargin.model_selection.grid.candidates import Candidates
from widemargin.model_selection.grid.folds.one_class import OneClassFold
from widemargin.model_selection.grid.paths.walks import walk_of
from widemargin.plans import GridGraph, Plan, best_tree, heuristic_plan, minimum_arborescence

WIDTHS = [0.01, 0.1, 1.0]
PRICES = [1.0, 10.0, 100.0, 1000.0]
SHARES = [0.05, 0.1, 0.2, 0.4]

#: Machines, what their chains go along, and the share of the steps from nothing that the heuristic may need; where it
#: is 1, the heuristic starts from nothing.
MACHINES = {
    "squared": (OneClassSVM(loss="squared_hinge", tol=1e-6), {"C": PRICES}, 1.0),
    "counted": (OneClassSVM(loss="squared_hinge", solver="maxminover", tol=1e-5), {"C": PRICES}, 0.8),
    "hinge": (OneClassSVM(tol=1e-6), {"nu": SHARES}, 0.95),
    "ball": (SVDD(tol=1e-6), {"nu": SHARES}, 0.95),
    "squared ball": (SVDD(tol=1e-6), {"C": [0.02, 0.1, 0.5]}, 0.99),
    "target": (OneClassSVM(tol=1e-6), {"target_rejection": [0.05, 0.2]}, 1.0),
    "squared target": (OneClassSVM(loss="squared_hinge", target_rejection=0.1, tol=1e-6), {"C": PRICES}, 1.0),
    "ball target": (SVDD(tol=1e-6), {"target_rejection": [0.05, 0.2]}, 1.0),
}


def depth(estimator: Any, X: Any, y: Any = None) -> float:
    return float(np.mean(estimator.decision_function(X)))


def searched(kind: str, plan: Any, X: Any = None, **options: Any) -> GridSearchCV:
    machine, along, _ = MACHINES[kind]
    how = {"cv": 4, "scoring": depth, "refit": False, **options}
    return GridSearchCV(machine, {**along, "gamma": WIDTHS}, plan=plan, **how).fit(data("two")[0] if X is None else X)


def graph_of(kind: str) -> GridGraph:
    return GridGraph.from_candidates(list(ParameterGrid({**MACHINES[kind][1], "gamma": WIDTHS})))


def from_the_middle(graph: GridGraph) -> Plan:
    """In every part of the graph, from a candidate in its middle to all others: up and down, along all axes."""
    parents: dict[int, int | None] = {}
    for part in map(sorted, graph.components()):
        own: dict[int, int | None] = {part[len(part) // 2]: None}
        while len(own) < len(part):
            start, node = next((i, j) for i in own for j in graph.neighbours(i) if j not in own)
            own[node] = start
        parents.update(own)
    return Plan(graph, tuple(parents[node] for node in range(len(graph))))


@pytest.mark.parametrize("memory", ["auto", 1e-3])
@pytest.mark.parametrize("kind", MACHINES)
def test_a_plan_changes_no_score(kind: str, memory: Any) -> None:
    cold = searched(kind, "cold", max_memory=memory)
    for plan in ("heuristic", "learn", from_the_middle(graph_of(kind))):
        check_cells(searched(kind, plan, max_memory=memory), cold)


@pytest.mark.parametrize("kind", MACHINES)
def test_steps_are_saved(kind: str) -> None:
    X, y = data("breast_cancer")
    cold, heuristic = (searched(kind, plan, X[y == 1]).work_report_ for plan in ("cold", "heuristic"))
    most = MACHINES[kind][2]
    assert heuristic.iterations == cold.iterations if most == 1.0 else heuristic.iterations < most * cold.iterations


def test_what_the_heuristic_leaves_alone_can_be_started_all_the_same() -> None:
    X, y = data("breast_cancer")
    cold, learnt = (searched("squared", plan, X[y == 1]).work_report_ for plan in ("cold", "learn"))
    assert learnt.iterations < 0.99 * cold.iterations


@pytest.mark.parametrize("kind", ["squared", "counted", "hinge", "ball"])
@pytest.mark.parametrize("plan", ["heuristic", "learn"])
def test_the_result_does_not_depend_on_who_works_on_what(kind: str, plan: str) -> None:
    alone, together = (searched(kind, plan, n_jobs=n_jobs).cv_results_ for n_jobs in (1, 3))
    np.testing.assert_array_equal(alone["mean_test_score"], together["mean_test_score"])


@pytest.mark.parametrize("kind", MACHINES)
def test_costs_are_measured_and_their_trees_walked(kind: str) -> None:
    machine, along, _ = MACHINES[kind]
    X, _ = data("two")
    search = GridSearchCV(machine, {**along, "gamma": WIDTHS}, cv=3, scoring=depth, refit=False)
    costs = search.measure_costs(X)
    assert costs.graph == graph_of(kind)
    tree = minimum_arborescence(costs)
    plain = heuristic_plan(costs.graph, along=next(iter(along)))
    assert tree.cost(costs) <= best_tree(costs).cost(costs) <= plain.cost(costs)
    assert tree.cost(costs) < costs.total_cold
    check_cells(search.set_params(plan=tree).fit(X), search.set_params(plan="cold").fit(X))


def test_counts_go_from_a_machine_to_itself() -> None:
    # What is measured along C goes on from the counts of a machine, which are good enough for it as they are.
    machine = MACHINES["counted"][0]
    grid = {"C": [1000.0, 1000.0 * (1 + 1e-9)], "gamma": [0.1]}
    costs = GridSearchCV(machine, grid, cv=3, scoring=depth, refit=False).measure_costs(data("two")[0])
    assert (costs.cold > 0).all()
    assert set(costs.edges.values()) == {0.0}


#: Lines along nu, along C by either solver, and along a target.
SEVERAL = [
    {"nu": SHARES, "gamma": WIDTHS},
    {"loss": ["squared_hinge"], "solver": ["auto", "maxminover"], "C": PRICES, "gamma": WIDTHS},
    {"target_rejection": [0.1, 0.2], "gamma": WIDTHS},
]


def test_one_plan_for_lines_along_several_parameters() -> None:
    X, _ = data("two")
    graph = GridGraph.from_candidates(list(ParameterGrid(SEVERAL)))
    how: dict[str, Any] = {"cv": 3, "scoring": depth, "refit": False}
    cold, *others = (
        GridSearchCV(OneClassSVM(tol=1e-6), SEVERAL, plan=plan, **how).fit(X)
        for plan in ("cold", from_the_middle(graph), "heuristic", "learn")
    )
    for other in others:
        check_cells(other, cold)


def test_every_candidate_is_chained_along_its_own_parameter() -> None:
    parameters = list(ParameterGrid(SEVERAL))
    candidates = Candidates(OneClassSVM(), parameters, OneClassFold, raises=True)
    assert sorted(map(len, candidates.lines)) == [2] * 3 + [4] * 9
    parents = {after: before for line in candidates.lines for before, after in pairwise(line)}
    plan = Plan(GridGraph.from_candidates(parameters), tuple(parents.get(node) for node in range(len(parameters))))
    walk = walk_of(plan, candidates)
    assert walk is not None
    assert sorted(walk.chains) == sorted(candidates.lines)


def test_a_pipeline_starts_its_splits_from_the_first() -> None:
    X, _ = data("iris")
    grid = {"oneclasssvm__C": PRICES, "oneclasssvm__gamma": WIDTHS}
    for solver in ("auto", "maxminover"):
        machine = make_pipeline(StandardScaler(), OneClassSVM(loss="squared_hinge", solver=solver, tol=1e-6))
        searches = (
            GridSearchCV(machine, grid, cv=3, scoring=depth, refit=False, plan=plan).fit(X)
            for plan in ("heuristic", "cold")
        )
        check_cells(*searches)


@pytest.mark.parametrize("kind", ["squared", "counted", "hinge"])
def test_a_search_that_was_stopped_goes_on_as_if_nothing_had_happened(kind: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(800, 3))
    machine, along, _ = MACHINES[kind]
    how: dict[str, Any] = {"cv": 3, "scoring": depth, "refit": False}
    search = GridSearchCV(machine, {**along, "gamma": WIDTHS}, **how).fit(X)
    stopped = GridSearchCV(
        machine, {**along, "gamma": WIDTHS}, max_time=0.3 * search.work_report_.seconds, journal=tmp_path / "j", **how
    )
    with warnings.catch_warnings(), suppress(TimeoutError):  # nothing, or not everything was finished on every split
        warnings.simplefilter("ignore", UnfinishedSearchWarning)
        stopped.fit(X)
    resumed = stopped.set_params(max_time=None).fit(X)
    np.testing.assert_array_equal(resumed.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])
