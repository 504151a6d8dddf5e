"""Candidates of a search, trained together: one kernel, one chain of problems along C for each width and fold."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_method_params

from widemargin import _core
from widemargin.kernels.rows import KernelParameters, take
from widemargin.machines.chain import EARLY_ENDS, LinkSolution
from widemargin.machines.dual import StopRule
from widemargin.model_selection.grid.candidates import Candidates
from widemargin.model_selection.grid.folds import FoldModels, Indices, KnownValues, Start
from widemargin.model_selection.grid.paths.walks import Beginning, Stretch, walk_of
from widemargin.model_selection.grid.samples import PreparedSamples, SearchSamples, depends_on_samples
from widemargin.model_selection.grid.scores import ChainScores
from widemargin.model_selection.grid.setup import SearchData, Unit, family_of, model_of
from widemargin.runtime import Stop, Work
from widemargin.runtime.memory import told_if_memory_runs_out
from widemargin.study.findings import ENDED_EARLY, Finding

#: The solutions of a candidate, one for each of its decision functions.
Links = list[LinkSolution]


class Setting(NamedTuple):
    """What the candidates of a unit have in common."""

    fold: FoldModels
    prepared: PreparedSamples
    kernel: KernelParameters


class Trained(NamedTuple):
    """Candidates of a unit that were trained, one after the other, and the seconds that each cost besides solving."""

    setting: Setting
    links: list[Links]
    overhead: float


class SharedSearch:
    """Evaluates units of a search, in any order and from any thread.

    Parameters
    ----------
    data : SearchData
    stop : Stop, optional
        When all units are to end, and what is computed for them together.
    samples : SearchSamples, optional
        Those of a search of other candidates that shares everything else.
    """

    def __init__(self, data: SearchData, stop: Stop | None = None, samples: SearchSamples | None = None) -> None:
        self.data, self.stop = data, stop or Stop()
        self._only_predicts = data.scoring.only_predicts()
        self._chain_scores = None
        if not data.scoring.params:
            self._chain_scores = ChainScores.of(data.scoring.scorers, model_of(data.estimator))
        family = family_of(model_of(data.estimator))
        assert family is not None
        self.candidates = Candidates(data.estimator, data.candidates, family, data.raises)
        self.models, self.failures = self.candidates.models, self.candidates.failures
        self._suit_any_fold = family.suit_any_fold(self.models)
        self._walk = None if data.folds_stand_alone else walk_of(data.plan, self.candidates)
        self._chains = self.candidates.lines if self._walk is None else self._walk.chains
        self.samples = SearchSamples(data, self.candidates) if samples is None else samples
        self._kernels: dict[tuple[int, int | None], KernelParameters] = {}
        self._rules: dict[int, StopRule] = {}
        self._counted: set[Hashable] = set()

    def know(self, findings: Iterable[Finding]) -> None:
        """Take kernels as counted that evaluations of a journal have counted: what is computed again counts once."""
        for one in findings:
            if one.work.kernel_evaluations:
                self._counted.add(self._kernel_of(*divmod(one.number, len(self.data.folds))))

    def _kernel_of(self, candidate: int, fold: int) -> Hashable:
        of_fold = isinstance(self.data.estimator, Pipeline) or depends_on_samples(self.models[candidate])
        return self.candidates.kernel_of(candidate), fold if of_fold else None

    def renew(self, stop: Stop | None = None) -> None:
        """Forget that somebody asked to stop."""
        self.stop = stop or Stop()
        self._rules.clear()

    def units(self) -> list[Unit]:
        """List the units, those that share samples or a kernel side by side.

        Candidates are finished on all folds one after the other, if all of these can be kept in memory.
        """
        folds = range(len(self.data.folds))
        if self.samples.all_folds_at_once:
            return [Unit(fold, chain) for chain in self._chains for fold in folds]
        return [Unit(fold, chain) for fold in folds for chain in self._chains]

    def evaluate(self, unit: Unit, stop: Stop, finished: Callable[[Finding], None] | None = None) -> list[Finding]:
        """Train and score the candidates of a unit; fewer of them if time runs out.

        With `finished`, which gets every evaluation as soon as there is one, candidates are trained one by one; without
        it, all of them before the first is scored, which is faster where models take less than a millisecond.
        """
        findings: list[Finding] = []
        add: Callable[[Finding], None] = findings.append
        if finished is not None:

            def add(one: Finding) -> None:
                findings.append(one)
                finished(one)

        try:
            self._evaluate(unit, stop, add, one_by_one=finished is not None)
        except MemoryError:  # no fault of the candidates
            with told_if_memory_runs_out(
                f"to evaluate {self.data.candidates[unit.candidates[0]]} on fold {unit.fold}",
                "lower max_memory (megabytes for kernels) or n_jobs, or search with fewer samples",
            ):
                raise
        return findings

    def _evaluate(self, unit: Unit, stop: Stop, add: Callable[[Finding], None], one_by_one: bool) -> None:
        began, able = time.perf_counter(), unit
        if not self._suit_any_fold:
            try:
                able, refused = self._trainable(unit)
            except MemoryError:
                raise
            except Exception:
                self._fail(unit, unit.candidates, add)
                return
            for one in refused:
                add(one)
        left = list(able.candidates)
        with closing(self._trained(able, unit.candidates, began, stop, one_by_one)) as batches:
            while left and stop.signal.reason is None:
                try:
                    trained = next(batches)
                except (_core.StoppedError, StopIteration):
                    break
                except MemoryError:
                    raise
                except Exception:
                    self._fail(unit, left, add)
                    break
                if self._score_all(trained, unit.fold, left, stop, add) < len(trained.links):
                    break

    def _trained(
        self, unit: Unit, chain: tuple[int, ...], began: float, stop: Stop, one_by_one: bool
    ) -> Generator[Trained, None, None]:
        """Train the candidates of a unit, which are some of a chain's."""
        if not unit.candidates:
            return
        begun = self._begun(Unit(unit.fold, chain), stop)
        setting = self._setting(unit)  # not before: what others start from may need the samples of another fold
        known = [links for stretch in begun.stretches for links in stretch.links]
        found: Iterator[Links] = iter(())
        rest = tuple([candidate for candidate in unit.candidates if candidate not in begun.candidates])
        if rest:
            found = self._train(Unit(unit.fold, rest), setting, begun.start, begun.joint, stop, one_by_one)
            known.extend(islice(found, int(not known) if one_by_one else None))
        solved = 0.0
        for links in known:
            for link in links:
                solved += link.solution.outcome.seconds
        # What all models needed together (their kernel) is charged to each alike.
        each = max(0.0, time.perf_counter() - began - solved) / len(unit.candidates)
        yield Trained(setting, known, each)
        for links in found:
            yield Trained(setting, [links], each)

    def _trainable(self, unit: Unit) -> tuple[Unit, list[Finding]]:
        """Tell the candidates that a fold suits from those that it does not."""
        first = unit.candidates[0]
        fold = self.samples.models(self.models[first], self.candidates.steps[first], unit.fold)
        able, refused = [], []
        for candidate in unit.candidates:
            try:
                fold.require_trainable(self.models[candidate])
                able.append(candidate)
            except ValueError:
                if self.data.raises:
                    raise
                refused.append(self.missing(candidate, unit.fold, traceback.format_exc()))
        return Unit(unit.fold, tuple(able)), refused

    def _begun(self, unit: Unit, stop: Stop) -> Beginning:
        """Begin a chain with what others start from, at the place where the plan lets it start."""
        if self._walk is None:
            return Beginning()

        def train(fold: int, candidates: tuple[int, ...], start: Start | None, joint: int | None) -> Stretch | None:
            try:
                own = Unit(fold, candidates)
                if not self._suit_any_fold and self._trainable(own)[1]:
                    return None
                return self.stretch(own, start, joint, stop)
            except Exception:  # of which the units that these candidates belong to will tell
                return None

        return self._walk.begin(unit.fold, unit.candidates, train)

    def stretch(self, unit: Unit, start: Start | None, joint: int | None, stop: Stop) -> Stretch | None:
        """Train candidates of a chain from a start, or on from the solution of `joint`, if that is what the start is.

        Returns
        -------
        Stretch or None
            None if time ran out.
        """
        setting = self._setting(unit)
        found = list(self._train(unit, setting, start, joint, stop))
        if len(found) < len(unit.candidates) or _cut_short(found[-1]):
            return None
        last = self.models[unit.candidates[-1]]
        return Stretch(found, setting.fold.start_of(last, [link.solution for link in found[-1]]))

    def make_kernel(self, unit: Unit) -> None:
        """Compute the kernel of a unit, so that what is trained on it next does not pay for it."""
        _, prepared, kernel = self._setting(unit)
        prepared.chain_kernel(kernel, self.stop)

    def _setting(self, unit: Unit) -> Setting:
        first, fold = unit.candidates[0], unit.fold
        model, steps = self.models[first], self.candidates.steps[first]
        known = self._kernels.get((first, None)) or self._kernels.get((first, fold))
        setting = Setting(*self.samples.prepared(model, steps, fold, known, self.stop))
        if known is None:
            self._kernels[first, fold if depends_on_samples(model) else None] = setting.kernel
        return setting

    def _train(
        self,
        unit: Unit,
        setting: Setting,
        start: Start | None,
        joint: int | None,
        stop: Stop,
        one_by_one: bool = False,
    ) -> Iterator[Links]:
        """Train the candidates of a unit, each from the one before, as :meth:`stretch` does."""
        fold, prepared, kernel = setting
        models = [self.models[c] for c in (unit.candidates if joint is None else (joint, *unit.candidates))]
        matrix = prepared.chain_kernel(kernel, self.stop)
        if one_by_one:
            matrix = replace(matrix, one_by_one=True, kept_bytes=self.samples.kept_bytes)
        found = fold.solve(models, prepared.X, matrix, self._rule(unit.candidates[0], stop), start)
        return found if joint is None else _without_first(found)

    def _rule(self, candidate: int, stop: Stop) -> StopRule:
        """Return when each model of a chain may end."""
        line = self.candidates.line_of[candidate]
        if line not in self._rules:
            own = self.models[candidate]._stop_rule(len(self.data.weights), 0.0)
            self._rules[line] = replace(own, deadline=self.stop.deadline, signal=self.stop.signal)
        rule = self._rules[line]
        if rule.deadline == stop.deadline and rule.signal is stop.signal:
            return rule
        return replace(rule, deadline=stop.deadline, signal=stop.signal)

    def _score_all(
        self, trained: Trained, fold: int, left: list[int], stop: Stop, add: Callable[[Finding], None]
    ) -> int:
        """Score candidates, which `left` then lacks, until one was cut short or somebody asks to stop; count them."""
        began, (own, prepared, kernel) = time.perf_counter(), trained.setting
        whole = trained.links
        for at, links in enumerate(trained.links):
            if _cut_short(links):
                whole = trained.links[:at]
                break
        known = self._known_scores(own, prepared.alike, left, whole)
        each = (time.perf_counter() - began) / max(1, len(whole))
        for at, links in enumerate(whole):
            candidate = left.pop(0)
            if known[at] is None:
                value, train_value, seconds = self._scores(self.models[candidate], fold, trained.setting, links)
            else:
                (value, train_value), seconds = known[at], each
            # The first that is finished counts the kernel values that were computed for all.
            computed = prepared.shared.claimed(kernel) if at == 0 and prepared.shared is not None else 0
            if computed and self._counted and self._kernel_of(candidate, fold) in self._counted:
                computed = 0
            work, converged = _account(links, trained.overhead, computed)
            add(
                Finding(
                    candidate * len(self.data.folds) + fold,
                    value,
                    work,
                    () if converged else (ENDED_EARLY,),
                    score_seconds=seconds,
                    train_value=train_value,
                    coefficients=sum([_nonzero(link.solution) for link in links]) if self._only_predicts else 0,
                )
            )
            if stop.signal.reason is not None:
                return at + 1
        return len(whole)

    def _known_scores(self, fold: FoldModels, alike: bool, candidates: list[int], found: list[Links]) -> list[Any]:
        """Score the first candidates together, if that is possible: on the test part, and the training part or None.

        `alike` says whether models predict the training part as they know it. None stands for a candidate that the
        scorers are to be asked about.
        """
        if self._chain_scores is None or not found or (self.data.return_train_score and not alike):
            return [None] * len(found)
        models = [self.models[candidate] for candidate in candidates[: len(found)]]
        solutions = [[link.solution for link in links] for links in found]
        scores = self._chain_scores(fold, models, solutions, fold.test)
        if not self.data.return_train_score:
            return [None if one is None else (one, None) for one in scores]
        of_train = self._chain_scores(fold, models, solutions, fold.train)
        return [None if None in both else both for both in zip(scores, of_train, strict=True)]

    def _scores(self, model: Any, number: int, setting: Setting, links: Links) -> tuple[Any, Any, float]:
        """Score a model on the samples held out, and on those it was trained on if they count; time the former."""
        began = time.perf_counter()
        (fold, prepared, _), solutions = setting, [link.solution for link in links]
        X_test, X_train = self.samples.to_score_on(number)
        if self._only_predicts:
            known = KnownValues(fold, model, solutions, [(X_test, fold.test), (X_train, fold.train)])
            judged = fold.twin(model, known, solutions)
        else:
            judged = self._fitted(model, setting, solutions)
        train, test = self.data.folds[number]
        test_scores = self._score(judged, X_test, test)
        seconds = time.perf_counter() - began
        if not self.data.return_train_score:
            return test_scores, None, seconds
        if self._only_predicts and not prepared.alike:
            judged = self._fitted(model, setting, solutions)
        return test_scores, self._score(judged, X_train, train), seconds

    def _fitted(self, model: Any, setting: Setting, solutions: Sequence[Any]) -> Any:
        """Return a candidate, or its pipeline, fitted on a fold."""
        fold, prepared, kernel = setting
        own = fold.samples
        as_given = self.samples.as_given(own)
        X = self.samples.given(as_given, as_given) if prepared.pipeline is None else take(prepared.X, own)
        return prepared.behind_steps(fold.fitted(model, X, kernel, solutions))

    def _score(self, judged: Any, X: Any, samples: Indices) -> Any:
        data = self.data
        params = data.scoring.params
        own = _check_method_params(data.given, params=params, indices=samples) if params else {}
        return data.scoring(judged, X, None if data.y is None else data.y[samples], own)

    def missing(self, candidate: int, fold: int, error: str) -> Finding:
        """Return a finding without scores: of a fit that failed."""
        return Finding(candidate * len(self.data.folds) + fold, None, Work(failed=1), error=error)

    def _fail(self, unit: Unit, candidates: Sequence[int], add: Callable[[Finding], None]) -> None:
        """Tell of candidates that the error under way has ended; raise it if failures are to."""
        if self.data.raises:
            raise
        error = traceback.format_exc()
        for candidate in candidates:
            add(self.missing(candidate, unit.fold, error))

    def failed(self) -> list[Finding]:
        """Return the evaluations, on every fold, of candidates whose parameters are not accepted."""
        folds = range(len(self.data.folds))
        return [self.missing(c, fold, error) for c, error in self.failures.items() for fold in folds]


