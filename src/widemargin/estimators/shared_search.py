"""Candidates of a search, trained together: one kernel, one chain of problems along C for each width and split."""

from __future__ import annotations

import copy
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from widemargin import _core
from widemargin._runtime import cache_bytes, free_memory
from widemargin.estimators.scale import resolve_kernel
from widemargin.estimators.split_machines import KnownValues, Rows, SplitMachines, family_of
from widemargin.kernels import KernelParameters, SharedKernel
from widemargin.kernels.rows import count, take
from widemargin.machines.chain import Chain, LinkSolution, solve_chain, solve_chain_on_rows
from widemargin.machines.dual import Solution, SolverOptions, StopRule, Vector

Parameters = Mapping[str, Any]

#: A kernel may take this share of the free memory unless `memory` says otherwise.
SHARE_OF_MEMORY = 0.5

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


@dataclass(frozen=True)
class SearchData:
    """Everything that stays the same throughout a search.

    `X` and `y` are checked, `rows` are the examples as the user gave them. `score` gets a machine, rows to score it on,
    and their numbers; `only_predicts` says that it asks the machine for nothing but predictions of these rows. `raises`
    lets failures of a machine end the search.
    """

    estimator: Any
    candidates: Sequence[Parameters]
    X: Any
    y: Any
    splits: Sequence[tuple[Rows, Rows]]
    weights: Vector
    score: Callable[[Any, Any, Any], Any]
    rows: Any = None
    only_predicts: bool = True
    raises: bool = False
    return_train_score: bool = False
    memory: float | str = "auto"
    signal: _core.StopSignal = field(default_factory=_core.StopSignal)


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
        self._lock = threading.Lock()
        self._shared: OrderedDict[Any, _Prepared] = OrderedDict()
        self._splits: dict[Any, SplitMachines] = {}
        self._held_out: dict[int, tuple[Any, Any]] = {}
        family = family_of(machine_of(data.estimator))
        assert family is not None
        self._family, self._chained = family, family.chained
        self._names = frozenset(machine_of(data.estimator).get_params(deep=False))
        self._prefixes = [self._prefix(c) for c in range(len(data.candidates))]
        self.failures: dict[int, str] = {}
        self.machines = [self._machine(c) for c in range(len(data.candidates))]

    def units(self) -> list[Unit]:
        """List the units, those that share a kernel side by side."""
        lines: dict[Any, list[int]] = {}
        for number, machine in enumerate(self.machines):
            if number in self.failures:
                continue
            others = {name: getattr(machine, name) for name in self._names if name != self._chained}
            lines.setdefault((self._prefixes[number][0], _key(others)), []).append(number)
        chains = [
            tuple(sorted(line, key=lambda c: float(getattr(self.machines[c], self._chained))))
            for line in lines.values()
        ]
        splits = range(len(self.data.splits))
        if isinstance(self.data.estimator, Pipeline):
            return [Unit(split, chain) for split in splits for chain in chains]
        return [Unit(split, chain) for chain in chains for split in splits]

    def evaluate(self, unit: Unit, max_seconds: float | None = None) -> list[Evaluation]:
        """Train and score the candidates of a unit; fewer of them if time runs out."""
        began = time.perf_counter()
        try:
            found, split, prepared, kernel = self._train(unit, max_seconds)
        except Exception:
            if self.data.raises:
                raise
            return [self.missing(c, unit.split, traceback.format_exc()) for c in unit.candidates]
        spent = time.perf_counter() - began
        solved = sum(link.solution.outcome.seconds for links in found for link in links)
        # What all links needed together (their kernel) is charged to each alike.
        each = max(0.0, spent - solved) / len(unit.candidates)
        evaluations = []
        for candidate, *links in zip(unit.candidates, *found, strict=False):
            solutions = [link.solution for link in links]
            if any(one.outcome.reason in ("time budget", "interrupted") for one in solutions):
                break
            evaluations.append(self._scored(candidate, unit.split, split, links, each, prepared, kernel))
        return evaluations

    def _train(
        self, unit: Unit, max_seconds: float | None
    ) -> tuple[list[list[LinkSolution]], SplitMachines, _Prepared, KernelParameters]:
        began = time.perf_counter()
        machines = [self.machines[c] for c in unit.candidates]
        split = self._split(unit)
        prepared = self._prepared(unit)
        kernel = prepared.kernel_of(machines[0], split)
        split.largest = prepared.largest_diagonal(kernel)
        limit = machines[0]._stop_rule(len(split.weights), 0.0)
        found = []
        for chain in split.chains(machines):
            left = None if max_seconds is None else max(0.0, max_seconds - (time.perf_counter() - began))
            stop = StopRule(limit.tolerance, limit.max_iterations, left)
            found.append(prepared.solve(kernel, chain, stop, self.data.signal))
        return found, split, prepared, kernel

    def _scored(
        self,
        candidate: int,
        number: int,
        split: SplitMachines,
        links: Sequence[LinkSolution],
        each: float,
        prepared: _Prepared,
        kernel: KernelParameters,
    ) -> Evaluation:
        began = time.perf_counter()
        solutions: list[Solution] = [link.solution for link in links]
        machine = self.machines[candidate]
        X_test, X_train = self._held(number)
        if self.data.only_predicts:
            known = KnownValues(split.values(machine, solutions))
            known.know(X_test, split.test)
            known.know(X_train, split.train)
            judged = split.twin(machine, known, solutions)
        else:
            source = self.data.rows if prepared.pipeline is None else prepared.X
            judged = prepared.behind_steps(split.fitted(machine, take(source, split.rows), kernel, solutions))
        test_scores = self.data.score(judged, X_test, split.test)
        score_time = time.perf_counter() - began
        train_scores = self.data.score(judged, X_train, split.train) if self.data.return_train_score else None
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
        )

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
                X_train = _safe_indexing(self.data.rows, train) if wanted else None
                self._held_out[split] = (_safe_indexing(self.data.rows, test), X_train)
            return self._held_out[split]

    def _prepared(self, unit: Unit) -> _Prepared:
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
                self._shared[name] = _Prepared(X, machine, self.data.weights, self.data.memory, steps)
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


