"""The letters that sequences are written in: which of them count, and which oligomers they make."""

from __future__ import annotations

from collections.abc import Iterable
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

DNA, RNA = "ACGT", "ACGU"

#: The twenty amino acids.
PROTEIN = "ACDEFGHIKLMNPQRSTVWY"

#: What is written where a letter is not known, or missing.
NO_LETTERS = frozenset("NX-.*")

#: What else is written where a nucleotide belongs: ambiguity codes, gaps; and the same for amino acids.
OTHER_NUCLEOTIDES = frozenset("NRYSWKMBDHVX-.*")
OTHER_AMINO_ACIDS = frozenset("BJOUXZ*-.")

#: Share of nucleotides among the letters that stand for one or a choice of two or three, from which on it is DNA.
MOSTLY = 0.9

#: Different amino acids from which on it is a protein, and their share among the letters that stand for one or several.
ENOUGH_AMINO_ACIDS, NEARLY_ALL = 15, 0.95

#: Code of a letter that is not in the alphabet.
UNKNOWN = -1

#: Codes of oligomers, their numbers among all of their length in alphabetical order, have 64 bits.
MOST_OLIGOMERS = 2**62

_COMPLEMENTS = str.maketrans("ACGTacgt", "TGCAtgca")
_COMPLEMENTS_OF_RNA = str.maketrans("ACGUTacgut", "UGCAAugcaa")

#: Places of letters in an alphabet, a row for each oligomer.
Digits = NDArray[np.int64]


def folded(letter: str) -> str:
    """Return the upper case of a letter if that is one letter, else the letter.

    Examples
    --------
    >>> folded("a"), folded("|"), folded("ß")
    ('A', '|', 'ß')
    """
    upper = letter.upper()
    return upper if len(upper) == 1 else letter


def nucleic_alphabet(counts: dict[str, int]) -> str | None:
    """Return the alphabet of letters that occur so often if they are nucleotides, else None.

    Examples
    --------
    >>> nucleic_alphabet({"A": 5, "g": 3, "N": 20}), nucleic_alphabet({"A": 5, "L": 1})
    ('ACGT', None)
    """
    upper = _in_upper_case(counts)
    nucleotides = sum(upper.get(letter, 0) for letter in "ACGTU")
    coded = sum(n for letter, n in upper.items() if letter not in "ACGTU" and letter not in NO_LETTERS)
    only = all(letter in "ACGTU" or letter in OTHER_NUCLEOTIDES for letter in upper)
    if not (only and nucleotides and nucleotides >= MOSTLY * (nucleotides + coded)):
        return None
    return RNA if "U" in upper and "T" not in upper else DNA


def alphabet_of(counts: dict[str, int], fold_case: bool = True) -> str:
    r"""Tell the alphabet from the letters that occur, and how often.

    Nucleotides are recognised: where nine of ten letters are A, C, G, T or U, and all others are codes for several
    nucleotides, or gaps, it is "ACGT" ("ACGU" if there is U and no T). So are proteins: at least 15 of the twenty amino
    acids occur, and few letters else that stand for others. Blanks and ends of lines do not matter for that. Otherwise
    every letter that occurs belongs to it, blanks too.

    Case does not matter, and alphabets have upper-case letters, unless `fold_case` is false: they then hold letters in
    the cases that occur.

    Raises
    ------
    ValueError
        If nothing occurs but what stands for letters that are not known, such as N.

    Examples
    --------
    >>> alphabet_of({"A": 5, "g": 3, "N": 20}), alphabet_of({"A": 1, "U": 1}), alphabet_of({"b": 1, "a": 1, "A": 1})
    ('ACGT', 'ACGU', 'AB')
    >>> alphabet_of({"A": 5, "G": 3, "\n": 2}), alphabet_of({"b": 1, " ": 1}), alphabet_of({"b": 1, "B": 1}, False)
    ('ACGT', ' B', 'Bb')
    """
    upper = _in_upper_case(counts)
    known = nucleic_alphabet(counts) or (PROTEIN if _are_amino_acids(upper) else None)
    if known is not None:
        if fold_case:
            return known
        present = [known if letter.isupper() else known.lower() for letter in counts if folded(letter) in known]
        return "".join(dict.fromkeys(sorted(present)))
    if upper and NO_LETTERS.issuperset(upper):
        raise ValueError(
            f"X holds nothing but {', '.join(map(repr, sorted(letter for letter in counts if not letter.isspace())))}, "
            "written where letters are not known, from which no alphabet can be told; pass the kernel one, such as "
            "alphabet='ACGT'."
        )
    return "".join(sorted({folded(letter) for letter in counts} if fold_case else counts))


