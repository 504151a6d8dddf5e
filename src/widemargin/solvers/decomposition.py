"""Solvers of every dual problem, a few variables at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from widemargin.solvers.base import Solver


@dataclass(kw_only=True, repr=False, eq=False)
class Decomposition(Solver):
    """Options of solvers that improve some variables at a time."""

    selection: str = "auto"
    planning_ahead: int = 3
    dtype: str = "float32"


class Auto(Decomposition):
    """Blocks of rows while these are new, then single steps, and Newton steps where free variables are few.

    Where kernel values are cheap (the Gaussian kernel of few features), it works on the free and the strongly violating
    variables only, and comes back to the others from time to time.

    Parameters
    ----------
    selection : {"auto", "most-violating-pair", "second-order", "maximum-gain"}, default="auto"
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
    selection : {"auto", "most-violating-pair", "second-order", "maximum-gain"}, default="auto"
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
