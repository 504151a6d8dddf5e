"""How model searches end: by their strategy, in time, by Ctrl-C, by a callback; and what they show until then."""

from __future__ import annotations

import _thread
import logging
import re
import threading
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from model_searches import Downhill, Remembering, same_searches, two_classes
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from widemargin import SVC, ModelSearch, UnfinishedSearchWarning, kernels
from widemargin.kernels.heuristics import jaakkola_gamma
from widemargin.objectives import BoundObjective, Evaluated, Objective, Task
from widemargin.strategies import CMAES, NoisyRprop, RandomSearch, Rprop

#: Seconds within which a search has to end once it is told to, on a busy machine.
PROMPTLY = 0.5


class Pending(Objective):
    """Takes long from some evaluation on, but for its polls; may call somebody before. It may have several parts."""

    name = "pending"
    trains_models = False

    def __init__(self, quick: int, chooses_c: bool = True, then: Any = None, parts: int = 1) -> None:
        self.quick, self.chooses_c, self.then, self.parts = quick, chooses_c, then, parts

    def __deepcopy__(self, memo: Any) -> Pending:
        return self

    def bind(self, task: Task) -> BoundObjective:
        return _Pending(task, self)


class _Pending(BoundObjective):
    def __init__(self, task: Task, rule: Pending) -> None:
        self._task, self._rule, self._lock, self._count = task, rule, threading.Lock(), 0
        self.n_parts = rule.parts

    def evaluate(self, kernel: Any, C: float, *, gradient: bool = True, **how: Any) -> Evaluated:
        with self._lock:
            self._count += 1
            late = self._count > self._rule.quick
        if late:
            if self._rule.then is not None:
                self._rule.then()
            ended = time.perf_counter() + 20.0
            while time.perf_counter() < ended:
                self._task.stop.check()
                time.sleep(0.001)
        value = float(kernel.theta @ kernel.theta)
        higher = (1.0, 2.0, 3.0) if gradient else ()
        return Evaluated(value, 2 * kernel.theta if gradient else None, 0.0 if gradient else None, higher=higher)


def search(objective: Any, **how: Any) -> ModelSearch:
    return ModelSearch(SVC(), objective=objective, **{"strategy": Downhill(), **how})


def test_a_search_that_begins_where_all_slopes_vanish_says_so() -> None:
    """A machine whose support vectors all count as errors when they are left out: the bound is their number."""
    X, y = two_classes()
    flat = ModelSearch(SVC(gamma=1e4), objective="span", strategy="rprop")
    with pytest.warns(ConvergenceWarning, match=r"is flat where the search began \(gamma=1e\+04, C=1\)"):
        flat.fit(X, y)
    assert (flat.n_evaluations_, flat.ended_) == (1, "all slopes vanish")


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("at_once", [1, 4])
def test_time_that_runs_out(at_once: int, n_jobs: int) -> None:
    X, y = two_classes()
    limited = search(Pending(6), max_time=0.2, strategy=Downhill(at_once=at_once), n_jobs=n_jobs, random_state=0)
    began = time.perf_counter()
    with pytest.warns(UnfinishedSearchWarning, match=r"early \(time is up\) after 6 evaluations of its objective"):
        limited.fit(X, y)
    assert 0.2 < time.perf_counter() - began < 0.2 + PROMPTLY
    assert limited.ended_ == "time is up"
    assert limited.n_evaluations_ == 6
    # All of it counts, although six points are one question and a half of four.
    assert limited.best_value_ == limited.trace_["value"].min()
    np.testing.assert_array_equal(limited.predict(X), SVC(**limited.best_params_).fit(X, y).predict(X))


def test_time_that_runs_out_before_the_first_answer_is_complete() -> None:
    X, y = two_classes()
    limited = search(Pending(3), max_time=0.1, strategy=Downhill(at_once=5), random_state=0)
    with pytest.warns(UnfinishedSearchWarning, match="after 3 evaluations"):
        limited.fit(X, y)
    assert limited.best_value_ == limited.trace_["value"].min()


