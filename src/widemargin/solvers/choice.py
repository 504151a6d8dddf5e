"""Solvers by name, and whether one suits a problem."""

from __future__ import annotations

from collections.abc import Mapping

from widemargin.solvers.base import Solver
from widemargin.solvers.decomposition import SMO, Auto, Block
from widemargin.solvers.geometric import MDM, MaxMinOver

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
    >>> from widemargin.solvers.base import MINIMUM_NORM
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
