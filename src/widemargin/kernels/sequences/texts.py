"""Sequences as kernels take them: read once, whatever container they came in, and encoded once for each use."""

from __future__ import annotations

import collections.abc
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from widemargin.kernels.rows import SHOWN, SampleStore, require_samples, shown
from widemargin.runtime import Lock

Made = TypeVar("Made")

#: Encodings of one set of sequences that are kept.
KEPT = 24


class Texts:
    """Strings, and what kernels made of them: encodings by their keys, the last used of them."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self._made: OrderedDict[Any, Any] = OrderedDict()
        self._lock = Lock()

    def made(self, key: Any, make: Callable[[], Made]) -> Made:
        """Return what was made for a key, or make it."""
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
                return self._made[key]  # type: ignore[no-any-return]
        found = make()  # threads that meet here make the same
        with self._lock:
            self._made[key] = found
            while len(self._made) > KEPT:
                self._made.popitem(last=False)
        return found

    def __reduce__(self) -> tuple[type[Texts], tuple[list[str]]]:
        return Texts, (self.texts,)


class Sequences(SampleStore, collections.abc.Sequence[str]):
    """Strings as kernels of sequences take them; parts of them share what was made of the whole.

    Parameters
    ----------
    texts : list of str
        Or what a part shares with the whole.
    ids : ndarray of int, optional
        Which of them these are; all if not given.

    Examples
    --------
    >>> X = Sequences.of(["ACGT", "AACC", "GGTT"])
    >>> X[1], list(X[[2, 0]]), X[1:].ids.tolist()
    ('AACC', ['GGTT', 'ACGT'], [1, 2])
    """

    def __init__(self, texts: list[str] | Texts, ids: NDArray[np.intp] | None = None) -> None:
        self.whole = texts if isinstance(texts, Texts) else Texts(texts)
        self.ids = np.arange(len(self.whole.texts)) if ids is None else ids

    @property
    def numbers(self) -> NDArray[np.int32]:
        """The same as `ids`, as the core takes them."""
        return np.ascontiguousarray(self.ids, dtype=np.int32)

    @classmethod
    def of(cls, X: Any) -> Sequences:
        """Read sequences from a list, tuple, array or column of strings."""
        return X if isinstance(X, cls) else cls(texts_of(X))

    def alone(self) -> Sequences:
        """Return these sequences as a whole of their own."""
        everyone = np.array_equal(self.ids, np.arange(len(self.whole.texts)))
        return self if everyone else Sequences(list(self))

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[str]:
        return (self.whole.texts[i] for i in self.ids)

    @overload
    def __getitem__(self, which: int) -> str: ...
    @overload
    def __getitem__(self, which: slice | NDArray[Any] | list[int]) -> Sequences: ...
    def __getitem__(self, which: Any) -> str | Sequences:
        if isinstance(which, int | np.integer):
            return self.whole.texts[int(self.ids[which])]
        return Sequences(self.whole, self.ids[which])

    def __repr__(self) -> str:
        return f"Sequences({list(self)!r})"

    def letters(self) -> Counter[str]:
        """Count the letters."""
        return Counter("".join(self))

    def named(self, place: int) -> str:
        """Name one of them in a message: its place in what was given, and how it begins."""
        return f"sequence {self.ids[place]} of X, {shown(self[place])},"


def texts_of(X: Any) -> list[str]:
    """Return strings as a list, or say why that is none: each in one sentence.

    Arrays of bytes, as NumPy keeps text of one length in files, are decoded.
    """
    require_samples(X)
    if isinstance(X, np.ndarray) and X.dtype.kind == "S" and X.ndim == 1:
        return _decoded(X)
    expected = "a list, array or column of strings is needed, one for each sample"
    if len(getattr(X, "shape", (0,))) != 1:
        columns = list(getattr(X, "columns", ()))
        instead = f", such as X[{columns[0]!r}]" if columns else ""
        raise TypeError(f"X is {_described(X)}; {expected}{instead}.")
    for to_list in ("to_list", "tolist"):  # columns of pandas and polars, arrays
        if hasattr(X, to_list):
            X = getattr(X, to_list)()
            break
    try:
        texts = list(X)
    except TypeError:
        raise TypeError(f"X is {_described(X)}; {expected}.") from None
    for place, text in enumerate(texts):
        if type(text) is not str:
            if not isinstance(text, str):
                raise TypeError(f"sequence {place} of X is {_written(text)}; it must be a string.")
            texts[place] = str(text)  # np.str_ and other subclasses
    return texts


def _decoded(X: NDArray[np.bytes_]) -> list[str]:
    try:
        return [str(text) for text in np.char.decode(X, "ascii")]
    except UnicodeDecodeError:
        for place, text in enumerate(X.tolist()):
            if not text.isascii():
                raise TypeError(f"sequence {place} of X is {text!r}, which is no ASCII; decode it first.") from None
        raise


def _described(X: Any) -> str:
    shape = getattr(X, "shape", None)
    return type(X).__name__ if shape is None else f"{type(X).__name__} of shape {tuple(shape)}"


def _written(value: Any) -> str:
    if isinstance(value, bytes):
        return f"bytes, {value[:SHOWN]!r}, not text"
    if isinstance(value, list | tuple | dict | set | np.ndarray):
        return f"a {type(value).__name__}"
    return repr(value)[:60]
