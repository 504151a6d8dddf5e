"""The table of a search's evaluations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from widemargin.runtime import Work
from widemargin.study import Trace
from widemargin.study.findings import Finding


def finding(number: int, value: float, part: int | None = None, point: tuple[float, ...] = (0.0, 1.0)) -> Finding:
    work = Work(trained=1, iterations=10, kernel_evaluations=100, factorizations=2, seconds=0.5)
    return Finding(number, value, work, point=np.array(point), part=part, gradient=np.array([3.0, 4.0]))


def trace(values: list[float], *, greater: bool = True, parts: list[int | None] | None = None) -> Trace:
    made = Trace(["gamma", "shape[0]"], [True, False], greater_is_better=greater, price=2.0)
    for number, value in enumerate(values):
        made.add(finding(number, value, None if parts is None else parts[number]))
    return made


def test_columns() -> None:
    made = trace([0.5, 0.25, 0.75])
    made.add_path(
        np.array([np.log(7.0), 1.5]),
        [
            (0.5, 0.9, Work(trained=5, iterations=50, kernel_evaluations=500, seconds=1.0)),
            (8.0, 0.8, Work(trained=4, iterations=40, kernel_evaluations=400, seconds=1.0)),
        ],
    )
    assert made.names == ("gamma", "shape[0]", "C")
    assert made["stage"].tolist() == ["search"] * 3 + ["C"] * 2
    assert made["evaluation"].tolist() == [0, 1, 2, 0, 1]
    assert made.values.tolist() == [0.5, 0.25, 0.75]  # those of the objective
    assert made["gamma"] == pytest.approx([1.0, 1.0, 1.0, 7.0, 7.0])
    assert made["shape[0]"].tolist() == [1.0, 1.0, 1.0, 1.5, 1.5]
    assert made["C"].tolist() == [2.0, 2.0, 2.0, 0.5, 8.0]
    assert made["best"].tolist() == [0.5, 0.5, 0.75, 0.9, 0.9]
    assert made["gradient_norm"].tolist()[:3] == [5.0, 5.0, 5.0]
    assert np.isnan(made["gradient_norm"][3:]).all()
    assert made["iterations"].tolist() == [10, 10, 10, 50, 40]
    assert made["seconds"].sum() == 3.5
    assert made.n_evaluations == 3
    assert len(made) == 5
    assert trace([0.5, 0.25, 0.75], greater=False)["best"].tolist() == [0.5, 0.25, 0.25]


def test_values_of_parts_are_not_the_best_of_all() -> None:
    made = trace([9.0, 0.5, 0.25, np.nan, 0.75], parts=[1, None, None, None, None])
    np.testing.assert_array_equal(made["best"], [np.nan, 0.5, 0.5, 0.5, 0.75])
    assert made["part"].tolist() == [1, -1, -1, -1, -1]
    assert "part" in repr(made)
    assert "part" not in repr(trace([1.0]))


def test_frames_and_rows() -> None:
    made = trace([0.5, 0.25])
    frame = pd.DataFrame(made.columns)
    assert frame.equals(pd.DataFrame(list(made)))
    assert pl.DataFrame(made.columns).height == 2
    assert made[0] == made[-2] == next(iter(made))
    assert made[:1] == [made[0]]
    assert type(made[0]["trained"]) is int
    with pytest.raises(IndexError):
        made[2]
    with pytest.raises(KeyError):
        made["colour"]
    # What somebody does to a column changes nothing.
    made.columns.clear()
    assert len(made["value"]) == 2


def test_it_grows_after_it_was_looked_at() -> None:
    made = trace([0.5])
    assert made["value"].tolist() == [0.5]
    made.add(finding(1, 0.75))
    assert made["value"].tolist() == [0.5, 0.75]


def test_in_words() -> None:
    assert repr(trace([])) == "Trace of 0 evaluations in 0 s"
    assert repr(trace([1.0])).splitlines()[0] == "Trace of 1 evaluation in 0.5 s"
    lines = repr(trace([0.0] * 40)).splitlines()
    assert len(lines) == 1 + 1 + 3 + 1 + 3
    assert lines[5].strip() == "..."
    names = [f"gammas[{k}]" for k in range(20)]
    wide = Trace([*names, "C"], [True] * 21, greater_is_better=True)
    wide.add(finding(0, 1.0, point=(0.0,) * 21)._replace(gradient=None))
    first, header, _ = repr(wide).splitlines()
    assert first.endswith("; not shown: gammas[3] to gammas[19]")
    assert header.split()[2:6] == ["gammas[0]", "gammas[1]", "gammas[2]", "C"]
