"""Small, fast classifiers: prototypes instead of samples, few features, and what both cost in accuracy."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
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
from widemargin.estimators.calibration import class_probabilities
from widemargin.estimators.multi_class import OneVersusOne, OneVersusRest
from widemargin.estimators.validation import (
    Accepts,
    numbers_needed,
    require_choice,
    require_finite,
    require_flag,
    require_fraction,
    require_jobs,
    require_number,
)
from widemargin.kernels.rows import checked_rows, require_samples
from widemargin.model_selection.compact.feature_costs import in_order
from widemargin.model_selection.compact.search import CompactModel, CompactSearch, Ids, Matrix
from widemargin.model_selection.compact.selection import Searched
from widemargin.model_selection.grid.results import UnfinishedSearchWarning
from widemargin.objectives.decision_quality import DecisionQuality, balanced_rate, kappas
from widemargin.runtime import Stop, StoppedError, free_memory, single_threaded_blas
from widemargin.runtime.callbacks import CallbackSupport, fit_task, is_awaited
from widemargin.runtime.interrupts import interrupt_held_back
from widemargin.runtime.memory import told_if_memory_runs_out
from widemargin.strategies import TabuSearch
from widemargin.study import Journal, fingerprint, journal_of, progress_for
from widemargin.study.findings import RECORD_SCHEMA
from widemargin.study.journal_part import part_of
from widemargin.study.report import SearchReport
from widemargin.study.seeds import seed_of, settled_seed
from widemargin.study.trace import BEGINNING, SEARCH, report_of

#: How one of several classes is chosen.
DECISIONS = CALIBRATED, LARGEST, FUZZY = "calibrated", "argmax", "fuzzy-minimum"

#: What is searched with by default. Walks from several levels end differently, and long diversifications mostly see
#: models of nearly all samples, which get half of the work; a quarter where features are selected, since the rest is
#: much then. Improvements are small and far apart there; a thousandth of the quality is less than samples can tell.
WITHOUT_FEATURES = TabuSearch(failures=2, walks=4, large_share=0.5, min_improvement=1e-3)
WITH_FEATURES = TabuSearch(patience=20, jumps=5, walks=2, large_share=0.25, min_improvement=1e-3)


class CompactSVC(ClassifierMixin, BaseEstimator, CallbackSupport):  # type: ignore[misc]
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

    There are no weights of samples or classes: prototypes stand for different numbers of samples and count the same,
    and every class has the same share of the rate, however rare it is.

    An evaluation costs at most :math:`(2^k)^2` to :math:`(2^k)^3` operations for training and :math:`2^k n` for
    judging, since distances are kept; a level is quantised once, :math:`2^k n d` a round. Predicting a sample
    takes `cost_` multiplications.

    Parameters
    ----------
    sv_penalty : float, default=0.01
        :math:`c_1`, at least 0.
    feature_penalty : float, default=0.01
        :math:`c_2`, at least 0. It counts with ``select_features=True`` only.
    feature_costs : array-like of shape (n_features,), dict or Series, default=None
        What it costs to obtain each feature, in seconds, say; all positive. Only ratios matter:
        :math:`\kappa_k` is the cost divided by the mean cost. A dict, or a Series with names as its index, has a cost
        for the name of each column. None is the same cost for all. Costs choose with ``select_features=True`` only.
    select_features : bool, default=False
        Whether to choose features; else all are used that have more than one value among the samples trained on.
    standardize : bool, default=True
        Whether the model divides features by their standard deviation. Without, widths from 1/32 to 1024 are searched
        on the scale of the samples.
    decision : {"calibrated", "argmax", "fuzzy-minimum"}, default="calibrated"
        How one of more than two classes is chosen. Decision values of different kernels cannot be compared, so
        "calibrated" takes the largest log-odds, by a sigmoid for each function that the validation samples determine.
        "argmax" takes the largest decision value, "fuzzy-minimum" the largest membership, as in :class:`SVC`. May be
        changed after the fit.
    strategy : TabuSearch, default=None
        The search with other options. None is
        ``TabuSearch(failures=2, walks=4, large_share=0.5, min_improvement=1e-3)``, or
        ``TabuSearch(patience=20, jumps=5, walks=2, large_share=0.25, min_improvement=1e-3)`` where features are
        selected: models far larger than the best one take that share of the work at most. ``TabuSearch(scan=False)``
        is the paper's. Its `step` is for :class:`ModelSearch`: C and the width take steps of the root of 2 here.
    validation_size, test_size : float, default=1/3
        Shares of the samples; `validation_size` is that of what the test leaves. A `test_size` of 0 does without a
        test.
    refit : bool, default=False
        Whether the chosen model is trained once more in the end, on prototypes of all samples. Rates and quality are
        those of the model before, then.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.
    max_time : float, default=None
        Seconds after which the search ends with the best model so far. Several classes share it evenly. Ctrl-C does
        the same, unless there are classes that have no model yet; pressed once more, it ends the fit.
    max_evaluations : int, default=None
        Largest number of evaluations, for each decision function. The search first looks at some 450 points that cost
        little.
    max_memory : float or "auto", default="auto"
        Megabytes that the search may take: kernel distances, at most half of them, and what is kept of evaluations.
        "auto" is a quarter of the free memory. A search that reaches it ends with the best model so far, and says so.
        Levels whose distances do not fit are computed row by row, which may change last digits.
    journal : path, default=None
        File to which evaluations are added. The same fit with the same file continues after an interruption, a crash or
        a deadline, and ends with the same model as if nothing had happened. Other data get a file of their own beside
        it.
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
        Its `seconds` are those of the whole fit, with the last training that `refit` asks for.
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
    >>> int(model.n_support_.sum()) < 10, len(model.selected_features_) < 10, model.recognition_rate_ > 0.94
    (True, True, True)
    """

    _accepts: ClassVar[Mapping[str, Accepts]] = {
        "select_features": require_flag,
        "standardize": require_flag,
        "decision": partial(require_choice, choices=DECISIONS),
        "refit": require_flag,
        "validation_size": partial(require_fraction, below_one=True),
        "test_size": partial(require_fraction, below_one=True, with_zero=True),
        "tol": partial(require_number, above=0),
        "max_time": partial(require_number, above=0, others=(None,)),
        "max_evaluations": partial(require_number, at_least=1, integer=True, others=(None,)),
        "max_memory": partial(require_number, above=0, others=("auto",)),
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
        max_memory: float | str = "auto",
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
        self.max_memory = max_memory
        self.journal = journal
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "models_")

    def fit(self, X: Any, y: Any) -> Self:
        """Choose and train a model.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels; of each class three samples at least, one for each purpose, or two with ``test_size=0``.

        Returns
        -------
        CompactSVC
            The estimator itself.
        """
        if is_awaited(self):
            with fit_task(self, X, y):
                return self.fit(X, y)
        began = time.perf_counter()
        self.__dict__.pop("models_", None)  # those of other data would outlive a fit that fails
        strategy = self._checked_options()
        X, labels = self._checked_samples(X, y)
        costs = in_order(self.feature_costs, getattr(self, "feature_names_in_", None))
        kappas(costs, X.shape[1])
        objective = DecisionQuality(self.sv_penalty, self.feature_penalty, costs)
        seed = seed_of(self.random_state)
        with ExitStack() as stack:
            stack.enter_context(told_if_memory_runs_out("to search", "train on fewer samples"))
            stack.enter_context(single_threaded_blas())
            kept = None
            if self.journal is not None:
                kept = stack.enter_context(self._opened(X, labels, objective, strategy, seed))
            search = CompactSearch(
                X,
                labels,
                self.classes_,
                objective,
                strategy,
                stop=Stop(
                    deadline=None if self.max_time is None else began + float(self.max_time),
                    max_evaluations=None if self.max_evaluations is None else int(self.max_evaluations),
                ),
                journal=kept,
                seed=settled_seed(seed, part_of(kept, {"stage": BEGINNING})),
                validation_size=float(self.validation_size),
                test_size=float(self.test_size),
                standardize=bool(self.standardize),
                select_features=bool(self.select_features),
                tol=float(self.tol),
                max_bytes=free_memory() // 4 if self.max_memory == "auto" else int(float(self.max_memory) * 2**20),
                n_jobs=self.n_jobs,
                progress=self.progress,
            )
            found = search.models()
            with interrupt_held_back() as held:
                self._keep(search, found, began)
            if self.refit:
                self._train_once_more(search, held.asked or search.interrupted, began)
        for sentence in search.remarks:
            warnings.warn(sentence, UnfinishedSearchWarning, stacklevel=2)
        return self

    def decision_function(self, X: Any) -> Any:
        """Decision values of the samples `X`: positive for the second of two classes; of more, larger is likelier.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Columns of a data frame go by name, in any order, if the model knows names; those of the selected features
            suffice, and others are not read.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For more than two classes log-odds, decision values or memberships, as `decision` says.
        """
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else self._confidences(values, self._sigmoids)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels of the samples `X`; see :meth:`decision_function`."""
        winners = self._winners(self._values(X), self._sigmoids)
        return np.asarray(self.classes_[winners])

    def predict_proba(self, X: Any) -> Matrix:
        """Probabilities of the classes for the samples `X`, by the sigmoids of the decision functions.

        The class that is predicted has the largest.
        """
        values = self._values(X)
        scheme = OneVersusOne(2) if values.shape[1] == 1 else OneVersusRest(values.shape[1])
        return class_probabilities(scheme, values, self._sigmoids, self._winners(values, self._sigmoids))

    def predict_log_proba(self, X: Any) -> Matrix:
        """Logarithms of the probabilities of the classes."""
        return np.asarray(np.log(self.predict_proba(X)))

    @property
    def support_vectors_(self) -> list[Any]:
        """Prototypes that each decision function keeps, in the units of X, with the columns of its features."""
        check_is_fitted(self)
        return [self.scale_.original(one.model.support_vectors_, one.features) for one in self.models_]

    def _checked_options(self) -> TabuSearch:
        for name, check in self._accepts.items():
            check(name, getattr(self, name))
        strategy = self.strategy
        if strategy is None:
            strategy = WITH_FEATURES if self.select_features else WITHOUT_FEATURES
        if not isinstance(strategy, TabuSearch):
            raise ValueError(f"strategy must be None or a TabuSearch; got {strategy!r}.")
        if strategy.step != TabuSearch.step:
            raise ValueError(
                f"step={strategy.step!r} of the strategy means nothing to CompactSVC, whose C and width are searched "
                "in steps of the root of 2; leave it out."
            )
        progress_for(self.progress)
        return strategy

    def _checked_samples(self, X: Any, y: Any) -> tuple[Any, Ids]:
        require_samples(X)
        with numbers_needed("CompactSVC needs numbers"):
            X, y = validate_data(self, X, y, **NUMBERS)
        X = checked_rows(X) if sp.issparse(X) else X
        require_finite(X, getattr(self, "feature_names_in_", None))
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes; got 1 class in all {len(labels)} samples.")
        return X, labels

    def _opened(
        self, X: Any, labels: Ids, objective: DecisionQuality, strategy: TabuSearch, seed: int | None
    ) -> Journal:
        """Open the journal; refuse one that holds anything else."""
        shares = [self.validation_size, self.test_size, bool(self.standardize), bool(self.select_features), self.tol]
        assert self.journal is not None
        opened = journal_of(
            self.journal,
            {
                "schema": RECORD_SCHEMA,
                "data": fingerprint(X),
                "target": fingerprint(labels),
                "objective": fingerprint(objective),
                "strategy": fingerprint(strategy),
                "estimator": fingerprint(shares),
                "random_state": seed,
            },
        )
        for number, record in enumerate(opened.records):
            if record.get("stage") not in (BEGINNING, SEARCH):
                opened.close()
                opened.refuse(number, "which belongs to no part of such a search")
        return opened

    def _keep(self, search: CompactSearch, found: list[tuple[CompactModel, Searched]], began: float) -> None:
        """Take what a search has come to, all of it at once: a fit that ends before leaves nothing."""
        models, rate = [model for model, _ in found], math.nan
        if len(search.split.test):
            labels = search.labels[search.split.test]
            winners = self._winners(search.values(models, search.split.test), _sigmoids_of(models))
            rate = balanced_rate(winners == labels, labels)
        reports = [report_of(one.trace, None, 0.0) for _, one in found]
        evaluations = sum(one.evaluations for one in reports)
        counts = SearchReport.of_all(reports).counts() | {"seconds": time.perf_counter() - began}
        self.__dict__.update(
            seed_=search.seed,
            scale_=search.scale,
            split_=search.split,
            front_=np.concatenate([one.front for _, one in found]),
            recognition_rate_=rate,
            n_evaluations_=evaluations,
            work_report_=SearchReport(evaluations=evaluations, **counts),
            **_described(models),
        )

    def _train_once_more(self, search: CompactSearch, interrupted: bool, began: float) -> None:
        """Train the models on all samples; an interruption leaves them as they are."""
        try:
            models = self.models_ if interrupted else [search.refitted(one) for one in self.models_]
        except KeyboardInterrupt:
            models, interrupted = self.models_, True
        except StoppedError:
            models = self.models_
            search.remarks.append("max_time ended before the chosen model was trained once more, on all samples.")
        if interrupted:
            search.remarks.append(
                "The search had ended when it was interrupted; the chosen model was not trained once more."
            )
        report = replace(self.work_report_, seconds=time.perf_counter() - began)
        self.__dict__.update(work_report_=report, **_described(models))

    def _hold(self, models: list[CompactModel]) -> None:
        """Take decision functions that were trained elsewhere."""
        self.__dict__.update(_described(models))

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
        """Return the selected columns of new samples; those of a data frame go by name, and no other is looked at."""
        own: Any = getattr(self, "feature_names_in_", None)
        chosen = self.selected_features_
        names = None if own is None else _get_feature_names(X)
        if names is None:
            samples = validate_data(self, X, reset=False, **NUMBERS)
        else:
            read = own[chosen]
            self._require_columns(read, names)
            samples = check_array(X if np.array_equal(names, read) else X[read.tolist()], **NUMBERS)
        samples = checked_rows(samples) if sp.issparse(samples) else samples
        if names is None and len(chosen) < samples.shape[1]:
            samples = samples[:, chosen]
        require_finite(samples, own, chosen)
        return samples

    def _require_columns(self, read: NDArray[Any], names: NDArray[Any]) -> None:
        """Refuse a data frame that lacks columns that the model reads, or has two of the same name."""
        there = Counter(names)
        missing = [name for name in read if name not in there]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            others = self.n_features_in_ - len(read)
            rest = f"; the other {others} of its training may be missing" if others else ""
            raise ValueError(f"X lacks the column {missing[0]!r}{more} of the {len(read)} that the model reads{rest}.")
        repeated = [name for name in read if there[name] > 1]
        if repeated:
            raise ValueError(f"X has {there[repeated[0]]} columns named {repeated[0]!r}; the model reads one.")

    def _confidences(self, values: Matrix, sigmoids: Matrix) -> Matrix:
        """Return what is compared between more than two classes."""
        if self.decision not in DECISIONS:  # set after the fit
            require_choice("decision", self.decision, DECISIONS)
        if self.decision != CALIBRATED:
            return OneVersusRest(values.shape[1]).confidences(values, self.decision)
        slopes, offsets = sigmoids.T
        return np.asarray(slopes * values + offsets)

    def _winners(self, values: Matrix, sigmoids: Matrix) -> Ids:
        if values.shape[1] == 1:
            return (values[:, 0] > 0).astype(np.intp)
        return np.asarray(np.argmax(self._confidences(values, sigmoids), axis=1))


def _sigmoids_of(models: list[CompactModel]) -> Matrix:
    return np.array([one.sigmoid for one in models])


def _described(models: list[CompactModel]) -> dict[str, Any]:
    """Return decision functions as the attributes of an estimator, with what follows from them."""
    return {
        "_sigmoids": _sigmoids_of(models),
        "selected_features_": np.unique(np.concatenate([one.features for one in models])),
        "n_support_": np.array([one.n_support for one in models]),
        "quality_": float(np.mean([one.quality for one in models])),
        "cost_": sum(one.cost for one in models),
        "models_": models,
    }
