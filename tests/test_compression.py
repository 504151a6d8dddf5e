"""Compressed models: what they report is what callers recompute, for every model, kernel and kind of samples."""

import pickle
import re
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import (
    SVC,
    SVDD,
    SVR,
    GridSearchCV,
    NuSVC,
    NuSVR,
    OneClassSVM,
    OnlineSVC,
    compress,
    compression,
    load_model,
    save_model,
)
from widemargin.compression import ALL_KEPT
from widemargin.kernels import DiagonalGaussian, Gaussian, Polynomial
from widemargin.kernels.rows import kernel_matrix
from widemargin.machines.reduced_set import EXHAUSTED, LIMIT, MET
from widemargin.runtime import TIME_IS_UP


def samples(n=300, d=2, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * random.normal(size=n)


X, TARGETS = samples()
LABELS = np.where(TARGETS > 0, "yes", "no")
THREE = np.array(["low", "middle", "up"])[np.digitize(TARGETS, [-0.7, 0.7])]

MODELS = {
    "SVC": (SVC(C=10.0), LABELS),
    "SVC without intercept": (SVC(C=10.0, fit_intercept=False), LABELS),
    "pairs": (SVC(C=10.0), THREE),
    "against all": (SVC(C=10.0, multi_class="ovr"), THREE),
    "fuzzy": (SVC(C=10.0, decision="fuzzy-minimum"), THREE),
    "NuSVC": (NuSVC(nu=0.3), THREE),
    "SVR": (SVR(C=10.0), TARGETS),
    "NuSVR": (NuSVR(C=10.0, nu=0.4), TARGETS),
    "OneClassSVM": (OneClassSVM(nu=0.4), None),
    "squared one class": (OneClassSVM(loss="squared_hinge", C=10.0), None),
    "SVDD": (SVDD(nu=0.4), None),
    "polynomial SVDD": (SVDD(nu=0.4, kernel="poly", degree=2, coef0=1.0), None),
    "linear SVDD": (SVDD(nu=0.4, kernel="linear"), None),
    "poly": (SVC(kernel="poly", coef0=1.0), LABELS),
    "sigmoid": (SVC(kernel="sigmoid", gamma=0.1), LABELS),
    "linear": (SVC(kernel="linear"), LABELS),
    "kernel object": (SVC(kernel=DiagonalGaussian()), LABELS),
    "sum of kernels": (SVC(kernel=Gaussian(1.0) + Polynomial(degree=2)), LABELS),
    "callable": (SVC(kernel=lambda A, B: (A @ B.T + 1.0) ** 2), LABELS),
}


def values(model, X):
    """Decision values as a user gets them; of pairs, where classes are told apart in pairs."""
    if isinstance(model, SVC | NuSVC) and len(model.classes_) > 2 and model.multi_class == "ovo":
        model = pickle.loads(pickle.dumps(model)).set_params(decision_function_shape="ovo")
    return model.predict(X) if isinstance(model, SVR | NuSVR) else model.decision_function(X)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("wanted", [{"n_vectors": 12}, {"max_change": 0.05}])
def test_the_report_says_what_callers_recompute(name, wanted):
    model, y = MODELS[name]
    model = clone(model).fit(X, y)
    before = values(model, X)
    small = compress(model, X=X, **wanted)
    report = small.compression_report_
    change = np.abs(values(small, X) - before)
    np.testing.assert_allclose(report.largest_change, change.max(), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(report.rms_change, np.sqrt(np.mean(change**2)), rtol=1e-12, atol=1e-15)
    if "max_change" in wanted:
        assert report.largest_change <= 0.05
    else:
        assert report.n_vectors <= 12
    assert type(small) is type(model)
    assert report.n_vectors == len(small.support_) == small.n_support_.sum() == small.dual_coef_.shape[1]
    assert report.n_vectors_before == len(model.support_) > 12
    assert set(small.support_) <= set(model.support_)
    np.testing.assert_array_equal(small.support_vectors_, X[small.support_])
    if y is None or y.dtype.kind == "U":
        assert report.changed_predictions == np.mean(small.predict(X) != model.predict(X))
    else:
        assert report.changed_predictions is None
    np.testing.assert_array_equal(values(model, X), before)
    assert not hasattr(model, "compression_report_")
    assert report.kernel_evaluations > 0


@pytest.mark.parametrize("name", [name for name in MODELS if name != "callable"])
def test_compressed_models_travel(name, tmp_path):
    model, y = MODELS[name]
    small = compress(clone(model).fit(X, y), X=X, n_vectors=10)
    save_model(small, tmp_path / "model")
    for other in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(small))):
        np.testing.assert_array_equal(values(other, X), values(small, X))
        np.testing.assert_array_equal(other.predict(X), small.predict(X))
        assert other.compression_report_ == small.compression_report_
    again = clone(small)
    assert not hasattr(again, "compression_report_")
    assert repr(again) == repr(clone(model))


