"""What a search consists of, and what it finds, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.pipeline import Pipeline

from widemargin.machines.dual import Vector
from widemargin.model_selection.grid.prepared_examples import Share
from widemargin.model_selection.grid.scoring import Scoring
from widemargin.model_selection.grid.splits import Rows
from widemargin.plans import Plan

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Unit:
    """Candidates that differ in C alone, in the order of a chain, on one split: what is solved in one go."""

    split: int
    candidates: tuple[int, ...]


@dataclass
class Evaluation:
    """What a candidate came to on a split, in the words of scikit-learn's results."""

    candidate: int
    split: int
    test_scores: Any
    train_scores: Any
    n_test_samples: int
    fit_time: float
    score_time: float
    fit_error: str | None = None
    iterations: int = 0
    repeated: bool = False
    converged: bool = True
    kernel_evaluations: int = 0


#: Evaluations by candidate and split.
Found = dict[tuple[int, int], Evaluation]


@dataclass(frozen=True)
class SearchData:
    """Everything that stays the same throughout a search.

    `X` and `y` are checked, `rows` are the examples as the user gave them. `raises` lets failures of a machine end the
    search. `plan` says where chains start. `fit_params` are for the steps before the machine.
    """

    estimator: Any
    candidates: Sequence[Parameters]
    X: Any
    y: Any
    splits: Sequence[tuple[Rows, Rows]]
    weights: Vector
    scoring: Scoring
    rows: Any = None
    raises: bool = False
    return_train_score: bool = False
    share: Share = field(default_factory=Share)
    plan: str | Plan = "heuristic"
    fit_params: Mapping[str, Any] = field(default_factory=dict)


def machine_of(estimator: Any) -> Any:
    """Return the machine at the end of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def prefix_of(estimator: Any) -> str:
    """Return what the names of the machine's parameters begin with: nothing, if it is not in a pipeline."""
    return f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
