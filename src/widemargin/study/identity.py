"""Fingerprints: one short text for the content of data, parameters and folds."""

from __future__ import annotations

import copyreg
import functools
import hashlib
import numbers
import struct
import sys
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

#: Bytes of an array that are copied at once where its memory is not laid out row by row.
CHUNK = 1 << 22


def fingerprint(*objects: Any) -> str:
    """Return the SHA-256 of the content of some objects, as 64 hexadecimal digits.

    Equal content has equal fingerprints in every process and on every computer, however it lies in memory:

    - arrays count by dtype, shape and values, not by strides or byte order; sparse matrices by shape and non-zero
      entries, whatever their format; arrays of objects by their elements;
    - data frames count by their columns' names, types and values, not by their index, since models do not see it;
    - numbers, strings, None, lists (a tuple counts as a list), sets and mappings (in any order) count by value;
    - estimators count by class and parameters, functions by name and code, other objects by class and by the state
      that pickle would keep.

    Parameters
    ----------
    *objects
        Whose content is meant, in this order.

    Returns
    -------
    str

    Raises
    ------
    TypeError
        If an object has no content that could be told: an open file, say, or one that contains itself.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.study import fingerprint
    >>> X = np.arange(6.0).reshape(2, 3)
    >>> fingerprint(X)[:16]
    'b75d238395c41f5f'
    >>> fingerprint(X) == fingerprint(np.asfortranarray(X)), fingerprint(X) == fingerprint(X.astype("float32"))
    (True, False)
    >>> fingerprint({"C": 1.0, "gamma": [0.1, 1.0]}) == fingerprint({"gamma": [0.1, 1.0], "C": np.float64(1.0)})
    True
    """
    digest = _Digest()
    digest.add_all("arguments", objects)
    return digest.hash.hexdigest()


