"""What all public estimators have in common, whatever they learn."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import widemargin
from widemargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.solvers import Solver

PUBLIC = [getattr(widemargin, name) for name in widemargin.__all__]
ESTIMATORS = [one for one in PUBLIC if inspect.isclass(one) and issubclass(one, BaseEstimator)]
MODELS = [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD]


def test_all_models_are_public() -> None:
    assert set(MODELS) < set(ESTIMATORS)


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_an_estimator_descends_from_few_classes(cls: type) -> None:
    ours = [one.__name__ for one in cls.__mro__ if one.__module__.startswith("widemargin")]
    assert len(ours) <= 4, ours


def test_a_package_is_small_enough_to_look_through() -> None:
    assert len(list(Path(inspect.getfile(widemargin.estimators)).parent.glob("*.py"))) <= 16


@pytest.mark.parametrize("cls", MODELS, ids=lambda cls: cls.__name__)
def test_options_of_solvers_are_no_parameters_of_models(cls: Any) -> None:
    of_solvers = {name for one in Solver.__subclasses__() for name in inspect.signature(one).parameters}
    assert {"selection", "planning_ahead", "accelerated", "dtype"} <= of_solvers
    assert not of_solvers & cls().get_params().keys()


@pytest.mark.parametrize("cls", MODELS, ids=lambda cls: cls.__name__)
def test_every_parameter_with_a_table_entry_is_a_parameter(cls: Any) -> None:
    assert cls._accepts.keys() <= cls().get_params().keys()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_attributes_have_scikit_learns_sign(n_classes: int) -> None:
    X = np.arange(4.0 * n_classes)[:, np.newaxis]
    y = np.repeat(np.arange(n_classes), 4)
    model = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    values = (X @ model.coef_.T + model.intercept_).reshape(model.decision_function(X).shape)
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-12)
    first = values[y == 0] if n_classes == 2 else values[y == 0, 0]
    assert ((first < 0) if n_classes == 2 else (first > 0)).all()
