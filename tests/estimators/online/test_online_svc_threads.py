"""An online model and several threads: they take turns."""

from __future__ import annotations

import copy
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.estimators.online.test_online_svc import two_classes

from widemargin import OnlineSVC
from widemargin.estimators.online import online_svc


class Waiting:
    """A kernel that waits, where it was told to, until it is let on."""

    def __init__(self) -> None:
        self.begun, self.let_on, self.waits = threading.Event(), threading.Event(), False

    def __reduce__(self) -> Any:
        return Waiting, ()

    def __call__(self, A: Any, B: Any) -> Any:
        if self.waits:
            self.begun.set()
            assert self.let_on.wait(60)
        return np.exp(-0.3 * ((np.asarray(A)[:, np.newaxis] - np.asarray(B)) ** 2).sum(axis=2))


def in_threads(*works: Callable[[], Any]) -> list[Any]:
    """Do all of it at once; return what came out of each, a result or an exception."""
    found: list[Any] = [None] * len(works)

    def work(number: int) -> None:
        try:
            found[number] = works[number]()
        except BaseException as problem:
            found[number] = problem

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


USES: dict[str, Callable[[OnlineSVC, Any, Any], Any]] = {
    "predict": lambda model, X, y: model.decision_function(X).tolist(),
    "query": lambda model, X, y: model.query(X, n=3).tolist(),
    "gap_": lambda model, X, y: model.gap_,
    "kept_ids_": lambda model, X, y: model.kept_ids_.tolist(),
    "n_seen_": lambda model, X, y: model.n_seen_,
    "support_": lambda model, X, y: model.support_.tolist(),
    "pickle": lambda model, X, y: pickle.loads(pickle.dumps(model)).n_seen_,
    "finish": lambda model, X, y: model.finish().dual_coef_.tolist(),
    "forget": lambda model, X, y: model.forget(model.kept_ids_[:3]).dual_coef_.tolist(),
    "partial_fit": lambda model, X, y: model.partial_fit(X[:20], y[:20]).dual_coef_.tolist(),
}


@pytest.mark.parametrize("use", USES)
def test_who_uses_a_model_that_learns_waits_for_what_it_has_learnt(use: str) -> None:
    X, y = two_classes(80)
    kernel = Waiting()
    model = OnlineSVC(C=2.0, kernel=kernel).partial_fit(X[:40], y[:40], classes=["no", "yes"])
    twin = OnlineSVC(C=2.0, kernel=Waiting()).partial_fit(X[:40], y[:40], classes=["no", "yes"])
    expected = USES[use](twin.partial_fit(X[40:], y[40:]), X, y)
    begun = threading.Event()

    def other() -> Any:
        assert kernel.begun.wait(60)
        begun.set()
        return USES[use](model, X, y)

    def let_on() -> None:
        assert begun.wait(60)
        kernel.waits = False
        kernel.let_on.set()

    kernel.waits = True
    learnt, used, _ = in_threads(lambda: model.partial_fit(X[40:], y[40:]), other, let_on)
    assert learnt is model
    assert used == expected


def test_threads_that_learn_at_once_lose_no_sample() -> None:
    X, y = two_classes(800)
    model = OnlineSVC(C=2.0, gamma=0.3)

    def learn(part: int) -> None:
        for begin in range(200 * part, 200 * part + 200, 10):
            rows = slice(begin, begin + 10)
            model.partial_fit(X[rows], y[rows], classes=["no", "yes"], ids=np.arange(800)[rows])

    assert in_threads(*(lambda part=part: learn(part) for part in range(4))) == [None] * 4
    assert model.n_seen_ == 800
    kept = model.kept_ids_
    assert len(set(kept.tolist())) == len(kept)
    order = np.argsort(kept)
    np.testing.assert_array_equal(model._stream.samples[model._stream.kept][order], X[kept[order]])
    assert model.finish().score(X, y) > 0.7


def test_copies_have_locks_of_their_own() -> None:
    X, y = two_classes(40)
    model = OnlineSVC(gamma=0.3).partial_fit(X, y, classes=["no", "yes"])
    with model._alone:
        twins = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
        assert in_threads(*(lambda twin=twin: twin.n_seen_ for twin in twins)) == [40, 40]


def test_who_waits_does_not_spend_max_time(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = two_classes(40)
    model, held = OnlineSVC(gamma=0.3, max_time=60.0), []

    class Clock:
        def perf_counter(self) -> float:
            held.append(model._alone.held)
            return time.perf_counter()

    monkeypatch.setattr(online_svc, "time", Clock())
    model.partial_fit(X, y, classes=["no", "yes"]).finish().forget(model.kept_ids_[0]).fit(X, y)
    assert held == [True] * 4
