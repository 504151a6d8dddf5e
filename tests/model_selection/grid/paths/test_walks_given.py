"""Searches that walk a plan of the user's: any tree over the grid changes their work, and nothing else."""

from __future__ import annotations

import json
import pickle
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from searches import GRID, check_cells, classifier, data, regressor
from sklearn import svm
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC, GridSearchCV, NuSVC, NuSVR
from widemargin.model_selection.grid.setup import Unit
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.plans import GridGraph, Plan, heuristic_plan
from widemargin.study import JournalError


def graph_of(grid: Any) -> GridGraph:
    return GridGraph.from_candidates(list(ParameterGrid(grid)))


def random_plan(grid: Any, seed: int, roots: int = 1) -> Plan:
    """Grow a tree by random edges: it runs up and down C and gamma, and branches wherever it likes."""
    graph, random = graph_of(grid), np.random.default_rng(seed)
    parents: dict[int, int | None] = {}
    for component in graph.components():
        chosen = random.permutation(component)[:roots]
        parents.update(dict.fromkeys(map(int, chosen)))
        while len(set(component) - parents.keys()):
            reached = [(i, j) for i in parents for j in graph.neighbours(i) if j not in parents]
            start, node = reached[int(random.integers(len(reached)))]
            parents[node] = start
    return Plan(graph, tuple(parents[node] for node in range(len(graph))))


def from_the_middle(grid: Any) -> Plan:
    """From the second largest C and the middle gamma to the other gammas; from there up and down along C."""
    graph = graph_of(grid)
    nodes = {place: node for node, place in enumerate(graph.coordinates)}
    last, middle = len(graph.values[0]) - 2, len(graph.values[1]) // 2
    parents = []
    for C, gamma in graph.coordinates:
        assert C is not None
        assert gamma is not None
        if last != C:
            parents.append(nodes[C + np.sign(last - C), gamma])
        else:
            parents.append(None if gamma == middle else nodes[C, gamma + np.sign(middle - gamma)])
    return Plan(graph, tuple(parents))


def searched(machine: Any, name: str, plan: Any, grid: Any = None, **options: Any) -> GridSearchCV:
    return GridSearchCV(machine, GRID if grid is None else grid, cv=3, plan=plan, **options).fit(*data(name))


def same_bits(one: GridSearchCV, other: GridSearchCV) -> None:
    for key, value in one.cv_results_.items():
        if "time" not in key:
            np.testing.assert_array_equal(value, other.cv_results_[key], err_msg=key)


@pytest.mark.parametrize("name", ["two", "three", "friedman"])
@pytest.mark.parametrize("memory", ["auto", 1e-3])
def test_a_plan_changes_no_score(name: str, memory: Any) -> None:
    machine = regressor() if name == "friedman" else classifier()
    cold = searched(machine, name, "cold")
    for plan in (heuristic_plan(graph_of(GRID)), from_the_middle(GRID), random_plan(GRID, 0), random_plan(GRID, 1, 3)):
        found = searched(machine, name, plan, max_memory=memory)
        check_cells(found, cold)
        report = found.work_report_
        assert (report.fits, report.trained + report.skipped, report.unfinished) == (36, 36, 0)


def test_the_plan_from_the_middle_goes_both_ways() -> None:
    plan = from_the_middle(GRID)
    assert plan.roots == (7,)
    assert {f"{axis} {direction:+}" for (axis, direction), share in plan.orientations().items() if share} == {
        "C +1",
        "C -1",
        "gamma +1",
        "gamma -1",
    }


@pytest.mark.parametrize(
    "machine",
    [classifier(loss="squared_hinge"), classifier(fit_intercept=False), classifier(class_weight="balanced")],
    ids=str,
)
def test_other_machines(machine: Any) -> None:
    check_cells(*(searched(machine, "two", plan) for plan in (random_plan(GRID, 5), "cold")))


