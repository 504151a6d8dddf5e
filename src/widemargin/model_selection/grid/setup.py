"""What a search is built from: whether its machines can share work, and their examples, checked once for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_outlier_detector
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from widemargin._runtime import thread_count
from widemargin.estimators.scale import leaves_gamma_unused
from widemargin.estimators.validation import check_weights
from widemargin.machines.dual import Vector
from widemargin.model_selection.grid.data import SearchData, machine_of, prefix_of
from widemargin.model_selection.grid.metadata import fit_parameters
from widemargin.model_selection.grid.prepared_examples import Share
from widemargin.model_selection.grid.scoring import Scoring
from widemargin.model_selection.grid.splits import Rows, family_of


def why_plain(estimator: Any, param_grid: Any, fit_params: Mapping[str, Any]) -> str | None:
    """Say why the candidates of a search cannot share work, if they cannot.

    Examples
    --------
    >>> from widemargin import SVC
    >>> why_plain(SVC(), {"C": [1, 10]}, {})
    >>> why_plain(SVC(), {"dtype": ["float32", "float64"]}, {})
    "dtype='float64' asks for kernel values in double"
    """
    machine = machine_of(estimator)
    family = family_of(machine)
    if family is None:
        return f"{type(machine).__name__} is no machine whose candidates can share work"
    if isinstance(estimator, Pipeline) and estimator.memory is not None:
        return "The pipeline caches its steps in `memory`"
    settings = [machine.get_params(deep=False)]
    last = prefix_of(estimator)
    for grid in [param_grid] if isinstance(param_grid, Mapping) else list(param_grid):
        for key, values in grid.items():
            if last and key == last[:-2]:
                return f"The grid replaces the machine itself ({key!r})"
            if key.startswith(last):
                settings.extend({key.removeprefix(last): value} for value in values)
    for reason in map(family.why_alone, settings):
        if reason is not None:
            return reason
    others = fit_parameters(estimator, fit_params).others
    return f"Fit parameters other than the machine's weights were given ({', '.join(others)})" if others else None


def repeats_for_gamma(estimator: Any, param_grid: Any) -> str | None:
    """Name a kernel that some candidates of a search have which differ in a gamma that it does not use.

    Examples
    --------
    >>> from widemargin import SVC
    >>> repeats_for_gamma(SVC(), {"kernel": ["linear", "rbf"], "gamma": [0.1, 1.0]})
    'linear'
    >>> repeats_for_gamma(SVC(), [{"kernel": ["linear"]}, {"gamma": [0.1, 1.0]}])
    """
    machine, prefix = machine_of(estimator), prefix_of(estimator)
    if family_of(machine) is None:
        return None
    for grid in [param_grid] if isinstance(param_grid, Mapping) else param_grid:
        kernels, gammas = (grid.get(f"{prefix}{name}", [getattr(machine, name)]) for name in ("kernel", "gamma"))
        for kernel in kernels:
            if any(leaves_gamma_unused(kernel, gamma) for gamma in gammas):
                return str(kernel)
    return None


def search_data(
    search: Any, X: Any, y: Any, splits: Sequence[tuple[Rows, Rows]], scorers: Any, routed: Any
) -> SearchData:
    """Return what a search is about.

    Parameters
    ----------
    search : GridSearchCV
        Its parameters say what is searched.
    X, y
        Rows and targets as they were given.
    splits : sequence of (train, test)
    scorers : callable or dict
    routed : Bunch
        Who gets which of the parameters that the search is fitted with.
    """
    estimator = search.estimator
    given = fit_parameters(estimator, routed.estimator.fit)
    weights = check_weights(given.weights, _num_samples(X))
    rows, targets = _checked_examples(estimator, X, y, weights)
    accuracy = is_classifier(estimator) and (search.scoring is None or search.scoring == "accuracy")
    return SearchData(
        estimator,
        list(ParameterGrid(search.param_grid)),
        rows,
        targets,
        checked_splits(splits, _num_samples(X)),
        weights,
        Scoring(scorers, dict(routed.scorer.score), search.error_score, accuracy),
        rows=X,
        raises=search.error_score == "raise",
        return_train_score=bool(search.return_train_score),
        share=Share(search.memory, threads=thread_count(search.n_jobs)),
        plan=search.plan,
        fit_params=dict(routed.estimator.fit) if given.of_steps else {},
    )


def checked_splits(splits: Sequence[tuple[Any, Any]], n: int) -> list[tuple[Rows, Rows]]:
    """Return the rows that the parts of splits consist of; splitters may give masks, or count from the end.

    Examples
    --------
    >>> checked_splits([([True, True, False], [-1])], 3)
    [(array([0, 1]), array([2]))]
    """
    rows, found = np.arange(n), []
    for number, split in enumerate(splits):
        parts = []
        for part, given in zip(("training", "test"), split, strict=True):
            try:
                chosen = rows[np.asarray(given, dtype=None if len(given) else np.intp)]
            except IndexError as problem:
                raise ValueError(
                    f"cv yields a {part} part of split {number} that cannot be used ({problem})."
                ) from None
            if not len(chosen):
                raise ValueError(
                    f"cv yields an empty {part} part of split {number}; a split needs rows to train on and rows to "
                    "judge by."
                )
            parts.append(chosen)
        found.append((parts[0], parts[1]))
    return found


def _checked_examples(estimator: Any, X: Any, y: Any, weights: Vector) -> tuple[Any, Any]:
    """Return rows and targets as a machine takes them; rows of a pipeline are checked once they passed its steps."""
    machine, alone = clone(machine_of(estimator)), not isinstance(estimator, Pipeline)
    targets = None if y is None else np.asarray(y)
    if is_outlier_detector(machine):
        X = machine._check_examples(X) if alone else X
    elif not alone:
        _, targets = machine._check_examples_and_labels(np.zeros((_num_samples(X), 1)), y)
    elif is_classifier(machine):
        X, targets = machine._check_examples_and_labels(X, y)
    else:
        X, targets = machine._check_examples_and_numbers(X, y)
    if alone:
        machine._checked_kernel(X, weights)  # tells, once, of rows and a kernel that do not suit each other
    return X, targets
