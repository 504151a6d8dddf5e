"""OnlineSVC: what a stream of samples promises its user."""

from __future__ import annotations

import contextlib
import pickle
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from widemargin import SVC, OnlineSVC
from widemargin.datasets import chess_board
from widemargin.kernels import Gaussian, Oligo


def two_classes(n: int = 400, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.5, "no", "yes")
    return random.normal(size=(n, 4)) + (y == "yes")[:, np.newaxis], y


def learnt(X: Any, y: Any, size: int = 50, **parameters: Any) -> OnlineSVC:
    model = OnlineSVC(**{"C": 2.0, "gamma": 0.3, **parameters})
    for begin in range(0, len(y), size):
        model.partial_fit(X[begin : begin + size], y[begin : begin + size], classes=np.unique(y))
    return model


@pytest.mark.parametrize("selection", ["second-order", "maximal-violating-pair"])
def test_many_epochs_reach_the_model_of_all_samples(selection: str) -> None:
    X, y = two_classes()
    batch = SVC(C=2.0, gamma=0.3).fit(X, y)
    online = OnlineSVC(C=2.0, gamma=0.3, selection=selection, epochs=40, random_state=0).fit(X, y)
    assert online.fit_report_.converged
    assert online.fit_report_[0].kkt_violation <= 1e-3
    assert online.fit_report_[0].objective == pytest.approx(batch.fit_report_[0].objective, rel=1e-3)
    np.testing.assert_allclose(online.decision_function(X), batch.decision_function(X), atol=0.03)
    np.testing.assert_array_equal(X[online.support_], online.support_vectors_)
    assert set(online.support_) <= set(online.kept_ids_.tolist())


@pytest.mark.parametrize("C", [1e-6, 1e-3])
def test_many_epochs_reach_a_model_whose_coefficients_are_all_at_their_bounds(C: float) -> None:
    X, y = two_classes(300)
    batch = SVC(C=C, gamma=0.3).fit(X, y)
    online = OnlineSVC(C=C, gamma=0.3, epochs=8, random_state=0).fit(X, y)
    assert online.fit_report_[0].objective == pytest.approx(batch.fit_report_[0].objective, rel=1e-3)
    np.testing.assert_allclose(online.decision_function(X), batch.decision_function(X), atol=2e-3)


def test_finish_certifies_the_kept_samples_and_a_second_one_changes_nothing() -> None:
    X, y = two_classes()
    model = learnt(X, y)
    assert model.gap_ > 0
    assert not model.fit_report_.converged
    model.finish()
    assert model.fit_report_.converged
    kept = model.kept_ids_
    batch = SVC(C=2.0, gamma=0.3).fit(X[kept], y[kept])
    assert model.fit_report_[0].objective == pytest.approx(batch.fit_report_[0].objective, rel=1e-5)
    assert model.gap_ == model.fit_report_[0].duality_gap <= 1e-3 * model.fit_report_[0].objective
    before = pickle.dumps(model)
    assert pickle.dumps(model.finish()) == before


def test_classes_against_all_others_share_the_kept_samples() -> None:
    X, y = load_iris(return_X_y=True)
    batch = SVC(C=10, gamma=0.1, multi_class="ovr").fit(X, y)
    online = OnlineSVC(C=10, gamma=0.1, epochs=20, random_state=0).fit(X, y)
    assert online.dual_coef_.shape[0] == 3
    np.testing.assert_allclose(online.decision_function(X), batch.decision_function(X), atol=0.05)
    assert online.score(X, y) >= batch.score(X, y) - 0.01
    assert [one.classes for one in online.fit_report_] == [(0, None), (1, None), (2, None)]


