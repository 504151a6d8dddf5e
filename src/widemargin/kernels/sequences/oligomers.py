"""Oligomers of sequences: their codes, letter after letter, and the position of each from an origin."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from widemargin import _core
from widemargin.kernels.rows import shown
from widemargin.kernels.sequences.alphabet import codes_of_letters, partners_of
from widemargin.kernels.sequences.texts import Sequences, Texts

#: Where positions count from: a letter, from the front or (below 0) from the end, or the letter behind a marker.
Origin = int | str

#: Codes that are looked up in a table instead of being sorted.
SMALL = 2**16


@dataclass(frozen=True)
class Reading:
    """How sequences are read: oligomers of k letters of an alphabet, positions from an origin."""

    alphabet: str
    k: int
    reverse_complement: bool = False
    origin: Origin = 0
    fold_case: bool = True

    @property
    def n_possible(self) -> int:
        """How many codes there can be."""
        return int(len(self.alphabet) ** self.k)


@dataclass(frozen=True)
class Letters:
    """All letters of some sequences in a row: their places in the alphabet, where sequences begin, their origins."""

    codes: NDArray[np.int16]
    begins: NDArray[np.int64]
    origins: NDArray[np.int64]


@dataclass(frozen=True)
class Oligomers:
    """Oligomers at every letter of every sequence, in a row, sequence after sequence.

    `codes` says which one begins there, by its number in `known`; -1 where an unknown letter is in it. Without `known`
    the number is that of the oligomer among all of its length. `begins` has where each sequence begins, and the end;
    the oligomers of sequence i lie at positions 0, 1, ... less ``origins[i]``.
    """

    codes: NDArray[np.int32]
    begins: NDArray[np.int64]
    origins: NDArray[np.int64]
    n_codes: int
    known: NDArray[np.int64] | None

    @cached_property
    def core(self) -> _core.Oligomers:
        """The same in the core."""
        return _core.Oligomers(self.codes, self.begins, self.origins, self.n_codes)


def letters_of(texts: Texts, alphabet: str, origin: Origin, fold_case: bool = True) -> Letters:
    """Read the letters of some texts; markers of origins are left out."""
    key = "letters", alphabet, origin, fold_case
    return texts.made(key, lambda: _letters_of(texts, alphabet, origin, fold_case))


def _letters_of(texts: Texts, alphabet: str, origin: Origin, fold_case: bool) -> Letters:
    found = [located(text, origin, place) for place, text in enumerate(texts.texts)]
    lengths = np.fromiter((len(text) for text, _ in found), dtype=np.int64, count=len(found))
    origins = np.fromiter((zero for _, zero in found), dtype=np.int64, count=len(found))
    points = np.frombuffer("".join(text for text, _ in found).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    return Letters(codes_of_letters(points, alphabet, fold_case), _begins(lengths), origins)


def located(text: str, origin: Origin, place: int = 0) -> tuple[str, int]:
    """Return a sequence without the marker of its origin, and the place of the letter that positions count from.

    Examples
    --------
    >>> located("AC|GT", "|"), located("ACGT", 1), located("ACGT", -1)
    (('ACGT', 2), ('ACGT', 1), ('ACGT', 3))
    """
    if not isinstance(origin, str):
        return text, origin if origin >= 0 else len(text) + origin
    at = text.find(origin)
    if at < 0 or text.find(origin, at + 1) >= 0:
        times = "never" if at < 0 else "more than once"
        raise ValueError(
            f"sequence {place} of X, {shown(text)}, holds origin={origin!r} {times}; it must hold it once, before the "
            "letter that positions count from."
        )
    return text[:at] + text[at + len(origin) :], at


def _begins(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])


def oligomers_in(texts: Texts, reading: Reading) -> Oligomers:
    """Read the oligomers of some texts, or return what was read before."""
    return texts.made(("oligomers", reading), lambda: _oligomers_in(texts, reading))


def _oligomers_in(texts: Texts, reading: Reading) -> Oligomers:
    letters = letters_of(texts, reading.alphabet, reading.origin, reading.fold_case)
    k, codes = reading.k, _codes(letters.codes, reading)
    lengths = np.maximum(np.diff(letters.begins) - (k - 1), 0)
    begins = _begins(lengths)
    # What begins in the last k - 1 letters of a sequence ends in the next one.
    shift = np.repeat(letters.begins[:-1] - begins[:-1], lengths)
    codes = codes[np.arange(begins[-1]) + shift] if codes.size else np.empty(0, dtype=np.int64)
    if reading.n_possible <= SMALL:
        return Oligomers(codes.astype(np.int32), begins, letters.origins, reading.n_possible, None)
    known, which = np.unique(codes, return_inverse=True)
    which = which.reshape(-1)
    if known.size and known[0] < 0:
        known, which = known[1:], which - 1
    return Oligomers(which.astype(np.int32), begins, letters.origins, len(known), known)


def _codes(letters: NDArray[np.int16], reading: Reading) -> NDArray[np.int64]:
    """Return the number of the oligomer that begins at each letter, -1 where it holds an unknown letter."""
    k, base, n = reading.k, len(reading.alphabet), len(letters) - reading.k + 1
    if n <= 0:
        return np.empty(0, dtype=np.int64)
    codes, unknown = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    for j in range(k):
        codes *= base
        codes += letters[j : j + n]
        unknown |= letters[j : j + n] < 0
    if reading.reverse_complement:
        partner = np.array(partners_of(reading.alphabet))[letters]
        other = np.zeros(n, dtype=np.int64)
        for j in reversed(range(k)):
            other *= base
            other += partner[j : j + n]
        codes = np.minimum(codes, other)
    codes[unknown] = -1
    return codes


def read_alike(left: Sequences, right: Sequences, reading: Reading) -> tuple[Oligomers, Oligomers]:
    """Read the oligomers of two sets of sequences, so that the same ones have the same codes.

    Oligomers that occur on the right only are none on either side.
    """
    one, other = oligomers_in(left.whole, reading), oligomers_in(right.whole, reading)
    if one.known is None or left.whole is right.whole:
        return one, other
    return one, right.whole.made(("translated", reading, id(one.known)), lambda: _translated(other, one))


def _translated(other: Oligomers, one: Oligomers) -> Oligomers:
    assert one.known is not None
    assert other.known is not None
    places = np.searchsorted(one.known, other.known)
    inside = np.minimum(places, max(one.n_codes - 1, 0))
    same = one.known[inside] == other.known if one.n_codes else np.zeros(other.n_codes, dtype=np.bool_)
    table = np.append(np.where(same, inside, -1), -1).astype(np.int32)  # the last one for those of code -1
    # What is known on the left is kept with it, so that its address stays its own.
    return Oligomers(table[other.codes], other.begins, other.origins, one.n_codes, one.known)