class _Digest:
    """A hash that objects are added to; every part comes after its kind and length, so that none runs into the next."""

    def __init__(self, ancestors: frozenset[int] = frozenset()) -> None:
        self.hash = hashlib.sha256()
        self._ancestors = ancestors

    def add(self, value: Any) -> None:
        if value is None or value is Ellipsis or value is NotImplemented:
            self._bytes("constant", repr(value).encode())
        elif isinstance(value, (bool, np.bool_)):
            self._bytes("bool", b"1" if value else b"0")
        elif isinstance(value, str):
            self._bytes("text", str.__str__(value).encode("utf-8", "surrogatepass"))
        elif isinstance(value, (bytes, bytearray)):
            self._bytes("bytes", bytes(value))
        elif isinstance(value, numbers.Integral) and not isinstance(value, np.timedelta64):
            self._bytes("integer", b"%d" % int(value))
        elif isinstance(value, (float, np.float32, np.float16)):
            self._bytes("float", float(value).hex().encode())
        elif isinstance(value, complex):
            self._bytes("complex", f"{value.real.hex()} {value.imag.hex()}".encode())
        elif isinstance(value, np.generic):
            self._array(np.asarray(value))
        elif isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
            self._array(value)
        else:
            self._composite(value)

    def add_all(self, kind: str, values: Any) -> None:
        values = list(values)
        self._bytes(kind, struct.pack("<Q", len(values)))
        for value in values:
            self.add(value)

    def _bytes(self, kind: str, content: bytes) -> None:
        self.hash.update(b"%s %d:" % (kind.encode(), len(content)))
        self.hash.update(content)

    def _composite(self, value: Any) -> None:
        """Add what consists of other objects, none of which may be itself."""
        if id(value) in self._ancestors:
            raise TypeError(f"An object that contains itself has no fingerprint; got one of type {_name(type(value))}.")
        outside, self._ancestors = self._ancestors, self._ancestors | {id(value)}
        try:
            if not self._collection(value) and not self._frame(value) and not self._callable(value):
                self._object(value)
        finally:
            self._ancestors = outside

    def _collection(self, value: Any) -> bool:
        if sparse.issparse(value):  # before mappings, since some formats are dicts
            self._sparse(value)
        elif isinstance(value, (list, tuple)):
            self.add_all("list", value)
        elif isinstance(value, (set, frozenset)):
            self._unordered("set", value)
        elif isinstance(value, Mapping):
            self._unordered("mapping", value.items())
        elif isinstance(value, (range, slice)):
            self.add_all(type(value).__name__, (value.start, value.stop, value.step))
        elif isinstance(value, np.ma.MaskedArray):
            self.add_all("masked array", (np.ma.getdata(value), np.ma.getmaskarray(value)))
        else:
            return False
        return True

    def _frame(self, value: Any) -> bool:
        """Add a data frame or a column of one; their libraries are asked for only if the program has loaded them."""
        pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
        if pandas is not None and isinstance(value, pandas.DataFrame):
            self.add_all("frame", (value.iloc[:, i] for i in range(value.shape[1])))
        elif polars is not None and isinstance(value, polars.DataFrame):
            self.add_all("frame", value.get_columns())
        elif (pandas is not None and isinstance(value, (pandas.Series, pandas.Index))) or (
            polars is not None and isinstance(value, polars.Series)
        ):
            self.add_all("column", (value.name, str(value.dtype), len(value), value.to_numpy()))
        elif hasattr(value, "__array__") and not isinstance(value, type):
            self._array(np.asarray(value))
        else:
            return False
        return True

    def _callable(self, value: Any) -> bool:
        if isinstance(value, type):
            self._bytes("class", _name(value).encode())
        elif isinstance(value, functools.partial):
            self.add_all("partial", (value.func, value.args, value.keywords))
        elif isinstance(value, FunctionType):
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            self.add_all("function", (_name(value), value.__code__, value.__defaults__, value.__kwdefaults__, cells))
        elif isinstance(value, MethodType):
            self.add_all("method", (value.__func__, value.__self__))
        elif isinstance(value, CodeType):
            self.add_all("code", (value.co_code, value.co_names, value.co_varnames, value.co_consts))
        elif isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, ModuleType | None):
            self._bytes("function", _name(value).encode())
        else:
            return False
        return True

    def _object(self, value: Any) -> None:
        if callable(getattr(value, "get_params", None)):
            self.add_all("estimator", (type(value), value.get_params(deep=False)))
            return
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:
            raise TypeError(f"An object of type {_name(type(value))} has no fingerprint ({error}).") from error
        if isinstance(reduced, str):
            self._bytes("global", f"{_name(type(value))} {reduced}".encode())
        else:
            # As pickle has it: what to call with what, the state, then iterators of items.
            build, *rest = reduced
            parts = [list(one) if isinstance(one, Iterator) else one for one in rest]
            self.add_all("object", (_name(build) if hasattr(build, "__qualname__") else build, *parts))

    def _unordered(self, kind: str, values: Any) -> None:
        digests = []
        for value in values:
            own = _Digest(self._ancestors)
            own.add(value)
            digests.append(own.hash.digest())
        self._bytes(kind, b"".join(sorted(digests)))

    def _array(self, array: NDArray[Any]) -> None:
        array = np.asarray(array)
        dtype = array.dtype
        if dtype.names is not None:
            # Field by field, since the gaps between fields hold anything.
            self.add_all("fields", [part for name in dtype.names for part in (name, array[name])])
            return
        self._bytes("array", f"{dtype.newbyteorder('<').str} {array.shape}".encode())
        if dtype.kind == "O" or dtype.itemsize == 0 or dtype.char == "T":
            self.add_all("elements", array.ravel().tolist())
            return
        if dtype.char in "gG":  # long doubles are padded with anything
            array = array.astype(str)
        if array.dtype.byteorder == ">" or (array.dtype.byteorder == "=" and sys.byteorder == "big"):
            array = array.astype(array.dtype.newbyteorder("<"))
        for part in _contiguous_parts(np.atleast_1d(array)):
            self.hash.update(part.view(np.uint8).data)

    def _sparse(self, matrix: Any) -> None:
        rows = matrix.tocsr(copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        self.add_all(
            "sparse", (list(rows.shape), rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64))
        )


def _contiguous_parts(array: NDArray[Any]) -> Any:
    """Yield the values of an array in order, as flat arrays that lie in one piece."""
    if array.size == 0:
        return
    if array.flags.c_contiguous:
        yield array.reshape(-1)
    elif array.nbytes <= CHUNK or array.ndim == 1:
        yield np.ascontiguousarray(array).reshape(-1)
    else:
        step = max(1, CHUNK * len(array) // array.nbytes)
        for first in range(0, len(array), step):
            yield from _contiguous_parts(np.ascontiguousarray(array[first : first + step]))


def _name(named: Any) -> str:
    return f"{named.__module__}.{named.__qualname__}"
