r"""A decision function over an oligo kernel as weights of oligomers at positions [Glasmachers2008, section 13.2].

With coefficients a_i, a term of the kernel contributes to f(z)

.. math:: \frac{1}{n(z)} \sum_q w_{z_q}(q), \qquad
          w_\omega(q) = \lambda_\omega \sum_i \frac{a_i}{n(x_i)}
          \sum_{p \in S^{x_i}_\omega} e^{-(p - q)^2 / (4 \sigma^2)}

where z_q is the oligomer of z at q, and n(x) the root of the term's k(x, x), or 1 where it is not normalised.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import Scaled, Spectrum, Sum
from widemargin.kernels.sequences import OligoKernel, Sequences
from widemargin.kernels.sequences.alphabet import written
from widemargin.kernels.sequences.base import reading
from widemargin.kernels.sequences.oligo import Term
from widemargin.kernels.sequences.oligomers import Reading, oligomers_in
from widemargin.kernels.sequences.sums import OligoSums, closeness
from widemargin.kernels.sequences.texts import Texts
from widemargin.runtime.memory import told_if_memory_runs_out

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]

#: Positions that weights are computed for at a time, and comparisons of oligomers that are made at a time.
POSITIONS_AT_ONCE, COMPARED_AT_ONCE = 1024, 2**22

#: A k(x, x) that a substitution leaves less of is computed anew: the difference of two numbers has no digits left.
LEAST_LEFT = 1e-6


@dataclass(frozen=True)
class Part:
    """A term of a kernel, and whether it is divided by the roots of its k(x, x) and k(z, z)."""

    term: Term
    normalized: bool


def parts_of(kernel: Any) -> list[Part]:
    """Take a kernel apart into terms; refuse one that is no sum of them."""
    if isinstance(kernel, OligoKernel):
        return [Part(term, bool(kernel.normalize)) for term in kernel._terms()]
    if isinstance(kernel, Spectrum) and kernel.mismatches == 0:
        return [Part(Term(reading(kernel, kernel.k), np.inf), bool(kernel.normalize))]
    if isinstance(kernel, Sum):
        return [*parts_of(kernel.k1), *parts_of(kernel.k2)]
    if isinstance(kernel, Scaled):
        return [
            replace(part, term=replace(part.term, factor=part.term.factor * float(kernel.scale)))
            for part in parts_of(kernel.kernel)
        ]
    raise ValueError(
        f"the kernel {kernel!r} has no weights of oligomers at positions; those of Oligo, CombinedOligo, "
        "WeightedOligo, TripletOligo, Spectrum without mismatches, and sums and multiples of these have."
    )


@dataclass(frozen=True)
class Read:
    """The oligomers of one sequence: the code of each, -1 for none, and the position of the first."""

    codes: Codes
    first: int


def read(texts: Texts, which: int, how: Reading) -> Read:
    """Read a sequence."""
    found = oligomers_in(texts, how)
    codes = found.codes[found.begins[which] : found.begins[which + 1]].astype(np.int64)
    return Read(_numbered(codes, found.known), -int(found.origins[which]))


def _numbered(codes: Codes, known: Codes | None) -> Codes:
    """Return codes as the numbers of oligomers among all of their length."""
    if known is None or not known.size:
        return codes
    return np.where(codes >= 0, known[codes], -1)


class TermWeights:
    """Weights of the oligomers of one term at every position.

    Parameters
    ----------
    part : Part
    vectors : Sequences
        Those that the decision function is a sum over.
    coefficients : ndarray of shape (n,)
    """

    def __init__(self, part: Part, vectors: Sequences, coefficients: Vector) -> None:
        self.part, self.how = part, part.term.reading
        scales = coefficients * part.term.factor / self._norms(vectors)
        each = [read(vectors.whole, int(which), self.how) for which in vectors.ids]
        codes = np.concatenate([one.codes for one in each]) if each else np.empty(0, dtype=np.int64)
        places = [np.arange(one.first, one.first + len(one.codes)) for one in each]
        positions = np.concatenate(places) if places else np.empty(0, dtype=np.int64)
        amounts = np.repeat(scales, [len(one.codes) for one in each])
        valid = codes >= 0
        self.codes, rows = np.unique(codes[valid], return_inverse=True)
        self.low, self.high = (int(positions.min()), int(positions.max())) if positions.size else (0, 0)
        doing = f"for the weights of {len(self.codes)} oligomers at {self.high - self.low + 1} positions"
        with told_if_memory_runs_out(doing, "take a smaller k"):
            self._held = np.zeros((len(self.codes), self.high - self.low + 1))
            np.add.at(self._held, (rows.reshape(-1), positions[valid] - self.low), amounts[valid])
            if part.term.weights is not None:
                self._held *= part.term.weights[self.codes][:, np.newaxis]
            self._range, self._weights = (0, -1), np.empty((len(self.codes), 0))
            self.between(self.low, self.high)

    @property
    def oligomers(self) -> list[str]:
        """The oligomers that the support vectors hold."""
        return written(self.codes, self.how.alphabet, self.how.k)

    def between(self, low: int, high: int) -> Matrix:
        """Return the weights at all positions from `low` to `high`, a row for each oligomer."""
        if self._range[0] > low or self._range[1] < high or not self._weights.size:
            begin, end = min(low, self.low, self._range[0]), max(high, self.high, self._range[1])
            wanted, there = np.arange(begin, end + 1), np.arange(self.low, self.high + 1)
            reach = int(max(end - self.low, self.high - begin))
            near = closeness(self.part.term.sigma, reach)
            parts = [
                self._held @ near[np.abs(there[:, np.newaxis] - wanted[at : at + POSITIONS_AT_ONCE])]
                for at in range(0, len(wanted), POSITIONS_AT_ONCE)
            ]
            self._range, self._weights = (begin, end), np.concatenate(parts, axis=1)
        return self._weights[:, low - self._range[0] : high + 1 - self._range[0]]

    def at(self, codes: Codes, positions: Codes) -> Vector:
        """Return the weights of some oligomers at some positions, 0 for those that no support vector holds."""
        if not self.codes.size or not codes.size:
            return np.zeros(codes.shape)
        low, high = int(positions.min()), int(positions.max())
        weights = self.between(low, high)
        rows = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        return np.where(self.codes[rows] == codes, weights[rows, positions - low], 0.0)

    def _norms(self, X: Sequences) -> Vector:
        if not self.part.normalized:
            return np.ones(len(X))
        squares = self._squares(X)
        if not (squares > 0.0).all():
            place = int(np.argmin(squares > 0.0))
            raise ValueError(
                f"{X.named(place)} has k(x, x) = 0, and thus no decision value; it is too short, or unknown."
            )
        return np.sqrt(squares)

    def _squares(self, X: Sequences) -> Vector:
        """k(x, x) of the term itself."""
        term = self.part.term
        return OligoSums(X, X, term.reading, term.sigma, term.weights).of_left()

    def contributions(self, z: Sequences) -> Vector:
        """Return what the oligomer that begins at each letter of a sequence contributes to its decision value."""
        found = read(z.whole, int(z.ids[0]), self.how)
        positions = found.first + np.arange(len(found.codes))
        return np.asarray(self.at(found.codes, positions) / self._norms(z)[0])

    def changes(self, z: Sequences, text: str, letters: str) -> Matrix:
        """Return by how much the term changes if one letter is replaced, for each place and each other letter.

        `text` is the sequence `z` without the marker of its origin. Where the term is normalised and the new sequence
        has k(x, x) = 0, the change is not a number.
        """
        found = read(z.whole, int(z.ids[0]), self.how)
        k, n = self.how.k, len(text)
        new = self._replaced(text, letters)
        begins = np.arange(n)[:, np.newaxis] + np.arange(1 - k, 1)  # of the oligomers that hold each letter
        inside = (begins >= 0) & (begins < len(found.codes))
        old = np.where(inside, found.codes[np.where(inside, begins, 0)] if found.codes.size else -1, -1)
        positions = found.first + np.where(inside, begins, 0)
        whole = float(self.at(found.codes, found.first + np.arange(len(found.codes))).sum())
        before = self.at(old, positions).sum(axis=1)[:, np.newaxis]
        after = self.at(new, np.broadcast_to(positions[:, np.newaxis], new.shape)).sum(axis=2)
        changed = whole + (after - before)
        if not self.part.normalized:
            return np.asarray(changed - whole)
        square = float(self._squares(z)[0])
        squares = square + self._square_changes(found.codes, old, new, begins)
        same = (new == old[:, np.newaxis]).all(axis=2)
        doubtful = np.argwhere(~same & (squares < LEAST_LEFT * square))
        if doubtful.size:
            marker = self.how.origin if isinstance(self.how.origin, str) else ""
            texts = [marker + text[:j] + letters[c] + text[j + 1 :] for j, c in doubtful]
            squares[doubtful[:, 0], doubtful[:, 1]] = self._squares(Sequences(texts))
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(squares > 0.0, changed / np.sqrt(squares), np.nan)
        return np.where(same, 0.0, values - whole / np.sqrt(square))

    def _replaced(self, text: str, letters: str) -> Codes:
        """Return the oligomers that hold each letter of a text if it is replaced: places, letters, k of them."""
        k, alphabet = self.how.k, self.how.alphabet
        other = next(
            sign
            for sign in map(chr, range(1, len(alphabet) + 10))
            if not {sign, sign.upper(), sign.lower()} & {*alphabet}
        )
        padded = other * (k - 1) + text + other * (k - 1)
        windows = [
            f"{padded[j : j + k - 1]}{letter}{padded[j + k : j + 2 * k - 1]}"
            for j in range(len(text))
            for letter in letters
        ]
        found = oligomers_in(Texts(windows), replace(self.how, origin=0))
        return _numbered(found.codes.astype(np.int64), found.known).reshape(len(text), len(letters), k)

    def _square_changes(self, codes: Codes, old: Codes, new: Codes, begins: Codes) -> Matrix:
        """Return by how much k(z, z) changes: 2 <K z, d> + <d, K d> for the difference d of the oligomers."""
        k, places = self.how.k, np.arange(len(codes))
        near = closeness(self.part.term.sigma, len(codes) + 2 * k)
        weights = self.part.term.weights
        found = np.empty(new.shape[:2])
        step = max(1, COMPARED_AT_ONCE // max(1, new.shape[1] * k * len(codes)))
        among = near[np.abs(np.arange(k)[:, np.newaxis] - np.arange(k))]
        for at in range(0, len(old), step):
            part = slice(at, at + step)
            close = near[np.abs(begins[part][..., np.newaxis] - places)]
            mine, other = old[part][:, np.newaxis], new[part]
            found[part] = 2.0 * (_with_all(other, codes, close, weights) - _with_all(mine, codes, close, weights))
            found[part] += _between(other, other, among, weights) - 2.0 * _between(other, mine, among, weights)
            found[part] += _between(mine, mine, among, weights)
        return found


def _factors(codes: Codes, weights: Vector | None) -> Vector:
    """Return the weights of oligomers, 0 for those that are none."""
    factors = np.ones(codes.shape) if weights is None else weights[np.maximum(codes, 0)]
    return np.where(codes >= 0, factors, 0.0)


def _with_all(these: Codes, codes: Codes, close: Matrix, weights: Vector | None) -> Vector:
    """Sum over pairs of `these` oligomers, the last axis, and all `codes` of a sequence."""
    sums = ((these[..., np.newaxis] == codes) * close[:, np.newaxis]).sum(axis=-1)
    return np.asarray((_factors(these, weights) * sums).sum(axis=-1))


def _between(these: Codes, those: Codes, among: Matrix, weights: Vector | None) -> Vector:
    """Sum over pairs of `these` and `those` oligomers, which lie along the last axis of both."""
    same = these[..., :, np.newaxis] == those[..., np.newaxis, :]
    return np.asarray((_factors(these, weights)[..., np.newaxis] * same * among).sum(axis=(-1, -2)))
