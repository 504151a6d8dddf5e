import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris

from benchmarks.papers.data import board_values, connect4_half
from benchmarks.peers.models import KNOWN, MODELS, draw_regression
from benchmarks.peers.problems import (
    BARRED,
    PREDICTED,
    PROBLEMS,
    Split,
    largest_class,
    shuffled,
    standardised,
)


def save_sparse(path, X, y, **extra):
    matrix = csr_matrix(X)
    np.savez(path, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr, shape=matrix.shape, y=y, **extra)


def test_shuffled_follows_the_stated_permutation():
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10)
    split = shuffled(X, y, 7)
    order = np.random.default_rng(1).permutation(10)
    assert split.y.tolist() == order[:7].tolist()
    assert split.y_test.tolist() == order[7:].tolist()
    assert np.array_equal(split.X[:, 0], 2.0 * split.y)
    assert np.array_equal(split.X_test[:, 0], 2.0 * split.y_test)


def test_standardised_uses_the_training_part_only_and_survives_constant_columns():
    random = np.random.default_rng(0)
    X, X_test = random.normal(3, 2, size=(50, 3)), random.normal(size=(5, 3))
    X[:, 2] = X_test[:, 2] = 4.0
    split = standardised(Split(X, np.zeros(50), X_test, np.zeros(5)))
    assert np.allclose(split.X.mean(axis=0), 0)
    assert np.allclose(split.X.std(axis=0), [1, 1, 0])
    assert np.allclose(split.X_test[:, 0], (X_test[:, 0] - X[:, 0].mean()) / X[:, 0].std())


def test_largest_class():
    assert largest_class(np.array([2, 5, 5, 0, 5])).tolist() == [-1, 1, 1, -1, 1]


@pytest.mark.parametrize(
    ("name", "shape", "labels"),
    [
        ("twonorm", (7_400, 20), {-1, 1}),
        ("ringnorm", (7_400, 20), {-1, 1}),
        ("waveform", (5_000, 21), {-1, 1}),
        ("chess_board", (1_000, 2), {-1, 1}),
        ("gram", (10_000, 100), {0}),
        ("classes_500", (2_000, 10), set(range(500))),
    ],
)
def test_generated_problems_need_no_folder(name, shape, labels, monkeypatch):
    monkeypatch.delenv("WIDEMARGIN_DATA", raising=False)
    split = PROBLEMS[name].load(None)
    assert split.X.shape == shape
    assert set(split.y.tolist()) == labels
    assert np.array_equal(split.X, PROBLEMS[name].load(None).X)
    assert PROBLEMS[name].load(None, samples=30).X.shape == (30, shape[1])


@pytest.mark.parametrize(
    "name", ["banana", "letter", "a9a", "mnist", "connect4", "splice", "one_class", "german_hard", "banana_squared"]
)
def test_stored_problems_say_what_is_missing(name, tmp_path):
    with pytest.raises(FileNotFoundError, match="no data set"):
        KNOWN[name].load(tmp_path)


def test_regression_problem_is_the_stated_one():
    X, y = draw_regression(4_000, random_state=0)
    assert np.abs(X[:, 6:]).max() <= 2
    assert np.abs(X[:, :6]).max() > 3
    signal = 1.5 * X[:, 0] + np.sin(2 * X[:, 6]) * np.cos(2 * X[:, 7]) + X[:, 1] * X[:, 2] / 2 + 0.3 * np.abs(X[:, 3])
    assert (y.mean(), y.std()) == (pytest.approx(0, abs=1e-12), pytest.approx(1))
    assert np.corrcoef(y, signal)[0, 1] ** 2 == pytest.approx(signal.var() / (signal.var() + 0.25), abs=0.01)
    split = MODELS["svr"].load(None)
    assert split.X.shape == (18_000, 8)
    assert len(split.y_test) == 2_640