def test_a_fit_forgets_that_its_model_was_compressed():
    model = SVC(C=10.0).fit(X, THREE)
    small = compress(model, X=X, n_vectors=10).fit(X, THREE)
    assert not hasattr(small, "compression_report_")
    np.testing.assert_array_equal(small.dual_coef_, model.dual_coef_)
    np.testing.assert_array_equal(small.decision_function(X), model.decision_function(X))


def test_classes_in_pairs_share_all_vectors():
    small = compress(SVC(C=10.0).fit(X, THREE), X=X, n_vectors=15)
    assert small.dual_coef_.shape == (3, 15)
    K = kernel_matrix(X, small.support_vectors_, gamma=small._kernel_parameters.gamma, dtype="float64")
    np.testing.assert_allclose(values(small, X), K @ small.dual_coef_.T + small.intercept_, atol=1e-9)
    np.testing.assert_array_equal(np.repeat(small.classes_, small.n_support_), THREE[small.support_])
    assert np.mean(small.predict(X) == THREE) > 0.75


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), C=st.sampled_from([0.1, 1.0, 100.0]), change=st.sampled_from([1.0, 0.1, 1e-3]))
def test_max_change_is_respected(seed, C, change):
    X, y = samples(80, 3, seed)
    model = SVC(C=C).fit(X, y > 0)
    small = compress(model, X=X, max_change=change)
    assert np.abs(small.decision_function(X) - model.decision_function(X)).max() <= change


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_more_vectors_never_make_the_fit_worse(seed):
    X, y = samples(80, 3, seed)
    model = SVR(C=10.0).fit(X, y)
    found = [compress(model, X=X, n_vectors=m).compression_report_.rms_change for m in (1, 3, 10, 20, 40)]
    assert all(later <= sooner + 1e-9 for sooner, later in pairwise(found))


@pytest.mark.parametrize("one", [X[:1], np.tile(X[:1], (5, 1)), X + 1e6])
@pytest.mark.parametrize("wanted", [{"max_change": 0.1}, {"max_change": 1e-9}, {"max_change": 1e-9, "n_vectors": 3}])
def test_samples_of_one_decision_value_need_no_vector(one, wanted):
    model = SVC(C=10.0).fit(X, LABELS)
    small = compress(model, X=one, **wanted)
    assert (len(small.support_), small.compression_report_.reason) == (0, MET)
    np.testing.assert_allclose(small.decision_function(one), model.decision_function(one), atol=1e-12)


def test_pairs_of_classes_change_by_so_much_and_their_votes_by_more():
    model = SVC(C=10.0, decision_function_shape="ovo").fit(X, THREE)
    small = compress(model, X=X, max_change=0.3)
    assert np.abs(small.decision_function(X) - model.decision_function(X)).max() <= 0.3
    votes = [one.set_params(decision_function_shape="ovr").decision_function(X) for one in (small, model)]
    assert np.abs(votes[0] - votes[1]).max() > 0.9


