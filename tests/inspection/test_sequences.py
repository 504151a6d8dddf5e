"""Weights of oligomers, contributions and substitutions, against the decision values of the models themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from widemargin import SVC, SVDD, SVR, GridSearchCV, NuSVC, NuSVR, OneClassSVM, compress
from widemargin.datasets import load_npz
from widemargin.inspection import oligomer_weights
from widemargin.kernels import CombinedOligo, Oligo, Spectrum, TripletOligo, WeightedOligo
from widemargin.kernels.sequences.alphabet import PROTEIN

RNG = np.random.default_rng(0)


def texts_of(n: int, length: int, letters: str = "ACGT") -> list[str]:
    return ["".join(RNG.choice(list(letters), length)) for _ in range(n)]


X = [one + other for one, other in zip(texts_of(60, 12), texts_of(60, 6, "ACGTN"), strict=True)]
Y = np.array([one.count("G") + one.count("GA") for one in X])
LABELS = np.where(np.median(Y) < Y, "many", "few")
THREE = np.array(["a", "b", "c"])[np.digitize(Y, np.quantile(Y, [0.34, 0.67]))]
WEIGHTS = {"GAA": 5.0, "TTT": 0.0, "ACG": 0.2}
KERNELS = [
    Oligo(1, 0.5),
    Oligo(3, 1.2),
    Oligo(2, 2.0, normalize=False),
    Oligo(3, 1.2, reverse_complement=True),
    Oligo(3, 1.2, origin=5),
    Oligo(2, 1.2, origin=-1),
    CombinedOligo(1.5),
    CombinedOligo([0.5, 2.0], lengths=(2, 10)),
    WeightedOligo([0.5, 2.0, 3.0], [1.0, 0.0, 2.0], (1, 2, 3)),
    TripletOligo(1.2, WEIGHTS),
    TripletOligo(1.2, {"GC": 3.0}, k=2, reverse_complement=True, alphabet="ACGT"),
    Spectrum(2),
    Spectrum(3, normalize=False),
    0.5 * Oligo(2, 1.0, normalize=False) + CombinedOligo(1.0, (1, 3)),
    Oligo(2, 1.0, origin=3) + Spectrum(2),
]


def changed(text: str, letters: str) -> list[list[str]]:
    return [[text[:j] + letter + text[j + 1 :] for letter in letters] for j in range(len(text))]


def check_explained(model: Any, sequence: str, values: Any, marker: str = "", **function: Any) -> None:
    """Contributions sum to the decision value, substitutions are what changed strings have."""
    weights = oligomer_weights(model, **function)
    found = weights.contributions(sequence)
    value = float(values([sequence])[0])
    size = 1.0 + abs(value) + np.abs(found.values).sum()
    assert found.values.sum() + found.intercept == pytest.approx(value, abs=1e-12 * size)
    assert found.decision_value == pytest.approx(value, abs=1e-12 * size)
    assert sum(part.sum() for part in found.of_oligomers) == pytest.approx(found.values.sum(), abs=1e-12 * size)
    assert len(found.values) == len(found.sequence) == len(found.positions)
    substitutions = weights.substitutions(sequence)
    others = [one for row in changed(found.sequence, substitutions.letters) for one in row]
    if marker:
        at = sequence.index(marker)
        others = [one[:at] + marker + one[at:] for one in others]
    expected = np.asarray(values(others)).reshape(substitutions.changes.shape) - value
    np.testing.assert_allclose(substitutions.changes, expected, rtol=1e-9, atol=1e-10 * size)
    assert substitutions.decision_value == found.decision_value
    assert (substitutions.changes[expected == 0.0] == 0.0).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_classifiers(kernel: Any) -> None:
    model = SVC(kernel=kernel, C=2.0).fit(X, LABELS)
    for sequence in (X[0], X[7], "NNACGATTGATCCTA", "gacgatgctaaaNNNaacccA", "ACGTACGTACGTACGTACGTACGTT"):
        check_explained(model, sequence, model.decision_function)


@pytest.mark.parametrize("kernel", [Oligo(2, 1.2), CombinedOligo(2.0, (1, 2)), Spectrum(2)], ids=repr)
def test_other_models(kernel: Any) -> None:
    for model, y in (
        (SVR(kernel=kernel, C=3.0), Y),
        (NuSVR(kernel=kernel), Y),
        (NuSVC(kernel=kernel, nu=0.3), LABELS),
        (OneClassSVM(kernel=kernel, nu=0.2), None),
        (SVC(kernel=kernel, fit_intercept=False), LABELS),
        (SVC(kernel=kernel, loss="squared_hinge"), LABELS),
    ):
        fitted = model.fit(X, y)
        values = fitted.predict if isinstance(fitted, SVR | NuSVR) else fitted.decision_function
        check_explained(fitted, X[3], values)


def test_one_class_models_with_another_offset() -> None:
    model = OneClassSVM(kernel=Oligo(2), target_rejection=0.1).fit(X)
    check_explained(model, X[3], model.decision_function)


def test_each_pair_of_classes() -> None:
    model = SVC(kernel=Oligo(2), decision_function_shape="ovo").fit(X, THREE)
    for number, (first, second) in enumerate((("a", "b"), ("a", "c"), ("b", "c"))):

        def one(texts: list[str], number: int = number) -> Any:
            return model.decision_function(texts)[:, number]

        check_explained(model, X[1], one, function=(first, second))
        check_explained(model, X[1], lambda texts, one=one: -one(texts), function=(second, first))
        assert oligomer_weights(model, function=(first, second)).toward == f"class {first}"
    with pytest.raises(
        ValueError, match=r"function is None; it must be a pair of two of the classes \['a', 'b', 'c'\]"
    ):
        oligomer_weights(model)
    for wrong in ("a", ("a", "a"), ("a", "d"), 1, ("a", "b", "c")):
        with pytest.raises(ValueError, match="it must be a pair of two of the classes"):
            oligomer_weights(model, function=wrong)


def test_two_classes_either_way() -> None:
    model = SVC(kernel=Oligo(2)).fit(X, LABELS)
    assert oligomer_weights(model).toward == "class many"
    check_explained(model, X[1], model.decision_function, function=("many", "few"))
    check_explained(model, X[1], lambda texts: -model.decision_function(texts), function=("few", "many"))


def test_each_class_against_all_others() -> None:
    model = SVC(kernel=Oligo(2), multi_class="ovr", decision="argmax").fit(X, THREE)
    for number, label in enumerate("abc"):
        check_explained(model, X[1], lambda texts, n=number: model.decision_function(texts)[:, n], function=label)
    with pytest.raises(ValueError, match="with multi_class='ovr' it must be one of the classes"):
        oligomer_weights(model)


def test_compressed_models() -> None:
    model = compress(SVC(kernel=Oligo(2), decision_function_shape="ovo").fit(X, THREE), n_vectors=8)
    assert len(model.support_) == 8
    check_explained(model, X[1], lambda texts: model.decision_function(texts)[:, 1], function=("a", "c"))


def test_markers_of_origins() -> None:
    marked = [one[: 3 + i % 5] + "|" + one[3 + i % 5 :] for i, one in enumerate(X)]
    model = SVC(kernel=Oligo(2, 1.0, origin="|")).fit(marked, LABELS)
    check_explained(model, marked[2], model.decision_function, marker="|")
    found = oligomer_weights(model).contributions(marked[2])
    assert "|" not in found.sequence
    assert found.positions[0] == -5


def test_proteins_with_more_oligomers_than_fit_a_table() -> None:
    proteins = texts_of(30, 20, PROTEIN)
    model = SVC(kernel=Oligo(6, 1.0)).fit(proteins, LABELS[:30])
    check_explained(model, proteins[0], model.decision_function)
    assert all(len(one) == 6 for one in oligomer_weights(model).tables[0].oligomers)


def test_what_the_kernel_refuses_is_not_a_number() -> None:
    model = SVC(kernel=TripletOligo(1.0, {"TTT": 0.0})).fit(["ACGA", "ACGT", "CCGA", "TCGT"], [0, 1, 0, 1])
    changes = oligomer_weights(model).substitutions("TTA").changes
    assert np.isnan(changes[2, 3])  # TTT
    assert np.isfinite(np.delete(changes.ravel(), 11)).all()
    with pytest.raises(ValueError, match=r"k\(x, x\) = 0"):
        model.decision_function(["TTT"])


@given(st.text("ACGTN", min_size=3, max_size=40).filter(lambda text: any(len(part) > 2 for part in text.split("N"))))
def test_any_sequence(text: str) -> None:
    model = MODELS.setdefault("one", SVC(kernel=TripletOligo(1.2, WEIGHTS)).fit(X, LABELS))
    weights = oligomer_weights(model)
    try:
        value = model.decision_function([text])[0]
    except ValueError:
        return
    assert weights.contributions(text).decision_value == pytest.approx(value, abs=1e-9)
    changes = weights.substitutions(text).changes
    for j, row in enumerate(changed(text, "ACGT")):
        for c, other in enumerate(row):
            if np.isnan(changes[j, c]):
                with pytest.raises(ValueError, match="k\\(x, x\\) = 0"):
                    model.decision_function([other])
            else:
                assert value + changes[j, c] == pytest.approx(model.decision_function([other])[0], abs=1e-9)


MODELS: dict[str, Any] = {}


def test_the_heaviest_cells() -> None:
    weights = oligomer_weights(SVC(kernel=CombinedOligo(1.0, (2, 3))).fit(X, LABELS))
    two, three = weights.tables
    assert (two.k, three.k) == (2, 3)
    top = weights.heaviest(7)
    assert [cell.weight for cell in top] == sorted((cell.weight for cell in top), reverse=True)
    assert top[0].weight == max(two.weights.max(), three.weights.max())
    low = two.lightest(2)
    assert low[0].weight == two.weights.min() <= low[1].weight
    row, column = two.oligomers.index(low[0].oligomer), two.positions.tolist().index(low[0].position)
    assert two.weights[row, column] == low[0].weight


def test_what_is_no_model_of_sequences() -> None:
    search = GridSearchCV(SVC(kernel=Oligo(2)), {"C": [1.0, 2.0]}, cv=2).fit(X, LABELS)
    with pytest.raises(TypeError, match=r"GridSearchCV; a fitted SVC, .* is needed; pass its best_estimator_"):
        oligomer_weights(search)
    with pytest.raises(TypeError, match="model is of type SVDD"):
        oligomer_weights(SVDD(kernel=Oligo(2)).fit(X))
    with pytest.raises(NotFittedError):
        oligomer_weights(SVC(kernel=Oligo(2)))
    with pytest.raises(ValueError, match="the kernel 'rbf' has no weights"):
        oligomer_weights(SVC().fit([[0.0], [1.0]], [0, 1]))
    model = SVC(kernel=Oligo(2)).fit(X, LABELS)
    with pytest.raises(TypeError, match="sequence is of type list; it must be one string"):
        oligomer_weights(model).contributions(["ACGT"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"k\(x, x\) = 0"):
        oligomer_weights(model).contributions("N")
    with pytest.raises(ValueError, match="function is 'a', but OneClassSVM has one decision function"):
        oligomer_weights(OneClassSVM(kernel=Oligo(2)).fit(X), function="a")
    both = SVC(kernel=Oligo(2, origin=1) + Oligo(2, origin=2)).fit(X, LABELS)
    with pytest.raises(ValueError, match="the kernels of the sum differ in origin: 1 and 2"):
        oligomer_weights(both)


@pytest.mark.parametrize("kernel", [Oligo(3, 1.2, origin=32), TripletOligo(1.2, origin=32)], ids=["3-mers", "triplets"])
def test_the_shine_dalgarno_sequence_of_escherichia_coli(kernel: Any, data_folder: Path) -> None:
    """Ribosomes bind to AGGAGG, some ten letters before the codon at which they start [Shine1974]."""
    _, y, extra = load_npz("ecoli_tis_verified", data_folder)
    model = SVC(kernel=kernel, C=1.0).fit(extra["seq"], y)
    for cell in oligomer_weights(model).heaviest(5):
        assert cell.oligomer in ("AGG", "GGA", "GAG")
        assert -13 <= cell.position <= -8
