"""What all solvers share: parameters with scikit-learn's habits, and what a solver needs of a problem."""

from __future__ import annotations

from typing import ClassVar

from sklearn.base import BaseEstimator

from widemargin.machines.dual import SolverOptions

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
