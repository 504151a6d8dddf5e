"""Decision function quality: by hand, beside its naive twin; the split, the costs, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine_contracts import LOSSES, check_counts, machine_contract, tasks

from oracles.objectives import naive_decision_quality
from widemargin import SVC, SVR, ModelSearch
from widemargin.kernels import Gaussian, MaskedGaussian
from widemargin.objectives import OBJECTIVES, DecisionQuality, Task
from widemargin.objectives.decision_quality import balanced_rate, kappas, quality, stratified_split
from widemargin.testing import small_regression_task, small_tasks


@pytest.mark.parametrize("loss", LOSSES)
def test_keeps_the_contract(loss: str) -> None:
    objective = DecisionQuality(sv_penalty=0.02)

    def meant(task: Task, kernel: Any, C: float, generator: Any) -> float:
        rows = np.flatnonzero(task.weights > 0)
        kept, aside = stratified_split(task.y[rows], 1 / 3, np.random.default_rng(0))
        return naive_decision_quality(task, kernel, C, (rows[kept], rows[aside]), 0.02)

    check_counts(replace(machine_contract(objective, loss), oracle=meant))


# Four samples of each class on a line. Of each, one is set aside (a third of four, rounded); the others are so far
# apart that a narrow kernel makes each of them a support vector.
LINE = np.arange(8.0)[:, np.newaxis]
SIDES = np.repeat([0, 1], 4)


def evaluated(kernel: Any, C: float = 10.0, X: Any = LINE, y: Any = SIDES, **settings: Any) -> Any:
    task = Task(X, y, int(y.max()) + 1, np.ones(len(y)))
    return DecisionQuality(**settings).bind(task).evaluate(kernel, C)


def test_a_quality_by_hand() -> None:
    found = evaluated(Gaussian(gamma=3.0), sv_penalty=0.25)
    assert found.measures == {"recognition_rate": 1.0, "support_vectors": 6.0}
    assert found.value == 1.0 - 0.25 * math.log2(6)
    assert evaluated(Gaussian(gamma=3.0), sv_penalty=0.0).value == 1.0


def test_features_cost_only_where_they_are_selected() -> None:
    X = np.column_stack([LINE[:, 0], np.zeros(8), np.zeros(8)])
    how = {"X": X, "sv_penalty": 0.0, "feature_penalty": 0.125}
    assert evaluated(Gaussian(gamma=3.0), **how).value == 1.0
    both = MaskedGaussian([True, False, True], gamma=3.0)
    assert evaluated(both, **how).value == 1.0 - 0.125
    # Of mean 4: costs of 1/4, 9/4 and 1/2.
    found = evaluated(both, feature_costs=[1.0, 9.0, 2.0], **how)
    assert found.measures["feature_cost"] == pytest.approx(0.75)
    assert found.value == pytest.approx(1.0 - 0.125 * math.log2(0.75))
    assert found.value == pytest.approx(evaluated(both, feature_costs=[50.0, 450.0, 100.0], **how).value)


def test_a_model_without_support_vectors_is_one_constant() -> None:
    assert quality(0.5, 0, 0.1) == quality(0.5, 1, 0.1) == 0.5


def test_the_papers_own_numbers() -> None:
    # Table 3 of [Lebrun2006], adult without features: .789 is printed for two support vectors and .01.
    assert quality(0.799, 2, 0.01) == pytest.approx(0.789)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=30))
def test_every_class_counts_the_same(samples: list[tuple[int, bool]]) -> None:
    shares = []
    for label in {label for label, _ in samples}:
        own = [right for other, right in samples if other == label]
        shares.append(sum(own) / len(own))
    found = balanced_rate(np.array([right for _, right in samples]), np.array([label for label, _ in samples]))
    assert found == pytest.approx(sum(shares) / len(shares))


@given(
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=5),
    share=st.floats(0.01, 0.99),
    seed=st.integers(0, 100),
)
def test_splits_take_their_share_of_every_class(sizes: list[int], share: float, seed: int) -> None:
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    kept, aside = stratified_split(labels, share, np.random.default_rng(seed))
    np.testing.assert_array_equal(np.sort(np.concatenate([kept, aside])), np.arange(len(labels)))
    np.testing.assert_array_equal(np.diff(kept) > 0, True)
    np.testing.assert_array_equal(np.diff(aside) > 0, True)
    for label, size in enumerate(sizes):
        count = np.count_nonzero(labels[aside] == label)
        if size >= 2:
            assert 1 <= count <= size - 1
            assert abs(count - share * size) <= 1.0
        else:
            assert count == 0
    again = stratified_split(labels, share, np.random.default_rng(seed))
    np.testing.assert_array_equal(kept, again[0])


def test_other_seeds_set_other_samples_aside() -> None:
    task = small_tasks()[0]
    values = {DecisionQuality(random_state=seed).bind(task)._aside.tobytes() for seed in range(5)}  # type: ignore[attr-defined]
    assert len(values) == 5


def test_samples_without_weight_take_no_part() -> None:
    task = tasks("hinge")[2]
    weights = np.ones(task.n_samples)
    weights[task.y == 1] = 0.0
    some = np.flatnonzero(weights)
    bare = Task(task.X[some], np.where(task.y[some] == 2, 1, 0), 2, np.ones(len(some)), tolerance=1e-7)
    kernel = Gaussian(gamma=0.3)
    found, meant = (DecisionQuality().bind(one).evaluate(kernel, 3.0) for one in (replace(task, weights=weights), bare))
    assert found.measures == meant.measures


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ([1.0, 0.0, 1.0], r"feature_costs\[1\] is 0; the cost of every feature must be positive and finite\."),
        ([1.0, 1.0, -2.5], r"feature_costs\[2\] is -2.5; the cost of every feature must be positive and finite\."),
        ([math.nan, 1.0, 1.0], r"feature_costs\[0\] is nan; the cost"),
        ([1.0, math.inf, 1.0], r"feature_costs\[1\] is inf; the cost"),
        ([1.0, None, 1.0], r"feature_costs\[1\] is nan; the cost"),
        ([1.0, 1.0], r"feature_costs must hold a number for each of the 3 features; its shape is \(2,\)\."),
        (1.0, r"feature_costs must hold a number for each of the 3 features; its shape is \(\)\."),
        (["a", "b", "c"], r"feature_costs must hold a number for each feature; got \['a', 'b', 'c'\]\."),
    ],
)
def test_costs_that_are_none(costs: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kappas(costs, 3)
    # Also where no kernel would ask for them.
    with pytest.raises(ValueError, match=words):
        DecisionQuality(feature_costs=costs).bind(small_tasks()[0])


@given(st.lists(st.floats(1e-100, 1e100), min_size=1, max_size=6))
def test_costs_average_to_one(costs: list[float]) -> None:
    found = kappas(costs, len(costs))
    assert found.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(found * (max(costs) / found.max()), costs, rtol=1e-12)
    assert kappas([1e308, 1e308], 2).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["sv_penalty", "feature_penalty"])
@pytest.mark.parametrize("penalty", [-0.1, math.nan, math.inf, "much", None])
def test_penalties_that_are_none(name: str, penalty: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name} must be a finite number of at least 0; got "):
        DecisionQuality(**{name: penalty})


@pytest.mark.parametrize("share", [0.0, 1.0, math.nan, "half"])
def test_shares_that_leave_nothing_are_refused(share: Any) -> None:
    with pytest.raises(ValueError, match=r"share must be a number between 0 and 1; got"):
        DecisionQuality(share=share)


def test_what_does_not_suit() -> None:
    objective = DecisionQuality()
    assert objective.why_not(small_regression_task(), 1.0) == (
        "objective='decision-quality' counts right classes, and regression has none."
    )
    X = np.zeros((6, 1))
    one_class = Task(X, np.zeros(6, dtype=np.intp), 1, np.ones(6))
    assert objective.why_not(one_class, 1.0) == (
        "objective='decision-quality' needs samples of two classes; there are some of one only."
    )
    # Of class 0 none has weight, of class 1 one has.
    single = Task(X, np.array([0, 1, 2, 2, 3, 3]), 4, np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0]))
    assert objective.why_not(single, 1.0) == (
        "objective='decision-quality' sets samples of every class aside; class number 1 has only 1."
    )
    with pytest.raises(ValueError, match="regression has none"):
        ModelSearch(SVR(), objective="decision-quality").fit(LINE, LINE[:, 0])


def test_by_name() -> None:
    assert OBJECTIVES["decision-quality"] is DecisionQuality
    search = ModelSearch(SVC(), objective="decision-quality", strategy="tabu", random_state=0).fit(LINE, SIDES)
    # Two support vectors and all samples right.
    assert search.best_value_ == pytest.approx(0.99)
    assert search.best_estimator_.score(LINE, SIDES) == 1.0
