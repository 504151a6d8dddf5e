"""Candidates of a search, trained together: one kernel, one chain of problems along C for each width and split."""

from __future__ import annotations

import copy
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from widemargin import _core
from widemargin.estimators.prepared_examples import PreparedExamples, Share
from widemargin.estimators.search_scoring import Scoring
from widemargin.estimators.search_starts import Backbone, FirstMachine, Start
from widemargin.estimators.splits import KnownValues, Rows, SplitMachines, StartableMachines, family_of
from widemargin.kernels import KernelParameters
from widemargin.kernels.rows import count, take
from widemargin.machines.chain import LinkSolution, ended_early
from widemargin.machines.dual import Solution, StopRule, Vector

Parameters = Mapping[str, Any]

#: Kernels held at once: those of a pipeline's splits differ.
SHARED_KERNELS = 2


@dataclass(frozen=True)
class Unit:
    """Candidates that differ in C alone, in its order, on one split: what is solved in one go."""

    split: int
    candidates: tuple[int, ...]


@dataclass
class Evaluation:
    """What a candidate came to on a split, in the words of scikit-learn's results."""

    candidate: int
    split: int
    test_scores: Any
    train_scores: Any
    n_test_samples: int
    fit_time: float
    score_time: float
    fit_error: str | None = None
    iterations: int = 0
    repeated: bool = False
    converged: bool = True
    kernel_evaluations: int = 0


@dataclass(frozen=True)
class SearchData:
    """Everything that stays the same throughout a search.

    `X` and `y` are checked, `rows` are the examples as the user gave them. `raises` lets failures of a machine end the
    search. `plan` says where chains start.
    """

    estimator: Any
    candidates: Sequence[Parameters]
    X: Any
    y: Any
    splits: Sequence[tuple[Rows, Rows]]
    weights: Vector
    scoring: Scoring
    rows: Any = None
    raises: bool = False
    return_train_score: bool = False
    share: Share = field(default_factory=Share)
    plan: str = "heuristic"


