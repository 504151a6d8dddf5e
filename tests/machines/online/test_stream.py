"""LASVM: the core against its naive twin, and what a stream of samples promises."""

from __future__ import annotations

import contextlib
import pickle
import threading
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from oracles.lasvm import Lasvm, outcomes
from widemargin import _core
from widemargin.kernels.rows import KernelParameters, RowSource, kernel_matrix, row_source
from widemargin.machines.classifier import box
from widemargin.machines.dual import SolverOptions, StopRule, solve
from widemargin.machines.online import stream as stream_module
from widemargin.machines.online.kept_samples import KeptVectors, joined
from widemargin.machines.online.stream import ONLINE_SELECTIONS, Batch, OnlineRules, Stream, without_values

RBF = KernelParameters("rbf", 0.5)


def problem(n: int = 120, seed: int = 0, classes: int = 2) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    labels = random.integers(0, classes, n).astype(np.int32)
    X[np.arange(n), labels % 3] += 1.0
    return X, labels, random.uniform(0.5, 2.0, n)


def batch_of(X: Any, labels: Any, weights: Any, first: int = 0) -> Batch:
    numbers = first + np.arange(len(labels), dtype=np.int64)
    return Batch(X, labels, weights, numbers, numbers)


def stream_of(classes: int = 2, C: float = 5.0, double: bool = True, kernel: KernelParameters = RBF) -> Stream:
    return Stream(classes, kernel, double, C)


def in_order(n: int) -> list[Any]:
    return [np.arange(n, dtype=np.int32)]


def follow(twin: Lasvm, stream: Stream, n: int) -> Lasvm:
    """Return the way from `twin` on which sample n leads to where the stream is now."""
    kept, alpha, gradient = stream.ids[stream.kept].tolist(), np.zeros(len(twin.y)), stream.core.gradient()[0]
    alpha[kept] = stream.alpha[0][stream.kept]
    for one in outcomes(twin, lambda copy: copy.present(n)):
        # One that left a moment ago, and comes again, has its old place.
        if sorted(one.kept) == sorted(kept) and np.allclose(one.alpha, alpha, rtol=1e-8, atol=1e-10):
            np.testing.assert_allclose(gradient[stream.kept], one.gradient[kept], rtol=1e-7, atol=1e-8)
            one.alpha, one.kept = alpha, kept  # so that rounding does not add up
            return one
    raise AssertionError(f"sample {n} leads nowhere near {kept} with {alpha[kept]}")


@pytest.mark.parametrize("selection", ONLINE_SELECTIONS)
@pytest.mark.parametrize("window", [0, 25])
@pytest.mark.parametrize(("seed", "C"), [(0, 5.0), (1, 5.0), (0, 0.02)])
def test_the_core_takes_the_steps_of_its_naive_twin(selection: str, window: int, seed: int, C: float) -> None:
    X, labels, weights = problem(seed=seed)
    K = kernel_matrix(X, gamma=0.5, dtype="float64")
    twin = Lasvm(K, np.where(labels == 0, 1.0, -1.0), C * weights, selection, window=window)
    stream = stream_of(C=C)
    for n in range(120):
        own = slice(n, n + 1)
        stream.learn(batch_of(X[own], labels[own], weights[own], n), in_order(1), C, OnlineRules(selection, window))
        twin = follow(twin, stream, n)
    assert len(twin.kept) > 10


@pytest.mark.parametrize("selection", ONLINE_SELECTIONS)
def test_samples_that_come_by_again_take_the_steps_of_the_naive_twin(selection: str) -> None:
    X, labels, weights = problem(60, seed=4)
    K = kernel_matrix(X, gamma=0.5, dtype="float64")
    twin = Lasvm(K, np.where(labels == 0, 1.0, -1.0), 5.0 * weights, selection)
    core, rules, rows = _core.OnlineMachine(2, True), OnlineRules(selection).of_core(), row_source(X, gamma=0.5)
    stream = stream_of()
    stream.core, stream.ids = core, np.arange(60)
    random = np.random.default_rng(1)
    for n in np.concatenate([random.permutation(60) for _ in range(3)]).astype(np.int32):
        core.learn(rows, core.samples(), np.array([n]), labels[[n]], 5.0 * weights[[n]], rules)
        stream.ids = core.samples()
        twin = follow(twin, stream, int(n))