def test_weight_0_is_a_sample_left_out() -> None:
    X, y = two_classes(200)
    weights = np.tile([1.0, 0.0], 100)
    weighted, left_out = OnlineSVC(gamma=0.3), OnlineSVC(gamma=0.3)
    for begin in range(0, 200, 50):
        own = slice(begin, begin + 50)
        some = slice(begin, begin + 50, 2)
        weighted.partial_fit(X[own], y[own], classes=["no", "yes"], sample_weight=weights[own])
        left_out.partial_fit(X[some], y[some], classes=["no", "yes"])
    np.testing.assert_allclose(weighted.decision_function(X), left_out.decision_function(X), rtol=1e-6, atol=1e-8)
    assert weighted.n_seen_ == left_out.n_seen_ == 100
    before = weighted.decision_function(X)
    weighted.partial_fit(X[:10], y[:10], sample_weight=np.zeros(10))
    assert (weighted.decision_function(X) == before).all()
    first = OnlineSVC(gamma=0.3).partial_fit(X[:10], y[:10], classes=["no", "yes"], sample_weight=np.zeros(10))
    assert first.n_seen_ == 0
    assert len(first.predict(X)) == 200


@pytest.mark.parametrize("classes", [["no", "yes"], ["maybe", "no", "yes"]])
def test_a_first_batch_of_one_class_waits_for_the_others(classes: list[str]) -> None:
    X, y = two_classes()
    order = np.argsort(y, kind="stable")
    model = OnlineSVC(C=2.0, gamma=0.3).partial_fit(X[order[:100]], y[order[:100]], classes=classes)
    assert (model.predict(X) == "no").all()
    assert len(model.kept_ids_) == 16
    rest = np.random.default_rng(0).permutation(order[100:])
    model.partial_fit(X[rest], y[rest]).finish()
    assert model.score(X, y) > 0.8


def test_classes_follow_scikit_learn() -> None:
    X, y = two_classes(100)
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        OnlineSVC().partial_fit(X, y)
    model = OnlineSVC().partial_fit(X, y, classes=["no", "yes"])
    with pytest.raises(ValueError, match=r"The target label\(s\) \['perhaps'\] in y do not exist"):
        model.partial_fit(X[:1], ["perhaps"])
    with pytest.raises(ValueError, match=r"label\(s\) \['10', '100', .*, '108', '\.\.\.'\] in y do not"):
        model.partial_fit(X, np.arange(10, 110).astype(str))
    with pytest.raises(ValueError, match="is not the same as on last call to partial_fit"):
        model.partial_fit(X, y, classes=["no", "perhaps", "yes"])
    with pytest.raises(ValueError, match="at least two classes"):
        OnlineSVC().partial_fit(X[:1], ["no"], classes=["no"])
    for classes, message in (
        ("no", "classes is 'no'; it must be a list or array"),
        ([["no", "yes"]], r"classes is \[\['no', 'yes'\]\]; it must be a list or array"),
        (["no", 1], "classes must hold strings or numbers, not both"),
        (["no", None], "classes must hold strings or numbers, not both"),
        ([0.0, 1.0, np.nan], "classes must not hold missing values"),
    ):
        with pytest.raises(ValueError, match=message):
            OnlineSVC().partial_fit(X[:1], ["no"], classes=classes)
    with pytest.raises(ValueError, match="class_weight='balanced' is not supported for partial_fit"):
        OnlineSVC(class_weight="balanced").partial_fit(X, y, classes=["no", "yes"])
    assert OnlineSVC(class_weight="balanced").fit(X, y).class_weight_.tolist() != [1.0, 1.0]


def test_contradicting_duplicates_end() -> None:
    X, y = np.repeat([[0.0], [1.0]], 100, axis=0), np.tile([0, 1], 100)
    model = OnlineSVC(C=5.0, gamma=1.0, random_state=0).fit(X, y)
    assert model.fit_report_.converged
    assert np.isfinite(model.decision_function(X)).all()
    assert model.gap_ <= 1e-3


def test_three_samples() -> None:
    X, y = np.array([[0.0], [1.0], [3.0]]), [0, 1, 1]
    model = OnlineSVC(C=10.0, gamma=1.0, random_state=0, epochs=5).fit(X, y)
    batch = SVC(C=10.0, gamma=1.0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), batch.decision_function(X), atol=2e-3)


