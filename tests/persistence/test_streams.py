"""Online models come back from files with their stream: they predict the same, and go on."""

from __future__ import annotations

import json
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from widemargin import OnlineSVC, compress, kernels, load_model, save_model
from widemargin.datasets import chess_board
from widemargin.persistence.model_file import ModelFileError

from .damaged import archive_of, opened, outcome, require_sentence
from .test_steps import JSON, changed, places

X, Y = chess_board(600, random_state=0)
THREE = np.where(X[:, 0] > 2.5, 2, Y)


def learnt(y: np.ndarray = Y, rows: Any = X, **parameters: Any) -> OnlineSVC:
    model = OnlineSVC(C=100, gamma=2, **parameters)
    names = np.array([f"sample {n}" for n in range(400)])
    for begin in range(0, 400, 80):
        own = slice(begin, begin + 80)
        model.partial_fit(rows[own], y[own], classes=np.unique(y), ids=names[own])
    return model


def again(model: Any, path: Path) -> Any:
    save_model(model, path / "model.wm")
    return load_model(path / "model.wm")


@pytest.mark.parametrize("classes", [Y, THREE], ids=["two", "three"])
@pytest.mark.parametrize("finished", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("parameters", [{}, {"window": 150}, {"budget": 60}], ids=str)
def test_what_is_loaded_is_the_model(
    classes: np.ndarray, finished: bool, sparse: bool, parameters: dict[str, Any], tmp_path: Path
) -> None:
    rows = sp.csr_array(X) if sparse else X
    model = learnt(classes, rows, **parameters)
    if finished:
        model.finish()
    found = again(model, tmp_path)
    np.testing.assert_array_equal(found.decision_function(rows), model.decision_function(rows))
    np.testing.assert_array_equal(found.kept_ids_, model.kept_ids_)
    assert (found.gap_, found.n_seen_) == (model.gap_, model.n_seen_)
    ours, theirs = model._stream, found._stream
    for name in ("alpha", "labels", "weights", "numbers"):
        np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name))
    for name in ("gradient", "bounds", "arrivals", "left", "steps"):
        np.testing.assert_array_equal(getattr(theirs.core, name)(), getattr(ours.core, name)())
    assert (theirs.ends, theirs.finished_at, theirs.C) == (ours.ends, ours.finished_at, ours.C)
    assert (theirs.solved, found.n_iter_.tolist()) == (ours.solved, model.n_iter_.tolist())
    if finished:
        before = theirs.core.evaluations
        assert found.finish()._stream.core.evaluations == before


def test_going_on_agrees_with_straight_through_within_rounding(tmp_path: Path) -> None:
    straight = learnt()
    loaded = again(straight, tmp_path)
    for model in (straight, loaded):
        model.partial_fit(X[400:], Y[400:])
        model.finish()
    assert loaded.n_seen_ == straight.n_seen_ == 600
    assert loaded.fit_report_.converged
    ours, theirs = straight.fit_report_[0].objective, loaded.fit_report_[0].objective
    assert theirs == pytest.approx(ours, rel=1e-3)
    assert np.mean(loaded.predict(X) == straight.predict(X)) > 0.98


def test_one_step_more_is_the_same_within_rounding(tmp_path: Path) -> None:
    straight = learnt()
    loaded = again(straight, tmp_path)
    for model in (straight, loaded):
        model.partial_fit(X[400:405], Y[400:405])
    np.testing.assert_allclose(loaded.decision_function(X), straight.decision_function(X), rtol=1e-4, atol=1e-4)


def test_ids_are_known_after_loading(tmp_path: Path) -> None:
    model = again(learnt(), tmp_path)
    gone = model.kept_ids_[0]
    assert gone not in model.forget(gone).kept_ids_
    with pytest.warns(UserWarning, match="sample 9999"):
        model.forget("sample 9999")