class _Prepared:
    """One set of examples and its kernels: as matrices if these fit into memory, else as rows computed when needed."""

    def __init__(self, X: Any, machine: Any, weights: Vector, memory: float | str, pipeline: Any = None) -> None:
        self.X, self.pipeline = X, pipeline
        machine._row_source(X, machine._checked_kernel(X, weights, tell=False))  # refuses what is no kernel
        allowed = SHARE_OF_MEMORY * free_memory() if memory == "auto" else float(memory) * 2**20
        fits = SharedKernel.bytes_needed(X, machine.kernel) <= allowed
        self.shared = SharedKernel(X, machine.kernel) if fits else None
        self._allowed = int(allowed)

    def kernel_of(self, machine: Any, split: SplitMachines) -> KernelParameters:
        """Resolve the kernel of a machine; gamma may depend on the rows of the split."""
        depends = isinstance(machine.gamma, str)
        X, weights = (take(self.X, split.rows), split.weights[split.rows]) if depends else (self.X, split.weights)
        return resolve_kernel(machine.kernel, machine.gamma, machine.coef0, machine.degree, X, weights, tell=False)

    def largest_diagonal(self, kernel: KernelParameters) -> float:
        """Return the largest size of a kernel value k(x, x)."""
        return 1.0 if kernel.kernel == "rbf" else float(np.abs(kernel.rows_of(self.X).diagonal()).max())

    def behind_steps(self, machine: Any) -> Any:
        """Put a fitted machine behind the steps before it."""
        if self.pipeline is None:
            return machine
        return Pipeline([*self.pipeline.steps[:-1], (self.pipeline.steps[-1][0], machine)])

    def solve(
        self, kernel: KernelParameters, chain: Chain, stop: StopRule, signal: _core.StopSignal
    ) -> list[LinkSolution]:
        """Solve a chain."""
        if self.shared is not None:
            return solve_chain(self.shared.matrix(kernel), chain, stop=stop, signal=signal)
        cache = min(self._allowed, cache_bytes("auto", count(self.X), "float32"))
        return solve_chain_on_rows(kernel.rows_of(self.X), chain, stop=stop, options=SolverOptions(cache_bytes=cache))


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
