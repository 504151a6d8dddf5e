"""What a search says of itself: its work, its ties, the edges of its grid."""

from __future__ import annotations

import numbers
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from widemargin.model_selection.grid.setup import Found, machine_of
from widemargin.model_selection.grid.shared_search import SharedSearch

#: Relative difference below which scores are equal: means of the same scores may differ in their last digits.
ROUNDING = 1e-12


@dataclass(frozen=True)
class WorkReport:
    """What a search did, and what it was spared.

    Attributes
    ----------
    machines : int
        Machines asked for: candidates times splits.
    solved, repeated, unfinished : int
        Those that were trained, those that are provably equal to the one before, those that time did not suffice for.
        Machines whose training failed are none of these.
    iterations : int or None
        Steps of the solver. None, as both that follow, if work could not be shared: then nobody counted.
    kernel_evaluations : int or None
        Kernel values that were computed for the machines that were finished: every entry of each kernel matrix that
        was made, or what the solver asked for where matrices did not fit into memory. Workers side by side may compute
        a matrix more than once, so that the number can differ from one run to the next.
    cold_kernel_evaluations : int or None
        Kernel values that the same machines would compute if none shared anything: of each training row with each row
        of the split, once for every machine. This is a count, not a measurement: a solver that stays away from some
        rows computes fewer, one whose cache is too small more. :func:`measure_cold` measures.
    seconds : float
        Time of the search, without the final fit.

    Examples
    --------
    >>> print(WorkReport(80, 60, 20, 0, 4000, 1_600_000, 30_720_000, 0.25))
    80 machines: 60 solved, 20 equal to a solved one; 4,000 steps in 0.25 s
    1,600,000 kernel values computed; 30,720,000 if machines shared nothing
    """

    machines: int
    solved: int
    repeated: int
    unfinished: int
    iterations: int | None
    kernel_evaluations: int | None
    cold_kernel_evaluations: int | None
    seconds: float

    def __str__(self) -> str:
        parts = [f"{self.machines:,} machines: {self.solved:,} solved"]
        if self.repeated:
            parts.append(f"{self.repeated:,} equal to a solved one")
        if self.unfinished:
            parts.append(f"{self.unfinished:,} left undone")
        machines = ", ".join(parts)
        seconds = f"{self.seconds:.3g}" if self.seconds < 100 else f"{self.seconds:,.0f}"
        if self.iterations is None:
            return f"{machines}, each alone; {seconds} s"
        return (
            f"{machines}; {self.iterations:,} steps in {seconds} s\n"
            f"{self.kernel_evaluations:,} kernel values computed; {self.cold_kernel_evaluations:,} if machines "
            "shared nothing"
        )

    @classmethod
    def of_shared(cls, search: SharedSearch, found: Found, seconds: float) -> Self:
        """Report a search from what it has found."""
        data = search.data
        rows = [(len(np.unique(train)), len(test)) for train, test in data.splits]
        done = [one for one in found.values() if one.fit_error is None]
        cold = 0
        for one in done:
            n_train, n_test = rows[one.split]
            if search.machines[one.candidate].kernel != "precomputed":
                cold += n_train * (n_train + n_test)
        machines = len(data.candidates) * len(data.splits)
        return cls(
            machines=machines,
            solved=sum(not one.repeated for one in done),
            repeated=sum(one.repeated for one in done),
            unfinished=machines - len(found),
            iterations=sum(one.iterations for one in done),
            kernel_evaluations=sum(one.kernel_evaluations for one in done),
            cold_kernel_evaluations=cold,
            seconds=seconds,
        )

    @classmethod
    def of_plain(cls, results: Mapping[str, Any], n_splits: int, seconds: float) -> Self:
        """Report a search whose machines were trained alone, from its results; solved are those with a score."""
        metric = next(key.removeprefix("split0") for key in results if key.startswith("split0_test_"))
        scores = [results[f"split{split}{metric}"] for split in range(n_splits)]
        return cls(
            machines=np.size(scores),
            solved=int(np.count_nonzero(~np.isnan(scores))),
            repeated=0,
            unfinished=0,
            iterations=None,
            kernel_evaluations=None,
            cold_kernel_evaluations=None,
            seconds=seconds,
        )

    @classmethod
    def total(cls, reports: Iterable[Self]) -> Self:
        """Add up reports.

        Examples
        --------
        >>> one = WorkReport(10, 8, 2, 0, 100, 50, 500, 1.5)
        >>> WorkReport.total([one, one]).machines
        20
        """
        columns: Any = zip(*map(astuple, reports), strict=True)
        sums: list[Any] = [None if None in column else sum(column) for column in columns]
        return cls(*sums)


