"""Small, fast classifiers: prototypes instead of samples, few features, and what both cost in accuracy."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _get_feature_names, check_is_fitted, validate_data

from widemargin.estimators.base import NUMBERS
from widemargin.estimators.calibration import class_probabilities, fitted_sigmoid
from widemargin.estimators.multi_class import OneVersusOne, OneVersusRest
from widemargin.estimators.svc import SVC
from widemargin.estimators.validation import (
    Accepts,
    require_choice,
    require_finite,
    require_flag,
    require_jobs,
    require_number,
)
from widemargin.kernels.rows import checked_rows, take
from widemargin.model_selection.compact.samples import FeatureScale, Split, nested_split
from widemargin.model_selection.compact.selection import CompactSpace, Searched, searched
from widemargin.model_selection.grid.results import UnfinishedSearchWarning
from widemargin.objectives import Task
from widemargin.objectives.decision_quality import DecisionQuality, balanced_rate, kappas
from widemargin.objectives.prototype_quality import PrototypeQuality, Prototypes
from widemargin.runtime import INTERRUPTED, STOPPED, Stop, StoppedError, single_threaded_blas, thread_count
from widemargin.runtime.memory import told_if_memory_runs_out
from widemargin.strategies import TabuSearch
from widemargin.study import Journal, JournalPart, Trace, fingerprint, progress_for
from widemargin.study.findings import RECORD_SCHEMA
from widemargin.study.report import SearchReport
from widemargin.study.seeds import seed_of, settled_seed
from widemargin.study.trace import SEARCH, report_of

Matrix = NDArray[np.float64]
Ids = NDArray[np.intp]

#: How one of several classes is chosen.
DECISIONS = CALIBRATED, LARGEST, FUZZY = "calibrated", "argmax", "fuzzy-minimum"

#: Where features are selected, improvements are small and far apart, and walks from different levels end differently.
WITH_FEATURES = TabuSearch(patience=20, jumps=5, walks=2)

#: Records of the seed.
BEGINNING = "beginning"


@dataclass(frozen=True)
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


class CompactSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""A small SVM with a Gaussian kernel: few support vectors, few features, chosen for quality rather than accuracy.

    The quality of a decision function is

    .. math:: q = R - c_1 \log_2 n_{SV} - c_2 \log_2 \sum_k \beta_k \kappa_k,

    the balanced recognition rate :math:`R` less what predictions cost [Lebrun2006]: twice as many support vectors have
    to bring :math:`c_1` of recognition rate, features that cost twice as much :math:`c_2`. The model is trained on
    prototypes of the samples, at most :math:`2^k` for each class, by vector quantisation. The level :math:`k`, the
    features :math:`\beta`, C and the width :math:`\sigma` of the kernel
    :math:`\exp(-\sum_l \beta_l (x_l - z_l)^2 / \sigma^2)` are searched together by tabu search (:class:`TabuSearch
    <widemargin.strategies.TabuSearch>`).

    A third of the samples (`test_size`) only tests the model that was chosen. The rest is split two to one: one part
    is simplified and trained on, the other one judges. All parts hold the same share of every class. More than two
    classes are one problem each, against all others, with its own level, features and search.

    An evaluation costs at most :math:`(2^k)^2` to :math:`(2^k)^3` operations for training and :math:`2^k n` for
    judging, since distances are kept; a level is quantised once, :math:`2^k n d` a round. Predicting a sample
    takes `cost_` multiplications.

    Parameters
    ----------
    sv_penalty : float, default=0.01
        :math:`c_1`, at least 0.
    feature_penalty : float, default=0.01
        :math:`c_2`, at least 0. It counts with ``select_features=True`` only.
    feature_costs : array-like of shape (n_features,), default=None
        What it costs to obtain each feature, in seconds, say; all positive. Only ratios matter:
        :math:`\kappa_k` is the cost divided by the mean cost. None is the same cost for all.
    select_features : bool, default=False
        Whether to choose features; else all of them are used.
    standardize : bool, default=True
        Whether the model divides features by their standard deviation. Without, widths from 1/32 to 1024 are searched
        on the scale of the samples.
    decision : {"calibrated", "argmax", "fuzzy-minimum"}, default="calibrated"
        How one of more than two classes is chosen. Decision values of different kernels cannot be compared, so
        "calibrated" takes the largest log-odds, by a sigmoid for each function that the validation samples determine.
        "argmax" takes the largest decision value, "fuzzy-minimum" the largest membership, as in :class:`SVC`. May be
        changed after the fit.
    strategy : TabuSearch, default=None
        The search with other options; None is ``TabuSearch()``, or ``TabuSearch(patience=20, jumps=5, walks=2)`` where
        features are selected. ``TabuSearch(scan=False)`` is the paper's.
    validation_size, test_size : float, default=1/3
        Shares of the samples; `validation_size` is that of what the test leaves. A `test_size` of 0 does without a
        test.
    refit : bool, default=False
        Whether the chosen model is trained once more in the end, on prototypes of all samples. Rates and quality are
        those of the model before, then.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    max_time : float, default=None
        Seconds after which the search ends with the best model so far. Several classes share it evenly.
    max_evaluations : int, default=None
        Largest number of evaluations, for each decision function.
    journal : path, default=None
        File to which evaluations are added. The same fit with the same file continues after an interruption, a crash or
        a deadline, and ends with the same model as if nothing had happened.
    random_state : int, RandomState instance or None, default=None
        Seed of the split and of the search. None draws one, which a journal keeps.
    n_jobs : int, default=None
        Threads; the result does not depend on it. -1 uses all cores.
    progress : None, bool, "rich", "log" or Progress, default=None
        What is shown meanwhile, as in :class:`GridSearchCV`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    models_ : list of CompactModel
        The decision functions: one for two classes, else one for each class.
    selected_features_ : ndarray of int
        Columns of X that predictions read, sorted.
    n_support_ : ndarray of shape (n_functions,)
        Number of support vectors of each decision function.
    quality_ : float
        On the validation samples, the mean over decision functions.
    recognition_rate_ : float
        Balanced recognition rate on the test samples; NaN with ``test_size=0``.
    front_ : structured array
        Evaluations that no other one beats in recognition rate, number of support vectors and cost of features at
        once: what else could be had. `model` is the number of the decision function.
    cost_ : int
        Multiplications for the prediction of one sample.
    scale_ : FeatureScale
        Means and factors of the features.
    split_ : Split
        Rows of X that were trained on (`train`), that chose the model (`validation`), that tested it (`test`).
    seed_ : int
        Seed that was used.
    n_evaluations_ : int
    work_report_ : SearchReport
    n_features_in_ : int
    feature_names_in_ : ndarray
        Names of the features, if the data had any.

    References
    ----------
    [Lebrun2006]_; [Linde1980]_ for the quantisation. Keys are those of ``references.bib``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from widemargin import CompactSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CompactSVC(select_features=True, random_state=0).fit(X, y)
    >>> model.n_support_.sum() <= 8, len(model.selected_features_) <= 8, model.recognition_rate_ > 0.9
    (True, True, True)
    """

    _accepts: ClassVar[Mapping[str, Accepts]] = {
        "select_features": require_flag,
        "standardize": require_flag,
        "decision": partial(require_choice, choices=DECISIONS),
        "refit": require_flag,
        "tol": partial(require_number, above=0),
        "max_time": partial(require_number, above=0, others=(None,)),
        "max_evaluations": partial(require_number, at_least=1, integer=True, others=(None,)),
        "n_jobs": require_jobs,
    }

    def __init__(
        self,
        *,
        sv_penalty: float = 0.01,
        feature_penalty: float = 0.01,
        feature_costs: Any = None,
        select_features: bool = False,
        standardize: bool = True,
        decision: str = CALIBRATED,
        strategy: TabuSearch | None = None,
        validation_size: float = 1 / 3,
        test_size: float = 1 / 3,
        refit: bool = False,
        tol: float = 1e-3,
        max_time: float | None = None,
        max_evaluations: int | None = None,
        journal: str | PathLike[str] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.sv_penalty = sv_penalty
        self.feature_penalty = feature_penalty
        self.feature_costs = feature_costs
        self.select_features = select_features
        self.standardize = standardize
        self.decision = decision
        self.strategy = strategy
        self.validation_size = validation_size
        self.test_size = test_size
        self.refit = refit
        self.tol = tol
        self.max_time = max_time
        self.max_evaluations = max_evaluations
        self.journal = journal
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Choose and train a model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels; three samples of each class at least.

        Returns
        -------
        CompactSVC
            The estimator itself.
        """
        began = time.perf_counter()
        objective, strategy = self._checked_options()
        X, labels = self._checked_samples(X, y)
        kappas(self.feature_costs, X.shape[1])
        stop = Stop(
            deadline=None if self.max_time is None else began + float(self.max_time),
            max_evaluations=None if self.max_evaluations is None else int(self.max_evaluations),
        )
        with ExitStack() as stack:
            stack.enter_context(told_if_memory_runs_out("to search", "train on fewer samples"))
            stack.enter_context(single_threaded_blas())
            kept = None if self.journal is None else stack.enter_context(self._opened(X, labels, objective, strategy))
            self.seed_ = settled_seed(seed_of(self.random_state), _part(kept, {"stage": BEGINNING}))
            search = _Search(self, X, labels, objective, strategy, stop, kept)
            found = search.models()
        self._keep(search, found, time.perf_counter() - began)
        for sentence in search.remarks:
            warnings.warn(sentence, UnfinishedSearchWarning, stacklevel=2)
        return self

    def decision_function(self, X: Any) -> Any:
        """Decision values of the samples `X`: positive for the second of two classes; of more, larger is likelier.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Of a data frame, the columns of the selected features suffice.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For more than two classes log-odds, decision values or memberships, as `decision` says.
        """
        values = self._values(X)
        return values[:, 0] if len(self.classes_) == 2 else self._confidences(values)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels of the samples `X`; see :meth:`decision_function`."""
        return np.asarray(self.classes_[self._winners(self._values(X))])

    def predict_proba(self, X: Any) -> Matrix:
        """Probabilities of the classes for the samples `X`, by the sigmoids of the decision functions.

        The class that is predicted has the largest.
        """
        values, n_classes = self._values(X), len(self.classes_)
        scheme = OneVersusOne(2) if n_classes == 2 else OneVersusRest(n_classes)
        return class_probabilities(scheme, values, self._sigmoids(), self._winners(values))

    def predict_log_proba(self, X: Any) -> Matrix:
        """Logarithms of the probabilities of the classes."""
        return np.asarray(np.log(self.predict_proba(X)))

    @property
    def support_vectors_(self) -> list[Any]:
        """Prototypes that each decision function keeps, in the units of X, with the columns of its features."""
        check_is_fitted(self)
        return [self.scale_.original(one.model.support_vectors_, one.features) for one in self.models_]

    def _checked_options(self) -> tuple[DecisionQuality, TabuSearch]:
        for name, check in self._accepts.items():
            check(name, getattr(self, name))
        for name in ("validation_size", "test_size"):
            require_number(name, getattr(self, name), at_least=0)
            if not (getattr(self, name) < 1 and (name == "test_size" or getattr(self, name) > 0)):
                least = "at least" if name == "test_size" else "above"
                raise ValueError(f"{name} must be {least} 0 and below 1; got {getattr(self, name)!r}.")
        strategy = self.strategy
        if strategy is None:
            strategy = WITH_FEATURES if self.select_features else TabuSearch()
        if not isinstance(strategy, TabuSearch):
            raise ValueError(f"strategy must be None or a TabuSearch; got {strategy!r}.")
        progress_for(self.progress)
        return DecisionQuality(self.sv_penalty, self.feature_penalty, self.feature_costs), strategy

    def _checked_samples(self, X: Any, y: Any) -> tuple[Any, Ids]:
        X, y = validate_data(self, X, y, **NUMBERS)
        X = checked_rows(X) if sp.issparse(X) else X
        require_finite(X, getattr(self, "feature_names_in_", None))
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes; got 1 class in all {len(labels)} samples.")
        return X, labels

    def _opened(self, X: Any, labels: Ids, objective: DecisionQuality, strategy: TabuSearch) -> Journal:
        shares = [self.validation_size, self.test_size, bool(self.standardize), bool(self.select_features), self.tol]
        assert self.journal is not None
        return Journal(
            self.journal,
            {
                "schema": RECORD_SCHEMA,
                "data": fingerprint(X),
                "target": fingerprint(labels),
                "objective": fingerprint(objective),
                "strategy": fingerprint(strategy),
                "estimator": fingerprint(shares),
                "random_state": seed_of(self.random_state),
            },
        )

    def _keep(self, search: _Search, found: list[tuple[CompactModel, Searched]], seconds: float) -> None:
        self.models_ = [model for model, _ in found]
        self.scale_, self.split_ = search.scale, search.split
        self.selected_features_ = np.unique(np.concatenate([one.features for one in self.models_]))
        self.n_support_ = np.array([one.n_support for one in self.models_])
        self.quality_ = float(np.mean([one.quality for one in self.models_]))
        self.cost_ = sum(one.cost for one in self.models_)
        self.front_ = np.concatenate([one.front for _, one in found])
        reports = [report_of(one.trace, None, 0.0) for _, one in found]
        self.n_evaluations_ = sum(one.evaluations for one in reports)
        self.work_report_ = SearchReport(
            evaluations=self.n_evaluations_, **(SearchReport.of_all(reports).counts() | {"seconds": seconds})
        )
        self.recognition_rate_ = math.nan
        if len(search.split.test):
            labels = search.labels[search.split.test]
            winners = self._winners(search.values(self.models_, search.split.test))
            self.recognition_rate_ = balanced_rate(winners == labels, labels)
        if self.refit:
            self.models_ = [search.refitted(one) for one in self.models_]
            self.n_support_ = np.array([one.n_support for one in self.models_])
            self.cost_ = sum(one.cost for one in self.models_)

    def _values(self, X: Any) -> Matrix:
        """Decision values of all functions, one column each; X is read where features are selected only."""
        check_is_fitted(self)
        samples = self._selected(X)
        columns = []
        for one in self.models_:
            places = np.searchsorted(self.selected_features_, one.features)
            own = samples if len(places) == samples.shape[1] else samples[:, places]
            one.model.n_jobs = self.n_jobs
            columns.append(one.model.decision_function(self.scale_.scaled(own, one.features)))
        return np.column_stack(columns)

    def _selected(self, X: Any) -> Any:
        """Return the selected columns of new samples, which may be all that a data frame has."""
        names, own = _get_feature_names(X), getattr(self, "feature_names_in_", None)
        chosen = self.selected_features_
        if own is not None and names is not None and set(own[chosen]) <= set(names) < set(own):
            samples = check_array(X[own[chosen].tolist()], **NUMBERS)
        else:
            samples = validate_data(self, X, reset=False, **NUMBERS)
            samples = checked_rows(samples) if sp.issparse(samples) else samples
            if len(chosen) < samples.shape[1]:
                samples = samples[:, chosen]
        require_finite(samples, None if own is None else own[chosen])
        return samples

    def _sigmoids(self) -> Matrix:
        return np.array([one.sigmoid for one in self.models_])

    def _confidences(self, values: Matrix) -> Matrix:
        """Return what is compared between more than two classes."""
        if self.decision not in DECISIONS:  # set after the fit
            require_choice("decision", self.decision, DECISIONS)
        if self.decision != CALIBRATED:
            return OneVersusRest(len(self.classes_)).confidences(values, self.decision)
        slopes, offsets = self._sigmoids().T
        return np.asarray(slopes * values + offsets)

    def _winners(self, values: Matrix) -> Ids:
        if len(self.classes_) == 2:
            return (values[:, 0] > 0).astype(np.intp)
        return np.asarray(np.argmax(self._confidences(values), axis=1))


class _Search:
    """The searches of a fit: the same split and scale for all decision functions.

    Parameters
    ----------
    owner : CompactSVC
        Whose parameters hold.
    X : array or CSR matrix of shape (n, d)
    labels : ndarray of shape (n,)
        Class numbers.
    objective, strategy, stop
    kept : Journal or None
    """

    def __init__(
        self,
        owner: CompactSVC,
        X: Any,
        labels: Ids,
        objective: DecisionQuality,
        strategy: TabuSearch,
        stop: Stop,
        kept: Journal | None,
    ) -> None:
        self._owner, self._X, self.labels = owner, X, labels
        self._objective, self._strategy, self._stop, self._kept = objective, strategy, stop, kept
        self.split: Split = nested_split(
            labels, owner.classes_, float(owner.validation_size), float(owner.test_size), owner.seed_
        )
        self.scale = FeatureScale.of(take(X, self.split.train), bool(owner.standardize))
        if not self.scale.varies.any():
            raise ValueError(
                "X has no feature with more than one value among the samples to train on; none can be used."
            )
        self._scaled = self.scale.single(X)
        self._n_threads = thread_count(owner.n_jobs)
        self.remarks: list[str] = []

    def models(self) -> list[tuple[CompactModel, Searched]]:
        """Choose a decision function for each problem; all get the same share of the time."""
        n_classes = len(self._owner.classes_)
        positives = [1] if n_classes == 2 else list(range(n_classes))
        found = []
        for number, positive in enumerate(positives):
            left = self._stop.seconds_left()
            share = self._stop if left is None else self._stop.within(left / (len(positives) - number))
            found.append(self._chosen(number, positive, share))
        return found

    def _chosen(self, number: int, positive: int, stop: Stop) -> tuple[CompactModel, Searched]:
        signs = self._signs(positive)
        owner = self._owner
        label = owner.classes_[positive]
        try:
            prototypes = Prototypes(self._scaled, signs, self.split.train, self.split.validation, self._n_threads, stop)
            start = math.floor(math.log2(len(self.labels) / len(owner.classes_)) / 3.0)
            highest = prototypes.highest_level
            space = CompactSpace(self.scale.varies, bool(owner.select_features), min(start, highest), highest)
            task = Task(
                self._scaled,
                (signs > 0).astype(np.intp),
                2,
                np.ones(len(signs)),
                tolerance=owner.tol,
                n_threads=self._n_threads,
                stop=stop,
            )
            bound = PrototypeQuality(task, self._objective, prototypes, select_features=bool(owner.select_features))
            found = searched(
                space,
                self._objective,
                bound,
                self._strategy,
                stop,
                number=number,
                seed=owner.seed_,
                journal=_part(self._kept, {"stage": SEARCH, "model": number}),
                progress=progress_for(owner.progress, "evaluations"),
            )
        except StoppedError:
            raise self._without_choice() from None
        if found.point is None:
            raise self._without_choice()
        if found.ended.cut_short:
            count = found.trace.n_evaluations
            self.remarks.append(
                f"The search for a compact model of class {_plain(label)!r} has ended early ({found.ended.why}) after "
                f"{count} evaluation{'s' * (count != 1)}; the best model until then was chosen."
            )
        return self._judged(label, signs, space, prototypes, found), found

    def _signs(self, positive: int) -> Matrix:
        return np.where(self.labels == positive, 1.0, -1.0)

    def _judged(
        self, label: Any, signs: Matrix, space: CompactSpace, prototypes: Prototypes, found: Searched
    ) -> CompactModel:
        """Train the model that was chosen, to its certificate, and judge what is handed out."""
        assert found.point is not None
        level, C, sigma = space.numbers(found.point)
        features = np.flatnonzero(space.features(found.point))
        own = prototypes.level(level)
        model = self._trained(own.samples, own.signs, features, C, sigma)
        validation, test = self.split.validation, self.split.test
        values = self._values_of(model, features, validation)
        rate = _rate(values, signs[validation])
        costs = kappas(self._objective.feature_costs, len(self.scale.varies))
        selection = None
        if self._owner.select_features:
            selection = np.zeros(len(costs))
            selection[features] = 1.0
        quality, _ = self._objective.measured(rate, len(model.support_), selection, costs)
        # Two classes are told apart by the sign; of more classes the rarer ones need an offset.
        kind = "slope" if len(self._owner.classes_) == 2 else "platt"
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

    def _trained(self, samples: Any, signs: Matrix, features: Ids, C: float, sigma: float) -> SVC:
        columns = samples if len(features) == samples.shape[1] else samples[:, features]
        model = SVC(C=C, gamma=sigma**-2.0, tol=self._owner.tol, n_jobs=self._owner.n_jobs)
        return model.fit(columns, signs > 0)

    def _values_of(self, model: SVC, features: Ids, rows: Ids) -> Matrix:
        samples = take(self._X, rows)
        samples = samples if len(features) == samples.shape[1] else samples[:, features]
        return np.asarray(model.decision_function(self.scale.scaled(samples, features)))

    def values(self, models: list[CompactModel], rows: Ids) -> Matrix:
        """Decision values of some samples, a column for each function."""
        return np.column_stack([self._values_of(one.model, one.features, rows) for one in models])

    def refitted(self, one: CompactModel) -> CompactModel:
        """Train a chosen model on prototypes of all samples."""
        positive = int(np.flatnonzero(self._owner.classes_ == one.label)[0])
        everybody, nobody = np.arange(len(self.labels)), np.empty(0, dtype=np.intp)
        signs = self._signs(positive)
        own = Prototypes(self._scaled, signs, everybody, nobody, self._n_threads, Stop()).level(one.level)
        return replace(one, model=self._trained(own.samples, own.signs, one.features, one.C, one.sigma))

    def _without_choice(self) -> BaseException:
        """Return the error that says why there is no model."""
        if self._stop.reason == INTERRUPTED:
            return KeyboardInterrupt()
        if self._stop.reason == STOPPED:
            return RuntimeError("The search was stopped before any evaluation was finished.")
        return TimeoutError(
            f"max_time={self._owner.max_time!r} ended before every class had an evaluation; allow more."
        )


def _rate(values: Matrix, signs: Matrix) -> float:
    labels = (signs > 0).astype(np.intp)
    return balanced_rate((values > 0) == (labels == 1), labels)


def _part(kept: Journal | None, label: Mapping[str, Any]) -> JournalPart | None:
    return None if kept is None else JournalPart(kept, label)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
