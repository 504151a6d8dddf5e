"""Models of widemargin beside the one they come from: they take turns, and a table has a line for each."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, ClassVar

from benchmarks.peers.problems import Split
from benchmarks.peers.session import Verdict
from benchmarks.peers.table import render


@dataclass(frozen=True)
class Line:
    """A model: its median time, its vectors and its accuracy on the test set; subclasses add columns."""

    name: str
    seconds: float
    all_seconds: tuple[float, ...]
    n_vectors: int
    accuracy: float

    header: ClassVar[tuple[str, ...]] = ()

    def cells(self, first: Any) -> list[str]:
        """Render the columns of a subclass, beside the first line of the table."""
        return []


@dataclass(frozen=True)
class Result:
    """One problem: a model, and those that are compared with it."""

    problem: str
    lines: tuple[Any, ...]
    verdict: Verdict

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict under the problem's name."""
        return {self.problem: self.verdict}

    def table(self) -> str:
        """Render a line for each model, and the bar."""
        first = self.lines[0]
        header = ["model", "seconds", f"/ {first.name}", "vectors", *first.header, "accuracy"]
        rows = []
        for line in self.lines:
            rows.append(
                [line.name, f"{line.seconds:.3f}", f"{line.seconds / first.seconds:.2f}", f"{line.n_vectors:,d}"]
            )
            rows[-1] += [*line.cells(first), f"{line.accuracy:.4f}"]
        return f"{render(header, rows)}\nbar {self.verdict}"


def in_turns(
    makers: Mapping[str, Callable[[], Any]], repeats: int, split: Split
) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Make each model once a round; return the last of each with what every line says of it."""
    seconds: dict[str, list[float]] = {name: [] for name in makers}
    models: dict[str, Any] = {}
    for _ in range(repeats):
        for name, make in makers.items():
            began = time.perf_counter()
            models[name] = make()
            seconds[name].append(time.perf_counter() - began)
    return {
        name: (
            model,
            {
                "name": name,
                "seconds": median(seconds[name]),
                "all_seconds": tuple(seconds[name]),
                "n_vectors": len(model.support_),
                "accuracy": float(model.score(split.X_test, split.y_test)) if len(split.y_test) else float("nan"),
            },
        )
        for name, model in models.items()
    }
