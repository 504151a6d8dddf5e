"""Memory: what the core keeps for the next fit, and what to say if there is too little."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from widemargin import _core
from widemargin.runtime.limits import free_memory, total_memory

#: Columns of sparse samples up to which memory is not checked.
FEW_COLUMNS = 2**20

#: Bytes a column takes at least when sparse samples meet: a group of 16 of them, spread out, in float32.
BYTES_OF_A_COLUMN = 64


# Touching new memory takes longer than computing what goes there; what is kept for that must not crowd out others.
_core.keep_memory(min(256 * 2**20, total_memory() // 64))


def release_memory() -> None:
    """Give back the memory that is kept for the next fit (up to 256 MB, at most a 64th of what this process may use).

    Examples
    --------
    >>> import widemargin
    >>> widemargin.release_memory()
    """
    _core.release_memory()


class NotEnoughMemoryError(MemoryError):
    """There is not enough memory; the message is one sentence."""


def require_room_for_columns(columns: int) -> None:
    """Refuse sparse samples with too many columns for what kernels keep per column to fit into memory.

    Examples
    --------
    >>> require_room_for_columns(1000)
    >>> require_room_for_columns(10**15)
    Traceback (most recent call last):
    ...
    widemargin.runtime.memory.NotEnoughMemoryError: X has 1000000000000000 columns, ...
    """
    if columns <= FEW_COLUMNS:
        return
    needed, free = columns * BYTES_OF_A_COLUMN, free_memory()
    if needed > free:
        raise NotEnoughMemoryError(
            f"X has {columns} columns, for which kernels take at least {needed / 2**30:.3g} GiB of memory, and "
            f"{free / 2**30:.3g} GiB are free; leave out columns that hold nothing, or number features without gaps."
        )


def require_room(needed: int, what: str, smaller: str) -> None:
    """Refuse what takes more bytes than are free, and name the parameter to lower.

    Examples
    --------
    >>> require_room(1000, "the kernel counts", "k")
    >>> require_room(2**60, "the kernel counts", "k")
    Traceback (most recent call last):
    ...
    widemargin.runtime.memory.NotEnoughMemoryError: the kernel counts, which may take 1.07e+09 GiB of memory, and ...
    """
    free = free_memory()
    if needed > free:
        raise NotEnoughMemoryError(
            f"{what}, which may take {needed / 2**30:.3g} GiB of memory, and {free / 2**30:.3g} GiB are free; take a "
            f"smaller {smaller}."
        )


@contextmanager
def told_if_memory_runs_out(doing: str, advice: str) -> Iterator[None]:
    """Turn any MemoryError into one that says in one sentence what was being done.

    Examples
    --------
    >>> with told_if_memory_runs_out("to count", "count less"):
    ...     raise MemoryError("std::bad_alloc")
    Traceback (most recent call last):
    ...
    widemargin.runtime.memory.NotEnoughMemoryError: There was not enough memory to count (std::bad_alloc); count less.
    """
    try:
        yield
    except NotEnoughMemoryError:
        raise
    except MemoryError as error:
        detail = f" ({str(error).rstrip('.')})" if str(error) else ""
        raise NotEnoughMemoryError(f"There was not enough memory {doing}{detail}; {advice}.") from error
