"""OnlineSVC over streams of strings: the alphabet is that of the first samples, unless the kernel has one."""

from __future__ import annotations

import pickle
import warnings

import pytest

from widemargin import OnlineSVC
from widemargin.kernels import Oligo, Spectrum

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


def test_nothing_is_said_of_a_given_alphabet_and_of_codes_of_nucleotides() -> None:
    given = OnlineSVC(kernel=Oligo(1, alphabet="ab")).partial_fit(FIRST, Y, classes=[0, 1]).partial_fit(LATER, Y)
    assert given.n_seen_ == 8
    dna = OnlineSVC(kernel=Oligo(1)).partial_fit(["ACGT", "AAGG"], [0, 1], classes=[0, 1])
    assert dna.partial_fit(["ACNN", "uuRA"], [0, 1]).n_seen_ == 4


def test_letters_that_come_soon_belong_to_the_alphabet() -> None:
    model = OnlineSVC(kernel=Oligo(1))
    for text, y in zip([*FIRST, *LATER], 2 * Y, strict=True):
        model.partial_fit([text], [y], classes=[0, 1])
    assert model.kernel_.alphabet == "abcd"
    assert model.n_seen_ == 8


def test_a_first_batch_without_letters_leaves_the_model_as_it_was() -> None:
    model = OnlineSVC(kernel=Oligo(1))
    with pytest.raises(ValueError, match="pass the kernel one, such as alphabet='ACGT'"):
        model.partial_fit(["NNNN", "NNN"], [0, 1], classes=[0, 1])
    model.partial_fit(["ACGT", "AAGG"], [0, 1], classes=[0, 1])
    assert model.kernel_.alphabet == "ACGT"
    assert model.n_seen_ == 2