@pytest.mark.parametrize("wanted", [{"n_vectors": 10}, {"max_change": 1e-300}])
def test_a_compressed_model_learns_nothing_from_a_stream(wanted):
    model = OnlineSVC(C=10.0).partial_fit(X[:200], LABELS[:200], classes=["no", "yes"])
    small = compress(model, X=X[:200], **wanted)
    expected = small.decision_function(X)
    words = r"^OnlineSVC has no {} after its compression, which left the samples that it had kept behind; go on with"
    for name, call in (
        ("partial_fit", lambda: small.partial_fit(X[200:], LABELS[200:])),
        ("finish", small.finish),
        ("forget", lambda: small.forget([0])),
    ):
        with pytest.raises(ValueError, match=words.format(name)):
            call()
    with pytest.raises(ValueError, match=words.format("samples to go on from")):
        small.set_params(warm_start=True).fit(X, LABELS)
    small.set_params(warm_start=False)
    assert not hasattr(small, "n_seen_")
    np.testing.assert_array_equal(small.decision_function(X), expected)
    assert model.partial_fit(X[200:], LABELS[200:]).n_seen_ == 300
    assert small.fit(X, LABELS).partial_fit(X[:5], LABELS[:5]).n_seen_ > 300


def test_repeated_support_vectors_are_compressed_without_loss():
    many, labels = np.tile(X[:40], (5, 1)), np.tile(LABELS[:40], 5)
    model = SVC(C=0.1).fit(many, labels)
    small = compress(model, max_change=1e-8, X=many)
    assert len(small.support_) <= 40 < len(model.support_)
    assert small.compression_report_.reason == MET


@pytest.mark.parametrize("model", [SVC(kernel="linear"), SVDD(kernel="linear"), OneClassSVM(kernel="linear")])
def test_a_linear_model_of_three_features_needs_at_most_four_vectors(model):
    X, y = samples(200, 3)
    model = model.fit(X + 10.0, y > 0)
    small = compress(model, X=X + 10.0, n_vectors=100)
    assert len(small.support_) <= 4
    np.testing.assert_allclose(small.decision_function(X), model.decision_function(X), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(small.coef_, model.coef_, rtol=1e-7, atol=1e-9)


def test_balls_are_consistent():
    model = SVDD(nu=0.3).fit(X)
    small = compress(model, X=X, n_vectors=20)
    K = kernel_matrix(small.support_vectors_, gamma=small._kernel_parameters.gamma, dtype="float64")
    c = small.dual_coef_[0]
    np.testing.assert_array_equal(small.center_coef_, c)
    np.testing.assert_allclose(small.center_squared_norm_, c @ K @ c, rtol=1e-12)
    distances = 1.0 - 2.0 * c @ K + c @ K @ c
    np.testing.assert_allclose(small.score_samples(small.support_vectors_), -distances, atol=1e-12)
    np.testing.assert_allclose(small.decision_function(small.support_vectors_), small.radius_**2 - distances, atol=1e-9)


def test_one_class_models_keep_scores_and_threshold_apart():
    small = compress(OneClassSVM(nu=0.3).fit(X), X=X, n_vectors=20)
    np.testing.assert_allclose(small.score_samples(X) - small.offset_, small.decision_function(X), rtol=1e-12)
    assert small.offset_ == -small.intercept_[0]


def test_a_model_without_intercept_gets_none():
    small = compress(SVC(fit_intercept=False).fit(X, LABELS), X=X, n_vectors=20)
    assert small.intercept_.tolist() == [0.0]


@pytest.mark.parametrize("y", [LABELS, THREE])
def test_probabilities_are_those_of_the_decision_values(y):
    model = SVC(C=10.0, calibration="folds").fit(X, y)
    small = compress(model, X=X, max_change=1e-3)
    np.testing.assert_array_equal(small.sigmoids_, model.sigmoids_)
    probabilities = small.predict_proba(X)
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=0.05)
    np.testing.assert_array_equal(small.classes_[probabilities.argmax(axis=1)], small.predict(X))


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_sparse_samples(container):
    sparse = container(np.where(np.abs(X) > 0.5, X, 0.0))
    model = SVC(C=10.0).fit(sparse, THREE)
    small = compress(model, X=sparse, n_vectors=30)
    dense = compress(SVC(C=10.0).fit(sparse.toarray(), THREE), X=sparse.toarray(), n_vectors=30)
    assert sp.issparse(small.support_vectors_)
    assert sp.issparse(small.dual_coef_)
    np.testing.assert_array_equal(small.support_, dense.support_)
    np.testing.assert_allclose(values(small, sparse), values(dense, sparse.toarray()), atol=1e-6)
    with pytest.raises(ValueError, match="on dense samples; the model has sparse samples"):
        compress(model, X=sparse, n_vectors=3, move_vectors=True)


