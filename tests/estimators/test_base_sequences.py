"""Lists of strings in every estimator and search, end to end: fit, predict, judge, compress, calibrate, save."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, cross_val_score

from widemargin import (
    SVC,
    SVDD,
    SVR,
    CompactSVC,
    GridSearchCV,
    ModelSearch,
    NuSVC,
    NuSVR,
    OneClassSVM,
    OnlineSVC,
    VectorQuantizer,
    compress,
    load_model,
    save_model,
    select,
)
from widemargin.kernels import CombinedOligo, Gapped, Oligo, Spectrum, TripletOligo, WeightedOligo

RNG = np.random.default_rng(0)
Y = np.arange(80) % 2
GENES = np.arange(80) // 4


def window(label: int) -> str:
    letters = RNG.choice(list("ACGT"), 16)
    if label:
        letters[6:10] = list("AGGA")
    return "".join(letters)


X = [window(y) for y in Y]
NEW, NEW_Y = [window(i % 2) for i in range(60)], np.arange(60) % 2
KERNELS = [
    Oligo(3, 1.0),
    CombinedOligo(1.0, (1, 2, 3)),
    WeightedOligo(1.0, [0.5, 1.0], (2, 3)),
    TripletOligo(1.0),
    Spectrum(2),
    Gapped(2),
    Oligo(3) + Spectrum(2) * Oligo(2),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_every_estimator_learns_from_strings(kernel: Any) -> None:
    counts = np.array([one.count("A") for one in X], dtype=np.float64)
    assert SVC(kernel=kernel).fit(X, Y).score(NEW, NEW_Y) > 0.6
    assert NuSVC(kernel=kernel, nu=0.5).fit(X, Y).score(NEW, NEW_Y) > 0.6
    assert SVR(kernel=kernel, C=10.0).fit(X, counts).score(X, counts) > 0.3
    assert NuSVR(kernel=kernel, C=10.0).fit(X, counts).score(X, counts) > 0.3
    usual = [one for one, y in zip(X, Y, strict=True) if y]
    for model in (OneClassSVM(kernel=kernel, nu=0.2), SVDD(kernel=kernel)):
        scores = model.fit(usual).decision_function(NEW)
        assert scores[NEW_Y == 1].mean() > scores[NEW_Y == 0].mean()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_streams_of_strings_come_near_the_model_of_all(kernel: Any) -> None:
    online = OnlineSVC(kernel=kernel, epochs=20, random_state=0).fit(X, Y)
    batch = SVC(kernel=kernel).fit(X, Y)
    np.testing.assert_allclose(online.decision_function(NEW), batch.decision_function(NEW), atol=0.05)
    stream = OnlineSVC(kernel=kernel)
    for begin in range(0, 80, 20):
        stream.partial_fit(X[begin : begin + 20], Y[begin : begin + 20], classes=[0, 1])
    assert stream.finish().score(NEW, NEW_Y) > 0.6


@pytest.mark.parametrize(
    ("kernel", "grid"),
    [
        (Oligo(2), {"kernel__sigma": [0.5, 2.0]}),
        (CombinedOligo(lengths=(1, 2)), {"kernel__sigmas": [0.5, [0.5, 2.0]]}),
        (WeightedOligo(lengths=(1, 2)), {"kernel__weights": [1.0, [0.2, 1.0]], "kernel__sigmas": [0.5, 2.0]}),
        (TripletOligo(k=2), {"kernel__weights": [None, {"AG": 3.0, "CC": 0.0}]}),
    ],
    ids=repr,
)
@pytest.mark.parametrize("of", [SVC, SVR])
def test_grids_over_parameters_find_what_folds_say(of: Any, kernel: Any, grid: dict[str, Any]) -> None:
    targets = Y if of is SVC else np.array([one.count("AG") for one in X], dtype=np.float64)
    folds = StratifiedGroupKFold(2) if of is SVC else GroupKFold(2)
    search = GridSearchCV(of(kernel=kernel), {**grid, "C": [1.0, 10.0]}, cv=folds).fit(X, targets, groups=GENES)
    best = clone(of(kernel=kernel)).set_params(**search.best_params_)
    scores = cross_val_score(best, np.array(X), targets, cv=folds, groups=GENES)
    assert search.best_score_ == pytest.approx(scores.mean(), abs=2e-3)


@pytest.mark.filterwarnings("ignore::widemargin.model_selection.UnfinishedSearchWarning")
@pytest.mark.parametrize("kernel", [CombinedOligo(lengths=(1, 2)), WeightedOligo(lengths=(1, 3))], ids=repr)
@pytest.mark.parametrize("objective", ["likelihood", "target-alignment"])
def test_model_searches_of_widths_and_weights(kernel: Any, objective: str) -> None:
    search = ModelSearch(SVC(kernel=kernel), objective=objective, max_evaluations=10, random_state=0).fit(X, Y)
    found = search.best_estimator_.kernel_
    assert found.n_dims == kernel.fitted(X).n_dims
    assert not np.array_equal(found.theta, kernel.fitted(X).theta)
    assert search.score(NEW, NEW_Y) > 0.6


@pytest.mark.parametrize("container", [tuple, np.array, lambda x: np.array(x, dtype="S"), pd.Series], ids=range(4))
def test_containers_make_no_difference(container: Any) -> None:
    expected = SVC(kernel=Oligo(2)).fit(X, Y).decision_function(NEW)
    assert SVC(kernel=Oligo(2)).fit(container(X), Y).decision_function(container(NEW)).tolist() == expected.tolist()


def test_a_name_for_each_class_and_many_classes() -> None:
    names = np.array(["first", "second", "third"])[np.arange(80) % 3]
    model = SVC(kernel=Oligo(2), C=10.0).fit(X, names)
    assert set(model.predict(X)) <= set(names)
    assert model.decision_function(X).shape == (80, 3)


@pytest.mark.parametrize("calibration", ["folds", "out-of-fold"])
def test_probabilities(calibration: str) -> None:
    if calibration != "folds":
        with pytest.raises(ValueError, match="calibration"):
            SVC(kernel=Oligo(3), calibration=calibration).fit(X, Y)
        return
    model = SVC(kernel=Oligo(3), calibration=calibration, random_state=0).fit(X, Y)
    probabilities = model.predict_proba(NEW)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities[NEW_Y == 1, 1].mean() > 0.6 > 0.4 > probabilities[NEW_Y == 0, 1].mean()


def test_compressed_models_are_nearly_the_same() -> None:
    model = SVC(kernel=Oligo(3, 2.0), C=1.0).fit(X, Y)
    small = compress(model, n_vectors=len(model.support_) // 2)
    assert len(small.support_vectors_) == len(model.support_) // 2
    assert set(small.support_vectors_) <= set(X)
    assert np.mean(small.predict(NEW) == model.predict(NEW)) > 0.8
    with pytest.raises(ValueError, match="move_vectors"):
        compress(model, n_vectors=3, move_vectors=True)


def test_grids_over_kernels_and_their_parameters() -> None:
    grid = [
        {"kernel": [Oligo(3), Spectrum(3)], "C": [0.1, 1.0]},
        {"kernel": [CombinedOligo()], "kernel__sigmas": [0.5, 2.0], "C": [1.0, 10.0]},
    ]
    folds = StratifiedGroupKFold(4)
    search = GridSearchCV(SVC(), grid, cv=folds).fit(X, Y, groups=GENES)
    assert len(search.cv_results_["params"]) == 8
    best = clone(SVC()).set_params(**search.best_params_)
    scores = cross_val_score(best, np.array(X), Y, cv=folds, groups=GENES)
    assert search.best_score_ == pytest.approx(scores.mean(), abs=1e-12)
    assert search.score(NEW, NEW_Y) > 0.7
    assert search.work_report_.kernel_evaluations <= 4 * 80**2


@pytest.mark.filterwarnings("ignore::widemargin.model_selection.UnfinishedSearchWarning")
@pytest.mark.parametrize(
    ("objective", "strategy"),
    [("likelihood", "noisy-rprop"), ("target-alignment", "rprop"), ("span", "random"), ("cross-validation", "random")],
)
def test_model_searches_of_weights_of_triplets(objective: str, strategy: str) -> None:
    groups = None if objective == "span" else GENES
    search = ModelSearch(
        SVC(kernel=TripletOligo(1.0)), objective=objective, strategy=strategy, max_evaluations=8, random_state=0
    ).fit(X, Y, groups=groups)
    weights = search.best_estimator_.kernel_.weights
    assert len(weights) == 64
    assert np.log(list(weights.values())).mean() == pytest.approx(0.0, abs=1e-9)
    assert search.score(NEW, NEW_Y) > 0.6


def test_what_was_searched_is_saved_and_pickled(tmp_path: Path) -> None:
    search = GridSearchCV(SVC(kernel=Oligo(3)), {"kernel__sigma": [0.5, 2.0], "C": [1.0, 10.0]}, cv=3).fit(X, Y)
    save_model(search.best_estimator_, tmp_path / "model.wm")
    for other in (load_model(tmp_path / "model.wm"), pickle.loads(pickle.dumps(search))):
        assert other.decision_function(NEW).tolist() == search.decision_function(NEW).tolist()


@pytest.mark.parametrize(
    ("texts", "problem", "sentence"),
    [
        ([b"ACGT", b"GGTA"], TypeError, r"sequence 0 of X is bytes, b'ACGT', not text; it must be a string\."),
        (["ACGT", None], TypeError, r"sequence 1 of X is None; it must be a string\."),
        (["ACGT", 4], TypeError, r"sequence 1 of X is 4; it must be a string\."),
        (["ACGT", ""], ValueError, r"sequence 1 of X, '', has k\(x, x\) = 0"),
        (["ACGT", "NNNN"], ValueError, r"sequence 1 of X, 'NNNN', has k\(x, x\) = 0"),
        ("ACGT", TypeError, "X is one string, 'ACGT'; a list, array, column or data frame of samples"),
        ([[1.0, 2.0], [3.0, 4.0]], TypeError, "a list, array or column of strings is needed|must be a string"),
    ],
)
def test_one_sentence_about_what_is_no_sequence(texts: Any, problem: type[Exception], sentence: str) -> None:
    with pytest.raises(problem, match=sentence):
        SVC(kernel=Oligo(2)).fit(texts, [0, 1])
    with pytest.raises(problem, match=sentence):
        SVC(kernel=Oligo(2, alphabet="ACGT")).fit(X, Y).predict(texts)


FILE = SimpleNamespace(sequences=X)  # as read_fasta returns it


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("ACGT" * 10, r"one string, 'ACGTACGTACGTACGTACGT'\.\.\."),
        (Path("x.fasta"), "a path, 'x.fasta', and files are not read here"),
        (dict(enumerate(X)), "an object of type dict"),
        (set(X), "an object of type set"),
        (iter(X), "an object of type list_iterator"),
        (FILE, r"an object of type types\.SimpleNamespace, whose sequences are in X.sequences"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_one_sentence_about_what_is_no_row_of_samples(given: Any, what: str) -> None:
    sentence = f"^X is {what}; a list, array, column or data frame of samples is needed.$"
    kernel = Oligo(2, alphabet="ACGT")
    models = [
        SVC(),
        SVC(kernel=kernel),
        OneClassSVM(kernel=kernel),
        GridSearchCV(SVC(kernel=kernel), {"C": [1.0, 2.0]}),
        ModelSearch(SVC(kernel=kernel), max_evaluations=2),
    ]
    for model in models:
        with pytest.raises(TypeError, match=sentence):
            model.fit(given, Y)
    with pytest.raises(TypeError, match=sentence):
        select(given, Y)
    with pytest.raises(TypeError, match=sentence):
        SVC(kernel=kernel).fit(X, Y).predict(given)
    with pytest.raises(TypeError, match=sentence):
        SVC().fit(np.eye(4), [0, 1, 0, 1]).predict(given)


@pytest.mark.parametrize(
    "text", [X, pd.Series(X), pd.DataFrame({"window": X}), np.array(X)[:, np.newaxis]], ids=range(4)
)
def test_text_for_a_kernel_of_numbers_is_told_of_kernels_of_sequences(text: Any) -> None:
    sentence = (
        r"^X holds text \(could not convert .*\), but kernel='rbf' compares numbers; encode columns of text, with "
        r"OneHotEncoder say, or, .* such as kernel=Oligo\(\)\.$"
    )
    with pytest.raises(ValueError, match=sentence):
        SVC().fit(text, Y)
    with pytest.raises(ValueError, match=sentence):
        GridSearchCV(SVC(), {"C": [1.0, 2.0]}).fit(text, Y)
    with pytest.raises(ValueError, match=sentence):
        SVC().fit([[1.0], [2.0]], [0, 1]).predict(text)
    if np.ndim(text) == 2:
        with pytest.raises(
            ValueError, match=r"^X holds text .*, but features must be numbers; encode .* for sequences, pass a list"
        ):
            select(text, Y)
    for model in (CompactSVC(), VectorQuantizer()):
        with pytest.raises(ValueError, match=rf"^X holds text .*, but {type(model).__name__} needs numbers\.$"):
            model.fit(text, Y)