@pytest.mark.parametrize(
    ("kernel", "scale"), [("rbf", 1e-20), ("rbf", 1e20), ("linear", 1e-20), ("linear", 1e-10), ("linear", 1e10)]
)
def test_scales(scale: float, kernel: str) -> None:
    X, y = two_classes(200)
    C = 1.0 if kernel == "rbf" else scale**-2
    numbers = {"gamma": 0.3 / scale**2} if kernel == "rbf" else {}
    model = OnlineSVC(C=C, kernel=kernel, random_state=0, epochs=3, **numbers).fit(scale * X, y)
    same = OnlineSVC(kernel=kernel, random_state=0, epochs=3, **({"gamma": 0.3} if numbers else {})).fit(X, y)
    assert model.fit_report_.converged
    np.testing.assert_allclose(model.decision_function(scale * X), same.decision_function(X), atol=0.1)


def test_sparse_and_float32_samples_and_threads_give_the_same_model() -> None:
    X, y = two_classes(300)
    X = np.where(np.abs(X) > 1, np.round(X, 1), 0.0).astype(np.float32)
    dense = learnt(X.astype(np.float64), y).finish()
    assert dense.score(X, y) > 0.8
    for other in (learnt(sp.csr_matrix(X), y), learnt(X, y), learnt(X.astype(np.float64), y, n_jobs=2)):
        other.finish()
        np.testing.assert_allclose(other.decision_function(X), dense.decision_function(X), atol=0.1)
    assert sp.issparse(learnt(sp.csr_matrix(X), y).support_vectors_)
    one, two = learnt(X, y, n_jobs=1), learnt(X, y, n_jobs=2)
    assert (one.dual_coef_ == two.dual_coef_).all()


def test_c_may_change_between_calls() -> None:
    X, y = two_classes()
    model = learnt(X, y, C=10.0).finish()
    for C in (0.5, 20.0):
        model.set_params(C=C).finish()
        kept = model.kept_ids_
        assert np.abs(model.dual_coef_).max() <= C * (1 + 1e-12)
        assert abs(model.dual_coef_.sum()) < 1e-9
        batch = SVC(C=C, gamma=0.3).fit(X[kept], y[kept])
        assert model.fit_report_[0].objective == pytest.approx(batch.fit_report_[0].objective, rel=1e-3)
    model.set_params(C=1.0).partial_fit(X[:20], y[:20])
    assert np.abs(model.dual_coef_).max() <= 1.0 + 1e-12
    assert abs(model.dual_coef_.sum()) < 1e-9


def test_a_window_forgets_what_is_long_past() -> None:
    X, y = two_classes(600)
    y[300:] = np.where(y[300:] == "no", "yes", "no")  # the world turns round
    model, endless = learnt(X, y, window=150, C=1.0), learnt(X, y, C=1.0)
    assert model.kept_ids_.min() >= 450
    assert abs(model.dual_coef_.sum()) < 1e-9
    assert endless.kept_ids_.min() < 300
    assert model.score(X[300:], y[300:]) > 0.8


@pytest.mark.parametrize("kernel", ["rbf", Gaussian(gamma=0.3), lambda A, B: np.exp(A @ B.T / 10)])
def test_a_model_saved_mid_stream_goes_on_as_if_it_had_not_been(kernel: Any) -> None:
    X, y = two_classes(300)
    numbers = {} if not isinstance(kernel, str) else {"gamma": 0.3}
    straight, saved = OnlineSVC(kernel=kernel, **numbers), OnlineSVC(kernel=kernel, **numbers)
    for begin in range(0, 300, 30):
        own = slice(begin, begin + 30)
        for model in (straight, saved):
            model.partial_fit(X[own], y[own], classes=["no", "yes"])
        if isinstance(kernel, str | Gaussian):
            saved = pickle.loads(pickle.dumps(saved))
    assert (straight.dual_coef_ == saved.dual_coef_).all()
    assert (straight.finish().decision_function(X) == saved.finish().decision_function(X)).all()


