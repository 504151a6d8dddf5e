"""Decision function quality of models that are trained on prototypes [Lebrun2006, Table 1].

Training samples of each of two classes are simplified to 2^k prototypes; a class of no more samples is kept whole.
Squared distances among prototypes, and between these and the samples that judge, are computed once for a level and a
subset of features. They serve every C and every width, and, with one squared difference more or less, all subsets that
differ by a feature. What is too large to be kept is computed as a fit does it, row by row.

The value at a point depends on the point and its origin, and on nothing else: models of more than a few prototypes
start from the model of the origin, which is trained from nothing. Samples that are so far from all prototypes that
rounding decides their class are not recognised.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Unpack, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels import Kernel, MaskedGaussian
from widemargin.kernels.feature_distances import FeatureDistances, Mask, Single, columns, selected
from widemargin.kernels.rows import canonical, core_samples, kernel_matrix, row_source, take
from widemargin.machines.chain import Chain, Link, solve_chain
from widemargin.machines.classifier import box
from widemargin.machines.dual import Solution, SolverOptions, StopRule, solve
from widemargin.objectives.base import BoundObjective, Evaluated, How, Ids, Place, Task, Vector
from widemargin.objectives.decision_quality import DecisionQuality, balanced_rate, kappas
from widemargin.objectives.machines import stop_rule
from widemargin.quantization import Codebooks
from widemargin.runtime import Lock, Stop, StoppedError, Work

#: Distances of a level are kept up to this number, unless there is too little memory; it does not depend on the
#: computer otherwise, or values would.
MOST_DISTANCES = 2**26

#: Distances that are kept of all levels and subsets.
MOST_KEPT = 2**27

#: Numbers of four bytes for each distance of a level, with the kernel matrix that is made of them.
NUMBERS_EACH = 2

#: Decision values that are no larger, relative to the largest coefficient, are what rounding makes of them.
ROUNDING = 2.0**-23

#: Up to this exponent of the kernel, float32 distances may be reduced by that of a feature: what is left errs by 1e-3.
LARGEST_EXPONENT = 1e4

#: Models of so many prototypes take no longer from nothing than from a neighbour.
FEW = 256


class Level(NamedTuple):
    """Training samples at a level of simplification, and their signs."""

    samples: Any
    signs: Vector


class Trained(NamedTuple):
    """A model on prototypes: which of them are support vectors, their coefficients, the intercept."""

    support: NDArray[np.int32]
    coefficients: Vector
    intercept: float
    alpha: Vector
    work: Work
    converged: bool


class Distances(NamedTuple):
    """Squared distances among prototypes, from each of them to the samples that judge, and the largest of all."""

    among: FeatureDistances
    to_judges: FeatureDistances
    farthest: float


@dataclass(frozen=True)
class Toggle:
    """A feature by which a subset differs from one whose distances are kept."""

    feature: int
    taken_in: bool
    of_prototypes: Single
    of_judges: Single


class Prototypes:
    """The training samples of two classes at all levels of simplification, and the samples that judge.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    signs : ndarray of shape (n,)
        1 and -1.
    train, judges : ndarray of int
        Samples that are simplified and trained on, and samples that models are judged by.
    n_threads : int
    stop : Stop
    max_bytes : int, optional
        What distances and the kernel matrix of a level may take together.
    """

    def __init__(
        self,
        X: Any,
        signs: Vector,
        train: Ids,
        judges: Ids,
        n_threads: int,
        stop: Stop,
        max_bytes: int | None = None,
    ) -> None:
        self._most_kept, self.most_distances = MOST_KEPT, MOST_DISTANCES
        if max_bytes is not None:
            self._most_kept = min(MOST_KEPT, max_bytes // 4)
            self.most_distances = min(MOST_DISTANCES, max_bytes // 4 // NUMBERS_EACH)
        self._codebooks = [
            (sign, Codebooks(take(X, train[signs[train] == sign]), n_threads=n_threads, stop=stop))
            for sign in (-1.0, 1.0)
        ]
        self.judges, self.judge_labels = take(X, judges), (signs[judges] > 0).astype(np.intp)
        self._by_column = self.judges.tocsc() if sp.issparse(X) else self.judges
        self._levels: dict[int, Level] = {}
        self._kept: OrderedDict[tuple[int, bytes], Distances] = OrderedDict()
        self._lock = Lock()

    @property
    def highest_level(self) -> int:
        """The level at which both classes are whole."""
        return max(book.whole_level for _, book in self._codebooks)

    @property
    def work(self) -> list[float]:
        """What a model of each level takes: distances among prototypes, and from these to the samples that judge."""
        levels = range(self.highest_level + 1)
        counts = [sum(min(2**number, book.n_samples) for _, book in self._codebooks) for number in levels]
        return [float(n * (n + len(self.judge_labels))) for n in counts]

    def level(self, number: int, stop: Stop | None = None) -> Level:
        """Return the training samples of a level; `stop`, if given, takes the place of that of the search."""
        with self._lock:
            if number not in self._levels:
                parts = [(sign, book.level(number, stop=stop).prototypes) for sign, book in self._codebooks]
                samples = [samples for _, samples in parts]
                sparse = any(map(sp.issparse, samples))
                stacked = canonical(sp.vstack(samples, format="csr")) if sparse else np.vstack(samples)
                # Means have no more digits than what they are means of; distances in these take a quarter of the time.
                stacked = stacked.astype(self.judges.dtype, copy=False)
                signs = np.concatenate([np.full(one.shape[0], sign) for sign, one in parts])
                self._levels[number] = Level(stacked, signs)
            return self._levels[number]

    def fits(self, level: Level) -> bool:
        """Tell whether the distances of a level may be kept."""
        n = len(level.signs)
        return n * (n + len(self.judge_labels)) <= self.most_distances

    def distances(self, number: int, features: Mask, n_threads: int) -> Distances:
        """Return the distances of a level over a subset of features."""
        level, key = self.level(number), (number, features.tobytes())
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            among = FeatureDistances.between(level.samples, level.samples, features, n_jobs=n_threads)
            to_judges = FeatureDistances.between(level.samples, self.judges, features, n_jobs=n_threads)
            farthest = max(float(one.values.max(initial=0.0)) for one in (among, to_judges))
            made = Distances(among, to_judges, farthest)
            self._kept[key] = made
            while (
                sum(one.among.values.size + one.to_judges.values.size for one in self._kept.values()) > self._most_kept
            ):
                self._kept.popitem(last=False)
            return made

    def toggle(self, number: int, feature: int, taken_in: bool) -> Toggle:
        """Return what a feature more or less changes distances by."""
        return Toggle(feature, taken_in, *columns(self.level(number).samples, self._by_column, feature))


class PrototypeQuality(BoundObjective):
    """Quality of a model of two classes, as a function of the level of simplification, the features, C and the width.

    Parameters
    ----------
    task : Task
        Of two classes; samples of weight 0 take no part.
    objective : DecisionQuality
    prototypes : Prototypes
    select_features : bool
        Whether features are selected; their cost counts only then.
    """

    keeps_state = False

    def __init__(
        self, task: Task, objective: DecisionQuality, prototypes: Prototypes, *, select_features: bool
    ) -> None:
        super().__init__(task)
        self._objective, self.prototypes, self._select = objective, prototypes, select_features
        self._costs = kappas(objective.feature_costs, task.X.shape[1])
        self._origins: OrderedDict[tuple[Any, ...], Trained] = OrderedDict()
        self._lock = Lock()

    def with_threads(self, n_threads: int) -> PrototypeQuality:
        """Return the same objective for some threads; what is computed for one is known to the other."""
        task = replace(self.task, n_threads=n_threads)
        return PrototypeQuality(task, self._objective, self.prototypes, select_features=self._select)

    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Unpack[How]) -> Evaluated:
        """Train on the prototypes of a level, judge by the samples that are set aside."""
        self.task.stop.check()
        place, origin = Place(kernel, C, how["level"]), how.get("origin")
        features = _mask(kernel)
        if not features.any():
            return Evaluated(float("nan"), notes=("a model without features has no quality",))
        model = self.train(place, origin)
        values = self.values(place, model, origin)
        decided = np.abs(values) > ROUNDING * np.abs(model.coefficients).max(initial=0.0)
        right = decided & ((values > 0) == (self.prototypes.judge_labels == 1))
        rate = balanced_rate(right, self.prototypes.judge_labels)
        selection = features.astype(np.float64) if self._select else None
        value, measures = self._objective.measured(rate, len(model.support), selection, self._costs)
        notes = () if model.converged else ("models ended before they met their tolerance",)
        return Evaluated(value, work=model.work, notes=notes, measures=measures)

    def train(self, place: Place, origin: Place | None = None) -> Trained:
        """Train the model of a place; on many prototypes, from that of its origin."""
        level = self.prototypes.level(cast(int, place.level))
        start = None
        if origin is not None and origin.level == place.level and len(level.signs) > FEW:
            begun = self._at_origin(origin)
            at_bound = np.abs(begun.alpha) >= origin.C * (1.0 - 1e-9)
            start = np.where(at_bound, np.sign(begun.alpha) * place.C, begun.alpha)
        problem, rule = box(level.signs, np.full(len(level.signs), place.C)), stop_rule(self.task)
        kernel = self._kernel(place, origin)
        if kernel is not None:
            found = solve_chain(kernel, Chain((Link(problem),), start=start), stop=rule)[0].solution
        else:
            samples = selected(level.samples, _mask(place.kernel))
            rows = row_source(samples, kernel="rbf", gamma=_gamma(place.kernel))
            options = SolverOptions(n_threads=self.task.n_threads)
            found = solve(problem, rows, stop=rule, options=options, start=start)
        return self._trained(found, rule)

    def _trained(self, found: Solution, rule: StopRule) -> Trained:
        outcome = found.outcome
        if outcome.reason in ("time budget", "interrupted"):
            self.task.stop.check()
            raise StoppedError(f"Training ended early ({outcome.reason}).")
        support = np.flatnonzero(found.alpha).astype(np.int32)
        work = Work(trained=1, iterations=outcome.iterations, kernel_evaluations=outcome.kernel_evaluations)
        converged = outcome.reason == "converged"
        return Trained(support, found.alpha[support], found.intercept, found.alpha, work, converged)

    def _at_origin(self, origin: Place) -> Trained:
        """Return the model of an origin, trained from nothing; the last few are kept."""
        key = origin.level, _mask(origin.kernel).tobytes(), _gamma(origin.kernel), origin.C
        with self._lock:
            if key not in self._origins:
                self._origins[key] = self.train(origin)
                while len(self._origins) > 2:
                    self._origins.popitem(last=False)
            return self._origins[key]

    def _base(self, place: Place, origin: Place | None) -> tuple[Distances, Toggle | None]:
        """Return kept distances, and the feature by which they differ from those of a place, if any."""
        number, features = cast(int, place.level), _mask(place.kernel)
        if origin is not None and origin.level == number:
            known = _mask(origin.kernel)
            changed = np.flatnonzero(known != features)
            if len(changed) == 1 and known.any():
                feature = int(changed[0])
                kept = self.prototypes.distances(number, known, self.task.n_threads)
                # What is left of far larger distances, by subtraction, is mostly rounding.
                if features[feature] or _gamma(place.kernel) * kept.farthest < LARGEST_EXPONENT:
                    return kept, self.prototypes.toggle(number, feature, bool(features[feature]))
        return self.prototypes.distances(number, features, self.task.n_threads), None

    def _kernel(self, place: Place, origin: Place | None) -> Single | None:
        """Return the kernel matrix of the prototypes, from distances that are kept or else anew; None for too many."""
        level = self.prototypes.level(cast(int, place.level))
        if not self.prototypes.fits(level):
            if len(level.signs) ** 2 > self.prototypes.most_distances:
                return None
            samples = selected(level.samples, _mask(place.kernel))
            return kernel_matrix(samples, kernel="rbf", gamma=_gamma(place.kernel), n_jobs=self.task.n_threads)
        (among, _, _), toggle = self._base(place, origin)
        base, threads = among.values, self.task.n_threads
        made = np.asarray(_core.empty_matrix_float32(*base.shape))
        if toggle is not None:
            own = toggle.of_prototypes
            _core.toggle_feature(base, own, own, toggle.taken_in, made, threads)
            base = made
        _core.apply_kernel(base, "rbf", _gamma(place.kernel), 0.0, 1, made, threads, **self.task.stop.limits())
        return made

    def values(self, place: Place, model: Trained, origin: Place | None = None) -> Vector:
        """Return the decision values of the samples that judge."""
        judges, number = self.prototypes.judges, cast(int, place.level)
        level, threads, gamma = self.prototypes.level(number), self.task.n_threads, _gamma(place.kernel)
        values = np.zeros(len(self.prototypes.judge_labels))
        if not len(model.support):
            return values + model.intercept
        if self.prototypes.fits(level):
            (_, to_judges, _), toggle = self._base(place, origin)
            columns = (None, None) if toggle is None else (toggle.of_prototypes, toggle.of_judges)
            taken_in = toggle is not None and toggle.taken_in
            args = (model.support, model.coefficients, gamma, *columns, taken_in, values, threads)
            _core.add_gaussian_rows(to_judges.values, *args)
            return values + model.intercept
        features = _mask(place.kernel)
        vectors = row_source(selected(take(level.samples, model.support), features), kernel="rbf", gamma=gamma)
        new = core_samples(selected(judges, features))
        coefficients = np.ascontiguousarray(model.coefficients[np.newaxis])
        found = _core.decision_values(vectors, new, coefficients, [len(model.support)], False, threads)
        return np.asarray(np.asarray(found)[0] + model.intercept)


def _mask(kernel: Kernel) -> Mask:
    return np.asarray(cast(MaskedGaussian, kernel).features, dtype=np.bool_)


def _gamma(kernel: Kernel) -> float:
    return float(cast(MaskedGaussian, kernel).gamma)
