"""Machines with kernel objects: the same as with the core's kernels on mapped examples, in the user's own space."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.gaussian_process import kernels as theirs
from sklearn.utils.estimator_checks import check_estimator

from widemargin import SVC, SVDD, SVR, NuSVC, NuSVR, OneClassSVM
from widemargin.kernels import (
    DiagonalGaussian,
    Gaussian,
    GeneralGaussian,
    Linear,
    Mahalanobis,
    Normalized,
    Polynomial,
    ScikitLearnKernel,
)
from widemargin.kernels.scikit_learn import as_kernel

X, y = load_iris(return_X_y=True)
THIN = np.where(X > 1.5, X, 0.0)
MATRIX = [[1.0, 0.3, 0.0, 0.0], [0.3, 0.8, -0.2, 0.0], [0.0, -0.2, 0.5, 0.1], [0.0, 0.0, 0.1, 0.7]]
MACHINES = [kind(tol=1e-6) for kind in (SVC, SVR, NuSVR, OneClassSVM, SVDD)] + [NuSVC(nu=0.2, tol=1e-6)]
IN_CORE = [
    Gaussian(),
    DiagonalGaussian([0.1, 0.2, 1.0, 0.4]),
    GeneralGaussian(MATRIX),
    Mahalanobis(),
    Mahalanobis(delta=0.5, covariance="full"),
    Polynomial(degree=2),
    Linear(),
    theirs.RBF([1.0, 2.0, 0.5, 1.5]),
]
IN_BLOCKS = [
    0.5 * Gaussian() + Polynomial(degree=2),
    Normalized(Linear() + 1.0),
    Mahalanobis() * theirs.Matern(nu=2.5),
    theirs.RationalQuadratic(),
]


def values(machine, rows):
    return machine.predict(rows) if isinstance(machine, SVR | NuSVR) else machine.decision_function(rows)


@pytest.mark.parametrize("kernel", [*IN_CORE, *IN_BLOCKS], ids=repr)
@pytest.mark.parametrize("machine", MACHINES, ids=lambda one: type(one).__name__)
def test_they_are_machines_on_the_kernel_matrix(machine, kernel):
    fitted = clone(machine).set_params(kernel=kernel).fit(X, y)
    K = as_kernel(kernel).fitted(X)(X)
    given = clone(machine).set_params(kernel="precomputed").fit(K, y)
    expected = given.decision_function(K, np.diagonal(K)) if isinstance(machine, SVDD) else values(given, K)
    assert values(fitted, X) == pytest.approx(expected, rel=1e-4, abs=2e-5 * max(1.0, float(np.abs(expected).max())))


@pytest.mark.parametrize("kernel", IN_CORE, ids=repr)
def test_they_run_in_the_core(kernel):
    machine = SVC(kernel=kernel).fit(X, y)
    assert machine._kernel_parameters.of_samples
    named = SVC(
        kernel=machine._kernel_parameters.kernel,
        **{name: getattr(machine._kernel_parameters, name) for name in ("gamma", "coef0", "degree")},
    )
    mapped = machine.kernel_.mapped(X)
    assert np.array_equal(named.fit(mapped, y).support_, machine.support_)
    assert np.array_equal(named.decision_function(mapped), machine.decision_function(X))


@pytest.mark.parametrize("kernel", [*IN_CORE, *IN_BLOCKS], ids=repr)
def test_support_vectors_stay_what_they_were(kernel):
    machine = SVC(kernel=kernel).fit(X, y)
    assert np.array_equal(machine.support_vectors_, X[machine.support_])


@pytest.mark.parametrize("kernel", [*IN_CORE, *IN_BLOCKS], ids=repr)
def test_sparse_rows_give_the_same_machine(kernel):
    dense, sparse = SVC(kernel=kernel, tol=1e-8).fit(THIN, y), SVC(kernel=kernel, tol=1e-8).fit(sp.csr_array(THIN), y)
    assert sp.issparse(sparse.support_vectors_)
    expected = dense.decision_function(THIN)
    for machine in (dense, sparse):
        for rows in (THIN, sp.csr_array(THIN)):
            assert machine.decision_function(rows) == pytest.approx(expected, abs=1e-4)


def test_single_precision_rows():
    rows = X.astype(np.float32)
    machine = SVC(kernel=Mahalanobis(covariance="full")).fit(rows, y)
    assert machine.support_vectors_.dtype == np.float32
    assert machine.decision_function(rows) == pytest.approx(
        SVC(kernel=Mahalanobis(covariance="full")).fit(X, y).decision_function(X), abs=1e-2
    )


def test_the_fitted_kernel_has_the_numbers():
    machine = SVC(kernel=Mahalanobis(delta=0.5)).fit(X, y)
    assert machine.kernel_.delta == 0.5
    assert machine.kernel_.matrix == pytest.approx(X.var(axis=0))
    assert machine.kernel.matrix is None
    assert SVC(kernel=Gaussian()).fit(X, y).kernel_.gamma == 1.0 / (4 * X.var())
    assert isinstance(SVC(kernel=theirs.RBF(2.0)).fit(X, y).kernel_, ScikitLearnKernel)
    both = SVC(kernel=0.5 * Gaussian() + Mahalanobis()).fit(X, y)
    assert both.kernel_.k1.kernel.gamma == 1.0 / (4 * X.var())
    assert repr(both.kernel) == "0.5 * Gaussian() + Mahalanobis()"


def test_kernels_by_name_have_objects_too():
    assert SVC().fit(X, y).kernel_ == Gaussian(1.0 / (4 * X.var()))
    assert SVC(kernel="poly", gamma=0.1, coef0=1.0, degree=2).fit(X, y).kernel_ == Polynomial(2, 0.1, 1.0)
    assert SVC(kernel="linear").fit(X, y).kernel_ == Linear()
    for kernel in ("sigmoid", lambda A, B: A @ B.T):
        with pytest.raises(AttributeError, match="has no kernel object"):
            _ = SVC(kernel=kernel, gamma=1e-3).fit(X, y).kernel_
    with pytest.raises(AttributeError, match="SVC has no kernel_ before it is fitted"):
        _ = SVC(kernel=Gaussian()).kernel_


def test_parameters_are_those_of_the_kernel_too():
    machine = SVC(kernel=Mahalanobis()).fit(X, y)
    assert machine.get_params()["kernel__delta"] == 1.0
    assert repr(machine) == "SVC(kernel=Mahalanobis())"
    other = clone(machine).set_params(kernel__delta=3.0)
    assert not hasattr(other, "kernel_")
    assert other.fit(X, y).kernel_.delta == 3.0
    assert machine.kernel.delta == 1.0
    copied = pickle.loads(pickle.dumps(machine))
    assert np.array_equal(copied.decision_function(X), machine.decision_function(X))


def test_weights_are_those_of_the_covariance():
    often = np.random.default_rng(0).integers(0, 3, size=len(y))
    machine = SVC(kernel=Mahalanobis(covariance="full"), tol=1e-8)
    weighted = clone(machine).fit(X, y, sample_weight=often)
    repeated = clone(machine).fit(np.repeat(X, often, axis=0), np.repeat(y, often))
    assert weighted.kernel_.matrix == pytest.approx(repeated.kernel_.matrix)
    assert weighted.decision_function(X) == pytest.approx(repeated.decision_function(X), abs=1e-5)


def test_the_linear_kernel_has_weights():
    assert SVC(kernel=Linear()).fit(X, y).coef_ == pytest.approx(SVC(kernel="linear").fit(X, y).coef_)
    ball, named = SVDD(kernel=Linear()).fit(X + 1e6), SVDD(kernel="linear").fit(X + 1e6)
    assert ball.decision_function(X + 1e6) == pytest.approx(named.decision_function(X + 1e6), rel=1e-9, abs=1e-9)
    with pytest.raises(AttributeError, match="coef_ is only available"):
        _ = SVC(kernel=Gaussian()).fit(X, y).coef_


def test_scikit_learn_finds_the_same():
    kernel = DiagonalGaussian([0.1, 0.2, 1.0, 0.4])
    reference = svm.SVC(kernel=kernel, tol=1e-8, decision_function_shape="ovo").fit(X, y)
    own = SVC(kernel=kernel, tol=1e-8, decision_function_shape="ovo").fit(X, y)
    assert own.decision_function(X) == pytest.approx(reference.decision_function(X), abs=1e-5)


class Lengths(theirs.GenericKernelMixin, theirs.Kernel):
    """Similarity of the lengths of two texts."""

    def __init__(self, width=1.0):
        self.width = width

    def __call__(self, X, Y=None, eval_gradient=False):
        left, right = ([len(one) for one in some] for some in (X, X if Y is None else Y))
        return np.exp(-self.width * np.subtract.outer(left, right) ** 2.0)

    def diag(self, X):
        return np.ones(len(X))

    def is_stationary(self):
        return False


def test_objects_of_any_kind():
    texts = ["a", "bb", "cc", "dddddd", "eeeeeee", "f" * 8]
    for kernel in (Lengths(), 2.0 * as_kernel(Lengths(0.5)) + 1.0):
        machine = SVC(kernel=kernel).fit(texts, [0, 0, 0, 1, 1, 1])
        assert machine.predict(["xyz", "x" * 20]).tolist()[0] == 0


@pytest.mark.parametrize(
    ("machine", "error", "sentence"),
    [
        (SVC(kernel=Gaussian(), gamma=0.5), ValueError, "gamma=0.5 is for kernels by name; kernel=Gaussian"),
        (SVR(kernel=theirs.RBF(), coef0=1.0), ValueError, "coef0=1.0 is for kernels by name"),
        (SVDD(kernel=Polynomial(), degree=2), ValueError, "degree=2 is for kernels by name"),
        (SVC(kernel=Gaussian(gamma=-1.0)), ValueError, "gamma of Gaussian is -1.0; it must be positive"),
        (SVC(kernel=DiagonalGaussian([1.0, 2.0])), ValueError, "gammas holds 2 numbers, but X has 4 features"),
        (SVC(kernel=theirs.WhiteKernel()), ValueError, "is not a function of two samples"),
        (SVC(kernel=Polynomial(degree=60)), ValueError, r"kernel='poly' reaches .* too large to compute with"),
        (SVC(kernel=Polynomial(degree=60) + 1.0), ValueError, r"kernel=Polynomial.* too large to compute with"),
    ],
)
def test_what_means_nothing_is_refused(machine, error, sentence):
    with pytest.raises(error, match=sentence):
        machine.fit(1e3 * X, y)


def test_texts_are_no_vectors():
    with pytest.raises(ValueError, match="could not convert string to float"):
        SVC(kernel=Gaussian(gamma=1.0)).fit([["a"], ["b"]], [0, 1])


def test_rows_too_large_to_compute_with():
    with pytest.raises(ValueError, match="too large to compute distances"):
        SVC(kernel=Gaussian()).fit(np.array([[1e200], [0.0]]), [0, 1])
    with pytest.raises(ValueError, match="too large to compute distances"):
        SVC(kernel=GeneralGaussian([[1e100]])).fit(np.array([[1e100], [0.0]]), [0, 1])


def test_one_column_that_drowns_the_others_is_told_of():
    unscaled = X * [1.0, 1.0, 1e4, 1.0]
    for kernel in (Gaussian(), DiagonalGaussian()):
        with pytest.warns(UserWarning, match=r"Column 2 of X carries") as caught:
            SVC(kernel=kernel).fit(unscaled, y)
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC(kernel=Mahalanobis()).fit(unscaled, y)
        SVC(kernel=DiagonalGaussian([1e-6, 1e-6, 1.0, 1e-6])).fit(X, y)


def test_scikit_learns_checks():
    results = check_estimator(SVC(kernel=Mahalanobis()), on_fail=None, on_skip=None)
    assert [one["check_name"] for one in results if one["status"] == "failed"] == []
    results = check_estimator(SVR(kernel=0.5 * DiagonalGaussian() + Linear()), on_fail=None, on_skip=None)
    assert [one["check_name"] for one in results if one["status"] == "failed"] == []
