"""Memory: how far a fit rises above the data it was given.

Every fit runs in a fresh process that has loaded the data and made one small fit. The bar of widemargin: the peak is at
most what was there before (the data included), the kernel cache and ten float64 vectors of length n; and a cache of
40 MB costs at most three times the time of the cache it chooses itself. A copy of X that a fit keeps for itself is not
in that budget; the column "beyond / X" shows it as a 1.
"""

from dataclasses import dataclass, replace

from benchmarks.peers.measure import Job, Measurement, alternate
from benchmarks.peers.peers import PEERS
from benchmarks.peers.problems import Problem, Split
from benchmarks.peers.resident import Resident, available
from benchmarks.peers.session import OURS, Options, Verdict, choose_peers, compare_all, heading
from benchmarks.peers.table import megabytes, number, render

SMALL_CACHE = 40
SMALL_CACHE_FACTOR = 3.0
VECTORS = 10


@dataclass(frozen=True)
class Line:
    """One peer with one cache; ``budget`` is the cache and ten vectors, in bytes, as everything here."""

    peer: str
    cache: float | str
    seconds: float | None
    before: int | None
    peak: int | None
    growth: int | None
    budget: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """One problem: its lines and what follows for widemargin."""

    problem: str
    data_bytes: int
    lines: tuple[Line, ...]
    memory: Verdict
    time: Verdict

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdicts on memory and on time."""
        return {f"{self.problem}, peak": self.memory, f"{self.problem}, {SMALL_CACHE} MB against auto": self.time}

    def table(self) -> str:
        """Render the lines; the last column is what a fit took beyond its budget, in units of the data's size."""
        rows = []
        for found in self.lines:
            sizes = [
                "-" if size is None else megabytes(size)
                for size in (found.before, found.peak, found.growth, found.budget)
            ]
            given = input_bytes(found, self)
            beyond = None if found.growth is None else max(0.0, (found.growth - found.budget) / given)
            cache = found.cache if isinstance(found.cache, str) else f"{found.cache:g} MB"
            rows.append([found.peer, cache, number(found.seconds, ".3f"), *sizes, number(beyond, ".2f")])
        header = ["peer", "cache", "seconds", "before", "peak", "growth", "budget", "beyond / X"]
        remarks = [f"{found.peer}: {note}" for found in self.lines for note in found.notes]
        return "\n".join([render(header, rows), *remarks, f"peak {self.memory}", f"time {self.time}"])


def memory_command(options: Options) -> list[Result]:
    """Compare memory."""
    return compare_all("memory", options, compare, describe)


def describe(problem: Problem, split: Split, options: Options) -> str:
    """Describe a problem and the size of its data."""
    return f"{heading(problem, split, options)}, X takes {megabytes(split.X.nbytes)}"


def compare(problem: Problem, split: Split, options: Options) -> Result:
    """Measure every peer with the usual cache and with a small one; each repeat is a fresh process."""
    jobs: dict[str, Job] = {}
    for peer in choose_peers(problem, options, (OURS,)):
        usual = Job("memory", problem.name, peer, options.folder, options.n_jobs, options.samples)
        jobs[f"{peer}, usual"] = replace(usual, cache=usual.settings().cache)
        jobs[f"{peer}, small"] = replace(usual, cache=SMALL_CACHE)
    caches = {name: job.settings().cache for name, job in jobs.items()}
    budgets = {name: budget(cache, len(split.y)) for name, cache in caches.items()}  # of the memory free by now
    measured = alternate(
        jobs,
        repeats=options.repeats,
        time_limit=options.time_limit,
        single_above=options.single_above,
        fresh=True,
    )
    lines = tuple(line(jobs[name].entry, caches[name], found, budgets[name]) for name, found in measured.items())
    return Result(problem.name, split.X.nbytes, lines, judge_memory(lines), judge_time(lines))


def budget(cache: float | str, n: int) -> int:
    """Return the cache and ten vectors in bytes; "auto" may take a quarter of the free memory or the whole kernel."""
    cache_bytes = min(available() // 4, 4 * n * n) if isinstance(cache, str) else cache * 2**20
    return int(cache_bytes) + VECTORS * 8 * n


def line(peer: str, cache: float | str, measured: Measurement, allowed: int) -> Line:
    """Return the line of one plan: the median time and the largest growth."""
    notes = tuple(measured.notes)
    if not measured.runs:
        return Line(peer, cache, None, None, None, None, allowed, notes)
    highest: Resident = max((run.product for run in measured.runs), key=lambda found: found.growth)
    return Line(peer, cache, measured.seconds, highest.before, highest.peak, highest.growth, allowed, notes)


def judge_memory(lines: tuple[Line, ...]) -> Verdict:
    """Say whether widemargin kept to its budget with every cache."""
    ours = [found for found in lines if found.peer == OURS and found.growth is not None]
    if not ours:
        return Verdict(None, f"{OURS} has no measurement")
    reasons = [
        f"cache {found.cache}: grew by {megabytes(found.growth or 0)}, allowed {megabytes(found.budget)}"
        for found in ours
    ]
    return Verdict(all((found.growth or 0) <= found.budget for found in ours), "; ".join(reasons))


def judge_time(lines: tuple[Line, ...]) -> Verdict:
    """Say whether the small cache costs widemargin at most three times the time."""
    seconds = {found.cache: found.seconds for found in lines if found.peer == OURS}
    small, usual = seconds.get(SMALL_CACHE), seconds.get("auto")
    if small is None or usual is None:
        return Verdict(None, f"{OURS} has no pair of times")
    allowed = SMALL_CACHE_FACTOR * usual
    return Verdict(small <= allowed, f"{small:.4g} s, allowed {SMALL_CACHE_FACTOR:g} x auto = {allowed:.4g} s")


def input_bytes(found: Line, result: Result) -> float:
    """Return the size of X as the peer was handed it."""
    return result.data_bytes * PEERS[found.peer].input_type().itemsize / 8
