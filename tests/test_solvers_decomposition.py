"""SMO, Block and Auto find the same model by any of their options, and count what they did."""

from __future__ import annotations

import numpy as np
import pytest

from widemargin import SVC
from widemargin.solvers import SMO, Auto, Block
from widemargin.testing import many_class_points

X, Y = many_class_points(3, 30)


@pytest.mark.parametrize("solver", [SMO, Block, Auto])
@pytest.mark.parametrize(
    "options",
    [
        {"selection": "maximal-violating-pair"},
        {"selection": "maximum-gain"},
        {"planning_ahead": 0},
        {"dtype": "float64"},
    ],
    ids=str,
)
def test_options_change_the_way_and_not_the_model(solver, options):
    usual = SVC(gamma=0.5, tol=1e-6).fit(X, Y)
    other = SVC(gamma=0.5, tol=1e-6, solver=solver(**options)).fit(X, Y)
    assert other.fit_report_.converged
    np.testing.assert_allclose(other.decision_function(X), usual.decision_function(X), atol=1e-4)


def test_planning_ahead_saves_steps_and_selection_counts():
    """The first pair is the same, the number of steps is not."""
    steps = {
        name: sum(SVC(C=1e4, gamma=0.5, solver=solver).fit(X, Y).n_iter_)
        for name, solver in {
            "first order": SMO(selection="maximal-violating-pair", planning_ahead=0),
            "second order": SMO(selection="second-order", planning_ahead=0),
            "planned": SMO(selection="second-order", planning_ahead=3),
        }.items()
    }
    assert steps["second order"] < steps["first order"]
    assert steps["planned"] != steps["second order"]