def test_one_class_problem_is_standardised_and_normal(tmp_path):
    X = np.random.default_rng(0).normal(3, 2, size=(60, 9))
    X[40:] += 100
    np.savez(tmp_path / "ad_shuttle.npz", X=X, y=np.repeat([0, 1], [40, 20]))
    split = MODELS["one_class"].load(tmp_path)
    assert split.X.shape == (40, 9)
    assert np.allclose(split.X.std(axis=0), 1)
    assert MODELS["one_class"].gamma == pytest.approx(1 / (9 * split.X.var()))


def test_every_machine_has_a_bar_against_one_of_its_entries():
    for problem in MODELS.values():
        assert problem.bar is not None
        assert {"widemargin", *problem.bar.peers} <= set(problem.entries)
        assert problem.entry("widemargin").peer == "widemargin"
    assert not set(MODELS) & set(PROBLEMS)


def test_mnist_keeps_its_order_and_scales_pixels(tmp_path):
    X = np.arange(12, dtype=np.uint8).reshape(6, 2) * 20
    np.savez(tmp_path / "mnist.npz", X=X, y=np.array([0, 1, 2, 3, 4, 5]), n_train=4)
    split = PROBLEMS["mnist"].load(tmp_path, samples=3)
    assert np.allclose(split.X, X[:3] / 255)
    assert split.y.tolist() == [1, -1, 1]
    assert np.allclose(split.X_test, X[4:] / 255)
    assert split.y_test.tolist() == [1, -1]


def test_a9a_draws_from_the_published_training_rows_only(tmp_path):
    X = np.eye(6, dtype=np.float32)
    save_sparse(tmp_path / "a9a.npz", X, np.arange(6), n_train=4)
    split = PROBLEMS["a9a"].load(tmp_path)
    assert sorted(split.y.tolist()) == [0, 1, 2, 3]
    assert split.X.dtype == np.float64
    assert np.array_equal(split.X, np.eye(6)[split.y])


def test_splice_is_one_hot(tmp_path):
    codes = np.array([[0, 1], [1, 1], [2, 0]], dtype=np.uint8)
    np.savez(tmp_path / "splice_strings.npz", X=codes, y=np.array([0, 2, 2]))
    split = PROBLEMS["splice"].load(tmp_path)
    assert split.X.shape == (3, 6)
    assert np.all(split.X.sum(axis=1) == 2)
    assert sorted(split.y.tolist()) == [-1, 1, 1]


def test_board_values_reads_one_hot_squares():
    names = np.array(["a1=b", "a1=o", "a1=x", "a2=b", "a2=o", "a2=x"])
    X = np.array([[1, 0, 0, 0, 0, 1], [0, 1, 0, 1, 0, 0]], dtype=float)
    assert board_values(X, names).tolist() == [[0, 1], [-1, 0]]


def test_connect4_of_the_thesis_has_no_draws(tmp_path):
    names = np.array(["a1=b", "a1=o", "a1=x"])
    save_sparse(tmp_path / "connect4.npz", np.eye(3), np.array([1, 0, -1]), feature_names=names)
    X, y = connect4_half(tmp_path)
    assert sorted(zip(y.tolist(), X[:, 0].tolist(), strict=True)) == [(-1, 1.0), (1, 0.0)]


def test_gammas_that_are_scale_are_numbers(tmp_path):
    y = np.repeat([0, 1, 2], 50)
    np.savez(tmp_path / "iris.npz", X=load_iris().data, y=y)
    for name in ("iris", "classes_500"):
        X = PROBLEMS[name].load(tmp_path).X
        assert PROBLEMS[name].gamma == pytest.approx(1 / (X.shape[1] * X.var()), rel=0.02)


def test_predicting_leaves_the_bars_of_training_alone():
    assert KNOWN["a9a"].bar == PROBLEMS["a9a"].bar
    assert {problem.name: problem.bar.peers for problem in PREDICTED} == {
        "a9a": ("intelex", "intelex32"),
        "mnist": ("intelex", "intelex32"),
        "single_samples": ("sklearn",),
    }


def test_every_row_of_the_speed_table_has_a_bar():
    assert len(BARRED) == 16
    assert all(problem.bar is not None and problem.bar.factor > 0 for problem in BARRED)
