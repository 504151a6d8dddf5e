"""Likelihoods of random hold-out sets [Glasmachers2008, sections 9.2.2 and 9.2.3]: alone, and with a prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Unpack

import numpy as np

from widemargin.kernels import Kernel
from widemargin.kernels.heuristics import jaakkola_gamma
from widemargin.kernels.rows import is_matrix
from widemargin.objectives.base import BoundObjective, Evaluated, How, Task, Vector
from widemargin.objectives.held_out.bootstrap import OnRandomSplits, RandomSplits

#: Given kernel and C: log density, its derivatives with respect to theta, and its derivative with respect to log C.
LogPrior = Callable[[Kernel, float], tuple[float, Vector, float]]


class Likelihood(OnRandomSplits):
    r"""Log-likelihood of the labels of random hold-out sets, :math:`\hat L = \sum_n \log \sigma(s\,y_n f(x_n))`.

    A model is trained on a random part of the samples, drawn anew for each evaluation; the others are held out, and
    the slope s of the sigmoid is the likeliest one for them. The mean over all folds is a smooth function that looks
    like the bootstrap error; a single value and its gradient are random [Glasmachers2008, sections 9.2.2 and 9.3.5].
    For more than two classes pairs of classes add up. Greater is better.

    A value costs a kernel matrix, n^2 d operations, and `draws` models; a gradient one factorisation of each
    model's free variables and another pass over the kernel matrix.

    Parameters
    ----------
    share : float, default=0.2
        Share of the samples that is held out.
    draws : int, default=1
        Splits an evaluation; their likelihoods add up.
    """

    name = "likelihood"
    greater_is_better = True

    def why_not(self, task: Task, C: float) -> str | None:
        """Say why this objective does not suit a task, in a sentence, or None if it does."""
        if task.n_classes == 0:
            return f"objective={self.name!r} is about probabilities of classes; regression has none."
        return None

    def bind(self, task: Task) -> BoundObjective:
        """Nothing is prepared: folds are drawn for each evaluation."""
        return RandomSplits(task, "likelihood", self.share, self.draws)


class JaakkolaPrior:
    r"""The prior of [Glasmachers2008, section 12.1].

    Parameters of the kernel are normally distributed around those of Jaakkola's heuristic, log gamma with standard
    deviation `width` (:math:`e^2` is a typical error of the heuristic). log C is as good as flat: its density falls by
    a small factor only, so that a search leaves the plateau of hard margins, where the likelihood does not depend on C.

    Parameters that do not come from the data, and all those of kernels of strings and other objects, lie around where
    the search begins (`task.kernel`; without one, around the first kernel that is asked about).

    Parameters
    ----------
    task : Task
    width : float, default=2.0
    pull : float, default=1e-3
        Slope of the log density in -log C.
    """

    def __init__(self, task: Task, width: float = 2.0, pull: float = 1e-3) -> None:
        self._X, self._width, self._pull = task.X, width, pull
        self._gamma: float | None = None
        if is_matrix(task.X):  # other samples have no distances that would say how wide a kernel is to be
            self._gamma = jaakkola_gamma(task.X, task.y if task.n_classes else None, task.weights)
        self._begin = task.kernel
        self._centres: dict[tuple[type[Kernel], int], Vector] = {}

    def __call__(self, kernel: Kernel, C: float) -> tuple[float, Vector, float]:
        """Return the log density, up to a constant, and its derivatives."""
        theta = kernel.theta
        kind = (type(kernel), len(theta))
        if kind not in self._centres:
            begin = self._begin
            known = begin is not None and (type(begin), begin.n_dims) == kind
            centre = begin if begin is not None and known else kernel
            self._centres[kind] = centre.typical(self._X, gamma=self._gamma).theta
        width = self._width * kernel.theta_per_log_gamma
        away = (theta - self._centres[kind]) / width
        price = float(np.log(C)) if np.isfinite(C) else 0.0  # a hard margin is no choice of C
        return -0.5 * float(away @ away) - self._pull * price, -away / width, -self._pull


class Posterior(Likelihood):
    r"""Log-posterior of the parameters, :math:`\hat L + \log P(C, \theta)` [Glasmachers2008, section 9.2.3].

    The prior keeps searches over many parameters away from extreme values. See :class:`Likelihood` for the first term
    and its costs; the prior costs nothing. Greater is better.

    Parameters
    ----------
    prior : callable, default=None
        Called with kernel and C; returns the log density, its derivatives with respect to `theta` (an array) and its
        derivative with respect to log C. None is the prior of the thesis: log gamma around Jaakkola's heuristic with
        standard deviation 2, log C flat but for a small pull.
    share, draws
        As for :class:`Likelihood`.
    """

    name = "posterior"

    def __init__(self, prior: LogPrior | None = None, share: float = 0.2, draws: int = 1) -> None:
        super().__init__(share, draws)
        if prior is not None and not callable(prior):
            raise TypeError(f"prior must be None or a callable that takes a kernel and C; got {prior!r}.")
        self.prior = prior

    def bind(self, task: Task) -> BoundObjective:
        """Prepare the prior."""
        return _WithPrior(super().bind(task), self.prior or JaakkolaPrior(task))


class _WithPrior(BoundObjective):
    def __init__(self, likelihood: BoundObjective, prior: LogPrior) -> None:
        self._likelihood, self._prior = likelihood, prior

    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Unpack[How]) -> Evaluated:
        """Add the prior to the likelihood."""
        found = self._likelihood.evaluate(kernel, C, gradient=gradient, **how)
        value, of_theta, c_slope = self._prior(kernel, C)
        if np.shape(of_theta) != (kernel.n_dims,):
            raise ValueError(
                f"prior returned derivatives of shape {np.shape(of_theta)} for {kernel!r}, whose theta holds "
                f"{kernel.n_dims} numbers."
            )
        if found.gradient is None or found.c_slope is None:
            return replace(found, value=found.value + value)
        return replace(
            found,
            value=found.value + value,
            gradient=found.gradient + of_theta,
            c_slope=found.c_slope + c_slope,
        )
