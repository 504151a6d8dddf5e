"""Solvers as objects: which steps train a model, and in which precision. Names are shorthand for objects with defaults.

``SVC(solver="smo")`` is ``SVC(solver=SMO())``; an object has options: ``SVC(solver=SMO(planning_ahead=0))``. Imports
from ``machines`` only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sklearn.base import BaseEstimator

from widemargin.machines.dual import SolverOptions

__all__ = ["MDM", "SMO", "Auto", "Block", "MaxMinOver", "Solver", "as_solver"]

#: What a solver may need of the problem that a model makes.
MINIMUM_NORM = "the point of a convex hull nearest to the origin"
ONE_CLASS_MARGIN = "a margin of 1 around one class, with squared slack"
ALL_SAMPLES = "no samples held out"


class Solver(BaseEstimator):  # type: ignore[misc]
    """The options of one solver.

    A solver is compared, cloned, printed and searched (``solver__dtype``) like an estimator. Its parameters are those
    of :class:`widemargin.machines.dual.SolverOptions` that it has a use for; there they are checked.

    Attributes
    ----------
    name : str
        What the solver is called where a name stands for it.
    needs : tuple of str
        What it needs of a problem.
    dtype : {"float32", "float64"}
        Storage of kernel values while solving.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    dtype: str

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *sorted(vars(self).items())))

    def options(self, *, shrinking: bool = True, cache_bytes: int | None = None, n_threads: int = 1) -> SolverOptions:
        """Return the core's options; parameters that mean nothing are refused.

        Examples
        --------
        >>> from widemargin.solvers import SMO
        >>> SMO(planning_ahead=0).options(shrinking=False).planning_ahead
        0
        """
        return SolverOptions(
            solver=self.name, **vars(self), shrinking=shrinking, cache_bytes=cache_bytes, n_threads=n_threads
        )


@dataclass(kw_only=True, repr=False, eq=False)
class Decomposition(Solver):
    """Options of solvers that improve some variables at a time."""

    selection: str = "auto"
    planning_ahead: int = 3
    dtype: str = "float32"


class Auto(Decomposition):
    """Blocks of rows while these are new, then SMO, and Newton steps where free variables are few.

    Where kernel values are cheap (the Gaussian kernel of few features), it works on the free and the strongly violating
    variables only, and comes back to the others from time to time.

    Parameters
    ----------
    selection : {"auto", "maximal-violating-pair", "second-order", "maximum-gain"}, default="auto"
        Working-set selection [Glasmachers2008, eq. 4.5, eq. 4.7, Algorithm 6.1]; "auto" is "second-order".
    planning_ahead : int, default=3
        Plan steps with this many recent working sets [Glasmachers2008, chapter 7]; 0 takes plain Newton steps.
    dtype : {"float32", "float64"}, default="float32"
        Storage of kernel values while solving. Where float32 does not reach the tolerance, float64 takes over.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC
    >>> from widemargin.solvers import Auto
    >>> SVC(solver=Auto(dtype="float64")).fit(*load_iris(return_X_y=True)).fit_report_.converged
    True
    """

    name: ClassVar[str] = "auto"


class SMO(Decomposition):
    """Sequential minimal optimisation: two variables a step, as in the papers, and nothing else.

    Parameters
    ----------
    selection : {"auto", "maximal-violating-pair", "second-order", "maximum-gain"}, default="auto"
        As in :class:`Auto`; "auto" is "maximum-gain" where the kernel matrix does not fit into the cache.
    planning_ahead, dtype
        See :class:`Auto`.

    References
    ----------
    [Glasmachers2008]_ chapters 4 to 7; keys are those of ``references.bib``.

    Examples
    --------
    >>> from widemargin import SVC
    >>> from widemargin.solvers import SMO
    >>> SVC(solver=SMO(selection="maximum-gain")).set_params(solver__planning_ahead=0).solver
    SMO(planning_ahead=0, selection='maximum-gain')
    """

    name: ClassVar[str] = "smo"


class Block(Decomposition):
    """Working sets of hundreds of variables, whose kernel rows are computed together.

    Parameters
    ----------
    selection, planning_ahead, dtype
        Of the steps within a working set; see :class:`Auto`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC
    >>> SVC(solver="block").fit(*load_iris(return_X_y=True)).fit_report_.converged
    True
    """

    name: ClassVar[str] = "block"


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


#: All solvers by name.
SOLVERS: dict[str, type[Solver]] = {solver.name: solver for solver in (Auto, SMO, Block, MDM, MaxMinOver)}


def as_solver(solver: str | Solver) -> Solver:
    """Return a solver, given as such or by its name.

    Examples
    --------
    >>> as_solver("mdm")
    MDM()
    >>> as_solver("newton")
    Traceback (most recent call last):
    ...
    ValueError: solver must be one of 'auto', 'smo', 'block', 'mdm', 'maxminover', or an object of widemargin.solvers; \
got 'newton'.
    """
    if isinstance(solver, Solver):
        return solver
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]()
    names = ", ".join(map(repr, SOLVERS))
    raise ValueError(f"solver must be one of {names}, or an object of widemargin.solvers; got {solver!r}.")


def require_able(solver: str | Solver, missing: Mapping[str, str]) -> None:
    """Refuse a solver whose parameters mean nothing, or that needs what a problem does not offer.

    Parameters
    ----------
    solver : str or Solver
    missing : mapping
        What the problem does not offer, and which parameters of the model would make it offer that.

    Examples
    --------
    >>> require_able("smo", {MINIMUM_NORM: "fit_intercept=False"})
    >>> require_able("mdm", {MINIMUM_NORM: "fit_intercept=False"})
    Traceback (most recent call last):
    ...
    ValueError: solver='mdm' requires fit_intercept=False.
    """
    own = as_solver(solver)
    if own is solver:
        own.options()  # checks its parameters; a name stands for the defaults
    for need in own.needs:
        if need in missing:
            raise ValueError(f"solver={solver!r} requires {missing[need]}.")
