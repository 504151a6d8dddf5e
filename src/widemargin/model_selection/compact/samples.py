"""The samples of a compact model: which of them train, judge and test, and features on one scale."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin.kernels.spread import MODERATE, column_moments, column_variances
from widemargin.objectives.base import Ids, Vector
from widemargin.objectives.decision_quality import stratified_split

#: Samples this far from each other have a squared distance that float32 holds.
FARTHEST = 1e18

#: Numbers whose differences float64 holds, and an exponent whose power of two has an inverse.
LARGEST, SMALLEST_UNIT = 2.0**1022, -1000

#: A mean so many standard deviations from 0 leaves float32 four digits of what a feature varies by.
AWAY = 1e3


class Split(NamedTuple):
    """Samples that are simplified and trained on, samples that choose the model, and samples that only test it."""

    train: Ids
    validation: Ids
    test: Ids


def nested_split(
    labels: NDArray[np.intp], classes: NDArray[Any], validation_size: float, test_size: float, seed: int
) -> Split:
    """Set a share of every class aside for tests, and a share of the rest for validation [Lebrun2006, Table 1].

    Examples
    --------
    >>> split = nested_split(np.repeat([0, 1], [9, 18]), np.array([0, 1]), 1 / 3, 1 / 3, seed=0)
    >>> [len(part) for part in split]
    [12, 6, 9]
    """
    least = 3 if test_size > 0 else 2
    counts = np.bincount(labels, minlength=len(classes))
    if counts.min() < least:
        name, found = classes[counts.argmin()], int(counts.min())
        label = name.item() if isinstance(name, np.generic) else name
        purposes = "to train on, one to choose the model by and one to test it"
        if least == 2:
            purposes = "to train on and one to choose the model by"
        raise ValueError(
            f"y holds {found} sample{'s' * (found != 1)} of class {label!r}; every class needs {least}: one {purposes}."
        )
    generator = np.random.default_rng(seed)
    learning, test = np.arange(len(labels)), np.empty(0, dtype=np.intp)
    if test_size > 0:
        learning, test = stratified_split(labels, test_size, generator, keep=2)
    train, validation = stratified_split(labels[learning], validation_size, generator)
    return Split(learning[train], learning[validation], test)


@dataclass(frozen=True)
class FeatureScale:
    """What features are reduced by and multiplied with; distances are those of the result.

    Parameters
    ----------
    means : ndarray of shape (d,)
        Zeros for sparse samples, whose zeros stay zeros: distances do not depend on it.
    factors : ndarray of shape (d,)
    varies : ndarray of bool of shape (d,)
        Whether a feature has more than one value among the samples trained on.
    """

    means: Vector
    factors: Vector
    varies: NDArray[np.bool_]

    @classmethod
    def of(cls, X: Any, standardize: bool) -> FeatureScale:
        """Take the scale from samples: a variance of 1/d for each of d features if they are standardised.

        Squared distances are then about 2, so that a width of 1 is one to begin with.

        Examples
        --------
        >>> scale = FeatureScale.of(np.array([[1.0, 5.0], [3.0, 5.0]]), True)
        >>> scale.factors.round(4).tolist(), scale.varies.tolist()
        ([0.7071, 1.0], [True, False])
        """
        d, units = X.shape[1], _units(X)
        X = X if (units == 1.0).all() else X.multiply(1.0 / units).tocsr() if sp.issparse(X) else X / units
        if sp.issparse(X):
            means, variances = np.zeros(d), column_variances(X)
        else:
            means, variances = column_moments(X, np.ones(X.shape[0]))
        varies = variances > 0
        factors = np.ones(d)
        if standardize:
            with np.errstate(over="ignore"):
                factors[varies] = 1.0 / np.sqrt(variances[varies] * d) / units[varies]
            little = np.flatnonzero(np.isinf(factors))
            if len(little):
                raise ValueError(
                    f"Column {little[0]} of X has a standard deviation of "
                    f"{float(np.sqrt(variances[little[0]]) * units[little[0]]):.3g}, too small for float64 to divide "
                    "by; multiply the column by a number."
                )
        means *= units
        return cls(means, factors, varies)

    def scaled(self, X: Any, features: Ids | None = None) -> Any:
        """Return samples on this scale, in float64; `X` may hold some of the features only.

        Sparse samples stay sparse if the scale is one of sparse samples.
        """
        own = slice(None) if features is None else features
        means, factors = self.means[own], self.factors[own]
        if sp.issparse(X):
            if not means.any():
                return sp.csr_array(X.multiply(factors).tocsr())
            X = X.toarray()
        return (X - means) * factors

    def original(self, X: Any, features: Ids) -> Any:
        """Return samples of some features as they were."""
        means, factors = self.means[features], self.factors[features]
        if sp.issparse(X):
            return sp.csr_array(X.multiply(1.0 / factors).tocsr())
        return X / factors + means

    def for_search(self, X: Any) -> Any:
        """Return samples on this scale; refuse those too large for their distances to be told.

        Features that do not vary among the samples trained on are 0: whatever other values they have, nothing was
        learnt of them. In float32, unless sparse samples, of which no mean was taken off, would lose what they differ
        by.
        """
        values = replace(self, factors=np.where(self.varies, self.factors, 0.0)).scaled(X)
        size = abs(values).max(axis=0)
        sizes = np.asarray(size.toarray() if sp.issparse(size) else size).ravel()
        far = np.flatnonzero(~(sizes < FARTHEST / (2.0 * math.sqrt(len(sizes)))))
        if len(far):
            raise ValueError(
                f"Column {far[0]} of X reaches {sizes[far[0]]:.3g} on the scale of the search, too far for distances "
                "in float32; scale X, with standardize=True or yourself, or leave the samples out that are so far away."
            )
        if sp.issparse(values):
            means = np.asarray(values.mean(axis=0)).ravel()
            if (np.abs(means[self.varies]) > AWAY * np.sqrt(column_variances(values)[self.varies])).any():
                return values
        return values.astype(np.float32)


def _units(X: Any) -> Vector:
    """Return a power of two for every column: 1, or the size of entries whose squares float64 does not hold."""
    size = abs(X).max(axis=0)
    sizes = np.asarray(size.toarray() if sp.issparse(size) else size, dtype=np.float64).ravel()
    if sizes.max() > LARGEST:
        raise ValueError(
            f"Column {sizes.argmax()} of X reaches {sizes.max():.3g}, and float64 may not hold its differences; "
            "divide the column by a number."
        )
    extreme = (sizes > 0) & ((sizes < 1.0 / MODERATE) | (sizes > MODERATE))
    return np.where(extreme, np.ldexp(1.0, np.maximum(np.frexp(sizes)[1], SMALLEST_UNIT)), 1.0)
