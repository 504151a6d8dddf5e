"""``widemargin generate``: a table to try things on, with a known Bayes error."""

import argparse
import csv
import io
from pathlib import Path

from widemargin import datasets
from widemargin.cli.messages import note
from widemargin.cli.options import seed, whole_number
from widemargin.cli.places import add_force, require_place
from widemargin.runtime.files import replaced_file

GENERATORS = {
    function.__name__.replace("_", "-"): function
    for function in (
        datasets.chess_board,
        datasets.noisy_chess_board,
        datasets.ringnorm,
        datasets.sparse_coordinates,
        datasets.twonorm,
        datasets.waveform,
    )
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", choices=GENERATORS, metavar="NAME", help=f"one of {', '.join(GENERATORS)}")
    parser.add_argument("table", type=Path, metavar="TABLE", help="the CSV file to write")
    parser.add_argument(
        "--samples", type=whole_number, default=1000, metavar="N", help="samples to draw (default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="seed of the random numbers (default: %(default)s)"
    )
    add_force(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Draw the samples and write them, with a header and the label in the last column."""
    require_place("TABLE", arguments.table, force=arguments.force)
    generator = GENERATORS[arguments.name]
    X, y = generator(arguments.samples, random_state=arguments.seed)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(f"x{column}" for column in range(1, X.shape[1] + 1)), "label"])
    writer.writerows([*row, label] for row, label in zip(X.tolist(), y.tolist(), strict=True))
    with replaced_file(arguments.table) as file:
        file.write(text.getvalue().encode("ascii"))
    note(
        f"{arguments.samples:,} samples written to {arguments.table}; the best possible error on new ones is "
        f"{datasets.bayes_error(generator):.1%}."
    )
    return 0
