"""Splits by groups: none of these is ever on both sides, and what cannot be split is said to be so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

from widemargin.kernels import Gaussian
from widemargin.objectives import Bootstrap, CrossValidation, DecisionQuality, HoldOut, Likelihood, Posterior, Task
from widemargin.objectives.held_out.groups import group_numbers, split_groups


def a_task(groups: Any, *, weights: Any = None, n_classes: int = 2) -> Task:
    n = len(groups)
    y = np.arange(n) % n_classes if n_classes else np.linspace(0.0, 1.0, n)
    X = np.random.default_rng(0).normal(size=(n, 2))
    return Task(X, y, n_classes, np.ones(n) if weights is None else weights, groups=np.asarray(groups))


def splits_of(objective: Any, task: Task) -> Any:
    bound = objective.bind(task)
    inner = getattr(bound, "_likelihood", bound)
    return [one for seed in range(20) for one in inner.splits(np.random.default_rng(seed))]


OBJECTIVES = [
    CrossValidation(folds=3),
    CrossValidation(folds=GroupKFold(3)),
    HoldOut(share=0.3),
    Bootstrap(draws=2),
    Likelihood(share=0.4),
    Posterior(),
]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda one: one.name)
def test_no_group_is_on_both_sides(objective: Any) -> None:
    groups = np.random.default_rng(1).integers(0, 7, 60)
    weights = np.where(np.arange(60) % 9 == 0, 0.0, 1.0)
    for train, test in splits_of(objective, a_task(groups, weights=weights)):
        assert len(train)
        assert len(test)
        assert not set(groups[train]) & set(groups[test])
        assert sorted([*train, *test]) == np.flatnonzero(weights).tolist()


@pytest.mark.parametrize("objective", [CrossValidation(folds=3), HoldOut(), Bootstrap()], ids=lambda one: one.name)
def test_regression_too(objective: Any) -> None:
    groups = np.arange(30) // 3
    for train, test in splits_of(objective, a_task(groups, n_classes=0)):
        assert len(train)
        assert len(test)
        assert not set(groups[train]) & set(groups[test])


def test_folds_cover_all_samples_once() -> None:
    groups = np.arange(40) // 4
    folds = CrossValidation(folds=5).splits(a_task(groups))
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(40))


def test_the_share_is_that_of_groups() -> None:
    groups = np.arange(40) // 4
    train, test = split_groups(groups, np.arange(40) % 2, 0.3, np.random.default_rng(0))
    assert (len(set(groups[train])), len(set(groups[test]))) == (7, 3)


def test_a_class_in_few_groups_stays_in_the_training_set() -> None:
    # Class 1 is in two of thirty groups, of which half are held out: single draws lose it in a quarter of all cases.
    groups = np.repeat(np.arange(30), 2)
    labels = np.isin(groups, [3, 17]).astype(np.intp)
    for seed in range(50):
        train, _ = split_groups(groups, labels, 0.5, np.random.default_rng(seed))
        assert labels[train].any()


def test_where_draws_are_in_vain_groups_leave_one_by_one() -> None:
    # Each group but the last is the only one with its class.
    groups, labels = np.arange(41), np.append(np.arange(40), 0)
    train, test = split_groups(groups, labels, 0.9, np.random.default_rng(0))
    assert len(test) == 1
    assert test[0] in (0, 40)
    assert set(labels[train]) == set(range(40))


def test_no_group_can_be_held_out() -> None:
    with pytest.raises(ValueError, match="No group can be held out"):
        split_groups(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), 0.5, np.random.default_rng(0))


@pytest.mark.parametrize("groups", [np.zeros(8, dtype=int), np.arange(8) // 3])
def test_fewer_groups_than_folds(groups: Any) -> None:
    with pytest.raises(ValueError, match=rf"folds=5 must be from 2 to {len(set(groups))}, the number of groups"):
        CrossValidation().bind(a_task(groups))


def test_a_splitter_that_tears_groups_apart_is_refused() -> None:
    with pytest.raises(ValueError, match="of the same group, on both sides of fold 0"):
        CrossValidation(folds=KFold(3)).bind(a_task(np.arange(12) % 5))


def test_a_fold_with_one_class_is_refused() -> None:
    task = a_task(np.arange(12) % 2)  # groups are the classes
    with pytest.raises(ValueError, match=r"folds=2 holds out all samples of class number . in fold 0"):
        CrossValidation(folds=2).bind(task)


def test_numbers_do_not_depend_on_names() -> None:
    assert group_numbers(["b", "a", "b"], 3).tolist() == group_numbers(np.array([5, 1, 5]), 3).tolist() == [0, 1, 0]
    assert group_numbers(("x", 1, "x"), 3).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        (["a", "b"], "groups holds 2 names for 3 samples"),
        (["a", None, "b"], r"groups\[1\] is None"),
        ([1.0, 2.0, float("nan")], r"groups\[2\] is nan"),
        ([[1], [2], [3]], r"groups\[0\] is \[1\]; each must be one name"),
        (["a", "a", "a"], "at least two are needed"),
    ],
)
def test_bad_groups(groups: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        group_numbers(groups, 3)


def test_groups_are_no_number() -> None:
    with pytest.raises(TypeError, match="got int"):
        group_numbers(3, 3)


def test_decision_quality_sets_whole_groups_aside() -> None:
    groups = np.arange(40) // 4
    bound: Any = DecisionQuality().bind(a_task(groups))
    assert not set(groups[bound._aside]) & set(groups[bound._training])
    assert np.isfinite(bound.evaluate(Gaussian(1.0), 1.0).value)
