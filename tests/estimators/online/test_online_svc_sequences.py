"""OnlineSVC over streams of strings: the alphabet is that of the first batch, unless the kernel has one."""

from __future__ import annotations

import pickle
import warnings

import pytest

from widemargin import OnlineSVC
from widemargin.kernels import Oligo, Spectrum

FIRST, LATER, Y = ["abab", "bbaa", "aabb", "baba"], ["abcb", "bbda", "aaab", "baca"], [0, 1, 0, 1]


@pytest.mark.parametrize("kernel", [Oligo(1), 2.0 * Spectrum(1) + Oligo(1, alphabet="abcd")], ids=repr)
def test_letters_that_the_first_batch_lacks_are_named_once(kernel: object) -> None:
    model = OnlineSVC(kernel=kernel).partial_fit(FIRST, Y, classes=[0, 1])
    with pytest.warns(UserWarning, match=r"taken from the first batch: 'c', 'd'; .* \(alphabet=\.\.\.\)") as caught:
        model.partial_fit(LATER, Y)
    assert caught[0].filename == __file__
    model = pickle.loads(pickle.dumps(model)).partial_fit(LATER, Y)  # warnings are errors here
    with pytest.warns(UserWarning, match="first batch: 'e'; oligomers with them are skipped"):
        model.partial_fit(["abbe", "bcba", "a", "b"], Y)
    model.set_params(warm_start=True)
    with pytest.warns(UserWarning, match="first batch: 'f'"):
        model.fit(["abbf", "bcba", "a", "b"], Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(warm_start=False).fit(["abbf", "bcba", "a", "b"], Y)
    with pytest.warns(UserWarning, match="first batch: 'g'"):
        model.partial_fit(["abbg", "bcba", "a", "b"], Y)


def test_nothing_is_said_of_a_given_alphabet_and_of_codes_of_nucleotides() -> None:
    given = OnlineSVC(kernel=Oligo(1, alphabet="ab")).partial_fit(FIRST, Y, classes=[0, 1]).partial_fit(LATER, Y)
    assert given.n_seen_ == 8
    dna = OnlineSVC(kernel=Oligo(1)).partial_fit(["ACGT", "AAGG"], [0, 1], classes=[0, 1])
    assert dna.partial_fit(["ACNN", "uuRA"], [0, 1]).n_seen_ == 4


def test_a_first_batch_without_letters_leaves_the_model_as_it_was() -> None:
    model = OnlineSVC(kernel=Oligo(1))
    with pytest.raises(ValueError, match="pass the kernel one, such as alphabet='ACGT'"):
        model.partial_fit(["NNNN", "NNN"], [0, 1], classes=[0, 1])
    model.partial_fit(["ACGT", "AAGG"], [0, 1], classes=[0, 1])
    assert model.kernel_.alphabet == "ACGT"
    assert model.n_seen_ == 2
