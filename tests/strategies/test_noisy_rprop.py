from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.papers.glasmachers.noisy_functions import SECTION_11_4, Trials
from oracles.rprop import noisy_rprop
from widemargin.strategies import NoisyRprop, Space, Told
from widemargin.testing.strategies import Bowl, StrategyContract, minimise


def test_contract():
    StrategyContract(NoisyRprop(evaluations=4000), noise=0.5, noisy_precision=0.1).check()


def everywhere(start):
    return Space(start, np.full(len(start), -np.inf), np.full(len(start), np.inf))


def walk(trials, evaluations):
    run = NoisyRprop(evaluations=evaluations).begin(everywhere(trials.start), seed=0)
    points = []
    while asks := run.ask():
        points.append(asks[0].point)
        run.tell([Told(0.0, trials.gradient(asks[0].point))])
    return run, np.array(points)


def test_the_functions_of_section_11_4():
    # 20 trials of each of the four functions: parameters walk by themselves, so that all of them fit into one run.
    trials = Trials(SECTION_11_4, seeds=range(20))
    # The distances allowed are those after ten times as many evaluations; errors fall as 1 / sqrt(t) at least.
    run = NoisyRprop(evaluations=100_000).begin(everywhere(trials.start), seed=0)
    farthest = np.zeros((4, 20))
    while asks := run.ask():
        run.tell([Told(0.0, trials.gradient(asks[0].point))])
        if run.evaluations % 10_000 == 0:
            farthest = np.maximum(farthest, trials.distances(asks[0].point))
    distances = trials.distances(run.best).max(axis=1)
    assert (distances < [math.sqrt(10) * function.allowed for function in SECTION_11_4]).all(), distances
    assert farthest.max() < 1.0


def test_trials_side_by_side_go_as_they_would_alone():
    _, together = walk(Trials(SECTION_11_4, seeds=range(3)), 3000)
    columns = np.split(together, np.cumsum([3, 6, 6])[:3], axis=1)
    for number, function in enumerate(SECTION_11_4):
        n = function.n_dims
        alone = Trials(SECTION_11_4, seeds=[2])
        _, points = walk(alone, 3000)
        offset = sum(other.n_dims for other in SECTION_11_4[:number])
        np.testing.assert_array_equal(points[:, offset : offset + n], columns[number][:, 2 * n : 3 * n])


@pytest.mark.parametrize("edge", [np.inf, 0.8])
def test_it_is_the_naive_algorithm(edge):
    start = np.array([-0.7, 0.5, 0.1])
    lower, upper = np.full(3, -edge), np.array([edge, edge, 0.3])
    noise = np.random.default_rng(3).standard_normal((6000, 3)).round(2)
    noise[:, 1] = np.abs(noise[:, 1]) * np.where(noise[:, 1] > 1.0, 3.0, -1.0)

    def gradients():
        draws = iter(noise)
        return lambda x: (x - [0.5, 0.2, 2.0]) * [1.0, 0.3, 0.1] + next(draws)

    expected = noisy_rprop(gradients(), start, lower, upper, evaluations=len(noise))
    gradient = gradients()
    run = NoisyRprop(evaluations=len(noise)).begin(Space(start, lower, upper), seed=0)
    asked = [asks[0].point for asks, _ in minimise(run, lambda ask: Told(0.0, gradient(ask.point)))]
    np.testing.assert_array_equal(asked, expected)
    assert len({abs(step) for step in np.diff(np.array(asked)[:, 0]).round(8)} - {0.0}) >= 5


def test_the_mean_and_not_the_median_is_found():
    # The median of this gradient vanishes at 0, its mean at 1.
    draws = np.random.default_rng(0)
    run = NoisyRprop(evaluations=20_000).begin(everywhere(np.array([-0.5])), seed=0)
    minimise(
        run,
        lambda ask: Told(0.0, ask.point - draws.exponential(1 / (1 - np.log(2)), size=1) + np.log(2) / (1 - np.log(2))),
    )
    assert run.best[0] == pytest.approx(1.0, abs=0.1)


def test_the_chosen_point_is_steadier_than_the_walk():
    trials = Trials(SECTION_11_4[1:2], seeds=range(50))
    run, points = walk(trials, 5000)
    chosen, last = trials.distances(run.best), trials.distances(points[-1])
    assert chosen.mean() < 0.8 * last.mean()