@pytest.mark.parametrize("at_once", [100, 150])
def test_the_scale_of_a_large_first_batch_is_kept(at_once: int) -> None:
    X, y = two_classes(200)
    model = OnlineSVC().partial_fit(X[:at_once], y[:at_once], classes=["no", "yes"])
    gamma = model.kernel_.gamma
    assert gamma == pytest.approx(1 / (4 * X[:at_once].var()))
    assert model.partial_fit(100 * X[at_once:], y[at_once:]).kernel_.gamma == gamma
    with pytest.raises(ValueError, match=r"gamma was 'scale' when the model began to learn, and is 2\.0 now"):
        model.set_params(gamma=2.0).partial_fit(X, y)
    assert clone(model).fit(X, y).kernel_.gamma == 2.0


@pytest.mark.parametrize("rows", [1, 7, 60])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_the_scale_does_not_depend_on_how_the_first_samples_come(rows: int, unit: float) -> None:
    random = np.random.default_rng(0)
    X = unit * random.normal(size=(400, 1))
    y = np.sign(X[:, 0])
    model = OnlineSVC(C=10)
    for begin in range(0, 400, rows):
        own = slice(begin, begin + rows)
        weights = random.random(400)[own].round() if begin > 200 else None  # which changes nothing any more
        model.partial_fit(X[own], y[own], classes=[-1, 1], sample_weight=weights)
        first = X[: begin + rows] if begin + rows < 100 else X[: -(-100 // rows) * rows]
        assert model.kernel_.gamma == pytest.approx(1 / first.var() if len(first) > 1 else 1.0)
        if begin + rows <= 200:
            assert model.n_seen_ == begin + rows
        if begin + rows < 60:
            model.finish()
            model = pickle.loads(pickle.dumps(model))
    assert model.score(X, y) > 0.98


def test_a_fit_that_goes_on_takes_the_scale_of_all_samples_so_far() -> None:
    X, y = two_classes(200)
    model = OnlineSVC(warm_start=True).partial_fit(X[:5], y[:5], classes=["no", "yes"])
    model.fit(X[5:], y[5:])
    assert model.kernel_.gamma == pytest.approx(1 / (4 * X.var()))
    assert model.n_seen_ >= 200
    assert model.partial_fit(X[:5], y[:5]).kernel_.gamma == pytest.approx(1 / (4 * X.var()))


def test_few_samples_of_a_scale_that_cannot_be_are_refused_and_nothing_has_changed() -> None:
    X, y = two_classes(20)
    model = OnlineSVC().partial_fit(X, y, classes=["no", "yes"])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="too large to compute"):
        model.partial_fit(1e200 * X, y)
    assert pickle.dumps(model) == before


def test_samples_without_weight_do_not_count_as_first_samples() -> None:
    X, y = two_classes(300)
    model = OnlineSVC().partial_fit(X[:5], y[:5], classes=["no", "yes"], sample_weight=np.zeros(5))
    for n in range(5, 250):
        model.partial_fit(X[n : n + 1], y[n : n + 1], sample_weight=[float(n >= 100)])
    assert model.kernel_.gamma == pytest.approx(1 / (4 * X[100:200].var()))
    assert model.n_seen_ == 150


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_that_come_sorted_are_warned_of_once(classes: int) -> None:
    X, y = two_classes(300)
    y = (X[:, 0] > np.quantile(X[:, 0], [[0.33], [0.66]][: classes - 1])).sum(axis=0)
    order = np.argsort(y, kind="stable")
    model = OnlineSVC(gamma=1.0)

    def learn_in_batches() -> None:
        for begin in range(0, 300, 10):
            own = order[begin : begin + 10]
            model.partial_fit(X[own], y[own], classes=np.arange(classes))

    with pytest.warns(UserWarning, match="Samples come sorted by class: of .* shuffle the samples") as caught:
        learn_in_batches()
    assert [one.filename for one in caught] == [__file__]
    for begin in range(0, 300, 10):  # in random order: nothing to say, and warnings are errors here
        own = slice(begin, begin + 10)
        model.partial_fit(X[own], y[own])
    other = OnlineSVC(gamma=1.0)
    for begin in range(0, 300, 10):
        other.partial_fit(X[begin : begin + 10], y[begin : begin + 10], classes=np.arange(classes))


def test_sorted_classes_are_no_matter_where_all_classes_are_known_at_once() -> None:
    X, y = two_classes(300)
    order = np.argsort(y, kind="stable")
    model = OnlineSVC(gamma=1.0, random_state=0).fit(X[order], y[order])
    model.partial_fit(X[order], y[order])  # warnings are errors here
    assert model.score(X, y) > 0.8


def test_pickles_hold_no_kernel_values() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(1500, 10)), random.choice([-1, 1], 1500)
    model = OnlineSVC(gamma=0.1).partial_fit(X, y, classes=[-1, 1])
    samples = 8 * X.shape[1] * len(model.kept_ids_)
    assert len(model.kept_ids_) > 1000
    assert len(pickle.dumps(model)) < 5 * samples
    twin = pickle.loads(pickle.dumps(model))
    assert (twin.decision_function(X) == model.decision_function(X)).all()
    for one in (model, twin):
        one.partial_fit(X[:50], y[:50]).finish()
    np.testing.assert_allclose(twin.decision_function(X), model.decision_function(X), atol=5e-3)