@dataclass(frozen=True)
class ColdWork:
    """What machines took that were trained one by one, without their predictions."""

    machines: int
    iterations: int
    kernel_evaluations: int
    seconds: float


def measure_cold(
    search: Any, X: Any, y: Any = None, *, groups: Any = None, n_machines: int | None = None, **fit_params: Any
) -> ColdWork:
    """Train the machines of a search one by one, each from nothing, and count what that takes.

    Parameters
    ----------
    search : GridSearchCV
        A fitted one; its machines must be widemargin's.
    X, y, groups
        What it was fitted to. Splits are the same if the splitter draws them the same way each time.
    n_machines : int, optional
        Train so many only, evenly spread over the candidates and splits; by default all, which may take long.
    **fit_params
        What else its estimator was fitted with: ``sample_weight``.

    Returns
    -------
    ColdWork

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC, GridSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(SVC(), {"C": [1, 10, 100], "gamma": [0.1, 1]}).fit(X, y)
    >>> cold = measure_cold(search, X, y)
    >>> cold.machines, cold.kernel_evaluations > search.work_report_.kernel_evaluations
    (30, True)
    """
    splits = list(check_cv(search.cv, y, classifier=is_classifier(search.estimator)).split(X, y, groups))
    machines = [(params, train) for params in search.cv_results_["params"] for train, _ in splits]
    if n_machines is not None:
        chosen = np.linspace(0, len(machines) - 1, min(n_machines, len(machines)))
        machines = [machines[int(number)] for number in chosen]
    reports, began = [], time.perf_counter()
    for params, train in machines:
        estimator = clone(search.estimator).set_params(**clone(params, safe=False))
        own = _check_method_params(X, params=fit_params, indices=train)
        estimator.fit(_safe_indexing(X, train), None if y is None else _safe_indexing(y, train), **own)
        reports.extend(machine_of(estimator).fit_report_)
    return ColdWork(
        len(machines),
        sum(one.iterations for one in reports),
        sum(one.kernel_evaluations for one in reports),
        time.perf_counter() - began,
    )


def smoothness(parameters: Mapping[str, Any]) -> tuple[float, float]:
    """Order machines from smooth to wiggly: by C, then by gamma; what is no number comes last.

    Examples
    --------
    >>> smoothness({"svc__C": 2.0, "svc__gamma": "scale"})
    (2.0, inf)
    """

    def number(name: str) -> float:
        values = [value for key, value in parameters.items() if key.rpartition("__")[2] == name]
        return float(values[0]) if values and isinstance(values[0], numbers.Real) else np.inf

    return number("C"), number("gamma")


def tied(results: Mapping[str, Any], metric: str, index: int) -> list[int]:
    """Return the numbers of the candidates that score as well as one of them.

    Examples
    --------
    >>> tied({"mean_test_score": np.array([0.9, 0.7, 0.9])}, "score", 0)
    [0, 2]
    """
    scores = results[f"mean_test_{metric}"]
    best = scores[index]
    if not np.isfinite(best):
        return [index]
    return [int(one) for one in np.flatnonzero(scores >= best - ROUNDING * max(1.0, abs(best)))]


def smoothest(results: Mapping[str, Any], metric: str, index: int) -> int:
    """Return the smoothest machine of those that score as well as one of them.

    Examples
    --------
    >>> scores, params = np.array([0.9, 0.7, 0.9]), [{"C": 100}, {"C": 10}, {"C": 1}]
    >>> smoothest({"mean_test_score": scores, "params": params}, "score", 0)
    2
    """
    return min(tied(results, metric, index), key=lambda one: (*smoothness(results["params"][one]), one))


def edges(candidates: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any]) -> dict[str, str]:
    """Name the parameters whose chosen value is the smallest or the largest of the grid.

    Examples
    --------
    >>> edges([{"C": 1, "gamma": 0.1}, {"C": 2, "gamma": 0.1}], {"C": 2, "gamma": 0.1})
    {'C': 'largest'}
    """
    found: dict[str, str] = {}
    for name, value in chosen.items():
        others = {other[name] for other in candidates if isinstance(other.get(name), numbers.Real)}
        if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)) or len(others) < 2:
            continue
        if value == min(others):
            found[name] = "smallest"
        elif value == max(others):
            found[name] = "largest"
    return found
