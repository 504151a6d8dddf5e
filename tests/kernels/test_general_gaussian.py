"""The chart of GeneralGaussian: sizes, shapes, orientations, and what stays fixed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm, logm

from widemargin.kernels import DiagonalGaussian, Gaussian, GeneralGaussian
from widemargin.kernels.contraction import KernelBlocks

B = np.array([[1.0, 0.3, 0.0], [0.3, 0.8, -0.2], [0.0, -0.2, 0.5]])
X = np.random.default_rng(0).normal(size=(20, 3))


def test_theta_holds_the_logarithm_of_the_matrix():
    A = logm(B)
    size, first, second, *above = GeneralGaussian(B).theta
    assert size == pytest.approx(np.trace(A) / 3)
    assert np.hypot(first, second) == pytest.approx(np.linalg.norm(np.diag(A) - np.trace(A) / 3))
    assert above == pytest.approx(np.sqrt(2.0) * np.array([A[0, 1], A[0, 2], A[1, 2]]))


def test_every_theta_gives_the_exponential_of_a_symmetric_matrix():
    above = np.sqrt(2.0) * np.array([0.5, -1.0, 0.25])
    kernel = GeneralGaussian(np.eye(3)).clone_with_theta(np.array([0.2, 0.0, 0.0, *above]))
    assert kernel.matrix == pytest.approx(
        expm([[0.2, 0.5, -1.0], [0.5, 0.2, 0.25], [-1.0, 0.25, 0.2]]), rel=1e-12, abs=1e-12
    )


@pytest.mark.parametrize(
    ("fixed", "n_dims"),
    [
        (("shape", "orientation"), 1),
        (("size", "orientation"), 3),
        ("orientation", 4),
        ("size", 9),
        ((), 10),
        (None, 10),
        ("shape", 7),
    ],
)
def test_the_five_cases_have_as_many_variables_as_the_thesis_says(fixed, n_dims):
    assert GeneralGaussian(np.eye(4), fixed=fixed).n_dims == n_dims


def moved(fixed) -> np.ndarray:
    kernel = GeneralGaussian(B, fixed=fixed)
    return kernel.clone_with_theta(kernel.theta + 0.3).matrix


def test_what_is_fixed_stays():
    assert np.linalg.det(moved("size")) == pytest.approx(np.linalg.det(B))
    A, other = logm(B), logm(moved("orientation"))
    assert other - np.diag(np.diag(other)) == pytest.approx(A - np.diag(np.diag(A)))
    other = logm(moved("shape"))
    assert np.diag(other) - np.trace(other) / 3 == pytest.approx(np.diag(A) - np.trace(A) / 3)
    assert moved(("shape", "orientation")) == pytest.approx(np.exp(0.3) * B)


@pytest.mark.parametrize("seed", range(5))
def test_turning_the_axes_changes_no_distance_in_theta(seed):
    rng = np.random.default_rng(seed)
    first, second = (expm(A + A.T) for A in 0.3 * rng.normal(size=(2, 4, 4)))
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    apart = GeneralGaussian(first).theta - GeneralGaussian(second).theta
    turned = [GeneralGaussian(turn @ matrix @ turn.T).theta for matrix in (first, second)]
    assert np.linalg.norm(turned[0] - turned[1]) == pytest.approx(np.linalg.norm(apart), rel=1e-9)
    difference = logm(first) - logm(second)
    mean = np.trace(difference) / 4
    assert apart[0] == pytest.approx(mean, abs=1e-12)
    assert np.linalg.norm(apart[1:]) == pytest.approx(np.linalg.norm(difference - mean * np.eye(4)), rel=1e-9)


def slopes(kernel) -> np.ndarray:
    W = np.random.default_rng(1).normal(size=(20, 20))
    blocks = KernelBlocks(kernel, X)
    return sum(blocks.pull_back((W + W.T)[block.rows, block.columns], block) for block in blocks)


def test_slopes_from_an_isotropic_start_are_those_of_the_moving_chart_by_half():
    """[Glasmachers2008, section 10.1]: xi_ij = -k (x - z)' S B (x - z), S = E B + B E, for k_{exp(A) B exp(A)}."""
    kernel = GeneralGaussian(0.7 * np.eye(3))
    W = np.random.default_rng(1).normal(size=(20, 20))
    W, K = W + W.T, kernel(X)
    away = X[:, np.newaxis] - X
    found = slopes(kernel)

    def moving(E: np.ndarray) -> float:
        S = E @ kernel.matrix + kernel.matrix @ E
        return float(-np.einsum("ij,ijk,kl,ijl->", W * K, away, S @ kernel.matrix, away))

    assert 2.0 * found[0] == pytest.approx(moving(np.eye(3)))
    for at, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        E = np.zeros((3, 3))
        E[i, j] = E[j, i] = np.sqrt(0.5)
        assert 2.0 * found[3 + at] == pytest.approx(moving(E))