def machine_of(estimator: Any) -> Any:
    """Return the machine at the end of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


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
        self._lock = threading.Lock()
        self._shared: OrderedDict[Any, PreparedExamples] = OrderedDict()
        self._splits: dict[Any, SplitMachines] = {}
        self._held_out: dict[int, tuple[Any, Any]] = {}
        family = family_of(machine_of(data.estimator))
        assert family is not None
        self._family = family
        self._names = frozenset(machine_of(data.estimator).get_params(deep=False))
        self._prefixes = [self._prefix(c) for c in range(len(data.candidates))]
        self.failures: dict[int, str] = {}
        self.machines = [self._machine(c) for c in range(len(data.candidates))]
        self._chains = self._lines()
        starts = data.plan != "cold" and issubclass(family, StartableMachines)
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

    def evaluate(self, unit: Unit, max_seconds: float | None = None) -> list[Evaluation]:
        """Train and score the candidates of a unit; fewer of them if time runs out."""
        began = time.perf_counter()
        refused: list[Evaluation] = []
        try:
            chain = unit.candidates
            unit, refused = self._trainable(unit)
            if not unit.candidates:
                return refused
            first = self._first(chain, began, max_seconds)
            left = None if max_seconds is None else max(0.0, max_seconds - (time.perf_counter() - began))
            found, split, prepared, kernel = self._train(unit, left, None if first is None else first.start)
            if first is not None and unit.split == 0 and unit.candidates[0] == chain[0]:
                found[0][0] = _charged(found[0][0], first.iterations, first.kernel_evaluations, first.seconds)
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
            evaluations.append(self._scored(candidate, unit.split, split, links, each, prepared, kernel))
        return evaluations

    def stop(self) -> None:
        """Let the units that are under way end as soon as they can."""
        self._signal.request()

    def _trainable(self, unit: Unit) -> tuple[Unit, list[Evaluation]]:
        """Tell the candidates that a split suits from those that it does not."""
        split, able, refused = self._split(unit), [], []
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
            except Exception:  # of which the first split's own units will tell
                return None
            solutions = [links[0].solution for links in found]
            if any(map(ended_early, solutions)):
                return None
            assert isinstance(split, StartableMachines)
            return FirstMachine.of(split.start_of(solutions), [one.outcome for one in solutions])

        return self._backbone.first(chain, train)

    def _train(
        self, unit: Unit, max_seconds: float | None, start: Start | None = None
    ) -> tuple[list[list[LinkSolution]], SplitMachines, PreparedExamples, KernelParameters]:
        began = time.perf_counter()
        machines = [self.machines[c] for c in unit.candidates]
        split = self._split(unit)
        prepared = self._prepared(unit)
        kernel = prepared.kernel_of(machines[0], split)
        limit = machines[0]._stop_rule(len(split.weights), 0.0)
        matrix, computed = prepared.chain_kernel(kernel, self._signal)
        left = None if max_seconds is None else max(0.0, max_seconds - (time.perf_counter() - began))
        stop = StopRule(limit.tolerance, limit.max_iterations, left)
        if start is None:
            found = split.solve(machines, prepared.X, matrix, stop)
        else:
            assert isinstance(split, StartableMachines)
            found = split.solve_from(machines, prepared.X, matrix, stop, start)
        # The first pays for the kernel values that had to be computed for all.
        found[0][0] = _charged(found[0][0], 0, computed, 0.0)
        return found, split, prepared, kernel

    def _scored(
        self,
        candidate: int,
        number: int,
        split: SplitMachines,
        links: Sequence[LinkSolution],
        each: float,
        prepared: PreparedExamples,
        kernel: KernelParameters,
    ) -> Evaluation:
        began = time.perf_counter()
        solutions: list[Solution] = [link.solution for link in links]
        machine = self.machines[candidate]
        X_test, X_train = self._held(number)
        if self._only_predicts:
            known = KnownValues(split.values(machine, solutions))
            known.know(X_test, split.test)
            known.know(X_train, split.train)
            judged = split.twin(machine, known, solutions)
        else:
            own = split.rows
            X = self._given(own, own) if prepared.pipeline is None else take(prepared.X, own)
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

    def _split(self, unit: Unit) -> SplitMachines:
        with self._lock:
            if unit.split not in self._splits:
                train, test = self.data.splits[unit.split]
                asked = np.concatenate([test, train]) if self.data.return_train_score else test
                self._splits[unit.split] = self._family(self.data.y, train, test, self.data.weights, asked)
            return self._splits[unit.split]

    def _held(self, split: int) -> tuple[Any, Any]:
        """Rows to score on, as the user gave them."""
        with self._lock:
            if split not in self._held_out:
                train, test = self.data.splits[split]
                wanted = self.data.return_train_score
                own = np.unique(train)
                self._held_out[split] = (self._given(test, own), self._given(train, own) if wanted else None)
            return self._held_out[split]

    def _given(self, rows: Rows, columns: Rows) -> Any:
        """Rows as the user gave them; a kernel matrix comes as one between these rows and those trained on."""
        if self.data.X is not None and machine_of(self.data.estimator).kernel == "precomputed":
            return self.data.X[np.ix_(rows, columns)]
        return _safe_indexing(self.data.rows, rows)

    def _prepared(self, unit: Unit) -> PreparedExamples:
        """Examples as the machine sees them, and what its kernels share."""
        machine = self.machines[unit.candidates[0]]
        key, own = self._prefixes[unit.candidates[0]]
        pipeline = isinstance(self.data.estimator, Pipeline)
        name = (key, machine.kernel, unit.split if pipeline else None)
        with self._lock:
            if name not in self._shared:
                while len(self._shared) >= SHARED_KERNELS:
                    self._shared.popitem(last=False)
                X, steps = self._transformed(own, unit.split, machine) if pipeline else (self.data.X, None)
                self._shared[name] = PreparedExamples(X, machine, self.data.weights, self.data.share, steps)
            self._shared.move_to_end(name)
            return self._shared[name]

    def _transformed(self, own: dict[str, Any], number: int, machine: Any) -> tuple[Any, Any]:
        """Rows of the data after the steps before the machine, fitted on the training part of a split; these steps."""
        train, test = self.data.splits[number]
        pipeline = clone(self.data.estimator).set_params(**own)
        X_train, X_test = (_safe_indexing(self.data.rows, rows) for rows in (train, test))
        if len(pipeline.steps) > 1:
            y = self.data.y
            steps = pipeline[:-1]
            X_train = steps.fit_transform(X_train, None if y is None else y[train])
            X_test = steps.transform(X_test)
        checked = [copy.copy(machine)._check_examples(X) for X in (X_train, X_test)]
        both = sp.vstack(checked, format="csr") if any(map(sp.issparse, checked)) else np.vstack(checked)
        # Rows in neither part stand for themselves nowhere: any will do.
        place = np.zeros(count(self.data.rows), dtype=np.intp)
        place[test] = len(train) + np.arange(len(test))
        place[train] = np.arange(len(train))
        return both[place], pipeline


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
