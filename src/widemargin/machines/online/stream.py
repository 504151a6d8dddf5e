"""LASVM: classifiers that learn from one sample after the other [Bordes2005; Glasmachers2008, chapter 8].

The problem of a decision function is eq. 4.1 over the samples that are kept: maximise y'a - a'Ka/2 subject to
sum(a) = 0 and L <= a <= U, with a_n = 0 for all others. Two classes make one decision function, with label +1 for the
first class; more make one for each class against all others, over the same kept samples.

The core (``cpp/core/online``) holds coefficients, gradients and kernel values, by position; a :class:`Stream` holds the
samples themselves, and what is known of each.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import KernelParameters, RowSource, SampleStore, count, take
from widemargin.machines.classifier import OTHERS, PairSolution, box
from widemargin.machines.dual import (
    Outcome,
    Solution,
    SolverOptions,
    StopRule,
    Vector,
    as_solutions,
    as_task,
    finite,
    limits_of,
    settings_of,
)
from widemargin.machines.online.active import ActivePass
from widemargin.machines.online.arrival_order import ArrivalOrder
from widemargin.machines.online.kept_samples import Kept, joined, kept_samples
from widemargin.runtime import Allowance, Work, single_threaded_blas

#: Working-set selections of PROCESS and REPROCESS.
ONLINE_SELECTIONS = ("second-order", "maximal-violating-pair")

#: Rows of kernel values at once from which on the core has BLAS compute them.
ROWS_FOR_BLAS = 4

#: Samples that wait, while there is only one class, for another one to come.
WAITING = _core.WAITING


def joined_ids(ids: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """Put ids one after the other; numbers and strings stay what they are.

    Examples
    --------
    >>> joined_ids(np.array([1, 2]), np.array(["a"])).tolist()
    [1, 2, 'a']
    """
    alike = ids.dtype.kind == others.dtype.kind
    return np.concatenate([ids, others] if alike else [ids.astype(object), others.astype(object)])


def without_values(state: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the state of a machine without its kernel values, which are computed again when they are needed."""
    *before, values, diagonal, known, used, uses, evaluations = state
    return (*before, values[:0], diagonal, np.zeros_like(known), used, uses, evaluations)


@dataclass(frozen=True)
class Batch:
    """Samples that arrive: their class numbers, their weights (which C is multiplied by), ids and running numbers."""

    samples: Any
    labels: NDArray[np.int32]
    weights: Vector
    ids: NDArray[Any]
    numbers: NDArray[np.int64]

    @property
    def rows(self) -> NDArray[np.int32]:
        """Rows of the samples that count: those with a weight."""
        return np.flatnonzero(self.weights > 0).astype(np.int32)

    def followed_by(self, other: Batch) -> Batch:
        """Return these samples and others behind them."""
        return Batch(
            joined(self.samples, other.samples),
            np.concatenate([self.labels, other.labels]),
            np.concatenate([self.weights, other.weights]),
            joined_ids(self.ids, other.ids) if len(self.ids) else other.ids,
            np.concatenate([self.numbers, other.numbers]),
        )

    def part(self, rows: NDArray[Any]) -> Batch:
        """Return the samples in these rows."""
        return Batch(
            take(self.samples, rows), self.labels[rows], self.weights[rows], self.ids[rows], self.numbers[rows]
        )


@dataclass(frozen=True)
class OnlineRules:
    """How a machine learns: selection, tolerance, cache, threads, and how long.

    `window`: which of the last samples may stay kept; `budget`: how many may; 0: all.
    """

    selection: str = "second-order"
    window: int = 0
    budget: int = 0
    stop: StopRule = field(default_factory=StopRule)
    options: SolverOptions = field(default_factory=SolverOptions)

    def of_core(self) -> _core.OnlineRules:
        """Say it in the words of the core."""
        room = self.options.cache_bytes
        return _core.OnlineRules(
            self.selection,
            self.stop.tolerance,
            self.window,
            2**62 if room is None else room,
            self.options.n_threads,
            **self.stop.limits(),
            budget=self.budget,
        )


