"""The searches of a fit: a compact model for two classes, or one for each class against all others."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.estimators.calibration import fitted_sigmoid
from widemargin.estimators.svc import SVC
from widemargin.kernels.rows import take
from widemargin.model_selection.compact.samples import FeatureScale, Split, nested_split
from widemargin.model_selection.compact.selection import CompactSpace, Searched, searched
from widemargin.objectives import Task
from widemargin.objectives.decision_quality import DecisionQuality, balanced_rate, kappas
from widemargin.objectives.prototype_quality import PrototypeQuality, Prototypes
from widemargin.runtime import INTERRUPTED, Stop, StoppedError, thread_count
from widemargin.runtime.interrupts import interrupt_held_back
from widemargin.strategies import TabuSearch
from widemargin.study import Journal, Trace, progress_for
from widemargin.study.journal_part import part_of
from widemargin.study.trace import SEARCH

#: Share of the time of a decision function that its search may take; the rest is for training and judging its choice.
FOR_SEARCHING = 0.85

#: What the training of a choice may take, however late it is.
LEAST_SECONDS = 0.05

Matrix = NDArray[np.float64]
Ids = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class CompactModel:
    """A decision function that was chosen, and how it was judged.

    Attributes
    ----------
    label : object
        The class that it tells from the others.
    model : SVC
        The function, of the features that it uses, on the scale of the search.
    features : ndarray of int
        The columns of X that it uses.
    level : int
        Of simplification: each side of the problem was trained on at most 2^level prototypes.
    C, sigma : float
    quality : float
        On the validation samples, recomputed from the model.
    validation_rate, test_rate : float
        Balanced recognition rate on the validation samples, and on the test samples (NaN if there are none).
    feature_cost : float
        Sum of the costs of the features, relative to the mean cost.
    sigmoid : pair of floats
        Slope and offset that turn decision values into log-odds, from the validation samples.
    trace : Trace or None
        All evaluations of its search; None after loading it from a file.
    ended : str
        Why the search ended.
    """

    label: Any
    model: SVC
    features: Ids
    level: int
    C: float
    sigma: float
    quality: float
    validation_rate: float
    test_rate: float
    feature_cost: float
    sigmoid: tuple[float, float]
    trace: Trace | None
    ended: str

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return len(self.model.support_)

    @property
    def cost(self) -> int:
        """Multiplications of a prediction: features are scaled; each vector has a distance, a width, a coefficient."""
        return len(self.features) + self.n_support * (len(self.features) + 2)


@dataclass(eq=False)
class CompactSearch:
    """The searches of a fit: the same split and scale for all decision functions.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    labels : ndarray of shape (n,)
        Class numbers.
    classes : ndarray
        Class labels by number.
    objective : DecisionQuality
    strategy : TabuSearch
    stop : Stop
        Decision functions share its time evenly; each may take its number of evaluations.
    journal : Journal or None
    seed : int
    max_bytes : int
        What a search may take.
    validation_size, test_size, standardize, select_features, tol, n_jobs, progress
        As :class:`CompactSVC` takes them.

    Attributes
    ----------
    split : Split
    scale : FeatureScale
    remarks : list of str
        What a user should know.
    interrupted : bool
        Whether somebody pressed Ctrl-C after a search, while the model that it had chosen was trained.
    """

    X: Any
    labels: Ids
    classes: NDArray[Any]
    objective: DecisionQuality
    strategy: TabuSearch
    stop: Stop
    journal: Journal | None
    seed: int
    validation_size: float
    test_size: float
    standardize: bool
    select_features: bool
    tol: float
    max_bytes: int
    n_jobs: int | None
    progress: Any
    remarks: list[str] = field(default_factory=list)
    interrupted: bool = False

    def __post_init__(self) -> None:
        self.split: Split = nested_split(self.labels, self.classes, self.validation_size, self.test_size, self.seed)
        self.scale = FeatureScale.of(take(self.X, self.split.train), self.standardize)
        if not self.scale.varies.any():
            raise ValueError(
                "X has no feature with more than one value among the samples to train on; none can be used."
            )
        self._scaled = self.scale.for_search(self.X)
        self._n_threads = thread_count(self.n_jobs)

    def models(self) -> list[tuple[CompactModel, Searched]]:
        """Choose a decision function for each problem; all get the same share of the time."""
        n_classes = len(self.classes)
        positives = [1] if n_classes == 2 else list(range(n_classes))
        found = []
        for number, positive in enumerate(positives):
            # A request of its own: that the time of one is up must not end those after it.
            own, left = Stop(max_evaluations=self.stop.max_evaluations), self.stop.seconds_left()
            share = None if left is None else left / (len(positives) - number)
            if share is not None:
                own = own.within(FOR_SEARCHING * share)
            found.append(self._chosen(number, positive, own, share))
            if (self.interrupted or own.reason == INTERRUPTED) and positive != positives[-1]:
                raise KeyboardInterrupt  # there is nothing for the classes after it
        return found

    def _chosen(self, number: int, positive: int, stop: Stop, seconds: float | None) -> tuple[CompactModel, Searched]:
        """Choose a decision function until `stop`, and train it to its certificate; all in so many seconds."""
        whole = Stop().within(seconds)
        signs, label = self._signs(positive), self.classes[positive]
        try:
            prototypes = Prototypes(
                self._scaled, signs, self.split.train, self.split.validation, self._n_threads, stop, self.max_bytes // 2
            )
            start = math.floor(math.log2(len(self.labels) / len(self.classes)) / 3.0)  # [Lebrun2006, footnote 3]
            highest = prototypes.highest_level
            space = CompactSpace(
                self.scale.varies, self.select_features, min(start, highest), highest, work=prototypes.work
            )
            task = Task(
                self._scaled,
                (signs > 0).astype(np.intp),
                2,
                np.ones(len(signs)),
                tolerance=self.tol,
                n_threads=self._n_threads,
                stop=stop,
            )
            found = searched(
                space,
                self.objective,
                PrototypeQuality(task, self.objective, prototypes, select_features=self.select_features),
                self.strategy,
                stop,
                number=number,
                seed=self.seed,
                max_bytes=self.max_bytes // 2,
                journal=part_of(self.journal, {"stage": SEARCH, "model": number}),
                progress=progress_for(self.progress, "evaluations"),
            )
        except StoppedError:
            raise self._without_choice(label) from None
        if found.point is None:
            raise KeyboardInterrupt if stop.reason == INTERRUPTED else self._without_choice(label)
        if found.ended.cut_short:
            count = found.trace.n_evaluations
            self.remarks.append(
                f"The search for a compact model of class {_plain(label)!r} has ended early ({found.ended.why}) after "
                f"{count} evaluation{'s' * (count != 1)}; the best model until then was chosen."
            )
        with interrupt_held_back() as held:
            model = self._judged(label, signs, space, prototypes, found, whole)
        self.interrupted = held.asked
        return model, found

    def _signs(self, positive: int) -> Matrix:
        return np.where(self.labels == positive, 1.0, -1.0)

    def _judged(
        self, label: Any, signs: Matrix, space: CompactSpace, prototypes: Prototypes, found: Searched, stop: Stop
    ) -> CompactModel:
        """Train the model that was chosen, to its certificate, and judge what is handed out."""
        assert found.point is not None
        level, C, sigma = space.numbers(found.point)
        features = np.flatnonzero(space.features(found.point))
        own = prototypes.level(level, Stop())  # what was found in time is used, however late it is
        model = self._trained(own.samples, own.signs, features, C, sigma, stop)
        validation, test = self.split.validation, self.split.test
        values = self._values_of(model, features, validation)
        rate = _rate(values, signs[validation])
        costs = kappas(self.objective.feature_costs, len(self.scale.varies))
        selection = None
        if self.select_features:
            selection = np.zeros(len(costs))
            selection[features] = 1.0
        quality, _ = self.objective.measured(rate, len(model.support_), selection, costs)
        # Two classes are told apart by the sign; of more classes the rarer ones need an offset.
        kind = "slope" if len(self.classes) == 2 else "platt"
        sigmoid = fitted_sigmoid(kind, values, signs[validation], np.ones(len(validation)))
        return CompactModel(
            label=label,
            model=model,
            features=features,
            level=level,
            C=C,
            sigma=sigma,
            quality=quality,
            validation_rate=rate,
            test_rate=_rate(self._values_of(model, features, test), signs[test]) if len(test) else math.nan,
            feature_cost=float(costs[features].sum()),
            sigmoid=(sigmoid.slope, sigmoid.offset),
            trace=found.trace,
            ended=found.ended.why,
        )

    def _trained(self, samples: Any, signs: Matrix, features: Ids, C: float, sigma: float, stop: Stop) -> SVC:
        columns = samples if len(features) == samples.shape[1] else samples[:, features]
        left = stop.seconds_left()
        model = SVC(C=C, gamma=sigma**-2.0, tol=self.tol, n_jobs=self.n_jobs)
        model.max_time = None if left is None else max(left, LEAST_SECONDS)
        model.fit(columns, signs > 0)
        model.max_time = None
        return model

    def _values_of(self, model: SVC, features: Ids, rows: Ids) -> Matrix:
        samples = take(self.X, rows)
        samples = samples if len(features) == samples.shape[1] else samples[:, features]
        return np.asarray(model.decision_function(self.scale.scaled(samples, features)))

    def values(self, models: list[CompactModel], rows: Ids) -> Matrix:
        """Decision values of some samples, a column for each function."""
        return np.column_stack([self._values_of(one.model, one.features, rows) for one in models])

    def refitted(self, one: CompactModel) -> CompactModel:
        """Train a chosen model on prototypes of all samples; StoppedError if there is no time for it."""
        positive = int(np.flatnonzero(self.classes == one.label)[0])
        everybody, nobody = np.arange(len(self.labels)), np.empty(0, dtype=np.intp)
        signs = self._signs(positive)
        own = Prototypes(self._scaled, signs, everybody, nobody, self._n_threads, self.stop).level(one.level)
        self.stop.check()
        return replace(one, model=self._trained(own.samples, own.signs, one.features, one.C, one.sigma, self.stop))

    def _without_choice(self, label: Any) -> TimeoutError:
        return TimeoutError(f"max_time ended before class {_plain(label)!r} had an evaluation; allow more.")


def _rate(values: Matrix, signs: Matrix) -> float:
    labels = (signs > 0).astype(np.intp)
    return balanced_rate((values > 0) == (labels == 1), labels)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
