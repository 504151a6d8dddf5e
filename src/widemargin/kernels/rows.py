"""Row sources: kernel values between samples, computed in blocks when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from widemargin import _core
from widemargin.runtime import Allowance, Stop, as_allowed_here, single_threaded_blas, thread_count
from widemargin.runtime.memory import require_room_for_columns

RowSource = _core.RowSource

#: Rows and columns of the tiles that whole matrices of somebody else's kernels are evaluated in.
TILE = 1024

#: Largest dense matrix made at once of the values of somebody else's kernel, or of weights of a linear model.
BLOCK_ENTRIES = 2**24

#: Entries of a kernel matrix that differ from their mirror images by more than this share of the largest: no rounding.
ASYMMETRY = 1e-4

#: Exponents that the core can count to.
LARGEST_DEGREE = 2**31 - 1

#: Letters of a string that messages show.
SHOWN = 20

KernelName = str
KernelCallable = Callable[[Any, Any], Any]


class SampleStore:
    """Samples in a form that a kernel made for itself; a slice or an array of numbers takes some, in that form."""

    def __getitem__(self, which: Any) -> Any:
        raise NotImplementedError


class Parts(SampleStore):
    """Samples in several parts, each in the form that a kernel made for itself.

    Parameters
    ----------
    parts : list
    order : ndarray of int
        Which of the samples of all parts, one after the other, stands at each place.
    """

    def __init__(self, parts: list[Any], order: NDArray[np.intp]) -> None:
        self.parts, self.order = parts, order

    def __len__(self) -> int:
        return len(self.order)


class LinearMap:
    """What samples go through before the core's kernel sees them: a factor for each feature, or a matrix.

    Two of them are equal where their numbers are.

    Parameters
    ----------
    factors : ndarray of shape (d,) or (d, r)

    Examples
    --------
    >>> LinearMap(np.array([2.0, 0.5]))(np.array([[1.0, 1.0]])).tolist()
    [[2.0, 0.5]]
    """

    def __init__(self, factors: NDArray[np.float64]) -> None:
        self.factors = np.array(factors, dtype=np.float64)
        self._key = self.factors.shape, self.factors.tobytes()

    def __call__(self, X: Any) -> Any:
        """Map the rows of `X`, in float64; a matrix makes sparse ones dense."""
        return multiplied(X, self.factors)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearMap) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def multiplied(X: Any, factors: NDArray[np.float64]) -> Any:
    """Multiply every feature of `X` by its factor, or every row by a matrix.

    Examples
    --------
    >>> multiplied(np.array([[1.0, 2.0]]), np.array([[1.0], [1.0]])).tolist()
    [[3.0]]
    """
    if factors.ndim < 2:
        return sp.csr_array(X.multiply(factors)) if sp.issparse(X) else X * factors
    with single_threaded_blas():
        return np.ascontiguousarray(X @ factors)


class FixedKernel:
    """A kernel object as a function of two blocks of samples; equal to others that are written the same.

    Parameters
    ----------
    kernel : Kernel
        With numbers for all its parameters, which are not to change.
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self._text = repr(kernel)

    def __call__(self, A: Any, B: Any) -> NDArray[np.float64]:
        """Kernel values between two blocks; those too large to compute with are for others to refuse."""
        if isinstance(B, Parts):
            return np.ascontiguousarray(np.hstack([self(A, part) for part in B.parts])[:, B.order])
        left = self.kernel.samples(A)
        with np.errstate(over="ignore", invalid="ignore"):
            values: NDArray[np.float64] = self.kernel.values(left, left if A is B else self.kernel.samples(B))
        return values

    def prepared(self, X: Any) -> Any:
        """Return samples that are no vectors in the form that the kernel makes for itself, so that it does so once."""
        return X if self.kernel.requires_vector_input or isinstance(X, Parts) else self.kernel.samples(X)

    @property
    def in_core(self) -> bool:
        """Whether the core computes rows of it."""
        return bool(self.kernel.has_row_source)

    def diagonal(self, X: Any) -> NDArray[np.float64]:
        """k(x, x) for the rows of `X`."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.ascontiguousarray(self.kernel.diagonal(self.kernel.samples(X)), dtype=np.float64)

    def __repr__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FixedKernel) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


@dataclass(frozen=True)
class KernelParameters:
    """A kernel by name or callable with its numbers, resolved for given data.

    ``linear``: <x, z>; ``poly``: (gamma <x, z> + coef0)^degree; ``rbf``: exp(-gamma ||x - z||^2);
    ``sigmoid``: tanh(gamma <x, z> + coef0); ``precomputed``: the matrix itself; or a callable k(A, B) giving a block.
    A `map` is applied to samples before. `source` is the kernel object, if it was one that led to these numbers.
    """

    kernel: KernelName | KernelCallable = "rbf"
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    map: LinearMap | None = None
    source: Any = field(default=None, compare=False)

    @property
    def of_samples(self) -> bool:
        """Whether the core computes this kernel from samples by itself."""
        return isinstance(self.kernel, str) and self.kernel != "precomputed"

    @property
    def is_linear(self) -> bool:
        """Whether this is the linear kernel of the samples themselves, so that models have weights of features."""
        return self.kernel == "linear" and self.map is None

    def mapped(self, X: Any) -> Any:
        """Map the samples in `X` as the core's kernel takes them."""
        return X if self.map is None else self.map(X)

    def rows_of(self, X: Any) -> RowSource:
        """Rows of this kernel between the samples in `X`, as :func:`row_source` gives them."""
        return row_source(self.mapped(X), kernel=self.kernel, gamma=self.gamma, coef0=self.coef0, degree=self.degree)


