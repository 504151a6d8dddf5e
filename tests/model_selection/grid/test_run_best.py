"""What progress displays are told of the best score."""

from __future__ import annotations

from typing import Any

import pytest

from widemargin import SVC, GridSearchCV, datasets


class Best:
    """Remembers the best score of every call."""

    def __init__(self) -> None:
        self.told: list[float | None] = []

    def start(self, fits: int) -> None: ...

    def advance(self, fits: int, cost: float, expected_cost_left: float | None, best_score: float | None) -> None:
        self.told.append(best_score)

    def finish(self, reason: str) -> None: ...


@pytest.mark.parametrize(("scoring", "refit"), [(None, True), (["accuracy", "f1"], "f1"), (["f1", "accuracy"], False)])
def test_the_best_score_is_told_from_the_first_candidate_on(scoring: Any, refit: Any) -> None:
    X, y = datasets.twonorm(60, random_state=0)
    seen = Best()
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0]}, cv=2, scoring=scoring, refit=refit, progress=seen).fit(X, y)
    first = next((number for number, best in enumerate(seen.told) if best is not None), None)
    if refit is False:  # nothing says which of the scores decides
        assert first is None
        return
    assert first is not None
    assert first <= 3  # after the call before the first fit, and three fits: both folds of a candidate are among them
    assert seen.told[-1] == pytest.approx(search.best_score_)
