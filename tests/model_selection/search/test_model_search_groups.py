"""Model searches with groups: no group is ever on both sides of a split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, KFold
from tests.model_selection.search.model_searches import two_classes

from widemargin import SVC, SVR, ModelSearch
from widemargin.objectives import CrossValidation
from widemargin.study.journal import JournalError

X, Y = two_classes()
GROUPS = np.arange(60) // 4


def a_search(objective: Any = "cross-validation", **options: Any) -> ModelSearch:
    options = {"max_evaluations": 12, "strategy": "cma-es", "random_state": 0} | options
    return ModelSearch(SVC(), objective=objective, **options)


@pytest.mark.parametrize("objective", ["cross-validation", "likelihood", "posterior", "bootstrap", "hold-out"])
def test_groups_change_what_is_held_out(objective: str) -> None:
    with_groups = a_search(objective).fit(X, Y, groups=GROUPS).trace_
    renamed = a_search(objective).fit(X, Y, groups=[f"gene {one}" for one in GROUPS]).trace_
    without = a_search(objective).fit(X, Y).trace_
    values = [[one["value"] for one in trace] for trace in (with_groups, renamed, without)]
    assert values[0] == values[1] != values[2]


def test_copies_of_a_sample_do_not_judge_each_other() -> None:
    """With two copies of each sample and labels by chance, only groups show that nothing can be learnt."""
    generator = np.random.default_rng(0)
    once, labels = generator.normal(size=(60, 3)), generator.permutation(np.arange(60) % 2)
    samples, y, groups = np.repeat(once, 2, axis=0), np.repeat(labels, 2), np.repeat(np.arange(60), 2)
    narrow = ModelSearch(
        SVC(gamma=10.0), objective="cross-validation", space={"C": (10.0, 100.0)}, strategy="random", random_state=0
    )
    assert narrow.fit(samples, y).best_value_ < 0.25
    assert narrow.fit(samples, y, groups=groups).best_value_ > 0.35


def test_the_path_of_c_keeps_groups_whole() -> None:
    class Watched(GroupKFold):
        def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
            seen.append(groups)
            return super().split(X, y, groups)

    seen: list[Any] = []
    search = a_search("target-alignment", strategy=None, cv=Watched(3)).fit(X, Y, groups=GROUPS)
    assert np.array_equal(seen[0], GROUPS)
    assert 0.0 <= search.best_score_ <= 1.0
    by_number = a_search("target-alignment", strategy=None).fit(X, Y, groups=GROUPS)
    assert 0.0 <= by_number.best_score_ <= 1.0


def test_regression() -> None:
    y = X[:, 0] + 0.1 * X[:, 1]
    search = ModelSearch(SVR(), max_evaluations=3, cv=3, random_state=0).fit(X, y, groups=GROUPS)
    assert search.best_score_ > 0.0


@pytest.mark.parametrize(
    ("options", "groups", "sentence"),
    [
        ({}, GROUPS[:50], "groups holds 50 names for 60 samples"),
        ({}, [None, *GROUPS[1:]], r"groups\[0\] is None"),
        ({}, np.arange(60) // 20, "folds=5 must be from 2 to 3, the number of groups"),
        ({"objective": "target-alignment", "strategy": None, "cv": 7}, np.arange(60) // 12, "cv=7 must be from 2 to 5"),
        ({"objective": "target-alignment", "strategy": None, "cv": KFold(3)}, np.arange(60) % 7, "on both sides"),
        ({"objective": CrossValidation(folds=2)}, Y, "holds out all samples of class number"),
        ({"objective": "span", "strategy": None}, GROUPS, "objective='span' holds no groups out"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], groups: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        a_search(**options).fit(X, Y, groups=groups)


def test_another_grouping_is_another_search(tmp_path: Any) -> None:
    journal = tmp_path / "search.jsonl"
    first = a_search("likelihood", journal=journal).fit(X, Y, groups=GROUPS)
    again = a_search("likelihood", journal=journal).fit(X, Y, groups=GROUPS.astype(str))
    assert again.best_value_ == first.best_value_
    for groups in (None, np.arange(60) // 5):
        with pytest.raises(JournalError):
            a_search("likelihood", journal=journal).fit(X, Y, groups=groups)


def test_metadata_routing() -> None:
    plain = a_search().fit(X, Y, groups=GROUPS)
    with sklearn.config_context(enable_metadata_routing=True):
        assert a_search().fit(X, Y, groups=GROUPS).best_value_ == plain.best_value_
        by_groups = a_search(cv=GroupKFold(3)).fit(X, Y, groups=GROUPS).best_value_
        assert by_groups != plain.best_value_
        own = GroupKFold(3).set_split_request(groups="genes")
        assert a_search(cv=own).fit(X, Y, genes=GROUPS).best_value_ == by_groups
        assert "groups" in str(a_search().set_fit_request(groups=True).get_metadata_routing())
