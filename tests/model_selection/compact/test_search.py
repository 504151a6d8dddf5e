"""How searches of compact models end: in time, after an interruption, with some evaluations, for all classes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from typing import Any

import numpy as np
import pytest
from small_problems import fitted, same_models, three_classes, two_classes

from widemargin import SVC, CompactSVC, UnfinishedSearchWarning
from widemargin.model_selection.compact import compact_svc, search, selection
from widemargin.model_selection.compact.search import CompactSearch
from widemargin.objectives.prototype_quality import PrototypeQuality
from widemargin.strategies import TabuSearch
from widemargin.study.progress import Progress


def interrupting(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Let somebody press Ctrl-C during an evaluation."""
    evaluate, count = PrototypeQuality.evaluate, iter(range(10**9))

    def evaluated(self: PrototypeQuality, *given: Any, **how: Any) -> Any:
        if next(count) == after:
            os.kill(os.getpid(), signal.SIGINT)
        return evaluate(self, *given, **how)

    monkeypatch.setattr(PrototypeQuality, "evaluate", evaluated)


class Counter(Progress):
    """Counts what it is shown."""

    def __init__(self) -> None:
        self.shown, self.ended = 0, list[str]()

    def start(self, total: int | None) -> None:
        pass

    def advance(self, count: int, cost: float, left: float | None, best: float | None) -> None:
        self.shown += count

    def finish(self, reason: str) -> None:
        self.ended.append(reason)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("after", [40, 330])
def test_an_interruption_ends_with_the_best_until_then(
    monkeypatch: pytest.MonkeyPatch, after: int, n_jobs: int
) -> None:
    X, y = two_classes()
    whole = fitted(X, y, select_features=True, strategy=None)
    interrupting(monkeypatch, after)
    words = (
        r"The search for a compact model of class 1 has ended early \(interrupted\) after \d+ evaluations; the best "
    )
    with pytest.warns(UnfinishedSearchWarning, match=words):
        model = fitted(X, y, select_features=True, strategy=None, n_jobs=n_jobs)
    [one] = model.models_
    assert one.ended == "interrupted"
    assert 0 < model.n_evaluations_ < whole.n_evaluations_
    assert one.quality == pytest.approx(np.nanmax(one.trace["value"]), abs=1e-6)
    assert model.predict(X).shape == y.shape