def canonical(X: Any) -> Any:
    """Return sparse samples as CSR whose rows hold every feature once, in order: entries given twice are summed.

    Only what is not so already is copied.

    Examples
    --------
    >>> canonical(sp.csr_array(([1.0, 2.0, 3.0], [1, 0, 1], [0, 3]), shape=(1, 2))).data.tolist()
    [2.0, 4.0]
    """
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def checked_rows(X: Any) -> Any:
    """Return sparse samples as :func:`canonical` does, but refuse more columns than memory has room for."""
    require_room_for_columns(X.shape[1])
    return canonical(X)


def core_samples(X: Any) -> _core.Samples:
    """Hand a matrix to the core without copying it: C-ordered float32/float64, or CSR with any index type."""
    if sp.issparse(X):
        X = checked_rows(X)
        values = np.ascontiguousarray(X.data, dtype=X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
        index_type = np.int64 if X.indices.dtype == np.int64 or X.indptr.dtype == np.int64 else np.int32
        indices, begins = (np.ascontiguousarray(a, dtype=index_type) for a in (X.indices, X.indptr))
        return _core.csr_samples(values, indices, begins, int(X.shape[1]))
    X = np.asarray(X)
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    return _core.dense_samples(np.ascontiguousarray(X, dtype=dtype))


def take(X: Any, ids: NDArray[Any]) -> Any:
    """Take some samples, in the container they came in: array, sparse matrix, data frame; else as a list."""
    if sp.issparse(X) or isinstance(X, np.ndarray | SampleStore):
        return X[ids]
    return _safe_indexing(X, ids)


def is_matrix(X: Any) -> bool:
    """Whether samples are the rows of a matrix of numbers, and not strings or other objects."""
    return sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf")


def shown(text: str | bytes) -> str:
    """Write the beginning of a string.

    Examples
    --------
    >>> shown("ACGT"), shown("ACGT" * 10)
    ("'ACGT'", "'ACGTACGTACGTACGTACGT'...")
    """
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r}..."


def require_samples(X: Any) -> None:
    """Refuse what is no row of samples: a string, a path, a dict, a set, an iterator, what a FASTA file holds.

    Examples
    --------
    >>> require_samples(["ACGT", "GGTA"])
    >>> require_samples("ACGT")
    Traceback (most recent call last):
    ...
    TypeError: X is one string, 'ACGT'; a list, array, column or data frame of samples is needed.
    """
    if isinstance(X, str | bytes):
        what = f"one string, {shown(X)}"
    elif isinstance(X, PathLike):
        what = f"a path, {str(X)!r}, and files are not read here"
    elif isinstance(X, Mapping | Set | Iterator) and not sp.issparse(X):  # some sparse matrices are dicts
        what = f"an object of type {type(X).__name__}"
    elif isinstance(getattr(X, "sequences", None), list) and not hasattr(X, "__getitem__"):
        what = f"an object of type {type(X).__module__}.{type(X).__name__}, whose sequences are in X.sequences"
    else:
        return
    raise TypeError(f"X is {what}; a list, array, column or data frame of samples is needed.")


def count(X: Any) -> int:
    """Count the samples in any container."""
    return int(_num_samples(X))


def call_kernel(kernel: KernelCallable, left: Any, right: Any) -> NDArray[np.float64]:
    """Evaluate a user's kernel on a block and hold it to its word."""
    returned = kernel(left, right)
    values = returned.toarray() if sp.issparse(returned) else returned
    expected = (count(left), count(right))
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"of type {array.dtype}")
        block = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as failure:
        raise ValueError(
            f"The kernel callable returned {type(returned).__name__} instead of a matrix of real numbers ({failure}); "
            f"it must return an array of shape {expected}."
        ) from failure
    if array.shape != expected:
        raise ValueError(
            f"The kernel callable returned an array of shape {array.shape} for {expected[0]} and {expected[1]} "
            f"samples; it must return one of shape {expected}."
        )
    if not np.isfinite(block).all():
        row, column = np.argwhere(~np.isfinite(block))[0]
        raise ValueError(
            f"The kernel callable returned {block[row, column]} for a pair of samples (row {row}, column {column} of "
            "a block); it must return finite numbers."
        )
    return block


