"""Values that several subcommands take: how they are read, and what is said of bad ones."""

import argparse


def n_jobs(text: str) -> int:
    """Read a number of threads."""
    if not text.removeprefix("-").isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number other than 0, got {text!r}")
    return int(text)
