from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.papers.__main__ import main
from benchmarks.papers.timm import grid_pictures, timm_section_3_2
from benchmarks.papers.timm.timm_section_3_2 import BAR, ClassCosts, Machines, Walk, grid, mean_costs, verdict
from widemargin.plans import CostMatrix, heuristic_plan


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(0)
    y = np.where(np.arange(50) % 2 == 0, 1, -1)
    for name in ("heart", "banana"):
        np.savez(tmp_path / f"raetsch_{name}.npz", X=random.normal(size=(50, 3)) + y[:, None], y=y)
    return tmp_path


def test_a_small_grid_is_measured_walked_and_drawn(folder, capsys):
    options = ["--data-sets", "heart,banana,splice", "--grid", "4", "--samples", "15", "--n-jobs", "1"]
    main(["timm_section_3_2", "--data", str(folder), *options, "--output", str(folder / "out")])
    printed = capsys.readouterr().out
    assert "splice: skipped. The data folder" in printed
    assert "4 x 4 nodes, at most 15 samples of a class" in printed
    rows = [line.split() for line in printed.splitlines()]
    assert sum(row[:2] == ["heart", "15+15"] and len(row) == 10 for row in rows) == 1
    assert "not judged: the bar is for a grid of 20 x 20; mean ratio of the heuristic 0." in printed
    assert "on 2 of 13 data sets" in printed
    pictures = [f"{name}.png" for name in ("heuristic", "minimum_spanning_tree", "orientations")]
    for picture in pictures:
        assert (folder / "out" / picture).stat().st_size > 10_000
    matrices = sorted(path.name for path in (folder / "out").glob("*.json"))
    assert matrices == [f"costs_{name}_{label}1.json" for name in ("banana", "heart") for label in "+-"]
    costs = CostMatrix.load(folder / "out" / matrices[0])
    assert costs.cold.min() > 15
    assert len(costs.edges) == 48


@pytest.mark.parametrize(
    ("bad", "words"), [(["--data-sets", "hearts"], "no data set 'hearts'"), (["--samples", "1"], "at least 2")]
)
def test_what_makes_no_sense_is_refused(bad, words):
    with pytest.raises(SystemExit, match=words):
        main(["timm_section_3_2", *bad])


def test_every_class_has_unit_mean_norm(folder):
    given = SimpleNamespace(data=folder, data_sets=["heart"], samples=20)
    found = list(timm_section_3_2.classes_of(given))
    assert [(name, label, len(X)) for name, label, X in found] == [("heart", 1, 20), ("heart", -1, 20)]
    for _, _, X in found:
        assert np.linalg.norm(X, axis=1).mean() == pytest.approx(1)


@pytest.fixture
def machines():
    X = np.random.default_rng(1).normal(size=(30, 4))
    return Machines(X / np.linalg.norm(X, axis=1).mean(), grid(5)), X / np.linalg.norm(X, axis=1).mean()


def relative_gap(K, counts, C):
    scores = K @ counts + counts / C
    a = counts / scores.min()
    slack = np.maximum(0, 1 - K @ a)
    primal = (a @ K @ a + C * slack @ slack) / 2
    return (primal - a.sum() + (a @ K @ a + a @ a / C) / 2) / (primal + 1)


@pytest.mark.parametrize("start", [None, 11, 13, 7, 17])
def test_wherever_a_machine_starts_it_ends_within_the_gap(machines, start):
    machines, X = machines
    node = 12
    first = None if start is None else machines.solve(start, None)[0]
    solved, work = machines.solve(node, first)
    width, place = machines.graph.coordinates[node]
    K = rbf_kernel(X, gamma=1 / (2 * machines.graph.values[0][width] ** 2))
    assert relative_gap(K, solved.counts, machines.graph.values[1][place]) <= 1.01e-4
    assert machines.ended_early == 0
    assert work.scans % 30 == 0
    if start is None:
        # No row is evaluated twice, and every supporting example has one.
        assert 30 * np.count_nonzero(solved.counts) <= work.kernel_evaluations <= 30 * 30
    else:
        # Rows of the start are kept or taken to the new width, not evaluated.
        assert work.kernel_evaluations <= 30 * (30 - np.count_nonzero(first.counts))
        assert first.counts is not solved.counts


def test_operations_are_counted_by_the_step(machines):
    machines, _ = machines
    solved, work = machines.solve(24, None)  # the widest kernel and the largest C
    iterations = int(solved.counts.sum()) - 1  # a step adds 2 - 1, but the first has nothing to take 1 from
    assert iterations % 1000 == 0
    looks = iterations // 1000
    assert work.scans == 30 * (3 * iterations + looks * np.count_nonzero(solved.counts))
    # Once more from there: the scores are computed once, and the gap is small enough.
    again, little = machines.solve(24, solved)
    assert (little.kernel_evaluations, little.scans) == (0, 30 * np.count_nonzero(solved.counts))
    assert again.counts.tolist() == solved.counts.tolist()


def class_costs(name, heuristic, *, early=0):
    graph = grid(2)
    costs = CostMatrix(graph, np.full(4, 25.0), dict.fromkeys(graph.edges(), 1.0))
    walked = {"heuristic": Walk(heuristic, 1.0), "tree": Walk(3.0, 1.0), "rising": Walk(20.0, 1.0)}
    return ClassCosts(name, 1, SimpleNamespace(n=5, ended_early=early), costs, 10.0, heuristic_plan(graph), walked)


def test_the_verdict_can_fail():
    good, bad = class_costs("heart", 100 * BAR - 1), class_costs("banana", 100 * BAR + 3)
    assert verdict([good], 20).startswith("pass: mean ratio of the heuristic 0.140 on 1 of 13")
    assert verdict([good, bad], 20).startswith("FAIL: mean ratio of the heuristic 0.160 on 2 of 13")
    assert verdict([class_costs("heart", 1.0, early=2)], 20).startswith("FAIL: 2 models did not reach the gap")
    assert verdict([good], 4).startswith("not judged")


def test_classes_of_a_data_set_count_together():
    members = [class_costs("heart", 10.0), class_costs("heart", 30.0)]
    plan = heuristic_plan(members[0].costs.graph, along="C", across="sigma")
    line = timm_section_3_2.ratios(members, plan)
    assert line == pytest.approx((0.2, 0.1, 0.28, 0.03, 0.28, 0.2))


def test_every_class_has_the_same_weight_in_the_mean():
    graph = grid(2)
    cheap = CostMatrix(graph, np.array([1.0, 1, 1, 1]), dict.fromkeys(graph.edges(), 1.0))
    dear = CostMatrix(graph, np.array([400.0, 200, 200, 200]), dict.fromkeys(graph.edges(), 100.0))
    mean = mean_costs([cheap, dear])
    assert mean.cold == pytest.approx([0.325, 0.225, 0.225, 0.225])
    assert list(mean.edges.values()) == pytest.approx([0.175] * 8)


def test_ticks_are_round_numbers():
    places, labels = grid_pictures.round_numbers(np.geomspace(0.1, 5, 20))
    assert labels == ["0.1", "0.2", "0.5", "1", "2", "5"]
    assert places[0] == 0
    assert places[-1] == pytest.approx(19)
    assert grid_pictures.round_numbers(np.geomspace(1, 1e5, 20))[1] == ["1", "10", "100", "1,000", "10,000", "100,000"]
