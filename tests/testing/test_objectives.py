"""The contract of objectives itself: polarization keeps it, and each way of cheating is caught."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from widemargin.kernels import Kernel
from widemargin.objectives import BoundObjective, Evaluated, Objective, Polarization, Task
from widemargin.runtime import Stop, Work
from widemargin.testing import ObjectiveContract, small_regression_task, small_tasks

Change = Callable[[Evaluated, Kernel, float, Any], Evaluated]


class Altered(Polarization):
    """Polarization whose answers pass through a function."""

    def __init__(self, change: Change, **flags: Any) -> None:
        super().__init__()
        self.change = change
        for name, value in flags.items():
            setattr(self, name, value)

    def bind(self, task: Task) -> BoundObjective:
        return _Bound(super().bind(task), self.change)


class _Bound(BoundObjective):
    def __init__(self, inner: BoundObjective, change: Change) -> None:
        self.inner, self.change, self.n_parts = inner, change, inner.n_parts

    def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Any) -> Evaluated:
        found = self.inner.evaluate(kernel, C, gradient=gradient, **how)
        return self.change(found, kernel, C, {**how, "gradient": gradient, "self": self})


def fails(objective: Objective, words: str, **settings: Any) -> None:
    with pytest.raises(AssertionError, match=words):
        ObjectiveContract(objective, n_points=4, **settings).check()


def test_an_honest_objective_passes():
    ObjectiveContract(Polarization(), n_points=4).check()
    ObjectiveContract(Altered(lambda found, kernel, C, how: found), n_points=4).check()


def test_random_objectives_pass_with_the_flag_and_fail_without():
    def shaken(found, kernel, C, how):
        return replace(found, value=found.value + how["generator"].normal())

    ObjectiveContract(Altered(shaken, deterministic=False), n_points=4).check()
    fails(Altered(shaken), "values of other generators differ")
    fails(Altered(lambda found, kernel, C, how: found, deterministic=False), "are the same")


def test_what_was_evaluated_before_must_not_matter():
    def remembers(found, kernel, C, how):
        how["self"].seen = getattr(how["self"], "seen", 0) + 1
        return replace(found, value=found.value + how["self"].seen)

    fails(Altered(remembers), "whatever came before")


def test_points_that_are_evaluated_at_the_same_time_must_not_meet():
    def meets(found, kernel, C, how):
        how["self"].last = found.value
        time.sleep(1e-3)
        return replace(found, value=how["self"].last)

    fails(Altered(meets), "at the same time")


@pytest.mark.parametrize("error", [1e-3, -0.01])
def test_wrong_gradients_are_found(error):
    def wrong(found, kernel, C, how):
        return replace(found, gradient=None if found.gradient is None else found.gradient * (1.0 + error))

    fails(Altered(wrong), "are declared where values change by")


def test_kinks_are_told_from_smooth_points():
    class Ramp(Objective):
        """The distance of theta from a lattice: kinks every 2e-4 leave half of the points within reach of one."""

        name, trains_models, chooses_c = "ramp", False, False

        def __init__(self, period: float) -> None:
            self.period = period

        def bind(self, task: Task) -> BoundObjective:
            return _Ramp(task, self.period)

    class _Ramp(BoundObjective):
        def __init__(self, task: Task, period: float) -> None:
            self.task, self.period = task, period

        def evaluate(self, kernel: Kernel, C: float, *, gradient: bool = True, **how: Any) -> Evaluated:
            self.task.stop.check()
            phase = kernel.theta / self.period
            value = float(self.period * np.abs(phase - np.round(phase)).sum())
            return Evaluated(value, np.sign(phase - np.round(phase)) if gradient else None)

    ObjectiveContract(Ramp(2e-3)).check()
    fails(Ramp(2e-4), "away from kinks", step=1e-4)


def test_flags_have_to_be_true():
    fails(Altered(lambda found, kernel, C, how: found, trains_models=True), "trains_models is declared True")
    trains = Altered(lambda found, kernel, C, how: replace(found, work=Work(trained=1)))
    fails(trains, "1 models were trained")
    fails(Altered(lambda found, kernel, C, how: replace(found, value=found.value + C)), "chooses_c is declared False")
    fails(Altered(lambda found, kernel, C, how: found, chooses_c=True), "the flags declare")
    sloped = Altered(
        lambda found, kernel, C, how: replace(found, c_slope=0.0 if how["gradient"] else None), chooses_c=True
    )
    fails(sloped, "do not depend on C")
    fails(Altered(lambda found, kernel, C, how: found, differentiable=False), "the flags declare")
    short = Altered(lambda found, kernel, C, how: replace(found, gradient=np.zeros(7) if how["gradient"] else None))
    fails(short, "has shape")


def test_values_are_compared_with_the_oracle():
    def oracle(task, kernel, C, generator):
        signs = np.where(task.y == 1, 1.0, -1.0) * task.weights
        return float(signs @ kernel(task.X) @ signs)

    tasks = [task for task in small_tasks() if task.n_classes == 2]
    ObjectiveContract(Polarization(), tasks, oracle=oracle, n_points=4).check()
    fails(Altered(lambda found, *_: replace(found, value=1.001 * found.value)), "of the oracle", oracle=oracle)


def test_starts_must_not_matter():
    def lazy(found, kernel, C, how):
        return replace(found, value=found.value * (1.001 if how.get("state") else 1.0), state=[1])

    fails(Altered(lazy), "warm start")


def test_poll_is_called_and_heard():
    class Deaf(Polarization):
        def __init__(self, silent: bool) -> None:
            super().__init__()
            self.silent = silent

        def bind(self, task: Task) -> BoundObjective:
            if self.silent:
                return super().bind(replace(task, stop=Stop()))

            class Muffled(Stop):
                def check(self) -> None:
                    try:
                        task.stop.check()
                    except Exception:
                        task.stop.check()

            return super().bind(replace(task, stop=Muffled()))

    fails(Deaf(True), "check must be called")
    fails(Deaf(False), "must come through")


def test_parts_average_to_the_whole():
    def parts(found, kernel, C, how):
        how["self"].n_parts = 2
        return replace(found, value=found.value * (1.0 if how.get("part") is None else how["part"]))

    class TwoParts(Altered):
        def bind(self, task: Task) -> BoundObjective:
            bound = super().bind(task)
            bound.n_parts = 2
            return bound

    fails(TwoParts(parts), "average of its 2 parts")


def test_refusals_are_sentences():
    class Refuses(Polarization):
        def __init__(self, reason: str | None) -> None:
            super().__init__()
            self.reason = reason

        def why_not(self, task: Task, C: float) -> str | None:
            return None if task.n_classes else self.reason

    refused = [(small_regression_task(), 1.0)]
    ObjectiveContract(Refuses("It takes classes, not numbers."), refuses=refused, n_points=2).check()
    fails(Refuses(None), "must be refused", refuses=refused)
    fails(Refuses("no"), "not a sentence", refuses=refused)
    fails(Refuses("It takes classes only."), "is refused: It takes", tasks=[small_regression_task()])
