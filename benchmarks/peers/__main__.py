"""Command line: ``python -m benchmarks.peers fit | predict | memory``."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.peers.fit import fit_command
from benchmarks.peers.memory import memory_command
from benchmarks.peers.peers import PEERS
from benchmarks.peers.predict import predict_command
from benchmarks.peers.problems import BARRED, PREDICTED, PROBLEMS
from benchmarks.peers.session import Options

Number = TypeVar("Number", int, float)

COMMANDS: dict[str, tuple[Callable[[Options], Any], tuple[str, ...], str]] = {
    "fit": (fit_command, tuple(problem.name for problem in BARRED), "training time, objective and violation"),
    "predict": (predict_command, tuple(problem.name for problem in PREDICTED), "prediction time"),
    "memory": (memory_command, ("a9a",), "peak memory of a fit with two caches"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run the command."""
    given = parser().parse_args(arguments)
    command, problems, _ = COMMANDS[given.command]
    command(
        Options(
            folder=given.data,
            problems=given.problems or problems,
            peers=given.peers,
            repeats=given.repeats,
            n_jobs=given.n_jobs,
            time_limit=given.time_limit,
            single_above=given.single_above,
            rows=given.rows,
            record=given.json,
        )
    )


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description="widemargin and its peers, side by side"
    )
    commands = top.add_subparsers(dest="command", required=True)
    for name, (_, problems, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        command.add_argument(
            "--data", type=Path, help="folder of the data sets; the environment variable WIDEMARGIN_DATA otherwise"
        )
        command.add_argument(
            "--problems",
            type=names("problem", PROBLEMS),
            help=f"comma-separated, of {', '.join(PROBLEMS)}; {', '.join(problems)} otherwise",
        )
        command.add_argument(
            "--peers",
            type=names("peer", PEERS),
            help=f"comma-separated, of {', '.join(PEERS)}; otherwise all that do not need minutes for the problem",
        )
        command.add_argument("--repeats", type=positive(int), default=3, help="runs per peer (%(default)s)")
        command.add_argument("--n-jobs", type=positive(int), default=2, help="threads per peer (%(default)s)")
        command.add_argument(
            "--time-limit",
            type=positive(float),
            default=120.0,
            help="seconds after which a run is killed (%(default)s)",
        )
        command.add_argument(
            "--single-above",
            type=positive(float),
            default=30.0,
            help="a run longer than this many seconds is not repeated (%(default)s)",
        )
        command.add_argument("--rows", type=positive(int), help="train on this many rows only; no bar is judged then")
        command.add_argument("--json", type=Path, help="file for all numbers")
    return top


def names(kind: str, known: dict[str, Any]) -> Callable[[str], tuple[str, ...]]:
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
