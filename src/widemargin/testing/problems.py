"""Small dual problems to judge solvers by: random boxes, ties, duplicates, frozen variables, hard ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.testing.oracles import kernel_matrix
from widemargin.testing.protocols import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Case:
    """A named dual problem together with its kernel matrix in float64.

    Attributes
    ----------
    name : str
        Short name, used as the identifier of a parametrised test.
    linear, lower, upper : ndarray of shape (n,)
        The dual problem.
    gram : ndarray of shape (n, n)
        The kernel matrix K.
    points : ndarray of shape (n, d)
        The inputs from which `gram` was computed.
    kernel : str
        The kernel's name, as accepted by :func:`widemargin.testing.oracles.kernel_matrix`.
    gamma : float
        The kernel's width parameter.
    kink : ndarray of shape (n,), optional
        What the objective loses for every unit of a variable's magnitude.
    """

    name: str
    linear: Vector
    lower: Vector
    upper: Vector
    gram: Matrix
    points: Matrix
    kernel: str
    gamma: float
    kink: Vector | None = None

    def __str__(self) -> str:
        return self.name


def _case(
    name: str,
    points: Matrix,
    linear: Vector,
    lower: Vector,
    upper: Vector,
    kink: Vector | None = None,
    *,
    kernel: str = "rbf",
    gamma: float = 1.0,
) -> Case:
    gram = kernel_matrix(points, kernel=kernel, gamma=gamma, coef0=1.0, degree=2)
    return Case(name, linear.astype(np.float64), lower, upper, gram, points, kernel, gamma, kink)


def classification_case(name: str, points: Matrix, labels: Vector, penalties: Vector | float, **settings: Any) -> Case:
    """Build the dual problem of a two-class model: y in {-1, +1}, L = min(0, y C), U = max(0, y C).

    Settings are the `kernel` ("rbf" if not given) and its `gamma` (1).

    Examples
    --------
    >>> import numpy as np
    >>> case = classification_case("two points", np.array([[0.0], [1.0]]), np.array([1.0, -1.0]), 10.0)
    >>> case.lower.tolist(), case.upper.tolist()
    ([0.0, -10.0], [10.0, 0.0])
    """
    box = labels * np.broadcast_to(np.asarray(penalties, dtype=np.float64), labels.shape)
    return _case(name, points, labels, np.minimum(0.0, box), np.maximum(0.0, box), **settings)


def regression_case(
    name: str, points: Matrix, targets: Vector, penalties: Vector | float, epsilon: Vector | float, **settings: Any
) -> Case:
    """Build the dual problem of a regression model: the targets, boxes [-C, C], and a kink of epsilon at 0.

    Settings are those of :func:`classification_case`.

    Examples
    --------
    >>> import numpy as np
    >>> case = regression_case("two points", np.array([[0.0], [1.0]]), np.array([3.0, 5.0]), 10.0, 0.5)
    >>> case.lower.tolist(), case.upper.tolist(), case.kink.tolist()
    ([-10.0, -10.0], [10.0, 10.0], [0.5, 0.5])
    """
    upper, kink = (np.broadcast_to(np.asarray(v, dtype=np.float64), targets.shape).copy() for v in (penalties, epsilon))
    return _case(name, points, targets, -upper, upper, kink, **settings)


def chess_board_case(n: int, penalty: float, *, seed: int = 0) -> Case:
    """Return the 4 x 4 chess board [Glasmachers2008, section 3.4]: noise-free, many free variables, slow for SMO."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(0.0, 4.0, size=(n, 2))
    labels = np.where(np.floor(points).sum(axis=1) % 2 == 0, 1.0, -1.0)
    return classification_case(f"chess-board-{n}", points, labels, penalty, gamma=0.5)


def _overlapping(rng: np.random.Generator, n: int, dimension: int) -> tuple[Matrix, Vector]:
    labels = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    labels[:2] = 1.0, -1.0
    return rng.normal(size=(n, dimension)) + 0.7 * labels[:, None], labels


