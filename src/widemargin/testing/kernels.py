"""The contract of kernel objects."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

import cloudpickle
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.gaussian_process import kernels as theirs

from widemargin import kernels as ours
from widemargin.kernels import Kernel
from widemargin.kernels.contraction import KernelBlocks
from widemargin.kernels.rows import count, take
from widemargin.kernels.scikit_learn import as_kernel
from widemargin.testing.checks import check_close, check_semidefinite
from widemargin.testing.oracles import kernel_matrix
from widemargin.testing.protocols import Matrix, Vector

#: Allowed error of derivatives, relative to the largest.
SLOPE_ERROR = 1e-4

#: Random points at which derivatives are compared with differences.
POINTS = 20

#: Half the distance, in `theta`, that differences are taken over.
STEP = 1e-5


def _points_near(kernel: Kernel, seed: int) -> list[Vector]:
    """Random parameters around those of a kernel, within its bounds."""
    generator = np.random.default_rng(seed)
    low, high = kernel.bounds.T
    moves = generator.uniform(-1.0, 1.0, size=(POINTS, kernel.n_dims))
    return [np.clip(kernel.theta + move, low + STEP, high - STEP) for move in moves]


def _differences(kernel: Kernel, evaluate: Callable[[Kernel], Any]) -> list[Any]:
    """Central differences of something along each parameter."""
    found = []
    for unit in np.eye(kernel.n_dims):
        ahead, behind = (evaluate(kernel.clone_with_theta(kernel.theta + side * STEP * unit)) for side in (1.0, -1.0))
        found.append((ahead - behind) / (2.0 * STEP))
    return found


def gives_kernel_values(kernel: Kernel, X: Any, Z: Any) -> None:
    """Require values that are finite, symmetric, the same by every way to ask for them, with the diagonal it says."""
    K, between = kernel.values(X, X), kernel.values(X, Z)
    precision = 1e-10 * max(1.0, float(np.abs(K).max()), float(np.abs(between).max()))
    for block in (K, between):
        assert np.isfinite(block).all(), f"{kernel!r}: values must be finite."
    check_close(K, K.T, precision, f"{kernel!r}, transposed")
    check_close(kernel.values(Z, X), between.T, precision, f"{kernel!r} with its arguments exchanged")
    check_close(kernel(X), K, precision, f"{kernel!r} called with one set")
    check_close(kernel(X, Z), between, precision, f"{kernel!r} called with two sets")
    for diagonal in (kernel.diagonal(X), kernel.diag(X)):
        check_close(diagonal, np.diagonal(K), precision, f"the diagonal of {kernel!r}")


def is_positive_semidefinite(kernel: Kernel, X: Any, Z: Any) -> None:
    """Require that no eigenvalue is negative beyond rounding."""
    check_semidefinite(kernel.values(X, X), 1e-10, repr(kernel))


def follows_its_parameters(kernel: Kernel, X: Any, Z: Any) -> None:
    """Require that `theta` is what was set, within bounds of the right shape, and that clones are on their own."""
    before, low_high = kernel.theta, kernel.bounds
    assert before.shape == (kernel.n_dims,), f"{kernel!r}: theta must have shape ({kernel.n_dims},)."
    assert low_high.shape == (kernel.n_dims, 2), f"{kernel!r}: bounds must have shape ({kernel.n_dims}, 2)."
    inside = (low_high[:, 0] <= before) & (before <= low_high[:, 1])
    assert inside.all(), f"{kernel!r}: theta is out of bounds."
    assert sum(one.n_elements for one in kernel.hyperparameters if not one.fixed) == kernel.n_dims, (
        f"{kernel!r}: hyperparameters must describe the {kernel.n_dims} numbers of theta."
    )
    for theta in _points_near(kernel, 0):
        check_close(kernel.clone_with_theta(theta).theta, theta, 1e-9, f"theta of {kernel!r} with other numbers")
        check_close(kernel.theta, before, 0.0, f"theta of {kernel!r} after a clone got other numbers")
        set_in_place = clone(kernel)
        set_in_place.theta = theta
        check_close(set_in_place.theta, theta, 1e-9, f"theta of a clone of {kernel!r}, set in place")
    for wrong in (np.zeros(kernel.n_dims + 1), np.zeros((1, kernel.n_dims))):
        try:
            kernel.clone_with_theta(wrong)
        except ValueError:
            continue
        raise AssertionError(f"{kernel!r}: theta of shape {wrong.shape} must be refused.")


def has_its_derivatives(kernel: Kernel, X: Any, Z: Any) -> None:
    """Require derivatives that match central differences at random points, for every way to ask for them."""
    generator = np.random.default_rng(1)
    for theta in _points_near(kernel, 1):
        one = kernel.clone_with_theta(theta)
        _check_block(one, X, X, generator)
        _check_block(one, X, Z, generator)
        _check_diagonal(one, X, generator)


def _check_block(kernel: Kernel, X: Any, Z: Any, generator: np.random.Generator) -> None:
    K = kernel.values(X, Z)
    expected = _differences(kernel, lambda other: other.values(X, Z))
    found = list(kernel.derivatives(X, Z, K))
    assert len(found) == kernel.n_dims, f"{kernel!r}: there must be {kernel.n_dims} derivatives, {len(found)} came."
    allowed = SLOPE_ERROR * float(np.abs(expected).max(initial=0.0)) + 1e-9 * float(np.abs(K).max())
    for slope, difference in zip(found, expected, strict=True):
        check_close(slope, difference, allowed, f"a derivative of {kernel!r}")
    W = generator.normal(size=K.shape)
    sums = [float(np.vdot(W, difference)) for difference in expected]
    _check_sums(kernel.pull_back(W, X, Z, K), sums, float(np.abs(W * K).sum()), f"pull_back of {kernel!r}")


def _check_diagonal(kernel: Kernel, X: Any, generator: np.random.Generator) -> None:
    diagonal = kernel.diagonal(X)
    expected = _differences(kernel, lambda other: other.diagonal(X))
    allowed = SLOPE_ERROR * float(np.abs(expected).max(initial=0.0)) + 1e-9 * float(np.abs(diagonal).max())
    for slope, difference in zip(kernel.diagonal_derivatives(X), expected, strict=True):
        check_close(slope, difference, allowed, f"a derivative of the diagonal of {kernel!r}")
    w = generator.normal(size=len(diagonal))
    sums = [float(w @ difference) for difference in expected]
    found = kernel.pull_back_diagonal(w, X)
    _check_sums(found, sums, float(np.abs(w * diagonal).sum()), f"pull_back_diagonal of {kernel!r}")


def _check_sums(found: Vector, expected: list[float], scale: float, what: str) -> None:
    wanted = np.array(expected).reshape(-1)
    check_close(found, wanted, SLOPE_ERROR * float(np.abs(wanted).max(initial=0.0)) + 1e-9 * scale, what)


def gives_a_tensor(kernel: Kernel, X: Any, Z: Any) -> None:
    """Require the tensor of derivatives that scikit-learn's Gaussian processes ask for."""
    K, tensor = kernel(X, eval_gradient=True)
    assert tensor.shape == (*K.shape, kernel.n_dims), f"{kernel!r}: the tensor has shape {tensor.shape}."
    for number, slope in enumerate(kernel.derivatives(X, X, K)):
        check_close(
            tensor[:, :, number], slope, 1e-12 * max(1.0, float(np.abs(slope).max())), f"the tensor of {kernel!r}"
        )


