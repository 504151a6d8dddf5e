"""Plain text tables and number formats."""

from collections.abc import Sequence


def render(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned table: the first column to the left, the others to the right."""
    columns = list(zip(header, *rows, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns]
    lines = []
    for row in (header, *rows):
        first, *others = (
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join((first, *others)).rstrip())
    return "\n".join(lines)


def indent(text: str) -> str:
    """Set a block off by two blanks."""
    return "\n".join(f"  {line}" for line in text.splitlines())


def number(value: float | None, style: str) -> str:
    """Format a number that may be missing."""
    return "-" if value is None else format(value, style)


def megabytes(n_bytes: float) -> str:
    """Format a number of bytes."""
    return f"{n_bytes / 2**20:,.1f} MB"
