"""Candidates of a search, trained together: one kernel, one chain of problems along C for each width and split."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_method_params

from widemargin import _core
from widemargin.estimators.prepared_examples import PreparedExamples
from widemargin.estimators.search_candidates import Candidates
from widemargin.estimators.search_data import Evaluation, SearchData, Unit, machine_of
from widemargin.estimators.search_examples import SearchExamples
from widemargin.estimators.search_plans import walk_of
from widemargin.estimators.search_starts import Beginning, Start, Stretch
from widemargin.estimators.splits import KnownValues, Rows, SplitMachines, StartableMachines, family_of
from widemargin.kernels import KernelParameters
from widemargin.kernels.rows import take
from widemargin.machines.chain import LinkSolution, ended_early
from widemargin.machines.dual import Solution, StopRule


class Setting(NamedTuple):
    """What the candidates of a unit have in common."""

    split: SplitMachines
    prepared: PreparedExamples
    kernel: KernelParameters


class SharedSearch:
    """Evaluates units of a search, in any order and from any thread.

    Parameters
    ----------
    data : SearchData
    """

    def __init__(self, data: SearchData) -> None:
        self.data = data
        self._signal = _core.StopSignal()
        self._only_predicts = data.scoring.only_predicts()
        family = family_of(machine_of(data.estimator))
        assert family is not None
        self._examples = SearchExamples(data, family)
        self.candidates = Candidates(data.estimator, data.candidates, family, data.raises)
        self.machines, self.failures = self.candidates.machines, self.candidates.failures
        self._walk = walk_of(data.plan, self.candidates)
        self._chains = self.candidates.lines if self._walk is None else self._walk.chains

    def units(self) -> list[Unit]:
        """List the units, those that share a kernel side by side."""
        splits = range(len(self.data.splits))
        if isinstance(self.data.estimator, Pipeline):
            return [Unit(split, chain) for split in splits for chain in self._chains]
        return [Unit(split, chain) for chain in self._chains for split in splits]

    def evaluate(self, unit: Unit, max_seconds: float | None = None) -> list[Evaluation]:
        """Train and score the candidates of a unit; fewer of them if time runs out."""
        began = time.perf_counter()
        refused: list[Evaluation] = []
        try:
            chain = unit.candidates
            unit, refused = self._trainable(unit)
            if not unit.candidates:
                return refused
            setting = self._setting(unit)
            begun = self._begun(Unit(unit.split, chain), _left(began, max_seconds))
            found = self._completed(begun, unit, setting, _left(began, max_seconds))
        except Exception:
            if self.data.raises:
                raise
            return [*refused, *(self.missing(c, unit.split, traceback.format_exc()) for c in unit.candidates)]
        spent = time.perf_counter() - began
        solved = sum(link.solution.outcome.seconds for links in found for link in links)
        # What all links needed together (their kernel) is charged to each alike.
        each = max(0.0, spent - solved) / len(unit.candidates)
        evaluations = refused
        for candidate, *links in zip(unit.candidates, *found, strict=False):
            solutions = [link.solution for link in links]
            if self._signal.requested or any(one.outcome.reason in ("time budget", "interrupted") for one in solutions):
                break
            evaluations.append(self._scored(candidate, unit.split, links, each, setting))
        return evaluations

    def stop(self) -> None:
        """Let the units that are under way end as soon as they can."""
        self._signal.request()

    def _trainable(self, unit: Unit) -> tuple[Unit, list[Evaluation]]:
        """Tell the candidates that a split suits from those that it does not."""
        split, able, refused = self._examples.of_split(unit.split), [], []
        for candidate in unit.candidates:
            try:
                split.require_trainable(self.machines[candidate])
                able.append(candidate)
            except ValueError:
                if self.data.raises:
                    raise
                refused.append(self.missing(candidate, unit.split, traceback.format_exc()))
        return Unit(unit.split, tuple(able)), refused

    def _begun(self, unit: Unit, max_seconds: float | None) -> Beginning:
        """Begin a chain with what others start from, at the place where the plan lets it start."""
        if self._walk is None:
            return Beginning()
        began = time.perf_counter()

        def train(split: int, candidates: tuple[int, ...], start: Start | None, joint: int | None) -> Stretch | None:
            try:
                own, refused = self._trainable(Unit(split, candidates))
                return None if refused else self.stretch(own, start, joint, _left(began, max_seconds))
            except Exception:  # of which the units that these candidates belong to will tell
                return None

        return self._walk.begin(unit.split, unit.candidates, train)

    def _completed(
        self, begun: Beginning, unit: Unit, setting: Setting, max_seconds: float | None
    ) -> list[list[LinkSolution]]:
        """Train what is left of a unit whose chain has begun; return the links of all its candidates."""
        parts = [stretch.links for stretch in begun.stretches]
        rest = tuple(candidate for candidate in unit.candidates if candidate not in begun.candidates)
        if rest:
            parts.append(self._train(Unit(unit.split, rest), setting, begun.start, begun.joint, max_seconds))
        return [[link for links in own for link in links] for own in zip(*parts, strict=True)]

    def stretch(self, unit: Unit, start: Start | None, joint: int | None, max_seconds: float | None) -> Stretch | None:
        """Train candidates of a chain from a start, or on from the solution of `joint`, if that is what the start is.

        Returns
        -------
        Stretch or None
            None if time ran out.
        """
        setting = self._setting(unit)
        found = self._train(unit, setting, start, joint, max_seconds)
        if any(len(links) < len(unit.candidates) or ended_early(links[-1].solution) for links in found):
            return None
        assert isinstance(setting.split, StartableMachines)
        return Stretch(found, setting.split.start_of([links[-1].solution for links in found]))

    def make_kernel(self, unit: Unit) -> None:
        """Compute the kernel of a unit, so that what is trained on it next does not pay for it."""
        _, prepared, kernel = self._setting(unit)
        prepared.chain_kernel(kernel, self._signal)

    def _setting(self, unit: Unit) -> Setting:
        first = unit.candidates[0]
        machine, split = self.machines[first], self._examples.of_split(unit.split)
        prepared = self._examples.prepared(machine, self.candidates.steps[first], unit.split)
        return Setting(split, prepared, prepared.kernel_of(machine, split))

    def _train(
        self, unit: Unit, setting: Setting, start: Start | None, joint: int | None, max_seconds: float | None
    ) -> list[list[LinkSolution]]:
        """Train the candidates of a unit, each from the one before, as :meth:`stretch` does."""
        began = time.perf_counter()
        split, prepared, kernel = setting
        known = () if joint is None else (joint,)
        machines = [self.machines[c] for c in (*known, *unit.candidates)]
        limit = machines[0]._stop_rule(len(split.weights), 0.0)
        matrix, computed = prepared.chain_kernel(kernel, self._signal)
        stop = StopRule(limit.tolerance, limit.max_iterations, _left(began, max_seconds))
        if start is None:
            found = split.solve(machines, prepared.X, matrix, stop)
        else:
            assert isinstance(split, StartableMachines)
            found = split.solve_from(machines, prepared.X, matrix, stop, start)
        # The first pays for the kernel values that had to be computed for all.
        found[0][0] = _charged(found[0][0], 0, computed, 0.0)
        return [_without_first(links) for links in found] if known else found

    def _scored(
        self,
        candidate: int,
        number: int,
        links: Sequence[LinkSolution],
        each: float,
        setting: Setting,
    ) -> Evaluation:
        began = time.perf_counter()
        split, prepared, kernel = setting
        solutions: list[Solution] = [link.solution for link in links]
        machine = self.machines[candidate]
        X_test, X_train = self._examples.to_score_on(number)
        if self._only_predicts:
            known = KnownValues(split.values(machine, solutions))
            known.know(X_test, split.test)
            known.know(X_train, split.train)
            judged = split.twin(machine, known, solutions)
        else:
            own = split.rows
            X = self._examples.given(own, own) if prepared.pipeline is None else take(prepared.X, own)
            judged = prepared.behind_steps(split.fitted(machine, X, kernel, solutions))
        test_scores = self._score(judged, X_test, split.test)
        score_time = time.perf_counter() - began
        train_scores = self._score(judged, X_train, split.train) if self.data.return_train_score else None
        return Evaluation(
            candidate,
            number,
            test_scores,
            train_scores,
            len(split.test),
            each + sum(one.outcome.seconds for one in solutions),
            score_time,
            None,
            sum(one.outcome.iterations for one in solutions),
            all(link.repeated for link in links),
            all(one.outcome.reason == "converged" for one in solutions),
            sum(one.outcome.kernel_evaluations for one in solutions),
        )

    def _score(self, judged: Any, rows: Any, numbers: Rows) -> Any:
        data = self.data
        params = data.scoring.params
        own = _check_method_params(data.rows, params=params, indices=numbers) if params else {}
        return data.scoring(judged, rows, None if data.y is None else data.y[numbers], own)

    def missing(self, candidate: int, split: int, error: str | None = None) -> Evaluation:
        """Return an evaluation without scores: one that failed, or that time did not suffice for."""
        return Evaluation(candidate, split, None, None, len(self.data.splits[split][1]), 0.0, 0.0, error)

    def failed(self) -> list[Evaluation]:
        """Return the evaluations, on every split, of candidates whose parameters are not accepted."""
        splits = range(len(self.data.splits))
        return [self.missing(c, split, error) for c, error in self.failures.items() for split in splits]


def _charged(link: LinkSolution, iterations: int, kernel_evaluations: int, seconds: float) -> LinkSolution:
    """Add to what a solution took."""
    took = link.solution.outcome
    outcome = replace(
        took,
        iterations=took.iterations + iterations,
        kernel_evaluations=took.kernel_evaluations + kernel_evaluations,
        seconds=took.seconds + seconds,
    )
    return replace(link, solution=replace(link.solution, outcome=outcome))


def _without_first(links: Sequence[LinkSolution]) -> list[LinkSolution]:
    """Leave out a link that was known before; what it took all the same is the next one's."""
    first, *rest = links
    took = first.solution.outcome
    return [_charged(link, took.iterations, took.kernel_evaluations, took.seconds) for link in rest[:1]] + rest[1:]


def _left(began: float, max_seconds: float | None) -> float | None:
    """Return what is left of some seconds."""
    return None if max_seconds is None else max(0.0, max_seconds - (time.perf_counter() - began))
