"""The ``widemargin`` command: parses the arguments and calls the module of the subcommand."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

from widemargin.cli.messages import OneLineParser, interrupted, run_subcommand

#: What each subcommand does, in the list of all of them and on its own page; its module has its name.
SUBCOMMANDS = {
    "select": (
        "choose a model for a table and save it",
        "Standardises the features, chooses C and the width of a Gaussian kernel by cross-validation, and reports the "
        "choice, its score and the standard error.",
    ),
    "predict": (
        "predict the samples of a table with a saved model",
        "Finds the model's features in the table, in any order, and writes a CSV table with one prediction per line.",
    ),
    "generate": (
        "write a table to try things out on",
        "Draws samples from a distribution with a known Bayes error, and writes them as a CSV table.",
    ),
    "demo": (
        "choose two models on built-in data and draw them",
        "Chooses a model for a noisy chess board and one for scikit-learn's breast cancer data, reports their error on "
        "held-out samples, and draws both.",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        Arguments after the command's name; None takes those of the process.

    Returns
    -------
    status : int
        0 for success, 1 for data or files that cannot be used, 130 after Ctrl-C. Wrong arguments end the process with
        status 2.

    Examples
    --------
    >>> from widemargin.cli import main
    >>> main(["demo", "--output", "picture.png"])  # doctest: +SKIP
    0
    """
    try:
        return run_subcommand(_parsed(sys.argv[1:] if arguments is None else list(arguments)))
    except KeyboardInterrupt:
        return interrupted()


def _parsed(given: list[str]) -> argparse.Namespace:
    """Parse arguments; those of the subcommand need its module, whose imports take a while."""
    parser = OneLineParser(
        prog="widemargin",
        description="Choose and train support vector machines, and report how far each model is from the optimum.",
    )
    parser.add_argument("--version", action="version", version=f"widemargin {version('widemargin')}")
    subcommands = parser.add_subparsers(title="subcommands", metavar="subcommand", required=True)
    place = next((number for number, one in enumerate(given) if not one.startswith("-")), len(given))
    parser.require_known(given[:place])
    chosen = given[place] if place < len(given) else None
    for name, (summary, description) in SUBCOMMANDS.items():
        subparser = subcommands.add_parser(name, help=summary, description=description)
        if name == chosen:
            import_module(f"widemargin.cli.{name}").configure(subparser)
            subparser.require_known(given[place + 1 :])
    return parser.parse_args(given)
