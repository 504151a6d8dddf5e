"""What counts as a number, wherever values come in."""

from __future__ import annotations

import numbers


def is_number(value: object) -> bool:
    """Tell whether a value is a real number, perhaps not a finite one; truth values are none.

    Examples
    --------
    >>> is_number(0.5), is_number(float("nan")), is_number(True), is_number("0.5")
    (True, True, False, False)
    """
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def is_whole(value: object, least: int | None = None) -> bool:
    """Tell whether a value is of a type of whole numbers, and large enough.

    Examples
    --------
    >>> is_whole(3, 1), is_whole(-3), is_whole(0, 1), is_whole(3.0, 1), is_whole(True, 1)
    (True, True, False, False, False)
    """
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        return False
    return least is None or int(value) >= least
