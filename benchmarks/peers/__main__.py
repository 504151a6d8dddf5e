"""Command line: ``python -m benchmarks.peers COMMAND``, such as fit, search or predict; see --help."""

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from benchmarks.peers.classes import BARRED as MANY_CLASSES
from benchmarks.peers.classes import PROBLEMS as CLASSES
from benchmarks.peers.classes import classes_command
from benchmarks.peers.compress import BARS, COMPRESSIBLE, compress_command
from benchmarks.peers.features import DISTANCES, features_command
from benchmarks.peers.fit import fit_command, models_command
from benchmarks.peers.imports import STATEMENTS, import_command
from benchmarks.peers.memory import memory_command
from benchmarks.peers.models import MODELS
from benchmarks.peers.online import STREAMS, online_command
from benchmarks.peers.peers import TRAINERS
from benchmarks.peers.predict import predict_command
from benchmarks.peers.problems import BARRED, PREDICTABLE, PREDICTED, PROBLEMS, Problem
from benchmarks.peers.quantize import PROBLEMS as QUANTISED
from benchmarks.peers.quantize import quantize_command
from benchmarks.peers.search import search_command
from benchmarks.peers.searches import SEARCHES
from benchmarks.peers.sequences import BARS as SEQUENCE_BARS
from benchmarks.peers.sequences import PROBLEMS as SEQUENCES
from benchmarks.peers.sequences import sequences_command
from benchmarks.peers.session import OURS, Options
from benchmarks.peers.streams import BARS as STREAM_BARS
from benchmarks.peers.streams import streams_command

Number = TypeVar("Number", int, float)


class Command(NamedTuple):
    """A command: which problems and peers may be named, which problems run otherwise, and how long a run may take.

    Without ``peers`` it only has the options that say what runs how often.
    """

    run: Callable[[Options], Any]
    summary: str
    problems: Mapping[str, Any]
    usual: Sequence[str]
    peers: Sequence[str] = TRAINERS
    time_limit: float = 120.0
    single_above: float = 30.0


def entries(problems: Mapping[str, Problem]) -> tuple[str, ...]:
    """Return the names of all who take part in some of the problems."""
    return tuple(dict.fromkeys(name for problem in problems.values() for name in problem.entries))


COMMANDS = {
    "fit": Command(
        fit_command, "training time, objective and violation", PROBLEMS, [problem.name for problem in BARRED]
    ),
    "models": Command(models_command, "the same for models other than SVC", MODELS, list(MODELS), entries(MODELS)),
    "predict": Command(predict_command, "prediction time", PREDICTABLE, [problem.name for problem in PREDICTED]),
    "compress": Command(compress_command, "models over fewer vectors", COMPRESSIBLE, list(BARS), [OURS]),
    "online": Command(online_command, "LASVM beside the batch model", STREAMS, list(STREAMS), [OURS]),
    "memory": Command(memory_command, "peak memory of a fit with two caches", PROBLEMS, ["a9a"]),
    "search": Command(
        search_command,
        "time and scores of model selection",
        SEARCHES,
        list(SEARCHES),
        entries(SEARCHES),
        time_limit=900.0,
        single_above=5.0,
    ),
    "quantize": Command(
        quantize_command, "time of vector quantisation beside KMeans", QUANTISED, list(QUANTISED), peers=()
    ),
    "classes": Command(classes_command, "many classes beside scikit-learn", CLASSES, list(MANY_CLASSES), peers=()),
    "import": Command(import_command, "processor time of imports", STATEMENTS, list(STATEMENTS), peers=()),
    "sequences": Command(
        sequences_command, "oligo kernels beside a product of indicators", SEQUENCES, list(SEQUENCE_BARS), peers=()
    ),
    "streams": Command(streams_command, "streams of one sample at a time", STREAM_BARS, list(STREAM_BARS), peers=()),
    "features": Command(
        features_command, "distances with a feature more or less", DISTANCES, list(DISTANCES), peers=()
    ),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run the command."""
    given = vars(parser().parse_args(arguments))
    command = COMMANDS[given.pop("command")]
    given["problems"] = given["problems"] or tuple(command.usual)
    command.run(Options(**given))


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description="widemargin and its peers, side by side"
    )
    commands = top.add_subparsers(dest="command", required=True)
    for name, known in COMMANDS.items():
        command = commands.add_parser(name, help=known.summary, description=known.summary)
        command.add_argument(
            "--problems",
            type=names("problem", known.problems),
            help=f"comma-separated, of {', '.join(known.problems)}; {', '.join(known.usual)} otherwise",
        )
        command.add_argument("--repeats", type=positive(int), default=3, help="runs of each (%(default)s)")
        command.add_argument("--json", dest="record", type=Path, help="file for all numbers")
        if not known.peers:
            continue
        command.add_argument(
            "--data",
            dest="folder",
            type=Path,
            help="folder of the data sets; the environment variable WIDEMARGIN_DATA otherwise",
        )
        command.add_argument(
            "--peers",
            type=names("peer", known.peers),
            help=f"comma-separated, of {', '.join(known.peers)}; otherwise all that do not need minutes",
        )
        command.add_argument("--n-jobs", type=positive(int), default=2, help="threads per peer (%(default)s)")
        command.add_argument(
            "--time-limit",
            type=positive(float),
            default=known.time_limit,
            help="seconds after which a run is killed (%(default)s)",
        )
        command.add_argument(
            "--single-above",
            type=positive(float),
            default=known.single_above,
            help="a run longer than this many seconds is not repeated (%(default)s)",
        )
        command.add_argument(
            "--samples", type=positive(int), help="train on this many samples only; no bar is judged then"
        )
    return top


def names(kind: str, known: Collection[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a reader of comma-separated names."""

    def read(text: str) -> tuple[str, ...]:
        wanted = tuple(text.split(","))
        for name in wanted:
            if name not in known:
                raise argparse.ArgumentTypeError(f"there is no {kind} {name!r}; known are {', '.join(known)}")
        return wanted

    return read


def positive(kind: Callable[[str], Number]) -> Callable[[str], Number]:
    """Return a reader of positive numbers."""

    def read(text: str) -> Number:
        value = kind(text)
        if value <= 0:
            raise argparse.ArgumentTypeError(f"must be positive, got {text}")
        return value

    return read


if __name__ == "__main__":
    main()
