"""Solvers that look for a point of a convex hull, and so for some problems only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from widemargin.solvers.base import ALL_SAMPLES, MINIMUM_NORM, ONE_CLASS_MARGIN, Solver


@dataclass(kw_only=True, repr=False, eq=False)
class MDM(Solver):
    """The algorithm of Mitchell, Demyanov and Malozemov for the point of a convex hull nearest to the origin.

    A step moves weight from the support vector with the largest margin to the sample with the smallest one. It solves
    minimum norm problems: :class:`~widemargin.SVC` without an intercept and with the squared hinge loss or ``C=inf``;
    :class:`~widemargin.OneClassSVM` with the squared hinge loss, or with a `nu` so small that no sample may be
    rejected; :class:`~widemargin.SVDD` with a hard ball and a kernel whose k(x, x) is constant.

    Parameters
    ----------
    accelerated : bool, default=True
        Add up the steps between two appearances of the same pair, since these tend to repeat, and take them as one.
    dtype : {"float32", "float64"}, default="float32"
        Storage of kernel values while solving. Where float32 does not reach the tolerance, float64 takes over.

    References
    ----------
    [Barbero2008]_; keys are those of ``references.bib``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC
    >>> from widemargin.solvers import MDM
    >>> model = SVC(loss="squared_hinge", fit_intercept=False, solver=MDM(accelerated=False))
    >>> model.fit(*load_iris(return_X_y=True)).fit_report_.converged
    True
    """

    name: ClassVar[str] = "mdm"
    needs: ClassVar[tuple[str, ...]] = (MINIMUM_NORM, ALL_SAMPLES)
    accelerated: bool = True
    dtype: str = "float32"


class MaxMinOver(Solver):
    """OneClassMaxMinOver, which raises and lowers counts of samples, for one-class models with squared slack.

    It stops when (primal - dual) / (primal + 1) is at most the tolerance, and keeps kernel values in float32.

    References
    ----------
    [Timm2009, Algorithm 2]_; keys are those of ``references.bib``.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> OneClassSVM(loss="squared_hinge", solver="maxminover").fit(X).fit_report_.converged
    True
    """

    name: ClassVar[str] = "maxminover"
    needs: ClassVar[tuple[str, ...]] = (ONE_CLASS_MARGIN, ALL_SAMPLES)
    dtype = "float32"
