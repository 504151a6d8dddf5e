"""A search over any split: rows in neither part, rows that are repeated, parts that lack a class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from searches import SMALL_GRID, check_cells, classifier, data, peer, regressor, search_alone, search_both
from sklearn.base import is_classifier
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from widemargin import SVC, GridSearchCV, ModelSearch, OneClassSVM


class Bootstrap:
    """Draws training rows with replacement; those not drawn are for the test."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        n = len(y)
        for seed in range(3):
            train = np.random.default_rng(seed).integers(0, n, size=n)
            yield train, np.setdiff1d(np.arange(n), train)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return 3


def masks(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(np.arange(n) % 3 != k, np.arange(n) % 3 == k) for k in range(3)]


SPLITTERS: dict[str, Any] = {
    "shuffled": lambda n: ShuffleSplit(3, train_size=0.5, test_size=0.2, random_state=0),
    "stratified": lambda n: StratifiedShuffleSplit(3, test_size=0.3, random_state=0),
    "repeated": lambda n: RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
    "unsorted": lambda n: [(np.arange(n)[::-2], np.arange(1, n, 2)[::-1])],
    "time": lambda n: TimeSeriesSplit(3),
    "predefined": lambda n: PredefinedSplit(np.arange(n) % 4 - 1),
    "bootstrap": lambda n: Bootstrap(),
    "repeated rows": lambda n: [(np.tile(np.arange(0, n, 2), 3), np.repeat(np.arange(1, n, 2), 2))],
    "overlapping": lambda n: [(np.arange(n), np.arange(n)), (np.arange(0, n, 2), np.arange(n))],
    "lists": lambda n: [(list(range(40, n)), list(range(40))), (list(range(80)), list(range(80, n)))],
    "generator": lambda n: (pair for pair in [(np.arange(40, n), np.arange(40))]),
    "masks": masks,
    "negative": lambda n: [(np.arange(-n, -40), np.arange(-40, 0))],
    "one row": lambda n: [(np.arange(n - 1), np.array([n - 1]))],
}


@pytest.mark.parametrize(
    ("name", "splitter"),
    [
        (name, splitter)
        for name in ("two", "three", "friedman")
        for splitter in SPLITTERS
        if name != "friedman" or splitter not in ("stratified", "repeated")
    ],
)
def test_splitters(name: str, splitter: str) -> None:
    X, y = data(name)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    machine, scoring = (regressor(), "neg_mean_squared_error") if name == "friedman" else (classifier(), "accuracy")
    grid = {"C": [0.5, 10.0], "gamma": [0.05, "scale"]}
    ours, theirs = (
        search(made, grid, cv=SPLITTERS[splitter](len(y)), scoring=scoring, return_train_score=name != "three").fit(
            X, y
        )
        for search, made in ((GridSearchCV, machine), (PlainGridSearchCV, peer(machine)))
    )
    check_cells(ours, theirs)
    assert ours.n_splits_ == theirs.n_splits_


def test_leaving_one_out() -> None:
    X, y = data("two")
    search_both(classifier(), {"C": [0.5, 10.0], "gamma": [0.1]}, X[:40], y[:40], cv=LeaveOneOut())


@pytest.mark.parametrize("splitter", [GroupKFold(3), LeaveOneGroupOut()])
def test_groups(splitter: Any) -> None:
    X, y = data("two")
    groups = np.arange(len(y)) % 5
    search_both(classifier(), SMALL_GRID, X, y, cv=splitter, fit={"groups": groups})
    with pytest.raises(ValueError, match="groups"):
        GridSearchCV(classifier(), SMALL_GRID, cv=splitter).fit(X, y)


def test_a_class_that_some_parts_lack() -> None:
    X, y = data("three")
    order = np.argsort(y != 2, kind="stable")
    # The first part holds all examples of class 2.
    search_both(classifier(class_weight={0: 1.0, 1: 2.0, 2: 3.0}), {"C": [1.0, 10.0]}, X[order], y[order], cv=KFold(2))


@pytest.mark.parametrize("empty", [0, 1, 2])
def test_a_class_without_weight(empty: int) -> None:
    X, y = data("three")
    weights = np.where(y == empty, 0.0, 1.0)
    search_alone(classifier(gamma=0.1), {"C": [1.0, 10.0]}, X, y, fit={"sample_weight": weights})


def test_one_class_alone_has_weight() -> None:
    X, y = data("two")
    weights = np.where(y == 1, 0.0, 1.0)
    with pytest.raises(ValueError, match="same class"):
        GridSearchCV(classifier(), {"C": [1.0, 10.0]}, cv=3, refit=False).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("part", ["training", "test"])
@pytest.mark.parametrize("empty", [[], np.array([]), np.zeros(120, dtype=bool)], ids=["list", "array", "mask"])
@pytest.mark.parametrize("error_score", ["raise", np.nan])
def test_an_empty_part_is_refused(part: str, empty: Any, error_score: Any) -> None:
    X, y = data("two")
    X, y = X[:120], y[:120]
    rows = np.arange(120)
    bad = (empty, rows) if part == "training" else (rows, empty)
    splits = [(rows[::2], rows[1::2]), bad]
    expected = f"cv yields an empty {part} part of fold 1; a fold needs samples to train on and samples to test on"
    for search in (
        GridSearchCV(classifier(), SMALL_GRID, cv=splits, error_score=error_score),
        GridSearchCV(OneClassSVM(), {"nu": [0.1, 0.2]}, cv=splits, error_score=error_score),
        ModelSearch(SVC(), objective="polarization", cv=splits, max_evaluations=5),
    ):
        with pytest.raises(ValueError, match=expected):
            search.fit(X, y if isinstance(search, ModelSearch) or is_classifier(search.estimator) else None)


@pytest.mark.parametrize("rows", [[120], [-121], [0.0, 1.0], [True, False]], ids=["beyond", "before", "floats", "mask"])
def test_rows_that_there_are_none_of_are_refused(rows: Any) -> None:
    X, y = data("two")
    with pytest.raises(ValueError, match=r"cv yields a test part of fold 0 that cannot be used \("):
        GridSearchCV(classifier(), SMALL_GRID, cv=[(np.arange(120), rows)]).fit(X[:120], y[:120])