@pytest.mark.parametrize("kernel", ["rbf", kernels.Spectrum(2)], ids=repr)
@pytest.mark.parametrize("names", [False, True])
def test_models_of_few_samples_still_take_their_kernel_from_more(kernel: Any, names: bool, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("abcdefgh"[: 2 + min(n, 90) // 20]), 12)) for n in range(160)]
    rows: Any = X[:160] if kernel == "rbf" else texts
    straight, loaded = OnlineSVC(kernel=kernel), OnlineSVC(kernel=kernel)
    for begin in range(0, 160, 20):
        own = slice(begin, begin + 20)
        ids = [f"sample {n}" for n in range(begin, begin + 20)] if names else None
        for model in (straight, loaded):
            model.partial_fit(rows[own], Y[own], classes=[-1, 1], ids=ids)
        loaded = again(loaded, tmp_path)
        assert loaded.kernel_ == straight.kernel_
        np.testing.assert_array_equal(loaded.kept_ids_, straight.kept_ids_)
    np.testing.assert_allclose(loaded.decision_function(rows), straight.decision_function(rows), atol=1e-3)


@pytest.mark.parametrize("names_seen", [[], ["sample 0", 3]])
def test_files_of_earlier_versions_are_read(stored: bytes, names_seen: list[Any], tmp_path: Path) -> None:
    members, path = opened(stored), tmp_path / "model.wm"
    document = json.loads(members["model.json"])
    stream = document["steps"][0]["stream"]
    for name in ("has_names", "order", "so_far"):
        del stream[name]
    stream["names_seen"] = names_seen
    members["model.json"] = json.dumps(document).encode()
    path.write_bytes(archive_of(members))
    model = load_model(path)
    assert model.partial_fit(np.hstack([X, X])[400:], THREE[400:]).n_seen_ == 600
    if names_seen:
        with pytest.warns(UserWarning, match="No kept sample has the id 'nobody'"):
            model.forget("nobody")


def test_the_order_of_the_classes_is_known_after_loading(tmp_path: Path) -> None:
    order = np.argsort(Y[:200], kind="stable")
    model = OnlineSVC(gamma=1.0).partial_fit(X[order[:80]], Y[order[:80]], classes=[-1, 1])
    model = again(model, tmp_path)
    with pytest.warns(UserWarning, match="Samples come sorted by class: of 200 so far, 1 came after"):
        model.partial_fit(X[order[80:]], Y[order[80:]])
    again(model, tmp_path).partial_fit(X[:10], Y[:10])


def test_sequences_and_kernel_objects(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("ACGT"), 12)) for _ in range(120)]
    y = np.array([text.count("A") > 2 for text in texts])
    model = OnlineSVC(kernel=kernels.Oligo(k=2, sigma=1.0)).partial_fit(texts[:80], y[:80], classes=[False, True])
    found = again(model, tmp_path)
    np.testing.assert_array_equal(found.decision_function(texts), model.decision_function(texts))
    assert found.partial_fit(texts[80:], y[80:]).n_seen_ == 120


def test_compressed_models_predict_only(tmp_path: Path) -> None:
    small = compress(learnt().finish(), n_vectors=20)
    found = again(small, tmp_path)
    np.testing.assert_array_equal(found.decision_function(X), small.decision_function(X))
    with pytest.raises(ValueError, match="after its compression, which left the samples"):
        found.partial_fit(X, Y, classes=np.unique(Y))
    assert found.fit(X, Y).partial_fit(X[:5], Y[:5]).n_seen_ > 600


def test_models_altered_since_they_learnt_are_not_saved(tmp_path: Path) -> None:
    altered = learnt()
    altered.dual_coef_ = 2 * altered.dual_coef_
    with pytest.raises(ModelFileError, match="dual_coef_ was altered since the model learnt"):
        save_model(altered, tmp_path / "model.wm")
    with pytest.raises(ModelFileError, match="gamma was 2 when the model began to learn"):
        save_model(learnt().set_params(gamma=3), tmp_path / "model.wm")
    dates = OnlineSVC().partial_fit(X[:9], Y[:9], classes=[-1, 1], ids=np.arange("2020-01", "2020-10", dtype="M8[M]"))
    with pytest.raises(ModelFileError, match="which a model file cannot store"):
        save_model(dates, tmp_path / "model.wm")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("online") / "model.wm"
    rows = np.hstack([X, X])
    save_model(learnt(THREE, rows).finish(), path)
    return path.read_bytes()


STREAM = ("steps", 0, "stream")


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (STREAM, 3, "stream of step 0 is 3, expected named entries."),
        ((*STREAM, "C"), -1.0, "C of stream of step 0 is -1.0, expected a number above 0."),
        ((*STREAM, "n_vectors"), 10**12, "array 0/stream_vectors is of shape"),
        ((*STREAM, "n_features"), 3, "array 0/stream_vectors is of shape"),
        ((*STREAM, "vectors"), "sequences", "member 0/stream_vectors_lengths.npy is missing."),
        ((*STREAM, "double_precision"), None, "double_precision of stream of step 0 is None, expected true or false."),
        ((*STREAM, "ids", "values"), [1], "values of ids of stream of step 0 is [1], expected"),
        ((*STREAM, "ids", "kind"), "V", "kind of ids of stream of step 0 is 'V', expected one of b, i, u, f, U, O."),
        ((*STREAM, "has_names"), 1, "has_names of stream of step 0 is 1, expected true or false."),
        ((*STREAM, "order", "last"), 9, "last of order of stream of step 0 is 9, expected -1 or the number of one of"),
        ((*STREAM, "order", "counts"), [1], "counts of order of stream of step 0 is [1], expected a whole number for"),
        ((*STREAM, "n_seen"), 3, "array 0/stream_arrivals holds a number that is not between 0 and 3."),
        ((*STREAM, "solved"), [3], "solved of stream of step 0 is [3], expected three numbers for each decision"),
        ((*STREAM, "solved", 0, 0), -3, "iterations of solved of stream of step 0 is -3, expected a whole number"),
        ((*STREAM, "ends"), [], "ends of stream of step 0 is [], expected an entry for each of the 3 decision"),
        ((*STREAM, "ends", 0, "reason"), "luck", "reason of ends of stream of step 0 is 'luck', expected one of"),
    ],
)
def test_documents_that_say_nonsense_about_the_stream(
    stored: bytes, where: tuple[Any, ...], value: Any, message: str, tmp_path: Path
) -> None:
    members, path = opened(stored), tmp_path / "model.wm"
    members["model.json"] = json.dumps(changed(json.loads(members["model.json"]), where, value)).encode()
    result = outcome(path, archive_of(members))
    require_sentence(result, path)
    assert message in result