@pytest.mark.parametrize("greater_is_better", [False, True])
def test_what_is_no_number_is_never_the_best(greater_is_better: bool) -> None:
    X, y = two_classes()

    class Holed(Pending):
        """The first of its values is no number."""

        def bind(self, task: Task) -> BoundObjective:
            bound = super().bind(task)
            evaluate, values = bound.evaluate, iter([np.nan, 2.0, 1.0, 3.0])
            bound.evaluate = lambda *given, **how: replace(evaluate(*given, **how), value=next(values))  # type: ignore[method-assign]
            return bound

    objective = Holed(4)
    objective.greater_is_better = greater_is_better
    limited = search(objective, max_time=0.2, strategy=Downhill(at_once=6), random_state=0)
    with pytest.warns(UnfinishedSearchWarning, match="after 4 evaluations"):
        limited.fit(X, y)
    assert np.isnan(limited.trace_["value"][0])
    assert limited.best_value_ == (3.0 if greater_is_better else 1.0)


def test_no_time_for_anything() -> None:
    X, y = two_classes()
    for limit, objective in [(1e-9, "span"), (0.05, Pending(0)), (1e-9, "class-distance")]:
        with pytest.raises(TimeoutError, match=f"max_time={limit!r} ended before any evaluation was finished"):
            search(objective, max_time=limit).fit(X, y)


def test_parts_of_an_answer_are_no_answer() -> None:
    limited = ModelSearch(SVC(), objective=Pending(2, False, parts=3), strategy="newton", max_time=0.1)
    with pytest.raises(TimeoutError, match="before any evaluation was finished"):
        limited.fit(*two_classes())


def test_time_that_suffices_changes_nothing() -> None:
    X, y = two_classes()
    same_searches(search("polarization", max_time=100.0).fit(X, y), search("polarization").fit(X, y))


def test_a_quarter_of_the_time_is_left_for_the_price() -> None:
    X, y = two_classes()
    limited = search(Pending(5, chooses_c=False), max_time=0.4)
    began = time.perf_counter()
    with pytest.warns(UnfinishedSearchWarning, match="after 5 evaluations"):
        limited.fit(X, y)
    assert 0.3 < time.perf_counter() - began < 0.3 + PROMPTLY
    assert (limited.trace_["stage"] == "C").sum() == 9
    assert "C" in limited.best_params_


def test_time_that_runs_out_along_the_price() -> None:
    X, y = np.random.default_rng(0).normal(size=(800, 3)), np.random.default_rng(1).integers(0, 2, size=800)
    machine = SVC(tol=1e-9, C=3.0, gamma=0.05)
    limited = ModelSearch(machine, objective=Pending(9, chooses_c=False), strategy=Downhill(steps=1), max_time=0.15)
    limited.set_params(space={"gamma": (0.01, 0.06), "C": (1e6, 1e9)}, cv=2, refit=False)
    with pytest.warns(UnfinishedSearchWarning, match=r"\(time is up\) before C could be chosen.*; it stays 3\."):
        limited.fit(X, y)
    assert "C" not in limited.best_params_


def test_a_chosen_point_without_time_has_no_value() -> None:
    X, y = two_classes()
    limited = ModelSearch(SVC(), objective="likelihood", strategy=NoisyRprop(), max_time=0.2, refit=False)
    with pytest.warns(UnfinishedSearchWarning, match="time is up"):
        limited.fit(X, y)
    assert limited.n_evaluations_ > 3
    assert limited.best_params_.keys() == {"C", "gamma"}


def test_a_planned_end_is_no_reason_to_warn() -> None:
    X, y = two_classes()
    few = search(Remembering(), max_evaluations=5).fit(X, y)
    assert few.n_evaluations_ == 5
    assert few.ended_ == "max_evaluations=5 reached"
    rprop = search(Remembering(), max_evaluations=5, strategy=Rprop()).fit(X, y)
    assert rprop.n_evaluations_ == 5
    assert "5 evaluations" in rprop.ended_
    with pytest.raises(ValueError, match="max_evaluations=3 does not suffice for the points that strategy='downhill'"):
        search(Remembering(), max_evaluations=3, strategy=Downhill(at_once=4)).fit(X, y)
    pairs = search(Remembering(), max_evaluations=7, strategy=Downhill(at_once=2), random_state=0).fit(X, y)
    assert pairs.n_evaluations_ == 6
    assert pairs.ended_ == "max_evaluations=7 leaves no room for the next 2 evaluations, after 6"


