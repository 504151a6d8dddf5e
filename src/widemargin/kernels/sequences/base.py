"""What kernels of sequences have in common: an alphabet, and sequences in any container."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any, ClassVar, Self

import numpy as np

from widemargin.kernels.base import Kernel, Vector, value_written
from widemargin.kernels.sequences.alphabet import (
    alphabet_of,
    letters_outside,
    nucleic_alphabet,
    require_alphabet,
    require_complements,
    require_countable,
)
from widemargin.kernels.sequences.oligomers import Origin, Reading
from widemargin.kernels.sequences.texts import Sequences
from widemargin.runtime.checks import is_whole

#: Positions are counted in 32 bits: half of them are for the origin, half for the letters of a sequence.
FARTHEST = 2**30


class SequenceKernel(Kernel):
    """A kernel of strings: what :meth:`fitted` does with an alphabet of None, and which containers are taken.

    Subclasses have the parameters `alphabet`, `reverse_complement`, `fold_case` and, if positions matter, `origin`.
    """

    requires_vector_input: ClassVar[bool] = False

    alphabet: Any
    reverse_complement: Any
    fold_case: Any
    origin: Any = 0

    def samples(self, X: Any) -> Sequences:
        """Return sequences as the other methods take them: read once, encoded once for each use."""
        return Sequences.of(X)

    def fitted(self, X: Any, *, gamma: float | None = None, weights: Vector | None = None) -> Self:
        """Return this kernel with an alphabet, that of the sequences `X` unless it has one.

        Parameters
        ----------
        X : list, tuple, array or column of strings
        gamma : float, optional
            Of no use to kernels of sequences.
        weights : ndarray of shape (n,), optional
            Likewise.

        Raises
        ------
        ValueError
            If a sequence has k(x, x) = 0 where values are divided by its root: it is too short, or holds unknown
            letters everywhere.
        """
        texts = self.samples(X)
        found = super().fitted(texts, gamma=gamma, weights=weights)
        found._require_measurable(texts)
        return found

    def _take_from_data(self, X: Any, gamma: float | None, weights: Vector | None) -> None:
        if self.alphabet is None:
            letters = self._letters(X)
            if not letters:
                raise ValueError("X holds no letters; sequences need some, or the kernel an alphabet.")
            self.alphabet = alphabet_of(letters, self.fold_case is not False)
            if nucleic_alphabet(letters) is None:
                self._warn_of_strangers(X)

    def _warn_of_strangers(self, X: Sequences) -> None:
        """Warn of the few sequences because of which others are not taken for DNA."""
        others = [place for place, text in enumerate(X) if nucleic_alphabet(self._letters(text)) is None]
        if 2 * len(others) >= len(X):
            return
        more = f", and so do {len(others) - 1} more" if len(others) > 1 else ""
        warnings.warn(
            f"{X.named(others[0])} holds letters that are no nucleotides{more}, unlike the other "
            f"{len(X) - len(others)}: the alphabet becomes {self.alphabet!r} for all of them. Leave it out, or pass "
            "alphabet='ACGT', with which oligomers with such letters are skipped.",
            stacklevel=2,
        )

    def _letters(self, X: Sequences | str) -> Counter[str]:
        """Count the letters, but for those of a marker."""
        letters = Counter(X) if isinstance(X, str) else X.letters()
        for letter in self._letters_of_marker():
            letters.pop(letter, None)
        return letters

    def _letters_of_marker(self) -> set[str]:
        return set(self.origin) if isinstance(self.origin, str) else set()

    def _require_measurable(self, X: Sequences) -> None:
        """Refuse sequences with k(x, x) = 0 where values are divided by its root."""

    def _emptied(self) -> Self:
        return type(self)(**self.get_params(deep=False))

    @property
    def leaves_to_data(self) -> bool:
        """Whether :meth:`fitted` takes the alphabet from the data."""
        return self.alphabet is None

    @property
    def kind_depends_on_data(self) -> bool:
        """Whether :attr:`kind` does."""
        return self.leaves_to_data

    def _require_given(self) -> None:
        if self.alphabet is None:
            raise ValueError(
                f"{self!r} has no alphabet yet; pass one, such as alphabet='ACGT', or call fitted(X) to take it from "
                "the data."
            )

    def _require_numbers(self) -> None:
        super()._require_numbers()
        name = type(self).__name__
        require_alphabet(name, self.alphabet)
        require_truth_value(name, "reverse_complement", self.reverse_complement)
        require_truth_value(name, "fold_case", self.fold_case)
        if self.reverse_complement:
            require_complements(name, self.alphabet)


def require_truth_value(kernel: str, name: str, value: Any) -> None:
    """Refuse a parameter that is not a truth value."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} of {kernel} is {value!r}; it must be True or False.")