def test_an_interruption_before_anything_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = two_classes()
    model = CompactSVC(random_state=0)

    def interrupted(self: Any, *given: Any, **how: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(PrototypeQuality, "evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "models_")


def test_an_interruption_while_classes_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = three_classes()
    interrupting(monkeypatch, 300)
    with pytest.raises(KeyboardInterrupt):
        fitted(X, y)


def test_an_interruption_at_the_last_class(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = three_classes()
    numbers = [one.trace.n_evaluations for one in fitted(X, y).models_]
    interrupting(monkeypatch, numbers[0] + numbers[1] + 20)
    with pytest.warns(UnfinishedSearchWarning, match="class 2 has ended early"):
        model = fitted(X, y)
    assert [one.ended == "interrupted" for one in model.models_] == [False, False, True]


def slowly(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let every evaluation take a while."""
    evaluate, wait = PrototypeQuality.evaluate, threading.Event().wait

    def evaluated(self: PrototypeQuality, *given: Any, **how: Any) -> Any:
        wait(seconds)
        return evaluate(self, *given, **how)

    monkeypatch.setattr(PrototypeQuality, "evaluate", evaluated)


def test_all_classes_get_their_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = three_classes()
    slowly(monkeypatch, 0.01)
    with pytest.warns(UnfinishedSearchWarning, match=r"has ended early \(time is up\)") as warned:
        model = fitted(X, y, max_time=1.5)
    assert [str(one.message).split(" has ")[0] for one in warned] == [
        f"The search for a compact model of class {label}" for label in (0, 1, 2)
    ]
    assert [one.ended for one in model.models_] == ["time is up"] * 3
    numbers = [one.trace.n_evaluations for one in model.models_]
    assert all(0 < number <= 51 for number in numbers)


def test_time_for_nothing() -> None:
    X, y = three_classes()
    with pytest.raises(TimeoutError, match=r"^max_time ended before class 0 had an evaluation; allow more\.$"):
        fitted(X, y, max_time=1e-9)


def test_time_that_suffices_changes_nothing() -> None:
    X, y = three_classes()
    same_models(fitted(X, y, max_time=600), fitted(X, y))


@pytest.mark.parametrize("most", [64, 80, 600])
def test_so_many_evaluations_for_each_class(most: int) -> None:
    X, y = three_classes()
    model = fitted(X, y, max_evaluations=most, strategy=None)
    numbers = [one.trace.n_evaluations for one in model.models_]
    assert all(number <= most for number in numbers)
    assert max(numbers) >= most // 2
    assert model.n_evaluations_ == sum(numbers)


@pytest.mark.parametrize("most", [1, 40, 60, 63])
def test_few_evaluations_choose_among_few_models(most: int) -> None:
    X, y = two_classes()
    for limited in (
        fitted(X, y, max_evaluations=most, strategy=None),
        fitted(X, y, max_evaluations=most, strategy=TabuSearch(evaluations=100)),
        fitted(X, y, max_evaluations=100, strategy=TabuSearch(evaluations=most)),
    ):
        trace = limited.models_[0].trace
        assert trace.n_evaluations == most
        assert limited.quality_ == pytest.approx(trace.values.max(), abs=1e-6)


def test_what_is_shown_is_what_is_evaluated() -> None:
    X, y = three_classes()
    counter = Counter()
    model = fitted(X, y, progress=counter)
    assert counter.shown == model.n_evaluations_
    assert counter.ended == ["finished"] * 3


def interrupting_at(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int = 0) -> None:
    """Let somebody press Ctrl-C when something is called for so many times."""
    usual, count = getattr(owner, name), iter(range(10**9))

    def called(*given: Any, **how: Any) -> Any:
        if next(count) == call:
            signal.raise_signal(signal.SIGINT)
        return usual(*given, **how)

    monkeypatch.setattr(owner, name, called)


@pytest.mark.parametrize(
    ("owner", "name"),
    [(CompactSearch, "_judged"), (search, "fitted_sigmoid"), (SVC, "fit"), (selection, "pareto_front")],
)
def test_an_interruption_after_the_search(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    X, y = two_classes()
    whole = fitted(X, y)
    interrupting_at(monkeypatch, owner, name)
    same_models(fitted(X, y), whole)  # without a warning: nothing is missing


@pytest.mark.parametrize(("owner", "name", "call"), [(CompactSearch, "_judged", 2), (CompactSearch, "refitted", 1)])
def test_an_interruption_before_the_model_is_trained_once_more(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int
) -> None:
    X, y = three_classes()
    whole = fitted(X, y)
    interrupting_at(monkeypatch, owner, name, call)
    with pytest.warns(UnfinishedSearchWarning, match=r"; the chosen model was not trained once more\.$"):
        same_models(fitted(X, y, refit=True), whole)


def test_an_interruption_after_the_search_for_the_first_of_several_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = three_classes()
    interrupting_at(monkeypatch, CompactSearch, "_judged")
    with pytest.raises(KeyboardInterrupt):
        fitted(X, y)


def test_a_second_interruption_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = two_classes()
    interrupting_at(monkeypatch, CompactSearch, "_judged")
    interrupting_at(monkeypatch, SVC, "fit")
    with pytest.raises(KeyboardInterrupt):
        fitted(X, y)


@pytest.mark.parametrize("problem", [KeyboardInterrupt, MemoryError])
def test_a_fit_that_ends_before_all_is_known_leaves_no_model(
    monkeypatch: pytest.MonkeyPatch, problem: type[BaseException]
) -> None:
    X, y = three_classes()
    model = fitted(X, y)

    def fails(*given: Any) -> Any:
        raise problem

    monkeypatch.setattr(CompactSearch, "values", fails)
    with pytest.raises(problem):
        model.set_params(random_state=1).fit(X, y)
    assert not hasattr(model, "models_")
    assert model.seed_ == 0


def test_the_time_of_a_fit_counts_the_final_training(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = two_classes()
    clock, refitted = [0.0], CompactSearch.refitted

    def slowly_refitted(self: CompactSearch, one: Any) -> Any:
        clock[0] += 1000.0
        return refitted(self, one)

    monkeypatch.setattr(compact_svc.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(CompactSearch, "refitted", slowly_refitted)
    assert fitted(X, y, refit=True).work_report_.seconds == 1000.0


def test_a_search_ends_where_its_memory_does() -> None:
    X, y = two_classes()
    with pytest.warns(UnfinishedSearchWarning, match="takes all of max_memory"):
        model = fitted(X, y, select_features=True, strategy=None, max_memory=0.5)
    assert 20 < model.n_evaluations_ < 200
    assert model.predict(X).shape == y.shape


def test_thousands_of_features_take_little_memory() -> None:
    program = """
        import resource, sys, warnings
        import numpy as np
        from widemargin import CompactSVC
        X = np.random.default_rng(0).normal(size=(60, 7000))
        y = np.where(X[:, 0] + X[:, 1] > 0, 1, -1)
        CompactSVC(select_features=True, max_evaluations=100, random_state=0).fit(X, y)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        model = CompactSVC(select_features=True, max_evaluations=8000, random_state=0).fit(X, y)
        assert model.n_evaluations_ == 8000
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000  # once 56 KB for each, twice over
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False, timeout=250
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_time_that_is_up_before_the_last_training_leaves_the_chosen_model(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = two_classes()
    plain = fitted(X, y)
    level = CompactSearch.refitted

    def late(self: CompactSearch, one: Any) -> Any:
        self.stop = self.stop.within(0.0)
        return level(self, one)

    monkeypatch.setattr(CompactSearch, "refitted", late)
    with pytest.warns(UnfinishedSearchWarning, match="max_time ended before the chosen model was trained once more"):
        model = fitted(X, y, refit=True, max_time=1000.0)
    same_models(model, plain)
