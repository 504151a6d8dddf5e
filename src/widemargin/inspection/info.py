"""What a picture shows, as plain data: computed here, drawn elsewhere."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt


class BinaryModel(Protocol):
    """A fitted two-class model, as far as the pictures need it."""

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The two labels, the one of positive decision values last."""

    @property
    def support_(self) -> npt.NDArray[Any]:
        """Indices of the support vectors among the training samples."""

    def decision_function(self, X: npt.NDArray[np.float64], /) -> npt.NDArray[np.float64]:
        """Return one decision value per sample."""


@dataclass(frozen=True)
class DecisionSurface:
    """A two-class model on a plane: decision values on a grid, and its training samples.

    Attributes
    ----------
    title : str
        The heading.
    horizontal, vertical : ndarray of shape (n_columns,) and (n_rows,)
        The grid's coordinates along the two features.
    values : ndarray of shape (n_rows, n_columns)
        Decision values: 0 on the boundary, -1 and +1 on the margins.
    points : ndarray of shape (n_points, 2)
        Training points.
    positive : ndarray of shape (n_points,), bool
        Whether a training point carries the second class label.
    support : ndarray of shape (n_points,), bool
        Whether a training point is a support vector.
    class_names : pair of str
        Names of the negative and the positive class.
    """

    title: str
    horizontal: npt.NDArray[np.float64]
    vertical: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    points: npt.NDArray[np.float64]
    positive: npt.NDArray[np.bool_]
    support: npt.NDArray[np.bool_]
    class_names: tuple[str, str]


@dataclass(frozen=True)
class DecisionValues:
    """A two-class model on new samples: how far each lies from the boundary, and on which side.

    Attributes
    ----------
    title : str
        The heading.
    values : ndarray of shape (n_samples,)
        Decision values.
    spread : ndarray of shape (n_samples,)
        Any second coordinate that keeps the samples apart.
    spread_name : str
        What the second coordinate is.
    positive : ndarray of shape (n_samples,), bool
        Whether a sample truly belongs to the second class.
    class_names : pair of str
        Names of the negative and the positive class.
    """

    title: str
    values: npt.NDArray[np.float64]
    spread: npt.NDArray[np.float64]
    spread_name: str
    positive: npt.NDArray[np.bool_]
    class_names: tuple[str, str]

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Whether a sample lies on the wrong side of the boundary."""
        return np.not_equal(self.values > 0, self.positive)


def decision_surface(
    model: BinaryModel,
    X: npt.NDArray[np.float64],
    y: npt.NDArray[Any],
    *,
    lower: float,
    upper: float,
    title: str,
    resolution: int = 300,
) -> DecisionSurface:
    """Evaluate a two-class model of two features on a square grid.

    Parameters
    ----------
    model : fitted two-class estimator, or a pipeline that ends in one
        Trained on ``X`` and ``y``.
    X : ndarray of shape (n_points, 2)
        Training points.
    y : ndarray of shape (n_points,)
        Their labels.
    lower, upper : float
        The grid runs from ``lower`` to ``upper`` in both features.
    title : str
        The heading.
    resolution : int, default=300
        Grid points along one edge.

    Returns
    -------
    info : DecisionSurface

    Raises
    ------
    ValueError
        If the model is no classifier of two classes, or `X` has not two features.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from widemargin.datasets import chess_board
    >>> from widemargin.inspection import decision_surface
    >>> X, y = chess_board(200, size=2, random_state=0)
    >>> info = decision_surface(SVC(C=10).fit(X, y), X, y, lower=0, upper=2, title="board", resolution=50)
    >>> info.values.shape, info.class_names
    ((50, 50), ('-1', '1'))
    """
    estimator: BinaryModel = getattr(model, "steps", [("", model)])[-1][1]
    if len(getattr(estimator, "classes_", ())) != 2:
        held = f" of {len(estimator.classes_)} classes" if hasattr(estimator, "classes_") else ""
        raise ValueError(f"model must be a fitted classifier of two classes, got {type(estimator).__name__}{held}.")
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"X must hold two features, the axes of the picture, got an array of shape {X.shape}.")
    edge = np.linspace(lower, upper, resolution)
    grid = np.stack(np.meshgrid(edge, edge), axis=-1).reshape(-1, 2)
    support = np.zeros(len(X), dtype=np.bool_)
    support[estimator.support_] = True
    return DecisionSurface(
        title=title,
        horizontal=edge,
        vertical=edge,
        values=np.asarray(model.decision_function(grid)).reshape(resolution, resolution),
        points=X,
        positive=np.asarray(y == estimator.classes_[1]),
        support=support,
        class_names=(str(estimator.classes_[0]), str(estimator.classes_[1])),
    )
