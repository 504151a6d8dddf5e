"""OnlineSVC over streams of strings: the alphabet is that of the first samples, unless the kernel has one."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from widemargin import OnlineSVC, load_model, save_model
from widemargin.kernels import BothStrands, Gapped, Oligo, Spectrum

FIRST, LATER, Y = ["abab", "bbaa", "aabb", "baba"], ["abcb", "bbda", "aaab", "baca"], [0, 1, 0, 1]
MANY = 25  # times the first samples: enough for an alphabet


@pytest.mark.parametrize("kernel", [Oligo(1), 2.0 * Spectrum(1) + Oligo(1, alphabet="abcd")], ids=repr)
def test_letters_that_the_first_samples_lack_are_named_once(kernel: object) -> None:
    model = OnlineSVC(kernel=kernel).partial_fit(MANY * FIRST, MANY * Y, classes=[0, 1])
    with pytest.warns(UserWarning, match=r"taken from the first samples: 'c', 'd'; .* \(alphabet=\.\.\.\)") as caught:
        model.partial_fit(LATER, Y)
    assert caught[0].filename == __file__
    model = pickle.loads(pickle.dumps(model)).partial_fit(LATER, Y)  # warnings are errors here
    with pytest.warns(UserWarning, match="first samples: 'e'; oligomers with them are skipped"):
        model.partial_fit(["abbe", "bcba", "a", "b"], Y)
    model.set_params(warm_start=True)
    with pytest.warns(UserWarning, match="first samples: 'f'"):
        model.fit(["abbf", "bcba", "a", "b"], Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(warm_start=False).fit(["abbf", "bcba", "a", "b"], Y)
    with pytest.warns(UserWarning, match="first samples: 'g'"):
        model.partial_fit(["abbg", "bcba", "a", "b"], Y)


def test_letters_of_samples_to_predict_are_named_once_like_those_of_samples_to_learn_from() -> None:
    model = OnlineSVC(kernel=Oligo(1)).partial_fit(MANY * FIRST, MANY * Y, classes=[0, 1])
    with pytest.warns(UserWarning, match="first samples: 'c'; oligomers") as caught:
        found = model.predict(["abcb"])
    assert [one.filename for one in caught] == [__file__]
    assert model.predict(["abcb"]).tolist() == found.tolist()  # warnings are errors here
    model.partial_fit(["abcb"], [0])
    with pytest.warns(UserWarning, match="first samples: 'd'"):
        model.decision_function(["abcd"])
    pickle.loads(pickle.dumps(model)).predict(["abcd"])


def test_nothing_is_said_of_a_given_alphabet_and_of_codes_of_nucleotides() -> None:
    given = OnlineSVC(kernel=Oligo(1, alphabet="ab")).partial_fit(FIRST, Y, classes=[0, 1]).partial_fit(LATER, Y)
    assert given.n_seen_ == 8
    dna = OnlineSVC(kernel=Oligo(1)).partial_fit(["ACGT", "AAGG"], [0, 1], classes=[0, 1])
    assert dna.partial_fit(["ACNN", "uuRA"], [0, 1]).n_seen_ == 4


def test_letters_that_come_soon_belong_to_the_alphabet() -> None:
    model = OnlineSVC(kernel=Oligo(1))
    for text, y in zip([*FIRST, *LATER], 2 * Y, strict=True):
        model.partial_fit([text], [y], classes=[0, 1])
    assert model.kernel_.alphabet == "ABCD"
    assert model.n_seen_ == 8


def test_a_first_batch_without_letters_leaves_the_model_as_it_was() -> None:
    model = OnlineSVC(kernel=Oligo(1))
    with pytest.raises(ValueError, match="pass the kernel one, such as alphabet='ACGT'"):
        model.partial_fit(["NNNN", "NNN"], [0, 1], classes=[0, 1])
    model.partial_fit(["ACGT", "AAGG"], [0, 1], classes=[0, 1])
    assert model.kernel_.alphabet == "ACGT"
    assert model.n_seen_ == 2


def dna(n: int, seed: int = 0) -> list[str]:
    random = np.random.RandomState(seed)
    return ["".join(random.choice(list("ACGT"), random.randint(20, 40))) for _ in range(n)]


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(5),
        Spectrum(3, normalize=False),
        Spectrum(12, reverse_complement=True),
        Spectrum(4, mismatches=1),
        Gapped(4, 3),
        BothStrands(Oligo(2)),
        Spectrum(3) + Oligo(2),
    ],
    ids=repr,
)
def test_streams_of_sequences_predict_what_the_kernel_says_and_survive_pickles_and_files(
    kernel: Any, tmp_path: Path
) -> None:
    texts, new, y = dna(180), dna(30, seed=1), np.arange(180) % 3 % 2
    model = OnlineSVC(kernel=kernel).partial_fit(texts[:100], y[:100], classes=[0, 1])
    for i in range(100, 150):
        model.partial_fit(texts[i : i + 1], y[i : i + 1])
    save_model(model, tmp_path / "stream.wm")
    models = [model, pickle.loads(pickle.dumps(model)), load_model(tmp_path / "stream.wm")]
    for number, (text, label) in enumerate(zip(texts[150:], y[150:], strict=True)):
        for one in models:
            one.partial_fit([text], [label])
        if number % 10:
            continue
        found = model.decision_function(new)
        values = model.kernel_.values(list(model.support_vectors_), new)
        np.testing.assert_allclose(found, (model.dual_coef_ @ values + model.intercept_)[0], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose([model.decision_function([text])[0] for text in new], found, rtol=1e-10, atol=1e-10)
        for other in models[1:]:
            assert other.decision_function(new).tolist() == found.tolist()


@pytest.mark.parametrize("empty", ["", "NNNN", "A"])
def test_a_sequence_without_oligomers_is_refused_and_nothing_is_learnt(empty: str) -> None:
    texts, y = dna(120), np.arange(120) % 2
    model = OnlineSVC(kernel=Spectrum(3)).partial_fit(texts, y, classes=[0, 1])
    expected = model.decision_function(texts)
    for refused in (
        lambda: model.partial_fit([empty], [1]),
        lambda: model.partial_fit([texts[0], empty], [1, 0]),
        lambda: model.predict([empty]),
    ):
        with pytest.raises(ValueError, match=r"sequence [01] of X, .* has k\(x, x\) = 0"):
            refused()
    assert model.n_seen_ == 120
    assert model.decision_function(texts).tolist() == expected.tolist()
    plain = OnlineSVC(kernel=Spectrum(3, normalize=False)).partial_fit(texts, y, classes=[0, 1])
    assert plain.partial_fit([empty, texts[0]], [1, 0]).n_seen_ == 122
    assert plain.decision_function([empty])[0] == pytest.approx(plain.intercept_[0])
