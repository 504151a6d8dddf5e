"""Which alphabet letters speak for, and which place of it each letter has."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from widemargin import SVC
from widemargin.kernels import Oligo
from widemargin.kernels.sequences.alphabet import (
    PROTEIN,
    all_codes,
    alphabet_of,
    codes_of,
    codes_of_letters,
    digits_of,
    letters_outside,
    written,
)


@pytest.mark.parametrize(
    ("text", "alphabet"),
    [
        ("ACGT", "ACGT"),
        ("acgtNNNNNNNNNNNNNN", "ACGT"),
        ("ACGTACGTACGTACGTACGTR-", "ACGT"),
        ("GGAACU", "ACGU"),
        ("ACGUT", "ACGT"),
        ("banana", "ABN"),
        ("ABAB", "AB"),
        (PROTEIN + "XX*", PROTEIN),
        ("01100", "01"),
        ("RYRRY", "RY"),
    ],
)
def test_alphabets(text: str, alphabet: str) -> None:
    assert alphabet_of(Counter(text)) == alphabet


@pytest.mark.parametrize("text", ["NNN", "nnN", "X", "N-N-. "])
def test_letters_that_are_not_known_are_no_alphabet(text: str) -> None:
    with pytest.raises(ValueError, match=r"X holds nothing but '.*', written where .*; pass the kernel one, such as"):
        alphabet_of(Counter(text))
    with pytest.raises(ValueError, match="pass the kernel one, such as alphabet='ACGT'"):
        SVC(kernel=Oligo(1)).fit([text] * 4, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("letters", "alphabet", "outside"),
    [("acguN-", "ACGT", ""), ("ACGZ", "ACGT", "Z"), ("AX*", PROTEIN, ""), ("AN", "ABC", "N"), ("", "A", "")],
)
def test_letters_outside(letters: str, alphabet: str, outside: str) -> None:
    assert letters_outside(letters, alphabet) == set(outside)


def test_letters_that_stand_for_others() -> None:
    points = np.array([ord(one) for one in "aTuNé"], dtype=np.uint32)
    assert codes_of_letters(points, "ACGT").tolist() == [0, 3, 3, -1, -1]
    assert codes_of_letters(points, "ACGU").tolist() == [0, 3, 3, -1, -1]
    assert codes_of_letters(points, "aTé").tolist() == [0, 1, -1, -1, 2]  # no other one stands for u here


def test_complements_are_named_once() -> None:
    names = written(all_codes("ACGT", 3, reverse_complement=True), "ACGT", 3)
    assert len(names) == 32
    assert "CAT" not in names
    assert "ATG" in names


@pytest.mark.parametrize(("alphabet", "k"), [("ACGT", 5), ("01", 9), ("A", 3), (PROTEIN, 2)])
def test_codes_are_those_of_the_letters(alphabet: str, k: int) -> None:
    codes = all_codes(alphabet, k)
    names = written(codes, alphabet, k)
    assert names == ["".join(letters) for letters in product(alphabet, repeat=k)]
    assert codes_of(digits_of(codes, k, len(alphabet)), len(alphabet)).tolist() == codes.tolist()


def test_ends_of_lines_are_no_letters_of_dna() -> None:
    texts = ["ACGTTTGA\n", "GGATNCCA\n"]
    assert Oligo().fitted(texts).alphabet == "ACGT"
    assert Oligo(2).fitted(texts)(texts) == pytest.approx(Oligo(2).fitted(texts)([text.strip() for text in texts]))
    assert Oligo(1).fitted(["to be", "or not"]).alphabet == " BENORT"