def require_equal_mirror(K: NDArray[np.float64], ids: NDArray[np.intp]) -> None:
    """Refuse values of a kernel callable among some samples, of these numbers, that depend on their order."""
    found = _core.symmetry(K, 1)
    if found.difference > ASYMMETRY * found.largest:
        row, column = found.row, found.column
        raise ValueError(
            f"The kernel callable must be symmetric; for rows {ids[row]} and {ids[column]} of X it returned "
            f"{K[row, column]:.6g} one way round and {K[column, row]:.6g} the other."
        )


def prepared(kernel: Any, X: Any) -> Any:
    """Return samples for many calls of a kernel callable: as :meth:`FixedKernel.prepared` does, or as they are."""
    return kernel.prepared(X) if isinstance(kernel, FixedKernel) else X


def callable_matrix(
    kernel: KernelCallable,
    X: Any,
    *,
    dtype: type = np.float64,
    n_threads: int = 1,
    stop: Stop | None = None,
) -> NDArray[Any]:
    """All values of a symmetric kernel that somebody else evaluates, tile by tile, mirrored at the diagonal.

    Parameters
    ----------
    kernel : callable
    X : sequence of n samples
    dtype : type
        Of the result.
    n_threads : int, default=1
        For kernels that the core computes.
    stop : Stop, optional
        When to end with a TimeoutError.

    Returns
    -------
    ndarray of shape (n, n)

    Examples
    --------
    >>> callable_matrix(lambda A, B: A @ B.T, np.array([[1.0], [2.0]])).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """
    n, X = count(X), prepared(kernel, X)
    matrix: NDArray[Any] = np.empty((n, n), dtype=dtype)
    parts = [np.arange(begin, min(begin + TILE, n)) for begin in range(0, n, TILE)]
    for number, rows in enumerate(parts):
        left = take(X, rows) if len(parts) > 1 else X
        for columns in parts[number:]:
            if stop is not None:
                stop.check()
            right = left if columns is rows else take(X, columns)
            tile = Allowance(n_threads, stop).run(call_kernel, kernel, left, right)
            if columns is rows:
                require_equal_mirror(tile, rows)
            matrix[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] = tile
            if columns is not rows:
                matrix[columns[0] : columns[-1] + 1, rows[0] : rows[-1] + 1] = tile.T
    return matrix


def source_at_once(kernel: KernelCallable, X: Any, n_threads: int = 1) -> RowSource:
    """Rows of a symmetric kernel that somebody else evaluates, as :func:`row_source` gives them, but all evaluated now.

    That takes 8 n^2 bytes. Solvers still count the values that they ask for.

    Examples
    --------
    >>> source_at_once(lambda A, B: A @ B.T, np.array([[1.0], [2.0]])).diagonal()
    array([1., 4.])
    """
    return _core.gram_source(callable_matrix(kernel, X, n_threads=n_threads), counted=True)


def row_source(
    X: Any, *, kernel: KernelName | KernelCallable = "rbf", gamma: float = 1.0, coef0: float = 0.0, degree: int = 3
) -> RowSource:
    """Kernel rows of the samples in `X`, for :func:`widemargin.machines.dual.solve`.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        The samples; for ``kernel="precomputed"`` the symmetric (n, n) kernel matrix. It is read in place, not copied.
        For a callable, any sequence; it gets blocks of it, unless it is a kernel object with rows of its own in the
        core.
    kernel, gamma, coef0, degree
        As in :class:`KernelParameters`.

    Returns
    -------
    RowSource
        Nothing is computed yet: rows are evaluated when a solver asks for them, those of a callable with the
        :class:`~widemargin.runtime.Allowance` that holds now.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels.rows import row_source
    >>> row_source(np.eye(3), kernel="rbf", gamma=0.5).size
    3
    """
    if callable(kernel):
        function = kernel
        if isinstance(function, FixedKernel) and function.in_core:
            own: RowSource = function.kernel.row_source(X)
            return own
        data = X.tocsr() if sp.issparse(X) else prepared(function, X)

        def evaluate(rows: NDArray[np.int32], columns: NDArray[np.int32]) -> NDArray[np.float64]:
            return values(function, take(data, rows), take(data, columns))

        values = as_allowed_here(call_kernel)  # solvers ask in threads of their own, and later
        diagonal = function.diagonal(data) if isinstance(function, FixedKernel) else None
        return _core.callable_source(evaluate, count(data), diagonal)
    if kernel == "precomputed":
        gram = np.asarray(X)
        dtype = np.float32 if gram.dtype == np.float32 else np.float64
        return _core.gram_source(np.ascontiguousarray(gram, dtype=dtype))
    if not 0 <= degree <= LARGEST_DEGREE:
        raise ValueError(f"degree must be a whole number from 0 to {LARGEST_DEGREE}; got {degree!r}.")
    return _core.kernel_source(core_samples(X), kernel, float(gamma), float(coef0), int(degree))