def test_pipelines_and_axes_before_the_machine() -> None:
    machine = make_pipeline(StandardScaler(), PCA(random_state=0), SVC(tol=1e-6))
    grid = {"pca__n_components": [3, 5], "svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.1, 1.0]}
    assert graph_of(grid).axes == ("pca__n_components", "svc__C", "svc__gamma")
    cold = searched(machine, "two", "cold", grid)
    for seed in range(3):
        check_cells(searched(machine, "two", random_plan(grid, seed), grid), cold)


def test_lists_of_grids_and_several_kernels() -> None:
    grid = [
        {"kernel": ["linear"], "C": [0.1, 1.0, 10.0]},
        {"kernel": ["rbf"], "C": [0.1, 1.0, 10.0], "gamma": ["scale", 0.1, 1.0]},
        {"kernel": ["poly"], "degree": [2, 3], "C": [1.0, 10.0]},
    ]
    plan = random_plan(grid, 2)
    assert len(plan.roots) == 4  # rbf with gamma="scale" is nobody's neighbour
    check_cells(searched(classifier(), "two", plan, grid), searched(classifier(), "two", "cold", grid))


@pytest.mark.parametrize("seed", range(3))
def test_hard_margins_on_the_way(seed: int) -> None:
    grid = {"C": [1.0, 10.0, np.inf], "gamma": [0.5, 2.0]}
    check_cells(*(searched(classifier(), "two", plan, grid) for plan in (random_plan(grid, seed), "cold")))


def test_hard_margins_that_a_chain_comes_down_from() -> None:
    grid = {"C": [1.0, 10.0, np.inf], "gamma": [0.5, 2.0]}
    down = Plan(graph_of(grid), (2, 3, 4, 5, None, 4))
    check_cells(*(searched(classifier(), "two", plan, grid) for plan in (down, "cold")))


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_candidates_that_are_not_accepted_are_walked_past() -> None:
    grid = {"C": [0.1, -1.0, 1.0, 10.0], "gamma": [0.1, -2.0, 1.0]}
    for plan in (random_plan(grid, 0), random_plan(grid, 1), heuristic_plan(graph_of(grid))):
        with pytest.warns(FitFailedWarning):
            found = searched(classifier(), "two", plan, grid, refit=False)
        good = [one["C"] > 0 and one["gamma"] > 0 for one in found.cv_results_["params"]]
        assert np.isfinite(found.cv_results_["mean_test_score"]).tolist() == good


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_every_machine_is_trained_once(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[tuple[int, int]] = []
    train, lock = SharedSearch._train, threading.Lock()

    def counted(self: SharedSearch, unit: Unit, *rest: Any) -> Any:
        with lock:
            trained.extend((unit.fold, candidate) for candidate in unit.candidates)
        return train(self, unit, *rest)

    monkeypatch.setattr(SharedSearch, "_train", counted)
    for plan in ("heuristic", random_plan(GRID, 0), from_the_middle(GRID)):
        trained.clear()
        searched(classifier(), "two", plan, n_jobs=n_jobs, refit=False)
        assert Counter(trained) == {(split, candidate): 1 for split in range(3) for candidate in range(12)}


def steps_of(plan: Any, journal: Path) -> dict[int, int]:
    """The steps of all candidates of GRID, on all splits together."""
    searched(classifier(), "breast_cancer", plan, journal=journal, refit=False)
    records = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    return {
        c: sum(one["work"].get("iterations", 0) for one in records if one["evaluation"] // 3 == c) for c in range(12)
    }


def test_a_chain_that_others_branch_off_takes_the_steps_of_one_that_is_left_alone(tmp_path: Path) -> None:
    # The line of the second gamma goes up along C; at every C, the others start from it, or each line for itself.
    spine = {1: None, 4: 1, 7: 4, 10: 7}
    comb = Plan(graph_of(GRID), tuple(spine[node] if node in spine else 3 * (node // 3) + 1 for node in range(12)))
    lines = Plan(graph_of(GRID), tuple(None if node < 3 else node - 3 for node in range(12)))
    assert len(comb.chains("C")) == 9
    cut, whole = (steps_of(plan, tmp_path / f"{len(plan.roots)}.jsonl") for plan in (comb, lines))
    assert cut[1] == whole[1] > 0
    for node in (4, 7, 10):
        assert cut[node] == pytest.approx(whole[node], rel=0.1)


def test_repeats_are_known_going_up_also_where_others_branch_off() -> None:
    grid = {"C": [1e4, 1e5, 1e6], "gamma": [1.0, 2.0]}
    graph = graph_of(grid)
    for plan, repeated in [
        (heuristic_plan(graph), 4),
        (Plan(graph, (None, 3, 0, 2, 2, 3)), 3),  # the second gamma is entered at its second C
        (Plan(graph, (2, 3, 4, 5, None, 4)), 0),  # down from the largest C
    ]:
        report = searched(classifier(), "two", plan, grid).work_report_
        assert (report.skipped, report.trained) == (3 * repeated, 3 * (6 - repeated))


def test_kernels_are_computed_once_where_the_plan_lets_them() -> None:
    X, _ = data("two")
    report = searched(classifier(), "two", heuristic_plan(graph_of(GRID))).work_report_
    assert report.kernel_evaluations == 3 * len(X) ** 2


def test_machines_are_told_of_one_by_one_where_somebody_listens() -> None:
    asked = GridSearchCV(classifier(), GRID, cv=3, plan=random_plan(GRID, 4))
    data_of_search, _, _ = asked._search_data(*data("three"), {})
    at_once, one_by_one = SharedSearch(data_of_search), SharedSearch(data_of_search)
    for unit in at_once.units():
        told: list[Any] = []
        expected = at_once.evaluate(unit, at_once.stop)
        assert one_by_one.evaluate(unit, one_by_one.stop, told.append) == told
        for one, other in zip(told, expected, strict=True):
            assert (one.number, one.value) == (other.number, other.value)
            assert (one.work.iterations, one.work.skipped) == (other.work.iterations, other.work.skipped)


def test_threads_and_processes_change_no_bit() -> None:
    plan = random_plan(GRID, 4)
    alone = searched(classifier(), "three", plan)
    same_bits(searched(classifier(), "three", plan, n_jobs=3), alone)
    with parallel_config("loky", n_jobs=2):
        same_bits(searched(classifier(), "three", plan), alone)


def test_journals_know_their_plan(tmp_path: Path) -> None:
    journal, plan = tmp_path / "study.jsonl", random_plan(GRID, 0)
    whole = searched(classifier(), "two", plan, journal=journal)
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 36
    for kept in (1, 9, 20):
        journal.write_bytes(b"".join(lines[:kept]))
        # A plan that has been asked for its order, and one that comes from elsewhere, are the same.
        assert plan.order
        same_bits(searched(classifier(), "two", pickle.loads(pickle.dumps(plan)), journal=journal), whole)
    for other in (random_plan(GRID, 1), "heuristic"):
        with pytest.raises(JournalError, match="plan"):
            searched(classifier(), "two", other, journal=journal)


@pytest.mark.filterwarnings("ignore::widemargin.UnfinishedSearchWarning")
def test_time_that_runs_out_leaves_the_best_so_far() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(500, 3)), random.integers(0, 2, size=500)
    grid = {"C": [1e-3, 1e9], "gamma": [0.05, 0.06]}
    # The machines of the large C take minutes; the last one starts from the other.
    plan = Plan(graph_of(grid), (None, 0, 3, 1))
    search = GridSearchCV(SVC(tol=1e-8), grid, cv=3, plan=plan, max_time=0.4, refit=False).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).tolist() == [True, False, False, False]
    assert search.work_report_.unfinished >= 12 - 3 - 1


def test_searches_with_plans_are_cloned_and_set() -> None:
    search = GridSearchCV(classifier(), GRID, cv=3, plan=random_plan(GRID, 0))
    same_bits(clone(search).fit(*data("two")), search.fit(*data("two")))
    assert clone(search).plan == search.plan


@pytest.mark.parametrize(
    ("grid", "found"),
    [
        (
            {"C": [0.1, 1.0, 10.0], "gamma": [0.01, 0.1, 1.0]},
            "got one for other candidates .9, 3 values of C from 0.1 to 10, 3 ",
        ),
        ({"C": [0.1, 1.0, 10.0, 99.0], "gamma": [0.01, 0.1, 1.0]}, "4 values of C from 0.1 to 99"),
        ({"svc__C": GRID["C"], "svc__gamma": GRID["gamma"]}, "4 values of svc__C"),
        ({"kernel": ["rbf", "linear"]}, "got one for other candidates .2.\\."),
    ],
)
def test_plans_of_other_candidates_are_refused(grid: Any, found: str) -> None:
    plan = heuristic_plan(graph_of(grid))
    with pytest.raises(ValueError, match=r"plan must be for this search's candidates \(12, 4 values of C.*" + found):
        searched(classifier(), "two", plan)


@pytest.mark.parametrize("machine", [NuSVC(), NuSVR()], ids=str)
def test_machines_that_take_no_starts_take_no_plan(machine: Any) -> None:
    X, y = data("two")
    grid = {"nu": [0.2, 0.4], "gamma": [0.1, 1.0]}
    search = GridSearchCV(machine, grid, plan=heuristic_plan(graph_of(grid), along="nu"))
    with pytest.raises(ValueError, match=f"A plan needs models that start from each other.*{type(machine).__name__}"):
        search.fit(X, y)


@pytest.mark.parametrize("machine", [svm.SVC(), SVC(solver="smo")], ids=str)
def test_searches_that_share_nothing_take_no_plan(machine: Any) -> None:
    with pytest.raises(ValueError, match="train every model alone, where plan would have no effect"):
        searched(machine, "two", heuristic_plan(graph_of(GRID)))
