"""What a classifier says that ran out of time before it was worth anything."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, NuSVC

RNG = np.random.default_rng(0)
Y = (RNG.random(20_000) < 0.9).astype(int)
X = RNG.normal(size=(len(Y), 30))


@pytest.mark.parametrize("model", [SVC(C=1e3, max_time=0.2), NuSVC(nu=0.1, max_time=0.2)], ids=repr)
def test_a_model_near_chance_says_so(model: Any) -> None:
    with pytest.warns(
        ConvergenceWarning, match="near chance: it predicts .* of the training samples, and the majority"
    ):
        model.fit(X, Y)


def test_a_model_that_learnt_something_does_not() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        SVC(C=1e3, max_time=0.2).fit(X + 6.0 * Y[:, np.newaxis], Y)
    assert not any("chance" in str(one.message) for one in told)
