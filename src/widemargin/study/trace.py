"""Every evaluation of a search, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from widemargin.runtime import Work
from widemargin.study.findings import Finding, Vector
from widemargin.study.points import Points
from widemargin.study.report import SearchReport

#: Stages of a search: the seed that it was not given; the objective at points of the strategy; scores of models along
#: C, for the kernel chosen.
BEGINNING, SEARCH, PATH = "beginning", "search", "C"

#: What is counted of each evaluation.
COUNTED = ("trained", "iterations", "kernel_evaluations", "factorizations")

#: Rows that are shown of the beginning and of the end, and columns of parameters.
SHOWN_ROWS, SHOWN_PARAMETERS = 3, 4


class Trace(Sequence[dict[str, Any]]):
    """What a search evaluated, in order: parameters, values, gradients and costs.

    A sequence of rows, each a dict; ``trace["value"]`` is a column, ``trace.columns`` all of them, as data frames are
    made from: ``pandas.DataFrame(trace.columns)``. The columns:

    - `stage`: "search" for values of the objective, "C" for scores along C that follow once the kernel is chosen;
    - `evaluation`: the number, from 0 within each stage;
    - the parameters by name, C last;
    - `part`: which of the objective's problems was evaluated by itself, -1 for all of them;
    - `value`: of the objective, or the mean score;
    - `gradient_norm`: Euclidean norm of the gradient on the scale of the search (logarithms); NaN if there is none;
    - `best`: the best value so far, within each stage, of those for all problems;
    - `trained`, `iterations`, `kernel_evaluations`, `factorizations`: what was trained and computed for it;
    - `seconds`: how long it took.

    Parameters
    ----------
    names : sequence of str
        Parameters that are searched, in the order of points.
    logarithmic : sequence of bool
        Whether a coordinate is the logarithm of its parameter; others are shown as they are.
    greater_is_better : bool
        Whether that is so for values of the objective.
    price : float, optional
        C of the evaluations, for searches that choose C after the kernel.
    kept : Points, optional
        How points are kept, those of findings too; as they are by default.

    Examples
    --------
    >>> trace = Trace(["gamma"], [True], greater_is_better=True)
    >>> for number, value in enumerate([0.5, 0.25]):
    ...     trace.add(Finding(number, value, Work(seconds=0.25), point=np.log([2.0**number]), gradient=np.array([0.1])))
    >>> len(trace), trace["gamma"].round(12).tolist(), trace[1]["best"]
    (2, [1.0, 2.0], 0.5)
    >>> trace
    Trace of 2 evaluations in 0.5 s
         stage  evaluation  gamma  value  gradient_norm  best  trained  seconds
        search           0      1    0.5            0.1   0.5        0     0.25
        search           1      2   0.25            0.1   0.5        0     0.25
    """

    def __init__(
        self,
        names: Sequence[str],
        logarithmic: Sequence[bool],
        *,
        greater_is_better: bool,
        price: float | None = None,
        kept: Points | None = None,
    ) -> None:
        self.kept = Points(np.zeros(len(logarithmic), dtype=np.bool_)) if kept is None else kept
        self.names = (*names, "C") if price is not None else tuple(names)
        self._logarithmic = np.array(logarithmic, dtype=np.bool_)
        self._greater_is_better = greater_is_better
        self._price = price
        self._rows: list[tuple[Vector, int, float, float, Work]] = []
        self._path: list[tuple[float, float, Work]] = []
        self._chosen: Vector | None = None

    def add(self, finding: Finding) -> None:
        """Add an evaluation of the objective."""
        norm = np.nan if finding.gradient is None else float(np.sqrt(finding.gradient @ finding.gradient))
        part = -1 if finding.part is None else finding.part
        # One append, so that Ctrl-C leaves no half of a row.
        assert finding.point is not None
        self._rows.append((finding.point, part, finding.value, norm, finding.work))

    def add_path(self, chosen: Vector, path: Sequence[tuple[float, float, Work]]) -> None:
        """Add values of C, their scores and what they took, for the kernel at the point that was chosen."""
        self._chosen = chosen
        self._path.extend(path)

    @property
    def points(self) -> NDArray[np.float64]:
        """Points of the evaluations of the objective as they are kept, in the coordinates of the search."""
        return np.array([row[0] for row in self._rows], dtype=np.float64).reshape(len(self._rows), self.kept.n_dims)

    @property
    def parts(self) -> NDArray[np.intp]:
        """The column `part` of the evaluations of the objective."""
        return np.array([row[1] for row in self._rows], dtype=np.intp)

    @property
    def values(self) -> NDArray[np.float64]:
        """Values of the evaluations of the objective."""
        return np.array([row[2] for row in self._rows], dtype=np.float64)

    @property
    def n_evaluations(self) -> int:
        """How often the objective was evaluated."""
        return len(self._rows)

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """All columns by name."""
        points = self.points
        return {name: self._column(name, points) for name in self._headings}

    @property
    def _headings(self) -> tuple[str, ...]:
        return ("stage", "evaluation", *self.names, "part", "value", "gradient_norm", "best", *COUNTED, "seconds")

    def _column(self, name: str, points: NDArray[np.float64] | None = None) -> NDArray[Any]:
        """Compute one column; `points` as they are kept, if they are at hand."""
        n, m = len(self._rows), len(self._path)
        if name == "stage":
            return np.array([SEARCH] * n + [PATH] * m, dtype=object)
        if name == "evaluation":
            return np.concatenate([np.arange(n), np.arange(m)])
        if name == "part":
            return np.concatenate([self.parts, np.full(m, -1, dtype=np.intp)])
        if name == "value":
            return np.concatenate([self.values, np.array([row[1] for row in self._path], dtype=np.float64)])
        if name == "gradient_norm":
            return np.array([row[3] for row in self._rows] + [np.nan] * m, dtype=np.float64)
        if name == "best":
            whole = np.where(self._column("part") == -1, self._column("value"), np.nan)
            better = np.fmax if self._greater_is_better else np.fmin
            return np.concatenate([better.accumulate(whole[:n]), np.fmax.accumulate(whole[n:])])
        if name in (*COUNTED, "seconds"):
            works = [row[4] for row in self._rows] + [row[2] for row in self._path]
            kind = np.float64 if name == "seconds" else np.int64
            return np.array([getattr(one, name) for one in works], dtype=kind)
        if name not in self.names:
            raise KeyError(name)
        return self._parameter(self.names.index(name), self.points if points is None else points)

    def _parameter(self, place: int, points: NDArray[np.float64]) -> NDArray[Any]:
        n, m = len(self._rows), len(self._path)
        if place == len(self._logarithmic):
            return np.array([self._price] * n + [row[0] for row in self._path], dtype=np.float64)
        own = self.kept.column(points, place)
        if m:
            assert self._chosen is not None
            own = np.concatenate([own, np.full(m, self._chosen[place])])
        return np.asarray(np.exp(own)) if self._logarithmic[place] else own

    def __len__(self) -> int:
        return len(self._rows) + len(self._path)

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._column(key)
        if isinstance(key, slice):
            return list(self)[key]
        columns = self.columns
        return {name: column[key].item() if column.dtype != object else column[key] for name, column in columns.items()}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        lists = {name: column.tolist() for name, column in self.columns.items()}
        return (dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True))

    def __repr__(self) -> str:
        seconds = float(self["seconds"].sum())
        lines = [f"Trace of {len(self)} evaluation{'s' * (len(self) != 1)} in {seconds:.3g} s"]
        further = self.names[SHOWN_PARAMETERS - 1 : -1] if len(self.names) > SHOWN_PARAMETERS else ()
        hidden = {*further, "iterations", "kernel_evaluations", "factorizations"}
        if (self["part"] == -1).all():
            hidden.add("part")
        names = [name for name in self._headings if name not in hidden]
        columns = {name: self[name] for name in names}
        if not len(self):
            return lines[0]
        rows = list(range(len(self)))
        middle = rows[SHOWN_ROWS:-SHOWN_ROWS]
        shown = rows if len(middle) < 2 else rows[:SHOWN_ROWS] + rows[-SHOWN_ROWS:]
        cells = [names, *([_cell(columns[name][row]) for name in names] for row in shown)]
        widths = [max(len(row[place]) for row in cells) for place in range(len(names))]
        table = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        if len(middle) >= 2:
            table.insert(1 + SHOWN_ROWS, "...")
        if further:
            lines[0] += f"; not shown: {further[0]}" + (f" to {further[-1]}" if len(further) > 1 else "")
        return "\n    ".join([*lines, *table])


def report_of(trace: Trace, path: SearchReport | None, seconds: float) -> SearchReport:
    """Add up what the evaluations of an objective took."""
    work = replace(Work.total([row[4] for row in trace._rows]), seconds=seconds)
    return SearchReport(evaluations=trace.n_evaluations, path=path, **work.counts())


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
