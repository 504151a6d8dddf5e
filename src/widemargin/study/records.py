"""What a record of a journal must look like: which names it has, and what belongs to each."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from typing import Any

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


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Tell whether a value is a number."""
    return is_whole(value) or isinstance(value, float)


def a_number_below(count: int) -> Kind:
    """Return the kind of numbers that count up to a limit."""
    return f"a whole number from 0 to {count - 1}", lambda value: is_whole(value) and 0 <= value < count


COUNT: Kind = "a whole number of at least 0", lambda value: is_whole(value) and value >= 0
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