def test_while_the_walk_drifts_its_last_point_is_chosen():
    run = NoisyRprop(evaluations=130).begin(everywhere(np.array([100.0])), seed=0)
    points = [asks[0].point[0] for asks, _ in minimise(run, Bowl(np.zeros(1), np.ones(1)))]
    assert run.best[0] < points[-1] < points[0]
    assert run.best[0] == pytest.approx(points[-1] - 0.08)


def test_walks_that_lean_on_a_bound_stay_there():
    draws = np.random.default_rng(1)
    run = NoisyRprop().begin(Space(np.zeros(1), -np.ones(1), np.ones(1)), seed=0)
    minimise(run, lambda ask: Told(0.0, np.array([-1.0 + draws.standard_normal()])))
    assert run.best[0] == pytest.approx(1.0, abs=1e-3)


def test_one_step_goes_no_further_than_half_the_box():
    run = NoisyRprop(evaluations=5000).begin(Space(np.zeros(1), -np.ones(1), np.ones(1)), seed=0)
    draws = np.random.default_rng(1)
    points = [
        asks[0].point[0] for asks, _ in minimise(run, lambda ask: Told(0.0, np.sin(9 * ask.point) + 9 * draws.normal()))
    ]
    assert np.abs(np.diff(points)).max() <= 1.0


def test_steps_grow_no_further_than_half_the_box():
    # From bound to bound and back: steps as long as that are doubled, 0.7 to 1 rather than 1.4.
    rule = NoisyRprop(initial_step=0.7, shortest_episode=3, evaluations=400)
    run = rule.begin(Space(-np.ones(1), -np.ones(1), np.ones(1)), seed=0)
    points, upward = [], True
    while asks := run.ask():
        points.append(asks[0].point[0])
        upward = points[-1] < 1.0 and (upward or points[-1] == -1.0)
        run.tell([Told(0.0, np.array([-1.0 if upward else 1.0]))])
    steps = np.abs(np.diff(points))
    assert steps[0] == pytest.approx(0.7)
    assert steps.max() == 1.0


def test_steps_end_at_the_shortest():
    # Signs that take turns: the walk goes to and fro between two points for ever.
    run = NoisyRprop(initial_step=0.01, shortest=0.005, evaluations=3000).begin(everywhere(np.zeros(1)), seed=0)
    points = [
        asks[0].point[0] for asks, _ in minimise(run, lambda ask: Told(0.0, np.array([(-1.0) ** run.evaluations])))
    ]
    steps = np.abs(np.diff(points)).round(12)
    assert steps[:40].tolist() == [0.01] * 40
    assert set(steps[40:].tolist()) == {0.005}


def test_evaluations_without_a_value_are_passed_over():
    trials = Trials(SECTION_11_4, seeds=[0])
    plain = [
        asks[0].point
        for asks, _ in minimise(
            NoisyRprop(evaluations=500).begin(everywhere(trials.start), seed=0),
            lambda ask: Told(0.0, trials.gradient(ask.point)),
        )
    ]
    trials = Trials(SECTION_11_4, seeds=[0])
    run = NoisyRprop(evaluations=1000).begin(everywhere(trials.start), seed=0)
    gaps = [
        asks[0].point
        for asks, _ in minimise(
            run,
            lambda ask: Told(math.inf) if run.evaluations % 2 else Told(0.0, trials.gradient(ask.point)),
        )
    ]
    np.testing.assert_array_equal(plain, gaps[::2])


def test_the_usual_budget_is_that_of_the_thesis():
    space = Space(np.zeros(4), -np.ones(4), np.ones(4))
    assert NoisyRprop().begin(space, seed=0).expected_evaluations == 20_000
    assert NoisyRprop().begin(space, seed=0, max_evaluations=300).expected_evaluations == 300
    assert NoisyRprop(evaluations=50).begin(space, seed=0, max_evaluations=300).expected_evaluations == 50


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shortest": 0.0}, r"shortest=0.0 of 'noisy-rprop' must be above 0\."),
        ({"initial_step": 0.0}, r"initial_step=0.0 of 'noisy-rprop' must be finite and at least 1e-10\."),
        ({"shortest_episode": 1}, r"shortest_episode=1 of 'noisy-rprop' must be at least 2\."),
        ({"evaluations": 0}, r"evaluations=0 of 'noisy-rprop' must be at least 1, or None\."),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        NoisyRprop(**settings)
