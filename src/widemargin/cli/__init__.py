"""The ``widemargin`` command."""

from widemargin.cli.command import main

__all__ = ["main"]