def test_samples_may_be_strings() -> None:
    def kernel(A: Any, B: Any) -> Any:
        return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

    words, y = ["abc", "abd", "xyz", "xyw", "bcd", "yzw"] * 5, [0, 0, 1, 1, 0, 1] * 5
    model = OnlineSVC(kernel=kernel)
    for begin in range(0, 30, 10):
        model.partial_fit(words[begin : begin + 10], y[begin : begin + 10], classes=[0, 1])
    assert model.finish().predict(["abcd", "wxyz"]).tolist() == [0, 1]
    assert set(model.support_vectors_) <= set(words)


def test_ids_are_those_that_were_given() -> None:
    X, y = two_classes(60)
    model = OnlineSVC(gamma=0.3)
    for begin in range(0, 60, 20):
        own = slice(begin, begin + 20)
        model.partial_fit(X[own], y[own], classes=["no", "yes"], ids=[f"row {n}" for n in range(begin, begin + 20)])
    assert set(model.kept_ids_) <= {f"row {n}" for n in range(60)}
    rows = [int(name.split()[1]) for name in model.kept_ids_]
    assert rows == sorted(rows)
    assert set(model.support_) <= set(rows)
    with pytest.raises(ValueError, match="ids has the shape"):
        model.partial_fit(X, y, ids=[1, 2])


def test_bad_input_is_refused() -> None:
    X, y = two_classes(50)
    model = OnlineSVC().partial_fit(X, y, classes=["no", "yes"])
    before = model.decision_function(X)
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, y)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)
    assert (model.decision_function(X) == before).all()
    unlearnt = OnlineSVC(budget=2)
    with pytest.raises(ValueError, match="budget must be at least"):
        unlearnt.partial_fit(X, np.arange(50) % 3, classes=[0, 1, 2])
    with pytest.raises(NotFittedError):
        unlearnt.predict(X)
    for parameters, message in (
        ({"kernel": "precomputed"}, "no values for samples that are yet to come"),
        ({"C": np.inf}, "C"),
        ({"window": 0}, "window"),
        ({"epochs": 0}, "epochs"),
        ({"selection": "maximum-gain"}, "selection"),
        ({"decision_function_shape": "ovo"}, "decision_function_shape"),
    ):
        with pytest.raises(ValueError, match=message):
            OnlineSVC(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="has no finish before it has learnt"):
        OnlineSVC().finish()


def test_max_time_ends_a_call_with_what_was_learnt() -> None:
    def slow(A: Any, B: Any) -> Any:
        time.sleep(0.002)
        return np.exp(-0.5 * ((np.asarray(A)[:, np.newaxis] - np.asarray(B)) ** 2).sum(axis=2))

    X, y = two_classes(60_000)
    model = OnlineSVC(kernel=slow, max_time=4.0)
    began = time.perf_counter()
    model.partial_fit(X, y, classes=["no", "yes"])
    assert time.perf_counter() - began < 30.0
    assert 0 < model.n_seen_ < 60_000
    assert model.fit_report_[0].reason == "time budget"
    assert model.score(X[:500], y[:500]) > 0.5


