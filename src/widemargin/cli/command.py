"""The ``widemargin`` command: parses the arguments and calls the module of the subcommand."""

from collections.abc import Sequence
from importlib.metadata import version

from widemargin.cli import demo, generate, predict, select
from widemargin.cli.messages import OneLineParser, run_subcommand


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
    parser = OneLineParser(
        prog="widemargin",
        description="Choose and train support vector machines, and report how far each model is from the optimum.",
    )
    parser.add_argument("--version", action="version", version=f"widemargin {version('widemargin')}")
    subcommands = parser.add_subparsers(title="subcommands", metavar="subcommand", required=True)
    select.configure(
        subcommands.add_parser(
            "select",
            help="choose a model for a table and save it",
            description="Standardises the features, chooses C and the width of a Gaussian kernel by cross-validation,"
            " and reports the choice, its score and the standard error.",
        )
    )
    predict.configure(
        subcommands.add_parser(
            "predict",
            help="predict the samples of a table with a saved model",
            description="Finds the model's features in the table, in any order, and writes a CSV table with one"
            " prediction per line.",
        )
    )
    generate.configure(
        subcommands.add_parser(
            "generate",
            help="write a table to try things out on",
            description="Draws samples from a distribution with a known Bayes error, and writes them as a CSV table.",
        )
    )
    demo.configure(
        subcommands.add_parser(
            "demo",
            help="choose two models on built-in data and draw them",
            description="Chooses a model for a noisy chess board and one for scikit-learn's breast cancer data, reports"
            " their error on held-out samples, and draws both.",
        )
    )
    return run_subcommand(parser.parse_args(arguments))
