"""Solvers by name, in estimators and searches."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from widemargin import (
    SVC,
    SVDD,
    SVR,
    GridSearchCV,
    ModelSearch,
    NuSVC,
    NuSVR,
    OneClassSVM,
    PlainSearchWarning,
    load_model,
    save_model,
)
from widemargin.persistence import ModelFileError
from widemargin.solvers import MDM, SMO, SOLVERS, Auto, Block, MaxMinOver, as_solver
from widemargin.testing import many_class_points

X, Y = many_class_points(2, 30)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_name_is_the_object_with_its_defaults(name: str) -> None:
    assert as_solver(name) == SOLVERS[name]()
    assert as_solver(np.str_(name)) == SOLVERS[name]()
    given = SOLVERS[name]()
    assert as_solver(given) is given


@pytest.mark.parametrize("solver", ["newton", None, 3, SMO, LinearRegression()])
def test_what_is_no_solver_is_refused(solver: Any) -> None:
    with pytest.raises(ValueError, match=r"solver must be one of 'auto', 'smo', .*or an object of widemargin.solvers"):
        as_solver(solver)
    with pytest.raises(ValueError, match="solver must be one of"):
        SVC(solver=solver).fit(X, Y)


@pytest.mark.parametrize("Model", [SVC, NuSVC, SVR, NuSVR, OneClassSVM, SVDD])
@pytest.mark.parametrize("solver", [Auto(), SMO(), Block()], ids=repr)
def test_a_name_and_its_object_find_the_same(Model: Any, solver: Any) -> None:
    named, given = (Model(solver=one).fit(X, Y) for one in (solver.name, solver))
    assert np.array_equal(named.dual_coef_, given.dual_coef_)
    assert np.array_equal(named.n_iter_, given.n_iter_)


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (SVC(solver="mdm"), "solver='mdm' requires fit_intercept=False."),
        (SVC(solver=MDM(), fit_intercept=False), "solver=MDM() requires loss='squared_hinge' or C=inf."),
        (NuSVC(solver="mdm"), "solver='mdm' requires SVC with loss='squared_hinge' and fit_intercept=False, or"),
        (SVR(solver="mdm"), "solver='mdm' requires SVC with loss='squared_hinge' and fit_intercept=False, or"),
        (SVC(solver="maxminover"), "solver='maxminover' requires OneClassSVM with loss='squared_hinge'."),
        (OneClassSVM(solver="maxminover"), "solver='maxminover' requires loss='squared_hinge'."),
        (OneClassSVM(solver="mdm", target_rejection=0.1), "solver='mdm' requires target_rejection=None."),
        (SVDD(solver=MaxMinOver()), "solver=MaxMinOver() requires OneClassSVM with loss='squared_hinge'."),
    ],
    ids=str,
)
def test_a_solver_says_what_it_requires(model: Any, what: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(what)):
        model.fit(X, Y)


def test_options_of_a_solver_are_parameters_of_the_model() -> None:
    model = SVC(solver=SMO(planning_ahead=1))
    assert model.get_params()["solver__planning_ahead"] == 1
    copy = clone(model).set_params(solver__planning_ahead=0)
    assert (model.solver, copy.solver) == (SMO(planning_ahead=1), SMO(planning_ahead=0))
    assert SVC().set_params(solver__dtype="float64").solver == Auto(dtype="float64")
    assert SVC().set_params(solver="smo", solver__dtype="float64").solver == SMO(dtype="float64")
    with pytest.raises(ValueError, match="Invalid parameter 'accelerated' for estimator SMO"):
        SVC(solver="smo").set_params(solver__accelerated=True)


@pytest.mark.parametrize("solver", ["smo", SMO()], ids=["name", "object"])
def test_options_of_a_solver_can_be_searched(solver: Any) -> None:
    search = GridSearchCV(SVC(solver=solver), {"solver__planning_ahead": [0, 3], "C": [1.0, 10.0]}, cv=2)
    with pytest.warns(PlainSearchWarning, match="solver"):
        search.fit(X, Y)
    assert search.best_estimator_.solver == SMO(planning_ahead=search.best_params_["solver__planning_ahead"])
    alone = GridSearchCV(SVC(), {"solver__planning_ahead": [0, 3]}, cv=2)
    with pytest.warns(PlainSearchWarning, match="solver__planning_ahead is an option of a solver"):
        alone.fit(X, Y)


def test_the_default_solver_as_an_object_shares_work() -> None:
    ours, named = (GridSearchCV(SVC(solver=one), {"C": [1.0, 10.0]}, cv=2).fit(X, Y) for one in (Auto(), "auto"))
    # Without a PlainSearchWarning, which would be an error here.
    assert np.array_equal(ours.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"])
    counted = OneClassSVM(loss="squared_hinge", solver=MaxMinOver())
    assert GridSearchCV(counted, {"C": [1.0, 10.0]}, cv=2).fit(X).best_estimator_.solver == MaxMinOver()


def test_a_model_search_trains_with_the_solver() -> None:
    search = ModelSearch(SVC(), max_evaluations=5, random_state=0)
    search.set_params(estimator__solver__planning_ahead=0).fit(X, Y)
    assert search.best_estimator_.solver == Auto(planning_ahead=0)


@pytest.mark.parametrize("solver", [Auto(), SMO(selection="maximum-gain", planning_ahead=0), Block(dtype="float64")])
def test_model_files_keep_the_solver(solver: Any, tmp_path: Path) -> None:
    save_model(SVC(solver=solver).fit(X, Y), tmp_path / "model.wm")
    found = load_model(tmp_path / "model.wm")
    assert found.solver == solver
    assert np.array_equal(clone(found).fit(X, Y).n_iter_, found.n_iter_)


def test_model_files_keep_no_solver_of_others(tmp_path: Path) -> None:
    class Own(SMO):
        pass

    with pytest.raises(ModelFileError, match="is of type Own, which a model file cannot store"):
        save_model(SVC(solver=Own()).fit(X, Y), tmp_path / "model.wm")
