"""OnlineSVC: samples are forgotten, budgets kept, and passes active."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

from benchmarks.papers.lasvm import lasvm_active
from widemargin import SVC, OnlineSVC, save_model
from widemargin.datasets import chess_board
from widemargin.kernels import Spectrum

TOLERANCE = 1e-7


def banana_like(n: int = 400, seed: int = 0) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.5, -1, 1)
    return random.normal(size=(n, 2)) + 0.8 * y[:, np.newaxis], y


@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_forgetting_leads_to_the_model_without_the_samples(classes: int, finished: bool) -> None:
    X, y = banana_like() if classes == 2 else load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    model = OnlineSVC(C=2.0, gamma=0.5, tol=TOLERANCE).partial_fit(X, y, classes=np.unique(y))
    if finished:
        model.finish()
    gone = model.support_[:: 5 if classes == 2 else 3]
    rest = np.setdiff1d(model.kept_ids_, gone)
    model.forget(gone)
    assert not np.isin(gone, model.kept_ids_).any()
    assert model.fit_report_.converged
    a = model.dual_coef_
    np.testing.assert_allclose(a.sum(axis=1), 0.0, atol=1e-9)
    other = SVC(C=2.0, gamma=0.5, tol=TOLERANCE, multi_class="ovr").fit(X[rest], y[rest])
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-5)


def test_ids_are_what_they_were_given_as() -> None:
    X, y = banana_like(60)
    names = [f"patient {number // 3}" for number in range(60)]
    model = OnlineSVC(gamma=0.5).partial_fit(X, y, classes=[-1, 1], ids=names)
    gone = str(model.kept_ids_[0])
    assert gone not in model.forget(gone).kept_ids_.tolist()
    before = pickle.dumps(model)
    for nobody in ([gone, gone], "patient 99", 3):  # no longer kept, never seen, of another name
        with pytest.warns(UserWarning, match="No kept sample has the id .* there is nothing to forget") as caught:
            model.forget(nobody)
        assert [one.filename for one in caught] == [__file__]
    assert pickle.dumps(model) == before
    with pytest.raises(KeyError, match=r"id \{3\} has been learnt from; ids are those given to partial_fit\."):
        model.forget([{3}])
    model.partial_fit(X[:5], y[:5])
    model.forget([62, model.kept_ids_[0]])
    assert 62 not in model.kept_ids_.tolist()


@pytest.mark.parametrize("kernel", ["rbf", Spectrum(2)], ids=repr)
@pytest.mark.parametrize("n", [40, 200], ids=["while the kernel is taken from data", "after"])
def test_nothing_is_left_of_a_sample_that_was_forgotten(kernel: Any, n: int, tmp_path: Path) -> None:
    X: Any
    X, y = banana_like(n)
    letters = np.random.default_rng(0).choice(list("ACGT"), (n, 16))
    X = X if kernel == "rbf" else ["".join(row) for row in letters]
    chosen = int(OnlineSVC(C=0.1, kernel=kernel).partial_fit(X, y, classes=[-1, 1]).kept_ids_[3])
    names = [f"patient {number}" for number in range(n)]
    names[chosen] = "the one to forget"
    model = OnlineSVC(C=0.1, kernel=kernel).partial_fit(X, y, classes=[-1, 1], ids=names)
    sample = X[chosen].tobytes() if kernel == "rbf" else X[chosen].encode()

    def contents() -> list[bytes]:
        save_model(model, tmp_path / "model.wm")
        with zipfile.ZipFile(tmp_path / "model.wm") as file:
            return [pickle.dumps(model), b"".join(file.read(name) for name in file.namelist())]

    def traces() -> list[bool]:
        return [sample in one or b"the one to forget" in one.replace(b"\x00", b"") for one in contents()]

    assert traces() == [True, True]
    assert "the one to forget" not in model.forget(["the one to forget"]).kept_ids_.tolist()
    assert traces() == [False, False]
    model.partial_fit(X[chosen + 1 : chosen + 3], y[chosen + 1 : chosen + 3], ids=["later", "last"])
    assert traces() == [False, False]


def test_names_of_samples_that_are_not_kept_are_not_remembered() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(4000, 2)), np.tile([-1, 1], 2000)
    X[:, 0] += 3 * y
    model, sizes = OnlineSVC(gamma=0.5), []
    for begin in range(0, 4000, 200):
        own = slice(begin, begin + 200)
        model.partial_fit(X[own], y[own], classes=[-1, 1], ids=[f"a name that is rather long {n}" for n in range(200)])
        sizes.append(len(pickle.dumps(model)) / len(model.kept_ids_))
    assert max(sizes[5:]) < 1.5 * sizes[4]


def test_unknown_numbers_are_refused_and_nothing_has_changed() -> None:
    X, y = banana_like(60)
    model = OnlineSVC(gamma=0.5).partial_fit(X, y, classes=[-1, 1])
    before = pickle.dumps(model)
    for unknown in (60, -1, 0.5, "a", {3}):
        with pytest.raises(KeyError, match="running numbers below 60"):
            model.forget([model.kept_ids_[0], unknown])
    assert pickle.dumps(model) == before
    with pytest.raises(ValueError, match="forget before it has learnt"):
        OnlineSVC().forget(0)


def test_a_class_and_everything_may_be_forgotten() -> None:
    X, y = banana_like(80)
    model = OnlineSVC(gamma=0.5).partial_fit(X, y, classes=[-1, 1])
    model.forget(np.flatnonzero(y == 1)).finish()
    assert (y[model.kept_ids_] == -1).all()
    assert np.isfinite(model.decision_function(X)).all()
    assert not np.any(model.dual_coef_)
    assert (model.predict(X) == -1).all()
    model.forget(np.arange(80)).finish()
    assert len(model.kept_ids_) == 0
    assert np.isfinite(model.decision_function(X)).all()
    model.partial_fit(X, y).finish()
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("classes", [2, 3])
def test_a_budget_is_kept_at_little_cost(classes: int) -> None:
    X, y = banana_like(1500) if classes == 2 else load_iris(return_X_y=True)
    budget = 150 if classes == 2 else 30
    model = OnlineSVC(C=10.0, gamma=0.5, budget=budget, random_state=0).fit(X, y)
    assert len(model.kept_ids_) <= budget
    assert model.fit_report_.converged
    assert 0 <= model.gap_ < 1.0
    full = SVC(C=10.0, gamma=0.5).fit(X, y)
    assert model.score(X, y) > full.score(X, y) - 0.05
    assert len(full.support_) > budget


def test_budgets_that_do_not_fit_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="budget must be at least the number of classes, 3"):
        OnlineSVC(budget=2).fit(X, y)
    with pytest.raises(ValueError, match="budget must be None or a whole number of at least 2; got 1"):
        OnlineSVC(budget=1).fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
def test_an_active_pass_ends_after_its_labels(classes: int) -> None:
    X, y = banana_like() if classes == 2 else load_iris(return_X_y=True)
    parameters: dict[str, Any] = {"gamma": 0.5, "active": True, "random_state": 3}
    model = OnlineSVC(max_labels=50, finishing=False, **parameters).fit(X, y)
    assert len(set(model.queried_.tolist())) == len(model.queried_) == model.n_seen_ == 50
    assert np.isin(model.kept_ids_, model.queried_).all()
    np.testing.assert_array_equal(OnlineSVC(max_labels=50, **parameters).fit(X, y).queried_, model.queried_)
    # Labels that were not asked for change nothing.
    unasked = np.setdiff1d(np.arange(len(y)), model.queried_)
    others = y.copy()
    others[unasked] = np.random.default_rng(0).permutation(y[unasked])
    other = OnlineSVC(max_labels=50, **parameters).fit(X, others)
    same = OnlineSVC(max_labels=50, **parameters).fit(X, y)
    np.testing.assert_array_equal(other.queried_, same.queried_)
    np.testing.assert_array_equal(other.dual_coef_, same.dual_coef_)
    twice = OnlineSVC(max_labels=50, epochs=2, finishing=False, **parameters).fit(X, y)
    assert twice.n_seen_ == 100
    np.testing.assert_array_equal(twice.queried_, model.queried_)
    whole = OnlineSVC(**parameters).fit(X, y)
    assert sorted(whole.queried_.tolist()) == list(range(len(y)))
    assert not hasattr(OnlineSVC(gamma=0.5).fit(X, y), "queried_")


def test_active_parameters_that_contradict_each_other_are_refused() -> None:
    X, y = chess_board(50, random_state=0)
    with pytest.raises(ValueError, match="max_labels=5 ends an active pass"):
        OnlineSVC(max_labels=5).fit(X, y)
    with pytest.raises(ValueError, match="class_weight='balanced' counts the labels of all samples"):
        OnlineSVC(active=True, max_labels=5, class_weight="balanced").fit(X, y)


def test_samples_near_the_boundary_are_worth_more_than_any(data_folder: Any) -> None:
    found = lasvm_active.measure(data_folder, 6)
    for n in lasvm_active.LABELS:
        assert lasvm_active.means(found, "near", n).passed < lasvm_active.means(found, "any", n).passed


@pytest.mark.parametrize("gone", [-1, 1])
def test_who_forgets_a_class_still_knows_the_other(gone: int) -> None:
    X, y = banana_like()
    model = OnlineSVC(C=2.0, gamma=0.5).partial_fit(X, y, classes=[-1, 1])
    assert np.count_nonzero(y[model.kept_ids_] != gone) > 16
    model.forget(np.flatnonzero(y == gone))
    assert len(model.kept_ids_) == 16
    assert (model.predict(X) != gone).all()
    assert model.partial_fit(X, y).score(X, y) > 0.8
