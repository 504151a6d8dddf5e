"""Results as a column of names and what there is to say of each."""

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence

Facts = Sequence[tuple[str, str]]

#: Columns that names take.
INDENT = 10


def print_facts(facts: Facts) -> None:
    """Print facts: wrapped in a terminal, one line each elsewhere, so that programs find them."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print("\n".join(lines(facts, width)))


def lines(facts: Facts, width: int | None = None) -> list[str]:
    """Return facts as lines, wrapped to some width.

    Examples
    --------
    >>> for line in lines([("score", "accuracy 0.98"), ("ties", "none among 72 candidates")], width=24):
    ...     print(line)
    score     accuracy 0.98
    ties      none among 72
              candidates
    """
    if width is None:
        return [f"{name:<{INDENT}}{text}" for name, text in facts]
    room = max(INDENT, width - INDENT)
    return [
        f"{name if number == 0 else '':<{INDENT}}{line}"
        for name, text in facts
        for number, line in enumerate(textwrap.wrap(text, room, break_long_words=False))
    ]


def print_heading(text: str) -> None:
    """Print a heading, in bold where a terminal shows it."""
    bold = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    print(f"\033[1m{text}\033[0m" if bold else text, flush=True)
