"""Warnings and errors take one line."""

import argparse
import warnings

import pytest

from widemargin.cli.messages import run_subcommand


def test_warnings_take_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def warn(_: argparse.Namespace) -> int:
        warnings.warn("first\nsecond", UserWarning, stacklevel=1)
        return 0

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run_subcommand(argparse.Namespace(run=warn)) == 0
    assert capsys.readouterr().err == "Warning: first second\n"


def test_lack_of_memory(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_: argparse.Namespace) -> int:
        raise MemoryError

    assert run_subcommand(argparse.Namespace(run=fail)) == 1
    assert capsys.readouterr().err == "widemargin: not enough memory\n"


def test_errors_of_the_program_itself_are_not_hidden() -> None:
    def fail(_: argparse.Namespace) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_subcommand(argparse.Namespace(run=fail))
