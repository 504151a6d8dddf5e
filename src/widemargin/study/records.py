"""What a record of a journal must look like: which names it has, and what belongs to each."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from typing import Any

from widemargin.runtime.checks import is_number, is_whole

#: What belongs into a field, in words, and whether something does.
Kind = tuple[str, Callable[[Any], bool]]


def what_is_wrong(
    record: Mapping[str, Any], kinds: Mapping[str, Kind], what: str, others: Mapping[str, Kind] | None = None
) -> str | None:
    """Say what keeps a record from being what it should be, as :meth:`Journal.refuse` goes on; None if nothing does.

    Parameters
    ----------
    record : mapping
    kinds : mapping
        The fields that it must have.
    what : str
        What such records are, in the plural.
    others : mapping, optional
        Further fields that it may have.

    Examples
    --------
    >>> what_is_wrong({"split": -1}, {"split": a_number_below(3)}, "evaluations")
    "where 'split' is -1 in place of a whole number from 0 to 2"
    """
    for name in kinds:
        if name not in record:
            return f"which lacks {name!r}"
    allowed = {**kinds, **(others or {})}
    for name, value in record.items():
        if name not in allowed:
            return f"which holds {reprlib.repr(name)}, a name that {what} do not have"
        wanted, fits = allowed[name]
        if not fits(value):
            return f"where {name!r} is {reprlib.repr(value)} in place of {wanted}"
    return None


def a_number_below(count: int) -> Kind:
    """Return the kind of numbers that count up to a limit."""
    return f"a whole number from 0 to {count - 1}", lambda value: is_whole(value, 0) and value < count


COUNT: Kind = "a whole number of at least 0", lambda value: is_whole(value, 0)
NUMBER: Kind = "a number", is_number
TRUTH: Kind = "true or false", lambda value: isinstance(value, bool)
STRINGS: Kind = (
    "a list of strings",
    lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
)


def numbers_in(count: int | None) -> Kind:
    """Return the kind of lists of so many numbers, or of any."""
    words = "a list of numbers" if count is None else f"a list of {count} numbers"
    return words, lambda value: isinstance(value, list) and all(map(is_number, value)) and count in (None, len(value))
