"""A small kernel of strings in plain Python: what ``widemargin.kernels`` asks for, and nothing of vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels import Kernel

Matrix = NDArray[np.float64]


class LetterPairs(Kernel):
    """k(x, z) = sum over words w of one or two letters of ``weight ** (len(w) - 1) * #w(x) * #w(z) / (n_x n_z)``.

    A spectrum kernel whose longer words count by a weight; k(x, x) is not 1, and depends on the weight.
    """

    requires_vector_input = False
    _positive = ("weight",)

    def __init__(self, weight: float = 1.0, weight_bounds: Any = (1e-3, 1e3)) -> None:
        self.weight = weight
        self.weight_bounds = weight_bounds

    def values(self, X: Any, Y: Any) -> Matrix:
        """Kernel values between the strings `X` and `Y`."""
        return _shared(X, Y, 1) + self.weight * _shared(X, Y, 2)

    def diagonal(self, X: Any) -> NDArray[np.float64]:
        """k(x, x) for the strings `X`."""
        return np.array([self.values([one], [one])[0, 0] for one in X])

    def derivatives(self, X: Any, Y: Any, K: Matrix) -> Iterator[Matrix]:
        """Yield the derivative with respect to the logarithm of the weight."""
        if "weight" in self._free():
            yield self.weight * _shared(X, Y, 2)

    def diagonal_derivatives(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """Yield that of k(x, x)."""
        if "weight" in self._free():
            yield self.weight * np.array([_shared([one], [one], 2)[0, 0] for one in X])


def _shared(X: Any, Y: Any, length: int) -> Matrix:
    left, right = [_counts(one, length) for one in X], [_counts(one, length) for one in Y]
    return np.array([[sum(n * z[word] for word, n in x.items()) for z in right] for x in left], dtype=np.float64)


def _counts(text: Any, length: int) -> Counter[str]:
    if not isinstance(text, str):
        raise TypeError(f"a string is needed; got {type(text).__name__}")
    found = Counter(text[i : i + length] for i in range(len(text) - length + 1))
    return Counter({word: n / len(text) for word, n in found.items()})


def two_kinds(n: int = 40, length: int = 12, seed: int = 0) -> tuple[list[str], NDArray[np.intp]]:
    """Return strings and their classes: the second class has more pairs "GA" than the first, but not all of it."""
    generator = np.random.default_rng(seed)
    texts, labels = [], np.arange(n) % 2
    for label in labels:
        letters = generator.choice(list("ACGT"), length)
        if generator.random() < (0.8 if label else 0.2):
            at = int(generator.integers(0, length - 4))
            letters[at : at + 4] = list("GAGA")
        texts.append("".join(letters))
    return texts, labels


def as_list(texts: list[str]) -> Any:
    """Return strings as they are."""
    return list(texts)


def as_array(texts: list[str]) -> Any:
    """Return strings as an array of objects."""
    return np.array(texts, dtype=object)


def as_series(texts: list[str]) -> Any:
    """Return strings as a column whose index is neither in order nor without gaps."""
    import pandas

    return pandas.Series(texts, index=np.arange(len(texts))[::-1] * 3 + 7)


CONTAINERS = [as_list, as_array, as_series]


def naive_oligo(
    x: str,
    z: str,
    k: int,
    sigma: float,
    *,
    weights: Callable[[str], float] = lambda oligomer: 1.0,
    alphabet: str = "ACGT",
    starts: tuple[int, int] = (0, 0),
    same: Callable[[str], str] = lambda oligomer: oligomer,
) -> float:
    """Sum over all pairs of equal oligomers, letter by letter [Glasmachers2008, section 13.2].

    Positions count from `starts`; `same` returns one name for oligomers that are to be the same.
    """
    total = 0.0
    for p in range(len(x) - k + 1):
        for q in range(len(z) - k + 1):
            one, other = x[p : p + k], z[q : q + k]
            if all(letter in alphabet for letter in one + other) and same(one) == same(other):
                apart = (p - starts[0]) - (q - starts[1])
                total += weights(same(one)) * np.exp(-min((apart / (2 * sigma)) ** 2, 1e4))
    return total


def naive_oligo_matrix(X: list[str], Y: list[str], k: int, sigma: float, normalize: bool = True, **how: Any) -> Matrix:
    """Return kernel values between two sets of strings, divided by the roots of k(x, x) and k(z, z) or not."""
    K = np.array([[naive_oligo(x, z, k, sigma, **how) for z in Y] for x in X])
    if not normalize:
        return K
    roots = [np.sqrt([naive_oligo(one, one, k, sigma, **how) for one in some]) for some in (X, Y)]
    return np.asarray(K / np.outer(*roots))


def naive_counts(text: str, k: int, mismatches: int = 0, gaps: int = 0, alphabet: str = "ACGT") -> dict[str, int]:
    """Count every oligomer that could be, as kernels with mismatches or gaps do, by looking for it everywhere."""
    found = {}
    windows = [text[i : i + k + gaps] for i in range(len(text) - k - gaps + 1)]
    for letters in product(alphabet, repeat=k):
        known = [one for one in windows if all(letter in alphabet for letter in one)]
        if gaps:
            hits = sum(any(some == letters for some in combinations(one, k)) for one in known)
        else:
            hits = sum(sum(a != b for a, b in zip(one, letters, strict=True)) <= mismatches for one in known)
        if hits:
            found["".join(letters)] = hits
    return found


def random_texts(n: int, letters: str, shortest: int, longest: int, seed: int = 0) -> list[str]:
    """Return random strings of different lengths."""
    generator = np.random.default_rng(seed)
    return [
        "".join(generator.choice(list(letters), size)) for size in generator.integers(shortest, longest + 1, size=n)
    ]
