"""The ``widemargin`` command: one file for each subcommand, and what they share.

May import everything but ``testing``; nothing imports it.
"""

from widemargin.cli.command import main

__all__ = ["main"]
