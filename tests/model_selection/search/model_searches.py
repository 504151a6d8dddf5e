"""What tests of model searches share: data, a strategy that needs nothing, and objectives that can be watched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.datasets import make_classification, make_friedman1

from widemargin import SVC, ModelSearch
from widemargin.objectives import BoundObjective, Evaluated, Objective, Polarization, Task
from widemargin.runtime import Work
from widemargin.strategies import Ask, Space, Strategy, StrategyRun, Told


def two_classes(n: int = 60) -> tuple[Any, Any]:
    return make_classification(n, 4, n_informative=3, n_redundant=0, flip_y=0.1, class_sep=0.8, random_state=3)


def three_classes() -> tuple[Any, Any]:
    return make_classification(
        75, 4, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=1
    )


def targets() -> tuple[Any, Any]:
    return make_friedman1(60, 5, noise=0.5, random_state=0)


@dataclass(frozen=True)
class Downhill(Strategy):
    """Steps of fixed length against the sign of the gradient, shrinking; or several points at once around the last."""

    name: ClassVar[str] = "downhill"
    needs_gradient: ClassVar[bool] = True
    copes_with_noise: ClassVar[bool] = True

    steps: int = 20
    at_once: int = 1
    first: float = 0.5

    def begin(self, space: Space, *, seed: int, n_parts: int = 1, max_evaluations: int | None = None) -> StrategyRun:
        return _Downhill(self, space, seed)


class _Downhill(StrategyRun):
    def __init__(self, rule: Downhill, space: Space, seed: int) -> None:
        self._rule, self._space = rule, space
        self._random = np.random.default_rng(seed)
        self._point, self._length, self._asked = space.start, rule.first, 0
        self._lowest, self._best = math.inf, space.start
        self._asks: list[Ask] = []

    def ask(self) -> Sequence[Ask]:
        if self._asked >= self._rule.steps:
            return []
        if not self._asks:
            others = self._random.normal(size=(self._rule.at_once - 1, self._space.n_dims))
            around = [self._space.clipped(self._point + 0.2 * one) for one in others]
            self._asks = [Ask(point) for point in [*around, self._point]]
        return self._asks

    def tell(self, found: Sequence[Told]) -> None:
        for ask, told in zip(self._asks, found, strict=True):
            if told.value < self._lowest:
                self._lowest, self._best = told.value, ask.point
        last = found[-1]
        assert last.gradient is not None
        self._point = self._space.clipped(self._point - self._length * np.sign(last.gradient))
        self._length *= 0.8
        self._asked += len(self._asks)
        self._asks = []

    @property
    def best(self) -> Any:
        return self._best

    @property
    def reason(self) -> str | None:
        return "all steps are done" if self._asked >= self._rule.steps else None

    @property
    def expected_evaluations(self) -> int | None:
        return self._rule.steps


def same_searches(one: ModelSearch, other: ModelSearch) -> None:
    """Raise AssertionError unless two searches found the same, bit for bit; times aside."""
    mine, theirs = one.trace_.columns, other.trace_.columns
    assert list(mine) == list(theirs)
    for name, column in mine.items():
        if name != "seconds":
            np.testing.assert_array_equal(column, theirs[name], err_msg=name)
    assert repr(one.best_params_) == repr(other.best_params_)
    np.testing.assert_array_equal(one.best_value_, other.best_value_)
    assert one.ended_ == other.ended_
    assert one.notes_ == other.notes_
    assert one.edges_ == other.edges_


class Remembering(Objective):
    """A bowl whose value depends on where evaluations started, more than any machine's would: resumes have to be exact.

    Each evaluation is noted in `calls`, as (point, whether it started from nothing).
    """

    name = "remembering"

    def __init__(self, random: bool = False, calls: list[Any] | None = None) -> None:
        self.deterministic = not random
        self.calls = calls

    def __reduce__(self) -> Any:
        return Remembering, (not self.deterministic,)  # calls are not part of what it is

    def __deepcopy__(self, memo: Any) -> Remembering:
        return Remembering(not self.deterministic, self.calls)

    def bind(self, task: Task) -> BoundObjective:
        return _Remembering(task, self.calls)


class _Remembering(BoundObjective):
    def __init__(self, task: Task, calls: list[Any] | None) -> None:
        self._task, self._calls = task, calls

    def evaluate(
        self,
        kernel: Any,
        C: float,
        *,
        gradient: bool = True,
        generator: np.random.Generator | None = None,
        state: Any = None,
        part: int | None = None,
    ) -> Evaluated:
        self._task.stop.check()
        if self._calls is not None:
            self._calls.append((kernel.theta.tolist(), state is None))
        theta, price = kernel.theta, math.log(C)
        memory = 0.0 if state is None else state
        noise = 0.0 if generator is None else float(generator.normal())
        value = float((theta - 1.0) @ (theta - 1.0) + (price + 1.0) ** 2 + 0.01 * memory + 0.01 * noise)
        slopes = 2.0 * (theta - 1.0) + 0.01 * noise + 1e-3 * memory
        notes = ("far away",) if value > 4.0 else ()
        found = math.sin(100.0 * value) + 0.5 * memory
        return Evaluated(
            value,
            slopes if gradient else None,
            2.0 * (price + 1.0) if gradient else None,
            work=Work(trained=1, iterations=2, kernel_evaluations=3, factorizations=4),
            state=found,
            notes=notes,
        )


def search(machine: Any = None, **how: Any) -> ModelSearch:
    """Return a search along polarization, by steps down its gradient."""
    how = {"objective": "polarization", "strategy": Downhill(), **how}
    return ModelSearch(SVC() if machine is None else machine, **how)


def polarization(kernel: Any, X: Any, y: Any) -> float:
    """Return the value of the objective that these searches follow."""
    task = Task(X, y, 2, np.ones(len(y)))
    return Polarization().bind(task).evaluate(kernel, 1.0, gradient=False).value
