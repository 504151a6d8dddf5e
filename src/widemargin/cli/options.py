"""Option values shared by several subcommands: how they are read and refused."""

import argparse
from math import isfinite

#: scikit-learn takes seeds of 32 bits.
LARGEST_SEED = 2**32 - 1


def n_jobs(text: str) -> int:
    """Read a number of threads."""
    if not text.removeprefix("-").isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number other than 0, got {text!r}")
    return int(text)


def whole_number(text: str) -> int:
    """Read a whole number of at least 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def fold_count(text: str) -> int:
    """Read a number of folds."""
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 2, got {text!r}")
    return int(text)


def seconds(text: str) -> float:
    """Read a number of seconds."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not (isfinite(number) and number > 0.0):
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, got {text!r}")
    return number


def character(text: str) -> str:
    """Read a single character."""
    if len(text) != 1:
        raise argparse.ArgumentTypeError(f"must be one character, got {text!r}")
    return text


def seed(text: str) -> int:
    """Read the seed of random numbers."""
    if not (text.isdecimal() and int(text) <= LARGEST_SEED):
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to {LARGEST_SEED}, got {text!r}")
    return int(text)