def kernel_block(kernel: KernelParameters, vectors: Any, samples: Any, n_threads: int) -> NDArray[np.float64]:
    """Kernel values between mapped vectors and mapped samples, in float64, a row for each vector.

    Examples
    --------
    >>> kernel_block(KernelParameters("linear"), np.array([[1.0], [2.0]]), np.array([[3.0]]), 1).tolist()
    [[3.0], [6.0]]
    """
    if not callable(kernel.kernel):
        numbers: dict[str, Any] = {"gamma": kernel.gamma, "coef0": kernel.coef0, "degree": kernel.degree}
        return kernel_matrix(vectors, samples, kernel=kernel.kernel, dtype="float64", n_jobs=n_threads, **numbers)
    rows = max(1, BLOCK_ENTRIES // max(1, count(vectors)))
    parts = [np.arange(begin, min(begin + rows, count(samples))) for begin in range(0, count(samples), rows)]
    own = Allowance(n_threads)
    found = [own.run(call_kernel, kernel.kernel, take(samples, part), vectors).T for part in parts]
    return np.ascontiguousarray(np.concatenate(found, axis=1))


def derived_rows(rows: RowSource, *, base: Any = None, scale: Any = None, ridge: Any = None) -> RowSource:
    """Derive a kernel: ``k'(i, j) = scale_i scale_j k(base_i, base_j) + [i = j] ridge_i``.

    Parameters
    ----------
    rows : RowSource
        The kernel to start from.
    base : array-like of int, optional
        The sample of `rows` behind each sample of the new kernel; each one once, in order, if not given. Regression
        with a `nu` has every sample twice, once for either side of its tube.
    scale : array-like, optional
        A label for each sample; 0 makes a sample that has nothing in common with any other, which is how a model
        without intercept gets rid of the sum constraint.
    ridge : array-like, optional
        What the square loss adds to the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels.rows import derived_rows, row_source
    >>> rows = row_source(np.array([[1.0], [2.0]]), kernel="linear")
    >>> derived_rows(rows, base=[0, 1, 1], ridge=[0.5, 0.5, 0.0]).diagonal()
    array([1.5, 4.5, 4. ])
    """
    behind = np.arange(rows.size, dtype=np.int32) if base is None else np.ascontiguousarray(base, dtype=np.int32)
    numbers = [None if given is None else np.ascontiguousarray(given, dtype=np.float64) for given in (scale, ridge)]
    return _core.derived_source(rows, behind, *numbers)


def kernel_matrix(
    X: Any,
    Y: Any = None,
    *,
    kernel: str = "rbf",
    gamma: float = 1.0,
    coef0: float = 0.0,
    degree: int = 3,
    dtype: str = "float32",
    n_jobs: int | None = None,
) -> NDArray[Any]:
    """Kernel values between all rows of `X` and all rows of `Y`.

    Tiles are computed as dot products or distances and pass through the kernel while they are in cache; without `Y`
    only the upper half is computed and mirrored. Cost: n m d multiplications (half of that if symmetric).

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    Y : ndarray or sparse matrix of shape (m, d), default=None
        None means `X` itself.
    kernel : {"linear", "poly", "rbf", "sigmoid"}
    gamma, coef0, degree
        See :class:`KernelParameters`.
    dtype : {"float32", "float64"}
        Type of the result and of the arithmetic.
    n_jobs : int, default=None
        Threads, as joblib counts them.

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> from widemargin.kernels.rows import kernel_matrix
    >>> kernel_matrix(np.array([[0.0], [1.0]]), gamma=1.0, dtype="float64").round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype={dtype!r} is not one of 'float32', 'float64'.")
    rows = row_source(X, kernel=kernel, gamma=gamma, coef0=coef0, degree=degree)
    columns = None if Y is None else core_samples(Y)
    if Y is not None and X.shape[1] != Y.shape[1]:
        raise ValueError(f"Y has {Y.shape[1]} columns where X has {X.shape[1]}.")
    compute = _core.kernel_matrix_float32 if dtype == "float32" else _core.kernel_matrix_float64
    with single_threaded_blas():
        return np.asarray(compute(rows, columns, thread_count(n_jobs)))
