"""A search for the kernel and the C of a model, by any objective and any strategy."""

from __future__ import annotations

import numbers
import time
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import indexable
from sklearn.utils.validation import _check_method_params

from widemargin.estimators.calibration import FROM_SEARCH
from widemargin.estimators.validation import (
    require_flag,
    require_number,
    warn_if_gamma_is_unused,
    without_gamma_warnings,
)
from widemargin.kernels.rows import count, require_samples
from widemargin.model_selection.grid.calibration import Explained, fit_chosen
from widemargin.model_selection.grid.setup import fit_parameters, model_of, prefix_of, why_plain
from widemargin.model_selection.search.space import C_RANGE, ParameterSpace, price_axis, searched_axes
from widemargin.model_selection.search.study import FixedFolds, ModelStudy, folds_of, sharing
from widemargin.model_selection.search.task import (
    objective_of,
    require_fit,
    require_model,
    require_whole_numbers,
    strategy_of,
    subject_of,
)
from widemargin.objectives import Objective
from widemargin.objectives.base import Ids
from widemargin.objectives.held_out.groups import folds_of as folds_of_groups
from widemargin.objectives.held_out.groups import group_folds, group_numbers, require_classes, require_whole_groups
from widemargin.runtime import Stop
from widemargin.runtime.memory import told_if_memory_runs_out
from widemargin.strategies import Strategy
from widemargin.study import SearchTasks, progress_for, with_callbacks
from widemargin.study.seeds import seed_of
from widemargin.study.trace import Trace, report_of