def test_float32_samples():
    single = X.astype(np.float32)
    small = compress(SVC(C=10.0).fit(single, LABELS), X=single, max_change=0.01)
    assert small.support_vectors_.dtype == np.float32
    assert small.compression_report_.largest_change <= 0.01


def test_strings():
    words = ["margin", "margins", "kernel", "kernels", "vector", "vectors", "colonel", "victory"]

    def common(A, B):
        return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])

    model = SVC(kernel=common).fit(words, [0, 0, 1, 1, 0, 0, 1, 0])
    small = compress(model, X=words, max_change=1e-6)
    np.testing.assert_allclose(small.decision_function(words), model.decision_function(words), atol=1e-6)
    assert set(small.support_vectors_) <= set(words)


def test_precomputed_kernels():
    K = kernel_matrix(X, gamma=0.5, dtype="float64")
    model, other = SVC(kernel="precomputed").fit(K, THREE), SVC(gamma=0.5).fit(X, THREE)
    small, same = (compress(one, X=given, n_vectors=25) for one, given in ((model, K), (other, X)))
    np.testing.assert_array_equal(small.support_, same.support_)
    np.testing.assert_allclose(values(small, K), values(same, X), atol=1e-6)
    assert small.compression_report_.kernel_evaluations == 0
    with pytest.raises(ValueError, match="compress needs X, kernel values with the training samples"):
        compress(model, n_vectors=3)
    with pytest.raises(ValueError, match="an SVDD with kernel='precomputed'"):
        compress(SVDD(kernel="precomputed").fit(K), X=K, n_vectors=3)


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_units_of_features_and_targets_play_no_part(scale):
    model = SVR(C=10.0 * scale, epsilon=0.1 * scale, tol=1e-3 * scale).fit(scale * X, scale * TARGETS)
    small = compress(model, X=scale * X, max_change=0.02 * scale)
    change = np.abs(small.predict(scale * X) - model.predict(scale * X)).max()
    assert 0.0 < change <= 0.02 * scale
    assert len(small.support_) < len(model.support_) / 2