@pytest.mark.parametrize(
    ("name", "byte", "message"),
    [
        ("labels", 0x77, "holds a number that is not between 0 and 2."),
        ("left", 2, "holds a number that is not between 0 and 1."),
        ("support", 0, "must hold different positions"),
        ("bounds", 0, "is exceeded by a coefficient."),
        ("bounds", 0xFF, "holds numbers that are not finite."),
        ("gradient", 0xFF, "holds numbers that are not finite."),
    ],
)
def test_arrays_that_contradict_the_model(stored: bytes, name: str, byte: int, message: str, tmp_path: Path) -> None:
    members, path = opened(stored), tmp_path / "model.wm"
    member = f"0/stream_{name}.npy"
    header = 128  # bytes, of version 1.0
    members[member] = members[member][:header] + bytes([byte]) * (len(members[member]) - header)
    result = outcome(path, archive_of(members))
    require_sentence(result, path)
    assert message in result


@given(data=st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_stream_is_refused_or_goes_on(stored: bytes, data: st.DataObject, tmp_path: Path) -> None:
    members, path = opened(stored), tmp_path / "model.wm"
    document = json.loads(members["model.json"])
    if data.draw(st.booleans()):
        inside = [place for place in places(document) if place[:3] == STREAM]
        value = data.draw(JSON | st.sampled_from([0, 1, -1, 2**31, 2**63, 1e308, "", {"$float": "inf"}]))
        members["model.json"] = json.dumps(changed(document, data.draw(st.sampled_from(inside)), value)).encode()
    else:
        name = data.draw(st.sampled_from([name for name in members if "stream_" in name]))
        content = bytearray(members[name])
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        members[name] = bytes(content)
    path.write_bytes(archive_of(members))
    try:
        model = load_model(path)
    except ModelFileError as problem:
        require_sentence(str(problem), path)
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with suppress(ValueError):
            model.set_params(max_time=1.0).partial_fit(np.hstack([X, X])[400:420], THREE[400:420])
            model.finish()