@pytest.mark.parametrize("selection", ONLINE_SELECTIONS)
def test_samples_together_teach_as_much_as_samples_alone(selection: str) -> None:
    # Ties are broken by rounding, so that the steps are not the same.
    X, labels, weights = problem(700, seed=6, classes=3)
    together, alone = stream_of(3), stream_of(3)
    rules = OnlineRules(selection)
    together.learn(batch_of(X, labels, weights), in_order(700), 5.0, rules)
    for n in range(700):
        own = slice(n, n + 1)
        alone.learn(batch_of(X[own], labels[own], weights[own], n), in_order(1), 5.0, rules)
    for stream in (together, alone):
        stream.finish(5.0, rules)
    for one, other in zip(together.solutions(1e-3), alone.solutions(1e-3), strict=True):
        assert one.outcome.objective == pytest.approx(other.outcome.objective, rel=0.01)


@pytest.mark.parametrize("selection", ONLINE_SELECTIONS)
def test_finish_reaches_the_optimum_of_the_kept_samples(selection: str) -> None:
    X, labels, weights = problem(200, seed=4)
    stream = stream_of()
    stream.learn(batch_of(X, labels, weights), in_order(200) * 2, 5.0, OnlineRules(selection))
    kept = stream.ids[stream.kept]
    K = kernel_matrix(X[kept], gamma=0.5, dtype="float64")
    twin = Lasvm(K, np.where(labels[kept] == 0, 1.0, -1.0), 5.0 * weights[kept], selection, kept=list(range(len(kept))))
    twin.alpha[:] = stream.alpha[0][stream.kept]
    twin.finish()
    stream.finish(5.0, OnlineRules(selection))
    end = stream.solutions(1e-3)[0].outcome
    assert end.reason == "converged"
    assert end.kkt_violation <= 1e-3
    assert end.objective == pytest.approx(twin.objective, rel=1e-5)
    before = pickle.dumps(stream)
    stream.finish(5.0, OnlineRules(selection))
    assert pickle.dumps(stream) == before


@pytest.mark.parametrize("double", [True, False])
def test_gradients_are_those_of_the_coefficients(double: bool) -> None:
    X, labels, weights = problem(400, classes=3)
    stream = stream_of(3, double=double)
    for begin in range(0, 400, 50):
        own = slice(begin, begin + 50)
        stream.learn(batch_of(X[own], labels[own], weights[own], begin), in_order(50), 5.0, OnlineRules())
    K = kernel_matrix(stream.samples, gamma=0.5, dtype="float64")
    for number, alpha in enumerate(stream.alpha):
        y = np.where(stream.labels == number, 1.0, -1.0)
        np.testing.assert_allclose(stream.core.gradient()[number], y - K @ alpha, atol=1e-10 if double else 1e-4)
        assert abs(alpha.sum()) < 1e-10
        bounds = 5.0 * stream.weights
        assert (alpha >= np.minimum(0, y * bounds)).all()
        assert (alpha <= np.maximum(0, y * bounds)).all()


def test_little_memory_changes_nothing_but_time() -> None:
    X, labels, weights = problem(400, seed=2)
    found = []
    for room in (None, 2000):
        stream = stream_of()
        rules = OnlineRules()
        rules = OnlineRules(options=type(rules.options)(cache_bytes=room))
        stream.learn(batch_of(X, labels, weights), [*in_order(400), *in_order(400)], 5.0, rules)
        found.append(stream)
    much, little = found
    assert little.core.evaluations > much.core.evaluations
    assert little.ids.tolist() == much.ids.tolist()
    np.testing.assert_allclose(little.alpha, much.alpha, rtol=1e-9, atol=1e-10)


def test_a_saved_stream_goes_on_as_if_it_had_not_been_saved() -> None:
    X, labels, weights = problem(400, seed=3, classes=3)
    straight, saved = stream_of(3, double=False), stream_of(3, double=False)
    for begin in range(0, 400, 40):
        own = slice(begin, begin + 40)
        for stream in (straight, saved):
            stream.learn(batch_of(X[own], labels[own], weights[own], begin), in_order(40), 5.0, OnlineRules(window=150))
        saved = pickle.loads(pickle.dumps(saved))
    assert (straight.alpha == saved.alpha).all()
    assert (straight.core.gradient() == saved.core.gradient()).all()
    assert straight.ids.tolist() == saved.ids.tolist()
    before = without_values(straight.core.state())
    *others, evaluations = without_values(pickle.loads(pickle.dumps(saved)).core.state())
    for number in range(8):
        np.testing.assert_array_equal(before[number], others[number])
    assert evaluations > before[-1]  # which were computed again


