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
from widemargin.model_selection.grid.refusals import require_scores
from widemargin.model_selection.grid.setup import checked_folds, fit_parameters, model_of, prefix_of, why_plain
from widemargin.model_selection.search.judged import Judge, OnFolds, is_over_folds, name_of, require_decisions
from widemargin.model_selection.search.space import C_RANGE, ParameterSpace, price_axis, searched_axes
from widemargin.model_selection.search.study import Chosen, FixedFolds, ModelStudy, folds_of, sharing
from widemargin.model_selection.search.task import (
    Subject,
    objective_of,
    require_fit,
    require_model,
    require_whole_numbers,
    strategy_of,
    subject_of,
)
from widemargin.objectives import CrossValidation, Objective
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
        stay where the search begins. Frozen distributions of scipy are accepted in the place of bounds, such as
        ``loguniform(0.1, 100.0)``: ``strategy="random"`` draws from them; for other strategies, and along the path of
        C, their support is the range, which has to be finite. Names are those of `best_params_`; for parameters of
        kernel objects their own, ``"gammas"``, ``"k1__gamma"``. A degree has a range of whole numbers,
        ``{"degree": (1, 6)}`` or ``randint(1, 7)``, for the strategies "tabu" and "random". None searches all
        parameters within the bounds of the kernel, C from 1e-4 to 1e6 (times the standard deviation of the targets for
        ``loss="epsilon_insensitive"``; along the path, where :func:`widemargin.select` looks for it). A C of inf is not
        searched.
    cv : int, splitter or iterable of folds, default=None
        Folds of ``objective="cross-validation"`` and of the path of C, as in :class:`GridSearchCV`. None is five: those
        of the objective are shuffled, with its own seed. ``SVC(calibration="from-search")`` gets its probabilities from
        the samples that these folds hold out. Where nothing would use it, or the objective is an object
        ``CrossValidation(folds=...)`` with folds of its own, `cv` is refused. With it each fold counts the same; with
        None the objective's error is that over all samples that were held out.
    scoring : str or callable, default=None
        What is best: with ``objective="cross-validation"`` the mean score over its folds is followed in place of the
        error, without a gradient; along the path of C it chooses. It is also what :meth:`score` returns, and nothing
        else where there are no folds; None is the model's own score. With ``objective="cross-validation"`` scorers are
        given numbers of rows for X and a stand-in for the model, which knows `predict` and `decision_function` of these
        rows. Those that look at X, or need probabilities, are refused.
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
    best_score_ : float
        How good the choice is, greater being better: the mean score over the folds, along the path of C or with
        ``objective="cross-validation"`` (unless `scoring` says otherwise accuracy, R^2 along the path of C, and minus
        the squared error with the objective); else the value of the objective, or minus that if smaller is better.
    best_value_ : float
        Value of the objective at the point that was chosen, in the objective's own sense, on average if it was
        evaluated there more than once. If the strategy chooses a point that it never asked for, it is evaluated there
        once more; NaN if time was up.
    cv_results_ : dict
        Only where there are folds, along the path of C or with ``objective="cross-validation"``: parameters, scores on
        each fold, their mean, standard deviation and rank, as in scikit-learn (seconds are in `trace_`).
    best_index_, n_splits_ : int
        Which of these candidates was chosen, and the number of folds.
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
    best_score_: float
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
        cv: Any = None,
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
        axes, own_prices = searched_axes(subject.kernel, C, self.space, own_range, prefix_of(self.estimator))
        prices = None if own_prices is None else (own_prices.low, own_prices.high)
        if objective.chooses_c and own_prices is not None:
            axes, prices = [*axes, price_axis(own_prices)], None
        if not axes and prices is None:
            raise ValueError(
                f"There is nothing to search: the kernel {subject.kernel!r} has no free parameters here, and C={C!r} "
                "is fixed."
            )
        if axes:
            require_fit(strategy, objective, subject, len(axes))
            require_whole_numbers(strategy, [axis.name for axis in axes if axis.whole])
        split = routed.splitter.split if groups is None else {**routed.splitter.split, "groups": groups}
        folds, calibration_folds = self._drawn(objective, subject, prices is not None, X, y, split, own_groups)
        if own_groups is not None and folds is None and not objective.holds_groups_out:
            raise ValueError(
                f"objective={objective.name!r} holds no groups out, so that groups would change nothing; leave groups "
                "out, or choose an objective that does, such as 'cross-validation' or 'likelihood'."
            )
        followed = self._followed(objective, subject, folds, prices is not None, y, routed.scorer.score)
        study = ModelStudy(
            estimator=self.estimator,
            X=X,
            y=y,
            params=params,
            groups=own_groups,
            given=objective,
            objective=followed,
            strategy=strategy,
            subject=subject,
            space=ParameterSpace(subject.kernel, C, axes),
            prices=prices,
            prices_given=self.space is not None,
            folds=folds,
            calibration_folds=calibration_folds,
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

    def _drawn(
        self,
        objective: Objective,
        subject: Subject,
        along_c: bool,
        X: Any,
        y: Any,
        split: Mapping[str, Any],
        groups: Ids | None,
    ) -> tuple[FixedFolds | None, FixedFolds | None]:
        """Draw the folds that parameters are chosen by, and those for probabilities, if there are such."""
        has_own = isinstance(objective, CrossValidation)
        calibrated = getattr(subject.model, "calibration", None) == FROM_SEARCH
        chooses = along_c or (is_over_folds(objective) and isinstance(self.objective, str))
        if self.cv is not None and not chooses and (has_own or not calibrated):
            instead = "comes with folds of its own" if has_own else "has no folds, and no C is chosen along a path"
            raise ValueError(
                f"{self._cv_name()} would change nothing, since objective={objective.name!r} {instead}; leave cv out, "
                "or pass objective='cross-validation' by name."
            )
        folds = given = None
        if along_c or self.cv is not None:
            given = self._folds(X, y, split, groups)
            if not given.folds:
                raise ValueError(f"{self._cv_name()} yields no folds; at least one is needed.")
        if chooses and given is not None:
            folds = given
        elif is_over_folds(objective):
            folds = folds_of(objective, subject.task)
        if not calibrated:
            return folds, None
        return folds, folds or given or folds_of(objective, subject.task)

    def _folds(self, X: Any, y: Any, split: Mapping[str, Any], groups: Ids | None) -> FixedFolds:
        """Draw the folds that `cv` says; of whole groups if there are any."""
        classifier = is_classifier(self.estimator)
        if groups is None:
            splitter = check_cv(self.cv, y, classifier=classifier)
            return FixedFolds(splitter, checked_folds(list(splitter.split(X, y, **split)), count(X)))
        number, name = 5 if self.cv is None else self.cv, self._cv_name()
        if isinstance(number, numbers.Integral):
            splitter = group_folds(int(number), groups, name, classifier)
        else:
            splitter = check_cv(self.cv, y, classifier=classifier)
        folds = checked_folds(folds_of_groups(splitter, X, y, split["groups"]), count(X))
        require_whole_groups(folds, groups, name)
        if classifier:
            require_classes(folds, np.unique(np.asarray(y), return_inverse=True)[1], name)
        return FixedFolds(splitter, folds)

    def _cv_name(self) -> str:
        """Return what errors call the folds."""
        own = 5 if self.cv is None else self.cv
        return f"cv={own!r}" if isinstance(own, numbers.Integral) or hasattr(own, "split") else "cv"

    def _followed(
        self,
        objective: Objective,
        subject: Subject,
        folds: FixedFolds | None,
        along_c: bool,
        y: Any,
        score_params: Mapping[str, Any],
    ) -> Objective:
        """Return what the strategy is to follow; refuse folds and scorers that could not work with each other."""
        if folds is None:
            return objective
        scorer, _ = self._get_scorers()
        name = name_of(self.scoring)
        if self.scoring is not None:
            require_decisions(scorer, name)
        if along_c or self.scoring is not None:
            require_scores(self.estimator, [{}], scorer, y, folds.folds, "score")
        if not is_over_folds(objective):
            return objective
        if self.scoring is not None and objective.loss is not None:
            raise ValueError(
                f"scoring={name} and loss={objective.loss!r} of objective={objective.name!r} both say what is best; "
                "leave one of them out."
            )
        judge = None if self.scoring is None else Judge(scorer, name, subject.model, y, score_params)
        followed = OnFolds(objective, folds.folds, self.cv is not None, judge)
        if judge is not None or self.cv is not None:
            followed.require_folds(subject.task)
        return followed

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

    def _keep_scores(self, chosen: Chosen, greater_is_better: bool) -> None:
        """Keep how good the choice is, greater being better, and the scores of folds; forget an earlier search's."""
        for name in ("cv_results_", "best_index_", "n_splits_"):
            self.__dict__.pop(name, None)
        if chosen.found is None:
            self.best_score_ = chosen.value if greater_is_better else 0.0 - chosen.value
            return
        self.cv_results_ = chosen.found.as_results()
        self.best_index_, self.n_splits_ = chosen.found.chosen, chosen.found.scores.shape[1]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])

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
            self._keep_scores(chosen, study.objective.greater_is_better)
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