def _in_upper_case(counts: dict[str, int]) -> dict[str, int]:
    """Count upper-case letters, without blanks."""
    upper: dict[str, int] = {}
    for letter, n in counts.items():
        if not letter.isspace():
            upper[folded(letter)] = upper.get(folded(letter), 0) + n
    return upper


def _are_amino_acids(upper: dict[str, int]) -> bool:
    # B, O and U are rare in proteins and frequent in words of a language.
    amino_acids = sum(upper.get(letter, 0) for letter in PROTEIN)
    coded = sum(n for letter, n in upper.items() if letter not in PROTEIN and letter not in NO_LETTERS)
    only = all(letter in PROTEIN or letter in OTHER_AMINO_ACIDS for letter in upper)
    enough = sum(letter in upper for letter in PROTEIN) >= ENOUGH_AMINO_ACIDS
    return only and enough and amino_acids >= NEARLY_ALL * (amino_acids + coded)


def require_alphabet(kernel: str, alphabet: Any) -> None:
    """Refuse what is no alphabet: one string, of different letters."""
    if not isinstance(alphabet, str) or not alphabet or len(set(alphabet)) < len(alphabet):
        raise ValueError(
            f"alphabet of {kernel} is {alphabet!r}; it must be a string of different letters, such as 'ACGT', or None."
        )


def require_complements(kernel: str, alphabet: str, why: str = "reverse_complement is True") -> None:
    """Refuse an alphabet whose letters have no complement."""
    if set(alphabet) not in (set(DNA), set(RNA)):
        raise ValueError(f"{why} in {kernel}, but alphabet is {alphabet!r}; only 'ACGT' and 'ACGU' have complements.")


def turned(text: str) -> str:
    """Return the reverse complement of DNA or RNA; letters that are neither stay what they are.

    Examples
    --------
    >>> turned("AACGn"), turned("AACGU")
    ('nCGTT', 'ACGUU')
    """
    return text[::-1].translate(_COMPLEMENTS_OF_RNA if "U" in text or "u" in text else _COMPLEMENTS)


def require_countable(kernel: str, name: str, k: int, alphabet: str) -> None:
    """Refuse oligomers that are too many to be numbered."""
    # Of a k out of a file the power itself may not fit into memory.
    if k * log2(max(2, len(alphabet))) > log2(MOST_OLIGOMERS):
        raise ValueError(
            f"{name} of {kernel} is {k}, with {len(alphabet)} letters; there must be at most 2**62 different oligomers."
        )


def codes_of_letters(letters: NDArray[np.uint32], alphabet: str, fold_case: bool = True) -> NDArray[np.int16]:
    """Return the place of each letter, given by its code point, in the alphabet, or -1.

    With `fold_case`, a letter that is not in the alphabet counts as its other case if that is. T and U stand for each
    other where only one of them is there.

    Examples
    --------
    >>> letters = np.array([ord(one) for one in "AcUN"], dtype=np.uint32)
    >>> codes_of_letters(letters, "ACGT").tolist(), codes_of_letters(letters, "ACGT", fold_case=False).tolist()
    ([0, 1, 3, -1], [0, -1, 3, -1])
    """
    places = {letter: place for place, letter in enumerate(alphabet)}
    if set(alphabet) in (set(DNA), set(RNA)):
        places |= {letter: places.get("T", places.get("U", 0)) for letter in "TU"}
    known = np.flatnonzero(np.bincount(letters))
    table = np.full(known.max(initial=0) + 1, UNKNOWN, dtype=np.int16)
    table[known] = [_place_of(one, places, fold_case) for one in map(chr, known)]
    return np.asarray(table[letters])


def _place_of(letter: str, places: dict[str, int], fold_case: bool) -> int:
    for one in (letter, letter.upper(), letter.lower()) if fold_case else (letter,):
        if one in places:
            return places[one]
    return UNKNOWN