def require_weights(kernel: str, given: Any, weights: Vector) -> None:
    """Refuse weights that are not numbers from 0 on, or all 0."""
    if not ((weights >= 0.0) & np.isfinite(weights)).all() or not weights.any():
        raise ValueError(
            f"weights of {kernel} must be finite and at least 0, and not all 0; got {value_written(given)[:200]}."
        )


def require_whole(kernel: str, name: str, value: Any, least: int) -> None:
    """Refuse a parameter that is not a whole number of at least some size."""
    if not is_whole(value, least):
        raise ValueError(f"{name} of {kernel} is {value!r}; it must be a whole number from {least} on.")


def require_length(kernel: str, name: str, k: Any, alphabet: str) -> None:
    """Refuse a length of oligomers that is none, or with which there are too many of them."""
    require_whole(kernel, name, k, 1)
    require_countable(kernel, name, int(k), alphabet)


def require_origin(kernel: str, origin: Any, alphabet: str) -> None:
    """Refuse an origin of positions that is neither a whole number nor a marker."""
    if isinstance(origin, str):
        inside = sorted(set(origin) & {*alphabet, *alphabet.lower(), *alphabet.upper()})
        if not origin or inside:
            raise ValueError(
                f"origin of {kernel} is {origin!r}; a marker must be text without letters of the alphabet {alphabet!r}."
            )
    elif not is_whole(origin, -FARTHEST) or origin > FARTHEST:
        raise ValueError(
            f"origin of {kernel} is {origin!r}; it must be a whole number, the place of the letter that positions "
            "count from (below 0: from the end), or a marker that stands before this letter in every sequence."
        )


def reading(kernel: Any, k: int) -> Reading:
    """Return how a kernel reads oligomers of k letters."""
    origin: Origin = kernel.origin if isinstance(kernel.origin, str) else int(kernel.origin)
    return Reading(kernel.alphabet, int(k), bool(kernel.reverse_complement), origin, bool(kernel.fold_case))


def kernels_in(kernel: Kernel) -> list[SequenceKernel]:
    """Return the kernels of sequences that a kernel consists of.

    Examples
    --------
    >>> from widemargin.kernels import Oligo, Spectrum
    >>> kernels_in(2.0 * Oligo(2) + Spectrum(3))
    [Spectrum(), Oligo(k=2)]
    """
    return [part for part in (kernel, *kernel.get_params().values()) if isinstance(part, SequenceKernel)]


def letters_left_out(given: Kernel, fitted: Kernel, X: Any) -> set[str]:
    """Return the letters of `X` that are outside of the alphabets that a kernel took from other data.

    Codes for several nucleotides or amino acids, and gaps, are no such letters.

    Examples
    --------
    >>> from widemargin.kernels import Oligo
    >>> letters_left_out(Oligo(2), Oligo(2).fitted(["ABBA", "BAB"]), ["ABBA", "CAB"])
    {'C'}
    """
    from_data = [
        own for asked, own in zip(kernels_in(given), kernels_in(fitted), strict=False) if asked.alphabet is None
    ]
    letters = set("".join(Sequences.of(X))) if from_data else set()
    return {
        letter
        for own in from_data
        for letter in letters_outside(letters - own._letters_of_marker(), own.alphabet, own.fold_case)
    }
