"""Model files of models over sequences: what comes back, and files that were tampered with."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from tests.persistence.damaged import Members, archive_of, opened

from widemargin import SVC, SVDD, SVR, ModelFileError, NuSVC, NuSVR, OneClassSVM, compress, load_model, save_model
from widemargin.kernels import CombinedOligo, Gapped, Linear, Oligo, Spectrum, TripletOligo, WeightedOligo
from widemargin.persistence.model_file import open_model
from widemargin.persistence.sequences import describe_sequences

RNG = np.random.default_rng(0)
X = ["".join(RNG.choice(list("ACGT"), 12 + i % 4)) + "N" * (i % 2) for i in range(40)]
Y = np.array([one.count("G") for one in X])
LABELS = np.where(np.median(Y) < Y, "many", "few")
KERNELS = [
    Oligo(3, 1.2),
    Oligo(2, 1.2, normalize=False, reverse_complement=True, origin=-1, sigma_bounds="fixed"),
    CombinedOligo(1.5),
    CombinedOligo([0.5, 2.0], lengths=(2, 5), sigmas_bounds=(0.1, 10.0)),
    CombinedOligo(lengths=range(1, 3)),
    WeightedOligo([0.5, 2.0, 3.0], [1.0, 0.0, 2.0], (1, 2, 3)),
    TripletOligo(1.2, {"GAA": 5.0, "TTT": 0.0}),
    TripletOligo(1.2),
    Spectrum(3),
    Spectrum(3, mismatches=1, normalize=False),
    Gapped(2, gaps=2),
    2.0 * Oligo(2) + Spectrum(2) * Gapped(2),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_what_is_loaded_predicts_the_same(kernel: Any, tmp_path: Path) -> None:
    model = SVC(kernel=kernel).fit(X, LABELS)
    save_model(model, tmp_path / "model.wm", feature_names=["site"], target="kind")
    saved = open_model(tmp_path / "model.wm")
    assert (saved.n_features, saved.feature_names, saved.target) == (None, ["site"], "kind")
    loaded = saved.model
    new = ["ACGTTTTGAACC", "gattacagattaca", "CCCGTGNNNNN"]
    assert loaded.decision_function(new).tolist() == model.decision_function(new).tolist()
    assert loaded.predict(np.array(new)).tolist() == model.predict(new).tolist()
    assert loaded.support_vectors_ == [X[i] for i in model.support_]
    assert loaded.kernel_ == model.kernel_
    assert repr(loaded.kernel_) == repr(model.kernel_)
    assert loaded.kernel == model.kernel
    assert not hasattr(loaded, "n_features_in_")
    assert loaded.fit(X, LABELS).kernel_ == model.kernel_
    save_model(loaded, tmp_path / "again.wm", feature_names=["site"], target="kind")


def test_a_file_that_is_loaded_and_saved_again_is_the_same(tmp_path: Path) -> None:
    save_model(SVC(kernel=TripletOligo(1.2)).fit(X, LABELS), tmp_path / "one.wm")
    save_model(load_model(tmp_path / "one.wm"), tmp_path / "two.wm")
    assert (tmp_path / "one.wm").read_bytes() == (tmp_path / "two.wm").read_bytes()


def test_other_models(tmp_path: Path) -> None:
    kernel = CombinedOligo(1.5, (1, 2))
    for model, y in (
        (SVR(kernel=kernel), Y),
        (NuSVR(kernel=kernel), Y),
        (NuSVC(kernel=kernel, nu=0.3), LABELS),
        (OneClassSVM(kernel=kernel, nu=0.2), None),
        (SVDD(kernel=kernel), None),
        (SVC(kernel=kernel, calibration="folds", random_state=0), LABELS),
        (SVC(kernel=kernel), np.digitize(Y, [2, 4])),
    ):
        fitted = model.fit(X, y)
        if isinstance(model, SVC) and len(np.unique(y)) == 3:
            fitted = compress(fitted, n_vectors=10)
        save_model(fitted, tmp_path / "model.wm")
        loaded = load_model(tmp_path / "model.wm")
        assert loaded.predict(X).tolist() == fitted.predict(X).tolist()
        if hasattr(fitted, "sigmoids_"):
            assert loaded.predict_proba(X).tolist() == fitted.predict_proba(X).tolist()


def test_other_containers(tmp_path: Path) -> None:
    for texts in (np.array(X), np.array(X, dtype="S"), tuple(X)):
        model = SVC(kernel=Oligo(2)).fit(texts, LABELS)
        save_model(model, tmp_path / "model.wm")
        assert load_model(tmp_path / "model.wm").predict(X).tolist() == model.predict(texts).tolist()


def test_letters_of_any_alphabet(tmp_path: Path) -> None:
    texts = [one.replace("A", "ä").replace("C", "\N{DNA DOUBLE HELIX}") for one in X]
    model = SVC(kernel=Oligo(5, alphabet="classä\N{DNA DOUBLE HELIX}GT".replace("ss", "s"))).fit(texts, LABELS)
    save_model(model, tmp_path / "model.wm")
    assert (
        load_model(tmp_path / "model.wm").decision_function(texts).tolist() == model.decision_function(texts).tolist()
    )
    weighted = SVC(kernel=TripletOligo(k=5, alphabet="clasCGT")).fit(["class", "GGGTTT", "TTCCGG"], [0, 1, 0])
    save_model(weighted, tmp_path / "model.wm")
    assert load_model(tmp_path / "model.wm").kernel_ == weighted.kernel_


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(ModelFileError, match="the support vectors are neither vectors nor text"):
        describe_sequences([{"a": 1}], "")
    with pytest.raises(ModelFileError, match="the support vectors are neither vectors nor text"):
        describe_sequences(["\ud800"], "")


def test_names_are_one(tmp_path: Path) -> None:
    model = SVC(kernel=Oligo(2)).fit(X, LABELS)
    with pytest.raises(ModelFileError, match="feature_names holds 2 names for one column of sequences"):
        save_model(model, tmp_path / "model.wm", feature_names=["a", "b"])
    with pytest.raises(
        ModelFileError, match=r"encoded of model.json is .* expected no columns, since the model takes seq"
    ):
        save_model(model, tmp_path / "model.wm", feature_names=["a=b"], encoded={"a": ["b"]})
    save_model(Pipeline([("model", model)]), tmp_path / "model.wm")
    assert load_model(tmp_path / "model.wm").predict(X[:3]).tolist() == model.predict(X[:3]).tolist()


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Members:
    path = tmp_path_factory.mktemp("models") / "model.wm"
    save_model(SVC(kernel=TripletOligo(1.2)).fit(X, LABELS), path)
    return opened(path.read_bytes())


def array(values: Any) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, np.asarray(values), version=(1, 0))
    return content.getvalue()


def stored(members: Members, name: str) -> np.ndarray[Any, Any]:
    return np.load(io.BytesIO(members[name]))


def set_step(path: str, value: Any) -> Callable[[Members], None]:
    def damage(members: Members) -> None:
        document = json.loads(members["model.json"])
        place = document["steps"][0]
        *parents, last = path.split("/")
        for parent in parents:
            place = place[parent]
        if isinstance(place[last], dict) and isinstance(value, dict):
            place[last].update(value)
        else:
            place[last] = value
        members["model.json"] = json.dumps(document).encode()

    return damage


def set_array(name: str, change: Callable[[Any], Any]) -> Callable[[Members], None]:
    def damage(members: Members) -> None:
        members[f"0/{name}.npy"] = array(change(stored(members, f"0/{name}.npy")))

    return damage


def shifted(lengths: Any) -> Any:
    lengths[0] += 1
    return lengths


def negative(lengths: Any) -> Any:
    lengths[0], lengths[1] = -1, lengths[0] + lengths[1] + 1
    return lengths


def in_kernel(**parameters: Any) -> Callable[[Members], None]:
    def damage(members: Members) -> None:
        for place in ("kernel/object/parameters", "parameters/kernel/parameters"):
            set_step(place, parameters)(members)

    return damage


def another_kernel(name: str, **parameters: Any) -> Callable[[Members], None]:
    def damage(members: Members) -> None:
        document = json.loads(members["model.json"])
        step = document["steps"][0]
        step["kernel"]["object"] = step["parameters"]["kernel"] = {"class": name, "parameters": parameters}
        members["model.json"] = json.dumps(document).encode()

    return damage


DAMAGES = {
    "lengths that do not add up": (set_array("vectors_lengths", shifted), "vectors_lengths must add up to the"),
    "lengths below 0": (set_array("vectors_lengths", negative), "vectors_lengths must add up to the"),
    "enormous lengths": (
        set_array("vectors_lengths", lambda lengths: np.full_like(lengths, 2**62)),
        "vectors_lengths must add up to the",
    ),
    "another type": (set_array("vectors_text", lambda text: text.astype(np.int64)), "vectors_text is of type '<i8'"),
    "no UTF-8": (set_array("vectors_text", lambda text: text | 0x80), "vectors_text is no text in UTF-8"),
    "an object": (set_array("vectors_lengths", lambda a: np.array([{}] * len(a))), "vectors_lengths is of type '|O'"),
    "no letters": (set_array("vectors_text", lambda text: text[:-1]), "vectors_text is of shape"),
    "a short letter": (set_array("vectors_text", lambda text: np.full_like(text, 78)), r"k\(x, x\) = 0"),
    "vectors for sequences": (set_step("vectors", "dense"), "n_features of step 0 is None"),
    "features": (
        lambda members: (set_step("vectors", "dense")(members), set_step("n_features", 3)(members)),
        "shape_fit of step 0",
    ),
    "a shape": (set_step("shape_fit", [40, 3]), "shape_fit of step 0 is .40, 3., expected a number of samples"),
    "no shape": (set_step("shape_fit", []), "shape_fit of step 0"),
    "no alphabet": (in_kernel(alphabet=None), "the kernel cannot be used with the sequences of its support vectors"),
    "a number as alphabet": (in_kernel(alphabet=4), "alphabet of TripletOligo is 4|cannot be used"),
    "a letter twice": (in_kernel(alphabet="ACGG"), "cannot be used with the sequences"),
    "a list as alphabet": (in_kernel(alphabet=["A", "C", "G", "T"]), "alphabet of .* expected numbers"),
    "a long oligomer": (in_kernel(k=2**53), "cannot be used with the sequences"),
    "a long oligomer of one letter": (in_kernel(k=2**53, alphabet="A", weights=None), "cannot be used with the"),
    "weights of what is none": (in_kernel(weights={"GATTACA": 1.0}), "names 'GATTACA', which is no oligomer"),
    "a weight below 0": (in_kernel(weights={"AAA": -1.0}), "must be finite and at least 0"),
    "a weight that is text": (in_kernel(weights={"AAA": "heavy"}), "cannot be used with the sequences"),
    "an origin in between": (in_kernel(origin=0.5), "origin of TripletOligo is 0.5"),
    "a marker that is nowhere": (in_kernel(origin="|"), "holds origin='|' never"),
    "a width below 0": (in_kernel(sigma=-1.0), "sigma"),
    "a parameter too many": (in_kernel(code="import os"), "TripletOligo does not have the parameters"),
    "a kernel of vectors": (another_kernel("Linear"), "it is one of vectors"),
    "a kernel by name": (
        set_step("parameters/kernel", "rbf"),
        "is one of vectors, but the support vectors are sequences",
    ),
    "many mismatches": (
        another_kernel("Spectrum", k=30, mismatches=15, alphabet="ACGT"),
        "Spectrum counts every window for",
    ),
    "many gaps": (another_kernel("Gapped", k=15, gaps=15, alphabet="ACGT"), "Gapped counts every window for"),
    "lengths of nothing": (another_kernel("CombinedOligo", lengths=[], alphabet="ACGT"), "lengths of CombinedOligo"),
    "lengths in between": (another_kernel("CombinedOligo", lengths=[1.5], alphabet="ACGT"), "lengths of CombinedOligo"),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", DAMAGES)
def test_one_sentence_about_a_hostile_file(name: str, intact: Members, tmp_path: Path) -> None:
    damage, expected = DAMAGES[name]
    members = dict(intact)
    damage(members)
    path = tmp_path / "model.wm"
    path.write_bytes(archive_of(members))
    with pytest.raises(ModelFileError, match=expected) as raised:
        load_model(path)
    assert "\n" not in str(raised.value)


def test_files_with_other_bytes_in_some_places(intact: Members, tmp_path: Path) -> None:
    """Whatever is changed: the file is refused in a sentence, or holds a model that predicts or refuses sequences."""
    generator, path = np.random.default_rng(0), tmp_path / "model.wm"
    of_files, of_sequences = [], []
    for _ in range(200):
        members = dict(intact)
        name = str(generator.choice(sorted(members)))
        content = bytearray(members[name])
        for place in generator.integers(0, len(content), 3):
            content[place] = generator.integers(0, 256)
        members[name] = bytes(content)
        path.write_bytes(archive_of(members))
        try:
            model = load_model(path)
        except ModelFileError as problem:
            of_files.append(str(problem))
            continue
        with np.errstate(all="ignore"):
            try:
                model.predict(X)
            except ValueError as problem:
                of_sequences.append(str(problem))
    assert 50 < len(of_files) < 200
    assert not any("\n" in sentence for sentence in of_files)
    assert all("k(x, x) = 0" in sentence or "finite" in sentence for sentence in of_sequences)


def test_a_kernel_of_sequences_for_vectors(tmp_path: Path) -> None:
    path = tmp_path / "model.wm"
    save_model(SVC(kernel=Linear()).fit([[0.0], [1.0]], [0, 1]), path)
    members = opened(path.read_bytes())
    another_kernel("Oligo", alphabet="ACGT")(members)
    path.write_bytes(archive_of(members))
    with pytest.raises(ModelFileError, match="the kernel cannot be used with 1 features"):
        load_model(path)


def test_sequences_for_a_model_of_vectors(tmp_path: Path) -> None:
    path = tmp_path / "model.wm"
    save_model(SVC(kernel=Linear()).fit([[0.0], [1.0]], [0, 1]), path)
    members = opened(path.read_bytes())
    set_step("vectors", "sequences")(members)
    path.write_bytes(archive_of(members))
    with pytest.raises(ModelFileError, match="shape_fit of step 0"):
        load_model(path)
