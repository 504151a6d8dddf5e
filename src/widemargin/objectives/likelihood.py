"""The logarithmic likelihood over random folds [Glasmachers2008, section 9.2.2]."""

from __future__ import annotations

from widemargin.objectives.base import BoundObjective, Task
from widemargin.objectives.bootstrap import OnRandomSplits, RandomSplits


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