@pytest.mark.parametrize(
    ("strategy", "objective"),
    [
        (CMAES(), "likelihood"),
        (CMAES(), "polarization"),
        (NoisyRprop(), "likelihood"),
        (RandomSearch(), "polarization"),
    ],
)
@pytest.mark.parametrize("allowed", [17, 40])
def test_the_end_names_the_evaluations_that_were_spent(strategy: Any, objective: str, allowed: int) -> None:
    X, y = two_classes()
    found = ModelSearch(
        SVC(), objective=objective, strategy=strategy, max_evaluations=allowed, random_state=0, refit=False
    ).fit(X, y)
    spent, *more = (int(number) for number in re.findall(r"\d+", found.ended_))
    assert found.ended_.endswith("evaluations allowed are spent" if not more else f"the next step takes {more[-1]}")
    # The point that is chosen is evaluated after the end if it never was before.
    assert found.n_evaluations_ - spent in (0, 1)
    assert spent == allowed if not more else (more[0] == allowed and spent < allowed < spent + more[1])


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("at_once", [1, 4])
def test_ctrl_c_gives_the_best_so_far(at_once: int, n_jobs: int) -> None:
    X, y = two_classes()
    pressed: list[float] = []

    def press() -> None:
        if not pressed:
            pressed.append(time.perf_counter())
            _thread.interrupt_main()

    stopped = search(Pending(9, then=press), strategy=Downhill(at_once=at_once), n_jobs=n_jobs)
    with pytest.warns(UnfinishedSearchWarning, match=r"\(interrupted\) after 9 evaluations"):
        stopped.fit(X, y)
    assert time.perf_counter() - pressed[0] < PROMPTLY
    assert stopped.ended_ == "interrupted"
    assert stopped.score(X, y) > 0.5


def test_ctrl_c_before_the_price_leaves_it_alone() -> None:
    X, y = two_classes()
    stopped = ModelSearch(SVC(C=3.0), objective=Pending(3, False, then=_thread.interrupt_main), strategy=Downhill())
    with pytest.warns(UnfinishedSearchWarning) as said:
        stopped.fit(X, y)
    assert any(
        "(interrupted) before C could be chosen by cross-validation; it stays 3." in str(w.message) for w in said
    )
    assert stopped.best_estimator_.C == 3.0
    assert set(stopped.trace_["stage"]) == {"search"}


def test_ctrl_c_before_anything_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt):
        search(Pending(0, then=_thread.interrupt_main)).fit(*two_classes())


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("at_once", [1, 4])
def test_errors_are_raised(at_once: int, n_jobs: int) -> None:
    def fail() -> None:
        raise OSError("no value today")

    began = time.perf_counter()
    with pytest.raises(OSError, match="no value today"):
        search(Pending(5, then=fail), strategy=Downhill(at_once=at_once), n_jobs=n_jobs).fit(*two_classes())
    assert time.perf_counter() - began < PROMPTLY


def test_values_that_are_no_numbers() -> None:
    X, y = two_classes()
    limit = 1.5 * jaakkola_gamma(X, y)  # a little beyond the start

    class Missing(Remembering):
        name = "missing"

        def bind(self, task: Task) -> BoundObjective:
            bound = super().bind(task)
            evaluate = bound.evaluate

            def without(kernel: Any, C: float, **how: Any) -> Evaluated:
                found = evaluate(kernel, C, **how)
                return Evaluated(np.nan if self.always or kernel.gamma > limit else found.value, found.gradient, 0.0)

            bound.evaluate = without  # type: ignore[method-assign]
            return bound

        def __deepcopy__(self, memo: Any) -> Missing:
            return self

    sometimes, never = Missing(), Missing()
    sometimes.always, never.always = False, True  # type: ignore[attr-defined]
    found = search(sometimes, strategy="rprop").fit(X, y)
    assert found.best_params_["gamma"] <= limit
    assert np.isnan(found.trace_["value"]).any()
    with pytest.raises(RuntimeError, match="objective='missing' has no finite value at any of the 1 points"):
        search(never, strategy="rprop").fit(X, y)