def test_small_and_degenerate_samples():
    model = SVC().fit([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [0, 1, 1])
    for X3 in (np.array([[0.0, 1.0]]), np.ones((3, 2))):
        small = compress(model, X=X3, n_vectors=2)
        np.testing.assert_allclose(small.decision_function(X3), model.decision_function(X3), atol=1e-9)
        assert len(small.support_) == 0
    assert len(compress(model, n_vectors=5).support_) <= 3
    empty = SVR(epsilon=100.0).fit(X, TARGETS)
    assert compress(empty, X=X, n_vectors=5).compression_report_.reason == ALL_KEPT
    ball = compress(SVDD().fit(X), X=X[:1], n_vectors=5)
    assert ball.center_squared_norm_ == 0.0


def test_without_samples_support_vectors_are_taken():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = SVC(C=10.0).fit(frame, LABELS)
    small = compress(model, max_change=0.05)
    change = np.abs(small.decision_function(frame) - model.decision_function(frame))
    assert change[model.support_].max() <= 0.05
    assert small.compression_report_.n_samples == len(model.support_)
    assert small.feature_names_in_.tolist() == ["a", "b"]
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_results_depend_neither_on_threads_nor_on_the_order_of_samples(monkeypatch):
    monkeypatch.setattr(compression, "SELECTION_ENTRIES", 20_000)
    monkeypatch.setattr(compression, "FEWEST_ROWS", 50)
    model = SVC(C=10.0).fit(X, LABELS)
    one, two = (compress(model, X=X, n_vectors=20, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    turned = compress(model, X=X[::-1], n_vectors=20)
    np.testing.assert_array_equal(one.support_, turned.support_)
    np.testing.assert_allclose(one.decision_function(X), turned.decision_function(X), atol=1e-6)
    assert one.compression_report_.rms_change < 0.1


def test_candidates_are_fewer_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr(compression, "SELECTION_ENTRIES", 50 * 50)
    monkeypatch.setattr(compression, "FEWEST_ROWS", 50)
    model = SVC(C=0.1).fit(X, LABELS)
    assert len(model.support_) > 100
    assert compress(model, X=X, n_vectors=30).compression_report_.largest_change < 0.1
    assert compress(model, X=X, max_change=1e-9).compression_report_.largest_change <= 1e-9


def test_moved_vectors_are_closer():
    model = SVC(C=10.0).fit(X, THREE)
    stay, move = (compress(model, X=X, n_vectors=8, move_vectors=move) for move in (False, True))
    assert move.compression_report_.rms_change < 0.5 * stay.compression_report_.rms_change
    assert (stay.compression_report_.moved, move.compression_report_.moved) == (False, True)
    np.testing.assert_array_equal(stay.support_, move.support_)
    assert not np.array_equal(move.support_vectors_, X[move.support_])
    change = np.abs(values(move, X) - values(model, X)).max()
    np.testing.assert_allclose(change, move.compression_report_.largest_change, rtol=1e-12)


def test_vectors_of_kernel_objects_move_too():
    model = SVC(C=10.0, kernel=DiagonalGaussian([1.0, 0.2])).fit(X, LABELS)
    small = compress(model, X=X, n_vectors=5, move_vectors=True)
    assert small.compression_report_.rms_change < compress(model, X=X, n_vectors=5).compression_report_.rms_change


def test_all_support_vectors_are_kept_where_nothing_less_will_do():
    random = np.random.default_rng(0)
    far, y = 1e3 * random.normal(size=(40, 3)), random.integers(0, 2, size=40)
    model = SVC(gamma=1.0).fit(far, y)
    new = np.vstack([far, far[:20] + 0.3 * random.normal(size=(20, 3))])
    small = compress(model, X=new, max_change=1e-3)
    assert small.compression_report_.largest_change <= 1e-3
    assert len(small.support_) == len(model.support_) == 40


def test_what_was_not_met_is_warned_of():
    model = SVC(C=10.0).fit(X, LABELS)
    with pytest.warns(ConvergenceWarning, match=r"compress ended with 3 vectors \(number of vectors reached\)") as seen:
        small = compress(model, X=X, max_change=1e-3, n_vectors=3)
    assert seen[0].filename == __file__
    assert small.compression_report_.reason == LIMIT
    with pytest.warns(ConvergenceWarning, match="before all of n_vectors=50 had been added and moved; raise max_time"):
        small = compress(model, X=X, n_vectors=50, max_time=1e-9)
    assert small.compression_report_.reason == TIME_IS_UP
    assert len(small.support_) == 1
    with pytest.warns(ConvergenceWarning, match="above max_change=0.001; raise n_vectors or max_time"):
        compress(model, X=X, max_change=1e-3, max_time=1e-9)


def test_the_end_of_what_samples_can_tell_is_a_reason():
    model = SVC(C=10.0).fit(X, LABELS)
    small = compress(model, X=X[:5], n_vectors=20)
    assert len(small.support_) <= 5
    assert small.compression_report_.reason in (MET, EXHAUSTED)


def test_pipelines_are_compressed_behind_their_last_step():
    pipeline = make_pipeline(StandardScaler(), SVC(C=10.0)).fit(100.0 * X, LABELS)
    small = compress(pipeline, X=100.0 * X, max_change=0.01)
    change = np.abs(small.decision_function(100.0 * X) - pipeline.decision_function(100.0 * X)).max()
    assert change == small[-1].compression_report_.largest_change <= 0.01
    assert [name for name, _ in small.steps] == ["standardscaler", "svc"]
    assert not hasattr(pipeline[-1], "compression_report_")
    assert len(compress(pipeline, n_vectors=5)[-1].support_) == 5
    assert len(compress(make_pipeline(SVC()).fit(X, LABELS), X=X, n_vectors=5)[-1].support_) == 5


def test_a_compressed_model_can_be_compressed_again():
    model = SVC(C=10.0).fit(X, THREE)
    small = compress(compress(model, X=X, n_vectors=40), X=X, n_vectors=10)
    assert (small.compression_report_.n_vectors_before, small.compression_report_.n_vectors) == (40, 10)


FITTED = SVC(C=10.0).fit(X, LABELS)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({}, ValueError, "compress needs max_change, n_vectors or both"),
        ({"max_change": 0}, ValueError, "max_change must be None or a number above 0; got 0."),
        ({"max_change": -1.0}, ValueError, "max_change must be None or a number above 0; got -1.0."),
        ({"max_change": np.nan}, ValueError, "max_change must be None or a number above 0; got nan."),
        ({"n_vectors": 0}, ValueError, "n_vectors must be None or a whole number of at least 1; got 0."),
        ({"n_vectors": 2.5}, ValueError, "n_vectors must be None or a whole number of at least 1; got 2.5."),
        ({"n_vectors": 5, "max_time": 0}, ValueError, "max_time must be None or a number above 0; got 0."),
        ({"n_vectors": 5, "n_jobs": 0}, ValueError, "n_jobs must be"),
        ({"n_vectors": 5, "move_vectors": "yes"}, ValueError, "move_vectors must be"),
        ({"max_change": 1.0, "move_vectors": True}, ValueError, "move_vectors=True needs n_vectors"),
        ({"n_vectors": 5, "X": X[:, :1]}, ValueError, "X has 1 features, but SVC is expecting 2 features as input"),
        ({"n_vectors": 5, "X": np.full((3, 2), np.nan)}, ValueError, "contains NaN"),
        ({"n_vectors": 5, "X": X[:0]}, ValueError, "Found array with 0 sample(s)"),
        ({"n_vectors": 5, "model": SVC()}, NotFittedError, "This SVC instance is not fitted yet"),
        ({"n_vectors": 5, "model": LogisticRegression()}, TypeError, "ends with one; got LogisticRegression."),
        (
            {"n_vectors": 5, "model": GridSearchCV(SVC(), {"C": [1.0]}).fit(X, LABELS)},
            TypeError,
            "got GridSearchCV; pass its best_estimator_.",
        ),
        (
            {"n_vectors": 5, "move_vectors": True, "model": SVC(kernel="linear").fit(X, LABELS)},
            ValueError,
            "move_vectors=True needs a Gaussian kernel on dense samples; the model has kernel='linear'.",
        ),
        ({"n_vectors": 5, "move_vectors": True, "X": sp.csr_array(X)}, ValueError, "dense samples; X is sparse."),
        (
            {"n_vectors": 5, "model": SVR(kernel="poly", degree=5).fit(X, TARGETS), "X": np.full((3, 2), 1e70)},
            ValueError,
            "The decision value of the model at row 0 of X is not finite; leave that row out.",
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(arguments, error, sentence):
    arguments = {"model": FITTED, "X": X, **arguments}
    with pytest.raises(error, match=re.escape(sentence)):
        compress(arguments.pop("model"), **arguments)


class Halved:
    """Knows fit and transform, and nothing else of scikit-learn."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 0.5 * X


class OwnPipeline(Pipeline):
    """Predicts in its own way."""

    def predict(self, X, **parameters):
        return ~super().predict(X, **parameters)


@pytest.mark.parametrize("kind", [Pipeline, OwnPipeline])
def test_steps_of_other_people_stay_what_they_are(kind):
    y = TARGETS > 0
    model = kind([("scaler", StandardScaler()), ("halved", Halved()), ("svc", SVC())]).fit(X, y)
    small = compress(model, X=X, max_change=0.2)
    assert type(small) is kind
    assert small[0] is model[0]
    assert len(small[-1].support_vectors_) < len(model[-1].support_vectors_)
    assert np.mean(small.predict(X) == model.predict(X)) > 0.95