@pytest.mark.parametrize("classes", [2, 3])
def test_samples_of_two_classes_that_make_pairs_only_with_each_other_find_each_other(classes: int) -> None:
    # All coefficients are at their bounds, and bounds so small that gradients hardly move.
    X, labels, weights = problem(120, seed=7, classes=classes)
    C, rules, K = 1e-5, OnlineRules(), kernel_matrix(X, gamma=0.5, dtype="float64")
    core, rows = _core.OnlineMachine(classes, True), row_source(X, gamma=0.5)
    everybody = np.arange(120, dtype=np.int32)
    for _ in range(12):
        core.learn(rows, core.samples(), everybody, labels, C * weights, rules.of_core())
    alpha = np.zeros((len(core.alpha()), 120))
    alpha[:, core.samples()] = core.alpha()
    for number, a in enumerate(alpha):
        y = np.where(labels == number, 1.0, -1.0)
        G, ends = y - K @ a, C * y * weights
        up, down = G[a < np.maximum(ends, 0)], G[a > np.minimum(ends, 0)]
        assert up.max(initial=-np.inf) - down.min(initial=np.inf) <= 2 * rules.stop.tolerance
    assert core.size < 120 or classes == 3


def finished(classes: int, double: bool, rules: OnlineRules, X: Any) -> Stream:
    _, y, weights = problem(len(X), 3, classes)
    stream = stream_of(classes, double=double, kernel=KernelParameters("rbf", 0.02))
    stream.learn(batch_of(X, y, weights), in_order(len(X)), 5.0, rules)
    stream.finish(5.0, rules)
    return stream


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("double", "n"), [(False, 1500), (True, 300)])
@pytest.mark.parametrize("room", [None, 2_000_000, 200_000, 0], ids=["all", "some", "few", "none"])
def test_finish_reads_stored_values_and_computes_those_that_are_not(
    classes: int, double: bool, n: int, room: int | None
) -> None:
    X = np.random.default_rng(1).normal(size=(n, 20))
    options = SolverOptions(cache_bytes=room, dtype="float64" if double else "float32")
    stream = finished(classes, double, OnlineRules(options=options), X)
    K = kernel_matrix(stream.samples, kernel="rbf", gamma=0.02, dtype="float64")
    for number, signs in enumerate(stream._signs(stream.labels)):
        a, bounds = stream.alpha[number], 5.0 * stream.weights
        gradient = signs - K @ a
        up, down = a < np.maximum(signs * bounds, 0), a > np.minimum(signs * bounds, 0)
        assert gradient[up].max() - gradient[down].min() < 1.001e-3
        assert abs(a.sum()) < 1e-9
    ends = stream.ends or []
    assert [end.reason for end in ends] == ["converged"] * len(stream.names)
    computed = sum(end.kernel_evaluations for end in ends)
    plain = [
        solve(
            box(signs, 5.0 * stream.weights), row_source(stream.samples, kernel="rbf", gamma=0.02), options=options
        ).outcome
        for signs in stream._signs(stream.labels)
    ]
    for end, other in zip(ends, plain, strict=True):
        assert end.objective == pytest.approx(other.objective, rel=1e-4)
    if room is None:
        assert computed <= (0 if double else sum(end.kernel_evaluations for end in plain) / 4)


def test_finish_does_not_depend_on_the_number_of_threads() -> None:
    X = np.random.default_rng(1).normal(size=(400, 20))
    one, more = (finished(3, False, OnlineRules(options=SolverOptions(n_threads=n)), X) for n in (1, 3))
    np.testing.assert_array_equal(one.alpha, more.alpha)


def test_coming_near_the_end_needs_no_certificate() -> None:
    X, y, weights = problem()
    stream = stream_of()
    rules = OnlineRules(stop=StopRule(0.3))
    stream.learn(batch_of(X, y, weights), in_order(len(X)), 5.0, rules)
    stream.nearly_finish(5.0, rules)
    assert stream.violation <= 0.3
    assert stream.ends is None
    steps = stream.solutions(0.3)[0].solution.outcome.iterations
    hurried = OnlineRules(stop=StopRule(1e-9))  # more steps than samples: the solver takes over
    stream.nearly_finish(5.0, hurried)
    assert stream.violation <= 1e-9
    assert stream.ends is not None
    first = stream.solutions(1e-9)[0].solution.outcome.iterations
    assert first > steps
    stream.finish(5.0, OnlineRules(stop=StopRule(1e-12)))  # what earlier ones took still counts
    assert stream.solutions(1e-12)[0].solution.outcome.iterations >= first