def test_it_contains_the_other_gaussians():
    g = np.array([0.2, 1.5, 0.01])
    assert GeneralGaussian(np.diag(np.sqrt(2 * g)))(X) == pytest.approx(DiagonalGaussian(g)(X))
    one = GeneralGaussian(fixed=("shape", "orientation")).fitted(X, gamma=0.3)
    assert one.matrix == pytest.approx(np.sqrt(0.6) * np.eye(3))
    assert one(X) == pytest.approx(Gaussian(0.3)(X))
    # gamma = exp(2 size) / 2
    assert slopes(one) == pytest.approx(2.0 * slopes(Gaussian(0.3)))


def test_nearly_equal_eigenvalues_are_no_trouble():
    split = GeneralGaussian(np.diag([1.0, 1.0 + 1e-13, 0.5]))
    assert slopes(split) == pytest.approx(slopes(GeneralGaussian(np.diag([1.0, 1.0, 0.5]))), rel=1e-8)


def test_far_apart_eigenvalues_keep_their_digits():
    kernel = GeneralGaussian(np.eye(3)).clone_with_theta(np.array([0.0, 6.0, 6.0, 2.0, -2.0, 1.0]))
    assert kernel.theta == pytest.approx(np.array([0.0, 6.0, 6.0, 2.0, -2.0, 1.0]), abs=1e-12)


def test_a_matrix_that_changes_in_place_is_decomposed_again():
    matrix = np.eye(2)
    kernel = GeneralGaussian(matrix)
    assert kernel.theta == pytest.approx([0.0, 0.0, 0.0])
    matrix[0, 0] = np.e
    assert kernel.theta[0] == pytest.approx(0.5)


def test_one_feature():
    kernel = GeneralGaussian([[2.0]])
    assert kernel.n_dims == 1
    assert kernel([[0.0], [1.0]])[0, 1] == pytest.approx(np.exp(-2.0))


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (GeneralGaussian([[1.0, 2.0], [0.0, 1.0]]), "matrix must be a square, symmetric array"),
        (GeneralGaussian([[1.0, 2.0], [2.0, 1.0]]), "matrix has the eigenvalue -1; all of them must be positive"),
        (GeneralGaussian([1.0, 2.0]), "matrix must be a square"),
        (GeneralGaussian(np.eye(2), fixed="width"), "fixed is 'width'; it must be 'size', 'shape', 'orientation'"),
        (GeneralGaussian(np.eye(2), matrix_bounds=(1.0, 0.1)), r"matrix_bounds is \(1.0, 0.1\)"),
        (GeneralGaussian(), "has no matrix yet"),
    ],
    ids=repr,
)
def test_what_means_nothing_is_refused(kernel, sentence):
    with pytest.raises(ValueError, match=sentence):
        kernel(np.zeros((2, 2)))


def test_sizes_must_agree():
    with pytest.raises(ValueError, match=r"matrix has shape \(3, 3\), but X has 2 features"):
        GeneralGaussian(B).fitted(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="too large to compute with"):
        GeneralGaussian(np.eye(1)).clone_with_theta(np.array([800.0]))