class Watch:
    """A display that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def start(self, machines: int | None) -> None:
        self.told.append(("start", machines))

    def advance(self, machines: int, cost: float, expected_cost_left: float | None, best_score: float | None) -> None:
        self.told.append((machines, best_score))

    def finish(self, reason: str) -> None:
        self.told.append(("finish", reason))


def test_progress() -> None:
    X, y = two_classes()
    shown = Watch()
    found = search("polarization", progress=shown).fit(X, y)
    first = shown.told.index(("finish", "finished"))
    assert shown.told[0] == ("start", 20)
    assert sum(count for count, _ in shown.told[1:first]) == 20
    assert shown.told[first - 1][1] == found.best_value_
    assert shown.told[first + 1] == ("start", 45)
    shown = Watch()
    search(Remembering(), progress=shown, max_evaluations=7).fit(X, y)
    assert shown.told[0] == ("start", 7)
    shown = Watch()
    with pytest.warns(UnfinishedSearchWarning):
        search(Pending(3), progress=shown, max_time=0.05).fit(X, y)
    assert shown.told[-1] == ("finish", "time is up")


def test_progress_in_a_log(caplog: pytest.LogCaptureFixture) -> None:
    X, y = two_classes()
    with caplog.at_level(logging.INFO, "widemargin"):
        search(Remembering(), progress="log").fit(X, y)
    assert caplog.messages[-1].startswith("20 of 20 evaluations after <1 s, best value ")


def test_a_display_that_has_enough_ends_other_threads_too() -> None:
    class Enough(Watch):
        def advance(self, *what: Any) -> None:
            self.at = time.perf_counter()
            raise KeyboardInterrupt

    shown = Enough()
    stopped = search(Pending(1), strategy=Downhill(at_once=3), n_jobs=3, random_state=0, progress=shown)
    with pytest.warns(UnfinishedSearchWarning, match=r"\(interrupted\) after 1 evaluation of"):
        stopped.fit(*two_classes())
    assert time.perf_counter() - shown.at < PROMPTLY


def test_a_display_that_fails_ends_the_search() -> None:
    class Broken(Watch):
        def advance(self, *what: Any) -> None:
            raise OSError("no paper")

    with pytest.raises(OSError, match="no paper"):
        search("polarization", progress=Broken()).fit(*two_classes())


class Counting(BaseEstimator):
    """A callback of scikit-learn 1.9 that counts tasks, and may end the search."""

    max_propagation_depth = 1

    def __init__(self, last: int | None = None) -> None:
        self.last = last
        self.begun: list[str] = []

    def setup(self, estimator: Any, context: Any) -> None: ...

    def teardown(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any, **data: Any) -> None:
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any, **data: Any) -> bool:
        return context.task_name == "candidate-split-evaluation" and context.task_id == self.last


def test_callbacks() -> None:
    pytest.importorskip("sklearn.callback")
    X, y = two_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        heard = Counting()
        search(Remembering(), max_evaluations=6).set_callbacks(heard).fit(X, y)
    # The last fit of the model stands for the task that it is done in.
    assert heard.begun == ["fit", "search", *["candidate-split-evaluation"] * 6, "fit"]
    ending = Counting(last=3)
    stopped = search(Remembering()).set_callbacks(ending)
    with pytest.warns(UnfinishedSearchWarning, match=r"\(stopped by a callback\) after 4 evaluations"):
        stopped.fit(X, y)


def test_kernels_of_one_object_are_not_changed() -> None:
    X, y = two_classes()
    kernel = kernels.DiagonalGaussian()
    ModelSearch(SVC(kernel=kernel), objective="polarization", strategy=Downhill()).fit(X, y)
    assert kernel == kernels.DiagonalGaussian()