class SamplesOf(SampleStore):
    """The samples of a stream by position, none of which is copied before it is asked for."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream

    def __len__(self) -> int:
        return self.stream.size

    def __getitem__(self, positions: Any) -> Any:
        return self.stream.samples_at(positions)


class Stream:
    """The samples that an online machine keeps, and the machine.

    All arrays are by position: the order in which samples came. Those that have left may still hold a position, with
    coefficient 0 and no box, until the machine closes up; :attr:`kept` tells.

    Parameters
    ----------
    n_classes : int
    kernel : KernelParameters
    double_precision : bool
        Whether kernel values are kept in float64.
    C : float
        Bounds are C times weight.
    samples : array, sparse matrix or sequence, default=()
        Those at the positions of a machine that is going to be restored.
    """

    def __init__(
        self, n_classes: int, kernel: KernelParameters, double_precision: bool, C: float, samples: Any = ()
    ) -> None:
        self.n_classes, self.kernel, self.C = n_classes, kernel, C
        self.core = _core.OnlineMachine(n_classes, double_precision)
        self._store: Kept = kept_samples(kernel, samples)
        self._place = np.arange(count(samples), dtype=np.int32)  # numbers of the positions' samples in the store
        self.weights: Vector = np.empty(0)
        self.ids: NDArray[Any] = np.empty(0, dtype=np.int64)
        self.numbers: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.ends: list[Outcome] | None = None  # how FINISH ended, if nothing has changed since
        self.finished_at = np.inf  # the tolerance that holds
        self.solved = [Work() for _ in self.names]  # what FINISH has taken so far, for each decision function
        #: How many sources the machine had before the one that it has, or is to have; the store of that one; ids,
        #: numbers and weights of samples, and which of these are those of a number in the store: until those that stay
        #: are taken from it.
        self._source: tuple[int, Kept, NDArray[Any], NDArray[np.int64], Vector, NDArray[np.intp]] | None = None
        self.late = False  # whether time was up before all was learnt, as whoever calls it says
        #: All samples so far, while there are too few of them to tell what the kernel takes from data.
        self.so_far: Batch | None = None
        self.order = ArrivalOrder(n_classes)
        self.inherits = False  # whether bounds may be those of samples that were merged

    def __getstate__(self) -> dict[str, Any]:
        self.settle()
        core, state = self.core, vars(self).copy()
        del state["_place"]
        return {**state, "_store": self.samples, "core": (core.double_precision, without_values(core.state()))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        samples = state["_store"]
        place = np.arange(count(samples), dtype=np.int32)
        self.__dict__.update({**state, "_store": kept_samples(state["kernel"], samples), "_place": place})
        double_precision, arrays = state["core"]
        self.core = _core.OnlineMachine(self.n_classes, double_precision)
        self.core.restore(*arrays)

    @property
    def samples(self) -> Any:
        """The samples; not to be held while others come."""
        return self._store.at(self._place)

    @property
    def rows(self) -> SampleStore:
        """The samples, of which those that somebody asks for are taken from where they are."""
        return SamplesOf(self)

    def samples_at(self, positions: NDArray[Any], *, prepared: bool = False) -> Any:
        """Return the samples at some positions; in the form that kernels make for themselves, if so asked."""
        numbers = self._place[positions]
        return self._store.prepared_at(numbers) if prepared else self._store.at(numbers)

    def replace_samples(self, samples: Any) -> None:
        """Put other samples in the place of all, which have the same kernel values."""
        self._store, self._place = kept_samples(self.kernel, samples), np.arange(self.size, dtype=np.int32)

    @property
    def size(self) -> int:
        """Positions, those of samples that have left among them."""
        return self.core.size

    @property
    def kept(self) -> NDArray[np.intp]:
        """Positions of the samples that are kept."""
        return np.flatnonzero(self.core.left() == 0)

    @property
    def labels(self) -> NDArray[np.int32]:
        """Class numbers."""
        return self.core.labels()

    @property
    def alpha(self) -> NDArray[np.float64]:
        """Signed coefficients, a row for each decision function."""
        return self.core.alpha()

    @property
    def names(self) -> list[tuple[int, int]]:
        """The two classes, or each class and all others."""
        return [(0, 1)] if self.n_classes == 2 else [(c, OTHERS) for c in range(self.n_classes)]

    @property
    def violation(self) -> float:
        """Largest violation of the optimality conditions by kept samples now, by the gradients that steps maintain."""
        return float(self.core.certificates()[:, 0].max())

    @property
    def gap(self) -> float:
        """Duality gap on the kept set now, over all decision functions: how far their objectives are from the optimum.

        After :meth:`finish` the certified one, else by the gradients that the steps maintain, which sum up kernel
        values of the machine's precision in float64.
        """
        if self.ends is not None:
            return float(sum(end.duality_gap for end in self.ends))
        return float(self.core.certificates()[:, 1].sum())

    def learn(
        self, batch: Batch, orders: Iterable[NDArray[np.int32] | ActivePass], C: float, rules: OnlineRules
    ) -> int:
        """PROCESS and REPROCESS for the samples of a batch, in each of these orders; return how many time sufficed for.

        Whatever ends it, the machine is as far as it came.
        """
        begin, place = self._add(batch, rules), self._place
        rows, done = self._source_of(rules), 0
        core, bounds = rules.of_core(), C * batch.weights
        self._changed()
        self.inherits = self.inherits or rules.budget > 0
        try:
            with self._blas_for(len(bounds)):
                if C != self.C:
                    place = self._price(rows, place, C, core)
                    if C != self.C:
                        return done
                for order in orders:
                    seen = self.core.seen
                    if isinstance(order, ActivePass):
                        order.run(self.core, rows, place, begin, batch.labels, bounds, core)
                    else:
                        own = order + np.int32(begin)
                        self.core.learn(rows, place, own, batch.labels[order], bounds[order], core)
                    done, place = done + self.core.seen - seen, self.core.samples()
                    if self.core.seen - seen < len(order):
                        break
        finally:
            self.settle()
        return done

    def adopt(
        self, batch: Batch, alpha: NDArray[np.float64], values: NDArray[np.float64], C: float, rules: OnlineRules
    ) -> None:
        """Start from the coefficients of a model: all samples are kept that the budget has room for.

        `values` are the model's decision values less b.
        """
        signs = self._signs(batch.labels)
        self._add(batch, rules)
        rows, core = self._source_of(rules), rules.of_core()
        with single_threaded_blas():
            everyone = np.arange(len(batch.labels), dtype=np.int32)
            bounds = C * batch.weights
            self.core.keep(rows, everyone[:0], everyone, batch.labels, bounds, core)
        for number, y in enumerate(signs):
            self.core.put(number, np.ascontiguousarray(alpha[number]), np.ascontiguousarray(y - values[number]))
        self.settle()
        if rules.budget > 0:
            self._tidy(C, rules)

    def forget(self, positions: NDArray[np.int32], rules: OnlineRules) -> None:
        """Let samples go, whatever their coefficients are; others take these up."""
        self._changed()
        self._hold()
        rows, core = self._source_of(rules), rules.of_core()
        try:
            with single_threaded_blas():
                self.core.forget(rows, self._place, positions.astype(np.int32), core)
        finally:
            self.settle()
            self.replace_samples(self.samples)  # so that nothing is left of the others

    def nearly_finish(self, C: float, rules: OnlineRules) -> None:
        """Come to the tolerance, which need not be certified: by REPROCESS steps, or FINISH if these would be many."""
        if C == self.C and self.ends is None and self.size > 0:
            self._hold()
            rows = self._source_of(rules)
            with single_threaded_blas():
                self.core.reprocess(rows, self._place, self.size, rules.of_core())
            self.settle()
        if self.violation > rules.stop.tolerance:
            self.finish(C, rules)

    def finish(self, C: float, rules: OnlineRules, *, everyone: bool = False) -> None:
        """FINISH: solve the problems on the kept set to the tolerance, from where they are; then those at 0 may leave.

        Nothing happens where that has been done, to this tolerance or a smaller one. Those that are at 0 before, and
        improve with no partner then, leave first, unless `everyone` is to stay for the solution, with the C that is.
        """
        if C == self.C and self.finished_at <= rules.stop.tolerance:
            return
        self._changed()
        if self.size == 0:
            return
        if not everyone:
            self._tidy(C, rules)
            if C != self.C:
                return
        rows, everything = self._rows_of_positions(rules), np.arange(self.size, dtype=np.int32)
        settings = settings_of(rules.options, self.size)
        alpha, gradient, bounds = self.alpha, self.core.gradient(), C * self.weights * (self.core.left() == 0)
        ends = []
        for number, signs in enumerate(self._signs(self.labels)):
            task = as_task(box(signs, bounds), everything, alpha[number], gradient[number])
            with single_threaded_blas():
                found = as_solutions(self.core.solve(rows, [task], **settings, **limits_of(rules.stop)))[0]
            finite(found)
            self.core.put(number, found.alpha, found.gradient)
            end = found.outcome
            ends.append(end)
            self.solved[number] += Work(
                iterations=end.iterations, kernel_evaluations=end.kernel_evaluations, seconds=end.seconds
            )
        self._tidy(C, rules)
        self.ends = ends
        if all(end.reason == "converged" for end in ends):
            self.finished_at = rules.stop.tolerance

    def solutions(self, tolerance: float, reason: str = "iteration budget") -> list[PairSolution]:
        """Return the decision functions over all positions, with how they ended.

        Without FINISH that is "converged" where no pair violates by more than the tolerance and time has sufficed, and
        else this `reason`.
        """
        ids = np.arange(self.size, dtype=np.int32)
        alpha, gradient, steps = self.alpha, self.core.gradient(), self.core.steps()
        found = []
        for number, (violation, gap, objective, intercept) in enumerate(self.core.certificates().tolist()):
            end = Outcome(
                reason="converged" if violation <= tolerance and reason != "time budget" else reason,
                kkt_violation=violation,
                duality_gap=gap,
                objective=objective,
                precision="float64" if self.core.double_precision else "float32",
            )
            if self.ends is not None:
                end = self.ends[number]
            solved = self.solved[number]
            end = replace(
                end,
                iterations=int(steps[number]) + solved.iterations,
                kernel_evaluations=(self.core.evaluations if number == 0 else 0) + solved.kernel_evaluations,
                seconds=solved.seconds,
            )
            found.append(
                PairSolution(self.names[number], ids, Solution(alpha[number], gradient[number], intercept, end))
            )
        return found

    def decide(self, samples: Any, rules: OnlineRules) -> NDArray[np.float64]:
        """Return the decision functions of samples, a row for each function, from the values that the machine has."""
        self.settle()
        begin = self._begin_of_free_numbers()
        self._store = Allowance(rules.options.n_threads).run(self._store.with_more, samples, begin)
        others = np.arange(begin, begin + count(samples), dtype=np.int32)
        with self._blas_for(len(others)):
            return self.core.decide(self._store.rows, self._place, others, rules.of_core())

    def _blas_for(self, n: int) -> AbstractContextManager[None]:
        """Return what keeps BLAS from taking threads, where blocks of so many rows need BLAS at all."""
        return nullcontext() if n < ROWS_FOR_BLAS and self.kernel.of_samples else single_threaded_blas()

    def _rows_of_positions(self, rules: OnlineRules) -> RowSource:
        """Return kernel rows of the samples by position."""
        return Allowance(rules.options.n_threads).run(self.kernel.rows_of, self.samples)

    def _source_of(self, rules: OnlineRules) -> RowSource:
        """Return kernel rows of the samples by their numbers in the store that is held."""
        assert self._source is not None
        store = self._source[1]
        return Allowance(rules.options.n_threads).run(lambda: store.rows)

    def _begin_of_free_numbers(self) -> int:
        return int(self._place.max(initial=-1)) + 1

    def _add(self, batch: Batch, rules: OnlineRules) -> int:
        """Hold a store with the samples of a batch behind the others; return the number of the first one there."""
        n, begin = len(self._place), self._begin_of_free_numbers()
        store = Allowance(rules.options.n_threads).run(self._store.with_more, batch.samples, begin)
        of_number = np.zeros(begin + len(batch.labels), dtype=np.intp)
        of_number[self._place] = np.arange(n)
        of_number[begin:] = np.arange(n, n + len(batch.labels))
        self._source = (
            self.core.sources,
            store,
            joined_ids(self.ids, batch.ids) if n else batch.ids,
            np.concatenate([self.numbers, batch.numbers]),
            np.concatenate([self.weights, batch.weights]),
            of_number,
        )
        return begin

    def _hold(self) -> None:
        """Hold the store as it is."""
        of_number = np.zeros(self._begin_of_free_numbers(), dtype=np.intp)
        of_number[self._place] = np.arange(len(self._place))
        self._source = self.core.sources, self._store, self.ids, self.numbers, self.weights, of_number

    def _signs(self, labels: NDArray[np.int32]) -> list[Vector]:
        return [np.where(labels == first, 1.0, -1.0) for first, _ in self.names]

    def _changed(self) -> None:
        self.ends, self.finished_at = None, np.inf

    def _price(self, rows: RowSource, place: NDArray[np.int32], C: float, core: _core.OnlineRules) -> NDArray[np.int32]:
        """Give the kept samples other bounds, if time suffices, and take over C; return their places in the source."""
        self.core.tidy(rows, place, core)
        place = self.core.samples()
        with np.errstate(over="ignore"):
            bounds = C * self._weights_at(place)
        if not np.isfinite(bounds).all():
            raise ValueError(f"C={C:g} times the weight of a kept sample is beyond float64; lower C.")
        if self.core.set_bounds(rows, place, bounds, core):
            self.C = C
        return place

    def _weights_at(self, place: NDArray[np.int32]) -> Vector:
        """Return the weights of the positions: those of the samples in the store, or of all that were merged."""
        assert self._source is not None
        *_, weights, of_number = self._source
        return self.core.bounds() / self.C if self.inherits else weights[of_number[place]]

    def _tidy(self, C: float, rules: OnlineRules) -> None:
        """Let those at 0 leave that improve with no partner, close up, and take over C if time suffices."""
        self._hold()
        rows, core, place = self._source_of(rules), rules.of_core(), self._place
        self.inherits = self.inherits or rules.budget > 0
        try:
            with single_threaded_blas():
                if C != self.C:
                    place = self._price(rows, place, C, core)
                self.core.tidy(rows, place, core)
        finally:
            self.settle()

    def settle(self) -> None:
        """Keep of the source's samples those that hold a position, where that has not been done.

        To be called before samples are read: Ctrl-C may have come in the way of the last time.
        """
        if self._source is None:
            return
        before, store, ids, numbers, _, of_number = self._source
        if self.core.sources == before:  # which it has not come to see
            self._source = None
            return
        place = self.core.samples()
        at, weights = of_number[place], self._weights_at(place)
        store, place = store.among(place)
        # One call, which no signal handler interrupts.
        self.__dict__.update(
            ids=ids[at], numbers=numbers[at], weights=weights, _store=store, _place=place, _source=None
        )
