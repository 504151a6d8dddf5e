"""scikit-learn's estimator checks of model searches."""

from __future__ import annotations

from typing import Any

import pytest
from model_searches import Downhill
from sklearn.utils.estimator_checks import parametrize_with_checks

from widemargin import SVC, SVR, ModelSearch


@pytest.mark.filterwarnings("ignore:The least populated class in y")
@parametrize_with_checks(
    [
        ModelSearch(SVC(), objective="polarization", strategy=Downhill(steps=4), cv=3),
        ModelSearch(SVC(), objective="span", strategy="rprop", max_evaluations=5),
        ModelSearch(SVR(), objective="target-alignment", strategy=Downhill(steps=4), cv=3),
    ]
)
def test_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)
