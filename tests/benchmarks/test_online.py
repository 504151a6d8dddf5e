"""The benchmark of online learning: what its table says, and its bar."""

from dataclasses import replace

import pytest
from sklearn.datasets import load_digits

from benchmarks.peers.online import Line, compare, judge
from benchmarks.peers.problems import Problem, Split
from benchmarks.peers.session import Options


def test_a_table_of_a_small_problem():
    X, y = load_digits(return_X_y=True)
    split = Split(X[:300], y[:300] % 2, X[300:600], y[300:600] % 2)
    problem = Problem("digits", {"C": 1.0}, 0.001, lambda folder: split)
    result = compare(problem, split, Options(problems=("digits",), repeats=1, samples=300, n_jobs=1))
    batch, epoch, finished = result.lines
    assert epoch.objective < finished.objective <= batch.objective * (1 + 1e-6)
    assert finished.accuracy > 0.9
    assert result.verdict.passed is None
    assert "epoch, finished" in result.table()


@pytest.mark.parametrize(
    ("changed", "passed"),
    [({}, True), ({"seconds": 1.7}, False), ({"objective": 0.99}, False), ({"accuracy": 0.844}, False)],
)
def test_the_bar(changed, passed):
    batch = Line("batch", 1.0, (1.0,), 9000, 0.85, objective=1.0)
    lines = (batch, replace(batch, name="epoch", seconds=0.8), replace(batch, **{"seconds": 1.5, **changed}))
    assert judge(lines, Options(problems=("a9a",), repeats=1)).passed is passed
