"""Candidates of a search, trained together: one kernel, one chain of problems along C for each width and split."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain as concatenated
from itertools import islice
from typing import Any, NamedTuple

from sklearn.utils.validation import _check_method_params

from widemargin import _core
from widemargin.kernels.memory import told_if_memory_runs_out
from widemargin.kernels.rows import KernelParameters, take
from widemargin.machines.chain import EARLY_ENDS, LinkSolution
from widemargin.machines.dual import Solution, StopRule
from widemargin.model_selection.grid.candidates import Candidates
from widemargin.model_selection.grid.examples import SearchExamples, kept_bytes
from widemargin.model_selection.grid.paths.plans import walk_of
from widemargin.model_selection.grid.paths.starts import Beginning, Start, Stretch
from widemargin.model_selection.grid.prepared_examples import PreparedExamples
from widemargin.model_selection.grid.setup import SearchData, Unit, machine_of
from widemargin.model_selection.grid.splits import KnownValues, Rows, SplitMachines, StartableMachines, family_of
from widemargin.runtime import Stop, Work
from widemargin.study.findings import ENDED_EARLY, Finding


class Setting(NamedTuple):
    """What the candidates of a unit have in common."""

    split: SplitMachines
    prepared: PreparedExamples
    kernel: KernelParameters


@dataclass(frozen=True)
class Trained:
    """A candidate trained on a split: a link for each of its functions, and seconds that it cost besides solving.

    The `first` of a unit counts the kernel values that were computed for all.
    """

    links: Sequence[LinkSolution]
    setting: Setting
    overhead: float
    first: bool

    @property
    def solutions(self) -> list[Solution]:
        """The solutions of the functions."""
        return [link.solution for link in self.links]


class SharedSearch:
    """Evaluates units of a search, in any order and from any thread.

    Parameters
    ----------
    data : SearchData
    stop : Stop, optional
        When all units are to end, and what is computed for them together.
    examples : SearchExamples, optional
        Those of a search of other candidates that shares everything else.
    """

    def __init__(self, data: SearchData, stop: Stop | None = None, examples: SearchExamples | None = None) -> None:
        self.data, self.stop = data, stop or Stop()
        self._only_predicts = data.scoring.only_predicts()
        self._only_counts = data.scoring.is_accuracy and not data.scoring.params and not data.return_train_score
        family = family_of(machine_of(data.estimator))
        assert family is not None
        self.candidates = Candidates(data.estimator, data.candidates, family, data.raises)
        self.examples = SearchExamples(data, self.candidates) if examples is None else examples
        self.machines, self.failures = self.candidates.machines, self.candidates.failures
        self._walk = walk_of(data.plan, self.candidates)
        self._chains = self.candidates.lines if self._walk is None else self._walk.chains

    def renew(self, stop: Stop | None = None) -> None:
        """Forget that somebody asked to stop."""
        self.stop = stop or Stop()

    def split(self, number: int) -> SplitMachines:
        """Return the machines of a split."""
        return self.examples.of_split(number)

    def units(self) -> list[Unit]:
        """List the units, those that share examples or a kernel side by side.

        Candidates are finished on all splits one after the other, if all of these can be kept in memory.
        """
        splits = range(len(self.data.splits))
        if self.examples.all_splits_at_once:
            return [Unit(split, chain) for chain in self._chains for split in splits]
        return [Unit(split, chain) for split in splits for chain in self._chains]

    def evaluate(self, unit: Unit, stop: Stop, finished: Callable[[Finding], None] | None = None) -> list[Finding]:
        """Train and score the candidates of a unit; fewer of them if time runs out.

        With `finished`, which gets every evaluation as soon as there is one, candidates are trained one by one; without
        it, all of them before the first is scored, which is faster where machines take less than a millisecond.
        """
        with told_if_memory_runs_out(
            f"to evaluate {self.data.candidates[unit.candidates[0]]} on fold {unit.split}",
            "lower max_memory (megabytes for kernels) or n_jobs, or search with fewer samples",
        ):
            return self._evaluate(unit, stop, finished)

    def _evaluate(self, unit: Unit, stop: Stop, finished: Callable[[Finding], None] | None) -> list[Finding]:
        began = time.perf_counter()
        evaluations: list[Finding] = []

        def add(some: Iterable[Finding]) -> None:
            for one in some:
                evaluations.append(one)
                if finished is not None:
                    finished(one)

        try:
            able, refused = self._trainable(unit)
        except MemoryError:  # no fault of the candidates
            raise
        except Exception:
            add(self._failed(unit))
            return evaluations
        add(refused)
        left = list(able.candidates)
        with closing(self._trained(able, unit.candidates, began, stop, finished is not None)) as trained:
            while left and stop.signal.reason is None:
                try:
                    one = next(trained, None)
                except _core.StoppedError:
                    break
                except MemoryError:
                    raise
                except Exception:
                    add(self._failed(Unit(unit.split, tuple(left))))
                    break
                if one is None or any(link.solution.outcome.reason in EARLY_ENDS for link in one.links):
                    break
                add([self._scored(left.pop(0), unit.split, one)])
        return evaluations

    def _trained(
        self, unit: Unit, chain: tuple[int, ...], began: float, stop: Stop, one_by_one: bool
    ) -> Generator[Trained, None, None]:
        """Train the candidates of a unit, which are some of a chain's."""
        if not unit.candidates:
            return
        begun = self._begun(Unit(unit.split, chain), stop)
        setting = self._setting(unit)  # not before: what others start from may need the examples of another split
        known = [links for stretch in begun.stretches for links in stretch.links]
        found: Iterator[list[LinkSolution]] = iter(())
        rest = tuple(candidate for candidate in unit.candidates if candidate not in begun.candidates)
        if rest:
            found = self._train(Unit(unit.split, rest), setting, begun.start, begun.joint, stop, one_by_one)
            known.extend(islice(found, int(not known) if one_by_one else None))
        solved = sum(link.solution.outcome.seconds for links in known for link in links)
        # What all machines needed together (their kernel) is charged to each alike.
        each = max(0.0, time.perf_counter() - began - solved) / len(unit.candidates)
        first = True
        for links in concatenated(known, found):
            yield Trained(links, setting, each, first)
            first = False

    def _trainable(self, unit: Unit) -> tuple[Unit, list[Finding]]:
        """Tell the candidates that a split suits from those that it does not."""
        split, able, refused = self.examples.of_split(unit.split), [], []
        if split.suits_all([self.machines[candidate] for candidate in unit.candidates]):
            return unit, []
        for candidate in unit.candidates:
            try:
                split.require_trainable(self.machines[candidate])
                able.append(candidate)
            except ValueError:
                if self.data.raises:
                    raise
                refused.append(self.missing(candidate, unit.split, traceback.format_exc()))
        return Unit(unit.split, tuple(able)), refused

    def _begun(self, unit: Unit, stop: Stop) -> Beginning:
        """Begin a chain with what others start from, at the place where the plan lets it start."""
        if self._walk is None:
            return Beginning()

        def train(split: int, candidates: tuple[int, ...], start: Start | None, joint: int | None) -> Stretch | None:
            try:
                own, refused = self._trainable(Unit(split, candidates))
                return None if refused else self.stretch(own, start, joint, stop)
            except Exception:  # of which the units that these candidates belong to will tell
                return None

        return self._walk.begin(unit.split, unit.candidates, train)

    def stretch(self, unit: Unit, start: Start | None, joint: int | None, stop: Stop) -> Stretch | None:
        """Train candidates of a chain from a start, or on from the solution of `joint`, if that is what the start is.

        Returns
        -------
        Stretch or None
            None if time ran out.
        """
        setting = self._setting(unit)
        found = list(self._train(unit, setting, start, joint, stop))
        if len(found) < len(unit.candidates) or any(link.solution.outcome.reason in EARLY_ENDS for link in found[-1]):
            return None
        assert isinstance(setting.split, StartableMachines)
        last = self.machines[unit.candidates[-1]]
        return Stretch(found, setting.split.start_of(last, [link.solution for link in found[-1]]))

    def make_kernel(self, unit: Unit) -> None:
        """Compute the kernel of a unit, so that what is trained on it next does not pay for it."""
        _, prepared, kernel = self._setting(unit)
        prepared.chain_kernel(kernel, self.stop)

    def _setting(self, unit: Unit) -> Setting:
        first = unit.candidates[0]
        found = self.examples.prepared(self.machines[first], self.candidates.steps[first], unit.split, self.stop)
        return Setting(self.examples.of_split(unit.split), *found)

    def _train(
        self,
        unit: Unit,
        setting: Setting,
        start: Start | None,
        joint: int | None,
        stop: Stop,
        one_by_one: bool = False,
    ) -> Iterator[list[LinkSolution]]:
        """Train the candidates of a unit, each from the one before, as :meth:`stretch` does."""
        split, prepared, kernel = setting
        known = () if joint is None else (joint,)
        machines = [self.machines[c] for c in (*known, *unit.candidates)]
        limit = machines[0]._stop_rule(len(split.weights), 0.0)
        matrix = prepared.chain_kernel(kernel, self.stop)
        if one_by_one:
            matrix = replace(matrix, one_by_one=True, kept_bytes=kept_bytes(self.data.share))
        rule = StopRule(
            limit.tolerance, max_iterations=limit.max_iterations, deadline=stop.deadline, signal=stop.signal
        )
        if start is None:
            found = split.solve(machines, prepared.X, matrix, rule)
        else:
            assert isinstance(split, StartableMachines)
            found = split.solve_from(machines, prepared.X, matrix, rule, start)
        return _without_first(found) if known else found

    def _scored(self, candidate: int, number: int, trained: Trained) -> Finding:
        test_scores, train_scores, seconds = self._scores(self.machines[candidate], number, trained)
        shared, kernel = trained.setting.prepared.shared, trained.setting.kernel
        computed = shared.claimed(kernel) if trained.first and shared is not None else 0
        outcomes, skipped = (
            [link.solution.outcome for link in trained.links],
            all(link.repeated for link in trained.links),
        )
        work = Work(
            trained=int(not skipped),
            skipped=int(skipped),
            iterations=sum(one.iterations for one in outcomes),
            kernel_evaluations=sum(one.kernel_evaluations for one in outcomes) + computed,
            seconds=trained.overhead + sum(one.seconds for one in outcomes),
        )
        return Finding(
            candidate * len(self.data.splits) + number,
            test_scores,
            work,
            () if all(one.reason == "converged" for one in outcomes) else (ENDED_EARLY,),
            score_seconds=seconds,
            train_value=train_scores,
        )

    def _scores(self, machine: Any, number: int, trained: Trained) -> tuple[Any, Any, float]:
        """Score a machine on the rows held out, and on those it was trained on if they count; time the former."""
        began = time.perf_counter()
        (split, prepared, kernel), solutions = trained.setting, trained.solutions
        correct = split.correct(machine, solutions) if self._only_counts else None
        if correct is not None:
            return correct / len(split.test), None, time.perf_counter() - began
        X_test, X_train = self.examples.to_score_on(number)
        if self._only_predicts:
            known = KnownValues(partial(split.values, machine, solutions))
            known.know(X_test, split.test)
            known.know(X_train, split.train)
            judged = split.twin(machine, known, solutions)
        else:
            own = split.rows
            X = self.examples.given(own, own) if prepared.pipeline is None else take(prepared.X, own)
            judged = prepared.behind_steps(split.fitted(machine, X, kernel, solutions))
        test_scores = self._score(judged, X_test, split.test)
        seconds = time.perf_counter() - began
        train_scores = self._score(judged, X_train, split.train) if self.data.return_train_score else None
        return test_scores, train_scores, seconds

    def _score(self, judged: Any, rows: Any, numbers: Rows) -> Any:
        data = self.data
        params = data.scoring.params
        own = _check_method_params(data.rows, params=params, indices=numbers) if params else {}
        return data.scoring(judged, rows, None if data.y is None else data.y[numbers], own)

    def missing(self, candidate: int, split: int, error: str) -> Finding:
        """Return a finding without scores: of a fit that failed."""
        return Finding(candidate * len(self.data.splits) + split, None, Work(failed=1), error=error)

    def _failed(self, unit: Unit) -> list[Finding]:
        """Return evaluations of candidates that the error under way has ended; raise it if failures are to."""
        if self.data.raises:
            raise
        error = traceback.format_exc()
        return [self.missing(candidate, unit.split, error) for candidate in unit.candidates]

    def failed(self) -> list[Finding]:
        """Return the evaluations, on every split, of candidates whose parameters are not accepted."""
        splits = range(len(self.data.splits))
        return [self.missing(c, split, error) for c, error in self.failures.items() for split in splits]


def _without_first(found: Iterator[list[LinkSolution]]) -> Iterator[list[LinkSolution]]:
    """Leave out a model that was known before; what it took all the same is the next one's."""
    known = next(found, ())
    for link, *others in found:
        outcome = link.solution.outcome.with_work([link.solution.outcome, *(one.solution.outcome for one in known)])
        yield [replace(link, solution=replace(link.solution, outcome=outcome)), *others]
        break
    yield from found
