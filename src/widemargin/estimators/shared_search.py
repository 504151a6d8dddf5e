"""Candidates of a search, trained together: one kernel, one chain of problems along C for each width and split."""

from __future__ import annotations

import copy
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain as concatenated
from itertools import islice
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_method_params

from widemargin import _core
from widemargin.estimators.prepared_examples import PreparedExamples
from widemargin.estimators.search_data import Evaluation, Parameters, SearchData, Unit, machine_of
from widemargin.estimators.search_examples import SearchExamples, kept_bytes
from widemargin.estimators.search_starts import Backbone, FirstMachine, Start
from widemargin.estimators.splits import KnownValues, Rows, SplitMachines, family_of
from widemargin.kernels import KernelParameters
from widemargin.kernels.rows import take
from widemargin.machines.chain import LinkSolution, ended_early
from widemargin.machines.dual import Solution, StopRule


@dataclass(frozen=True)
class Trained:
    """A candidate trained on a split: a link for each of its functions, and seconds that it cost besides solving."""

    links: Sequence[LinkSolution]
    split: SplitMachines
    prepared: PreparedExamples
    kernel: KernelParameters
    overhead: float

    @property
    def solutions(self) -> list[Solution]:
        """The solutions of the functions."""
        return [link.solution for link in self.links]


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
        self._family = family
        self._examples = SearchExamples(data, family)
        self._names = frozenset(machine_of(data.estimator).get_params(deep=False))
        self._prefixes = [self._prefix(c) for c in range(len(data.candidates))]
        self.failures: dict[int, str] = {}
        self.machines = [self._machine(c) for c in range(len(data.candidates))]
        self._chains = self._lines()
        starts = data.plan != "cold" and family.takes_start
        self._backbone = Backbone(data.plan, data.candidates, self._chains) if starts else None

    def units(self) -> list[Unit]:
        """List the units, those that share a kernel side by side."""
        splits = range(len(self.data.splits))
        if isinstance(self.data.estimator, Pipeline):
            return [Unit(split, chain) for split in splits for chain in self._chains]
        return [Unit(split, chain) for chain in self._chains for split in splits]

    def _lines(self) -> list[tuple[int, ...]]:
        """Sort candidates into chains."""
        able = [number for number in range(len(self.machines)) if number not in self.failures]
        chainable = {number: self._family.chained(self.machines[number]) for number in able}
        # A chain goes along a parameter that the candidates differ in, if there is one.
        names_of_all = set[str]().union(*chainable.values())
        values = {name: {getattr(self.machines[number], name) for number in able} for name in names_of_all}
        in_grid = {key.rpartition("__")[2] for one in self.data.candidates for key in one}.intersection(self._names)
        lines: dict[Any, list[int]] = {}
        for number, names in chainable.items():
            along = next((name for name in names if len(values[name]) > 1), names[0])
            others = {name: getattr(self.machines[number], name) for name in in_grid if name != along}
            lines.setdefault((self._prefixes[number][0], along, _key(others)), []).append(number)
        chains = []
        for (_, along, _), line in lines.items():
            places = {number: float(getattr(self.machines[number], along)) for number in line}
            chains.append(tuple(sorted(line, key=places.__getitem__)))
        return chains

    def evaluate(
        self, unit: Unit, max_seconds: float | None = None, finished: Callable[[Evaluation], None] | None = None
    ) -> list[Evaluation]:
        """Train and score the candidates of a unit; fewer of them if time runs out.

        With `finished`, which gets every evaluation as soon as there is one, candidates are trained one by one; without
        it, all of them before the first is scored, which is faster where machines take less than a millisecond.
        """
        began = time.perf_counter()
        evaluations: list[Evaluation] = []

        def add(some: Iterable[Evaluation]) -> None:
            for one in some:
                evaluations.append(one)
                if finished is not None:
                    finished(one)

        try:
            able, refused = self._trainable(unit)
        except Exception:
            add(self._failed(unit))
            return evaluations
        add(refused)
        left = list(able.candidates)
        with closing(self._trained(able, unit.candidates, began, max_seconds, finished is not None)) as trained:
            while left and not self._signal.requested:
                try:
                    one = next(trained, None)
                except Exception:
                    add(self._failed(Unit(unit.split, tuple(left))))
                    break
                if one is None or any(ended_early(solution) for solution in one.solutions):
                    break
                add([self._scored(left.pop(0), unit.split, one)])
        return evaluations

    def _trained(
        self, unit: Unit, chain: tuple[int, ...], began: float, max_seconds: float | None, one_by_one: bool
    ) -> Generator[Trained, None, None]:
        """Train the candidates of a unit, which are some of a chain's."""
        if not unit.candidates:
            return
        first = self._first(chain, began, max_seconds)
        left = None if max_seconds is None else max(0.0, max_seconds - (time.perf_counter() - began))
        found, split, prepared, kernel = self._train(unit, left, None if first is None else first.start, one_by_one)
        if first is not None and unit.split == 0 and unit.candidates[0] == chain[0]:
            found = _charged(found, first.iterations, first.kernel_evaluations, first.seconds)
        known = list(islice(found, 1 if one_by_one else None))
        solved = sum(link.solution.outcome.seconds for links in known for link in links)
        # What all machines needed together (their kernel) is charged to each alike.
        each = max(0.0, time.perf_counter() - began - solved) / len(unit.candidates)
        for links in concatenated(known, found):
            yield Trained(links, split, prepared, kernel, each)

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

    def _first(self, chain: tuple[int, ...], began: float, max_seconds: float | None) -> FirstMachine | None:
        """Return the first machine of a chain on the first split."""
        if self._backbone is None:
            return None

        def train(own: tuple[int, ...], start: Start | None) -> FirstMachine | None:
            left = None if max_seconds is None else max(0.0, max_seconds - (time.perf_counter() - began))
            try:
                unit, _ = self._trainable(Unit(0, own[:1]))
                if not unit.candidates:
                    return None
                found, split, _, _ = self._train(unit, left, start)
                solutions = [link.solution for link in next(found)]
            except Exception:  # of which the first split's own units will tell
                return None
            if any(map(ended_early, solutions)):
                return None
            return FirstMachine.of(split.start_of(solutions), [one.outcome for one in solutions])

        return self._backbone.first(chain, train)

    def _train(
        self, unit: Unit, max_seconds: float | None, start: Start | None = None, one_by_one: bool = False
    ) -> tuple[Iterator[list[LinkSolution]], SplitMachines, PreparedExamples, KernelParameters]:
        began = time.perf_counter()
        machines = [self.machines[c] for c in unit.candidates]
        split = self._examples.of_split(unit.split)
        prepared = self._examples.prepared(machines[0], self._prefixes[unit.candidates[0]], unit.split)
        kernel = prepared.kernel_of(machines[0], split)
        limit = machines[0]._stop_rule(len(split.weights), 0.0)
        matrix, computed = prepared.chain_kernel(kernel, self._signal)
        if one_by_one:
            matrix = replace(matrix, one_by_one=True, kept_bytes=kept_bytes(self.data.share))
        left = None if max_seconds is None else max(0.0, max_seconds - (time.perf_counter() - began))
        stop = StopRule(limit.tolerance, limit.max_iterations, left)
        if start is None:
            found = split.solve(machines, prepared.X, matrix, stop)
        else:
            found = split.solve_from(machines, prepared.X, matrix, stop, start)
        # The first pays for the kernel values that had to be computed for all.
        return _charged(found, 0, computed, 0.0), split, prepared, kernel

    def _scored(self, candidate: int, number: int, trained: Trained) -> Evaluation:
        began = time.perf_counter()
        split, prepared, solutions = trained.split, trained.prepared, trained.solutions
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
            judged = prepared.behind_steps(split.fitted(machine, X, trained.kernel, solutions))
        test_scores = self._score(judged, X_test, split.test)
        score_time = time.perf_counter() - began
        train_scores = self._score(judged, X_train, split.train) if self.data.return_train_score else None
        return Evaluation(
            candidate,
            number,
            test_scores,
            train_scores,
            len(split.test),
            trained.overhead + sum(one.outcome.seconds for one in solutions),
            score_time,
            None,
            sum(one.outcome.iterations for one in solutions),
            all(link.repeated for link in trained.links),
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

    def _failed(self, unit: Unit) -> list[Evaluation]:
        """Return evaluations of candidates that the error under way has ended; raise it if failures are to."""
        if self.data.raises:
            raise
        error = traceback.format_exc()
        return [self.missing(candidate, unit.split, error) for candidate in unit.candidates]

    def failed(self) -> list[Evaluation]:
        """Return the evaluations, on every split, of candidates whose parameters are not accepted."""
        splits = range(len(self.data.splits))
        return [self.missing(c, split, error) for c, error in self.failures.items() for split in splits]

    def _prefix(self, candidate: int) -> tuple[Any, dict[str, Any]]:
        """Parameters of what comes before the machine, and a key for them."""
        estimator = self.data.estimator
        if not isinstance(estimator, Pipeline):
            return None, {}
        last = estimator.steps[-1][0] + "__"
        own = {k: v for k, v in self.data.candidates[candidate].items() if not k.startswith(last)}
        return _key(own), own

    def _machine(self, candidate: int) -> Any:
        machine = copy.copy(machine_of(self.data.estimator))
        parameters = self.data.candidates[candidate]
        if isinstance(self.data.estimator, Pipeline):
            last = self.data.estimator.steps[-1][0] + "__"
            parameters = {k.removeprefix(last): v for k, v in parameters.items() if k.startswith(last)}
        unknown = parameters.keys() - self._names
        if unknown:
            machine.set_params(**{name: parameters[name] for name in unknown})  # refuses in scikit-learn's words
        machine.__dict__.update(parameters)
        try:
            machine._check_parameters()
        except (TypeError, ValueError):
            if self.data.raises:
                raise
            self.failures[candidate] = traceback.format_exc()
        return machine


def _charged(
    found: Iterator[list[LinkSolution]], iterations: int, kernel_evaluations: int, seconds: float
) -> Iterator[list[LinkSolution]]:
    """Add to what the first solution took."""
    for link, *others in found:
        took = link.solution.outcome
        outcome = replace(
            took,
            iterations=took.iterations + iterations,
            kernel_evaluations=took.kernel_evaluations + kernel_evaluations,
            seconds=took.seconds + seconds,
        )
        yield [replace(link, solution=replace(link.solution, outcome=outcome)), *others]
        break
    yield from found


def _key(parameters: Parameters) -> Any:
    """Make a hashable key of parameters; those that are not hashable count by identity."""

    def one(value: Any) -> Any:
        if isinstance(value, dict):
            return tuple(sorted((repr(k), one(v)) for k, v in value.items()))
        try:
            hash(value)
        except TypeError:
            return id(value)
        return value

    return tuple((name, one(value)) for name, value in sorted(parameters.items()))