def small_cases() -> Iterator[Case]:
    """Yield the problems that every exact solver has to solve, smallest first.

    They cover what breaks solvers: exact duplicates (also with contradicting labels), ties in the gradient, variables
    frozen by the box [0, 0], boxes of very different widths, boxes that straddle zero, a kernel of low rank, an
    arbitrary linear term, and problems whose optimum is all bounded or all free.
    """
    rng = np.random.default_rng(20240917)

    points, labels = _overlapping(rng, 30, 2)
    yield classification_case("all-bounded", points, labels, 0.01, gamma=0.5)

    points = rng.integers(0, 3, size=(40, 2)).astype(np.float64)
    labels = np.where(rng.random(40) < 0.5, 1.0, -1.0)
    yield classification_case("ties-and-contradicting-duplicates", points, labels, 2.0, gamma=0.7)

    points, labels = _overlapping(rng, 60, 3)
    penalties = 10.0 ** rng.uniform(-2.0, 2.0, size=60)
    penalties[rng.random(60) < 0.25] = 0.0
    yield classification_case("random-boxes-some-frozen", points, labels, penalties, gamma=0.3)

    points, labels = _overlapping(rng, 50, 2)
    yield classification_case("linear-kernel-of-rank-two", points, labels, 1.0, kernel="linear")

    points, labels = _overlapping(rng, 80, 2)
    yield classification_case("polynomial", points, labels, 0.5, kernel="poly", gamma=0.5)

    points = rng.normal(size=(70, 2))
    lower, upper = -rng.uniform(0.0, 2.0, size=70), rng.uniform(0.0, 2.0, size=70)
    yield _case("arbitrary-linear-term", points, rng.normal(size=70), lower, upper)

    points = rng.normal(size=(45, 4))
    labels = np.where(np.arange(45) % 2 == 0, 1.0, -1.0)
    yield classification_case("all-free", points, labels, 100.0, gamma=5.0)

    points, labels = _overlapping(rng, 300, 5)
    yield classification_case("larger", points, labels, 3.0, gamma=0.1)


def _noisy_sine(rng: np.random.Generator, n: int, dimension: int) -> tuple[Matrix, Vector]:
    points = rng.normal(size=(n, dimension))
    return points, np.sin(2.0 * points[:, 0]) + 0.3 * rng.normal(size=n)


def kinked_cases() -> Iterator[Case]:
    """Yield problems with kinks that every exact solver has to solve, smallest first.

    They cover what breaks solvers there: kinks of 0, exact duplicates, boxes on one side of 0 or at 0 alone, kinks and
    boxes of very different widths, sides of 0 that the linear term alone gets wrong, an optimum at all the kinks, at
    all the bounds, or at none of them, and a kernel of low rank.
    """
    rng = np.random.default_rng(20241103)

    points, targets = _noisy_sine(rng, 30, 2)
    yield regression_case("nothing-outside-the-tube", points, targets, 1.0, 3.0)

    points, targets = _noisy_sine(rng, 30, 2)
    yield regression_case("tube-all-bounded", points, targets, 0.01, 1e-3)

    points = rng.integers(0, 3, size=(40, 2)).astype(np.float64)
    targets = rng.integers(-2, 3, size=40).astype(np.float64)
    yield regression_case("tube-ties-and-duplicates", points, targets, 2.0, 0.5, gamma=0.7)
    yield regression_case("no-tube-ties-and-duplicates", points, targets, 2.0, 0.0, gamma=0.7)

    points, targets = _noisy_sine(rng, 50, 2)
    yield regression_case("tube-linear-kernel", points, targets, 1.0, 0.2, kernel="linear")

    points = rng.normal(size=(60, 2))
    upper, lower = 10.0 ** rng.uniform(-2.0, 1.0, size=60), -(10.0 ** rng.uniform(-2.0, 1.0, size=60))
    upper[::3], lower[::4] = 0.0, 0.0
    kink = np.where(np.arange(60) % 5 == 0, 0.0, 10.0 ** rng.uniform(-3.0, 1.0, size=60))
    yield _case("random-boxes-and-kinks", points, 2.0 * rng.normal(size=60), lower, upper, kink)

    points, targets = _noisy_sine(rng, 45, 4)
    yield regression_case("tube-all-free", points, targets, 100.0, 1e-3, gamma=5.0)

    # Targets on a slope that the first samples alone explain: the others change sides on the way.
    points = np.linspace(-2.0, 2.0, 80)[:, None]
    targets = 3.0 * points[:, 0] + 0.2 * rng.normal(size=80)
    yield regression_case("tube-on-a-slope", points, targets, 10.0, 0.1, kernel="poly", gamma=0.5)

    points, targets = _noisy_sine(rng, 250, 3)
    yield regression_case("tube-larger", points, targets, 3.0, 0.1, gamma=0.2)


def many_class_points(n_classes: int, per_class: int, *, seed: int = 0) -> tuple[Matrix, NDArray[np.int64]]:
    """Overlapping Gaussian clouds on a circle, one per class, samples shuffled: inputs and class codes."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(n_classes), per_class))
    angles = 2.0 * np.pi * codes / n_classes
    centres = 2.0 * np.column_stack((np.cos(angles), np.sin(angles)))
    return centres + rng.normal(size=(codes.size, 2)), codes
