from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from widemargin.strategies import CMAES, Space, Told
from widemargin.testing.strategies import Bowl, StrategyContract, minimise


@pytest.mark.parametrize(
    "contract",
    [
        StrategyContract(CMAES()),
        StrategyContract(CMAES(answer="mean")),
        StrategyContract(CMAES(answer="mean"), n_dims=1),
        StrategyContract(CMAES(generations=400), n_dims=12),
    ],
    ids=["lowest", "mean", "one parameter", "many parameters"],
)
def test_contract(contract):
    contract.check()


def box(n, edge=4.0):
    return Space(np.zeros(n), np.full(n, -edge), np.full(n, edge))


@pytest.mark.parametrize(("n", "population", "generations"), [(1, 5, 100), (2, 6, 142), (20, 12, 448)])
def test_population_and_generations_are_those_of_the_thesis(n, population, generations):
    run = CMAES().begin(box(n), seed=0)
    asks = run.ask()
    assert len(asks) == population
    assert all(ask.part is None for ask in asks)
    assert run.expected_evaluations == population * generations


def test_budgets_are_whole_generations():
    run = CMAES().begin(box(2), seed=0, max_evaluations=20)
    assert len(minimise(run, Bowl(np.zeros(2), np.ones(2)))) == 3
    assert run.reason == "18 of the 20 evaluations allowed are spent, and the next step takes 6"
    run = CMAES(generations=2).begin(box(2), seed=0, max_evaluations=20)
    assert len(minimise(run, Bowl(np.zeros(2), np.ones(2)))) == 2
    run = CMAES().begin(box(2), seed=0, max_evaluations=3)
    assert not run.ask()
    assert run.best.tolist() == [0.0, 0.0]


def test_seeds_differ():
    first, second = (CMAES().begin(box(2), seed=seed).ask()[0].point for seed in (0, 1))
    assert not np.isin(first, second).any()


def test_infinite_bounds():
    run = CMAES().begin(Space(np.zeros(2), np.array([-np.inf, 0.0]), np.array([np.inf, np.inf])), seed=0)
    exchanges = minimise(run, Bowl(np.array([2.0, -1.0]), np.ones(2)))
    assert run.best == pytest.approx([2.0, 0.0], abs=1e-2)
    assert min(ask.point[1] for asks, _ in exchanges for ask in asks) >= 0.0


def test_first_steps_fit_into_narrow_boxes():
    space = Space(np.array([0.0, 0.5]), np.array([-9.0, 0.499]), np.array([9.0, 0.501]))
    points = np.array([ask.point for _ in range(50) for ask in CMAES(initial_step=1.0).begin(space, seed=_).ask()])
    assert points[:, 0].std() == pytest.approx(1.0, rel=0.2)
    assert points[:, 1].std() == pytest.approx(0.0005, rel=0.3)


def test_nothing_to_search():
    point = np.array([1.0, 2.0])
    run = CMAES().begin(Space(point, point, point), seed=0)
    minimise(run, Bowl(np.zeros(2), np.ones(2)))
    assert run.best.tolist() == [1.0, 2.0]
    assert run.reason == "the bounds leave nothing to search"


def test_steps_and_ties_do_no_harm():
    run = CMAES().begin(box(2), seed=3)
    minimise(run, lambda ask: Told(float(np.floor(10 * np.abs(ask.point - 1.0)).sum())))
    assert np.abs(run.best - 1.0).max() < 0.1


def test_the_mean_of_later_means_is_near_the_optimum_through_noise():
    errors = []
    for seed in range(10):
        run = CMAES(answer="mean").begin(box(5), seed=seed)
        exchanges = minimise(run, Bowl(np.ones(5), np.ones(5), noise=0.3, seed=seed))
        errors.append(0.5 * np.sum((run.best - 1.0) ** 2))
        assert not any(np.array_equal(run.best, ask.point) for asks, _ in exchanges for ask in asks)
    assert np.mean(errors) < 0.15


def test_a_plateau_ends_the_run():
    run = CMAES().begin(box(2), seed=0)
    minimise(run, lambda ask: Told(1.0))
    assert run.reason == "all values were equal for more than 20 generations"


def test_it_ends_when_steps_are_short():
    run = CMAES(tolerance=1e-2).begin(box(2), seed=0)
    minimise(run, Bowl(np.ones(2), np.ones(2)))
    assert run.reason == "steps have become too short to matter"
    assert run.evaluations < 300


def test_it_is_silent_writes_no_files_and_reads_none(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cma_signals.in").write_text("{'maxiter': 1}\n")
    run = CMAES(generations=30, tolerance=1e-9).begin(box(3), seed=0)
    assert len(minimise(run, Bowl(np.ones(3), np.ones(3)))) == 30
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["cma_signals.in"]


def test_the_package_is_imported_when_needed():
    code = "import sys, widemargin.strategies as s; s.CMAES(); sys.exit('cma' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"initial_step": 0.0}, r"initial_step=0.0 of 'cma-es' must be finite and above 0\."),
        ({"generations": 0}, r"generations=0 of 'cma-es' must be at least 1, or None\."),
        ({"tolerance": 0.0}, r"tolerance=0.0 of 'cma-es' must be above 0\."),
        ({"answer": "best"}, r"answer='best' of 'cma-es' must be \"lowest\" or \"mean\"\."),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        CMAES(**settings)
