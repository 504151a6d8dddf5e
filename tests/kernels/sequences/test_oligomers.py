"""Codes of oligomers, their places, and two sets of sequences that are read alike."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.sequences import random_texts

from widemargin.kernels.sequences import Sequences
from widemargin.kernels.sequences.oligomers import Reading, letters_of, oligomers_in, read_alike
from widemargin.kernels.sequences.texts import Texts


def test_codes_and_beginnings() -> None:
    found = oligomers_in(Texts(["ACNGT", "", "A", "TT"]), Reading("ACGT", 2))
    assert found.codes.tolist() == [1, -1, -1, 11, 15]
    assert found.begins.tolist() == [0, 4, 4, 4, 5]


@pytest.mark.parametrize(("origin", "origins"), [(0, [0, 0]), (2, [2, 2]), (-1, [3, 1]), (-3, [1, -1])])
def test_origins(origin: int, origins: list[int]) -> None:
    assert letters_of(Texts(["ACGT", "AC"]), "ACGT", origin).origins.tolist() == origins


def test_a_marker_is_left_out() -> None:
    found = letters_of(Texts(["AC|GT", "|AC"]), "ACGT", "|")
    assert found.codes.tolist() == [0, 1, 2, 3, 0, 1]
    assert found.origins.tolist() == [2, 0]


@pytest.mark.parametrize(("text", "times"), [("ACGT", "never"), ("A|C|GT", "more than once")])
def test_a_marker_stands_once(text: str, times: str) -> None:
    with pytest.raises(ValueError, match=rf"sequence 1 of X, '.*', holds origin='\|' {times}"):
        letters_of(Texts(["|AC", text]), "ACGT", "|")


def test_complements_have_one_code() -> None:
    found = oligomers_in(Texts(["ATG", "CAT", "ATT"]), Reading("ACGT", 3, reverse_complement=True))
    assert found.codes[0] == found.codes[1] != found.codes[2]


def test_many_oligomers_are_numbered_as_they_occur() -> None:
    reading = Reading("ACGT", 12)
    left, right = Sequences(random_texts(4, "ACGT", 20, 30)), Sequences(random_texts(3, "ACGT", 20, 30, seed=1))
    both = Sequences([*right, left[0]])
    one, other = read_alike(left, both, reading)
    assert one.known is not None
    assert one.n_codes == len(np.unique(one.codes))
    assert (other.codes[: other.begins[3]] == -1).all()
    assert other.codes[other.begins[3] :].tolist() == one.codes[: one.begins[1]].tolist()
    assert read_alike(left, left[1:], reading) == (one, one)