class ModelSearch(BaseSearchCV):  # type: ignore[misc]
    r"""Search for the kernel and the C of a model by an objective, a function of them, that a strategy follows.

    Where a grid ends, at two parameters, this begins: with the gradient of an objective [Glasmachers2008, chapters 9 to
    12] tens of kernel parameters can be searched. Parameters are searched on a scale without bounds, :math:`\theta`
    (mostly their logarithms) and log C. The search begins at the numbers that the kernel was given, and where it was
    given none at Jaakkola's heuristic; at the model's own C.

    If the objective depends on C in a way that makes for a choice, C is searched with the rest. If not (objectives
    without a model), the kernel is chosen first, and then C by cross-validation, the smallest of the best ones, along
    one path of warm-started models for which kernel values are computed once.

    Models of an evaluation start from those of the last one; every 16th evaluation starts from nothing. The result
    does not depend on `n_jobs`, nor on whether the search was interrupted and went on from its journal.

    Costs are those of the objective (see there) times the number of evaluations; about a twentieth of a millisecond an
    evaluation is added.

    Parameters
    ----------
    estimator : SVC, SVR or Pipeline
        The model, alone or at the end of a pipeline. Its kernel is an object of :mod:`widemargin.kernels`, or "rbf"
        or "poly". Steps before it are fitted to all samples once, before the search, and without `y` if the objective
        trains models, since these may be judged by held-out samples: steps that need `y` are refused then. Along the
        path of C they are fitted to the training part of each fold.
    objective : str or Objective, default="target-alignment"
        What is good. Objects of :mod:`widemargin.objectives` have options of their own. With more than two classes
        objectives that train models judge those of pairs of classes, whatever the model's `multi_class` says.
    strategy : str or Strategy, default=None
        How to look for it. Objects of :mod:`widemargin.strategies` have options of their own. None is "rprop"
        for objectives with a gradient, "noisy-rprop" if that is random, "cma-es" if there is none.
    space : dict, default=None
        Bounds by name, ``{"C": (0.1, 100.0), "gamma": (0.01, 10.0)}``: only these parameters are searched, the others
        stay where the search begins. Names are those of `best_params_`; for parameters of kernel objects their own,
        ``"gammas"``, ``"k1__gamma"``. A degree has a range of whole numbers, ``{"degree": (1, 6)}``, which
        ``strategy="tabu"`` searches. None searches all parameters within the bounds of the kernel, C from 1e-4 to 1e6
        (times the standard deviation of the targets for ``loss="epsilon_insensitive"``; along the path, where
        :func:`widemargin.select` looks for it). A C of inf is not searched.
    cv : int, splitter or iterable of folds, default=5
        For the path of C, as in :class:`GridSearchCV`. ``SVC(calibration="from-search")`` gets its probabilities from
        the samples that its folds hold out, or those of ``objective="cross-validation"``.
    scoring : str or callable, default=None
        What is best along the path of C, and what :meth:`score` returns; None is the model's own score.
    refit : bool, default=True
        Whether the model is trained on all samples in the end.
    max_time : float, default=None
        Seconds after which the search ends with the best of what it has found. Three quarters of it are for the kernel
        where C is chosen afterwards.
    max_evaluations : int, default=None
        Largest number of evaluations of the objective that the strategy may ask for (see `best_value_` for one more);
        None leaves it to the strategy.
    journal : path, default=None
        File to which evaluations are added. The same call with the same file continues after an interruption, a crash
        or a deadline, and ends with the same result, bit for bit, as if nothing had happened. A study of other data
        gets a file of its own beside it; another search of the same data is refused.
    random_state : int, RandomState instance or None, default=None
        Seed of random objectives and strategies. None draws one, which a journal keeps.
    n_jobs : int, default=None
        Threads. Points that a strategy asks for together are evaluated side by side; a single point gets all threads.
    progress : None, bool, "rich", "log" or Progress, default=None
        What is shown meanwhile, as in :class:`GridSearchCV`; None shows nothing.

    Attributes
    ----------
    best_estimator_ : estimator
        The model with the parameters that were chosen, trained on all samples.
    best_params_ : dict
        ``{"C": ..., "gamma": ...}`` for kernels by name, ``{"C": ..., "kernel": ...}`` for kernel objects; without C if
        that was not searched.
    best_value_ : float
        Value of the objective at the point that was chosen, on average if it was evaluated there more than once. If
        the strategy chooses a point that it never asked for, it is evaluated there once more; NaN if time was up.
    best_score_ : float
        Mean score over the folds of the C that was chosen; only if it was chosen along a path.
    trace_ : Trace
        Every evaluation: parameters (by the names that the model or its kernel has for them), value, gradient norm,
        cost; the scores along the path of C after these.
    n_evaluations_ : int
        Evaluations of the objective.
    ended_ : str
        Why the search ended.
    edges_ : dict
        Parameters that were chosen at the end of their ranges, "smallest" or "largest"; something better may lie
        beyond.
    notes_ : dict
        What evaluations had to say (models that needed more steps than their `max_iter`, free variables that depend
        on each other), and how many of them said it.
    work_report_ : SearchReport
    refit_time_ : float
        Seconds of the final fit.
    scorer_ : callable
    classes_, n_features_in_, feature_names_in_
        Those of `best_estimator_`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import SVC, ModelSearch
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = ModelSearch(make_pipeline(StandardScaler(), SVC())).fit(X, y)
    >>> sorted(search.best_params_), search.score(X, y) > 0.97
    (['svc__C', 'svc__gamma'], True)
    """

    best_estimator_: Any
    best_params_: dict[str, Any]
    best_value_: float
    trace_: Trace
    refit_time_: float

    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        estimator: Any,
        *,
        objective: str | Objective = "target-alignment",
        strategy: str | Strategy | None = None,
        space: Mapping[str, Any] | None = None,
        cv: Any = 5,
        scoring: Any = None,
        refit: bool = True,
        max_time: float | None = None,
        max_evaluations: int | None = None,
        journal: str | PathLike[str] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.estimator = estimator
        self.objective = objective
        self.strategy = strategy
        self.space = space
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.max_time = max_time
        self.max_evaluations = max_evaluations
        self.journal = journal
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    predict_proba = Explained("predict_proba")
    predict_log_proba = Explained("predict_log_proba")

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, **params: Any) -> Self:
        """Search, then train the model that was chosen on all samples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            Or a list, array or column of strings or other objects, if the kernel takes such.
        y : array-like of shape (n_samples,)
        groups : array-like of shape (n_samples,), default=None
            What belongs together (genes, patients): samples of a group are never on both sides of a split, neither
            where the objective holds samples out nor along the path of C. Names of any type.
        **params
            ``sample_weight`` for the model, and what metadata routing asks for.

        Returns
        -------
        ModelSearch
            The search itself.
        """
        began = time.perf_counter()
        study, fit_params = self._study(X, y, groups, params, began)
        model = model_of(self.estimator)
        warn_if_gamma_is_unused(model.kernel, model.gamma)
        with told_if_memory_runs_out("to search", "lower n_jobs, or search with fewer samples"):
            remarks = self._search_and_refit(study, fit_params)
        for remark in remarks:
            warnings.warn(remark, stacklevel=2)
        return self

    def _study(
        self, X: Any, y: Any, groups: Any, params: Mapping[str, Any], began: float
    ) -> tuple[ModelStudy, Mapping[str, Any]]:
        """Check everything that can be checked beforehand; return what is to run, and what the final fit is given."""
        self._check_options()
        objective = objective_of(self.objective)
        strategy = strategy_of(self.strategy, objective)
        require_model(self.estimator)
        reason = why_plain(sharing(self.estimator), {}, {}, None)
        if reason is not None:
            raise ValueError(f"{reason}, so that ModelSearch cannot search it; GridSearchCV can.")
        require_samples(X)
        X, y = indexable(X, y)
        params = _check_method_params(X, params=params)
        routed = self._get_routed_params_for_fit(params)
        given = fit_parameters(self.estimator, routed.estimator.fit)
        if given.others:
            raise ValueError(f"ModelSearch takes no fit parameters except weights; got {', '.join(given.others)}.")
        groups = routed.splitter.split.get("groups") if groups is None else groups
        own_groups = None if groups is None else group_numbers(groups, count(X))
        subject = subject_of(self.estimator, X, y, given, objective, own_groups)
        C = float(subject.model.C)
        low, high = C_RANGE
        own_range = (low * subject.c_unit, high * subject.c_unit)
        axes, prices = searched_axes(subject.kernel, C, self.space, own_range, prefix_of(self.estimator))
        if objective.chooses_c and prices is not None:
            axes, prices = [*axes, price_axis(prices)], None
        if not axes and prices is None:
            raise ValueError(
                f"There is nothing to search: the kernel {subject.kernel!r} has no free parameters here, and C={C!r} "
                "is fixed."
            )
        if axes:
            require_fit(strategy, objective, subject, len(axes))
            require_whole_numbers(strategy, [axis.name for axis in axes if axis.whole])
        split = routed.splitter.split if groups is None else {**routed.splitter.split, "groups": groups}
        folds = None if prices is None else self._folds(X, y, split, own_groups)
        if own_groups is not None and folds is None and not objective.holds_groups_out:
            raise ValueError(
                f"objective={objective.name!r} holds no groups out, so that groups would change nothing; leave groups "
                "out, or choose an objective that does, such as 'cross-validation' or 'likelihood'."
            )
        calibrated = getattr(subject.model, "calibration", None) == FROM_SEARCH
        study = ModelStudy(
            estimator=self.estimator,
            X=X,
            y=y,
            params=params,
            groups=own_groups,
            objective=objective,
            strategy=strategy,
            subject=subject,
            space=ParameterSpace(subject.kernel, C, axes),
            prices=prices,
            prices_given=self.space is not None,
            folds=folds,
            calibration_folds=(folds or folds_of(objective, subject.task)) if calibrated else None,
            scoring=self.scoring,
            seed=seed_of(self.random_state),
            n_jobs=self.n_jobs,
            max_time=None if self.max_time is None else float(self.max_time),
            began=began,
            stop=Stop(
                deadline=None if self.max_time is None else began + float(self.max_time),
                max_evaluations=None if self.max_evaluations is None else int(self.max_evaluations),
            ),
        )
        return study, routed.estimator.fit

    def _folds(self, X: Any, y: Any, split: Mapping[str, Any], groups: Ids | None) -> FixedFolds:
        """Draw the folds of the path of C; of whole groups if there are any."""
        classifier = is_classifier(self.estimator)
        if groups is None:
            splitter = check_cv(self.cv, y, classifier=classifier)
            return FixedFolds(splitter, list(splitter.split(X, y, **split)))
        name = f"cv={self.cv!r}"
        number = 5 if self.cv is None else self.cv
        if isinstance(number, numbers.Integral):
            splitter = group_folds(int(number), groups, name, classifier)
        else:
            splitter = check_cv(self.cv, y, classifier=classifier)
        folds = folds_of_groups(splitter, X, y, split["groups"])
        require_whole_groups(folds, groups, name)
        if classifier:
            require_classes(folds, np.unique(np.asarray(y), return_inverse=True)[1], name)
        return FixedFolds(splitter, folds)

    def get_metadata_routing(self) -> Any:
        """Ask for what the parts ask for, and for `groups`, which are also for the objective."""
        return super().get_metadata_routing().add_self_request(self)

    def _check_options(self) -> None:
        if self.max_time is not None:
            require_number("max_time", self.max_time, above=0)
        if self.max_evaluations is not None:
            require_number("max_evaluations", self.max_evaluations, at_least=1, integer=True)
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(f"scoring must be None, the name of a scorer or a callable; got {self.scoring!r}.")
        if isinstance(self.scoring, str) and self.scoring not in get_scorer_names():
            raise ValueError(
                f"scoring must be None, a name that sklearn.metrics.get_scorer_names() lists, or a callable; got "
                f"{self.scoring!r}."
            )
        require_flag("refit", self.refit)
        progress_for(self.progress)

    @with_callbacks
    def _search_and_refit(self, study: ModelStudy, fit_params: Mapping[str, Any]) -> Sequence[Warning]:
        """Run a search and refit; return what is worth a remark."""
        weights = study.params.get("sample_weight")
        with SearchTasks(self, study.X, study.y, refit=bool(self.refit), sample_weight=weights) as tasks:
            with tasks.search(None) as evaluations:
                told = evaluations.end if evaluations.anybody_listens else None
                chosen = study.run(self.journal, progress_for(self.progress, "evaluations"), self.progress, told)
            self.best_value_, self.trace_, self.ended_ = chosen.value, chosen.trace, chosen.ended
            self.edges_, self.notes_ = chosen.edges, chosen.notes
            self.n_evaluations_ = chosen.trace.n_evaluations
            self.__dict__.pop("best_score_", None)
            if chosen.path is not None:
                self.best_score_ = chosen.path.score
            path = None if chosen.path is None else chosen.path.report
            self.work_report_ = report_of(chosen.trace, path, time.perf_counter() - study.began)
            chosen_price = study.space.searches_c or chosen.path is not None
            self.best_params_ = study.best_params(chosen.kernel, chosen.C if chosen_price else None)
            self.scorer_, _ = self._get_scorers()
            self.multimetric_ = False
            if self.refit:
                self.best_estimator_ = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
                calibrated = study.calibration_folds is not None
                held_out = study.held_out_values(self.best_estimator_) if calibrated else None
                with tasks.refit(self.best_estimator_), without_gamma_warnings():
                    began = time.perf_counter()
                    fit_chosen(self.best_estimator_, study.X, study.y, fit_params, held_out)
                    self.refit_time_ = time.perf_counter() - began
                if hasattr(self.best_estimator_, "feature_names_in_"):
                    self.feature_names_in_ = self.best_estimator_.feature_names_in_
        return chosen.remarks
