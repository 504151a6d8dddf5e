"""Bad input of the regressors gets one clear sentence that names the parameter, the column or the row."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from widemargin import SVR, NuSVR

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=40)
BOTH = pytest.mark.parametrize("Machine", [SVR, NuSVR])


def words(*parts: str) -> str:
    """A pattern that asks for all the parts, in any order and any case."""
    return "(?is)" + "".join(f"(?=.*{part})" for part in parts)


def _with(value: Any, row: int = 4, column: int = 2) -> np.ndarray:
    changed = X.copy()
    changed[row, column] = value
    return changed


@BOTH
@pytest.mark.parametrize(("value", "word"), [(np.nan, "nan"), (np.inf, "infin")])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_nan_and_infinity_in_x_are_named_with_their_column(
    Machine: Any, value: float, word: str, container: Any
) -> None:
    pattern = words(word, "column", r"\b2\b")
    with pytest.raises(ValueError, match=pattern):
        Machine().fit(container(_with(value)), Y)
    model = Machine().fit(container(X), Y)
    with pytest.raises(ValueError, match=pattern):
        model.predict(container(_with(value)))


@BOTH
def test_nan_in_a_named_column(Machine: Any) -> None:
    frame = pd.DataFrame(_with(np.nan), columns=["length", "width", "height"])
    with pytest.raises(ValueError, match=words("nan", "height")):
        Machine().fit(frame, Y)


@BOTH
@pytest.mark.parametrize(
    ("targets", "parts"),
    [
        (np.where(np.arange(40) == 7, np.nan, Y), (r"\by\b", "nan")),
        (np.where(np.arange(40) == 7, np.inf, Y), (r"\by\b", "inf")),
        (np.where(np.arange(40) == 7, 1e200, Y), (r"\by\b", "1e.200", "row 7")),
        (["high"] * 40, (r"\by\b", "number|string")),
        (Y + 1j, ("complex",)),
        (np.column_stack((Y, Y)), (r"\by\b", "shape|1d")),
        (None, (r"\by\b",)),
        (Y[:-1], ("39", "40")),
    ],
    ids=["nan", "infinite", "too large", "strings", "complex", "two columns", "none", "too short"],
)
def test_bad_targets(Machine: Any, targets: Any, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=words(*parts)):
        Machine().fit(X, targets)


@BOTH
@pytest.mark.parametrize(
    ("weights", "parts"),
    [
        (np.zeros(40), ("zero",)),
        (np.where(np.arange(40) == 7, np.nan, 1.0), ("nan",)),
        (np.ones(39), ("39|shape",)),
        (np.ones((40, 2)), ("1D|shape",)),
    ],
    ids=["all zero", "nan", "too few", "two columns"],
)
def test_bad_weights(Machine: Any, weights: Any, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=words("sample.weight", *parts)):
        Machine().fit(X, Y, sample_weight=weights)


@BOTH
def test_a_price_that_vanishes(Machine: Any) -> None:
    with pytest.raises(ValueError, match=words(r"\bC\b", "sample_weight")):
        Machine(C=1e-300).fit(X, Y, sample_weight=np.full(40, 1e-300))


@BOTH
def test_shapes(Machine: Any) -> None:
    with pytest.raises(ValueError, match="0 sample"):
        Machine().fit(X[:0], Y[:0])
    with pytest.raises(ValueError, match="0 feature"):
        Machine().fit(X[:, :0], Y)
    with pytest.raises(ValueError, match="2D array"):
        Machine().fit(X[:, 0], Y)
    with pytest.raises(ValueError, match=words("2 features", "3 features")):
        Machine().fit(X, Y).predict(X[:, :2])
    with pytest.raises(ValueError, match=words("shape", "40", "30")):
        Machine(kernel="precomputed").fit((X @ X.T)[:, :30], Y)


SHARED: list[tuple[str, Any]] = [
    ("C", 0.0),
    ("C", -1.0),
    ("C", np.nan),
    ("C", "1"),
    ("kernel", "gauss"),
    ("degree", -1),
    ("gamma", -0.1),
    ("gamma", "wide"),
    ("coef0", np.inf),
    ("shrinking", "yes"),
    ("tol", 0.0),
    ("cache_size", -10),
    ("max_iter", -2),
    ("max_iter", "many"),
    ("max_time", 0.0),
    ("n_jobs", 0),
    ("warm_start", "perhaps"),
    ("solver", "newton"),
    ("verbose", "loud"),
]


@pytest.mark.parametrize(
    ("Machine", "parameter", "value"),
    [(Machine, *case) for Machine in (SVR, NuSVR) for case in SHARED]
    + [(SVR, "epsilon", value) for value in (-0.1, np.nan, np.inf, "wide", None)]
    + [(SVR, "loss", value) for value in ("huber", None, "squared_hinge")]
    + [(NuSVR, "nu", value) for value in (0.0, -0.5, 1.0001, 2, np.nan, np.inf, "half", None)]
    + [(NuSVR, "C", np.inf)],
)
def test_bad_parameters_are_named_before_the_kernel_is_computed(Machine: Any, parameter: str, value: Any) -> None:
    def kernel(A: Any, B: Any) -> Any:
        raise AssertionError("the kernel was computed")

    model = Machine(**{"kernel": kernel, parameter: value})
    with pytest.raises(ValueError, match=re.escape(parameter)):
        model.fit(X, Y)


@BOTH
@pytest.mark.parametrize("solver", ["mdm", "maxminover"])
def test_solvers_of_other_problems_are_refused_with_what_they_require(Machine: Any, solver: str) -> None:
    pattern = words(f"solver='{solver}' requires", "one-class model" if solver == "mdm" else "OneClassSVM")
    with pytest.raises(ValueError, match=pattern) as caught:
        Machine(solver=solver).fit(X, Y)
    assert str(caught.value).count(". ") == 0


@BOTH
def test_unfitted(Machine: Any) -> None:
    with pytest.raises(NotFittedError, match=Machine.__name__):
        Machine().predict(X)


@BOTH
def test_callables_that_return_nonsense_are_blamed_themselves(Machine: Any) -> None:
    with pytest.raises(ValueError, match=words("kernel", "shape")):
        Machine(kernel=lambda A, B: np.ones((1, 1))).fit(X, Y)


@BOTH
def test_altered_models_are_refused(Machine: Any) -> None:
    model = Machine().fit(X, Y)
    model.n_support_[0] = 1_000_000
    with pytest.raises(ValueError, match="n_support_ was altered"):
        model.predict(X)
