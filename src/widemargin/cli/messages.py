"""What the command says: results as a column of names, notes and errors in one line each, and an exit status."""

import argparse
import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any, NoReturn

#: Exit statuses, beside 0 for done: bad data or files, bad usage, Ctrl-C, an output that nobody reads any more.
FAILED, MISUSED, INTERRUPTED, UNREAD = 1, 2, 130, 141

Facts = Sequence[tuple[str, str]]

#: Columns that names of facts take.
INDENT = 10


class CommandError(Exception):
    """Why a subcommand failed, in one sentence; `status` becomes the exit status."""

    def __init__(self, sentence: str, status: int = FAILED) -> None:
        super().__init__(sentence)
        self.status = status


class OneLineParser(argparse.ArgumentParser):
    """A parser that reports errors in one line.

    Attributes
    ----------
    options : list of str
        The options that it knows.
    """

    def __init__(self, *positional: Any, **named: Any) -> None:
        self.options: list[str] = []
        super().__init__(*positional, **named)

    def add_argument(self, *names: Any, **named: Any) -> argparse.Action:
        """Declare an argument, as argparse does, and remember its names if it is an option."""
        action = super().add_argument(*names, **named)
        self.options += action.option_strings
        return action

    def require_known(self, given: Sequence[str]) -> None:
        """Refuse options that there are none of; left to argparse, what is missing would be told first."""
        for argument in given:
            if argument == "--":
                return
            name = argument.partition("=")[0]
            if name.startswith("--"):
                known = any(option.startswith(name) for option in self.options)  # argparse completes them
            else:
                known = not name.startswith("-") or name == "-" or name[1] in ".0123456789" or name[:2] in self.options
            if not known and " " not in argument:  # with a blank it is no option to argparse
                near = get_close_matches(name, self.options, n=1, cutoff=0.8)
                self.error(f"unknown option {name}{f'; did you mean {near[0]}?' if near else ''}")

    def error(self, message: str) -> NoReturn:
        """Print the error and where to read more, then exit."""
        self.exit(MISUSED, f"{self.prog}: {_one_line(message)} (see {self.prog} --help)\n")


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


def note(sentence: str) -> None:
    """Print a note on standard error."""
    print(_one_line(sentence), file=sys.stderr)


def progress_bar(quiet: bool) -> str | None:
    """Show a progress bar where standard error is a terminal, unless `quiet`."""
    if quiet or not sys.stderr.isatty():
        return None
    if find_spec("rich") is None:
        note("No progress bar: install rich with pip install 'widemargin[progress]'.")
        return None
    return "rich"


def run_subcommand(chosen: argparse.Namespace) -> int:
    """Run the subcommand and return its exit status; errors that a user can fix become one line."""
    # A help page is shown without all that these modules import.
    from widemargin.datasets.tables import TableError
    from widemargin.persistence.model_file import ModelFileError
    from widemargin.runtime.memory import NotEnoughMemoryError

    with suppress(AttributeError):  # there may be no output at all
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # names of files are bytes

    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            status: int = chosen.run(chosen)
            sys.stdout.flush()
            return status
        except BrokenPipeError:
            _forget_output()
            return UNREAD
        except CommandError as problem:
            return _ended(str(problem), problem.status)
        except (TableError, ModelFileError) as problem:
            return _ended(str(problem), FAILED)
        except OSError as problem:
            _forget_output()
            named = "" if problem.filename is None else f"{problem.filename}: "
            return _ended(f"{named}{problem.strerror or problem}", FAILED)
        except NotEnoughMemoryError as problem:
            return _ended(str(problem), FAILED)
        except MemoryError:
            return _ended("not enough memory", FAILED)


def interrupted() -> int:
    """Say that somebody pressed Ctrl-C, and return the exit status."""
    return _ended("interrupted", INTERRUPTED)


def _ended(sentence: str, status: int) -> int:
    print(f"widemargin: {_one_line(sentence)}", file=sys.stderr)
    return status


def _one_line(sentence: str) -> str:
    return " ".join(sentence.split())


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    note(f"Warning: {message}")


def _forget_output() -> None:
    # What is left in the buffer cannot be written, and Python would try once more, and complain, on its way out.
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