def contracts_in_blocks(kernel: Kernel, X: Any, Z: Any) -> None:
    """Require that sums over blocks are those over the whole, with symmetric weights and between two sets."""
    generator = np.random.default_rng(2)
    many = take(X, generator.integers(count(X), size=400))
    W = generator.normal(size=(count(many), count(many)))
    _check_blocks(kernel, many, None, W + W.T)
    _check_blocks(kernel, many, Z, generator.normal(size=(count(many), count(Z))))


def _check_blocks(kernel: Kernel, X: Any, Z: Any, W: Matrix) -> None:
    other = X if Z is None else Z
    K, blocks = kernel.values(X, other), KernelBlocks(kernel, X, Z)
    for weights in (W, K):
        sums = sum(blocks.pull_back(weights[block.rows, block.columns], block) for block in blocks)
        expected = kernel.pull_back(weights, X, other, K)
        check_close(sums, expected, 1e-9 * float(np.abs(weights * K).sum() + 1.0), f"blocks of {kernel!r}")


def is_the_same_to_solvers(kernel: Kernel, X: Any, Z: Any) -> None:
    """Require that solvers get the kernel in a form with its values, and that kernels of a kind share a map."""
    resolved, expected = kernel.resolved(), kernel.values(X, Z)
    allowed = 1e-10 * max(1.0, float(np.abs(expected).max()))
    named = None if kernel.core_kernel is None else kernel.core_kernel.kernel
    assert kernel.core_name == named, f"{kernel!r}: core_name is {kernel.core_name!r} where core_kernel is {named!r}."
    if callable(resolved.kernel):
        check_close(resolved.kernel(X, Z), expected, allowed, f"{kernel!r} as a function")
        return
    numbers = {"gamma": resolved.gamma, "coef0": resolved.coef0, "degree": resolved.degree}
    left, right = resolved.mapped(X), resolved.mapped(Z)
    found = kernel_matrix(left, right, kernel=resolved.kernel, **numbers)  # type: ignore[arg-type]
    check_close(found, expected, allowed, f"{kernel!r} on mapped samples")
    for theta in _points_near(kernel, 4):
        other = kernel.clone_with_theta(theta)
        assert other.kind != kernel.kind or other.resolved().map == resolved.map, (
            f"{kernel!r}: kernels of one kind must have one map; name what it consists of in _map_parameters."
        )


