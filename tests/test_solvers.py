"""Solvers as objects: scikit-learn's habits, the options they make, what they refuse."""

from __future__ import annotations

import pickle
import re
from typing import Any

import pytest
from sklearn.base import clone

from widemargin.machines.dual import SolverOptions
from widemargin.solvers import MDM, SMO, Auto, Block, MaxMinOver, Solver
from widemargin.study import fingerprint

CHANGED: list[Solver] = [
    Auto(dtype="float64"),
    SMO(selection="maximum-gain", planning_ahead=0),
    Block(planning_ahead=1),
    MDM(accelerated=False),
    MaxMinOver(),
]


@pytest.mark.parametrize("solver", CHANGED, ids=repr)
def test_solvers_are_cloned_pickled_printed_and_compared_by_their_parameters(solver: Solver) -> None:
    for other in (clone(solver), pickle.loads(pickle.dumps(solver)), eval(repr(solver))):
        assert other is not solver
        assert other == solver
        assert hash(other) == hash(solver)
        assert fingerprint(other) == fingerprint(solver)
    usual = type(solver)()
    assert (usual == solver) == (usual.get_params() == solver.get_params())


def test_solvers_of_another_class_are_others() -> None:
    assert SMO() != Block()
    assert SMO() != "smo"
    assert len({SMO(), Block(), Auto(), SMO()}) == 3


def test_parameters_are_set_by_name() -> None:
    assert SMO().set_params(planning_ahead=1) == SMO(planning_ahead=1)
    with pytest.raises(ValueError, match="Invalid parameter 'selection'"):
        MDM().set_params(selection="second-order")


@pytest.mark.parametrize("solver", CHANGED, ids=repr)
def test_options_are_those_of_the_core(solver: Solver) -> None:
    found = solver.options(shrinking=False, cache_bytes=1 << 20, n_threads=3)
    shared = {"shrinking": False, "cache_bytes": 1 << 20, "n_threads": 3}
    assert found == SolverOptions(solver=solver.name, **solver.get_params(), **shared)
    assert found.dtype == solver.dtype


@pytest.mark.parametrize("cls", [Auto, SMO, Block])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"selection": "WSS3"},
            "selection must be one of 'auto', 'maximal-violating-pair', ",
        ),
        ({"selection": None}, "selection must be one of"),
        ({"planning_ahead": -1}, "planning_ahead must be a whole number of at least 0; got -1."),
        ({"planning_ahead": 1.5}, "planning_ahead must be a whole number of at least 0; got 1.5."),
        ({"planning_ahead": True}, "planning_ahead must be a whole number of at least 0; got True."),
        ({"dtype": "float16"}, "dtype must be one of 'float32', 'float64'; got 'float16'."),
    ],
)
def test_what_means_nothing_is_refused(cls: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        cls(**parameters).options()
