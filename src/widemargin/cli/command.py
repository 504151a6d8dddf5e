"""The ``widemargin`` command: reads the arguments and hands over to one module per subcommand."""

from collections.abc import Sequence
from importlib.metadata import version

from widemargin.cli import demo, generate, predict, select
from widemargin.cli.messages import OneLineParser, run_subcommand


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        The arguments behind the command's name; None takes those of the process.

    Returns
    -------
    status : int
        0 if everything asked for was done, 1 if data or files did not allow it, 130 after Ctrl-C. Arguments that make
        no sense end the process with 2.

    Examples
    --------
    >>> from widemargin.cli import main
    >>> main(["demo", "--output", "picture.png"])  # doctest: +SKIP
    0
    """
    parser = OneLineParser(
        prog="widemargin", description="Choose and train support vector machines exactly, and say how exactly."
    )
    parser.add_argument("--version", action="version", version=f"widemargin {version('widemargin')}")
    subcommands = parser.add_subparsers(title="subcommands", metavar="subcommand", required=True)
    select.configure(
        subcommands.add_parser(
            "select",
            help="choose a machine for the rows of a table, and save it",
            description="Standardises the features, chooses C and the width of a Gaussian kernel by cross-validation,"
            " and says what was chosen and how sure that is.",
        )
    )
    predict.configure(
        subcommands.add_parser(
            "predict",
            help="predict the rows of a table with a saved model",
            description="Reads the columns that the model was trained on, in whatever order, and writes a CSV table"
            " with one prediction a line.",
        )
    )
    generate.configure(
        subcommands.add_parser(
            "generate",
            help="write a table to try things out on",
            description="Draws rows of a distribution whose best possible error is known, and writes a CSV table.",
        )
    )
    demo.configure(
        subcommands.add_parser(
            "demo",
            help="choose two machines, say how good they are, write a picture",
            description="Chooses a machine for a generated noisy chess board and one for scikit-learn's breast-cancer"
            " data, says what was chosen and how good that is on rows held out, and writes a picture of both.",
        )
    )
    return run_subcommand(parser.parse_args(arguments))
