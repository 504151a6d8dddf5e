"""Values of options: what is read, and what is said of the others."""

from __future__ import annotations

import argparse

import pytest

from widemargin.cli import options


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (options.n_jobs, "-1", -1),
        (options.n_jobs, "4", 4),
        (options.whole_number, "1", 1),
        (options.fold_count, "2", 2),
        (options.seconds, "0.5", 0.5),
        (options.seconds, "1e3", 1000.0),
        (options.character, ";", ";"),
        (options.seed, "0", 0),
        (options.seed, str(2**32 - 1), 2**32 - 1),
    ],
)
def test_values_that_are_read(read, text, value):
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "accepted"),
    [
        (options.n_jobs, "0", "a whole number other than 0"),
        (options.n_jobs, "two", "a whole number other than 0"),
        (options.whole_number, "0", "a whole number of at least 1"),
        (options.whole_number, "1.5", "a whole number of at least 1"),
        (options.fold_count, "1", "a whole number of at least 2"),
        (options.seconds, "0", "a number of seconds above 0"),
        (options.seconds, "inf", "a number of seconds above 0"),
        (options.seconds, "nan", "a number of seconds above 0"),
        (options.seconds, "soon", "a number of seconds above 0"),
        (options.character, "", "one character"),
        (options.character, "ab", "one character"),
        (options.seed, "-1", "a whole number from 0 to 4294967295"),
        (options.seed, str(2**32), "a whole number from 0 to 4294967295"),
    ],
)
def test_values_that_are_not(read, text, accepted):
    with pytest.raises(argparse.ArgumentTypeError) as refused:
        read(text)
    assert str(refused.value) == f"must be {accepted}, got {text!r}"
