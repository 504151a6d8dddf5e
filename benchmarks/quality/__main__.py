"""Command line: ``python -m benchmarks.quality COMMAND``, such as budget; see --help."""

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.quality import budget, one_class


class Command(NamedTuple):
    """A table: its options, how it is computed and printed, and what it is."""

    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]
    summary: str


COMMANDS = {
    "budget": Command(budget.add_arguments, budget.run, budget.SUMMARY),
    "one_class": Command(one_class.add_arguments, one_class.run, one_class.SUMMARY),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and print a table; the exit status is 1 where its bar is missed."""
    top = argparse.ArgumentParser(prog="python -m benchmarks.quality", description="accuracies of models, with bars")
    commands = top.add_subparsers(dest="command", required=True)
    for name, command in COMMANDS.items():
        command.add_arguments(commands.add_parser(name, help=command.summary, description=command.summary))
    given = top.parse_args(arguments)
    COMMANDS[given.command].run(given)


if __name__ == "__main__":
    main()