def in_alphabet(text: str, alphabet: str, fold_case: bool = True) -> str:
    """Write a text in the letters of an alphabet that its own stand for; those of no such letter stay.

    Examples
    --------
    >>> in_alphabet("aUgN", "ACGT")
    'ATGN'
    """
    codes = codes_of_letters(np.array([ord(letter) for letter in text], dtype=np.uint32), alphabet, fold_case)
    return "".join(alphabet[code] if code >= 0 else letter for letter, code in zip(text, codes, strict=True))


def letters_outside(letters: Iterable[str], alphabet: str, fold_case: bool = True) -> set[str]:
    """Return the letters that are not in an alphabet, and no codes for several nucleotides or amino acids, or gaps.

    Examples
    --------
    >>> sorted(letters_outside("AcUN-Z ", "ACGT")), sorted(letters_outside("abN", "a"))
    (['Z'], ['N', 'b'])
    """
    given = sorted(set(letters))
    codes = codes_of_letters(np.array([ord(letter) for letter in given], dtype=np.uint32), alphabet, fold_case)
    usual: frozenset[str] = frozenset()
    if set(alphabet.upper()) in (set(DNA), set(RNA)):
        usual = OTHER_NUCLEOTIDES
    elif set(alphabet.upper()) == set(PROTEIN):
        usual = OTHER_AMINO_ACIDS
    unknown = {letter for letter, code in zip(given, codes, strict=True) if code == UNKNOWN}
    return {letter for letter in unknown if not usual or not (letter.isspace() or letter.upper() in usual)}


def digits_of(codes: NDArray[Any], k: int, base: int) -> Digits:
    """Write the codes of oligomers as the places of their letters in an alphabet of so many, a row for each.

    Examples
    --------
    >>> digits_of(np.array([6]), 3, 4).tolist()
    [[0, 1, 2]]
    """
    left, found = codes.astype(np.int64), np.empty((len(codes), k), dtype=np.int64)
    for place in reversed(range(k)):
        left, found[:, place] = np.divmod(left, base)
    return found


def codes_of(digits: Digits, base: int) -> NDArray[np.int64]:
    """Undo :func:`digits_of`."""
    found = np.zeros(len(digits), dtype=np.int64)
    for place in range(digits.shape[1]):
        found = found * base + digits[:, place]
    return found


def complements(digits: Digits, alphabet: str) -> Digits:
    """Return the reverse complements of oligomers.

    Examples
    --------
    >>> complements(np.array([[0, 0, 1]]), "ACGT").tolist()  # of AAC: GTT
    [[2, 3, 3]]
    """
    return np.asarray(np.array(partners_of(alphabet))[digits[:, ::-1]], dtype=np.int64)


def written(codes: NDArray[Any], alphabet: str, k: int) -> list[str]:
    """Write the oligomers of some codes.

    Examples
    --------
    >>> written(np.array([6, 0]), "ACGT", 3)
    ['ACG', 'AAA']
    """
    return ["".join(letters) for letters in np.array(list(alphabet))[digits_of(codes, k, len(alphabet))]]


def all_codes(alphabet: str, k: int, reverse_complement: bool = False) -> NDArray[np.int64]:
    """Return the codes of all oligomers of k letters, in order; of two that are complements, the first.

    Examples
    --------
    >>> written(all_codes("ACGT", 2), "ACGT", 2)[:5], all_codes("ACGT", 1, reverse_complement=True).tolist()
    (['AA', 'AC', 'AG', 'AT', 'CA'], [0, 1])
    """
    codes = np.arange(len(alphabet) ** k)
    if not reverse_complement:
        return codes
    return codes[codes <= codes_of(complements(digits_of(codes, k, len(alphabet)), alphabet), len(alphabet))]


def partners_of(alphabet: str) -> list[int]:
    """Return the place of the complement of each nucleotide.

    Examples
    --------
    >>> partners_of("ACGU")
    [3, 2, 1, 0]
    """
    pairs = {"A": "T", "C": "G", "G": "C", "T": "A"} if "T" in alphabet else {"A": "U", "C": "G", "G": "C", "U": "A"}
    return [alphabet.index(pairs[letter]) for letter in alphabet]