def test_forgetting_leaves_a_feasible_point_without_the_sample() -> None:
    X, labels, weights = problem(200, seed=5)
    stream = stream_of()
    stream.learn(batch_of(X, labels, weights), in_order(200), 5.0, OnlineRules())
    gone = stream.kept[::2].astype(np.int32)
    ids = stream.ids[gone]
    stream.forget(gone, OnlineRules())
    stream.finish(5.0, OnlineRules(), everyone=True)
    assert not np.isin(ids, stream.ids[stream.kept]).any()
    assert abs(stream.alpha.sum()) < 1e-10
    assert stream.solutions(1e-3)[0].outcome.kkt_violation <= 1e-3
    K = kernel_matrix(stream.samples, gamma=0.5, dtype="float64")
    y = np.where(stream.labels == 0, 1.0, -1.0)
    np.testing.assert_allclose(stream.core.gradient()[0], y - K @ stream.alpha[0], atol=1e-9)


def test_a_stream_stops_between_samples_when_time_is_up() -> None:
    X, labels, weights = problem(200)
    stream = stream_of()
    late = OnlineRules(stop=StopRule(deadline=0.0))
    assert stream.learn(batch_of(X, labels, weights), in_order(200), 5.0, late) == 0
    assert stream.size == 0


def test_a_kernel_that_fails_leaves_what_was_learnt() -> None:
    calls = []

    def kernel(A: Any, B: Any) -> Any:
        calls.append(len(A))
        if len(calls) > 8:
            raise RuntimeError("no more")
        return np.asarray(A) @ np.asarray(B).T

    X, labels, weights = problem(300)
    stream = stream_of(kernel=KernelParameters(kernel))
    with pytest.raises(RuntimeError, match="no more"):
        stream.learn(batch_of(X, labels, weights), in_order(300), 5.0, OnlineRules())
    assert 0 < stream.size == len(stream.ids) == len(stream.weights)
    assert (X[stream.ids] == stream.samples).all()
    assert abs(stream.alpha.sum()) < 1e-10


class Interrupted:
    """A function that Ctrl-C interrupts at one of its calls."""

    def __init__(self, function: Any, call: int) -> None:
        self.function, self.calls_left = function, call

    def __call__(self, *given: Any) -> Any:
        self.calls_left -= 1
        if self.calls_left == 0:
            raise KeyboardInterrupt
        return self.function(*given)


