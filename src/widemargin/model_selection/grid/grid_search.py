"""Grid search whose models share their work."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV as PlainGridSearchCV
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.model_selection._validation import _insert_error_scores, _warn_or_raise_about_fit_failures
from sklearn.utils import indexable
from sklearn.utils.validation import _check_method_params

from widemargin.estimators.base import KernelModel
from widemargin.estimators.calibration import FROM_SEARCH
from widemargin.estimators.classifier import KernelClassifier
from widemargin.estimators.novelty import NoveltyModel
from widemargin.estimators.out_of_fold import OutOfFold
from widemargin.estimators.validation import UnusedGammaWarning, require_number, without_gamma_warnings
from widemargin.kernels.rows import require_samples
from widemargin.model_selection.grid.calibration import Explained, fit_chosen, out_of_fold
from widemargin.model_selection.grid.costs import measure_search
from widemargin.model_selection.grid.paths.walks import PLAIN_PLANS, require_plan, require_suitable_plan
from widemargin.model_selection.grid.refusals import require_grid, require_scores
from widemargin.model_selection.grid.results import (
    Mask,
    as_results,
    edges,
    leave_blank,
    missing_from,
    remarks,
    report_of,
    report_of_plain,
    require_a_score,
    scored,
    smoothest,
    tied,
)
from widemargin.model_selection.grid.run import announce, identity, listener, printer, run_grid
from widemargin.model_selection.grid.samples import SearchSamples
from widemargin.model_selection.grid.setup import (
    SearchData,
    model_of,
    repeats_for_gamma,
    require_joint_folds,
    require_shared,
    search_data,
    several_scorers,
    why_plain,
)
from widemargin.model_selection.grid.shared_search import SharedSearch
from widemargin.model_selection.one_class_scores import RejectionScore
from widemargin.plans import CostMatrix, Plan
from widemargin.runtime import INTERRUPTED, STOPPED, Stop, Work
from widemargin.runtime.memory import told_if_memory_runs_out
from widemargin.study import (
    EvaluationTasks,
    JournalPart,
    Records,
    SearchTasks,
    journal_of,
    progress_for,
    with_callbacks,
)
from widemargin.study.findings import Found


class PlainSearchWarning(UserWarning):
    """A search could not share work between its models and trains every one of them alone."""


class GridSearchCV(PlainGridSearchCV):  # type: ignore[misc]
    """Exhaustive search over a grid of parameters, as one computation.

    A drop-in replacement of scikit-learn's class for widemargin's models, alone or at the end of a pipeline: the same
    parameters, the same ``cv_results_``. The squared distances (or dot products) of all samples are computed once;
    the kernel of each width once for all folds and all values of C; along C every model starts from the last one
    [Timm2009], and where no coefficient touches its bound the models of all larger C are known to be the same.
    Held-out samples take part with coefficients fixed at 0, so that their decision values need no prediction. Every
    model meets the tolerance that it would meet alone.

    Costs: n^2 d / 2 multiplications for the distances, n^2 exponentials a width, and 4 n^2 bytes for each of up to
    three matrices; where `max_memory` does not admit these, kernel rows are computed as they are needed.

    Parameters
    ----------
    estimator, param_grid, scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in scikit-learn's ``GridSearchCV``. `n_jobs` counts threads unless ``joblib.parallel_config`` names another
        backend: processes, or the workers of a Dask or Ray cluster. `pre_dispatch` is for these; a thread takes its
        next work when it is free.
    max_time : float, default=None
        Seconds after which the search ends with the best of what it has finished on every fold; `refit` comes on top.
        Until then, chains that take long wait for the others.
    max_memory : float or "auto", default="auto"
        Megabytes that kernel matrices may take; "auto" is half of the free memory.
    plan : {"heuristic", "learn", "cold"} or widemargin.plans.Plan, default="heuristic"
        Where the first model of each chain starts. "heuristic": on the first fold from the neighbouring kernel
        width, on the others from the first fold. "learn": the same, unless the iterations counted so far say that
        starting from nothing is cheaper. "cold": always from nothing. A plan for the graph of this search's candidates
        (see :meth:`measure_costs`) is walked on every fold. Models meet the same tolerance in any case. With
        "heuristic", chains of one-class models with squared slack (unless they count: ``solver="maxminover"``), of
        models with a ``target_rejection``, of NuSVC and of NuSVR start from nothing; the latter two refuse "learn" and
        plans.
    journal : path, default=None
        File to which every evaluation is added as soon as it is finished, written through to the disk. The same call
        with the same file continues after an interruption, a crash or a deadline, and ends with the same result as if
        nothing had happened. A study of other data, as each fold of a cross-validation of the search is, gets a file
        of its own beside it; another search of the same data is refused.
    progress : None, bool, "rich", "log" or Progress, default=None
        What is shown meanwhile: True is a bar in terminals and notebooks and log lines elsewhere; None is
        ``verbose > 0``. What `verbose` prints is printed anywhere, in scikit-learn's words.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, multimetric_
        As in scikit-learn. Candidates that were not finished on every fold have no score (NaN) and the last rank.
        ``mean_score_time`` is the time of scoring, which needs no predictions here; it is shared out among candidates
        by their support vectors, and so tells them apart by what predictions cost.
    work_report_ : SearchReport
        What was solved and what was not needed.
    ties_ : list of dict
        Parameters of all candidates that score as well as the best one. Of these the smoothest model is chosen: the
        smallest C, then the smallest gamma. Not there if a callable `refit` chooses.
    edges_ : dict
        Parameters whose chosen value is the "smallest" or the "largest" of those that have a score; a wider range may
        hold a better one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC, GridSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(SVC(), {"C": [0.1, 1, 10], "gamma": [0.01, 0.1, 1]}, cv=5).fit(X, y)
    >>> search.best_params_, round(float(search.best_score_), 3)
    ({'C': 1, 'gamma': 0.1}, 0.98)
    >>> search.work_report_.fits
    45
    """

    cv_results_: dict[str, Any]
    n_splits_: int
    refit_time_: float

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PlainGridSearchCV._parameter_constraints,
        "max_time": "no_validation",
        "max_memory": "no_validation",
        "plan": "no_validation",
        "journal": "no_validation",
        "progress": "no_validation",
    }

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = np.nan,
        return_train_score: bool = False,
        max_time: float | None = None,
        max_memory: float | str = "auto",
        plan: str | Plan = "heuristic",
        journal: Any = None,
        progress: Any = None,
    ) -> None:
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.max_time = max_time
        self.max_memory = max_memory
        self.plan = plan
        self.journal = journal
        self.progress = progress

    predict_proba = Explained("predict_proba")
    predict_log_proba = Explained("predict_log_proba")

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search, then train the best candidate on all samples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        **params
            ``sample_weight`` for the models, ``groups`` for the splitter, and what metadata routing asks for.

        Returns
        -------
        GridSearchCV
            The search itself.

        Raises
        ------
        TypeError, ValueError
            If a grid is none, or names what the estimator does not know; if no candidate can have a score, before the
            first fit where that can be known.
        """
        self._searched(X, y, params)
        return self

    def _searched(
        self, X: Any, y: Any, params: Mapping[str, Any], samples: SearchSamples | None = None, *, grows: bool = False
    ) -> tuple[SharedSearch, Found] | None:
        """Fit; return the search and what it has found, or None if models were trained alone.

        `samples` are those of a search of other candidates; `grows` keeps kernels for a search that may follow.
        """
        began = time.perf_counter()
        self._check_options()
        require_samples(X)
        unused = repeats_for_gamma(self.estimator, self.param_grid)
        if unused is not None:
            warnings.warn(
                f"gamma makes no difference to kernel={unused!r}, which has no such parameter; leave it at 'scale', or "
                "give this kernel a grid of its own, without gamma.",
                UnusedGammaWarning,
                stacklevel=3,
            )
        if y is not None and self._judges_rejection():
            raise TypeError(
                f"scoring=None makes no use of y: {type(model_of(self.estimator)).__name__} has no score method; pass "
                "scoring='accuracy' or another scorer, or leave y out."
            )
        reason = self._why_plain(params)
        if reason is not None:
            if isinstance(model_of(self.estimator), KernelClassifier):
                with suppress(TypeError):  # labels of several types, of which fits tell
                    candidates = ParameterGrid(self.param_grid)
                    require_scores(self.estimator, candidates, self._get_scorers()[0], y, (), None)
            self._fit_alone(reason, X, y, params)
            return None
        X, y = indexable(X, y)
        params = _check_method_params(X, params=params)
        data, fit_params, refit_metric = self._search_data(X, y, params)
        failures_count = self.error_score == "raise" or np.isnan(self.error_score)
        folds = data.folds if failures_count else ()
        require_scores(self.estimator, data.candidates, data.scoring.scorers, data.y, folds, refit_metric)
        if self.plan not in PLAIN_PLANS:
            require_joint_folds(f"plan={self.plan!r}" if isinstance(self.plan, str) else "A plan", data)
            require_suitable_plan(self.plan, model_of(self.estimator), data.candidates)
        self.n_splits_ = len(data.folds)
        search = SharedSearch(data, self._stop(began), samples)
        if grows:
            search.samples.keep_kernels(len(search.candidates.lines))
        found, worth_saying = self._search_and_refit(search, X, y, params, fit_params, refit_metric, began)
        for remark in worth_saying:
            warnings.warn(remark, stacklevel=3)
        return search, found

    def measure_costs(
        self, X: Any, y: Any = None, *, cost: str | Callable[[Work], float] = "operations", **params: Any
    ) -> CostMatrix:
        """Measure what every candidate costs from nothing, and from each of its neighbours [Timm2009, section 3.2].

        Models are trained on the first fold, one after the other: each from nothing, then from every neighbour on
        the grid, about five for a candidate. The best plan for these costs, ``minimum_arborescence(costs)``, is one
        that `plan` accepts, here and in searches of the same grid on other data. `max_time` holds for the measurement.

        Parameters
        ----------
        X, y, **params
            As in `fit`.
        cost : {"operations", "seconds"} or callable (Work) -> float, default="operations"
            "operations" counts the entries that steps go through, and kernel values where they do not fit into memory:
            the same on every computer.

        Returns
        -------
        widemargin.plans.CostMatrix

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from widemargin import SVC, GridSearchCV
        >>> from widemargin.plans import minimum_arborescence
        >>> X, y = load_iris(return_X_y=True)
        >>> search = GridSearchCV(SVC(), {"C": [0.1, 1, 10], "gamma": [0.01, 0.1, 1]}, cv=5)
        >>> tree = minimum_arborescence(search.measure_costs(X, y))
        >>> search.set_params(plan=tree).fit(X, y).best_params_
        {'C': 1, 'gamma': 0.1}
        """
        began = time.perf_counter()
        self._check_options()
        require_samples(X)
        reason = self._why_plain(params)
        if reason is not None:
            raise ValueError(f"{reason}, so the cost of starting from other models cannot be measured.")
        X, y = indexable(X, y)
        data, _, _ = self._search_data(X, y, _check_method_params(X, params=params))
        require_joint_folds("measure_costs", data)
        shown = progress_for(self.verbose > 0 if self.progress is None else self.progress)
        return measure_search(data, cost, self._stop(began), shown)

    def _stop(self, began: float) -> Stop:
        return Stop(deadline=None if self.max_time is None else began + float(self.max_time))

    def _check_options(self) -> None:
        self._validate_params()
        if self.max_time is not None:
            require_number("max_time", self.max_time, above=0)
        if self.max_memory != "auto":
            require_number("max_memory", self.max_memory, above=0)
        require_plan(self.plan)
        require_grid(self.estimator, self.param_grid)

    def _why_plain(self, params: Mapping[str, Any]) -> str | None:
        fit_params = self._get_routed_params_for_fit(params).estimator.fit
        return why_plain(self.estimator, self.param_grid, fit_params, self._get_scorers()[0])

    def _fit_alone(self, reason: str, X: Any, y: Any, params: Mapping[str, Any]) -> None:
        """Search as scikit-learn does, for a reason."""
        require_shared(reason, self.estimator, self.param_grid)
        given = [name for name in ("max_time", "journal", "progress") if getattr(self, name) is not None]
        given += ["max_memory"] * (self.max_memory != "auto") + ["plan"] * (self.plan not in PLAIN_PLANS)
        if given:
            raise ValueError(
                f"{reason}, so this search would train every model alone, where {', '.join(given)} would have "
                "no effect; leave it out, or search estimators that share work."
            )
        warnings.warn(
            f"{reason}, so this search trains every model alone, as scikit-learn's does.",
            PlainSearchWarning,
            stacklevel=4,
        )
        began = time.perf_counter()
        with without_gamma_warnings():
            super().fit(X, y, **params)
        seconds = time.perf_counter() - began - (self.refit_time_ if self.refit else 0.0)
        self.work_report_ = report_of_plain(self.cv_results_, self.n_splits_, seconds)
        self._keep_ties_and_edges()

    @with_callbacks
    def _search_and_refit(
        self,
        search: SharedSearch,
        X: Any,
        y: Any,
        params: Mapping[str, Any],
        fit_params: Mapping[str, Any],
        refit_metric: str,
        began: float,
    ) -> tuple[Found, Sequence[Warning]]:
        """Run a search, choose and refit; return what was found, and what is worth a remark."""
        weights = params.get("sample_weight")
        with SearchTasks(self, X, y, refit=bool(self.refit), sample_weight=weights) as tasks:
            with tasks.search(search.data.n_evaluations) as evaluations:
                found, missing, ended = self._evaluate(search, evaluations, weights, began)
            self.work_report_ = report_of(search, found, time.perf_counter() - began)
            out = as_results(search, found, self.error_score)
            _warn_or_raise_about_fit_failures(out, self.error_score)
            if callable(self.scoring):
                _insert_error_scores(out, self.error_score)
            self.cv_results_ = self._format_results(search.data.candidates, self.n_splits_, out, {})
            self.cv_results_ = leave_blank(self.cv_results_, missing)
            self._choose(out, refit_metric)
            if self.refit:
                self.best_estimator_ = clone(self.estimator).set_params(**clone(self.best_params_, safe=False))
                calibrated = getattr(model_of(self.best_estimator_), "calibration", None) == FROM_SEARCH
                held_out = out_of_fold(search, self.best_index_) if calibrated else None
                with tasks.refit(self.best_estimator_):
                    self._refit(X, y, fit_params, held_out)
            scorers = search.data.scoring.scorers
            self.scorer_ = several_scorers(scorers) or scorers
        return found, remarks(found, missing, ended)

    def _get_scorers(self) -> tuple[Any, str]:
        """Return scorers as scikit-learn does; one-class models, which have no ``score``, are judged by rejection."""
        if self._judges_rejection():
            return RejectionScore(), "score"
        scorers, refit_metric = super()._get_scorers()
        return scorers, refit_metric

    def _judges_rejection(self) -> bool:
        """Tell whether a one-class model, unless somebody gave it a ``score``, is judged by the share it rejects."""
        alone = self.scoring is None and isinstance(model_of(self.estimator), NoveltyModel)
        return alone and not hasattr(self.estimator, "score")

    def _search_data(self, X: Any, y: Any, params: Mapping[str, Any]) -> tuple[SearchData, Any, str]:
        """Return what a search is about, what else its estimator is fitted with, and the metric that decides."""
        scorers, refit_metric = self._get_scorers()
        routed = self._get_routed_params_for_fit(params)
        self._checked_cv_orig = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = list(self._checked_cv_orig.split(X, y, **routed.splitter.split))
        if not folds:
            raise ValueError(f"cv={self.cv!r} yields no folds; at least one is needed.")
        return search_data(self, X, y, folds, scorers, routed), routed.estimator.fit, refit_metric

    def _evaluate(
        self, search: SharedSearch, tasks: EvaluationTasks, weights: Any, began: float
    ) -> tuple[Found, Mask, str]:
        wanted = self.verbose > 0 if self.progress is None else self.progress
        shown = None if wanted is False else progress_for(wanted)
        listeners = [listener(tasks, search.data, weights)] if tasks.anybody_listens else []
        if self.verbose > 0:
            announce(search.data)
        if self.verbose > 1:
            listeners.append(printer(search.data, int(self.verbose)))
        told = None if not listeners else lambda one: any([listens(one) for listens in listeners])
        opened: AbstractContextManager[Records | None] = nullcontext(self.journal)
        if self.journal is not None and not isinstance(self.journal, JournalPart):
            opened = journal_of(self.journal, identity(search, self.scoring, bool(self.return_train_score)))
        with opened as journal:
            metric = self.refit if isinstance(self.refit, str) else None
            found, ended = run_grid(search, self.n_jobs, self.pre_dispatch, journal, shown, told, metric)
        missing = missing_from(found, len(search.data.candidates), len(search.data.folds))
        if missing.any(axis=1).all():
            if ended == INTERRUPTED:
                raise KeyboardInterrupt
            if ended == STOPPED:
                raise RuntimeError("A callback ended the search before any candidate was finished on all folds.")
            raise TimeoutError(f"max_time={self.max_time!r} is too short: no candidate was finished; allow more.")
        return found, missing, ended

    def _choose(self, out: Sequence[Mapping[str, Any]], refit_metric: str) -> None:
        first = out[0]["test_scores"]
        self.multimetric_ = isinstance(first, dict)
        if callable(self.scoring) and self.multimetric_:
            self._check_refit_for_multimetric(first)
            refit_metric = self.refit
        if self.refit or not self.multimetric_:
            self.best_index_ = self._select_best_index(self.refit, refit_metric, self.cv_results_)
            if not callable(self.refit):
                self.best_score_ = self.cv_results_[f"mean_test_{refit_metric}"][self.best_index_]
            self.best_params_ = self.cv_results_["params"][self.best_index_]
        self._keep_ties_and_edges()

    def _select_best_index(self, refit: Any, refit_metric: str, results: Mapping[str, Any]) -> int:
        """Choose as scikit-learn does, but of equals the smoothest; of our models none where none has a score."""
        if not callable(refit) and isinstance(model_of(self.estimator), KernelModel):
            require_a_score(results, refit_metric)
        index = int(PlainGridSearchCV._select_best_index(refit, refit_metric, results))
        return index if callable(refit) else smoothest(results, refit_metric, index)

    def _keep_ties_and_edges(self) -> None:
        """Say how the choice compares; forget what was said of an earlier one."""
        for name in ("ties_", "edges_"):
            self.__dict__.pop(name, None)
        params = self.cv_results_["params"]
        if self.refit or not self.multimetric_:
            self.edges_ = edges(scored(self.cv_results_), self.best_params_)
            if not callable(self.refit):
                metric = self.refit if self.multimetric_ else "score"
                self.ties_ = [params[index] for index in tied(self.cv_results_, metric, self.best_index_)]

    def _refit(self, X: Any, y: Any, fit_params: Mapping[str, Any], held_out: OutOfFold | None) -> None:
        began = time.time()
        advice = "what was found is in cv_results_; search with refit=False, or lower cache_size"
        with without_gamma_warnings(), told_if_memory_runs_out("to train the best candidate on all samples", advice):
            fit_chosen(self.best_estimator_, X, y, fit_params, held_out)
        self.refit_time_ = time.time() - began
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_
