"""Plain text tables for a terminal."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], *, gap: int = 3) -> str:
    """Return rows of text as an aligned table: the first column to the left, all others to the right.

    Parameters
    ----------
    rows : sequence of sequences of str
        The first row is the heading, underlined in the result.
    gap : int, default=3
        Blanks between two columns.

    Returns
    -------
    table : str
        Without a newline at the end.

    Examples
    --------
    >>> from widemargin.inspection import aligned
    >>> print(aligned([["", "iris", "digits"], ["samples", "150", "1797"], ["features", "4", "64"]]))
               iris   digits
    ------------------------
    samples     150     1797
    features      4       64
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        (" " * gap)
        .join(
            field.rjust(width) if column else field.ljust(width)
            for column, (field, width) in enumerate(zip(row, widths, strict=True))
        )
        .rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * (sum(widths) + gap * (len(widths) - 1)), *lines[1:]])