@pytest.mark.parametrize("where", ["single_threaded_blas", "take"])
@pytest.mark.parametrize("act", ["learn", "price", "forget", "finish"])
def test_a_stream_goes_on_wherever_it_was_interrupted(where: str, act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, labels, weights = problem(200)
    stream, rules = stream_of(), OnlineRules()
    stream.learn(batch_of(X[:100], labels[:100], weights[:100]), in_order(100), 5.0, rules)
    for n in range(100, 200, 2):
        own, call = slice(n, n + 2), 1 + n % 4 // 2
        with monkeypatch.context() as patch:
            patch.setattr(stream_module, where, Interrupted(getattr(stream_module, where), call))
            with contextlib.suppress(KeyboardInterrupt):
                if act == "learn":
                    stream.learn(batch_of(X[own], labels[own], weights[own], n), in_order(2), 5.0, rules)
                elif act == "price":
                    C = 5.0 + n % 3
                    stream.learn(batch_of(X[own], labels[own], weights[own], n), in_order(2), C, rules)
                elif act == "forget":
                    stream.forget(stream.kept[:1].astype(np.int32), rules)
                else:
                    stream.finish(5.0 + n % 3, rules)
        stream.settle()
        if act != "learn":
            stream.learn(batch_of(X[own], labels[own], weights[own], n), in_order(2), stream.C, rules)
        np.testing.assert_array_equal(stream.samples, X[stream.numbers])
        np.testing.assert_array_equal(stream.labels, labels[stream.numbers])
        assert len(stream.ids) == len(stream.weights) == stream.size
        K = kernel_matrix(stream.samples, gamma=0.5, dtype="float64")
        y = np.where(stream.labels == 0, 1.0, -1.0)
        np.testing.assert_allclose(stream.core.gradient()[0], y - K @ stream.alpha[0], atol=1e-8)


def test_blocks_of_samples_are_joined_in_the_container_of_the_first() -> None:
    dense, sparse = np.eye(2), sp.csr_matrix(np.eye(2))
    assert sp.issparse(joined(sparse, dense))
    np.testing.assert_array_equal(joined(dense, sparse), np.vstack([dense, dense]))
    assert joined(["a"], ["b", "c"]) == ["a", "b", "c"]
    assert joined(np.array(["a"]), np.array(["bcd"])).tolist() == ["a", "bcd"]
    pd = pytest.importorskip("pandas")
    for others in (["b", "c"], np.array(["b", "c"]), pd.Series(["b", "c"], index=[7, 8])):
        found = joined(pd.Series(["a"], index=["x"]), others)
        assert (found.shape, found.tolist()) == ((3,), ["a", "b", "c"])
    assert joined(pd.DataFrame({"u": [1.0]}), pd.DataFrame({"u": [2.0]})).shape == (2, 1)


def test_the_core_refuses_what_does_not_fit() -> None:
    X, labels, weights = problem(10)
    stream, rows = stream_of(), row_source(X)
    core = OnlineRules().of_core()
    nobody, everybody = np.empty(0, np.int32), np.arange(10, dtype=np.int32)
    assert isinstance(rows, RowSource)
    with pytest.raises(ValueError, match="outside the row source"):
        stream.core.learn(rows, nobody, everybody + 5, labels, weights, core)
    with pytest.raises(ValueError, match="differ in length"):
        stream.core.learn(rows, nobody, everybody, labels[:5], weights, core)
    with pytest.raises(ValueError, match="each position"):
        stream.core.learn(rows, everybody, everybody, labels, weights, core)
    with pytest.raises(ValueError, match="selection"):
        OnlineRules("best").of_core()
    with pytest.raises(ValueError, match="classes must be at least 2, got 1"):
        _core.OnlineMachine(1, True)
    for label in (-1, 2):
        with pytest.raises(ValueError, match=f"labels must be numbers of the 2 classes, got {label}"):
            stream.core.learn(rows, nobody, everybody, np.where(labels == 0, label, 1).astype(np.int32), weights, core)
    stream.learn(batch_of(X, labels, weights), in_order(10), 5.0, OnlineRules())
    state = list(stream.core.state())
    state[3] = state[3] + np.int32(2)
    with pytest.raises(ValueError, match="labels must be numbers of the 2 classes"):
        _core.OnlineMachine(2, True).restore(*state)


def test_memory_holds_nothing_of_a_sample_that_was_forgotten() -> None:
    X, labels, weights = problem(60)
    stream = stream_of()
    stream.learn(batch_of(X, labels, weights), in_order(60), 5.0, OnlineRules())
    position = int(stream.kept[5])
    marked = X[stream.ids[position]]

    def held() -> bool:
        assert isinstance(stream._store, KeptVectors)
        return bool((stream._store._memory.values == marked).all(axis=1).any())  # type: ignore[union-attr]

    assert held()
    stream.forget(np.array([position], dtype=np.int32), OnlineRules())
    assert not held()


def test_a_budget_below_the_number_of_classes_is_refused() -> None:
    X, labels, weights = problem(40, classes=4)
    stream = stream_of(4)
    with pytest.raises(ValueError, match="budget must be 0 or at least the number of classes, 4, got 3"):
        stream.learn(batch_of(X, labels, weights), in_order(40), 5.0, OnlineRules(budget=3))
    assert stream.size == 0


def test_who_looks_at_a_machine_while_it_learns_is_refused() -> None:
    begun, looked = threading.Event(), threading.Event()

    def kernel(A: Any, B: Any) -> Any:
        begun.set()
        assert looked.wait(60)
        return np.asarray(A) @ np.asarray(B).T

    X, labels, weights = problem(30)
    stream, rules = stream_of(kernel=KernelParameters(kernel)), OnlineRules()
    learning = threading.Thread(target=stream.learn, args=(batch_of(X, labels, weights), in_order(30), 5.0, rules))
    learning.start()
    assert begun.wait(60)
    core, nothing = stream.core, np.empty(0, np.int32)
    looks: list[Any] = [
        *(lambda name=name: getattr(core, name) for name in ("size", "seen", "evaluations")),
        *(getattr(core, name) for name in ("samples", "labels", "bounds", "arrivals", "left", "steps", "alpha")),
        *(core.gradient, core.certificates, core.state),
        lambda: core.put(0, np.empty(0), np.empty(0)),
        lambda: core.forget(row_source(X), nothing, nothing, rules.of_core()),
    ]
    try:
        for look in looks:
            with pytest.raises(RuntimeError, match="another thread is using this machine"):
                look()
    finally:
        looked.set()
        learning.join()
    assert core.seen == 30


def test_a_kernel_that_looks_at_the_machine_it_is_called_for_is_refused() -> None:
    def kernel(A: Any, B: Any) -> Any:
        return np.asarray(A) @ np.asarray(B).T + stream.gap

    X, labels, weights = problem(30)
    stream = stream_of(kernel=KernelParameters(kernel))
    with pytest.raises(RuntimeError, match="a kernel that it calls asks for it"):
        stream.learn(batch_of(X, labels, weights), in_order(30), 5.0, OnlineRules())