def _cut_short(links: Links) -> bool:
    """Tell whether a candidate was not finished."""
    return any(link.solution.outcome.reason in EARLY_ENDS for link in links)


def _nonzero(solution: Any) -> int:
    return int(np.count_nonzero(solution.alpha))


def _account(links: Links, overhead: float, kernel_evaluations: int) -> tuple[Work, bool]:
    """Add up what a candidate took, besides what it pays for others; tell whether all its functions converged."""
    iterations, seconds, converged, skipped = 0, overhead, True, True
    for link in links:
        outcome = link.solution.outcome
        iterations += outcome.iterations
        kernel_evaluations += outcome.kernel_evaluations
        seconds += outcome.seconds
        converged = converged and outcome.reason == "converged"
        skipped = skipped and link.repeated
    work = Work(
        trained=int(not skipped),
        skipped=int(skipped),
        iterations=iterations,
        kernel_evaluations=kernel_evaluations,
        seconds=seconds,
    )
    return work, converged


def _without_first(found: Iterator[Links]) -> Iterator[Links]:
    """Leave out a model that was known before; what it took all the same is the next one's."""
    spent = [link.solution.outcome for link in next(found, ())]
    for link, *others in found:
        outcome = link.solution.outcome.with_work([link.solution.outcome, *spent])
        yield [replace(link, solution=replace(link.solution, outcome=outcome)), *others]
        break
    yield from found