def test_an_interruption_leaves_what_was_learnt() -> None:
    X, y = chess_board(200_000, random_state=0)
    model = OnlineSVC(C=1000, gamma=2).partial_fit(X[:100], y[:100], classes=[-1, 1])
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    timer.join()
    assert 100 < model.n_seen_ < 200_000
    np.testing.assert_allclose(abs(model.dual_coef_.sum()), 0, atol=1e-6)
    assert model.finish().score(X[:1000], y[:1000]) > 0.9


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_a_first_batch_that_is_interrupted_before_its_first_sample(container: Any) -> None:
    calls = []

    def kernel(A: Any, B: Any) -> Any:
        calls.append(A)
        if len(calls) == stop:
            raise KeyboardInterrupt
        return np.array([[float(a @ b) for b in map(dense, B)] for a in map(dense, A)])

    def dense(row: Any) -> Any:
        return row.toarray().ravel() if sp.issparse(row) else np.asarray(row)

    X, y = two_classes(40)
    stop = -1
    OnlineSVC(kernel=kernel).partial_fit(container(X), y, classes=["no", "yes"])
    for stop in range(1, len(calls) + 1):
        calls.clear()
        model = OnlineSVC(kernel=kernel)
        with contextlib.suppress(KeyboardInterrupt):
            model.partial_fit(container(X), y, classes=["no", "yes"])
        stop = -1
        if hasattr(model, "kernel_"):
            assert model.predict(container(X)).shape == (40,)
            assert model.gap_ >= 0
        model.partial_fit(container(X), y, classes=["no", "yes"])
        assert model.finish().score(container(X), y) > 0.6


def test_fit_begins_anew_unless_it_starts_warm() -> None:
    X, y = two_classes(200)
    model = OnlineSVC(gamma=0.3, random_state=0).fit(X, y)
    seen = model.n_seen_
    assert 200 <= seen <= 400  # those that are not kept come by twice
    assert model.fit(X, y).n_seen_ == seen
    assert model.shape_fit_ == (200, 4)
    assert model.set_params(warm_start=True).fit(X, y).n_seen_ >= seen + 200
    assert OnlineSVC(gamma=0.3, finishing=False).fit(X, y).n_seen_ == 200
    with pytest.raises(ValueError, match="warm_start=True goes on with the classes"):
        model.fit(X, np.where(y == "no", 0, 1))
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="X has 3 features, but OnlineSVC is expecting 4"):
        model.fit(X[:, :3], y)
    np.testing.assert_array_equal(model.decision_function(X), before)
    with pytest.raises(ValueError, match="budget must be at least the number of classes, 3"):
        model.set_params(warm_start=False, budget=2).fit(X, np.arange(200) % 3)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_batch_may_hold_few_samples_of_many_classes() -> None:
    """scikit-learn warns of targets that are mostly different; here that is no sign of a mistake."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(600, 2)), np.tile(np.arange(100), 6)
    X += 10.0 * np.column_stack(np.divmod(y, 10))
    model = OnlineSVC(C=10.0, gamma=0.1)
    for begin in range(0, 600, 100):
        model.partial_fit(X[begin : begin + 100], y[begin : begin + 100], classes=np.arange(100))
    assert model.finish().score(X, y) > 0.95


@pytest.mark.parametrize("dtype", ["object", "category", "string"])
def test_columns_of_strings_arrive_in_batches(dtype: str) -> None:
    pd = pytest.importorskip("pandas")
    X, y = pd.Series(["ACGA", "CCGT", "ACGG", "GCGT"] * 10, dtype=dtype), np.tile([0, 1], 20)
    model = OnlineSVC(C=10.0, kernel=Oligo(2, 1.0))
    for begin in range(0, 40, 10):
        model.partial_fit(X[begin : begin + 10], y[begin : begin + 10], classes=[0, 1])
    assert model.finish().score(X, y) == 1.0