def survives_copies(kernel: Kernel, X: Any, Z: Any, names: Mapping[str, Any] | None = None) -> None:
    """Require that clones, pickles and what `repr` writes are the same kernel."""
    known = {name: getattr(ours, name) for name in ours.__all__}
    known |= {name: getattr(theirs, name) for name in dir(theirs) if name not in known}
    known |= {type(kernel).__name__: type(kernel)} | dict(names or {})
    copies = {
        "a clone": clone(kernel),
        # As pickle, but for classes of a notebook or a document too.
        "a pickle": pickle.loads(cloudpickle.dumps(kernel)),
        f"what repr writes, {kernel!r},": as_kernel(eval(repr(kernel), known)),
    }
    for what, copy in copies.items():
        assert copy == kernel, f"{what} of {type(kernel).__name__} must be equal to the kernel, it is {copy!r}."
        check_close(copy.values(X, Z), kernel.values(X, Z), 0.0, f"{what}: values")
    if kernel.n_dims:
        other = kernel.clone_with_theta(kernel.theta + 0.5)
        assert other != kernel, f"{kernel!r}: other numbers must make a difference."
    assert kernel != ours.Gaussian(gamma=0.123), f"{kernel!r}: must differ from another kernel."


def takes_sparse_samples(kernel: Kernel, X: Any, Z: Any) -> None:
    """Require that samples in CSR give what dense ones give."""
    thin, thinner = np.where(np.abs(X) > 0.3, X, 0.0), np.where(np.abs(Z) > 0.3, Z, 0.0)
    sparse, sparser = sp.csr_array(thin), sp.csr_array(thinner)
    K = kernel.values(thin, thinner)
    precision = 1e-10 * max(1.0, float(np.abs(K).max()))
    check_close(kernel.values(sparse, sparser), K, precision, f"{kernel!r} of sparse samples")
    check_close(kernel.diagonal(sparse), kernel.diagonal(thin), precision, f"the diagonal of {kernel!r}, sparse")
    W = np.random.default_rng(3).normal(size=K.shape)
    scale = 1e-10 * float(np.abs(W * K).sum() + 1.0)
    dense = kernel.pull_back(W, thin, thinner, K)
    check_close(kernel.pull_back(W, sparse, sparser, K), dense, scale * 10, f"pull_back of {kernel!r}, sparse")


def _strings(n: int, generator: np.random.Generator) -> list[str]:
    """Random strings of DNA of different lengths."""
    return ["".join(generator.choice(list("ACGT"), size)) for size in generator.integers(8, 20, size=n)]


Clause = Callable[[Kernel, Any, Any], None]

KERNEL_OBJECT_CLAUSES: tuple[Clause, ...] = (
    gives_kernel_values,
    is_positive_semidefinite,
    follows_its_parameters,
    has_its_derivatives,
    gives_a_tensor,
    contracts_in_blocks,
    is_the_same_to_solvers,
    survives_copies,
)


def kernel_object_contract(kernel: Any, X: Any = None, Z: Any = None, *, sparse: bool = True) -> None:
    """Raise AssertionError, with a sentence, unless a kernel object keeps every clause.

    Values are symmetric and positive semidefinite, whichever way they are asked for; `theta` holds what was set;
    derivatives, pull-backs and their sums over blocks match central differences at 20 random points around the kernel's
    parameters, with a relative error below 1e-4; clones, pickles and what `repr` writes are the same kernel; sparse
    samples give what dense ones give.

    Parameters
    ----------
    kernel : kernel
        One of this package, of scikit-learn's Gaussian processes, or your own; parameters may be left to the data.
    X, Z : arrays of shape (n, d) and (m, d), or other samples that the kernel takes, optional
        Samples to test with; by default 12 and 7 random ones with 3 features, and random strings of DNA for kernels
        that do not ask for vectors.
    sparse : bool, default=True
        Whether the kernel also takes sparse samples, if it asks for vectors.

    Examples
    --------
    >>> from widemargin.kernels import DiagonalGaussian
    >>> from widemargin.testing import kernel_object_contract
    >>> kernel_object_contract(DiagonalGaussian())
    """
    generator = np.random.default_rng(0)
    own = as_kernel(kernel)
    if own.requires_vector_input:
        left = generator.normal(size=(12, 3)) if X is None else X
        right = generator.normal(size=(7, left.shape[1])) if Z is None else Z
    else:
        left = own.samples(_strings(12, generator) if X is None else X)
        right = own.samples(_strings(7, generator) if Z is None else Z)
    fitted = own.fitted(left)
    sparse = sparse and own.requires_vector_input
    for clause in (*KERNEL_OBJECT_CLAUSES, *((takes_sparse_samples,) if sparse else ())):
        clause(fitted, left, right)
