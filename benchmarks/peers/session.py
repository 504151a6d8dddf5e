"""What the commands share: their options, the way through the problems, the judgement of a bar, and the record."""

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from benchmarks.peers.measure import Job, Measurement, alternate
from benchmarks.peers.models import KNOWN
from benchmarks.peers.peers import PEERS, TRAINERS, installed
from benchmarks.peers.problems import Bar, Problem, Split
from benchmarks.peers.table import indent, number, render

OURS = "widemargin"


@dataclass(frozen=True)
class Options:
    """The command line, read; ``peers`` is None where the problem decides."""

    problems: tuple[str, ...]
    repeats: int
    record: Path | None = None
    folder: Path | None = None
    peers: tuple[str, ...] | None = None
    n_jobs: int = 2
    time_limit: float = 120.0
    single_above: float = 30.0
    samples: int | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether a bar was met; None where it could not be judged."""

    passed: bool | None
    reason: str

    def __str__(self) -> str:
        word = {True: "pass", False: "FAIL", None: "not judged"}[self.passed]
        return f"{word}: {self.reason}"


class Result(Protocol):
    """What a command finds out about one problem; a dataclass, so that it can be recorded."""

    def table(self) -> str:
        """Render it."""

    def verdicts(self) -> Mapping[str, Verdict]:
        """Return what follows for widemargin, by name."""


class TimedLine(Protocol):
    """A line of a table of times."""

    @property
    def peer(self) -> str:
        """Who it is about."""

    @property
    def seconds(self) -> float | None:
        """The median time."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What else there is to say."""


Found = TypeVar("Found", bound=Result)
Line = TypeVar("Line", bound=TimedLine)


def compare_all(
    command: str,
    options: Options,
    compare: Callable[[Problem, Split, Options], Found],
    describe: Callable[[Problem, Split, Options], str],
    known: Mapping[str, Problem] = KNOWN,
) -> list[Found]:
    """Compare on one problem after the other; print a table of each and the verdicts at the end."""
    announce()
    results: list[Found] = []
    for name in options.problems:
        problem = known[name]
        try:
            split = problem.load(options.folder, options.samples)
        except FileNotFoundError as missing:
            print(f"\n{name}: skipped. {missing}")
            continue
        print(f"\n{describe(problem, split, options)}", flush=True)
        results.append(compare(problem, split, options))
        print(indent(results[-1].table()), flush=True)
        save(options.record, command, options, results)
    print("\n" + summary({name: verdict for result in results for name, verdict in result.verdicts().items()}))
    return results


def present_peers() -> dict[str, str]:
    """Return the version of every installed peer."""
    versions = {name: installed(peer) for name, peer in PEERS.items()}
    return {name: found for name, found in versions.items() if found is not None}


def choose_peers(problem: Problem, options: Options, usual: Sequence[str] = TRAINERS) -> list[str]:
    """Return the installed entries to run: those asked for, or the usual ones without the problem's slow ones."""
    known = problem.entries or PEERS
    wanted = options.peers or [name for name in problem.entries or usual if name not in problem.left_out]
    present = present_peers()
    return [name for name in wanted if name in known and problem.entry(name).peer in present]


def measure(task: str, problem: Problem, peers: Sequence[str], options: Options) -> dict[str, Measurement]:
    """Run one task for every entry, in alternation."""
    jobs = {peer: Job(task, problem.name, peer, options.folder, options.n_jobs, options.samples) for peer in peers}
    return alternate(jobs, repeats=options.repeats, time_limit=options.time_limit, single_above=options.single_above)


def judge(
    bar: Bar | None, seconds: Mapping[str, float | None], options: Options, objections: Sequence[str] = ()
) -> Verdict:
    """Compare our median time with the bar; any objection against our result is a failure whatever the time."""
    if bar is None:
        return Verdict(None, "the problem has no bar")
    if options.samples is not None:
        return Verdict(None, f"the bar is for the whole problem, not for {options.samples} samples")
    ours = seconds.get(OURS)
    if ours is None:
        return Verdict(None, f"{OURS} has no time")
    rivals = {name: time for name in bar.peers if (time := seconds.get(name)) is not None}
    if not rivals:
        return Verdict(None, f"no time of {' or '.join(bar.peers)}")
    fastest = min(rivals, key=rivals.__getitem__)
    allowed = bar.factor * rivals[fastest]
    comparison = f"{ours:.4g} s, allowed {bar.factor:.3g} x {fastest} = {allowed:.4g} s"
    return Verdict(ours <= allowed and not objections, "; ".join((comparison, *objections)))


def heading(problem: Problem, split: Split, options: Options) -> str:
    """Describe a problem and how it is run."""
    times = "once" if options.repeats == 1 else f"median of {options.repeats} alternating runs"
    parameters = [f"{name} = {value}" for name, value in problem.parameters.items()]
    described = [f"{split.X.shape[0]:,} x {split.X.shape[1]}", *parameters]
    described += [f"gamma = {problem.gamma:.4g}"] if problem.parameters.get("kernel") != "linear" else []
    described += [f"{problem.calls} calls a run"] if problem.calls > 1 else []
    return f"{problem.name}: {', '.join(described)}, {problem.threads(options.n_jobs)} threads, {times}"


def timing_table(
    lines: Sequence[Line],
    header: Sequence[str],
    cells: Callable[[Line], list[str]],
    remarks: Callable[[Line], Sequence[str]] = lambda line: line.notes,
) -> str:
    """Render the time of every line beside widemargin's, then its other cells; remarks go below."""
    ours = next((line.seconds for line in lines if line.peer == OURS), None)
    rows = []
    for line in lines:
        ratio = None if ours is None or line.seconds is None else line.seconds / ours
        rows.append([line.peer, number(line.seconds, ".4f"), number(ratio, ".2f"), *cells(line)])
    below = [f"{line.peer}: {remark}" for line in lines for remark in remarks(line)]
    return "\n".join([render(["peer", "seconds", "/ ours", *header], rows), *below])


def environment() -> dict[str, Any]:
    """Say what the times were measured on."""
    return {
        "python": platform.python_version(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "peers": present_peers(),
        "missing": [name for name in PEERS if name not in present_peers()],
    }


def announce() -> None:
    """Print the environment and name the peers that are missing."""
    known = environment()
    peers = ", ".join(f"{name} {found}" for name, found in known["peers"].items())
    print(f"Python {known['python']} on {known['processor']}, {known['cores']} cores; {peers}")
    if known["missing"]:
        print(f"not installed, left out: {', '.join(known['missing'])}")


def save(record: Path | None, command: str, options: Options, results: Sequence[Any]) -> None:
    """Write everything measured so far as JSON."""
    if record is None:
        return
    content = {
        "command": command,
        "options": {key: value for key, value in asdict(options).items() if key not in ("folder", "record")},
        "environment": environment(),
        "results": [asdict(result) for result in results],
    }
    record.write_text(json.dumps(content, indent=2))


def summary(verdicts: Mapping[str, Verdict]) -> str:
    """List the verdicts of all problems."""
    width = max((len(name) for name in verdicts), default=0)
    return "\n".join(f"{name:<{width}}  {verdict}" for name, verdict in verdicts.items())


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
