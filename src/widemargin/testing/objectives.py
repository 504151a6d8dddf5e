"""What a new objective has to pass before searches may follow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from widemargin.kernels import DiagonalGaussian, Gaussian, Kernel
from widemargin.kernels.heuristics import jaakkola_gamma
from widemargin.objectives import Evaluated, Objective, Task
from widemargin.runtime import Stop, StoppedError
from widemargin.testing.contracts import Contract
from widemargin.testing.protocols import Matrix, Vector
from widemargin.testing.tasks import small_tasks

#: Returns the expected value for a task, a kernel, C and (for random objectives) a generator.
Oracle = Callable[[Task, Kernel, float, np.random.Generator | None], float]


class _InterruptedError(StoppedError):
    """What the contract lets ``stop.check`` raise."""


@dataclass
class _Poll:
    """Number of calls of ``stop.check`` so far, and the call at which it raises."""

    last: int = -1
    calls: int = 0


@dataclass(frozen=True)
class _CountedStop(Stop):
    """Counts the calls of ``check``; raises at a given one."""

    poll: _Poll

    def check(self) -> None:
        """Count."""
        self.poll.calls += 1
        if self.poll.calls == self.poll.last:
            raise _InterruptedError


@dataclass(frozen=True)
class ObjectiveContract(Contract):
    """The clauses that an objective has to keep: each is a method that raises AssertionError with a sentence.

    Parameters
    ----------
    objective : Objective
    tasks : sequence of Task, optional
        Tasks to evaluate it on; :func:`small_tasks` if not given. Derivatives are compared with differences of values,
        so models need a tight `tolerance`.
    kernels : sequence of Kernel, optional
        By default a Gaussian with one width and one with many; :func:`adaptable_kernels` has more. Parameters that are
        None are estimated from the data.
    oracle : callable, optional
        ``oracle(task, kernel, C, generator)`` returns the expected value.
    refuses : sequence of (Task, float)
        Tasks, each with a C, that the objective has to say it does not suit.
    n_points : int, default=20
        Random points for each kernel, shared out among the tasks.
    spread : float, default=1
        How far from their start parameters of kernels are drawn.
    log_c : pair of floats
        Range from which log C is drawn.
    step : float, default=1e-4
        Step of the differences. It divides rounding errors: models trained on float32 kernel values need a larger one.
    gradient_error : float, default=1e-4
        Largest relative error of a derivative.
    value_error : float, default=1e-9
        Largest relative difference to the oracle.
    state_error : float, default=1e-8
        Largest relative change of a value by where models start, or by what else is computed on the way.
    checked_share : float, default=0.6
        Share of derivatives that have to be away from kinks.
    seed : int, default=0

    Examples
    --------
    >>> from widemargin.objectives import Polarization
    >>> from widemargin.testing import ObjectiveContract
    >>> ObjectiveContract(Polarization(), n_points=3).check()
    """

    objective: Objective
    tasks: Sequence[Task] = field(default_factory=small_tasks)
    kernels: Sequence[Kernel] = field(default_factory=lambda: (Gaussian(), DiagonalGaussian()))
    oracle: Oracle | None = None
    refuses: Sequence[tuple[Task, float]] = ()
    n_points: int = 20
    spread: float = 1.0
    log_c: tuple[float, float] = (-1.0, 4.0)
    step: float = 1e-4
    gradient_error: float = 1e-4
    value_error: float = 1e-9
    state_error: float = 1e-8
    checked_share: float = 0.6
    seed: int = 0

    def answers_in_full(self) -> None:
        """Values are finite; there are derivatives of the right shape exactly if declared and wanted."""
        what = self.objective.name
        for task, kernel, C in self._points(2):
            with_gradient, without = (self._evaluate(task, kernel, C, gradient=wanted) for wanted in (True, False))
            assert np.isfinite(with_gradient.value), f"{what}: the value {with_gradient.value!r} must be finite."
            assert without.gradient is None, f"{what}: there must be no gradient where none is wanted."
            rounding = self.state_error if self.objective.trains_models else 1e-12
            self._require_close(with_gradient.value, without.value, rounding, "without a gradient")
            has = (with_gradient.gradient is not None, with_gradient.c_slope is not None)
            declared = (self.objective.differentiable, self.objective.differentiable and self.objective.chooses_c)
            assert has == declared, f"{what}: (gradient, c_slope) are there as {has}, the flags declare {declared}."
            if with_gradient.gradient is not None:
                shape, finite = with_gradient.gradient.shape, np.all(np.isfinite(with_gradient.gradient))
                assert shape == (kernel.n_dims,), f"{what}: the gradient has shape {shape}, {kernel!r} has theta."
                assert finite, f"{what}: the gradient {with_gradient.gradient} must be finite."

    def repeats_itself(self) -> None:
        """Equal generators give equal bits; other generators others, unless the objective is deterministic."""
        what, differs = self.objective.name, False
        for task, kernel, C in self._points(2):
            first = self._evaluate(task, kernel, C)
            bound = self.objective.bind(task)
            bound.evaluate(kernel.clone_with_theta(kernel.theta + 0.1), 2.0 * C, generator=np.random.default_rng(0))
            second = bound.evaluate(kernel, C, generator=np.random.default_rng(0))
            assert _same_bits(first, second), f"{what}: the same point must have the same bits, whatever came before."
            others = [self._evaluate(task, kernel, C, seed=seed) for seed in (1, 2, 3)]
            differs = differs or not all(_same_bits(first, other) for other in others)
        assert differs != self.objective.deterministic, (
            f"{what}: deterministic is declared {self.objective.deterministic}, but values of other generators "
            f"{'differ' if differs else 'are the same'}."
        )

    def has_the_value_that_is_meant(self) -> None:
        """Values are those of the oracle, where there is one."""
        if self.oracle is None:
            return
        for task, kernel, C in self._points(self.n_points):
            found = self._evaluate(task, kernel, C, gradient=False).value
            meant = self.oracle(task, kernel, C, np.random.default_rng(0))
            self._require_close(found, meant, self.value_error, f"of the oracle, {kernel!r} and C={C:.4g}")

    def has_the_slope_of_its_values(self) -> None:
        """Require that derivatives are those of the values, except at kinks, which most points are away from."""
        if not self.objective.differentiable:
            return
        checked = total = 0
        for task, kernel, C in self._points(self.n_points):
            good, kinks = self._compare_slopes(task, kernel, C)
            checked, total = checked + good, total + good + kinks
        assert checked >= self.checked_share * total, (
            f"{self.objective.name}: only {checked} of {total} derivatives are away from kinks; "
            f"{self.checked_share:.0%} are needed."
        )

    def is_the_average_of_its_parts(self) -> None:
        """Values and derivatives of the parts average to those of the whole."""
        what = self.objective.name
        for task, kernel, C in self._points(2):
            n_parts = self.objective.bind(task).n_parts
            whole = self._evaluate(task, kernel, C)
            parts = [self._evaluate(task, kernel, C, part=part) for part in range(n_parts)]
            mean = float(np.mean([one.value for one in parts]))
            self._require_close(mean, whole.value, 1e-9, f"of the average of its {n_parts} parts")
            if whole.gradient is not None:
                means = np.mean([cast(Vector, one.gradient) for one in parts], axis=0)
                error = np.abs(means - whole.gradient).max(initial=0.0)
                allowed = 1e-7 * np.abs(whole.gradient).max(initial=0.0) + 1e-12
                assert error <= allowed, f"{what}: gradients of parts average to the whole's but for {error:.2e}."

    def trains_models_as_declared(self) -> None:
        """Models are counted exactly if the objective declares that it needs any."""
        for task, kernel, C in self._points(1):
            trained = self._evaluate(task, kernel, C).work.trained
            assert (trained > 0) == self.objective.trains_models, (
                f"{self.objective.name}: trains_models is declared {self.objective.trains_models}, "
                f"{trained} models were trained."
            )

    def depends_on_c_as_declared(self) -> None:
        """Values depend on C exactly if the objective declares that it can choose it."""
        low, high = np.exp(self.log_c)
        found = [
            [self._evaluate(task, kernel, float(c), gradient=False).value for c in np.geomspace(low, high, 5)]
            for task, kernel, _ in self._points(2)
        ]
        depends = any(len(set(values)) > 1 for values in found)
        assert depends == self.objective.chooses_c, (
            f"{self.objective.name}: chooses_c is declared {self.objective.chooses_c}, but values "
            f"{'depend' if depends else 'do not depend'} on C."
        )

    def does_not_depend_on_threads(self) -> None:
        """One thread and three give the same bits; so do points that are evaluated at the same time."""
        what = self.objective.name
        for task, kernel, C in self._points(1):
            one, three = (self._evaluate(replace(task, n_threads=n), kernel, C) for n in (1, 3))
            assert _same_bits(one, three), f"{what}: three threads must give the bits of one."
            points = [kernel.clone_with_theta(kernel.theta + 0.1 * number) for number in range(4)]
            bound = self.objective.bind(task)
            with ThreadPoolExecutor(4) as threads:
                together = list(
                    threads.map(lambda at: bound.evaluate(at, C, generator=np.random.default_rng(0)), 4 * points)  # noqa: B023
                )
            alone = 4 * [self._evaluate(task, at, C) for at in points]
            same = all(_same_bits(first, second) for first, second in zip(together, alone, strict=True))
            assert same, f"{what}: points that are evaluated at the same time must have the bits of each by itself."

    def does_not_depend_on_its_start(self) -> None:
        """Models that start where those of another point ended lead to the same value, up to their tolerance."""
        for task, kernel, C in self._points(3):
            bound = self.objective.bind(task)
            nearby = kernel.clone_with_theta(kernel.theta + 0.1)
            state = bound.evaluate(nearby, 1.2 * C, generator=np.random.default_rng(0)).state
            warm = bound.evaluate(kernel, C, generator=np.random.default_rng(0), state=state).value
            cold = self._evaluate(task, kernel, C).value
            self._require_close(warm, cold, self.state_error, "from a warm start")

    def ends_when_asked_to(self) -> None:
        """``stop.check`` is called; what it raises comes through at once, and leaves the objective usable."""
        what = self.objective.name
        for task, kernel, C in self._points(1):
            poll = _Poll()
            bound = self.objective.bind(replace(task, stop=_CountedStop(poll)))
            poll.calls = 0
            before = bound.evaluate(kernel, C, generator=np.random.default_rng(0))
            total = poll.calls
            assert total > 0, f"{what}: stop.check must be called while a value is computed."
            for last in sorted({1, (1 + total) // 2, total}):
                poll.calls, poll.last = 0, last
                try:
                    bound.evaluate(kernel, C, generator=np.random.default_rng(0))
                except _InterruptedError:
                    pass
                else:
                    raise AssertionError(f"{what}: what stop.check raises must come through.")
                more = poll.calls - last
                assert more == 0, f"{what}: stop.check was called {more} times after it had raised."
            poll.last = -1
            after = bound.evaluate(kernel, C, generator=np.random.default_rng(0))
            assert _same_bits(before, after), f"{what}: an interruption must leave no trace."

    def leaves_the_samples_alone(self) -> None:
        """Nothing is written into samples, labels, weights or the kernel."""
        for task, kernel, C in self._points(1):
            kept = [np.array(part) for part in (task.X, task.y, task.weights, kernel.theta)]
            self._evaluate(task, kernel, C)
            for name, before, after in zip(
                ("X", "y", "weights", "theta"), kept, (task.X, task.y, task.weights, kernel.theta), strict=True
            ):
                assert np.array_equal(before, after), f"{self.objective.name}: {name} must not be written to."

    def says_why_not(self) -> None:
        """Tasks that suit are not refused; those that do not are, in one sentence."""
        what = self.objective.name
        for task in self.tasks:
            reason = self.objective.why_not(task, 1.0)
            assert reason is None, f"{what}: a task that it is tested on is refused: {reason}"
        for task, C in self.refuses:
            reason = self.objective.why_not(task, C)
            assert reason is not None, f"{what}: {task.loss} with {task.n_classes} classes must be refused."
            sentence = reason.endswith(".") and len(reason.split()) >= 4
            assert sentence, f"{what}: {reason!r} is not a sentence."

    def _points(self, each: int) -> Iterator[tuple[Task, Kernel, float]]:
        """Tasks in turn, with `each` random kernels and values of C for every kernel (once for every task at least)."""
        generator = np.random.default_rng(self.seed)
        for start in self.kernels:
            for turn in range(max(each, len(self.tasks))):
                task = self.tasks[turn % len(self.tasks)]
                classes = task.y if task.n_classes else None
                gamma = jaakkola_gamma(task.X, classes, task.weights)
                kernel = start.fitted(task.X, gamma=gamma, weights=task.weights)
                moved = kernel.theta + generator.uniform(-self.spread, self.spread, kernel.n_dims)
                yield task, kernel.clone_with_theta(moved), float(np.exp(generator.uniform(*self.log_c)))

    def _evaluate(
        self,
        task: Task,
        kernel: Kernel,
        C: float,
        *,
        gradient: bool = True,
        part: int | None = None,
        seed: int = 0,
    ) -> Evaluated:
        generator = np.random.default_rng(seed)
        return self.objective.bind(task).evaluate(kernel, C, gradient=gradient, generator=generator, part=part)

    def _require_close(self, found: float, meant: float, error: float, what: str) -> None:
        assert abs(found - meant) <= error * max(abs(meant), 1e-3), (
            f"{self.objective.name}: the value is {found!r}, that {what} is {meant!r}."
        )

    def _compare_slopes(self, task: Task, kernel: Kernel, C: float) -> tuple[int, int]:
        """Compare all derivatives at a point; return how many are right, and how many are at kinks."""
        found = self._evaluate(task, kernel, C)
        slopes = np.append(found.gradient, [found.c_slope] if self.objective.chooses_c else [])  # type: ignore[arg-type]

        def along(k: int, by: float) -> float:
            shift = by * np.eye(kernel.n_dims + 1)[k]
            moved = kernel.clone_with_theta(kernel.theta + shift[:-1])
            # Values that come with a gradient are those that a search follows: models are then solved once more.
            return self._evaluate(task, moved, float(C * np.exp(shift[-1]))).value

        centre, steps = along(0, 0.0), self.step * np.array([-1.0, -0.5, 0.5, 1.0])
        values = np.array([[along(k, by) for by in steps] for k in range(len(slopes))]).reshape(-1, 4)
        coarse = (values[:, 3] - values[:, 0]) / (2.0 * self.step)
        fine = (values[:, 2] - values[:, 1]) / self.step
        meant = (4.0 * fine - coarse) / 3.0
        largest = np.abs(meant).max(initial=0.0)
        allowed = self.gradient_error * np.maximum(np.abs(meant), max(1e-2 * largest, 1e-6 * abs(centre), 1e-9))
        smooth = _smooth(centre, values, self.step, np.abs(coarse - fine), allowed)
        wrong = smooth & (np.abs(slopes - meant) > allowed)
        assert not wrong.any(), (
            f"{self.objective.name}: with {kernel!r} and C={C:.6g} the derivatives {slopes[wrong]} are declared where "
            f"values change by {meant[wrong]}."
        )
        return int(smooth.sum()), int((~smooth).sum())


def _smooth(centre: float, values: Matrix, step: float, drift: Vector, allowed: Vector) -> Any:
    """Tell whether differences can be trusted: two steps agree, and slopes on both sides approach each other.

    Where a kink lies within the step, either the two central differences disagree, or the jump between the slopes on
    both sides does not halve with the step.
    """
    jump = np.abs(values[:, 3] + values[:, 0] - 2.0 * centre) / step
    closer = np.abs(values[:, 2] + values[:, 1] - 2.0 * centre) / (0.5 * step)
    return (drift <= 0.2 * allowed) & ((closer <= 0.7 * jump) | (closer <= allowed))


def _same_bits(one: Evaluated, other: Evaluated) -> bool:
    return (
        one.value == other.value
        and one.c_slope == other.c_slope
        and (one.gradient is None) == (other.gradient is None)
        and (one.gradient is None or np.array_equal(one.gradient, other.gradient))  # type: ignore[arg-type]
    )
